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
    knobs.count(
        "terminal.max_output",
        30_000,
        "characters of an output that are shown; it is cut between two of them, and said so",
        low=1,
    ),
    knobs.choice(
        "terminal.background",
        ("reaped", "hang"),
        "what becomes of what runs in the background when the line is over: it is ended, or the "
        "call waits for it (a defect)",
    ),
)
KNOBS = OWN
