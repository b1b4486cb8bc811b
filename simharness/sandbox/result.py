"""What comes out of a sandbox, as values."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast

from simharness.errors import DamagedRecording
from simharness.sandbox.guest.values import decode
from simharness.values import pack, unpack

if TYPE_CHECKING:
    from collections.abc import Mapping

TestOutcome: TypeAlias = Literal[
    "passed", "failed", "error", "skipped", "xfailed", "xpassed", "cut", "not_run"
]
"""`cut`: the run ended during this test; `not_run`: before it."""


class End(StrEnum):
    """How a run ended."""

    DONE = "done"
    """It came to its end; tests may have failed in it, and a program may have raised."""
    EXITED = "exited"
    """The program left the interpreter at once, by `os._exit` or `os.abort`."""
    FUEL = "fuel"
    """It used up its instructions."""
    OUTPUT = "output"
    """It printed more than it may."""
    STACK = "stack"
    """It went deeper than the machine's stack, past what Python itself guards."""
    CRASHED = "crashed"
    """The interpreter ended: it asked for something that isn't there, ran out of memory where it
    can't do without, or was broken by the program."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TestResult:
    """What became of one test, or of a file that couldn't be collected."""

    __test__ = False  # for pytest: no test class

    test_id: str
    outcome: TestOutcome
    message: str = ""
    """What was raised or said, without a traceback."""
    trace: str = ""
    """The way to it through the files."""
    output: str = ""
    """What was printed meanwhile."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What became of one call."""

    kind: Literal["value", "raised", "unencodable", "cut", "not_run"]
    data: Any = None
    """The value as data; `value` gives it decoded."""
    after: Any = None
    """The arguments as they were after the call, as data: `[args, kwargs]`."""
    raised: tuple[str, ...] = ()
    """The exception's class and its bases, by module and name."""
    message: str = ""
    trace: str = ""

    @property
    def value(self) -> Any:
        """What was returned, decoded: plain values, and `Thing` for objects of other classes."""
        return decode(self.data)

    @property
    def arguments(self) -> Any:
        """The arguments after the call, decoded: a list of those by place, and a dict by name."""
        return decode(self.after)


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What came of a job; equal jobs have equal results, fuel included."""

    end: End
    fuel: int
    """Instructions used; all of the budget where the run was cut off."""
    detail: str = ""
    """Why it was cut off, or why no tests could be collected."""
    tests: tuple[TestResult, ...] = ()
    """In the order in which they were run; files that couldn't be collected come first."""
    answers: tuple[Answer, ...] = ()
    """One a call, in their order."""
    exit_code: int | None = None
    """Of a command; None where it was cut off."""
    stdout: str = ""
    stderr: str = ""
    files: Mapping[str, str | bytes | None] = field(default_factory=dict[str, "str | bytes | None"])
    """Files that differ from those that were given, and None for those that are gone."""
    tampered: tuple[str, ...] = ()
    """Names of the standard library or the runner that stood for something else at the end."""
    outside: tuple[tuple[str, str], ...] = ()
    """What was touched outside the folder, as (read|write|network, what)."""
    sandbox: str = ""
    """Which build this comes from."""

    @property
    def passed(self) -> bool:
        """Whether tests were run to the end and none of them failed."""
        bad = any(t.outcome in ("failed", "error", "cut", "not_run") for t in self.tests)
        return self.end is End.DONE and bool(self.tests) and not bad and not self.detail

    def pack(self) -> bytes:
        """Give the result as bytes for a recording."""
        return pack(
            [
                str(self.end),
                self.fuel,
                self.detail,
                [[t.test_id, t.outcome, t.message, t.trace, t.output] for t in self.tests],
                [
                    [a.kind, a.data, a.after, list(a.raised), a.message, a.trace]
                    for a in self.answers
                ],
                self.exit_code,
                self.stdout,
                self.stderr,
                [[path, content] for path, content in sorted(self.files.items())],
                list(self.tampered),
                [list(pair) for pair in self.outside],
                self.sandbox,
            ]
        )


def unpack_result(data: bytes) -> Result:
    """Read what `Result.pack` wrote. Raises DamagedRecording for anything else."""
    try:
        end, fuel, detail, tests, answers, code, out, err, files, tampered, outside, sandbox = cast(
            "list[Any]", unpack(data)
        )
        return Result(
            end=End(end),
            fuel=fuel,
            detail=detail,
            tests=tuple(
                TestResult(test_id=i, outcome=o, message=m, trace=t, output=p)
                for i, o, m, t, p in tests
            ),
            answers=tuple(
                Answer(kind=k, data=d, after=a, raised=tuple(r), message=m, trace=t)
                for k, d, a, r, m, t in answers
            ),
            exit_code=code,
            stdout=out,
            stderr=err,
            files=dict(files),
            tampered=tuple(tampered),
            outside=tuple((doing, what) for doing, what in outside),
            sandbox=sandbox,
        )
    except (TypeError, ValueError) as error:
        raise DamagedRecording(f"no result of a sandbox: {error}") from None
