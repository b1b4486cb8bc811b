"""A test that may be looked at after every episode: Wald's sequential probability ratio test.

A gate is for a number of episodes that was fixed beforehand. Whoever asks it again and again, and
stops as soon as it answers, gets more wrong answers than 5 %. This test keeps its promise.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from math import log

from simharness.blame.statistics import Gate


@dataclass(slots=True)
class SequentialTest:
    """Whether a run that goes on has shown that the harness is broken, or that it is sound.

    What is told apart are a failure rate of at most `sound` and one of at least `broken`, with at
    most the share `error` of wrong answers of either kind. Feed it episode by episode; what stops a
    run asks whether `answer` is `Gate.FAIL`, and says `reason`.
    """

    sound: float = 0.02
    broken: float = 0.05
    error: float = 0.05
    fewest: int = 20
    """Episodes before which it only answers to a series of failures."""
    series: int = 8
    """Failures in a row at which it answers at once."""
    episodes: int = 0
    failures: int = 0
    in_a_row: int = 0
    """Failures since the last episode that was none."""
    _longest: int = 0
    _seen: set[Hashable] = field(default_factory=set[Hashable])

    def add(self, failed: bool, instance: Hashable = None) -> Gate:
        """Take the next episode, and give the answer so far.

        Of several episodes of one instance, where it is named, only the first counts: the others
        aren't independent of it.
        """
        if instance is not None:
            if instance in self._seen:
                return self.answer
            self._seen.add(instance)
        self.episodes += 1
        self.failures += failed
        self.in_a_row = self.in_a_row + 1 if failed else 0
        self._longest = max(self._longest, self.in_a_row)
        return self.answer

    @property
    def bounds(self) -> tuple[float, float]:
        """Failures at or below which it passes now, and at or above which it fails."""
        odds = log(self.broken * (1 - self.sound) / (self.sound * (1 - self.broken)))
        slope = log((1 - self.sound) / (1 - self.broken)) / odds
        width = log((1 - self.error) / self.error) / odds
        return slope * self.episodes - width, slope * self.episodes + width

    @property
    def answer(self) -> Gate:
        """The answer so far. A series of failures has answered for good."""
        if self._longest >= self.series:
            return Gate.FAIL
        if self.episodes < self.fewest:
            return Gate.INCONCLUSIVE
        passes, fails = self.bounds
        if self.failures >= fails:
            return Gate.FAIL
        return Gate.PASS if self.failures <= passes else Gate.INCONCLUSIVE

    @property
    def reason(self) -> str:
        """Why it answered so, in words with the numbers."""
        if self._longest >= self.series:
            return f"the harness failed {self._longest} episodes in a row"
        passes, fails = self.bounds
        so_far = f"{self.failures} of {self.episodes} episodes failed by the harness"
        match self.answer:
            case Gate.FAIL:
                return f"{so_far}; from {fails:.1f} on the rate is rather {self.broken:.0%}"
            case Gate.PASS:
                return f"{so_far}; up to {passes:.1f} the rate is rather {self.sound:.0%}"
            case Gate.INCONCLUSIVE:
                return f"{so_far}, which doesn't yet tell {self.sound:.0%} from {self.broken:.0%}"
