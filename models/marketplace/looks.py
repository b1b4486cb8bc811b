"""What the agent has been told of slots: which it was shown with free places, and which without.

Goals ask it. Whoever is shown that a slot has places and takes a worse one has chosen so; whoever
has just been told that it has none couldn't know better, although it may be free again by now.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from simharness.api import SECOND, Refused

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from simharness.api import Answer, Operation
    from simharness.models.marketplace.stores import MarketStores
    from simharness.models.marketplace.tables import Booking, Slot

AGE_MAX = 120 * SECOND
"""Simulated time after which a look says nothing any more."""
LEARN = 120 * SECOND
"""Simulated time in which an agent may find out what there is, before it looks at any of it."""
GONE = ("slot_taken", "sold_out", "slot_blocked", "locked")
"""Refusals that say of a slot that so many places of it can't be had now."""

LOOKING = ("get_slot", "search_slots", "slot_changes", "hold_slot", "hold_slots",
           "reschedule_booking")  # fmt: skip
"""Tools by which one looks at slots, or tries for one."""


class Look(NamedTuple):
    """One answer about slots."""

    as_of: int
    """Tick up to which the answer is complete, as it says itself."""
    t: int
    """Tick at which it came."""
    covers: Callable[[Slot], bool]
    """Whether it says something of a slot, be it by leaving it out."""
    free: Mapping[int, int]
    """Free places by slot, of those that were shown."""


