"""Commands that run something: python, curl, sleep, xargs; and what belongs to the shell."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from simharness.api import SECOND
from simharness.models.ide.terminal.call import NO_FILE, Call, Trouble
from simharness.models.ide.terminal.commands.listing import run_for
from simharness.models.ide.terminal.options import BadOption
from simharness.models.ide.terminal.streams import Leave, Streams

if TYPE_CHECKING:
    from collections.abc import Generator

    from simpy.events import Event

NO_HOST = 6
"""Exit code of curl for a host that can't be resolved."""
MODULES = ("unittest", "pytest")
"""Modules that `python -m` runs."""
VERSION = "Python 3.12"
SLEEP_MAX = 3_600
NUMBER = re.compile(r"([0-9]{1,9})(?:\.([0-9]{1,6}))?([smh]?)")


def true(call: Call) -> int:
    """Succeed."""
    return 0


def false(call: Call) -> int:
    """Fail."""
    return 1


def leave(call: Call) -> int:
    """Exit the shell."""
    text = call.arguments[0] if call.arguments else str(call.shell.status)
    if not re.fullmatch(r"-?[0-9]{1,9}", text):
        call.err.write(f"bash: line 1: exit: {text}: numeric argument required\n")
        raise Leave(2)
    raise Leave(int(text) & 255)


def wait(call: Call) -> Generator[Event, object, int]:
    """Wait for what is in the background."""
    return (yield from call.shell.wait(Streams("", call.out, call.err)))


def export(call: Call) -> int:
    """Set variables for commands."""
    for word in call.arguments:
        name, equals, value = word.partition("=")
        if equals:
            call.shell.assign([(name, value)])
    return 0


def sleep(call: Call) -> Generator[Event, object, int]:
    """Let time pass."""
    if not call.arguments:
        return call.usage(BadOption("missing operand"))
    ticks = 0
    for word in call.arguments:
        found = NUMBER.fullmatch(word)
        if found is None:
            return call.usage(BadOption(f"invalid time interval '{word}'"))
        micros = int(found[1]) * SECOND + int((found[2] or "0").ljust(6, "0"))
        ticks += micros * {"": 1, "s": 1, "m": 60, "h": 3_600}[found[3]]
    yield from call.shell.host.sleep(min(ticks, SLEEP_MAX * SECOND))
    return 0


def python(call: Call) -> Generator[Event, object, int]:
    """Run a file, a text or a module of tests."""
    words = list(call.arguments)
    if words[:1] in (["-V"], ["--version"]):
        call.print(VERSION + "\n")
        return 0
    while words and words[0] in ("-u", "-B", "-s", "-E", "-I", "-q", "-O"):
        words.pop(0)
    stdin = call.stdin
    if not words or words[0] == "-":
        # The program is what is piped in.
        words, stdin = ["-c", stdin, *words[1:]], ""
    if words[0] == "-c" and len(words) < 2:
        call.err.write("Argument expected for the -c option\n")
        return 2
    if words[0] == "-m" and (len(words) < 2 or words[1].partition(".")[0] not in MODULES):
        if len(words) < 2:
            call.err.write("Argument expected for the -m option\n")
            return 2
        call.err.write(f"/usr/bin/python: No module named {words[1]}\n")
        return 1
    if words[0].startswith("-") and words[0] not in ("-c", "-m"):
        call.err.write(f"Unknown option: {words[0][:2]}\n")
        return 2
    if not words[0].startswith("-"):
        try:
            place = call.exists(words[0])
            call.content(place)
        except Trouble as trouble:
            number = 2 if trouble.text == NO_FILE else 21
            call.err.write(
                f"python: can't open file '{words[0]}': [Errno {number}] {trouble.text}\n"
            )
            return 2
    folder = call.find(".").inner
    if folder is None:
        call.err.write("python: code is run in the repository only\n")
        return 2
    if folder and not any(call.tree.file(path) for path in call.tree.below(folder)):
        call.err.write("python: code is run in folders that hold files\n")
        return 2
    ran = yield from call.shell.host.run_python(words, stdin, folder)
    for path, text in sorted(ran.files.items()):
        if text is not None:
            try:
                call.write(path, text)
            except Trouble as trouble:
                call.fail(f"{path}: {trouble.text}")
        elif path in call.tree.entries:
            call.tree.remove(path)
            call.tree.keep_folder(path.rpartition("/")[0], call.shell.now)
    call.print(ran.stdout)
    call.err.write(ran.stderr)
    return ran.exit_code


def pytest(call: Call) -> Generator[Event, object, int]:
    """Run tests, as `python -m pytest` does."""
    call.arguments = ["-m", "pytest", *call.arguments]
    return (yield from python(call))


def curl(call: Call) -> Generator[Event, object, int]:
    """Fetch pages; there is no network but for the hosts that the task lists."""
    try:
        options = call.options(
            "sSfLkivIX:d:H:o:O",
            {
                "silent": "s", "show-error": "S", "fail": "f", "location": "L", "request=": "X",
                "data=": "d", "header=": "H", "output=": "o", "insecure": "k", "include": "i",
                "head": "I", "verbose": "v",
            },
        )  # fmt: skip
    except BadOption as error:
        words = error.text.replace("invalid option -- ", "option -").replace("'", "")
        call.fail(f"{words}: is unknown")
        call.err.write("curl: try 'curl --help' or 'curl --manual' for more information\n")
        return 2
    if not options.rest:
        call.fail("no URL specified!")
        call.err.write("curl: try 'curl --help' or 'curl --manual' for more information\n")
        return 2
    status = 0
    for url in options.rest:
        host = host_of(url)
        if not host:
            status = 3
            call.fail("(3) URL using bad/illegal format or missing URL")
            continue
        page = yield from call.shell.host.fetch_page(url, host)
        if page is None:
            status = NO_HOST
            if "s" not in options or "S" in options:
                call.fail(f"({NO_HOST}) Could not resolve host: {host}")
            continue
        target = options.value("o")
        if target is None:
            call.print(page)
            continue
        try:
            call.write(call.writable(target), page)
        except Trouble as trouble:
            call.err.write(f"Warning: Failed to open the file {target}: {trouble.text}\n")
            status = call.fail("(23) Failure writing output to destination", 23)
    return status


