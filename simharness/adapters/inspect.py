"""The scenarios as tasks of Inspect: `inspect eval simharness/crm_negotiation --model ...`.

A task for each scenario of a registered product, named with underscores, and `simharness/scenario`
for any other (`-T scenario=path.py:Class/scenario`). The tools are those of the scenario, by their
own schemas; any solver or agent may use them, since they are put into place by the task's setup.

An episode that isn't valid has no score (`Score.unscored`), so that it is in no mean; the log
counts those as `unscored_samples`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from simharness.adapters.episodes import ENDED, Episodes, text_of
from simharness.errors import UsageError
from simharness.extras import imported
from simharness.product.policy import Call
from simharness.product.registry import load_product, product_names
from simharness.rollout.request import parse_seeds

if TYPE_CHECKING:
    from collections.abc import Mapping

# Inspect is typed, but not there where the types are checked.
ai: Any = imported("inspect_ai", "inspect")
ai_dataset: Any = imported("inspect_ai.dataset", "inspect")
ai_scorer: Any = imported("inspect_ai.scorer", "inspect")
ai_solver: Any = imported("inspect_ai.solver", "inspect")
ai_tool: Any = imported("inspect_ai.tool", "inspect")

SEEDS = "eval:0:20"
MESSAGES_MAX = 200
"""Messages after which a sample ends, for models that neither finish nor call a tool."""
KEPT = "simharness"
"""Under which a sample's store holds what became of its episode."""
_PLAYED: dict[str, Episodes] = {}
"""Episodes under way, by the uuid of their sample."""


def scenario_task(scenario: str, seeds: str = SEEDS, **settings: Any) -> Any:
    """Make the task of a scenario: a sample for each seed, and what `Episodes` takes.

    `seeds` is as for `simharness run --seed`. A text of faults is read as one of them.
    Raises UsageError.
    """
    if isinstance(settings.get("faults"), str):
        settings["faults"] = [settings["faults"]]
    episodes = Episodes(scenario, **settings)
    samples = [
        ai_dataset.Sample(
            input=episodes.prompt(seed),
            id=f"seed-{seed}",
            metadata={"scenario": scenario, "seed": seed},
        )
        for seed in parse_seeds(str(seeds), None, (scenario,))
    ]
    return ai.Task(
        dataset=ai_dataset.MemoryDataset(samples, name=scenario),
        setup=setup(scenario=scenario, settings=settings),
        solver=ai_solver.generate(tool_calls="loop"),
        scorer=scorer(),
        cleanup=forget,
        message_limit=MESSAGES_MAX,
        version=episodes.product.semantics,
    )


def begin(scenario: str, settings: dict[str, Any]) -> Any:
    """Begin the episode of a sample and give the model its tools."""

    async def solve(state: Any, generate: Any) -> Any:
        episodes = Episodes(scenario, **settings)
        start = episodes.begin(state.metadata["seed"])
        _PLAYED[state.uuid] = episodes
        state.tools = [tool_of(episodes, state, schema) for schema in start.tools]
        return state

    return solve


def tool_of(episodes: Episodes, state: Any, schema: Mapping[str, Any]) -> Any:
    """Make a tool of Inspect: what several calls of one message do happens in their order."""
    name: str = schema["name"]
    parameters = ai_tool.ToolParams.model_validate(schema["parameters"])
    for argument, one in parameters.properties.items():
        # Inspect refuses a parameter that nothing is said of.
        one.description = argument.replace("_", " ")

    async def execute(**kwargs: Any) -> str:
        if episodes.ended:
            return ENDED
        step = episodes.step(Call(name, kwargs))
        state.completed = episodes.ended
        return text_of(step.observation)

    return ai_tool.ToolDef(
        execute,
        name=name,
        description=schema["description"],
        parameters=parameters,
        parallel=False,
        # What the product says is recorded as said, so nothing of it may be cut here.
        max_output=0,
    ).as_tool()


def verdict() -> Any:
    """Score by the reward, and leave out episodes that aren't valid."""

    async def score(state: Any, target: Any) -> Any:
        episodes = _PLAYED.get(state.uuid)
        if episodes is not None:
            state.store.set(KEPT, conclude(episodes, state.output.completion))
        told: dict[str, Any] | None = state.store.get(KEPT)
        if told is None:
            raise UsageError("this sample holds no episode", "score logs of simharness's own tasks")
        if told["score"] is None:
            return ai_scorer.Score.unscored(
                reason="environment", explanation=told["sentence"], metadata=told
            )
        return ai_scorer.Score(value=told["score"], explanation=told["sentence"], metadata=told)

    return score


def conclude(episodes: Episodes, said: str) -> dict[str, Any]:
    """End an episode whose model has stopped, and tell what became of it."""
    if said and not episodes.ended:
        episodes.step(said)
    if not episodes.ended:
        episodes.step(None)
    env = episodes.env
    assert env.verdict is not None
    told = env.verdict.told()
    names = ("class", "primary", "codes", "effect", "proof", "valid", "sentence")
    return {
        "score": episodes.score,
        **{name: told[name] for name in names},
        "seed": env.plan.seed,
        "digest": env.episode.digest,
    }


async def forget(state: Any) -> None:
    """Let go of a sample's episode, however it ended."""
    _PLAYED.pop(state.uuid, None)


def task_name(scenario: str) -> str:
    """Name the task of a registered scenario: `crm_negotiation`."""
    return scenario.replace("/", "_").replace("-", "_")


setup: Any = ai_solver.solver(begin)
scorer: Any = ai_scorer.scorer(metrics=[ai_scorer.mean(), ai_scorer.stderr()])(verdict)
ai.task(name="scenario")(scenario_task)


def register(scenario: str) -> None:
    """Register the task of a scenario under its own name."""

    def play(seeds: str = SEEDS, **settings: Any) -> Any:
        return scenario_task(scenario, seeds, **settings)

    ai.task(name=task_name(scenario))(play)


for _product in product_names():
    for _scenario in load_product(_product).scenarios:
        register(_scenario.id)
