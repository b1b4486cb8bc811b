"""What detectors read: an episode's rows, decoded, with the steps they belong to. Nothing of faults or config."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from simharness.kernel.journal import Row

AGENT = "agent"


@dataclass(frozen=True, slots=True)
class StepSpan:
    """One step as the recording has it."""

    step: int
    first: int
    """First row of the step; the rows before step 1 belong to the start."""
    reward: int | None
    """Millionths."""
    ended: bool
    aborted: bool
    pass_mark: int = 1_000_000


@dataclass(frozen=True, slots=True)
class Commit:
    """One COMMIT row."""

    row: int
    t: int
    owner: str
    n: int
    order: int
    table: str
    key: int
    before: int
    after: int
    """Version afterwards, positive also for a deletion."""


@dataclass(slots=True)
class Story:
    """Rows by index, with what detectors look up again and again."""

    rows: Sequence[Row]
    steps: Sequence[StepSpan]
    commits: dict[tuple[str, int], list[Commit]] = field(default_factory=dict[tuple[str, int], list[Commit]])
    """Commits by (table, key), oldest first."""
    invalidations: dict[tuple[str, int], list[Row]] = field(default_factory=dict[tuple[str, int], list["Row"]])
    """INVALIDATE rows by (view, key of the changed row), oldest first."""
    calls: dict[tuple[str, int], Row] = field(default_factory=dict[tuple[str, int], "Row"])
    """CALL rows by (owner, n)."""

    def grades(self) -> list[Row]:
        """Give the rows of the final judgement (not those of reset and regrade)."""
        return [r for r in self.rows if r.kind == "GRADE" and r.values["role"] in ("goal", "footprint")]

    def step_of(self, row: int) -> int:
        """Give the step that a row belongs to; 0 for the start."""
        at = bisect_right(self.steps, row, key=lambda s: s.first) - 1
        return self.steps[at].step if at >= 0 else 0


def tell(rows: Sequence[Row], steps: Sequence[StepSpan]) -> Story:
    """Build the look-ups."""
    commits: dict[tuple[str, int], list[Commit]] = defaultdict(list)
    invalidations: dict[tuple[str, int], list[Row]] = defaultdict(list)
    calls: dict[tuple[str, int], Row] = {}
    for row in rows:
        kind = row.kind
        v: dict[str, Any] = row.values
        if kind == "COMMIT":
            commits[v["table"], v["key"]].append(
                Commit(
                    row.index,
                    row.t,
                    v["owner"],
                    v["n"],
                    v["order"],
                    v["table"],
                    v["key"],
                    v["before"],
                    abs(v["after"]),
                )
            )
        elif kind == "INVALIDATE":
            invalidations[v["view"], v["key"]].append(row)
        elif kind == "CALL":
            calls[v["owner"], v["n"]] = row
    return Story(rows, steps, dict(commits), dict(invalidations), calls)
