"""What a check is, and what it comes to.

The ids are those of `simharness.validate` where both ask the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from simharness.doctor.examination import Examination

STARTS = "runtime.starts"
SEEDS = "runtime.seed_control"
DETERMINISM = "runtime.episode_determinism"
ISOLATION = "runtime.episode_isolation"
WARM_SESSIONS = 5
"""Sessions before memory is measured for the first time."""


class Answer(StrEnum):
    """What came of a check."""

    PASS = "pass"
    FAIL = "fail"
    UNKNOWN = "unknown"
    """It was made, or begun, and decides nothing; the reason says why."""
    SKIP = "skip"
    """It isn't made of a target of this kind, or wasn't asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What one check came to."""

    answer: Answer
    measured: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Name to a JSON value."""
    evidence: tuple[str, ...] = ()
    """What is wrong, or why nothing is known, a sentence each."""
    unproved: str = ""
    """What this pass doesn't prove, where that can be told better than for all targets."""
    remedy: str = ""
    """What to do about this failure, where that is something of its own."""


Run = Callable[["Examination"], Result]


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One check of a target."""

    id: str
    doc: str
    """What it measures."""
    unproved: str
    """What a pass doesn't prove."""
    remedy: str
    """What to do about a failure."""
    run: Run
    needs: str = ""
    """The check without which this one would mean nothing."""


def decided(measured: Mapping[str, Any], wrong: Sequence[str], told: int = 5) -> Result:
    """Give a pass, or a failure where anything is wrong; of that no more is kept than `told`."""
    more = (f"and {len(wrong) - told} more",) if len(wrong) > told else ()
    answer = Answer.FAIL if wrong else Answer.PASS
    return Result(answer=answer, measured=measured, evidence=(*wrong[:told], *more))


def unknown(reason: str, measured: Mapping[str, Any] | None = None) -> Result:
    """Say that nothing is known, and why."""
    return Result(answer=Answer.UNKNOWN, measured=measured or {}, evidence=(reason,))


def skipped(reason: str) -> Result:
    """Say that it isn't made here, and why."""
    return Result(answer=Answer.SKIP, evidence=(reason,))
