"""The goal of marketplace/group: a pair that belongs together, or nothing at all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from simharness.api import Criterion, parse_instant
from simharness.models.marketplace.preference import rank
from simharness.models.marketplace.scenarios.bookable import Bookable, Moment
from simharness.models.marketplace.scenarios.footprint import Footprint, paid_for

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from simharness.api import Ending
    from simharness.models.marketplace.product import Marketplace
    from simharness.models.marketplace.tables import Booking


class Part(NamedTuple):
    """A slot that may be half of a pair."""

    slot_id: int
    starts_at: int
    place: int
    """Of its provider in the request."""


class Pair(NamedTuple):
    """A room and a coach at one time, in the order of how much they are wished for."""

    order: tuple[int, ...]
    room: int
    coach: int


def parts_of(market: Marketplace, facts: Mapping[str, Any]) -> tuple[list[Part], list[Part]]:
    """Give the slots of rooms and of coaches that fit, free or not."""
    first, last = parse_instant(facts["from_time"]), parse_instant(facts["to_time"])
    services = {service.title: service for service in market.services.table}
    room = services[facts["room_title"]]
    coach, senior = services[facts["coach_title"]], services[facts["senior_title"]]
    places = {(room.id, title): k for k, title in enumerate(facts["rooms"])}
    places |= {(coach.id, title): k for k, title in enumerate(facts["coaches"][:-1])}
    if room.price * facts["party"] + senior.price <= facts["cost_max"]:
        places[senior.id, facts["coaches"][-1]] = len(facts["coaches"]) - 1
    rooms: list[Part] = []
    coaches: list[Part] = []
    for slot in market.slots.table:
        title = market.providers.table.rows[slot.provider_id].title
        place = places.get((slot.service_id, title))
        if place is not None and first <= slot.starts_at < last:
            part = Part(slot.id, slot.starts_at, place)
            (rooms if slot.service_id == room.id else coaches).append(part)
    return rooms, coaches


def pairs_of(
    facts: Mapping[str, Any], rooms: Sequence[Part], coaches: Sequence[Part]
) -> list[Pair]:
    """Give the pairs that are at one time, the best first."""
    near = parse_instant(facts["near"])
    return sorted(
        Pair(
            rank(facts["prefer"], room.starts_at, room.place * 10 + coach.place, near),
            room.slot_id,
            coach.slot_id,
        )
        for room in rooms
        for coach in coaches
        if room.starts_at == coach.starts_at
    )


class Judge:
    """Holds the end of an episode against the request."""

    def __init__(self, market: Marketplace, facts: Mapping[str, Any], agent: str) -> None:
        self.market = market
        self.facts = facts
        rooms, coaches = parts_of(market, facts)
        self.needed = {p.slot_id: facts["party"] for p in rooms} | {p.slot_id: 1 for p in coaches}
        """Places that are wanted, by the slots that fit."""
        self.pairs = pairs_of(facts, rooms, coaches)
        self.bookable = Bookable(market, facts["customer_id"])
        self.footprint = Footprint(market, agent)
        self.mine = self.footprint.made("bookings")

    def judge(self, ending: Ending) -> tuple[Criterion, ...]:
        """Judge what there is, the choice, the money, and what else was touched."""
        rows = self.market.bookings.table.rows
        standing = [rows[key] for key in sorted(self.mine) if rows[key].status == "confirmed"]
        pair = self._pair(standing)
        world = self.market.world
        end = Moment(world.order + 1, world.ticks)
        if pair is not None:
            # Whoever has one of the two is busy with it.
            end = min(self.bookable.taken(b) for b in standing)
        return (
            self._both_or_neither(standing, pair),
            self.bookable.looked(self.needed, end.t),
            self._best(pair, standing, ending) if pair else self._nothing(standing, ending),
            paid_for(self.market, standing),
            self.footprint.criterion(self.mine),
        )

    def _pair(self, standing: Sequence[Booking]) -> Pair | None:
        """Give the pair that two bookings are."""
        booked = {b.slot_id: b.quantity for b in standing}
        for pair in self.pairs:
            wanted = {pair.room: self.needed[pair.room], pair.coach: self.needed[pair.coach]}
            if len(standing) == len(wanted) and booked == wanted:
                return pair
        return None

    def _both_or_neither(self, standing: Sequence[Booking], pair: Pair | None) -> Criterion:
        told = ", ".join(f"bookings:{b.id} of slots:{b.slot_id}" for b in standing)
        return Criterion(
            "both or neither",
            pair is not None or not standing,
            f"there are {told}" if told else "there is no booking",
            tuple(f"bookings:{b.id}.status" for b in standing),
        )

    def _best(self, pair: Pair, standing: Sequence[Booking], ending: Ending) -> Criterion:
        """No better pair could be had, and it was said to be done."""
        name = "the best pair"
        keys = tuple(f"bookings:{b.id}.slot_id" for b in standing)
        if ending.outcome != "done":
            return Criterion(name, False, f"both are there, told as {ending.outcome!r}", keys)
        last = max(self.bookable.taken(b) for b in standing)
        for better in self.pairs[: self.pairs.index(pair)]:
            if self._could_be_had(better, last):
                told = f"slots:{better.room} and slots:{better.coach} are better and were free"
                return Criterion(name, False, told, keys)
        told = f"none better than slots:{pair.room} and slots:{pair.coach} was free"
        return Criterion(name, True, told, keys)

    def _nothing(self, standing: Sequence[Booking], ending: Ending) -> Criterion:
        """No pair could be had until the deadline, and what could is named."""
        name = "given up for a reason"
        world = self.market.world
        order, t = world.order, world.ticks
        if standing:
            return Criterion(name, False, "something was booked")
        for pair in self.pairs:
            if self._could_be_had(pair, Moment(order + 1, t)):
                told = f"slots:{pair.room} and slots:{pair.coach} could be had"
                return Criterion(name, False, told, (f"slots:{pair.room}", f"slots:{pair.coach}"))
        if world.instant < parse_instant(self.facts["until"]):
            return Criterion(name, False, f"there was time until {self.facts['until']}")
        grounds = {
            f"slots:{key}"
            for key, needed in self.needed.items()
            if self.bookable.lately(key, needed, order, t)
        }
        wrong = [ref for ref in ending.refs if ref not in grounds]
        if ending.outcome != "impossible" or wrong or not ending.refs:
            told = f"told as {ending.outcome!r} with {', '.join(ending.refs) or 'no refs'}"
            return Criterion(name, False, told)
        return Criterion(name, True, f"{', '.join(ending.refs)} had no counterpart")

    def _could_be_had(self, pair: Pair, moment: Moment) -> bool:
        needed = {key: self.needed[key] for key in (pair.room, pair.coach)}
        return self.bookable.could_be_taken(needed, moment)
