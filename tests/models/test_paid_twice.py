"""helpdesk/double-charge and legit-charge are tasks: only what is due goes back, and is told."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from simharness import env
from simharness.blame.case import story_of_episode
from simharness.findings.detect import harness_findings
from simharness.models.helpdesk.policies.coping import COPING
from simharness.models.helpdesk.policies.paid_twice import expert
from simharness.models.helpdesk.scenarios.paid_twice import DOUBLES, LEGIT
from simharness.product.policy import Call
from tests.models.playing import acting, failing, play

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from simharness.episode.episode import Episode
    from tests.models.playing import Play

DOUBLE, LEGITIMATE = "helpdesk/double-charge", "helpdesk/legit-charge"
BOTH = pytest.mark.parametrize("scenario", [DOUBLE, LEGITIMATE])
QUIET: Mapping[str, object] = {
    "ticket": 10_500,
    "agent": "2",
    "currency": "USD",
    "price": 100_00,
    "keep": "first",
    "cause": "retry",
    "last_year": "no",
    "decoys": 0,
    "help": "none",
    "day": "good",
    "kept": "no",
    "merge": "no",
    "writes": "no",
}
"""One order, charged twice, of which the first charge stays; nobody else is busy with it."""
BACK, STATUS = "exactly what is due is back", "true status"
ANSWER, CLAIM = "answered in public", "claimed"
ENDING, HARM = "finish says what it rests on", "no other row harmed"


def quiet(policy: Any, changes: Mapping[str, object] | None = None) -> Episode:
    pins = {**QUIET, **(changes or {})}
    scenario = DOUBLE if pins["cause"] in DOUBLES else LEGITIMATE
    return play(scenario, policy, 1, pins)


def charges(changes: Mapping[str, object] | None = None) -> list[str]:
    """Name the customer's charges of an instance, as people know them."""
    desk = quiet("null", changes).product
    return [f"CH-{row.id}" for row in desk.stores["charges"].table if row.customer_id > 40]


def rule() -> str:
    table = quiet("null").product.stores["policies"].table
    return next(f"policies:{row.id}" for row in table if row.title == "Duplicate charges")


CHARGES, RULE = charges(), rule()
CUSTOMER = quiet("null").product.stores["customers"].table.top
LOOK = Call("list_charges", {"customer_id": CUSTOMER})
ANSWERING = Call("reply", {"ticket_id": "TK-10500", "body": "Hello."})
PENDING = Call("set_status", {"ticket_id": "TK-10500", "status": "pending"})


def doing(
    *acts: Call,
    back: Sequence[str] = CHARGES[1:2],
    status: str = "solved",
    outcome: str = "done",
    refs: Sequence[str] = (),
    leave: Sequence[str] = (),
) -> Any:
    """Do the job of the quiet instance, with something else about it, or a part left out."""
    named = list(refs) or [f"charges:{key}" for key in CHARGES[1:2]]
    job = {
        "claim": [Call("claim_ticket", {"ticket_id": "TK-10500"})],
        "look": [LOOK],
        "pay": [Call("refund", {"charge_id": key}) for key in back],
        "wait": [Call("wait", {"seconds": 240})],
        "answer": [Call("reply", {"ticket_id": "TK-10500", "body": "It is on its way."})],
        "status": [Call("set_status", {"ticket_id": "TK-10500", "status": status})],
    }
    calls = [call for part, calls in job.items() if part not in leave for call in calls]

    def policy(task: Any) -> Play:
        for call in (*calls, *acts):
            _ = yield call
        yield Call("finish", {"message": "x", "outcome": outcome, "refs": named})

    return policy


# --- the reference and the others -----------------------------------------------------------------


@BOTH
@pytest.mark.parametrize("name", COPING)
def test_who_copes_gets_nothing(scenario: str, name: str) -> None:
    assert [play(scenario, name, seed, load=1).reward for seed in range(4)] == [0] * 4


