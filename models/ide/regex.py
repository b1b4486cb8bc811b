"""Regular expressions as POSIX and GNU have them, in time linear in the text.

A pattern comes from an agent, so it must not be able to keep the harness busy, as one with nested
repetitions does that backtracks. It is made into a machine whose states are followed all at once.
Of several matches the leftmost counts, and of those the longest. Back-references are refused.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

SIZE_MAX = 4_000
"""Most instructions that a pattern may be made into."""
REPEAT_MAX = 32_767
DEPTH_MAX = 100
"""Most groups inside of each other."""
CLASSES = {
    "alpha": "AZaz", "digit": "09", "alnum": "09AZaz", "upper": "AZ", "lower": "az",
    "space": "\t\r  ", "blank": "\t\t  ", "punct": "!/:@[`{~", "print": " ~", "graph": "!~",
    "cntrl": "\0\x1f\x7f\x7f", "xdigit": "09AFaf",
}  # fmt: skip
"""Ranges of each class, as pairs of their ends."""
WORD = "09AZ__az"
NO_BRACKET = "Unmatched [, [^, [:, [., or [="


class BadPattern(Exception):  # noqa: N818  (the caller's, not ours)
    """A pattern can't be read; the text is the one that grep shows."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text


class Chars(NamedTuple):
    """A set of characters."""

    ranges: str
    """Pairs of first and last character."""
    negated: bool = False

    def has(self, c: str) -> bool:
        """Tell whether a character is in it."""
        ranges = self.ranges
        for i in range(0, len(ranges), 2):
            if ranges[i] <= c <= ranges[i + 1]:
                return not self.negated
        return self.negated

    def has_any_case(self, c: str) -> bool:
        """Tell whether a character is in it, written small or large."""
        cases = (c, c.lower(), c.upper())
        inside = any(Chars(self.ranges).has(case) for case in cases if len(case) == 1)
        return inside != self.negated


ANY = Chars("", True)


# --- what a pattern says --------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class One:
    """One character of a set."""

    chars: Chars


@dataclass(frozen=True, slots=True)
class Assert:
    """A condition on what lies on both sides of a place."""

    kind: str
    """^ $ b B < > or (: no word before, ): no word behind."""


@dataclass(frozen=True, slots=True)
class Then:
    """One thing after the other."""

    parts: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Either:
    """One of several things."""

    options: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Repeat:
    """A thing several times."""

    part: Node
    low: int
    high: int | None


Node = One | Assert | Then | Either | Repeat
EMPTY = Then(())
ESCAPES: dict[str, Node] = {
    "w": One(Chars(WORD)),
    "W": One(Chars(WORD, True)),
    "s": One(Chars(CLASSES["space"])),
    "S": One(Chars(CLASSES["space"], True)),
    **{kind: Assert(kind) for kind in "bB<>"},
    "`": Assert("^"),
    "'": Assert("$"),
}


