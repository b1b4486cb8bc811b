"""The two entry points of the component: `begin` a run, and make one more `call` in it."""

# The program's objects are of any type, and nothing is known of them.
# pyright: reportUnknownArgumentType=false, reportUnknownLambdaType=false
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# What is private to `System` is so that only system calls have plain names there.
# pyright: reportPrivateUsage=false

from __future__ import annotations

import atexit
import builtins
import importlib
import io
import json
import os
import random
import runpy
import sys
import traceback
import types
from typing import TYPE_CHECKING, Any

from simharness.sandbox.guest import imports, values
from simharness.sandbox.guest.clock import Clock, Entropy
from simharness.sandbox.guest.collect import Collector
from simharness.sandbox.guest.fixtures import FixtureRun
from simharness.sandbox.guest.folder import ROOT, SCRATCH, Folder
from simharness.sandbox.guest.integrity import Seal
from simharness.sandbox.guest.plugins import Plugins
from simharness.sandbox.guest.pytest_names import UsageError
from simharness.sandbox.guest.report import STDERR, STDOUT, Report, Stream, text_stream
from simharness.sandbox.guest.running import TAIL, Tests, hidden, problem_text, told, trace
from simharness.sandbox.guest.system import System, install
from simharness.sandbox.guest.terminal import Capture, Options, Printer, exit_code

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

FLAGS = ("-B", "-E", "-I", "-O", "-OO", "-P", "-S", "-b", "-d", "-q", "-s", "-u", "-v", "-x")

_loads = json.JSONDecoder().decode