class Looks:
    """The answers to one agent."""

    def __init__(self, market: MarketStores) -> None:
        self.market = market
        self.agent = ""
        """The name of whoever is told."""
        self.customer_id = 0
        self.all: list[Look] = []
        self.asked: list[tuple[int, Callable[[Slot], bool]]] = []
        """When it looked at slots, or tried for one, and at which; where nothing was answered in
        time, at any."""
        self.calls: list[int] = []
        """When it made calls of any kind."""
        self.held: list[int] = []
        """Holds that the agent was told it has; what it keeps itself is free for it."""

    def heed(
        self, op: Operation, tool: str, arguments: Mapping[str, Any], steps: Answer[Any]
    ) -> Answer[Any]:
        """Make a call of the agent's, and take note of what its answer says of slots."""
        self.agent, self.customer_id = op.owner, op.actor.identity
        self.calls.append(self.market.world.ticks)
        try:
            answer = yield from steps
        except Refused as refusal:
            if not self._late(op):
                self._refused(arguments, refusal)
            elif tool in LOOKING:
                self._unheard()
            raise
        if not self._late(op):
            self._answered(op, tool, arguments, answer)
        elif tool in LOOKING:
            self._unheard()
        return answer

    def last(self, slot_id: int, t: int) -> Look | None:
        """Give the newest look at a slot before a tick, if it isn't too old."""
        slot = self.market.slots.true(slot_id)
        if slot is None:
            return None
        fit = (k for k in self.all if k.t < t and k.as_of >= t - AGE_MAX and k.covers(slot))
        return max(fit, key=lambda look: (look.as_of, look.t), default=None)

    def unaware(self, hold_id: int) -> bool:
        """Tell whether a hold is the agent's, and it was never told so: it can't be let go."""
        past = self.market.holds.table.history.get(hold_id)
        made = past is not None and past[0].old is None and past[0].owner == self.agent
        return made and hold_id not in self.held

    def said_to_be_gone(self, slot_id: int, places: int, t: int) -> bool:
        """Tell whether the agent's last look before a tick showed too few places of a slot."""
        look = self.last(slot_id, t)
        return look is not None and look.free.get(slot_id, 0) < places

    def pause(self, slots: Collection[int], t: int) -> int:
        """Give the longest time, up to a tick, for which the agent looked at none of some slots.

        Before it looks, for the first two minutes, whatever it asks is to find out what there is.
        """
        rows = [row for key in slots if (row := self.market.slots.true(key)) is not None]
        times = [then for then, covers in self.asked if then < t and any(map(covers, rows))]
        first = min([*times, t, LEARN])
        learning = [then for then in self.calls if then < first]
        return max(b - a for a, b in pairwise([0, *learning, *times, t]))

    def _unheard(self) -> None:
        """Take note that the agent asked about slots, and that nothing was answered in time."""
        self.asked.append((self.market.world.ticks, lambda _: True))

    def _late(self, op: Operation) -> bool:
        """Tell whether nobody waits for the answer any more."""
        timeout: int = self.market.settings.values["api.timeout"]
        return bool(timeout) and self.market.world.ticks >= op.begin + timeout

    def _answered(
        self, op: Operation, tool: str, arguments: Mapping[str, Any], answer: Any
    ) -> None:
        if tool == "hold_slot":
            self.held.append(answer.id)
            self._asked_about(answer.slot_id)
        elif tool == "hold_slots":
            self.held += [row.id for row in answer.rows]
            self._asked_about(*(row.slot_id for row in answer.rows))
        elif tool == "join_waitlist":
            self._tried(answer.slot_id, 0)
        elif tool in ("get_slot", "slot_changes", "search_slots"):
            rows: tuple[Slot, ...] = (answer,) if tool == "get_slot" else answer.rows
            free = {r.id: 0 if r.blocked else r.capacity - r.taken for r in rows}
            covers = among(free)
            if tool == "search_slots":
                covers = asked_for(arguments, rows, answer.next_page)
            if tool == "slot_changes":
                # What it leaves out is as it was.
                self.asked.append((self.market.world.ticks, lambda _: True))
            self._note(op.as_of, covers, free)

    def _refused(self, arguments: Mapping[str, Any], refusal: Refused) -> None:
        """Take note of the slot that a refusal is about, and of how many places it leaves.

        Where it tells no number, there are fewer than were asked for: whoever asks for more than
        they want isn't told that they can't have that.
        """
        slot_id = refusal.details.get("slot_id")
        if refusal.code in GONE and slot_id is not None:
            fewer = 0 if refusal.code == "slot_blocked" else self._asked(arguments) - 1
            self._tried(slot_id, refusal.details.get("left", fewer))

    def _asked_about(self, *slots: int) -> None:
        self.asked.append((self.market.world.ticks, among(dict.fromkeys(slots, 0))))

    def _asked(self, arguments: Mapping[str, Any]) -> int:
        """Give for how many places a call asked."""
        booking = self.market.bookings.true(arguments.get("booking_id", 0))
        asked: int = arguments.get("quantity", booking.quantity if booking is not None else 1)
        return asked

    def _tried(self, slot_id: int, left: int) -> None:
        free = {slot_id: left}
        self._note(self.market.world.ticks, among(free), free)

    def _note(self, as_of: int, covers: Callable[[Slot], bool], free: dict[int, int]) -> None:
        for key in self.held:
            hold = self.market.holds.true(key)
            if hold is not None and hold.status == "active":
                free[hold.slot_id] = free.get(hold.slot_id, 0) + hold.quantity
        for row in self.market.bookings.table.where(customer_id=self.customer_id):
            if is_new(self.market, row) and row.status == "confirmed":
                free[row.slot_id] = free.get(row.slot_id, 0) + row.quantity
        self.all.append(Look(as_of, self.market.world.ticks, covers, free))
        self.asked.append((self.market.world.ticks, covers))


def is_new(market: MarketStores, booking: Booking) -> bool:
    """Tell whether a booking is in a place that it didn't have at the start."""
    first = market.bookings.table.row_at(booking.id, 0)
    return first is None or first.slot_id != booking.slot_id or first.status != "confirmed"


def among(slots: Mapping[int, int]) -> Callable[[Slot], bool]:
    """Say that some slots are meant, by id."""
    return lambda slot: slot.id in slots


def asked_for(
    arguments: Mapping[str, Any], rows: tuple[Slot, ...], next_page: int | None
) -> Callable[[Slot], bool]:
    """Say which slots one page of a search tells of: it is cut out of them in order of time."""
    places = [(row.starts_at, row.id) for row in rows]

    def covers(slot: Slot) -> bool:
        place = slot.starts_at, slot.id
        return (
            arguments.get("service_id") in (None, slot.service_id)
            and arguments.get("provider_id") in (None, slot.provider_id)
            and (arguments.get("from_time") or 0) <= slot.starts_at
            and slot.starts_at < (arguments.get("to_time") or slot.starts_at + 1)
            and (arguments.get("page", 1) == 1 or (bool(places) and places[0] <= place))
            and (next_page is None or place <= places[-1])
        )

    return covers
