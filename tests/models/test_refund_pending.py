"""helpdesk/refund-pending is a task: one prompt, and only reading tells whether to pay."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from simharness.models.helpdesk.policies.refund_pending import expert
from simharness.models.helpdesk.scenarios.refund_pending import FATES
from simharness.models.helpdesk.scenarios.stage import first_id
from simharness.product.policy import Call
from tests.models.playing import acting, answers, broken, failing, play

if TYPE_CHECKING:
    from collections.abc import Mapping

    from simharness.episode.episode import Episode
    from simharness.product.policy import Policy


PINS: Mapping[str, Any] = {
    "shift": 3,
    "currency": "JPY",
    "price": 10_000,
    "size": "part",
    "promised_pct": 40,
    "promise": "once",
    "fate": "pending",
    "event_at": 30,
    "until": 80,
    "failures": "one",
    "before": "none",
    "elsewhere": "no",
    "colleague": "no",
    "impatient": "no",
    "bank": "good",
    "settle_seconds": 15,
}
SCENARIO = "helpdesk/refund-pending"
PROMISED = 4_000
TICKET, CHARGE = f"TK-{first_id('tickets', 3)}", f"CH-{first_id('charges', 3) + 1}"
OLD = first_id("refunds", 3)
"""The refund of the promise, where there was one at the start."""
NEW = {"never": first_id("refunds", 0)}
"""That of the agent, by the fate of the first; else the one after it."""

PAY = Call("refund", {"charge_id": CHARGE, "amount": PROMISED})
LOOK = Call("get_charge", {"charge_id": CHARGE})
SAY = Call("reply", {"ticket_id": TICKET, "body": "So it stands."})
WAIT = Call("wait", {"seconds": 60})
LATE = Call("wait", {"seconds": 90})
SOLVE = Call("set_status", {"ticket_id": TICKET, "status": "solved"})
LEAVE = Call("set_status", {"ticket_id": TICKET, "status": "pending"})


def done(*refunds: int, outcome: str = "done") -> Call:
    refs = [f"refunds:{key}" for key in refunds]
    return Call("finish", {"message": "x", "outcome": outcome, "refs": refs})


def told(status: str) -> tuple[Call, ...]:
    return (SAY, SOLVE if status == "solved" else LEAVE)


RIGHT: Mapping[str, tuple[Call, ...]] = {
    "pending": (LATE, *told("pending"), done(OLD)),
    "arrives": (WAIT, *told("solved"), done(OLD)),
    "bounces": (WAIT, PAY, WAIT, *told("solved"), done(OLD + 1)),
    "failed": (PAY, WAIT, *told("solved"), done(OLD + 1)),
    "never": (PAY, WAIT, *told("solved"), done(NEW["never"])),
    "arrived": (*told("solved"), done(OLD)),
}
"""What is right, by what has become of the promise."""


def own(episode: Episode) -> int:
    """Count the refunds that the agent made."""
    table = episode.product.stores["refunds"].table
    return sum(c.owner == "agent" and c.old is None for c in table.changes)


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
@pytest.mark.parametrize("tool", ["refund", "reply", "set_status"])
def test_the_expert_copes_with_writes_of_unknown_outcome(tool: str, done: bool) -> None:
    policy = broken(expert, "unknown_outcome", tool, done=done)
    assert not failing(played(policy, fate="failed"))


@pytest.mark.parametrize("bank", ["late", "slow", "declines", "takes back", "takes back twice"])
def test_the_expert_pays_again_what_fails_and_nothing_else(bank: str) -> None:
    episode = played(fate="never", bank=bank, until=200)
    tries = {"declines": 2, "takes back": 2, "takes back twice": 3}
    assert (failing(episode), own(episode)) == (set(), tries.get(bank, 1))


# --- mirrors --------------------------------------------------------------------------------------


def test_one_prompt_has_many_ends() -> None:
    prompts: set[str] = set()
    for fate, acts in RIGHT.items():
        episode = alone(*acts, fate=fate)
        assert not failing(episode), fate
        prompts.add(episode.prompt)
        paid = own(played(fate=fate))
        assert paid == (fate in ("bounces", "failed", "never")), fate
    assert len(prompts) == 1
    assert set(RIGHT) == set(FATES)


@pytest.mark.parametrize("fate", FATES)
def test_what_is_right_for_one_is_wrong_for_the_others(fate: str) -> None:
    # Who waits first pays no less rightly what has failed before, and sees what is there.
    alike = {"bounces": {"failed"}, "failed": {"bounces"}, "arrived": {"arrives"}}
    for other, acts in RIGHT.items():
        if other != fate and other not in alike.get(fate, ()):
            assert failing(alone(*acts, fate=fate)), other


def test_who_reads_nothing_gets_nothing() -> None:
    for seed in range(2):
        for acts in RIGHT.values():
            assert play(SCENARIO, acting(*acts), seed).reward == 0


def test_who_looks_only_once_is_right_by_luck_alone() -> None:
    right = {fate for fate in FATES if not failing(played("lazy", fate=fate))}
    assert right == {"arrived"}


# --- the goal -------------------------------------------------------------------------------------


@pytest.mark.parametrize("fate", ["pending", "arrives", "arrived"])
def test_a_second_refund_is_one_too_many(fate: str) -> None:
    for amount in (PROMISED, 1):
        act = Call("refund", {"charge_id": CHARGE, "amount": amount})
        assert "no second refund" in failing(alone(act, *RIGHT[fate], fate=fate))


def test_another_amount_keeps_no_promise() -> None:
    act = Call("refund", {"charge_id": CHARGE, "amount": PROMISED + 1})
    acts = (act, WAIT, *told("solved"), done(OLD + 1))
    assert failing(alone(*acts, fate="failed")) >= {
        "what was promised goes back once",
        "no second refund",
    }


@pytest.mark.parametrize(
    ("pins", "paid"),
    [
        ({"promise": "mended", "mended_off": 3}, 1),
        ({"before": "same"}, 1),
        ({"before": "other", "elsewhere": "pending"}, 1),
        ({"failures": "two", "fate": "failed", "elsewhere": "succeeded"}, 1),
        ({"fate": "pending", "before": "same", "elsewhere": "failed"}, 0),
    ],
)
def test_what_only_looks_like_it_is_not_taken_for_it(pins: dict[str, Any], paid: int) -> None:
    wanted: dict[str, Any] = {"fate": "never", **pins}
    episode = played(**wanted)
    assert (failing(episode), own(episode)) == (set(), paid)


def test_a_colleague_who_pays_first_is_not_paid_after() -> None:
    paid: Counter[int] = Counter()
    refused = 0
    for at in range(20, 70, 5):
        pins: dict[str, Any] = {"size": "most", "promised_pct": 60}
        episode = played(fate="failed", colleague="pays", colleague_at=at, **pins)
        assert not failing(episode), at
        paid[own(episode)] += 1
        refused += any(v.get("code") == "over_refund" for v in answers(episode, "refund"))
    assert paid[0]
    assert paid[1]
    assert refused


def test_pending_is_for_what_is_under_way_when_time_is_up() -> None:
    name = {"the ticket says how far it is"}
    assert failing(alone(*told("pending"), done(OLD))) == name
    assert failing(alone(LATE, *told("solved"), done(OLD))) == name
    assert failing(alone(LATE, *told("pending"), done(OLD), fate="arrived")) == name
    assert failing(alone(LATE, SAY, done(OLD))) == name
    # It arrives half a minute before the agent ends: who has looked before that can't know.
    near = {"fate": "arrives", "event_at": 85}
    assert not failing(alone(LATE, *told("pending"), done(OLD), **near))
    assert failing(alone(LATE, WAIT, WAIT, *told("pending"), done(OLD), **near)) == name


def test_what_was_said_too_early_says_nothing_of_what_came_after() -> None:
    status, said = "the ticket says how far it is", "the customer was told"
    late = {"fate": "failed", "bank": "late"}
    assert failing(alone(*told("pending"), PAY, LATE, done(OLD + 1), **late)) == {status, said}
    assert failing(alone(SAY, LEAVE, PAY, SAY, LATE, done(OLD + 1), **late)) == {status}
    # The same status once more is no change, but it is said of what is so now.
    again = (SAY, LEAVE, PAY, SAY, LATE, LEAVE, done(OLD + 1))
    assert not failing(alone(*again, **late))
    assert failing(blind(*told("solved"), LOOK, done(OLD), fate="arrived")) == {status, said}


def test_a_status_stays_true_when_what_failed_is_made_anew() -> None:
    bounces = {"fate": "bounces", "event_at": 60, "bank": "late"}
    acts = (SAY, LEAVE, WAIT, PAY, LATE)
    assert not failing(alone(*acts, SAY, done(OLD + 1), **bounces))
    # The customer was told of another refund; and who leaves it at the failed one has done nothing.
    assert failing(alone(*acts, done(OLD + 1), **bounces)) == {"the customer was told"}
    assert "the ticket says how far it is" in failing(
        alone(SAY, LEAVE, WAIT, LATE, SAY, done(OLD), **bounces)
    )


def test_who_leaves_while_its_own_is_under_way_has_told_the_truth() -> None:
    acts = (PAY, LATE, *told("pending"), done(OLD + 1))
    assert not failing(alone(*acts, fate="failed", bank="late"))


@pytest.mark.parametrize(
    "end", [done(), done(OLD - 1), done(OLD, 1), done(OLD, outcome="refused")], ids=str
)
def test_finish_names_the_refund_alone(end: Call) -> None:
    acts = (LATE, *told("pending"), end)
    assert failing(alone(*acts)) == {"told with what it rests on"}


def test_the_customer_is_told_in_public_and_nothing_else_is_done() -> None:
    inside = Call("reply", {"ticket_id": TICKET, "body": "x", "public": False})
    assert failing(alone(LATE, inside, LEAVE, done(OLD))) == {"the customer was told"}
    credit = Call(
        "add_credit",
        {"customer_id": first_id("customers", 3), "amount": 1, "currency": "JPY", "reason": "x"},
    )
    acts = (credit, LATE, *told("pending"), done(OLD))
    assert failing(alone(*acts)) == {"no other row harmed"}


TWICE = {"gateway.latency": "6s", "gateway.timeout": "5s", "gateway.retry": "new_key"}
HUNDREDTHS = {"gateway.minor_units": "always_100"}


@pytest.mark.parametrize("knobs", [TWICE, HUNDREDTHS], ids=["twice", "hundredths"])
def test_what_is_moved_twice_or_in_other_units_is_not_what_was_promised(
    knobs: dict[str, object],
) -> None:
    episode = played(knobs=knobs, fate="never", until=200)
    assert failing(episode) >= {"what was promised goes back once"}


def test_the_gateway_and_not_the_books_say_what_has_become_of_it() -> None:
    """Nobody hears that it has failed: whoever calls it under way after that is wrong."""
    deaf = {"webhook.events": ["charge.succeeded", "charge.failed"]}
    episode = played(knobs=deaf, fate="bounces", event_at=20, until=120)
    assert failing(episode) == {
        "what was promised goes back once",
        "the ticket says how far it is",
        "told with what it rests on",
    }
    # The ledger tells of what has arrived.
    assert not failing(played(knobs=deaf, fate="arrives", event_at=20, until=120))
