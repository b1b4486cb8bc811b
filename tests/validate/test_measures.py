"""What scenarios are measured by: what counts as contention, and how a replay adapts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simharness.env import make_plan
from simharness.episode.episode import Episode
from simharness.product.policy import Call
from simharness.validate.measured import measured
from simharness.validate.measures import routes_used, unused
from simharness.validate.plays import adapted, taking_over
from tests.models import test_waitlist
from tests.models.playing import acting, buying

if TYPE_CHECKING:
    from collections.abc import Generator

    from simharness.product.policy import Action, Observation, Policy, Task
    from simharness.validate.measured import Measured

QUIET = {"users.team": 0, "users.import": "0s", "users.sweep": "0s"}


PINS = {
    "instance.legal": "in_review",
    "instance.legal_answer": "cleared",
    "instance.legal_after": 30,
    "instance.budget": "stays",
    "instance.champion": "stays",
}


def seen(policy: Policy) -> Measured:
    """Measure a policy in an office in which nobody but legal does anything."""
    return measured(Episode(make_plan("crm/negotiation", 3, config={**QUIET, **PINS})), policy)


def writing(*, again: bool, version: bool) -> Policy:
    """Read the deal, let legal answer, perhaps read again, write."""

    def play(task: Task) -> Generator[Action, Observation, None]:
        deal = {"deal_id": task.brief["deal_id"]}
        told = yield Call("get_deal", deal)
        yield Call("wait", {"seconds": 60})
        if again:
            told = yield Call("get_deal", deal)
        guard = {"if_version": told.value["version"]} if version else {}
        yield Call("update_deal", {**deal, "fields": {"next_step": "call"}, **guard})

    return play


def test_a_row_that_changed_since_the_last_look_is_contention() -> None:
    assert seen(writing(again=False, version=False)).attempts == 1
    assert seen(writing(again=False, version=False)).met == 1
    assert seen(writing(again=True, version=False)).met == 0


def test_a_conflict_is_contention() -> None:
    found = seen(writing(again=False, version=True))
    assert (found.attempts, found.met) == (1, 1)
    assert found.shape == ("get_deal", "wait", "update_deal!")


def test_a_line_in_which_one_stands_already_is_nobodys_doing_and_a_payment_is_an_attempt() -> None:
    waiting = Call("join_waitlist", {"slot_id": test_waitlist.WANTED})
    config = {f"instance.{name}": value for name, value in test_waitlist.NEVER.items()}
    plan = make_plan("marketplace/waitlist", 1, load=0, config=config)
    best = test_waitlist.fitting(test_waitlist.NEVER)[0]
    found = measured(Episode(plan), acting(waiting, waiting, last=buying(best)))
    assert found.shape[:2] == ("join_waitlist", "join_waitlist!")
    # It joins, holds, books and pays.
    assert (found.attempts, found.met) == (4, 0)


def test_a_replay_takes_the_values_of_its_own_brief() -> None:
    old = {"deal_id": 7, "user_id": 3, "reps": [1, 2], "until": "June"}
    new = {"deal_id": 9, "user_id": 7, "reps": [4, 5], "until": "July"}
    args = {"deal_id": 7, "fields": {"owner_id": 3, "note": "June", "reps": [1, 2]}, "page": 1}
    assert adapted(args, old, new) == {
        "deal_id": 9,
        "fields": {"owner_id": 7, "note": "July", "reps": [4, 5]},
        "page": 1,
    }
    assert adapted({"refs": ["deals:7", "deals:8"]}, old, new) == {"refs": ["deals:9", "deals:8"]}


def test_whoever_takes_over_begins_with_calls_that_can_be_taken_back() -> None:
    found = seen(taking_over(lambda task: iter(())))  # type: ignore[arg-type, return-value]
    assert 1 <= len(found.calls) <= 8
    assert not found.attempts


def test_only_routes_that_the_profile_uses_have_to_occur() -> None:
    routes = routes_used("crm/negotiation")
    assert unused("replica reads", {"primary", "index"})
    assert unused("index reads", {"primary", "replica"})
    assert not unused("replica reads", {"sticky"})
    assert not unused("lock waits", {"primary"})
    assert not any(unused(what, routes) for what in ("replica reads", "index reads"))
