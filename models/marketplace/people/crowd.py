"""Customers who come for the best of some slots, and mostly give back what they hold."""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING, Any

from simharness.api import SECOND, Actor, Operation, Population, Refused, Transaction, scaled
from simharness.models.marketplace.people.persistence import later
from simharness.models.marketplace.people.team import settle

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence

    from simharness.api import Stream
    from simharness.models.marketplace.product import Marketplace

SIZE = 1
"""Customers in the crowd at load 1; more with the load."""
PAUSE = 48 * SECOND
"""Mean pause of one of them between two visits."""
ENDS = (("releases", 85), ("lapses", 5), ("books", 10))
"""What becomes of what they hold, with weights."""
_SUMS = tuple(accumulate(weight for _, weight in ENDS))
LOOK, DECIDE = 6 * SECOND, 12 * SECOND
"""Longest time from a look to a hold, and from the hold to its end."""
PAIRS_PAUSE = 200 * SECOND
"""Mean pause of those who want two slots."""
PAIRS_BOOK = 120_000
"""How many of them, in millionths, book the two that they hold."""
FORM_PAUSE, FORM = 40 * SECOND, 4 * SECOND
"""Mean pause between two forms of one desk, and the longest time for which one is open."""
BEST_FIRST = 700_000
"""How many, in millionths, go for the best that they are shown; the others take any."""


def start_comers(
    market: Marketplace,
    wanted: Sequence[int],
    quantity: int,
    customer: Callable[[int], int],
    prefix: str = "comer",
    pause: int = PAUSE,
) -> None:
    """Start those who now and then search for slots, and hold one of them.

    `wanted` are slots of one service, the best first; `customer` gives who the k-th of them is.
    Most give back what they hold; some let it lapse; some book and pay.
    """
    if not wanted:
        return
    slots = market.slots.table.rows
    times = [slots[key].starts_at for key in wanted]
    asked: dict[str, Any] = {
        "service_id": slots[wanted[0]].service_id,
        "from_time": min(times),
        "to_time": max(times) + 1,
    }
    place = {key: k for k, key in enumerate(wanted)}
    comers = Population(market.world, think_mean=pause, prefix=prefix)

    def habit(actor: Actor, draw: Stream) -> Generator[Any, Any, None]:
        told = yield from market.request(actor, "search_slots", **asked)
        free = [r.id for r in told.rows if r.id in place and r.capacity - r.taken >= quantity]
        if not free:
            return
        free.sort(key=place.__getitem__)
        key = free[0] if draw.chance(BEST_FIRST, "best") else draw.pick(free, "row")
        yield market.world.timer(draw.between(SECOND, LOOK, "look"))
        hold = yield from market.request(actor, "hold_slot", slot_id=key, quantity=quantity)
        yield market.world.timer(draw.between(2 * SECOND, DECIDE, "decide"))
        end = ENDS[draw.cumulative(_SUMS, "end")][0]
        if end == "releases":
            yield from market.request(actor, "release_hold", hold_id=hold.id)
        elif end == "books":
            yield from settle(market, actor, hold.id)

    comers.grow(scaled(SIZE, market.load), customer, habit)


def start_pairs(
    market: Marketplace,
    seconds: Sequence[int],
    firsts: Sequence[int],
    places: int,
    customer: Callable[[int], int],
) -> None:
    """Start those who want a slot of each of two kinds at one time, as the agent does.

    They begin with the kind that the agent's request names second, `seconds`, and hold on to it
    while they wait for one of `firsts`, of which they want so many places; then they book both, or
    give back what they hold.
    """
    slots = market.slots.table.rows
    times = [slots[key].starts_at for key in seconds]
    asked: dict[str, Any] = {
        "service_id": slots[seconds[0]].service_id,
        "from_time": min(times),
        "to_time": max(times) + 1,
    }
    place = {key: k for k, key in enumerate(seconds)}
    pairs = Population(market.world, think_mean=PAIRS_PAUSE, prefix="pair")

    def habit(actor: Actor, draw: Stream) -> Generator[Any, Any, None]:
        told = yield from market.request(actor, "search_slots", **asked)
        free = [r for r in told.rows if r.id in place]
        if not free:
            return
        free.sort(key=lambda row: place[row.id])
        one = free[0] if draw.chance(BEST_FIRST, "best") else draw.pick(free, "row")
        beside = [key for key in firsts if slots[key].starts_at == one.starts_at]
        if not beside:
            return
        hold = yield from market.request(actor, "hold_slot", slot_id=one.id)
        other = None
        for n in range(2):
            yield market.world.timer(draw.between(SECOND, LOOK, "look", n))
            try:
                other = yield from market.request(
                    actor, "hold_slot", slot_id=beside[n % len(beside)], quantity=places
                )
                break
            except Refused:
                continue
        yield market.world.timer(draw.between(SECOND, LOOK, "decide"))
        if other is None:
            yield from market.request(actor, "release_hold", hold_id=hold.id)
        elif draw.chance(PAIRS_BOOK, "end"):
            yield from settle(market, actor, hold.id)
            yield from settle(market, actor, other.id)
        else:
            yield from market.request(actor, "release_hold", hold_id=hold.id)
            yield from market.request(actor, "release_hold", hold_id=other.id)

    pairs.grow(scaled(SIZE, market.load), customer, habit)


def start_desks(market: Marketplace, slots: Sequence[int]) -> None:
    """Start the desks of providers, which now and then open the form of one of some slots.

    They change nothing. While a form is open its row is locked, and whoever books it waits.
    """
    desks = Population(market.world, think_mean=FORM_PAUSE, prefix="desk")

    def habit(actor: Actor, draw: Stream) -> Generator[Any, Any, None]:
        op = Operation(market.world, actor, actor.next_n)
        actor.next_n += 1
        edit = yield from market.slots.edit(op, draw.pick(slots, "row"))
        try:
            yield market.world.timer(draw.between(SECOND, FORM, "form"))
        finally:
            edit.close()

    desks.grow(scaled(SIZE, market.load), lambda _: 0, habit)


def take_later(
    market: Marketplace,
    who: str,
    customer: int,
    ms: int,
    choose: Callable[[], Sequence[int]],
    quantity: int = 1,
) -> None:
    """Let a customer book and pay the first slot of a list that is made at that time."""

    def act(actor: Actor) -> Generator[Any, Any, None]:
        for slot_id in choose()[:1]:
            hold = yield from market.request(actor, "hold_slot", slot_id=slot_id, quantity=quantity)
            yield from settle(market, actor, hold.id)

    later(market, who, customer, ms, act)


def fall_ill_later(market: Marketplace, who: str, ms: int, slot_id: int) -> None:
    """Let a provider be away at the time of a slot, whoever has a place then."""

    def act(actor: Actor) -> Generator[Any, Any, None]:
        op = Operation(market.world, actor, actor.next_n)
        actor.next_n += 1
        yield market.database(op)
        slot = market.slots.table.rows[slot_id]
        times = {"starts_at": slot.starts_at, "ends_at": slot.ends_at}
        tx = Transaction(op)
        tx.insert(market.blocks.table, {"provider_id": slot.provider_id, **times})
        tx.update(market.slots.table, slot_id, {"blocked": True})
        tx.commit()

    later(market, who, 0, ms, act)
