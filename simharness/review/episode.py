"""One episode as the page holds it: steps, what was seen and true, findings, lanes."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

from simharness.blame.ablation import replayed
from simharness.blame.case import case_of_record
from simharness.blame.chain import chain_of, link
from simharness.blame.curve import critical_step, no_return
from simharness.blame.sightings import sightings
from simharness.episode.inputs import read_inputs
from simharness.episode.replay import plan_of, start_of
from simharness.errors import HarnessError, UsageError
from simharness.findings.story import AGENT, story_of_record
from simharness.product.registry import load_scenario
from simharness.recording.rows import read_rows
from simharness.review.lanes import lanes_of
from simharness.review.lines import arguments_of, compared, packed
from simharness.review.text import TEXT_MAX, plain, plain_map
from simharness.review.truth import Truth, Versions, truth_of
from simharness.units import SECOND, humanize

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from simharness.blame.sightings import Sighting
    from simharness.blame.verdict import Verdict
    from simharness.episode.step import Input
    from simharness.findings.finding import Finding
    from simharness.findings.story import Commit, Exchange, Story
    from simharness.parts.row import RowType
    from simharness.recording.reader import EpisodeRecord
    from simharness.recording.rows import Told

CHANGES_MAX = 200
"""Commits of others that a step holds."""
READS_MAX = 100
"""Reads that a call lists."""
DURATIONS = ("age", "by", "ttl", "waited")
"""Evidence in ticks; `by` is an actor where it is no number."""
INSTANTS = ("expired_at", "visible_since")
"""Evidence in ticks since the start."""
SHARE = ("M513", "waited")
"""Here it is the share of the episode, in percent."""
REWARD = "reward"
"""Evidence in millionths."""


def detail_of(record: EpisodeRecord, verdict: Verdict) -> dict[str, Any]:
    """Give all that the page shows of one whole recording, as JSON.

    An episode in which a read was stale is replayed, for what was true. Raises DamagedRecording or
    VersionError for one that can't be read here.
    """
    plan = plan_of(record)
    product, scenario = load_scenario(plan.scenario)
    story = story_of_record(record, product, scenario.pass_mark)
    rows = read_rows(record)
    inputs = read_inputs(record)
    seen = sightings(rows, product)
    notes: list[str] = []
    truths: dict[int, Truth] = {}
    if any(sighting.age for sighting in seen):
        try:
            versions = Versions(replayed(plan, inputs))
        except (UsageError, HarnessError) as error:
            notes.append(f"what was true is told by versions alone: no replay ({error.message})")
        else:
            for n, exchange in story.exchanges.items():
                truth = truth_of(exchange, versions)
                if truth is not None:
                    truths[n] = truth
    types = {name: spec.row_type for name, spec in product.specs().items()}
    changes = changes_of(story, types)
    primary = verdict.primary_finding
    lanes = lanes_of(story, verdict.findings, plan.faults)
    out = {
        "prompt": start_of(scenario, plan)[0],
        "end": story.rows[-1].t if story.rows else 0,
        "steps": [
            step_of(given, told, story, seen, truths, changes.get(told.step, []))
            for told, given in zip(rows.steps, inputs, strict=False)
        ],
        "findings": [finding_of(story, finding) for finding in verdict.findings],
        "chain": [
            {"t": item.t, "row": item.row, "step": story.step_of(item.row), "text": item.text}
            for item in (chain_of(story, primary) if primary is not None else [])
        ],
        "arms": [
            {
                "proof": str(arm.proof),
                "repaired": list(arm.repaired),
                "score": score(arm.score),
                "before": score(arm.score_before),
                "flips": arm.flips,
            }
            for arm in verdict.arms
        ],
        "instance": record.header.get("instance"),
        "config": dict(plan.config),
        "lanes": lanes,
        "notes": notes + lanes.pop("notes"),
    }
    return {name: value if name == "steps" else plain(value) for name, value in out.items()}


def curve_of(record: EpisodeRecord) -> dict[str, Any] | None:
    """Give what the reference comes to when it takes over after each step.

    `critical` is the point of no return, `never` says that nothing was ever within reach.

    None where the scenario has no reference.
    """
    case = case_of_record(record)
    if case.reference is None:
        return None
    points = no_return(case)
    return {
        "points": [[point.step, score(point.score)] for point in points],
        "critical": critical_step(points),
        "never": not any(point.score for point in points),
    }


def score(millionths: int | None) -> float | None:
    """Give a score in millionths as people read it."""
    return None if millionths is None else millionths / 1_000_000


def step_of(
    given: Input,
    told: Told,
    story: Story,
    seen: Sequence[Sighting],
    truths: Mapping[int, Truth],
    changes: Sequence[dict[str, Any]],
) -> dict[str, Any]:
    """Give one step: what was done, what was told, what was true, what changed meanwhile."""
    reads = [sighting for sighting in seen if sighting.step == told.step]
    calls = [
        call_of(story, story.exchanges[n], reads, truths.get(n))
        for n in sorted(n for n in story.exchanges if n >> 16 == told.step)
    ]
    return {
        "n": told.step,
        "sent": given.at,
        "t": told.t,
        "kind": given.kind,
        "text": plain(given.text),
        "calls": calls,
        "reward": score(told.reward),
        "ended": told.terminated or told.truncated,
        "aborted": told.aborted,
        "changes": list(changes),
        "fidelity": fidelity(calls),
    }


def fidelity(calls: Sequence[Mapping[str, Any]]) -> str:
    """Say how far a step's answers were from the truth: true, lag (in contract) or broken."""
    ages = [(read["age"], read["bound"]) for call in calls for read in call["reads"]]
    if any(age > bound for age, bound in ages):
        return "broken"
    return "lag" if any(age for age, _ in ages) else "true"


