"""From the guest's events to a result.

The guest shares its interpreter with the program, so an event is a claim: it is read strictly, and
events that no run of the guest's own would send end the run as `crashed`.
"""

# What an event holds is known only once it has been looked at.
# pyright: reportUnknownArgumentType=false, reportUnknownVariableType=false

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, cast

from simharness.sandbox.canonical import form
from simharness.sandbox.guest.values import PLAIN_INT
from simharness.sandbox.job import Calls, Tests, is_plain
from simharness.sandbox.result import Answer, End, Result, TestResult

if TYPE_CHECKING:
    from simharness.sandbox.job import Job
    from simharness.sandbox.result import TestOutcome

OUTCOMES = frozenset({"passed", "failed", "error", "skipped", "xfailed", "xpassed"})
DOINGS = frozenset({"read", "write", "network"})
EVENTS_MAX = 100_000
EVENT_BYTES_MAX = 40 * 1024 * 1024
"""All events of a run together, so that its result fits into a recording."""
TESTS_MAX = 10_000
ANSWER_DEPTH_MAX = 48
"""Levels of a value; a recording takes no more than 64 around and in it."""


class Stop(Exception):  # noqa: N818  (it ends a run, and is no error)
    """The run has to end now."""

    def __init__(self, end: End, detail: str) -> None:
        super().__init__(detail)
        self.end = end
        self.detail = detail