def host_of(url: str) -> str:
    """Give the host of a URL; empty for none."""
    try:
        parts = urlsplit(url if "://" in url else f"http://{url}")
        return parts.hostname or ""
    except ValueError:
        return ""


NUL_WARNING = (
    "WARNING: a NUL character occurred in the input.  It cannot be passed through in the argument "
    "list.  Did you mean to use the --null option?"
)


def xargs(call: Call) -> Generator[Event, object, int]:
    """Run a command with what is piped in as its arguments."""
    try:
        options = call.options(
            "0rn:I:",
            {"null": "0", "no-run-if-empty": "r", "max-args=": "n", "replace=": "I"},
            in_order=True,
        )
    except BadOption as error:
        return call.usage(error)
    command = options.rest or ["echo"]
    text = call.stdin
    mark = options.value("I")
    most = options.value("n")
    if most is not None and not re.fullmatch(r"[1-9][0-9]{0,8}", most):
        return call.fail(f'invalid number "{most}" for -n option')
    if "0" in options:
        words = [word for word in text.split("\0") if word]
    elif mark is not None:
        words = [line.strip(" \t") for line in text.split("\n") if line.strip(" \t")]
    else:
        words = quoted_words(text)
    if mark is not None:
        batches = [[part.replace(mark, word) for part in command] for word in words]
    else:
        size = int(most) if most is not None else max(len(words), 1)
        batches = [[*command, *words[i : i + size]] for i in range(0, len(words), size)]
        if not words and "r" not in options:
            batches = [command]
    if "0" not in options and "\0" in text:
        call.fail(NUL_WARNING)
    status = 0
    for batch in batches:
        code = yield from run_for(call, [word.partition("\0")[0] for word in batch])
        if code in (126, 127):
            return code
        if code:
            status = 123
    return status


def quoted_words(text: str) -> list[str]:
    """Cut a text at blanks, as xargs does: with quotes and backslashes."""
    out: list[str] = []
    word: list[str] | None = None
    quote = ""
    escaped = False
    for c in text:
        if escaped:
            word = [*(word or []), c]
            escaped = False
        elif quote:
            if c == quote:
                quote = ""
            else:
                word = [*(word or []), c]
        elif c == "\\":
            escaped = True
        elif c in "'\"":
            quote, word = c, word or []
        elif c in " \t\n":
            if word is not None:
                out.append("".join(word))
            word = None
        else:
            word = [*(word or []), c]
    return out if word is None else [*out, "".join(word)]


# --- test -----------------------------------------------------------------------------------------


def test(call: Call) -> int:
    """Say whether a condition holds."""
    words = list(call.arguments)
    if call.name == "[" and (not words or words.pop() != "]"):
        return call.fail("missing `]'", 2)
    try:
        return 0 if condition(call, words) else 1
    except BadOption as error:
        return call.fail(error.text, 2)


def condition(call: Call, words: list[str]) -> bool:
    """Judge a condition. Raises BadOption."""
    for sign, both in (("-o", any), ("-a", all)):
        if sign in words[1:-1] and len(words) > 3:
            at = words.index(sign, 1)
            return both((condition(call, words[:at]), condition(call, words[at + 1 :])))
    if words and words[0] == "!" and len(words) > 1:
        return not condition(call, words[1:])
    if len(words) < 2:
        return bool(words and words[0])
    if len(words) == 2:
        return single(call, words[0], words[1])
    if len(words) == 3:
        return double(*words)
    raise BadOption("too many arguments")


def single(call: Call, sign: str, word: str) -> bool:
    """Judge a condition on one word."""
    if sign in ("-z", "-n"):
        return bool(word) == (sign == "-n")
    try:
        place = call.find(word)
    except Trouble:
        return False
    if sign == "-s":
        return place.kind == "folder" or (place.kind == "file" and bool(call.content(place)))
    kinds = {"-e": ("file", "folder"), "-r": ("file", "folder"), "-w": ("file", "folder"),
             "-f": ("file",), "-d": ("folder",), "-x": ("folder",), "-L": ()}  # fmt: skip
    if sign not in kinds:
        raise BadOption(f"{sign}: unary operator expected")
    return place.kind in kinds[sign]


def double(one: str, sign: str, other: str) -> bool:
    """Judge a condition on two words."""
    if sign in ("=", "==", "!="):
        return (one == other) == (sign != "!=")
    if sign not in ("-eq", "-ne", "-lt", "-le", "-gt", "-ge"):
        raise BadOption(f"{sign}: binary operator expected")
    for word in (one, other):
        if not re.fullmatch(r"\s*[-+]?[0-9]{1,18}\s*", word):
            raise BadOption(f"{word}: integer expression expected")
    a, b = int(one), int(other)
    return {
        "-eq": a == b, "-ne": a != b, "-lt": a < b, "-le": a <= b, "-gt": a > b, "-ge": a >= b,
    }[sign]  # fmt: skip
