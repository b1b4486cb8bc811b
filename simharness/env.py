"""The public face: reset, step and branch, with a verdict on every finished episode."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from simharness.blame.attribution import judge, judge_record
from simharness.episode.episode import Episode
from simharness.episode.info import info_payload
from simharness.episode.plan import Plan
from simharness.episode.play import drive, observe, perform
from simharness.episode.policies import PolicySource
from simharness.episode.replay import Replay
from simharness.episode.replay import replay as replay_record
from simharness.errors import (
    ContractBreach,
    HarnessError,
    ProviderFailed,
    SimharnessError,
    UnknownName,
    UsageError,
)
from simharness.extras import to_install
from simharness.kernel.calendar import format_instant
from simharness.kernel.process import place_of
from simharness.product.fault import parse_load
from simharness.product.registry import load_scenario
from simharness.recording.reader import EpisodeRecord, read_file
from simharness.units import format_duration, humanize, parse_duration

if TYPE_CHECKING:
    from pathlib import Path

    from simharness.blame.verdict import Verdict
    from simharness.episode.step import StepRecord
    from simharness.product.policy import Action, Observation, Policy
    from simharness.recording.writer import Sink

SEED = re.compile(r"(?:(train|eval):)?([0-9]{1,20})")
"""A seed as text: its number, or its place in a split."""
ON_HARNESS = ("raise", "cut", "mark")


@dataclass(frozen=True, slots=True)
class Reset:
    """What an agent is told at the start."""

    prompt: str
    tools: tuple[Mapping[str, Any], ...]
    """Name, description and JSON Schema of each tool."""
    t: str
    """Simulated time, ISO 8601 UTC."""
    episode_id: str


@dataclass(frozen=True, slots=True)
class Step:
    """What comes back from one action."""

    observation: Observation
    reward: float | None
    """0.0 before the end, then the whole score; None where the harness can't tell."""
    terminated: bool
    """The task ended."""
    truncated: bool
    """A budget ended."""
    info: dict[str, Any] = field(default_factory=dict[str, Any])
    """At the end `valid` (may be trained on) and `verdict` (as a map); always `step` and
    `digest`."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """One episode that was run to its end, and its verdict."""

    episode: Episode
    verdict: Verdict


class Env:
    """One environment: an episode at a time, replayable and branchable at every step.

    Its first episode has begun when it is made: `reset` tells what it is about, and `step` goes on
    from there whether it was asked or not. Later resets begin another.

    `on_harness` says what happens when an observation breaks its contract: `raise` throws
    ContractBreach, `cut` ends the episode with reward None, `mark` only flags it in the verdict.
    `policy` names in the recording who plays, and `about` is what its INFO frame says besides.
    """

    def __init__(
        self,
        plan: Plan,
        *,
        on_harness: str = "raise",
        policy: str = "caller",
        about: Mapping[str, str | int] | None = None,
    ) -> None:
        if on_harness not in ON_HARNESS:
            raise UsageError(
                f"on_harness {on_harness!r} is not known", "use " + ", ".join(ON_HARNESS)
            )
        self.plan = plan
        self.on_harness = on_harness
        self.policy = policy
        self.about = about
        self.episode = new_episode(plan, policy, about=about)
        self.verdict: Verdict | None = None
        self._cut = False
        self._fresh = True

    def reset(self, seed: int | str | None = None) -> Reset:
        """Begin an episode, of `seed` (as for `make`) or of the plan's own.

        The same seed gives the same episode every time.
        """
        number = self.plan.seed if seed is None else seed_of(self.plan.scenario, seed)
        if number != self.plan.seed:
            self.plan = with_seed(self.plan, number)
            self._fresh = False
        if not self._fresh:
            self.episode = new_episode(self.plan, self.policy, about=self.about)
        self._fresh = False
        self._cut = False
        self.verdict = None
        episode = self.episode
        return Reset(
            prompt=episode.prompt,
            tools=tuple(tool.schema for tool in episode.product.tools.values()),
            t=format_instant(episode.world.instant),
            episode_id=episode.id,
        )

    def step(
        self,
        action: Action,
        *,
        think: str | int | None = None,
        latency: Mapping[str, str | int] | Sequence[Mapping[str, str | int]] | None = None,
    ) -> Step:
        """Do one action: one call, several at once, plain text, or None to go away.

        `think` is the simulated time before it is sent (default: a draw that is the same for every
        policy on this seed); `latency` pins named waits, one map for all calls or one a call.
        Raises UsageError after the end, HarnessError when the harness fails or, under
        `on_harness="raise"`, when it served what its contract forbids.
        """
        self._fresh = False
        episode = self.episode
        at = None if think is None else episode.world.ticks + ticks_of(think)
        breaches = len(episode.breaches)
        try:
            pins = pins_of(action, latency)
            for name in sorted({name for one in pins for name in one or ()}):
                if name not in episode.product.waits:
                    raise UnknownName.among("wait", name, episode.product.waits)
            record = perform(episode, action, at, pins)
        except HarnessError:
            if episode.aborted is not None:
                self._conclude()
            raise
        breached = episode.breaches[breaches:]
        if breached and self.on_harness != "mark":
            return self._breached(record)
        if episode.ended:
            self._conclude()
        return self._answer(record, record.reward)

    def branch(self, step: int) -> Env:
        """Give an independent Env with the same past up to and including `step` (0: just reset)."""
        inputs = self.episode.inputs
        if not 0 <= step <= len(inputs):
            raise UsageError(f"can't branch at step {step}", f"give 0 to {len(inputs)}")
        twin = Env(self.plan, on_harness=self.on_harness, policy=self.policy, about=self.about)
        for given in inputs[:step]:
            twin.episode.send(given)
        twin._fresh = False
        if self._cut and step == len(inputs):
            twin.episode.ended = twin._cut = True
        if twin.episode.ended:
            twin._conclude()
        return twin

    def save(self, path: str | Path) -> None:
        """Write the recording so far; a reader says TRUNCATED of one that hasn't ended."""
        self.episode.save(path)

    def _breached(self, record: StepRecord) -> Step:
        breach = self.episode.breaches[-1]
        text = (
            f"{breach.view} served {breach.view.partition('.')[0]}:{breach.key} v{breach.served}, "
            f"out of date for {humanize(breach.age)}, now v{breach.true} (seed {self.plan.seed}, "
            f"step {record.input.step}, simulated time {format_duration(record.t)})"
        )
        self.episode.ended = True
        self._cut = True
        self._conclude()
        if self.on_harness == "raise":
            look = "to look at it: env.save(FILE), then simharness show FILE --truth"
            text = f"{text}; {look}; the same seed, played by the policy expert"
            raise ContractBreach(text, self.episode.command)
        return Step(observe(self.episode, record), None, True, False, self._info(valid=False))

    def _conclude(self) -> None:
        if self.verdict is None:
            expert = self.episode.scenario.policies.get("expert")
            self.verdict = judge(self.episode, reference=expert)
            if self._cut:
                # Whatever was paid rests on what the breach showed: there is no number to train on.
                self.verdict = replace(self.verdict, score=None)
            self.episode.close(self.verdict.record())

    def _info(self, *, valid: bool | None = None) -> dict[str, Any]:
        info: dict[str, Any] = {"step": len(self.episode.steps), "digest": self.episode.digest}
        if self.verdict is not None:
            info["valid"] = self.verdict.valid if valid is None else valid
            info["verdict"] = self.verdict.told()
        return info

    def _answer(self, record: StepRecord, reward: int | None) -> Step:
        return Step(
            observe(self.episode, record),
            None if reward is None else reward / 1_000_000,
            record.terminated,
            record.truncated,
            self._info(),
        )


