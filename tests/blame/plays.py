"""Ways to play the CRM's negotiation that the tests of blame share."""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, Any

from simharness.blame.ablation import replayed
from simharness.env import Env, finish, make_plan, new_episode
from simharness.episode.episode import Episode
from simharness.episode.play import drive, task_of
from simharness.episode.policies import scripted
from simharness.errors import UsageError
from simharness.models.crm.scenarios.negotiation import Negotiation
from simharness.product.policy import Action, Call, Observation, Policy, Task

if TYPE_CHECKING:
    from collections.abc import Mapping

    from simharness.blame.verdict import Verdict
    from simharness.env import Step
    from simharness.episode.plan import Plan

NEGOTIATION = "crm/negotiation"
LOST = ("crm.invalidation-lost",)
NO_FENCE = ("crm.no-fence",)
DETAIL = "cache:deals.detail"

# Legal clears the deal after 45 s and nothing else happens; a cache that lost that goes on saying
# in_review.
CLEARED: dict[str, Any] = {
    "instance.legal": "in_review",
    "instance.legal_answer": "cleared",
    "instance.legal_after": 45,
    "instance.discount": "free",
    "instance.discount_pct": 10,
    "instance.champion": "stays",
    "instance.budget": "stays",
}

Play = Generator[Action, Observation, None]


def policy_named(name: str) -> Policy:
    policy = scripted(name, Negotiation())
    assert policy is not None
    return policy


def plan(
    seed: int, load: int = 1, faults: tuple[str, ...] = (), config: Mapping[str, Any] | None = None
) -> Plan:
    return make_plan(NEGOTIATION, seed, load, faults, config=config)


def played(plan: Plan, policy: Policy, repair: frozenset[str] = frozenset()) -> Episode:
    """Play an episode without judging it."""
    episode = Episode(plan, repair=repair)
    drive(episode, policy)
    return episode


def judged(plan: Plan, policy: Policy) -> tuple[Episode, Verdict]:
    """Play and judge an episode of a policy that can be asked again."""
    outcome = finish(new_episode(plan, "test"), policy, askable=True)
    return outcome.episode, outcome.verdict


def stepped(env: Env, policy: Policy) -> Step:
    """Let a policy play through `Env.step`, as one that can't be asked again; gives its end."""
    env.reset()
    play = policy(task_of(env.episode))
    try:
        action = next(play)
        while True:
            step = env.step(action)
            if step.terminated or step.truncated:
                return step
            action = play.send(step.observation)
    except StopIteration:
        return env.step(None)


def blunt(task: Task) -> Play:
    """See the old deal, wait until no cache can hold it any more, then win it."""
    deal = task.brief["deal_id"]
    yield Call("get_deal", {"deal_id": deal})
    yield Call("wait", {"seconds": 120})
    yield Call("get_deal", {"deal_id": deal})
    yield Call("wait", {"seconds": 1900})
    told = yield Call("get_deal", {"deal_id": deal})
    yield from won(told.value)


def contrary(task: Task) -> Play:
    """Win the deal if it looks as if nothing had happened to it, refuse otherwise."""
    deal = task.brief["deal_id"]
    first = yield Call("get_deal", {"deal_id": deal})
    yield Call("wait", {"seconds": 120})
    second = yield Call("get_deal", {"deal_id": deal})
    if second.value["version"] == first.value["version"]:
        yield from won(second.value)
    else:
        yield Call("finish", {"message": "too much going on", "outcome": "refused"})


def won(deal: dict[str, Any]) -> Play:
    """Mail the contract and close the deal, whatever anybody has changed since."""
    key = deal["id"]
    mail = {"template": "contract", "subject": "Contract", "body": "Attached."}
    yield Call("send_email", {"contact_id": deal["champion_id"], "deal_id": key, **mail})
    yield Call("move_stage", {"deal_id": key, "to_stage": "closed_won"})
    yield Call("finish", {"message": "won", "outcome": "done"})


def quitter(task: Task) -> Play:
    """Look at the deal until it is old, and go away without a word."""
    deal = task.brief["deal_id"]
    yield Call("get_deal", {"deal_id": deal})
    yield Call("wait", {"seconds": 120})
    yield Call("get_deal", {"deal_id": deal})


def misfit() -> Env:
    """An episode so far whose calls, up to a stale read, no longer fit the repaired world.

    One worker serves a crowd: in the repaired world others wait longer, and so does the agent, who
    sends again at once.
    """
    config = {
        **CLEARED,
        "instance.legal_after": 20,
        "api.workers": 1,
        "db.latency": ["30ms", "60ms"],
    }
    for seed in range(20):
        env = Env(plan(seed, 20, LOST, config), on_harness="mark")
        env.step(Call("wait", {"seconds": 60}))
        for contact in range(1, 41):
            env.step(Call("get_contact", {"contact_id": contact}), think=0)
        env.step(Call("get_deal", {"deal_id": env.episode.instance["deal"]}))
        try:
            replayed(env.plan, env.episode.inputs[:-1], frozenset({DETAIL}))
        except UsageError:
            if env.episode.breaches:
                return env
    raise AssertionError("all of them fit")
