"""A sweep: an app asks its payment gateway what became of what has been left open for too long.

A row is made before the gateway is asked, and then follows its events. Where the worker dies in
between, nobody asks any more; where an event is given up, nobody tells. Without a sweep the row
waits for ever, and with it whatever it stands for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from simharness.kernel.operation import Actor, Operation
from simharness.parts.refusal import Refused

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from simpy.events import Event

    from simharness.parts.gateway import Gateway
    from simharness.parts.table import Change, Table
    from simharness.parts.webhook import Inbox

PENDING = "pending"
OPEN = ("sent", PENDING)
"""What the gateway says of what it hasn't brought to its end."""


class Sweep:
    """Looks after the rows of one table, whose column `status` is `pending` until there is news.

    Rows of the start are left to whoever put them there.
    """

    __slots__ = ("_clerk", "after", "gateway", "inbox", "learn", "table", "world")

    def __init__(
        self,
        gateway: Gateway,
        table: Table[Any],
        inbox: Inbox,
        learn: Callable[[Operation, int, str], Generator[Event, Any, None]],
    ) -> None:
        self.world = gateway.world
        self.gateway = gateway
        self.table = table
        self.inbox = inbox
        """Where the gateway's events come in, some of them after what the sweep has been told."""
        self.learn = learn
        """Writes down what the gateway says of a row: its status, or nothing of one that it was
        never asked for. Where that is refused, as the row is locked, the app asks again later."""
        self.after = 0
        """Ticks without news after which the app asks, and asks again; 0 for never."""
        self._clerk = Actor(self.world, f"sweep/{table.name}", 0)
        table.listeners.append(self._hear)

    def _hear(self, change: Change) -> None:
        if change.old is None and change.new is not None and change.new.status == PENDING:
            self._later(change.key, 0)

    def _later(self, key: int, n: int) -> None:
        if self.after:
            self.world.after(self.after, lambda _: self._look(key, n))

    def _look(self, key: int, n: int) -> None:
        row = self.table.rows.get(key)
        if row is not None and row.status == PENDING:
            op = Operation(self.world, self._clerk, n << 32 | key)
            self.world.spawn(op.name, self._ask(op, key, n))

    def _ask(self, op: Operation, key: int, n: int) -> Generator[Event, Any, None]:
        ref = f"{self.table.name}:{key}"
        status = yield from self.gateway.look(op, ref)
        row = self.table.rows.get(key)
        if row is None or row.status != PENDING:
            return
        if status in OPEN:
            self._later(key, n + 1)
        else:
            told = self.gateway.newest(ref)
            if told is not None:
                self.inbox.catch_up(ref, told)
            try:
                yield from self.learn(op, key, status)
            except Refused:
                self._later(key, n + 1)
