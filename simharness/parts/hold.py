"""Holds: parts of a limited capacity that are kept for somebody for a while.

One rule, here and in the auditor: a hold whose age equals its ttl has expired.

A hold ends exactly once: confirmed, released or expired. At all times what is free, held and
confirmed of a place adds up to its capacity.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Protocol

from simharness.errors import HarnessError
from simharness.kernel import journal
from simharness.parts.refusal import Refused

if TYPE_CHECKING:
    from collections.abc import Callable

    from simpy.events import Event

    from simharness.kernel.operation import Operation
    from simharness.kernel.world import World

HoldState = Literal["active", "confirmed", "released", "expired", "cancelled"]


class Taker(Protocol):
    """Whoever takes a hold: an operation, or what is known of one that has committed."""

    @property
    def owner_number(self) -> int:
        """The interned name of its owner."""
        ...

    @property
    def n(self) -> int:
        """Its number."""
        ...

    @property
    def name(self) -> str:
        """Owner and number, as rows show them."""
        ...


class Place:
    """What is limited: a slot, an article."""

    __slots__ = ("active", "capacity", "confirmed", "free", "held")

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.free = capacity
        """Below 0 when more was given away than there is."""
        self.held = 0
        self.confirmed = 0
        self.active: dict[tuple[str, int], Hold] = {}
        """Holds that haven't ended, by table and id, in the order of taking."""


class Hold:
    """One hold."""

    __slots__ = ("expires", "id", "leaked", "place", "quantity", "state")

    def __init__(self, hold: int, place: Place, quantity: int, expires: int) -> None:
        self.id = hold
        self.place = place
        self.quantity = quantity
        self.expires = expires
        """Tick."""
        self.state: HoldState = "active"
        self.leaked = False
        """True once it was to give back and didn't."""


