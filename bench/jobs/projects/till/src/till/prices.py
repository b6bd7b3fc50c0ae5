"""The price list: a CSV file with name, unit, cents and tax class."""

import csv
from dataclasses import dataclass


class UnknownArticle(Exception):
    """An article that the price list does not have."""


@dataclass(frozen=True)
class Article:
    name: str
    unit: str
    cents: int
    tax: str


class PriceList:
    def __init__(self, articles):
        self._articles = {article.name: article for article in articles}

    @classmethod
    def read(cls, path):
        with open(path, newline="", encoding="utf-8") as file:
            rows = csv.DictReader(file)
            return cls([Article(row["name"], row["unit"], int(row["cents"]), row["tax"]) for row in rows])

    def find(self, name):
        """The article of this name; capital letters do not matter."""
        try:
            return self._articles[name.lower()]
        except KeyError:
            raise UnknownArticle(f"no article {name!r} in the price list") from None

    def __len__(self):
        return len(self._articles)
