"""A finding: one detected thing, with its code, place and evidence, and one sentence about it."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, cast

INT_MAX = 2**63
TEXT_SHOWN = 400
"""Characters of a text that evidence and explanations hold."""


class Effect(StrEnum):
    """What a finding did to the outcome."""

    HINDERED = "hindered"
    HELPED = "helped"
    NONE = "none"


class Confidence(StrEnum):
    """How sure a finding is."""

    PROVED = "proved"
    DETECTED = "detected"
    SUSPECTED = "suspected"
    HUMAN = "human"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One detected thing."""

    code: str
    """Taxonomy code, e.g. H112."""
    step: int
    """The step it belongs to, from 1; 0 for the start."""
    t: int
    """Tick."""
    keys: tuple[str, ...]
    """Rows concerned, as `table:id`."""
    evidence: dict[str, Any] = field(default_factory=dict[str, Any])
    events: tuple[int, ...] = ()
    """Journal rows that show it, by index, cause first."""
    explanation: str = ""
    """One sentence with the values."""
    mechanism: str = ""
    """What ablation would make tell the truth, e.g. `cache:deals.detail`."""
    effect: Effect = Effect.NONE
    confidence: Confidence = Confidence.DETECTED

    def record(self) -> dict[str, Any]:
        """Give the finding as recordings and JSON hold it."""
        return {
            "code": self.code,
            "step": self.step,
            "t": self.t,
            "keys": list(self.keys),
            "evidence": {name: packable(value) for name, value in self.evidence.items()},
            "events": list(self.events),
            "explanation": packable(self.explanation),
            "mechanism": self.mechanism,
            "effect": str(self.effect),
            "confidence": str(self.confidence),
        }


def packable(value: Any) -> Any:
    """Give evidence as recordings can hold it: what agents send may be any number, or very long."""
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, int):
        return value if abs(value) < INT_MAX else ascii(value)[:TEXT_SHOWN]
    if isinstance(value, str):
        return value if len(value) <= TEXT_SHOWN else value[:TEXT_SHOWN] + "..."
    if isinstance(value, dict):
        fields = cast("dict[object, object]", value)
        return {str(key)[:TEXT_SHOWN]: packable(item) for key, item in fields.items()}
    if isinstance(value, list | tuple):
        return [packable(item) for item in cast("list[object]", value)]
    return ascii(value)[:TEXT_SHOWN]