def make(
    scenario: str,
    *,
    seed: int | str = 0,
    load: int | float | str = 1,
    faults: Sequence[str] = (),
    profile: str = "",
    config: Mapping[str, Any] | None = None,
    schedule: str = "fifo",
    on_harness: str = "raise",
) -> Env:
    """Make an environment; `seed` is a number, or `train:N` or `eval:N`, counted from 0 there.

    Raises UnknownName or UsageError for what can't be made.
    """
    return Env(
        make_plan(scenario, seed, load, faults, profile, config, schedule), on_harness=on_harness
    )


def run(
    scenario: str,
    *,
    seed: int | str = 0,
    policy: str | Policy = "expert",
    load: int | float | str = 1,
    faults: Sequence[str] = (),
    profile: str = "",
    config: Mapping[str, Any] | None = None,
    schedule: str = "fifo",
    base_url: str = "",
) -> Outcome:
    """Run one episode and judge it.

    `policy` is a name, `transcript:FILE`, `openai:MODEL`, or a policy itself; a model is asked at
    `base_url`. `seed` is as for `make`. Raises UnknownName or UsageError for what can't be run,
    ProviderRefused where a model can't be asked at all.
    """
    plan = make_plan(scenario, seed, load, faults, profile, config, schedule)
    if not isinstance(policy, str):
        # Marked as a function, so that no script of the same name is taken for it later.
        name = "function:" + getattr(policy, "__name__", type(policy).__name__)
        return finish(new_episode(plan, name), policy, askable=True)
    episode = new_episode(plan, policy)
    source = PolicySource(policy, episode.scenario, 1, base_url)
    return finish(episode, source.policy(0), askable=source.askable)


def finish(episode: Episode, policy: Policy, *, askable: bool) -> Outcome:
    """Let a policy play an episode to its end, judge it, close its recording.

    Where the provider of a model fails, that is its end.
    """
    try:
        drive(episode, policy)
    except HarnessError:
        if episode.aborted is None:
            raise
    except ProviderFailed as error:
        episode.give_up(error.finding, error.message)
    expert = episode.scenario.policies.get("expert")
    verdict = judge(episode, policy if askable else None, expert)
    episode.close(verdict.record())
    return Outcome(episode, verdict)


