"""What the harness gets wrong costs a trainer one episode, never a wrong number."""

from __future__ import annotations

from pathlib import Path

import pytest

import simharness as sh
from simharness.adapters.episodes import BROKE, Episodes, text_of
from simharness.adapters.health import Health
from simharness.errors import ContractBreach, HarnessError, HarnessUnhealthy, UsageError

WORKSHOP = f"{Path(__file__).parents[1] / 'episode' / 'workshop.py'}:Workshop/shift"
CRM = "crm/negotiation"
STALE = {"parts.detail.cache.ttl": "1h", "parts.detail.cache.invalidate": "never"}
"""A cache that no write reaches."""


def change(episodes: Episodes) -> sh.Step:
    """Look at a part before and after it is changed, then end the episode if it goes on."""
    episodes.begin(1)
    episodes.step(sh.Call("look", {"part_id": 1}))
    episodes.step(sh.Call("resize", {"part_id": 1, "size": 3}))
    step = episodes.step(sh.Call("look", {"part_id": 1}))
    return step if episodes.ended else episodes.step(sh.Call("finish", {"message": "resized"}))


def test_it_plays_what_make_plays() -> None:
    episodes, env = Episodes(CRM, load=2, health=Health()), sh.make(CRM, seed=7, load=2)
    assert episodes.begin(7) == env.reset()
    for action in (sh.Call("list_deals", {}), "let me see", sh.Call("finish", {"message": "done"})):
        assert episodes.step(action) == env.step(action)
    assert episodes.ended


def test_a_breach_cuts_the_episode_without_a_number() -> None:
    episodes = Episodes(WORKSHOP, config=STALE, health=Health())
    end = change(episodes)
    assert (end.reward, end.terminated, end.info["valid"]) == (None, True, False)
    assert episodes.score is None


def test_a_tool_that_raises_cuts_the_episode_and_the_next_one_begins() -> None:
    episodes = Episodes(WORKSHOP, health=Health())
    episodes.begin(1)
    end = episodes.step(sh.Call("explode", {"after": 1}))
    assert (end.reward, end.terminated, end.info["valid"]) == (None, True, False)
    assert text_of(end.observation) == BROKE
    assert end.info["verdict"]["primary"] == "H810"
    assert set(end.info) == {"step", "digest", "valid", "verdict"}
    episodes.begin(1)
    assert not episodes.ended
    assert episodes.step(sh.Call("look", {"part_id": 1})).reward == 0.0


def test_on_request_both_are_thrown() -> None:
    episodes = Episodes(WORKSHOP, health=Health(), on_harness="raise")
    episodes.begin(1)
    with pytest.raises(HarnessError, match="explode"):
        episodes.step(sh.Call("explode", {"after": 1}))
    stale = Episodes(WORKSHOP, config=STALE, on_harness="raise", health=Health())
    with pytest.raises(ContractBreach):
        change(stale)


def test_a_marked_episode_has_a_number_and_none_to_train_on() -> None:
    episodes = Episodes(WORKSHOP, config=STALE, on_harness="mark", health=Health())
    end = change(episodes)
    assert (end.reward, end.info["valid"]) == (0.0, False)
    assert episodes.score is None


def test_what_was_earned_may_be_trained_on_at_the_end() -> None:
    episodes = Episodes(WORKSHOP, health=Health())
    part = episodes.begin(3).prompt.split()[2]
    assert episodes.score is None
    episodes.step(sh.Call("resize", {"part_id": int(part), "size": 7}))
    episodes.step(sh.Call("finish", {"message": "resized"}))
    assert episodes.score == 1.0


def test_the_breaker_stops_the_process_with_what_shows_it(tmp_path: Path) -> None:
    health = Health()
    episodes = Episodes(WORKSHOP, health=health, keep=tmp_path / "bad")
    for seed in range(7):
        episodes.begin(seed)
        episodes.step(sh.Call("explode", {"after": 1}))
    episodes.begin(7)
    with pytest.raises(HarnessUnhealthy, match="H810 8; to see one: simharness show ") as caught:
        episodes.step(sh.Call("explode", {"after": 1}))
    kept = sorted((tmp_path / "bad").glob("*.simrec"))
    assert len(kept) == 8
    assert str(kept[0]) in caught.value.hint
    assert sh.replay(kept[0]).digest.startswith(kept[0].stem.rpartition("-")[2])
    with pytest.raises(HarnessUnhealthy):
        episodes.begin(8)
    Episodes(WORKSHOP, health=health, breaker=False).begin(8)


def test_requests_that_cant_be_met_are_refused_when_it_is_made() -> None:
    with pytest.raises(UsageError, match="on_harness 'ignore'"):
        Episodes(CRM, on_harness="ignore")
    with pytest.raises(UsageError, match="no scenario of crm named"):
        Episodes("crm/negotiations")
    episodes = Episodes(CRM)
    with pytest.raises(UsageError, match="call reset first"):
        episodes.step("hello")


def test_answers_are_told_as_a_chat_tells_them() -> None:
    episodes = Episodes(WORKSHOP, health=Health())
    episodes.begin(1)
    step = episodes.step([sh.Call("look", {"part_id": 1}), sh.Call("look", {"part_id": "x"})])
    one, two = text_of(step.observation).splitlines()
    assert one.startswith('{"id":1,"version":1,')
    assert two.startswith('{"error":{"code":"invalid_arguments"')
