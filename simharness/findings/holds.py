"""Holds that were lost or leaked, and places given away twice: H221, H222 and H223."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from simharness.findings.finding import Finding
from simharness.units import humanize

if TYPE_CHECKING:
    from collections.abc import Iterator

    from simharness.findings.story import Story
    from simharness.kernel.journal import Row


@dataclass(slots=True)
class Life:
    """One hold."""

    taken: Row
    end: Row | None = None

    @property
    def id(self) -> str:
        """The hold, as `table:id`."""
        return f"{self.taken.values['holds']}:{self.taken.values['hold']}"

    @property
    def place(self) -> str:
        """What is held, as `table:id`."""
        return f"{self.taken.values['table']}:{self.taken.values['key']}"


def broken_holds(story: Story) -> Iterator[Finding]:
    """Find holds that ended twice, before their time, after it, or never."""
    lives: dict[tuple[str, int], Life] = {}
    for row in story.of("HOLD", "HOLDEND"):
        v = row.values
        if row.kind == "HOLD":
            lives[v["holds"], v["hold"]] = Life(row)
            continue
        life = lives.get((v["holds"], v["hold"]))
        if life is None:
            continue
        reason: str = v["reason"]
        before = life.end.values["reason"] if life.end is not None else "active"
        expires: int = life.taken.values["expires"]
        if reason == "cancelled" and before == "confirmed":
            pass  # The hold had ended; what was confirmed is given back.
        elif life.end is not None:
            what = f"was {reason} after it had been {before}"
            yield broken(story, row, life, what, life.end, row)
        elif reason == "expired" and row.t < expires:
            yield broken(story, row, life, f"expired {humanize(expires - row.t)} too early", row)
        elif row.t > expires or (row.t == expires and reason != "expired"):
            by = humanize(row.t - expires)
            what = f"ended as {reason} {by} after it should have expired"
            yield broken(story, row, life, what, row)
        life.end = row
    if not lives:
        return
    last = story.rows[-1]
    for life in lives.values():
        expires = life.taken.values["expires"]
        # At the very instant of the expiry its timer may not have had its turn.
        if life.end is None and last.t > expires:
            by = humanize(last.t - expires)
            yield broken(story, last, life, f"had not ended {by} after it should have expired")


def broken(story: Story, row: Row, life: Life, what: str, *shown: Row) -> Finding:
    """Build an H223."""
    return Finding(
        code="H223",
        step=story.step_of(row.index),
        t=row.t,
        keys=(life.place,),
        evidence={
            "hold_id": life.id,
            "slot_id": life.place,
            "expired_at": life.taken.values["expires"],
        },
        events=(life.taken.index, *(r.index for r in shown)),
        explanation=f"{life.id} ({life.taken.values['quantity']} of {life.place}) {what}",
    )


def oversold_places(story: Story) -> Iterator[Finding]:
    """Find places of which more was held and confirmed at one time than there is."""
    taken: dict[tuple[str, int], Row] = {}
    counted: set[tuple[str, int]] = set()
    sold: dict[tuple[str, str, int], int] = defaultdict(int)
    for row in story.of("HOLD", "HOLDEND"):
        hold = row.values["holds"], row.values["hold"]
        if row.kind == "HOLD":
            taken[hold] = row
        first = taken.get(hold)
        if first is None:
            continue
        v = first.values
        place = v["holds"], v["table"], v["key"]
        if row.kind == "HOLD" or row.values["reason"] == "confirmed":
            # Confirmed once more after it had expired: it is counted again.
            if hold not in counted:
                counted.add(hold)
                sold[place] += v["quantity"]
                if sold[place] > v["capacity"]:
                    yield oversold(story, row, first, sold[place])
        elif hold in counted:
            counted.remove(hold)
            sold[place] -= v["quantity"]


def oversold(story: Story, row: Row, first: Row, sold: int) -> Finding:
    """Build an H221 or an H222."""
    v = first.values
    place = f"{v['table']}:{v['key']}"
    capacity: int = v["capacity"]
    return Finding(
        code="H221" if capacity == 1 else "H222",
        step=story.step_of(row.index),
        t=row.t,
        keys=(place,),
        evidence={"slot_id": place, "capacity": capacity, "sold": sold},
        events=(first.index,) if first is row else (first.index, row.index),
        explanation=f"{sold} of {place} were held or sold at one time, and there is {capacity}: "
        f"{v['owner']}#{v['n']} took {v['quantity']}",
    )
