"""What a colleague does to the very file that a ticket is about, while an agent works on it."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from simharness.models.ide.repository.indent import indent_of
from simharness.models.ide.repository.lines import hunks, split_lines
from simharness.models.ide.tickets import Probe

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from simharness.models.ide.repository.lines import Hunk
    from simharness.models.ide.tickets import Ticket

PLACES = ("end", "above", "beside")
"""Where a colleague writes something beside a new function at the end of the file: nowhere, in a
line above the first one that has to change, or at the end of that line."""


@dataclass(frozen=True, slots=True)
class Helper:
    """A function that a colleague adds: whole by itself, and about nothing of a ticket."""

    name: str
    text: str
    calls: tuple[tuple[Any, ...], ...]
    """Arguments that it is tried with."""


HELPERS = (
    Helper(
        "initials_of",
        '''def initials_of(full_name):
    """Give the first letters of the words of a name, in capitals."""
    return "".join(word[0].upper() for word in full_name.split())
''',
        (("ada min",), ("",), ("Jan van der Vogel",), ("  two  ",)),
    ),
    Helper(
        "within_office_hours",
        '''def within_office_hours(hour, opens=9, closes=17):
    """Tell whether an hour of the day is one at which somebody is there."""
    return opens <= hour < closes
''',
        ((8,), (9,), (16,), (17,), (20, 18, 22)),
    ),
    Helper(
        "share_of",
        '''def share_of(part, whole):
    """Give a part as whole per cents, rounded down; nothing of nothing is 0."""
    return part * 100 // whole if whole else 0
''',
        ((1, 3), (0, 0), (5, 5), (7, 2)),
    ),
    Helper(
        "with_noun",
        '''def with_noun(number, word):
    """Write a number with its noun: 1 box, 2 boxes, 3 days."""
    ending = "es" if word.endswith(("x", "s", "ch")) else "s"
    return f"{number} {word}" if number == 1 else f"{number} {word}{ending}"
''',
        ((1, "box"), (2, "box"), (3, "day"), (0, "branch")),
    ),
    Helper(
        "chunks_of",
        '''def chunks_of(items, size):
    """Cut a list into lists of a size; the last may be shorter. Raises ValueError below 1."""
    if size < 1:
        raise ValueError("size is at least 1")
    return [items[i : i + size] for i in range(0, len(items), size)]
''',
        (([1, 2, 3], 2), ([], 3), ([1], 1), ([1], 0)),
    ),
)
"""None of them has a name that a ticket's module has."""
REMARKS = ("see the price list of March", "agreed with support", "ask Ines before you change this")


@dataclass(frozen=True, slots=True)
class Move:
    """One colleague's change of a file."""

    path: str
    helper: Helper
    place: str = "end"
    remark: str = ""

    @property
    def message(self) -> str:
        """What the commit says; no two moves of an instance say the same."""
        return f"Add {self.helper.name} to {self.path}"

    def probes(self) -> tuple[Probe, ...]:
        """Give the calls that show whether the function is there and does what it did."""
        module = self.path.removesuffix(".py").replace("/", ".")
        target = f"{module}:{self.helper.name}"
        return tuple(Probe(target=target, args=args) for args in self.helper.calls)

    def solution(self) -> dict[str, str]:
        """Give files that answer these calls."""
        return {self.path: self.helper.text}

    def change(self, ticket: Ticket, files: Mapping[str, str]) -> dict[str, str | None]:
        """Give what becomes of the file, from the files as they are."""
        text = files[self.path]
        line = remark_line(ticket, self)
        if line is not None and text.startswith(ticket.files[self.path]):
            text = "".join(self.remarked(split_lines(text), line))
        return {self.path: f"{text.rstrip()}\n\n\n{self.helper.text}"}

    def remarked(self, lines: Sequence[str], line: int) -> list[str]:
        """Put the remark to a line, counted from 0."""
        there = lines[line]
        if self.place == "beside":
            put = [f"{there.rstrip()}  # {self.remark}\n"]
        else:
            put = [f"{' ' * max(indent_of(there), 0)}# {self.remark}\n", there]
        return [*lines[:line], *put, *lines[line + 1 :]]


def remark_line(ticket: Ticket, move: Move) -> int | None:
    """Give the first line that the reference changes and that a remark can be put to.

    A remark mustn't make a difference to Python. None where there is no such line, or no remark.
    """
    if move.place == "end":
        return None
    base = split_lines(ticket.files[move.path])
    mended = split_lines(ticket.reference[move.path])
    for hunk in hunks(base, mended):
        if hunk.a0 < hunk.a1 and same_code(base, move.remarked(base, hunk.a0)):
            return hunk.a0
    return None


def same_code(one: Sequence[str], other: Sequence[str]) -> bool:
    """Tell whether two texts are the same to Python, remarks and lines apart."""
    try:
        return ast.dump(ast.parse("".join(one))) == ast.dump(ast.parse("".join(other)))
    except SyntaxError:
        return False


def both(base: str, mine: str, theirs: str) -> str:
    """Put two changes of a text together: where both changed a line it is mine.

    Of a stretch that I changed too it takes what they wrote beyond as many lines as there were.
    """
    a, m, t = split_lines(base), split_lines(mine), split_lines(theirs)
    changed = hunks(a, m)
    out: list[str] = []
    place = 0
    for a0, a1, b0, b1 in hunks(a, t):
        clashes = any(own.a0 < a1 and a0 < own.a1 for own in changed)
        at = moved(a1 if clashes else a0, changed)
        out += [*m[place:at], *(t[b0 + a1 - a0 : b1] if clashes else t[b0:b1])]
        place = at if clashes else at + a1 - a0
    return "".join([*out, *m[place:]])


def moved(line: int, changed: Sequence[Hunk]) -> int:
    """Give where a line of the base begins in a text in which some stretches were changed."""
    shift = 0
    for hunk in changed:
        if line <= hunk.a0:
            break
        shift = hunk.b1 - hunk.a1
    return line + shift
