"""Writes a report from a recorded episode: the smallest that still finds what was found there."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar, cast

from simharness.blame.attribution import judge_record
from simharness.errors import UsageError
from simharness.product.script import SLUG
from simharness.reports.check import check_report, places_of
from simharness.reports.controls import with_control
from simharness.reports.goals import goal_of, goals_left, named_at_start, with_goal, with_task
from simharness.reports.heard import listen
from simharness.reports.rewrite import Rewrite
from simharness.reports.shrink import narrowed, smaller
from simharness.reports.sketch import Sketch, fits, sketch_of
from simharness.reports.write import duration, holds

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from simharness.episode.episode import Episode
    from simharness.recording.reader import EpisodeRecord
    from simharness.reports.play import Played

D = TypeVar("D", bound=Sketch | Rewrite)
"""A draft."""
JUDGED = ("H51", "M")
"""Codes that may need a goal to be found."""
GOAL_MET = "H510"
"""The code of a reward that was refused although the goal was met."""


def report_from(record: EpisodeRecord, until: int | None = None) -> str:
    """Write a report that finds what the verdict on a recording rests on.

    Only the agent's first `until` steps are played, all if None. Raises UsageError where nothing
    was found, or where no report finds it again.
    """
    primary = primary_of(record)
    past = listen(record, until)
    if until is None and past.episode.plan.scenario.endswith(f"/{SLUG}"):
        return rewritten(record, past.episode, primary)
    sketch = sketch_of(record, past, primary)
    # A row that was made in the episode has another number where fewer are made.
    keys = tuple(key for key in primary["keys"] if named_at_start(past.episode, key))
    wanted = primary["code"], keys

    def found(sketch: Sketch) -> Played | None:
        if not fits(sketch):
            return None
        played = sketch.play()
        there = [f for f in played.findings if f.code == wanted[0]]
        same = [f for f in there if not wanted[1] or set(wanted[1]) & {*f.keys}]
        return played if same else None

    options = [sketch]
    if primary["code"].startswith(JUDGED):
        if primary["code"] == GOAL_MET:
            goals = goals_left(past.episode)
        else:
            goals = [goal for goal in [goal_of(record, past.episode)] if goal]
        options = [with_goal(sketch, past.episode, goal) for goal in goals]
        options += [] if primary["code"].startswith("H51") else [sketch]
    near = [option for whole in options for option in narrowed(whole, primary)]
    for option in (*near, *with_task(sketch, past.episode, primary)):
        played = found(option)
        if played is not None:
            small = smaller(option, lambda sketch: found(sketch) is not None)
            done = finished(small, found(small) or played, wanted)
            return with_control(done, past.episode, primary).text()
    raise not_found(record, primary)


def rewritten(record: EpisodeRecord, episode: Episode, primary: Mapping[str, Any]) -> str:
    """Write the report that a recording was made from. Raises UsageError if it comes out anew."""
    name = Path(record.path).stem if record.path else f"{SLUG}-{episode.plan.seed}"
    draft = Rewrite(id=f"{name}-{primary['code']}", episode=episode)
    played = draft.play()
    if not any(f.code == primary["code"] for f in played.findings):
        raise not_found(record, primary)
    return finished(draft, played, (primary["code"], tuple(primary["keys"]))).text()


def not_found(record: EpisodeRecord, primary: Mapping[str, Any]) -> UsageError:
    """Say that no report finds again what was found in a recording."""
    return UsageError(
        f"no report of {named(record)} finds its {primary['code']} again",
        "write one by hand; simharness show FILE --truth tells what happened",
    )


def named(record: EpisodeRecord) -> str:
    """Name an episode as `--episode` takes it, with the policy that played."""
    header = record.header
    name = f"{header['scenario']}:{header['seed']}"
    return f"{name} of {record.path}" if record.path else name


def primary_of(record: EpisodeRecord) -> Mapping[str, Any]:
    """Give the finding that the verdict on a recording rests on. Raises UsageError."""
    verdict = record.verdict or judge_record(record).record()
    told = cast("dict[str, Any]", verdict)
    found = [f for f in told["findings"] if f["code"] == told["primary"]]
    against = found or [f for f in told["findings"] if f["code"].startswith("H")]
    if not against:
        raise UsageError(
            f"nothing was found in {named(record)} that a report could expect",
            "give the recording of an episode that failed",
        )
    return cast("dict[str, Any]", against[0])


def finished(sketch: D, played: Played, wanted: tuple[str, tuple[str, ...]]) -> D:
    """Say what is to be expected: the finding, where it was found, and the verdict."""
    code, keys = wanted
    same = [f for f in played.findings if f.code == code]
    finding = next((f for f in same if set(keys) & {*f.keys}), same[0])
    evidence = {
        name: duration(item) if name in ("age", "by") and type(item) is int else item
        for name, item in finding.evidence.items()
        if type(item) in (int, str, bool) and name not in ("query", "text")
    }
    places = places_of(played, finding)
    expect: dict[str, Any] = {"code": code}
    if len(places) == 1:
        expect["action"] = places[0]
    if evidence and holds(evidence):
        expect["evidence"] = evidence
    verdict: dict[str, Any] = {"class": str(played.verdict.kind)}
    verdict["reward"] = "none" if played.reward is None else played.reward
    done = replace(sketch, expect=[expect], verdict=verdict)
    (result, *_) = check_report(done.read())
    if not result.held:
        # Evidence may name what only the whole episode has.
        done = replace(done, expect=[{"code": code}])
    return done
