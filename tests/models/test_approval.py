"""crm/approval is a task: only the right end pays, and only reading tells which that is."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from simharness import env
from simharness.models.crm.base import CONTACTS_EACH
from simharness.models.crm.discounts import Facts, Step, Terms, needs_quote, next_step, standing
from simharness.models.crm.people.approvers import DEPUTY
from simharness.models.crm.people.managers import MANAGER
from simharness.models.crm.policies.approval import Seller, expert, play
from simharness.models.crm.tables import ApprovalRequest, Contact, ContactStatus, Deal
from simharness.product.policy import Call
from simharness.validate.plays import taking_over
from tests.models.crm_house import REP, House
from tests.models.playing import broken

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping

    from simharness.episode.episode import Episode
    from simharness.product.policy import Action, Observation, Policy, Task

    Play = Generator[Action, Observation, None]

SEEDS = range(40)
BUSY_SEEDS = range(14)
FEW = range(3)

CALM = {
    "legal": "cleared",
    "legal_answer": "cleared",
    "champion": "stays",
    "budget": "stays",
    "change": "none",
    "colleague": "no",
    "first_request": 1,
}
"""Nothing but the discount decides."""
OVER = {**CALM, "discount": "over", "asked": "none", "answer": "approves"}
FREE = {**CALM, "discount": "free", "asked": "none"}
REJECTED = {**CALM, "discount": "over", "asked": "rejected", "answer": "rejects"}


def played(
    policy: Policy | str = expert,
    seed: int = 0,
    pins: Mapping[str, object] | None = None,
    load: int = 1,
) -> Episode:
    """Play one episode with facts pinned."""
    config = {f"instance.{name}": value for name, value in (pins or {}).items()}
    return env.run("crm/approval", seed=seed, load=load, policy=policy, config=config).episode


def unmet(episode: Episode) -> list[str]:
    """Name the criteria that don't hold."""
    return [c.name for c in episode.criteria if not c.holds]


def finishing(**changes: Any) -> Policy:
    """Play the reference, but finish otherwise."""

    def policy(task: Task) -> Play:
        reference = expert(task)
        action = next(reference)
        while True:
            if isinstance(action, Call) and action.tool == "finish":
                assert not isinstance(action.args, str)
                action = Call("finish", {**action.args, **changes})
            told = yield action
            try:
                action = reference.send(told)
            except StopIteration:
                return

    return policy


def after(*acts: Callable[[dict[str, Any]], Call]) -> Policy:
    """Do something to the deal first, then the job as the reference does it."""

    def policy(task: Task) -> Play:
        told = yield Call("get_deal", {"deal_id": task.brief["deal_id"]})
        for act in acts:
            yield act(told.value)
        yield from expert(task)

    return policy


def tools(episode: Episode) -> list[str]:
    """Name the calls that were answered without an error."""
    return [r.tool for step in episode.steps for r in step.results if r.ok]


def finish_of(episode: Episode) -> dict[str, Any]:
    """Give the arguments of finish."""
    call = episode.steps[-1].input.calls[-1]
    assert call.tool == "finish"
    args: dict[str, Any] = json.loads(call.arguments)
    return args


# --- who gets there -------------------------------------------------------------------------------


def test_the_reference_gets_there_by_many_ways() -> None:
    ends: Counter[str] = Counter()
    shapes: Counter[tuple[str, ...]] = Counter()
    for seed in SEEDS:
        episode = played(seed=seed)
        assert unmet(episode) == []
        assert episode.reward == 1_000_000
        deal = episode.product.stores["deals"].table.rows[int(episode.instance["deal"])]
        ends[deal.stage] += 1
        shapes[tuple(r.tool for step in episode.steps for r in step.results)] += 1
    assert set(ends) == {"closed_won", "closed_lost", "negotiation"}
    assert ends["closed_won"] >= len(SEEDS) // 3
    assert len(shapes) >= 12
    assert max(shapes.values()) <= 0.3 * len(SEEDS)


def test_the_reference_gets_there_where_others_get_in_its_way() -> None:
    met = 0
    for seed in BUSY_SEEDS:
        episode = played(seed=seed, load=8)
        assert unmet(episode) == []
        met += any(
            not r.ok and r.value["code"] in ("conflict", "locked")
            for step in episode.steps
            for r in step.results
        )
    assert met >= 0.3 * len(BUSY_SEEDS)


