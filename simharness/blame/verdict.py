"""A verdict: whose fault an outcome was, how that was proved, and whether to train on it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from simharness.findings.finding import Confidence
from simharness.findings.taxonomy import TAXONOMY_VERSION
from simharness.product.goal import MILLION

if TYPE_CHECKING:
    from collections.abc import Mapping

    from simharness.findings.finding import Finding


SCORES = ("score", "score_before")
"""Fields in millionths."""


class Class(StrEnum):
    """Who answers for the outcome."""

    OK = "ok"
    MODEL = "model"
    HARNESS = "harness"
    AMBIGUOUS = "ambiguous"
    EXTERNAL = "external"


class Proof(StrEnum):
    """Which re-run bears the verdict out."""

    OPEN = "open"
    """The agent's calls, sent again verbatim."""
    CLOSED = "closed"
    """The same policy, asked again."""
    UNSOLVABLE = "unsolvable"
    """The reference policy, taking over in both worlds."""
    NONE = "none"


@dataclass(frozen=True, slots=True, kw_only=True)
class Arm:
    """One re-run: what told the truth in it, who played, and how it ended."""

    proof: Proof
    repaired: tuple[str, ...]
    score: int | None
    """Millionths of the goal in the repaired world; None where the harness failed."""
    score_before: int | None
    """The same in the world as it was."""
    digest: str

    @property
    def flips(self) -> bool:
        """Whether the repair changed the outcome between pass and fail."""
        return self.score is not None and self.score != self.score_before

    def record(self) -> dict[str, Any]:
        """Give the arm as recordings and JSON hold it."""
        return {
            "proof": str(self.proof),
            "repaired": list(self.repaired),
            "score": self.score,
            "score_before": self.score_before,
            "digest": self.digest,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What is known of one finished episode."""

    kind: Class
    primary: str
    """The code that decided; empty where nothing did."""
    proof: Proof
    valid: bool
    """May be trained on: no read out of contract, no wrong reward, no failure of the harness;
    whatever the outcome."""
    score: int | None
    """The reward that was paid, in millionths; None where the harness can't tell."""
    goal: bool | None
    """Whether the goal holds; None where that was never judged."""
    findings: tuple[Finding, ...]
    arms: tuple[Arm, ...] = ()
    sentence: str = ""
    """What happened, with the values."""

    @property
    def codes(self) -> tuple[str, ...]:
        """The codes found, each once, in order."""
        return tuple(dict.fromkeys(f.code for f in self.findings))

    @property
    def primary_finding(self) -> Finding | None:
        """The finding that decided: of its code, the first that is more than suspected."""
        found = [f for f in self.findings if f.code == self.primary]
        sure = (f for f in found if f.confidence is not Confidence.SUSPECTED)
        return next(sure, found[0] if found else None)

    @property
    def confidence(self) -> str:
        """Of the primary finding; empty where there is none."""
        found = self.primary_finding
        return "" if found is None else str(found.confidence)

    @property
    def effect(self) -> str:
        """Of the primary finding; none where there is none."""
        found = self.primary_finding
        return "none" if found is None else str(found.effect)

    @property
    def headline(self) -> str:
        """Class, code and proof in a few words: `harness, H112, proved (closed)`."""
        parts = [str(self.kind)]
        if self.primary:
            parts.append(self.primary)
        if self.confidence:
            parts.append(
                self.confidence + (f" ({self.proof})" if self.proof is not Proof.NONE else "")
            )
        return ", ".join(parts)

    def record(self) -> dict[str, Any]:
        """Give the verdict as recordings and JSON hold it."""
        return {
            "taxonomy": TAXONOMY_VERSION,
            "class": str(self.kind),
            "primary": self.primary,
            "codes": list(self.codes),
            "proof": str(self.proof),
            "effect": self.effect,
            "confidence": self.confidence,
            "valid": self.valid,
            "score": self.score,
            "goal": self.goal,
            "sentence": self.sentence,
            "findings": [f.record() for f in self.findings],
            "arms": [a.record() for a in self.arms],
        }

    def told(self) -> dict[str, Any]:
        """Give the verdict as JSON tells it to people and trainers: rewards as floats."""
        return told(self.record())


def told(record: Mapping[str, Any]) -> dict[str, Any]:
    """Give a verdict as recordings hold it the way JSON tells it: rewards as floats."""
    out = with_floats(record)
    if isinstance(record.get("arms"), list):
        out["arms"] = [with_floats(arm) for arm in record["arms"]]
    return out


def with_floats(part: Mapping[str, Any]) -> dict[str, Any]:
    """Copy a map, with its scores, which are in millionths, as floats."""
    return {
        name: value / MILLION if name in SCORES and type(value) is int else value
        for name, value in part.items()
    }
