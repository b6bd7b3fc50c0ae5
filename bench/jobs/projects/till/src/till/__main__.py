"""The command line: a price list, then words such as `2 bread`."""

import argparse
import sys

from till.basket import Basket, BasketFull
from till.prices import PriceList, UnknownArticle
from till.receipt import render


def parse_line(text):
    """`2 bread` is two pieces of bread, `bread` is one."""
    first, _, rest = text.partition(" ")
    if first.isdigit():
        return int(first), rest.strip()
    return 1, text.strip()


def main(words=None):
    parser = argparse.ArgumentParser(prog="till")
    parser.add_argument("prices")
    parser.add_argument("lines", nargs="+")
    parser.add_argument("--member", action="store_true")
    arguments = parser.parse_args(words)
    prices = PriceList.read(arguments.prices)
    basket = Basket(member=arguments.member)
    try:
        for text in arguments.lines:
            count, name = parse_line(text)
            basket.add(prices.find(name), count)
    except (UnknownArticle, BasketFull, ValueError) as problem:
        print(f"till: {problem}", file=sys.stderr)
        return 2
    print(render(basket))
    return 0


if __name__ == "__main__":
    sys.exit(main())
