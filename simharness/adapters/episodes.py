"""Episodes for a trainer: made from its settings, begun by seed, cut where the harness fails."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from simharness.adapters.health import PROCESS, Health
from simharness.chat.messages import answer_text
from simharness.env import ON_HARNESS, Env, Reset, Step, make_plan, not_installed, seed_of
from simharness.errors import HarnessError, UsageError
from simharness.kernel.calendar import format_instant
from simharness.kernel.draws import Draws, Stream
from simharness.product.goal import MILLION
from simharness.product.policy import Observation
from simharness.product.registry import load_scenario
from simharness.product.scenario import Drawing
from simharness.recording.format import from_os_error

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from simharness.blame.verdict import Verdict
    from simharness.product.policy import Action

ENDED = "this episode has ended"
"""Answer to a call after the end, where a framework lets a model go on."""
BROKE = "the environment failed; this episode does not count"
"""What an agent is told last in an episode that broke."""


class Episodes:
    """One episode after the other, as a trainer asks for them.

    What the harness gets wrong is a cut episode (`on_harness="cut"`): reward None, `info["valid"]`
    false, and the next one begins as usual. That holds for an observation that breaks its contract
    and for a tool that raises. `mark` lets the first go on, and flags it; `raise` throws both.
    Every episode that ends is counted by the breaker, `health`.
    """

    def __init__(
        self,
        scenario: str,
        *,
        load: int | float | str = 1,
        faults: Sequence[str] = (),
        profile: str = "",
        config: Mapping[str, Any] | None = None,
        schedule: str = "fifo",
        on_harness: str = "cut",
        keep: str | Path | None = None,
        breaker: bool = True,
        health: Health = PROCESS,
    ) -> None:
        """Take what `simharness.make` takes, and check it.

        `keep` is a folder for the recordings of episodes that aren't valid; `breaker=False` goes on
        whatever the harness does, as with faults that are switched on. Raises UsageError.
        """
        if on_harness not in ON_HARNESS:
            raise UsageError(
                f"on_harness {on_harness!r} is not known", "use " + ", ".join(ON_HARNESS)
            )
        self.product, self.scenario = load_scenario(scenario)
        if missing := self.product.missing():
            raise not_installed(scenario, missing)
        self.plan = make_plan(scenario, 0, load, faults, profile, config, schedule)
        self.on_harness = on_harness
        self.keep = None if keep is None else Path(keep)
        self.health = health if breaker else None
        self._env: Env | None = None

    @property
    def env(self) -> Env:
        """The episode that was begun last. Raises UsageError before the first."""
        if self._env is None:
            raise UsageError(f"no episode of {self.plan.scenario} has begun", "call reset first")
        return self._env

    @property
    def begun(self) -> bool:
        """Whether there has been a reset."""
        return self._env is not None

    @property
    def ended(self) -> bool:
        """Whether no step may be taken now."""
        return self._env is None or self._env.episode.ended

    @property
    def score(self) -> float | None:
        """What may be trained on: None before the end, and for an episode that isn't valid."""
        verdict = self.env.verdict
        if verdict is None or not verdict.valid or verdict.score is None:
            return None
        return verdict.score / MILLION

    def prompt(self, seed: int) -> str:
        """Give the prompt of a seed without an episode. Raises UsageError for what is pinned."""
        pins = self.plan.pins
        drawing = Drawing(Stream(Draws(seed), "instance", 0), pins)
        scenario = self.scenario.bound(pins)
        scenario.draw(drawing)
        return scenario.prompt(drawing.finish())

    def begin(self, seed: int | str) -> Reset:
        """Begin an episode; `seed` is as for `simharness.make`.

        Raises HarnessUnhealthy once the breaker has stopped this process.
        """
        if self.health is not None:
            self.health.check()
        plan = replace(self.plan, seed=seed_of(self.plan.scenario, seed))
        self._env = Env(plan, on_harness=self.on_harness)
        return self._env.reset()

    def step(self, action: Action) -> Step:
        """Do one action. Raises UsageError outside of an episode, HarnessUnhealthy at its end."""
        env = self.env
        try:
            step = env.step(action)
        except HarnessError:
            if env.verdict is None:
                raise
            self._close(env, env.verdict)
            if self.on_harness == "raise":
                raise
            return broken(env, env.verdict)
        if env.verdict is not None:
            self._close(env, env.verdict)
        return step

    def _close(self, env: Env, verdict: Verdict) -> None:
        episode = env.episode
        command = episode.command
        if self.keep is not None and not verdict.valid:
            slug = self.scenario.id.replace("/", "-")
            path = self.keep / f"{slug}-{episode.plan.seed}-{episode.digest[:12]}.simrec"
            try:
                self.keep.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise from_os_error("make", self.keep, error) from error
            env.save(path)
            command = shlex.join(["simharness", "show", str(path), "--truth"])
        if self.health is not None:
            self.health.add(episode.plan, verdict, command)


def broken(env: Env, verdict: Verdict) -> Step:
    """Tell of a step in which the harness failed, as of an episode that was cut."""
    episode = env.episode
    observation = Observation(
        t=format_instant(episode.world.instant), episode_id=episode.id, results=(), text=BROKE
    )
    info = {
        "step": len(episode.steps),
        "digest": episode.digest,
        "valid": verdict.valid,
        "verdict": verdict.told(),
    }
    return Step(observation, None, True, False, info)


def text_of(observation: Observation) -> str:
    """Write what the agent is told as text: the answer to its call, or a line for each of them."""
    results = observation.results
    lines = [answer_text("value" in r, r.get("value", r.get("error"))) for r in results]
    return "\n".join([*lines, observation.text] if observation.text else lines)
