"""Episodes that depend on each other: the design effect of their instances, and resampling.

Several episodes of one seed, such as the group that a policy is compared within, are of one
instance, and tend to meet the same defect. They are worth fewer than as many seeds would be.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

RESAMPLES = 2000
"""Times that the instances are drawn anew."""


def design_effect(clusters: Sequence[tuple[int, int]]) -> float:
    """Give by how much the failures' variance exceeds that of independent episodes, at least 1.

    Each cluster is `(failures, episodes)` of one instance. It is 1 + (m - 1) r, with the
    correlation r within instances estimated by analysis of variance (Donner 1986) and m the size
    that an episode's own instance has on average. One more instance that fails throughout is
    reckoned in: few failures can't show that they come alone, and with none at all r is 1, so that
    an instance counts once.
    """
    count, total = len(clusters), sum(size for _, size in clusters)
    if total == count:
        return 1.0
    mean = total / count
    correlation = intraclass([*((float(k), float(m)) for k, m in clusters), (mean, mean)])
    weighted = sum(size * size for _, size in clusters) / total
    return 1 + (weighted - 1) * correlation


def intraclass(clusters: Sequence[tuple[float, float]]) -> float:
    """Estimate the correlation of two episodes of one cluster, from 0 to 1.

    It is 1 where all episodes end alike, of which nothing can be learned.
    """
    count, total = len(clusters), sum(m for _, m in clusters)
    share = sum(k for k, _ in clusters) / total
    between = sum(m * (k / m - share) ** 2 for k, m in clusters) / (count - 1)
    within = sum(k * (1 - k / m) for k, m in clusters) / (total - count)
    size = (total - sum(m * m for _, m in clusters) / total) / (count - 1)
    whole = between + (size - 1) * within
    return min(1.0, max(0.0, (between - within) / whole)) if whole else 1.0


def bootstrap(
    values: Sequence[float], weights: Sequence[float] | None = None, resamples: int = RESAMPLES
) -> tuple[float, float]:
    """Give the 95 % percentile interval of sum(values) / sum(weights) over resampled clusters.

    Each cluster gives one value, and one weight, by default 1. The same input gives the same
    interval; of no clusters it is (0, 1).
    """
    count = len(values)
    if not count:
        return 0.0, 1.0
    over, under = np.asarray(values, float), np.ones(count)
    if weights is not None:
        under = np.asarray(weights, float)
    # Raw words: NumPy promises them for this generator, and nothing of what it makes of them.
    words = np.random.Philox(key=count)
    shares = np.empty(resamples)
    for i in range(resamples):
        drawn = (words.random_raw(count) % np.uint64(count)).astype(np.intp)
        shares[i] = over[drawn].sum() / under[drawn].sum()
    low, high = np.quantile(shares, (0.025, 0.975))
    return float(low), float(high)
