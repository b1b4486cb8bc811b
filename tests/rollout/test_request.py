from __future__ import annotations

import itertools
import json
import shlex
from dataclasses import replace

import pytest

from simharness.errors import UsageError
from simharness.product.product import Product
from simharness.product.registry import load_product, product_names
from simharness.product.scenario import Scenario
from simharness.rollout.request import (
    EPISODES_MAX,
    Request,
    parse_config,
    parse_faults,
    parse_seeds,
    read_request,
)

CRM = "crm/negotiation"


@pytest.mark.parametrize(
    ("text", "episodes", "seeds"),
    [
        ("0", None, range(1)),
        ("7", None, range(7, 8)),
        ("7", 3, range(7, 10)),
        ("7:10", None, range(7, 10)),
        ("7:10", 3, range(7, 10)),
        ("007:010", None, range(7, 10)),
        (f"0:{EPISODES_MAX}", None, range(EPISODES_MAX)),
        (f"{2**64 - 1}:{2**64}", None, range(2**64 - 1, 2**64)),
        ("train:7", None, range(7, 8)),
        ("eval:0:100", None, range(2**31, 2**31 + 100)),
        ("eval:5", 3, range(2**31 + 5, 2**31 + 8)),
    ],
)
def test_a_seed_range_is_read(text: str, episodes: int | None, seeds: range) -> None:
    assert parse_seeds(text, episodes, [CRM]) == seeds


@pytest.mark.parametrize(
    ("text", "episodes"),
    [
        ("5:3", None),
        ("5:5", None),
        ("-1", None),
        ("a:b", None),
        ("1:2:3", None),
        ("1 :2", None),
        ("+1", None),
        ("1_0", None),
        ("1\n", None),
        ("\u0661", None),
        ("7:10", 4),
        (f"0:{EPISODES_MAX + 1}", None),
        ("0", EPISODES_MAX + 1),
        (str(2**64), None),
        ("eval:", None),
        ("test:0:5", None),
        ("eval:5:5", None),
        (f"eval:{2**31 - 1}:{2**31 + 1}", None),
    ],
)
def test_a_seed_range_that_makes_no_sense_is_refused(text: str, episodes: int | None) -> None:
    with pytest.raises(UsageError, match=r"^seed range ") as caught:
        parse_seeds(text, episodes, [CRM])
    assert caught.value.hint


def test_splits_have_no_seed_in_common() -> None:
    for product in product_names():
        for scenario in load_product(product).scenarios:
            train, judged = scenario.seeds_of("train"), scenario.seeds_of("eval")
            assert train.stop <= judged.start or judged.stop <= train.start


class Overlapping(Scenario[Product]):
    id = "shop/overlapping"
    eval = range(5, 2**31)


def test_splits_that_overlap_are_refused() -> None:
    with pytest.raises(UsageError, match=r"'shop/overlapping' has train seeds"):
        Overlapping().seeds_of("eval")


def test_seeds_of_a_split_need_a_scenario() -> None:
    with pytest.raises(UsageError, match=r"^the eval seeds are not the same") as caught:
        parse_seeds("eval:0:5", None)
    assert caught.value.hint


def test_settings_are_json_where_they_can_be() -> None:
    texts = ["a=3", "b=true", "c=x", 'd=["1s","2s"]', "e=", "f=1=2", 'g="3"', "h=1.5", "i=null"]
    config = parse_config(texts)
    # Neither fractions nor null can be recorded, so their text is kept and the knob may refuse it.
    expected = {"a": 3, "b": True, "c": "x", "d": ["1s", "2s"], "e": "", "f": "1=2", "g": "3"}
    assert config == {**expected, "h": "1.5", "i": "null"}


@pytest.mark.parametrize("text", ["a", "", "=", "=3"])
def test_a_setting_without_key_and_value_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match=r"^setting .* is not readable; give KEY=VALUE"):
        parse_config([text])


