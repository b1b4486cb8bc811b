"""Where git puts a group of changed lines that may lie in several places: by indentation.

A place is good if it cuts the text where a reader would: before a line that is indented less than
those around it, after blank lines, and not inside of a block.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

INDENT_MAX = 200
BLANKS_MAX = 20
SLIDES_MAX = 100
"""Places that are looked at, the latest."""
NOTHING = -1
"""Indentation of a blank line, or of none."""


class Cut(NamedTuple):
    """What the text looks like around a cut before a line."""

    at_end: bool
    indent: int
    """Of the line behind the cut."""
    blanks_before: int
    indent_before: int
    """Of the last line before it that isn't blank."""
    blanks_after: int
    indent_after: int
    """Of the next line behind the first one that isn't blank."""


def by_indent(lines: Sequence[str], size: int, first: int, last: int, match: int | None) -> int:
    """Say where a group of changed lines ends, as `at_the_end` does, but as git puts it."""
    if match is not None or first == last:
        return last if match is None else match
    best, best_score = last, None
    for end in range(max(first, last - size - 1, last - SLIDES_MAX), last + 1):
        one, other = cut_at(lines, end), cut_at(lines, end - size)
        score = (depth(one) + depth(other), penalty(one) + penalty(other))
        if best_score is None or compared(score, best_score) <= 0:
            best, best_score = end, score
    return best


def compared(one: tuple[int, int], other: tuple[int, int]) -> int:
    """Tell whether one pair of cuts is worse (above 0), as good, or better than another one."""
    deeper = (one[0] > other[0]) - (one[0] < other[0])
    return 60 * deeper + one[1] - other[1]


def indent_of(line: str) -> int:
    """Count the columns before the first visible character; NOTHING for a blank line."""
    width = 0
    for c in line:
        if c == " ":
            width += 1
        elif c == "\t":
            width += 8 - width % 8
        elif c not in "\n\r":
            return width
        if width >= INDENT_MAX:
            return INDENT_MAX
    return NOTHING


def cut_at(lines: Sequence[str], place: int) -> Cut:
    """Measure a cut before the line at `place`."""
    at_end = place >= len(lines)
    indent = NOTHING if at_end else indent_of(lines[place])
    blanks_before, indent_before = _nearest(lines, range(place - 1, -1, -1))
    blanks_after, indent_after = _nearest(lines, range(place + 1, len(lines)))
    return Cut(at_end, indent, blanks_before, indent_before, blanks_after, indent_after)


def _nearest(lines: Sequence[str], places: range) -> tuple[int, int]:
    """Count blank lines up to the first that isn't, and give its indentation."""
    blanks = 0
    for place in places:
        indent = indent_of(lines[place])
        if indent != NOTHING:
            return blanks, indent
        blanks += 1
        if blanks == BLANKS_MAX:
            return blanks, 0
    return blanks, NOTHING


def depth(cut: Cut) -> int:
    """Give the indentation that a cut lies at."""
    return cut.indent if cut.indent != NOTHING else cut.indent_after


def penalty(cut: Cut) -> int:
    """Say how bad a cut is, its depth apart; the weights are those that git was tuned to."""
    bad = 0
    if cut.indent_before == NOTHING and cut.blanks_before == 0:
        bad += 1  # the start of the text
    if cut.at_end:
        bad += 21
    after = 1 + cut.blanks_after if cut.indent == NOTHING else 0
    bad += -30 * (cut.blanks_before + after) + 6 * after
    indent, blank = depth(cut), cut.blanks_before + after > 0
    if indent == NOTHING or cut.indent_before == NOTHING or indent == cut.indent_before:
        return bad
    if indent > cut.indent_before:
        return bad + (10 if blank else -4)
    if cut.indent_after != NOTHING and cut.indent_after > indent:
        return bad + (17 if blank else 24)
    return bad + (17 if blank else 23)