def test_the_reference_takes_over() -> None:
    for seed in range(8):
        assert played(taking_over(expert), seed).reward == 1_000_000


@pytest.mark.parametrize("policy", ["null", "refuse", "random", "spam", "nurture"])
def test_others_get_nothing(policy: str) -> None:
    for seed in range(2):
        assert played(policy, seed).reward == 0


@pytest.mark.parametrize("done", [False, True])
@pytest.mark.parametrize("tool", ["request_approval", "create_quote", "move_stage"])
def test_the_reference_copes_with_writes_of_unknown_outcome(tool: str, done: bool) -> None:
    pins = {**OVER, "quote": "always"}
    assert unmet(played(broken(expert, "unknown_outcome", tool, done=done), pins=pins)) == []


@pytest.mark.parametrize("code", ["unavailable", "rate_limited", "locked"])
@pytest.mark.parametrize("tool", ["get_deal", "list_activities", "get_approval", "move_stage"])
def test_the_reference_tries_again(tool: str, code: str) -> None:
    assert unmet(played(broken(expert, code, tool, done=False), pins=OVER)) == []


# --- mirrors --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("this", "that", "ends"),
    [
        ({"asked": "rejected"}, {"asked": "void_rejected"}, ("negotiation", "closed_won")),
        ({"answer": "counters_low"}, {"answer": "counters"}, ("negotiation", "closed_won")),
        ({"answer": "rejects"}, {"answer": "approves"}, ("negotiation", "closed_won")),
        ({"successor": "no"}, {"successor": "yes"}, ("negotiation", "closed_won")),
    ],
    ids=["rejected for another", "countered too low", "rejected", "nobody left"],
)
def test_one_prompt_has_two_ends(
    this: dict[str, str], that: dict[str, str], ends: tuple[str, str]
) -> None:
    for seed in FEW:
        prompts: set[str] = set()
        for story, end in zip((this, that), ends, strict=True):
            pins = {**OVER, "if_rejected": "hand_over", **story}
            if "successor" in story:
                pins["champion"] = "left"
            if story == {"asked": "rejected"}:
                pins["answer"] = "rejects"
            episode = played(seed=seed, pins=pins)
            prompts.add(episode.scenario.prompt(episode.instance))
            deal = episode.product.stores["deals"].table.rows[int(episode.instance["deal"])]
            assert (unmet(episode), deal.stage) == ([], end)
        assert len(prompts) == 1


def blind(task: Task) -> Play:
    """Do what often has to be done, without reading."""
    deal = {"deal_id": task.brief["deal_id"]}
    yield Call("update_deal", {**deal, "fields": {"legal": "in_review"}})
    yield Call("request_approval", {**deal, "discount_pct": task.brief["floor_pct"]})
    yield Call("wait", {"seconds": 300})
    yield Call("create_quote", {**deal, "discount_pct": task.brief["floor_pct"]})
    yield Call("move_stage", {**deal, "to_stage": "closed_won"})
    yield Call("finish", {"message": "Won.", "refs": ["approvals:1"]})


def gives_up(task: Task) -> Play:
    """Hand over without reading."""
    yield Call(
        "finish",
        {"message": "No.", "outcome": "handed_over", "refs": ["approvals:1", "contacts:1"]},
    )


def test_who_reads_nothing_gets_nothing() -> None:
    for seed in range(5):
        for policy in (blind, gives_up):
            assert played(policy, seed).reward == 0


# --- the goal, criterion by criterion -------------------------------------------------------------


def test_a_void_approval_does_not_win() -> None:
    for seed in FEW:
        pins = {**OVER, "asked": "void_approved"}
        episode = played("lazy", seed, pins)
        assert "ended by the rules" in unmet(episode)
        assert played(seed=seed, pins=pins).reward == 1_000_000


