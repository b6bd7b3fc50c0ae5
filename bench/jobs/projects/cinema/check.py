"""Checks the files in data/. Prints what is wrong, or nothing."""

import csv
import sys
from pathlib import Path

DATA = Path(__file__).resolve().parent / "data"
FULL, REDUCED = 7, 5


def rows(name):
    with open(DATA / name, encoding="utf-8", newline="") as file:
        for number, row in enumerate(csv.DictReader(file), start=2):
            yield f"data/{name}, line {number}", row


def check_takings():
    """What was taken has to fit the tickets that were sold."""
    for place, row in rows("screenings.csv"):
        expected = int(row["full"]) * FULL + int(row["reduced"]) * REDUCED
        if int(row["takings"]) != expected:
            yield f"{place}: takings are {row['takings']}, should be {expected}"


def check_order():
    """Screenings are listed by date."""
    last = ""
    for place, row in rows("screenings.csv"):
        if row["date"] < last:
            yield f"{place}: {row['date']} comes after {last}"
        last = row["date"]


def check_counts():
    """Nobody can count less than nothing."""
    for place, row in rows("stock.csv"):
        if int(row["count"]) < 0 or int(row["minimum"]) < 0:
            yield f"{place}: {row['item']} is below zero"


if __name__ == "__main__":
    faults = [*check_takings(), *check_order(), *check_counts()]
    print("\n".join(faults), end="\n" if faults else "")
    sys.exit(1 if faults else 0)
