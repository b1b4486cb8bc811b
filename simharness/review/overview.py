"""The run as a whole: rates, codes, strata, and a line for each episode."""

from __future__ import annotations

from collections import Counter
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, cast

from simharness import __version__
from simharness.blame.statistics import Gate, further_episodes, rate
from simharness.episode.plan import load_text
from simharness.findings.taxonomy import TAXONOMY_VERSION, code
from simharness.review.text import plain_map

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from simharness.recording.reader import EpisodeRecord
    from simharness.rollout.audit import Item, Report

HARNESS = "harness"
CONFIDENCES = ("suspected", "detected", "proved", "human")
"""In the order in which a gate's failures want a second look."""


def entry_of(item: Item, record: EpisodeRecord, folder: Path) -> dict[str, Any]:
    """Give the line of one episode: what can be filtered and sorted by."""
    header = record.header
    verdict = item.verdict
    load = header.get("load")
    faults = header.get("faults")
    where = item.file.relative_to(folder) if item.file != folder else item.file.name
    return plain_map(
        {
            "key": item.key,
            "file": str(where),
            "scenario": str(header.get("scenario")),
            "seed": str(header.get("seed")),
            "policy": str(record.info.get("policy", "")),
            "load": load_text(load) if isinstance(load, int) else "",
            "faults": [str(x) for x in cast("list[object]", faults)]
            if isinstance(faults, list)
            else [],
            "class": str(verdict.kind),
            "primary": verdict.primary,
            "codes": list(verdict.codes),
            "headline": verdict.headline,
            "effect": verdict.effect,
            "confidence": verdict.confidence,
            "proof": str(verdict.proof),
            "sentence": verdict.sentence,
            "score": None if verdict.score is None else verdict.score / 1_000_000,
            "goal": verdict.goal,
            "valid": verdict.valid,
            "quarantined": item.quarantined,
            "reason": item.reason,
            "digest": record.digest,
            "steps": len(record.steps),
            "tools": tools_of(record),
        }
    )


def tools_of(record: EpisodeRecord) -> list[str]:
    """Name the tools that were called, in order of their first call."""
    out: dict[str, None] = {}
    for frame in record.inputs:
        _, _, kind, payload = frame.fields
        if kind == "calls":
            for call in cast("list[list[bytes]]", payload):
                out[call[1].decode("utf-8", "surrogatepass")] = None
    return list(out)


def name_entries(entries: Sequence[dict[str, Any]]) -> None:
    """Give each entry an `id` for links: its seed, file, scenario:seed, key, or key~N.

    It is the first of these that no other episode of the page has.
    """
    forms: tuple[Callable[[dict[str, Any]], str], ...] = (
        lambda e: e["seed"],
        lambda e: e["file"].rpartition("/")[2].removesuffix(".simrec"),
        lambda e: f"{e['scenario']}:{e['seed']}",
        lambda e: e["key"],
    )
    counted = [Counter(form(entry) for entry in entries) for form in forms]
    met: Counter[str] = Counter()
    for entry in entries:
        met[entry["key"]] += 1
        names = (form(entry) for form, n in zip(forms, counted, strict=True) if n[form(entry)] == 1)
        entry["id"] = next(names, f"{entry['key']}~{met[entry['key']]}")


