"""The goal: false at the start, the same whenever it is asked, resting on rows, free of effects."""

from __future__ import annotations

import os
import re
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from simharness.product.goal import Criterion, Ending, score
from simharness.validate.check import Check, Result, Severity, decided, skipped
from simharness.validate.subject import EXPERT, OUTCOMES

if TYPE_CHECKING:
    from collections.abc import Generator

    from simharness.episode.episode import Episode
    from simharness.validate.subject import Subject

KEY = re.compile(r"([a-z][a-z0-9_]*):([^.\s]+)(?:\.([a-z][a-z0-9_]*))?")
FAR_AWAY = "NZST-12NZDT,M9.5.0,M4.1.0/3"
"""A time zone in which it is often another day."""

Judged = tuple[Criterion, ...]


def judged_again(episode: Episode) -> Judged:
    """Judge an episode that has ended once more."""
    ending = episode.product.ending or Ending()
    return episode.scenario.goal(episode.product, episode.instance, ending)


def differing(before: Judged, after: Judged) -> str:
    """Name the first criterion that came out otherwise; empty where none did."""
    for one, other in zip(before, after, strict=False):
        if one != other:
            return (
                f"{one.name!r}: {one.holds} ({one.evidence}), then {other.holds} ({other.evidence})"
            )
    return "" if len(before) == len(after) else f"{len(before)} criteria, then {len(after)}"


def goal_false_at_reset(subject: Subject) -> Result:
    """Judge what nobody has touched yet, as if the agent had ended in each way."""
    wrong: list[str] = []
    for seed in subject.seeds:
        episode = subject.begin(subject.plan(seed))
        for outcome in ("", *OUTCOMES):
            at = episode.world.instant if outcome else 0
            ending = Ending(message="Done.", outcome=outcome, at=at)
            criteria = episode.scenario.goal(episode.product, episode.instance, ending)
            if score(criteria) >= episode.scenario.pass_mark:
                how = f"outcome {outcome!r}" if outcome else "no word"
                wrong.append(f"seed {seed}: the goal holds at the start with {how}")
    measured = {"resets": len(subject.seeds), "outcomes": 1 + len(OUTCOMES)}
    return decided(measured, wrong, codes=["H512"])


def verifier_determinism(subject: Subject) -> Result:
    """Judge the kept episodes again, twice, and look whether that changes anything."""
    wrong: list[str] = []
    for kept in subject.kept:
        episode = kept.episode
        world, product = episode.world, episode.product
        before = product.digests(), len(world.rows), world.ticks
        for _ in range(2):
            told = differing(episode.criteria, judged_again(episode))
            if told:
                wrong.append(f"{kept.name}: judged again, {told}")
                break
        if (product.digests(), len(world.rows), world.ticks) != before:
            wrong.append(f"{kept.name}: judging changes the state that is judged")
    measured = {"episodes": len(subject.kept), "judged_again": 2 * len(subject.kept)}
    return decided(measured, wrong, codes=["H519"])


@contextmanager
def in_zone(name: str) -> Generator[None]:
    """Let the machine's zone be another one in here."""
    before = os.environ.get("TZ")
    os.environ["TZ"] = name
    time.tzset()
    try:
        yield
    finally:
        if before is None:
            del os.environ["TZ"]
        else:
            os.environ["TZ"] = before
        time.tzset()


def verifier_portability(subject: Subject) -> Result:
    """Judge the kept episodes in another zone; fresh processes have judged theirs already."""
    wrong: list[str] = []
    for kept in subject.kept:
        here = judged_again(kept.episode)
        with in_zone(FAR_AWAY):
            told = differing(here, judged_again(kept.episode))
        if told:
            wrong.append(f"{kept.name}: in another time zone, {told}")
    measured = {"episodes": len(subject.kept)}
    if not subject.processes and not wrong:
        return skipped(
            f"no fresh process was tried (--quick); in this one {len(subject.kept)} episodes, "
            "judged in another zone, come to the same",
            measured,
        )
    if subject.processes:
        # What they graded is in the digests that `episode_determinism` has held together.
        measured["in_fresh_processes"] = len(subject.elsewhere.episodes)
    return decided(measured, wrong)


