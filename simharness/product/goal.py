"""Goals: what the final hidden truth must be for the job to count as done."""

from __future__ import annotations

from dataclasses import dataclass

MILLION = 1_000_000
"""A reward of 1.0, in the millionths that recordings hold."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """How the agent ended an episode."""

    message: str = ""
    outcome: str = ""
    """done, refused, handed_over or impossible; empty when it just stopped or ran out of budget."""
    refs: tuple[str, ...] = ()
    """Rows that the outcome rests on, as `table:id`."""
    at: int = 0
    """Instant at which it ended the episode; 0 when it just stopped or ran out of budget."""


@dataclass(frozen=True, slots=True)
class Criterion:
    """One predicate of a goal, judged."""

    name: str
    holds: bool
    evidence: str
    """What was found, with its rows: one short sentence."""
    keys: tuple[str, ...] = ()
    """What it rests on: `table:id.column`, or `table:id` for a whole row."""
    role: str = "goal"
    """goal, or footprint for what must not have been touched."""


def score(criteria: tuple[Criterion, ...]) -> int:
    """Give the goal's score in millionths: all or nothing."""
    return MILLION if criteria and all(c.holds for c in criteria) else 0
