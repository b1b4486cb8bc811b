"""Clocks of nodes: what a machine takes the time to be.

The world has one true time. A node's clock is an integer affine map of it: so many ticks off, and
so many parts per million too fast. By itself it only goes forward; a step or a new setting moves it
either way.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from simharness.errors import HarnessError
from simharness.kernel import journal
from simharness.units import DAY

if TYPE_CHECKING:
    from simpy.events import Event

    from simharness.kernel.world import World

PPM = 1_000_000
OFFSET_MAX = 366 * DAY
"""Largest offset in ticks that can be set, either way."""
DRIFT_MAX = 500_000
"""Largest drift in parts per million, either way: a clock that is half as fast again."""

API = "api"
"""The node whose clock stamps the rows of all tables."""


class Skew(NamedTuple):
    """How wrong a clock is."""

    offset: int
    """Ticks that it is ahead; below 0, behind."""
    drift: int
    """Parts per million that it is too fast; below 0, too slow."""


EXACT = Skew(0, 0)


def advanced(elapsed: int, drift: int) -> int:
    """Give how far a clock goes while `elapsed` ticks pass; whole ticks, so it never goes back."""
    return elapsed * (PPM + drift) // PPM


class Clock:
    """The clock of one node; exact unless it is set otherwise, and then it costs nothing."""

    __slots__ = ("_highest", "_shown", "_since", "_skew", "exact", "node", "world")

    def __init__(self, world: World, node: str) -> None:
        self.world = world
        self.node = node
        self.exact = True
        """True while it shows the true time."""
        self._skew = EXACT
        self._since = 0
        """World tick since which the clock has gone evenly."""
        self._shown = 0
        """What it showed then."""
        self._highest = 0

    # --- reading ----------------------------------------------------------------------------------

    @property
    def ticks(self) -> int:
        """What the clock shows now, in ticks since the start of the world; may be below 0."""
        now = self.world.ticks
        return now if self.exact else self.at(now)

    @property
    def instant(self) -> int:
        """What the clock shows now, as an instant: microseconds since 1970-01-01T00:00:00Z."""
        world = self.world
        return world.instant if self.exact else world.epoch + self.at(world.ticks)

    def monotone(self) -> int:
        """Give what the clock shows, or the most that this has given before, if that is more."""
        self._highest = highest = max(self._highest, self.ticks)
        return highest

    def at(self, ticks: int) -> int:
        """Give what the clock shows at a world tick, from its last step on."""
        elapsed = ticks - self._since
        if elapsed < 0:
            raise HarnessError(
                f"clock {self.node!r} is asked about tick {ticks}, before its step at {self._since}"
            )
        return self._shown + advanced(elapsed, self._skew.drift)

    def world_ticks(self, shown: int) -> int:
        """Give the first world tick, from its last step on, at which it shows `shown` or more.

        Of an exact clock or a fast one this is the inverse of `at`; a slow one shows some ticks
        twice, of which this is the first.
        """
        ahead = shown - self._shown
        if ahead <= 0:
            return self._since
        return self._since - (-ahead * PPM // (PPM + self._skew.drift))

    # --- waiting ----------------------------------------------------------------------------------

    def span(self, ticks: int) -> int:
        """Give how many world ticks pass until the clock has gone `ticks` further."""
        if self.exact:
            return ticks
        return self.world_ticks(self.ticks + ticks) - self.world.ticks

    def timer(self, ticks: int) -> Event:
        """Give an exact timer of `ticks` by this clock.

        A step that comes meanwhile doesn't move it, as timers of real systems count from their
        start.
        """
        return self.world.timer(self.span(ticks))

    # --- setting ----------------------------------------------------------------------------------

    @property
    def skew(self) -> Skew:
        """How wrong the clock is set to be, steps apart.

        Setting it moves the clock by what the offset changes; a new drift holds from now on.
        """
        return self._skew

    @skew.setter
    def skew(self, skew: Skew) -> None:
        if skew != self._skew:
            self._move(skew.offset - self._skew.offset, skew, "set")

    def step(self, ticks: int) -> None:
        """Move the clock forward, or back by a number below 0, as a correction by hand does."""
        if type(ticks) is not int:
            raise HarnessError(f"clock {self.node!r} is stepped by {ticks!r}, no number of ticks")
        if ticks:
            self._move(ticks, self._skew, "step")

    def _move(self, by: int, skew: Skew, reason: str) -> None:
        world = self.world
        now = world.ticks
        self._shown = shown = self.ticks + by
        self._since = now
        self._skew = skew
        self.exact = shown == now and not skew.drift
        world.alarms += by < 0
        number, why = world.numbers[self.node], world.numbers[reason]
        world.emit((journal.CLOCK, now, number, shown - now, skew.drift, why))
