"""What those are paid who don't do the job."""

from __future__ import annotations

import math
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
    if full is None:
        # What is paid less than 0 may still be the most that there is.
        if all(one["paid"] == 0 for name in means for one in exam.agent(name)):
            return decided(measured, [])
        return unknown(
            f"paid on the mean: {told}; the target says no full reward, so this may be little, or "
            "all that there is: give --full R",
            measured,
        )
    most = HALF * full if full > 0 else full
    wrong = [
        f"the {name} agent is paid {mean:.4g} on the mean, of {full:g} for who does the job"
        for name, mean in means.items()
        if mean >= most
    ]
    best = max(one["paid"] for name in means for one in exam.agent(name))
    if not wrong and full <= 0 and best >= full:
        return unknown(
            f"paid on the mean: {told}; but one of their episodes is paid {best:.4g}, of {full:g} "
            "for who does the job, and of such a full reward there is no half to hold them against",
            measured,
        )
    # What a target declares itself is a mean, which an episode may be above.
    if not wrong and exam.full is not None and best > full and not math.isclose(best, full):
        return unknown(
            f"paid on the mean: {told}; but one of their episodes is paid {best:.4g}, more than "
            f"the {full:g} that --full gives: mend what pays more, or give the most that is paid",
            measured,
        )
    return decided(measured, wrong)


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
