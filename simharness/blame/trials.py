"""pass^k: how likely it is that k attempts at one task all succeed (Yao et al. 2024).

A task is one instance played by one policy; its trials are the episodes of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import comb
from typing import TYPE_CHECKING, Any

from simharness.blame.clusters import bootstrap

if TYPE_CHECKING:
    from collections.abc import Sequence

Task = tuple[int, int]
"""Successes and trials."""


def pass_hat(successes: int, trials: int, k: int) -> float:
    """Estimate, without bias, that k trials of a task all succeed; needs at least k trials."""
    return comb(successes, k) / comb(trials, k)


def ceiling(rate: float, k: int) -> float:
    """Give the most that pass^k can be where the harness fails independent trials at a rate."""
    return (1 - rate) ** k


@dataclass(frozen=True, slots=True)
class PassK:
    """pass^k over tasks, with a 95 % interval by bootstrap over them."""

    k: int
    point: float | None
    """None where no task has k trials."""
    low: float
    high: float
    tasks: int
    dropped: int
    """Tasks with fewer than k trials, which say nothing of it."""

    def record(self) -> dict[str, Any]:
        """Give it as JSON holds it."""
        return {
            "point": None if self.point is None else round(self.point, 6),
            "low": round(self.low, 6),
            "high": round(self.high, 6),
            "tasks": self.tasks,
            "dropped": self.dropped,
        }


def pass_k(tasks: Sequence[Task], k: int) -> PassK:
    """Give pass^k over tasks; those with fewer than k trials are dropped and counted."""
    values = [pass_hat(c, n, k) for c, n in tasks if n >= k]
    low, high = bootstrap(values)
    point = sum(values) / len(values) if values else None
    return PassK(k, point, low, high, len(values), len(tasks) - len(values))
