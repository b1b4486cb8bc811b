"""A transaction: writes that become the truth together, at one place of the commit order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from simharness.errors import HarnessError
from simharness.kernel import journal
from simharness.parts.refusal import Refused
from simharness.parts.table import Change, Table, flat_delta

if TYPE_CHECKING:
    from collections.abc import Mapping

    from simharness.kernel.operation import Operation
    from simharness.parts.row import R


class Transaction:
    """Collects writes of one operation and commits them at once.

    Isolation is the caller's business (locks, versions, or none, as the product's knobs say): the transaction itself
    checks unique columns and builds each row on the row that is committed when `commit` runs.
    """

    __slots__ = ("_done", "_writes", "op")

    def __init__(self, op: Operation) -> None:
        self.op = op
        self._writes: list[tuple[Table[Any], int, dict[str, object] | None, bool]] = []
        self._done = False

    def insert(self, table: Table[R], fields: Mapping[str, object]) -> int:
        """Add a row; gives its id, which is one more than the largest so far. Raises Refused `conflict`."""
        self._check_unique(table, 0, fields)
        key = table.top + 1
        table.top = key  # given out: another open transaction gets the next one
        self._writes.append((table, key, dict(fields), True))
        for listener in table.statement_listeners:
            listener(key, None, self._built(table, key, fields, insert=True))
        return key

    def update(self, table: Table[R], key: int, changes: Mapping[str, object]) -> None:
        """Change columns of a row. Raises Refused `conflict` for a unique column, `not_found` for no row."""
        old = table.rows.get(key)
        if old is None:
            raise Refused("not_found", f"no {table.name} row {key}")
        self._check_unique(table, key, changes)
        self._writes.append((table, key, dict(changes), False))
        for listener in table.statement_listeners:
            listener(key, old, self._built(table, key, changes, insert=False))

    def delete(self, table: Table[R], key: int) -> None:
        """Remove a row. Raises Refused `not_found`."""
        old = table.rows.get(key)
        if old is None:
            raise Refused("not_found", f"no {table.name} row {key}")
        self._writes.append((table, key, None, False))
        for listener in table.statement_listeners:
            listener(key, old, None)

    def commit(self) -> int:
        """Make the writes the truth; gives the commit's place in the order.

        Raises Refused `conflict` or `not_found` when a unique column was taken or a row vanished since the statement;
        then nothing is changed.
        """
        if self._done:
            raise HarnessError(f"{self.op.name} commits a transaction twice")
        op = self.op
        world = op.world
        for table, key, fields, insert in self._writes:
            if not insert and key not in table.rows and not self._inserts(table, key):
                raise Refused("not_found", f"no {table.name} row {key}")
            if fields is not None:
                self._check_unique(table, key, fields)
        self._done = True
        world.order = order = world.order + 1
        now = world.ticks
        done: list[tuple[Table[Any], Change]] = []
        for table, key, fields, insert in self._writes:
            old = table.rows.get(key)
            new = None if fields is None else self._built(table, key, fields, insert=insert)
            change = table.apply(order, key, new, op.owner, op.n)
            world.emit(
                (
                    journal.COMMIT,
                    now,
                    op.owner_number,
                    op.n,
                    order,
                    table.number,
                    key,
                    old.version if old is not None else 0,
                    -change.version if new is None else change.version,
                    flat_delta(table.row_type, old, new),
                )
            )
            op.actor.writes[table.number, key] = change.version
            done.append((table, change))
        for table, change in done:
            for listener in table.listeners:
                listener(change)
        return order

    def _built(self, table: Table[R], key: int, fields: Mapping[str, object], *, insert: bool) -> R:
        instant = self.op.world.instant
        if insert:
            version = table.version(key) + 1
            stamp = {"id": key, "version": version, "created_at": instant, "updated_at": instant}
            return table.row_type.build({**fields, **stamp}, table.name)
        for name, value in fields.items():
            table.row_type.check(name, value, table.name)
        old = table.rows[key]
        return table.row_type.evolve(old, {**fields, "version": old.version + 1, "updated_at": instant})

    def _inserts(self, table: Table[Any], key: int) -> bool:
        return any(t is table and k == key and new for t, k, _, new in self._writes)

    def _check_unique(self, table: Table[Any], key: int, fields: Mapping[str, object]) -> None:
        for column in table.unique:
            value = fields.get(column)
            if value is None:
                continue
            other = table.taken_by(column, value)
            if other is not None and other != key:
                raise Refused("conflict", f"{table.name}.{column} {value!r} is taken", id=other)
