"""The goal of marketplace/reschedule: where the customer has a place, and what it cost others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from simharness.api import Criterion, parse_instant
from simharness.models.marketplace.preference import rank
from simharness.models.marketplace.scenarios.bookable import Bookable, Moment
from simharness.models.marketplace.scenarios.footprint import Footprint, paid_for

if TYPE_CHECKING:
    from collections.abc import Mapping

    from simharness.api import Ending
    from simharness.models.marketplace.product import Marketplace
    from simharness.models.marketplace.tables import Booking


class Option(NamedTuple):
    """A slot that the request allows, in the order of how much it is wished for."""

    tier: int
    """0 for the same service, 1 for the longer one."""
    order: tuple[int, ...]
    starts_at: int
    place: int
    """Of its provider in the request."""
    slot_id: int


def options(market: Marketplace, facts: Mapping[str, Any]) -> list[Option]:
    """Give the slots that fit, free or not, the best first."""
    booking = market.bookings.table.rows[facts["booking_id"]]
    first, last = parse_instant(facts["from_time"]), parse_instant(facts["to_time"])
    near = parse_instant(facts["near"])
    titles: list[str] = facts["providers"]
    services = market.services.table.rows
    out: list[Option] = []
    for slot in market.slots.table:
        service = services[slot.service_id]
        title = market.providers.table.rows[slot.provider_id].title
        if not first <= slot.starts_at < last:
            continue
        if title in titles and service.title != facts["long_title"]:
            tier, place = 0, titles.index(title)
        elif (title, service.title) == (facts["long_provider"], facts["long_title"]):
            tier, place = 1, 0
            if service.price * booking.quantity - booking.price > facts["extra_max"]:
                continue
        else:
            continue
        order = rank(facts["prefer"], slot.starts_at, place, near)
        out.append(Option(tier, order, slot.starts_at, place, slot.id))
    return sorted(out)


class Judge:
    """Holds the end of an episode against the request."""

    def __init__(self, market: Marketplace, facts: Mapping[str, Any], agent: str) -> None:
        self.market = market
        self.facts = facts
        self.agent = agent
        self.booking_id: int = facts["booking_id"]
        self.bookings = market.bookings.table
        first = self.bookings.row_at(self.booking_id, 0)
        assert first is not None
        self.first: Booking = first
        """The booking at the start."""
        self.options = options_at_start(market, facts, first)
        self.bookable = Bookable(market, facts["customer_id"])
        self.footprint = Footprint(market, agent)
        self.mine = {self.booking_id, *self.footprint.made("bookings")}
        """The booking that is to be moved, and those that the agent made."""

    def judge(self, ending: Ending) -> tuple[Criterion, ...]:
        """Judge place, choice, money, and what else was touched."""
        standing = [
            row
            for key in sorted(self.mine)
            if (row := self.bookings.rows[key]).status == "confirmed"
        ]
        moved = [b for b in standing if b.slot_id != self.first.slot_id]
        world = self.market.world
        end = self.bookable.taken(moved[0]).t if moved else world.ticks
        return (
            self._one_place(standing),
            self.bookable.looked([option.slot_id for option in self.options], end),
            self._best(standing[0], ending) if moved else self._left(standing, ending),
            self._never_without(),
            paid_for(self.market, standing),
            self.footprint.criterion(self.mine),
        )

    def _one_place(self, standing: list[Booking]) -> Criterion:
        names = [f"bookings:{b.id} in slots:{b.slot_id}" for b in standing]
        same = all(b.quantity == self.first.quantity for b in standing)
        return Criterion(
            "no more than one booking",
            len(standing) <= 1 and same,
            "; ".join(names) or "no booking stands",
            tuple(f"bookings:{b.id}.status" for b in standing),
        )

    # --- moved ------------------------------------------------------------------------------------

    def _best(self, booking: Booking, ending: Ending) -> Criterion:
        """It is on the best slot that could be had, and said to be done."""
        name = "moved to the best"
        keys = (f"bookings:{booking.id}.slot_id",)
        chosen = next((o for o in self.options if o.slot_id == booking.slot_id), None)
        if chosen is None:
            return Criterion(name, False, f"slots:{booking.slot_id} doesn't fit the request", keys)
        if ending.outcome != "done":
            return Criterion(name, False, f"it is moved, and the outcome {ending.outcome!r}", keys)
        took = self.bookable.taken(booking)
        for option in self.options:
            if option >= chosen:
                break
            if self._could_be_had(option, took):
                told = f"slots:{option.slot_id} is better than slots:{booking.slot_id} and was free"
                return Criterion(name, False, told, (*keys, f"slots:{option.slot_id}.taken"))
        return Criterion(name, True, f"none better than slots:{booking.slot_id} was free", keys)

    def _could_be_had(self, option: Option, moment: Moment) -> bool:
        return self.bookable.could_be_taken({option.slot_id: self.first.quantity}, moment)

    # --- not moved --------------------------------------------------------------------------------

    def _left(self, standing: list[Booking], ending: Ending) -> Criterion:
        """Nothing could be had until the deadline; the old booking is as the request says."""
        name = "left as the request says"
        old_slot = self.first.slot_id
        keys = (f"bookings:{self.booking_id}.status", f"slots:{old_slot}.blocked")
        world = self.market.world
        order, t = world.order, world.ticks
        for option in self.options:
            if self._could_be_had(option, Moment(order + 1, t)):
                told = f"slots:{option.slot_id} fits and is free, slots:{old_slot} was left"
                return Criterion(name, False, told, (*keys, f"slots:{option.slot_id}.taken"))
        if world.instant < parse_instant(self.facts["until"]):
            return Criterion(name, False, f"there was time until {self.facts['until']}", keys)
        kept = any(b.id == self.booking_id for b in standing)
        lately = self._blocked_lately(order, t)
        if kept not in {not away for away in lately}:
            told = f"slots:{old_slot} is {'blocked' if kept else 'not blocked'}"
            what = "kept" if kept else "given up"
            return Criterion(name, False, f"{told}, bookings:{self.booking_id} was {what}", keys)
        foreign = [ref for ref in ending.refs if ref not in self._grounds()]
        if ending.outcome != "impossible" or foreign or f"slots:{old_slot}" not in ending.refs:
            told = f"told as {ending.outcome!r} with {', '.join(ending.refs) or 'no refs'}"
            return Criterion(name, False, told, keys)
        told = "kept" if kept else "given up"
        return Criterion(name, True, f"nothing fits, bookings:{self.booking_id} was {told}", keys)

    def _grounds(self) -> set[str]:
        return {f"slots:{self.first.slot_id}", f"bookings:{self.booking_id}"}

    def _blocked_lately(self, order: int, t: int) -> set[bool]:
        """Tell whether the old slot was blocked when the booking was given up, or by the end."""
        gone = [
            change
            for change in self.bookings.history.get(self.booking_id, ())
            if change.new.status == "cancelled"
        ]
        if gone:
            order, t = gone[-1].order, gone[-1].t
        return self.bookable.blocked(self.first.slot_id, order, t)

    # --- on the way -------------------------------------------------------------------------------

    def _never_without(self) -> Criterion:
        """The old place was given up only once there was the new one, or with no other to come."""
        name = "never without a place"
        confirmed = {self.booking_id}
        keys: list[str] = []
        gap = ""
        changes = [c for c in self.bookings.changes if c.key in self.mine]
        for change in changes:
            if change.new.status == "confirmed":
                if not confirmed:
                    gap = f"bookings:{change.key} came after the old place was given up"
                confirmed.add(change.key)
            else:
                confirmed.discard(change.key)
            keys.append(f"bookings:{change.key}.status")
        return Criterion(name, not gap, gap or "there was a place all the time", tuple(keys))


def options_at_start(market: Marketplace, facts: Mapping[str, Any], first: Booking) -> list[Option]:
    """Give the slots that fit the booking as it was at the start."""
    return [option for option in options(market, facts) if option.slot_id != first.slot_id]
