"""What a customer buys."""

from till import config


class BasketFull(Exception):
    """More pieces than a basket may hold."""


class Basket:
    def __init__(self, member=False):
        self.member = member
        self.lines = []

    def add(self, article, count=1):
        if count < 1:
            raise ValueError("a count is at least 1")
        if self.pieces() + count > config.MAX_ITEMS:
            raise BasketFull(f"a basket holds at most {config.MAX_ITEMS} pieces")
        self.lines.append((article, count))

    def pieces(self):
        return sum(count for _, count in self.lines)

    def subtotal(self):
        """The sum in cents, without discounts."""
        return sum(article.cents * count for article, count in self.lines)
