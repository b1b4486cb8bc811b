"""One target under examination: its processes, its actions, and what was played so far."""

from __future__ import annotations

import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from simharness.doctor.patient import Patient, Said

if TYPE_CHECKING:
    from collections.abc import Generator

    from simharness.doctor.target import Target

HASH_SEEDS = ("1", "4242")

Line = dict[str, Any]
Transcript = list[dict[str, Any]]


@dataclass(slots=True, kw_only=True)
class Size:
    """How much is played."""

    seeds: int = 6
    steps: int = 40
    """Of an episode that is compared."""
    steps_max: int = 1_000
    """Of an episode that is paid."""
    episodes: int = 20
    """That are paid, of each agent."""
    before: int = 100
    """Episodes before a reset that has to be as clean as the first."""
    places: int = 60
    """Lines at which an exception is raised."""
    sessions: int = 60
    pings: int = 20_000


QUICK = {"seeds": 3, "steps": 15, "steps_max": 200, "episodes": 5, "before": 10, "places": 12,
         "sessions": 15, "pings": 500}  # fmt: skip


@dataclass(slots=True, kw_only=True)
class Examination:
    """What checks have to do with."""

    target: Target
    size: Size = field(default_factory=Size)
    seed: int = 0
    """First seed that is played."""
    full: float | None = None
    """What a solved episode is paid; None: what the target says itself, if it does."""
    bounds: tuple[float, float] | None = None
    """Where the reward of a step has to be."""
    seconds: float = 600.0
    """Wall time for all checks."""
    until: float = field(init=False)
    said: list[tuple[Said, Said]] = field(default_factory=list[tuple[Said, Said]])
    """What each process has printed to stdout and stderr."""
    paid: dict[str, list[dict[str, Any]]] = field(default_factory=dict[str, list[dict[str, Any]]])
    """What the episodes of each agent came to."""
    base: dict[str, Transcript] = field(default_factory=dict[str, Transcript])
    """What the process played that others are held against."""
    soak: dict[str, Any] | None = None
    """What came of the pings."""
    _shared: Patient | None = None
    _actions: dict[tuple[int, int], list[Any]] = field(
        default_factory=dict[tuple[int, int], list[Any]]
    )
    _alone: dict[int, Transcript] = field(default_factory=dict[int, Transcript])

    def __post_init__(self) -> None:
        self.until = time.monotonic() + self.seconds

    @property
    def seeds(self) -> range:
        """Seeds that are compared."""
        return range(self.seed, self.seed + self.size.seeds)

    @property
    def pair(self) -> tuple[int, int]:
        """The two seeds of checks that need no more."""
        return self.seed, self.seed + 1

    def left(self) -> float:
        """Give the seconds that are left."""
        return max(0.0, self.until - time.monotonic())

    def patient(self) -> Patient:
        """Give the process that all checks share, another if it has ended."""
        if self._shared is None or not self._shared.alive():
            self.close()
            self._shared = self._started(HASH_SEEDS[0])
        return self._shared

    @contextmanager
    def fresh(
        self, hash_seed: str = HASH_SEEDS[0], heard: bool = True
    ) -> Generator[Patient, None, None]:
        """Start a process for a check of its own; unless `heard`, what it prints is no evidence."""
        patient = self._started(hash_seed)
        if not heard:
            self.said.pop()
        try:
            yield patient
        finally:
            patient.close()

    def _started(self, hash_seed: str) -> Patient:
        patient = Patient(self.target, hash_seed, self.until)
        self.said.append((patient.out, patient.err))
        return patient

    def close(self) -> None:
        """End the process that checks share."""
        if self._shared is not None:
            self._shared.close()
            self._shared = None

    def actions(self, seed: int) -> list[Any]:
        """Give the actions of an episode that is compared, drawn once for all processes."""
        key = seed, self.size.steps
        if key not in self._actions:
            self._actions[key] = self.patient().ask("draw", seed=seed, count=self.size.steps)
        return self._actions[key]

    def episode(self, seed: int, session: str, name: str) -> list[Line]:
        """Give the lines of a script that play an episode."""
        whole: Line = {"session": session, "as": name}
        return [whole | {"seed": seed}, *(whole | {"action": a} for a in self.actions(seed))]

    def alone(self, seed: int) -> Transcript:
        """Play an episode as the only one of its process; it is played once."""
        if seed not in self._alone:
            lines = self.episode(seed, "alone", "alone")
            with self.fresh() as patient:
                self._alone[seed] = patient.ask("script", lines=lines)["alone"]
        return self._alone[seed]

    def agent(self, name: str) -> list[dict[str, Any]]:
        """Play the episodes of the null or the random agent; they are played once."""
        if name not in self.paid:
            seeds = list(range(self.seed, self.seed + self.size.episodes))
            self.paid[name] = self.patient().ask(
                "agent", seeds=seeds, steps=self.size.steps_max, null=name == "null"
            )
        return self.paid[name]
