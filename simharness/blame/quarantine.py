"""Which episodes are kept out of training, why, and how a person overrules that.

Quarantine never deletes: it is a property of the verdict, laid over by the reviews in
`reviews.jsonl`, of which the last one on an episode counts.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from simharness.errors import UsageError
from simharness.findings.finding import Effect
from simharness.recording.format import from_os_error

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from simharness.blame.verdict import Verdict

REVIEWS = "reviews.jsonl"
KEEP = "keep"
QUARANTINE = "quarantine"


@dataclass(frozen=True, slots=True)
class Review:
    """One decision of a person about one episode."""

    key: str
    decision: str
    """keep or quarantine."""
    by: str
    note: str


def reason_for(verdict: Verdict) -> str:
    """Say why an episode is quarantined, with its evidence, or give an empty text.

    The reward's sign plays no part.
    """
    return reason_of([finding.record() for finding in verdict.findings])


def reason_of(findings: Iterable[Mapping[str, Any]]) -> str:
    """Do what `reason_for` does with findings as recordings hold them."""
    for finding in findings:
        code = finding["code"]
        always = code.startswith(("H2", "H9", "X")) or code == "H810"
        if always or (code.startswith("H") and finding["effect"] != Effect.NONE):
            return f"{code} at step {finding['step']}: {finding['explanation']}"
    return ""


def read_reviews(folder: Path) -> dict[str, Review]:
    """Read the reviews of a run, the last on each episode.

    Raises UsageError naming a line that can't be read.
    """
    out: dict[str, Review] = {}
    for number, line in enumerate(review_lines(folder), 1):
        if line.strip():
            review = parse_review(line, f"{folder / REVIEWS}, line {number}")
            out[review.key] = review
    return out


def review_lines(folder: Path) -> list[str]:
    """Give the lines of a run's reviews, which may be empty.

    A last line that was cut short in being written is left out: nobody was told that it is saved.
    """
    path = folder / REVIEWS
    if not path.exists():
        return []
    try:
        data = path.read_bytes()
    except OSError as error:
        raise from_os_error("read", path, error) from error
    return data[: len(data) - len(torn(data))].decode("utf-8", "replace").splitlines()


def ends_torn(folder: Path) -> bool:
    """Tell whether the last line of a run's reviews was cut short."""
    path = folder / REVIEWS
    return path.exists() and bool(torn(path.read_bytes()))


def append_review(folder: Path, line: str) -> None:
    """Write a review behind the others, in the place of one that was cut short. Raises OSError."""
    with (folder / REVIEWS).open("a+b") as file:
        file.seek(0)
        data = file.read()
        tail = torn(data)
        file.truncate(len(data) - len(tail))
        begun = data[: len(data) - len(tail)]
        file.write(b"" if begun.endswith(b"\n") or not begun else b"\n")
        file.write(line.encode())


def torn(data: bytes) -> bytes:
    """Give the end of a file of lines that is no whole line; empty where it is whole JSON."""
    tail = data[data.rfind(b"\n") + 1 :]
    try:
        json.loads(tail or b"0")
    except ValueError:
        return tail
    return b""


def parse_review(line: str, where: str) -> Review:
    """Read one review. Raises UsageError."""
    form = 'give {"key": "SCENARIO:SEED:POLICY", "decision": "keep", "by": "you", "note": "why"}'
    try:
        value: Any = json.loads(line)
    except ValueError as error:
        raise UsageError(f"review {where} is no JSON: {error}", form) from None
    if not isinstance(value, dict):
        raise UsageError(f"review {where} is no object", form)
    fields = cast("Mapping[str, object]", value)
    key, decision = fields.get("key"), fields.get("decision")
    if not isinstance(key, str) or decision not in (KEEP, QUARANTINE):
        raise UsageError(f"review {where} has key {key!r} and decision {decision!r}", form)
    return Review(key, str(decision), str(fields.get("by", "")), str(fields.get("note", "")))


def settled(key: str, reason: str, reviews: Mapping[str, Review]) -> tuple[bool, str]:
    """Give whether an episode is quarantined after review, and why."""
    review = reviews.get(key)
    if review is None:
        return bool(reason), reason
    by = f" by {review.by}" if review.by else ""
    note = f": {review.note}" if review.note else ""
    if review.decision == KEEP:
        return False, f"kept{by}{note}" if reason else ""
    return True, f"quarantined{by}{note}"
