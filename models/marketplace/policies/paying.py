"""How the references take a slot: hold it, book it, pay it, or let it go."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from simharness.api import Call
from simharness.models.marketplace.policies.asking import (
    BUSY_SECONDS,
    SETTLE_SECONDS,
    Impatient,
    made_of,
    read,
    tried,
    unknown,
)

if TYPE_CHECKING:
    from collections.abc import Generator

    from simharness.api import Action, Observation
    from simharness.models.marketplace.policies.asking import Play

LOOKS = 20
"""Most looks at what becomes of a payment."""
POLL_SECONDS = 20
"""Pause between two looks whether a hold has ended."""
HOLD_SECONDS = 310
"""Time after which a hold has ended that nobody books."""


def hold(slot_id: int, places: int) -> Generator[Action, Observation, int]:
    """Hold places of a slot; gives the hold's id, or 0 when there are none to be had."""
    told = yield from tried("hold_slot", slot_id=slot_id, quantity=places)
    if unknown(told):
        yield from lapse(slot_id)
    return int(told.value["id"]) if told.value else 0


def lapse(slot_id: int) -> Play:
    """Wait until a hold has ended of which nobody knows whether it was made.

    Nobody says what holds there are, so that it can't be released.
    """
    for _ in range(0, HOLD_SECONDS, POLL_SECONDS):
        slot = yield from read("get_slot", slot_id=slot_id)
        if not slot["held"]:
            return
        yield Call("wait", {"seconds": POLL_SECONDS})


def booked(hold_id: int, coupon: str = "") -> Generator[Action, Observation, Any]:
    """Make the booking of a hold; gives it, or the code of the refusal."""
    while True:
        arguments = {"hold_id": hold_id} | ({"coupon": coupon} if coupon else {})
        told = yield from tried("confirm_booking", **arguments)
        if unknown(told):
            yield Call("wait", {"seconds": SETTLE_SECONDS})
        elif told.error != "payment_due":
            return told.value if told.value else told.error
        # It may be made, and then only its payment is due.
        booking = yield from made_of(hold_id)
        if booking is not None:
            return booking


def paid(booking: dict[str, Any]) -> Generator[Action, Observation, bool]:
    """Pay a booking, again where the card is declined; tells whether it is confirmed in the end."""
    tries = 0
    for _ in range(LOOKS):
        if booking["status"] != "pending":
            break
        told = yield from tried(
            "pay",
            booking_id=booking["id"],
            amount=booking["price"],
            currency=booking["currency"],
            idempotency_key=f"booking-{booking['id']}-{tries}",
        )
        payment: dict[str, Any] = told.value or {}
        if payment.get("status") == "failed":
            tries += 1  # the same key would give the same answer
        booking = yield from read("get_booking", booking_id=booking["id"])
        if booking["status"] == "pending":
            yield Call("wait", {"seconds": BUSY_SECONDS})
    if booking["status"] == "pending":
        raise Impatient(f"booking {booking['id']} isn't confirmed")
    return bool(booking["status"] == "confirmed")
