"""Groups: episodes of one instance that differ in the draws of their policy, and their advantages.

A group-relative trainer takes the mean and the deviation of a group's scores. An episode that the
harness spoiled would move both, so flagged members leave before they are taken. A group of which
too little is left is dropped whole, and another instance may be played in its place.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from itertools import groupby
from statistics import fmean, stdev
from typing import TYPE_CHECKING, Any

from simharness.chat.options import is_paired
from simharness.episode.plan import load_text
from simharness.product.fault import parse_load
from simharness.recording.format import from_os_error
from simharness.rollout.lines import read_lines

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from simharness.rollout.line import Line
    from simharness.rollout.request import Entry, Request

GROUPS = "groups.jsonl"
FEWEST = 2
"""Valid members that a group needs, for there to be a deviation."""
FLAGGED_MAX = 0.25
"""Share of flagged members above which a group is dropped: what spoiled them is in the others."""

Instance = tuple[str, int, str, tuple[str, ...], str]
"""Scenario, seed, policy, faults and load: what the members of a group have in common."""


@dataclass(frozen=True, slots=True)
class Member:
    """One episode of a group."""

    key: str
    number: int
    score: float | None
    flagged: bool
    """Left out: it is invalid, quarantined, or has no score."""


@dataclass(frozen=True, slots=True)
class Group:
    """The episodes of one instance."""

    instance: Instance
    members: tuple[Member, ...]

    @property
    def scores(self) -> list[float]:
        """The scores of the members that are left in."""
        return [m.score for m in self.members if not m.flagged and m.score is not None]

    @property
    def dropped(self) -> str:
        """Why the whole group is dropped, or an empty text."""
        started, valid = len(self.members), len(self.scores)
        if valid < FEWEST:
            return f"{valid} of {started} valid, fewer than {FEWEST}"
        if (started - valid) / started > FLAGGED_MAX:
            return f"{started - valid} of {started} flagged, more than {FLAGGED_MAX:.0%}"
        return ""

    @property
    def mean(self) -> float:
        """The mean score of the members that are left in."""
        return fmean(self.scores)

    @property
    def deviation(self) -> float:
        """Their sample deviation (n - 1), as trainers take it."""
        return stdev(self.scores)

    def advantages(self) -> list[float | None]:
        """Give the advantage of each member: its distance from the mean, in deviations.

        None for one that is flagged, and for all of a dropped group; 0 where all scores are equal.
        """
        if self.dropped:
            return [None] * len(self.members)
        mean, deviation = self.mean, self.deviation
        return [
            None if m.flagged or m.score is None
            else (m.score - mean) / deviation if deviation else 0.0
            for m in self.members
        ]  # fmt: skip

    def record(self) -> dict[str, Any]:
        """Give the group as groups.jsonl holds it."""
        scenario, seed, policy, faults, load = self.instance
        dropped = self.dropped
        return {
            "scenario": scenario,
            "seed": seed,
            "policy": policy,
            "faults": list(faults),
            "load": load,
            "paired": is_paired(policy),
            "started": len(self.members),
            "valid": len(self.scores),
            "dropped": dropped,
            "mean": None if dropped else round(self.mean, 9),
            "deviation": None if dropped else round(self.deviation, 9),
            "members": [
                {
                    "key": member.key,
                    "score": member.score,
                    "flagged": member.flagged,
                    "advantage": None if advantage is None else round(advantage, 9),
                }
                for member, advantage in zip(self.members, self.advantages(), strict=True)
            ],
        }


def instance_of(line: Line) -> Instance:
    """Give what a line's episode has in common with its group."""
    return line["scenario"], line["seed"], line["policy"], tuple(line["faults"]), line["load"]


def member_of(line: Line) -> Member:
    """Give a line as a member of its group."""
    flagged = not line["valid"] or line["quarantined"] or line["score"] is None
    return Member(line["key"], line["member"], line["score"], flagged)


def groups_of(lines: Iterable[Line]) -> Iterator[Group]:
    """Put the lines of a run, in the order of its shards, into groups."""
    for instance, members in groupby(lines, instance_of):
        yield Group(instance, tuple(map(member_of, members)))


def write_groups(folder: Path) -> list[Group]:
    """Write groups.jsonl from verdicts.jsonl, a line for each group. Raises RecordingError."""
    found = list(groups_of(read_lines(folder)))
    path = folder / GROUPS
    temporary = path.with_name(f"{GROUPS}.tmp")
    try:
        with temporary.open("w", encoding="utf-8") as file:
            file.writelines(json.dumps(g.record(), separators=(",", ":")) + "\n" for g in found)
        os.replace(temporary, path)
    except OSError as error:
        raise from_os_error("write", path, error) from error
    return found


class Refill:
    """Chooses what is played in the place of dropped groups: the seeds after the last, in order.

    What is chosen depends on the groups alone, and not on who finished first.
    """

    def __init__(self, request: Request) -> None:
        self._request = request
        self._members: dict[Instance, list[Member]] = {}
        self._used: dict[Instance, int] = {}

    def add(self, line: Line) -> None:
        """Hear of an episode."""
        self._members.setdefault(instance_of(line), []).append(member_of(line))

    def after(self, entries: Sequence[Entry]) -> list[Entry]:
        """Give the episodes that replace the dropped groups among some that were played."""
        request = self._request
        out: list[Entry] = []
        for entry in entries:
            if entry.member:
                continue
            members = self._members.get(instance_of_entry(entry), [])
            if not Group(instance_of_entry(entry), tuple(members)).dropped:
                continue
            cell = instance_of_entry(entry._replace(seed=0))
            used = self._used.get(cell, 0)
            if used < request.refill:
                self._used[cell] = used + 1
                seed = request.seeds.stop + used
                out += [entry._replace(seed=seed, member=n) for n in range(request.group)]
        return out


def instance_of_entry(entry: Entry) -> Instance:
    """Give what a planned episode has in common with its group."""
    load = load_text(parse_load(entry.load))
    return entry.scenario, entry.seed, entry.policy, entry.faults, load
