"""What runs code for the IDE, as the IDE needs it: files go in and out by value.

Nothing here runs anything. Code of an agent's belongs into a sandbox, which is put into a product's
`runner`; without one, whatever would run code is refused.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NoReturn, Protocol

from simharness.api import Refused
from simharness.models.ide.tables import Outcome  # noqa: TC001  (hints of rows are read)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from simharness.api import Operation


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseRun:
    """What became of one test."""

    test_id: str
    outcome: Outcome
    message: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteRun:
    """What came of a run of tests."""

    tests: tuple[CaseRun, ...]
    error: str = ""
    """Why no or not all tests were run, such as a module that can't be imported."""
    output: str = ""
    """What the code printed."""
    fuel: int = 0
    """Instructions that it took."""

    @property
    def passed(self) -> bool:
        """Tell whether tests ran and none failed."""
        bad = any(test.outcome in ("failed", "error") for test in self.tests)
        return bool(self.tests) and not bad and not self.error


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramRun:
    """What came of running a program."""

    exit_code: int
    stdout: str = ""
    stderr: str = ""
    files: Mapping[str, str | None] = field(default_factory=dict[str, "str | None"])
    """Files that it has written, and with None those that it has removed."""
    fuel: int = 0
    """Instructions that it took."""


class Runner(Protocol):
    """Runs Python over files that are given by value.

    What comes out depends on what goes in and on nothing else. A failure of the sandbox itself is a
    HarnessError and never a result.
    """

    def run_tests(self, op: Operation, files: Mapping[str, str], paths: Sequence[str]) -> SuiteRun:
        """Run the tests below some paths (`tests`, `tests/test_a.py::test_b`), or all if none."""
        ...

    def run_python(
        self,
        op: Operation,
        files: Mapping[str, str],
        arguments: Sequence[str],
        stdin: str,
        folder: str,
    ) -> ProgramRun:
        """Run `python ARGUMENTS...` in a folder of the repository, "" for its root."""
        ...


class NoRunner:
    """Stands where no sandbox is: refuses whatever would run code."""

    def run_tests(self, op: Operation, files: Mapping[str, str], paths: Sequence[str]) -> NoReturn:
        """Refuse `unavailable`."""
        raise Refused("unavailable", NO_SANDBOX)

    def run_python(
        self,
        op: Operation,
        files: Mapping[str, str],
        arguments: Sequence[str],
        stdin: str,
        folder: str,
    ) -> NoReturn:
        """Refuse `unavailable`."""
        raise Refused("unavailable", NO_SANDBOX)


NO_SANDBOX = "there is no sandbox to run code in"
FUEL_PER_TICK = 1_000
"""Instructions that take a microsecond of simulated time."""
