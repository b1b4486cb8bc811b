"""A transaction: writes that become the truth together, at one place of the commit order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from simharness.errors import HarnessError
from simharness.kernel import journal
from simharness.kernel.operation import AFTER_COMMIT, BEFORE_COMMIT
from simharness.parts.node import Crashed
from simharness.parts.refusal import Refused
from simharness.parts.table import Change, Table, flat_delta

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from simharness.kernel.operation import Operation
    from simharness.parts.row import R


class Transaction:
    """Collects writes of one operation and commits them at once.

    Isolation is the caller's business (locks, versions, or none, as the product's knobs say): the
    transaction itself checks unique columns and builds each row on the row that is committed when
    `commit` runs.
    """

    __slots__ = ("_done", "_then", "_writes", "op")

    def __init__(self, op: Operation) -> None:
        self.op = op
        self._writes: dict[tuple[int, int], Write] = {}
        self._done = False
        self._then: list[Callable[[int], None]] | None = None

    def insert(self, table: Table[R], fields: Mapping[str, object]) -> int:
        """Add a row; gives its id, which is one more than the largest so far.

        Raises Refused `conflict`.
        """
        self._check_unique(table, 0, fields)
        key = table.top + 1
        for listener in table.statement_listeners:
            if listener.wants_statements():
                listener.on_statement(key, None, self._built(table, key, fields, insert=True))
        table.top = key  # given out: another open transaction gets the next one
        self._writes[table.number, key] = Write(table, key, dict(fields), True)
        return key

    def update(
        self, table: Table[R], key: int, changes: Mapping[str, object], basis: Basis | None = None
    ) -> None:
        """Change columns of a row.

        Raises Refused `conflict` for a unique column, `not_found` for no row.

        `basis` says for the journal what the change rests on; an `Edit` knows.
        """
        pending, old = self._found(table, key)
        self._check_unique(table, key, changes)
        if old is not None:
            for listener in table.statement_listeners:
                if listener.wants_statements():
                    listener.on_statement(key, old, self._built(table, key, changes, insert=False))
        if pending is None:
            self._writes[table.number, key] = Write(table, key, dict(changes), False, basis)
        else:
            pending.fields = {**(pending.fields or {}), **changes}
            if pending.basis is not None and basis is not None:
                named = {**dict.fromkeys(pending.basis.named), **dict.fromkeys(basis.named)}
                pending.basis = pending.basis._replace(named=named)

    def delete(self, table: Table[R], key: int) -> None:
        """Remove a row. Raises Refused `not_found`."""
        pending, old = self._found(table, key)
        if old is not None:
            for listener in table.statement_listeners:
                if listener.wants_statements():
                    listener.on_statement(key, old, None)
        if pending is not None and pending.insert:
            del self._writes[table.number, key]
        else:
            self._writes[table.number, key] = Write(table, key, None, False)

    def wrote(self, table: Table[Any], key: int) -> bool:
        """Tell whether it has a statement on a row."""
        return (table.number, key) in self._writes

    def row(self, table: Table[R], key: int) -> R | None:
        """Give a row as this transaction sees it: with its own statements, else as committed."""
        write = self._writes.get((table.number, key))
        if write is None:
            return table.rows.get(key)
        if write.fields is None or not (write.insert or key in table.rows):
            return None
        return self._built(table, key, write.fields, insert=write.insert)

    def __len__(self) -> int:
        """Count the rows that it writes."""
        return len(self._writes)

    def _found(self, table: Table[R], key: int) -> tuple[Write | None, R | None]:
        """Give this transaction's own write of a row and the committed row.

        One of them must be there.
        """
        pending = self._writes.get((table.number, key))
        old = table.rows.get(key)
        if (pending is None and old is None) or (pending is not None and pending.fields is None):
            raise Refused("not_found", f"no {table.name} row {key}")
        return pending, old

    def commit(self) -> int:
        """Make the writes the truth; gives the commit's place in the order.

        Each row gets one new version.

        Raises Refused `conflict` or `not_found` when a unique column was taken, a row vanished
        since the statement, or the writer's lease of a table has ended; then nothing is changed.
        """
        if self._done:
            raise HarnessError(f"{self.op.name} commits a transaction twice")
        op = self.op
        world = op.world
        # All rows are built before the first is written, so that whatever is refused leaves nothing
        # behind.
        built: list[tuple[Write, Any]] = []
        for write in self._writes.values():
            table, key, fields = write.table, write.key, write.fields
            if not write.insert and key not in table.rows:
                raise Refused("not_found", f"no {table.name} row {key}")
            if fields is None:
                built.append((write, None))
                continue
            self._check_unique(table, key, fields)
            built.append((write, self._built(table, key, fields, insert=write.insert)))
        if op.crash == BEFORE_COMMIT:
            raise Crashed
        if op.actor.tokens:
            self._check_leases()
        self._done = True
        world.order = order = world.order + 1
        now = world.ticks
        done: list[tuple[Table[Any], Change]] = []
        for write, new in built:
            table, key, basis = write.table, write.key, write.basis
            old = table.rows.get(key)
            change = table.apply(order, key, new, op.owner, op.n, write.at)
            delta = flat_delta(table.row_type, old, new)
            unmeant: list[int] = []
            if basis is not None:
                names = table.row_type.names
                unmeant = [column for column in delta[::2] if names[column] not in basis.named]
                now_at = old.version if old is not None else 0
                if unmeant or basis.read != now_at or (basis.given and basis.given != now_at):
                    world.alarms += 1
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
                    delta,
                    basis.given if basis is not None else 0,
                    basis.read if basis is not None else 0,
                    unmeant,
                )
            )
            op.actor.note_write(table.number, key, change.version, order)
            done.append((table, change))
        for table, change in done:
            for listener in table.listeners:
                listener(change)
        if self._then is not None:
            for callback in self._then:
                callback(order)
        if op.crash == AFTER_COMMIT:
            raise Crashed
        return order

    def then(self, callback: Callable[[int], None]) -> None:
        """Have `callback` called within the commit, with its place in the order.

        Nothing is called when the transaction is refused, or never committed.
        """
        if self._then is None:
            self._then = []
        self._then.append(callback)

    def _built(self, table: Table[R], key: int, fields: Mapping[str, object], *, insert: bool) -> R:
        clock = table.clock
        instant = self.op.world.instant if clock is None else clock.instant
        if insert:
            version = table.version(key) + 1
            stamp = {"id": key, "version": version, "created_at": instant, "updated_at": instant}
            return table.row_type.build({**fields, **stamp}, table.name)
        for name, value in fields.items():
            table.row_type.check(name, value, table.name)
        old = table.rows[key]
        return table.row_type.evolve(
            old, {**fields, "version": old.version + 1, "updated_at": instant}
        )

    def _check_leases(self) -> None:
        """Raise Refused `conflict` when the lease that a write rests on has ended.

        Here and nowhere else, so that no tool can forget it. All are checked before the first is
        noted: a refused commit has written under none.
        """
        op = self.op
        tokens = op.actor.tokens
        tables = {w.table.number: w.table for w in self._writes.values()}
        under = [
            (table.leases, tokens[number])
            for number, table in tables.items()
            if table.leases is not None and number in tokens
        ]
        for leases, token in under:
            leases.fence(op, 0, token)
        for leases, token in under:
            leases.note(op, 0, token)

    def _check_unique(self, table: Table[Any], key: int, fields: Mapping[str, object]) -> None:
        """Raise Refused `conflict` when another row has one of these values or is about to."""
        for column in table.unique:
            value = fields.get(column)
            if value is None:
                continue
            other = table.taken_by(column, value)
            if other is None and self._writes:
                other = self._claimed_by(table, column, value, key)
            if other is not None and other != key:
                raise Refused("conflict", f"{table.name}.{column} {value!r} is taken", id=other)

    def _claimed_by(self, table: Table[Any], column: str, value: object, key: int) -> int | None:
        for write in self._writes.values():
            if (
                write.table is table
                and write.key != key
                and (write.fields or {}).get(column) == value
            ):
                return write.key
        return None


class Basis(NamedTuple):
    """What a change of a row rests on."""

    given: int
    """The version that the caller named; 0 for none."""
    read: int
    """The version that the new values were computed on."""
    named: Collection[str]
    """The columns that the call itself named."""


class Write:
    """What a transaction does to one row."""

    __slots__ = ("at", "basis", "fields", "insert", "key", "table")

    def __init__(
        self,
        table: Table[Any],
        key: int,
        fields: dict[str, object] | None,
        insert: bool,
        basis: Basis | None = None,
    ) -> None:
        self.at = table.world.ticks
        """Tick of the statement, the first on this row."""
        self.basis = basis
        self.table = table
        self.key = key
        self.fields = fields
        """Columns to write; None removes the row."""
        self.insert = insert
