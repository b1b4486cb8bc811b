"""The command grep."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from simharness.models.ide.regex import BadPattern, Pattern, compile_pattern
from simharness.models.ide.terminal import wildcard
from simharness.models.ide.terminal.call import IS_FOLDER, Call, Place, Trouble
from simharness.models.ide.terminal.options import BadOption, Options

if TYPE_CHECKING:
    from collections.abc import Iterator

SHORT = "rRnivEFGPlLcowxqshHm:A:B:C:e:f:aIyUz"
LONG = {
    "recursive": "r", "dereference-recursive": "R", "line-number": "n", "ignore-case": "i",
    "invert-match": "v", "extended-regexp": "E", "fixed-strings": "F", "basic-regexp": "G",
    "perl-regexp": "P", "files-with-matches": "l", "files-without-match": "L", "count": "c",
    "only-matching": "o", "word-regexp": "w", "line-regexp": "x", "quiet": "q", "silent": "q",
    "no-messages": "s", "no-filename": "h", "with-filename": "H", "max-count=": "m",
    "after-context=": "A", "before-context=": "B", "context=": "C", "regexp=": "e", "file=": "f",
    "include=": "include", "exclude=": "exclude", "exclude-dir=": "exclude-dir",
    "color?": "color", "colour?": "color", "text": "a", "binary": "U",
}  # fmt: skip
CONTEXT = re.compile(r"-[0-9]+")


@dataclass(slots=True)
class Search:
    """What is looked for, and how it is shown."""

    call: Call
    options: Options
    pattern: Pattern
    named: bool
    most: int
    """Lines at which a file is left; below 0 for none."""
    before: int = 0
    after: int = 0
    found: bool = False
    """Whether a line was selected."""
    failed: bool = False
    shown: bool = False
    """Whether a group of lines was shown, so that the next needs a line between."""
    globs: dict[str, list[list[wildcard.Token]]] = field(
        default_factory=dict[str, "list[list[wildcard.Token]]"]
    )

    def complain(self, text: str) -> None:
        """Print an error unless that isn't wanted."""
        self.failed = True
        if "s" not in self.options:
            self.call.fail(text)


def grep(call: Call) -> int:
    """Print the lines that match a pattern."""
    wide = [word for word in call.arguments if CONTEXT.fullmatch(word)]
    call.arguments = [word for word in call.arguments if not CONTEXT.fullmatch(word)]
    try:
        options = call.options(SHORT, LONG)
    except BadOption as error:
        call.fail(error.text)
        call.err.write(
            "Usage: grep [OPTION]... PATTERNS [FILE]...\nTry 'grep --help' for more information.\n"
        )
        return 2
    names = list(options.rest)
    try:
        patterns = patterns_of(call, options, names)
        if patterns is None:
            call.err.write(
                "Usage: grep [OPTION]... PATTERNS [FILE]...\n"
                "Try 'grep --help' for more information.\n"
            )
            return 2
        compiled = compiled_pattern(call, options, patterns)
        numbers = {letter: number_of(options, letter) for letter in "ABCm"}
    except (BadPattern, BadOption) as error:
        return call.fail(error.text, 2)
    except Trouble as trouble:
        return call.fail(f"{options.value('f')}: {trouble.text}", 2)
    around = numbers["C"] if numbers["C"] >= 0 else int(wide[-1][1:]) if wide else 0
    recursive = "r" in options or "R" in options
    named = options.last("hH") != "h" and (options.last("hH") == "H" or len(names) > 1 or recursive)
    search = Search(call, options, compiled, named, numbers["m"])
    search.before = numbers["B"] if numbers["B"] >= 0 else around
    search.after = numbers["A"] if numbers["A"] >= 0 else around
    for name in ("include", "exclude", "exclude-dir"):
        search.globs[name] = [wildcard.tokens_of(glob) for glob in options.values(name)]
    if len(names) == 1 and recursive and options.last("hH") != "H":
        search.named = named and is_folder(call, names[0])
    for title, text in sources(search, names, recursive):
        look_through(search, title, text)
        if search.found and "q" in options:
            return 0
    if search.failed:
        return 2
    return 0 if search.found else 1


def is_folder(call: Call, name: str) -> bool:
    """Tell whether a name is a folder."""
    try:
        return name != "-" and call.find(name).kind == "folder"
    except Trouble:
        return False


def patterns_of(call: Call, options: Options, names: list[str]) -> list[str] | None:
    """Give the patterns; the first name holds them where no option gives any."""
    patterns = options.values("e")
    for source in options.values("f"):
        text = call.read(source)
        patterns += text.removesuffix("\n").split("\n") if text else []
    if "e" not in options and "f" not in options:
        if not names:
            return None
        return names.pop(0).split("\n")
    return [line for pattern in patterns for line in pattern.split("\n")]


