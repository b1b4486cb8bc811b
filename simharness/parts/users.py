"""Background users: one process each, as many as the load says."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any

from simharness.errors import HarnessError
from simharness.kernel.draws import Stream
from simharness.kernel.operation import Actor
from simharness.parts.refusal import Refused
from simharness.units import SECOND

if TYPE_CHECKING:
    from simpy.events import Event

    from simharness.kernel.world import World

CYCLE = 8
"""Most calls of a user in one cycle: cycle c has the operation numbers from 8c on, so that one more
call in a cycle shifts nothing of the next."""

TRIES = 12
"""How often somebody tries what is refused for now."""
PAUSE = 5 * SECOND
AGAIN = ("locked", "rate_limited", "unavailable")
"""Refusals after which it is worth the same again."""

Habit = Callable[[Actor, Stream], Generator["Event", Any, None]]
"""What a user does in one cycle; its draws are addressed by user and cycle."""


class Population:
    """Users with one habit each, who think, act and think again for ever."""

    def __init__(self, world: World, *, think_mean: int, prefix: str = "user") -> None:
        self.world = world
        self.think_mean = think_mean
        """Mean think time in ticks (exponential)."""
        self.prefix = prefix
        self.size = 0

    def grow(self, number: int, identity: Callable[[int], int], habit: Habit) -> None:
        """Add `number` users; `identity` gives the row id that user k is signed in as."""
        for _ in range(number):
            self.size += 1
            name = f"{self.prefix}/{self.size}"
            actor = Actor(self.world, name, identity(self.size))
            self.world.spawn(name, self._live(actor, habit))

    def _live(self, actor: Actor, habit: Habit) -> Generator[Event, Any, None]:
        world = self.world
        draws = world.draws
        cycle = 0
        while True:
            cycle += CYCLE
            actor.stream = stream = Stream(draws, actor.name, cycle)
            yield world.pause(1 + stream.exponential(self.think_mean, "think"))
            actor.next_n = cycle
            try:
                yield from habit(actor, stream)
            except Refused:
                continue  # users shrug at refusals and come back later
            if actor.next_n > cycle + CYCLE:
                raise HarnessError(
                    f"{actor.name} makes more than {CYCLE} calls in a cycle", "shorten its habit"
                )


def scaled(base: int, load: int) -> int:
    """Give how many users a load (in thousandths) means for a team of `base`.

    At least one, unless the load is 0.
    """
    return 0 if load == 0 else max(1, base * load // 1000)


def later(
    world: World,
    who: str,
    identity: int,
    ticks: int,
    act: Callable[[Actor], Generator[Event, Any, Any]],
) -> None:
    """Let somebody act some ticks from now; whoever is refused for good lets it be."""
    actor = Actor(world, who, identity)

    def live() -> Generator[Event, Any, None]:
        yield world.timer(ticks)
        for _ in range(TRIES):
            try:
                yield from act(actor)
            except Refused as refusal:
                if refusal.code not in AGAIN:
                    return
                yield world.pause(PAUSE)
            else:
                return

    world.spawn(who, live())