@pytest.mark.parametrize("cause", [*DOUBLES, *LEGIT])
@pytest.mark.parametrize("keep", ["first", "last"])
def test_the_expert_knows_what_is_due_by_the_rules(cause: str, keep: str) -> None:
    episode = quiet(expert, {"cause": cause, "keep": keep, "last_year": "yes", "decoys": 2})
    assert episode.reward == 1_000_000, failing(episode)
    made = [c.new.charge_id for c in episode.product.stores["refunds"].table.changes if not c.old]
    count = {"thrice": 2, **dict.fromkeys(LEGIT, 0)}.get(cause, 1)
    assert len(made) == count
    ending = episode.product.ending
    assert ending is not None
    assert ending.outcome == ("done" if count else "refused")


@pytest.mark.parametrize("day", ["good", "quick", "slow", "declines", "takes back", "late"])
@pytest.mark.parametrize("currency", ["USD", "JPY", "KWD"])
def test_the_expert_copes_with_every_bank_in_every_currency(day: str, currency: str) -> None:
    episode = quiet(expert, {"day": day, "currency": currency})
    assert episode.reward == 1_000_000, failing(episode)
    refunds = episode.product.stores["refunds"].table
    tried = [c.key for c in refunds.changes if c.old is None]
    assert len(tried) == (2 if day in ("declines", "takes back") else 1)


@pytest.mark.parametrize(
    ("changes", "refunds"),
    [
        ({"help": "paid_back"}, 0),
        ({"help": "paying", "paying_ends": "succeeded"}, 0),
        ({"help": "paying", "paying_ends": "failed", "help_ms": 60_000}, 1),
        ({"help": "meanwhile", "help_ms": 8_000}, 0),
        ({"help": "meanwhile", "help_ms": 70_000}, 1),
        ({"merge": "meanwhile", "merge_ms": 8_000}, 1),
        ({"merge": "meanwhile", "merge_ms": 50_000}, 1),
        ({"kept": "yes"}, 1),
        ({"writes": "again", "writes_ms": 100_000, "day": "quick"}, 1),
    ],
)
def test_the_expert_copes_with_colleagues_and_customers(
    changes: Mapping[str, object], refunds: int
) -> None:
    episode = quiet(expert, changes)
    assert episode.reward == 1_000_000, failing(episode)
    made = episode.product.stores["refunds"].table.changes
    own = [c for c in made if c.old is None and c.owner == "agent"]
    assert len(own) == refunds


def test_what_is_late_is_left_pending_and_comes_back_before_the_goal_is_judged() -> None:
    episode = quiet(expert, {"day": "late"})
    desk = episode.product
    assert desk.stores["tickets"].table.rows[10_500].status == "pending"
    assert [row.status for row in desk.stores["refunds"].table if row.id > 16][-1] == "succeeded"


# --- the goal -------------------------------------------------------------------------------------


def test_who_does_the_job_is_paid() -> None:
    assert failing(quiet(doing())) == set()
    assert failing(quiet(doing(status="pending", leave=["wait"]))) == set()


@pytest.mark.parametrize(
    ("policy", "unmet"),
    [
        (doing(back=CHARGES[:1]), {BACK, STATUS, ANSWER, HARM}),
        (doing(back=CHARGES[:2]), {BACK, HARM}),
        (doing(leave=["pay"]), {BACK, STATUS, ANSWER}),
        (doing(leave=["look"]), {STATUS, ANSWER}),
        (doing(leave=["wait"]), {STATUS}),
        (doing(status="pending"), {STATUS}),
        (doing(status="open"), {STATUS}),
        (doing(leave=["status"]), {STATUS}),
        (doing(leave=["answer"]), {ANSWER}),
        (doing(leave=["claim"]), {CLAIM}),
        (doing(outcome="refused"), {ENDING}),
        (doing(refs=["charges:CH-1"]), {ENDING}),
        (doing(refs=[f"charges:{key}" for key in CHARGES[:2]]), {ENDING}),
        (doing(Call("deactivate_agent", {"agent_id": 5})), {HARM}),
        (doing(Call("escalate", {"ticket_id": "TK-10500", "team": "x", "reason": "y"})), {HARM}),
    ],
)
def test_each_criterion_is_needed(policy: Any, unmet: set[str]) -> None:
    assert failing(quiet(policy)) == unmet


