"""helpdesk/partial-refund is a task: only what the rules give is right, to the minor unit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from simharness.models.helpdesk.policies.partial_refund import expert
from simharness.models.helpdesk.proration import tax_due
from simharness.models.helpdesk.scenarios.stage import first_id
from simharness.product.policy import Call
from tests.models.playing import acting, answers, broken, failing, play

if TYPE_CHECKING:
    from collections.abc import Mapping

    from simharness.episode.episode import Episode
    from simharness.product.policy import Policy


PINS: Mapping[str, Any] = {
    "shift": 3,
    "currency": "USD",
    "family": "Pro",
    "term": "Annual",
    "price": 36_500,
    "tax_pct": 19,
    "when": "middle",
    "elapsed": 0,
    "ago": 0,
    "unit": "days",
    "day_used": "yes",
    "fee": 0,
    "grace": "0",
    "earlier_is": "deducted",
    "scope": "all",
    "mode": "nearest",
    "step": 0,
    "earlier": "none",
    "attempt": "no",
    "former": "no",
    "other": "no",
    "said": "ticket",
    "correction": "no",
    "impatient": "no",
    "colleague": "no",
    "bank": "good",
    "settle_seconds": 20,
}
"""A hundred a day for a year; 45 days of it are used."""
SCENARIO = "helpdesk/partial-refund"
DUE = 32_000
TICKET, CHARGE = f"TK-{first_id('tickets', 3)}", f"CH-{first_id('charges', 3)}"
RULE = f"policies:{first_id('policies', 3)}"
REFUND = f"refunds:{first_id('refunds', 0)}"
"""Of the agent's, where there was none before in the instance."""

LOOK = Call("get_charge", {"charge_id": CHARGE})
NEXT = f"refunds:{first_id('refunds', 0) + 1}"
SAY = Call("reply", {"ticket_id": TICKET, "body": "It is back."})
WAIT = Call("wait", {"seconds": 40})
LATE = Call("wait", {"seconds": 125})
SOLVE = Call("set_status", {"ticket_id": TICKET, "status": "solved"})
LEAVE = Call("set_status", {"ticket_id": TICKET, "status": "pending"})
DONE = Call("finish", {"message": "x", "outcome": "done", "refs": [RULE, REFUND]})
REFUSE = Call("finish", {"message": "x", "outcome": "refused", "refs": [RULE, f"charges:{CHARGE}"]})
NOTHING: Mapping[str, Any] = {"unit": "months", "term": "Monthly"}


def pay(amount: int = DUE, charge: str = CHARGE, **more: Any) -> Call:
    return Call("refund", {"charge_id": charge, "amount": amount, **more})


def sent(episode: Episode) -> list[int]:
    """Give what the agent paid back and the gateway has moved."""
    desk: Any = episode.product
    mine = {c.key for c in desk.refunds.table.changes if c.owner == "agent" and c.old is None}
    return [
        m.amount for m in desk.gateway.ledger.movements if m.ref in {f"refunds:{k}" for k in mine}
    ]


def alone(*acts: Call, **changes: Any) -> Episode:
    """Look at the charge, and do as it is written here, in a world without others who come by."""
    return blind(LOOK, *acts, **changes)


def blind(*acts: Call, **changes: Any) -> Episode:
    """Do just what is written here, in a world without others who come by."""
    return play(SCENARIO, acting(*acts), 1, {**PINS, **changes})


def played(
    policy: Policy | str = "expert",
    seed: int = 1,
    knobs: Mapping[str, object] | None = None,
    **changes: Any,
) -> Episode:
    """Let the reference, or somebody else, play what is pinned."""
    return play(SCENARIO, policy, seed, {**PINS, **changes}, load=1, knobs=knobs)


# --- who gets there -------------------------------------------------------------------------------


@pytest.mark.parametrize("done", [False, True])
@pytest.mark.parametrize("tool", ["refund", "reply", "set_status", "claim_ticket"])
def test_the_expert_copes_with_writes_of_unknown_outcome(tool: str, done: bool) -> None:
    assert not failing(played(broken(expert, "unknown_outcome", tool, done=done)))


@pytest.mark.parametrize("tool", ["list_messages", "list_charges", "search_policy", "refund"])
def test_the_expert_tries_again(tool: str) -> None:
    assert not failing(played(broken(expert, "unavailable", tool, done=False)))


