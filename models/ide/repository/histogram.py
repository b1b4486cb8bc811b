"""Which lines differ between two texts as git merges them: by lines that the old one seldom has.

A diff that is to be read looks for a shortest script (`lines.py`). One that is merged is to keep
together what belongs together, so it looks for the longest stretch that both texts have around a
line which the old one has seldom, and then before and behind it: what git calls histogram.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Marks = tuple[list[bool], list[bool]]
    Classic = Callable[[Sequence[str], Sequence[str]], Marks]

OFTEN = 64
"""Lines that the old text has more often than this are no help."""


class Range(NamedTuple):
    """Lines a0 to a1 of the old text, and b0 to b1 of the new one, counted from 0."""

    a0: int
    a1: int
    b0: int
    b1: int


def histogram(old: Sequence[str], new: Sequence[str], classic: Classic) -> Marks:
    """Mark the lines that go and those that come; each list has a False more than there are lines.

    `classic` marks them in stretches that have nothing but frequent lines in common.
    """
    gone, came = [False] * (len(old) + 1), [False] * (len(new) + 1)
    todo = [Range(0, len(old), 0, len(new))]
    while todo:
        a0, a1, b0, b1 = todo.pop()
        same = None
        if a0 < a1 and b0 < b1:
            same, common = longest(old, new, Range(a0, a1, b0, b1))
            if same is None and common:
                removed, added = classic(old[a0:a1], new[b0:b1])
                gone[a0:a1], came[b0:b1] = removed[:-1], added[:-1]
                continue
        if same is None:
            gone[a0:a1], came[b0:b1] = [True] * (a1 - a0), [True] * (b1 - b0)
        else:
            todo += [Range(a0, same.a0, b0, same.b0), Range(same.a1, a1, same.b1, b1)]
    return gone, came


def longest(old: Sequence[str], new: Sequence[str], within: Range) -> tuple[Range | None, bool]:
    """Give the longest common stretch around the rarest lines; and whether there is any at all."""
    a0, a1, b0, b1 = within
    places: dict[str, list[int]] = {}
    for a in range(a0, a1):
        places.setdefault(old[a], []).append(a)
    best: Range | None = None
    fewest, common = OFTEN + 1, False
    b = b0
    while b < b1:
        following = b + 1
        found = places.get(new[b], [])
        common |= bool(found)
        behind = -1
        for a in found if len(found) <= fewest else ():
            if a <= behind:
                continue
            start, count = 0, len(found)
            while a - start > a0 and b - start > b0 and old[a - start - 1] == new[b - start - 1]:
                start += 1
                count = min(count, len(places[old[a - start]]))
            end = 1
            while a + end < a1 and b + end < b1 and old[a + end] == new[b + end]:
                count = min(count, len(places[old[a + end]]))
                end += 1
            following = max(following, b + end)
            behind = a + end - 1
            longer = best is None or best.a1 - best.a0 < start + end
            if (best is not None and longer) or count < fewest:
                best = Range(a - start, a + end, b - start, b + end)
                fewest = count
        b = following
    return best if fewest <= OFTEN else None, common
