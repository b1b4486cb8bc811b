"""Customers who look around, book, let holds lapse and cancel."""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING, Any, NamedTuple

from simharness.api import DAY, HOUR, SECOND, Actor, Population, Stream, scaled
from simharness.models.marketplace.base import CUSTOMERS, DAYS, EPOCH, PROVIDERS, SERVICES

if TYPE_CHECKING:
    from collections.abc import Collection, Generator

    from simharness.models.marketplace.product import Marketplace
    from simharness.models.marketplace.tables import Booking, Slot

    Steps = Generator[Any, Any, Any]

HABITS = (
    ("look at services", 60),
    ("look at providers", 120),
    ("look at the popular day", 140),
    ("search a day", 200),
    ("read a slot", 150),
    ("look at own bookings", 130),
    ("book", 100),
    ("hold and let go", 40),
    ("pay too late", 20),
    ("cancel", 40),
)
"""What a customer does in a cycle, with its weight out of 1,000."""
_ENDS = tuple(accumulate(weight for _, weight in HABITS))
DAY_STARTS = EPOCH - 9 * HOUR
THOUGHT = 20
"""Longest time in seconds for which a customer keeps what is let go in the end."""


class Window(NamedTuple):
    """A search that many make."""

    service_id: int
    from_time: int
    to_time: int


def start_team(
    market: Marketplace,
    popular: Window | None = None,
    *,
    spared: Collection[int] = (),
    away: int = 0,
) -> None:
    """Start the customers, all but the one who is `away`: the agent's.

    They look at what is popular like everybody, and book and cancel nothing of the slots that are
    spared.
    """
    left_alone = frozenset(spared)
    customers = [customer for customer in range(1, CUSTOMERS + 1) if customer != away]
    size: int = market.settings.values["users.team"]
    team = Population(market.world, think_mean=0)
    market.settings.bind("users.think", team, "think_mean")
    visits = Visits(market, popular, left_alone)
    number = scaled(size, market.load) if size else 0
    team.grow(number, lambda k: customers[(k - 1) % len(customers)], visits.make)


class Visits:
    """What customers do when they come by."""

    def __init__(self, market: Marketplace, popular: Window | None, spared: frozenset[int]) -> None:
        self.market = market
        self.popular = popular
        self.spared = spared

    def make(self, actor: Actor, draw: Stream) -> Steps:
        """Do one thing."""
        market = self.market
        match HABITS[draw.cumulative(_ENDS, "choice")][0]:
            case "look at services":
                yield from market.request(actor, "list_services")
            case "look at providers":
                service_id = 1 + draw.below(len(SERVICES), "service")
                yield from market.request(actor, "list_providers", service_id=service_id)
            case "look at the popular day" if self.popular is not None:
                yield from self._search(actor, self.popular)
            case "read a slot":
                yield from self._read(actor, draw)
            case "look at own bookings":
                yield from self._own(actor)
            case "book":
                yield from self._book(actor, draw)
            case "hold and let go":
                yield from self._let_go(actor, draw)
            case "pay too late":
                yield from self._lapse(actor, draw)
            case "cancel":
                yield from self._cancel(actor, draw)
            case _:
                yield from self._search(actor, self._day(draw))

    def _day(self, draw: Stream) -> Window:
        """Draw what somebody looks for: everybody asks for whole days."""
        day = DAY_STARTS + (1 + draw.below(DAYS - 1, "day")) * DAY
        return Window(1 + draw.below(len(SERVICES), "service"), day, day + DAY)

    def _search(self, actor: Actor, window: Window) -> Steps:
        told = yield from self.market.request(
            actor,
            "search_slots",
            service_id=window.service_id,
            from_time=window.from_time,
            to_time=window.to_time,
        )
        return told.rows

    def _read(self, actor: Actor, draw: Stream) -> Steps:
        rows = yield from self._search(actor, self.popular or self._day(draw))
        if rows:
            yield from self.market.request(actor, "get_slot", slot_id=draw.pick(rows, "row").id)

    def _own(self, actor: Actor) -> Steps:
        told = yield from self.market.request(actor, "list_bookings")
        if told.rows:
            yield from self.market.request(actor, "get_booking", booking_id=told.rows[-1].id)

    def _found(self, actor: Actor, draw: Stream) -> Steps:
        """Look for a slot that the agent has no need of."""
        rows = yield from self._search(actor, self._day(draw))
        free: list[Slot] = [row for row in rows if row.id not in self.spared]
        return draw.pick(free, "row") if free else None

    def _held(self, actor: Actor, draw: Stream) -> Steps:
        slot = yield from self._found(actor, draw)
        if slot is None:
            return None
        return (yield from self.market.request(actor, "hold_slot", slot_id=slot.id))

    def _book(self, actor: Actor, draw: Stream) -> Steps:
        hold = yield from self._held(actor, draw)
        if hold is not None:
            yield from settle(self.market, actor, hold.id)

    def _let_go(self, actor: Actor, draw: Stream) -> Steps:
        hold = yield from self._held(actor, draw)
        if hold is not None:
            yield self.market.world.timer(draw.between(1, THOUGHT, "value") * SECOND)
            yield from self.market.request(actor, "release_hold", hold_id=hold.id)

    def _lapse(self, actor: Actor, draw: Stream) -> Steps:
        """Look for the card for so long that the hold is gone."""
        hold = yield from self._held(actor, draw)
        if hold is not None:
            late = hold.expires_at - self.market.instant + draw.between(1, 30, "value") * SECOND
            yield from settle(self.market, actor, hold.id, late)

    def _cancel(self, actor: Actor, draw: Stream) -> Steps:
        market = self.market
        told = yield from market.request(actor, "list_bookings")
        slots = market.slots.table.rows
        rows = [
            row
            for row in told.rows
            if row.status == "confirmed"
            and row.slot_id not in self.spared
            and slots[row.slot_id].starts_at > market.instant
        ]
        if rows:
            chosen = draw.pick(rows, "row")
            yield from market.request(actor, "cancel_booking", booking_id=chosen.id)


def settle(market: Marketplace, actor: Actor, hold_id: int, after: int = 0) -> Steps:
    """Book what is held, and pay what it costs, some ticks later."""
    booking = yield from market.request(actor, "confirm_booking", hold_id=hold_id)
    if after:
        yield market.world.timer(after)
    if booking.price:
        yield from pay(market, actor, booking)
    return booking


def pay(market: Marketplace, actor: Actor, booking: Booking) -> Steps:
    """Pay what a booking costs."""
    yield from market.request(
        actor, "pay", booking_id=booking.id, amount=booking.price, currency=booking.currency
    )


def provider_of(title: str) -> int:
    """Give the id of a provider of the base."""
    return 1 + [name for name, *_ in PROVIDERS].index(title)
