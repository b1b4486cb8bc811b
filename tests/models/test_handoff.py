"""crm/handoff is a task: the whole book changes hands, and nobody's work on it is lost."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, cast

import pytest

from simharness import env
from simharness.episode.episode import Episode
from simharness.episode.policies import GENERIC
from simharness.models.crm.policies import coping
from simharness.models.crm.policies.handoff import Handover, expert, hasty
from simharness.models.crm.scenarios.handoff import Handoff
from simharness.models.crm.succession import KEPT_STAGE, RULES, SIGNED_OFF, Terms
from simharness.product.policy import Call
from simharness.validate.measured import measured
from simharness.validate.plays import taking_over

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping

    from simharness.product.goal import Criterion
    from simharness.product.policy import Action, Observation, Policy, Task

FULL = 1_000_000
CALM: Mapping[str, object] = {
    "leaver": 1,
    "agent": 7,
    "rule": "one",
    "successor_step": 1,
    "until": "instant",
    "until_after": 130,
    "made": "1",
    "late": "0",
    "taken": "no",
    "lost": "no",
    "given": "no",
    "repriced": "no",
    "moved": "no",
    "account": "no",
    "shut": "no",
}
"""An instance in which only one deal is made, and user 2 gets everything."""


def played(
    policy: Policy, seed: int, pins: Mapping[str, object] | None = None, load: int = 1
) -> Episode:
    """Play one episode with facts pinned."""
    config = {f"instance.{name}": value for name, value in (pins or {}).items()}
    return env.run("crm/handoff", seed=seed, load=load, policy=policy, config=config).episode


def failed(episode: Episode) -> dict[str, Criterion]:
    """Give the criteria that don't hold, by name."""
    return {criterion.name: criterion for criterion in episode.criteria if not criterion.holds}


def before(*calls: Call) -> Policy:
    """Make some calls first, then do the job."""

    def play(task: Task) -> Generator[Action, Observation, None]:
        for call in calls:
            _ = yield call
        yield from expert(task)

    return play


def after(*calls: Call) -> Policy:
    """Do the job, and make some calls before it is finished."""

    def play(task: Task) -> Generator[Action, Observation, None]:
        job = expert(task)
        action = next(job)
        while not (isinstance(action, Call) and action.tool == "finish"):
            action = job.send((yield action))
        for call in calls:
            _ = yield call
        yield action

    return play


def finishing(**other: Any) -> Policy:
    """Do the job, and say something else in the end."""

    def play(task: Task) -> Generator[Action, Observation, None]:
        job = expert(task)
        action = next(job)
        while not (isinstance(action, Call) and action.tool == "finish"):
            action = job.send((yield action))
        assert not isinstance(action.args, str)
        yield Call("finish", {**action.args, **other})

    return play


# --- who gets what --------------------------------------------------------------------------------


def test_a_rule_names_one_owner_at_each_side_of_its_line() -> None:
    by_amount = Terms("amount", 1, 2, 3, threshold=500)
    assert [by_amount.heir("proposal", a, "", 4) for a in (499, 500)] == [3, 2]
    by_industry = Terms("industry", 1, 2, 3, ("energy", "media"))
    assert [by_industry.heir("proposal", 0, i, 4) for i in ("media", "retail")] == [2, 3]
    by_stage = Terms("stage", 1, 2, 7)
    assert [by_stage.heir(s, 0, "", 4) for s in (KEPT_STAGE, "proposal")] == [7, 2]
    by_account = Terms("account", 1, 2)
    assert [by_account.heir("proposal", 0, "", owner) for owner in (4, 1, None)] == [4, 2, 2]
    assert Terms("one", 1, 2).heir("proposal", 0, "", 4) == 2


