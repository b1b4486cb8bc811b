"""The reference of helpdesk/double-charge and helpdesk/legit-charge, and one that leaves early."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from simharness.api import DAY, Call, money, parse_instant
from simharness.api import asking as ask
from simharness.models.helpdesk.house import TITLES, keep_of
from simharness.models.helpdesk.policies import reading

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from simharness.api import Task

YEAR = 365 * DAY
FAILURES = 4
"""How often a refund is made anew that failed."""
TURNS = 4
"""How often a customer who writes again is answered again."""


def expert(task: Task) -> ask.Play:
    """Find out what is due, see it paid back, and tell the customer, from what is shown alone."""
    yield from play(Clerk(task.brief, reading.SETTLE_PATIENCE))


def lazy(task: Task) -> ask.Play:
    """Do the same, and leave as soon as the refund is asked for, whatever becomes of it."""
    yield from play(Clerk(task.brief, 0))


def play(clerk: Clerk) -> ask.Play:
    """Let a clerk work, and say what came of it."""
    try:
        outcome, refs = yield from clerk.work()
    except ask.Impatient as reason:
        yield Call("finish", {"message": str(reason), "outcome": "handed_over"})
        return
    text = "What was taken too much goes back." if outcome == "done" else "Nothing is due."
    yield Call("finish", {"message": text, "outcome": outcome, "refs": refs})


class Clerk:
    """Works on one ticket."""

    def __init__(self, brief: Mapping[str, Any], patience: int) -> None:
        self.ticket_id: str = brief["ticket_id"]
        self.agent_id: int = brief["agent_id"]
        self.patience = patience
        """Seconds for which refunds are waited for."""
        self.keep = "first"
        self.rule_id = 0
        self.waited: dict[str, int] = {}

    def work(self) -> ask.Part:
        """Give the outcome, and the rows that it rests on."""
        ticket = yield from reading.claimed(self.ticket_id, self.agent_id)
        self.ticket_id = ticket["id"]
        rule = yield from reading.rule(TITLES["duplicates"], "charge")
        self.keep, self.rule_id = keep_of(rule["body"]), rule["id"]
        groups = yield from self.groups(ticket["customer_id"])
        due = [row for group in groups for row in self.due_of(group)]
        if not due:
            yield from self.leave("solved", "Each of these charges was due: nothing goes back.")
            meant = meant_of(groups, ticket["body"])
            return "refused", [f"policies:{self.rule_id}", *(f"charges:{c['id']}" for c in meant)]
        refunds: list[dict[str, Any]] = []
        for charge in due:
            refund = yield from self.begun(charge)
            refunds.append(refund)
        yield from self.answer("What was taken too much is on its way back.")
        back = True
        for charge, refund in zip(due, refunds, strict=True):
            back = (yield from self.seen_back(charge, refund)) and back
        status, body = ("solved", "The money is back.") if back else ("pending", "It takes longer.")
        yield from self.leave(status, body)
        return "done", [f"charges:{charge['id']}" for charge in due]

    # --- what is due ------------------------------------------------------------------------------

    def groups(self, customer_id: int) -> ask.Part:
        """Give the customer's orders, each with its charges and what the ledger has of it."""
        while True:
            rows = yield from ask.read_pages("list_charges", "charges", customer_id=customer_id)
            if not any(row["status"] == "pending" for row in rows):
                break
            yield from ask.wait_for("a pending charge", self.waited)
        groups: list[dict[str, Any]] = []
        for order_id in dict.fromkeys(row["order_id"] for row in rows):
            charges = [row for row in rows if row["order_id"] == order_id]
            order = yield from ask.read("get_order", order_id=order_id)
            entries: Mapping[str, Any] = {}
            if len(charges) > 1:
                entries = yield from reading.moved(order_id)
                charges = [row for row in charges if row["id"] in entries]
            groups.append({"order": order, "charges": charges, "entries": entries})
        return groups

    def due_of(self, group: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Give the charges of an order that were too many."""
        charges: Sequence[dict[str, Any]] = group["charges"]
        if sum(row["amount"] for row in charges) <= group["order"]["total"]:
            return []
        in_turn = sorted(charges, key=lambda row: row["created_at"])
        return in_turn[1:] if self.keep == "first" else in_turn[:-1]

    # --- paying back ------------------------------------------------------------------------------

    def begun(self, charge: dict[str, Any]) -> ask.Part:
        """Give the refund of a charge that is there or under way, whoever asked for it."""
        n = 0
        while n < FAILURES:
            rows = yield from ask.read_pages("list_refunds", "refunds", charge_id=charge["id"])
            live = [row for row in rows if row["status"] != "failed"]
            if live:
                return live[-1]
            n += 1
            key = f"refund-{charge['id']}-{len(rows)}"
            told = yield from reading.pay_back(charge, charge["amount"], key, "paid twice")
            if not isinstance(told, str) and told["status"] != "failed":
                return told
        raise ask.Impatient(f"refunds of {charge['id']} fail again and again")

    def seen_back(self, charge: dict[str, Any], refund: dict[str, Any]) -> ask.Part:
        """Wait until a charge is back, anew where its refund fails; tells whether it is."""
        for _ in range(FAILURES):
            end = yield from reading.settled(refund, charge["order_id"], self.waited, self.patience)
            if end != "failed":
                return end == "succeeded"
            refund = yield from self.begun(charge)
        return False

    # --- the ticket -------------------------------------------------------------------------------

    def answer(self, body: str) -> ask.Part:
        """Answer the customer, in whichever ticket goes on."""
        self.ticket_id = yield from reading.answer(self.ticket_id, body)

    def leave(self, status: str, body: str) -> ask.Part:
        """Answer and set the status, once more where the customer writes meanwhile."""
        yield from self.answer(body)
        for _ in range(TURNS):
            yield from reading.left_as(self.ticket_id, status)
            ticket = yield from reading.live_ticket(self.ticket_id)
            if ticket["status"] == status:
                return
            yield from ask.read_pages("list_messages", "messages", ticket_id=ticket["id"])
            yield from self.answer(f"As I said: {body}")


def meant_of(groups: Sequence[Mapping[str, Any]], body: str) -> list[dict[str, Any]]:
    """Give the charges that a customer means: of what and how much the text says, taken lately."""
    named = [
        charge
        for group in groups
        if f" {group['order']['title']}." in body
        for charge in group["charges"]
        if f" {money.show(charge['amount'], charge['currency'])} " in body
    ]
    newest = max((parse_instant(row["created_at"]) for row in named), default=0)
    return [row for row in named if newest - parse_instant(row["created_at"]) < YEAR // 2]
