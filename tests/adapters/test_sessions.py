"""Sessions: whatever their clients do, each is on its own, and each leaves a recording."""

from __future__ import annotations

import json
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import simharness as sh
from simharness.adapters.sessions import Limits
from simharness.errors import (
    AtCapacity,
    CallOverdue,
    HarnessError,
    HarnessUnhealthy,
    NoEpisode,
    NoSession,
    OutOfStep,
    RecordingError,
    UnknownName,
    UsageError,
)
from simharness.product.registry import load_product
from simharness.rollout.audit import audit
from simharness.rollout.catalogue import dump
from simharness.rollout.lines import read_lines
from simharness.rollout.run import resume
from tests.adapters.players import CRM, DESK, expert_calls, play, serve

if TYPE_CHECKING:
    from simharness.adapters.sessions import Sessions

HAZARD = f"{Path(__file__).parent.parent / 'rollout' / 'hazard.py'}:Hazard"
SLOW = f"{Path(__file__).parent / 'slow.py'}:Slow"


def lines_of(folder: Path) -> list[dict[str, Any]]:
    return list(read_lines(folder))


def begun(sessions: Sessions, scenario: str, seed: int = 0) -> str:
    handle = sessions.open().id
    sessions.begin(handle, scenario, seed)
    return handle


def unlucky(scenario: str) -> int:
    """Find a seed on which the hazard happens."""
    for seed in range(40):
        try:
            env = sh.make(scenario, seed=seed)
        except HarnessError:
            return seed
        if env.episode.instance["luck"] == 0:
            return seed
    raise AssertionError(scenario)


def test_interleaved_clients_get_what_each_gets_alone(tmp_path: Path) -> None:
    plays = [(CRM, 1), (DESK, 2), (CRM, 3), (CRM, 1)]
    alone = serve(tmp_path / "alone")
    expected = [play(alone, *one) for one in plays]
    alone.stop()
    together = serve(tmp_path / "together")
    with ThreadPoolExecutor(len(plays)) as pool:
        told = list(pool.map(partial(play, together), *zip(*plays, strict=True)))
    together.stop()
    assert told == expected
    digests = [sorted(x["digest"] for x in lines_of(tmp_path / n)) for n in ("alone", "together")]
    assert digests[0] == digests[1]
    assert [json.loads(one[-1])["reward"] for one in told] == [1.0] * len(plays)


def test_a_session_is_played_as_env_plays(tmp_path: Path) -> None:
    sessions = serve(tmp_path / "run")
    told = play(sessions, CRM, 7)
    sessions.stop()
    outcome = sh.run(CRM, seed=7)
    assert json.loads(told[-1])["info"]["digest"] == outcome.episode.digest
    (line,) = lines_of(tmp_path / "run")
    assert line["digest"] == outcome.episode.digest
    assert (line["key"], line["score"]) == (f"{CRM}:7:client member=0", 1.0)


def test_a_run_of_sessions_is_read_like_any_other(tmp_path: Path) -> None:
    sessions = serve(tmp_path / "run")
    for seed in (1, 1, 2):
        play(sessions, CRM, seed)
    begun(sessions, CRM, 3)
    sessions.stop()
    report = audit(tmp_path / "run")
    assert [item.key for item in report.items] == [
        f"{CRM}:1:client member=0",
        f"{CRM}:1:client member=1",
        f"{CRM}:2:client member=0",
        f"{CRM}:3:client member=0",
    ]
    assert [str(item.verdict.kind) for item in report.items] == ["ok"] * 3 + ["external"]
    assert not report.problems
    assert len(list(dump(tmp_path / "run"))) == 5
    with pytest.raises(UsageError, match="can't be resumed"):
        resume(tmp_path / "run")


@pytest.mark.parametrize("how", ["close", "begin", "idle", "stop"])
def test_an_episode_that_is_left_is_flagged_and_has_no_score(tmp_path: Path, how: str) -> None:
    first = [sh.Call(c.tool, c.args) for c in expert_calls(CRM, 5)[0]]
    sessions = serve(tmp_path / "run", limits=Limits(idle=2 if how == "idle" else 600))
    handle = begun(sessions, CRM, 5)
    sessions.step(handle, first)
    if how == "close":
        sessions.close(handle)
    elif how == "begin":
        sessions.begin(handle, CRM, 6)
    elif how == "idle":
        until = time.monotonic() + 30
        while len(sessions) and time.monotonic() < until:
            time.sleep(0.02)
        with pytest.raises(NoSession, match="it expired: nobody used it"):
            sessions.look(handle)
    sessions.stop()
    line = lines_of(tmp_path / "run")[0]
    told = {name: line[name] for name in ("class", "primary", "score", "valid", "steps", "seed")}
    assert told == {
        "class": "external",
        "primary": "X812",
        "score": None,
        "valid": False,
        "steps": 1,
        "seed": 5,
    }
    assert line["quarantined"]


