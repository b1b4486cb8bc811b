"""A store: one table of a product, with its views, its locks and the way it is written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic

from simharness.errors import UsageError
from simharness.parts.lease import Leases
from simharness.parts.lock import Locks
from simharness.parts.refusal import Refused
from simharness.parts.row import R, RowType
from simharness.parts.table import Table, Template
from simharness.parts.transaction import Basis, Transaction
from simharness.product import knobs
from simharness.product.view import Breach, DetailView, Query, QueryView, Waits

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Mapping

    from simpy.events import Event

    from simharness.kernel.operation import Operation
    from simharness.kernel.world import World
    from simharness.parts.clock import Clock
    from simharness.product.knobs import Knob, Settings

DETAIL_KINDS = ("detail", "auth")
QUERY_KINDS = ("list", "search")


class StoreSpec(Generic[R]):
    """What a product class says of one of its stores."""

    def __init__(self, row: type[R], views: Iterable[str], unique: Iterable[str]) -> None:
        self.row_type = RowType(row)
        self.views = tuple(views)
        self.unique = tuple(unique)
        self.name = ""
        for kind in self.views:
            if kind not in DETAIL_KINDS + QUERY_KINDS:
                raise UsageError(
                    f"no view kind {kind!r}", "use " + ", ".join(DETAIL_KINDS + QUERY_KINDS)
                )
        for column in self.unique:
            if column not in self.row_type.by_name:
                raise UsageError(f"unique column {column!r} is no column of {row.__name__}")

    def template(self, rows: Iterable[R]) -> Template[R]:
        """Freeze start rows for sharing between worlds."""
        return Template(self.name, self.row_type, rows, self.unique)

    def knobs(self) -> list[Knob]:
        """List the knobs that this store reads."""
        out: list[Knob] = []
        for kind in self.views:
            view = f"{self.name}.{kind}"
            cache = f"{view}.cache"
            out += [
                knobs.duration(f"{cache}.ttl", "0s", "life of a cached answer; 0s caches none"),
                knobs.choice(
                    f"{cache}.expire",
                    ("after_write", "after_access"),
                    "whether a hit prolongs an entry's life",
                ),
                knobs.choice(
                    f"{cache}.invalidate",
                    ("on_commit", "async", "on_statement", "never"),
                    "when a write removes the cached answers that it concerns",
                ),
                knobs.duration(
                    f"{cache}.invalidate_delay", "0s", "time from a commit to its invalidation"
                ),
                knobs.count(
                    f"{cache}.invalidate_queue",
                    "none",
                    "queued invalidations beyond which they are dropped",
                ),
                knobs.rate(
                    f"{cache}.invalidate_rate", "none", "how fast the one worker invalidates"
                ),
                knobs.flag(
                    f"{cache}.fence", True, "refuse a fill older than the last invalidation"
                ),
                knobs.duration(f"{cache}.granularity", "1us", "unit of the cache's clock", low=1),
                knobs.duration(
                    f"{view}.staleness", "0s", "contract: how far an answer may lag the truth"
                ),
                knobs.flag(
                    f"{view}.read_your_writes", True, "contract: an actor sees its own writes"
                ),
            ]
            if kind in DETAIL_KINDS:
                out += [
                    knobs.duration(
                        f"{cache}.negative_ttl", "0s", "life of a cached miss; 0s caches none"
                    ),
                    knobs.flag(
                        f"{cache}.shared_in_tx",
                        False,
                        "let what an open transaction reads of its own writes enter the cache",
                    ),
                ]
        if "detail" in self.views:
            write = f"{self.name}.write"
            out += [
                knobs.choice(
                    f"{write}.lock", ("row", "optimistic", "none"), "what guards a read-think-write"
                ),
                knobs.duration(
                    f"{write}.lock_wait", "30s", "patience for a row lock, then `locked`"
                ),
                knobs.choice(
                    f"{write}.token",
                    ("read", "refreshed", "ignored"),
                    "the version that if_version is held against",
                ),
                knobs.choice(
                    f"{write}.scope",
                    ("fields", "whole_record"),
                    "whole_record also writes what the call leaves out, as the caller last read it",
                ),
            ]
            lease = f"{self.name}.lease"
            out += [
                knobs.duration(
                    f"{lease}.ttl", "30s", "life of a lease of this table, or of a renewal", low=1
                ),
                knobs.interval(f"{lease}.renew", "none", "time between automatic renewals"),
                knobs.flag(f"{lease}.fencing", True, "refuse writes under a lease that has ended"),
                knobs.duration(f"{lease}.granularity", "1us", "unit of the leases' clock", low=1),
            ]
        return out


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
        self._details: dict[str, DetailView[R]] = {}
        self._queries: dict[str, QueryView[R]] = {}
        for kind in spec.views:
            view: DetailView[R] | QueryView[R]
            if kind in DETAIL_KINDS:
                view = self._details[kind] = DetailView(
                    world, self.table, kind, shared.waits, shared.breaches
                )
                settings.bind(f"{view.name}.cache.negative_ttl", view.cache, "negative_ttl")
                settings.bind(f"{view.name}.cache.shared_in_tx", view.cache, "shared_in_tx")
            else:
                view = self._queries[kind] = QueryView(
                    world, self.table, kind, shared.waits, shared.breaches
                )
            for attribute in CACHE_KNOBS:
                settings.bind(f"{view.name}.cache.{attribute}", view.cache, attribute)
            settings.bind(f"{view.name}.staleness", view.contract, "staleness")
            settings.bind(f"{view.name}.read_your_writes", view.contract, "read_your_writes")
        if "detail" in spec.views:
            for attribute in ("lock", "lock_wait", "token", "scope"):
                settings.bind(f"{spec.name}.write.{attribute}", self, attribute)
            self.table.leases = self.leases
            for name, attribute in LEASE_KNOBS:
                settings.bind(f"{spec.name}.lease.{name}", self.leases, attribute)

    # --- reading ----------------------------------------------------------------------------------

    @property
    def detail(self) -> DetailView[R]:
        """The view of one row by id."""
        return self._details["detail"]

    @property
    def details(self) -> Mapping[str, DetailView[R]]:
        """The views of one row by id, by kind."""
        return self._details

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

    def sound_writes(self) -> dict[str, str]:
        """Give the knob values under which this store's writes lose nothing."""
        write = f"{self.spec.name}.write"
        return {f"{write}.lock": "row", f"{write}.token": "read", f"{write}.scope": "fields"}

    def sound_leases(self) -> dict[str, Any]:
        """Give the knob values, parsed, under which this store's leases exclude each other."""
        lease = f"{self.spec.name}.lease"
        return {f"{lease}.fencing": True, f"{lease}.granularity": 1}

    def views(self) -> tuple[DetailView[R] | QueryView[R], ...]:
        """All views of this store."""
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


