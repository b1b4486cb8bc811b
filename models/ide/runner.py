"""What runs code for the IDE, as the IDE needs it: files go in and out by value.

Code of an agent's is run in the sandbox, and never in the harness's process.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from simharness.api import sandbox
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


BAD = ("failed", "error", "cut", "not_run")
"""Outcomes of tests that count as failed."""


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
    outside: tuple[tuple[str, str], ...] = ()
    """What it touched outside of the repository: read, write or network, and what."""

    @property
    def passed(self) -> bool:
        """Tell whether tests ran and none failed."""
        return bool(self.tests) and not self.failed and not self.error

    @property
    def failed(self) -> int:
        """How many tests failed, or were never run to their end."""
        return sum(test.outcome in BAD for test in self.tests)


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
    outside: tuple[tuple[str, str], ...] = ()
    """What it touched outside of the repository: read, write or network, and what."""


INSTANT = sandbox.Tests(files={}).instant
"""When time begins in a run where nothing depends on it."""


class Runner(Protocol):
    """Runs Python over files that are given by value.

    What comes out depends on what goes in and on nothing else. A failure of the sandbox itself is a
    HarnessError and never a result.
    """

    def run_tests(
        self,
        op: Operation,
        files: Mapping[str, str],
        paths: Sequence[str],
        instant: int = INSTANT,
    ) -> SuiteRun:
        """Run the tests below some paths (`tests`, `tests/test_a.py::test_b`), or all if none.

        Their time begins at `instant`, in microseconds since 1970.
        """
        ...

    def run_python(
        self,
        op: Operation,
        files: Mapping[str, str],
        arguments: Sequence[str],
        stdin: str,
        folder: str,
        instant: int = INSTANT,
    ) -> ProgramRun:
        """Run `python ARGUMENTS...` in a folder of the repository, "" for its root."""
        ...


class SandboxRunner:
    """Runs Python in the sandbox; what comes out is an input of the episode."""

    def run_tests(
        self,
        op: Operation,
        files: Mapping[str, str],
        paths: Sequence[str],
        instant: int = INSTANT,
    ) -> SuiteRun:
        """Run the tests below some paths, or all if none.

        Raises UsageError where no sandbox is installed.
        """
        job = sandbox.Tests(files=files, paths=tuple(paths), instant=instant)
        result = sandbox.run_job(op.world, job)
        tests = tuple(
            CaseRun(test_id=test.test_id, outcome=test.outcome, message=test.message)
            for test in result.tests
        )
        printed = (*(test.output for test in result.tests), result.stdout, result.stderr)
        return SuiteRun(
            tests=tests,
            error=reason_of(result),
            output="".join(printed),
            fuel=result.fuel,
            outside=result.outside,
        )

    def run_python(
        self,
        op: Operation,
        files: Mapping[str, str],
        arguments: Sequence[str],
        stdin: str,
        folder: str,
        instant: int = INSTANT,
    ) -> ProgramRun:
        """Run `python ARGUMENTS...` in a folder of the repository.

        Raises UsageError where no sandbox is installed.
        """
        job = sandbox.Command(
            files=files,
            arguments=tuple(arguments),
            stdin=stdin,
            folder=folder,
            instant=instant,
        )
        result = sandbox.run_job(op.world, job)
        code = result.exit_code
        reason = reason_of(result)
        return ProgramRun(
            exit_code=CUT_OFF.get(result.end, 1) if code is None else code,
            stdout=result.stdout,
            stderr=result.stderr + (f"python: {reason}\n" if reason else ""),
            files={path: text_of(content) for path, content in result.files.items()},
            fuel=result.fuel,
            outside=result.outside,
        )


CUT_OFF = {
    sandbox.End.FUEL: 137,
    sandbox.End.OUTPUT: 141,
    sandbox.End.STACK: 139,
    sandbox.End.CRASHED: 134,
}
"""Exit codes of programs that were cut off: those of the signals that would have ended them."""


def reason_of(result: sandbox.Result) -> str:
    """Say why a run was cut off or couldn't begin; empty where it came to its end."""
    if result.end in (sandbox.End.DONE, sandbox.End.EXITED):
        return result.detail
    return (
        f"cut off ({result.end}): {result.detail}" if result.detail else f"cut off ({result.end})"
    )


def text_of(content: str | bytes | None) -> str | None:
    """Give what a program wrote as text: the repository holds nothing else."""
    return content.decode("utf-8", "replace") if isinstance(content, bytes) else content


FUEL_PER_TICK = 1_000
"""Instructions that take a microsecond of simulated time."""
