"""Settings of the till."""

CURRENCY = "EUR"
SHOP_NAME = "Dorfladen Ried"

# Members pay this share less.
MEMBER_DISCOUNT_PERCENT = 5

# From this sum, in cents, a basket gets the bulk discount.
BULK_LIMIT_CENTS = 5000
BULK_DISCOUNT_PERCENT = 3

# Value added tax by class.
TAX_PERCENT = {"food": 7, "other": 19}

RECEIPT_WIDTH = 32
MAX_ITEMS = 60