@pytest.mark.parametrize("rule", RULES)
def test_the_prompt_says_what_the_brief_does(rule: str) -> None:
    episode = Episode(env.make_plan("crm/handoff", 3, config={"instance.rule": rule}))
    brief = episode.scenario.brief(episode.instance)
    words = episode.prompt
    for name, value in brief.items():
        if name not in ("rule", "shut"):
            several = cast("list[object]", value) if isinstance(value, list) else [value]
            for item in several:
                assert str(item) in words, name
    assert ("deactivate_user" in words) == brief["shut"]
    assert (SIGNED_OFF in words) == ("deal_id" in brief)


# --- who is paid ----------------------------------------------------------------------------------


@pytest.mark.parametrize("load", ["1", "8"])
def test_the_expert_hands_over_all_though_others_get_in_the_way(load: str) -> None:
    met = attempts = refused = 0
    seeds = range(1000, 1008)
    for seed in seeds:
        told = measured(Episode(env.make_plan("crm/handoff", seed, load)), expert)
        assert (told.score, told.kind, told.found) == (FULL, "ok", ()), seed
        met += told.met > 0
        attempts += told.attempts
        refused += told.met
    if load == "8":
        assert met >= 0.3 * len(seeds)
        assert refused <= 0.5 * attempts


def test_nobody_loses_an_edit_where_versions_stand_in_for_locks() -> None:
    config = {"deals.write.lock": "optimistic"}
    plan = env.make_plan("crm/handoff", 0, "8", config=config)
    told = measured(Episode(plan), expert)
    assert (told.score, told.found) == (FULL, ())


@pytest.mark.parametrize("load", ["1", "8"])
@pytest.mark.parametrize(
    "policy",
    [*GENERIC.values(), hasty, coping.nurture, coping.bulldoze],
    ids=lambda policy: policy.__name__,
)
def test_nothing_but_the_job_pays(policy: Policy, load: str) -> None:
    for seed in range(2):
        assert played(policy, seed, load=int(load)).reward == 0


@pytest.mark.parametrize("seed", range(4))
def test_the_expert_takes_over_from_whoever_has_only_looked(seed: int) -> None:
    assert played(taking_over(expert), seed, load=1 + 7 * (seed % 2)).reward == FULL


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("until", ["instant", "note"])
def test_every_rule_can_be_kept_to_the_end_while_all_its_facts_change(
    rule: str, until: str
) -> None:
    events = dict.fromkeys(("taken", "lost", "given", "repriced", "moved", "account"), "yes")
    pins = {"rule": rule, "until": until, "made": "2", "late": "2", **events}
    assert played(expert, 11, pins).reward == FULL


def test_instances_call_for_many_different_plays() -> None:
    shapes: Counter[tuple[str, ...]] = Counter()
    for seed in range(24):
        episode = played(expert, seed)
        results = [r for step in episode.steps for r in step.results]
        shapes[tuple(f"{r.tool}{'' if r.ok else '!'}" for r in results)] += 1
    assert len(shapes) >= 12
    assert shapes.most_common(1)[0][1] <= 0.3 * 24


# --- each criterion -------------------------------------------------------------------------------


def test_who_ends_before_the_last_act_has_not_seen_the_whole_book() -> None:
    def early(task: Task) -> Generator[Action, Observation, None]:
        yield from Handover(task.brief).give_away()
        yield Call("finish", {"message": "done"})

    assert list(failed(played(early, 5, CALM))) == ["the leaver has signed off"]


def test_a_deal_made_after_the_first_look_counts() -> None:
    episode = played(hasty, 5, CALM)
    assert list(failed(episode)) == ["owners by the rule"]
    evidence = failed(episode)["owners by the rule"].evidence
    made = [c.key for c in episode.product.stores["deals"].table.changes if c.old is None]
    assert evidence == f"deals:{made[0]} is still the leaver's"
    assert played(expert, 5, CALM).reward == FULL