def call_of(
    story: Story, exchange: Exchange, seen: Sequence[Sighting], truth: Truth | None
) -> dict[str, Any]:
    """Give one call with its answer, line by line on both sides."""
    rows = exchange.rows
    saw = {"error": exchange.value} if exchange.told and not exchange.ok else exchange.value
    true: Any = saw
    if truth is not None:
        true = truth.value if truth.ok else {"error": truth.value}
    answer, left_out = compared(saw, true)
    arguments, _ = compared(*[arguments_of(exchange.arguments or "{}")] * 2)
    bounds = bounds_of(exchange)
    mine = [s for s in seen if (s.t, s.view) in bounds]
    mine.sort(key=lambda s: -s.age)
    return {
        "tool": plain(exchange.tool),
        "raw": plain(exchange.arguments or "")[:TEXT_MAX],
        "args": [packed(line) for line in arguments],
        "ok": exchange.ok,
        "told": exchange.told,
        "code": plain(exchange.value.get("code", "")) if is_refusal(exchange) else "",
        "answer": [packed(line) for line in answer],
        "left_out": left_out,
        "truth": "same" if truth is None else "whole" if truth.whole else "rows",
        "begin": rows["CALL"].t if "CALL" in rows else None,
        "end": rows["RETURN"].t if "RETURN" in rows else None,
        "bad": rows["BADCALL"].values["reason"] if "BADCALL" in rows else "",
        "wrote": [f"{c.table}:{c.key} v{c.after}" for c in exchange.commits],
        "reads": [read_of(story, s, bounds[s.t, s.view]) for s in mine[:READS_MAX]],
        "reads_left_out": max(0, len(mine) - READS_MAX),
    }


def is_refusal(exchange: Exchange) -> bool:
    """Tell whether a call was answered with an error that has a code."""
    return exchange.told and not exchange.ok and isinstance(exchange.value, dict)


def bounds_of(exchange: Exchange) -> dict[tuple[int, str], int]:
    """Give the contract's bound of each read of a call, by its instant and view."""
    return {(row.t, row.values["view"]): row.values["bound"] for row in exchange.reads}


