"""A run beside an earlier one of the same seeds: what was fixed, what broke, what stayed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from simharness.review.text import plain_map

if TYPE_CHECKING:
    from collections.abc import Sequence

    from simharness.rollout.compare import Comparison, Line


def compared_of(comparison: Comparison, entries: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Give what the page says of a comparison, and mark the entries of the pairs that differ.

    A marked entry has `before`, what had come of it, and `change`: fixed or broken by whether the
    harness failed, gained or lost by whether the reward was earned: paid in full, the harness
    not having failed.
    """
    flipped = {(o.scenario, o.seed, o.policy): (one, o) for one, o in comparison.flipped}
    for entry in entries:
        pair = flipped.get((entry["scenario"], entry["seed"], entry["policy"]))
        if pair is not None:
            entry["before"] = plain_map(
                {"class": pair[0].kind, "primary": pair[0].primary, "score": pair[0].score}
            )
            entry["change"] = changes(*pair)
    told = comparison.record()
    del told["flipped"]
    return plain_map({**told, "same": comparison.pairs - len(comparison.flipped)})


def changes(before: Line, after: Line) -> list[str]:
    """Name what became of an episode from one run to the other."""
    out: list[str] = []
    if before.failed != after.failed:
        out.append("fixed" if before.failed else "broken")
    if before.earned != after.earned:
        out.append("lost" if before.earned else "gained")
    return out
