"""The plan and the bills as text."""

from .prices import amount_due, bottles_filled


def hhmm(minutes):
    return f"{minutes // 60:02}:{minutes % 60:02}"


def money(pence):
    """Pounds and pence, such as 53.70"""
    return f"{pence // 100}.{pence % 100}"


def plan_lines(planned):
    """One line for each booking: when it starts, who comes, with what."""
    lines = []
    for booking, starts in planned:
        heat = ", to be heated" if booking.heat else ""
        lines.append(f"{hhmm(starts[0])}  {booking.name}: {booking.kg} kg {booking.fruit}, {len(starts)} slot(s){heat}")
    return lines


def bill_lines(bookings):
    """One line for each booking, and a last one with the sum of all."""
    lines = []
    for booking in bookings:
        lines.append(f"{booking.name}: {bottles_filled(booking)} bottles, £{money(amount_due(booking))}")
    total = sum(amount_due(booking) for booking in bookings)
    return lines + [f"Total: £{money(total)}"]
