"""Exports: the rows changed since an instant, for readers that come back with a cursor.

A reader that follows the newest stamp it has seen must in the end have seen every change. Where the
product's rule passes one over, the row is noted as missing; whose fault that was is decided
elsewhere.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING, Any

from simharness.parts.row import R
from simharness.product.rows_view import Query, RowsView
from simharness.product.view import PRIMARY, REPLICA

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping, Sequence

    from simpy.events import Event

    from simharness.kernel.operation import Operation
    from simharness.parts.table import Change

    Four = tuple[int, int, int, int]
    """Key, version served, true version, age."""
    from simharness.product.view import ViewParts

INCLUSIVE = "inclusive"
COMMIT = "commit"


class ExportView(RowsView[R]):
    """Reads the rows whose stamp is not before an instant, in order of id."""

    __slots__ = ("_given", "boundary", "resolution", "stamp")

    def __init__(self, parts: ViewParts[R], kind: str) -> None:
        super().__init__(parts, kind)
        self.boundary = INCLUSIVE
        """Whether a row stamped exactly at the cursor is exported: inclusive or strict."""
        self.stamp = COMMIT
        """What a row is stamped with: the instant of its commit, or of the statement before it."""
        self.resolution = 1
        """Unit of stamps, in ticks."""
        self._given: dict[str, dict[int, int]] = {}
        """Newest version that each reader has been given here, by key."""

    def read(
        self, op: Operation, since: int, inclusive: bool | None = None
    ) -> Generator[Event, Any, tuple[R, ...]]:
        """Give the rows changed at or after the instant `since`, as routed after the wait `db`.

        `inclusive` is the caller's own choice of the boundary; None leaves it to the product.
        """
        k = op.next_access()
        world, table = self.world, self.table
        yield op.latency(self.waits.db, "db", k)
        unit = self.resolution
        cursor = since // unit
        strict = self.boundary != INCLUSIVE if inclusive is None else not inclusive

        def exported(row: R) -> bool:
            stamp = (row.updated_at if self.stamp == COMMIT else self._stated(row)) // unit
            return stamp > cursor or (stamp == cursor and not strict)

        def due(row: R) -> bool:
            return self._committed(row) >= since

        query = Query(f"since={since}" + (",strict" if strict else ""), due)
        order, source, as_of = world.order, self.from_primary, world.ticks
        if self.route != PRIMARY and self.from_replica(op, refilling=False):
            replica = self.replica
            order, source, as_of = replica.order(), world.numbers[REPLICA], replica.as_of()
            rows = replica.where(exported, order)
            if replica.mechanism in world.repair and self._late(op, query, rows, order):
                rows, as_of = table.where(exported), world.ticks
        else:
            rows = table.where(exported)
        given = self._given.setdefault(op.owner, {})
        lost = self._missed(op, query, rows, order, given) if inclusive is not False else {}
        if lost and f"export:{table.name}" in world.repair:
            rows = sorted([*rows, *(table.rows[key] for key in lost)], key=lambda row: row.id)
            lost = {}
        fours = [four for four in self._late(op, query, rows, order) if four[0] not in lost]
        fours += lost.values()
        self.note(op, query, rows, order, source, [x for four in sorted(fours) for x in four], lost)
        for row in rows:
            given[row.id] = max(given.get(row.id, 0), row.version)
        if source != self.from_primary or self.contract.dated:
            self.say_as_of(op, as_of)
        return tuple(rows)

    def _late(self, op: Operation, query: Query, rows: Sequence[R], order: int) -> list[Four]:
        """List what an answer as of `order` had not yet got, or still shows as it was."""
        begin = op.begin_order
        flat = self.wrong(query, rows, order, begin) if order < begin else []
        # A row that is given although it needn't be is never wrong.
        return [four for four in zip(*[iter(flat)] * 4, strict=True) if four[1] != four[2]]

    def _stated(self, row: R) -> int:
        """Give the instant of the statement that made a version of a row."""
        change = self._change(row)
        return row.updated_at if change is None else self.world.epoch + change.stated

    def _committed(self, row: R) -> int:
        """Give the instant at which a version of a row was committed, whatever its stamp says."""
        change = self._change(row)
        return row.updated_at if change is None else self.world.epoch + change.t

    def _change(self, row: R) -> Change | None:
        past = self.table.history.get(row.id, ())
        place = bisect_left(past, row.version, key=lambda change: change.version)
        return past[place] if place < len(past) and past[place].version == row.version else None

    def _missed(
        self,
        op: Operation,
        query: Query,
        rows: Sequence[R],
        order: int,
        given: Mapping[int, int],
    ) -> dict[int, Four]:
        """List rows that the source had, that are due, and that the reader has never been given.

        By key, each with version served, true version and age.
        """
        world, table = self.world, self.table
        shown = {row.id for row in rows}
        latest = min(order, op.begin_order)
        out: dict[int, Four] = {}
        for key, past in table.history.items():
            if key in shown or key not in table.rows:
                continue
            change = newest(past, latest)
            if change is None or change.new is None or not query.matches(change.new):
                continue
            seen, _ = op.actor.reads.get((table.number, key), (0, None))
            seen = max(seen, given.get(key, 0))
            due = (c for c in past if seen < c.version <= change.version)
            first = next((c for c in due if c.new is not None and query.matches(c.new)), None)
            if first is not None:
                out[key] = (key, first.version - 1, table.version(key), world.ticks - first.t)
        return out


def newest(past: Sequence[Change], order: int) -> Change | None:
    """Give the last change that is not later than `order`."""
    place = bisect_right(past, order, key=lambda change: change.order)
    return past[place - 1] if place else None
