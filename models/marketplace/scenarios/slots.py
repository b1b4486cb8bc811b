"""How a scenario puts slots of the base into the state that its instance asks for."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from simharness.api import MS
from simharness.models.marketplace.base import CUSTOMERS, EPOCH, PROVIDERS, SERVICES, base_rows
from simharness.models.marketplace.tables import Block, Booking, Hold, Payment

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from simharness.models.marketplace.product import Marketplace
    from simharness.models.marketplace.tables import Slot

BEFORE: Mapping[str, Any] = {"created_at": EPOCH - 86_400_000_000, "updated_at": EPOCH - 3_600_000}


@cache
def rows() -> Mapping[str, Sequence[Any]]:
    """Give the rows of the base, made once a process."""
    return base_rows()


@cache
def ids_at() -> Mapping[tuple[str, int], int]:
    """Give the id of each slot of the base by its provider's title and its start."""
    titles = {key: title for key, (title, *_) in enumerate(PROVIDERS, 1)}
    return {(titles[slot.provider_id], slot.starts_at): slot.id for slot in rows()["slots"]}


@cache
def sold_in() -> Mapping[int, Sequence[Booking]]:
    """Give the bookings of the base by slot."""
    out: dict[int, list[Booking]] = {}
    for booking in rows()["bookings"]:
        out.setdefault(booking.slot_id, []).append(booking)
    return out


@cache
def payments_for() -> Mapping[int, Payment]:
    """Give the payments of the base by booking."""
    return {payment.booking_id: payment for payment in rows()["payments"]}


def other_customer(customer_id: int, k: int) -> int:
    """Give the k-th of the other customers, from 1."""
    return (customer_id - 1 + k) % CUSTOMERS + 1


def clear(market: Marketplace, slot_id: int) -> None:
    """Have all bookings of a slot cancelled before the start."""
    bookings, payments = market.bookings.table, market.payments.table
    for booking in sold_in().get(slot_id, ()):
        bookings.start_with(bookings.row_type.evolve(booking, {"status": "cancelled"}))
        paid = payments_for().get(booking.id)
        if paid is not None:
            payments.start_with(payments.row_type.evolve(paid, {"status": "refunded"}))


def sell(market: Marketplace, slot_id: int, customer_id: int, quantity: int) -> int:
    """Have places of a slot booked and paid before the start; gives the booking's id."""
    slot: Slot = market.slots.table.rows[slot_id]
    price = SERVICES[slot.service_id - 1][2] * quantity
    bookings, payments = market.bookings.table, market.payments.table
    key = bookings.top + 1
    bookings.start_with(
        Booking(
            id=key,
            slot_id=slot_id,
            customer_id=customer_id,
            quantity=quantity,
            status="confirmed",
            price=price,
            **BEFORE,
        )
    )
    if price:
        payments.start_with(
            Payment(id=payments.top + 1, booking_id=key, amount=price, status="succeeded", **BEFORE)
        )
    return key


def keep(market: Marketplace, slot_id: int, customer_id: int, quantity: int, ms: int) -> int:
    """Have places of a slot held at the start, for some more milliseconds; gives the hold's id."""
    holds = market.holds.table
    key = holds.top + 1
    holds.start_with(
        Hold(
            id=key,
            slot_id=slot_id,
            customer_id=customer_id,
            quantity=quantity,
            expires_at=EPOCH + ms * MS,
            token=1,
            **BEFORE,
        )
    )
    return key


def block(market: Marketplace, slot_id: int) -> None:
    """Have the provider of a slot be away at its time; nobody may have booked it."""
    slots, blocks = market.slots.table, market.blocks.table
    slot = slots.rows[slot_id]
    slots.start_with(slots.row_type.evolve(slot, {"blocked": True}))
    blocks.start_with(
        Block(
            id=blocks.top + 1,
            provider_id=slot.provider_id,
            starts_at=slot.starts_at,
            ends_at=slot.ends_at,
            **BEFORE,
        )
    )