def test_an_episode_ends_once_and_then_asks_for_another(tmp_path: Path) -> None:
    sessions = serve(tmp_path / "run")
    handle = begun(sessions, CRM, 1)
    end = sessions.step(handle, sh.Call("finish", {"message": "no", "outcome": "done"}))
    assert (end["reward"], end["terminated"], end["error"]) == (0.0, True, None)
    state = sessions.look(handle)
    assert state.pop("begun")["prompt"]
    assert state == {
        "scenario": CRM,
        "episode_id": f"{CRM}:1",
        "seed": 1,
        "step": 1,
        "going_on": False,
        "last": end,
    }
    with pytest.raises(NoEpisode, match="the episode has ended"):
        sessions.step(handle, sh.Call("finish", {"message": "no"}))
    sessions.begin(handle, CRM, 1)
    assert sessions.step(handle, None)["terminated"]
    sessions.stop()
    assert [line["class"] for line in lines_of(tmp_path / "run")] == ["model", "model"]


def test_what_was_never_begun_is_an_error_and_no_default(tmp_path: Path) -> None:
    sessions = serve(tmp_path / "run")
    handle = sessions.open().id
    with pytest.raises(NoEpisode, match="no episode has begun"):
        sessions.step(handle, sh.Call("list_deals", {}))
    with pytest.raises(NoSession, match="no session of this name"):
        sessions.step("nobody", None)
    with pytest.raises(UnknownName, match="no scenario on offer named 'crm/approval'"):
        sessions.begin(handle, "crm/approval", 1)
    with pytest.raises(UnknownName, match="no scenario on offer"):
        sessions.begin(handle, HAZARD + "/sound", 1)
    with pytest.raises(UsageError, match="load 17 is more"):
        sessions.begin(handle, CRM, 1, load=17)
    for load, said in ((1e-05, "load 1e-05 has more than three"), (1e9, "load .* is out of range")):
        with pytest.raises(UsageError, match=said) as caught:
            sessions.begin(handle, CRM, 1, load=load)
        assert caught.value.hint == "give 0 to 16, with at most three decimals"
    with pytest.raises(UnknownName, match="fault"):
        sessions.begin(handle, CRM, 1, faults=["crm.nothing"])
    with pytest.raises(NoEpisode, match="no episode has begun"):
        sessions.step(handle, None)
    sessions.close(handle)
    with pytest.raises(NoSession, match="the client closed the session"):
        sessions.step(handle, None)
    sessions.stop()
    assert lines_of(tmp_path / "run") == []


def test_a_lost_answer_is_noticed_and_told_again(tmp_path: Path) -> None:
    sessions = serve(tmp_path / "run")
    handle = begun(sessions, CRM, 1)
    first = sessions.step(handle, sh.Call("list_deals", {}), number=1)
    with pytest.raises(OutOfStep, match="step 1 of crm/negotiation:1, which has had 1"):
        sessions.step(handle, sh.Call("list_deals", {}), number=1)
    assert sessions.look(handle)["last"] == first
    assert sessions.step(handle, sh.Call("list_deals", {}), number=2)["step"] == 2
    sessions.stop()


def test_a_lost_answer_of_a_beginning_is_told_again(tmp_path: Path) -> None:
    sessions = serve(tmp_path / "run")
    handle = sessions.open().id
    assert sessions.look(handle)["begun"] is None
    for seed in (1, 2):
        told = sessions.begin(handle, CRM, seed)
        state = sessions.look(handle)
        assert state["begun"] == told
        assert told["prompt"]
        assert told["tools"]
        assert (state["episode_id"], state["seed"]) == (f"{CRM}:{seed}", seed)
        assert (state["step"], state["going_on"], state["last"]) == (0, True, None)
        sessions.step(handle, sh.Call("list_deals", {}))
        assert sessions.look(handle)["begun"] == told
    sessions.stop()


def test_there_is_room_for_so_many_and_it_is_given_back(tmp_path: Path) -> None:
    sessions = serve(tmp_path / "run", limits=Limits(sessions=2))
    first, _ = sessions.open(), sessions.open()
    with pytest.raises(AtCapacity, match="all 2 sessions are in use"):
        sessions.open()
    sessions.close(first.id)
    sessions.open()
    assert (len(sessions), sessions.counts.refused) == (2, 1)
    sessions.stop()
    assert len(sessions) == 0
    with pytest.raises(AtCapacity, match="shutting down"):
        sessions.open()


def test_a_failure_of_the_harness_has_no_reward(tmp_path: Path) -> None:
    scenario = HAZARD + "/goal"
    sessions = serve(tmp_path / "run", scenario)
    handle = begun(sessions, scenario, unlucky(scenario))
    end = sessions.step(handle, sh.Call("finish", {"message": "lit"}))
    assert (end["reward"], end["terminated"], end["info"]["valid"]) == (None, True, False)
    assert end["error"]["code"] == "H810"
    assert "goal broke" in end["error"]["message"]
    sessions.stop()
    (line,) = lines_of(tmp_path / "run")
    assert (line["class"], line["score"], line["primary"]) == ("harness", None, "H810")


