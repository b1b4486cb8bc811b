"""The ledger of a payment gateway: each movement of money, and so the truth of it."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Literal, NamedTuple

from simharness.kernel import journal
from simharness.parts.reaction import Reaction

if TYPE_CHECKING:
    from collections.abc import Callable

    from simharness.kernel.operation import Operation
    from simharness.kernel.world import World

Kind = Literal["charge", "refund", "chargeback"]


class Movement(NamedTuple):
    """One movement of money."""

    kind: Kind
    ref: str
    """The product's row that stands for it, as `charges:1`."""
    of: str
    """What it is made for: of a refund or a chargeback, the row of its charge."""
    amount: int
    """Minor units, from 0."""
    currency: str
    at: int
    """Instant."""

    @property
    def charge(self) -> str:
        """The row of the charge that it belongs to."""
        return self.ref if self.kind == "charge" else self.of


class Ledger:
    """The movements of one gateway; none is ever taken back."""

    __slots__ = ("_sums", "_trail", "listeners", "movements", "name", "world")

    def __init__(self, world: World, name: str) -> None:
        self.world = world
        self.name = name
        """The gateway's."""
        self.movements: list[Movement] = []
        """Oldest first."""
        self.listeners: list[Callable[[Operation, Movement], None]] = []
        """Called with each movement, in its instant; not for those of before the start."""
        self._sums: dict[tuple[str, str], int] = defaultdict(int)
        self._trail: set[tuple[object, ...]] = set()

    def enter(self, op: Operation, moved: Movement, asked: int) -> None:
        """Note a movement that happens now, where `asked` was to be moved."""
        who = root(op)
        # What a sound app never does; whether it was the app is for the detectors to say.
        same = (moved.kind, moved.ref), (moved.kind, moved.of, asked, who.owner, who.n)
        self.world.alarms += (moved.amount != asked) + any(each in self._trail for each in same)
        self._trail.update(same)
        self._write(moved, op.owner_number, op.n)
        for listener in self.listeners:
            listener(op, moved)

    def open(self, moved: Movement) -> None:
        """Note a movement of before the start."""
        self._write(moved, self.world.numbers[self.name], 0)

    def _write(self, moved: Movement, owner: int, n: int) -> None:
        world = self.world
        numbers = world.numbers
        self.movements.append(moved)
        charge = moved.charge
        self._sums[moved.kind, charge] += moved.amount
        world.alarms += self.sum("refund", charge) > self.sum("charge", charge)
        world.emit(
            (
                journal.LEDGER,
                world.ticks,
                owner,
                n,
                numbers[self.name],
                numbers[moved.kind],
                numbers[moved.ref],
                numbers[moved.of],
                moved.amount,
                numbers[moved.currency],
                moved.at,
            )
        )

    def sum(self, kind: Kind, charge: str) -> int:
        """Add up the movements of one kind that belong to a charge, in minor units."""
        return self._sums.get((kind, charge), 0)

    def net(self) -> dict[str, int]:
        """Give what is left of each charge by its row, in minor units: taken, less what went back.

        Below 0 where more went back.
        """
        out: dict[str, int] = {}
        for (kind, charge), amount in self._sums.items():
            out[charge] = out.get(charge, 0) + (amount if kind == "charge" else -amount)
        return out


def root(op: Operation) -> Operation:
    """Give the call that an operation goes back to."""
    return op.cause if isinstance(op, Reaction) else op