class Holds:
    """The holds of the places of one table.

    `name` is that of the table whose rows stand for the holds. Where rows of two tables take from
    the same places, each table has its own `Holds`, and the second gets the `places` of the first.
    """

    __slots__ = ("_holds", "_top", "leak", "name", "on_lapse", "places", "table", "world")

    def __init__(
        self,
        world: World,
        table: str,
        name: str = "holds",
        places: dict[int, Place] | None = None,
    ) -> None:
        self.world = world
        self.table = table
        self.name = name
        self.places: dict[int, Place] = {} if places is None else places
        """Places by the id of their row."""
        self.on_lapse: Callable[[int], None] | None = None
        """Called with the id of each hold that has expired, at that instant."""
        self.leak = False
        """A hold that lapses or is released gives nothing back, now and later (a defect)."""
        self._holds: dict[int, Hold] = {}
        self._top = 0

    def open(self, key: int, capacity: int) -> None:
        """Make a place known. Raises HarnessError when it is known already."""
        if key in self.places:
            raise HarnessError(f"place {self.table}:{key} is opened twice")
        self.places[key] = Place(capacity)

    def take(
        self,
        op: Taker,
        key: int,
        quantity: int,
        ttl: int,
        *,
        hold: int = 0,
        checked: bool = False,
    ) -> int:
        """Hold `quantity` of a place for `ttl` ticks; gives the hold's id.

        Args:
            op: Whoever takes it.
            key: The place.
            quantity: From 1.
            ttl: From 1.
            hold: The id, where a row has one already; otherwise one more than the largest so far.
            checked: The caller has looked at `free` itself, maybe at another instant: whoever
                thinks in between sells too much.

        Raises:
            Refused: `slot_taken` (capacity 1) or `sold_out` when less than that is free.
        """
        world = self.world
        place = self._place(key)
        if quantity < 1 or ttl < 1:
            raise HarnessError(f"{op.name} holds {quantity} of {self.table}:{key} for {ttl} ticks")
        if hold in self._holds and self._holds[hold].state != "cancelled":
            raise HarnessError(f"hold {self.name}:{hold} is taken twice")
        if self.free(key) < quantity:
            if not checked:
                raise self._none_left(key, place)
            world.alarms += 1
        hold = hold or self._top + 1
        self._top = max(self._top, hold)
        item = self._holds[hold] = Hold(hold, place, quantity, world.ticks + ttl)
        place.active[self.name, item.id] = item
        place.free -= quantity
        place.held += quantity
        world.emit(
            (
                journal.HOLD,
                world.ticks,
                op.owner_number,
                op.n,
                world.numbers[self.name],
                hold,
                world.numbers[self.table],
                key,
                quantity,
                place.capacity,
                item.expires,
            )
        )

        def lapse(_: Event) -> None:
            self._lapse(item)

        world.after(ttl, lapse)
        return hold

    def check(self, op: Operation, key: int, quantity: int) -> None:
        """Put on record that `op` looks whether `quantity` of a place is free.

        For those who take later, with `checked`. Raises Refused as `take` does.
        """
        world = self.world
        place = self._place(key)
        free = self.free(key)
        world.emit(
            (
                journal.CHECKED,
                world.ticks,
                op.owner_number,
                op.n,
                world.numbers[self.table],
                key,
                quantity,
                free,
            )
        )
        if free < quantity:
            raise self._none_left(key, place)

    def _none_left(self, key: int, place: Place) -> Refused:
        code = "slot_taken" if place.capacity == 1 else "sold_out"
        left = max(place.free, 0)
        return Refused(code, f"{self.table}:{key} has {left} left", left=left)

    def free(self, key: int) -> int:
        """Tell how much of a place is neither held nor confirmed."""
        place = self._place(key)
        # The timer of a hold that is due may come later in this instant.
        for item in list(place.active.values()):
            self._lapse(item)
        return place.free

    def __contains__(self, hold: int) -> bool:
        """Tell whether a hold was ever taken."""
        return hold in self._holds

    def state(self, hold: int) -> HoldState:
        """Tell whether a hold is active, or how it ended."""
        item = self._holds.get(hold)
        if item is None:
            raise HarnessError(f"hold {self.name}:{hold} was never taken")
        self._lapse(item)
        return item.state

    def confirm(self, hold: int) -> None:
        """Make what is held the holder's for good.

        Raises Refused `hold_expired`, and HarnessError when it was ended otherwise.
        """
        self._end(self._active(hold, "confirmed"), "confirmed")

    def release(self, hold: int) -> None:
        """Give what is held back.

        Raises Refused `hold_expired`, and HarnessError when it was ended otherwise.
        """
        item = self._active(hold, "released")
        if self.leak or item.leaked:
            self._leak(item)
        else:
            self._end(item, "released")

    def cancel(self, hold: int) -> None:
        """Give back what had been confirmed. Raises HarnessError for any other hold."""
        state = self.state(hold)
        if state != "confirmed":
            raise HarnessError(f"hold {self.name}:{hold} is cancelled, which was {state}")
        item = self._holds[hold]
        item.place.confirmed -= item.quantity
        item.place.free += item.quantity
        self._note(item, "cancelled")

    def follow(self, hold: int, state: HoldState) -> None:
        """Bring a hold to where its row says it is, whatever it was before.

        For products whose rows are the truth. A row that comes back from an end, as only a defect
        brings it, is counted once more.
        """
        item = self._holds[hold]
        if state == item.state:
            return
        if state in ("released", "expired") and (self.leak or item.leaked):
            self._leak(item)
            return
        place, quantity = item.place, item.quantity
        if item.state == "active":
            del place.active[self.name, item.id]
            place.held -= quantity
        elif item.state == "confirmed":
            place.confirmed -= quantity
        else:
            place.free -= quantity
            self.world.alarms += 1
        if state == "confirmed":
            place.confirmed += quantity
        elif state == "active":
            place.held += quantity
            place.active[self.name, item.id] = item
        else:
            place.free += quantity
        self._note(item, state)

    def _place(self, key: int) -> Place:
        place = self.places.get(key)
        if place is None:
            raise HarnessError(f"place {self.table}:{key} was never opened")
        return place

    # --- the end ----------------------------------------------------------------------------------

    def _active(self, hold: int, wanted: HoldState) -> Hold:
        """Give a hold that can be ended."""
        state = self.state(hold)
        if state == "expired":
            raise Refused("hold_expired", f"hold {hold} has expired")
        if state != "active":
            raise HarnessError(
                f"hold {self.name}:{hold} is to be {wanted}, which was {state} before",
                "ask for its state first",
            )
        return self._holds[hold]

    def _lapse(self, item: Hold) -> None:
        """End a hold that is due."""
        if item.state != "active" or item.leaked or self.world.ticks < item.expires:
            return
        if self.leak:
            self._leak(item)
        else:
            self._end(item, "expired")
            if self.on_lapse is not None:
                self.on_lapse(item.id)

    def _leak(self, item: Hold) -> None:
        item.leaked = True
        self.world.alarms += 1

    def _end(self, item: Hold, reason: HoldState) -> None:
        place = item.place
        del place.active[self.name, item.id]
        place.held -= item.quantity
        if reason == "confirmed":
            place.confirmed += item.quantity
        else:
            place.free += item.quantity
        self._note(item, reason)

    def _note(self, item: Hold, reason: HoldState) -> None:
        item.state = reason
        world = self.world
        numbers = world.numbers
        world.emit((journal.HOLDEND, world.ticks, numbers[self.name], item.id, numbers[reason]))
