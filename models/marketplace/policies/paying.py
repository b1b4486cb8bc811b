"""How the references book and pay what they hold."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from simharness.api import Call
from simharness.models.marketplace.policies.asking import (
    BUSY_SECONDS,
    SETTLE_SECONDS,
    Impatient,
    read,
    tried,
    unknown,
)

if TYPE_CHECKING:
    from simharness.models.marketplace.policies.asking import Part

LOOKS = 20
"""Most looks at what becomes of a payment."""


def booking_of(hold_id: int) -> Part:
    """Make the booking of a hold; gives it, or None where it is refused."""
    while True:
        told = yield from tried("confirm_booking", hold_id=hold_id)
        if not unknown(told):
            return told.value or None
        yield Call("wait", {"seconds": SETTLE_SECONDS})


def paid(booking: dict[str, Any]) -> Part:
    """Pay a booking, again where the card is declined; tells whether it is confirmed in the end."""
    tries = 0
    for _ in range(LOOKS):
        if booking["status"] != "pending":
            return booking["status"] == "confirmed"
        told = yield from tried(
            "pay",
            booking_id=booking["id"],
            amount=booking["price"],
            currency=booking["currency"],
            idempotency_key=f"booking-{booking['id']}-{tries}",
        )
        payment: Any = told.value
        if payment and payment["status"] == "failed":
            tries += 1  # the same key would give the same answer
        booking = yield from read("get_booking", booking_id=booking["id"])
        if booking["status"] == "pending":
            yield Call("wait", {"seconds": BUSY_SECONDS})
    raise Impatient(f"booking {booking['id']} isn't confirmed")
