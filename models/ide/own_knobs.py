"""The knobs of the IDE's own."""

from __future__ import annotations

from simharness.api import knobs

OWN = (
    knobs.choice(
        "history.leak",
        ("none", "future", "past"),
        "what the agent's clone holds and must not: commits made after the task's base, or those "
        "before it that hold what is asked for (defects)",
    ),
)
KNOBS = OWN
