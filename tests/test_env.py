"""The public face: what it takes, what it refuses, and what it says then."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest

import simharness
from simharness import Call, ContractBreach, HarnessError, UsageError
from simharness.cli import call
from simharness.product.registry import load_scenario

if TYPE_CHECKING:
    from collections.abc import Generator

    from simharness.api import Action, Observation, Task

CRM = "crm/negotiation"
CARELESS = f"{Path(__file__).parent / 'episode' / 'careless.py'}:Careless"


# --- policies -------------------------------------------------------------------------------------


def call_at_once(_: object) -> Call:
    return Call("finish", {"message": ""})


def forget_to_yield(_: object) -> None:
    Call("finish", {"message": ""})


@pytest.mark.parametrize("policy", [call_at_once, forget_to_yield, 5, [Call("x")]])
def test_what_is_no_policy_is_refused(policy: Any) -> None:
    with pytest.raises(UsageError, match="a policy is a generator function of a Task"):
        simharness.run(CRM, policy=policy)


def test_a_generator_function_is_a_policy() -> None:
    def leave(task: Task) -> Generator[Action, Observation, None]:
        yield Call("finish", {"message": task.prompt[:10]})

    assert simharness.run(CRM, policy=leave).verdict.score == 0


# --- seeds ----------------------------------------------------------------------------------------


def test_a_seed_may_count_within_a_split() -> None:
    _, scenario = load_scenario(CRM)
    assert simharness.make(CRM, seed="eval:7").plan.seed == scenario.seeds_of("eval")[7]
    assert simharness.make(CRM, seed="train:7").plan.seed == scenario.seeds_of("train")[7]
    assert simharness.make(CRM, seed="7").plan.seed == 7
    env = simharness.make(CRM)
    assert env.reset("eval:1").episode_id == f"{CRM}:{scenario.seeds_of('eval')[1]}"
    outcome = simharness.run(CRM, seed="eval:0", policy="null")
    assert outcome.episode.plan.seed == scenario.seeds_of("eval")[0]


@pytest.mark.parametrize("seed", ["test:1", "eval:", "eval:-1", "", "eval:99999999999", "1.0"])
def test_a_seed_that_is_none_is_refused(seed: str) -> None:
    with pytest.raises(UsageError, match="seed"):
        simharness.make(CRM, seed=seed)
    with pytest.raises(UsageError, match="seed"):
        simharness.make(CRM).reset(seed)


# --- steps ----------------------------------------------------------------------------------------


def test_a_turn_without_calls_is_refused_with_what_env_takes() -> None:
    with pytest.raises(UsageError, match="or None to go away"):
        simharness.make(CRM).step([])


def test_a_breach_says_how_to_look_and_who_plays_the_command() -> None:
    env = simharness.make(
        CRM,
        seed=42,
        load=4,
        faults=["crm.invalidation-lost@load=0"],
        config={"deals.detail.cache.ttl": "1h"},
    )
    deal = {"deal_id": env.episode.scenario.brief(env.episode.instance)["deal_id"]}

    def look_on() -> None:
        for _ in range(30):
            env.step(Call("get_deal", deal))
            env.step(Call("wait", {"seconds": 300}))

    with pytest.raises(ContractBreach) as caught:
        look_on()
    assert "env.save(FILE), then simharness show FILE --truth" in str(caught.value)
    assert "played by the policy expert; simharness run" in str(caught.value)
    assert isinstance(caught.value, HarnessError)


# --- scores ---------------------------------------------------------------------------------------


def test_scores_are_floats_in_info_and_every_json(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    env = simharness.make(CRM, seed=1, on_harness="mark")
    verdict = env.step(None).info["verdict"]
    assert isinstance(verdict["score"], float)
    outcome = simharness.run(CRM, seed=42, load=4, faults=["crm.invalidation-lost"])
    path = tmp_path / "one.simrec"
    outcome.episode.save(path)
    for command in (["show"], ["audit"], ["audit", "--curve"]):
        capsys.readouterr()
        call([command[0], str(path), *command[1:], "--json"])
        told = json.loads(capsys.readouterr().out)
        scores = list(scores_in(told))
        assert scores, command
        assert all(type(score) is float and 0 <= score <= 1 for score in scores), command


def scores_in(value: Any) -> Generator[object, None, None]:
    """Give everything that is named as a score or a reward, wherever it stands."""
    if isinstance(value, dict):
        for name, item in cast("dict[str, Any]", value).items():
            if name in ("score", "score_before", "reward") and not isinstance(item, dict | None):
                yield item
            else:
                yield from scores_in(item)
    elif isinstance(value, list):
        for item in value:  # pyright: ignore[reportUnknownVariableType]
            yield from scores_in(item)


# --- products -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("slug", "text"),
    [("absent", "people:99, which isn't there"), ("forgotten", "signs the agent in as None")],
)
def test_an_agent_who_is_nobody_known_is_refused_at_reset(slug: str, text: str) -> None:
    with pytest.raises(HarnessError, match=text):
        simharness.make(f"{CARELESS}/{slug}")


@pytest.mark.parametrize("slug", ["present", "nobody"])
def test_an_agent_may_be_a_row_or_nobody(slug: str) -> None:
    simharness.make(f"{CARELESS}/{slug}").reset()


def test_a_lock_that_is_kept_is_found_though_the_goal_was_met() -> None:
    def play(task: Task) -> Generator[Action, Observation, None]:
        yield Call("no_close")
        yield Call("resize", {"part_id": task.brief["part_id"], "size": 7})
        yield Call("finish", {"message": "resized"})

    config = {"instance.part": 2}
    verdict = simharness.run(f"{CARELESS}/shift", policy=play, load=0, config=config).verdict
    assert (verdict.score, verdict.valid, verdict.codes) == (1_000_000, False, ("H315",))
