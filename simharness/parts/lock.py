"""An exclusive lock.

Free costs no event, busy costs one, and release hands it to whoever waited longest.

SimPy's Resource is not used: cancelling a triggered request leaks the slot, and `request | timeout`
can lose the grant.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

from simharness.errors import HarnessError
from simharness.kernel import journal
from simharness.kernel.process import Wait
from simharness.parts.node import Crashed
from simharness.parts.refusal import Refused

if TYPE_CHECKING:
    from collections.abc import Generator

    from simpy.events import Event

    from simharness.kernel.operation import Operation
    from simharness.kernel.world import World


class Lock:
    """One exclusive lock."""

    __slots__ = ("holder", "name", "waiters")

    def __init__(self, name: str) -> None:
        self.name = name
        self.holder: Operation | None = None
        self.waiters: deque[tuple[Operation, Wait]] = deque()


class Locks:
    """The locks of one table, made on demand and dropped when nobody holds them."""

    __slots__ = ("_locks", "prefix", "world")

    def __init__(self, world: World, prefix: str) -> None:
        self.world = world
        self.prefix = prefix
        self._locks: dict[int, Lock] = {}

    def acquire(self, op: Operation, key: int, patience: int) -> Generator[Event, Any, None]:
        """Take the lock of `key`, waiting at most `patience` ticks in turn.

        Raises Refused `locked` when it is still held then, or when waiting would close a circle of
        waits.
        """
        world = self.world
        lock = self._locks.get(key)
        if lock is None:
            lock = self._locks[key] = Lock(f"{self.prefix}:{key}")
        holder = lock.holder
        number = world.numbers[lock.name]
        if holder is None:
            lock.holder = op
            op.locks += 1
            world.emit((journal.LOCK, world.ticks, op.owner_number, op.n, number))
            return
        if holder is op:
            raise HarnessError(f"{op.name} takes lock {lock.name} twice", "release it first")
        world.emit(
            (
                journal.LOCKWAIT,
                world.ticks,
                op.owner_number,
                op.n,
                number,
                world.intern(holder.name),
            )
        )
        if closes_circle(op, lock):
            world.emit((journal.LOCKTIMEOUT, world.ticks, op.owner_number, op.n, number))
            raise Refused("locked", f"{lock.name} is held by a call that waits for this one")
        wait = Wait(world, f"lock {lock.name}, held by {holder.name}")
        entry = (op, wait)
        lock.waiters.append(entry)
        op.blocked_on = lock

        def give_up(_: Event) -> None:
            if not wait.triggered:
                lock.waiters.remove(entry)
                op.blocked_on = None
                wait.succeed(False)

        world.after(patience, give_up)
        try:
            granted = yield wait
        except Crashed:
            if wait.triggered:
                if wait.value:
                    self.release(op, key)
            else:
                lock.waiters.remove(entry)
                op.blocked_on = None
                wait.succeed(False)  # its patience is over
            raise
        if not granted:
            world.alarms += 1
            world.emit((journal.LOCKTIMEOUT, world.ticks, op.owner_number, op.n, number))
            raise Refused("locked", f"{lock.name} is being changed by somebody else")

    def release(self, op: Operation, key: int) -> None:
        """Give the lock back. Raises HarnessError when `op` doesn't hold it."""
        world = self.world
        lock = self._locks.get(key)
        if lock is None or lock.holder is not op:
            raise HarnessError(
                f"{op.name} releases lock {self.prefix}:{key}, which it doesn't hold"
            )
        op.locks -= 1
        number = world.numbers[lock.name]
        world.emit((journal.UNLOCK, world.ticks, op.owner_number, op.n, number))
        if not lock.waiters:
            lock.holder = None
            del self._locks[key]
            return
        heir, wait = lock.waiters.popleft()
        lock.holder = heir
        heir.locks += 1
        heir.blocked_on = None
        world.emit((journal.LOCK, world.ticks, heir.owner_number, heir.n, number))
        wait.succeed(True)

    def holder(self, key: int) -> Operation | None:
        """Tell who holds the lock of `key`."""
        lock = self._locks.get(key)
        return lock.holder if lock is not None else None


def closes_circle(op: Operation, lock: Lock) -> bool:
    """Tell whether `op` waiting for `lock` would wait, through others, for itself."""
    seen = 0
    at: Lock | None = lock
    while at is not None and seen < 10_000:
        holder = at.holder
        if holder is op:
            return True
        if holder is None:
            return False
        at = holder.blocked_on if isinstance(holder.blocked_on, Lock) else None
        seen += 1
    return False
