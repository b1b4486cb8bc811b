"""Which lines differ between two texts, as git tells it, and as GNU diff does.

Both look for a shortest script of deletions and insertions, after leaving out lines that would
confuse the search, and move groups of changed lines to where they are best read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from simharness.models.ide.repository.confusing import git_leaves, gnu_leaves
from simharness.models.ide.repository.histogram import histogram
from simharness.models.ide.repository.search import git_patience, gnu_patience, search

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Slide: TypeAlias = "Callable[[Sequence[str], int, int, int, int | None], int]"
"""Says where a group of changed lines ends that may lie in several places."""


class Hunk(NamedTuple):
    """Lines a0 to a1 of the old text became lines b0 to b1 of the new one, counted from 0."""

    a0: int
    a1: int
    b0: int
    b1: int


def split_lines(text: str) -> list[str]:
    """Cut a text after each newline, and nowhere else."""
    lines = text.split("\n")
    last = lines.pop()
    out = [line + "\n" for line in lines]
    return [*out, last] if last else out


def at_the_end(lines: Sequence[str], size: int, first: int, last: int, match: int | None) -> int:
    """Say where a group of changed lines ends that may lie in several places, as diff puts it.

    Args:
        lines: The text.
        size: Lines of the group.
        first: Where it ends if it lies as early as it can.
        last: Where it ends if it lies as late as it can; there it goes.
        match: Where it ends at the last place with a change on the other side, if there is one.
    """
    return last if match is None else match


class Manner(NamedTuple):
    """What a program does beside looking for a shortest script."""

    leaves: Callable[[Sequence[str], Sequence[str], int, int], list[bool]]
    """Which lines it doesn't look at: of a text, of the other one, between equal ends."""
    patience: Callable[[int], int]
    """How long it looks, in edits from either end, by the lines of both texts."""


GIT = Manner(git_leaves, git_patience)
GNU = Manner(gnu_leaves, gnu_patience)


def hunks(old: Sequence[str], new: Sequence[str], slide: Slide = at_the_end) -> list[Hunk]:
    """Give the differing stretches of two lists of lines, first to last, as git does."""
    return _hunks(old, new, GIT, slide)


def merge_hunks(old: Sequence[str], new: Sequence[str]) -> list[Hunk]:
    """Give the differing stretches of two lists of lines, first to last, as git merges them."""
    gone, came = histogram(old, new, lambda a, b: _script(a, b, GIT))
    return _moved(old, new, gone, came, at_the_end)


def gnu_hunks(
    old: Sequence[str],
    new: Sequence[str],
    *,
    context: int,
    seen: Callable[[str], str] | None = None,
) -> list[Hunk]:
    """Give the differing stretches of two lists of lines, first to last, as GNU diff does.

    It doesn't look at equal lines around all that differs, but for those that it shows, so that
    what it finds depends on how many these are.

    Args:
        old: One text's lines.
        new: The other's.
        context: Equal lines that are shown around each stretch.
        seen: What counts of a line, if that isn't all of it.
    """
    high = min(len(old), len(new))
    start = max(_equal_lines(old, new, high) - context, 0)
    end = max(_equal_lines(old[::-1], new[::-1], high - start) - context, 0)
    a, b = old[start : len(old) - end], new[start : len(new) - end]
    if seen is not None:
        a, b = [seen(line) for line in a], [seen(line) for line in b]
    return [Hunk(*(start + place for place in hunk)) for hunk in _hunks(a, b, GNU, at_the_end)]


def _equal_lines(old: Sequence[str], new: Sequence[str], most: int) -> int:
    """Count equal lines at the start."""
    return next((n for n in range(most) if old[n] != new[n]), most)


def _hunks(old: Sequence[str], new: Sequence[str], manner: Manner, slide: Slide) -> list[Hunk]:
    gone, came = _script(old, new, manner)
    return _moved(old, new, gone, came, slide)


def _moved(
    old: Sequence[str], new: Sequence[str], gone: list[bool], came: list[bool], slide: Slide
) -> list[Hunk]:
    _compact(old, gone, came, slide)
    _compact(new, came, gone, slide)
    return _stretches(gone, came)


def _stretches(gone: list[bool], came: list[bool]) -> list[Hunk]:
    out: list[Hunk] = []
    i = j = 0
    n, m = len(gone) - 1, len(came) - 1
    while i < n or j < m:
        if gone[i] or came[j]:
            a0, b0 = i, j
            while gone[i]:
                i += 1
            while came[j]:
                j += 1
            out.append(Hunk(a0, i, b0, j))
        else:
            i += 1
            j += 1
    return out


def _script(
    old: Sequence[str], new: Sequence[str], manner: Manner
) -> tuple[list[bool], list[bool]]:
    """Mark the lines that go and those that come; each list has a False more than there are lines.

    Lines that are left out of the search have changed.
    """
    high = min(len(old), len(new))
    start = _equal_lines(old, new, high)
    end = _equal_lines(old[::-1], new[::-1], high - start)
    end_a, end_b = len(old) - end, len(new) - end
    gone = [*manner.leaves(old, new, start, end_a), False]
    came = [*manner.leaves(new, old, start, end_b), False]
    kept_a = [i for i in range(start, end_a) if not gone[i]]
    kept_b = [j for j in range(start, end_b) if not came[j]]
    a, b = [old[i] for i in kept_a], [new[j] for j in kept_b]
    removed, added = search(a, b, manner.patience(len(a) + len(b)))
    for i in removed:
        gone[kept_a[i]] = True
    for j in added:
        came[kept_b[j]] = True
    return gone, came


def _compact(
    lines: Sequence[str],
    changed: list[bool],
    other: list[bool],
    slide: Slide,
) -> None:
    """Move each group of changed lines to where it is best read.

    A group may move by a line where the line that it leaves equals the one that it takes in. Groups
    that come to touch are one from then on.
    """
    end = 0  # of the group in `lines`
    place = 0  # the same point in the other text
    while True:
        while end < len(lines) and not changed[end]:
            # As many unchanged lines pass on the other side.
            while other[place]:
                place += 1
            place += 1
            end += 1
        if end >= len(lines):
            return
        start = end
        while changed[end]:
            end += 1
        while other[place]:
            place += 1
        # From here on `place` stands behind whatever changed there.
        while True:
            size = end - start
            while start and lines[start - 1] == lines[end - 1]:
                start -= 1
                end -= 1
                changed[start], changed[end] = True, False
                while start and changed[start - 1]:
                    start -= 1
                place = _line_up(other, place)
            first = end
            match = end if place and other[place - 1] else None
            while end < len(lines) and lines[start] == lines[end]:
                changed[start], changed[end] = False, True
                start += 1
                end += 1
                while changed[end]:
                    end += 1
                place += 1
                while other[place]:
                    place += 1
                    match = end
            if end - start == size:
                break
        wanted = slide(lines, size, first, end, match)
        while end > wanted:
            start -= 1
            end -= 1
            changed[start], changed[end] = True, False
            place = _line_up(other, place)


def _line_up(other: list[bool], place: int) -> int:
    """Give the place one unchanged line earlier."""
    while other[place - 1]:
        place -= 1
    return place - 1
