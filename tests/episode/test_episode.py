from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from simharness.env import Env, finish, make, make_plan, new_episode
from simharness.episode.episode import CALLS_PER_TURN, Episode
from simharness.episode.plan import Plan
from simharness.episode.policies import scripted
from simharness.episode.replay import replay
from simharness.episode.transcript import RawCall
from simharness.errors import (
    Deadlock,
    HarnessError,
    ProcessFailed,
    TruncatedRecording,
    UsageError,
)
from simharness.findings.detect import harness_findings
from simharness.findings.story import story_of_record
from simharness.kernel import journal
from simharness.kernel.journal import Decoder, Row
from simharness.kernel.operation import AFTER_COMMIT, BEFORE_COMMIT, IN_HANDLER, Actor, Operation
from simharness.kernel.world import World
from simharness.parts.transaction import Transaction
from simharness.product.policy import Call
from simharness.product.product import resolve_settings
from simharness.product.registry import load_product, load_scenario
from simharness.recording.reader import EpisodeRecord, parse
from simharness.recording.recorder import keys_of, shape_of
from simharness.recording.rows import read_rows
from simharness.units import HOUR, MINUTE, SECOND

if TYPE_CHECKING:
    from collections.abc import Callable

CRM = "crm/negotiation"
WORKSHOP = f"{Path(__file__).with_name('workshop.py')}:Workshop/shift"
LOOK = Call("look", {"part_id": 1})


def workshop(load: int = 0, **plan: Any) -> Episode:
    return Episode(Plan(scenario=WORKSHOP, load=load * 1000, **plan))


def raw(tool: str, call_id: str = "", **arguments: Any) -> RawCall:
    return RawCall(id=call_id, tool=tool, arguments=json.dumps(arguments))


def rows_of(episode: Episode) -> list[Row]:
    return list(Decoder().decode_all(episode.world.rows))


def kinds_since(episode: Episode, count: int) -> list[str]:
    return [row.kind for row in rows_of(episode)[count:] if row.kind != "STR"]


def record_of(episode: Episode) -> EpisodeRecord:
    log: Any = episode.sink
    (record,) = parse(log.to_bytes())
    return record


def assert_replays(episode: Episode) -> None:
    """Assert that the episode's recording, closed by now, comes out of a replay unchanged."""
    record = record_of(episode)
    assert record.complete, record.problem
    assert replay(record).digest == episode.digest == record.digest


# --- what a step is ------------------------------------------------------------------------------


def test_single_call_is_answered_with_its_id_and_tool() -> None:
    episode = workshop()
    (result,) = episode.call((raw("look", "mine", part_id=2),)).results
    assert (result.id, result.tool, result.ok) == ("mine", "look", True)
    assert result.value["label"] == "part 2"
    assert result.json() == {"id": "mine", "tool": "look", "value": result.value}


def test_call_without_an_id_is_given_one_by_step_and_place() -> None:
    episode = workshop()
    episode.say("hello")
    step = episode.call((raw("look", part_id=1), raw("look", part_id=2)))
    assert [result.id for result in step.results] == ["call_2_0", "call_2_1"]


def test_parallel_calls_are_answered_in_call_order_whichever_ends_first() -> None:
    env = make(WORKSHOP, load=0)
    calls = [Call("look", {"part_id": i}, f"id-{i}") for i in (3, 1, 2)]
    waits = [{"api": "3s"}, {"api": "1s"}, {"api": "2s"}]
    step = env.step(calls, think=0, latency=waits)
    assert [(r["id"], r["value"]["id"]) for r in step.observation.results] == [
        ("id-3", 3),
        ("id-1", 1),
        ("id-2", 2),
    ]
    returned = [row.t for row in rows_of(env.episode) if row.kind == "RETURN"]
    assert returned == [1 * SECOND, 2 * SECOND, 3 * SECOND]
    assert env.episode.world.ticks == 3 * SECOND


def test_parallel_calls_run_at_once_and_see_each_other_s_writes() -> None:
    env = make(WORKSHOP, load=0)
    calls = [Call("resize", {"part_id": 1, "size": 5}), LOOK]
    step = env.step(calls, latency=[{"api": "1s"}, {"api": "2s"}])
    assert step.observation.results[1]["value"]["size"] == 5


