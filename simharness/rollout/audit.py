"""Audits a run.

Every recording judged from its rows, what is wrong with the run itself, and the gate.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from simharness.blame.attribution import judge_record
from simharness.blame.quarantine import read_reviews, reason_for, settled
from simharness.blame.statistics import Gate, Rate, gate, rate
from simharness.errors import RecordingError, UsageError
from simharness.findings.taxonomy import code
from simharness.recording.reader import iter_episodes
from simharness.rollout.collector import seldom_collected

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from simharness.blame.verdict import Verdict
    from simharness.recording.reader import EpisodeRecord

LIMIT = 0.05
"""Failure rate of the environment above which the harness is the problem."""


@dataclass(frozen=True, slots=True)
class Item:
    """One audited episode."""

    key: str
    file: Path
    verdict: Verdict
    quarantined: bool
    reason: str

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
    limit: float
    items: list[Item] = field(default_factory=list[Item])
    problems: list[str] = field(default_factory=list[str])
    """What is wrong with the files: damaged, cut off, still being written."""
    damaged: bool = False
    unfinished: bool = False

    @property
    def failures(self) -> int:
        """Episodes with a decisive finding against the harness, or that it could not finish."""
        return sum(1 for item in self.items if item.verdict.kind == "harness")

    @property
    def failure_rate(self) -> Rate:
        """Failures of the harness among all episodes started."""
        return rate(self.failures, len(self.items))

    def codes(self) -> Counter[str]:
        """Count the episodes in which each code was found."""
        return Counter(c for item in self.items for c in item.verdict.codes)

    def zero_tolerance(self) -> list[str]:
        """Name the codes found that no run may have even once."""
        return sorted(c for c in self.codes() if code(c).zero_tolerance)

    def gate(self) -> Gate:
        """Give the run's answer.

        A damaged recording or a code of zero tolerance fails it, an unfinished run can't pass.
        """
        if self.damaged or self.zero_tolerance():
            return Gate.FAIL
        found = gate(self.failures, len(self.items), self.limit)
        return Gate.INCONCLUSIVE if self.unfinished and found is Gate.PASS else found

    def first_to_look_at(self) -> list[Item]:
        """Pick three episodes.

        Decisive harness findings first, of different codes, then other invalid ones.
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
        return out[:3]

    def record(self) -> dict[str, Any]:
        """Give the report as `--json` prints it."""
        scores = [i.verdict.score for i in self.items if i.verdict.score is not None]
        return {
            "run": self.run,
            "episodes": len(self.items),
            "score": {
                "mean": round(sum(scores) / len(scores) / 1_000_000, 6) if scores else None,
                "min": min(scores) / 1_000_000 if scores else None,
            },
            "valid": sum(i.verdict.valid for i in self.items),
            "verdicts": dict(sorted(Counter(str(i.verdict.kind) for i in self.items).items())),
            "codes": dict(sorted(self.codes().items())),
            "quarantined": sum(i.quarantined for i in self.items),
            "failure_rate": self.failure_rate.record(),
            "gate": str(self.gate()),
            "problems": self.problems,
            "items": [item.record() for item in self.items],
        }


def audit(
    path: Path, *, limit: float = LIMIT, progress: Callable[[int], None] | None = None
) -> Report:
    """Audit a run directory, a shard or a recording.

    Raises RecordingError for what holds no recording, UsageError for reviews that can't be read
    and for a limit that is no share between 0 and 1.
    """
    # NaN passes every range that is written as two refusals, and no gate could be decided by it.
    if not 0 < limit < 1:
        raise UsageError(
            f"a failure rate of {limit} is no limit for the gate: it lies between 0 and 1",
            f"give a share such as {LIMIT}",
        )
    report = Report(str(path), limit)
    reviews = read_reviews(path) if path.is_dir() else {}
    with seldom_collected():
        for file in files_of(path):
            if file.suffix == ".part":
                report.unfinished = True
                report.problems.append(
                    f"{file.name} is still being written, or its writer was killed"
                )
            for record in iter_episodes(file):
                take(report, file, record, reviews)
                if progress is not None:
                    progress(len(report.items))
    if not report.items:
        raise RecordingError(
            f"no finished episode in {str(path)!r}", "; ".join(report.problems) or "run some first"
        )
    return report


def take(report: Report, file: Path, record: EpisodeRecord, reviews: dict[str, Any]) -> None:
    """Judge one recording and add it to the report."""
    key = key_of(record)
    if not record.complete:
        part = file.suffix == ".part" and "truncated" in record.problem
        if part:
            report.problems.append(f"{key} in {file.name} is unfinished")
        else:
            report.damaged = True
            report.problems.append(f"{key or 'an episode'} in {file.name}: H911, {record.problem}")
        return
    verdict = judge_record(record)
    quarantined, reason = settled(key, reason_for(verdict), reviews)
    report.items.append(Item(key, file, verdict, quarantined, reason))


def key_of(record: EpisodeRecord) -> str:
    """Name an episode within a run: `scenario:seed:policy`."""
    header = record.header
    return f"{header.get('scenario')}:{header.get('seed')}:{record.info.get('policy', '')}"


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


__all__ = ["Item", "Report", "UsageError", "audit"]