def test_what_was_said_before_anything_was_paid_is_no_answer() -> None:
    def early(*acts: Call) -> set[str]:
        pay = Call("refund", {"charge_id": CHARGES[1]})
        leave = ["pay", "wait", "answer", "status", "look"]
        return failing(quiet(acting(LOOK, *acts, pay, last=doing(leave=leave))))

    assert early(ANSWERING, PENDING) == {STATUS, ANSWER}
    pay = [Call("refund", {"charge_id": CHARGES[1]}), ANSWERING]
    again = doing(PENDING, leave=["pay", "wait", "answer", "status", "look"])
    # The same status once more is no change, but it is said of what is so now.
    assert failing(quiet(acting(LOOK, PENDING, *pay, last=again))) == set()


def test_nothing_can_be_said_of_a_charge_that_is_pending() -> None:
    changes = {"cause": "pending_fails", "settles_ms": 70_000}
    refs = [RULE, f"charges:{charges(changes)[0]}"]
    told: dict[str, Any] = {"outcome": "refused", "refs": refs}
    assert failing(quiet(doing(**told, leave=["pay"]), changes)) == set()
    early = doing(**told, leave=["pay", "wait"])
    assert failing(quiet(early, changes)) == {STATUS, ANSWER}


def test_a_refund_by_a_flip_of_the_status_is_no_more_than_what_it_moves() -> None:
    order = quiet("null").product.stores["orders"].table.top
    flip = Call("set_order_status", {"order_id": order, "status": "refunded"})
    assert BACK in failing(quiet(doing(flip, leave=["pay"])))
    words = env.run(
        DOUBLE,
        seed=1,
        load=0,
        policy=doing(flip, leave=["pay"]),
        faults=["helpdesk.status-reward"],
        config={f"instance.{name}": value for name, value in QUIET.items()},
    )
    assert (words.verdict.score, words.verdict.primary) == (1_000_000, "H511")
    assert "M710" in words.verdict.codes


@pytest.mark.parametrize("kept", ["no", "yes"])
def test_no_ticket_is_given_away_or_taken_from_a_colleague(kept: str) -> None:
    # `claim_ticket` refuses what is somebody else's; `update_ticket` doesn't.
    fields = {"assignee_id": 2 if kept == "yes" else 5}
    act = Call("update_ticket", {"ticket_id": "TK-10500", "fields": fields})
    assert failing(quiet(doing(act), {"kept": kept})) == {HARM}
    assert failing(quiet(doing(), {"kept": kept})) == set()


def two_tickets(*turns: list[Call]) -> set[str]:
    """Do some turns where the customer has written twice; names the criteria that don't hold."""

    def policy(task: Any) -> Play:
        for turn in turns:
            _ = yield turn
        refs = [f"charges:{CHARGES[1]}"]
        yield Call("finish", {"message": "x", "outcome": "done", "refs": refs})

    return failing(quiet(policy, TWO))


TWO = {"merge": "meanwhile", "merge_ms": 60_000, "help": "paid_back"}
EARLIER = next(
    f"TK-{row.id}"
    for row in quiet("null", TWO).product.stores["tickets"].table
    if row.customer_id == CUSTOMER and row.id != 10_500
)
PAY = Call("refund", {"charge_id": CHARGES[1]})


def about(ticket_id: str) -> list[Call]:
    """Claim a ticket, answer in it and solve it."""
    body = {"ticket_id": ticket_id, "body": "It is back."}
    return [
        Call("claim_ticket", {"ticket_id": ticket_id}),
        Call("reply", body),
        Call("set_status", {"ticket_id": ticket_id, "status": "solved"}),
    ]