class Guest:
    """The guest's side of one instance."""

    def __init__(self) -> None:
        self.report = Report()
        self.clock = Clock()
        self.entropy = Entropy()
        self.folder = Folder(self.report, self.clock)
        self.system = System(self.folder, self.report, self.clock, self.entropy)
        self.seal = Seal()
        self._kept: dict[str, Any] = {}

    def install(self, leave: Callable[[int], Any]) -> None:
        """Take the machine's place, before anything is frozen into the component.

        `leave` ends the interpreter at once.
        """
        self.system._leave = leave
        self.clock.install()
        self.entropy.install()
        install(self.system)
        _no_network(self.report)
        sys.dont_write_bytecode = True
        imports.install(self.folder)
        self.seal.close()

    # --- begin and call -----------------------------------------------------------------------

    def begin(self, request: str, send: Callable[[str], None]) -> None:
        """Lay out the files and do what the request asks for."""
        self._guarded(lambda: self._begin(_loads(request), send))

    def call(self, step: str) -> None:
        """Make one call; its arguments come as data, and so does what it gives."""
        self._guarded(lambda: self._call(_loads(step)))

    def _guarded(self, action: Callable[[], None]) -> None:
        # Whatever comes up here was thrown into the runner by the program that it runs, and an
        # exception that left the component would end it without a word.
        try:
            action()
        except BaseException as error:
            self.report.event("broken", told(error)[:500])

    def _begin(self, asked: Any, send: Callable[[str], None]) -> None:
        files = {path: text.encode("utf-8") for path, text in asked["files"].items()}
        files |= {path: bytes.fromhex(text) for path, text in asked["bytes"].items()}
        self.report.begin(send)
        self.clock.begin(asked["instant"])
        self.entropy.begin()
        self.folder.begin(files, asked["limits"])
        self.system._begin(asked["stdin"].encode("utf-8", "surrogateescape"))
        random.seed(0)
        sys.stdout = text_stream(Stream(self.report, STDOUT))
        sys.stderr = text_stream(Stream(self.report, STDERR))
        stdin = io.BytesIO(asked["stdin"].encode("utf-8", "surrogateescape"))
        sys.stdin = io.TextIOWrapper(stdin, encoding="utf-8", errors="surrogateescape")
        for name in ("stdin", "stdout", "stderr"):
            setattr(sys, f"__{name}__", getattr(sys, name))
        sys.path[:] = [ROOT]
        sys.path_importer_cache.clear()
        sys.argv[:] = [""]
        if asked["cwd"]:
            os.chdir(f"{ROOT}/{asked['cwd']}")
        match asked["mode"]:
            case "tests":
                self._tests(asked["paths"], asked["plugins"], asked["load"])
            case "command":
                self._command(asked["argv"])
            case _:
                return
        self.finish()

    def _call(self, asked: Any) -> None:
        if asked is None:
            self.finish()
            return
        try:
            function = self._target(asked["target"])
            args = [self._argument(data) for data in asked["args"]]
            kwargs = {name: self._argument(data) for name, data in asked["kwargs"].items()}
            given = function(*args, **kwargs)
        except BaseException as error:
            self._raised(error)
            return
        if asked["keep"]:
            self._kept[asked["keep"]] = given
            given = None
        try:
            data = values.encode(given)
            after = values.encode([args, kwargs])
        except (Exception, RecursionError) as error:
            self.report.event("unencodable", f"{type(error).__name__}: {error}"[:300])
            return
        self.report.event("value", data, after)

    def _target(self, name: str) -> Any:
        """Find what to call: `module:attribute`, or `.attribute` of something that was kept."""
        owner, _, attribute = name.partition(":")
        found = self._kept[owner[1:]] if owner.startswith("$") else importlib.import_module(owner)
        for part in attribute.split("."):
            found = getattr(found, part)
        return found

    def _argument(self, data: Any) -> Any:
        if type(data) is list and data and data[0] == "kept":
            return self._kept[data[1]]
        return values.decode(data)

    def _raised(self, error: BaseException) -> None:
        kinds = [f"{cls.__module__}.{cls.__qualname__}" for cls in type(error).__mro__]
        message = told(error)[:2000]
        self.report.event("raised", kinds, message, trace(error))

    def finish(self) -> None:
        """Say that the run came to its end by itself."""
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except Exception:
                # Whatever the program has put in the place of a stream.
                continue
        try:
            atexit._run_exitfuncs()
        except BaseException as error:
            self.report.output(STDERR, f"{told(error)}\n".encode("utf-8", "backslashreplace"))
        self.system._finish()
        self.report.event("done", self.seal.broken())

    # --- tests --------------------------------------------------------------------------------

    def _tests(self, paths: list[str], hooks: bool, load: list[str]) -> None:
        plugins = Plugins(hooks)
        collector = Collector(plugins, self.folder)
        try:
            for name in load if hooks else ():
                plugins.load(name)
            collector.collect(paths)
            items = self._modified(plugins, collector)
        except UsageError as error:
            self.report.event("usage", str(error)[:500])
            return
        except BaseException as error:
            self.report.event("usage", told(error))
            return
        self.report.event("plan", [p.nodeid for p in collector.problems], [i.nodeid for i in items])
        for problem in collector.problems:
            outcome = "skipped" if problem.skipped else "error"
            self.report.event("end", problem.nodeid, outcome, *problem_text(problem.error))
        tests = Tests(plugins, FixtureRun(None, Capture))
        for item, following in _with_next(items):
            self.report.event("start", item.nodeid)
            done = tests.run(item, following)
            self.report.event("end", item.nodeid, done.outcome, done.message, done.trace)
        plugins.call("pytest_sessionfinish", session=None, exitstatus=0)

    def _modified(self, plugins: Plugins, collector: Collector) -> list[Any]:
        plugins.call("pytest_configure", config=None)
        items = collector.items
        plugins.call("pytest_collection_modifyitems", session=None, config=None, items=items)
        return items

    def _pytest(self, arguments: list[str]) -> int:
        """Run pytest as its command line does, with plugins, and print."""
        plugins = Plugins(hooks=True)
        collector = Collector(plugins, self.folder)
        try:
            options = Options(arguments)
            for name in options.plugins:
                plugins.load(name)
            collector.collect(options.paths)
            found = self._modified(plugins, collector)
            items = [item for item in found if options.selects(item)]
        except UsageError as error:
            sys.stderr.write(f"ERROR: {error}\n")
            return 4
        deselected = len(found) - len(items)
        collector.items = items
        printer = Printer(options)
        printer.header(collector, deselected)
        for problem in collector.problems:
            printer.problem(problem, *problem_text(problem.error))
        if options.collect_only:
            for item in items:
                printer.say(item.nodeid)
            return 0
        broken = printer.counts["error"]
        if broken:
            word = "error" if broken == 1 else "errors"
            printer.summary(f"Interrupted: {broken} {word} during collection")
            return 2
        tests = Tests(plugins, FixtureRun(None, Capture))
        for item, following in _with_next(items):
            capture = Capture()
            try:
                done = tests.run(item, following)
            finally:
                capture.stop()
            out, err = capture.readouterr()
            printer.outcome(item, done, (out, err))
            failed = printer.counts["failed"] + printer.counts["error"]
            if options.max_failures and failed >= options.max_failures:
                printer.summary(f"stopping after {failed} failures")
                return 1
        printer.summary()
        status = exit_code(printer.counts, bool(items))
        plugins.call("pytest_sessionfinish", session=None, exitstatus=status)
        return status

    # --- programs -----------------------------------------------------------------------------

    def _command(self, argv: list[str]) -> None:
        """Run `python` with these arguments and tell its exit code."""
        try:
            status = self._python(list(argv))
        except SystemExit as error:
            status = _status(error.code)
        except BaseException as error:
            _show(error)
            status = 130 if isinstance(error, KeyboardInterrupt) else 1
        self.report.event("status", status)

    def _python(self, argv: list[str]) -> int:
        while argv and argv[0] in FLAGS:
            argv.pop(0)
        if argv and argv[0] in ("-V", "--version"):
            print(f"Python {sys.version.split()[0]}")
            return 0
        sys.path[0] = os.getcwd()
        main: Any = types.ModuleType("__main__")
        main.__builtins__ = builtins
        sys.modules["__main__"] = main
        if not argv or argv[0] == "-":
            sys.argv[:] = argv or [""]
            _execute(sys.stdin.read(), "<stdin>", main)
            return 0
        first, rest = argv[0], argv[1:]
        if first == "-c":
            if not rest:
                sys.stderr.write("Argument expected for the -c option\n")
                return 2
            sys.argv[:] = ["-c", *rest[1:]]
            _execute(rest[0], "<string>", main)
            return 0
        if first == "-m":
            if not rest:
                sys.stderr.write("Argument expected for the -m option\n")
                return 2
            return self._module(rest[0], rest[1:])
        if first.startswith("-"):
            sys.stderr.write(f"unknown option {first}\n")
            return 2
        full = os.path.join(os.getcwd(), first)
        if os.path.isdir(full):
            full = os.path.join(full, "__main__.py")
        try:
            with open(full, "rb") as file:
                source = file.read()
        except OSError as error:
            shown = f"[Errno {error.errno}] {error.strerror}"
            sys.stderr.write(f"python: can't open file {full!r}: {shown}\n")
            return 2
        sys.path[0] = os.path.dirname(os.path.normpath(full))
        sys.argv[:] = [first, *rest]
        main.__file__ = full
        _execute(source, full, main)
        return 0

    def _module(self, name: str, rest: list[str]) -> int:
        sys.argv[:] = [name, *rest]
        if name in ("pytest", "py.test"):
            return self._pytest(rest)
        if name == "unittest":
            import unittest

            unittest.main(module=None, argv=["python -m unittest", *rest])
            return 0
        runpy.run_module(name, run_name="__main__", alter_sys=True)
        return 0