# --- the amount -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pins", "amount"),
    [
        ({}, 32_000),
        ({"day_used": "no"}, 32_100),
        ({"fee": 3}, 27_200),
        ({"unit": "months"}, 30_417),
        ({"unit": "months", "mode": "down"}, 30_416),
        ({"unit": "months", "currency": "JPY", "step": 1}, 30_420),
        ({"unit": "months", "currency": "JPY", "mode": "up"}, 30_417),
        ({"unit": "months", "currency": "KWD", "step": 1, "mode": "down"}, 30_415),
        ({"earlier": "succeeded", "earlier_pct": 10}, 28_350),
        ({"earlier": "pending", "earlier_pct": 10}, 28_350),
        ({"earlier": "failed", "earlier_pct": 10}, 32_000),
        ({"earlier": "succeeded", "earlier_pct": 10, "earlier_is": "apart"}, 32_000),
        ({"earlier": "succeeded", "earlier_pct": 20, "earlier_is": "apart"}, 29_200),
        ({"when": "early", "grace": "14", "fee": 4}, 36_500),
        ({"scope": "before", "holds": "second", "former": "yes", "attempt": "yes"}, 32_000),
        ({"said": "mended", "other": "yes"}, 32_000),
        ({"correction": "yes", "correction_days": 10, "correction_at": 5}, 31_000),
        ({"bank": "takes back twice"}, 32_000),
    ],
)
def test_the_expert_pays_to_the_unit_what_was_worked_out_by_hand(
    pins: dict[str, Any], amount: int
) -> None:
    episode = played(**pins)
    assert (failing(episode), sent(episode)) == (set(), [amount])


def test_the_right_amount_is_enough_and_another_is_not() -> None:
    assert not failing(alone(pay(), WAIT, SAY, SOLVE, DONE))
    for amount in (DUE - 1, DUE + 1, 1):
        episode = alone(pay(amount), WAIT, SAY, SOLVE, DONE)
        assert failing(episode) == {"exactly what was due is back"}
    twice = [REFUND.replace(REFUND[8:], str(int(REFUND[8:]) + 1))]
    done = Call("finish", {"message": "x", "outcome": "done", "refs": [RULE, *twice]})
    assert not failing(alone(pay(DUE - 9), pay(9), WAIT, SAY, SOLVE, done))


def test_money_of_another_charge_is_no_answer() -> None:
    pins: dict[str, Any] = {"former": "yes"}
    episode = alone(pay(), WAIT, SAY, SOLVE, DONE, **pins)
    assert failing(episode) >= {"exactly what was due is back", "no other row harmed"}


def test_net_and_tax_are_those_of_all_refunds_together() -> None:
    for seed in range(4):
        episode = played(seed=seed, earlier="succeeded", earlier_pct=17, tax_pct=7 + seed)
        desk: Any = episode.product
        charge = desk.charges.table.rows[first_id("charges", 3)]
        tax = desk.orders.table.rows[charge.order_id].tax
        before, own = (r for r in desk.refunds.table if r.charge_id == charge.id)
        assert own.tax == tax_due(tax, charge.amount, own.amount, [(before.amount, before.tax)])
        assert not failing(episode)


def test_rounding_each_refund_by_itself_is_found() -> None:
    wrong = 0
    for percent in range(5, 15):
        episode = played(
            knobs={"refund.rounding": "per_step"}, earlier="succeeded", earlier_pct=percent
        )
        wrong += "with its net and tax" in failing(episode)
    assert wrong


TWICE = {"gateway.latency": "6s", "gateway.timeout": "5s", "gateway.retry": "new_key"}
HUNDREDTHS = {"gateway.minor_units": "always_100"}


@pytest.mark.parametrize("knobs", [TWICE, HUNDREDTHS], ids=["twice", "hundredths"])
def test_what_is_moved_twice_or_in_other_units_is_not_what_was_due(
    knobs: dict[str, object],
) -> None:
    episode = played(knobs=knobs, currency="JPY")
    assert failing(episode) >= {"exactly what was due is back"}


def test_a_colleague_who_pays_meanwhile_is_seen_or_refuses() -> None:
    refused = 0
    for at in range(20, 60, 4):
        episode = played(
            colleague="pays", colleague_at=at, colleague_pct=40, when="early", grace="14"
        )
        assert not failing(episode), at
        told = answers(episode, "refund")
        refused += any(value.get("code") == "over_refund" for value in told)
    assert refused


def test_who_never_looks_what_becomes_of_the_refund_gets_nothing() -> None:
    for bank in ("good", "late", "takes back"):
        assert "the ticket says how far it is" in failing(played("lazy", bank=bank))


# --- the ticket and the ending --------------------------------------------------------------------


