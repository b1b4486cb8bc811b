"""Feeds: who has changed, for readers that keep up with a table.

A commit is a notice to the feed. It carries the row at its version, or only the row's id; then the
reader's answer is read again through the route, and behind a lagging replica it is older than the
notice that announced it.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from simharness.kernel.process import Wait
from simharness.parts.row import R, Row
from simharness.product.rows_view import Query, RowsView
from simharness.product.view import PRIMARY, REPLICA

if TYPE_CHECKING:
    from collections.abc import Generator

    from simpy.events import Event

    from simharness.kernel.operation import Operation
    from simharness.parts.table import Change
    from simharness.product.view import ViewParts

VERSION = "version"
ID = "id"


def is_among(keys: frozenset[int], row: Row) -> bool:
    """Tell whether a row is one of some."""
    return row.id in keys


class Reader:
    """How far one actor has come."""

    __slots__ = ("behind", "order")

    def __init__(self) -> None:
        self.order = 0
        """Commit order up to which it has been told."""
        self.behind: dict[int, int] = {}
        """Ids of rows that were shown older than their notice, with the tick of the last time."""


class FeedView(RowsView[R]):
    """Reads the rows that have changed since an instant, or since the reader's last answer."""

    __slots__ = ("_listening", "_readers", "_waiting", "payload", "poll")

    def __init__(self, parts: ViewParts[R], kind: str) -> None:
        super().__init__(parts, kind)
        self.payload = VERSION
        """What a notice carries: the row at its version, or its id."""
        self.poll = 0
        """Ticks after which rows that were shown older than announced are read again; 0 for
        never."""
        self._readers: dict[str, Reader] = {}
        self._waiting: list[Wait] = []
        self._listening = False

    def read(
        self, op: Operation, since: int | None = None, wait: int = 0
    ) -> Generator[Event, Any, tuple[R, ...]]:
        """Give the rows changed at or after the instant `since`, by id, after the wait `db`.

        Without `since`: since the reader's last answer, at first since the start. Where there are
        none, it waits up to `wait` ticks for the next notice.
        """
        k = op.next_access()
        world = self.world
        reader = self._readers.setdefault(op.owner, Reader())
        yield op.latency(self.waits.db, "db", k)
        deadline = world.ticks + wait
        keys = self._due(reader, since)
        while not keys and world.ticks < deadline:
            yield self._notice(reader, deadline)
            keys = self._due(reader, since)
        told = reader.order = world.order
        if self.payload == ID and keys:
            yield op.latency(self.waits.db, "db", op.next_access())
        text = "new" if since is None else f"since={since}"
        query = Query(text, partial(is_among, frozenset(keys)))
        rows, order, source, as_of = self._rows(op, keys)
        wrong = self.wrong(query, rows, order, told) if order < told else []
        names = world.repair
        if wrong and (self.replica.mechanism in names or f"feed:{self.table.name}" in names):
            rows, wrong, as_of = self._true(keys), [], self.world.ticks
        for key in keys:
            reader.behind.pop(key, None)
        reader.behind.update(dict.fromkeys(wrong[::4], world.ticks))
        self.note(op, query, rows, order, source, wrong)
        if source != self.from_primary or self.contract.dated:
            self.say_as_of(op, as_of)
        return rows

    def _due(self, reader: Reader, since: int | None) -> list[int]:
        """List the rows to show, by id."""
        table = self.table
        if since is None:
            keys = {change.key for change in table.changes_after(reader.order)}
        else:
            tick = since - self.world.epoch
            keys = {key for key, past in table.history.items() if past[-1].t >= tick}
        if self.poll:
            latest = self.world.ticks - self.poll
            keys.update(key for key, shown in reader.behind.items() if shown <= latest)
        return sorted(keys)

    def _notice(self, reader: Reader, deadline: int) -> Event:
        """Give the event of the next notice, of the back-stop or of the deadline."""
        world = self.world
        if not self._listening:
            self._listening = True
            self.table.listeners.append(self._on_commit)
        wait = Wait(world, f"a notice of {self.name}")
        self._waiting.append(wait)
        until = deadline
        if self.poll and reader.behind:
            until = min(until, max(min(reader.behind.values()) + self.poll, world.ticks + 1))

        def give_up(_: Event) -> None:
            if not wait.triggered:
                self._waiting.remove(wait)
                wait.succeed()

        world.after(until - world.ticks, give_up)
        return wait

    def _on_commit(self, change: Change) -> None:
        waiting, self._waiting = self._waiting, []
        for wait in waiting:
            wait.succeed()

    def _rows(self, op: Operation, keys: list[int]) -> tuple[tuple[R, ...], int, int, int]:
        """Read the rows: as their notices carry them, or again where the route says."""
        world = self.world
        if (
            self.payload != ID
            or self.route == PRIMARY
            or not self.from_replica(op, refilling=False)
        ):
            return self._true(keys), world.order, self.from_primary, world.ticks
        replica = self.replica
        order = replica.order()
        found = (replica.row(key, order) for key in keys)
        rows = tuple(row for row in found if row is not None)
        return rows, order, world.numbers[REPLICA], replica.as_of()

    def _true(self, keys: list[int]) -> tuple[R, ...]:
        now = self.table.rows
        return tuple(now[key] for key in keys if key in now)
