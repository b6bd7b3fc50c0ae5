"""Adds up the tables of budget.md and compares the sums with the totals written there."""

import re
import sys


def check(text):
    """One message for each total that is not the sum of its table."""
    problems = []
    for part in text.split("\n## ")[1:]:
        rows = [int(number) for number in re.findall(r"^\| [^|]+ \| (\d+) \|$", part, re.M)]
        total = re.search(r"^Total (\w+): (\d+) euros", part, re.M)
        if total and sum(rows) != int(total.group(2)):
            problems.append(f"total {total.group(1)} says {total.group(2)}, the rows add up to {sum(rows)}")
    return problems


if __name__ == "__main__":
    found = check(open("budget.md", encoding="utf-8").read())
    print("\n".join(found) or "the budget adds up")
    sys.exit(1 if found else 0)