def reward_attribution(subject: Subject) -> Result:
    """Look whether what a criterion of the goal rests on can be told: rows, or the agent's ending.

    Where nothing had to be done or nothing is there, a criterion has no row to name; so one is
    wrong that fails and never names any.
    """
    specs = subject.product.specs()
    wrong: list[str] = []
    named: set[str] = set()
    failed: dict[str, None] = {}
    episodes = [kept.episode.criteria for kept in subject.kept]
    if EXPERT in subject.scenario.policies:
        episodes += [e.criteria for e in subject.quiet]
    for criterion in (c for criteria in episodes for c in criteria):
        if criterion.keys or KEY.search(criterion.evidence):
            named.add(criterion.name)
        if not criterion.holds:
            failed[criterion.name] = None
        for key in criterion.keys:
            found = KEY.fullmatch(key)
            columns: tuple[str | None, ...] = ()
            if found is not None and found[1] in specs:
                columns = (None, *specs[found[1]].row_type.by_name)
            if found is None or found[3] not in columns:
                wrong.append(f"{criterion.name!r} rests on {key!r}, which is no row")
    for kept in subject.kept:
        episode = kept.episode
        mute = episode.scenario.goal(episode.product, episode.instance, Ending())
        named |= {c.name for c in episode.criteria} & {
            c.name for c in {*episode.criteria} ^ {*mute}
        }
    wrong += [f"{name!r} fails and never names a row" for name in failed if name not in named]
    return decided(
        {"criteria_failed": len(failed), "episodes": len(episodes)}, [*dict.fromkeys(wrong)]
    )


def rubric_introspectable(subject: Subject) -> Result:
    """Look whether the criteria have names of their own, and say what was found."""
    wrong: list[str] = []
    names: dict[str, None] = {}
    for kept in subject.kept:
        criteria = kept.episode.criteria
        own = [c.name for c in criteria]
        names.update(dict.fromkeys(own))
        twice = [name for number, name in enumerate(own) if name in own[:number]]
        if not criteria:
            wrong.append(f"{kept.name}: the goal has no criteria")
        if twice:
            wrong.append(f"{kept.name}: two criteria are called {twice[0]!r}")
        wrong += [
            f"{kept.name}: {c.name!r} has no {what}"
            for c in criteria
            for what, text in (("name", c.name), ("evidence", c.evidence))
            if not text.strip()
        ]
    return decided({"criteria": list(names)}, wrong)


CHECKS = (
    Check(
        id="runtime.reward_attribution",
        doc="each criterion of the goal names the rows that it rests on",
        run=reward_attribution,
        remedy="give `sh.Criterion` its keys, `table:id` or `table:id.column`",
        severity=Severity.WARN,
    ),
    Check(
        id="runtime.rubric_introspectable",
        doc="criteria have names of their own and say what was found",
        run=rubric_introspectable,
        remedy="give each `sh.Criterion` a name of its own and evidence",
        severity=Severity.WARN,
    ),
    Check(
        id="semantic.goal_false_at_reset",
        doc="before anything is done the goal holds for no outcome",
        run=goal_false_at_reset,
        remedy="let the goal ask for what the agent has to do, by rows or by refs",
    ),
    Check(
        id="semantic.verifier_determinism",
        doc="judged again, the goal comes to the same, and judging changes nothing",
        run=verifier_determinism,
        remedy="let `goal` read committed state alone, and write to nothing",
    ),
    Check(
        id="semantic.verifier_portability",
        doc="the goal comes to the same in another zone, process, hash seed and locale",
        run=verifier_portability,
        remedy="let `goal` ask nothing of the machine",
    ),
)
