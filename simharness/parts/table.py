"""A table: the committed truth of one kind of row, with its whole history of changes.

Rows are immutable and the mapping is copied on the first write after a fork, so a world starts from
a shared template in a few microseconds. Every change has a place in the world's one commit order.
"""

from __future__ import annotations

from bisect import bisect_right
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, Protocol

from simharness.errors import HarnessError, UsageError
from simharness.parts.index import Index, narrowest
from simharness.parts.row import SYSTEM_COLUMNS, R, RowType
from simharness.parts.where import Where, every
from simharness.values import fast_packer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from simharness.kernel.world import World
    from simharness.parts.clock import Clock
    from simharness.parts.lease import Leases

_DIGEST_MODULUS = 1 << 128
_pack = fast_packer().pack


class Change(NamedTuple):
    """One committed change of one row."""

    order: int
    t: int
    """Tick of the commit."""
    key: int
    old: Any
    """The row before, or None."""
    new: Any
    """The row after, or None when it was deleted."""
    version: int
    """Version after the change; a deletion counts as a version too."""
    owner: str
    n: int
    stated: int
    """Tick of the statement; earlier than that of the commit where a transaction stays open."""


class StatementListener(Protocol):
    """Whoever may want to hear of statements before they are committed."""

    def wants_statements(self) -> bool:
        """Tell whether it wants to at the moment."""
        ...

    def on_statement(self, key: int, old: Any, new: Any) -> None:
        """Hear of a statement: the row before and after."""
        ...


class Template(Generic[R]):
    """The rows that worlds of one scenario start from, shared and never written to."""

    __slots__ = ("digest", "indexes", "name", "row_type", "rows", "unique")

    def __init__(
        self,
        name: str,
        row_type: RowType[R],
        rows: Iterable[R],
        unique: tuple[str, ...],
        indexes: tuple[tuple[str, ...], ...] = (),
    ) -> None:
        self.name = name
        self.row_type = row_type
        self.rows: dict[int, R] = {row.id: row for row in sorted(rows, key=lambda r: r.id)}
        self.unique: dict[str, dict[object, int]] = {}
        for column in unique:
            held: dict[object, int] = {}
            for row in self.rows.values():
                value = getattr(row, column)
                if value is None:
                    continue
                if value in held:
                    raise UsageError(
                        f"{name}:{row.id} and {name}:{held[value]} share {column} {value!r}",
                        f"{name}.{column} is unique",
                    )
                held[value] = row.id
            self.unique[column] = held
        self.indexes = tuple(Index(columns, self.rows.values()) for columns in indexes)
        self.digest = (
            sum(row_hash(name, row_type, row) for row in self.rows.values()) % _DIGEST_MODULUS
        )


def row_hash(table: str, row_type: RowType[R], row: R) -> int:
    """Hash one row to 128 bits; a table's digest is the sum, so it doesn't depend on any order."""
    data = _pack((table, *row_type.values(row)))
    return int.from_bytes(blake2b(data, digest_size=16).digest(), "little")


