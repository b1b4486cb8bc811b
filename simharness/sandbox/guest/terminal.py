"""`python -m pytest` in words: its options, and what it prints."""

# The program's objects are of any type, and nothing is known of them.
# pyright: reportUnknownArgumentType=false, reportUnknownLambdaType=false
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false

from __future__ import annotations

import io
import sys
from typing import TYPE_CHECKING, Any

from simharness.sandbox.guest.pytest_names import VERSION, OutcomeException, UsageError

if TYPE_CHECKING:
    from simharness.sandbox.guest.collect import Collector, Item, Problem
    from simharness.sandbox.guest.running import Outcome

WIDTH = 80
LETTERS = {
    "passed": ".",
    "failed": "F",
    "error": "E",
    "skipped": "s",
    "xfailed": "x",
    "xpassed": "X",
}
WORDS = {name: name.upper() for name in LETTERS} | {"xfailed": "XFAIL", "xpassed": "XPASS"}
ORDER = ("failed", "passed", "skipped", "xfailed", "xpassed", "error")
IGNORED_WITH_VALUE = ("--tb", "-r", "--color", "-W", "--durations", "-o", "-c", "--rootdir")
IGNORED = ("-s", "-l", "--no-header", "--strict-markers", "-vv", "--disable-warnings", "--capture")


class Options:
    """The command line of pytest, as far as it is known here."""

    def __init__(self, arguments: list[str]) -> None:
        self.paths: list[str] = []
        self.plugins: list[str] = []
        self.keyword = ""
        self.max_failures = 0
        self.verbose = 0
        self.quiet = False
        self.collect_only = False
        rest = list(arguments)
        while rest:
            word = rest.pop(0)
            name, equals, value = word.partition("=")
            if not word.startswith("-"):
                self.paths.append(word)
            elif word in ("-v", "--verbose", "-vv"):
                self.verbose += 1
            elif word in ("-q", "--quiet"):
                self.quiet = True
            elif word in ("-x", "--exitfirst"):
                self.max_failures = 1
            elif word in ("--collect-only", "--co"):
                self.collect_only = True
            elif name in ("-k", "-p", "--maxfail", *IGNORED_WITH_VALUE):
                if not equals:
                    if not rest:
                        raise UsageError(f"argument {word}: expected one argument")
                    value = rest.pop(0)
                self._take(name, value)
            elif word.startswith(("-p", "-k", "-r", "-W", "-o")) and len(word) > 2:
                self._take(word[:2], word[2:])
            elif name not in IGNORED:
                raise UsageError(f"unrecognized arguments: {word}")

    def _take(self, name: str, value: str) -> None:
        if name == "-k":
            self.keyword = value
        elif name == "-p" and not value.startswith("no:"):
            self.plugins.append(value)
        elif name == "--maxfail":
            self.max_failures = int(value)

    def selects(self, item: Item) -> bool:
        """Say whether `-k` lets a test run."""
        if not self.keyword:
            return True
        known = [*item.nodeid.lower().replace("/", "::").split("::"), *item.keywords]
        words = []
        for word in self.keyword.replace("(", " ( ").replace(")", " ) ").split():
            if word in ("and", "or", "not", "(", ")"):
                words.append(word)
            else:
                words.append(str(any(word.lower() in name.lower() for name in known)))
        try:
            return bool(eval(" ".join(words), {"__builtins__": {}}))
        except SyntaxError:
            raise UsageError(f"Wrong expression passed to '-k': {self.keyword}") from None


class Capture:
    """Standard output and error of a test, kept to be shown if it fails."""

    def __init__(self) -> None:
        self._before: tuple[Any, Any] = sys.stdout, sys.stderr
        self.streams = io.StringIO(), io.StringIO()
        sys.stdout, sys.stderr = self.streams

    def readouterr(self) -> Any:
        """Give what was written since the last time (the fixture `capsys`)."""
        import collections

        result: Any = collections.namedtuple("result", "out err")  # pyright: ignore
        texts = [stream.getvalue() for stream in self.streams]
        for stream in self.streams:
            stream.seek(0)
            stream.truncate()
        return result(*texts)

    def stop(self) -> None:
        """Write to where it was written before."""
        sys.stdout, sys.stderr = self._before


