"""Discounts. All sums are whole cents; halves are rounded up."""

from till import config


def percent_of(cents, percent):
    """This share of a sum, rounded to whole cents."""
    return (cents * percent + 50) // 100


def member_discount(basket):
    if not basket.member:
        return 0
    return percent_of(basket.subtotal(), config.MEMBER_DISCOUNT_PERCENT)


def bulk_discount(basket):
    """For large baskets, of what is left after the member's discount."""
    if basket.subtotal() > config.BULK_LIMIT_CENTS:
        rest = basket.subtotal() - member_discount(basket)
        return percent_of(rest, config.BULK_DISCOUNT_PERCENT)
    return 0


def total(basket):
    return basket.subtotal() - member_discount(basket) - bulk_discount(basket)
