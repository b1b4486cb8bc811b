"""A branch has the same past and a future of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from simharness.env import Env, make
from simharness.episode.play import task_of
from simharness.episode.policies import scripted
from simharness.episode.replay import replay
from simharness.errors import HarnessError, UsageError
from simharness.product.policy import Call
from simharness.recording.reader import parse
from tests.effort import times

if TYPE_CHECKING:
    from simharness.product.policy import Action

EPISODES = times(4)
"""How many episodes are branched."""

CRM = "crm/negotiation"
FAULTS = (("crm.invalidation-lost@load=0",), (), (), ("crm.no-fence",))
LOADS = (1, 1, 4, 1)
POLICIES = ("expert", "spam", "expert", "random")
OTHER = Call("add_note", {"deal_id": 3, "body": "another road"})


def env_of(number: int) -> Env:
    faults = FAULTS[number % len(FAULTS)]
    return make(CRM, seed=number, load=LOADS[number % len(LOADS)], faults=faults, on_harness="mark")


def actions_of(number: int) -> list[Action]:
    """Play an episode and give what its policy did."""
    env = env_of(number)
    policy = scripted(POLICIES[number % len(POLICIES)], env.episode.scenario)
    assert policy is not None
    play = policy(task_of(env.episode))
    actions: list[Action] = [next(play)]
    while True:
        step = env.step(actions[-1])
        if step.terminated or step.truncated:
            return actions
        try:
            actions.append(play.send(step.observation))
        except StopIteration:
            return [*actions, None]


def go_on(env: Env, actions: list[Action]) -> str:
    """Send actions until the end and give the digest."""
    for action in actions:
        if not env.episode.ended:
            env.step(action)
    return env.episode.digest


def state(env: Env) -> object:
    """Give what a branch must not touch."""
    episode = env.episode
    world = episode.world
    return (
        episode.digest,
        episode.count,
        episode.ended,
        world.ticks,
        world.order,
        len(world.rows),
        dict(world.draws.counts),
        episode.product.digests(),
        list(world.alive),
    )


def assert_replays(env: Env) -> None:
    log: Any = env.episode.sink
    (record,) = parse(log.to_bytes())
    assert replay(record).digest == env.episode.digest


@pytest.mark.parametrize("number", range(1, EPISODES + 1))
def test_branch_at_any_step_goes_on_the_same_way_or_another(number: int) -> None:
    actions = actions_of(number)
    env = env_of(number)
    wholes: list[str] = [env.episode.digest]
    for action in actions:
        env.step(action)
        wholes.append(env.episode.digest)
    assert env.episode.ended
    before = state(env)
    others: set[str] = set()
    # Of long episodes some steps: each branch plays all that was before it again.
    steps = sorted({*range(0, len(actions), 1 + len(actions) // times(8)), len(actions) - 1})
    for step in steps:
        twin = env.branch(step)
        assert twin.episode.digest == wholes[step]
        assert not twin.episode.ended
        assert go_on(twin, actions[step:]) == wholes[-1]
        assert twin.verdict is not None
        assert env.verdict is not None
        assert twin.verdict.record() == env.verdict.record()
        other = env.branch(step)
        others.add(go_on(other, [OTHER, None]))
        assert_replays(other)
    assert wholes[-1] not in others
    assert len(others) == len(steps)
    assert state(env) == before
    assert_replays(env)


def test_original_goes_on_untouched_while_its_branches_do_too() -> None:
    """All worlds take turns, step by step; whatever they shared would show."""
    actions = actions_of(2)
    assert len(actions) > 4
    alone = go_on(env_of(2), actions)
    env = env_of(2)
    twins: list[Env] = []
    for at, action in enumerate(actions):
        twins.append(env.branch(at))
        for twin in twins[:-1]:
            twin.step(action)
        twins[-1].step(action if at % 2 else OTHER)
        env.step(action)
    assert env.episode.digest == alone
    for at, twin in enumerate(twins):
        assert (twin.episode.digest == alone) is bool(at % 2)


def test_branch_keeps_think_times_pins_ids_and_raw_arguments() -> None:
    env = make(CRM, seed=3, load=1)
    env.step(Call("get_deal", '{"deal_id": 3', "odd"), think="2min")
    env.step([Call("get_deal", {"deal_id": 3}), OTHER], latency=[{"api": "3s"}, {"db": "40s"}])
    env.step("hello")
    twin = env.branch(3)
    assert twin.episode.digest == env.episode.digest
    assert twin.episode.inputs == env.episode.inputs
    assert go_on(twin, [None]) == go_on(env, [None])


def test_branch_of_a_branch_has_the_same_past() -> None:
    env = make(CRM, seed=3, load=1)
    for _ in range(3):
        env.step(OTHER)
    assert env.branch(3).branch(2).branch(1).episode.digest == env.branch(1).episode.digest


def test_branch_at_the_end_has_ended() -> None:
    env = make(CRM, seed=3, load=1)
    env.step(None)
    twin = env.branch(1)
    assert twin.episode.digest == env.episode.digest
    with pytest.raises(UsageError, match="has ended"):
        twin.step(OTHER)


@pytest.mark.parametrize("step", [-1, 2])
def test_branch_at_a_step_that_was_not_is_refused(step: int) -> None:
    env = make(CRM, seed=3, load=1)
    env.step(OTHER)
    with pytest.raises(UsageError, match=f"can't branch at step {step}; give 0 to 1"):
        env.branch(step)


def test_branch_before_a_failure_can_go_another_way(monkeypatch: pytest.MonkeyPatch) -> None:
    env = make(CRM, seed=3, load=0)
    env.step(OTHER)
    with monkeypatch.context() as broken:
        broken.setattr(type(env.episode.product), "_log", None)
        with pytest.raises(HarnessError):
            env.step(OTHER)
    twin = env.branch(1)
    assert not twin.episode.ended
    assert twin.step(OTHER).observation.error == ""
    assert twin.episode.aborted is None


def test_branch_belongs_to_the_seed_that_was_reset_to() -> None:
    env = make(CRM, seed=3, load=1)
    env.reset(seed=4)
    env.step(OTHER)
    assert env.branch(1).episode.digest == env.episode.digest
    assert env.branch(1).episode.plan.seed == 4