def test_a_deal_is_not_lost_where_it_can_be_won() -> None:
    def give_up(deal: dict[str, Any]) -> Call:
        return Call("update_deal", {"deal_id": deal["id"], "fields": {"lost_reason": "price"}})

    def close(deal: dict[str, Any]) -> Call:
        return Call("move_stage", {"deal_id": deal["id"], "to_stage": "closed_lost"})

    episode = played(after(give_up, close), pins=OVER)
    assert "ended by the rules" in unmet(episode)
    assert "no forbidden write" in unmet(episode)


def test_who_hands_over_what_can_be_won_gets_nothing() -> None:
    def policy(task: Task) -> Play:
        yield Call("finish", {"message": "", "outcome": "handed_over"})

    assert "ended by the rules" in unmet(played(policy, pins=OVER))


def test_a_rejected_deal_ends_as_the_prompt_says() -> None:
    kept = played(pins={**REJECTED, "if_rejected": "hand_over"})
    lost = played(pins={**REJECTED, "if_rejected": "close_lost"})
    for episode, outcome in ((kept, "handed_over"), (lost, "done")):
        request = f"approvals:{episode.instance['request']}"
        told = finish_of(episode)
        assert (unmet(episode), told["outcome"], told["refs"]) == ([], outcome, [request])
    assert "move_stage" in tools(lost)
    assert "move_stage" not in tools(kept)


class Everything(set[tuple[int, int]]):
    """Holds whatever is asked for."""

    def __contains__(self, item: object) -> bool:
        return True


def unquoted(task: Task) -> Play:
    """Play the reference, which takes all quotes for made."""
    seller = Seller(task.brief)
    seller.quoted = Everything()
    yield from play(seller)


@pytest.mark.parametrize(
    ("pins", "needed"),
    [
        ({**OVER, "quote": "always"}, True),
        ({**OVER, "quote": "unapproved"}, False),
        ({**FREE, "quote": "always"}, True),
        ({**FREE, "quote": "unapproved"}, True),
    ],
)
def test_a_quote_is_made_where_it_is_needed(pins: dict[str, object], needed: bool) -> None:
    told = ["quoted where it needs a quote"] if needed else []
    assert unmet(played(unquoted, pins=pins)) == told
    assert ("create_quote" in tools(played(pins=pins))) is needed


def test_a_quote_of_another_amount_is_none() -> None:
    def rash(task: Task) -> Play:
        """Quote at first, and close when the amount has changed."""
        deal = {"deal_id": task.brief["deal_id"]}
        told = yield Call("get_deal", deal)
        yield Call("create_quote", {**deal, "discount_pct": told.value["discount_pct"]})
        yield Call("wait", {"seconds": 60})
        yield Call("move_stage", {**deal, "to_stage": "closed_won"})
        yield Call("finish", {"message": "Won."})

    pins = {**FREE, "change": "amount", "change_at": 30}
    assert unmet(played(rash, pins=pins)) == ["quoted where it needs a quote"]
    assert unmet(played(rash, pins={**pins, "change_at": 200})) == []


def test_a_quote_after_the_deal_is_won_comes_too_late() -> None:
    def late(task: Task) -> Play:
        deal = {"deal_id": task.brief["deal_id"]}
        told = yield Call("get_deal", deal)
        yield Call("move_stage", {**deal, "to_stage": "closed_won"})
        yield Call("create_quote", {**deal, "discount_pct": told.value["discount_pct"]})
        yield Call("finish", {"message": "Won."})

    assert unmet(played(late, pins=FREE)) == ["quoted where it needs a quote"]


def test_a_deal_is_moved_once() -> None:
    there = of_deal("move_stage", to_stage="proposal")
    back = of_deal("move_stage", to_stage="negotiation")
    assert "ended by the rules" in unmet(played(after(there, back), pins=OVER))
    assert "ended by the rules" in unmet(played(after(there, back), pins=REJECTED))


def test_who_leaves_a_deal_says_that_it_is_handed_over() -> None:
    pins = {**REJECTED, "if_rejected": "hand_over"}
    assert "ended by the rules" in unmet(played(finishing(outcome="done"), pins=pins))


