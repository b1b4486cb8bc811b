"""Where two transcripts part, told in a sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from simharness.doctor.examination import Transcript

PARTS = ("raised", "reward", "terminated", "truncated", "observation", "info")
AROUND = 30
"""Characters before the first that differs."""
SHOWN = 70


def parted(one: Transcript, other: Transcript) -> str:
    """Say where two transcripts part; empty where they are equal."""
    for number, (mine, theirs) in enumerate(zip(one, other, strict=False)):
        for part in PARTS:
            if mine.get(part) != theirs.get(part):
                where = f"step {number}" if number else "the reset"
                return f"{where}: {part} {pair(mine.get(part), theirs.get(part))}"
        if mine.get("digest") != theirs.get("digest"):
            return f"step {number}: the observations differ beyond what is shown"
    if len(one) != len(other):
        return f"one has {len(one) - 1} steps, the other {len(other) - 1}"
    return ""


def pair(one: Any, other: Any) -> str:
    """Show two values; of long texts where they part."""
    mine, theirs = (value if isinstance(value, str) else repr(value) for value in (one, other))
    if max(len(mine), len(theirs)) > SHOWN:
        same = next(
            (k for k, (a, b) in enumerate(zip(mine, theirs, strict=False)) if a != b),
            min(len(mine), len(theirs)),
        )
        begin = max(0, same - AROUND)
        mine, theirs = (
            ("..." if begin else "") + text[begin : begin + SHOWN] for text in (mine, theirs)
        )
    return f"{mine} and {theirs}"
