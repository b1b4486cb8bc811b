"""A store: one table of a product, with its views, its locks and the way it is written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic

from simharness.errors import HarnessError
from simharness.parts.follower import Follower
from simharness.parts.lease import Leases
from simharness.parts.lock import Locks
from simharness.parts.refusal import Refused
from simharness.parts.row import R, RowType
from simharness.parts.table import Table, Template
from simharness.parts.transaction import Basis, Transaction
from simharness.parts.where import ANYWHERE, Where, every
from simharness.product.export import ExportView
from simharness.product.feed import FeedView
from simharness.product.rows_view import Query, QueryView
from simharness.product.store_spec import (
    CACHE_KNOBS,
    DETAIL_CACHE_KNOBS,
    DETAIL_KINDS,
    EXPORT_KNOBS,
    FEED_KNOBS,
    LEASE_KNOBS,
    QUERY_KINDS,
    WRITE_KNOBS,
    StoreSpec,
)
from simharness.product.view import Breach, DetailView, View, ViewParts, Waits

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Mapping

    from simpy.events import Event

    from simharness.kernel.operation import Operation
    from simharness.kernel.world import World
    from simharness.parts.cache import Cache
    from simharness.parts.clock import Clock
    from simharness.product.knobs import Settings


class Store(Generic[R]):
    """One table of a product in one world: what tools read and write.

    A product class declares it with `store(RowClass, ...)`; each world gets its own.
    """

    def __init__(
        self,
        spec: StoreSpec[R],
        world: World,
        template: Template[R],
        settings: Settings,
        shared: Shared,
    ) -> None:
        self.spec = spec
        self.world = world
        self.table: Table[R] = Table(world, template)
        self.table.clock = shared.clock
        self.locks = Locks(world, spec.name)
        self.leases = Leases(world, spec.name)
        self.waits = shared.waits
        self.lock = "row"
        self.lock_wait = 0
        self.placebo: tuple[int, int] | None = None
        """Longest extra wait of a write and the number of the placebo: delays without any repair
        (ablation)."""
        self.token = "read"
        self.scope = "fields"
        self.replica: Follower[R] = Follower(world, self.table, f"replica:{spec.name}", "replicate")
        self._details: dict[str, DetailView[R]] = {}
        self._queries: dict[str, QueryView[R]] = {}
        self._feed: FeedView[R] | None = None
        self._export: ExportView[R] | None = None
        if spec.views:
            settings.bind(f"{spec.name}.replica.lag", self.replica, "lag")
        for kind in spec.views:
            self._add_view(kind, settings, shared)
        if "detail" in spec.views:
            self.table.leases = self.leases
            for name, attribute in LEASE_KNOBS:
                settings.bind(f"{spec.name}.lease.{name}", self.leases, attribute)
            for attribute in spec.write:
                settings.bind(f"{spec.name}.write.{attribute}", self, attribute)

    def _add_view(self, kind: str, settings: Settings, shared: Shared) -> None:
        parts = ViewParts(self.world, self.table, shared.waits, shared.breaches, self.replica)
        view: View[R]
        if kind in DETAIL_KINDS:
            view = detail = self._details[kind] = DetailView(parts, kind)
            for attribute in DETAIL_CACHE_KNOBS:
                settings.bind(f"{view.name}.cache.{attribute}", detail.cache, attribute)
            bind_cache(settings, view, detail.cache)
        elif kind in QUERY_KINDS:
            view = rows = self._queries[kind] = QueryView(parts, kind)
            settings.bind(f"{view.name}.index.lag", rows.index, "lag")
            settings.bind(f"{view.name}.index.hydrate", rows, "hydrate")
            bind_cache(settings, view, rows.cache)
        elif kind == "feed":
            view = self._feed = FeedView(parts, kind)
            for attribute in FEED_KNOBS:
                settings.bind(f"{view.name}.{attribute}", view, attribute)
        else:
            view = self._export = ExportView(parts, kind)
            for attribute in EXPORT_KNOBS:
                settings.bind(f"{view.name}.{attribute}", view, attribute)
        settings.bind(f"{view.name}.route", view, "route")
        for attribute in ("staleness", "read_your_writes", "signals"):
            settings.bind(f"{view.name}.{attribute}", view.contract, attribute)

    # --- reading ----------------------------------------------------------------------------------

    @property
    def details(self) -> Mapping[str, DetailView[R]]:
        """The views of one row by id, by kind."""
        return self._details

    @property
    def detail(self) -> DetailView[R]:
        """The view of one row by id."""
        return self._details["detail"]

    @property
    def auth(self) -> DetailView[R]:
        """The view that permissions are read through."""
        return self._details["auth"]

    @property
    def list(self) -> QueryView[R]:
        """The view of many rows by exact fields."""
        return self._queries["list"]

    @property
    def search(self) -> QueryView[R]:
        """The view of many rows by text."""
        return self._queries["search"]

    @property
    def feed(self) -> FeedView[R]:
        """The view of what has changed, for readers that keep up."""
        if self._feed is None:
            raise HarnessError(f"store {self.spec.name!r} has no view feed", "declare it")
        return self._feed

    @property
    def export(self) -> ExportView[R]:
        """The view of what has changed since an instant, for readers with a cursor."""
        if self._export is None:
            raise HarnessError(f"store {self.spec.name!r} has no view export", "declare it")
        return self._export

    def sound_writes(self) -> dict[str, str]:
        """Give the knob values under which this store's writes lose nothing."""
        write = f"{self.spec.name}.write"
        if "detail" not in self.spec.views:
            return {}  # it has no such knobs
        sound = {"lock": "row", "token": "read", "scope": "fields"}
        return {f"{write}.{name}": sound[name] for name in self.spec.write if name in sound}

    def sound_leases(self) -> dict[str, Any]:
        """Give the knob values, parsed, under which this store's leases exclude each other."""
        lease = f"{self.spec.name}.lease"
        return {f"{lease}.fencing": True, f"{lease}.granularity": 1}

    def views(self) -> tuple[View[R], ...]:
        """All views of this store."""
        found = (*self._details.values(), *self._queries.values(), self._feed, self._export)
        return tuple(view for view in found if view is not None)

    def cached_views(self) -> tuple[DetailView[R] | QueryView[R], ...]:
        """The views of this store that have a cache."""
        return (*self._details.values(), *self._queries.values())

    def true(self, key: int) -> R | None:
        """Give the committed row (for goals, users' start and invariants; tools read views)."""
        return self.table.rows.get(key)

    # --- writing ----------------------------------------------------------------------------------

    def insert(self, op: Operation, fields: Mapping[str, object]) -> Generator[Event, Any, R]:
        """Commit a new row after the wait `db`.

        Raises Refused `conflict` for a unique column that is taken.
        """
        yield op.latency(self.waits.db, "db", op.next_access())
        tx = Transaction(op)
        key = tx.insert(self.table, fields)
        tx.commit()
        return self.table.rows[key]

    def update(
        self, op: Operation, key: int, changes: Mapping[str, object], if_version: int | None = None
    ) -> Generator[Event, Any, R]:
        """Commit changes of one row.

        Raises Refused `not_found`, `conflict` (with the current version) or `locked`.
        """
        edit = yield from self.edit(op, key, if_version)
        try:
            tx = Transaction(op)
            edit.update(tx, changes)
            tx.commit()
        finally:
            edit.close()
        return self.table.rows[key]

    def delete(
        self, op: Operation, key: int, if_version: int | None = None
    ) -> Generator[Event, Any, None]:
        """Commit the end of one row. Raises Refused `not_found`, `conflict` or `locked`."""
        edit = yield from self.edit(op, key, if_version)
        try:
            tx = Transaction(op)
            tx.delete(self.table, key)
            tx.commit()
        finally:
            edit.close()

    def edit(
        self, op: Operation, key: int, if_version: int | None = None
    ) -> Generator[Event, Any, Edit[R]]:
        """Begin a read-think-write of one row: lock it, read it, let the wait `db` pass.

        The caller must `close()` the edit, whatever happens. Raises Refused as `update` does.
        """
        k = op.next_access()
        if self.placebo is not None:
            longest, number = self.placebo
            yield self.world.pause(op.below(longest + 1, f"placebo/{number}", k))
        locked = self.lock == "row"
        if locked:
            yield from self.locks.acquire(op, key, self.lock_wait)
        edit = Edit(self, op, key, locked=locked)
        try:
            row = self.table.rows.get(key)
            if row is None:
                # The answer takes as long as any other: a refusal is no faster road to the truth.
                yield op.latency(self.waits.db, "db", k)
                row = self.table.rows.get(key)
                if row is None:
                    raise Refused("not_found", f"no {self.spec.name} row {key}")
                edit.begin(row)
            else:
                edit.begin(row)
                yield op.latency(self.waits.db, "db", k)
            edit.check(if_version)
            edit.given = if_version or 0
        except BaseException:
            edit.close()
            raise
        return edit


