"""Views: ways to read a table, each with a contract, each noting what was served and what was true.

A row read through a view is fresh when it equals the committed state at some instant between the
call and its answer. The view only notes breaches; which code they deserve is decided elsewhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, NamedTuple

from simharness.kernel import journal
from simharness.parts.cache import QUERY, ROW, Cache
from simharness.parts.row import R

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from simpy.events import Event

    from simharness.kernel.operation import Operation, Span
    from simharness.kernel.world import World
    from simharness.parts.table import Table

CACHE = "cache"
PRIMARY = "primary"

AUTH_ACCESS = 63
"""Number of the access that checks permissions: apart, so that the first access of a tool itself is
always 0."""


@dataclass(slots=True)
class Contract:
    """What a view promises its readers."""

    staleness: int = 0
    """Ticks by which an answer may lag the truth."""
    read_your_writes: bool = True
    signals: tuple[str, ...] = ()
    """What an answer says of its age: as_of, version."""


class Breach(NamedTuple):
    """One read of the agent that its view's contract forbids."""

    row: int
    """Index of the READ or LIST row in the journal."""
    view: str
    key: int
    served: int
    true: int
    age: int
    own: bool
    """True when the reader had itself written a later version."""


class Waits:
    """The elastic waits of a world's database and caches."""

    __slots__ = ("db", "put")

    def __init__(self) -> None:
        self.db: Span = (0, 0)
        self.put: Span = (0, 0)


class View(Generic[R]):
    """What detail and query views share."""

    __slots__ = (
        "breaches",
        "cache",
        "contract",
        "from_cache",
        "from_primary",
        "is_auth",
        "mechanism",
        "name",
        "number",
        "table",
        "waits",
        "world",
    )

    def __init__(
        self,
        world: World,
        table: Table[R],
        kind: str,
        waits: Waits,
        breaches: list[Breach],
        scope: str,
    ) -> None:
        self.world = world
        self.table = table
        self.name = f"{table.name}.{kind}"
        self.number = world.intern(self.name)
        self.contract = Contract()
        self.waits = waits
        self.breaches = breaches
        self.cache = Cache(world, table, self.name, scope)
        self.is_auth = kind == "auth"
        # The numbers of the sources, as rows hold them.
        self.from_cache = world.intern(CACHE)
        self.from_primary = world.intern(PRIMARY)
        self.mechanism = f"cache:{self.name}"
        """How ablation names the cache of this view."""


class DetailView(View[R]):
    """Reads one row by id."""

    __slots__ = ()

    def __init__(
        self, world: World, table: Table[R], kind: str, waits: Waits, breaches: list[Breach]
    ) -> None:
        super().__init__(world, table, kind, waits, breaches, ROW)

    def read(self, op: Operation, key: int) -> Generator[Event, Any, R | None]:
        """Give the row or None, from a live cache entry, else from the primary after `db`."""
        k = AUTH_ACCESS if self.is_auth else op.next_access()
        world = self.world
        cache = self.cache
        row: R | None
        if cache.ttl or cache.negative_ttl:
            entry = cache.lookup(key)
            if entry is not None:
                if self.mechanism in world.repair:
                    row, order = self.table.rows.get(key), world.order
                else:
                    row, order = entry.value, entry.order
                self._note(op, key, row, order, self.from_cache)
                return row
            shown = cache.shown(key)
            world.emit((journal.MISS, world.ticks, op.owner_number, op.n, self.number, shown))
            yield op.latency(self.waits.db, "db", k)
            row = self.table.rows.get(key)
            cache.fill(key, row, world.order, op.wait_ticks(self.waits.put, "put", k))
        else:
            yield op.latency(self.waits.db, "db", k)
            row = self.table.rows.get(key)
        self._note(op, key, row, world.order, self.from_primary)
        return row

    def _note(self, op: Operation, key: int, row: R | None, order: int, source: int) -> None:
        world = self.world
        table = self.table
        actor = op.actor
        contract = self.contract
        if row is table.rows.get(key):
            served = true = row.version if row is not None else table.version(key)
            age = 0
        else:
            served = row.version if row is not None else table.version_at(key, order)
            age = 0
            true = served
            if row is not None and row is not table.row_at(key, order):
                world.alarms += 1  # not the row that was committed then
            if served < table.version_at(key, op.begin_order):
                true = table.version(key)
                successor = table.successor(key, served)
                age = world.ticks - successor.t if successor is not None else 0
        world.emit(
            (
                journal.READ,
                world.ticks,
                op.owner_number,
                op.n,
                self.number,
                key,
                served,
                true,
                age,
                source,
                contract.staleness,
                int(contract.read_your_writes),
            )
        )
        place = (table.number, key)
        if actor.audited and served != true:
            own = contract.read_your_writes and actor.writes.get(place, 0) > served
            if age > contract.staleness or own:
                op.breaches += 1
                self.breaches.append(
                    Breach(len(world.rows) - 1, self.name, key, served, true, age, own)
                )
        actor.reads[place] = (served, row)


