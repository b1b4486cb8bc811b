"""The tasks: a seed each, scored by playing the agent's calls once more."""

import verifiers.v1 as vf

from simharness.adapters.episodes import Episodes
from simharness.product.policy import Call
from simharness.rollout.request import parse_seeds
from simharness_tasks.tools import Calls, ScenarioTools


class SpoiledError(Exception):
    """The harness spoiled the episode: there is no number to train on."""


class SeedData(vf.TaskData):
    """A seed of a scenario."""

    scenario: str
    seed: int
    load: str


class ScenarioTaskConfig(vf.TaskConfig):
    """How the tools are served."""

    tools: vf.ToolsetConfig = vf.ToolsetConfig()


class ScenarioTask(vf.Task[SeedData, Calls, ScenarioTaskConfig]):
    """One episode."""

    @classmethod
    def toolsets(cls, config: ScenarioTaskConfig) -> list[vf.Toolset]:
        """Give the tool server."""
        return [ScenarioTools(config.tools)]

    @vf.reward(weight=1.0)
    async def score(self, trace: vf.Trace) -> float:
        """Play the calls once more, and let the agent go away if it hasn't finished.

        Raises SpoiledError where there is no number, HarnessUnhealthy where that has become usual.
        """
        episodes = Episodes(self.data.scenario, load=self.data.load)
        episodes.begin(self.data.seed)
        for tool, arguments in trace.state.calls:
            if not episodes.ended:
                episodes.step(Call(tool, arguments))
        if not episodes.ended:
            episodes.step(None)
        if episodes.score is None:
            raise SpoiledError(episodes.env.verdict.headline)
        return episodes.score


class ScenarioConfig(vf.TasksetConfig):
    """Which seeds of which scenario."""

    scenario: str = "crm/negotiation"
    seeds: str = "train:0:20"
    load: str = "1"
    task: ScenarioTaskConfig = ScenarioTaskConfig()


class SimharnessTaskset(vf.Taskset[ScenarioTask, ScenarioConfig]):
    """Seeds of a scenario."""

    def load(self) -> list[ScenarioTask]:
        """Give a task for each seed."""
        scenario, load = self.config.scenario, self.config.load
        episodes = Episodes(scenario, load=load)
        return [
            ScenarioTask(
                SeedData(
                    name=f"{scenario}:{seed}",
                    prompt=episodes.prompt(seed),
                    scenario=scenario,
                    seed=seed,
                    load=load,
                ),
                self.config.task,
            )
            for seed in parse_seeds(self.config.seeds, None, (scenario,))
        ]