class Edit(Generic[R]):
    """One read-think-write of one row under way."""

    __slots__ = ("_closed", "_store", "given", "key", "locked", "op", "row")

    def __init__(self, store: Store[R], op: Operation, key: int, *, locked: bool) -> None:
        self._store = store
        self.op = op
        self.key = key
        self.locked = locked
        self.row: R
        """The row that the caller computes on."""
        self.given = 0
        """The version that the caller named; 0 for none."""
        self._closed = False

    def begin(self, row: R) -> None:
        """Note the row as read before the think."""
        self.row = row

    def check(self, if_version: int | None) -> None:
        """Hold the caller's version against the committed one, as `write.token` says.

        Raises Refused `conflict`.
        """
        store = self._store
        current = store.table.rows.get(self.key)
        if current is None:
            raise Refused("not_found", f"no {store.spec.name} row {self.key}")
        if if_version is not None and store.token == "read" and if_version != current.version:
            raise stale(store.spec.name, self.key, if_version, current.version)
        # `refreshed` holds the version that this call read a moment ago against the committed one,
        # whatever the caller gave: only what changes during the call is noticed.
        refreshed = store.token == "refreshed" and if_version is not None
        if (refreshed or store.lock == "optimistic") and current.version != self.row.version:
            raise stale(store.spec.name, self.key, self.row.version, current.version)
        if store.lock != "none":
            self.row = current

    def update(self, tx: Transaction, changes: Mapping[str, object]) -> None:
        """Put the change of this row into a transaction, with what `write.scope` adds."""
        basis = Basis(self.given, self.row.version, changes.keys())
        tx.update(self._store.table, self.key, self.merged(changes), basis)

    def merged(self, changes: Mapping[str, object]) -> Mapping[str, object]:
        """Give the fields to write.

        Those named, and under whole_record the rest as the caller last read them.
        """
        store = self._store
        if store.scope == "fields":
            return changes
        _, known = self.op.actor.reads.get((store.table.number, self.key), (0, None))
        base = known if isinstance(known, store.spec.row_type.cls) else self.row
        return {**editable(store.spec.row_type, base), **changes}

    def close(self) -> None:
        """Give the lock back, once."""
        if self.locked and not self._closed:
            self._closed = True
            self._store.locks.release(self.op, self.key)


