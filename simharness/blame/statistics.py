"""Rates with honest intervals, and when they decide.

An interval is Wilson's (1927), or the exact one of Clopper and Pearson (1934). Counts may be
fractions: those of episodes that depend on each other are divided by their design effect, see
`clusters`.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from math import exp, lgamma, log, log1p, sqrt
from statistics import NormalDist
from typing import Any

LIMIT = 0.05
"""Failure rate of the harness above which the harness is the problem."""
TWO_SIDED = 0.025
"""Probability beyond each end of an interval of 95 %."""
ONE_SIDED = 0.05
"""Probability beyond the one end of a one-sided bound of 95 %."""
FURTHER_MAX = 20_000
"""Further episodes beyond which a gate is told to be undecidable."""


class Gate(StrEnum):
    """The three answers of a gate."""

    PASS = "pass"
    FAIL = "fail"
    INCONCLUSIVE = "inconclusive"


class Method(StrEnum):
    """How intervals are made."""

    WILSON = "wilson"
    EXACT = "exact"
    """Clopper and Pearson's: never too narrow, on average too wide."""


@dataclass(frozen=True, slots=True)
class Rate:
    """A share of episodes with its 95 % interval."""

    failures: int
    episodes: int
    point: float
    low: float
    high: float

    def record(self) -> dict[str, Any]:
        """Give the rate as JSON holds it."""
        return {
            "failures": self.failures,
            "episodes": self.episodes,
            "point": round(self.point, 6),
            "low": round(self.low, 6),
            "high": round(self.high, 6),
        }


@lru_cache(maxsize=64)
def deviations(tail: float) -> float:
    """Give how many standard deviations of a normal law leave `tail` beyond them."""
    return NormalDist().inv_cdf(1 - tail)


def wilson(failures: float, episodes: float, tail: float = TWO_SIDED) -> tuple[float, float]:
    """Give the Wilson score interval of a binomial share; (0, 1) for no episodes."""
    if episodes == 0:
        return 0.0, 1.0
    n, z = episodes, deviations(tail)
    share = failures / n
    centre = share + z * z / (2 * n)
    spread = z * sqrt(max(0.0, share * (1 - share)) / n + z * z / (4 * n * n))
    scale = 1 + z * z / n
    # The ends are exact: a rounding error of 1e-17 above 0 would let a gate at 0 fail where nothing
    # failed.
    low = (centre - spread) / scale if failures else 0.0
    high = (centre + spread) / scale if failures < n else 1.0
    return low, high


def clopper_pearson(
    failures: float, episodes: float, tail: float = TWO_SIDED
) -> tuple[float, float]:
    """Give the exact interval of a binomial share; (0, 1) for no episodes.

    With counts that are fractions it is that of Korn and Graubard (1998), of the same beta laws.
    """
    k, n = failures, episodes
    low = beta_quantile(tail, k, n - k + 1) if k > 0 else 0.0
    high = beta_quantile(1 - tail, k + 1, n - k) if k < n else 1.0
    return low, high


def interval(
    failures: float, episodes: float, tail: float = TWO_SIDED, method: Method = Method.WILSON
) -> tuple[float, float]:
    """Give the interval of a binomial share by one of the methods."""
    by = wilson if method is Method.WILSON else clopper_pearson
    return by(failures, episodes, tail)


def rate(failures: int, episodes: int, effect: float = 1.0, method: Method = Method.WILSON) -> Rate:
    """Give a share with its interval, widened by a design effect of at least 1."""
    low, high = interval(failures / effect, episodes / effect, TWO_SIDED, method)
    return Rate(failures, episodes, failures / episodes if episodes else 0.0, low, high)


def gate(failures: float, episodes: float, limit: float, method: Method = Method.WILSON) -> Gate:
    """Hold a failure rate against a limit.

    Pass or fail only when a one-sided 95 % bound says so.
    """
    low, high = interval(failures, episodes, ONE_SIDED, method)
    if high < limit:
        return Gate.PASS
    if low > limit:
        return Gate.FAIL
    return Gate.INCONCLUSIVE


def further_episodes(
    failures: int,
    episodes: int,
    limit: float,
    effect: float = 1.0,
    method: Method = Method.WILSON,
) -> int | None:
    """Give how many more episodes decide the gate if the rate stays as it is; None for too many.

    The fewest from which on it stays decided: the rate is kept as the fraction that it is, so that
    no lucky rounding counts.
    """
    if episodes == 0:
        return None
    share = failures / episodes

    def decided(more: int) -> bool:
        n = (episodes + more) / effect
        return gate(share * n, n, limit, method) is not Gate.INCONCLUSIVE

    few, many = 0, FURTHER_MAX
    if not decided(many):
        return None
    while many - few > 1:
        middle = (few + many) // 2
        few, many = (few, middle) if decided(middle) else (middle, many)
    return many


# --- the beta distribution -----------------------------------------------------------------------

TERMS_MAX = 100_000
"""Terms of a continued fraction; it takes about the square root of the larger count."""
TINY = 1e-300


def beta_quantile(probability: float, a: float, b: float) -> float:
    """Give where a beta distribution has a probability below it.

    a and b are above 0. By Newton's steps, which a bracket keeps from leaving; raises
    ArithmeticError where the fraction doesn't converge.
    """
    low, high, x = 0.0, 1.0, a / (a + b)
    while True:
        off, weight = beta_share(x, a, b) - probability, beta_weight(x, a, b)
        low, high = (low, x) if off > 0 else (x, high)
        step = x - off * x * (1 - x) / weight if weight else low
        following = step if low < step < high else (low + high) / 2
        if abs(following - x) <= 1e-14 * x or following in (low, high):
            return following
        x = following


def beta_weight(x: float, a: float, b: float) -> float:
    """Give a beta distribution's density at x, times x (1 - x): finite for small a and b too."""
    scale = lgamma(a + b) - lgamma(a) - lgamma(b)
    return exp(scale + a * log(x) + b * log1p(-x))


def beta_share(x: float, a: float, b: float) -> float:
    """Give the probability that a beta distribution has below x, 0 < x < 1."""
    # The fraction converges fast on this side of the mean only.
    if x < (a + 1) / (a + b + 2):
        return beta_weight(x, a, b) * beta_fraction(x, a, b) / a
    return 1 - beta_weight(x, a, b) * beta_fraction(1 - x, b, a) / b


def beta_fraction(x: float, a: float, b: float) -> float:
    """Give the continued fraction of the incomplete beta function, by Lentz's method."""
    c, d = 1.0, 1 - (a + b) * x / (a + 1)
    d = 1 / (d if abs(d) > TINY else TINY)
    value = d
    for m in range(1, TERMS_MAX):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        for term in (even, odd):
            d = 1 + term * d
            c = 1 + term / c
            d = 1 / (d if abs(d) > TINY else TINY)
            c = c if abs(c) > TINY else TINY
            value *= d * c
        if abs(d * c - 1) < 1e-15:
            return value
    raise ArithmeticError(f"beta({a}, {b}) at {x} doesn't converge")
