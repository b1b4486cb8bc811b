"""Gymnasium's own checker finds nothing, vectors agree, and a cut episode can be masked."""

from __future__ import annotations

import json
import math
import pickle
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest

import simharness as sh
from simharness.adapters.health import PROCESS
from simharness.errors import ContractBreach, HarnessUnhealthy, UnknownName, UsageError
from simharness.product.registry import load_product, product_names
from tests.adapters.family import framework, run_example

gym = framework("gymnasium")
env_checker = framework("gymnasium.utils.env_checker")
adapter = framework("simharness.adapters.gymnasium")

if TYPE_CHECKING:
    from collections.abc import Generator

CRM = "simharness/Crm-Negotiation-v0"
WORKSHOP = f"{Path(__file__).parents[1] / 'episode' / 'workshop.py'}:Workshop/shift"
STALE = {"parts.detail.cache.ttl": "1h", "parts.detail.cache.invalidate": "never"}
SCENARIOS = [s.id for name in product_names() for s in load_product(name).scenarios]


def call(tool: str, **arguments: Any) -> str:
    return json.dumps({"name": tool, "arguments": arguments})


CHANGE = [
    call("look", part_id=1),
    call("resize", part_id=1, size=3),
    call("look", part_id=1),
    call("finish", message="resized"),
]
# Gymnasium itself warns of a reward that is no number, if it is the first of an environment.
BREAK = [call("look", part_id=1), call("explode", after=1)]


@pytest.fixture(autouse=True)
def healthy() -> Generator[None]:
    yield
    PROCESS.forget()


def play(env: Any, actions: list[str], seed: int = 1) -> list[Any]:
    told = [env.reset(seed=seed)]
    for action in actions:
        told.append(env.step(action))
        if told[-1][2] or told[-1][3]:
            break
    return told


def test_the_example_prints_what_it_says(tmp_path: Path) -> None:
    said, told = run_example("gymnasium", tmp_path)
    assert told == said


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_the_checker_has_nothing_to_say_of_any_scenario(scenario: str) -> None:
    # Warnings are errors here, as in all tests.
    env = gym.make(adapter.env_id(scenario))
    env_checker.check_env(env.unwrapped)


def test_an_id_is_made_of_product_and_scenario() -> None:
    assert adapter.env_id("helpdesk/double-charge") == "simharness/Helpdesk-DoubleCharge-v0"
    assert gym.make("simharness.adapters.gymnasium:" + CRM).spec.kwargs == {
        "scenario": "crm/negotiation"
    }


def test_a_seed_is_the_seed_of_simharness() -> None:
    env = gym.make(CRM)
    prompt, info = env.reset(seed=7)
    start = sh.make("crm/negotiation", seed=7).reset()
    assert (prompt, info["seed"], info["episode_id"]) == (start.prompt, 7, start.episode_id)
    assert json.loads(info["tools"]) == json.loads(json.dumps(start.tools))
    split = load_product("crm").scenarios[0].seeds_of("eval")
    assert env.reset(options={"seed": "eval:3"})[1]["seed"] == split[3]
    assert env.reset()[1]["seed"] in load_product("crm").scenarios[0].seeds_of("train")


@pytest.mark.parametrize(
    ("seed", "options", "message"),
    [
        (None, {"sed": "eval:7"}, "no option of reset named 'sed'; did you mean 'seed'"),
        (7, {"seed": "eval:7"}, "given the seed 7 and the seed 'eval:7'"),
        (None, {"seed": "evl:7"}, "evl"),
    ],
)
def test_no_misspelt_seed_is_ignored(seed: int | None, options: Any, message: str) -> None:
    env = gym.make(CRM)
    with pytest.raises(UsageError, match=message):
        env.reset(seed=seed, options=options)
    assert env.reset(seed=7, options={"seed": None})[1]["seed"] == 7


@pytest.mark.parametrize("action", [None, 1, {"name": "get_deal"}])
def test_what_is_no_text_is_no_action(action: Any) -> None:
    env = gym.make(CRM).unwrapped
    env.reset(seed=7)
    with pytest.raises(UsageError, match="an action is a text, got "):
        env.step(action)


def test_calls_are_answered_as_json_and_bad_ones_with_an_error() -> None:
    env = gym.make(CRM)
    env.reset(seed=7)
    observation, reward, terminated, truncated, info = env.step(call("get_deal", deal_id=1))
    assert json.loads(observation)["id"] == 1
    assert (reward, terminated, truncated) == (0.0, False, False)
    assert set(info) == {"t", "step", "digest"}
    both = json.dumps([json.loads(call("get_deal", deal_id=n)) for n in (1, 2)])
    assert [json.loads(line)["id"] for line in env.step(both)[0].splitlines()] == [1, 2]
    for bad in ('{"name": "get_de', "[1]", call("get_deal", deal_id="one"), call("no_such_tool")):
        assert "error" in json.loads(env.step(bad)[0])
    assert env.step("I am thinking.")[0].startswith("Nobody reads plain text here.")


