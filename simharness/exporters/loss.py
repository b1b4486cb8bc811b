"""What an export left out, what its format has no place for, and what it had to change."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

INVALID, QUARANTINED, TRUTH = "invalid", "quarantined", "truth"
INCLUDABLE = (INVALID, QUARANTINED, TRUTH)
"""What is left out unless it is asked for."""


@dataclass(slots=True)
class Loss:
    """Counts of one export, by what they count in words."""

    left_out: Counter[str] = field(default_factory=Counter[str])
    """Episodes that were not exported, by why."""
    dropped: Counter[str] = field(default_factory=Counter[str])
    """Parts of exported episodes that the file doesn't hold."""
    changed: Counter[str] = field(default_factory=Counter[str])
    """Parts that the file holds in another form."""
    problems: list[str] = field(default_factory=list[str])
    """What is wrong with the recordings, in sentences."""

    def record(self) -> dict[str, Any]:
        """Give the counts as JSON shows them, without those of nothing."""
        return {
            "left_out": dict(sorted((+self.left_out).items())),
            "dropped": dict(sorted((+self.dropped).items())),
            "changed": dict(sorted((+self.changed).items())),
            "problems": self.problems,
        }