def test_a_key_that_is_set_twice_is_refused() -> None:
    with pytest.raises(UsageError, match="setting 'a' is given twice"):
        parse_config(["a=1", "a=2"])


def test_episodes_come_by_scenario_seed_policy_faults_load_and_member() -> None:
    request = Request(
        scenarios=("a/x", "b/y"),
        seeds=range(2, 4),
        policies=("p", "q"),
        faults=((), ("f", "g")),
        loads=("1", "8"),
        group=2,
    )
    entries = list(request.entries())
    assert len(entries) == len(set(entries)) == len(request) == 64
    seeds, loads = request.seeds, request.loads
    chosen = itertools.product(
        request.scenarios, seeds, request.policies, request.faults, loads, (0, 1)
    )
    assert [tuple(entry) for entry in entries] == list(chosen)
    assert request.cell(entries[-1]) == "load=8 faults=f+g member=1"
    assert request.cell(entries[0]) == "load=1 faults=none member=0"


def test_the_plan_of_an_episode_is_its_own() -> None:
    request = Request(scenarios=(CRM,), seeds=range(2, 4), loads=("2.5",), faults=((), ("f", "g")))
    plans = [request.plan(entry) for entry in request.entries()]
    found = [(plan.seed, plan.faults) for plan in plans]
    assert found == [(2, ()), (2, ("f", "g")), (3, ()), (3, ("f", "g"))]
    assert {p.load for p in plans} == {2500}


def test_the_command_of_an_episode_asks_for_the_same_plan() -> None:
    request = Request(
        scenarios=(CRM,),
        seeds=range(5, 9),
        policies=("null",),
        faults=(("crm.no-fence@from=60s,until=10min",),),
        loads=("0.5",),
        profile="bare",
        schedule="random:7",
        config={"instance.deal": 3, "deals.detail.cache.ttl": "5min", "db.latency": ["1s", "2s"]},
    )
    entry = request.entry(1)
    words = shlex.split(request.command(entry))
    assert words[:3] == ["simharness", "run", CRM]
    options = dict[str, list[str]]()
    for name, value in zip(words[3::2], words[4::2], strict=True):
        options.setdefault(name, []).append(value)
    again = Request(
        scenarios=(CRM,),
        seeds=parse_seeds(options["--seed"][0], None),
        policies=tuple(options["--policy"]),
        faults=(tuple(options["--fault"]),),
        loads=tuple(options["--load"]),
        profile=options["--profile"][0],
        schedule=options["--schedule"][0],
        config=parse_config(options["--set"]),
    )
    assert [again.plan(one) for one in again.entries()] == [request.plan(entry)]
    assert again.policies == request.policies


def test_a_request_is_recorded_as_json_and_read_again() -> None:
    request = Request(scenarios=(CRM,), seeds=range(5, 9), loads=("02.50",), config={"a": 1})
    record = json.loads(json.dumps(request.record()))
    assert record == {
        "scenarios": [CRM],
        "seeds": [5, 9],
        "policies": ["expert"],
        "faults": [[]],
        "loads": ["2.5"],
        "profile": "",
        "config": {"a": 1},
        "schedule": "fifo",
        "group": 1,
        "refill": 0,
    }
    assert read_request(record) == replace(request, loads=("2.5",))


@pytest.mark.parametrize(
    ("sets", "always", "expected"),
    [
        ((), (), ((),)),
        ((), ("a", "b"), (("a", "b"),)),
        (("none", "a+b"), (), ((), ("a", "b"))),
        (("none", "a"), ("c",), (("c",), ("c", "a"))),
    ],
)
def test_sets_of_faults_are_read(
    sets: tuple[str, ...], always: tuple[str, ...], expected: tuple[tuple[str, ...], ...]
) -> None:
    assert parse_faults(sets, always) == expected


@pytest.mark.parametrize("text", ["", "+", "a+", "+a", "a++b"])
def test_a_set_of_faults_with_a_hole_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match=r"^set of faults .* is not readable"):
        parse_faults([text], ())
