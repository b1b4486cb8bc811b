"""The reference gets full reward: on every seed, among others, from the middle, within budgets."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from simharness.episode.replay import replay
from simharness.errors import Divergence
from simharness.product.goal import MILLION
from simharness.validate.check import Check, Result, decided, held, skipped
from simharness.validate.measures import TOLD, budget, reached, wall_time
from simharness.validate.plays import taking_over
from simharness.validate.subject import BUSY, EXPERT, QUIET

if TYPE_CHECKING:
    from collections.abc import Sequence

    from simharness.validate.measured import Measured
    from simharness.validate.subject import Subject


def oracle_max(subject: Subject) -> Result:
    """Let the reference play every seed in a world with few others."""
    if EXPERT not in subject.scenario.policies:
        wrong = ["there is no policy 'expert', so nothing shows that it can be done"]
        return decided({}, wrong, codes=["H513"])
    found = subject.quiet
    refused = Counter(call[:-1] for e in found for call in e.shape if call.endswith("!"))
    low = [e.seed for e in found if e.score < MILLION]
    result = held([*reached("load 1", found)], subject.run_command(low[0]) if low else "")
    episodes = {"episodes": len(found), "refused_calls": dict(refused.most_common(TOLD))}
    wrong = evidence_of(low, found)
    return decided({**result.measured, **episodes}, wrong, result.command, codes=["H513"])


def evidence_of(low: Sequence[int], found: Sequence[Measured]) -> list[str]:
    """Say of each seed that isn't won what doesn't hold."""
    unmet = {e.seed: e for e in found}
    return [
        f"seed {seed}: paid {unmet[seed].score / MILLION:g}; "
        f"{'; '.join(unmet[seed].unmet)[:160] or 'every criterion holds'}"
        for seed in low
    ]


def best_attainable(subject: Subject) -> Result:
    """Let the reference play where others take what it wants, and in another order of things."""
    busy = [e for e in subject.busy if e.met]
    if not busy:
        return skipped("nobody got in the way of the reference: give more seeds")
    found = [*busy, *subject.shuffled]
    low = [e.seed for e in found if e.score < MILLION]
    command = ""
    if low:
        lost = low[0] in [e.seed for e in busy if e.score < MILLION]
        command = subject.run_command(low[0], load=BUSY if lost else QUIET)
        command += "" if lost else " --schedule random:1"
    measured = {"contended_episodes": len(busy), "shuffled_episodes": len(subject.shuffled)}
    return decided(measured, evidence_of(low, found), command)


def takeover(subject: Subject) -> Result:
    """Let the reference take over after a few harmless calls that somebody else has made."""
    found = subject.try_out(taking_over(subject.expert), subject.few_seeds)
    wrong = [f"seed {t.seed}: paid {t.score / MILLION:g}" for t in found if t.score < MILLION]
    return decided({"episodes": len(found)}, wrong)


def resource_envelope(subject: Subject) -> Result:
    """Hold what the reference uses against the budgets."""
    quiet, busy = subject.quiet, subject.busy
    return held(
        [
            budget("load 1", quiet),
            budget("load 8", busy),
            wall_time("load 1", quiet),
            wall_time("load 8", busy),
        ]
    )


def replayability(subject: Subject) -> Result:
    """Replay the kept episodes from their bytes."""
    wrong: list[str] = []
    frames = 0
    for kept in subject.kept:
        try:
            frames += replay(kept.record()).frames
        except Divergence as error:
            wrong.append(f"{kept.name}: {error.message.splitlines()[0]}")
    return decided({"recordings": len(subject.kept), "frames_compared": frames}, wrong)


CHECKS = (
    Check(
        id="semantic.oracle_max",
        doc="the reference gets full reward on every seed at load 1",
        run=oracle_max,
        remedy="mend the reference, or the goal where it asks for what can't be had",
    ),
    Check(
        id="semantic.best_attainable",
        doc="it also does where others got in its way at load 8, and in another order of events",
        run=best_attainable,
        remedy="let the goal accept the best outcome that was attainable when the agent could act",
    ),
    Check(
        id="semantic.takeover",
        doc="it also does after up to 8 harmless calls of somebody else",
        run=takeover,
        remedy="let the reference decide by what it reads, not by what it has done",
    ),
    Check(
        id="semantic.resource_envelope",
        doc="it needs less than the budgets of steps and simulated time",
        run=resource_envelope,
        remedy="raise steps_max or ticks_max, or shorten the task",
    ),
    Check(
        id="semantic.replayability",
        doc="recordings replay to the same bytes",
        run=replayability,
        remedy="`simharness replay FILE --diff` shows the first difference",
    ),
)