def test_bad_call_between_good_ones_keeps_its_place() -> None:
    env = make(WORKSHOP, load=0)
    step = env.step([LOOK, Call("lokk", {}), LOOK])
    assert ["error" in result for result in step.observation.results] == [False, True, False]


def test_repeated_id_is_given_back_as_often_as_it_came() -> None:
    env = make(WORKSHOP, load=0)
    step = env.step([Call("look", {"part_id": i}, "same") for i in (1, 2)])
    assert [(r["id"], r["value"]["id"]) for r in step.observation.results] == [
        ("same", 1),
        ("same", 2),
    ]


def test_turn_takes_at_least_one_call_and_refuses_those_beyond_its_limit() -> None:
    episode = workshop()
    full = tuple(raw("look", part_id=1) for _ in range(CALLS_PER_TURN))
    assert len(episode.call(full).results) == CALLS_PER_TURN
    *_, beyond = episode.call((*full, full[0])).results
    assert (beyond.ok, beyond.value["code"]) == (False, "too_many_calls")
    with pytest.raises(UsageError, match="a turn of 0 calls"):
        episode.call(())
    assert episode.count == 2


def test_action_that_is_none_is_refused_and_is_no_step() -> None:
    env = make(WORKSHOP, load=0)
    strange: Any = [{"tool": "look"}]
    with pytest.raises(UsageError, match="is no Call"):
        env.step(strange)
    with pytest.raises(UsageError, match="are no JSON"):
        env.step(Call("look", {"part_id": object()}))
    assert env.episode.count == 0


def test_plain_text_is_a_step_without_results() -> None:
    episode = workshop()
    step = episode.say("is anybody there?")
    assert (step.results, step.reward, step.terminated, step.truncated) == ((), 0, False, False)
    assert episode.inputs[0].text == "is anybody there?"
    assert not episode.ended


def test_stop_ends_the_episode_and_grades_it() -> None:
    episode = workshop()
    step = episode.stop()
    assert (step.terminated, step.truncated, step.reward) == (True, False, 0)
    assert episode.criteria
    assert [row.values["reason"] for row in rows_of(episode) if row.kind == "END"] == ["stop"]


def test_finish_ends_the_episode_and_pays_for_the_goal() -> None:
    episode = workshop()
    outcome = finish(episode, episode.scenario.policies["expert"], askable=True)
    last = episode.steps[-1]
    assert (last.terminated, last.truncated, last.reward) == (True, False, 1_000_000)
    assert [step.reward for step in episode.steps[:-1]] == [0, 0]
    assert outcome.verdict.score == 1_000_000
    assert_replays(episode)


def test_finish_with_a_ref_to_no_table_is_refused_and_ends_nothing() -> None:
    env = make(WORKSHOP, load=0)
    step = env.step(Call("finish", {"message": "done", "refs": ["parrots:1"]}))
    assert step.observation.error == "invalid_arguments"
    assert not step.terminated


@pytest.mark.parametrize("last", ["call", "say", "stop"])
def test_step_after_the_end_is_refused_and_recorded_nowhere(last: str) -> None:
    episode = workshop()
    episode.stop()
    before = record_of(episode).frames
    step: dict[str, Callable[[], object]] = {
        "call": lambda: episode.call((raw("look", part_id=1),)),
        "say": lambda: episode.say("one more thing"),
        "stop": episode.stop,
    }
    with pytest.raises(UsageError, match="has ended"):
        step[last]()
    assert record_of(episode).frames == before


def test_env_can_begin_again_after_the_end_and_gives_the_same_episode() -> None:
    env = make(CRM, seed=4)
    digests: list[str] = []
    for _ in range(2):
        env.reset()
        digests.append(env.step(None).info["digest"])
    assert digests[0] == digests[1]


# --- time ----------------------------------------------------------------------------------------


