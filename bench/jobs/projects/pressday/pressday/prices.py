"""What a booking costs. All amounts are in pence."""

PRESS = 18
BOTTLE = 55
PASTEURISING = 35

BOTTLE_ML = 750
ML_PER_KG = {"apple": 650, "pear": 600, "quince": 500}


def bottles_filled(booking):
    """Full bottles that we expect from a booking; the rest goes into the jug."""
    return booking.kg * ML_PER_KG[booking.fruit] // BOTTLE_ML


def amount_due(booking):
    """What the booking costs, in pence."""
    bottles = bottles_filled(booking)
    due = booking.kg * PRESS + bottles * BOTTLE
    if booking.heat:
        due += bottles * PASTEURISING
    return due
