"""Rates with honest intervals, and the gate that they feed."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from math import sqrt

Z_TWO_SIDED = 1.959963984540054
"""95 % two-sided normal quantile."""
Z_ONE_SIDED = 1.6448536269514722
"""95 % one-sided normal quantile."""


FURTHER_MAX = 20_000
"""Further episodes beyond which a gate is told to be undecidable."""


class Gate(StrEnum):
    """The three answers of a gate."""

    PASS = "pass"
    FAIL = "fail"
    INCONCLUSIVE = "inconclusive"


@dataclass(frozen=True, slots=True)
class Rate:
    """A share of episodes with its 95 % Wilson interval."""

    failures: int
    episodes: int
    point: float
    low: float
    high: float

    def record(self) -> dict[str, float]:
        """Give the rate as JSON holds it."""
        return {
            "point": round(self.point, 6),
            "low": round(self.low, 6),
            "high": round(self.high, 6),
        }


def wilson(failures: int, episodes: int, z: float = Z_TWO_SIDED) -> tuple[float, float]:
    """Give the Wilson score interval of a binomial share (Wilson 1927); (0, 1) for no episodes."""
    if episodes == 0:
        return 0.0, 1.0
    n = episodes
    share = failures / n
    centre = share + z * z / (2 * n)
    spread = z * sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    scale = 1 + z * z / n
    # The ends are exact: a rounding error of 1e-17 above 0 would let a gate at 0 fail where nothing
    # failed.
    low = (centre - spread) / scale if failures else 0.0
    high = (centre + spread) / scale if failures < n else 1.0
    return low, high


def rate(failures: int, episodes: int) -> Rate:
    """Give a share with its interval."""
    low, high = wilson(failures, episodes)
    return Rate(failures, episodes, failures / episodes if episodes else 0.0, low, high)


def gate(failures: int, episodes: int, limit: float) -> Gate:
    """Hold a failure rate against a limit.

    Pass or fail only when a one-sided 95 % bound says so.
    """
    low, high = wilson(failures, episodes, Z_ONE_SIDED)
    if high < limit:
        return Gate.PASS
    if low > limit:
        return Gate.FAIL
    return Gate.INCONCLUSIVE


def further_episodes(failures: int, episodes: int, limit: float) -> int | None:
    """Give how many more episodes decide the gate if the rate stays as it is; None for too many."""
    if episodes == 0:
        return None
    for more in range(1, FURTHER_MAX):
        n = episodes + more
        if gate(round(failures * n / episodes), n, limit) is not Gate.INCONCLUSIVE:
            return more
    return None
