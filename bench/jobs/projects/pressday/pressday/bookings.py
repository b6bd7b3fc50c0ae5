"""Reads the bookings of a pressing day."""

import csv
from dataclasses import dataclass

FRUITS = ("apple", "pear", "quince")
MIN_KG = 30
MAX_KG = 600


class BookingError(ValueError):
    """A booking that we cannot take."""


@dataclass(frozen=True)
class Booking:
    name: str
    phone: str
    fruit: str
    kg: int
    heat: bool


def read_bookings(path):
    """All bookings of a file, in its order."""
    with open(path, encoding="utf-8", newline="") as file:
        rows = csv.DictReader(line for line in file if not line.startswith("#"))
        return [parse_row(row) for row in rows]


def parse_row(row):
    name = row["name"].strip()
    if not name:
        raise BookingError("a booking without a name")
    fruit = row["fruit"].strip().lower()
    if fruit not in FRUITS:
        raise BookingError(f"{name}: we don't press {fruit!r}")
    try:
        kg = int(row["kg"])
    except ValueError:
        raise BookingError(f"{name}: {row['kg']!r} is not a weight") from None
    if kg < MIN_KG:
        raise BookingError(f"{name}: {kg} kg is too little")
    if kg > MAX_KG:
        raise BookingError(f"{name}: {kg} kg is too much")
    return Booking(name, row["phone"].strip(), fruit, kg, yes_or_no(row["heat"]))


def yes_or_no(text):
    """True for yes and False for no, in any case."""
    answer = text.strip().lower()
    if answer not in ("yes", "no"):
        raise BookingError(f"{text!r} is neither yes nor no")
    return answer == "yes"
