"""Repair by value: what flips, what stays as it was, and that nothing else moves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from simharness.blame.ablation import mechanisms, replayed, require_mechanisms
from simharness.blame.verdict import Proof
from simharness.blame.whatif import whatif
from simharness.env import Env, finish, make_plan, new_episode
from simharness.errors import UnknownName
from simharness.kernel.journal import COLUMNS, NAMES
from simharness.models.crm.showcases import SHOWCASES
from simharness.product.policy import Call
from simharness.recording.reader import read_file
from simharness.recording.rows import rows_digest
from tests.blame.plays import (
    CLEARED,
    DETAIL,
    LOST,
    NO_FENCE,
    blunt,
    misfit,
    plan,
    played,
    policy_named,
    stepped,
)
from tests.effort import times

if TYPE_CHECKING:
    from pathlib import Path

    from simharness.episode.episode import Episode
    from simharness.episode.plan import Plan
    from simharness.product.policy import Task
    from simharness.recording.reader import EpisodeRecord
    from tests.blame.plays import Play

CACHES = (
    "accounts.detail",
    "accounts.list",
    "accounts.search",
    "activities.list",
    "approvals.detail",
    "contacts.detail",
    "contacts.search",
    "deals.detail",
    "deals.list",
    "deals.search",
    "users.auth",
    "users.detail",
)
ALL = frozenset(f"cache:{name}" for name in CACHES)


def recorded(folder: Path, plan: Plan, policy: str) -> EpisodeRecord:
    episode = new_episode(plan, policy)
    finish(episode, policy_named(policy), askable=True)
    return kept(folder, episode)


def kept(folder: Path, episode: Episode) -> EpisodeRecord:
    path = folder / "episode.simrec"
    episode.save(path)
    (record,) = read_file(path)
    return record


def episode_42() -> Plan:
    (showcase,) = (s for s in SHOWCASES if s.number == 42)
    return make_plan(showcase.scenario, 42, showcase.load, showcase.faults, config=showcase.config)


# --- the arms ------------------------------------------------------------------------------------


def test_episode_42_is_won_when_the_policy_is_asked_again_and_by_no_fixed_calls(
    tmp_path: Path,
) -> None:
    found = whatif(recorded(tmp_path, episode_42(), "expert"), [DETAIL])
    assert (found.reward, found.before, found.policy) == (0, 0, "expert")
    assert found.mechanisms == (DETAIL,)
    closed, opened = found.arms
    assert (closed.proof, closed.score_before, closed.score) == (Proof.CLOSED, 0, 1_000_000)
    assert closed.flips
    assert (opened.proof, opened.score_before, opened.score) == (Proof.OPEN, 0, 0)
    assert not opened.flips


@pytest.mark.parametrize("name", sorted(ALL - {DETAIL}))
def test_no_other_mechanism_wins_episode_42(tmp_path: Path, name: str) -> None:
    record = recorded(tmp_path, episode_42(), "expert")
    found = whatif(record, [name])
    assert [arm.proof for arm in found.arms] == [Proof.CLOSED, Proof.OPEN]
    assert not any(arm.flips for arm in found.arms)
    assert found.before == 0


def test_repairing_an_innocent_beside_the_guilty_one_changes_no_answer(tmp_path: Path) -> None:
    record = recorded(tmp_path, episode_42(), "expert")
    for found in (whatif(record, [DETAIL, "cache:deals.list"]), whatif(record, sorted(ALL))):
        assert [arm.flips for arm in found.arms] == [True, False]
    assert whatif(record, [DETAIL, DETAIL]) == whatif(record, [DETAIL])


def test_a_caller_who_cannot_be_asked_is_stood_in_for_by_the_reference(tmp_path: Path) -> None:
    env = Env(episode_42(), on_harness="mark")
    stepped(env, policy_named("expert"))
    record = kept(tmp_path, env.episode)
    opened, taken = whatif(record, [DETAIL]).arms
    assert (opened.proof, opened.flips) == (Proof.OPEN, False)
    assert (taken.proof, taken.score_before, taken.score) == (Proof.UNSOLVABLE, 0, 1_000_000)
    # An innocent cache served nothing wrong, so there is no step for the reference to take over at.
    assert [arm.proof for arm in whatif(record, ["cache:contacts.detail"]).arms] == [Proof.OPEN]


def test_a_won_episode_stays_won_in_the_repaired_world(tmp_path: Path) -> None:
    env = Env(plan(0, 4, LOST, CLEARED), on_harness="mark")
    assert stepped(env, blunt).reward == 1.0
    found = whatif(kept(tmp_path, env.episode), [DETAIL])
    assert (found.reward, found.before) == (1_000_000, 1_000_000)
    assert (found.arms[0].proof, found.arms[0].flips) == (Proof.OPEN, False)


def test_what_was_paid_and_what_is_true_are_told_apart(tmp_path: Path) -> None:
    paid = plan(2, 1, config={"reward.mode": "activity"})
    found = whatif(recorded(tmp_path, paid, "nurture"), [DETAIL])
    assert (found.reward, found.before) == (1_000_000, 0)
    assert [(arm.score_before, arm.score) for arm in found.arms] == [(0, 0), (0, 0)]


def test_calls_that_no_longer_fit_have_no_arm(tmp_path: Path) -> None:
    env = misfit()
    env.step(None)
    assert whatif(kept(tmp_path, env.episode), [DETAIL]).arms == ()


# --- names ---------------------------------------------------------------------------------------


def test_every_cache_of_the_product_can_be_asked_about() -> None:
    episode = new_episode(plan(0), "test")
    caches = [name for name in mechanisms(episode) if name.startswith("cache:")]
    assert sorted(caches) == sorted(ALL)
    assert require_mechanisms(episode, ALL) == ALL


def test_an_unknown_mechanism_is_answered_with_near_names(tmp_path: Path) -> None:
    record = recorded(tmp_path, plan(1), "null")
    with pytest.raises(UnknownName) as raised:
        whatif(record, [DETAIL, "cache:deals.detial"])
    assert raised.value.message == "no mechanism named 'cache:deals.detial'"
    assert raised.value.hint.startswith("did you mean 'cache:deals.detail'")
    with pytest.raises(UnknownName, match=r"no mechanism named 'deals\.detail'"):
        whatif(record, ["deals.detail"])


# --- rows ----------------------------------------------------------------------------------------


def differences(one: Episode, other: Episode) -> list[tuple[tuple[Any, ...], tuple[Any, ...]]]:
    """Pairs of rows that differ; the journals must be of one length."""
    pairs = list(zip(one.world.rows, other.world.rows, strict=True))
    return [(a, b) for a, b in pairs if a != b]


ALONE: dict[str, Any] = {
    "deals.detail.cache.ttl": "30min",
    "deals.detail.cache.invalidate": "never",
    "deals.list.cache.ttl": "30min",
    "deals.list.cache.invalidate": "never",
}


def watcher(task: Task) -> Play:
    """Look at the deal and at all deals in negotiation, again and again."""
    for _ in range(6):
        yield Call("get_deal", {"deal_id": task.brief["deal_id"]})
        yield Call("list_deals", {"stage": "negotiation"})
        yield Call("wait", {"seconds": 30})


# Nobody else is there whose next act could follow from what he reads; the customers' answers change
# the deal behind the caches.
@pytest.mark.parametrize("view", ["deals.detail", "deals.list"])
def test_a_repair_changes_only_the_values_of_that_views_reads(view: str) -> None:
    kind = "READ" if view == "deals.detail" else "LIST"
    values = {"READ": {"served", "age"}, "LIST": {"rows", "wrong"}}[kind]
    changed = 0
    for seed in range(4):
        actual = played(plan(seed, 0, config={**CLEARED, **ALONE}), watcher)
        repaired = replayed(actual.plan, actual.inputs, frozenset({f"cache:{view}"}))
        for before, after in differences(actual, repaired):
            changed += 1
            assert NAMES[before[0]] == NAMES[after[0]] == kind
            names = [name.lstrip("@~") for name in COLUMNS[before[0]]]
            was = dict(zip(names, before[2:], strict=True))
            now = dict(zip(names, after[2:], strict=True))
            assert actual.world.names[was["view"]] == repaired.world.names[now["view"]] == view
            assert {name for name in names if was[name] != now[name]} == values
            if kind == "READ":
                assert was["served"] < was["true"] == now["served"]
                assert was["age"] > now["age"] == 0
            else:
                assert was["wrong"]
                assert not now["wrong"]
        assert repaired.product.digests() == actual.product.digests()
        assert [b for b in actual.breaches if b.view == view]
        assert repaired.breaches == [b for b in actual.breaches if b.view != view]
    assert changed > 8


@pytest.mark.parametrize("faults", [LOST, NO_FENCE])
@pytest.mark.parametrize("load", [4, 8])
def test_among_others_the_first_change_is_a_value_that_the_mechanism_had_got_wrong(
    faults: tuple[str, ...], load: int
) -> None:
    repaired_reads = 0
    for seed in range(3):
        actual = played(plan(seed, load, faults), policy_named("spam"))
        repaired = replayed(actual.plan, actual.inputs, frozenset({DETAIL}))
        pairs = zip(actual.world.rows, repaired.world.rows, strict=False)
        first = next(((a, b) for a, b in pairs if a != b), None)
        if first is None:
            continue
        repaired_reads += 1
        before, after = first
        assert NAMES[before[0]] == NAMES[after[0]] == "READ"
        assert before[:6] == after[:6]
        assert actual.world.names[before[4]] == "deals.detail"
        served, true, age = before[6:9]
        assert served < true
        assert age > 0
        assert after[6:9] == (true, true, 0)
        assert before[9:] == after[9:]
    assert repaired_reads


@pytest.mark.parametrize("load", [1, 8])
@pytest.mark.parametrize("policy", ["expert", "random", "spam", "nurture"])
def test_in_a_sound_world_there_is_nothing_to_repair(policy: str, load: int) -> None:
    for seed in range(times(1)):
        actual = played(plan(seed, load), policy_named(policy))
        opened = replayed(actual.plan, actual.inputs, ALL)
        closed = played(actual.plan, policy_named(policy), ALL)
        for repaired in (opened, closed):
            assert differences(actual, repaired) == []
            assert rows_digest(repaired.world.rows) == rows_digest(actual.world.rows)
            assert repaired.digest == actual.digest


def test_a_replay_without_a_repair_is_the_episode_again() -> None:
    for faults in ((), LOST):
        actual = played(plan(3, 4, faults), policy_named("expert"))
        again = replayed(actual.plan, actual.inputs)
        assert again.digest == actual.digest
        assert differences(actual, again) == []
