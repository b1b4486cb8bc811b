"""The providers' side: those who take time off, and whoever looks after the waiting list."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from simharness.api import (
    Actor,
    Operation,
    Population,
    Refused,
    Stream,
    Transaction,
    scaled,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Generator

    from simharness.models.marketplace.product import Marketplace
    from simharness.models.marketplace.tables import Waiting


def start_staff(market: Marketplace, *, spared: Collection[int] = ()) -> None:
    """Start them, as `users.blocking` and `users.promoter` say; none at load 0.

    The slots that are spared are not blocked.
    """
    values = market.settings.values
    if market.load and values["users.blocking"]:
        start_blocking(market, frozenset(spared))
    pause: int = values["users.promoter"]
    if market.load and pause:
        market.world.spawn("promoter", promote(market, pause))


def start_blocking(market: Marketplace, spared: frozenset[int]) -> None:
    """Start providers who now and then are away at the time of a slot that nobody has taken."""
    away = Population(market.world, think_mean=0, prefix="provider")
    market.settings.bind("users.blocking", away, "think_mean")
    providers = [provider.id for provider in market.providers.table if provider.active]

    def habit(actor: Actor, draw: Stream) -> Generator[Any, Any, None]:
        provider_id = -actor.identity
        told = yield from market.request(actor, "search_slots", provider_id=provider_id)
        free = [row for row in told.rows if row.id not in spared]
        if free:
            slot = draw.pick(free, "row")
            yield from market.request(
                actor,
                "block_time",
                provider_id=provider_id,
                starts_at=slot.starts_at,
                ends_at=slot.ends_at,
            )

    def who(k: int) -> int:
        return -providers[(k * 7 - 1) % len(providers)]

    away.grow(scaled(2, market.load), who, habit)


def promote(market: Marketplace, pause: int) -> Generator[Any, Any, None]:
    """Give places that have come free to those who wait for them, again and again."""
    actor = Actor(market.world, "promoter", 0)
    n = 0
    while True:
        yield market.world.timer(pause)
        for waiting in sorted(market.waitlist.table, key=lambda row: (row.slot_id, row.position)):
            if market.waitlist.true(waiting.id) is None or market.places.free(waiting.slot_id) < 1:
                continue
            n += 1
            try:
                yield from give_place(market, Operation(market.world, actor, n), waiting)
            except Refused:
                continue  # somebody was faster; the next round looks again


def give_place(market: Marketplace, op: Operation, waiting: Waiting) -> Generator[Any, Any, None]:
    """Hold a place for whoever waits for it, make the booking that is to be paid, and write."""
    slot_id, customer_id = waiting.slot_id, waiting.customer_id
    claim = yield from market.claim(op, {slot_id: 1})
    try:
        claim.ensure()
        if market.waitlist.true(waiting.id) is None:
            return
        slot = market.slots.table.rows[slot_id]
        service = market.services.table.rows[slot.service_id]
        customer = market.customers.true(customer_id)
        free = not service.price
        tx = Transaction(op)
        hold = tx.insert(
            market.holds.table,
            {
                "slot_id": slot_id,
                "customer_id": customer_id,
                "status": "active",
                "expires_at": market.world.instant + market.hold_ttl,
                "token": market.places.next_token(slot_id),
            },
        )
        market.places.put(tx, {slot_id: 1}, {slot_id: 1})
        tx.delete(market.waitlist.table, waiting.id)
        tx.insert(
            market.emails.table,
            {
                "to": customer.email if customer is not None else "",
                "subject": f"A place of slot {slot_id} is yours",
                "body": "Confirm it in time." if free else "Pay your booking in time.",
                "at": market.instant,
            },
        )
        if not free:
            tx.insert(
                market.bookings.table,
                {
                    "slot_id": slot_id,
                    "customer_id": customer_id,
                    "hold_id": hold,
                    "price": service.price,
                    "currency": service.currency,
                },
            )
        tx.commit()
    finally:
        claim.close()
