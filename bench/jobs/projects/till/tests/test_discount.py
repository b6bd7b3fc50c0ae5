import unittest

import context  # noqa: F401
from till.basket import Basket
from till.discount import bulk_discount, member_discount, percent_of, total
from till.prices import Article

HAMPER = Article("hamper", "piece", 2500, "food")


def basket(count, member=False):
    made = Basket(member)
    made.add(HAMPER, count)
    return made


class DiscountTest(unittest.TestCase):
    def test_halves_are_rounded_up(self):
        self.assertEqual(percent_of(50, 5), 3)

    def test_members(self):
        self.assertEqual(member_discount(basket(1, member=True)), 125)

    def test_no_bulk_discount_below_the_limit(self):
        self.assertEqual(bulk_discount(basket(1)), 0)

    def test_bulk_discount_at_the_limit(self):
        self.assertEqual(bulk_discount(basket(2)), 150)

    def test_both(self):
        self.assertEqual(total(basket(4, member=True)), 9215)


if __name__ == "__main__":
    unittest.main()
