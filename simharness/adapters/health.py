"""The breaker of a process: stops a trainer whose harness turns out to be broken.

A trainer masks the episodes that the harness spoiled and goes on, so nobody hears of a harness that
spoils many. The rule is that of a run, see `rollout/breaker`: 8 failures in a row, or from 20
episodes on a rate that is rather 5 % than 2 %. Of the episodes of one plan only the first counts.
"""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING

from simharness.blame.verdict import Class
from simharness.errors import HarnessUnhealthy
from simharness.rollout.breaker import Breaker

if TYPE_CHECKING:
    from simharness.blame.verdict import Verdict
    from simharness.episode.plan import Plan


class Health:
    """Hears of each episode that has ended in this process, and raises when it is enough."""

    def __init__(self) -> None:
        self._breaker = Breaker(grouped=True)
        self._commands: dict[str, str] = {}
        self._unhealthy: HarnessUnhealthy | None = None
        # Servers and trainers end episodes in threads.
        self._lock = Lock()

    def add(self, plan: Plan, verdict: Verdict, command: str) -> None:
        """Take an episode that has ended; `command` shows it to a person.

        Raises HarnessUnhealthy once the harness has turned out to be broken.
        """
        with self._lock:
            failed = verdict.kind is Class.HARNESS
            if failed:
                self._commands.setdefault(verdict.primary, command)
            # A number for each plan, and not the plan: a server may see millions.
            if self._unhealthy is None and self._breaker.count(
                failed, verdict.primary, plan.faults, hash(repr(plan))
            ):
                self._unhealthy = self._error()
        self.check()

    def check(self) -> None:
        """Raise HarnessUnhealthy if the harness has turned out to be broken: nothing may begin.

        Some frameworks swallow what an environment raises, and would go on for ever.
        """
        if self._unhealthy is not None:
            # A new one each time: whoever raises the same one again appends to its traceback.
            raise HarnessUnhealthy(*self._unhealthy.args)

    def forget(self) -> None:
        """Begin anew, as after the harness was mended, or in a test."""
        with self._lock:
            self._breaker = Breaker(grouped=True)
            self._commands.clear()
            self._unhealthy = None

    def _error(self) -> HarnessUnhealthy:
        test, code = self._breaker.test, self._breaker.worst
        return HarnessUnhealthy(
            f"the breaker stopped this process: {self._breaker.reason}",
            f"to see one: {self._commands[code]}",
            test.failures / test.episodes,
            test.bounds[1] / test.episodes,
            code,
        )


PROCESS = Health()
"""That of this process, which all environments share unless they are given another."""
