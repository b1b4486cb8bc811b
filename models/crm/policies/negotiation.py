"""The reference of crm/negotiation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from simharness.api import Call
from simharness.models.crm.policies.asking import Impatient, guarded, once, read, tried, wait_for
from simharness.models.crm.rules import DISCOUNT_FREE, OPEN_STAGES

if TYPE_CHECKING:
    from collections.abc import Generator

    from simharness.api import Action, Observation, Task
    from simharness.models.crm.policies.asking import Play


def expert(task: Task) -> Play:
    """Work the deal by the rule table, from what it is shown and nothing else."""
    try:
        message = yield from work(task.brief["deal_id"])
    except Impatient as reason:
        yield Call("finish", {"message": str(reason), "outcome": "handed_over"})
        return
    yield Call("finish", {"message": message, "outcome": "done"})


def work(deal_id: int) -> Generator[Action, Observation, str]:
    """Read, decide, act, until the deal has left negotiation; gives what to say about it."""
    waited: dict[str, int] = {}
    done: set[str] = set()
    known: dict[str, Any] = {}
    while True:
        deal = yield from read("get_deal", deal_id=deal_id)
        if deal["stage"] not in OPEN_STAGES or deal["stage"] != "negotiation":
            return f"deal {deal_id} is in {deal['stage']}"
        if deal["budget"] == "gone" or deal["legal"] == "blocked":
            reason = "budget" if deal["budget"] == "gone" else "legal"
            yield from lose(deal, reason, waited)
        elif deal["legal"] == "none":
            yield from guarded("update_deal", deal, waited, fields={"legal": "in_review"})
        elif deal["legal"] == "in_review":
            yield from wait_for("legal", waited)
        elif deal["discount_pct"] > DISCOUNT_FREE and deal["approval"] != "approved":
            yield from seek_approval(deal, waited, done)
        else:
            yield from close_with_champion(deal, waited, done, known)


def lose(deal: dict[str, Any], reason: str, waited: dict[str, int]) -> Play:
    """Set the reason, then close the deal as lost."""
    if deal["lost_reason"] != reason:
        changed = yield from guarded("update_deal", deal, waited, fields={"lost_reason": reason})
        if changed is None:
            return
        deal = changed
    yield from guarded("move_stage", deal, waited, to_stage="closed_lost")


def seek_approval(deal: dict[str, Any], waited: dict[str, int], done: set[str]) -> Play:
    """Ask for approval, wait for it, or go back to proposal when it was refused."""
    if deal["approval"] == "none":
        arguments = {"deal_id": deal["id"], "discount_pct": deal["discount_pct"]}
        yield from tried("request_approval", arguments, waited)
    elif deal["approval"] == "pending":
        yield from wait_for("approval", waited)
    else:
        arguments = {"deal_id": deal["id"], "discount_pct": DISCOUNT_FREE}
        yield from once("quote", "create_quote", arguments, waited, done)
        yield from guarded("move_stage", deal, waited, to_stage="proposal")


def close_with_champion(
    deal: dict[str, Any], waited: dict[str, int], done: set[str], known: dict[str, Any]
) -> Play:
    """Make sure of an active champion, mail the contract, win the deal.

    `known` keeps what isn't asked a second time, so that a second try takes less time than others
    need to change the deal again: who has left, and the account's domain.
    """
    gone = f"contact {deal['champion_id']} is gone"
    champion: dict[str, Any] = {}
    if gone not in known:
        champion = yield from read("get_contact", contact_id=deal["champion_id"])
        known.update({gone: True} if champion["status"] != "active" else {})
    if gone not in known:
        mail = {
            "contact_id": champion["id"],
            "template": "contract",
            "subject": f"Contract for {deal['title']}",
            "body": "Please find the contract attached.",
            "deal_id": deal["id"],
        }
        if not (yield from once(f"mail {champion['id']}", "send_email", mail, waited, done)):
            return
        yield from guarded("move_stage", deal, waited, to_stage="closed_won")
        return
    if "domain" not in known:
        account = yield from read("get_account", account_id=deal["account_id"])
        known["domain"] = account["domain"]
    found = yield from read("search_contacts", text=known["domain"])
    for row in found["contacts"]:
        if row["status"] != "active":
            continue
        # A search may be a few seconds old, as it says itself; the row is looked up before it is
        # relied upon.
        now = yield from read("get_contact", contact_id=row["id"])
        if now["status"] == "active":
            yield from guarded("update_deal", deal, waited, fields={"champion_id": now["id"]})
            return
    arguments = {
        "deal_id": deal["id"],
        "kind": "task",
        "subject": "find a champion",
        "body": "nobody is left",
    }
    yield from once("task", "log_activity", arguments, waited, done)
    yield from guarded("move_stage", deal, waited, to_stage="qualification")
