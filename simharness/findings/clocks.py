"""Clocks of nodes that were set back: H314, in the stamps of rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simharness.findings.finding import Finding
from simharness.parts.clock import API, advanced
from simharness.units import humanize

if TYPE_CHECKING:
    from collections.abc import Iterator

    from simharness.findings.story import Story
    from simharness.kernel.journal import Row


def turned_stamps(story: Story) -> Iterator[Finding]:
    """Find tables in which a later commit has an earlier stamp; one for each move of the clock."""
    moves = [row for row in story.of("CLOCK") if row.values["node"] == API]
    if not moves:
        return
    coming = iter([*moves, None])
    following = next(coming)
    move: Row | None = None
    newest: dict[str, tuple[int, Row]] = {}
    told: set[tuple[int, str]] = set()
    for row in story.of("COMMIT"):
        while following is not None and following.index < row.index:
            move, following = following, next(coming)
        if row.values["after"] < 0:
            continue  # A deletion has no stamp.
        table: str = row.values["table"]
        stamp = row.t if move is None else shown(move, row.t)
        latest = newest.get(table)
        if latest is None or stamp >= latest[0]:
            newest[table] = stamp, row
        elif move is not None and (move.index, table) not in told:
            told.add((move.index, table))
            yield turned(story, row, move, latest[1], latest[0] - stamp)


def shown(move: Row, t: int) -> int:
    """Give what a clock showed at tick `t`, after its last move."""
    return move.t + int(move.values["offset"]) + advanced(t - move.t, move.values["drift"])


def turned(story: Story, row: Row, move: Row, before: Row, by: int) -> Finding:
    """Build an H314."""
    key = f"{row.values['table']}:{row.values['key']}"
    other = f"{before.values['table']}:{before.values['key']}"
    return Finding(
        code="H314",
        step=story.step_of(row.index),
        t=row.t,
        keys=(key,),
        evidence={"key": key, "before": other, "by": by, "node": move.values["node"]},
        events=(before.index, move.index, row.index),
        explanation=(
            f"{key} is stamped {humanize(by)} earlier than {other}, which was committed before it: "
            f"the clock of node {move.values['node']} had been set back"
        ),
    )
