"""The run as a whole: rates, codes, strata, and a line for each episode."""

from __future__ import annotations

from collections import Counter
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, cast

from simharness import __version__
from simharness.blame.quarantine import reason_for
from simharness.episode.plan import load_text
from simharness.findings.taxonomy import TAXONOMY_VERSION, code
from simharness.review.text import plain_map

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
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
            "unreviewed": bool(reason_for(verdict)),
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


def overview_of(report: Report) -> dict[str, Any]:
    """Give what the page says of the run: the audit's report with its codes explained."""
    told = report.record()
    del told["items"]
    told["codes"] = [code_of(name, count) for name, count in ranked(report.codes())]
    return plain_map({**told, "version": __version__, "taxonomy": TAXONOMY_VERSION})


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
