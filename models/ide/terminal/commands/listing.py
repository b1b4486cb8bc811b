"""The commands ls and find."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from simharness.api import format_instant
from simharness.models.ide.repository.objects import EXECUTABLE
from simharness.models.ide.terminal import wildcard
from simharness.models.ide.terminal.call import Call, Place, Trouble
from simharness.models.ide.terminal.options import BadOption, Options
from simharness.models.ide.terminal.streams import Streams

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator

    from simpy.events import Event

MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
HALF_YEAR = 31_556_952 // 2 * 1_000_000
BLOCK = 4_096
OWNER = "agent"


@dataclass(frozen=True, slots=True)
class Item:
    """One line of a listing."""

    name: str
    place: Place
    size: int
    stamp: int
    links: int
    executable: bool

    @property
    def folder(self) -> bool:
        """Tell whether it is a folder."""
        return self.place.kind == "folder"


def item_of(call: Call, name: str, place: Place) -> Item:
    """Look at what is at a place."""
    within = place.inner
    if place.kind == "folder":
        inner = (call.find(f"{place.path.rstrip('/')}/{each}") for each in call.names(place))
        links = 2 + sum(each.kind == "folder" for each in inner)
        stamp = 0 if within is None else call.tree.stamp(within)
        return Item(name, place, BLOCK, stamp, links, False)
    if within is None:
        return Item(name, place, 0, 0, 1, False)
    file = call.tree.entries[within]
    size = len(file.text.encode("utf-8", "surrogatepass"))
    return Item(name, place, size, call.tree.stamp(within), 1, file.mode == EXECUTABLE)


def ls(call: Call) -> int:
    """List files and what is in folders."""
    try:
        options = call.options(
            "laA1RdrtSFphC",
            {
                "all": "a", "almost-all": "A", "recursive": "R", "directory": "d", "reverse": "r",
                "classify": "F", "human-readable": "h", "color?": "color",
            },
        )  # fmt: skip
    except BadOption as error:
        return call.usage(error, 2)
    status = 0
    files: list[Item] = []
    folders: list[Item] = []
    for name in sorted(options.rest or ["."]):
        try:
            item = item_of(call, name, call.exists(name))
        except Trouble as trouble:
            status = call.fail(f"cannot access '{name}': {trouble.text}", 2)
            continue
        (folders if item.folder and "d" not in options else files).append(item)
    files = arranged(files, options)
    call.print(listed(call, files, options))
    headed = "R" in options or len(options.rest) > 1
    first = not files
    for item in arranged(folders, options):
        show_folder(call, item.name, item.place, options, headed=headed, first=first)
        first = False
    return status


def show_folder(
    call: Call, name: str, place: Place, options: Options, *, headed: bool, first: bool
) -> None:
    """List one folder, and with -R those in it."""
    heading = "" if first else "\n"
    if headed:
        heading += f"{name}:\n"
    every = "a" in options
    hidden = every or "A" in options
    items = [
        item_of(call, inner, call.find(f"{place.path.rstrip('/')}/{inner}"))
        for inner in call.names(place)
        if hidden or not inner.startswith(".")
    ]
    below = list(items)
    if every:
        items.append(item_of(call, ".", place))
        items.append(item_of(call, "..", call.find(f"{place.path.rstrip('/')}/..")))
    items = arranged(items, options)
    call.print(heading if headed else "")
    if "l" in options:
        call.print(f"total {sum(blocks(item) for item in items)}\n")
    call.print(listed(call, items, options))
    if "R" in options:
        for item in arranged(below, options):
            if item.folder:
                inner = f"{name.rstrip('/') or '/'}/{item.name}".replace("//", "/")
                show_folder(call, inner, item.place, options, headed=True, first=False)


def blocks(item: Item) -> int:
    """Count the kilobytes that something takes on a disk."""
    return -(-item.size // BLOCK) * BLOCK // 1_024


def arranged(items: list[Item], options: Options) -> list[Item]:
    """Put items in the order that the options ask for."""
    by = options.last("tS")
    out = sorted(items, key=lambda item: item.name)
    if by == "t":
        out.sort(key=lambda item: -item.stamp)
    elif by == "S":
        out.sort(key=lambda item: -item.size)
    return out[::-1] if "r" in options else out


def listed(call: Call, items: list[Item], options: Options) -> str:
    """Write items, one a line."""
    if "l" not in options:
        return "".join(item.name + ending(item, options) + "\n" for item in items)
    sizes = [size_of(item, human="h" in options) for item in items]
    wide = max(map(len, sizes), default=0)
    links = max((len(str(item.links)) for item in items), default=0)
    out: list[str] = []
    for item, size in zip(items, sizes, strict=True):
        mode = "drwxr-xr-x" if item.folder else "-rwxr-xr-x" if item.executable else "-rw-r--r--"
        when = date(item.stamp, call.shell.now)
        head = f"{mode} {item.links:{links}} {OWNER} {OWNER} {size:>{wide}} {when}"
        out.append(f"{head} {item.name}{ending(item, options)}\n")
    return "".join(out)


def ending(item: Item, options: Options) -> str:
    """Give the sign behind a name."""
    sign = options.last("Fp")
    if item.folder:
        return "/" if sign else ""
    return "*" if sign == "F" and item.executable else ""


def size_of(item: Item, *, human: bool) -> str:
    """Write a size in bytes, or as people like it."""
    if not human or item.size < 1_024:
        return str(item.size)
    # A tenth is rounded up, as it is for every size that is shown so.
    tenths = -(-item.size * 10 // 1_024)
    if tenths < 100:
        return f"{tenths // 10}.{tenths % 10}K"
    kilo = -(-item.size // 1_024)
    return f"{kilo}K" if kilo < 1_024 else f"{-(-kilo // 1_024)}M"


def date(stamp: int, now: int) -> str:
    """Write when something was changed, as ls does."""
    text = format_instant(stamp)
    day = f"{MONTHS[int(text[5:7]) - 1]} {int(text[8:10]):2}"
    recent = now - HALF_YEAR < stamp <= now
    return f"{day} {text[11:16]}" if recent else f"{day}  {text[:4]}"


# --- find -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Seen:
    """What find has come upon."""

    shown: str
    place: Place
    depth: int
    item: Item


class Finder:
    """Reads the expression of a find, and judges what it comes upon."""

    def __init__(self, call: Call, words: list[str]) -> None:
        self.call = call
        self.words = words
        self.most = -1
        self.least = 0
        self.acts = False
        """Whether the expression itself prints or does something."""
        self.status = 0
        self.batches: dict[int, tuple[list[str], list[str]]] = {}
        """Commands that are run once, with all that was found, by their place."""

    # Tests give a generator, since -exec may take simulated time.
    def expression(self) -> Callable[[Seen], Generator[Event, object, bool]]:
        """Read the expression. Raises BadOption."""
        if not self.words:
            return always
        test = self._either()
        if self.words:
            raise BadOption(f"paths must precede expression: `{self.words[0]}'")
        return test

    def _either(self) -> Callable[[Seen], Generator[Event, object, bool]]:
        options = [self._both()]
        while self.words and self.words[0] in ("-o", "-or"):
            self.words.pop(0)
            options.append(self._both())

        def test(seen: Seen) -> Generator[Event, object, bool]:
            for option in options:
                if (yield from option(seen)):
                    return True
            return False

        return options[0] if len(options) == 1 else test

    def _both(self) -> Callable[[Seen], Generator[Event, object, bool]]:
        parts: list[Callable[[Seen], Generator[Event, object, bool]]] = []
        while self.words and self.words[0] not in ("-o", "-or", ")"):
            if self.words[0] in ("-a", "-and") and parts:
                self.words.pop(0)
            parts.append(self._one())
        if not parts:
            raise BadOption("invalid expression; expected something on both sides of an operator")

        def test(seen: Seen) -> Generator[Event, object, bool]:
            for part in parts:
                if not (yield from part(seen)):
                    return False
            return True

        return parts[0] if len(parts) == 1 else test

    def _one(self) -> Callable[[Seen], Generator[Event, object, bool]]:
        if not self.words:
            raise BadOption("expected an expression")
        word = self.words.pop(0)
        if word in ("!", "-not"):
            inner = self._one()

            def negated(seen: Seen) -> Generator[Event, object, bool]:
                return not (yield from inner(seen))

            return negated
        if word == "(":
            inner = self._either()
            if not self.words or self.words.pop(0) != ")":
                raise BadOption("invalid expression; I was expecting to find a ')' somewhere")
            return inner
        if word in ("-exec", "-execdir"):
            return self._execution(word)
        if word == "-delete":
            self.acts = True
            return self._delete
        if word in ("-print", "-print0"):
            self.acts = True
            end = "\0" if word == "-print0" else "\n"

            def shown(seen: Seen) -> bool:
                self.call.print(seen.shown + end)
                return True

            return plain(shown)
        if word == "-empty":
            return plain(self._empty)
        if word == "-prune":
            return plain(lambda seen: True)
        return plain(self._test(word))

    def _argument(self, word: str) -> str:
        if not self.words:
            raise BadOption(f"missing argument to `{word}'")
        return self.words.pop(0)

    def _test(self, word: str) -> Callable[[Seen], bool]:
        if word in ("-name", "-iname", "-path", "-ipath", "-wholename"):
            tokens = wildcard.tokens_of(self._argument(word))
            ignore = word.startswith("-i")
            whole = word in ("-path", "-ipath", "-wholename")

            def named(seen: Seen) -> bool:
                name = seen.shown if whole else seen.shown.rstrip("/").rpartition("/")[2] or "/"
                return wildcard.matches(tokens, name, ignore_case=ignore)

            return named
        if word == "-type":
            kinds = self._argument(word).split(",")
            for kind in kinds:
                if kind not in ("f", "d", "l", "b", "c", "p", "s"):
                    raise BadOption(f"Unknown argument to -type: {kind}")
            return lambda seen: ("d" if seen.item.folder else "f") in kinds
        if word in ("-maxdepth", "-mindepth"):
            text = self._argument(word)
            if not re.fullmatch(r"[0-9]{1,9}", text):
                raise BadOption(
                    f"Expected a positive decimal integer argument to {word}, but got '{text}'"
                )
            if word == "-maxdepth":
                self.most = int(text)
            else:
                self.least = int(text)
            return lambda seen: True
        if word == "-size":
            return self._sized(self._argument(word))
        if word == "-newer":
            other = self._argument(word)
            try:
                stamp = item_of(self.call, other, self.call.exists(other)).stamp
            except Trouble as trouble:
                raise BadOption(f"'{other}': {trouble.text}") from None
            return lambda seen: seen.item.stamp > stamp
        if word in ("-true", "-false"):
            return lambda seen: word == "-true"
        raise BadOption(f"unknown predicate `{word}'")

    def _sized(self, text: str) -> Callable[[Seen], bool]:
        found = re.fullmatch(r"([-+]?)([0-9]{1,12})([bcwkM]?)", text)
        if found is None:
            raise BadOption(f"Invalid argument `{text}' to -size")
        unit = {"": 512, "b": 512, "c": 1, "w": 2, "k": 1_024, "M": 1_048_576}[found[3]]
        wanted = int(found[2])

        def sized(seen: Seen) -> bool:
            count = -(-seen.item.size // unit)
            if found[1]:
                return count > wanted if found[1] == "+" else count < wanted
            return count == wanted

        return sized

    def _empty(self, seen: Seen) -> bool:
        if seen.item.folder:
            return not self.call.names(seen.place)
        return seen.item.size == 0

    def _delete(self, seen: Seen) -> Generator[Event, object, bool]:
        yield from ()
        within = seen.place.inner
        tree = self.call.tree
        if not within:
            return seen.shown == "."
        if seen.item.folder and tree.below(within):
            text = f"cannot delete '{seen.shown}': Directory not empty"
            self.status = self.call.fail(text)
            return False
        parent = within.rpartition("/")[0]
        if within in tree.entries:
            self.call.shell.size -= len(tree.entries[within].text)
            tree.remove(within)
        tree.keep_folder(parent, self.call.shell.now)
        return True

    def _execution(self, word: str) -> Callable[[Seen], Generator[Event, object, bool]]:
        self.acts = True
        command: list[str] = []
        while True:
            if not self.words:
                raise BadOption(f"missing argument to `{word}'")
            part = self.words.pop(0)
            if part == ";" or (part == "+" and command and command[-1] == "{}"):
                break
            command.append(part)
        if not command:
            raise BadOption(f"invalid argument `{part}' to `{word}'")
        place = len(self.batches)
        if part == "+":
            self.batches[place] = (command[:-1], [])

            def gathered(seen: Seen) -> bool:
                self.batches[place][1].append(seen.shown)
                return True

            return plain(gathered)

        def executed(seen: Seen) -> Generator[Event, object, bool]:
            filled = [part.replace("{}", seen.shown) for part in command]
            return (yield from self.execute(filled)) == 0

        return executed

    def execute(self, words: list[str]) -> Generator[Event, object, int]:
        """Run a command."""
        return (yield from run_for(self.call, words))


def run_for(call: Call, words: list[str], stdin: str = "") -> Generator[Event, object, int]:
    """Run a command for another one, on its streams."""
    return (yield from call.shell.execute(words, Streams(stdin, call.out, call.err)))


def always(seen: Seen) -> Generator[Event, object, bool]:
    """Judge that everything is wanted."""
    yield from ()
    return True


def plain(test: Callable[[Seen], bool]) -> Callable[[Seen], Generator[Event, object, bool]]:
    """Make a generator of a test that takes no time."""

    def judged(seen: Seen) -> Generator[Event, object, bool]:
        yield from ()
        return test(seen)

    return judged


def find(call: Call) -> Generator[Event, object, int]:
    """Find files and folders."""
    words = list(call.arguments)
    names: list[str] = []
    while words and not words[0].startswith("-") and words[0] not in ("(", "!", ")"):
        names.append(words.pop(0))
    finder = Finder(call, words)
    try:
        test = finder.expression()
    except BadOption as error:
        return call.fail(error.text)
    deepest_first = "-delete" in call.arguments or "-depth" in call.arguments
    for name in names or ["."]:
        try:
            start = call.exists(name)
        except Trouble as trouble:
            finder.status = call.fail(f"'{name}': {trouble.text}")
            continue
        every = list(walked(call, name, start, 0, finder.most))
        for seen in reversed(every) if deepest_first else every:
            if seen.depth < finder.least:
                continue
            if (yield from test(seen)) and not finder.acts:
                call.print(seen.shown + "\n")
    for command, found in finder.batches.values():
        if found and (yield from finder.execute([*command, *found])):
            finder.status = 1
    return finder.status


def walked(call: Call, shown: str, place: Place, depth: int, most: int) -> Iterator[Seen]:
    """Give a place and all below it, in the order of names."""
    yield Seen(shown, place, depth, item_of(call, shown, place))
    if place.kind != "folder" or depth == most:
        return
    for name in call.names(place):
        inner = call.find(f"{place.path.rstrip('/')}/{name}")
        yield from walked(call, f"{shown.rstrip('/')}/{name}", inner, depth + 1, most)
