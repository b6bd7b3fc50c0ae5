import unittest

from pressday.bookings import Booking
from pressday.prices import BOTTLE, PASTEURISING, PRESS, amount_due, bottles_filled
from pressday.report import hhmm
from pressday.schedule import DayFull, plan, slots_needed, start_times


def booking(kg, fruit="apple", heat=False):
    return Booking("Ada Moss", "0655 2000", fruit, kg, heat)


class SlotsTest(unittest.TestCase):
    def test_part_of_a_slot(self):
        self.assertEqual(slots_needed(50), 1)

    def test_exactly_one_slot(self):
        self.assertEqual(slots_needed(120), 1)

    def test_a_little_more_than_one_slot(self):
        self.assertEqual(slots_needed(121), 2)


class PlanTest(unittest.TestCase):
    def test_no_slot_during_lunch(self):
        times = [hhmm(time) for time in start_times()]
        self.assertEqual(times[4:6], ["11:40", "13:00"])
        self.assertEqual(times[-1], "15:40")

    def test_in_order(self):
        starts = [times for _, times in plan([booking(200), booking(60)])]
        self.assertEqual(starts, [[540, 580], [620]])

    def test_full(self):
        with self.assertRaises(DayFull):
            plan([booking(500), booking(500), booking(60)])


class PriceTest(unittest.TestCase):
    def test_only_full_bottles(self):
        self.assertEqual(bottles_filled(booking(40, "quince")), 26)

    def test_amount(self):
        self.assertEqual(amount_due(booking(150)), 150 * PRESS + 130 * BOTTLE)
        self.assertEqual(amount_due(booking(150, heat=True)), 150 * PRESS + 130 * (BOTTLE + PASTEURISING))
