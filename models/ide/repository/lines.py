"""Which lines differ between two texts: the shortest script of deletions and insertions.

It is Myers' algorithm in linear space (1986): the middle of a shortest path is looked for from both
ends at once, and both halves are done alike. Of several shortest scripts this gives the one that
GNU diff and git arrive at, but for files with very many equal lines, where those save work.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


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


def hunks(
    old: Sequence[str],
    new: Sequence[str],
    slide: Callable[[Sequence[str], int, int, int, int | None], int] = at_the_end,
) -> list[Hunk]:
    """Give the differing stretches of two lists of lines, first to last."""
    gone, came = _script(old, new)
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


def _script(old: Sequence[str], new: Sequence[str]) -> tuple[list[bool], list[bool]]:
    """Mark the lines that go and those that come; each list has a False more than there are lines.

    A line that the other side doesn't have at all is marked at once and left out of the search.
    """
    gone, came = [False] * (len(old) + 1), [False] * (len(new) + 1)
    low, high_a, high_b = 0, len(old), len(new)
    while low < high_a and low < high_b and old[low] == new[low]:
        low += 1
    while high_a > low and high_b > low and old[high_a - 1] == new[high_b - 1]:
        high_a -= 1
        high_b -= 1
    there = dict.fromkeys(new[low:high_b])
    here = dict.fromkeys(old[low:high_a])
    kept_a = [i for i in range(low, high_a) if old[i] in there]
    kept_b = [j for j in range(low, high_b) if new[j] in here]
    for i in range(low, high_a):
        gone[i] = old[i] not in there
    for j in range(low, high_b):
        came[j] = new[j] not in here
    a, b = [old[i] for i in kept_a], [new[j] for j in kept_b]
    jobs = [(0, len(a), 0, len(b))]
    while jobs:
        a0, a1, b0, b1 = jobs.pop()
        while a0 < a1 and b0 < b1 and a[a0] == b[b0]:
            a0 += 1
            b0 += 1
        while a0 < a1 and b0 < b1 and a[a1 - 1] == b[b1 - 1]:
            a1 -= 1
            b1 -= 1
        if a0 == a1:
            for j in range(b0, b1):
                came[kept_b[j]] = True
        elif b0 == b1:
            for i in range(a0, a1):
                gone[kept_a[i]] = True
        else:
            x, y = _middle(a, b, a0, a1, b0, b1)
            jobs += ((a0, x, b0, y), (x, a1, y, b1))
    return gone, came


def _middle(
    a: Sequence[str], b: Sequence[str], a0: int, a1: int, b0: int, b1: int
) -> tuple[int, int]:
    """Give a point on a shortest path, where a search from the start meets one from the end.

    `ahead[k]` is how far in `a` a search from the start has come on the diagonal `a - b = k`, and
    `behind[k]` how far down one from the end has. The ends of both texts differ.
    """
    low_k, high_k = a0 - b1, a1 - b0
    start, end = a0 - b0, a1 - b1
    odd = (start - end) % 2 != 0
    none_ahead, none_behind = -1, a1 + 1
    ahead: dict[int, int] = {start: a0}
    behind: dict[int, int] = {end: a1}
    f_min = f_max = start
    b_min = b_max = end
    while True:
        if f_min > low_k:
            f_min -= 1
            ahead[f_min - 1] = none_ahead
        else:
            f_min += 1
        if f_max < high_k:
            f_max += 1
            ahead[f_max + 1] = none_ahead
        else:
            f_max -= 1
        for k in range(f_max, f_min - 1, -2):
            low, high = ahead.get(k - 1, none_ahead), ahead.get(k + 1, none_ahead)
            x = high if low < high else low + 1
            y = x - k
            while x < a1 and y < b1 and a[x] == b[y]:
                x += 1
                y += 1
            ahead[k] = x
            if odd and b_min <= k <= b_max and behind.get(k, none_behind) <= x:
                return x, y
        if b_min > low_k:
            b_min -= 1
            behind[b_min - 1] = none_behind
        else:
            b_min += 1
        if b_max < high_k:
            b_max += 1
            behind[b_max + 1] = none_behind
        else:
            b_max -= 1
        for k in range(b_max, b_min - 1, -2):
            low, high = behind.get(k - 1, none_behind), behind.get(k + 1, none_behind)
            x = low if low < high else high - 1
            y = x - k
            while a0 < x and b0 < y and a[x - 1] == b[y - 1]:
                x -= 1
                y -= 1
            behind[k] = x
            if not odd and f_min <= k <= f_max and x <= ahead.get(k, none_ahead):
                return x, y


def _compact(
    lines: Sequence[str],
    changed: list[bool],
    other: list[bool],
    slide: Callable[[Sequence[str], int, int, int, int | None], int],
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
