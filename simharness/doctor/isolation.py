"""Whether an episode is free of what was played before it, and beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simharness.doctor.check import DETERMINISM, ISOLATION, Check, decided, unknown
from simharness.doctor.difference import parted

if TYPE_CHECKING:
    from simharness.doctor.check import Result
    from simharness.doctor.examination import Examination, Line

CAPACITY = ("CAPACITY", "capacity", "too many sessions")
"""How servers say that they have no room for another session."""


def episode_isolation(exam: Examination) -> Result:
    """Play A, B, A in one session, and B, A, B in one of another process."""
    a, b = exam.pair
    wrong: list[str] = []
    for one, other in ((a, b), (b, a)):
        lines: list[Line] = []
        for seed, name in ((one, "first"), (other, "second"), (one, "third")):
            lines += exam.episode(seed, "one", name)
        with exam.fresh() as patient:
            told = patient.ask("script", lines=lines)
        if where := parted(exam.alone(one), told["first"]):
            wrong.append(f"seed {one}, played first by two processes, parts at {where}")
        if where := parted(exam.alone(other), told["second"]):
            wrong.append(f"seed {other} after seed {one} parts from seed {other} alone at {where}")
        if where := parted(exam.alone(one), told["third"]):
            wrong.append(
                f"seed {one} after seeds {one} and {other} parts from seed {one} alone at {where}"
            )
    return decided({"orders": 2, "episodes": 6, "steps": exam.size.steps}, wrong)


def reset_clean(exam: Examination) -> Result:
    """Play many episodes in one session, then one that was played alone before."""
    seed, count = exam.seed, exam.size.before
    with exam.fresh() as patient:
        seeds = list(range(seed + 1, seed + 1 + count))
        patient.ask("agent", seeds=seeds, steps=exam.size.steps, session="worn")
        told = patient.ask("script", lines=exam.episode(seed, "worn", "worn"))["worn"]
    where = parted(exam.alone(seed), told)
    text = f"seed {seed} after {count} episodes parts from seed {seed} alone at {where}"
    return decided({"episodes_before": count}, [text] if where else [])


def session_isolation(exam: Examination) -> Result:
    """Play three sessions step by step in turn; one of them is closed halfway."""
    a, b = exam.pair
    episodes = [
        exam.episode(seed, name, name) for seed, name in ((a, "one"), (b, "other"), (a, "brief"))
    ]
    lines: list[Line] = []
    for number, turn in enumerate(zip(*episodes, strict=True)):
        half = exam.size.steps // 2
        lines += turn if number < half else turn[:2]
        if number == half:
            lines.append({"session": "brief", "close": True})
    with exam.fresh() as patient:
        told = patient.ask("script", lines=lines)
    full = [str(t[-1]["raised"]) for t in told.values() if "raised" in t[-1]]
    if any(word in text for text in full for word in CAPACITY):
        return unknown(f"the target takes no three sessions at a time: {full[0]}")
    wrong: list[str] = []
    for name, seed in (("one", a), ("other", b), ("brief", a)):
        alone = exam.alone(seed)
        if name == "brief":
            alone = alone[: len(told[name])]
        if where := parted(alone, told[name]):
            wrong.append(f"seed {seed} beside two other sessions parts from it alone at {where}")
    return decided({"sessions": 3, "steps": exam.size.steps}, wrong)


CHECKS = (
    Check(
        id=ISOLATION,
        doc="an episode is the same whichever was played before it",
        unproved="that no episode which was not played leaves something behind",
        remedy="make all that an episode changes anew in reset, and key every cache by all that "
        "its values depend on",
        run=episode_isolation,
        needs=DETERMINISM,
    ),
    Check(
        id="runtime.reset_clean",
        doc="a reset after many episodes is as clean as the first",
        unproved="the same after episodes of another policy, or after many more",
        remedy="look for what adds up: lists, counters, connections, rows that stay",
        run=reset_clean,
        needs=ISOLATION,
    ),
    Check(
        id="runtime.session_isolation",
        doc="sessions that take turns are as each of them alone",
        unproved="the same under calls that truly overlap, in threads or on several machines",
        remedy="keep all state in the session: no module globals, no class attributes, no "
        "current episode of the process",
        run=session_isolation,
        needs=ISOLATION,
    ),
)