def test_a_sound_episode_ends_with_its_reward_and_may_be_trained_on() -> None:
    env = gym.make(adapter.ANY, scenario=WORKSHOP)
    part = int(env.reset(seed=3)[0].split()[2])
    env.step(call("resize", part_id=part, size=7))
    _, reward, terminated, _, info = env.step(call("finish", message="resized"))
    assert (reward, terminated, info["valid"], info["class"]) == (1.0, True, True, "ok")
    assert env.unwrapped.verdict.kind == "ok"


def test_a_cut_episode_has_no_number_and_says_so() -> None:
    env = gym.make(adapter.ANY, scenario=WORKSHOP, config=STALE)
    _, reward, terminated, _, info = play(env, CHANGE)[-1]
    assert math.isnan(reward)
    assert (terminated, info["valid"], info["class"]) == (True, False, "harness")
    assert info["primary"] == "H112"
    env = gym.make(adapter.ANY, scenario=WORKSHOP)
    _, reward, terminated, _, info = play(env, BREAK)[-1]
    assert math.isnan(reward)
    assert (terminated, info["valid"], info["primary"]) == (True, False, "H810")


def test_on_harness_is_an_argument_of_make() -> None:
    env = gym.make(adapter.ANY, scenario=WORKSHOP, config=STALE, on_harness="raise")
    with pytest.raises(ContractBreach):
        play(env, CHANGE)
    env = gym.make(adapter.ANY, scenario=WORKSHOP, config=STALE, on_harness="mark")
    _, reward, _, _, info = play(env, CHANGE)[-1]
    assert (reward, info["valid"]) == (0.0, False)


def test_the_breaker_raises_in_the_process_of_the_trainer() -> None:
    env = gym.make(adapter.ANY, scenario=WORKSHOP)
    for seed in range(7):
        play(env, BREAK, seed)
    with pytest.raises(HarnessUnhealthy, match="8 episodes in a row: H810 8"):
        play(env, BREAK, 7)
    with pytest.raises(HarnessUnhealthy):
        env.reset(seed=8)


def plain(told: Any) -> Any:
    """Vectors as lists, so that they can be compared; NaN as None."""
    if isinstance(told, dict):
        return {key: plain(value) for key, value in cast("dict[str, Any]", told).items()}
    if isinstance(told, tuple | list):
        return [plain(value) for value in cast("list[Any]", told)]
    if hasattr(told, "tolist"):
        return plain(told.tolist())
    return None if isinstance(told, float) and math.isnan(told) else told


def test_vectors_in_one_process_and_in_several_tell_the_same() -> None:
    # The second environment breaks, and begins another episode with the step after.
    turns = [
        [call("look", part_id=1)] * 3,
        [call("look", part_id=1), call("explode", after=1), call("look", part_id=1)],
        [call("resize", part_id=1, size=7)] * 3,
        [call("finish", message="resized")] * 3,
    ]
    seen: list[Any] = []
    for mode, more in (("sync", {}), ("async", {"shared_memory": False})):
        envs = gym.make_vec(
            adapter.ANY, 3, vectorization_mode=mode, vector_kwargs=more, scenario=WORKSHOP
        )
        told = [envs.reset(seed=5), *(envs.step(turn) for turn in turns)]
        envs.close()
        seen.append(plain(told))
        assert list(told[0][1]["seed"]) == [5, 6, 7]
        _, rewards, terminated, _, infos = told[2]
        assert [math.isnan(reward) for reward in rewards] == [False, True, False]
        assert (list(terminated), list(infos["_valid"])) == ([False, True, False],) * 2
        assert not infos["valid"][1]
        # The mask of a trainer: what has ended and is valid.
        assert list(told[4][4]["valid"] & told[4][4]["_valid"]) == [True, True, True]
    assert seen[0] == seen[1]


def test_shared_memory_is_refused_because_its_observations_would_be_old() -> None:
    with pytest.raises(ValueError, match="shared_memory=False") as caught:
        gym.make_vec(adapter.ANY, 2, vectorization_mode="async", scenario=WORKSHOP)
    assert "never read again" in str(caught.value.__cause__)


def test_a_factory_can_be_pickled() -> None:
    factory = pickle.loads(pickle.dumps(partial(adapter.SimharnessEnv, WORKSHOP, load=2)))
    assert play(factory(), CHANGE) == play(gym.make(adapter.ANY, scenario=WORKSHOP, load=2), CHANGE)


def test_rendering_shows_what_the_agent_was_told() -> None:
    env = gym.make(adapter.ANY, scenario=WORKSHOP, render_mode="ansi")
    told = play(env, CHANGE[:1])
    assert env.render() == told[-1][0]


def test_what_does_not_fit_is_cut_with_a_note() -> None:
    assert adapter.fitted("caf\u00e9") == "caf\\xe9"
    long = adapter.fitted("x" * 2_000_000)
    assert len(long) == adapter.TOLD_MAX
    assert long.endswith("[cut: 2000000 characters are more than 1048576; ask for less at once]")


def test_an_unknown_scenario_is_told_with_the_near_ones() -> None:
    with pytest.raises(UnknownName, match="did you mean 'negotiation'"):
        gym.make(adapter.ANY, scenario="crm/negotiations")
