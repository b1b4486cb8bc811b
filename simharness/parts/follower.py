"""What follows a table some time behind: the state of a replica or an index as a commit order.

A follower holds no rows. It takes over commits in their order, each some time after it was made, so
its state is the table's as of an earlier place in the commit order. That place is worked out when
somebody reads: a follower costs no event and nothing at all while nobody reads through it.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING, Generic

from simharness.kernel.draws import Stream
from simharness.parts.row import R
from simharness.parts.where import ANYWHERE

if TYPE_CHECKING:
    from collections.abc import Callable

    from simharness.kernel.operation import Span
    from simharness.kernel.world import World
    from simharness.parts.table import Change, Table
    from simharness.parts.where import Where


class Follower(Generic[R]):
    """A copy of a table that lags behind it.

    One rule, here and in the auditor: a commit whose age equals the lag has been taken over.
    """

    __slots__ = ("_due", "_lags", "_next", "mechanism", "table", "wait", "world")

    def __init__(self, world: World, table: Table[R], mechanism: str, wait: str) -> None:
        self.world = world
        self.table = table
        self.mechanism = mechanism
        """How ablation names it."""
        self.wait = wait
        """The named wait that is its lag."""
        self._next = 0
        """Place in the table's changes of the first that isn't taken over."""
        self._due = -1
        """Tick at which that one is taken over; -1 while nobody has asked."""
        self._lags: list[tuple[int, Span]] = [(-1, (0, 0))]
        """Each lag with the commit order after which it was set: a commit keeps the lag that was in
        force when it was made."""

    @property
    def lag(self) -> Span:
        """Shortest and longest time, in ticks, by which it is behind."""
        return self._lags[-1][1]

    @lag.setter
    def lag(self, lag: Span) -> None:
        self._lags.append((self.world.order, lag))

    def as_of(self) -> int:
        """Give a tick before which it surely holds every commit, whatever the draws.

        It knows what it lacks as well: commits that a pin or an earlier lag keeps back for longer.
        """
        self.order()
        tick = max(0, self.world.ticks - self.lag[1])
        changes = self.table.changes
        return min(tick, changes[self._next].t) if self._next < len(changes) else tick

    def order(self) -> int:
        """Take over what is due; gives the commit order as of which it stands."""
        changes = self.table.changes
        now = self.world.ticks
        while self._next < len(changes):
            if self._due < 0:
                self._due = self._next_due()
            if self._due > now:
                return changes[self._next].order - 1
            order = changes[self._next].order
            while self._next < len(changes) and changes[self._next].order == order:
                self._next += 1  # the rows of one transaction come together
            self._due = -1
        return self.world.order

    def row(self, key: int, order: int) -> R | None:
        """Give a row as the follower has it at `order`, or None."""
        return self.table.row_at(key, order)

    def where(self, rest: Callable[[R], bool], order: int, where: Where = ANYWHERE) -> list[R]:
        """Give the rows that meet conditions and then a predicate, as it has them at `order`.

        By id.
        """
        before: dict[int, R | None] = {}
        for change in self.table.changes_after(order):
            before.setdefault(change.key, change.old)
        found = self.table.meeting(where, rest)
        if not before:
            return found
        matches = where.predicate(rest)
        out = [row for row in found if row.id not in before]
        out += [row for row in before.values() if row is not None and matches(row)]
        out.sort(key=lambda row: row.id)
        return out

    def _next_due(self) -> int:
        """Give the tick at which the next commit may be taken over: those before it have been.

        The rows of one transaction come together, as late as the latest of them.
        """
        changes = self.table.changes
        order = changes[self._next].order
        due = 0
        at = self._next
        while at < len(changes) and changes[at].order == order:
            due = max(due, changes[at].t + self._lag_of(changes[at]))
            at += 1
        return due

    def _lag_of(self, change: Change) -> int:
        """Decide the lag of one commit: pinned by its caller, exact, or drawn.

        The draw is addressed by the commit and its row, so that other commits shift nothing.
        """
        place = bisect_left(self._lags, change.order, key=lambda entry: entry[0]) - 1
        low, high = self._lags[place][1]
        pins = self.world.pins.get((change.owner, change.n))
        if pins is not None and self.wait in pins:
            return pins[self.wait]
        if low == high:
            return low
        stream = Stream(self.world.draws, change.owner, change.n)
        return stream.between(low, high, f"{self.mechanism}:{change.key}", change.version)