def thinks(policy: str, seed: int) -> list[int]:
    episode = new_episode(make_plan(CRM, seed), policy)
    chosen = scripted(policy, episode.scenario)
    assert chosen is not None
    finish(episode, chosen, askable=True)
    handed_over = [0, *(step.t for step in episode.steps)]
    return [step.input.at - t for step, t in zip(episode.steps, handed_over, strict=False)]


def test_default_think_time_is_the_same_for_all_policies_on_a_seed() -> None:
    longest = thinks("spam", 7)
    assert len(longest) > 20
    assert len(set(longest)) > 15, "think times are drawn anew for each step"
    for policy in ("null", "random", "nurture", "expert"):
        own = thinks(policy, 7)
        common = min(len(own), len(longest))
        assert own[:common] == longest[:common]
    assert thinks("spam", 8)[:3] != longest[:3]


def test_think_time_is_taken_as_given_and_never_backward() -> None:
    env = make(WORKSHOP, load=0)
    env.step(LOOK, think="90s")
    assert env.episode.inputs[0].at == 90 * SECOND
    env.step(LOOK, think=0)
    assert env.episode.inputs[1].at == 90 * SECOND
    with pytest.raises(UsageError, match="can't be sent at tick 5"):
        env.episode.say("early", at=5)
    with pytest.raises(UsageError, match="negative duration"):
        env.step(LOOK, think=-1)


def test_pinned_waits_are_exact_and_replayed() -> None:
    env = make(CRM, load=0)
    env.step(Call("get_deal", {"deal_id": 1}), think=0, latency={"api": "7s", "db": 3})
    # One wait at the API and two reads at the primary: of the permissions and of the deal.
    assert env.episode.world.ticks == 7 * SECOND + 3 + 3
    env.step(None)
    assert_replays(env.episode)


def test_one_map_of_waits_holds_for_every_call_of_the_turn() -> None:
    env = make(WORKSHOP, load=0)
    env.step([LOOK, LOOK], think=0, latency={"api": "2s"})
    assert [row.t for row in rows_of(env.episode) if row.kind == "RETURN"] == [2 * SECOND] * 2


def test_wrong_number_of_wait_maps_is_refused() -> None:
    env = make(WORKSHOP, load=0)
    with pytest.raises(UsageError, match="1 maps of waits for 2 calls"):
        env.step([LOOK, LOOK], latency=[{"api": "2s"}])


# --- budgets -------------------------------------------------------------------------------------


def test_last_step_of_the_budget_is_truncated_and_graded() -> None:
    episode = workshop(steps_max=2)
    first = episode.call((raw("look", part_id=1),))
    second = episode.call((raw("look", part_id=1),))
    assert (first.truncated, first.terminated, first.reward) == (False, False, 0)
    assert (second.truncated, second.terminated, second.reward) == (True, False, 0)
    assert episode.criteria
    assert [row.values["reason"] for row in rows_of(episode) if row.kind == "END"] == ["budget"]
    with pytest.raises(UsageError, match="has ended"):
        episode.say("more")
    episode.close()
    assert_replays(episode)


def test_goal_met_when_the_budget_ends_is_paid() -> None:
    episode = workshop(steps_max=1)
    step = episode.call((raw("resize", part_id=episode.instance["part"], size=7),))
    assert (step.truncated, step.reward) == (True, 1_000_000)


def test_finish_in_the_last_step_of_the_budget_terminates() -> None:
    episode = workshop(steps_max=1)
    step = episode.call((raw("finish", message="done"),))
    assert (step.terminated, step.truncated) == (True, False)


def test_simulated_time_over_the_budget_truncates() -> None:
    episode = workshop(ticks_max=10 * SECOND)
    assert not episode.call((raw("look", part_id=1),), at=10 * SECOND - 1).truncated
    assert episode.call((raw("look", part_id=1),), at=10 * SECOND).truncated


def test_wait_beyond_the_budget_ends_with_it_and_is_no_failure_of_the_harness() -> None:
    env = make(CRM, seed=1)
    step = env.step(Call("wait", {"seconds": 86_400}))
    assert (step.truncated, step.reward) == (True, 0.0)
    assert step.observation.error == "unavailable"
    assert step.info["verdict"]["class"] == "model"
    assert env.episode.world.ticks == env.episode.ticks_max + 1
    assert_replays(env.episode)