class Events:
    """Takes events as they come and makes the result."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self.stopped: tuple[End, str] | None = None
        """Why the run had to end."""
        self.done = False
        self._count = 0
        self._bytes = 0
        self._output: list[tuple[str, bytes]] = []
        self._output_bytes = 0
        self._plan: dict[str, TestResult | None] | None = None
        self._running: tuple[str, int] | None = None
        self._answers: list[Answer] = []
        self._status: int | None = None
        self._detail = ""
        self._files: dict[str, str | bytes | None] = {}
        self._tampered: tuple[str, ...] = ()
        self._outside: list[tuple[str, str]] = []

    def take(self, text: str) -> None:
        """Take one event. Raises Stop when the run has to end."""
        try:
            self._take(text)
        except Stop as stop:
            self.stopped = self.stopped or (stop.end, stop.detail)
            raise
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            forged = Stop(End.CRASHED, f"an event of no known shape ({type(error).__name__})")
            self.stopped = self.stopped or (forged.end, forged.detail)
            raise forged from None

    def _take(self, text: str) -> None:
        self._count += 1
        self._bytes += len(text)
        if self._bytes > EVENT_BYTES_MAX:
            raise Stop(End.OUTPUT, "more told and written than any program should")
        if self.done or self._count > EVENTS_MAX:
            raise Stop(End.CRASHED, "an event after the end" if self.done else "too many events")
        kind, *parts = cast("list[Any]", json.loads(text))
        match kind, parts:
            case "stdout" | "stderr", [str(data)]:
                self._print(kind, data.encode("utf-8", "surrogateescape"))
            case "plan", [list() as problems, list() as tests]:
                self._planned([*texts(problems), *texts(tests)])
            case "start", [str(test_id)]:
                self._start(test_id)
            case "end", [str(test_id), str(outcome), str(message), str(trace)]:
                self._end(test_id, outcome, message, trace)
            case "value", [data, after]:
                self._answer(value_answer(data, after))
            case "raised", [list() as kinds, str(message), str(trace)]:
                raised = tuple(texts(kinds))
                self._answer(Answer(kind="raised", raised=raised, message=message, trace=trace))
            case "unencodable", [str(message)]:
                self._answer(Answer(kind="unencodable", message=message))
            case "file", [str(path), str(content)]:
                self._file(path, content)
            case "bytes", [str(path), str(content)]:
                self._file(path, bytes.fromhex(content))
            case "removed", [str(path)]:
                if path in self._files or path in self.job.files:
                    self._files[path] = None
            case "folder", [str()]:
                pass
            case "outside", [str(doing), str(what)] if doing in DOINGS:
                self._outside.append((doing, what))
            case "usage", [str(message)] if self._plan is None:
                self._detail = message
            case "status", [int(status)] if self._status is None:
                self._status = status & 0xFF
            case "exit", [int(status)]:
                self._status = status & 0xFF
                raise Stop(End.EXITED, f"the program left with {self._status}")
            case "broken", [str(message)]:
                raise Stop(End.CRASHED, f"raised in the runner: {message}")
            case "overflow", []:
                raise Stop(End.OUTPUT, self._too_much())
            case "done", [list() as broken]:
                self._tampered = tuple(texts(broken))
                self._check_complete()
                self.done = True
            case _:
                raise ValueError(kind)

    def _too_much(self) -> str:
        return f"more than {self.job.limits.output_bytes} bytes of output"

    def _print(self, stream: str, data: bytes) -> None:
        room = self.job.limits.output_bytes - self._output_bytes
        self._output.append((stream, data[:room]))
        self._output_bytes += len(data)
        if len(data) > room:
            raise Stop(End.OUTPUT, self._too_much())

    def _planned(self, ids: list[str]) -> None:
        if self._plan is not None or not isinstance(self.job, Tests) or len(ids) > TESTS_MAX:
            raise ValueError("plan")
        self._plan = dict.fromkeys(ids)

    def _start(self, test_id: str) -> None:
        if self._running is not None or (self._plan or {}).get(test_id, 0) is not None:
            raise ValueError("start")
        self._running = (test_id, len(self._output))

    def _end(self, test_id: str, outcome: str, message: str, trace: str) -> None:
        plan = self._plan or {}
        begun = self._running[0] if self._running else test_id
        if begun != test_id or plan.get(test_id, 0) is not None or outcome not in OUTCOMES:
            raise ValueError("end")
        first = self._running[1] if self._running else len(self._output)
        plan[test_id] = TestResult(
            test_id=test_id,
            outcome=cast("TestOutcome", outcome),
            message=message,
            trace=trace,
            output=text_of(self._output[first:]),
        )
        self._running = None

    def _answer(self, answer: Answer) -> None:
        if not isinstance(self.job, Calls) or len(self._answers) >= len(self.job.calls):
            raise ValueError("answer")
        self._answers.append(answer)

    def _file(self, path: str, content: str | bytes) -> None:
        # Every version of a file crosses the wall; a program that rewrites one without end is
        # stopped by what all events weigh together.
        if not is_plain(path) or len(self._files) > 2 * self.job.limits.files:
            raise ValueError("file")
        self._files[path] = content

    def _check_complete(self) -> None:
        missing = [i for i, held in (self._plan or {}).items() if held is None]
        if missing or self._running is not None:
            raise Stop(End.CRASHED, f"the runner ended without {missing[:1]}")

    def result(self, end: End, detail: str, fuel: int, sandbox: str) -> Result:
        """Give what has become of the job."""
        given = self.job.files
        cut_off = end is not End.DONE
        tests: list[TestResult] = []
        for test_id, held in (self._plan or {}).items():
            if held is not None:
                tests.append(held)
                continue
            running = self._running is not None and self._running[0] == test_id
            at = self._running[1] if running and self._running else len(self._output)
            tests.append(
                TestResult(
                    test_id=test_id,
                    outcome="cut" if running else "not_run",
                    message=detail if running else "",
                    output=text_of(self._output[at:]),
                )
            )
        answers = list(self._answers)
        if isinstance(self.job, Calls):
            for index in range(len(answers), len(self.job.calls)):
                kind: Any = "cut" if cut_off and index == len(self._answers) else "not_run"
                answers.append(Answer(kind=kind, message=detail if kind == "cut" else ""))
        changed = {
            path: content
            for path, content in self._files.items()
            if raw(content) != raw(given.get(path))
        }
        return Result(
            end=end,
            fuel=fuel,
            detail=detail or self._detail,
            tests=tuple(tests),
            answers=tuple(answers),
            exit_code=self._status if end in (End.DONE, End.EXITED) else None,
            stdout=text_of([o for o in self._output if o[0] == "stdout"]),
            stderr=text_of([o for o in self._output if o[0] == "stderr"]),
            files=changed,
            tampered=self._tampered,
            outside=tuple(self._outside),
            sandbox=sandbox,
        )


def texts(items: list[Any]) -> list[str]:
    """Check that all items are texts. Raises ValueError."""
    if not all(isinstance(item, str) for item in items):
        raise ValueError("texts")
    return items


def value_answer(data: Any, after: Any) -> Answer:
    """Give the answer of a call that returned, where a recording can hold what it returned."""
    if depth(data) > ANSWER_DEPTH_MAX or depth(after) > ANSWER_DEPTH_MAX:
        return Answer(kind="unencodable", message="a value of too many levels")
    # The guest gives larger ones as text, and a recording couldn't hold them.
    if not (has_small_ints(data) and has_small_ints(after)):
        raise ValueError("value")
    try:
        form(data)
        form(after)
    except ValueError as error:
        return Answer(kind="unencodable", message=str(error)[:300])
    return Answer(kind="value", data=data, after=after)


def has_small_ints(data: Any) -> bool:
    """Say whether all numbers are below 2**53."""
    if isinstance(data, list):
        return all(map(has_small_ints, data))
    return not isinstance(data, int) or -PLAIN_INT < data < PLAIN_INT


def depth(data: Any) -> int:
    """Count the levels of nested lists."""
    level, layer = 0, [data]
    while layer := [item for held in layer if isinstance(held, list) for item in held]:
        level += 1
    return level


def raw(content: str | bytes | None) -> bytes | None:
    """Give a file's bytes."""
    return content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content


def text_of(output: list[tuple[str, bytes]]) -> str:
    """Join output; bytes that are no text, and a character that was cut, are shown as U+FFFD."""
    return b"".join(data for _, data in output).decode("utf-8", "replace")
