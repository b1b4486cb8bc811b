"""A run, a shard or a recording, read and judged for the page."""

from __future__ import annotations

import gzip
import json
from base64 import b64encode
from dataclasses import dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING, Any

from simharness.blame.quarantine import review_lines
from simharness.product.product import find_fault
from simharness.product.registry import load_scenario
from simharness.recording.reader import iter_episodes
from simharness.review.compared import compared_of
from simharness.review.episode import curve_of, detail_of
from simharness.review.overview import entry_of, importance, name_entries, overview_of
from simharness.review.text import plain
from simharness.rollout.audit import audit
from simharness.rollout.collector import seldom_collected
from simharness.rollout.compare import compare

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from simharness.blame.verdict import Verdict
    from simharness.recording.reader import EpisodeRecord
    from simharness.rollout.audit import Item, Report

BYTES_MAX = 10_000_000
"""Size of all episodes that a page holds in full, encoded; the others have their line alone."""
FULL_AIM = 200
"""Episodes held in full when no more of them want a look: the rest are a sample of the passes."""
LEVEL = 9
CURVES_MAX = 20
"""Episodes whose point of no return is looked for: each is played on once a step."""


@dataclass(frozen=True, slots=True)
class Built:
    """All data of one page."""

    overview: dict[str, Any]
    entries: list[dict[str, Any]]
    """A line an episode, in the order of the run; `full` says whether the page holds it whole."""
    blobs: dict[int, str]
    """Episodes in full by their place, encoded by `encoded`."""
    reviews: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    """The lines of the run's reviews, oldest first."""


def encoded(value: Any) -> str:
    """Write a value as JSON, gzip it and encode it in base64: the same bytes for the same value."""
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    return b64encode(gzip.compress(text.encode(), LEVEL, mtime=0)).decode()


def build(
    path: Path,
    *,
    limit: float | None = None,
    everything: bool = False,
    curves: bool = False,
    against: Path | None = None,
    files: Sequence[Path] | None = None,
    known: Mapping[str, Verdict] | None = None,
    progress: Callable[[int, str], None] | None = None,
) -> Built:
    """Audit what a path stands for and gather what the page shows of it; `limit` is the audit's.

    `curves` lets the reference take over after each step of the failures that come first.
    `against` is an earlier run of the same seeds; of a folder only some `files` are read, if given;
    `known` are verdicts, by digest, that are taken as they are.
    `progress` is told how many episodes have been dealt with, and what was done to them. Raises
    what `audit` and `compare` raise.
    """

    def tell(done: int, what: str) -> None:
        if progress is not None:
            progress(done, what)

    comparison = compare(against, path) if against is not None else None
    report = audit(
        path, limit=limit, files=files, known=known, progress=lambda n: tell(n, "judged")
    )
    chosen = range(len(report.items)) if everything else first_choice(report.items)
    wanted = set(chosen)
    failed = [place for place in chosen if report.items[place].verdict.goal is False]
    curved = set(failed[:CURVES_MAX] if curves else ())
    entries: list[dict[str, Any]] = []
    blobs: dict[int, str] = {}
    with seldom_collected():
        for place, (item, record) in enumerate(judged(report)):
            entries.append(entry_of(item, record, path))
            if place in wanted:
                detail = detail_of(record, item.verdict)
                if place in curved:
                    detail["curve"] = curve_of(record)
                blobs[place] = encoded(detail)
                tell(len(blobs), "drawn")
    name_entries(entries)
    kept = set(blobs) if everything else within(chosen, blobs, BYTES_MAX)
    for place, entry in enumerate(entries):
        entry["full"] = place in kept
    overview = overview_of(report)
    overview["caps"] = caps_of(report, len(kept), everything)
    if curves and len(failed) > len(curved):
        overview["caps"].append(
            f"the point of no return is told of {len(curved)} of {len(failed):,} failures"
        )
    overview["faults"] = faults_of(entries)
    overview["order"] = sorted(range(len(entries)), key=lambda i: importance(report.items[i]))
    if comparison is not None:
        overview["compared"] = compared_of(comparison, entries)
    full = {place: blob for place, blob in blobs.items() if place in kept}
    return Built(overview, entries, full, list(reviews_of(path)))


def faults_of(entries: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Say what each fault does that was switched on in an episode."""
    return {
        fault.id: fault.doc
        for scenario, text in sorted(
            {(e["scenario"], text) for e in entries for text in e["faults"]}
        )
        for fault in [find_fault(load_scenario(scenario)[0], text)]
    }


def judged(report: Report) -> Iterator[tuple[Item, EpisodeRecord]]:
    """Pair the report's items with their recordings, read again: a run may not fit in memory."""
    for file, items in groupby(report.items, key=lambda item: item.file):
        whole = (record for record in iter_episodes(file) if record.complete)
        yield from zip(items, whole, strict=False)  # more may be there since the audit


def first_choice(items: list[Item]) -> list[int]:
    """Choose whom to hold in full: all that want a look, then a sample of the rest."""
    ranked = sorted(range(len(items)), key=lambda i: (importance(items[i]), i))
    wanting = sum(1 for item in items if importance(item)[0] < 4)
    return ranked[: max(wanting, FULL_AIM)]


def within(chosen: list[int] | range, blobs: dict[int, str], room: int) -> set[int]:
    """Keep the first of the chosen whose sizes fit into the room."""
    kept: set[int] = set()
    for place in chosen:
        room -= len(blobs[place])
        if room < 0 and kept:
            break
        kept.add(place)
    return kept


def caps_of(report: Report, full: int, everything: bool) -> list[str]:
    """Say what the page leaves out."""
    n = len(report.items)
    if full == n:
        return []
    why = "" if everything else " (--all holds all of them)"
    return [
        f"{full:,} of {n:,} episodes are here in full, those that want a look first; "
        f"the others have their line in the table alone{why}"
    ]


def reviews_of(path: Path) -> Iterator[dict[str, Any]]:
    """Give a run's reviews, oldest first; the audit has checked them."""
    for line in review_lines(path) if path.is_dir() else ():
        if line.strip():
            yield plain(json.loads(line))