# --- calls that no schema allows -----------------------------------------------------------------

BAD_CALLS = {
    "unknown tool": ("get_dael", '{"deal_id": 1}', "unknown_tool"),
    "no tool": ("", "{}", "unknown_tool"),
    "tool that is no tool": ("call", "{}", "unknown_tool"),
    "lone surrogate in the tool": ("\ud800", "{}", "unknown_tool"),
    "broken JSON": ("get_deal", '{"deal_id": 1', "invalid_arguments"),
    "nothing like JSON": ("get_deal", "deal 1 please", "invalid_arguments"),
    "array": ("get_deal", "[1]", "invalid_arguments"),
    "number": ("get_deal", "1", "invalid_arguments"),
    "duplicate key": ("get_deal", '{"deal_id": 1, "deal_id": 2}', "invalid_arguments"),
    "NaN": ("get_deal", '{"deal_id": NaN}', "invalid_arguments"),
    "lone surrogate": ("add_note", '{"deal_id": 1, "body": "\\ud800"}', "invalid_arguments"),
    "text for an int": ("get_deal", '{"deal_id": "1"}', "invalid_arguments"),
    "truth for an int": ("get_deal", '{"deal_id": true}', "invalid_arguments"),
    "fraction for an int": ("get_deal", '{"deal_id": 1.5}', "invalid_arguments"),
    "null for an int": ("get_deal", '{"deal_id": null}', "invalid_arguments"),
    "huge int": ("get_deal", '{"deal_id": 9223372036854775808}', "invalid_arguments"),
    "missing": ("get_deal", "{}", "invalid_arguments"),
    "nothing at all": ("get_deal", "", "invalid_arguments"),
    "too many": ("get_deal", '{"deal_id": 1, "id": 1}', "invalid_arguments"),
    "no such word": (
        "move_stage",
        '{"deal_id": 1, "to_stage": "won"}',
        "invalid_arguments",
    ),
    "no such field": (
        "update_deal",
        '{"deal_id": 1, "fields": {"stage": "closed_won"}}',
        "invalid_arguments",
    ),
    "no field": ("update_deal", '{"deal_id": 1, "fields": {}}', "invalid_arguments"),
    "out of bounds": ("wait", '{"seconds": 0}', "invalid_arguments"),
}


@pytest.mark.parametrize("case", BAD_CALLS)
def test_bad_call_is_an_error_observation_that_changes_no_row(case: str) -> None:
    tool, arguments, code = BAD_CALLS[case]
    episode = Episode(Plan(scenario=CRM, load=0))
    before = episode.product.digests()
    count = len(episode.world.rows)
    step = episode.call((RawCall(id="x", tool=tool, arguments=arguments),), at=SECOND)
    (result,) = step.results
    assert (result.id, result.tool, result.ok) == ("x", tool, False)
    assert result.value["code"] == code
    assert result.value["retryable"] is False
    assert result.value["message"].isascii()
    assert kinds_since(episode, count) == ["BADCALL"]
    (bad,) = [row for row in rows_of(episode) if row.kind == "BADCALL"]
    assert (bad.values["owner"], bad.values["reason"]) == ("agent", code)
    assert bad.values["n"] == 1 << 16
    assert episode.world.ticks == SECOND, "a call that isn't made takes no time"
    assert episode.product.digests() == before
    assert (step.reward, episode.ended, episode.bad_calls) == (0, False, 1)
    episode.stop()
    episode.close()
    assert_replays(episode)


def test_arguments_that_are_too_long_are_told_so_and_stay_so_in_a_replay() -> None:
    episode = Episode(Plan(scenario=CRM, load=0))
    text = json.dumps({"deal_id": 1, "body": "x" * 400_000})
    (result,) = episode.call((RawCall(id="x", tool="add_note", arguments=text),)).results
    told = "the arguments are no JSON object: longer than 262144 characters"
    assert (result.value["code"], result.value["message"]) == ("invalid_arguments", told)
    episode.stop()
    episode.close()
    assert_replays(episode)