@pytest.mark.parametrize(("seconds", "in_time"), [(30, True), (200, False)])
def test_facts_of_a_moment_ago_still_count(seconds: int, in_time: bool) -> None:
    def slow(task: Task) -> Play:
        yield Call("wait", {"seconds": seconds})
        yield from handed_over(task)

    def handed_over(task: Task) -> Play:
        refs = ["approvals:3"]
        yield Call("finish", {"message": "", "outcome": "handed_over", "refs": refs})

    pins = {**REJECTED, "if_rejected": "hand_over", "request": 3, "requests": 4}
    assert unmet(played(handed_over, pins=pins)) == []
    episode = played(slow, pins={**pins, "budget": "goes", "budget_at": 15})
    assert (unmet(episode) == []) is in_time


@pytest.mark.parametrize(
    "changes",
    [
        {"refs": []},
        {"refs": ["approvals:99"]},
        {"refs": ["deals:1"]},
        {"refs": [f"approvals:{k}" for k in range(1, 30)]},
        {"outcome": "refused"},
    ],
)
@pytest.mark.parametrize("pins", [OVER, REJECTED])
def test_finish_names_what_the_end_rests_on(
    pins: dict[str, object], changes: dict[str, object]
) -> None:
    pins = {**pins, "deal": 7}
    assert "told with what it rests on" in unmet(played(finishing(**changes), pins=pins))


@pytest.mark.parametrize(
    "pins",
    [
        {**CALM, "budget": "gone"},
        {**CALM, "budget": "goes", "budget_at": 10, "discount": "over", "asked": "pending"},
        {**CALM, "legal": "blocked"},
        {**CALM, "legal": "none", "legal_answer": "blocked"},
    ],
)
def test_a_loss_rests_on_the_note_about_it(pins: dict[str, object]) -> None:
    episode = played(pins=pins)
    (ref,) = finish_of(episode)["refs"]
    table, _, key = ref.partition(":")
    note = episode.product.stores[table].table.rows[int(key)]
    deal = episode.product.stores["deals"].table.rows[note.deal_id]
    assert (unmet(episode), note.subject) == ([], deal.lost_reason)
    assert unmet(played(finishing(refs=[]), pins=pins)) == ["told with what it rests on"]


def test_a_note_of_ones_own_proves_nothing() -> None:
    def policy(task: Task) -> Play:
        deal = {"deal_id": task.brief["deal_id"]}
        told = yield Call(
            "log_activity", {**deal, "kind": "note", "subject": "budget", "body": "gone"}
        )
        yield Call("update_deal", {**deal, "fields": {"lost_reason": "budget"}})
        yield Call("move_stage", {**deal, "to_stage": "closed_lost"})
        yield Call("finish", {"message": "Lost.", "refs": [f"activities:{told.value['id']}"]})

    episode = played(policy, pins={**CALM, "budget": "gone"})
    assert unmet(episode) == ["told with what it rests on"]


# --- the footprint --------------------------------------------------------------------------------


def mail(deal: dict[str, Any]) -> Call:
    """Mail the customer."""
    about = {"deal_id": deal["id"], "contact_id": deal["champion_id"]}
    return Call("send_email", {**about, "template": "custom", "subject": "x", "body": "y"})


def of_deal(tool: str, **arguments: Any) -> Callable[[dict[str, Any]], Call]:
    """Make a call about the deal; `OTHER` stands for another deal."""

    def act(deal: dict[str, Any]) -> Call:
        key = deal["id"] % 84 + 1 if arguments.get("other") else deal["id"]
        rest = {name: value for name, value in arguments.items() if name != "other"}
        return Call(tool, {"deal_id": key, **rest})

    return act


def crowned(deal: dict[str, Any]) -> Call:
    """Make the next contact the champion."""
    fields = {"champion_id": deal["champion_id"] + 1}
    return Call("update_deal", {"deal_id": deal["id"], "fields": fields})


def usurped(deal: dict[str, Any]) -> Call:
    """Make a contact of another account the champion."""
    stranger = deal["champion_id"] + (-1 if deal["account_id"] > 1 else 1) * CONTACTS_EACH
    return Call("update_deal", {"deal_id": deal["id"], "fields": {"champion_id": stranger}})


HEIR = {"champion_k": 0, "successor_k": 1, "successor": "yes"}
"""The contact after the champion is there to take over."""