def bind_cache(settings: Settings, view: View[R], cache: Cache) -> None:
    """Let the knobs of a view's cache set it."""
    for attribute in CACHE_KNOBS:
        settings.bind(f"{view.name}.cache.{attribute}", cache, attribute)
    settings.bind(f"{view.name}.cache.refill", view, "refill")


class Shared:
    """What all stores of one world have in common."""

    __slots__ = ("breaches", "clock", "waits")

    def __init__(self, clock: Clock | None = None) -> None:
        self.clock = clock
        """The clock that stamps rows; None for the true time."""
        self.waits = Waits()
        self.breaches: list[Breach] = []


def stale(table: str, key: int, given: int, current: int) -> Refused:
    """Build the refusal of a write that rests on an old version."""
    return Refused(
        "conflict",
        f"{table} row {key} is at version {current}, the call rests on {given}",
        version=current,
    )


def editable(row_type: RowType[R], row: R) -> dict[str, object]:
    """Give all columns of a row but the system's own."""
    return dict(zip(row_type.names[4:], row_type.values(row)[4:], strict=True))


def store(
    row: type[R],
    *,
    views: Iterable[str] = ("detail",),
    unique: Iterable[str] = (),
    indexes: Iterable[str | tuple[str, ...]] = (),
    counts: Iterable[str] = (),
    write: Iterable[str] = WRITE_KNOBS,
    table: str = "",
) -> Store[R]:
    """Declare a table of a product, as a class attribute.

    Each world's product gets a `Store` in its place.

    `views` names the ways to read it (detail, list, search, auth, feed, export), `unique` the
    columns whose values are unique. `indexes` names columns by which rows are looked up: one, or
    several of which the last may also be asked for by a span. `counts` names columns that follow
    from the rows of other tables, as the number of places that are taken: whoever writes one last
    has not decided it. `write` names the knobs of its writes that some tool reads: without a tool
    that takes if_version there is no `token`, without an edit no `scope`. `table` is the table's
    name where the attribute can't be called so.
    """
    # `Product.__init__` puts the Store in its place.
    return StoreSpec(row, views, unique, write, table, indexes, counts)  # type: ignore[return-value]


def query(
    matches: Callable[[Any], bool] = every, where: Where = ANYWHERE, /, **fields: object
) -> Query:
    """Build a query for the rows that match and meet the conditions of `where`.

    Its text names the columns that have to equal a value, and then the fields: those must tell all
    else that the answer depends on, the spans of `where` among it.
    """
    named = {**where.equal, **fields}
    text = ",".join(f"{k}={_escaped(v)}" for k, v in named.items() if v is not None)
    return Query(text, matches, where)


def _escaped(value: object) -> object:
    # The text is a cache key, so that no value may look like the beginning of another field.
    if isinstance(value, str) and ("," in value or "\\" in value):
        return value.replace("\\", "\\\\").replace(",", "\\,")
    return value
