"""Audits a run.

Every recording judged from its rows, what is wrong with the run itself, and the gate.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from simharness.blame.attribution import judge_case
from simharness.blame.case import case_of_record
from simharness.blame.gate import Decision, Sample, decide
from simharness.blame.quarantine import REVIEWS, ends_torn, read_reviews, reason_for, settled
from simharness.blame.statistics import LIMIT, Method
from simharness.episode.plan import load_text
from simharness.episode.replay import plan_of
from simharness.errors import DamagedRecording, RecordingError, TruncatedRecording, UsageError
from simharness.findings.story import AGENT
from simharness.product.goal import MILLION
from simharness.recording.reader import iter_episodes
from simharness.rollout.block import SHARDS
from simharness.rollout.broken import is_broken, verdict_of
from simharness.rollout.collector import seldom_collected
from simharness.rollout.key import key_of
from simharness.rollout.lines import told_keys
from simharness.rollout.store import ABOUT, read_json
from simharness.units import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from simharness.blame.quarantine import Review
    from simharness.blame.verdict import Verdict
    from simharness.episode.plan import Plan
    from simharness.findings.finding import Finding
    from simharness.findings.story import Story
    from simharness.recording.reader import EpisodeRecord

ANY_RATE = 1.0
"""A limit that no rate is above: that of counts without a gate."""
UNGATED: dict[str, Any] = {"gate": None, "reasons": [], "limit": None, "further_episodes": None}
"""What JSON says of a gate where there is none."""


@dataclass(frozen=True, slots=True)
class Item:
    """One audited episode."""

    key: str
    file: Path
    verdict: Verdict
    quarantined: bool
    reason: str
    sample: Sample
    """The episode as the gate counts it."""

    def record(self) -> dict[str, Any]:
        """Give the item as `--json` prints it."""
        v = self.verdict
        return {
            "key": self.key,
            "class": str(v.kind),
            "primary": v.primary,
            "codes": list(v.codes),
            "effect": v.effect,
            "confidence": v.confidence,
            "proof": str(v.proof),
            "score": None if v.score is None else v.score / 1_000_000,
            "valid": v.valid,
            "quarantined": self.quarantined,
            "reason": self.reason,
            "sentence": v.sentence,
        }


@dataclass(slots=True)
class Report:
    """What came out of an audit."""

    run: str
    limit: float | None
    """Failure rate that the gate allows; None where there is no gate, only counts."""
    method: Method = Method.WILSON
    items: list[Item] = field(default_factory=list[Item])
    problems: list[str] = field(default_factory=list[str])
    """What is wrong with the files: damaged, cut off, missing, still being written."""
    damaged: list[str] = field(default_factory=list[str])
    """Those of the problems that are recordings which fail a check."""
    unfinished: bool = False
    """Whether episodes are still to come, or nothing tells that none are."""

    def codes(self) -> Counter[str]:
        """Count the episodes in which each code was found."""
        return Counter(c for item in self.items for c in item.verdict.codes)

    def decision(self) -> Decision:
        """Count, and let the gate decide; where there is none, only the counts mean anything.

        A damaged recording fails it, an unfinished run can't pass.
        """
        return decide(
            [item.sample for item in self.items],
            ANY_RATE if self.limit is None else self.limit,
            self.method,
            damaged=self.damaged,
            unfinished=self.unfinished,
        )

    def first_to_look_at(self) -> list[Item]:
        """Order the episodes that want a look.

        Decisive harness findings first, then other invalid ones; first one of each code.
        """
        seen: set[str] = set()
        out: list[Item] = []
        ranked = sorted(self.items, key=lambda i: (i.verdict.kind != "harness", i.verdict.valid))
        for item in ranked:
            what = item.verdict.primary or ",".join(item.verdict.codes)
            if (item.verdict.kind == "ok" and item.verdict.valid) or what in seen:
                continue
            seen.add(what)
            out.append(item)
        for item in ranked:
            if item not in out and not (item.verdict.kind == "ok" and item.verdict.valid):
                out.append(item)
        return out

    def record(self) -> dict[str, Any]:
        """Give the report as `--json` prints it."""
        clean = (i for i in self.items if not i.quarantined)
        return {
            "run": self.run,
            "episodes": len(self.items),
            "score": {
                **spread([i.verdict.score for i in self.items]),
                "clean": spread([i.verdict.score for i in clean])["mean"],
            },
            "valid": sum(i.verdict.valid for i in self.items),
            "verdicts": dict(sorted(Counter(str(i.verdict.kind) for i in self.items).items())),
            "codes": dict(sorted(self.codes().items())),
            "quarantined": sum(i.quarantined for i in self.items),
            **self.decision().record(),
            **(UNGATED if self.limit is None else {}),
            "problems": self.problems,
            "items": [item.record() for item in self.items],
        }


def spread(scores: Iterable[int | None]) -> dict[str, float | None]:
    """Give the mean and the least of scores in millionths; None where there are none."""
    known = [score for score in scores if score is not None]
    return {
        "mean": round(sum(known) / len(known) / MILLION, 6) if known else None,
        "min": min(known) / MILLION if known else None,
    }


def audit(
    path: Path,
    *,
    limit: float | None = None,
    method: Method = Method.WILSON,
    files: Sequence[Path] | None = None,
    known: Mapping[str, Verdict] | None = None,
    progress: Callable[[int], None] | None = None,
) -> Report:
    """Audit a run directory, a shard or a recording; of a folder only some `files`, if given.

    Without a limit a run is held against LIMIT; a file is a part of one, and has no gate.
    `known` are verdicts of episodes, by digest, that need no proof once more.

    Raises RecordingError for what holds no recording, UsageError for reviews that can't be read
    and for a limit that is no share between 0 and 1.
    """
    # NaN passes every range that is written as two refusals, and no gate could be decided by it.
    if limit is not None and not 0 < limit < 1:
        share = f"{limit:g} % is {limit / 100:g}" if 1 <= limit < 100 else f"5 % is {LIMIT}"
        raise UsageError(
            f"a failure rate of {limit:g} is no limit for the gate: it lies between 0 and 1",
            f"give it as a share: {share}",
        )
    if limit is None and path.is_dir():
        limit = LIMIT
    report = Report(str(path), limit, method)
    reviews = read_reviews(path) if path.is_dir() else {}
    if path.is_dir() and ends_torn(path):
        report.problems.append(f"{REVIEWS} ends amid a review, which is left out")
    told = told_keys(path) if files is None else []
    if files is None and (path / SHARDS).is_dir() and (problem := untold(path)):
        # Whether all that was asked for is there can't be known, so that the run can't pass.
        report.unfinished = True
        report.problems.append(problem)
    seen: set[str] = set()
    with seldom_collected():
        for file in files_of(path) if files is None else files:
            if file.suffix == ".part":
                report.unfinished = True
                report.problems.append(
                    f"{file.name} is still being written, or its writer was killed"
                )
            try:
                records = iter_episodes(file)
            except (DamagedRecording, TruncatedRecording) as error:
                if not path.is_dir():
                    raise
                unreadable(report, file, error)
                continue
            for record in records:
                seen.add(key_of(record))
                take(report, file, record, reviews, known or {})
                if progress is not None:
                    progress(len(report.items))
    # What follows a damaged place of a shard can't be read.
    if lost := [key for key in told if key not in seen]:
        text = f"{counted(len(lost), 'episode')} of verdicts.jsonl can be read of no shard"
        report.damaged.append(f"{text}: H911, {lost[0]}{' and others' if lost[1:] else ''}")
        report.problems.append(report.damaged[-1])
    if not report.items:
        raise RecordingError(
            f"no finished episode in {str(path)!r}", "; ".join(report.problems) or "run some first"
        )
    return report


def untold(run: Path) -> str:
    """Say why a run's own account of itself can't be read; empty where it can."""
    about = run / ABOUT
    if not about.is_file():
        return f"{ABOUT} is missing: nothing tells what was asked for, and whether it was finished"
    if not read_json(about):
        return f"{ABOUT} is broken: nothing tells what was asked for, and whether it was finished"
    return ""


def unreadable(report: Report, file: Path, error: RecordingError) -> None:
    """Note a file that holds not even the first bytes of a recording; others go on."""
    # Of one that is being written there may be nothing yet.
    if file.suffix != ".part" or isinstance(error, DamagedRecording):
        report.damaged.append(f"{file.name}: H911, {error.message}")
        report.problems.append(report.damaged[-1])


def take(
    report: Report,
    file: Path,
    record: EpisodeRecord,
    reviews: Mapping[str, Review],
    known: Mapping[str, Verdict],
) -> None:
    """Judge one recording and add it to the report."""
    key = key_of(record)
    if not record.complete:
        part = file.suffix == ".part" and "truncated" in record.problem
        if part:
            report.problems.append(f"{key} in {file.name} is unfinished")
        else:
            report.damaged.append(f"{key or 'an episode'} in {file.name}: H911, {record.problem}")
            report.problems.append(report.damaged[-1])
        return
    report.items.append(judged(file, record, reviews, known.get(record.digest)))


def judged(
    file: Path,
    record: EpisodeRecord,
    reviews: Mapping[str, Review],
    verdict: Verdict | None = None,
) -> Item:
    """Judge one whole recording, unless its verdict is known, with the reviews of its run.

    Raises DamagedRecording or VersionError for one that can't be read here.
    """
    key = key_of(record)
    policy = str(record.info.get("policy", ""))
    if is_broken(record):
        verdict = verdict_of(record)
        quarantined, reason = settled(key, reason_for(verdict), reviews)
        sample = sample_of(plan_of(record), None, verdict, policy, record.digest, quarantined)
        return Item(key, file, verdict, quarantined, reason, sample)
    case = case_of_record(record)
    if verdict is None:
        verdict = judge_case(case)
    quarantined, reason = settled(key, reason_for(verdict), reviews)
    sample = sample_of(case.plan, case.story, verdict, policy, record.digest, quarantined)
    return Item(key, file, verdict, quarantined, reason, sample)


def sample_of(
    plan: Plan,
    story: Story | None,
    verdict: Verdict,
    policy: str,
    digest: str,
    quarantined: bool,
) -> Sample:
    """Give a judged episode as a gate counts it; one that broke has no story."""
    mark, tools, at = MILLION, tuple[str, ...](), ""
    if story is not None:
        mark = story.steps[-1].pass_mark if story.steps else MILLION
        called = (exchange.tool for exchange in story.exchanges.values())
        tools = tuple(sorted({tool for tool in called if tool in story.surface.schemas}))
        primary = verdict.primary_finding
        at = tool_of(story, primary) if primary is not None else ""
    return Sample(
        scenario=plan.scenario,
        seed=plan.seed,
        policy=policy,
        load=load_text(plan.load),
        faults=plan.faults,
        tools=tools,
        at=at,
        kind=verdict.kind,
        codes=verdict.codes,
        passed=None if verdict.score is None else verdict.score >= mark,
        quarantined=quarantined,
        digest=digest,
    )


def tool_of(story: Story, finding: Finding) -> str:
    """Name the tool whose call a finding stands at: of its rows, else the first of its step."""
    rows = (story.rows[event] for event in finding.events)
    numbers = [row.values["n"] for row in rows if row.values.get("owner") == AGENT]
    numbers += [n for n, exchange in story.exchanges.items() if exchange.step == finding.step]
    found = (story.exchanges[n] for n in numbers if n in story.exchanges)
    return next((exchange.tool for exchange in found if exchange.step == finding.step), "")


def files_of(path: Path) -> Iterator[Path]:
    """Give the recordings that a path stands for. Raises RecordingError when there are none."""
    if not path.is_dir():
        yield path
        return
    folder = path / "shards" if (path / "shards").is_dir() else path
    found = sorted([*folder.glob("*.simrec"), *folder.glob("*.simrec.part")])
    if not found:
        what = "an empty folder" if not any(path.iterdir()) else "a folder without recordings"
        raise RecordingError(f"{str(path)!r} is {what}", "give a run directory or a .simrec file")
    yield from found


__all__ = ["LIMIT", "Item", "Report", "UsageError", "audit"]
