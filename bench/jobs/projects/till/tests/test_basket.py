import unittest

import context  # noqa: F401
from till.basket import Basket, BasketFull
from till.prices import Article

BREAD = Article("bread", "piece", 340, "food")


class BasketTest(unittest.TestCase):
    def test_adds_up(self):
        basket = Basket()
        basket.add(BREAD, 2)
        basket.add(BREAD)
        self.assertEqual(basket.subtotal(), 1020)

    def test_refuses_no_pieces(self):
        with self.assertRaises(ValueError):
            Basket().add(BREAD, 0)

    def test_is_full_at_sixty(self):
        basket = Basket()
        basket.add(BREAD, 60)
        with self.assertRaises(BasketFull):
            basket.add(BREAD)


if __name__ == "__main__":
    unittest.main()
