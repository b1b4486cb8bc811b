"""What the helpdesk's references read, and how they act upon a ticket and its money.

Others merge the ticket, hold it for a while, and change it; customers write into it. So each write
rests on what was read just before, and what is refused is thought over again.
"""

from __future__ import annotations

from typing import Any

from simharness.api import Call
from simharness.api import asking as ask

CLAIMS = 8
"""How often a ticket is claimed that somebody else has, before it is left to them."""
SETTLE_PATIENCE = 240
"""Seconds for which a refund is waited for before the ticket is left pending."""
POLL_SECONDS = 30
"""Pause between two looks at money that is under way."""
REFUNDS = "refunds"
"""What is waited for, as `waited` names it."""
WRITES = 10
"""How often a status is set anew because others were faster."""


def live_ticket(ticket_id: str) -> ask.Part:
    """Read a ticket, or the one that goes on in its place."""
    ticket = yield from ask.read("get_ticket", ticket_id=ticket_id)
    while ticket["merged_into"] is not None:
        ticket = yield from ask.read("get_ticket", ticket_id=ticket["merged_into"])
    return ticket


def claimed(ticket_id: str, agent_id: int) -> ask.Part:
    """Claim a ticket unless a colleague keeps it; gives the ticket that goes on."""
    ticket: dict[str, Any] = {}
    for _ in range(CLAIMS):
        ticket = yield from live_ticket(ticket_id)
        if ticket["assignee_id"] == agent_id:
            break
        told = yield from ask.tried("claim_ticket", ticket_id=ticket["id"])
        if told.value:
            return told.value
        yield Call("wait", {"seconds": ask.BUSY_SECONDS})
    return ticket


def rule(title: str, word: str) -> ask.Part:
    """Find a rule of the house by a word of its text, and give it."""
    told = yield from ask.read("search_policy", text=word)
    return next(row for row in told["policies"] if row["title"] == title)


def answer(ticket_id: str, body: str) -> ask.Part:
    """Answer the customer in whichever ticket goes on; gives its id.

    An answer of which nobody says whether it was written is looked for.
    """
    while True:
        ticket = yield from live_ticket(ticket_id)
        told = yield from ask.tried("reply", ticket_id=ticket["id"], body=body)
        if told.value:
            return ticket["id"]
        if ask.unknown(told):
            yield Call("wait", {"seconds": ask.SETTLE_SECONDS})
            rows = yield from ask.read_pages("list_messages", "messages", ticket_id=ticket["id"])
            if any(row["body"] == body for row in rows):
                return ticket["id"]


def left_as(ticket_id: str, status: str) -> ask.Part:
    """Give the ticket that goes on a status; gives its row."""
    for _ in range(WRITES):
        ticket = yield from live_ticket(ticket_id)
        if ticket["status"] == status:
            return ticket
        told = yield from ask.tried(
            "set_status", ticket_id=ticket["id"], status=status, if_version=ticket["version"]
        )
        if told.value:
            return told.value
        if ask.unknown(told):
            yield Call("wait", {"seconds": ask.SETTLE_SECONDS})
    raise ask.Impatient(f"{ticket_id} is changed all the time")


# --- money ----------------------------------------------------------------------------------------


def moved(order_id: int) -> ask.Part:
    """Give what the gateway's ledger has of an order, by the name of the charge or refund."""
    told = yield from ask.read("get_ledger", order_id=order_id)
    return {row["ref"]: row for row in told["ledger"]}


def pay_back(charge: dict[str, Any], amount: int, key: str, reason: str) -> ask.Part:
    """Ask for a refund under a key; gives its row, or the code of the refusal.

    Where nobody knows what became of it, it is looked for before it is asked for again; the same
    key pays nothing twice.
    """
    while True:
        told = yield from ask.tried(
            "refund",
            charge_id=charge["id"],
            amount=amount,
            currency=charge["currency"],
            reason=reason,
            idempotency_key=key,
        )
        if not ask.unknown(told):
            return told.value or told.error
        yield Call("wait", {"seconds": ask.SETTLE_SECONDS})
        rows = yield from ask.read_pages("list_refunds", "refunds", charge_id=charge["id"])
        made = [row for row in rows if row["idempotency_key"] == key]
        if made:
            return made[0]


def settled(
    refund: dict[str, Any],
    order_id: int,
    waited: dict[str, int],
    patience: int = SETTLE_PATIENCE,
) -> ask.Part:
    """Wait for a refund: gives succeeded, failed, or pending when patience is at its end.

    It has succeeded once the ledger has it, whatever the books say.
    """
    what = refund["id"]
    while True:
        entries = yield from moved(order_id)
        if what in entries:
            return "succeeded"
        refund = yield from ask.read("get_refund", refund_id=what)
        if refund["status"] == "failed":
            return "failed"
        # Patience is one for all refunds: they run their time side by side.
        if waited.get(REFUNDS, 0) >= patience:
            return "pending"
        waited[REFUNDS] = waited.get(REFUNDS, 0) + POLL_SECONDS
        yield Call("wait", {"seconds": POLL_SECONDS})
