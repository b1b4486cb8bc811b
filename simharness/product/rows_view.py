"""Views of many rows: lists and searches by a predicate."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from simharness.kernel import journal
from simharness.parts.cache import Cache
from simharness.parts.follower import Follower
from simharness.parts.row import R
from simharness.parts.where import ANYWHERE, every
from simharness.product.view import INDEX, PRIMARY, REPLICA, View

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Generator, Iterator, Sequence

    from simpy.events import Event

    from simharness.kernel.operation import Operation
    from simharness.parts.table import Table
    from simharness.parts.where import Where
    from simharness.product.view import ViewParts


class Query:
    """A question to a view of many rows: conditions on columns, and a predicate for the rest."""

    __slots__ = ("_matches", "rest", "text", "where")

    def __init__(
        self, text: str, rest: Callable[[Any], bool] = every, where: Where = ANYWHERE
    ) -> None:
        self.text = text
        """Canonical: under it the answer is cached."""
        self.where = where
        self.rest = rest
        self._matches: Callable[[Any], bool] | None = None

    @property
    def matches(self) -> Callable[[Any], bool]:
        """The whole predicate; most questions are answered without it."""
        matches = self._matches
        if matches is None:
            matches = self._matches = self.where.predicate(self.rest)
        return matches


class RowsView(View[R]):
    """What views of many rows share: how an answer is noted."""

    __slots__ = ()

    def note(
        self,
        op: Operation,
        query: Query,
        rows: Sequence[R],
        order: int,
        source: int,
        wrong: Sequence[int],
        lost: Collection[int] = (),
    ) -> None:
        """Write a LIST row; `wrong` is flat `[key, served, true, age, ...]`.

        `lost` are the keys that were passed over.
        """
        world = self.world
        actor = op.actor
        shown: list[int] = []
        number = self.table.number
        reads = actor.reads
        for row in rows:
            shown += (row.id, row.version)
            reads[number, row.id] = (row.version, row)
        contract = self.contract
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
                contract.promises,
                list(wrong),
            )
        )
        if actor.audited:
            for key, served, true, age in zip(*[iter(wrong)] * 4, strict=True):
                self.breach(op, key, served, true, age, lost=key in lost)

    def wrong(self, query: Query, rows: Sequence[R], order: int, begin_order: int) -> list[int]:
        """List what was out of date when the call began, for an answer as of `order`.

        Flat `[key, served, true, age, ...]`, in order of key. A row that is shown as it is although
        it doesn't match any more has served == true, and its age counts since then.
        """
        table = self.table
        now = self.world.ticks
        shown = {row.id: row for row in rows}
        out: list[int] = []
        for key in sorted({c.key for c in table.changes_after(order) if c.order <= begin_order}):
            true_row = table.rows.get(key)
            row = shown.get(key)
            if row is not None and row is true_row:
                if not query.matches(row):
                    past = unmatched_since(table, key, query.matches, begin_order)
                    if past is not None:
                        out += (key, row.version, row.version, now - past)
            elif row is not None:
                successor = table.successor(key, row.version)
                age = now - successor.t if successor is not None else 0
                out += (key, row.version, table.version(key), age)
            elif true_row is not None and query.matches(true_row):
                served, since = last_unmatched(table, key, query.matches)
                if served >= table.version_at(key, begin_order):
                    continue  # it came to match during the call: true when that began
                out += (key, served, true_row.version, now - since)
        return out


class QueryView(RowsView[R]):
    """Reads the rows that match a predicate, in order of id."""

    __slots__ = ("cache", "hydrate", "index")

    cached = True

    def __init__(self, parts: ViewParts[R], kind: str) -> None:
        super().__init__(parts, kind)
        self.cache = Cache(self.world, self.table, self.name, of_queries=True)
        self.index: Follower[R] = Follower(self.world, self.table, f"index:{self.name}", "index")
        self.hydrate = INDEX
        """Whence come the rows that the index found: index or primary (then predicate and row can
        disagree)."""

    def read(self, op: Operation, query: Query) -> Generator[Event, Any, tuple[R, ...]]:
        """Give the matching rows, from a live cached answer, else as routed after the wait `db`."""
        k = op.next_access()
        world = self.world
        cache = self.cache
        rows: tuple[R, ...]
        if cache.ttl:
            entry = cache.lookup(query.text)
            if entry is not None:
                rows, order, as_of = entry.value, entry.order, entry.as_of
                if self.mechanism in world.repair:
                    # The truth under the entry's own order: a repair that changes no row changes no
                    # journal row. One that does is of now, which an agent may wait for.
                    rows = tuple(self.table.meeting(query.where, query.rest))
                    if rows != entry.value:
                        as_of = world.ticks
                self._served(op, query, rows, order, self.from_cache)
                # As `say_as_of` does, without its call: hits are what there is most of.
                if as_of < op.as_of:
                    op.as_of = as_of
                if self.contract.dated:
                    op.dated = True
                return rows
            text = -1 - world.numbers[query.text]
            world.emit((journal.MISS, world.ticks, op.owner_number, op.n, self.number, text))
        yield op.latency(self.waits.db, "db", k)
        if self.route == PRIMARY and self.refill == PRIMARY:
            rows, order = tuple(self.table.meeting(query.where, query.rest)), world.order
            source, as_of = self.from_primary, world.ticks
        else:
            rows, order, source, as_of = self._routed(op, query, refilling=cache.ttl > 0)
        if cache.ttl:
            wait = op.wait_ticks(self.waits.put, "put", k)
            cache.fill(query.text, rows, order, wait, query.matches, as_of, query.where)
        self._served(op, query, rows, order, source)
        if source != self.from_primary or self.contract.dated:
            self.say_as_of(op, as_of)
        return rows

    def _routed(
        self, op: Operation, query: Query, *, refilling: bool
    ) -> tuple[tuple[R, ...], int, int, int]:
        """Read where the knobs say: rows, their order, the source's number, and as of when."""
        world = self.world
        if self.from_replica(op, refilling=refilling):
            follower, source = self.replica, world.numbers[REPLICA]
        elif self.route == INDEX:
            follower, source = self.index, world.numbers[INDEX]
        else:
            rows = tuple(self.table.meeting(query.where, query.rest))
            return rows, world.order, self.from_primary, world.ticks
        order = follower.order()
        found = follower.where(query.rest, order, query.where)
        if follower is self.index and self.hydrate == PRIMARY:
            now = self.table.rows
            found = [now[row.id] for row in found if row.id in now]
        as_of = follower.as_of()
        if follower.mechanism in world.repair and self.wrong(query, found, order, op.begin_order):
            found, as_of = self.table.meeting(query.where, query.rest), world.ticks
        return tuple(found), order, source, as_of

    def _served(
        self, op: Operation, query: Query, rows: Sequence[R], order: int, source: int
    ) -> None:
        begin = op.begin_order
        wrong: Sequence[int] = self.wrong(query, rows, order, begin) if order < begin else ()
        if op.actor.audited and (self.route != INDEX or self.hydrate == INDEX):
            wrong = [*wrong, *self.unasked(query, rows, wrong[::4])]
        self.note(op, query, rows, order, source, wrong)

    def unasked(self, query: Query, rows: Sequence[R], known: Sequence[int]) -> Iterator[int]:
        """List the rows that fail the query as they are served, but for those that are known.

        Flat, as `wrong` does; no age excuses them. A sound table serves none, and what is asked of
        it for its changes alone wouldn't tell.
        """
        for row in rows:
            if not query.matches(row) and row.id not in known:
                yield from (row.id, row.version, row.version, self.world.ticks)


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


def unmatched_since(
    table: Table[Any], key: int, matches: Callable[[Any], bool], begin_order: int
) -> int | None:
    """Give the tick since when a row has not matched; None where it still did at `begin_order`."""
    since: int | None = None
    for change in reversed(table.history[key]):
        if change.new is not None and matches(change.new):
            break
        since = change.t if change.order <= begin_order else None
    return since
