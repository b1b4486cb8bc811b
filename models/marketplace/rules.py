"""The rules of the house: the life of a hold and of a booking, and prices."""

from __future__ import annotations

from typing import Literal, NamedTuple

Event = Literal[
    "confirm", "approve", "pay", "hold lapses", "release", "decline", "cancel", "reschedule"
]


class Step(NamedTuple):
    """One step of a life: from a status, by an event, to a status."""

    before: str
    event: Event
    after: str
    when: str
    """What has to be so; empty for nothing."""


HOLD_LIFE = (
    Step("active", "confirm", "confirmed", "nothing is due"),
    Step("active", "pay", "confirmed", "the full price has been paid"),
    Step("active", "release", "released", "it has no booking"),
    Step("active", "cancel", "released", "its pending booking is cancelled"),
    Step("active", "hold lapses", "expired", "its age is `hold.ttl`"),
)
"""A hold is made active and ends exactly once."""

BOOKING_LIFE = (
    Step("pending", "confirm", "confirmed", "its hold is active and nothing is due"),
    Step("pending", "pay", "confirmed", "paid in full; its hold is active, or places are free"),
    Step("pending", "approve", "confirmed", "it has no hold, nothing is due and places are free"),
    Step("pending", "hold lapses", "expired", ""),
    Step("pending", "decline", "cancelled", "it has no hold"),
    Step("pending", "cancel", "cancelled", ""),
    Step("confirmed", "cancel", "cancelled", ""),
    Step("confirmed", "reschedule", "confirmed", "the new slot is of the same service and free"),
)
"""A booking is made pending, or confirmed where nothing is due; what a sound marketplace allows."""


def price_of(each: int, quantity: int, percent: int) -> int:
    """Give the price of some places less a coupon's percent.

    Rounded down to the minor unit, in the customer's favour.
    """
    return each * quantity * (100 - percent) // 100


def overlap(starts: int, ends: int, other_starts: int, other_ends: int) -> bool:
    """Tell whether two half-open intervals share an instant; those that touch don't."""
    return starts < other_ends and other_starts < ends
