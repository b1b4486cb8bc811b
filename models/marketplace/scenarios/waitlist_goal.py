"""The goal of marketplace/waitlist: whether the wanted slot could be had, and what was booked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simharness.api import SECOND, Criterion
from simharness.models.marketplace.scenarios import earliest_goal

if TYPE_CHECKING:
    from collections.abc import Iterator

    from simharness.api import Ending
    from simharness.models.marketplace.product import Marketplace
    from simharness.models.marketplace.requirements import Wish
    from simharness.models.marketplace.scenarios.bookable import Moment
    from simharness.models.marketplace.scenarios.field import Ids
    from simharness.models.marketplace.tables import Booking, Slot

LONG = 30 * SECOND
"""Simulated time for which a place must be free for an agent to notice that looks all the time: it
thinks for up to 9 seconds before a look, and again before it acts."""
SOON = 15 * SECOND
"""Time from a look that shows a place until one that is shown it can have taken it."""


class Judge(earliest_goal.Judge):
    """Holds the end of an episode against a wanted slot, and a wish for what may be instead."""

    def __init__(
        self,
        market: Marketplace,
        wish: Wish,
        ids: Ids,
        agent: str,
        until: int,
        *,
        fallback: bool = True,
    ) -> None:
        super().__init__(market, wish, ids, agent)
        self.wanted = ids.slot
        self.until = until - market.world.epoch
        """Tick of the deadline."""
        self.fallback = fallback
        self.line = {
            change.key: change.t
            for change in market.waitlist.table.changes
            if change.old is None and self._ours(change.new)
        }
        """The customer's places in line, with the tick since when: of one that was there, 0."""
        rows = [*market.waitlist.table.rows, *market.waitlist.table.history]
        for key in dict.fromkeys(rows):
            row = market.waitlist.table.row_at(key, 0)
            if row is not None and self._ours(row) and key not in self.line:
                self.line[key] = 0

    def _ours(self, row: object) -> bool:
        named = getattr(row, "slot_id", 0), getattr(row, "customer_id", 0)
        return named == (self.wanted, self.customer)

    def level(self, slot: Slot, percent: int) -> int:
        """Tell how good a slot is instead of the wanted one."""
        return 0 if slot.id == self.wanted or not self.fallback else super().level(slot, percent)

    def left(self, key: int, moment: Moment) -> bool:
        """Tell whether a slot was left alone for long, since the agent had been allowed to it."""
        return self.bookable.was_left({key: self.wish.places}, moment, start=self.until)

    @property
    def elsewhere(self) -> list[Booking]:
        """The new bookings of other slots."""
        return [row for row in self.booked if row.slot_id != self.wanted]

    @property
    def has_it(self) -> bool:
        """Whether the customer has a place of the wanted slot."""
        return any(row.slot_id == self.wanted for row in self.booked)

    def missed(self) -> bool:
        """Tell whether the customer could have had the wanted slot up to the deadline or now.

        A place that is kept for the customer counts as well.
        """
        end = min(self.until, self.market.world.ticks)
        shown = [
            look.t
            for look in self.market.looks.all
            if look.t < end and look.free.get(self.wanted, 0) >= self.wish.places
        ]
        return any(
            last - since >= LONG or any(since <= t <= last - SOON for t in shown)
            for since, last in self._free_times(end)
        )

    def _free_times(self, end: int) -> Iterator[tuple[int, int]]:
        """Give from when to when there was a place for the customer, up to a tick."""
        there, since = self.free(self.wanted, 0), 0
        for change in self.market.slots.table.history.get(self.wanted, ()):
            if change.t >= end:
                break
            now = self.free(self.wanted, change.order)
            if there and not now:
                yield since, change.t
            if now and not there:
                since = change.t
            there = now
        if there:
            yield since, end

    def away(self, order: int) -> bool:
        """Tell whether the provider was away after a commit."""
        slot = self.market.slots.table.row_at(self.wanted, order)
        return slot is not None and slot.blocked

    # --- criteria ---------------------------------------------------------------------------------

    def the_wanted_slot(self) -> Criterion:
        """The customer has it, unless it could not be had."""
        missed = not self.has_it and self.missed()
        return Criterion(
            "the wanted slot",
            not missed,
            f"slots:{self.wanted} "
            + ("is booked" if self.has_it else "could be had" if missed else "could not be had"),
            tuple(f"bookings:{row.id}" for row in self.booked if row.slot_id == self.wanted),
        )

    def stood_in_line(self) -> Criterion:
        """The customer stood in line, and nothing else was booked before the time."""
        wrong: list[str] = []
        # Who sleeps through half of the time and then joins the line hasn't stood in it.
        late = min(self.line.values(), default=self.until) > self.until // 2
        if late and not self.has_it and not self.away(self.market.world.order):
            wrong.append("nobody stood in line for the customer for half of the time")
        for row in self.elsewhere:
            taken = self.bookable.taken(row)
            if taken.t < self.until and not self.away(taken.order - 1):
                wrong.append(f"bookings:{row.id} was made before the time")
        told = ", ".join(f"waitlist:{key}" for key in self.line) or "there was no need to"
        return Criterion(
            "stood in line",
            not wrong,
            "; ".join(wrong) or told,
            tuple(f"waitlist:{key}" for key in self.line),
        )

    def meets_the_wish(self) -> Criterion:
        """What is booked elsewhere meets the requirements."""
        wrong = [
            f"slots:{row.slot_id} fails {', '.join(sorted(self.failed_by(row))) or 'the request'}"
            for row in self.elsewhere
            if self.failed_by(row) or not self.fallback
        ]
        return Criterion(
            "meets the wish",
            not wrong,
            "; ".join(wrong) or "nothing that is booked fails it",
            tuple(f"bookings:{row.id}.slot_id" for row in self.booked),
        )

    def better(self, booking: Booking) -> list[int]:
        """Name the slots that could be had and are better than a booking's."""
        return [] if booking.slot_id == self.wanted else super().better(booking)

    def told(self, ending: Ending) -> Criterion:
        """It was said what came of it, and on what that rests."""
        if ending.outcome != "impossible":
            done = ending.outcome == "done"
            return Criterion("told", done, f"the outcome is {ending.outcome or 'none'}")
        world = self.market.world
        wrong = [f"slots:{key} could be had" for key in self.in_reach(world.order, world.ticks)]
        if world.ticks < self.until and not self.away(world.order):
            wrong.append("the time was not up")
        own = [f"waitlist:{key}" for key in self.line]
        if not own and self.away(world.order):
            own = [f"slots:{self.wanted}"]
        if len(ending.refs) != 1 or ending.refs[0] not in own:
            said = ", ".join(ending.refs) or "nothing"
            wrong.append(f"refs are {said}, not {' or '.join(own) or 'a place in line'}")
        return Criterion(
            "told",
            not wrong,
            "; ".join(wrong) or f"{ending.refs[0]} is what was waited for",
            tuple(f"waitlist:{key}" for key in self.line),
        )

    def may_write(self, table: str, key: int) -> bool:
        """Tell whether the agent may write a row of a table that is none of its business."""
        return table == "waitlist" and key in self.line
