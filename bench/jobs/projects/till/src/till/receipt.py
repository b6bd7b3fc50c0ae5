"""Prints a receipt."""

from till import config
from till.discount import bulk_discount, member_discount, total


def euros(cents):
    return f"{cents // 100}.{cents % 100:02d}"


def line(left, right):
    return left + right.rjust(config.RECEIPT_WIDTH - len(left))


def render(basket):
    rows = [config.SHOP_NAME.center(config.RECEIPT_WIDTH).rstrip(), "-" * config.RECEIPT_WIDTH]
    for article, count in basket.lines:
        rows.append(line(f"{count} x {article.name}", euros(article.cents * count)))
    rows.append("-" * config.RECEIPT_WIDTH)
    if member_discount(basket):
        rows.append(line("Member", "-" + euros(member_discount(basket))))
    if bulk_discount(basket):
        rows.append(line("Bulk", "-" + euros(bulk_discount(basket))))
    rows.append(line(f"Total {config.CURRENCY}", euros(total(basket))))
    return "\n".join(rows)
