"""Those who want the very slots that the agent wants, or have them, and providers who go away."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from simharness.api import SECOND, Actor, Population, Stream, scaled
from simharness.models.marketplace.people.persistence import later
from simharness.models.marketplace.people.team import settle

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from simharness.models.marketplace.product import Marketplace

CROWD = 1
"""Of those who crowd some slots, at load 1; more with the load."""
VISITED = 160 * SECOND
"""Mean time between two visits of one slot by such a crowd at load 1. At load 8 a slot is held a
fifth of the time, however many are crowded: often enough that many find it taken, or changed
since they looked, and seldom enough that a second try gets it."""
KEEP_SECONDS = (2, 6)
"""For how long one of them keeps a slot."""


def start_crowd(
    market: Marketplace, slots: Sequence[int], customers: Sequence[int], quantity: int = 1
) -> None:
    """Start those who hold one of some slots for a few seconds, and give it back."""
    pause = max(SECOND, VISITED // len(slots) - sum(KEEP_SECONDS) * SECOND // 2)
    crowd = Population(market.world, think_mean=pause, prefix="crowd")

    def habit(actor: Actor, draw: Stream) -> Generator[Any, Any, None]:
        slot_id = draw.pick(slots, "row")
        hold = yield from market.request(actor, "hold_slot", slot_id=slot_id, quantity=quantity)
        yield market.world.timer(draw.between(*KEEP_SECONDS, "value") * SECOND)
        yield from market.request(actor, "release_hold", hold_id=hold.id)

    number = scaled(CROWD, market.load)
    crowd.grow(number, lambda k: customers[(k - 1) % len(customers)], habit)


def book_later(
    market: Marketplace, who: str, customer: int, ms: int, slot_id: int, quantity: int = 1
) -> None:
    """Let a customer book and pay a slot, if it is free then."""

    def act(actor: Actor) -> Generator[Any, Any, None]:
        hold = yield from market.request(actor, "hold_slot", slot_id=slot_id, quantity=quantity)
        yield from settle(market, actor, hold.id)

    later(market, who, customer, ms, act)


def hold_later(
    market: Marketplace,
    who: str,
    customer: int,
    ms: int,
    slot_id: int,
    seconds: int,
    quantity: int = 1,
) -> None:
    """Let a customer hold a slot for some seconds; 0: until the hold lapses while they pay."""

    def act(actor: Actor) -> Generator[Any, Any, None]:
        hold = yield from market.request(actor, "hold_slot", slot_id=slot_id, quantity=quantity)
        if seconds:
            yield market.world.timer(seconds * SECOND)
            yield from market.request(actor, "release_hold", hold_id=hold.id)
        else:
            late = hold.expires_at - market.instant + SECOND
            yield from settle(market, actor, hold.id, late)

    later(market, who, customer, ms, act)


def cancel_later(market: Marketplace, who: str, ms: int, booking_id: int) -> None:
    """Let the customer of a booking cancel it."""

    def act(actor: Actor) -> Generator[Any, Any, None]:
        yield from market.request(actor, "cancel_booking", booking_id=booking_id)

    customer = market.bookings.table.rows[booking_id].customer_id
    later(market, who, customer, ms, act)


def block_later(market: Marketplace, who: str, ms: int, slot_id: int) -> None:
    """Let the provider of a slot be away at its time, if nobody has a place then."""
    slot = market.slots.table.rows[slot_id]

    def act(actor: Actor) -> Generator[Any, Any, None]:
        yield from market.request(
            actor,
            "block_time",
            provider_id=slot.provider_id,
            starts_at=slot.starts_at,
            ends_at=slot.ends_at,
        )

    later(market, who, -slot.provider_id, ms, act)
