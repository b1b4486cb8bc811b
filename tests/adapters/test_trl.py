"""The classes have no other tools than the scenario's, and give no number that isn't one.

TRL needs torch, so what it does is done here in its own words; the schemas are made by the function
of transformers that it makes them by.
"""

from __future__ import annotations

import inspect
import json
from pathlib import Path
from statistics import fmean, stdev
from typing import TYPE_CHECKING, Any, cast

import pytest

import simharness as sh
from simharness.adapters.episodes import BROKE
from simharness.adapters.health import PROCESS
from simharness.adapters.trl import Environment, environment, masked, rows
from simharness.errors import ContractBreach, HarnessUnhealthy, UsageError
from simharness.product.registry import load_product, product_names
from tests.adapters.family import framework, run_example

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

WORKSHOP = f"{Path(__file__).parents[1] / 'episode' / 'workshop.py'}:Workshop/shift"
STALE = {"parts.detail.cache.ttl": "1h", "parts.detail.cache.invalidate": "never"}
SCENARIOS = [s.id for name in product_names() for s in load_product(name).scenarios]


@pytest.fixture(autouse=True)
def healthy() -> Generator[None]:
    yield
    PROCESS.forget()


def tools_of(made: Environment) -> dict[str, Callable[..., str]]:
    """What GRPOTrainer makes tools of."""
    names = [name for name, _ in inspect.getmembers(type(made), predicate=inspect.isfunction)]
    hidden = ("reset", "get_reward")
    return {n: getattr(made, n) for n in names if n not in hidden and not n.startswith("_")}


def call(made: Environment, tool: str, **arguments: Any) -> Any:
    """Do a call as GRPOTrainer does, which swallows what is raised."""
    try:
        return json.loads(tools_of(made)[tool](**arguments))
    except json.JSONDecodeError as error:
        return error.doc
    except Exception as error:
        return {"error": str(error)}


def solve(made: Environment, prompt: str) -> None:
    call(made, "resize", part_id=int(prompt.split()[2]), size=7)
    call(made, "finish", message="resized")


def test_the_example_prints_what_it_says(tmp_path: Path) -> None:
    said, told = run_example("trl", tmp_path)
    assert told == said


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_its_tools_are_those_of_the_scenario_and_no_others(scenario: str) -> None:
    made = environment(scenario)()
    product = load_product(scenario.partition("/")[0])
    assert sorted(tools_of(made)) == sorted(product.tools)


@pytest.mark.parametrize("scenario", ["crm/negotiation", "helpdesk/triage", "marketplace/book"])
def test_transformers_makes_the_schemas(scenario: str) -> None:
    utils = framework("transformers.utils")
    made = environment(scenario)()
    for name, spec in load_product(scenario.partition("/")[0]).tools.items():
        theirs = utils.get_json_schema(tools_of(made)[name])["function"]
        ours = spec.schema
        assert theirs["name"] == name
        assert " ".join(theirs["description"].split()) == " ".join(ours["description"].split())
        given, wanted = theirs["parameters"], ours["parameters"]
        assert given.get("required", []) == wanted["required"]
        assert list(given["properties"]) == list(wanted["properties"])
        for argument, schema in wanted["properties"].items():
            one = given["properties"][argument]
            assert argument.replace("_", " ") in one["description"]
            assert kinds(one) == kinds(schema), (name, argument)


def kinds(schema: dict[str, Any]) -> tuple[list[str], list[str]]:
    """The JSON types that a schema takes, and its choices."""
    options = cast("list[dict[str, Any]]", schema.get("anyOf", [schema]))
    listed = [schema["type"]] if isinstance(schema.get("type"), str) else schema.get("type", [])
    found = {*listed, *(t for o in options for t in [o.get("type")] if isinstance(t, str))}
    if schema.get("nullable"):
        found.add("null")
    return sorted(found), [c for o in options for c in o.get("enum", ()) if c is not None]


