"""What a check is, and what it comes to.

The ids follow OpenEnv's RFC 008, "Environment Auto-Validation", so that a report stands beside one
of theirs; so do the levels, the statuses, and what a result holds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from simharness.validate.measures import Measure
    from simharness.validate.subject import Subject

DETERMINISM = "runtime.episode_determinism"
"""What semantic and statistical checks rest on: without it they would measure chance."""

ISOLATION = "runtime.episode_isolation"


class Status(StrEnum):
    """What came of a check."""

    PASS = "pass"
    FAIL = "fail"
    SKIP = "skip"
    """It can't be made here; the reason says why."""
    ERROR = "error"
    """It broke itself, so nothing is known; what breaks in the product is a failure."""


class Severity(StrEnum):
    """What a failure of a check means for the whole."""

    FAIL = "fail"
    WARN = "warn"
    """It is told, and the scenario still passes."""
    ADVISORY = "advisory"
    """The same, and it says more about taste than about soundness."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What one check came to."""

    status: Status
    measured: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Name to a JSON value."""
    evidence: tuple[str, ...] = ()
    """What is wrong, a sentence each; of a skip the reason."""
    command: str = ""
    """What shows the failure directly; empty: the check alone does."""
    codes: tuple[str, ...] = ()
    """What the taxonomy calls the failure, once for the scenario; empty where it has no code."""
    broken: bool = False
    """Whether the product's code raised; that fails a scenario, whatever was being checked."""


Run = Callable[["Subject"], Result]


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One check: a function over a subject that it shares with all others."""

    id: str
    """`level.what`, as the RFC has it."""
    doc: str
    """What it measures."""
    run: Run
    remedy: str
    """What to do about a failure."""
    severity: Severity = Severity.FAIL

    @property
    def level(self) -> str:
        """The level: static, runtime, semantic, statistical or hub."""
        return self.id.partition(".")[0]

    @property
    def needs(self) -> str:
        """The check without which this one would mean nothing; empty where there is none."""
        rests = self.level in ("semantic", "statistical") or self.id == ISOLATION
        return DETERMINISM if rests else ""


def decided(
    measured: Mapping[str, Any],
    wrong: Sequence[str] = (),
    command: str = "",
    *,
    told: int = 5,
    codes: Sequence[str] = (),
) -> Result:
    """Give a pass, or a failure where anything is wrong; of that no more is kept than `told`.

    `codes` are those of the failure, where there is one.
    """
    evidence = tuple(wrong[:told])
    if len(wrong) > told:
        evidence += (f"and {len(wrong) - told} more",)
    status = Status.FAIL if wrong else Status.PASS
    return Result(
        status=status,
        measured=measured,
        evidence=evidence,
        command=command,
        codes=tuple(codes) if wrong else (),
    )


def skipped(reason: str, measured: Mapping[str, Any] | None = None) -> Result:
    """Give a skip with its reason; `measured` is the part of it that was looked at."""
    return Result(status=Status.SKIP, measured=measured or {}, evidence=(reason,))


def held(measures: Sequence[Measure], command: str = "") -> Result:
    """Make a result of measures: it fails where one of them does."""
    wrong = [
        f"{m.name.strip()}: {m.value}" + (f", expected {m.limit}" if m.limit else "")
        for m in measures
        if m.ok is False
    ]
    # Indented ones name an episode, and are evidence of the one above.
    numbers = {m.name: m.value for m in measures if not m.name.startswith(" ")}
    return decided(numbers, wrong, command)
