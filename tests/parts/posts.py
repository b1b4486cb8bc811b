"""A world with one table, in which messages, events and jobs are sent."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from simpy.events import Event

from simharness.findings.detect import HARNESS
from simharness.findings.story import StepSpan, tell
from simharness.kernel import journal
from simharness.kernel.journal import Decoder
from simharness.kernel.operation import Actor, Operation
from simharness.kernel.world import World
from simharness.parts.row import Row, RowType
from simharness.parts.table import Table, Template
from simharness.parts.transaction import Transaction

if TYPE_CHECKING:
    from simharness.findings.finding import Finding
    from simharness.kernel.schedule import Scheduler

Steps: TypeAlias = Generator[Event, Any, None]
LONG = 10**13
"""Ticks after which everything has come to an end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Charge(Row):
    status: str = "pending"
    amount: int = 0


class Bed:
    """A world with the table `charges` of three rows."""

    def __init__(self, seed: int = 0, scheduler: Scheduler | None = None) -> None:
        self.world = World(seed, scheduler=scheduler)
        rows = [Charge(id=i) for i in (1, 2, 3)]
        self.table: Table[Charge] = Table(
            self.world, Template("charges", RowType(Charge), rows, ())
        )
        self.agent = Actor(self.world, "agent", 0, audited=True)
        self.user = Actor(self.world, "user/1", 0)
        self.log: list[tuple[int, str]] = []
        self._n = 0

    def op(self, actor: Actor | None = None, pins: dict[str, int] | None = None) -> Operation:
        self._n += 1
        return Operation(self.world, actor or self.agent, self._n, pins)

    def note(self, what: str) -> None:
        self.log.append((self.world.ticks, what))

    def end(self) -> None:
        """Let everything come to an end."""
        self.world.advance_to(LONG)

    def rows(self, *kinds: str) -> list[tuple[int, tuple[Any, ...]]]:
        """Give rows of some kinds without their operations."""
        decoded = Decoder().decode_all(self.world.rows)
        return [
            (r.t, tuple(v for k, v in r.values.items() if k not in ("owner", "n")))
            for r in decoded
            if r.kind in kinds
        ]

    def findings(self) -> list[Finding]:
        """Give what all detectors of the harness find."""
        world = self.world
        world.emit((journal.END, world.ticks, world.intern("stop"), world.intern(""), 0))
        span = StepSpan(1, 0, None, True, False)
        story = tell(list(Decoder().decode_all(world.rows)), [span])
        return [finding for detector in HARNESS for finding in detector(story)]

    def add(self, op: Operation, key: int, amount: int) -> Transaction:
        """Begin a transaction that adds to a row, as it is now."""
        tx = Transaction(op)
        tx.update(self.table, key, {"amount": self.table.rows[key].amount + amount})
        return tx
