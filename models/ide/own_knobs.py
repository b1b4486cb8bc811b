"""The knobs of the IDE's own."""

from __future__ import annotations

import shlex

from simharness.api import UsageError, knobs

PROGRAMS = ("python", "python3", "pytest")


def read_command(value: object) -> tuple[str, ...]:
    """Read what a grader runs besides: the words of a command, or none."""
    if value == "none":
        return ()
    try:
        words = shlex.split(value) if isinstance(value, str) else []
    except ValueError:
        words = []
    if not words or words[0] not in PROGRAMS:
        raise UsageError(f"got {value!r}")
    return ("-m", "pytest", *words[1:]) if words[0] == "pytest" else tuple(words[1:])


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
    knobs.choice(
        "terminal.cut",
        ("told", "silent"),
        "whether an answer says that its output was cut, or doesn't (a defect)",
    ),
    knobs.choice(
        "grading.tests",
        ("hidden", "visible"),
        "what the grader runs: the hidden tests, or those that the agent sees (a defect)",
    ),
    knobs.flag(
        "grading.fresh_checkout",
        True,
        "it grades what was handed in; else the working tree as it lies there at the end (a "
        "defect), where plugins of the worktree stay as well",
    ),
    knobs.choice(
        "grading.test_files",
        ("pinned", "worktree"),
        "whose test surface it takes: that of the start, or the agent's (a defect)",
    ),
    knobs.choice(
        "grading.plugins",
        ("none", "worktree"),
        "whether hooks of conftest.py and the plugins that it names take part (a defect)",
    ),
    knobs.Knob(
        "grading.command",
        read_command,
        "none",
        "a command that it runs besides, and that has to end with 0",
        "'none', or a command of python or pytest such as 'python tools/check.py'",
    ),
    knobs.choice(
        "grading.path",
        ("own", "worktree"),
        "whose files that command means: those of the start, or the agent's (a defect)",
    ),
    knobs.choice(
        "grading.outcome",
        ("structured", "text"),
        "what it goes by: values and outcomes, or what pytest prints (a defect)",
    ),
    knobs.choice(
        "grading.copies",
        ("separate", "shared"),
        "whether candidate and reference are in instances of their own, or are given the same "
        "objects as arguments (a defect)",
    ),
    knobs.flag("grader.exit_code", False, "it goes by the exit code of pytest instead (a defect)"),
)
KNOBS = OWN
