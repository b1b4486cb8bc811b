"""The subject: one scenario, and the episodes of it that several checks look at.

What many need is played once, when the first of them asks.
"""

from __future__ import annotations

import shlex
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from simharness.blame.case import story_of_episode
from simharness.env import make_plan, new_episode, not_installed
from simharness.episode.play import drive
from simharness.episode.policies import GENERIC, policy_names, scripted
from simharness.errors import UsageError
from simharness.findings.detect import harness_findings
from simharness.product.registry import load_scenario
from simharness.recording.reader import parse
from simharness.recording.writer import FrameLog
from simharness.rollout.request import Request
from simharness.selfcheck.check import selfcheck
from simharness.selfcheck.variants import Axis, Order, Variant
from simharness.units import DAY
from simharness.validate.measured import Measured, measured
from simharness.validate.plays import CLAIMS, ECHO, claiming, echoing

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from simharness.episode.episode import Episode
    from simharness.episode.plan import Plan
    from simharness.product.policy import Policy
    from simharness.recording.reader import EpisodeRecord
    from simharness.selfcheck.check import Report

EXPERT = "expert"
QUIET, BUSY = "1", "8"
"""The two loads that the reference plays at."""
SAMPLED = (EXPERT, "random", "spam", "null")
"""Policies whose episodes are kept and looked at in full."""
ELSEWHERE = (EXPERT, "random", "spam")
"""Policies that play in fresh processes too; between them they call all tools."""
OUTCOMES = ("done", "refused", "handed_over", "impossible")
SEEDS_MIN = 2
OTHERWISE = Variant(
    name="all else",
    axis=Axis.HASH_SEED,
    variables={
        "PYTHONHASHSEED": "4242",
        "TZ": "NZST-12NZDT,M9.5.0,M4.1.0/3",
        "LC_ALL": "C",
        "PYTHONUTF8": "0",
        "PYTHONCOERCECLOCALE": "0",
    },
    flags=("-O",),
    collector="eager",
    order=Order.BACKWARD,
)
"""One process that differs in all that must not matter; `selfcheck` then says in what it does."""


class Tried(NamedTuple):
    """One episode of a policy that isn't the reference."""

    seed: int
    score: int
    """Millionths; 0 where the harness couldn't tell."""
    found: tuple[str, ...]
    """Findings against the harness by all detectors, with their explanations."""


class Kept(NamedTuple):
    """One episode that is kept."""

    policy: str
    seed: int
    episode: Episode

    @property
    def name(self) -> str:
        """Whose it is and of which seed."""
        return f"{self.policy}, seed {self.seed}"

    def record(self) -> EpisodeRecord:
        """Read its recording."""
        sink = self.episode.sink
        if not isinstance(sink, FrameLog):
            raise TypeError(f"episode {self.episode.id} was recorded elsewhere")
        (record,) = parse(sink.to_bytes())
        return record


