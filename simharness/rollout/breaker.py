"""The circuit breaker: stops a run when the harness turns out to be broken.

A broken harness should cost minutes and not a training run. The test may be looked at after every
episode, see `blame/sequential`; it stops at 8 failures of the harness in a row, or as soon as the
rate is rather 5 % than 2 %, from 20 episodes on.

Episodes that failed from outside say nothing about the harness and aren't counted. But where 8 in a
row do, the provider of the model is down, and every further episode would be lost too.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from simharness.blame.sequential import SequentialTest
from simharness.blame.statistics import Gate
from simharness.blame.verdict import Class
from simharness.rollout.summary import failed

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable

    from simharness.rollout.line import Line

NAMED = 3
"""Codes that are named as what failed."""
OUTAGE = 8
"""Episodes in a row that fail from outside, at which it is enough."""


@dataclass(slots=True)
class Breaker:
    """Hears of each episode and says when it is enough."""

    grouped: bool = False
    """Whether several episodes are of one instance, of which only the first counts."""
    test: SequentialTest = field(default_factory=SequentialTest)
    outside: int = 0
    """Episodes since the last one that did not fail from outside."""
    _cause: str = ""
    _codes: Counter[str] = field(default_factory=Counter[str])
    _faults: dict[str, None] = field(default_factory=dict[str, None])

    def add(self, line: Line) -> bool:
        """Take the next episode; gives whether the run has to stop."""
        if line["class"] == Class.EXTERNAL:
            self.outside += 1
            self._cause = line["sentence"]
            return self.is_outage
        self.outside = 0
        return self.count(failed(line), line["primary"], line["faults"], self._instance(line))

    def count(
        self, failed: bool, code: str, faults: Iterable[str], instance: Hashable = None
    ) -> bool:
        """Take the next episode of whatever kind; gives whether it is enough.

        `code` is the finding that decided. Of the episodes of one instance only the first counts.
        """
        if failed:
            self._codes[code] += 1
            self._faults.update(dict.fromkeys(faults))
        return self.test.add(failed, instance) is Gate.FAIL

    def _instance(self, line: Line) -> Hashable:
        if not self.grouped:
            return None
        return line["scenario"], line["seed"], line["policy"], tuple(line["faults"]), line["load"]

    @property
    def is_outage(self) -> bool:
        """Whether it is the provider that is broken, and not the harness."""
        return self.outside >= OUTAGE

    @property
    def reason(self) -> str:
        """Why it stopped: the count, and which findings decided."""
        if self.is_outage:
            return f"{self.outside} episodes in a row failed from outside, the last: {self._cause}"
        codes = ", ".join(f"{code} {n}" for code, n in self._codes.most_common(NAMED))
        return f"{self.test.reason}: {codes}"

    @property
    def worst(self) -> str:
        """The finding that decided most of the episodes that failed; empty where none has."""
        return next((code for code, _ in self._codes.most_common(1)), "")

    @property
    def planted(self) -> tuple[str, ...]:
        """Faults that were switched on in episodes that failed."""
        return tuple(self._faults)