def _with_next(items: list[Any]) -> Iterator[tuple[Any, Any]]:
    for index, item in enumerate(items):
        yield item, items[index + 1] if index + 1 < len(items) else None


def _execute(source: Any, path: str, module: Any) -> None:
    exec(compile(source, path, "exec", dont_inherit=True), module.__dict__)


def _status(code: object) -> int:
    if code is None:
        return 0
    if isinstance(code, int):
        return code & 0xFF
    sys.stderr.write(f"{code}\n")
    return 1


def _show(error: BaseException) -> None:
    """Print an exception as the interpreter does, without the frames of this runner."""
    tb, depth = _theirs(error)
    limit = -TAIL if depth > 2 * TAIL else None
    try:
        traceback.print_exception(type(error), error, tb, limit)
    except Exception as broken:
        sys.__stderr__.write(f"{type(error).__name__} ({type(broken).__name__} when shown)\n")  # type: ignore[union-attr]


def _theirs(error: BaseException) -> tuple[Any, int]:
    """Give the traceback without the frames that belong to no program, and its length."""
    steps: list[Any] = []
    tb: Any = error.__traceback__
    while tb is not None:
        if not hidden(tb.tb_frame) and tb.tb_frame.f_code.co_filename != "<frozen runpy>":
            steps.append(tb)
        tb = tb.tb_next
    chain: Any = None
    for step in reversed(steps):
        chain = types.TracebackType(chain, step.tb_frame, step.tb_lasti, step.tb_lineno)
    return chain, len(steps)


def _no_network(report: Report) -> None:
    """Refuse sockets as a machine without any network does."""
    import errno
    import socket

    def refuse(*args: Any, **options: Any) -> Any:
        report.event("outside", "network", repr(args)[:200] if args else "socket")
        raise OSError(errno.ENETUNREACH, os.strerror(errno.ENETUNREACH))

    module: Any = socket

    class Refused(module.socket):  # type: ignore[misc]
        def __init__(self, *args: Any, **options: Any) -> None:
            refuse()

    Refused.__name__ = Refused.__qualname__ = "socket"
    Refused.__module__ = "socket"
    module.socket = Refused
    for name in ("getaddrinfo", "gethostbyname", "gethostbyaddr", "create_connection"):
        if hasattr(module, name):
            setattr(module, name, refuse)


__all__ = ["SCRATCH", "Guest"]
