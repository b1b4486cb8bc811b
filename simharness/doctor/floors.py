"""What those are paid who don't do the job."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simharness.doctor.check import STARTS, Check, Result, decided, unknown

if TYPE_CHECKING:
    from simharness.doctor.examination import Examination

HALF = 0.5
"""Share of full reward that is too much for who doesn't do the job."""


def floor_gap(exam: Examination) -> Result:
    """Hold what the null and the random agent are paid against full reward, and against 0."""
    means: dict[str, float] = {}
    measured: dict[str, float | int | None] = {"episodes": exam.size.episodes}
    unended = 0
    for name in ("null", "random"):
        episodes = exam.agent(name)
        means[name] = sum(one["paid"] for one in episodes) / len(episodes)
        measured[name] = means[name]
        measured[f"{name}_max"] = max(one["paid"] for one in episodes)
        unended += sum(not one["ended"] for one in episodes)
    full = exam.full if exam.full is not None else exam.patient().facts.get("full")
    measured |= {"full": full, "cut": unended}
    paid = any(one["low"] is not None for name in means for one in exam.agent(name))
    if not paid:
        return unknown("no step had a reward, so nobody can tell who is paid", measured)
    told = ", ".join(f"{name} {mean:.4g}" for name, mean in means.items())
    if full is not None and full > 0:
        wrong = [
            f"the {name} agent is paid {mean:.4g} on the mean, of {full:g} for who does the job"
            for name, mean in means.items()
            if mean >= HALF * full
        ]
        return decided(measured, wrong)
    if all(one["paid"] <= 0 for name in means for one in exam.agent(name)):
        return decided(measured, [])
    why = "the target says no full reward above 0" if exam.full is None else "--full is not above 0"
    return unknown(f"paid on the mean: {told}; {why}, so this may be little: give --full R",
                   measured)  # fmt: skip


CHECKS = (
    Check(
        id="semantic.floor_gap",
        doc="who does nothing, or anything at random, is paid less than half of full reward",
        unproved="that nothing else is paid for less than the job: a learner will look longer",
        remedy="pay for what was brought about, and not for being there",
        run=floor_gap,
        needs=STARTS,
    ),
)
