"""The world of the reference: sound, busy, in its way, and not twice the same."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from simharness.validate.check import Check, Result, decided, held
from simharness.validate.measures import (
    REPLAY_MAX,
    Measure,
    at_most,
    contended,
    crowd,
    length,
    routes_used,
    varied,
    world,
)
from simharness.validate.plays import replayed
from simharness.validate.subject import EXPERT

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from simharness.validate.measured import Measured
    from simharness.validate.subject import Subject, Tried

DONORS = 3
"""Episodes of the commonest shape that are replayed blindly."""


def contract_kept(subject: Subject) -> Result:
    """Run all detectors of the harness's side over the plays of all policies."""
    wrong: list[str] = []
    episodes = 0
    plays: dict[str, Sequence[Measured | Tried]] = {**subject.idle, **subject.coping}
    if EXPERT in subject.scenario.policies:
        plays = {"expert": subject.quiet, "expert, load 8": subject.busy, **plays}
    for policy, found in plays.items():
        episodes += len(found)
        wrong += [f"{policy}, seed {e.seed}: {text[:160]}" for e in found for text in e.found]
    return decided({"episodes": episodes, "findings": len(wrong)}, wrong)


def contention_real(subject: Subject) -> Result:
    """Measure how busy the world is in which the reference plays."""
    quiet, busy = subject.quiet, subject.busy
    routes = routes_used(subject.name)
    return held(
        [
            crowd(quiet),
            *world("load 1", quiet, routes, all_occur=False),
            *world("load 8", busy, routes, all_occur=True),
            *contended("load 8", busy),
        ]
    )


def variety(subject: Subject) -> Result:
    """Count the ways in which the reference plays, and send its commonest one again blindly."""
    found = subject.quiet
    return held([length("load 1", found), *varied(found), *replays(subject)])


def replays(subject: Subject) -> Iterator[Measure]:
    """Send the calls of the commonest shape on the other seeds."""
    found = subject.quiet
    top = Counter(e.shape for e in found).most_common(1)[0][0]
    for donor in [e for e in found if e.shape == top][:DONORS]:
        episode = subject.begin(subject.plan(donor.seed))
        blind = replayed(donor.calls, episode.scenario.brief(episode.instance))
        seeds = [seed for seed in subject.few_seeds if seed != donor.seed]
        paid = sum(t.score > 0 for t in subject.try_out(blind, seeds))
        yield Measure(
            f"replay of seed {donor.seed}: mean",
            f"{paid / len(seeds):.3f}",
            at_most(paid, len(seeds), REPLAY_MAX),
            f"< {REPLAY_MAX}",
        )


CHECKS = (
    Check(
        id="runtime.contract_kept",
        doc="no detector finds anything against the harness, whoever plays",
        run=contract_kept,
        remedy="`simharness audit` tells the episode in full; mend the product or its profile",
    ),
    Check(
        id="runtime.contention_real",
        doc="caches hit, locks wait, 20 users, and others get in the way of the reference",
        run=contention_real,
        remedy="run the profile `production`, and let some users work on the rows of the task",
    ),
    Check(
        id="runtime.variety",
        doc="the reference plays in many ways, and its commonest one fails when sent blindly",
        run=variety,
        remedy="let the seed draw what decides, and not only names",
    ),
)