def new_episode(
    plan: Plan,
    policy: str,
    sink: Sink | None = None,
    *,
    keep_rows: bool = True,
    about: Mapping[str, str | int] | None = None,
) -> Episode:
    """Begin an episode whose recording says what made it, and what else is told `about` it.

    Raises UsageError where its product needs what isn't installed.
    """
    product, _ = load_scenario(plan.scenario)
    if missing := product.missing():
        raise not_installed(plan.scenario, missing)
    try:
        info = info_payload(product, policy, about)
        return Episode(plan, sink=sink, info=info, keep_rows=keep_rows)
    except SimharnessError:
        raise
    except Exception as error:
        raise HarnessError(
            f"{plan.scenario} can't be reset: {type(error).__name__}: {error} "
            f"({place_of(error)}, seed {plan.seed})",
            "look at the scenario's draw, start, people and goal",
        ) from error


def not_installed(scenario: str, missing: str) -> UsageError:
    """Build the error for a scenario whose product needs what isn't installed."""
    return UsageError(f"{scenario} needs what isn't installed", f"run: {to_install(missing)}")


def make_plan(
    scenario: str,
    seed: int | str = 0,
    load: int | float | str = 1,
    faults: Sequence[str] = (),
    profile: str = "",
    config: Mapping[str, Any] | None = None,
    schedule: str = "fifo",
) -> Plan:
    """Build a plan from what people write; `instance.NAME` keys of the config pin the instance."""
    if isinstance(faults, str):
        raise UsageError(f"faults {faults!r} is a text", f"give a list: [{faults!r}]")
    twice = [text for number, text in enumerate(faults) if text in faults[:number]]
    if twice:
        raise UsageError(f"fault {twice[0]!r} is given twice", "give each fault and trigger once")
    knobs: dict[str, Any] = {}
    pins: dict[str, Any] = {}
    for key, value in (config or {}).items():
        if key.startswith("instance."):
            pins[key.removeprefix("instance.")] = value
        else:
            knobs[key] = value
    return Plan(
        scenario=scenario,
        seed=seed_of(scenario, seed),
        load=parse_load(load),
        faults=tuple(faults),
        profile=profile,
        config=knobs,
        pins=pins,
        schedule=parse_schedule(schedule),
    )


def parse_schedule(text: str) -> dict[str, Any]:
    """Read a scheduling policy: `fifo`, or `random:SEED`. Raises UsageError."""
    name, _, seed = text.partition(":")
    if text == "fifo":
        return {"policy": "fifo"}
    if (
        name == "random"
        and seed.isascii()
        and seed.isdigit()
        and len(seed) <= 20
        and int(seed) < 2**64
    ):
        return {"policy": "random", "seed": int(seed)}
    raise UsageError(f"scheduling policy {text!r} is not known", "give fifo, or random:SEED")


def seed_of(scenario: str, seed: int | str) -> int:
    """Read a seed: a number, or `train:N` or `eval:N` for the N-th (from 0) seed of that split.

    Raises UsageError.
    """
    if not isinstance(seed, str):
        return seed  # the draws refuse what is none
    found = SEED.fullmatch(seed)
    if found is None:
        raise UsageError(f"seed {seed!r:.60} is not readable", "give N, train:N or eval:N")
    number = int(found[2])
    if found[1] is None:
        return number
    split = load_scenario(scenario)[1].seeds_of(found[1])
    if number >= len(split):
        raise UsageError(
            f"seed {seed!r} goes beyond the split", f"it holds {len(split)} seeds, from 0 on"
        )
    return split[number]


def with_seed(plan: Plan, seed: int) -> Plan:
    """Give a plan with another seed."""
    return replace(plan, seed=seed)


def ticks_of(value: str | int) -> int:
    """Read a length of time: a duration text, or ticks."""
    return parse_duration(value)


def pins_of(
    action: Action, latency: Mapping[str, str | int] | Sequence[Mapping[str, str | int]] | None
) -> tuple[Mapping[str, int] | None, ...]:
    """Read pinned waits: one map for every call of the action, or one map a call."""
    if latency is None:
        return ()
    if isinstance(latency, Mapping):
        calls = len(action) if isinstance(action, Sequence) and not isinstance(action, str) else 1
        latency = [latency] * calls
    return tuple({name: ticks_of(wait) for name, wait in one.items()} for one in latency)


def replay(path: str | Path, *, until: int | None = None, reverify: bool = False) -> Replay:
    """Replay the one episode of a file, bit for bit; with `reverify` what came from outside, too.

    Raises Divergence where it goes another way.
    """
    return replay_record(only_episode(path), until=until, reverify=reverify)


def audit(path: str | Path) -> Verdict:
    """Judge the one episode of a file again: replay it, run all detectors, prove by re-running."""
    record = only_episode(path)
    replay_record(record)
    return judge_record(record)


def only_episode(path: str | Path) -> EpisodeRecord:
    """Read the one episode of a file. Raises UsageError when it holds none or several."""
    found = read_file(path)
    if len(found) != 1:
        raise UsageError(f"{str(path)!r} holds {len(found)} episodes", "give a file with one")
    return found[0]
