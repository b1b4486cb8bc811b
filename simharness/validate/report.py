"""All checks of one scenario, and what came of them."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from simharness.errors import SimharnessError, UnknownName
from simharness.kernel.process import place_of
from simharness.validate import (
    containment,
    crash,
    determinism,
    floors,
    goal,
    interface,
    reference,
    static,
    statistical,
    world,
)
from simharness.validate.blame import by_product, sort_of
from simharness.validate.check import Check, Result, Severity, Status, skipped

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from simharness.validate.subject import Subject

MODULES = (
    static,
    determinism,
    interface,
    containment,
    crash,
    world,
    goal,
    reference,
    floors,
    statistical,
)
LEVELS = ("static", "runtime", "semantic", "statistical", "hub")
CHECKS: tuple[Check, ...] = tuple(
    sorted(
        (check for module in MODULES for check in module.CHECKS),
        key=lambda check: LEVELS.index(check.level),
    )
)
"""All of them, in the order in which they are made and told."""
BROKEN = "mend the product's code: no episode may break"
"""What to do where that has raised."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """One check that was made."""

    check: Check
    result: Result
    command: str
    """What shows it again."""
    seconds: float
    """Of wall time, with the episodes that it was the first to need."""

    @property
    def fails(self) -> bool:
        """Whether it fails the scenario."""
        grave = self.result.broken or self.check.severity is Severity.FAIL
        return self.result.status is Status.FAIL and grave

    @property
    def remedy(self) -> str:
        """What to do about a failure."""
        return BROKEN if self.result.broken else self.check.remedy

    def record(self) -> dict[str, Any]:
        """Give it as `--json` prints it."""
        status = self.result.status
        ok = {Status.PASS: True, Status.SKIP: None}.get(status, False)
        bad = status in (Status.FAIL, Status.ERROR)
        return {
            "id": self.check.id,
            "ok": ok,
            "detail": told(self),
            "level": self.check.level,
            "status": str(status),
            "severity": str(self.check.severity),
            "codes": list(self.result.codes),
            "measured": dict(self.result.measured),
            "evidence": list(self.result.evidence),
            "remediation": self.remedy if status is Status.FAIL else "",
            "next": self.command if bad else "",
            "seconds": round(self.seconds, 3),
        }


@dataclass(slots=True)
class Report:
    """What came of the checks of one scenario."""

    scenario: str
    seeds: range
    made: list[Made] = field(default_factory=list[Made])

    @property
    def ok(self) -> bool:
        """Whether nothing fails the scenario and nothing broke."""
        return not any(one.fails or one.result.status is Status.ERROR for one in self.made)

    def of(self, status: Status) -> list[Made]:
        """Give those that came out so."""
        return [one for one in self.made if one.result.status is status]

    def record(self) -> dict[str, Any]:
        """Give the report as `--json` prints it."""
        return {
            "scenario": self.scenario,
            "ok": self.ok,
            "seeds": [self.seeds.start, self.seeds.stop],
            "counts": {str(status): len(self.of(status)) for status in Status},
            "checks": [one.record() for one in self.made],
        }


def told(made: Made) -> str:
    """Say in a line what came of a check."""
    result = made.result
    if result.status is Status.PASS:
        return ", ".join(f"{name} {short(value)}" for name, value in result.measured.items())
    return "; ".join(result.evidence)


def short(value: object) -> str:
    """Show a measured value in little room."""
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, dict | list | tuple):
        return str(len(value))  # pyright: ignore[reportUnknownArgumentType]
    return str(value)


def chosen(names: Sequence[str]) -> tuple[Check, ...]:
    """Give the checks of some ids or levels, and those that they rest on; all of them for none.

    Raises UnknownName.
    """
    if not names:
        return CHECKS
    ids = [check.id for check in CHECKS]
    wanted: set[str] = set()
    for name in names:
        found = [check for check in CHECKS if name in (check.id, check.level)]
        if not found:
            raise UnknownName.among("check", name, [*ids, *LEVELS])
        wanted |= {part for check in found for part in (check.id, check.needs)}
    return tuple(check for check in CHECKS if check.id in wanted)


def validate(
    subject: Subject,
    checks: Sequence[Check] = CHECKS,
    progress: Callable[[int, int, str], None] | None = None,
) -> Report:
    """Make checks on a subject; `progress` is told those made, all, and the next one's id."""
    report = Report(subject.name, subject.seeds)
    came: dict[str, Status] = {}
    known: dict[str, str] = {}
    for number, check in enumerate(checks):
        if progress is not None:
            progress(number, len(checks), check.id)
        start = time.perf_counter()
        # A part of it that was skipped leaves the other, which held.
        if came.get(check.needs, Status.PASS) in (Status.FAIL, Status.ERROR):
            result = skipped(f"rests on {check.needs}, which doesn't hold")
        else:
            result = made_safely(check, subject, known)
        came[check.id] = result.status
        again = result.command or subject.check_command(check.id)
        seconds = time.perf_counter() - start
        report.made.append(Made(check=check, result=result, command=again, seconds=seconds))
    return report


def made_safely(check: Check, subject: Subject, known: dict[str, str]) -> Result:
    """Make a check; what breaks is told, since the product's code is no more ours than its bugs.

    What the product's own code raises is its failure, told by the first check that meets it:
    `known` are those so far, each with its check. All else is ours, and tells nothing of it.
    """
    try:
        return check.run(subject)
    except Exception as error:
        texts = told_of(error)
        if not by_product(error, subject):
            return Result(status=Status.ERROR, evidence=texts)
        first = known.setdefault(sort_of(texts[0]), check.id)
        if first != check.id:
            return skipped(f"needs episodes that don't break; {first} tells what does")
        return Result(status=Status.FAIL, evidence=texts, broken=True)


def told_of(error: Exception) -> tuple[str, ...]:
    """Say what an exception says, and what to do about it if it says so."""
    if isinstance(error, SimharnessError):
        return tuple(text for text in (f"{error.code}: {error.message}", error.hint) if text)
    return (f"{type(error).__name__}: {error} ({place_of(error)})",)


def failures(report: Report) -> Iterator[Made]:
    """Give what fails, warns or broke, the gravest first."""
    yield from (one for one in report.made if one.fails)
    yield from report.of(Status.ERROR)
    yield from (one for one in report.of(Status.FAIL) if not one.fails)
