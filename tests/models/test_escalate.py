"""helpdesk/escalate is a task: who is to decide stands in the rules, and may change meanwhile."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from simharness.kernel.draws import Draws, Stream
from simharness.models.helpdesk.authority import (
    ALL,
    AMOUNT,
    TEAMS,
    Authority,
    Facts,
    ask,
    asked,
    authority_of,
    draw_authority,
    read_authority,
    texts,
)
from simharness.models.helpdesk.policies.escalate import expert
from simharness.models.helpdesk.scenarios.escalate import CAUSES, TURNS, Escalate
from simharness.product.policy import Call
from simharness.product.scenario import Drawing
from tests.models.playing import failing, play

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping

    from simharness.episode.episode import Episode
    from simharness.product.policy import Action, Observation, Policy, Task

    Twist = Callable[[Call], list[Call]]

FULL = 1_000_000
RULES, LEDGER = "by the rules", "the ledger has it"
TICKET, ANSWERED = "the ticket says how it stands", "answered in public"
ENDING, ELSE = "finish says what it rests on", "no other row harmed"

QUIET: Mapping[str, object] = {
    "ticket": 50_000,
    "agent": "4",
    "shift": 0,
    "currency": "USD",
    "units": "120",
    "counted": "no",
    "parked": "on_hold",
    "team_legal": "counsel",
    "team_amount": "billing",
    "cause": "within",
    "also": "none",
    "said": "first",
    "earlier": "0",
    "part": "70",
    "over": "4",
    "way": "amount",
    "failed_first": "no",
    "decoys": 0,
    "turn": "none",
    "turn_ms": 20_000,
    "day": "good",
}
ABOVE = {**QUIET, "cause": "above"}
ASKED = 84_00
"""What the customer wants within the limit of USD 120."""


def played(
    policy: Policy | str, pins: Mapping[str, object] = QUIET, seed: int = 1, load: int = 0
) -> Episode:
    return play("helpdesk/escalate", policy, seed, pins, load)


def twisted(twist: Twist) -> Policy:
    """Play the reference, with other calls in the place of some of its own."""

    def policy(task: Task) -> Generator[Action, Observation, None]:
        job = expert(task)
        action: Any = next(job)
        while True:
            calls = twist(action)
            told: Any = None
            for call in calls:
                told = yield call
            if action.tool == "finish":
                return
            if told is None:  # left out, as if it had been done
                told = yield Call("get_ticket", {"ticket_id": task.brief["ticket_id"]})
            action = job.send(told)

    return policy


def changed(tool: str, **arguments: object) -> Policy:
    """Play the reference with other arguments of one tool."""

    def twist(call: Call) -> list[Call]:
        args: Any = call.args
        return [Call(tool, {**args, **arguments})] if call.tool == tool else [call]

    return twisted(twist)


def before(tool: str, *calls: Call) -> Policy:
    """Play the reference, and do something else right before one of its tools."""
    return twisted(lambda call: [*calls, call] if call.tool == tool else [call])


# --- the reference --------------------------------------------------------------------------------


@pytest.mark.parametrize("policy", ["null", "refuse", "random", "spam", "close-fast"])
@pytest.mark.parametrize("pins", [QUIET, ABOVE])
def test_who_reads_no_rules_is_paid_nothing(policy: str, pins: Mapping[str, object]) -> None:
    for seed in range(2):
        assert played(policy, pins, seed).reward == 0


def test_whoever_pays_unasked_is_right_only_within_the_limit() -> None:
    assert played("lazy").reward == FULL
    assert RULES in failing(played("lazy", ABOVE))


def test_the_prompt_is_the_same_for_both() -> None:
    scenario = Escalate()
    prompts: set[str] = set()
    for pins in (QUIET, ABOVE, {**QUIET, "cause": "legal"}):
        drawing = Drawing(Stream(Draws(1), "instance", 0), dict(pins))  # type: ignore[arg-type]
        scenario.draw(drawing)
        instance = drawing.finish()
        prompts.add(scenario.prompt(instance) + str(scenario.brief(instance)))
    assert len(prompts) == 1


@pytest.mark.parametrize("agent", ["2", "4"])
@pytest.mark.parametrize("cause", CAUSES)
@pytest.mark.parametrize("earlier", ["0", "45"])
def test_the_reference_finds_out_who_is_to_decide(cause: str, agent: str, earlier: str) -> None:
    pins = {**QUIET, "cause": cause, "agent": agent, "earlier": earlier, "counted": "yes"}
    episode = played(expert, {**pins, "said": "later", "failed_first": "yes", "way": "all"})
    assert episode.reward == FULL, failing(episode)
    handed = list(episode.product.stores["escalations"].table)
    assert len(handed) == (cause != "within")


@pytest.mark.parametrize("turn", TURNS)
@pytest.mark.parametrize("ms", [6_000, 30_000, 55_000])
def test_the_reference_copes_with_what_changes(turn: str, ms: int) -> None:
    episode = played(expert, {**QUIET, "turn": turn, "turn_ms": ms})
    assert episode.reward == FULL, failing(episode)


@pytest.mark.parametrize("day", ["quick", "slow", "declines", "takes back", "late"])
def test_the_reference_copes_with_the_bank(day: str) -> None:
    episode = played(expert, {**QUIET, "day": day})
    assert episode.reward == FULL, failing(episode)


# --- what is not paid -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("policy", "broken"),
    [
        (twisted(lambda call: [call]), set[str]()),
        (changed("refund", amount=ASKED - 1), {RULES}),
        (changed("set_status", status="on_hold"), {TICKET}),
        (changed("reply", public=False), {ANSWERED}),
        (changed("finish", outcome="refused"), {ENDING}),
        (changed("finish", refs=[]), {ENDING}),
        (before("finish", Call("add_credit", {"customer_id": 41, "amount": 1,
                                              "currency": "USD", "reason": "x"})), {ELSE}),
        (before("finish", Call("set_status", {"ticket_id": "TK-1", "status": "open"})), {ELSE}),
        (before("finish", Call("escalate", {"ticket_id": "TK-50000", "team": "billing",
                                            "reason": "x"})), {RULES, TICKET, ENDING}),
    ],
)  # fmt: skip
def test_each_criterion_fails_where_it_was_to_be_paid(policy: Policy, broken: set[str]) -> None:
    assert failing(played(policy)) == broken


def paying(task: Task) -> Generator[Action, Observation, None]:
    """Pay the customer back although a team is to decide, and then hand over."""
    told = yield Call("list_charges", {"customer_id": 41})
    charge = told.value["charges"][-1]
    yield Call("refund", {"charge_id": charge["id"], "amount": 1})
    yield from expert(task)


@pytest.mark.parametrize(
    ("policy", "broken"),
    [
        (twisted(lambda call: [call]), set[str]()),
        (changed("escalate", team="counsel"), {RULES, ENDING}),
        (changed("escalate", team="nobody"), {RULES, ENDING}),
        (changed("set_status", status="pending"), {TICKET}),
        (changed("reply", public=False), {ANSWERED}),
        (changed("finish", outcome="done"), {ENDING}),
        (changed("finish", refs=["tickets:TK-50000"]), {ENDING}),
        (paying, {RULES, TICKET}),
    ],
)
def test_each_criterion_fails_where_a_team_was_to_decide(policy: Policy, broken: set[str]) -> None:
    assert failing(played(policy, ABOVE)) == broken


def test_whoever_names_all_rules_has_found_none() -> None:
    def twist(call: Call) -> list[Call]:
        args: Any = call.args
        if call.tool != "finish":
            return [call]
        every = [f"policies:{key}" for key in range(1, 9)]
        return [Call("finish", {**args, "refs": [*args["refs"], *every]})]

    assert failing(played(twisted(twist), ABOVE)) == {ENDING}


def test_refs_may_name_what_the_customer_wrote_and_what_went_back_before() -> None:
    pins = {**ABOVE, "cause": "legal", "earlier": "20"}
    desk = played("null", pins).product
    said = [f"messages:{r.id}" for r in desk.stores["messages"].table if r.ticket_id == 50_000]
    charge = max(r.id for r in desk.stores["charges"].table)
    back = [f"refunds:{r.id}" for r in desk.stores["refunds"].table if r.charge_id == charge]
    assert (len(said), len(back)) == (1, 1)

    def twist(call: Call) -> list[Call]:
        args: Any = call.args
        more = {**args, "refs": [*args.get("refs", ()), *said, *back]}
        return [Call("finish", more)] if call.tool == "finish" else [call]

    assert failing(played(twisted(twist), pins)) == set()


def test_a_ticket_is_solved_once_the_money_is_back_and_not_before() -> None:
    late = {**QUIET, "day": "late"}
    early = before("reply", Call("set_status", {"ticket_id": "TK-50000", "status": "solved"}))
    assert failing(played(early)) == {TICKET}
    assert not failing(played(early, late))  # which is left pending in the end
    assert failing(played(changed("set_status", status="solved"), late)) == {TICKET}


def test_a_status_of_before_the_agent_acted_says_nothing_of_that() -> None:
    def early(status: str) -> Policy:
        act = Call("set_status", {"ticket_id": "TK-50000", "status": status})

        def twist(call: Call) -> list[Call]:
            if call.tool == "set_status":
                return []
            return [act, call] if call.tool in ("refund", "escalate") else [call]

        return twisted(twist)

    late = {**QUIET, "day": "late"}
    assert failing(played(early("pending"), late)) == {TICKET}
    assert failing(played(early("on_hold"), ABOVE)) == {TICKET}


@pytest.mark.parametrize("seed", [3, 4])
def test_a_charge_that_the_agent_takes_is_not_the_one_in_question(seed: int) -> None:
    def taking(task: Task) -> Generator[Action, Observation, None]:
        told = yield Call("get_ticket", {"ticket_id": task.brief["ticket_id"]})
        told = yield Call("list_charges", {"customer_id": told.value["customer_id"]})
        (charge, *_) = told.value["charges"]
        wanted = {"order_id": charge["order_id"], "amount": 1, "currency": charge["currency"]}
        yield Call("charge", wanted)
        yield from expert(task)

    assert failing(played(taking, {}, seed)) == {ELSE}


def test_facts_that_have_just_changed_still_count_and_older_ones_do_not() -> None:
    quiet = played(expert)
    (step,) = (s for s in quiet.steps if s.results[0].tool == "refund")
    pins = {**QUIET, "turn": "legal", "turn_ms": step.t // 1000 + 5_000}

    def waiting(*seconds: int) -> Episode:
        pauses = (Call("wait", {"seconds": pause}) for pause in seconds)
        return played(before("refund", *pauses), pins)

    assert waiting(20).reward == FULL
    assert RULES in failing(waiting(50, 50))


# --- the rules ------------------------------------------------------------------------------------


def drawn(seed: int) -> Authority:
    drawing = Drawing(Stream(Draws(seed), "instance", 0), {})
    draw_authority(drawing)
    return authority_of(drawing.finish())


@pytest.mark.parametrize("seed", range(12))
def test_the_rules_are_what_their_texts_say(seed: int) -> None:
    rules = drawn(seed)
    assert read_authority([{"title": t, "body": b} for t, b in texts(rules)]) == rules


def test_no_team_is_two_reasons() -> None:
    names = [name for teams in TEAMS.values() for name in teams]
    assert len(names) == len(set(names))


def facts(**changes: Any) -> Facts:
    usual: dict[str, Any] = {
        "asked": 100,
        "earlier": 0,
        "texts": ("Please.",),
        "disputed": False,
        "title": "Pro Annual",
        "currency": "USD",
        "role": "agent",
    }
    return Facts(**{**usual, **changes})


@pytest.mark.parametrize(
    ("counted", "changes", "reason"),
    [
        (True, {}, ""),
        (True, {"asked": 101}, AMOUNT),
        (True, {"asked": 101, "role": "lead"}, ""),
        (True, {"asked": 51, "currency": "JPY"}, AMOUNT),
        (True, {"asked": 60, "earlier": 41}, AMOUNT),
        (True, {"asked": 60, "earlier": 40}, ""),
        (False, {"asked": 60, "earlier": 41}, ""),
        (True, {"disputed": True}, "dispute"),
        (True, {"title": "Enterprise Annual"}, "enterprise"),
        (True, {"texts": ("a", "See you in court.")}, "legal"),
        (True, {"texts": ("I NEVER ORDERED it",)}, "fraud"),
        (True, {"texts": ("My lawyer says I never ordered it",)}, "fraud"),
        (True, {"disputed": True, "asked": 999}, "dispute"),
    ],
)
def test_the_first_reason_that_applies_decides(
    counted: bool, changes: dict[str, Any], reason: str
) -> None:
    rules = Authority(
        limits={"agent": {"USD": 100, "JPY": 50}, "lead": {"USD": 500}},
        teams={},
        order=("fraud", "dispute", "legal", "enterprise"),
        counted=counted,
        parked="pending",
    )
    assert rules.reason(facts(**changes)) == reason


def test_what_was_asked_for_last_counts() -> None:
    first, last = f"Please {ask(None, 'USD')}.", f"Sorry, {ask(12_34, 'USD')} instead. Hurry."
    assert ALL in first
    assert asked([first], 77) == 77
    assert asked([first, "Well?", last], 77) == 12_34
    assert asked([last, first], 77) == 77
    assert asked([f"{ask(5, 'JPY')}."], 77) == 5
