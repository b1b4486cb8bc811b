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
    knobs.count("ci.workers", 2, "CI jobs that are worked on at a time", low=1),
    knobs.span("ci.latency", "0s", "wait of a CI job from its start to its tests"),
    knobs.span(
        "merge.latency", "0s", "wait of a merge into main, while nobody else can push to main"
    ),
    knobs.choice(
        "ci.checkout",
        ("rev", "stale_cache"),
        "what a CI job tests: the commit that it is about, or what its worker checked out of that "
        "branch before (a defect)",
    ),
    knobs.share("ci.flaky", "0.0", "share of the passing tests that fail in a CI job (a defect)"),
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
