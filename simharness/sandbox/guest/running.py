"""Runs collected tests one after the other and says of each how it ended."""

# The program's objects are of any type, and nothing is known of them.
# pyright: reportUnknownArgumentType=false, reportUnknownLambdaType=false
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false

from __future__ import annotations

import inspect
import sys
import traceback
import unittest
from typing import TYPE_CHECKING, Any

from simharness.sandbox.guest import asserts, fixtures
from simharness.sandbox.guest.pytest_names import OutcomeException, Skipped, XFailed

if TYPE_CHECKING:
    from simharness.sandbox.guest.collect import Item
    from simharness.sandbox.guest.plugins import Plugins

MESSAGE_MAX = 2000
TRACE_MAX = 6000
HEAD, TAIL = 10, 20
"""Calls shown of a traceback: finding the lines of a thousand costs more than most programs."""
OURS = "/simharness/sandbox/guest/"

# Bound before any test can patch them.
_TestResult = unittest.TestResult
_walk_tb = traceback.walk_tb
_extract = traceback.StackSummary.extract


class Ended:
    """How one phase of a test ended; plugins may read and write it as pytest's report."""

    def __init__(self, item: Item, when: str, error: BaseException | None) -> None:
        self.nodeid = item.nodeid
        self.when = when
        self.error = error
        self.outcome = "passed"
        self.wasxfail: str | None = None
        self.longrepr: Any = None
        self.message = ""
        self._item = item
        self.sections: list[Any] = []
        self.duration = 0.0
        if isinstance(error, Skipped | unittest.SkipTest):
            self.outcome = "skipped"
            self.message = _text_of(error)
        elif error is not None:
            self.outcome = "failed"
            self.message = told(error)
            self.longrepr = trace(error)

    keywords = property(lambda self: self._item.keywords)
    passed = property(lambda self: self.outcome == "passed")
    failed = property(lambda self: self.outcome == "failed")
    skipped = property(lambda self: self.outcome == "skipped")


class Call:
    """What a plugin's `pytest_runtest_makereport` is given of a phase."""

    def __init__(self, when: str, error: BaseException | None) -> None:
        self.when = when
        self.excinfo = None if error is None else _Info(error)


class _Info:
    def __init__(self, error: BaseException) -> None:
        self.value = error
        self.type = type(error)
        self.typename = type(error).__name__
        self.tb = error.__traceback__


def _text_of(error: BaseException) -> str:
    try:
        return str(error)[:MESSAGE_MAX]
    except Exception:
        return f"<{type(error).__name__} that can't be shown>"


def told(error: BaseException) -> str:
    """Say in a line or a few what was raised."""
    text = _text_of(error)
    name = type(error).__name__
    if isinstance(error, OutcomeException):
        return text
    if name == "AssertionError" and not text:
        text = _statement(error)
    return f"{name}: {text}" if text else name


def trace(error: BaseException) -> str:
    """Give the way to an error through the files of the tree."""
    try:
        theirs = [(f, n) for f, n in _walk_tb(error.__traceback__) if not hidden(f)]
        lines = _extract(theirs[:HEAD]).format()
        if len(theirs) > HEAD + TAIL:
            lines.append(f"  [{len(theirs) - HEAD - TAIL} more calls]\n")
        lines += _extract(theirs[HEAD:][-TAIL:]).format()
        if isinstance(error, SyntaxError):
            lines += traceback.format_exception_only(error)
        else:
            lines.append(f"{told(error)}\n")
    except Exception as broken:
        lines = [f"{type(error).__name__} (its traceback can't be shown: {type(broken).__name__})"]
    return "".join(lines)[-TRACE_MAX:]


def _statement(error: BaseException) -> str:
    """Give the line that a bare AssertionError comes from."""
    try:
        frames = [(f, n) for f, n in _walk_tb(error.__traceback__) if not hidden(f)]
        return _extract(frames[-1:])[0].line or ""
    except Exception:
        return ""


def hidden(frame: Any) -> bool:
    """Say whether a frame is the runner's, or one that no traceback shows elsewhere."""
    name = frame.f_code.co_filename
    return OURS in name or name == "/python/_pyio.py" or "__unittest" in frame.f_globals


