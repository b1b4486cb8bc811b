"""Two runs of the same seeds against each other, pair by pair.

What is compared are the verdicts that each run wrote itself, so that runs of different versions
can be held against each other, whose recordings no one version reads.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, cast

from simharness.blame.paired import mcnemar
from simharness.blame.verdict import Class
from simharness.errors import RecordingError, UsageError
from simharness.recording.format import from_os_error
from simharness.rollout.key import split_key
from simharness.rollout.lines import VERDICTS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

SIGNIFICANT = 0.05
"""Highest p at which a difference is told to be one."""
PairKey = tuple[str, ...]


class Change(StrEnum):
    """What became of something from one run to the other."""

    BETTER = "better"
    WORSE = "worse"
    NOT_SHOWN = "no difference shown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One episode as a run's verdicts tell it."""

    scenario: str
    seed: str
    policy: str
    kind: str
    primary: str
    score: float | None

    @property
    def failed(self) -> bool:
        """Whether the harness failed."""
        return self.kind == Class.HARNESS

    @property
    def earned(self) -> bool:
        """Whether the reward was paid in full, and not by a failure of the harness.

        A reward for nothing is none to lose: to mend the grader that paid it is no harm.
        """
        return self.score is not None and self.score >= 1 and not self.failed


@dataclass(frozen=True, slots=True)
class Pairs:
    """How often something holds in both runs of a pair, in one of them, in neither."""

    both: int
    lost: int
    """Only before."""
    gained: int
    """Only after."""
    neither: int
    wanted: bool
    """Whether it is good if it holds."""

    @property
    def p(self) -> float:
        """McNemar's exact p, two-sided."""
        return mcnemar(self.gained, self.lost)

    @property
    def change(self) -> Change:
        """What became of it."""
        if self.p > SIGNIFICANT:
            return Change.NOT_SHOWN
        return Change.BETTER if (self.gained > self.lost) is self.wanted else Change.WORSE

    def record(self) -> dict[str, Any]:
        """Give the counts as JSON holds them."""
        return {
            "both": self.both,
            "only_before": self.lost,
            "only_after": self.gained,
            "neither": self.neither,
            "p": round(self.p, 6),
            "change": str(self.change),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """What came out of a comparison."""

    before: str
    after: str
    pairs: int
    only_before: int
    only_after: int
    failures: Pairs
    """Episodes that the harness failed."""
    paid: Pairs
    """Episodes with a full reward, in which the harness did not fail."""
    flipped: tuple[tuple[Line, Line], ...]
    """Pairs that differ in either, in the order of the run before."""

    @property
    def worse(self) -> bool:
        """Whether either has become worse."""
        return Change.WORSE in (self.failures.change, self.paid.change)

    def record(self) -> dict[str, Any]:
        """Give the comparison as `--json` prints it."""
        return {
            "before": self.before,
            "after": self.after,
            "pairs": self.pairs,
            "only_before": self.only_before,
            "only_after": self.only_after,
            "failures": self.failures.record(),
            "paid": self.paid.record(),
            "flipped": [
                {
                    "scenario": one.scenario,
                    "seed": int(one.seed),
                    "policy": [one.policy, other.policy],
                    "class": [one.kind, other.kind],
                    "primary": [one.primary, other.primary],
                    "score": [one.score, other.score],
                }
                for one, other in self.flipped
            ],
        }


def compare(before: Path, after: Path) -> Comparison:
    """Compare two run directories by the seeds that they share.

    Raises RecordingError for what holds no verdicts, UsageError for verdicts that can't be read,
    for runs without a seed in common, and for an episode that a run holds twice.
    """
    runs = [(str(path), read_verdicts(path)) for path in (before, after)]
    key = key_for(runs)
    one, other = ({key(line): line for line in lines} for _, lines in runs)
    pairs = [(line, other[name]) for name, line in one.items() if name in other]
    if not pairs:
        raise nothing_in_common(runs)
    return Comparison(
        before=str(before),
        after=str(after),
        pairs=len(pairs),
        only_before=len(one) - len(pairs),
        only_after=len(other) - len(pairs),
        failures=counted(pairs, lambda line: line.failed, wanted=False),
        paid=counted(pairs, lambda line: line.earned, wanted=True),
        flipped=tuple(p for p in pairs if p[0].failed != p[1].failed or p[0].earned != p[1].earned),
    )


def nothing_in_common(runs: Sequence[tuple[str, Sequence[Line]]]) -> UsageError:
    """Say why no episode of one run has one of another for its pair."""
    (before, one), (after, other) = runs
    seeds = {(line.scenario, line.seed): line for line in other}
    for line in one:
        if (pair := seeds.get((line.scenario, line.seed))) is not None:
            return UsageError(
                f"{before!r} and {after!r} have seeds in common, and none played alike: "
                f"{line.scenario}:{line.seed} by {line.policy!r} and by {pair.policy!r}",
                "run both with the same policies, loads, faults and groups",
            )
    return UsageError(
        f"{before!r} and {after!r} have no seed of a scenario in common",
        "run the same scenarios with the same --seed",
    )


def key_for(runs: Sequence[tuple[str, Sequence[Line]]]) -> Callable[[Line], PairKey]:
    """Choose what pairs are made by: the seed, and the policy as well where runs hold several.

    Raises UsageError for an episode that a run holds twice.
    """

    def by_seed(line: Line) -> PairKey:
        return line.scenario, line.seed

    def by_policy(line: Line) -> PairKey:
        return line.scenario, line.seed, line.policy

    if all(len(set(map(by_seed, lines))) == len(lines) for _, lines in runs):
        return by_seed
    for name, lines in runs:
        (twice, times), *_ = Counter(map(by_policy, lines)).most_common(1)
        if times > 1:
            raise UsageError(
                f"{name!r} holds the episode {':'.join(twice)} {times} times",
                "compare runs that hold each episode once",
            )
    return by_policy


def counted(
    pairs: Sequence[tuple[Line, Line]], holds: Callable[[Line], bool], *, wanted: bool
) -> Pairs:
    """Count in how many pairs something holds before and after."""
    found = Counter((holds(one), holds(other)) for one, other in pairs)
    return Pairs(
        found[True, True], found[True, False], found[False, True], found[False, False], wanted
    )


def read_verdicts(folder: Path) -> list[Line]:
    """Read the verdicts that a run wrote.

    Raises RecordingError where there are none, UsageError naming a line that can't be read.
    """
    path = folder / VERDICTS
    if not path.is_file():
        raise RecordingError(
            f"{str(folder)!r} holds no {VERDICTS}",
            "give a run directory, as `run -o` writes it; simharness index RUN makes one anew",
        )
    try:
        # What is no UTF-8 is no JSON either, and is told with its line below.
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise from_os_error("read", path, error) from error
    # The last line of a run that was killed may be cut off: it is no episode.
    whole, _, _ = text.rpartition("\n")
    lines = [
        parse_line(line, f"{path}, line {number}")
        for number, line in enumerate(whole.split("\n") if whole else [], 1)
    ]
    if not lines:
        raise RecordingError(f"{str(path)!r} holds no verdict", "run some episodes first")
    return lines


def parse_line(text: str, where: str) -> Line:
    """Read one verdict. Raises UsageError."""
    hint = "make the file anew from the recordings: simharness index RUN"
    try:
        value: Any = json.loads(text)
    except ValueError as error:
        raise UsageError(f"verdict {where} is no JSON: {error}", hint) from None
    fields = cast("Mapping[str, object]", value if isinstance(value, dict) else {})
    key, kind, primary = fields.get("key"), fields.get("class"), fields.get("primary")
    score = fields.get("score")
    known = isinstance(key, str) and isinstance(kind, str) and isinstance(primary, str)
    if not known or not (score is None or isinstance(score, int | float)):
        raise UsageError(f"verdict {where} lacks key, class, primary or score", hint)
    # A bool is an int, and NaN is in no range.
    if isinstance(score, bool) or not (score is None or 0 <= score <= 1):
        raise UsageError(f"verdict {where} has the score {score!r:.40}, which is none", hint)
    if kind not in {str(one) for one in Class}:
        raise UsageError(f"verdict {where} has the class {kind!r:.40}, which is none", hint)
    scenario, seed, policy = split_key(str(key))
    return Line(
        scenario=scenario,
        seed=seed,
        policy=policy,
        kind=str(kind),
        primary=str(primary),
        score=score,
    )