def test_message_about_an_unknown_tool_names_the_tools_there_are() -> None:
    env = make(WORKSHOP, load=0)
    (result,) = env.step(Call("lokk")).observation.results
    for name in env.episode.product.tools:
        assert name in result["error"]["message"]


def test_whole_float_is_an_int_as_in_json_schema() -> None:
    env = make(WORKSHOP, load=0)
    assert env.step(Call("look", '{"part_id": 2.0}')).observation.value["id"] == 2


# --- time-outs -----------------------------------------------------------------------------------

ON_TIMEOUT: dict[str, dict[str, Any]] = {
    "unknown_outcome": {"code": "unknown_outcome", "retryable": False},
    "error": {"code": "unavailable", "retryable": True},
    "default": {},
}


@pytest.mark.parametrize("mode", ON_TIMEOUT)
def test_call_over_its_time_is_answered_as_configured_and_takes_effect_later(mode: str) -> None:
    env = make(WORKSHOP, load=0, config={"api.timeout": "2s", "api.on_timeout": mode})
    part = env.episode.instance["part"]
    resize = Call("resize", {"part_id": part, "size": 7})
    step = env.step(resize, think=0, latency={"api": "5s"})
    (result,) = step.observation.results
    assert env.episode.world.ticks == 2 * SECOND
    if mode == "default":
        assert result["value"] == {}
    else:
        shown = {key: result["error"][key] for key in ("code", "retryable")}
        assert shown == ON_TIMEOUT[mode]
    (row,) = [row for row in rows_of(env.episode) if row.kind == "TIMEOUT"]
    assert (row.values["tool"], row.values["answer"]) == ("resize", mode)
    look = Call("look", {"part_id": part})
    assert env.step(look, think=0).observation.value["size"] == 0
    assert env.step(look, think="5s").observation.value["size"] == 7
    env.step(None)
    assert_replays(env.episode)


def test_effect_under_way_at_the_end_is_waited_for_and_graded() -> None:
    env = make(WORKSHOP, load=0, config={"api.timeout": "2s"}, on_harness="mark")
    resize = Call("resize", {"part_id": env.episode.instance["part"], "size": 7})
    step = env.step([resize, Call("finish", {"message": "on its way"})], latency={"api": "20s"})
    assert step.observation.results[0]["error"]["code"] == "unknown_outcome"
    assert (step.terminated, step.reward) == (True, 1.0)
    assert_replays(env.episode)


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_call_over_its_time_is_late_wherever_it_stands_in_the_turn(order: tuple[int, int]) -> None:
    env = make(WORKSHOP, load=0, config={"api.timeout": "2s"})
    turn = [(LOOK, {"api": "5s"}), (Call("wait", {"seconds": 60}), {"api": "0s"})]
    calls = [turn[i][0] for i in order]
    step = env.step(calls, latency=[turn[i][1] for i in order])
    codes = {r["tool"]: r.get("error", {}).get("code") for r in step.observation.results}
    assert codes == {"look": "unknown_outcome", "wait": None}
    assert [r["tool"] for r in step.observation.results] == [call.tool for call in calls]


def test_timeout_of_zero_lets_a_call_take_its_time() -> None:
    env = make(WORKSHOP, load=0, config={"api.timeout": "0s"})
    assert env.step(LOOK, think=0, latency={"api": "1h"}).observation.value["id"] == 1


# --- failures of the harness ---------------------------------------------------------------------


def assert_aborted(episode: Episode, error: HarnessError, step: int) -> EpisodeRecord:
    """Assert what holds for every failure: named place, kept recording, no reward, no next step."""
    for part in (f"seed {episode.plan.seed}", f"step {step}", "simulated time"):
        assert part in error.message
    assert episode.aborted is error
    assert episode.ended
    assert episode.reward is None
    with pytest.raises(UsageError, match="has ended"):
        episode.stop()
    record = record_of(episode)
    last = read_rows(record).steps[-1]
    assert (last.step, last.aborted, last.reward) == (step, True, None)
    assert (last.terminated, last.truncated, last.results) == (False, False, ())
    return record


