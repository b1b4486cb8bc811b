"""Makes a report that is written from an episode smaller, while it finds the same."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from simharness.product.script import AGENT
from simharness.reports.heard import rows_of_calls, touched
from simharness.reports.play import play_case
from simharness.reports.sketch import reached, signed_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Any

    from simharness.reports.sketch import Rows, Sketch

T = TypeVar("T")
TRIES = 60
"""Times that a report is played at most while one part of it is made smaller."""


def smaller(sketch: Sketch, found: Callable[[Sketch], bool]) -> Sketch:
    """Leave out acts of others, rows, stamps, knobs and calls of the agent's, while it is found."""
    sketch = fewer_others(sketch, found)
    option = replace(sketch, rows=needed(sketch))
    if found(option):
        sketch = option
    plain = {name: [without_stamps(row) for row in rows] for name, rows in sketch.rows.items()}
    if found(option := replace(sketch, rows=plain)):
        sketch = option

    def with_knobs(keys: Sequence[str]) -> Sketch:
        return replace(sketch, config={key: sketch.config[key] for key in keys})

    sketch = with_knobs(fewest([*sketch.config], lambda keys: found(with_knobs(keys))))
    acts = fewest(
        [*range(len(sketch.acts))],
        lambda places: found(replace(sketch, acts=[sketch.acts[place] for place in places])),
    )
    return replace(sketch, acts=[sketch.acts[place] for place in acts])


def narrowed(sketch: Sketch, primary: Mapping[str, Any]) -> Iterator[Sketch]:
    """Give the sketch with what came to the rows of the finding, to those of the agent, and whole.

    Without a goal nothing counts that came after the finding.
    """
    late = max((h.at for h in sketch.acts), default=0) if sketch.goal else primary["t"]
    acts = [heard for heard in sketch.acts if heard.at <= late]
    own = {name for heard in acts if heard.actor == AGENT for name in heard.touched}
    for near in ({*primary["keys"]}, own, None):
        close = [h for h in acts if h.actor == AGENT or near is None or h.touched & near]
        yield replace(sketch, acts=close)


def fewer_others(sketch: Sketch, found: Callable[[Sketch], bool]) -> Sketch:
    """Leave out what others did."""

    def kept(places: Sequence[int]) -> Sketch:
        there = {*places}
        acts = [h for i, h in enumerate(sketch.acts) if h.actor == AGENT or i in there]
        return replace(sketch, acts=acts)

    others = [i for i, heard in enumerate(sketch.acts) if heard.actor != AGENT]
    return kept(fewest(others, lambda places: found(kept(places))))


def fewest(items: Sequence[T], found: Callable[[Sequence[T]], bool]) -> list[T]:
    """Leave items out, in ever smaller chunks, as long as it is still found without them."""
    left, kept = TRIES, list(items)
    size = len(kept)
    while kept and size and left > 0:
        start = 0
        while start < len(kept) and left > 0:
            option = kept[:start] + kept[start + size :]
            left -= 1
            if found(option):
                kept = option
            else:
                start += size
        size //= 2
    return kept


def without_stamps(row: Mapping[str, Any]) -> dict[str, Any]:
    """Give a row as if it had been made at the start."""
    return {name: item for name, item in row.items() if name not in ("created_at", "updated_at")}


def needed(sketch: Sketch) -> Rows:
    """Give the rows that the actions came to, and those that these name in their columns."""
    case = sketch.read().case
    played = play_case(case)
    named = {name for rows in rows_of_calls(played.story).values() for name in touched(rows)}
    named |= signed_rows(case.product, case.identities.values())
    matches = [*(case.goal or ()), *case.keep]
    named |= {f"{match.table}:{match.where.get('id', 0)}" for match in matches}
    if case.task:
        named |= {key.partition(".")[0] for c in played.episode.criteria for key in c.keys}
    return reached(played.episode, named)
