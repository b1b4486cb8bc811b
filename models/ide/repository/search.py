"""The search for a shortest script of deletions and insertions that turns one text into another.

It is Myers' algorithm in linear space (1986): the middle of a shortest path is looked for from both
ends at once, and both halves are done alike. Several scripts may be equally short; the order in
which paths are followed here, and when the search is given up as too dear, decide for the one that
GNU diff and git arrive at.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence


def git_patience(lines: int) -> int:
    """Give after how many edits from either end git gives up, for texts of so many lines together.

    From 65,536 lines on it would also take a path of much progress before.
    """
    return max(256, root(lines + 3))


def gnu_patience(lines: int) -> int:
    """Give after how many edits from either end GNU diff gives up."""
    return max(4096, root(lines + 3))


def root(number: int) -> int:
    """Give about the square root of a number: a power of two."""
    power = 1
    while number > 0:
        power *= 2
        number //= 4
    return power


class Box(NamedTuple):
    """Lines a0 to a1 of one text against lines b0 to b1 of another one."""

    a0: int
    a1: int
    b0: int
    b1: int
    thorough: bool
    """Whether only a shortest path will do here."""


class Split(NamedTuple):
    """A point that a box is cut at, and whether either part has to be searched thoroughly."""

    x: int
    y: int
    first: bool = True
    second: bool = True


def search(a: Sequence[str], b: Sequence[str], patience: int) -> tuple[list[int], list[int]]:
    """Give the lines of `a` that go and those of `b` that come, in no order."""
    gone: list[int] = []
    came: list[int] = []
    boxes = [Box(0, len(a), 0, len(b), thorough=False)]
    while boxes:
        a0, a1, b0, b1, thorough = boxes.pop()
        while a0 < a1 and b0 < b1 and a[a0] == b[b0]:
            a0 += 1
            b0 += 1
        while a0 < a1 and b0 < b1 and a[a1 - 1] == b[b1 - 1]:
            a1 -= 1
            b1 -= 1
        if a0 == a1:
            came += range(b0, b1)
        elif b0 == b1:
            gone += range(a0, a1)
        else:
            x, y, first, second = _middle(a, b, Box(a0, a1, b0, b1, thorough), patience)
            boxes += (Box(a0, x, b0, y, first), Box(x, a1, y, b1, second))
    return gone, came


def _middle(a: Sequence[str], b: Sequence[str], box: Box, patience: int) -> Split:
    """Give a point on a shortest path, where a search from the start meets one from the end.

    `ahead[k]` is how far in `a` a search from the start has come on the diagonal `a - b = k`, and
    `behind[k]` how far down one from the end has. The ends of both texts differ.
    """
    a0, a1, b0, b1, thorough = box
    low_k, high_k = a0 - b1, a1 - b0
    start, end = a0 - b0, a1 - b1
    odd = (start - end) % 2 != 0
    none_ahead, none_behind = -1, a1 + b1 + 1
    ahead: dict[int, int] = {start: a0}
    behind: dict[int, int] = {end: a1}
    f_min = f_max = start
    b_min = b_max = end
    edits = 0
    while True:
        edits += 1
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
            low, high = ahead[k - 1], ahead[k + 1]
            x = high if low < high else low + 1
            y = x - k
            while x < a1 and y < b1 and a[x] == b[y]:
                x += 1
                y += 1
            ahead[k] = x
            if odd and b_min <= k <= b_max and behind[k] <= x:
                return Split(x, y)
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
            low, high = behind[k - 1], behind[k + 1]
            x = low if low < high else high - 1
            y = x - k
            while a0 < x and b0 < y and a[x - 1] == b[y - 1]:
                x -= 1
                y -= 1
            behind[k] = x
            if not odd and f_min <= k <= f_max and x <= ahead[k]:
                return Split(x, y)
        if edits >= patience and not thorough:
            return _farthest(
                box,
                [(k, ahead[k]) for k in range(f_max, f_min - 1, -2)],
                [(k, behind[k]) for k in range(b_max, b_min - 1, -2)],
            )


Front = list[tuple[int, int]]
"""How far a search has come: diagonals and places in the first text, from the highest diagonal."""


def _farthest(box: Box, fore: Front, rear: Front) -> Split:
    """Give the end of the path that has left most lines behind, from either end."""
    a0, a1, b0, b1, _ = box
    # A path may have run out of the box: it ends at the edge, where its diagonal leaves it.
    ahead = [(at, at - k) for k, x in fore for at in (min(x, a1, b1 + k),)]
    behind = [(at, at - k) for k, x in rear for at in (max(x, a0, b0 + k),)]
    # Of equal ones the first, which is that of the highest diagonal.
    forward, backward = max(ahead, key=sum), min(behind, key=sum)
    if a1 + b1 - sum(backward) < sum(forward) - (a0 + b0):
        return Split(*forward, first=True, second=False)
    return Split(*backward, first=False, second=True)