def test_handler_that_raises_is_a_harness_error_that_names_its_place() -> None:
    env = make(WORKSHOP, seed=11, load=1)
    env.step(LOOK)
    with pytest.raises(HarnessError) as caught:
        env.step(Call("explode", {"after": 3}), think=0)
    assert isinstance(caught.value, ProcessFailed)
    for part in ("agent/2", "ValueError", "boom", "seed 11", "step 2"):
        assert part in caught.value.message
    record = assert_aborted(env.episode, caught.value, 2)
    assert caught.value.hint.startswith(f"simharness run {WORKSHOP} --seed 11")
    assert record.complete
    assert_replays(env.episode)
    (raised,) = [row for row in read_rows(record).rows if row.kind == "RAISED"]
    assert (raised.values["owner"], raised.values["type"]) == ("agent", "ValueError")
    assert env.verdict is not None
    assert (str(env.verdict.kind), env.verdict.primary) == ("harness", "H810")
    assert (env.verdict.score, env.verdict.valid) == (None, False)


def test_failure_in_one_of_parallel_calls_aborts_the_step() -> None:
    episode = workshop()
    with pytest.raises(HarnessError) as caught:
        episode.call((raw("resize", part_id=1, size=2), raw("explode", after=1)))
    assert_aborted(episode, caught.value, 1)
    part = episode.product.stores["parts"].true(1)
    assert part is not None
    assert part.version == 2, "what was committed before stays, and stays recorded"
    episode.close()
    assert_replays(episode)


def test_background_process_that_raises_aborts_and_is_named() -> None:
    episode = workshop()

    def rot() -> Any:
        yield episode.world.timer(30 * SECOND)
        raise ZeroDivisionError("rust")

    episode.world.spawn("rust/1", rot())
    episode.say("hello", at=29 * SECOND)
    with pytest.raises(HarnessError, match=r"rust/1.*ZeroDivisionError: rust") as caught:
        episode.say("hello?", at=MINUTE)
    assert_aborted(episode, caught.value, 2)


@pytest.mark.parametrize(
    ("call", "said"),
    [(Call("weigh"), "0.5 of type float"), (Call("count", {"bits": 65}), "an int of 65 bits")],
)
def test_answer_that_no_recording_holds_aborts_the_step(call: Call, said: str) -> None:
    env = make(WORKSHOP, load=0)
    with pytest.raises(HarnessError, match=said) as caught:
        env.step(call)
    record = assert_aborted(env.episode, caught.value, 1)
    assert record.complete
    assert_replays(env.episode)


def test_largest_number_is_told_and_recorded() -> None:
    env = make(WORKSHOP, load=0)
    assert env.step(Call("count", {"bits": 64})).observation.value == {"number": 2**64 - 1}
    env.step(None)
    assert_replays(env.episode)


@pytest.mark.parametrize(
    ("tool", "what"),
    [("hang", "a lid that nobody opens"), ("hang_here", "a door that nobody opens")],
)
def test_lost_wake_up_in_a_world_at_rest_is_a_deadlock_at_once(tool: str, what: str) -> None:
    episode = workshop()
    with pytest.raises(Deadlock) as caught:
        episode.call((raw(tool),))
    assert f"agent/1 waits for {what}" in caught.value.message
    assert_aborted(episode, caught.value, 1)


def test_lost_wake_up_among_endless_users_is_a_deadlock_before_a_later_step() -> None:
    env = make(WORKSHOP, seed=3, load=1)
    assert env.step(Call("hang")).observation.error == "unknown_outcome"
    assert "value" in env.step(LOOK).observation.results[0]
    for _ in range(3):
        env.step(Call("wait", {"seconds": 180}))
    with pytest.raises(Deadlock) as caught:
        env.step(Call("wait", {"seconds": 180}))
    for part in ("'agent/1'", "a lid that nobody opens"):
        assert part in caught.value.message
    assert_aborted(env.episode, caught.value, 6)
    assert_replays(env.episode)


