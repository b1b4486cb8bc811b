"""Views: ways to read a table, each with a contract, each noting what was served and what was true.

A row read through a view is fresh when it equals the committed state at some instant between the
call and its answer. The view only notes breaches; which code they deserve is decided elsewhere.
This file has what all views share and the view of one row; `rows_view` has those of many.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, NamedTuple

from simharness.kernel import journal
from simharness.parts.cache import Cache
from simharness.parts.row import R

if TYPE_CHECKING:
    from collections.abc import Generator

    from simpy.events import Event

    from simharness.kernel.operation import Operation, Span
    from simharness.kernel.world import World
    from simharness.parts.follower import Follower
    from simharness.parts.table import Table

CACHE = "cache"
PRIMARY = "primary"
REPLICA = "replica"
STICKY = "sticky"
INDEX = "index"
"""Where an answer comes from; sticky is a route and no source: the replica, or the primary while
the replica lacks something that the reader itself has written."""

AUTH_ACCESS = 63
"""Number of the access that checks permissions: apart, so that the first access of a tool itself is
always 0."""

OWN_WRITES = 1
VERSIONS = 2
"""What a READ or LIST row says of its contract: readers see their own writes; the version shown is
meant to be compared, so that an old one counts as signalled."""


class Contract:
    """What a view promises its readers."""

    __slots__ = ("_read_your_writes", "_signals", "dated", "promises", "staleness")

    def __init__(self) -> None:
        self.staleness = 0
        """Ticks by which an answer may lag the truth."""
        self.promises = OWN_WRITES
        """The flags of a READ or LIST row; kept up to date here, because every read takes them."""
        self.dated = False
        """Whether answers say as of when they are true."""
        self._read_your_writes = True
        self._signals: tuple[str, ...] = ()

    @property
    def read_your_writes(self) -> bool:
        """Whether an actor sees what it has itself written."""
        return self._read_your_writes

    @read_your_writes.setter
    def read_your_writes(self, promised: bool) -> None:
        self._read_your_writes = promised
        self._note()

    @property
    def signals(self) -> tuple[str, ...]:
        """What an answer says of its age: as_of, version."""
        return self._signals

    @signals.setter
    def signals(self, signals: tuple[str, ...]) -> None:
        self._signals = signals
        self._note()

    def _note(self) -> None:
        self.dated = "as_of" in self._signals
        versions = "version" in self._signals
        self.promises = OWN_WRITES * self._read_your_writes | VERSIONS * versions


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


class ViewParts(NamedTuple, Generic[R]):
    """What the views of one store are made on."""

    world: World
    table: Table[R]
    waits: Waits
    breaches: list[Breach]
    """Where those note what their contracts forbid."""
    replica: Follower[R]


class View(Generic[R]):
    """What all views share."""

    __slots__ = (
        "breaches",
        "contract",
        "from_cache",
        "from_primary",
        "mechanism",
        "name",
        "number",
        "refill",
        "replica",
        "route",
        "table",
        "waits",
        "world",
    )

    cached = False
    """Whether it has a cache."""

    def __init__(self, parts: ViewParts[R], kind: str) -> None:
        self.world = world = parts.world
        self.table = parts.table
        self.name = f"{parts.table.name}.{kind}"
        self.number = world.intern(self.name)
        self.contract = Contract()
        self.waits = parts.waits
        self.breaches = parts.breaches
        self.replica = parts.replica
        self.route = PRIMARY
        """Where it reads: primary, replica, sticky or index."""
        self.refill = PRIMARY
        """Where a cache gets what it lacks: as routed, or from the replica."""
        # The numbers of the sources, as rows hold them.
        self.from_cache = world.intern(CACHE)
        self.from_primary = world.intern(PRIMARY)
        self.mechanism = f"cache:{self.name}"
        """How ablation names the cache of this view."""

    def from_replica(self, op: Operation, *, refilling: bool) -> bool:
        """Tell whether an answer that is due now, for a cache or not, comes from the replica."""
        if refilling and self.refill == REPLICA:
            return True
        if self.route == STICKY:
            return op.actor.wrote.get(self.table.number, 0) <= self.replica.order()
        return self.route == REPLICA

    def say_as_of(self, op: Operation, tick: int) -> None:
        """Note a tick before which this part of a call's answer surely holds every commit.

        The earliest counts for the whole answer, which names it if any of its views has to. What
        comes from the primary needs no note: it is no older than its call.
        """
        op.as_of = min(op.as_of, tick)
        if self.contract.dated:
            op.dated = True

    def breach(
        self, op: Operation, key: int, served: int, true: int, age: int, *, lost: bool = False
    ) -> None:
        """Note a row of the journal's last read that breaks the contract, if it does.

        `lost`: it was passed over, which no staleness allows.
        """
        contract = self.contract
        own = (
            contract.read_your_writes and op.actor.writes.get((self.table.number, key), 0) > served
        )
        if age > contract.staleness or own or lost:
            op.breaches += 1
            last = len(self.world.rows) - 1
            self.breaches.append(Breach(last, self.name, key, served, true, age, own))


class DetailView(View[R]):
    """Reads one row by id."""

    __slots__ = ("cache", "is_auth")

    cached = True

    def __init__(self, parts: ViewParts[R], kind: str) -> None:
        super().__init__(parts, kind)
        self.cache = Cache(self.world, self.table, self.name, of_queries=False)
        self.is_auth = kind == "auth"

    def read(self, op: Operation, key: int) -> Generator[Event, Any, R | None]:
        """Give the row or None, from a live cache entry, else as routed after the wait `db`."""
        k = AUTH_ACCESS if self.is_auth else op.next_access()
        world = self.world
        cache = self.cache
        row: R | None
        caching = cache.ttl or cache.negative_ttl
        if caching:
            entry = cache.lookup(key)
            if entry is not None:
                row, order, as_of = entry.value, entry.order, entry.as_of
                if self.mechanism in world.repair:
                    row, order = self.table.rows.get(key), world.order
                    if row is not entry.value:
                        as_of = world.ticks
                self._note(op, key, row, order, self.from_cache)
                # As `say_as_of` does, without its call: hits are what there is most of.
                dated = self.contract.dated
                if as_of < op.as_of and (dated or not self.is_auth):
                    op.as_of = as_of
                if dated:
                    op.dated = True
                return row
            shown = cache.shown(key)
            world.emit((journal.MISS, world.ticks, op.owner_number, op.n, self.number, shown))
        yield op.latency(self.waits.db, "db", k)
        row, order = self.table.rows.get(key), world.order
        source, as_of = self.from_primary, world.ticks
        if (self.route != PRIMARY or self.refill != PRIMARY) and self.from_replica(
            op, refilling=bool(caching)
        ):
            replica, table = self.replica, self.table
            source, as_of = world.numbers[REPLICA], replica.as_of()
            order = replica.order()  # also when repaired: what then changes is the value alone
            wrong = table.version_at(key, order) < table.version_at(key, op.begin_order)
            if wrong and replica.mechanism in world.repair:
                as_of = world.ticks
            else:
                row = replica.row(key, order)
        if caching:
            wait = op.wait_ticks(self.waits.put, "put", k)
            cache.fill(key, row, order, wait, as_of=as_of)
        self._note(op, key, row, order, source)
        if self.contract.dated or (source != self.from_primary and not self.is_auth):
            self.say_as_of(op, as_of)
        return row

    def _note(self, op: Operation, key: int, row: R | None, order: int, source: int) -> None:
        world = self.world
        table = self.table
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
        contract = self.contract
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
                contract.promises,
            )
        )
        actor = op.actor
        if actor.audited and served != true:
            self.breach(op, key, served, true, age)
        actor.reads[table.number, key] = (served, row)
