"""All checks of one target, and what came of them."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from simharness.doctor import answers, crashes, determinism, floors, isolation, load
from simharness.doctor.check import STARTS, Answer, Check, Result, decided, unknown
from simharness.doctor.patient import OutOfTime, Stopped
from simharness.errors import UnknownName, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from simharness.doctor.examination import Examination

CHECKS: tuple[Check, ...] = (
    *answers.CHECKS[:1],
    *determinism.CHECKS,
    *isolation.CHECKS,
    *answers.CHECKS[1:],
    *crashes.CHECKS,
    *floors.CHECKS,
    *load.CHECKS,
    *answers.LAST,
)
"""All of them, in the order in which they are made and told."""


RESTS = "rests on"
"""How the reason of a check begins that would mean nothing without another."""
STOPS_MAX = 3
"""How often a target may hang or die before it is asked no more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """One check that was made."""

    check: Check
    result: Result
    command: str
    """What shows it again."""
    seconds: float

    @property
    def unproved(self) -> str:
        """What a pass doesn't prove."""
        return self.result.unproved or self.check.unproved

    @property
    def remedy(self) -> str:
        """What to do about a failure."""
        return self.result.remedy or self.check.remedy

    def record(self) -> dict[str, Any]:
        """Give it as `--json` prints it."""
        answer = self.result.answer
        return {
            "id": self.check.id,
            "ok": {Answer.PASS: True, Answer.FAIL: False}.get(answer),
            "answer": str(answer),
            "detail": told(self.result),
            "measured": dict(self.result.measured),
            "evidence": list(self.result.evidence),
            "unproved": self.unproved,
            "remediation": self.remedy if answer is Answer.FAIL else "",
            "command": self.command,
            "seconds": round(self.seconds, 3),
        }


@dataclass(slots=True)
class Report:
    """What came of the checks of one target."""

    target: str
    made: list[Made] = field(default_factory=list[Made])

    def of(self, answer: Answer) -> list[Made]:
        """Give those that came out so."""
        return [one for one in self.made if one.result.answer is answer]

    @property
    def answer(self) -> Answer:
        """Give the worst of all: a failure, then what isn't known."""
        for answer in (Answer.FAIL, Answer.UNKNOWN):
            if self.of(answer):
                return answer
        return Answer.PASS

    def record(self) -> dict[str, Any]:
        """Give the report as `--json` prints it."""
        return {
            "target": self.target,
            "answer": str(self.answer),
            "counts": {str(answer): len(self.of(answer)) for answer in Answer},
            "checks": [one.record() for one in self.made],
        }


def told(result: Result) -> str:
    """Say in a line what came of a check."""
    if result.answer is Answer.PASS:
        return ", ".join(f"{name} {short(value)}" for name, value in result.measured.items())
    return "; ".join(result.evidence)


def short(value: object) -> str:
    """Show a measured value in little room."""
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, list | tuple):
        parts = [str(part) for part in value]  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
        # Paths have slashes of their own.
        return (" " if any("/" in part for part in parts) else "/").join(parts)
    return str(value)


def chosen(names: Sequence[str]) -> tuple[Check, ...]:
    """Give the checks of some ids, and those that they rest on; all of them for none.

    Raises UnknownName.
    """
    known = {check.id: check for check in CHECKS}
    wanted: set[str] = set()
    for name in names:
        if name not in known:
            raise UnknownName.among("check", name, known)
        while name:
            wanted.add(name)
            name = known[name].needs
    return tuple(check for check in CHECKS if not names or check.id in wanted)


def examine(
    exam: Examination,
    command: Callable[[str], str],
    checks: Sequence[Check] = CHECKS,
    progress: Callable[[int, int, str], None] | None = None,
) -> Report:
    """Make checks; `command` gives the command line that makes one of them.

    Raises UsageError where the target can't be opened.
    """
    report = Report(exam.target.name)
    lacking: dict[str, str] = {}
    stops = 0
    try:
        for number, check in enumerate(checks):
            if progress is not None:
                progress(number, len(checks), check.id)
            start = time.monotonic()
            if check.needs in lacking:
                result = unknown(f"{RESTS} {check.needs}, {lacking[check.needs]}")
            elif stops >= STOPS_MAX:
                result = unknown(f"it has hung or died {stops} times, so this isn't asked of it")
            else:
                result, stopped = made_safely(check, exam)
                stops += stopped
            if check.needs in lacking:
                lacking[check.id] = lacking[check.needs]
            elif result.answer is Answer.FAIL:
                lacking[check.id] = "which doesn't hold"
            elif check.id == STARTS and result.answer is Answer.UNKNOWN:
                lacking[check.id] = "which isn't known to hold"
            seconds = time.monotonic() - start
            report.made.append(
                Made(check=check, result=result, command=command(check.id), seconds=seconds)
            )
    finally:
        exam.close()
    return report


def made_safely(check: Check, exam: Examination) -> tuple[Result, bool]:
    """Make a check; gives what came of it, and whether the target has hung or died meanwhile.

    Raises UsageError where the target can't even be opened.
    """
    try:
        return check.run(exam), False
    except OutOfTime as error:
        return unknown(f"{error.message}: give more with --minutes"), False
    except Stopped as error:
        return decided({}, [str(error)]), True
    except UsageError as error:
        if check.id == STARTS:
            raise
        return decided({}, [f"it could be opened before, and now: {error.message}"]), True
