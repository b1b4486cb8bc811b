"""What shares of plays say of a scenario as a source of gradients.

They are of scripted policies, so they bound what a learner can find and don't predict it.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from simharness.blame.statistics import ONE_SIDED, wilson
from simharness.product.goal import MILLION
from simharness.validate.check import Check, Result, Severity, decided, skipped
from simharness.validate.plays import stumbling

if TYPE_CHECKING:
    from simharness.validate.subject import Subject, Tried

REACHED_MIN = 0.5
"""Share of seeds of which the reference must win surely more."""
FLOOR_MAX = 0.05
"""Share of episodes of which the others must win surely less."""
GAP_MIN = 0.5
HEADROOM_MIN = 0.1
STUMBLES = (0, 100_000, 400_000)
"""Shares of its calls, in millionths, before which the reference makes one at random."""
GRADED_MIN = 20
"""Episodes of each skill that tell skills apart."""


def others(subject: Subject) -> dict[str, list[Tried]]:
    """Give the plays of the policies that must not win."""
    plays = {**subject.idle, **subject.coping}
    return {name: found for name, found in plays.items() if name not in subject.scenario.honest}


def won(subject: Subject) -> int:
    """Count the seeds that the reference wins."""
    return sum(e.score >= MILLION for e in subject.quiet)


def reward_reachability(subject: Subject) -> Result:
    """Bound how often full reward is reached by somebody who can do it."""
    wins, of = won(subject), len(subject.quiet)
    low, high = wilson(wins, of, ONE_SIDED)
    measured = {"won": wins, "of": of, "low": round(low, 4), "high": round(high, 4)}
    if low <= REACHED_MIN < high:
        # Too few to be sure, which is no fault of the scenario.
        return skipped(
            f"won {wins} of {of}, so in surely {low:.2f} and at most {high:.2f} of all: too few "
            f"seeds to tell whether more than {REACHED_MIN} can be won; give more",
            measured,
        )
    wrong = [] if low > REACHED_MIN else [f"won at most {high:.2f}, expected above {REACHED_MIN}"]
    return decided(measured, wrong)


def adversarial_floor(subject: Subject) -> Result:
    """Bound from above how often somebody is paid who doesn't do the job."""
    found = [t for plays in others(subject).values() for t in plays]
    paid = sum(t.score > 0 for t in found)
    low, high = wilson(paid, len(found), ONE_SIDED)
    wrong = [f"paid in surely {low:.3f}, expected below {FLOOR_MAX}"] if low > FLOOR_MAX else []
    return decided({"paid": paid, "of": len(found), "high": round(high, 4)}, wrong)


def gameability_gap(subject: Subject) -> Result:
    """Hold the best policy that doesn't do the job against the reference."""
    plays = others(subject)
    best = max(plays, key=lambda name: sum(t.score for t in plays[name]))
    most = sum(t.score for t in plays[best]) / len(plays[best]) / MILLION
    reference = sum(e.score for e in subject.quiet) / len(subject.quiet) / MILLION
    gap = reference - most
    wrong = [f"{best} comes within {gap:.2f}, expected {GAP_MIN} or more"] if gap < GAP_MIN else []
    return decided({"reference": reference, "best": best, "paid": most, "gap": gap}, wrong)


def variance_bound(subject: Subject) -> Result:
    """Measure how much rewards of one policy on one seed vary: a sound episode has no noise."""
    expert = subject.expert
    seeds = subject.few_seeds
    noisy = [s for s in seeds
             if len({subject.play(s, expert).reward for _ in range(2)}) > 1]  # fmt: skip
    wrong = [f"seed {seed}: the same calls are paid differently" for seed in noisy]
    return decided({"seeds": len(seeds), "plays_each": 2}, wrong)


@lru_cache(maxsize=1)
def graded(subject: Subject) -> dict[int, float]:
    """Give the mean pay of references that stumble, by how often."""
    out: dict[int, float] = {}
    for share in STUMBLES:
        found = subject.try_out(stumbling(subject.expert, share), subject.few_seeds)
        out[share] = sum(t.score for t in found) / len(found) / MILLION
    return out


def difficulty_separation(subject: Subject) -> Result:
    """Let references of graded skill play: whoever stumbles more must be paid less."""
    if len(subject.few_seeds) < GRADED_MIN:
        return skipped(
            f"{len(subject.few_seeds)} episodes of each skill don't tell skills apart: give "
            f"--thorough, or --seed 0:{5 * GRADED_MIN}"
        )
    means = graded(subject)
    best, *_, worst = means.values()
    wrong = [] if worst < best else [f"who stumbles is paid {worst:.2f}, who doesn't {best:.2f}"]
    told = {f"stumbles {share / MILLION:g}": mean for share, mean in means.items()}
    return decided(told, wrong)


def headroom(subject: Subject) -> Result:
    """Say what is left to learn for somebody who stumbles."""
    if len(subject.few_seeds) < GRADED_MIN:
        return skipped("needs the policies of graded skill: give --thorough")
    worst = graded(subject)[STUMBLES[-1]]
    wrong = [] if worst <= 1 - HEADROOM_MIN else [f"who stumbles is paid {worst:.2f} already"]
    return decided({"paid": worst, "headroom": 1 - worst}, wrong)


CHECKS = (
    Check(
        id="statistical.reward_reachability",
        doc="full reward is surely within reach of somebody who can do the job",
        run=reward_reachability,
        remedy="see semantic.oracle_max",
    ),
    Check(
        id="statistical.difficulty_separation",
        doc="references that stumble more are paid less",
        run=difficulty_separation,
        remedy="let wrong calls cost something, or right ones matter",
    ),
    Check(
        id="statistical.headroom",
        doc="somebody who stumbles has something to learn",
        run=headroom,
        remedy="make the task harder",
        severity=Severity.WARN,
    ),
    Check(
        id="statistical.variance_bound",
        doc="one policy on one seed is always paid the same",
        run=variance_bound,
        remedy="see runtime.episode_determinism",
    ),
    Check(
        id="statistical.adversarial_floor",
        doc="policies that don't do the job are surely paid in less than a twentieth of episodes",
        run=adversarial_floor,
        remedy="see semantic.canary_floor",
    ),
    Check(
        id="statistical.gameability_gap",
        doc="the best of them stays far below the reference",
        run=gameability_gap,
        remedy="see semantic.canary_floor",
        severity=Severity.WARN,
    ),
)