def compiled_pattern(call: Call, options: Options, patterns: list[str]) -> Pattern:
    """Compile the patterns. Raises BadPattern."""
    kind = options.last("EFGP")
    if kind == "P":
        raise BadPattern("Perl matching not supported in a --disable-perl-regexp build")
    compiled = compile_pattern(
        *patterns,
        extended=kind == "E",
        fixed=kind == "F",
        ignore_case="i" in options or "y" in options,
        whole_words="w" in options,
        whole_lines="x" in options,
    )
    for text in compiled.warnings:
        call.fail(f"warning: {text}")
    return compiled


def number_of(options: Options, letter: str) -> int:
    """Read a count; -1 where none is given. Raises BadOption."""
    value = options.value(letter)
    if value is None:
        return -1
    if not re.fullmatch(r"[0-9]{1,18}", value):
        what = "max count" if letter == "m" else "context length argument"
        lead = "" if letter == "m" else f"{value}: "
        raise BadOption(f"{lead}invalid {what}")
    return int(value)


def sources(search: Search, names: list[str], recursive: bool) -> Iterator[tuple[str, str]]:
    """Give the name and the text of each file that is to be searched."""
    call, options = search.call, search.options
    if not names:
        if not recursive:
            yield "(standard input)", call.stdin
            return
        yield from below(search, call.find("."), "")
        return
    for name in names:
        if name == "-":
            yield "(standard input)", call.stdin
            continue
        try:
            place = call.exists(name)
        except Trouble as trouble:
            search.complain(f"{name}: {trouble.text}")
            continue
        if place.kind == "folder":
            if recursive:
                if not chosen(search, name.rstrip("/").rpartition("/")[2], "exclude-dir"):
                    yield from below(search, place, name if name.endswith("/") else name + "/")
            else:
                search.complain(f"{name}: {IS_FOLDER}")
                if "c" in options or options.last("lL") == "L":
                    yield name, ""
        elif wanted(search, name):
            yield name, call.content(place)


def below(search: Search, place: Place, head: str) -> Iterator[tuple[str, str]]:
    """Give all files in a folder, by name."""
    call = search.call
    for name in call.names(place):
        inner = call.find(f"{place.path.rstrip('/')}/{name}")
        if inner.kind == "folder":
            if not chosen(search, name, "exclude-dir"):
                yield from below(search, inner, f"{head}{name}/")
        elif wanted(search, name):
            yield head + name, call.content(inner)


def chosen(search: Search, name: str, option: str) -> bool:
    """Tell whether one of the globs of an option matches a name."""
    return any(wildcard.matches(glob, name) for glob in search.globs[option])


def wanted(search: Search, name: str) -> bool:
    """Tell whether a file is to be searched, by its name."""
    base = name.rpartition("/")[2]
    if chosen(search, base, "exclude"):
        return False
    return not search.globs["include"] or chosen(search, base, "include")


def look_through(search: Search, title: str, text: str) -> None:
    """Search one file, and print what is found."""
    call, options, pattern = search.call, search.options, search.pattern
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    inverted = "v" in options
    listing = options.last("lL")
    hits: list[int] = []
    for number, line in enumerate(lines):
        if 0 <= search.most <= len(hits):
            break
        if pattern.search(line) != inverted:
            hits.append(number)
            if listing or "q" in options:
                break
    search.found = search.found or bool(hits)
    if "q" in options:
        return
    if listing:
        if bool(hits) == (listing == "l"):
            call.print(title + "\n")
    elif "c" in options:
        call.print(f"{title}:{len(hits)}\n" if search.named else f"{len(hits)}\n")
    elif "\0" in text and "a" not in options:
        if hits:
            call.print(f"Binary file {title} matches\n")
    elif "o" in options:
        if not inverted:
            for number in hits:
                print_matches(search, title, number, lines[number])
    else:
        print_lines(search, title, lines, hits)


def prefix(search: Search, title: str, number: int, sign: str) -> str:
    """Give what stands before a line."""
    head = title + sign if search.named else ""
    return f"{head}{number + 1}{sign}" if "n" in search.options else head


def print_matches(search: Search, title: str, number: int, line: str) -> None:
    """Print what matches in a line, each by itself."""
    place = 0
    while place <= len(line):
        span = search.pattern.span(line, place)
        if span is None:
            return
        start, end = span
        if end > start:
            search.call.print(f"{prefix(search, title, number, ':')}{line[start:end]}\n")
        place = max(end, start + 1)


def print_lines(search: Search, title: str, lines: list[str], hits: list[int]) -> None:
    """Print the lines that were selected, with those around them."""
    call = search.call
    before, after = search.before, search.after
    shown = -1
    """The last line that was printed."""
    for place, number in enumerate(hits):
        start = max(number - before, shown + 1)
        if (before or after) and (start > shown + 1 or shown < 0) and (search.shown or shown >= 0):
            call.print("--\n")
        for near in range(start, number):
            call.print(f"{prefix(search, title, near, '-')}{lines[near]}\n")
        call.print(f"{prefix(search, title, number, ':')}{lines[number]}\n")
        shown = number
        stop = hits[place + 1] if place + 1 < len(hits) else len(lines)
        for near in range(number + 1, min(number + after + 1, stop)):
            call.print(f"{prefix(search, title, near, '-')}{lines[near]}\n")
            shown = near
    search.shown = search.shown or bool(hits)
