"""Counts of a run so far, from the lines of its episodes."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from simharness.blame.gate import Decision, Sample, decide
from simharness.blame.statistics import LIMIT
from simharness.blame.verdict import Class
from simharness.chat.usage import USAGE
from simharness.product.goal import MILLION
from simharness.product.registry import load_scenario

if TYPE_CHECKING:
    from collections.abc import Iterable

    from simharness.rollout.line import Line

WORST = 3
"""Failed episodes that are named."""


@dataclass(slots=True)
class Summary:
    """Counts of a run so far."""

    episodes: int = 0
    valid: int = 0
    failures: int = 0
    """Episodes with a decisive harness finding, or that the harness could not finish."""
    quarantined: int = 0
    classes: Counter[str] = field(default_factory=Counter[str])
    codes: Counter[str] = field(default_factory=Counter[str])
    scored: int = 0
    total: int = 0
    """Of all scores, in millionths."""
    least: int | None = None
    worst: list[Line] = field(default_factory=list["Line"])
    outside: Line | None = None
    """The first episode that failed from outside, by place."""
    usage: Counter[str] = field(default_factory=Counter[str])
    """What the answers of models took, over all episodes; see `simharness.chat.usage`."""

    def add(self, line: Line) -> None:
        """Count one episode."""
        self.episodes += 1
        self.valid += line["valid"]
        self.classes[line["class"]] += 1
        self.codes.update(line["codes"])
        if line["score"] is not None:
            score = round(line["score"] * 1_000_000)
            self.scored += 1
            self.total += score
            self.least = score if self.least is None else min(self.least, score)
        self.quarantined += line["quarantined"]
        self.usage.update(line.get(USAGE, {}))
        if line["class"] == Class.EXTERNAL and (
            self.outside is None or place_of(line) < place_of(self.outside)
        ):
            self.outside = line
        if failed(line):
            self.failures += 1
            # By place, so that the same ones are named whoever was faster.
            ranked = sorted([*self.worst, line], key=place_of)
            self.worst = ranked[:WORST]

    @property
    def is_lost(self) -> bool:
        """Whether every single episode failed from outside: nothing was measured."""
        return 0 < self.episodes == self.classes[Class.EXTERNAL]

    def record(self, run: str) -> dict[str, Any]:
        """Give the summary as `--json` prints it."""
        return {
            "run": run,
            "episodes": self.episodes,
            "score": {
                "mean": round(self.total / self.scored / 1_000_000, 6) if self.scored else None,
                "min": None if self.least is None else self.least / 1_000_000,
            },
            "valid": self.valid,
            "verdicts": dict(sorted(self.classes.items())),
            "codes": dict(sorted(self.codes.items())),
            "quarantined": self.quarantined,
            **({"usage": dict(self.usage)} if self.usage else {}),
        }


def place_of(line: Line) -> tuple[str, int]:
    """Give where an episode stands in its run."""
    return line["shard"], line["place"]


def decision_of(lines: Iterable[Line]) -> Decision:
    """Let the gate decide, as an audit would by the same verdicts.

    But for the strata of tools: a line doesn't say what was called.
    """
    return decide([sample_of_line(line) for line in lines], LIMIT)


def sample_of_line(line: Line) -> Sample:
    """Give an episode as a gate counts it."""
    score: float | None = line["score"]
    _, scenario = load_scenario(line["scenario"])
    return Sample(
        scenario=line["scenario"],
        seed=line["seed"],
        policy=line["policy"],
        load=line["load"],
        faults=tuple(line["faults"]),
        tools=(),
        at="",
        kind=Class(line["class"]),
        codes=tuple(line["codes"]),
        passed=None if score is None else round(score * MILLION) >= scenario.pass_mark,
        quarantined=line["quarantined"],
        digest=line["digest"],
    )


def failed(line: Line) -> bool:
    """Tell whether the harness failed an episode."""
    return bool(line["class"] == Class.HARNESS)
