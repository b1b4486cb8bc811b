"""Exports: the rows changed since an instant, for readers that come back with a cursor.

A reader that follows the newest stamp it has seen must in the end have seen every change. Where the
product's rule passes one over, the row is noted as missing; whose fault that was is decided
elsewhere.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from simharness.parts.row import R
from simharness.product.rows_view import Query, RowsView
from simharness.product.view import PRIMARY, REPLICA

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence

    from simpy.events import Event

    from simharness.kernel.operation import Operation
    from simharness.kernel.world import World
    from simharness.parts.follower import Follower
    from simharness.parts.table import Change, Table
    from simharness.product.view import Breach, Waits

INCLUSIVE = "inclusive"
COMMIT = "commit"


class ExportView(RowsView[R]):
    """Reads the rows whose stamp is not before an instant, in order of id."""

    __slots__ = ("boundary", "resolution", "stamp")

    def __init__(
        self,
        world: World,
        table: Table[R],
        kind: str,
        waits: Waits,
        breaches: list[Breach],
        replica: Follower[R],
    ) -> None:
        super().__init__(world, table, kind, waits, breaches, replica)
        self.boundary = INCLUSIVE
        """Whether a row stamped exactly at the cursor is exported: inclusive or strict."""
        self.stamp = COMMIT
        """What a row is stamped with: the instant of its commit, or of the statement before it."""
        self.resolution = 1
        """Unit of stamps, in ticks."""

    def read(
        self, op: Operation, since: int, inclusive: bool | None = None
    ) -> Generator[Event, Any, tuple[R, ...]]:
        """Give the rows changed at or after the instant `since`, as routed after the wait `db`.

        `inclusive` is the caller's own choice of the boundary; None leaves it to the product.
        """
        k = op.next_access()
        world = self.world
        yield op.latency(self.waits.db, "db", k)
        unit = self.resolution
        cursor = since // unit
        strict = self.boundary != INCLUSIVE if inclusive is None else not inclusive

        def exported(row: R) -> bool:
            stamp = (row.updated_at if self.stamp == COMMIT else self._stated(row)) // unit
            return stamp > cursor or (stamp == cursor and not strict)

        def due(row: R) -> bool:
            return self._committed(row) // unit >= cursor

        order, source, as_of = world.order, self.from_primary, world.ticks
        find: Callable[[Callable[[R], bool]], Sequence[R]] = self.table.where
        if self.route != PRIMARY and self.from_replica(op):
            replica = self.replica
            order, source, as_of = replica.order(), world.numbers[REPLICA], replica.horizon
            if replica.mechanism not in world.repair:
                find = lambda matches: replica.where(matches, order)  # noqa: E731
        whole = f"export:{self.table.name}" in world.repair
        rows = tuple(find(due if whole else exported))
        query = Query(f"since={since}" + (",strict" if strict else ""), due)
        wrong = self.wrong(query, rows, order, op.begin_order) if order < op.begin_order else []
        if inclusive is not False:
            wrong = sorted_fours(wrong + self._missed(op, query, rows, order))
        self.note(op, query, rows, order, source, wrong)
        self.say_as_of(op, as_of)
        return rows

    def _stated(self, row: R) -> int:
        """Give the instant of the statement that made a version of a row."""
        change = self._change(row)
        return row.updated_at if change is None else self.world.epoch + change.stated

    def _committed(self, row: R) -> int:
        """Give the instant at which a version of a row was committed, whatever its stamp says."""
        change = self._change(row)
        return row.updated_at if change is None else self.world.epoch + change.t

    def _change(self, row: R) -> Change | None:
        change: Change  # which `reversed` loses, because two of its fields are Any
        for change in reversed(self.table.history.get(row.id, ())):
            if change.new is row:
                return change
        return None

    def _missed(self, op: Operation, query: Query, rows: Sequence[R], order: int) -> list[int]:
        """List rows that the source had, that are due, and that the reader has never been given.

        Flat `[key, served, true, age, ...]`.
        """
        world = self.world
        given = {row.id for row in rows}
        reads = op.actor.reads
        number = self.table.number
        out: list[int] = []
        for key, past in self.table.history.items():
            last = past[-1]
            if key in given or last.new is None or last.order > min(order, op.begin_order):
                continue
            seen = reads.get((number, key), (0, None))[0]
            due = [c for c in past if c.version > seen and c.new and query.matches(c.new)]
            if due and query.matches(last.new):
                out += (key, due[0].version - 1, last.version, world.ticks - due[0].t)
        return out


def sorted_fours(flat: Sequence[int]) -> list[int]:
    """Sort `[key, served, true, age, ...]` by key."""
    return [item for four in sorted(zip(*[iter(flat)] * 4, strict=True)) for item in four]
