"""The line of an episode: what a run tells of it in verdicts.jsonl, in its catalogue and counts.

It is a function of the recording, so that all of these can be made again from the shards.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, cast

from simharness.blame.quarantine import reason_of
from simharness.blame.verdict import told
from simharness.chat.usage import USAGE
from simharness.episode.plan import load_text
from simharness.episode.policies import MEMBER
from simharness.errors import RecordingError
from simharness.recording.reader import require_complete
from simharness.rollout.key import CELL, key_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from simharness.recording.reader import EpisodeRecord

Line = dict[str, Any]
VERDICT = (
    *("taxonomy", "class", "primary", "codes", "proof", "effect", "confidence", "valid", "score"),
    *("goal", "sentence"),
)
ARM = ("proof", "repaired", "score", "score_before", "digest")
"""Fields of a verdict and of its re-runs that are told."""


def line_of(
    header: Mapping[str, Any],
    policy: str,
    about: Mapping[str, Any],
    verdict: Mapping[str, Any],
    *,
    shard: str,
    place: int,
    digest: str,
    steps: int,
) -> Line:
    """Tell of one episode.

    `about` are its own fields of the INFO frame, with what it was noted to have used, `verdict` is
    as recordings hold it, `place` counts from 0 within the shard.
    """
    reason = reason_of(verdict["findings"])
    return {
        "key": key_text(header["scenario"], header["seed"], policy, about.get(CELL)),
        "scenario": header["scenario"],
        "seed": header["seed"],
        "policy": policy,
        "load": load_text(header["load"]),
        "faults": list(header["faults"]),
        "member": about.get(MEMBER, 0),
        "shard": shard,
        "place": place,
        "digest": digest,
        "steps": steps,
        "quarantined": bool(reason),
        "reason": reason,
        **in_order(told(verdict), VERDICT),
        "arms": [in_order(arm, ARM) for arm in told(verdict)["arms"]],
        **({USAGE: about[USAGE]} if USAGE in about else {}),
    }


def in_order(record: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """Give some fields in an order of ours; recordings have theirs by name."""
    return {name: record[name] for name in names}


def line_of_record(record: EpisodeRecord, shard: str, place: int) -> Line:
    """Tell of a recorded episode.

    Raises TruncatedRecording or DamagedRecording for one that isn't whole, RecordingError for one
    that no run has written.
    """
    require_complete(record)
    verdict = record.verdict
    if verdict is None or not isinstance(verdict.get("findings"), list):
        raise RecordingError(
            f"episode {place} of {record.path or shard!r} has no verdict",
            "a run writes one behind each episode: take the shard from a copy, or run it again",
        )
    return line_of(
        record.header,
        str(record.info.get("policy", "")),
        record.info,
        verdict,
        shard=shard,
        place=place,
        digest=record.digest,
        steps=len(record.steps),
    )


def line_text(line: Line) -> str:
    """Write a line as verdicts.jsonl holds it."""
    return json.dumps(line, separators=(",", ":")) + "\n"


def read_line(text: str) -> Line | None:
    """Read a line, or give None for what is none."""
    try:
        value: object = json.loads(text)
    except ValueError:
        return None
    return cast("Line", value) if isinstance(value, dict) and "shard" in value else None