class Parser:
    """Reads one pattern."""

    def __init__(self, pattern: str, *, extended: bool) -> None:
        self._text = pattern
        self._place = 0
        self._extended = extended
        self._depth = 0
        self.warnings: list[str] = []
        """What is odd about it, such as what was escaped without need."""

    def parse(self) -> Node:
        """Read all of it. Raises BadPattern."""
        node = self._either()
        if self._place < len(self._text):
            raise BadPattern("Unmatched ) or \\)")
        return node

    def _looking_at(self, special: str) -> bool:
        """Tell whether an operator comes: escaped in a basic pattern, plain in an extended one."""
        return self._text.startswith(special if self._extended else "\\" + special, self._place)

    def _take(self, special: str) -> bool:
        if not self._looking_at(special):
            return False
        self._place += 1 if self._extended else 2
        return True

    def _either(self) -> Node:
        options = [self._then()]
        while self._take("|"):
            options.append(self._then())
        return options[0] if len(options) == 1 else Either(tuple(options))

    def _then(self) -> Node:
        parts: list[Node] = []
        first = True
        if self._extended:
            self._skip_repetition()
        while self._place < len(self._text) and not self._looking_at("|"):
            if self._looking_at(")") and (self._depth or not self._extended):
                break
            node = self._atom(first=first)
            # In a basic pattern a star behind the anchor is a star.
            first = first and not self._extended and node == Assert("^")
            if not first:
                node = self._repeated(node)
            parts.append(node)
            first = first and node == Assert("^")
        return parts[0] if len(parts) == 1 else Then(tuple(parts))

    def _atom(self, *, first: bool) -> Node:
        c = self._text[self._place]
        if self._take("("):
            self._depth += 1
            if self._depth > DEPTH_MAX:
                raise BadPattern("Regular expression too big")
            node = self._either()
            if not self._take(")"):
                raise BadPattern("Unmatched ( or \\(")
            self._depth -= 1
            return node
        self._place += 1
        if c == "\\":
            return self._escaped()
        if c == "[":
            return self._bracket()
        if c == ".":
            return One(ANY)
        if c == "^" and (self._extended or first):
            return Assert("^")
        if c == "$" and (self._extended or self._at_end()):
            return Assert("$")
        if c == ")" and self._extended:
            raise BadPattern("Unmatched ) or \\)")
        return One(Chars(c + c))

    def _at_end(self) -> bool:
        at = self._place
        return at == len(self._text) or self._text.startswith(("\\)", "\\|"), at)

    def _escaped(self) -> Node:
        if self._place == len(self._text):
            raise BadPattern("Trailing backslash")
        c = self._text[self._place]
        self._place += 1
        if c in "123456789":
            raise BadPattern("back-references are not supported")
        if c in ESCAPES:
            return ESCAPES[c]
        if c.isalnum() or (c not in "\\^$.*[]/-" and not self._extended and c not in "{}()|+?"):
            self.warnings.append(f"stray \\ before {c}")
        return One(Chars(c + c))

    # --- repetition -------------------------------------------------------------------------------

    def _repeated(self, node: Node) -> Node:
        while self._place < len(self._text):
            if self._text[self._place] == "*":
                self._place += 1
                node = Repeat(node, 0, None)
            elif self._take("+"):
                node = Repeat(node, 1, None)
            elif self._take("?"):
                node = Repeat(node, 0, 1)
            elif self._looking_at("{"):
                bounds = self._interval()
                if bounds is None:
                    return node
                node = Repeat(node, *bounds)
            else:
                return node
        return node

    def _skip_repetition(self) -> None:
        """Leave out what would repeat nothing."""
        while self._text[self._place : self._place + 1] in ("*", "+", "?"):
            if self._place == len(self._text):
                return
            self.warnings.append(f"{self._text[self._place]} at start of expression")
            self._place += 1

    def _interval(self) -> tuple[int, int | None] | None:
        """Read `{1,3}`; None in an extended pattern for what isn't one and so means itself."""
        start = self._place
        self._take("{")
        close = self._text.find("}" if self._extended else "\\}", self._place)
        inner = self._text[self._place : close] if close >= 0 else ""
        low, comma, high = inner.partition(",")
        digits = all(part.isascii() and (part.isdigit() or not part) for part in (low, high))
        if close < 0 or not digits or not inner or (not low and not comma):
            if self._extended:
                self._place = start
                return None
            raise BadPattern("Unmatched \\{" if close < 0 else "Invalid content of \\{\\}")
        first = int(low or "0")
        last = (int(high) if high else None) if comma else first
        if first > REPEAT_MAX or (last or 0) > REPEAT_MAX:
            raise BadPattern("Regular expression too big")
        if last is not None and first > last:
            raise BadPattern("Invalid content of \\{\\}")
        self._place = close + (1 if self._extended else 2)
        return first, last

    # --- brackets ---------------------------------------------------------------------------------

    def _bracket(self) -> Node:
        text = self._text
        negated = text.startswith("^", self._place)
        self._place += negated
        ranges: list[str] = []
        start = self._place
        while True:
            if self._place >= len(text):
                raise BadPattern(NO_BRACKET)
            if text[self._place] == "]" and self._place > start:
                self._place += 1
                return One(Chars("".join(ranges), negated))
            low = self._item(ranges)
            if low is None:
                continue
            high = low
            dashed = text.startswith("-", self._place)
            if dashed and not text.startswith("-]", self._place):
                self._place += 1
                if self._place >= len(text):
                    raise BadPattern(NO_BRACKET)
                end = self._item(ranges)
                if end is None or end < low:
                    raise BadPattern("Invalid range end")
                high = end
            ranges.append(low + high)

    def _item(self, ranges: list[str]) -> str | None:
        """Read one character; a class goes into the ranges, and gives None."""
        text, at = self._text, self._place
        sign = text[at + 1 : at + 2] if text[at] == "[" else ""
        if sign and sign in ":.=":
            close = text.find(sign + "]", at + 2)
            if close < 0:
                raise BadPattern(NO_BRACKET)
            name = text[at + 2 : close]
            self._place = close + 2
            if sign == ":":
                if name not in CLASSES:
                    raise BadPattern("Invalid character class name")
                ranges.append(CLASSES[name])
                return None
            if len(name) != 1:
                raise BadPattern("Invalid collation character")
            return name
        self._place = at + 1
        return text[at]


