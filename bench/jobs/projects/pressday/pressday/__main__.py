"""Prints the plan and the bills: python3 -m pressday [--bills] FILE"""

import argparse
import sys

from .bookings import BookingError, read_bookings
from .report import bill_lines, plan_lines
from .schedule import DayFull, plan


def main():
    parser = argparse.ArgumentParser(prog="pressday", description=__doc__)
    parser.add_argument("file", help="CSV file with the bookings")
    parser.add_argument("--bills", action="store_true", help="print only the bills")
    args = parser.parse_args()
    try:
        bookings = read_bookings(args.file)
        lines = [] if args.bills else plan_lines(plan(bookings)) + [""]
    except (OSError, BookingError, DayFull) as error:
        print(f"pressday: {error}", file=sys.stderr)
        return 1
    print("\n".join(lines + bill_lines(bookings)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