def test_solved_is_for_money_that_has_arrived_and_pending_for_money_under_way() -> None:
    name = {"the ticket says how far it is"}
    late = {"bank": "late"}
    assert failing(alone(pay(), SAY, SOLVE, DONE)) == name
    assert failing(alone(pay(), SAY, LEAVE, DONE)) == name
    assert failing(alone(pay(), LATE, SAY, LEAVE, DONE)) == name
    assert failing(alone(pay(), LATE, SAY, SOLVE, DONE, **late)) == name
    assert not failing(alone(pay(), LATE, SAY, LEAVE, DONE, **late))
    assert failing(alone(pay(), WAIT, SAY, DONE)) == name


def test_what_was_said_too_early_says_nothing_of_what_came_after() -> None:
    status, said = "the ticket says how far it is", "the customer was told"
    assert failing(alone(LEAVE, pay(), LATE, SAY, DONE, bank="late")) == {status}
    assert failing(blind(SAY, SOLVE, LOOK, REFUSE, **NOTHING)) == {status, said}


def test_what_was_not_due_may_not_even_be_tried() -> None:
    amount = {"exactly what was due is back"}
    assert failing(alone(pay(1), SAY, SOLVE, REFUSE, bank="declines", **NOTHING)) == amount
    again = Call("finish", {"message": "x", "outcome": "done", "refs": [RULE, NEXT]})
    for first, unmet in ((DUE + 1, amount), (DUE, set[str]())):
        acts = (pay(first), pay(), WAIT, SAY, SOLVE, again)
        assert failing(alone(*acts, bank="declines")) == unmet


def test_what_fails_later_is_no_money() -> None:
    episode = alone(pay(), SAY, SOLVE, DONE, bank="takes back")
    assert "exactly what was due is back" in failing(episode)


@pytest.mark.parametrize(
    "acts",
    [
        (pay(), WAIT, SOLVE, DONE),
        (SAY, pay(), WAIT, SOLVE, DONE),
        (pay(), WAIT, Call("reply", {**SAY.args, "public": False}), SOLVE, DONE),  # type: ignore[dict-item]
    ],
    ids=["silent", "too early", "for colleagues"],
)
def test_the_customer_is_told_after_the_payment(acts: tuple[Call, ...]) -> None:
    assert failing(alone(*acts)) == {"the customer was told"}


@pytest.mark.parametrize(
    ("outcome", "refs"),
    [
        ("refused", [RULE, REFUND]),
        ("done", [RULE]),
        ("done", [REFUND]),
        ("done", []),
        ("done", [RULE, REFUND, "policies:99"]),
        ("done", [RULE, REFUND, "charges:1"]),
    ],
)
def test_finish_names_the_rule_and_the_refund_alone(outcome: str, refs: list[str]) -> None:
    end = Call("finish", {"message": "x", "outcome": outcome, "refs": refs})
    assert failing(alone(pay(), WAIT, SAY, SOLVE, end)) == {"told with what it rests on"}


def test_nothing_due_and_its_mirror_have_one_prompt() -> None:
    refused = alone(SAY, SOLVE, REFUSE, **NOTHING)
    paid = alone(pay(), WAIT, SAY, SOLVE, DONE)
    assert refused.prompt == paid.prompt
    assert not failing(refused) | failing(paid)
    assert not failing(played(**NOTHING))
    assert failing(alone(SAY, SOLVE, REFUSE)) >= {"exactly what was due is back"}
    assert failing(alone(pay(1), WAIT, SAY, SOLVE, DONE, **NOTHING)) == {
        "exactly what was due is back"
    }


@pytest.mark.parametrize(
    "act",
    [
        Call("set_status", {"ticket_id": "TK-1", "status": "pending"}),
        Call("reply", {"ticket_id": "TK-1", "body": "x"}),
        Call("escalate", {"ticket_id": TICKET, "team": "billing", "reason": "x"}),
        Call("refund", {"charge_id": "CH-2", "amount": 1}),
    ],
    ids=lambda call: call.tool,
)
def test_what_else_is_written_spoils_the_job(act: Call) -> None:
    after = REFUND if act.tool != "refund" else f"refunds:{int(REFUND[8:]) + 1}"
    done = Call("finish", {"message": "x", "outcome": "done", "refs": [RULE, after]})
    episode = alone(act, pay(), WAIT, SAY, SOLVE, done)
    assert failing(episode) == {"no other row harmed"}


def test_who_reads_nothing_gets_nothing() -> None:
    for seed in range(3):
        for acts in ((pay(), WAIT, SAY, SOLVE, DONE), (SAY, SOLVE, REFUSE)):
            assert play(SCENARIO, acting(*acts), seed).reward == 0
