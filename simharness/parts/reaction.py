"""Reactions: operations that another one has caused and that outlive it, as a delivery or a job.

A reaction is addressed by the operation that caused it, never by a count over the whole world: a
call that is left out takes its own reactions along and shifts the draws of no others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from simharness.errors import HarnessError
from simharness.kernel import journal
from simharness.kernel.operation import Actor, Operation

if TYPE_CHECKING:
    from simharness.kernel.world import World

EACH = 1 << 9
"""Most reactions that one operation may cause in one part."""
N_MAX = 2**63 - 1


class Reaction(Operation):
    """One reaction. An episode isn't over while one to a call of the agent's is under way."""

    __slots__ = ("_open", "cause")

    def __init__(self, world: World, actor: Actor, n: int, cause: Operation) -> None:
        super().__init__(world, actor, n, cause.pins)
        self.crash = 0  # a crash is the cause's own
        self.cause = cause
        """The call, or whatever else began it all: no reaction itself."""
        self._open = True
        world.reactions += cause.actor.audited

    def end(self) -> None:
        """Say that nothing more comes of it. Raises HarnessError the second time."""
        if not self._open:
            raise HarnessError(f"{self.name} ends twice")
        self._open = False
        self.world.reactions -= self.cause.actor.audited


class Reactions:
    """The reactions that one part carries out."""

    __slots__ = ("_actors", "_counts", "part", "world")

    def __init__(self, world: World, part: str) -> None:
        self.world = world
        self.part = part
        """Its name, with which the names of the reactions begin."""
        self._actors: dict[str, Actor] = {}
        self._counts: dict[tuple[str, int], int] = {}

    def begin(self, op: Operation) -> Reaction:
        """Begin the next reaction to an operation; whoever does must end it."""
        at = op.owner, op.n
        k = self._counts.get(at, 0)
        n = op.n * EACH + k
        if k == EACH or n > N_MAX:
            raise HarnessError(
                f"{op.name} causes too many reactions in {self.part}, or is itself the reaction to "
                "too many others",
                f"an operation may cause {EACH} in each part",
            )
        self._counts[at] = k + 1
        return self._begun(op, f"{self.part}/{op.owner}", n)

    def attempt(self, reaction: Reaction, number: int) -> Reaction:
        """Begin one of several attempts at a reaction, from 1: an operation of the same number."""
        return self._begun(reaction, f"{reaction.owner}/{number}", reaction.n)

    def _begun(self, op: Operation, name: str, n: int) -> Reaction:
        world = self.world
        actor = self._actors.get(name)
        if actor is None:
            actor = self._actors[name] = Actor(world, name, 0)
        reaction = Reaction(world, actor, n, op.cause if isinstance(op, Reaction) else op)
        world.emit((journal.CAUSED, world.ticks, actor.number, n, op.owner_number, op.n))
        return reaction
