"""A pool of workers: so many calls at a time, the others wait in turn."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

from simharness.errors import HarnessError
from simharness.kernel import journal
from simharness.kernel.process import Wait
from simharness.parts.node import Crashed

if TYPE_CHECKING:
    from collections.abc import Generator

    from simpy.events import Event

    from simharness.kernel.operation import Operation
    from simharness.kernel.world import World


class WorkerPool:
    """`capacity` workers and one queue, first come first served."""

    __slots__ = ("_capacity", "busy", "name", "waiters", "world")

    def __init__(self, world: World, name: str) -> None:
        self.world = world
        self.name = name
        self._capacity = 1
        self.busy = 0
        self.waiters: deque[Wait] = deque()

    @property
    def capacity(self) -> int:
        """Calls that are served at a time.

        A raise lets waiting calls in, a cut takes effect as calls end.
        """
        return self._capacity

    @capacity.setter
    def capacity(self, capacity: int) -> None:
        self._capacity = capacity
        while self.waiters and self.busy < capacity:
            self.busy += 1
            self.waiters.popleft().succeed()

    def full(self) -> bool:
        """Tell whether the next call would have to wait."""
        return self.busy >= self.capacity

    def acquire(self, op: Operation) -> Generator[Event, Any, None]:
        """Take a worker, waiting in turn."""
        if self.busy < self.capacity:
            self.busy += 1
            return
        world = self.world
        wait = Wait(world, f"a worker of {self.name} ({self.busy} of {self.capacity} busy)")
        self.waiters.append(wait)
        world.emit(
            (
                journal.BUSY,
                world.ticks,
                op.owner_number,
                op.n,
                world.intern(self.name),
                len(self.waiters),
            )
        )
        try:
            yield wait
        except Crashed:
            if wait.triggered:
                self.release()
            else:
                self.waiters.remove(wait)
            raise

    def release(self) -> None:
        """Give a worker back; it goes straight to whoever waited longest."""
        if self.busy <= 0:
            raise HarnessError(f"pool {self.name} gets back a worker that it never gave")
        if self.waiters and self.busy <= self._capacity:
            self.waiters.popleft().succeed()
        else:
            self.busy -= 1
