"""Lines that a comparison leaves out from the start, since they would lead it astray.

A line that the other text doesn't have has changed. One that is very frequent there (a blank line,
a bracket) may be passed over as well, in the middle of lines that have changed: what it is found
equal to would mean nothing. GNU diff and git differ in what they call frequent, and in the middle.
"""

from __future__ import annotations

from collections import Counter
from enum import Enum
from typing import TYPE_CHECKING

from simharness.models.ide.repository.search import root

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence


class Weight(Enum):
    """What a line has in the other text."""

    NOTHING = 0
    SOME = 1
    MANY = 2


GIT_WINDOW = 100
"""Lines around one that git looks at."""
END_OF_RUN = 8
CHANGED_IN_A_ROW = 3


def git_leaves(lines: Sequence[str], other: Sequence[str], first: int, end: int) -> list[bool]:
    """Tell which of the lines from `first` to `end` git leaves out; the rest of them are equal."""
    many = min(root(len(lines)), 1024)
    weights = _weights(lines, other, lambda count: count >= many)
    out = [False] * len(lines)
    for i in range(first, end):
        weight = weights[i]
        out[i] = weight is Weight.NOTHING or (
            weight is Weight.MANY
            and _in_the_middle(
                weights[max(first, i - GIT_WINDOW) : i][::-1],
                weights[i + 1 : min(end, i + GIT_WINDOW + 1)],
            )
        )
    return out


def _in_the_middle(before: Sequence[Weight], after: Sequence[Weight]) -> bool:
    """Tell whether changed lines are on both sides, and are most of those that mean nothing."""
    counts: list[tuple[int, int]] = []
    for side in (before, after):
        run = _run(side)
        if Weight.NOTHING not in run:
            return False
        counts.append((run.count(Weight.NOTHING), run.count(Weight.MANY)))
    (gone, many), (more_gone, more_many) = counts
    frequent = many + more_many + 2
    return frequent * 4 < frequent + gone + more_gone


def _run(weights: Sequence[Weight]) -> Sequence[Weight]:
    """Give the weights up to the first line that the other text has, and not too often."""
    size = next((n for n, weight in enumerate(weights) if weight is Weight.SOME), len(weights))
    return weights[:size]


def gnu_leaves(lines: Sequence[str], other: Sequence[str], _first: int, _end: int) -> list[bool]:
    """Tell which lines GNU diff leaves out; equal ends of the texts are never among them."""
    many = 5 * root(len(lines) // 64 // 4)
    weights = _weights(lines, other, lambda count: count > many)
    place = 0
    while place < len(weights):
        if weights[place] is Weight.NOTHING:
            size = len(_run(weights[place:]))
            while weights[place + size - 1] is Weight.MANY:
                size -= 1
            _spare(weights, range(place, place + size))
            place += size
        else:
            # A frequent line stays unless it stands among lines that have changed.
            weights[place] = Weight.SOME
            place += 1
    return [weight is Weight.NOTHING or weight is Weight.MANY for weight in weights]


def _spare(weights: list[Weight], run: range) -> None:
    """Keep frequent lines of a run that starts and ends with lines that have changed.

    They are kept if they are many in it, many in a row, or close to its ends.
    """
    frequent = [i for i in run if weights[i] is Weight.MANY]
    if len(frequent) * 4 > len(run):
        for i in frequent:
            weights[i] = Weight.SOME
        return
    longest = root(len(run) // 4 // 4) + 1
    row: list[int] = []
    for i in [*frequent, len(weights)]:
        if row and i > row[-1] + 1:
            if len(row) >= longest:
                for kept in row:
                    weights[kept] = Weight.SOME
            row = []
        row.append(i)
    for side in (run, reversed(run)):
        _spare_end(weights, side)


def _spare_end(weights: list[Weight], run: Iterable[int]) -> None:
    """Keep frequent lines at an end of a run, up to three changed ones in a row or the eighth."""
    row = 0
    for n, i in enumerate(run):
        if weights[i] is Weight.NOTHING:
            if n >= END_OF_RUN:
                return
            row += 1
            if row == CHANGED_IN_A_ROW:
                return
        else:
            row = 0
            weights[i] = Weight.SOME


def _weights(
    lines: Sequence[str], other: Sequence[str], frequent: Callable[[int], bool]
) -> list[Weight]:
    counts = Counter(other)
    return [
        Weight.NOTHING if not count else Weight.MANY if frequent(count) else Weight.SOME
        for count in (counts[line] for line in lines)
    ]