def test_an_episode_that_cannot_begin_is_recorded_and_told(tmp_path: Path) -> None:
    scenario = HAZARD + "/start"
    sessions = serve(tmp_path / "run", scenario)
    handle = sessions.open().id
    with pytest.raises(HarnessError, match="start broke"):
        sessions.begin(handle, scenario, unlucky(scenario))
    with pytest.raises(NoEpisode):
        sessions.step(handle, None)
    sessions.stop()
    (line,) = lines_of(tmp_path / "run")
    assert (line["class"], line["primary"], line["steps"]) == ("harness", "H810", 0)


def test_a_stale_read_cuts_the_episode(tmp_path: Path) -> None:
    sessions = serve(tmp_path / "run", load="4", faults=("crm.invalidation-lost",))
    handle = begun(sessions, CRM, 42)
    brief = sh.make(CRM, seed=42).episode.scenario.brief(sh.make(CRM, seed=42).episode.instance)
    look = sh.Call("get_deal", {"deal_id": brief["deal_id"]})
    told = sessions.step(handle, look)
    for _ in range(30):
        if told["terminated"]:
            break
        assert told["reward"] == 0.0
        sessions.step(handle, sh.Call("wait", {"seconds": 60}))
        told = sessions.step(handle, look)
    assert (told["reward"], told["info"]["valid"]) == (None, False)
    assert told["error"]["code"] == "H112"
    sessions.stop()


def test_a_stuck_call_costs_its_own_session_and_no_other(tmp_path: Path) -> None:
    scenario = SLOW + "/light"
    module = sys.modules[load_product(SLOW).__module__]
    module.GO.clear()
    sessions = serve(tmp_path / "run", scenario, CRM, limits=Limits(call=0.3))
    stuck, other = begun(sessions, scenario), begun(sessions, CRM, 1)
    sessions.step(stuck, sh.Call("light", {}))
    waiting = threading.Thread(target=lambda: sessions.step(other, sh.Call("list_deals", {})))
    waiting.start()
    try:
        with pytest.raises(CallOverdue, match=r"longer than 0\.3 s of real time"):
            sessions.step(stuck, sh.Call("light", {"slowly": True}))
        with pytest.raises(NoSession, match="a call took too long"):
            sessions.step(stuck, sh.Call("light", {}))
        assert sessions.step(other, sh.Call("list_deals", {}))["step"] == 2
    finally:
        module.GO.set()
        waiting.join()
    sessions.stop()
    found = {line["scenario"]: line for line in lines_of(tmp_path / "run")}
    line = found[scenario]
    assert (line["class"], line["primary"], line["score"], line["steps"]) == (
        "harness",
        "H811",
        None,
        1,
    )
    assert found[CRM]["class"] == "external"
    assert not audit(tmp_path / "run").problems


def test_calls_of_one_session_are_serial(tmp_path: Path) -> None:
    sessions = serve(tmp_path / "run")
    handle = begun(sessions, CRM, 1)
    with ThreadPoolExecutor(8) as pool:
        calls = [sh.Call("list_deals", {})] * 12
        told = list(pool.map(partial(sessions.step, handle), calls))
    assert sorted(one["step"] for one in told) == list(range(1, 13))
    sessions.stop()


def test_the_breaker_lets_no_further_episode_begin(tmp_path: Path) -> None:
    scenario = HAZARD + "/start"
    sessions = serve(tmp_path / "run", scenario)
    handle = sessions.open().id
    bad = [
        n for n in range(100) if sh.make(HAZARD + "/sound", seed=n).episode.instance["luck"] == 0
    ]
    for seed in bad[:8]:
        with pytest.raises(HarnessError, match="start broke"):
            sessions.begin(handle, scenario, seed)
    with pytest.raises(HarnessUnhealthy, match="H810"):
        sessions.begin(handle, scenario, bad[8])
    assert "breaker" in sessions.trouble
    with pytest.raises(HarnessUnhealthy):
        sessions.open()
    sessions.stop()


def test_a_disk_that_refuses_is_told_and_nothing_begins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sessions = serve(tmp_path / "run")
    handle = begun(sessions, CRM, 1)
    shards = tmp_path / "run" / "shards"
    shards.rmdir()
    with pytest.raises(RecordingError):
        sessions.step(handle, None)
    with pytest.raises(RecordingError):
        sessions.open()
    assert "can't write" in sessions.trouble
    shards.mkdir()
    sessions.stop()


def test_thousands_of_sessions_leave_nothing_behind(tmp_path: Path) -> None:
    scenario = HAZARD + "/sound"
    sessions = serve(tmp_path / "run", scenario, limits=Limits(sessions=4))
    threads = threading.active_count()
    for seed in range(300):
        sessions.close(begun(sessions, scenario, seed))
    assert (len(sessions), sessions.counts.left) == (0, 300)
    assert threading.active_count() <= threads + 1
    sessions.stop()
    assert len(lines_of(tmp_path / "run")) == 300
    assert len(list((tmp_path / "run" / "shards").glob("*.simrec"))) == 5
