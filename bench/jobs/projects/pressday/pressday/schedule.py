"""Gives each booking its slots."""

SLOT_KG = 120
SLOT_MINUTES = 40
SLOTS_PER_DAY = 10
OPENING = 9 * 60
LUNCH_FROM = 12 * 60 + 20
LUNCH_TO = 13 * 60


class DayFull(Exception):
    """There are more bookings than slots."""


def slots_needed(kg):
    """How many slots it takes to press so many kilos."""
    return kg // SLOT_KG + 1


def start_times():
    """When the slots of a day begin, in minutes since midnight."""
    times, start = [], OPENING
    while len(times) < SLOTS_PER_DAY:
        if LUNCH_FROM <= start < LUNCH_TO:
            start = LUNCH_TO
        times.append(start)
        start += SLOT_MINUTES
    return times


def plan(bookings):
    """Pairs of a booking and the start times of its slots; first come, first served."""
    free, planned = start_times(), []
    for booking in bookings:
        needed = slots_needed(booking.kg)
        if needed > len(free):
            raise DayFull(f"no room for {booking.name}: {needed} slots needed, {len(free)} left")
        planned.append((booking, free[:needed]))
        free = free[needed:]
    return planned
