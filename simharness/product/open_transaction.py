"""A transaction that stays open: statements of several calls that are committed together."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

from simharness.kernel import journal
from simharness.kernel.operation import AFTER_COMMIT, BEFORE_COMMIT
from simharness.kernel.process import Wait
from simharness.parts.node import Crashed
from simharness.parts.refusal import Refused
from simharness.parts.transaction import Basis, Transaction
from simharness.product.store import stale

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping

    from simpy.events import Event

    from simharness.kernel.operation import Operation
    from simharness.parts.lock import Locks
    from simharness.parts.row import R
    from simharness.product.store import Store
    from simharness.product.view import DetailView


class OpenTransaction:
    """One transaction of one actor, from `db.begin` to commit, rollback or crash.

    Locks and commits are those of the call that began it. Its statements run one after the other,
    in the order in which they were sent. Others see nothing of it before the commit, but statement
    listeners hear of each statement at once; and it reads its own writes, of other rows what is
    committed.
    """

    def __init__(self, op: Operation, name: str) -> None:
        self.op = op
        self.name = name
        self.ended = False
        self._crashed = False
        self._tx = Transaction(op)
        self._held: dict[tuple[Locks, int], None] = {}
        self._seen: dict[tuple[int, int], int] = {}
        """Committed version read last, by (table number, key)."""
        self._bases: dict[tuple[int, int], tuple[Store[Any], int]] = {}
        """Store, and version that the first statement on a row rests on, by the same."""
        self._busy = False
        self._waiting: deque[Wait] = deque()
        world = op.world
        world.emit((journal.TXBEGIN, world.ticks, op.owner_number, op.n, world.numbers[name]))

    # --- statements -------------------------------------------------------------------------------

    def insert(
        self, op: Operation, store: Store[R], fields: Mapping[str, object]
    ) -> Generator[Event, Any, R]:
        """Add a row, whose id is given out at once. Raises Refused `conflict`."""
        yield from self._turn()
        try:
            yield op.latency(store.waits.db, "db", op.next_access())
            self.require_open()
            key = self._tx.insert(store.table, fields)
            self._note(store, key)
            return self._row(store, key)
        finally:
            self._pass()

    def update(
        self, op: Operation, store: Store[R], key: int, fields: Mapping[str, object]
    ) -> Generator[Event, Any, R]:
        """Change columns of a row. Raises Refused `not_found`, `conflict` or `locked`."""
        yield from self._turn()
        try:
            base = yield from self._guard(op, store, key)
            self._tx.update(store.table, key, fields, Basis(0, base, fields.keys()))
            self._note(store, key)
            return self._row(store, key)
        finally:
            self._pass()

    def delete(self, op: Operation, store: Store[Any], key: int) -> Generator[Event, Any, None]:
        """Remove a row. Raises Refused `not_found` or `locked`."""
        yield from self._turn()
        try:
            yield from self._guard(op, store, key)
            self._tx.delete(store.table, key)
            self._note(store, key)
        finally:
            self._pass()

    def lock(self, op: Operation, store: Store[R], key: int) -> Generator[Event, Any, R]:
        """Read a row and keep others from changing it until the end, as far as `write.lock` does.

        Raises Refused `not_found` or `locked`.
        """
        yield from self._turn()
        try:
            yield from self._guard(op, store, key)
            row = self._row(store, key)
            if not self._tx.wrote(store.table, key):
                self._seen[store.table.number, key] = row.version
            return row
        finally:
            self._pass()

    def read(self, op: Operation, view: DetailView[R], key: int) -> Generator[Event, Any, R | None]:
        """Give a row through a view; one that this transaction has written, as it has left it."""
        yield from self._turn()
        try:
            table = view.table
            if not self._tx.wrote(table, key):
                row = yield from view.read(op, key)
                served, _ = op.actor.reads[table.number, key]
                self._seen[table.number, key] = served
                return row
            k = op.next_access()
            yield op.latency(view.waits.db, "db", k)
            self.require_open()
            row = self._tx.row(table, key)
            world, cache, contract = op.world, view.cache, view.contract
            if cache.shared_in_tx and (cache.ttl or cache.negative_ttl):
                cache.fill(key, row, world.order, op.wait_ticks(view.waits.put, "put", k))
            true = table.version(key)
            served = row.version if row is not None else true + 1
            what = (view.number, key, served, true, 0, view.from_primary)
            promised = (contract.staleness, contract.promises)
            world.emit((journal.READ, world.ticks, op.owner_number, op.n, *what, *promised))
            return row
        finally:
            self._pass()

    # --- the end ----------------------------------------------------------------------------------

    def commit(self, op: Operation, db: tuple[int, int]) -> Generator[Event, Any, int]:
        """Make the writes the truth after the wait `db`; gives how many rows they are.

        Raises Refused `conflict` or `not_found`; then nothing is changed, and it has ended too.
        """
        yield from self._turn()
        try:
            yield op.latency(db, "db", op.next_access())
            self.require_open()
            for (_, key), (store, base) in self._bases.items():
                current = store.table.version(key)
                if store.lock == "optimistic" and current != base:
                    raise stale(store.spec.name, key, base, current)
            rows = len(self._tx)
            if op.crash == BEFORE_COMMIT:
                self._crashed = True  # the connection is gone, and with it the transaction
                raise Crashed
            if rows:
                self._tx.commit()
            self.end("committed")
            if op.crash == AFTER_COMMIT:
                raise Crashed
            return rows
        finally:
            if not self.ended:
                self.end("rolled back")
            self._pass()

    def rollback(self) -> Generator[Event, Any, None]:
        """Drop the writes and give the locks back."""
        yield from self._turn()
        self.end("rolled back")
        self._pass()

    def end(self, reason: str) -> None:
        """Give the locks back, whatever is under way; what has not been committed is dropped."""
        if self.ended:
            return
        self.ended = True
        reason = "crashed" if self._crashed else reason
        op = self.op
        world = op.world
        for locks, key in self._held:
            locks.release(op, key)
        self._held.clear()
        world.emit((journal.TXEND, world.ticks, op.owner_number, op.n, world.numbers[reason]))

    def crash(self) -> None:
        """End with the node of its actor: at once, or with the statement that is dying too."""
        self._crashed = True
        if not self._busy:
            self.end("crashed")

    def require_open(self) -> None:
        """Raise Refused `not_found` when it has ended: perhaps while the caller waited."""
        if self.ended:
            raise Refused("not_found", f"transaction {self.name!a} has ended")

    # --- what statements share --------------------------------------------------------------------

    def _turn(self) -> Generator[Event, Any, None]:
        """Wait until the statements sent before have ended."""
        if self._busy:
            wait = Wait(self.op.world, f"its turn in transaction {self.name}")
            self._waiting.append(wait)
            yield wait
        self._busy = True
        try:
            self.require_open()
        except Refused:
            self._pass()
            raise

    def _pass(self) -> None:
        if self._crashed:
            self.end("crashed")
        if self._waiting:
            self._waiting.popleft().succeed()
        else:
            self._busy = False

    def _guard(self, op: Operation, store: Store[Any], key: int) -> Generator[Event, Any, int]:
        """Lock a row if locks guard its table, and let the wait `db` pass.

        Gives the version that the statement rests on.
        """
        table = store.table
        held = store.locks, key
        if store.lock == "row" and held not in self._held:
            yield from store.locks.acquire(self.op, key, store.lock_wait)
            self._held[held] = None
            if self.ended:  # in this very instant
                del self._held[held]
                store.locks.release(self.op, key)
                self.require_open()
        place = table.number, key
        base = self._seen.get(place, table.version(key))
        yield op.latency(store.waits.db, "db", op.next_access())
        self.require_open()
        self._bases.setdefault(place, (store, base))
        return base

    def _row(self, store: Store[R], key: int) -> R:
        row = self._tx.row(store.table, key)
        if row is None:
            raise Refused("not_found", f"no {store.spec.name} row {key}")
        return row

    def _note(self, store: Store[Any], key: int) -> None:
        op, table = self.op, store.table
        place = table.number, key, table.version(key)
        op.world.emit((journal.TXWRITE, op.world.ticks, op.owner_number, op.n, *place))