def test_lost_wake_up_among_endless_users_is_a_deadlock_at_the_end() -> None:
    env = make(WORKSHOP, seed=3, load=1)
    env.step(Call("hang"))
    with pytest.raises(Deadlock) as caught:
        env.step(Call("finish", {"message": "done"}))
    for part in ("'agent/1'", "a lid that nobody opens"):
        assert part in caught.value.message
    assert_aborted(env.episode, caught.value, 2)
    assert env.episode.world.ticks < HOUR, "users that never stop don't keep it going"
    assert_replays(env.episode)


def test_lost_wake_up_in_a_local_tool_among_endless_users_is_a_deadlock() -> None:
    episode = workshop(load=1, ticks_max=MINUTE)
    with pytest.raises(Deadlock) as caught:
        episode.call((raw("hang_here"),))
    for part in ("'agent/1'", "a door that nobody opens"):
        assert part in caught.value.message
    assert_aborted(episode, caught.value, 1)


def test_aborted_recording_replays_to_the_same_abort() -> None:
    episode = workshop(load=1)
    with pytest.raises(HarnessError):
        episode.call((raw("explode", after=5),))
    episode.close()
    again = replay(record_of(episode)).episode
    assert again.aborted is not None
    assert again.aborted.message == episode.aborted.message  # type: ignore[union-attr]
    assert again.reward is None


@pytest.mark.parametrize("how", ["SystemExit", "GeneratorExit"])
def test_a_tool_that_ends_the_program_is_a_failure_of_the_harness(how: str) -> None:
    env = make(WORKSHOP, load=1)
    with pytest.raises(HarnessError, match=rf"'leave' raised {how} \(workshop\.py:") as caught:
        env.step(Call("leave", {"how": how}))
    record = assert_aborted(env.episode, caught.value, 1)
    assert record.complete
    (finding,) = [f for f in harness_findings(story_of_record(record)) if f.code == "H810"]
    assert finding.evidence["type"] == how


@pytest.mark.parametrize(("crash", "size"), [(BEFORE_COMMIT, 0), (AFTER_COMMIT, 9)])
def test_a_worker_that_dies_at_the_commit_leaves_the_outcome_unknown(crash: int, size: int) -> None:
    episode = workshop()
    dies = raw("resize", part_id=1, size=9)
    told = episode.call((dies,), pins=({"crash": crash},)).results[0]
    assert (told.ok, told.value["code"]) == (False, "unknown_outcome")
    parts = episode.product.stores["parts"]
    assert parts.table.rows[1].size == size
    assert parts.locks.holder(1) is None
    seen = episode.call((raw("look", part_id=1),)).results[0]
    assert seen.value["size"] == size
    episode.stop()
    episode.close()
    assert_replays(episode)
    story = story_of_record(record_of(episode), type(episode.product))
    assert [f.code for f in harness_findings(story)] == []


def test_a_handler_that_was_told_to_fail_aborts_the_step() -> None:
    episode = workshop()
    with pytest.raises(HarnessError, match="'look' was told to fail") as caught:
        episode.call((raw("look", part_id=1),), pins=({"crash": IN_HANDLER},))
    assert_aborted(episode, caught.value, 1)


def test_a_call_that_nobody_runs_any_longer_has_not_raised() -> None:
    world = World(0)
    product, _ = load_scenario(WORKSHOP)
    templates = {"parts": product.specs()["parts"].template([])}
    shop = product(world, templates, resolve_settings(product, "bare", {}), 0)
    steps = shop.call(Operation(world, Actor(world, "ben", 0), 1), shop.tools["hang"], {})
    next(steps)
    steps.close()
    assert not [row for row in world.rows if row[0] == journal.RAISED]


def test_ctrl_c_in_a_step_passes_through_and_ends_the_episode() -> None:
    env = make(WORKSHOP, load=1)
    env.step(LOOK)
    whole = env.episode.digest
    with pytest.raises(KeyboardInterrupt):
        env.step(Call("interrupt"))
    assert env.episode.interrupted
    assert env.episode.aborted is None, "it was no failure of the harness"
    assert env.episode.reward is None
    with pytest.raises(UsageError, match="has ended"):
        env.step(LOOK)
    record = record_of(env.episode)
    assert record.problem.startswith("truncated")
    assert [step.step for step in read_rows(record).steps] == [1]
    with pytest.raises(TruncatedRecording):
        replay(record)
    assert replay(record, until=1).digest == whole
    env.reset()
    env.step(LOOK)
    assert env.episode.digest == whole