class Outcome:
    """The result of one test."""

    def __init__(self, nodeid: str, outcome: str, message: str, trace_text: str) -> None:
        self.nodeid = nodeid
        self.outcome = outcome
        self.message = message
        self.trace = trace_text


class Tests:
    """One run of tests."""

    def __init__(self, plugins: Plugins, run: fixtures.FixtureRun) -> None:
        self._plugins = plugins
        self._fixtures = run
        self._class: Any = None
        self._class_error: BaseException | None = None
        self._module: Any = None
        self._module_error: BaseException | None = None

    def run(self, item: Item, following: Item | None) -> Outcome:
        """Run one test through its phases."""
        skipped = self._skip(item)
        if skipped is not None:
            self._teardown(item, following)
            return Outcome(item.nodeid, "skipped", skipped, "")
        phases: list[Ended] = []
        setup = self._phase(item, "setup", lambda: self._setup(item))
        phases.append(setup)
        if setup.outcome == "passed":
            phases.append(self._phase(item, "call", lambda: self._call(item)))
        phases.append(self._phase(item, "teardown", lambda: self._teardown_of(item, following)))
        return self._judge(item, phases)

    def _phase(self, item: Item, when: str, action: Any) -> Ended:
        error: BaseException | None = None
        try:
            self._plugins.call(f"pytest_runtest_{when}", item=item, nextitem=None)
            action()
        except BaseException as raised:
            error = raised
        call = Call(when, error)
        report: Ended = self._plugins.call(
            "pytest_runtest_makereport", lambda: Ended(item, when, error), item=item, call=call
        )
        self._plugins.call("pytest_runtest_logreport", report=report)
        return report

    def _judge(self, item: Item, phases: list[Ended]) -> Outcome:
        outcome, message, text = "passed", "", ""
        for report in phases:
            if report.outcome == "passed":
                continue
            outcome = report.outcome
            if outcome == "failed" and report.when != "call":
                outcome = "error"
            message, text = report.message, str(report.longrepr or "")
            break
        expected = _expected_failure(item)
        call = next((r for r in phases if r.when == "call"), phases[0])
        if isinstance(call.error, XFailed) and outcome in ("failed", "error"):
            return Outcome(item.nodeid, "xfailed", call.message, "")
        if expected is not None and outcome in ("passed", "failed", "error"):
            reason, strict, kinds = expected
            if outcome == "passed":
                if strict:
                    return Outcome(item.nodeid, "failed", f"[XPASS(strict)] {reason}", "")
                return Outcome(item.nodeid, "xpassed", reason, "")
            if kinds is None or isinstance(call.error, kinds):
                return Outcome(item.nodeid, "xfailed", reason, "")
        return Outcome(item.nodeid, outcome, message, text)

    def _skip(self, item: Item) -> str | None:
        for mark in item.iter_markers():
            if mark.name == "skip":
                return str(mark.kwargs.get("reason") or (mark.args or ("unconditional skip",))[0])
            if mark.name == "skipif":
                conditions = mark.args or (mark.kwargs.get("condition", True),)
                if any(_condition(c, item) for c in conditions):
                    return str(mark.kwargs.get("reason", ""))
        return None

    # --- set-up and tear-down -----------------------------------------------------------------

    def _setup(self, item: Item) -> None:
        if item.module is not self._module:
            self._module, self._module_error = item.module, None
            self._module_error = _try(item.module, ("setUpModule", "setup_module"), item.module)
        if self._module_error is not None:
            raise self._module_error
        if item.cls is not self._class:
            self._class, self._class_error = item.cls, None
            if item.cls is not None:
                names = ("setUpClass",) if item.unittest else ("setup_class",)
                self._class_error = _try(item.cls, names)
        if self._class_error is not None:
            raise self._class_error
        if item.cls is not None and not item.unittest:
            item.instance = item.cls()
        for name in self._fixtures.closure(item):
            self._fixtures.value(item, name)
        if not item.unittest:
            owner = item.instance if item.cls is not None else item.module
            name = "setup_method" if item.cls is not None else "setup_function"
            _raise(_try(owner, (name,), item.function))

    def _teardown_of(self, item: Item, following: Item | None) -> None:
        errors: list[BaseException | None] = []
        if not item.unittest:
            owner = item.instance if item.cls is not None else item.module
            name = "teardown_method" if item.cls is not None else "teardown_function"
            errors.append(_try(owner, (name,), item.function))
        errors += self._teardown(item, following)
        for error in errors:
            _raise(error)

    def _teardown(self, item: Item, following: Item | None) -> list[BaseException | None]:
        errors: list[BaseException | None] = [*self._fixtures.end(item, following)]
        leaving = following is None or following.cls is not item.cls
        if leaving and self._class is not None and self._class is item.cls:
            names = ("tearDownClass",) if item.unittest else ("teardown_class",)
            errors.append(_try(item.cls, names))
            if item.unittest:
                item.cls.doClassCleanups()
            self._class = None
        if (following is None or following.module is not item.module) and self._module is not None:
            pair = ("tearDownModule", "teardown_module")
            errors.append(_try(self._module, pair, self._module))
            self._module = None
        return errors

    # --- the test itself ----------------------------------------------------------------------

    def _call(self, item: Item) -> None:
        if item.unittest:
            _run_unittest(item)
            return
        function = item.function
        if item.cls is not None:
            function = getattr(item.instance, item.originalname)
        values = {name: self._fixtures.value(item, name) for name in item.arguments}
        made = function(**values)
        if inspect.iscoroutine(made):
            made.close()
            raise OutcomeException("async def functions are not natively supported")
        if made is not None and inspect.isgenerator(made):
            raise OutcomeException("yield tests are not supported")