def importance(item: Item) -> tuple[int, int, str]:
    """Rank episodes for review and for room in the page, the smaller the sooner.

    First what counts against the gate, the least sure first; then what nobody is sure of, what is
    quarantined or invalid, other failures, and last the passes, in an order that depends on their
    keys alone and so makes a fair sample.
    """
    verdict = item.verdict
    sure = CONFIDENCES.index(verdict.confidence) if verdict.confidence in CONFIDENCES else 0
    if verdict.kind == HARNESS:
        return 0, sure, ""
    if verdict.kind == "ambiguous":
        return 1, 0, ""
    if item.quarantined or not verdict.valid:
        return 2, 0, ""
    if verdict.kind != "ok":
        return 3, 0, ""
    return 4, 0, blake2b(item.key.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def overview_of(report: Report, entries: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Give what the page says of the run."""
    n = len(report.items)
    failures = report.failures
    unsure = sum(1 for item in report.items if item.verdict.kind == "ambiguous")
    contaminated = sum(
        1 for item in report.items if any(c.startswith("H") for c in item.verdict.codes)
    )
    scores = [i.verdict.score for i in report.items if i.verdict.score is not None]
    clean = [
        i.verdict.score for i in report.items if i.verdict.score is not None and not i.quarantined
    ]
    return plain_map(
        {
            "run": report.run,
            "version": __version__,
            "taxonomy": TAXONOMY_VERSION,
            "episodes": n,
            "failures": failures,
            "rate": report.failure_rate.record(),
            "band": [rate(failures, n).point, rate(failures + unsure, n).point],
            "limit": report.limit,
            "gate": str(report.gate()),
            "why": why(report),
            "contaminated": contaminated,
            "valid": sum(i.verdict.valid for i in report.items),
            "quarantined": sum(i.quarantined for i in report.items),
            "score": mean(scores),
            "clean_score": mean(clean),
            "classes": dict(sorted(Counter(str(i.verdict.kind) for i in report.items).items())),
            "codes": [code_of(name, count) for name, count in ranked(report.codes())],
            "strata": list(strata_of(entries, report.limit)),
            "problems": list(report.problems),
        }
    )


def ranked(counts: Counter[str]) -> list[tuple[str, int]]:
    """Order counts, the largest first."""
    return sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))


def code_of(name: str, count: int) -> dict[str, Any]:
    """Give a code of the taxonomy with the number of episodes that it was found in."""
    known = code(name)
    return {
        "code": name,
        "slug": known.slug,
        "kind": str(known.kind),
        "n": count,
        "explanation": known.explanation,
        "remedy": known.remedy,
        "zero": known.zero_tolerance,
    }


def mean(scores: Sequence[int]) -> float | None:
    """Give the mean of scores in millionths."""
    return round(sum(scores) / len(scores) / 1_000_000, 6) if scores else None


def why(report: Report) -> str:
    """Say what the gate's answer rests on."""
    if report.damaged:
        return "a recording is damaged"
    if zero := report.zero_tolerance():
        return f"{', '.join(zero)} may not occur even once"
    answer = report.gate()
    if answer is Gate.PASS:
        return "the one-sided 95 % upper bound lies below the limit"
    if answer is Gate.FAIL:
        return "the one-sided 95 % lower bound lies above the limit"
    if report.unfinished:
        return "the run is unfinished"
    more = further_episodes(report.failures, len(report.items), report.limit)
    if more is None:
        return "the rate is too close to the limit for any number of episodes"
    return f"{more:,} more episodes at this rate would decide"


def strata_of(entries: Sequence[dict[str, Any]], limit: float) -> Iterable[dict[str, Any]]:
    """Give the failure rate within each load, scenario, fault, policy and tool.

    A stratum is flagged when its lower bound lies above the limit: it fails whatever the total is.
    """
    kinds: tuple[tuple[str, Callable[[dict[str, Any]], list[str]]], ...] = (
        ("scenario", lambda e: [e["scenario"]]),
        ("load", lambda e: [e["load"]]),
        ("fault", lambda e: e["faults"] or ["no fault"]),
        ("policy", lambda e: [e["policy"]]),
        ("tool", lambda e: e["tools"]),
    )
    for kind, values in kinds:
        counts: Counter[str] = Counter()
        failed: Counter[str] = Counter()
        for entry in entries:
            for value in dict.fromkeys(values(entry)):
                counts[value] += 1
                failed[value] += entry["class"] == HARNESS
        if len(counts) < 2:
            continue
        for value in sorted(counts):
            found = rate(failed[value], counts[value])
            yield {
                "by": kind,
                "value": value,
                "failures": failed[value],
                "n": counts[value],
                **found.record(),
                "flagged": found.low > limit,
            }
