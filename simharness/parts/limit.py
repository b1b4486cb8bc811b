"""A rate limit: a bucket of tokens for each actor, in whole ticks.

A bucket starts full, a call takes one token, and tokens come back at an even rate. Whatever window
of `t` ticks one looks at, no actor gets more than `burst` and what comes back in `t` let through.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from simharness.kernel import journal
from simharness.parts.refusal import Refused
from simharness.units import SECOND

if TYPE_CHECKING:
    from simharness.kernel.operation import Operation
    from simharness.kernel.world import World


class Rate(NamedTuple):
    """How many calls are let through."""

    calls: int
    """Calls in one period, from 1."""
    period: int
    """Ticks, from 1."""
    burst: int
    """Calls that a full bucket lets through at once, from 1."""


class RateLimit:
    """The buckets of all actors at one door."""

    __slots__ = ("_full", "_rate", "name", "world")

    def __init__(self, world: World, name: str) -> None:
        self.world = world
        self.name = name
        self._rate: Rate | None = None
        # When each bucket will be full again, in ticks times `calls`: in that unit a token is worth
        # `period`, and nothing is ever rounded.
        self._full: dict[str, int] = {}

    @property
    def rate(self) -> Rate | None:
        """The rate; None lets everything through. A new one begins with full buckets."""
        return self._rate

    @rate.setter
    def rate(self, rate: Rate | None) -> None:
        if rate != self._rate:
            self._rate = rate
            self._full.clear()

    def take(self, op: Operation) -> None:
        """Take a token of the caller's bucket.

        Raises Refused `rate_limited` when it is empty, with `retry_after` in seconds, rounded up.
        """
        rate = self._rate
        if rate is None:
            return
        world = self.world
        calls, period, burst = rate
        now = world.ticks * calls
        full = max(self._full.get(op.owner, 0), now) + period
        over = full - now - burst * period
        if over <= 0:
            self._full[op.owner] = full
            return
        wait = -(-over // calls)
        number = world.numbers[self.name]
        world.emit((journal.LIMITED, world.ticks, op.owner_number, op.n, number, wait))
        raise Refused(
            "rate_limited",
            f"too many calls: {calls} in {period // SECOND} s are let through",
            retry_after=-(-wait // SECOND),
        )
