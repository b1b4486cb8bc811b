"""A runner that answers as it was told to, for tests without a sandbox."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from simharness.models.ide.runner import CaseRun, ProgramRun, SuiteRun

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

RAN = ProgramRun(exit_code=0, stdout="ran\n", fuel=2_000_000)
MIXED = SuiteRun(
    tests=(
        CaseRun(test_id="tests/test_a.py::test_one", outcome="passed"),
        CaseRun(test_id="tests/test_a.py::test_two", outcome="failed", message="1 != 2"),
    ),
    fuel=3_000_000_000,
)


class Scripted:
    """A runner that keeps what it was asked; a suite may be worked out from the files."""

    def __init__(
        self,
        program: ProgramRun = RAN,
        suite: SuiteRun | Callable[[Mapping[str, str]], SuiteRun] = MIXED,
    ) -> None:
        self.program = program
        self.suite = suite
        self.asked: list[tuple[Any, ...]] = []

    def run_tests(self, op: Any, files: Any, paths: Any, instant: int = 0) -> SuiteRun:
        self.asked.append((dict(files), tuple(paths)))
        return self.suite if isinstance(self.suite, SuiteRun) else self.suite(files)

    def run_python(
        self, op: Any, files: Any, arguments: Any, stdin: str, folder: str, instant: int = 0
    ) -> ProgramRun:
        self.asked.append((dict(files), tuple(arguments), stdin, folder))
        return self.program
