"""Who goes first: every ordering decision passes through `Scheduler`, two methods wide.

A decision is addressed by name, `(process name, the process's own sequence number)`, never by a
global index: a shrunk schedule still means the same after unrelated processes have been added.
Policies are pure functions of their seed and that address.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, cast

from simharness.errors import UsageError
from simharness.kernel.draws import Draws

if TYPE_CHECKING:
    from collections.abc import Mapping

RANK_BITS = 32
"""Ranks are ints from 0 to 2**32 - 1; lower goes first, equal ranks go in the order of
scheduling."""


class Scheduler(Protocol):
    """Orders events of the same instant and priority."""

    def rank(self, owner: str, sequence: int) -> int:
        """Rank the `sequence`-th event that process `owner` schedules; 0 keeps the order."""
        ...

    def on_access(self, owner: str, key: str) -> None:
        """Hear that `owner` is about to touch the shared thing `key`."""
        ...

    def record(self) -> dict[str, object]:
        """Give what rebuilds this scheduler, for a recording's header."""
        ...


class Fifo:
    """First scheduled, first run: SimPy's own order."""

    def rank(self, owner: str, sequence: int) -> int:
        """Rank everything alike."""
        return 0

    def on_access(self, owner: str, key: str) -> None:
        """Ignore accesses."""

    def record(self) -> dict[str, object]:
        """Name the policy."""
        return {"policy": "fifo"}


class Random:
    """A random walk over the orders of each instant."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self._draws = Draws(seed)
        self._blocks: dict[str, tuple[int, list[int]]] = {}

    def rank(self, owner: str, sequence: int) -> int:
        """Draw the rank at the address `(owner, sequence)`; eight to a fetch."""
        number, at = divmod(sequence, 8)
        held = self._blocks.get(owner)
        if held is None or held[0] != number:
            held = (number, self._draws.block(f"sched/{owner}", number))
            self._blocks[owner] = held
        return held[1][at] >> (64 - RANK_BITS)

    def on_access(self, owner: str, key: str) -> None:
        """Ignore accesses."""

    def record(self) -> dict[str, object]:
        """Name the policy and its seed."""
        return {"policy": "random", "seed": self.seed}


class Named:
    """Explicit decisions; what they don't name keeps the order of scheduling."""

    def __init__(self, decisions: Mapping[tuple[str, int], int]) -> None:
        for (owner, sequence), rank in decisions.items():
            if sequence < 0 or not 0 <= rank < 1 << RANK_BITS:
                raise UsageError(
                    f"rank {rank!r} of decision ({owner!r}, {sequence}) is out of range",
                    "give ranks from 0 to 2**32 - 1, sequences from 0",
                )
        self.decisions = dict(sorted(decisions.items()))

    def rank(self, owner: str, sequence: int) -> int:
        """Look the decision up."""
        return self.decisions.get((owner, sequence), 0)

    def on_access(self, owner: str, key: str) -> None:
        """Ignore accesses."""

    def record(self) -> dict[str, object]:
        """List the decisions in order of their names."""
        return {"policy": "named", "decisions": [[o, s, r] for (o, s), r in self.decisions.items()]}


def parse_scheduler(record: Mapping[str, object]) -> Scheduler:
    """Rebuild a scheduler from `record()`. Raises UsageError for a policy that isn't known."""
    match record:
        case {"policy": "fifo"}:
            return Fifo()
        case {"policy": "random", "seed": int(seed)}:
            return Random(seed)
        case {"policy": "named", "decisions": list()}:
            return Named(named_decisions(cast("list[object]", record["decisions"])))
        case _:
            raise UsageError(
                f"scheduling policy {dict(record)!r} is not known",
                "use fifo, random (with a seed) or named",
            )


def named_decisions(items: list[object]) -> dict[tuple[str, int], int]:
    """Read the decisions of `Named.record`. Raises UsageError for what can't be one."""
    named: dict[tuple[str, int], int] = {}
    for item in items:
        match item:
            case [str(owner), int(sequence), int(rank)] if not (
                (owner, sequence) in named or isinstance(sequence, bool) or isinstance(rank, bool)
            ):
                named[owner, sequence] = rank
            case _:
                raise UsageError(
                    f"decision {item!r} is not readable",
                    "give [process, sequence, rank], each once",
                )
    return named
