import unittest

from pressday.bookings import Booking, BookingError, parse_row, read_bookings


def row(**changes):
    return {"name": "Ada Moss", "phone": "0655 2000", "fruit": "apple", "kg": "90", "heat": "no", **changes}


class RowTest(unittest.TestCase):
    def test_whole_row(self):
        self.assertEqual(parse_row(row(heat="Yes ")), Booking("Ada Moss", "0655 2000", "apple", 90, True))

    def test_too_much(self):
        self.assertEqual(parse_row(row(kg="600")).kg, 600)
        with self.assertRaises(BookingError):
            parse_row(row(kg="601"))

    def test_too_little(self):
        with self.assertRaises(BookingError):
            parse_row(row(kg="10"))

    def test_unknown_fruit(self):
        with self.assertRaises(BookingError):
            parse_row(row(fruit="plum"))

    def test_neither_yes_nor_no(self):
        with self.assertRaises(BookingError):
            parse_row(row(heat="maybe"))


class FileTest(unittest.TestCase):
    def test_october(self):
        bookings = read_bookings("data/october.csv")
        self.assertEqual(len(bookings), 6)
        self.assertEqual(sum(booking.kg for booking in bookings), 800)
