"""A cache in front of a view.

Entries with a TTL, fills that may come late, invalidations that may be slow or lost.

One rule, here and in the auditor: an entry whose age equals its TTL has expired.

What can go wrong is all in the knobs: invalidations that are never sent, sent before the commit,
delayed by a slow worker or dropped from a full queue; fills that land after an invalidation because
nothing fences them.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

from simharness.kernel import journal
from simharness.parts.answers import Answers, Entry
from simharness.parts.where import ANYWHERE, every

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from simpy.events import Event

    from simharness.kernel.world import World
    from simharness.parts.table import Change, Table
    from simharness.parts.where import Where

ROW = "row"
QUERY = "query"
TABLE = "table"


class Cache:
    """The cached answers of one view of one table: rows, or the answers of queries."""

    __slots__ = (
        "_busy_until",
        "_fences",
        "_queue",
        "_statement",
        "entries",
        "expire",
        "fence",
        "granularity",
        "invalidate",
        "invalidate_delay",
        "invalidate_queue",
        "invalidate_rate",
        "name",
        "negative_ttl",
        "number",
        "of_queries",
        "on_queue",
        "scope",
        "shared_in_tx",
        "table",
        "ttl",
        "world",
    )

    def __init__(self, world: World, table: Table[Any], name: str, *, of_queries: bool) -> None:
        self.world = world
        self.table = table
        self.name = name
        self.number = world.intern(name)
        self.of_queries = of_queries
        self.scope = QUERY if of_queries else ROW
        """What an invalidation removes.

        `row`: answers that hold the row. `query`: those too that its old or new version meets; with
        `row` a query misses what has come to match (a defect). `table`: all answers.
        """
        self.entries: dict[Hashable, Entry] = Answers() if of_queries else {}
        self.ttl = 0
        self.negative_ttl = 0
        self.expire = "after_write"
        self.invalidate = "on_commit"
        self.invalidate_delay = 0
        self.invalidate_queue = 0
        """Length at which further invalidations are dropped; 0 for no bound."""
        self.invalidate_rate = 0
        """Ticks that the worker takes for one invalidation; 0 for none."""
        self.fence = True
        self.granularity = 1
        self.shared_in_tx = False
        """Whether an open transaction puts what it reads of its own writes in here (a defect)."""
        self.on_queue: Callable[[int], None] | None = None
        """Told the length of the invalidation queue when it grows (triggers of faults listen)."""
        self._fences: dict[Hashable, int] = {}
        self._queue: deque[Change] = deque()
        self._busy_until = 0
        table.listeners.append(self._on_commit)
        table.statement_listeners.append(self)

    # --- reading and filling ----------------------------------------------------------------------

    def lookup(self, key: Hashable) -> Entry | None:
        """Give the live entry of a key; drops it when it has expired."""
        entry = self.entries.get(key)
        if entry is None:
            return None
        world = self.world
        now = world.ticks
        unit = self.granularity
        age = now - entry.at if unit == 1 else now // unit * unit - entry.at // unit * unit
        if age >= entry.ttl:
            del self.entries[key]
            world.emit((journal.EXPIRE, now, self.number, self.shown(key)))
            return None
        if self.expire == "after_access":
            entry.at = now
        return entry

    def fill(
        self,
        key: Hashable,
        value: Any,
        order: int,
        wait: int,
        matches: Callable[[Any], bool] = every,
        as_of: int = 0,
        where: Where = ANYWHERE,
    ) -> None:
        """Store an answer that was true as of `order`, `wait` ticks from now.

        Nobody waits for it. `as_of` is the tick before which it surely holds every commit; `where`
        is a part of what `matches` asks, the predicate of a query.
        """
        if wait == 0:
            self._put(key, value, order, as_of, matches, where)
        else:
            self.world.after(wait, lambda _: self._put(key, value, order, as_of, matches, where))

    def _put(
        self,
        key: Hashable,
        value: Any,
        order: int,
        as_of: int,
        matches: Callable[[Any], bool],
        where: Where,
    ) -> None:
        ttl = self.negative_ttl if value is None else self.ttl
        if ttl <= 0:
            return
        world = self.world
        if self.fence:
            fence = self._fences.get(QUERY, 0)
            if not self.of_queries:
                fence = max(fence, self._fences.get(key, 0))
            if order < fence:
                world.emit(
                    (journal.FENCED, world.ticks, self.number, self.shown(key), order, fence)
                )
                return
        self.entries[key] = Entry(value, order, world.ticks, ttl, as_of, matches, where)
        world.emit((journal.FILL, world.ticks, self.number, self.shown(key), order, ttl))

    # --- invalidation -----------------------------------------------------------------------------

    def _on_commit(self, change: Change) -> None:
        mode = self.invalidate
        if mode == "never" or mode == "on_statement" or not (self.ttl or self.negative_ttl):
            return
        if mode == "on_commit" and not self.invalidate_delay and not self.invalidate_rate:
            self._apply(change.key, change.old, change.new, change.order)
            return
        world = self.world
        waiting = len(self._queue)
        if self.invalidate_queue and waiting >= self.invalidate_queue:
            world.emit((journal.DROP, world.ticks, self.number, change.key, change.order, waiting))
            return
        self._queue.append(change)
        if self.on_queue is not None:
            self.on_queue(waiting + 1)
        # One worker: an item is ready after its delay and after the items before it.
        ready = max(world.ticks + self.invalidate_delay, self._busy_until) + self.invalidate_rate
        self._busy_until = ready
        world.after(ready - world.ticks, self._work)

    def _work(self, _: Event) -> None:
        change = self._queue.popleft()
        self._apply(change.key, change.old, change.new, change.order)

    def wants_statements(self) -> bool:
        """Tell whether this cache invalidates at statements."""
        return self.invalidate == "on_statement" and bool(self.ttl or self.negative_ttl)

    def on_statement(self, key: int, old: Any, new: Any) -> None:
        """Invalidate before the commit: a read in between puts the old answer back."""
        self._apply(key, old, new, self.world.order)

    def _apply(self, key: int, old: Any, new: Any, order: int) -> None:
        """Remove every answer that holds the row or that its old or new version meets."""
        world = self.world
        fences_key: Hashable = QUERY if self.of_queries or self.scope == TABLE else key
        entries = self.entries
        before = len(entries)
        if self.scope == TABLE:
            entries.clear()
        elif isinstance(entries, Answers):
            for text in entries.concerned(key, old, new, whole=self.scope == QUERY):
                del entries[text]
        else:
            entries.pop(key, None)
        removed = before - len(entries)
        if order > self._fences.get(fences_key, 0):
            self._fences[fences_key] = order
        world.emit((journal.INVALIDATE, world.ticks, self.number, key, order, removed))

    def shown(self, key: Hashable) -> int:
        """Give a key as rows hold it: a row id, or the number of its name as -1 - number."""
        # A row id that agents made up may be negative; in rows, names are.
        return key if isinstance(key, int) and key >= 0 else -1 - self.world.numbers[str(key)]
