"""The point of no return: from which step on could even the reference no longer reach the goal?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from simharness.blame.ablation import goal_score, played_on
from simharness.errors import HarnessError, UsageError

if TYPE_CHECKING:
    from simharness.blame.case import Case


@dataclass(frozen=True, slots=True)
class Point:
    """What the reference came to when it took over after a step."""

    step: int
    """Steps of the agent that were kept; 0 hands over at once."""
    score: int | None
    """Millionths of the goal; None where the harness failed."""


def no_return(case: Case) -> list[Point]:
    """Let the reference take over after each step, in the world as it was.

    Raises UsageError where the scenario has no reference policy.
    """
    if case.reference is None:
        raise UsageError(
            f"scenario {case.plan.scenario} has no policy `expert` to take over", "add one"
        )
    out: list[Point] = []
    for step in range(len(case.inputs)):
        try:
            episode = played_on(case.plan, case.inputs, step + 1, frozenset(), case.reference)
        except HarnessError:
            out.append(Point(step, None))
            continue
        out.append(Point(step, goal_score(episode)))
    return out


def critical_step(points: list[Point]) -> int | None:
    """Give the first step after which the goal was out of reach for good.

    None where it never was.
    """
    last_good = max((p.step for p in points if p.score), default=-1)
    return last_good + 1 if last_good + 1 <= len(points) - 1 else None