@pytest.mark.parametrize(
    ("act", "pins"),
    [
        (mail, OVER),
        (of_deal("add_note", body="x", other=True), OVER),
        (
            of_deal("update_deal", fields={"next_step": "x"}, other=True),
            {**OVER, "deal": 3},
        ),  # 4 is open
        (of_deal("update_deal", fields={"amount": 5}), OVER),
        (of_deal("update_deal", fields={"discount_pct": 10}), OVER),
        (of_deal("update_deal", fields={"lost_reason": "price"}), OVER),
        (crowned, {**OVER, **HEIR}),
        (usurped, {**OVER, **HEIR, "champion": "left"}),
        (
            of_deal("request_approval", discount_pct=30),
            {**OVER, "discount_pct": 30, "budget": "gone"},
        ),
        (of_deal("create_quote", discount_pct=50), OVER),
        (of_deal("request_approval", discount_pct=25), FREE),
        (of_deal("request_approval", discount_pct=15), OVER),
        (of_deal("request_approval", discount_pct=30), {**REJECTED, "discount_pct": 30}),
    ],
)
def test_what_nobody_asked_for_spoils_the_job(
    act: Callable[[dict[str, Any]], Call], pins: dict[str, object]
) -> None:
    assert "no forbidden write" in unmet(played(after(act), pins=pins))


def test_a_quote_before_the_approval_spoils_the_job() -> None:
    def early(deal: dict[str, Any]) -> Call:
        return Call("create_quote", {"deal_id": deal["id"], "discount_pct": deal["discount_pct"]})

    assert unmet(played(after(early), pins=OVER)) == ["no forbidden write"]
    assert unmet(played(after(early), pins={**OVER, "asked": "approved"})) == []


def test_what_harms_nobody_is_free() -> None:
    acts = (
        of_deal("add_note", body="called them"),
        of_deal("log_activity", kind="call", subject="x", body="y"),
        of_deal("update_deal", fields={"next_step": "wait"}),
    )
    for pins in (OVER, FREE, REJECTED):
        assert unmet(played(after(*acts), pins=pins)) == []


# --- the people -----------------------------------------------------------------------------------


@pytest.mark.parametrize("by", ["row", "note"])
@pytest.mark.parametrize("asked", ["none", "pending", "rejected"])
def test_a_counter_is_asked_for(asked: str, by: str) -> None:
    pins = {**OVER, "asked": asked, "answer": "counters", "counter_by": by, "counter_pct": 23}
    episode = played(pins=pins)
    requests = [
        row
        for row in episode.product.stores["approvals"].table
        if row.deal_id == episode.instance["deal"]
    ]
    assert unmet(episode) == []
    assert [(row.discount_pct, row.status) for row in requests] == [
        (episode.instance["discount_pct"], "rejected"),
        (23, "approved"),
    ]
    assert requests[0].counter_pct == (23 if by == "row" else None)


@pytest.mark.parametrize(("manager", "decider"), [("here", MANAGER), ("away", DEPUTY)])
def test_one_manager_decides_for_another(manager: str, decider: int) -> None:
    episode = played(pins={**OVER, "manager": manager, "requests": 4})
    (ref,) = finish_of(episode)["refs"]
    assert ref == "approvals:5"
    assert episode.product.stores["approvals"].table.rows[5].decided_by == decider


def test_another_discount_needs_another_approval() -> None:
    pins = {**OVER, "asked": "approved", "legal": "in_review", "legal_after": 150}
    pins |= {"change": "to_over", "change_at": 20, "changed_pct": 37}
    episode = played(pins=pins)
    deal = episode.product.stores["deals"].table.rows[int(episode.instance["deal"])]
    assert (unmet(episode), deal.stage, deal.discount_pct) == ([], "closed_won", 37)
    assert "request_approval" in tools(episode)


def test_a_colleague_asks_first() -> None:
    pins = {**OVER, "colleague": "asks", "colleague_at": 1, "requests": 4}
    episode = played(pins=pins)
    assert unmet(episode) == []
    assert "request_approval" not in tools(episode)
    assert finish_of(episode)["refs"] == ["approvals:5"]


def test_a_colleague_asks_only_where_nobody_has() -> None:
    pins = {**OVER, "asked": "approved", "legal": "in_review", "colleague": "asks", "requests": 4}
    episode = played(pins=pins)
    assert unmet(episode) == []
    assert len(episode.product.stores["approvals"].table.rows) <= 4


