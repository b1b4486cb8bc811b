"""People of a world who wait for something that doesn't come.

A call of the agent that never ends is told by the episode. Nobody misses a person who stands still:
there are hundreds of others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from simharness.kernel.process import describe
from simharness.units import MINUTE, format_duration

if TYPE_CHECKING:
    from simpy.events import Event

    from simharness.kernel.world import World

LONGEST = 10 * MINUTE
"""Simulated time after which who waits for anything but a timer is stuck."""
PEOPLE = "user/"


class Stuck:
    """Looks at what people wait for, now and then."""

    def __init__(self) -> None:
        self._waits: dict[str, tuple[Event, int]] = {}
        """Person to the event that is waited for, and since when it is known."""
        self._told: set[str] = set()

    def look(self, world: World) -> list[str]:
        """Say who has been found stuck since the last look."""
        waits: dict[str, tuple[Event, int]] = {}
        out: list[str] = []
        for name, process in world.alive.items():
            target = process.waits_for if name.startswith(PEOPLE) else None
            if target is None or target.triggered:
                continue  # a timer is triggered from the start
            event, since = self._waits.get(name, (None, 0))
            waits[name] = (target, since if event is target else world.ticks)
            if world.ticks - waits[name][1] >= LONGEST and name not in self._told:
                self._told.add(name)
                out.append(
                    f"{name} has waited for {describe(process)} since "
                    f"{format_duration(waits[name][1])}, which is {format_duration(LONGEST)} ago "
                    "or more"
                )
        self._waits = waits
        return out