class Query(NamedTuple):
    """A question to a query view: its canonical text and its predicate."""

    text: str
    matches: Callable[[Any], bool]


class QueryView(View[R]):
    """Reads the rows that match a predicate, in order of id."""

    __slots__ = ()

    def __init__(
        self, world: World, table: Table[R], kind: str, waits: Waits, breaches: list[Breach]
    ) -> None:
        super().__init__(world, table, kind, waits, breaches, QUERY)

    def read(self, op: Operation, query: Query) -> Generator[Event, Any, tuple[R, ...]]:
        """Give the matching rows, from a live cached answer, else from the primary after `db`."""
        k = op.next_access()
        world = self.world
        cache = self.cache
        if cache.ttl:
            entry = cache.lookup(query.text)
            if entry is not None:
                if self.mechanism in world.repair:
                    # The truth under the entry's own order: a repair that changes no row changes no
                    # journal row.
                    rows, order = tuple(self.table.where(query.matches)), entry.order
                else:
                    rows, order = entry.value, entry.order
                self._note(op, query, rows, order, self.from_cache)
                return rows
            text = -1 - world.numbers[query.text]
            world.emit((journal.MISS, world.ticks, op.owner_number, op.n, self.number, text))
        yield op.latency(self.waits.db, "db", k)
        rows = tuple(self.table.where(query.matches))
        if cache.ttl:
            wait = op.wait_ticks(self.waits.put, "put", k)
            cache.fill(query.text, rows, world.order, wait, query.matches)
        self._note(op, query, rows, world.order, self.from_primary)
        return rows

    def _note(
        self, op: Operation, query: Query, rows: tuple[R, ...], order: int, source: int
    ) -> None:
        world = self.world
        table = self.table
        actor = op.actor
        contract = self.contract
        wrong = self._wrong(query, rows, order, op.begin_order) if order < op.begin_order else []
        shown: list[int] = []
        number = table.number
        reads = actor.reads
        for row in rows:
            shown += (row.id, row.version)
            reads[number, row.id] = (row.version, row)
        world.emit(
            (
                journal.LIST,
                world.ticks,
                op.owner_number,
                op.n,
                self.number,
                -1 - world.numbers[query.text],
                order,
                shown,
                source,
                contract.staleness,
                int(contract.read_your_writes),
                wrong,
            )
        )
        if actor.audited:
            for key, served, true, age in zip(*[iter(wrong)] * 4, strict=True):
                own = contract.read_your_writes and actor.writes.get((number, key), 0) > served
                if age > contract.staleness or own:
                    op.breaches += 1
                    self.breaches.append(
                        Breach(len(world.rows) - 1, self.name, key, served, true, age, own)
                    )

    def _wrong(self, query: Query, rows: tuple[R, ...], order: int, begin_order: int) -> list[int]:
        """List what was out of date when the call began.

        Flat `[key, served, true, age, ...]`, in order of key.
        """
        table = self.table
        now = self.world.ticks
        shown = {row.id: row for row in rows}
        out: list[int] = []
        for key in sorted({c.key for c in table.changes_after(order) if c.order <= begin_order}):
            true_row = table.rows.get(key)
            row = shown.get(key)
            if row is not None:
                if row is true_row:
                    continue
                successor = table.successor(key, row.version)
                age = now - successor.t if successor is not None else 0
                out += (key, row.version, table.version(key), age)
            elif true_row is not None and query.matches(true_row):
                served, since = last_unmatched(table, key, query.matches)
                if served >= table.version_at(key, begin_order):
                    continue  # it came to match during the call: true when that began
                out += (key, served, true_row.version, now - since)
        return out


def last_unmatched(table: Table[Any], key: int, matches: Callable[[Any], bool]) -> tuple[int, int]:
    """Give the last version that did not match, and the tick since when the row has matched."""
    since = 0
    for change in reversed(table.history[key]):
        since = change.t
        if change.old is None:
            return change.version - 1, since
        if not matches(change.old):
            return change.old.version, since
    return 0, since