# --- the rules ------------------------------------------------------------------------------------

TERMS = Terms(20, "hand_over", "unapproved")
DEAL = Deal(
    id=1,
    account_id=1,
    title="a deal",
    stage="negotiation",
    legal="cleared",
    champion_id=1,
    discount_pct=30,
    approval="approved",
)
ASKED = ApprovalRequest(id=3, deal_id=1, discount_pct=30, status="approved")
BOSS = Contact(id=1, account_id=1, full_name="A", email="a@b.test")


def step(
    deal: dict[str, Any],
    request: dict[str, Any] | None = None,
    counter: int | None = None,
    champion: ContactStatus = "active",
    colleague: ContactStatus = "active",
    terms: Terms = TERMS,
) -> tuple[Any, ...]:
    """Give what the rules say of a deal that is ready to be won but for what is named."""
    people: list[Any] = [
        replace(BOSS, status=champion),
        replace(BOSS, id=2, status=colleague),
    ]
    asked = replace(ASKED, **(request or {}))
    return next_step(Facts(replace(DEAL, **deal), asked, counter, people[0], people), terms)


@pytest.mark.parametrize(
    ("facts", "said"),
    [
        ({"deal": {}}, Step("win")),
        ({"deal": {"budget": "gone", "legal": "blocked"}}, Step("lose", "budget")),
        ({"deal": {"legal": "blocked"}, "champion": "left"}, Step("lose", "legal")),
        ({"deal": {"legal": "none", "approval": "none"}}, Step("legal")),
        ({"deal": {"approval": "none"}}, Step("request", percent=30)),
        ({"deal": {"approval": "pending"}, "champion": "left"}, Step("wait", "approval")),
        ({"deal": {}, "request": {"discount_pct": 29}}, Step("request", percent=30)),
        ({"deal": {"legal": "in_review"}}, Step("wait", "legal")),
        ({"deal": {"discount_pct": 15, "approval": "none"}}, Step("win")),
        ({"deal": {"discount_pct": 16, "approval": "none"}}, Step("request", percent=16)),
        ({"deal": {}, "champion": "left"}, Step("champion")),
        (
            {"deal": {}, "champion": "left", "colleague": "bounced"},
            Step("hand_over", "contacts:1"),
        ),
    ],
)
def test_the_rules_are_read_in_order(facts: dict[str, Any], said: Step) -> None:
    assert step(**facts) == said


@pytest.mark.parametrize(
    ("counter", "said"),
    [
        (None, Step("hand_over", "approvals:3")),
        (19, Step("hand_over", "approvals:3")),
        (20, Step("request", percent=20)),
    ],
)
def test_a_rejection_stands_unless_the_customer_takes_less(counter: int | None, said: Step) -> None:
    rejected: dict[str, Any] = {
        "deal": {"approval": "rejected"},
        "request": {"status": "rejected"},
    }
    assert step(**rejected, counter=counter) == said
    losing = step(**rejected, counter=counter, terms=TERMS._replace(rejected="close_lost"))
    assert losing == (said if counter == 20 else Step("lose", "price"))


def test_a_decision_is_for_one_discount() -> None:
    assert standing(DEAL, ASKED) == "approved"
    assert standing(DEAL, None) == "none"
    assert standing(replace(DEAL, discount_pct=31), ASKED) == "none"
    assert standing(replace(DEAL, approval="none"), ASKED) == "none"


def test_which_deals_need_a_quote() -> None:
    free = replace(DEAL, discount_pct=15)
    assert needs_quote(TERMS, free)
    assert not needs_quote(TERMS, DEAL)
    assert needs_quote(TERMS._replace(quote="always"), DEAL)


def test_a_request_rests_on_the_version_that_was_read() -> None:
    house = House()
    house.call(REP, "update_deal", deal_id=1, fields={"discount_pct": 30})
    refusal = house.refused(REP, "request_approval", deal_id=1, discount_pct=20, if_version=1)
    assert (refusal.code, refusal.details["version"]) == ("conflict", 2)
    request = house.call(REP, "request_approval", deal_id=1, discount_pct=30, if_version=2)
    assert (request.discount_pct, house.row("deals", 1).approval) == (30, "pending")