class Table(Generic[R]):
    """The committed rows of one kind in one world."""

    __slots__ = (
        "_digest",
        "_dirty",
        "_owned",
        "changes",
        "clock",
        "history",
        "indexes",
        "leases",
        "listeners",
        "name",
        "number",
        "row_type",
        "rows",
        "statement_listeners",
        "template",
        "top",
        "unique",
        "world",
    )

    def __init__(self, world: World, template: Template[R]) -> None:
        self.world = world
        self.template = template
        self.name = template.name
        self.number = world.intern(template.name)
        self.row_type = template.row_type
        self.rows = template.rows
        self.unique = template.unique
        self.indexes = template.indexes
        self._owned = False
        self.top = next(reversed(template.rows), 0)
        """The largest id ever given out."""
        self.changes: list[Change] = []
        """All commits since the start, oldest first."""
        self.history: dict[int, list[Change]] = {}
        """The same by key."""
        self.leases: Leases | None = None
        """The leases that writers may hold; their tokens are checked at each commit."""
        self.listeners: list[Callable[[Change], None]] = []
        """Called at each commit, within it."""
        self.statement_listeners: list[StatementListener] = []
        """Told of each statement of a transaction, before its commit, while they want to be."""
        self.clock: Clock | None = None
        """The clock that stamps its rows; None for the true time."""
        self._digest = template.digest
        self._dirty: dict[int, R | None] = {}

    # --- reading ----------------------------------------------------------------------------------

    def get(self, key: int) -> R | None:
        """Give the committed row, or None."""
        return self.rows.get(key)

    def where(self, predicate: Callable[[R], bool] = every, /, **columns: object) -> list[R]:
        """Give the committed rows that match and whose columns equal these values, by id.

        An index of such a column spares the look at all other rows.
        """
        if not columns:
            return [row for row in self.rows.values() if predicate(row)]
        return self.meeting(Where(columns), predicate)

    def meeting(self, where: Where, rest: Callable[[R], bool] = every) -> list[R]:
        """Give the committed rows that meet conditions and then a predicate, by id."""
        found = narrowest(self.indexes, where)
        rows = self.rows
        if found is None:
            matches = where.predicate(rest)
            return [row for row in rows.values() if matches(row)]
        keys, decided = found
        matches = rest if decided else where.predicate(rest)
        if matches is every:
            return [rows[key] for key in keys]
        return [row for key in keys if matches(row := rows[key])]

    def __iter__(self) -> Iterator[R]:
        return iter(self.rows.values())

    def version(self, key: int) -> int:
        """Give the latest version number of a key: 0 if it never existed.

        A deletion has a version of its own.
        """
        past = self.history.get(key)
        if past:
            return past[-1].version
        row = self.rows.get(key)
        return row.version if row is not None else 0

    def version_at(self, key: int, order: int) -> int:
        """Give the version number that a key had after commit `order`."""
        past = self.history.get(key)
        if past:
            change: Change  # which `reversed` loses, because two of its fields are Any
            for change in reversed(past):
                if change.order <= order:
                    return change.version
            first = past[0].old
            return first.version if first is not None else 0
        row = self.rows.get(key)
        return row.version if row is not None else 0

    def successor(self, key: int, version: int) -> Change | None:
        """Give the commit that replaced `version` of a key."""
        past = self.history.get(key, ())
        place = bisect_right(past, version, key=lambda change: change.version)
        return past[place] if place < len(past) else None

    def changes_after(self, order: int) -> list[Change]:
        """Give the commits later than `order`."""
        if not self.changes or self.changes[-1].order <= order:
            return []
        return self.changes[bisect_right(self.changes, order, key=lambda c: c.order) :]

    def row_at(self, key: int, order: int) -> R | None:
        """Give the row as it was after commit `order`."""
        past = self.history.get(key)
        if not past:
            return self.rows.get(key)
        for change in reversed(past):
            if change.order <= order:
                row: R | None = change.new
                return row
        old: R | None = past[0].old
        return old

    def start_with(self, row: R) -> None:
        """Put a row into the start state; only before anything has been committed."""
        if self.changes:
            raise HarnessError(f"{self.name}:{row.id} is put into the start state after the start")
        self._own()
        old = self.rows.get(row.id)
        if row.id not in self._dirty:
            self._dirty[row.id] = old
        self._reindex(row.id, old, row)
        self.rows[row.id] = row
        if old is None and row.id < self.top:
            self.rows = dict(sorted(self.rows.items()))
        self.top = max(self.top, row.id)

    # --- writing (transactions only) --------------------------------------------------------------

    def apply(
        self, order: int, key: int, new: R | None, owner: str, n: int, stated: int | None = None
    ) -> Change:
        """Make one committed change, stated at tick `stated` (None: now).

        The transaction has checked it.

        Listeners are told by `Transaction.commit`.
        """
        self._own()
        old = self.rows.get(key)
        if key not in self._dirty:
            self._dirty[key] = old
        version = self.version(key) + 1 if new is None else new.version
        self._reindex(key, old, new)
        if new is None:
            self.rows.pop(key, None)
        else:
            behind = old is None and bool(self.rows) and key < next(reversed(self.rows))
            self.rows[key] = new
            if behind:  # its id was given out earlier than that of a row committed before it
                self.rows = dict(sorted(self.rows.items()))
            self.top = max(self.top, key)
        now = self.world.ticks
        at = now if stated is None else stated
        change = Change(order, now, key, old, new, version, owner, n, at)
        self.changes.append(change)
        past = self.history.get(key)
        if past is None:
            self.history[key] = [change]
        else:
            past.append(change)
        return change

    def _own(self) -> None:
        if not self._owned:
            self.rows = dict(self.rows)
            self.unique = {column: dict(held) for column, held in self.unique.items()}
            self.indexes = tuple(index.copy() for index in self.indexes)
            self._owned = True

    def _reindex(self, key: int, old: R | None, new: R | None) -> None:
        for column, held in self.unique.items():
            if old is not None and held.get(value := getattr(old, column)) == key:
                del held[value]
            if new is not None and (value := getattr(new, column)) is not None:
                held[value] = key
        for index in self.indexes:
            index.move(key, old, new)

    def taken_by(self, column: str, value: object) -> int | None:
        """Give the id of the row that holds `value` in a unique column, or None."""
        return self.unique[column].get(value)

    # --- digest -----------------------------------------------------------------------------------

    def digest(self) -> str:
        """Give the digest of the committed rows.

        Costs as much as rows have changed since the last call.
        """
        if self._dirty:
            total = self._digest
            for key, before in self._dirty.items():
                if before is not None:
                    total -= row_hash(self.name, self.row_type, before)
                now = self.rows.get(key)
                if now is not None:
                    total += row_hash(self.name, self.row_type, now)
            self._digest = total % _DIGEST_MODULUS
            self._dirty.clear()
        return f"{self._digest:032x}"


def flat_delta(row_type: RowType[R], old: R | None, new: R | None) -> list[Any]:
    """List what a commit changed as `[column number, value, ...]`, the system columns apart."""
    if new is None:
        return []
    after = row_type.values(new)
    out: list[Any] = []
    if old is None:
        for i in range(len(SYSTEM_COLUMNS), len(after)):
            out += (i, after[i])
        return out
    before = row_type.values(old)
    for i in range(len(SYSTEM_COLUMNS), len(after)):
        if before[i] is not after[i] and before[i] != after[i]:
            out += (i, after[i])
    return out