# --- the machine ----------------------------------------------------------------------------------

MATCH = -1
NOTHING, OTHER, LETTER = 0, 1, 2
"""What lies beside a place: the end of the line, no part of a word, part of one."""
WORD_CHARS = Chars(WORD)


def kind_of(c: str) -> int:
    """Tell whether a character is part of a word; an empty text is the end of the line."""
    return NOTHING if not c else LETTER if WORD_CHARS.has(c) or c.isalnum() else OTHER


def holds(kind: str, before: int, behind: int) -> bool:
    """Tell whether a condition holds between two kinds of neighbours."""
    if kind == "^":
        return before == NOTHING
    if kind == "$":
        return behind == NOTHING
    if kind == "(":
        return before != LETTER
    if kind == ")":
        return behind != LETTER
    starts = before != LETTER and behind == LETTER
    ends = before == LETTER and behind != LETTER
    if kind in "bB":
        return (starts or ends) == (kind == "b")
    return starts if kind == "<" else ends


class Step(NamedTuple):
    """One instruction: a character of `chars`, else a condition, else a fork."""

    chars: Chars | None
    condition: str
    targets: tuple[int, ...]
    """Where to go on; MATCH at the end."""


class Pattern:
    """A compiled pattern."""

    __slots__ = ("_cache", "_has", "_start", "_steps", "warnings")

    def __init__(self, node: Node, *, ignore_case: bool, warnings: Sequence[str] = ()) -> None:
        self.warnings = tuple(warnings)
        """What is odd about it."""
        self._steps: list[Step] = []
        self._has = Chars.has_any_case if ignore_case else Chars.has
        self._start = self._add(node, MATCH)
        self._cache: dict[tuple[tuple[int, ...], int, str], tuple[bool, tuple[int, ...]]] = {}

    # Built from the back, so that each instruction knows where it leads.
    def _put(self, chars: Chars | None, condition: str, targets: tuple[int, ...]) -> int:
        if len(self._steps) >= SIZE_MAX:
            raise BadPattern("Regular expression too big")
        self._steps.append(Step(chars, condition, targets))
        return len(self._steps) - 1

    def _add(self, node: Node, then: int) -> int:
        if isinstance(node, One):
            return self._put(node.chars, "", (then,))
        if isinstance(node, Assert):
            return self._put(None, node.kind, (then,))
        if isinstance(node, Then):
            for part in reversed(node.parts):
                then = self._add(part, then)
            return then
        if isinstance(node, Either):
            return self._put(None, "", tuple(self._add(option, then) for option in node.options))
        if node.high is None:
            loop = self._put(None, "", ())
            self._steps[loop] = Step(None, "", (self._add(node.part, loop), then))
            then = loop
        else:
            for _ in range(node.high - node.low):
                then = self._put(None, "", (self._add(node.part, then), then))
        for _ in range(node.low):
            then = self._add(node.part, then)
        return then

    def _closed(self, state: int, before: int, behind: int, seen: dict[int, None]) -> None:
        """Follow forks and conditions from a state; what is met goes into `seen`."""
        waiting = [state]
        while waiting:
            at = waiting.pop()
            if at in seen:
                continue
            seen[at] = None
            if at == MATCH:
                continue
            step = self._steps[at]
            if step.chars is None and (not step.condition or holds(step.condition, before, behind)):
                waiting += step.targets

    def search(self, line: str) -> bool:
        """Tell whether it matches anywhere in a line, which holds no newline."""
        cache = self._cache
        states: tuple[int, ...] = (self._start,)
        before = NOTHING
        for c in line:
            key = (states, before, c)
            found = cache.get(key)
            if found is None:
                found = cache[key] = self._step(states, before, c)
            if found[0]:
                return True
            states = found[1]
            before = kind_of(c)
        return self._step(states, before, "")[0]

    def _step(self, states: tuple[int, ...], before: int, c: str) -> tuple[bool, tuple[int, ...]]:
        seen: dict[int, None] = {}
        behind = kind_of(c)
        for state in states:
            self._closed(state, before, behind, seen)
        if MATCH in seen:
            return True, ()
        out: dict[int, None] = {}
        if c:
            for state in seen:
                step = self._steps[state]
                if step.chars is not None and self._has(step.chars, c):
                    out[step.targets[0]] = None
        out[self._start] = None
        return False, tuple(sorted(out))

    def span(self, line: str, start: int = 0) -> tuple[int, int] | None:
        """Give the leftmost match from a place on, and of those the longest."""
        best: tuple[int, int] | None = None
        states: dict[int, int] = {}
        """Where the earliest match that is in a state began."""
        for place in range(start, len(line) + 1):
            c = line[place] if place < len(line) else ""
            before = kind_of(line[place - 1] if place else "")
            behind = kind_of(c)
            if best is None:
                states.setdefault(self._start, place)
            closed: dict[int, int] = {}
            for state, began in sorted(states.items(), key=lambda item: (item[1], item[0])):
                seen = dict.fromkeys(closed)
                self._closed(state, before, behind, seen)
                for at in seen:
                    closed.setdefault(at, began)
            if MATCH in closed and (best is None or closed[MATCH] <= best[0]):
                best = (closed[MATCH], place)
            states = {}
            for state, began in closed.items():
                if state == MATCH or (best is not None and began > best[0]):
                    continue
                step = self._steps[state]
                if c and step.chars is not None and self._has(step.chars, c):
                    target = step.targets[0]
                    states[target] = min(states.get(target, began), began)
            if best is not None and not states:
                return best
        return best


def literal(text: str) -> Node:
    """Give the pattern that matches a text as it is."""
    return Then(tuple(One(Chars(c + c)) for c in text))


def compile_pattern(
    *patterns: str,
    extended: bool = False,
    fixed: bool = False,
    ignore_case: bool = False,
    whole_words: bool = False,
    whole_lines: bool = False,
) -> Pattern:
    """Compile patterns of which any may match; without any nothing does. Raises BadPattern."""
    options: list[Node] = []
    warnings: list[str] = []
    for each in patterns:
        if fixed:
            options.append(literal(each))
        else:
            parser = Parser(each, extended=extended)
            options.append(parser.parse())
            warnings += parser.warnings
    node: Node = options[0] if len(options) == 1 else Either(tuple(options))
    if whole_lines:
        node = Then((Assert("^"), node, Assert("$")))
    elif whole_words:
        node = Then((Assert("("), node, Assert(")")))
    return Pattern(node, ignore_case=ignore_case, warnings=warnings)