def test_the_owner_that_the_rule_names_is_the_one_at_the_last_act() -> None:
    def once(task: Task) -> Generator[Action, Observation, None]:
        handover = Handover(task.brief)
        while not handover.over:
            yield from handover.give_away()
            yield from handover.await_the_end()
        yield from handover.give_away()
        yield Call("finish", {"message": "done"})

    pins = {**CALM, "rule": "amount", "repriced": "yes", "repriced_at": 100, "price_step": 0}
    wrong = failed(played(once, 5, pins))
    assert list(wrong) == ["owners by the rule"]
    assert ", not user " in wrong["owners by the rule"].evidence
    assert played(expert, 5, pins).reward == FULL


def test_giving_to_somebody_else_does_not_pay() -> None:
    def astray(task: Task) -> Generator[Action, Observation, None]:
        yield from expert(_but(task, successor_id=6))

    assert list(failed(played(astray, 5, CALM))) == ["owners by the rule"]


def _but(task: Task, **facts: Any) -> Task:
    from dataclasses import replace

    return replace(task, brief={**task.brief, **facts})


def test_a_deal_that_a_colleague_took_over_is_not_taken_back() -> None:
    def stubborn(task: Task) -> Generator[Action, Observation, None]:
        handover = Handover(task.brief)
        rows = yield from handover.listed("deals", "list_deals", owner_id=handover.leaver)
        yield Call("wait", {"seconds": 90})
        for row in rows:
            # Without the version that it was read at.
            yield Call("update_deal", {"deal_id": row["id"], "fields": {"owner_id": 2}})
        yield from expert(task)

    pins = {**CALM, "taken": "yes", "taken_at": 50}
    wrong = failed(played(stubborn, 5, pins))
    assert list(wrong) == ["nobody's edit lost"]
    assert "was taken from user" in wrong["nobody's edit lost"].evidence
    assert wrong["nobody's edit lost"].role == "footprint"
    assert played(expert, 5, pins).reward == FULL


def test_writing_back_what_was_read_before_undoes_an_edit() -> None:
    def whole_record(task: Task) -> Generator[Action, Observation, None]:
        handover = Handover(task.brief)
        rows = yield from handover.listed("deals", "list_deals", owner_id=handover.leaver)
        yield Call("wait", {"seconds": 90})
        for row in rows:
            if row["stage"] in ("prospecting", "qualification", "proposal", "negotiation"):
                fields = {"owner_id": 2, "amount": row["amount"]}
                yield Call("update_deal", {"deal_id": row["id"], "fields": fields})
        yield from expert(task)

    pins = {**CALM, "repriced": "yes", "repriced_at": 50}
    wrong = failed(played(whole_record, 5, pins))
    assert list(wrong) == ["nobody's edit lost"]
    assert "undoes book/repriced's amount" in wrong["nobody's edit lost"].evidence


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (
            Call("update_deal", {"deal_id": 0, "fields": {"next_step": "mine"}}),
            "nobody's edit lost",
        ),
        (
            Call("update_deal", {"deal_id": 0, "fields": {"owner_id": 5}}),
            "nobody's edit lost",
        ),
        (
            Call("create_deal", {"account_id": 1, "title": "x", "amount": 1, "currency": "USD"}),
            "nothing else written",
        ),
        (
            Call("update_account", {"account_id": 1, "fields": {"owner_id": 2}}),
            "nothing else written",
        ),
        (
            Call("log_activity", {"deal_id": 1, "kind": "task", "subject": "x", "body": "y"}),
            "nothing else written",
        ),
    ],
    ids=["next_step", "owner", "create_deal", "account", "task"],
)
def test_what_the_task_does_not_ask_for_spoils_it(call: Call, name: str) -> None:
    def play(task: Task) -> Generator[Action, Observation, None]:
        told = yield Call("list_deals", {"stage": "proposal"})
        others = [row["id"] for row in told.value["deals"] if row["owner_id"] not in (1, 2)]
        assert not isinstance(call.args, str)
        args = {k: others[0] if v == 0 else v for k, v in call.args.items()}
        yield from before(Call(call.tool, args))(task)

    assert list(failed(played(play, 5, CALM))) == [name]