class _Verdict(_TestResult):
    """Collects what a unittest method reports of itself, first problem first."""

    def __init__(self) -> None:
        super().__init__()
        self.problem: BaseException | None = None
        self.unexpected = False
        self.expected: BaseException | None = None

    def addError(self, test: Any, err: Any) -> None:  # noqa: N802
        self.problem = self.problem or err[1]

    def addFailure(self, test: Any, err: Any) -> None:  # noqa: N802
        self.problem = self.problem or err[1]

    def addSubTest(self, test: Any, subtest: Any, err: Any) -> None:  # noqa: N802
        if err is not None:
            self.problem = self.problem or err[1]

    def addSkip(self, test: Any, reason: str) -> None:  # noqa: N802
        self.problem = self.problem or unittest.SkipTest(reason)

    def addExpectedFailure(self, test: Any, err: Any) -> None:  # noqa: N802
        self.expected = err[1]

    def addUnexpectedSuccess(self, test: Any) -> None:  # noqa: N802
        self.unexpected = True


def _run_unittest(item: Item) -> None:
    verdict = _Verdict()
    item.cls(item.originalname).run(verdict)
    if verdict.problem is not None:
        raise verdict.problem
    if verdict.expected is not None:
        raise XFailed(told(verdict.expected))
    if verdict.unexpected:
        raise AssertionError("Unexpected success")
    if not verdict.testsRun:
        raise AssertionError("the test did not run")


def _try(owner: Any, names: tuple[str, ...], argument: Any = None) -> BaseException | None:
    """Call the first of these that is there, with or without the argument; give what it raised."""
    for name in names:
        function = getattr(owner, name, None)
        if callable(function):
            try:
                takes = bool(fixtures.needs(function))
                function(argument) if takes else function()
            except BaseException as error:
                return error
            return None
    return None


def _raise(error: BaseException | None) -> None:
    if error is not None:
        raise error


def _condition(condition: Any, item: Item) -> bool:
    if isinstance(condition, str):
        import os
        import platform

        names = {"os": os, "sys": sys, "platform": platform, **vars(item.module)}
        return bool(eval(condition, names))
    return bool(condition)


def _expected_failure(item: Item) -> tuple[str, bool, Any] | None:
    for mark in item.iter_markers("xfail"):
        conditions = mark.args or (mark.kwargs.get("condition", True),)
        if any(_condition(c, item) for c in conditions):
            reason = str(mark.kwargs.get("reason", ""))
            return reason, bool(mark.kwargs.get("strict")), mark.kwargs.get("raises")
    return None


def problem_text(error: BaseException) -> tuple[str, str]:
    """Give message and traceback of a file that could not be collected."""
    return told(error), trace(error)


__all__ = ["Ended", "Outcome", "Tests", "asserts", "problem_text", "told", "trace"]