def test_ctrl_c_stops_a_policy_and_closes_it() -> None:
    closed: list[bool] = []

    def play(task: object) -> Any:
        try:
            yield Call("interrupt")
        finally:
            closed.append(True)

    episode = workshop()
    with pytest.raises(KeyboardInterrupt):
        finish(episode, play, askable=True)
    assert closed == [True]


# --- what the agent is told, in the recording ----------------------------------------------------


def test_objects_with_any_keys_are_recorded_as_they_were_told() -> None:
    env = make(WORKSHOP, load=0)
    told = env.step(Call("odd_keys")).observation.value
    module = sys.modules[load_product(WORKSHOP.rpartition("/")[0]).__module__]
    assert told == module.__dict__["ODD_KEYS"]
    env.step(None)
    assert read_rows(record_of(env.episode)).steps[0].results == ((True, told),)
    assert_replays(env.episode)


def test_key_that_somebody_made_up_is_recorded_as_it_was_told() -> None:
    env = make(CRM, seed=1, load=0)
    world, deals = env.episode.world, env.episode.product.stores["deals"]
    tx = Transaction(Operation(world, Actor(world, "import", 0), 1))
    tx.update(deals.table, int(env.episode.instance["deal"]), {"currency": "A,B"})
    tx.commit()
    told = env.step(Call("pipeline_summary")).observation.value
    assert "A,B" in told["stages"]["negotiation"]["amounts"]
    assert read_rows(record_of(env.episode)).steps[0].results == ((True, told),)


@pytest.mark.parametrize(
    ("keys", "shape"),
    [
        ([], ""),
        (["a"], "a"),
        (["a", "b"], "a,b"),
        ([""], r"\0"),
        (["", "b"], r"\0,b"),
        (["a,b"], r"a\,b"),
        (["a,b", "c"], r"a\,b,c"),
        (["\\", ","], r"\\,\,"),
        ([r"\0", ""], r"\\0,\0"),
        (["{", "}"], "{,}"),
    ],
)
def test_shape_names_keys_in_one_way_only(keys: list[str], shape: str) -> None:
    assert shape_of(dict.fromkeys(keys)) == shape
    assert keys_of(shape) == keys


def test_row_that_changed_without_a_new_version_is_recorded_as_it_was_told() -> None:
    env = make(WORKSHOP, load=0)
    told = [env.step(Call("twins"), think=0).observation.value["size"] for _ in range(2)]
    assert told == [SECOND, 2 * SECOND]
    recorded = read_rows(record_of(env.episode)).steps
    assert [step.results[0][1]["size"] for step in recorded] == told


def test_what_the_agent_is_told_may_be_changed_without_a_trace() -> None:
    env = make(WORKSHOP, load=0)
    told = env.step(LOOK).observation.value
    told["label"] = "spoilt"
    assert env.step(LOOK).observation.value["label"] == "part 1"
    env.step(None)
    assert_replays(env.episode)


def test_rows_that_are_let_go_leave_the_same_recording() -> None:
    digests: list[str] = []
    for keep in (True, False):
        episode = new_episode(make_plan(CRM, 5), "expert", keep_rows=keep)
        finish(episode, episode.scenario.policies["expert"], askable=False)
        digests.append(episode.digest)
    assert digests[0] == digests[1]


def test_env_reset_tells_prompt_tools_and_start() -> None:
    env: Env = make(CRM, seed=2)
    told = env.reset()
    assert str(env.episode.instance["deal"]) in told.prompt
    assert told.t == "2026-03-02T09:00:00Z"
    assert told.episode_id == "crm/negotiation:2"
    assert {tool["name"] for tool in told.tools} == set(env.episode.product.tools)