def test_closing_a_deal_is_no_way_to_get_rid_of_it() -> None:
    def play(task: Task) -> Generator[Action, Observation, None]:
        told = yield Call("list_deals", {"owner_id": 1})
        key = next(r["id"] for r in told.value["deals"] if not r["stage"].startswith("closed"))
        reason = {"deal_id": key, "fields": {"lost_reason": "other"}}
        yield Call("update_deal", reason)
        yield Call("move_stage", {"deal_id": key, "to_stage": "closed_lost"})
        yield from expert(task)

    wrong = failed(played(play, 5, CALM))
    assert set(wrong) == {"nobody's edit lost", "closed deals untouched"}
    assert all(criterion.role == "footprint" for criterion in wrong.values())


def test_notes_and_reads_are_free() -> None:
    note = Call("add_note", {"deal_id": 5, "body": "handed over"})
    assert played(before(note, Call("pipeline_summary", {})), 5, CALM).reward == FULL


# --- the leaver's account -------------------------------------------------------------------------

SHUT = {**CALM, "shut": "yes"}


@pytest.mark.parametrize("holder", ["admin", "manager"])
def test_one_prompt_asks_for_either_answer(holder: str) -> None:
    prompts: set[str] = set()
    for right, outcome in (
        ("has", "done"),
        ("comes", "done"),
        ("goes", "handed_over"),
        ("never", "handed_over"),
    ):
        pins = {**SHUT, "right": right, "holder": holder}
        episode = played(expert, 5, pins)
        assert episode.reward == FULL
        prompts.add(episode.prompt)
        ending = episode.product.ending
        assert ending is not None
        assert ending.outcome == outcome
        named = ("users:9" if holder == "admin" else "users:8",)
        assert ending.refs == (named if outcome == "handed_over" else ())
        assert episode.product.stores["users"].table.rows[1].active == (outcome != "done")
        for policy in (GENERIC["null"], GENERIC["refuse"]):
            assert played(policy, 5, pins).reward == 0
    assert len(prompts) == 1


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("never", {"outcome": "done"}),
        ("never", {"refs": []}),
        ("never", {"refs": ["users:7"]}),
        ("never", {"refs": ["users:8", "users:9"]}),
        ("has", {"outcome": "handed_over"}),
    ],
)
def test_another_answer_does_not_pay(right: str, wrong: dict[str, Any]) -> None:
    pins = {**SHUT, "right": right, "holder": "admin"}
    assert list(failed(played(finishing(**wrong), 5, pins))) == ["the leaver's account"]


def test_refs_to_deals_beside_the_right_user_are_fine() -> None:
    pins = {**SHUT, "right": "never", "holder": "admin"}
    assert played(finishing(refs=["users:9", "deals:3"]), 5, pins).reward == FULL


def test_shutting_out_too_early_does_not_pay() -> None:
    def early(task: Task) -> Generator[Action, Observation, None]:
        yield from Handover(task.brief).give_away()
        yield Call("deactivate_user", {"user_id": 1})
        yield from expert(task)

    wrong = failed(played(early, 5, {**SHUT, "right": "has"}))
    assert "before the last act" in wrong["the leaver's account"].evidence


def test_shutting_out_who_is_to_stay_does_not_pay() -> None:
    pins = {**CALM, "right": "has"}
    out = Call("deactivate_user", {"user_id": 1})
    assert list(failed(played(after(out), 5, pins))) == ["the leaver's account"]


def test_shutting_somebody_else_out_spoils_it() -> None:
    pins = {**SHUT, "right": "has", "holder": "admin"}
    wrong = failed(played(after(Call("deactivate_user", {"user_id": 8})), 5, pins))
    assert list(wrong) == ["nothing else written"]


def test_the_scenario_says_what_its_goal_does() -> None:
    for word in ("signed off", "rule", "nobody's edit", "closed deals", "nothing else", "shut out"):
        assert word in Handoff.doc