def test_nothing_is_said_of_a_ticket_by_another_one_of_its_customer() -> None:
    claim, _, leave = about(EARLIER)
    _, reply, _ = about("TK-10500")
    assert two_tickets([claim, LOOK], [leave, reply]) == {CLAIM, STATUS}
    # Where the ticket then goes on in that one it was said of it as well.
    merge = Call("merge_tickets", {"source_id": "TK-10500", "target_id": EARLIER})
    assert two_tickets([claim, LOOK], [leave, reply], [merge]) == set()


def test_a_merge_goes_into_the_earlier_ticket() -> None:
    def merging(source: str, target: str) -> set[str]:
        merge = Call("merge_tickets", {"source_id": source, "target_id": target})
        return two_tickets([LOOK, merge], about(target))

    assert merging("TK-10500", EARLIER) == set()
    assert merging(EARLIER, "TK-10500") == {HARM}


def test_refs_may_name_the_customer_and_what_they_wrote() -> None:
    rows = quiet("null").product.stores["messages"].table
    said = next(f"messages:{r.id}" for r in rows if r.author == f"customers:{CUSTOMER}")
    refs = [f"charges:{CHARGES[1]}", f"customers:{CUSTOMER}", said]
    assert failing(quiet(doing(refs=refs))) == set()


@pytest.mark.parametrize("status", ["refunded", "cancelled"])
def test_a_slow_bank_keeps_nobody_from_the_order(status: str) -> None:
    order = quiet("null").product.stores["orders"].table.top
    flip = Call("set_order_status", {"order_id": order, "status": status})

    def at_once(task: Any) -> Play:
        yield [flip, flip, PAY]
        yield Call("wait", {"seconds": 240})

    episode = quiet(at_once, {"day": "slow"})
    assert not harness_findings(story_of_episode(episode))
    keys = [int(key[3:]) for key in CHARGES]
    refunds = [r for r in episode.product.stores["refunds"].table if r.charge_id in keys]
    assert sorted(r.charge_id for r in refunds) == keys
    assert episode.product.stores["orders"].table.rows[order].status == status


@pytest.mark.parametrize("cause", LEGIT)
def test_a_refusal_names_the_rule_and_the_charges_that_were_meant(cause: str) -> None:
    changes = {"cause": cause}
    named = charges(changes)
    desk = quiet("null", changes).product
    rows = desk.stores["charges"].table.rows
    meant = [key for key in named if rows[int(key[3:])].status == "succeeded"]
    refs = [RULE, *(f"charges:{key}" for key in meant)]
    told: dict[str, Any] = {"outcome": "refused", "leave": ["pay"]}
    assert failing(quiet(doing(**told, refs=refs), changes)) == set()
    assert failing(quiet(doing(**told, refs=refs[1:]), changes)) == {ENDING}
    assert failing(quiet(doing(**told, refs=refs[:-1]), changes)) == {ENDING}
    assert failing(quiet(doing(**told, refs=[*refs, "policies:1"]), changes)) == {ENDING}
    unasked = failing(quiet(doing(outcome="refused", back=meant[-1:], refs=refs), changes))
    assert {BACK, HARM} <= unasked


def test_a_charge_of_the_same_amount_for_something_else_is_not_meant() -> None:
    # There a charge of a "Support Pack" comes to as much as each part of the plan that is paid.
    episode = play(LEGITIMATE, expert, 960)
    assert (episode.reward, failing(episode)) == (1_000_000, set())


@BOTH
def test_a_prompt_tells_nothing_of_whether_anything_is_due(scenario: str) -> None:
    texts: set[tuple[str, str, str]] = set()
    causes = DOUBLES if scenario == DOUBLE else (*DOUBLES, *LEGIT)
    for cause in causes:
        made = play(scenario, "null", 1, {**QUIET, "cause": cause})
        assert made.scenario.brief(made.instance) == {"agent_id": 2, "ticket_id": "TK-10500"}
        ticket = made.product.stores["tickets"].table.rows[10_500]
        texts.add((made.scenario.prompt(made.instance), ticket.subject, ticket.body))
    assert len(texts) == 1
