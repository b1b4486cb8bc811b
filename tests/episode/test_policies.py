"""What the policies score, and that a transcript is played as it was sent."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simharness.env import finish, make, make_plan, new_episode, run
from simharness.episode.messages import chat_messages
from simharness.episode.play import arguments_text, task_of
from simharness.episode.policies import PolicySource, Sampler, policy_names
from simharness.episode.replay import replay
from simharness.episode.transcript import parse_arguments
from simharness.errors import UnknownName, UsageError
from simharness.kernel.draws import Draws, Stream
from simharness.kernel.journal import Decoder
from simharness.models.crm import Crm
from simharness.product.policy import Call
from simharness.product.registry import load_scenario
from simharness.product.tool import BadArgument
from simharness.recording.reader import EpisodeRecord, parse
from simharness.units import MINUTE
from tests.effort import times

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping

    from simharness.episode.episode import Episode
    from simharness.product.policy import Action, Observation, Task

SEEDS = range(times(4))
"""Seeds that each policy plays."""
SAMPLES = 25 * len(SEEDS)
"""Random arguments drawn for each tool."""

CRM = "crm/negotiation"
DRONE = Path(__file__).parents[1] / "data" / "drone-3.jsonl"


def record_of(episode: Episode) -> EpisodeRecord:
    log: Any = episode.sink
    (record,) = parse(log.to_bytes())
    return record


# --- scores --------------------------------------------------------------------------------------


@pytest.mark.parametrize("policy", ["null", "refuse", "random", "spam", "nurture"])
@pytest.mark.parametrize("seed", SEEDS)
def test_policy_that_does_not_do_the_job_is_paid_nothing(policy: str, seed: int) -> None:
    outcome = run(CRM, seed=seed, policy=policy)
    assert outcome.verdict.score == 0
    assert outcome.verdict.goal is False
    assert outcome.verdict.valid
    assert str(outcome.verdict.kind) == "model"
    assert outcome.episode.aborted is None


@pytest.mark.parametrize("load", [1, 8])
@pytest.mark.parametrize("seed", SEEDS)
def test_expert_does_the_job_at_any_load(seed: int, load: int) -> None:
    outcome = run(CRM, seed=seed, policy="expert", load=load)
    assert outcome.verdict.score == 1_000_000, outcome.episode.criteria
    assert str(outcome.verdict.kind) == "ok"
    assert outcome.verdict.valid
    assert not outcome.episode.bad_calls


def test_every_policy_of_the_scenario_can_be_named() -> None:
    _, scenario = load_scenario(CRM)
    names = policy_names(scenario)
    assert names == sorted({*scenario.policies, "null", "random", "refuse", "spam"})
    assert {"expert", "nurture"} <= set(names)
    for name in names:
        assert PolicySource(name, scenario, 1).askable


def test_unknown_policy_is_told_the_near_names() -> None:
    _, scenario = load_scenario(CRM)
    with pytest.raises(UnknownName, match="did you mean 'expert'"):
        PolicySource("exprt", scenario, 1)


# --- random calls --------------------------------------------------------------------------------


@pytest.mark.parametrize("tool", sorted(Crm.tools))
def test_random_arguments_are_taken_by_the_tool_s_own_check(tool: str) -> None:
    spec = Crm.tools[tool]
    draws = Draws(7)
    seen: set[str] = set()
    for step in range(SAMPLES):
        sampler = Sampler(Stream(draws, "policy/0", step), {"deal_id": 42, "user_id": 2})
        text = arguments_text(sampler.object(spec.schema["parameters"]))
        seen.add(text)
        arguments, problem = parse_arguments(text)
        assert arguments is not None, problem
        try:
            spec.check(arguments)
        except BadArgument as error:
            pytest.fail(f"{tool} {text}: {error}")
    assert len(seen) > 1 or not spec.parameters


@pytest.mark.parametrize("seed", SEEDS)
def test_random_policy_never_makes_a_call_that_no_schema_allows(seed: int) -> None:
    episode = run(CRM, seed=seed, policy="random", load=0).episode
    assert episode.bad_calls == 0
    assert not [r for r in Decoder().decode_all(episode.world.rows) if r.kind == "BADCALL"]


def test_random_policy_reaches_every_tool_and_differs_by_seed_only() -> None:
    used: set[str] = set()
    firsts: set[str] = set()
    for seed in range(times(60)):
        episode = run(CRM, seed=seed, policy="random", load=0).episode
        made = [call for given in episode.inputs for call in given.calls]
        used |= {call.tool for call in made}
        firsts.add(f"{made[0].tool} {made[0].arguments}")
        if seed < 3:
            again = run(CRM, seed=seed, policy="random", load=0).episode
            assert again.inputs == episode.inputs
    assert used == set(Crm.tools)
    assert len(firsts) > 30


schemas = st.recursive(
    st.sampled_from(
        (
            {"type": "integer"},
            {"type": "integer", "minimum": -3, "maximum": 2},
            {"type": "integer", "minimum": 0, "maximum": 10**9},
            {"type": "boolean"},
            {"type": "string"},
            {"type": "string", "enum": ["x", "y"]},
            {"type": "string", "format": "date-time"},
        )
    ),
    lambda inner: st.one_of(
        inner.map(lambda schema: {"anyOf": [schema, {"type": "null"}]}),
        inner.map(lambda schema: {"type": "array", "items": schema}),
    ),
    max_leaves=3,
)


def fits(value: object, schema: Mapping[str, Any]) -> bool:
    """Check a value against the part of JSON Schema that tools use."""
    if "anyOf" in schema:
        return any(fits(value, option) for option in schema["anyOf"])
    if "enum" in schema:
        return value in schema["enum"]
    match schema["type"]:
        case "integer":
            low, high = schema.get("minimum", -(2**63)), schema.get("maximum", 2**63)
            return type(value) is int and low <= value <= high
        case "array":
            items: Any = value
            return type(value) is list and all(fits(item, schema["items"]) for item in items)
        case "null":
            return value is None
        case kind:
            return type(value) is {"boolean": bool, "string": str}[kind]


@settings(max_examples=4 * len(SEEDS), deadline=None)
@given(
    schema=schemas, step=st.integers(0, 1000), brief=st.dictionaries(st.text(), st.integers(0, 99))
)
def test_random_values_fit_their_schema(
    schema: dict[str, Any], step: int, brief: dict[str, int]
) -> None:
    sampler = Sampler(Stream(Draws(1), "policy/0", step), brief)
    assert fits(sampler.value(schema), schema)


# --- a transcript from elsewhere -----------------------------------------------------------------


@pytest.mark.parametrize("number", range(3))
def test_foreign_transcript_plays_call_by_call_and_is_the_model_s_doing(number: int) -> None:
    episode = new_episode(make_plan(CRM, 42), f"transcript:{DRONE}")
    source = PolicySource(f"transcript:{DRONE}", episode.scenario, 3)
    assert not source.askable
    outcome = finish(episode, source.policy(number), askable=source.askable)
    line = json.loads(DRONE.read_text(encoding="utf-8").splitlines()[number])
    sent = [call for m in line["messages"] for call in m.get("tool_calls") or ()]
    assert sent
    made = [call for given in episode.inputs for call in given.calls]
    assert [(call.id, call.tool) for call in made] == [
        (call["id"], call["function"]["name"]) for call in sent
    ]
    results = [result for step in episode.steps for result in step.results]
    assert {result.value["code"] for result in results} == {"unknown_tool"}
    assert [result.id for result in results] == [call["id"] for call in sent]
    assert episode.bad_calls == len(sent)
    verdict = outcome.verdict
    assert "M210" in verdict.codes
    assert (str(verdict.kind), verdict.score, verdict.valid) == ("model", 0, True)
    record = record_of(episode)
    assert record.complete
    assert record.verdict == verdict.record()
    assert replay(record).digest == episode.digest


def test_run_of_more_episodes_than_the_transcript_holds_is_refused() -> None:
    _, scenario = load_scenario(CRM)
    with pytest.raises(UsageError, match=r"holds 3 conversations, the run has 4 episodes"):
        PolicySource(f"transcript:{DRONE}", scenario, 4)


# --- a transcript of our own ---------------------------------------------------------------------


def play_transcript(record: EpisodeRecord, path: Path, seed: int, load: int = 1) -> Episode:
    """Write a recording out as a chat, read it back, and let it play the same episode again."""
    text = json.dumps({"messages": chat_messages(record)})
    path.write_text(text + "\n", encoding="utf-8")
    episode = new_episode(make_plan(CRM, seed, load), f"transcript:{path}")
    source = PolicySource(f"transcript:{path}", episode.scenario, 1)
    finish(episode, source.policy(0), askable=source.askable)
    return episode


@pytest.mark.parametrize("policy", ["expert", "spam", "random", "nurture", "null"])
def test_exported_transcript_plays_the_same_episode(policy: str, tmp_path: Path) -> None:
    for seed in (0, 1):
        outcome = run(CRM, seed=seed, policy=policy)
        again = play_transcript(record_of(outcome.episode), tmp_path / "chat.jsonl", seed)
        assert again.digest == outcome.episode.digest
        assert again.steps == outcome.episode.steps


def chatty(task: Task) -> Generator[Action, Observation, None]:
    """Talk, call several tools at once, send broken calls, and go away without a word."""
    yield 'Let me see.\nUmlauts: äöü, a quote: ", a lone surrogate: \ud800.'
    yield [Call("get_deal", {"deal_id": n}) for n in (1, 2, 3)]
    yield [
        Call("get_deal", '{"deal_id": 1', "x"),
        Call("lokk", "", "x"),
        Call("say", {"text": "é"}),
    ]
    yield "\u2028"
    yield Call("get_contact", '"{\\"contact_id\\": 3}"', "call_9_9")
    yield [Call("wait", {"seconds": 5}), Call("add_note", {"deal_id": 2, "body": "a,b"})]


def test_transcript_with_text_and_parallel_calls_plays_the_same_episode(tmp_path: Path) -> None:
    episode = new_episode(make_plan(CRM, 9), "caller")
    finish(episode, chatty, askable=False)
    assert [given.kind for given in episode.inputs] == [
        "text",
        "calls",
        "calls",
        "text",
        "calls",
        "calls",
        "stop",
    ]
    again = play_transcript(record_of(episode), tmp_path / "chat.jsonl", 9)
    assert again.inputs == episode.inputs
    assert again.digest == episode.digest


def test_exported_answers_are_those_that_the_agent_was_given() -> None:
    episode = new_episode(make_plan(CRM, 9), "caller")
    finish(episode, chatty, askable=False)
    messages = chat_messages(record_of(episode))
    answers = [m for m in messages if m["role"] == "tool"]
    results = [result for step in episode.steps for result in step.results]
    assert [m["tool_call_id"] for m in answers] == [r.id for r in results]
    assert [json.loads(m["content"]) for m in answers] == [
        r.value if r.ok else {"error": r.value} for r in results
    ]


def test_exported_transcript_of_a_truncated_episode_plays_to_the_same_end(tmp_path: Path) -> None:
    env = make(CRM, seed=5, load=1)
    for _ in range(env.episode.steps_max):
        env.step(Call("get_deal", {"deal_id": 3}))
    assert env.episode.steps[-1].truncated
    again = play_transcript(record_of(env.episode), tmp_path / "chat.jsonl", 5)
    assert again.digest == env.episode.digest


def test_think_times_of_a_caller_are_not_in_a_transcript() -> None:
    """What a chat can't tell: its digest is another when it is played."""
    env = make(CRM, seed=5, load=1)
    env.step(Call("get_deal", {"deal_id": 3}), think=MINUTE)
    env.step(None)
    messages = chat_messages(record_of(env.episode))
    (asked,) = [m for m in messages if m["role"] == "assistant"]
    assert sorted(asked) == ["content", "role", "tool_calls"]


# --- what a policy may know ----------------------------------------------------------------------


def test_policy_draws_are_set_apart_by_policy_seed_and_count_for_nothing() -> None:
    episode = new_episode(make_plan(CRM, 5), "caller")
    before = dict(episode.world.draws.counts)
    draws = [task_of(episode, n).draws(3).bits("sample") for n in (0, 1, 0)]
    assert draws[0] == draws[2] != draws[1]
    assert dict(episode.world.draws.counts) == before
