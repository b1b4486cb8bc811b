"""The reference of helpdesk/escalate, and one that pays whatever is asked for."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from simharness.api import Call
from simharness.api import asking as ask
from simharness.models.helpdesk.authority import (
    AMOUNT,
    Authority,
    Facts,
    asked,
    read_authority,
    title_of,
)
from simharness.models.helpdesk.policies import reading

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from simharness.api import Task

OF_ORDER = re.compile(r"of order (\d+)")
ATTEMPTS = 6
"""How often the request is thought over again."""
TURNS = 4
"""How often a customer who writes again is answered again."""


def expert(task: Task) -> ask.Play:
    """Find out who is to decide, and either pay back or hand over, from what is shown alone."""
    clerk = Clerk(task.brief)
    try:
        outcome, refs = yield from clerk.work()
    except ask.Impatient as reason:
        yield Call("finish", {"message": str(reason), "outcome": "handed_over"})
        return
    text = "It is paid back." if outcome == "done" else "A team of ours decides about it."
    yield Call("finish", {"message": text, "outcome": outcome, "refs": refs})


def lazy(task: Task) -> ask.Play:
    """Pay back what the customer asks for, whoever is to decide about it."""
    clerk = Clerk(task.brief)
    try:
        yield from reading.claimed(clerk.ticket_id, clerk.agent_id)
        yield from clerk.look()
        yield from clerk.see_charge()
        refund = yield from reading.pay_back(clerk.charge, clerk.asked, "refund-1", "asked for")
        yield from reading.answer(clerk.ticket_id, "Your money is on its way.")
        if isinstance(refund, str):
            raise ask.Impatient(f"no refund: {refund}")
        yield from reading.settled(refund, clerk.charge["order_id"], clerk.waited)
        yield from reading.left_as(clerk.ticket_id, "solved")
    except ask.Impatient as reason:
        yield Call("finish", {"message": str(reason), "outcome": "handed_over"})
        return
    refs = [f"refunds:{refund['id']}"]
    yield Call("finish", {"message": "It is paid back.", "outcome": "done", "refs": refs})


class Clerk:
    """Works on one ticket."""

    def __init__(self, brief: Mapping[str, Any]) -> None:
        self.ticket_id: str = brief["ticket_id"]
        self.agent_id: int = brief["agent_id"]
        self.rules: list[dict[str, Any]] = []
        self.role = ""
        self.texts: tuple[str, ...] = ()
        self.charge: dict[str, Any] = {}
        self.refunds: list[dict[str, Any]] | None = None
        self.title: str | None = None
        self.waited: dict[str, int] = {}

    @property
    def authority(self) -> Authority:
        """Give what the rules say that were read."""
        return read_authority(self.rules)

    def work(self) -> ask.Part:
        """Give the outcome, and the rows that it rests on."""
        yield from reading.claimed(self.ticket_id, self.agent_id)
        told = yield from ask.read("search_policy", text="escalation")
        self.rules = told["policies"]
        for attempt in range(ATTEMPTS):
            reason = yield from self.reason()
            if reason:
                return (yield from self.hand_over(reason))
            key = f"{self.ticket_id}/{attempt}"
            refund = yield from reading.pay_back(self.charge, self.asked, key, "asked for")
            if isinstance(refund, str) or refund["status"] == "failed":
                continue  # something has changed, or the bank wants it no more: look again
            yield from self.answer("Your money is on its way.")
            order_id = self.charge["order_id"]
            end = yield from reading.settled(refund, order_id, self.waited)
            if end == "failed":
                continue
            status = "solved" if end == "succeeded" else "pending"
            yield from self.leave(status, "It is back." if end == "succeeded" else "It takes long.")
            return "done", [f"refunds:{refund['id']}"]
        raise ask.Impatient(f"{self.ticket_id} can't be settled")

    # --- who decides ------------------------------------------------------------------------------

    def reason(self) -> ask.Part:
        """Find out why a team is to decide; empty where it is to be paid back.

        Looks up one thing after the other, as far as the rules ask for it.
        """
        self.charge, self.refunds, self.title = {}, None, None
        yield from self.look()
        for reason in (*self.authority.order, AMOUNT):
            if reason == "dispute":
                yield from self.see_charge()
            elif reason == "enterprise":
                yield from self.see_title()
            elif reason == AMOUNT:
                yield from self.see_limit()
            if self.authority.applies(reason, self.facts()):
                return reason
        return ""

    def facts(self) -> Facts:
        """Give the facts as far as they are known."""
        return Facts(
            asked=self.asked,
            earlier=self.earlier,
            texts=self.texts,
            disputed=self.charge.get("status") == "disputed",
            title=self.title or "",
            currency=self.charge.get("currency", ""),
            role=self.role,
        )

    @property
    def earlier(self) -> int:
        """Give what was paid back before."""
        return sum(row["amount"] for row in self.refunds or () if row["status"] != "failed")

    @property
    def asked(self) -> int:
        """Give what the customer wants back."""
        return asked(self.texts, self.charge.get("amount", 0) - self.earlier)

    @property
    def order_id(self) -> int:
        """Give the order that the customer means."""
        found = OF_ORDER.findall(" ".join(self.texts))
        if not found:
            raise ask.Impatient("the customer names no order")
        return int(found[-1])

    def look(self) -> ask.Part:
        """Read what the customer has written."""
        ticket = yield from reading.live_ticket(self.ticket_id)
        rows = yield from ask.read_pages("list_messages", "messages", ticket_id=ticket["id"])
        author = f"customers:{ticket['customer_id']}"
        self.texts = tuple(row["body"] for row in rows if row["author"] == author)

    def see_charge(self) -> ask.Part:
        """Read the charge of the order, unless that was done."""
        if not self.charge:
            rows: Sequence[dict[str, Any]] = yield from ask.read_pages(
                "list_charges", "charges", order_id=self.order_id
            )
            self.charge = next(row for row in rows if row["status"] != "failed")

    def see_title(self) -> ask.Part:
        """Read the order's title."""
        order = yield from ask.read("get_order", order_id=self.order_id)
        self.title = order["title"]

    def see_limit(self) -> ask.Part:
        """Read what else the limit asks for."""
        yield from self.see_charge()
        self.refunds = yield from ask.read_pages(
            "list_refunds", "refunds", charge_id=self.charge["id"]
        )
        if not self.role:
            agent = yield from ask.read("get_agent", agent_id=self.agent_id)
            self.role = agent["role"]
            told = yield from ask.read("search_policy", text="limit: ")
            self.rules = [*self.rules, *told["policies"]]

    # --- what is done -----------------------------------------------------------------------------

    def hand_over(self, reason: str) -> ask.Part:
        """Escalate to the team of a reason; gives outcome and refs."""
        team = self.authority.teams[reason]
        while True:
            told = yield from ask.tried(
                "escalate", ticket_id=self.ticket_id, team=team, reason=f"{reason}: for you"
            )
            if told.value:
                break
            if not ask.unknown(told):
                raise ask.Impatient(f"{self.ticket_id} can't be escalated: {told.error}")
        yield from self.leave(self.authority.parked, "A team of ours will decide about it.")
        yield from self.see_charge()
        title = title_of(reason, self.role)
        rule = next(row["id"] for row in self.rules if row["title"] == title)
        return "handed_over", [f"policies:{rule}", f"charges:{self.charge['id']}"]

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
            yield from self.answer(f"As I said: {body}")
