"""The places of all slots: how many are free, kept in step with the rows of holds and bookings.

Those rows are the truth. Whoever commits one takes or gives back places within that commit, and the
journal tells it as holds: of the table `holds`, and of `bookings` for places that were booked
without a hold.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from simharness.api import Actor, Holds, Operation, Refused, Transaction

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping

    from simharness.api import Change
    from simharness.models.marketplace.stores import MarketStores
    from simharness.models.marketplace.tables import Booking, Hold, Slot


class Author(NamedTuple):
    """Whoever made a commit."""

    owner_number: int
    n: int
    name: str


class Places:
    """The places of the slots of one marketplace."""

    def __init__(self, market: MarketStores) -> None:
        self.market = market
        self.world = world = market.world
        self.holds = Holds(world, "slots", "holds")
        self.direct = Holds(world, "slots", "bookings", self.holds.places)
        self.holds.on_lapse = self._lapsed
        self._clerk = Actor(world, "expiry", 0)
        """Who ends holds that are due; the number of each operation is the hold's id."""
        self._start = Author(world.intern("start"), 1, "start#1")
        self._sold: dict[int, tuple[Holds, int]] = {}
        """Which hold has the places of a confirmed booking."""
        self._first: dict[int, list[Booking]] = {}
        """Confirmed bookings of the start, by slots that nobody has asked for yet."""
        self._tokens: dict[int, int] = {}
        self._begun = False
        market.holds.table.listeners.append(self._hold_changed)
        market.bookings.table.listeners.append(self._booking_changed)
        # Scenarios put their rows into place after this, and before the first instant is over.
        world.after(0, lambda _: self._begin())

    # --- asking -----------------------------------------------------------------------------------

    def check(self, op: Operation, slot_id: int, quantity: int) -> None:
        """Put on record that a call looks whether places are free.

        Raises Refused `slot_taken` (capacity 1) or `sold_out` (above), with `slot_id` and `left`.
        """
        self._open(slot_id)
        with about(slot_id):
            self.holds.check(op, slot_id, quantity)

    def free(self, slot_id: int) -> int:
        """Tell how many places are neither held nor sold, once holds that are due have ended."""
        self._open(slot_id)
        return self.holds.free(slot_id)

    def next_token(self, slot_id: int) -> int:
        """Give the number of the next hold of a slot."""
        token = self._tokens.get(slot_id)
        if token is None:
            holds = self.market.holds.table.where(slot_id=slot_id)
            token = max((hold.token for hold in holds), default=0)
        self._tokens[slot_id] = token + 1
        return token + 1

    # --- writing ----------------------------------------------------------------------------------

    def put(
        self, tx: Transaction, taken: Mapping[int, int], held: Mapping[int, int] | None = None
    ) -> None:
        """Add to the columns `taken` and `held` of slots what a transaction takes or gives back.

        By slot. The caller commits before it yields.
        """
        table = self.market.slots.table
        for slot_id, change in taken.items():
            self._open(slot_id)
            place = self.holds.places[slot_id]
            columns = {
                "taken": place.held + place.confirmed + change,
                "held": place.held + (held or {}).get(slot_id, 0),
            }
            row = table.rows[slot_id]
            if (row.taken, row.held) != (columns["taken"], columns["held"]):
                tx.update(table, slot_id, columns)

    def give_back(self, tx: Transaction, slot_id: int, quantity: int) -> None:
        """Note for the columns of a slot that a hold of it ends without a booking."""
        if not self.holds.leak:
            self.put(tx, {slot_id: -quantity}, {slot_id: -quantity})

    # --- in step with the rows --------------------------------------------------------------------

    def _begin(self) -> None:
        """Take in the rows of the start."""
        if self._begun:
            return
        self._begun = True
        market = self.market
        market.calendar.begin()
        taken: dict[int, int] = {}
        for booking in market.bookings.table:
            if booking.status == "confirmed":
                slot_id = booking.slot_id
                self._first.setdefault(slot_id, []).append(booking)
                taken[slot_id] = taken.get(slot_id, 0) + booking.quantity
        held: dict[int, int] = {}
        now = self.world.instant
        for hold in list(market.holds.table):
            if hold.status == "active" and hold.expires_at > now:
                held[hold.slot_id] = held.get(hold.slot_id, 0) + hold.quantity
        slots = market.slots.table
        for slot in list(slots):
            key = slot.id
            of_holds = held.get(key, 0)
            of_all = taken.get(key, 0) + of_holds
            if slot.taken != of_all or slot.held != of_holds:
                columns = {"taken": of_all, "held": of_holds}
                slots.start_with(slots.row_type.evolve(slot, columns))
        for hold in list(market.holds.table):
            if hold.status == "active":
                self._adopt(hold)

    def _adopt(self, hold: Hold) -> None:
        """Let a hold of the start go on, or end if it should have ended before."""
        ttl = hold.expires_at - self.world.instant
        if ttl > 0 and self._open(hold.slot_id):
            self.holds.take(
                self._start, hold.slot_id, hold.quantity, ttl, hold=hold.id, checked=True
            )
        else:
            self._lapsed(hold.id)

    def _open(self, slot_id: int) -> bool:
        """Make a slot's places known, with what was sold of them at the start."""
        self._begin()
        if slot_id in self.holds.places:
            return True
        slot = self.market.slots.true(slot_id)
        if slot is None:
            return False
        self.holds.open(slot_id, slot.capacity)
        for booking in self._first.pop(slot_id, ()):
            self._sell(self._start, booking)
        return True

    def _sell(self, author: Author, booking: Booking) -> None:
        """Take places for good, without a hold."""
        key = booking.id
        self.direct.take(author, booking.slot_id, booking.quantity, 1, hold=key, checked=True)
        self.direct.follow(key, "confirmed")
        self._sold[key] = (self.direct, key)

    def _author(self, change: Change) -> Author:
        return Author(self.world.intern(change.owner), change.n, f"{change.owner}#{change.n}")

    def _hold_changed(self, change: Change) -> None:
        old: Hold | None = change.old
        new: Hold | None = change.new
        if new is None or not self._open(new.slot_id):
            return
        if old is None and new.status == "active":
            ttl = max(1, new.expires_at - self.world.instant)
            self.holds.take(
                self._author(change), new.slot_id, new.quantity, ttl, hold=new.id, checked=True
            )
        elif old is not None and old.status != new.status and new.id in self.holds:
            self.holds.follow(new.id, new.status)

    def _booking_changed(self, change: Change) -> None:
        old: Booking | None = change.old
        new: Booking | None = change.new
        was = old is not None and old.status == "confirmed"
        now = new is not None and new.status == "confirmed"
        moved = old is not None and new is not None and old.slot_id != new.slot_id
        if was and (moved or not now):
            self._open(old.slot_id if old is not None else 0)
            holds, hold = self._sold.pop(change.key)
            holds.follow(hold, "cancelled")
        if new is not None and now and (moved or not was) and self._open(new.slot_id):
            hold_row = self.market.holds.true(new.hold_id or 0)
            if hold_row is not None and not moved and hold_row.status == "confirmed":
                self._sold[change.key] = (self.holds, hold_row.id)
            else:
                self._sell(self._author(change), new)

    def _lapsed(self, hold_id: int) -> None:
        """Write down that a hold has expired, and with it the booking that waited for money."""
        market = self.market
        hold = market.holds.true(hold_id)
        if hold is None or hold.status != "active":
            return
        tx = Transaction(Operation(self.world, self._clerk, hold_id))
        tx.update(market.holds.table, hold_id, {"status": "expired"})
        booking = market.booking_of(hold_id)
        if booking is not None and booking.status == "pending":
            market.close_booking(tx, booking, "expired")
        if self._open(hold.slot_id):
            self.put(tx, {hold.slot_id: 0})
        tx.commit()
        if booking is not None:
            market.give_back(tx.op, booking.id, arrived=True)


@contextmanager
def about(slot_id: int) -> Generator[None]:
    """Let a refusal name the slot that it is about: a call may have asked for several."""
    try:
        yield
    except Refused as refusal:
        refusal.details["slot_id"] = slot_id
        raise


def require_open(slot: Slot | None, slot_id: int, now: int) -> Slot:
    """Give a slot that can be booked.

    Raises Refused `not_found`, `slot_blocked` or, for one that has begun, `slot_past`, with its
    `slot_id`.
    """
    with about(slot_id):
        if slot is None:
            raise Refused("not_found", f"no slot {slot_id}")
        if slot.blocked:
            raise Refused("slot_blocked", f"the provider is away at the time of slot {slot_id}")
        if slot.starts_at <= now:
            raise Refused("slot_past", f"slot {slot_id} has begun")
    return slot