class Subject:
    """One scenario under validation.

    The reference plays all `seeds` at load 1 and two fifths of them at load 8; others play a fifth,
    the first of them. Raises UnknownName or UsageError for a scenario that can't be loaded, and
    UsageError for fewer than two seeds, and where its product needs what isn't installed.
    """

    def __init__(self, name: str, seeds: range, *, processes: bool = True) -> None:
        if len(seeds) < SEEDS_MIN:
            raise UsageError(
                f"{len(seeds)} seed is too few to validate", f"give {SEEDS_MIN} or more, as 0:20"
            )
        self.name = name
        self.seeds = seeds
        self.processes = processes
        """Whether fresh processes are tried too."""
        self.product, self.scenario = load_scenario(name)
        if missing := self.product.missing():
            raise not_installed(name, missing)
        self.played = 0
        """Episodes so far."""

    # --- seeds and commands -----------------------------------------------------------------------

    @property
    def busy_seeds(self) -> range:
        """Seeds that the reference plays at the higher load."""
        return self.seeds[: max(SEEDS_MIN, 2 * len(self.seeds) // 5)]

    @property
    def few_seeds(self) -> range:
        """Seeds that all others play."""
        return self.seeds[: max(SEEDS_MIN, len(self.seeds) // 5)]

    def run_command(self, seed: int, *, policy: str = EXPERT, load: str = QUIET) -> str:
        """Give the command that plays one of the episodes."""
        request = Request(
            scenarios=(self.name,), seeds=range(seed, seed + 1), policies=(policy,), loads=(load,)
        )
        return request.command(request.entry(0))

    def check_command(self, check: str) -> str:
        """Give the command that makes one check alone."""
        seeds = f"{self.seeds.start}:{self.seeds.stop}"
        words = ["simharness", "validate", self.name, "--check", check, "--seed", seeds]
        return shlex.join(words)

    # --- episodes ---------------------------------------------------------------------------------

    def plan(self, seed: int, load: str = QUIET, **more: Any) -> Plan:
        """Give the plan of an episode; `more` is as for `make_plan`."""
        return make_plan(self.name, seed, load, **more)

    def begin(self, plan: Plan, policy: str = "validate") -> Episode:
        """Begin an episode. Raises HarnessError when it can't be reset."""
        self.played += 1
        return new_episode(plan, policy)

    def long(self, seed: int) -> Episode:
        """Begin an episode that no budget ends before a day is over."""
        return self.begin(replace(self.plan(seed), steps_max=10_000, ticks_max=DAY))

    @property
    def expert(self) -> Policy:
        """The reference. Raises UsageError where there is none."""
        found = self.scenario.policies.get(EXPERT)
        if found is None:
            raise UsageError(
                f"{self.name} has no policy {EXPERT!r}",
                "write one: without it nobody knows that full reward can be had",
            )
        return found

    @property
    def player(self) -> Policy:
        """Whoever plays where it doesn't matter how well: the reference, or else a random one."""
        return self.scenario.policies.get(EXPERT, GENERIC["random"])

    def policy(self, name: str) -> Policy:
        """Give a scripted policy, or one that only claims, or says the prompt back."""
        if name == ECHO:
            return echoing
        outcome = name.removeprefix(CLAIMS)
        found = claiming(outcome) if outcome != name else scripted(name, self.scenario)
        if found is None:
            raise UsageError(f"{self.name} has no policy {name!r}")
        return found

    def play(self, seed: int, policy: Policy, load: str = QUIET, **more: Any) -> Episode:
        """Play an episode to its end. Raises HarnessError when the harness fails."""
        episode = self.begin(self.plan(seed, load, **more))
        drive(episode, policy)
        return episode

    def try_out(self, policy: Policy, seeds: Sequence[int], load: str = QUIET) -> list[Tried]:
        """Let a policy play, and run all detectors."""
        out: list[Tried] = []
        for seed in seeds:
            episode = self.play(seed, policy, load)
            found = harness_findings(story_of_episode(episode))
            told = tuple(f"{f.code} {f.explanation}" for f in found if f.code.startswith("H"))
            out.append(Tried(seed, episode.reward or 0, told))
        return out

    def reference(self, seeds: range, load: str, **more: Any) -> list[Measured]:
        """Let the reference play, and measure it."""
        expert = self.expert
        return [measured(self.begin(self.plan(s, load, **more)), expert) for s in seeds]

    @cached_property
    def quiet(self) -> list[Measured]:
        """The reference at load 1."""
        return self.reference(self.seeds, QUIET)

    @cached_property
    def busy(self) -> list[Measured]:
        """The reference at load 8."""
        return self.reference(self.busy_seeds, BUSY)

    @cached_property
    def shuffled(self) -> list[Measured]:
        """The reference where the order within an instant is drawn."""
        return self.reference(self.few_seeds, QUIET, schedule="random:1")

    @cached_property
    def kept(self) -> list[Kept]:
        """Some whole episodes, of policies that do very different things."""
        out: list[Kept] = []
        names = [name for name in SAMPLED if name in policy_names(self.scenario)]
        for name in names:
            for seed in self.few_seeds[:SEEDS_MIN]:
                episode = self.begin(self.plan(seed), name)
                drive(episode, self.policy(name))
                episode.close()
                out.append(Kept(name, seed, episode))
        return out

    @cached_property
    def idle(self) -> dict[str, list[Tried]]:
        """Policies that read nothing: what they say at once, and what that is paid."""
        names = ("null", "refuse", *(f"{CLAIMS}{outcome}" for outcome in OUTCOMES), ECHO)
        return {name: self.try_out(self.policy(name), self.few_seeds) for name in names}

    @cached_property
    def coping(self) -> dict[str, list[Tried]]:
        """All other scripted policies: none of them does the job."""
        names = [n for n in policy_names(self.scenario) if n not in (EXPERT, "null", "refuse")]
        return {name: self.try_out(self.policy(name), self.few_seeds) for name in names}

    @cached_property
    def instances(self) -> dict[int, Mapping[str, Any]]:
        """What the seeds draw, by seed."""
        return {seed: self.begin(self.plan(seed)).instance for seed in self.seeds[:12]}

    @property
    def elsewhere_policies(self) -> tuple[str, ...]:
        """Name who plays in fresh processes."""
        return tuple(n for n in ELSEWHERE if n != EXPERT or n in self.scenario.policies)

    @cached_property
    def elsewhere(self) -> Report:
        """Plays in two fresh processes that differ in all that must not matter.

        The reference may never call the tool whose answer differs; whoever calls at random does.
        """
        seeds, policies = self.seeds[:SEEDS_MIN], self.elsewhere_policies
        request = Request(scenarios=(self.name,), seeds=seeds, policies=policies)
        return selfcheck(request, variants=(OTHERWISE,))
