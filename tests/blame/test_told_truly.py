"""Agents that fail in ways of their own are told by what they did, and not by what is near it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import simharness as sh
from simharness.blame.verdict import Class
from simharness.models.helpdesk.policies.paid_twice import expert

if TYPE_CHECKING:
    from collections.abc import Generator

    from simharness.product.policy import Task

DUPLICATE = "helpdesk/double-charge"


def without_refs(task: Task) -> Generator[Any, Any, None]:
    """Do the whole job, and say in the end nothing of what it rests on."""
    played = expert(task)
    action: Any = next(played)
    while True:
        if isinstance(action, sh.Call) and not isinstance(action.args, str):
            args = dict(action.args)
            if action.tool == "finish":
                del args["refs"]
            action = sh.Call(action.tool, args)
        observation = yield action
        try:
            action = played.send(observation)
        except StopIteration:
            return


def claim_alone(task: Task) -> Generator[Any, Any, None]:
    """Claim the ticket, and say that all is done."""
    yield sh.Call("claim_ticket", {"ticket_id": task.brief["ticket_id"]})
    yield sh.Call("finish", {"message": "I refunded it.", "outcome": "done"})


@pytest.mark.parametrize("seed", [4, 5, 6, 7])
def test_an_ending_that_says_too_little_is_blamed_and_not_the_refund_before_it(seed: int) -> None:
    verdict = sh.run(DUPLICATE, seed=seed, policy=without_refs).verdict
    assert (verdict.kind, verdict.primary) == (Class.MODEL, "M211")
    assert verdict.sentence.startswith("finish did not do what the task asks for")
    # It looked at the refunds of the charge after each answer that left the outcome open.
    assert not {"M610", "M313"} & set(verdict.codes)


@pytest.mark.parametrize("seed", [5, 6])
def test_a_status_that_came_with_a_claim_is_not_what_went_wrong(seed: int) -> None:
    verdict = sh.run(DUPLICATE, seed=seed, policy=claim_alone).verdict
    assert (verdict.kind, verdict.primary) == (Class.MODEL, "M313")
    assert "exactly what is due is back" in verdict.sentence


def test_an_id_that_a_key_of_idempotency_told_again_was_given() -> None:
    # The answer to `pay` is lost, and the same key asks again what became of it.
    outcome = sh.run("marketplace/book", seed=1, load=2, config={"hold.ttl": "60s"})
    tools = [call.tool for step in outcome.episode.inputs for call in step.calls]
    assert "get_payment" in tools
    assert "M111" not in outcome.verdict.codes


def test_what_the_gateway_did_is_no_wrong_argument_of_the_agents() -> None:
    verdict = sh.run(DUPLICATE, seed=0, load=2, faults=["helpdesk.gateway-retry"]).verdict
    assert (verdict.headline, verdict.codes) == ("harness, H225, proved (closed)", ("H225",))


def test_an_agent_that_waits_for_an_answer_of_a_later_instant_is_kept_waiting_by_the_cache() -> (
    None
):
    # The rows were as they should be: it was what the list said of its own age that never changed.
    outcome = sh.run("crm/dedupe", seed=56, faults=["crm.list-cache@from=60s"])
    assert outcome.episode.reward == 0
    assert outcome.verdict.headline == "harness, H112, proved (closed)"
