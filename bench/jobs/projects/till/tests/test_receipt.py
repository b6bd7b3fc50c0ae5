import unittest

import context  # noqa: F401
from till.basket import Basket
from till.prices import Article
from till.receipt import euros, render


class ReceiptTest(unittest.TestCase):
    def test_two_decimals(self):
        self.assertEqual(euros(1205), "12.05")

    def test_every_line_has_the_width(self):
        basket = Basket(member=True)
        basket.add(Article("milk", "litre", 129, "food"), 3)
        self.assertEqual({len(row) for row in render(basket).split("\n")[2:]}, {32})


if __name__ == "__main__":
    unittest.main()