def bar(title: str, mark: str = "=") -> str:
    """Give a line with a title in the middle."""
    return f" {title} ".center(WIDTH, mark) if title else mark * WIDTH


def plural(count: int, word: str) -> str:
    """Give a count and a word."""
    return f"{count} {word}{'' if count == 1 else 's'}"


class Printer:
    """Prints a run as pytest does."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self.failures: list[tuple[str, str, str, str]] = []
        self.counts: dict[str, int] = dict.fromkeys(ORDER, 0)
        self._line = ""
        self._path = ""
        self._out = sys.stdout

    def say(self, text: str = "") -> None:
        """Print a line."""
        self._out.write(f"{text}\n")

    def header(self, collector: Collector, deselected: int) -> None:
        """Say what was found."""
        if self.options.quiet:
            return
        version = ".".join(map(str, sys.version_info[:3]))
        found = plural(len(collector.items) + deselected, "item")
        errors = [p for p in collector.problems if not p.skipped]
        more = f" / {plural(len(errors), 'error')}" if errors else ""
        chosen = (
            f" / {deselected} deselected / {len(collector.items)} selected" if deselected else ""
        )
        self.say(bar("test session starts"))
        self.say(f"platform {sys.platform} -- Python {version}, pytest-{VERSION}")
        self.say("rootdir: /repo")
        self.say(f"collected {found}{more}{chosen}")
        self.say()

    def problem(self, problem: Problem, message: str, trace: str) -> None:
        """Note a file that could not be collected."""
        if problem.skipped:
            self.counts["skipped"] += 1
            return
        self.counts["error"] += 1
        title = f"ERROR collecting {problem.nodeid}"
        self.failures.append((f"ERROR {problem.nodeid}", title, trace, message))

    def outcome(self, item: Item, outcome: Outcome, output: tuple[str, str]) -> None:
        """Print how a test ended."""
        self.counts[outcome.outcome] += 1
        if self.options.verbose:
            self.say(f"{item.nodeid} {WORDS[outcome.outcome]}")
        else:
            if item.path != self._path and not self.options.quiet:
                self.end_line()
                self._path = item.path
                self._out.write(f"{item.path} ")
            self._out.write(LETTERS[outcome.outcome])
            self._line = item.path
        if outcome.outcome in ("failed", "error"):
            text = outcome.trace or outcome.message
            for name, written in zip(("stdout", "stderr"), output, strict=True):
                if written:
                    text = f"{text.rstrip()}\n{bar(f'Captured {name} call', '-')}\n{written}"
            inside = item.nodeid.partition("::")[2].replace("::", ".")
            title = inside if outcome.outcome == "failed" else f"ERROR at setup of {inside}"
            word = "FAILED" if outcome.outcome == "failed" else "ERROR"
            self.failures.append((f"{word} {item.nodeid}", title, text, outcome.message))

    def end_line(self) -> None:
        """End a line of letters."""
        if self._line:
            self.say()
            self._line = ""

    def summary(self, stopped: str = "") -> None:
        """Print failures and counts."""
        self.end_line()
        if self.failures:
            word = "ERRORS" if all(f[0].startswith("ERROR") for f in self.failures) else "FAILURES"
            self.say()
            self.say(bar(word))
            for _, title, text, _ in self.failures:
                self.say(bar(title, "_"))
                self.say(text.rstrip())
            self.say(bar("short test summary info"))
            for head, _, _, message in self.failures:
                first = message.split("\n")[0][:160]
                self.say(f"{head} - {first}" if first else head)
        if stopped:
            self.say(bar(stopped, "!"))
        told = [f"{n} {name}" for name, n in self.counts.items() if n]
        told = [t.replace(" error", " errors") if not t.startswith("1 ") else t for t in told]
        line = f"{', '.join(told) or 'no tests ran'} in 0.00s"
        self.say(line if self.options.quiet else bar(line))


def exit_code(counts: dict[str, int], collected: bool) -> int:
    """Give pytest's exit code."""
    if counts["failed"] or counts["error"]:
        return 1
    return 0 if collected else 5


__all__ = ["Capture", "Options", "OutcomeException", "Printer", "exit_code"]
