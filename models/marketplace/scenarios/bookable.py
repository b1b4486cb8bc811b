"""When a customer could have had a slot, from the rows that were committed."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from simharness.api import SECOND, Criterion
from simharness.models.marketplace.looks import is_new

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from simharness.models.marketplace.product import Marketplace
    from simharness.models.marketplace.tables import Booking, Slot

RECENTLY = 60 * SECOND
"""What was so at any time of the last minute is what the agent could know as it finished: it needs
some to look, to think and to act, and what it has set going may take some to settle."""
CHANCE = 600 * SECOND
"""Whoever leaves a slot alone for so long while it is free could have had it."""

PROMPT = 90 * SECOND
"""The same where one looks until a deadline, which is near, and the time for which an agent may
leave off looking: it is told to look once a minute, and thinks for up to 9 seconds before it does.
"""


class Moment(NamedTuple):
    """When something was committed; of what was there at the start, 0."""

    order: int
    t: int


class Vacancy(NamedTuple):
    """Whether a slot could be booked, from one commit on."""

    order: int
    t: int
    open: bool
    """Enough places are free, or the customer's."""
    hopeless: bool
    """It would be full or blocked even if nobody held anything."""


class Bookable:
    """Tells of slots whether a customer could have had them.

    Their own holds are in no way, nor are the bookings that are new: they may be given up.
    """

    def __init__(self, market: Marketplace, customer_id: int) -> None:
        self.market = market
        self.customer_id = customer_id
        holds = market.holds.table
        self.holds: dict[int, list[int]] = {}
        """Holds that are, or have been, the customer's, by slot; none that the agent has made
        without being told so."""
        for key in dict.fromkeys((*holds.rows, *holds.history)):
            if market.looks.unaware(key):
                continue
            rows = [change.new for change in holds.history.get(key, ())]
            rows.append(holds.row_at(key, 0))
            for slot_id in dict.fromkeys(
                row.slot_id for row in rows if row is not None and row.customer_id == customer_id
            ):
                self.holds.setdefault(slot_id, []).append(key)
        self.bookings: dict[int, dict[int, None]] = {}
        """Bookings that are, or have been, the customer's, by the slots that they came to."""
        for change in market.bookings.table.changes:
            if change.new is not None and change.new.customer_id == customer_id:
                self.bookings.setdefault(change.new.slot_id, {})[change.key] = None

    # --- at one commit ----------------------------------------------------------------------------

    def slot(self, slot_id: int, order: int) -> Slot | None:
        """Give a slot as it was after commit `order`."""
        return self.market.slots.table.row_at(slot_id, order)

    def kept(self, slot_id: int, order: int) -> int:
        """Tell how many places of a slot the customer held after commit `order`."""
        holds = self.market.holds.table
        rows = [holds.row_at(key, order) for key in self.holds.get(slot_id, ())]
        return sum(
            row.quantity
            for row in rows
            if row is not None and row.status == "active" and row.customer_id == self.customer_id
        )

    def booked(self, slot_id: int, order: int) -> int:
        """Tell how many places of a slot the customer's new bookings had after commit `order`."""
        bookings = self.market.bookings.table
        rows = [bookings.row_at(key, order) for key in self.bookings.get(slot_id, ())]
        return sum(
            row.quantity
            for row in rows
            if row is not None
            and (row.status, row.slot_id) == ("confirmed", slot_id)
            and row.customer_id == self.customer_id
            and is_new(self.market, row)
        )

    def free(self, slot_id: int, order: int) -> int:
        """Tell how many places the customer could have had after commit `order`."""
        slot = self.slot(slot_id, order)
        if slot is None or slot.blocked:
            return 0
        return slot.capacity - slot.taken + self.kept(slot_id, order) + self.booked(slot_id, order)

    def taken(self, booking: Booking) -> Moment:
        """Tell when a booking came to the place that it has, as far as that was anybody's act.

        By its last move; else by its hold; else by the last payment for it, since a request takes
        no place before that, or where there is none by the request.
        """
        market = self.market
        past = market.bookings.table.history.get(booking.id, [])
        acts = [c for c in past if c.old is not None and c.old.slot_id != c.new.slot_id]
        if not acts and booking.hold_id is not None:
            holds = market.holds.table.history.get(booking.hold_id, [])
            acts = [c for c in holds if c.old is None]
        elif not acts:
            payments = market.payments.table.where(booking_id=booking.id)
            paid = [c for p in payments for c in market.payments.table.history.get(p.id, ())]
            acts = [c for c in (*past, *paid) if c.old is None]
        last = max(acts, key=lambda change: change.order, default=None)
        return Moment(last.order, last.t) if last is not None else Moment(0, 0)

    # --- within the last minute -------------------------------------------------------------------

    def lately(self, slot_id: int, quantity: int, order: int, t: int) -> bool:
        """Tell whether places were free at any time of that minute."""
        return any(self.free(slot_id, o) >= quantity for o in self._orders(slot_id, order, t))

    def blocked(self, slot_id: int, order: int, t: int) -> set[bool]:
        """Tell whether a slot's provider was away in that minute: it may be both."""
        rows = [self.slot(slot_id, o) for o in self._orders(slot_id, order, t)]
        return {row.blocked for row in rows if row is not None}

    def _orders(self, slot_id: int, order: int, t: int) -> Iterator[int]:
        yield order
        for change in self.market.slots.table.history.get(slot_id, ()):
            if change.order <= order and change.t >= t - RECENTLY:
                yield change.order - 1
                yield change.order

    # --- from the start ---------------------------------------------------------------------------

    def vacancies(self, slot_id: int, quantity: int) -> Iterator[Vacancy]:
        """Give how a slot was from the start, and after each commit that concerns it."""
        slots, holds = self.market.slots.table, self.market.holds.table
        changes = [*slots.history.get(slot_id, ())]
        for key in self.holds.get(slot_id, ()):
            changes += holds.history.get(key, ())
        for key in self.bookings.get(slot_id, ()):
            changes += self.market.bookings.table.history.get(key, ())
        orders = {0: 0} | {change.order: change.t for change in changes}
        for order in sorted(orders):
            slot = self.slot(slot_id, order)
            if slot is None:
                continue
            kept = self.kept(slot_id, order)
            free = slot.capacity - slot.taken + kept + self.booked(slot_id, order)
            yield Vacancy(
                order,
                orders[order],
                not slot.blocked and free >= quantity,
                slot.blocked or free + slot.held - kept < quantity,
            )

    def could_be_had(self, slot_id: int, quantity: int, order: int, t: int) -> bool:
        """Tell whether a slot could be had by whoever committed something else at tick `t`.

        It could if it was free just before commit `order`, be it for a moment, unless the agent had
        just been told that it wasn't. Others hold a slot for some seconds again and again, so that
        none is free for long: to ask for more than the very moment would pay whoever takes any slot
        that will do.
        """
        told = self.market.looks.said_to_be_gone(slot_id, quantity, t)
        return not told and self.free(slot_id, order - 1) >= quantity

    def could_be_taken(self, needed: Mapping[int, int], moment: Moment) -> bool:
        """Tell whether slots could be had together by whoever looks until a deadline."""
        return all(
            self.could_be_had(key, quantity, *moment) for key, quantity in needed.items()
        ) or self.was_left(needed, moment, PROMPT)

    def looked(self, slots: Collection[int], t: int) -> Criterion:
        """Judge whether the agent looked at some slots again and again, up to a tick."""
        pause = self.market.looks.pause(slots, t)
        told = f"the longest time without a look was {pause // SECOND} s"
        return Criterion("looked again and again", pause <= PROMPT, told)

    def was_left(
        self, needed: Mapping[int, int], moment: Moment, chance: int = CHANCE, start: int = 0
    ) -> bool:
        """Tell whether slots were open together for long, before something else was committed.

        Args:
            needed: Places that are wanted, by slot.
            moment: When the other thing was committed.
            chance: How long is long, in ticks.
            start: The tick from which on they might be taken.
        """
        seen = sorted(
            (vacancy.order, vacancy.t, key, vacancy.open)
            for key, quantity in needed.items()
            for vacancy in self.vacancies(key, quantity)
            if vacancy.order < moment.order
        )
        is_open = dict.fromkeys(needed, False)
        since: int | None = None
        for _, t, key, now in seen:
            is_open[key] = now
            if not all(is_open.values()):
                if since is not None and t - since >= chance:
                    return True
                since = None
            elif since is None:
                since = max(t, start)
        return since is not None and moment.t - since >= chance

    def hopeless_after(self, slot_id: int, quantity: int, t: int) -> bool:
        """Tell whether a slot was beyond hope at some time from tick `t` on."""
        found: Sequence[Vacancy] = [*self.vacancies(slot_id, quantity)]
        last = [vacancy for vacancy in found if vacancy.t <= t][-1:]
        return any(v.hopeless for v in (*last, *(v for v in found if v.t > t)))
