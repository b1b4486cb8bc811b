"""The rules of the house: the life of a ticket, what an order's status says, shares of tax."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

from simharness.api import money

if TYPE_CHECKING:
    from collections.abc import Iterable

    from simharness.models.helpdesk.tables import Charge, Order, OrderStatus, Refund

STATUSES = ("new", "open", "pending", "on_hold", "solved", "closed")
"""Of a ticket, in the order in which searches compare them."""
PRIORITIES = ("low", "normal", "high", "urgent")

TicketEvent = Literal[
    "claim", "set_status", "merge", "the customer writes", "the customer is silent"
]


class Step(NamedTuple):
    """One step of a ticket's life: from a status, by an event, to a status."""

    before: str
    event: TicketEvent
    after: str
    when: str
    """What has to be so; empty for nothing."""


TICKET_LIFE = (
    Step("new", "claim", "open", "nobody else has claimed it"),
    Step("any but closed", "set_status", "any", ""),
    Step("any but closed", "merge", "closed", "the other is neither closed nor merged"),
    Step("pending, on_hold, solved", "the customer writes", "open", ""),
    Step("solved", "the customer is silent", "closed", "for `ticket.auto_close`"),
)
"""What a sound helpdesk allows. A closed ticket stays closed: who writes to it opens another."""

REOPENED = ("pending", "on_hold", "solved")


def order_status(order: Order, charges: Iterable[Charge], refunds: Iterable[Refund]) -> OrderStatus:
    """Say what an order's status is by its money; one that is cancelled stays so."""
    if order.status == "cancelled":
        return "cancelled"
    taken = sum(charge.amount for charge in charges if charge.status == "succeeded")
    live = [refund for refund in refunds if refund.status != "failed"]
    if any(refund.status == "pending" for refund in live):
        return "refund_pending"
    if not taken:
        return "unpaid"
    back = sum(refund.amount for refund in live)
    if not back:
        return "paid" if taken >= order.total else "unpaid"
    return "refunded" if back >= taken else "partially_refunded"


def tax_of(order: Order, amount: int) -> int:
    """Give the tax within a charge of an order; what is above the order's total has none."""
    if order.total <= 0:
        return 0
    return money.prorate(order.tax, min(amount, order.total), order.total)


def tax_back(tax: int, charged: int, amount: int, before: Iterable[Refund], rounding: str) -> int:
    """Give the tax within a refund of a charge.

    Args:
        tax: Minor units of tax within the charge.
        charged: Minor units of the charge.
        amount: Minor units of the refund.
        before: The charge's other refunds that haven't failed.
        rounding: cumulative: what all refunds together should have, less what those before have;
            per_step: each is rounded by itself, so that errors add up (a defect).
    """
    others = tuple(before)
    if rounding == "per_step":
        return money.prorate(tax, min(amount, charged), charged)
    so_far = min(charged, sum(refund.amount for refund in others) + amount)
    due = money.prorate(tax, so_far, charged) - sum(refund.tax for refund in others)
    return min(amount, max(0, due))
