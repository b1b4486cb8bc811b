"""A transactional outbox: messages that exist if, and only if, their transaction is committed.

A message is put down with the writes that it tells of. One process relays what has been committed
to whoever subscribes, in the order of the commits. It notes a message as relayed only afterwards,
so that a crash in between relays it once more, and never loses it: at least once.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

from simharness.kernel import journal
from simharness.kernel.process import Wait
from simharness.parts.reaction import Reactions

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping

    from simpy.events import Event

    from simharness.kernel.operation import Span
    from simharness.kernel.world import World
    from simharness.parts.reaction import Reaction
    from simharness.parts.transaction import Transaction


class Message:
    """One message."""

    __slots__ = ("kind", "op", "order", "payload", "ref")

    def __init__(
        self, op: Reaction, order: int, kind: str, ref: str, payload: Mapping[str, object]
    ) -> None:
        self.op = op
        """The operation under which it is relayed."""
        self.order = order
        """The commit that it belongs to; 0 before that."""
        self.kind = kind
        self.ref = ref
        """The row that it is about, as `table:id`."""
        self.payload = payload


class Outbox:
    """The messages of one product that wait to be relayed."""

    __slots__ = (
        "_idle",
        "_life",
        "_reactions",
        "_waiting",
        "ack",
        "early",
        "latency",
        "loss",
        "name",
        "subscribers",
        "world",
    )

    def __init__(self, world: World, name: str = "outbox") -> None:
        self.world = world
        self.name = name
        self.latency: Span = (0, 0)
        """Wait `relay` before a message is handed to the subscribers."""
        self.ack: Span = (0, 0)
        """Wait `ack` until it is noted as relayed; a crash in between relays it once more."""
        self.early = False
        """Relay a message from when it is written, not from when it is committed (a defect)."""
        self.loss = 0
        """Chance in millionths that a message is noted as relayed and isn't (a defect)."""
        self.subscribers: list[Callable[[Message], None]] = []
        """Called with each message, in the order of subscription."""
        self._reactions = Reactions(world, name)
        self._waiting: deque[Message] = deque()
        self._idle: Wait | None = None
        self._life = 0
        world.spawn(f"{name}/relay", self._relay(0))

    # --- writing ----------------------------------------------------------------------------------

    def write(
        self, tx: Transaction, kind: str, ref: str, payload: Mapping[str, object] | None = None
    ) -> None:
        """Put a message into a transaction; nothing comes of it unless that is committed."""

        def add(order: int) -> None:
            self._add(Message(self._reactions.begin(tx.op), order, kind, ref, payload or {}))

        if self.early and not self._repaired:
            add(0)
        else:
            tx.then(add)

    @property
    def _repaired(self) -> bool:
        return f"outbox:{self.name}" in self.world.repair

    def _add(self, message: Message) -> None:
        world = self.world
        op = message.op
        world.emit(
            (
                journal.MESSAGE,
                world.ticks,
                op.owner_number,
                op.n,
                world.numbers[self.name],
                world.numbers[message.kind],
                world.numbers[message.ref],
                message.order,
            )
        )
        self._waiting.append(message)
        self._wake()

    @property
    def waiting(self) -> int:
        """Messages that aren't noted as relayed."""
        return len(self._waiting)

    # --- relaying ---------------------------------------------------------------------------------

    def crash(self, down: int = 0) -> None:
        """Let the relay crash, and start again `down` ticks later where its notes end."""
        self._life = life = self._life + 1
        self._wake()

        def restart(_: Event) -> None:
            # One that has crashed again by now ends at once.
            self.world.spawn(f"{self.name}/relay#{life}", self._relay(life))

        self.world.after(down, restart)

    def _wake(self) -> None:
        idle = self._idle
        if idle is not None:
            self._idle = None
            idle.succeed()

    def _relay(self, life: int) -> Generator[Event, Any, None]:
        world = self.world
        while self._life == life:
            if not self._waiting:
                self._idle = idle = Wait(world, f"a message of {self.name}")
                yield idle
                continue
            message = self._waiting[0]
            op = message.op
            k = op.next_access()
            yield op.latency(self.latency, "relay", k)
            if self._life != life:
                return
            lost = self.loss > 0 and not self._repaired and op.chance(self.loss, "loss", k)
            why = world.numbers["lost" if lost else "sent"]
            number = world.numbers[self.name]
            world.emit((journal.RELAYED, world.ticks, op.owner_number, op.n, number, why))
            if lost:
                world.alarms += 1
            else:
                for subscriber in self.subscribers:
                    subscriber(message)
            yield op.latency(self.ack, "ack", k)
            if self._life == life:
                self._waiting.popleft()
                op.end()