def read_of(story: Story, sighting: Sighting, bound: int) -> dict[str, Any]:
    """Give one row that was read: versions, age, what differs.

    `by` made the version `next`, since which the served one was old, and `true_by` the true one;
    `wrote` is when the last of the values that differ was written.
    """
    table, _, number = sighting.key.rpartition(":")
    commits = story.commits.get((table, int(number)), []) if sighting.age else []
    newer = next((c for c in commits if c.after > sighting.served), None)
    true = next((c for c in commits if c.after == sighting.true), None)
    differing = {column for column, _, _ in sighting.differences}
    wrote = [
        c
        for c in commits
        if sighting.served < c.after <= sighting.true
        and differing & {story.column(table, column) for column in c.changes}
    ]
    return plain_map(
        {
            "t": sighting.t,
            "view": sighting.view,
            "key": sighting.key,
            "served": sighting.served,
            "true": sighting.true,
            "age": sighting.age,
            "bound": bound,
            "source": sighting.source,
            "by": newer.owner if newer is not None else "",
            "at": newer.t if newer is not None else None,
            "next": newer.after if newer is not None else 0,
            "true_by": true.owner if true is not None else "",
            "true_at": true.t if true is not None else None,
            "wrote": wrote[-1].t if wrote else newer.t if newer is not None else None,
            "differences": [list(difference) for difference in sighting.differences],
        }
    )


def finding_of(story: Story, finding: Finding) -> dict[str, Any]:
    """Give a finding, with the rows that show it in words."""
    out = finding.record()
    out["evidence"] = {
        name: shown_evidence(finding.code, name, value) for name, value in finding.evidence.items()
    }
    shown = [index for index in finding.events if index < len(story.rows)]
    out["events"] = [
        {"t": item.t, "row": item.row, "step": story.step_of(item.row), "text": item.text}
        for item in (link(story.rows[index]) for index in shown)
    ]
    return out


def shown_evidence(code: str, name: str, value: Any) -> Any:
    """Write times and scores of evidence as people read them; all else stays as it is."""
    if not isinstance(value, int) or isinstance(value, bool):
        return value
    if name in DURATIONS:
        return f"{value}%" if (code, name) == SHARE else humanize(value)
    if name in INSTANTS:
        return clock(value)
    return score(value) if name == REWARD else value


def clock(ticks: int) -> str:
    """Write an instant since the start as the page does: `1:16.61`, `1:02:03`."""
    seconds, rest = divmod(ticks, SECOND)
    minutes, seconds = divmod(seconds, 60)
    if minutes < 60:
        return f"{minutes}:{seconds:02d}.{rest * 100 // SECOND:02d}"
    return f"{minutes // 60}:{minutes % 60:02d}:{seconds:02d}"


def changes_of(story: Story, types: Mapping[str, RowType[Any]]) -> dict[int, list[dict[str, Any]]]:
    """Give what was committed before each step's answer, by whom, as JSON Patch operations.

    `side` is agent, caused (a reaction to a call of the agent) or others.
    """
    caused = caused_by_agent(story)
    out: dict[int, list[dict[str, Any]]] = defaultdict(list)
    others: dict[int, int] = defaultdict(int)
    for commit in sorted(
        (c for found in story.committed.values() for c in found), key=lambda c: c.row
    ):
        step = max(1, story.step_of(commit.row))
        operation = (commit.owner, commit.n)
        side = "agent" if commit.owner == AGENT else "caused" if operation in caused else "others"
        if side == "others":
            others[step] += 1
            if others[step] > CHANGES_MAX:
                continue
        out[step].append(
            plain(
                {
                    "t": commit.t,
                    "side": side,
                    "by": commit.owner,
                    "key": f"{commit.table}:{commit.key}",
                    "v": commit.after,
                    "patch": patch_of(story, commit, types[commit.table]),
                }
            )
        )
    for step, count in others.items():
        if count > CHANGES_MAX:
            out[step].append({"side": "others", "more": count - CHANGES_MAX})
    return out


def caused_by_agent(story: Story) -> set[tuple[str, int]]:
    """Name the operations that are reactions to calls of the agent, whoever made them."""
    out: set[tuple[str, int]] = set()
    for row in story.of("CAUSED"):
        v = row.values
        if v["by"] == AGENT or (v["by"], v["by_n"]) in out:
            out.add((v["owner"], v["n"]))
    return out


def patch_of(story: Story, commit: Commit, row_type: RowType[Any]) -> list[list[Any]]:
    """Give a commit as operations of JSON Patch (RFC 6902): `[op, path, value]`."""
    base = f"/{commit.table}/{commit.key}"
    columns = row_type.columns
    fields = {columns[n].name: columns[n].shown(value) for n, value in commit.changes.items()}
    if commit.before == 0:
        return [["add", base, fields]]
    if story.rows[commit.row].values["after"] < 0:
        return [["remove", base]]
    return [["replace", f"{base}/{name}", value] for name, value in fields.items()]
