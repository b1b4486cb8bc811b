"""Holds that were lost or leaked, and places given away twice: H221, H222 and H223."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from simharness.findings.finding import Finding
from simharness.findings.story import name_of
from simharness.units import humanize

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from simharness.findings.story import Commit, Story
    from simharness.kernel.journal import Row


GIVEN_UP = ("released", "expired")
"""What the row of a hold says that has given its places back."""

Place: TypeAlias = tuple[str, int]
"""Table and key; holds of several tables may take from one place."""


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
    for (table, hold), life in lives.items():
        gone = given_up(story, table, hold) if life.end is None else None
        if gone is not None:
            row = story.rows[gone.row]
            what = f"was given up by {gone.name}, and its places stayed taken"
            yield broken(story, row, life, what, row)
            continue
        expires = life.taken.values["expires"]
        # At the very instant of the expiry its timer may not have had its turn.
        if life.end is None and last.t > expires:
            by = humanize(last.t - expires)
            yield broken(story, last, life, f"had not ended {by} after it should have expired")


def given_up(story: Story, table: str, hold: int) -> Commit | None:
    """Give the commit by which the row of a hold was released or expired, if one was."""
    for commit in story.commits.get((table, hold), ()):
        if any(value in GIVEN_UP for value in commit.delta[1::2]):
            return commit
    return None


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
        mechanism=f"places:{life.taken.values['table']}",
    )


def oversold_places(story: Story) -> Iterator[Finding]:
    """Find places of which more was held and confirmed at one time than there is."""
    taken: dict[tuple[str, int], Row] = {}
    counted: dict[Place, dict[tuple[str, int], Row]] = defaultdict(dict)
    for row in story.of("HOLD", "HOLDEND"):
        hold = row.values["holds"], row.values["hold"]
        if row.kind == "HOLD":
            taken[hold] = row
        first = taken.get(hold)
        if first is None:
            continue
        place = first.values["table"], first.values["key"]
        holders = counted[place]
        if row.kind == "HOLD" or row.values["reason"] == "confirmed":
            # Confirmed once more after it had expired: it is counted again.
            if hold not in holders:
                holders[hold] = row
                sold = sum(taken[held].values["quantity"] for held in holders)
                if sold > first.values["capacity"]:
                    rivals = [taken[held] for held in holders if held != hold]
                    yield oversold(story, row, first, sold, rivals)
        else:
            holders.pop(hold, None)


def oversold(story: Story, row: Row, first: Row, sold: int, rivals: Sequence[Row]) -> Finding:
    """Build an H221 or an H222; `rivals` are the HOLD rows of the others that count."""
    v = first.values
    place = f"{v['table']}:{v['key']}"
    capacity: int = v["capacity"]
    checked = last_check(story, first)
    steps = [*taking(checked, first, row)]
    for rival in rivals:
        # Whoever came in between the check and the insert is what the check did not see.
        if checked is not None and rival.index > checked.index:
            steps += taking(last_check(story, rival), rival, rival)
    steps.sort(key=lambda step: step[0].index)
    told = ", ".join(text for _, text in steps)
    return Finding(
        code="H221" if capacity == 1 else "H222",
        step=story.step_of(row.index),
        t=row.t,
        keys=(place,),
        evidence={"slot_id": place, "capacity": capacity, "sold": sold},
        events=tuple(sorted({first.index, *(step.index for step, _ in steps)})),
        explanation=f"{sold} of {place} were held or sold at one time, and there is {capacity}: "
        f"{told}",
        mechanism=f"places:{v['table']}",
    )


def taking(checked: Row | None, first: Row, row: Row) -> list[tuple[Row, str]]:
    """Tell when somebody checked a place and when he took of it, each with its row.

    `row` is the HOLDEND by which a hold came back after its end, else the HOLD row itself.
    """
    v = first.values
    who = name_of(v["owner"], v["n"])
    out: list[tuple[Row, str]] = []
    if row is not first:
        out.append((row, f"the hold of {who} was confirmed after its end at {humanize(row.t)}"))
        return out
    if checked is not None:
        free = checked.values["free"]
        out.append((checked, f"{who} checked at {humanize(checked.t)} ({free} free)"))
        out.append((row, f"{who} inserted {v['quantity']} at {humanize(row.t)}"))
    else:
        out.append((row, f"{who} took {v['quantity']}"))
    return out


def last_check(story: Story, hold: Row) -> Row | None:
    """Give the last look that whoever took a hold had at its place before, in the same call."""
    columns = ("owner", "n", "table", "key")
    wanted = [hold.values[column] for column in columns]
    found: Row | None = None
    for row in story.of("CHECKED"):
        if row.index > hold.index:
            break
        if [row.values[column] for column in columns] == wanted:
            found = row
    return found
