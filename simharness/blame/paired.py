"""Two runs of the same seeds, pair by pair: McNemar's test, exact (1947)."""

from __future__ import annotations


def mcnemar(gained: int, lost: int) -> float:
    """Give how likely flips so one-sided are where neither way is likelier than the other.

    `gained` and `lost` count the pairs that differ, one way and the other; those that end alike say
    nothing. The value is two-sided, between 0 and 1, and exact.
    """
    flips, few = gained + lost, min(gained, lost)
    tail = ways = 1
    for i in range(few):
        ways = ways * (flips - i) // (i + 1)
        tail += ways
    # Integers up to the division: 2**flips is no float from 1024 on.
    return min(1.0, 2 * tail / (1 << flips))