CACHE_KNOBS = (
    "ttl",
    "expire",
    "invalidate",
    "invalidate_delay",
    "invalidate_queue",
    "invalidate_rate",
    "fence",
    "granularity",
)

LEASE_KNOBS = (
    ("ttl", "ttl"),
    ("renew", "renew_every"),
    ("fencing", "fencing"),
    ("granularity", "granularity"),
)


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
    row: type[R], *, views: Iterable[str] = ("detail",), unique: Iterable[str] = ()
) -> Store[R]:
    """Declare a table of a product, as a class attribute.

    Each world's product gets a `Store` in its place.

    `views` names the ways to read it (detail, list, search, auth), `unique` the columns whose
    values are unique.
    """
    # `Product.__init__` puts the Store in its place.
    return StoreSpec(row, views, unique)  # type: ignore[return-value]


def query(matches: Any, /, **fields: object) -> Query:
    """Build a query whose text names its fields: `query(pred, stage="negotiation", page=1)`."""
    return Query(
        ",".join(f"{k}={_escaped(v)}" for k, v in fields.items() if v is not None), matches
    )


def _escaped(value: object) -> object:
    # The text is a cache key, so that no value may look like the beginning of another field.
    if isinstance(value, str) and ("," in value or "\\" in value):
        return value.replace("\\", "\\\\").replace(",", "\\,")
    return value
