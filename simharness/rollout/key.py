"""The name of an episode within its run: `SCENARIO:SEED:POLICY`, and its cell where there are more.

A run that plays a seed by one policy more than once, under several loads or sets of faults or as a
group, tells its episodes apart by their cell, such as `load=8 member=3`, which stands in the INFO
frame and behind the rest of the key.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from simharness.errors import UsageError

if TYPE_CHECKING:
    from simharness.recording.reader import EpisodeRecord

CELL = "cell"
"""What an INFO frame calls it."""


def key_text(scenario: object, seed: object, policy: object, cell: object = "") -> str:
    """Put a key together."""
    return f"{scenario}:{seed}:{policy}" + (f" {cell}" if cell else "")


def key_of(record: EpisodeRecord) -> str:
    """Give the key of a recorded episode."""
    header, info = record.header, record.info
    return key_text(
        header.get("scenario"), header.get("seed"), info.get("policy", ""), info.get(CELL)
    )


def split_key(key: str) -> tuple[str, str, str]:
    """Split a key into scenario, seed, and policy with cell; the outer two may hold colons."""
    found = re.fullmatch(r"(.+?):(\d+):(.*)", key, re.DOTALL)
    if found is None:
        raise UsageError(f"key {key!r} is not readable", "give SCENARIO:SEED:POLICY")
    return found[1], found[2], found[3]