def test_an_instance_is_used_again_and_again() -> None:
    made = environment(WORKSHOP)()
    first = made.reset(seed=3)
    assert first == sh.make(WORKSHOP, seed=3).reset().prompt
    solve(made, first)
    assert made.get_reward() == 1.0
    assert made.reset(seed=3) == first
    assert call(made, "look", part_id=1)["size"] == 0
    # Nobody has finished: the agent has gone away.
    assert made.get_reward() == made.get_reward() == 0.0
    assert call(made, "look", part_id=1) == "this episode has ended"


def test_bad_calls_are_answered_as_the_product_answers_them() -> None:
    made = environment(WORKSHOP)()
    made.reset(seed=1)
    for arguments in ({}, {"part_id": "one"}, {"part_id": 1, "zzz": 2}):
        assert call(made, "look", **arguments)["error"]["code"] == "invalid_arguments"


def test_a_row_has_to_have_a_seed() -> None:
    made = environment("crm/negotiation")()
    with pytest.raises(UsageError, match="has no seed but prompt; give a dataset"):
        made.reset(prompt="x")
    with pytest.raises(UsageError, match="call reset first"):
        tools_of(made)["list_deals"]()
    told = rows("crm/negotiation", "train:3:5")
    assert [row["seed"] for row in told] == [3, 4]
    assert made.reset(**told[0]).startswith("You are user")


def test_what_the_harness_spoils_leaves_its_group_before_mean_and_deviation() -> None:
    kind = environment(WORKSHOP)
    group = [kind() for _ in range(5)]
    for number, made in enumerate(group):
        prompt = made.reset(**rows(WORKSHOP, "3")[0])
        if number == 0:
            assert call(made, "explode", after=1) == BROKE
        elif number % 2:
            solve(made, prompt)
    rewards = [made.get_reward() for made in group]
    assert rewards == [None, 1.0, 0.0, 1.0, 0.0]
    # As GRPOTrainer takes them from 1.13 on: nanmean, nanstd, and no advantage for what is NaN.
    valid = [reward for reward in rewards if reward is not None]
    mean, deviation = fmean(valid), stdev(valid)
    advantages = [0.0 if r is None else (r - mean) / (deviation + 1e-4) for r in rewards]
    assert advantages == pytest.approx([0.0, 0.8659, -0.8659, 0.8659, -0.8659], abs=1e-3)


def test_a_breach_has_no_reward_and_neither_has_a_marked_one() -> None:
    for on_harness, last in (("cut", "this episode has ended"), ("mark", None)):
        made = environment(WORKSHOP, config=STALE, on_harness=on_harness)()
        made.reset(seed=1)
        call(made, "look", part_id=1)
        call(made, "resize", part_id=1, size=3)
        call(made, "look", part_id=1)
        told = call(made, "finish", message="resized")
        assert last is None or told == last
        assert made.get_reward() is None


def test_what_a_tool_raises_is_raised_again_where_trl_hears_it() -> None:
    made = environment(WORKSHOP, config=STALE, on_harness="raise")()
    made.reset(seed=1)
    call(made, "look", part_id=1)
    call(made, "resize", part_id=1, size=3)
    assert "out of date" in call(made, "look", part_id=1)["error"]
    with pytest.raises(ContractBreach):
        made.get_reward()


def test_the_breaker_raises_where_trl_hears_it() -> None:
    made = environment(WORKSHOP)()
    for seed in range(7):
        made.reset(seed=seed)
        call(made, "explode", after=1)
        assert made.get_reward() is None
    made.reset(seed=7)
    assert "8 episodes in a row" in call(made, "explode", after=1)["error"]
    with pytest.raises(HarnessUnhealthy, match="H810 8"):
        made.get_reward()
    with pytest.raises(HarnessUnhealthy, match="H810 8"):
        made.reset(seed=8)


def test_reward_functions_of_others_leave_out_what_is_not_valid() -> None:
    def brief(environments: list[Environment], **columns: Any) -> list[float | None]:
        return [0.5] * len(environments)

    made = [environment(WORKSHOP)() for _ in range(2)]
    for one in made:
        one.reset(seed=3)
    call(made[0], "explode", after=1)
    assert masked(brief)(environments=made, completions=["a", "b"]) == [None, 0.5]
    assert masked(brief).__name__ == "brief"
