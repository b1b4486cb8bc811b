"""Colleagues who look around, claim tickets, answer, solve, merge, and pay money back."""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING, Any

from simharness.api import Actor, Population, Stream, scaled
from simharness.models.helpdesk.base import AGENTS, CUSTOMERS, ORDERS

if TYPE_CHECKING:
    from collections.abc import Generator

    from simharness.models.helpdesk.product import Helpdesk
    from simharness.models.helpdesk.tables import Ticket

    Steps = Generator[Any, Any, Any]

HABITS = (
    ("look at a queue", 200),
    ("look at own tickets", 120),
    ("read a ticket", 190),
    ("search", 70),
    ("look at an order", 170),
    ("look at a customer", 60),
    ("read the rules", 50),
    ("claim", 40),
    ("answer", 60),
    ("merge", 20),
    ("pay back", 20),
)
"""What a colleague does in a cycle, with its weight out of 1,000."""
_ENDS = tuple(accumulate(weight for _, weight in HABITS))
QUEUES = ("new", "open", "pending", "solved")
WORDS = ("invoice", "twice", "plan", "card", "refund", "price", "sign")
RULES = ("charge", "refund", "renewal", "ticket")
ENDS = ("pending", "solved", "solved", "on_hold")
"""How a ticket is left that was answered."""


def start_team(desk: Helpdesk, *, away: int = 0) -> None:
    """Start the colleagues, all but the one who is `away`: the agent.

    They look at everything, and write only about customers of the base: whom an instance adds,
    with their tickets and orders, they leave alone.
    """
    agents = [agent for agent in range(1, len(AGENTS) + 1) if agent != away]
    size: int = desk.settings.values["users.team"]
    team = Population(desk.world, think_mean=0)
    desk.settings.bind("users.think", team, "think_mean")
    number = scaled(size, desk.load) if size else 0
    team.grow(number, lambda k: agents[(k - 1) % len(agents)], Work(desk).make)


def at_home(ticket: Ticket) -> bool:
    """Tell whether a ticket is of a customer of the base."""
    return ticket.customer_id <= CUSTOMERS


class Work:
    """What colleagues do."""

    def __init__(self, desk: Helpdesk) -> None:
        self.desk = desk

    def make(self, actor: Actor, draw: Stream) -> Steps:
        """Do one thing."""
        match HABITS[draw.cumulative(_ENDS, "choice")][0]:
            case "look at own tickets":
                yield from self._own(actor)
            case "read a ticket":
                yield from self._read(actor, draw)
            case "search":
                word = draw.pick(WORDS, "word")
                yield from self.desk.request(actor, "search_tickets", query=f"{word} status<solved")
            case "look at an order":
                yield from self._order(actor, draw)
            case "look at a customer":
                customer_id = 1 + draw.below(CUSTOMERS, "row")
                yield from self.desk.request(actor, "get_customer", customer_id=customer_id)
            case "read the rules":
                yield from self.desk.request(actor, "search_policy", text=draw.pick(RULES, "word"))
            case "claim":
                yield from self._claim(actor, draw)
            case "answer":
                yield from self._answer(actor, draw)
            case "merge":
                yield from self._merge(actor, draw)
            case "pay back":
                yield from self._pay_back(actor, draw)
            case _:
                yield from self._queue(actor, draw)

    def _queue(self, actor: Actor, draw: Stream) -> Steps:
        told = yield from self.desk.request(
            actor, "list_tickets", status=draw.pick(QUEUES, "status")
        )
        return told.rows

    def _own(self, actor: Actor) -> Steps:
        told = yield from self.desk.request(actor, "list_tickets", assignee_id=actor.identity)
        return told.rows

    def _read(self, actor: Actor, draw: Stream) -> Steps:
        rows = yield from self._queue(actor, draw)
        if rows:
            ticket_id = draw.pick(rows[:6], "row").id
            yield from self.desk.request(actor, "get_ticket", ticket_id=ticket_id)
            yield from self.desk.request(actor, "list_messages", ticket_id=ticket_id)

    def _order(self, actor: Actor, draw: Stream) -> Steps:
        order_id = 1 + draw.below(ORDERS, "row")
        order = yield from self.desk.request(actor, "get_order", order_id=order_id)
        yield from self.desk.request(actor, "list_charges", order_id=order_id)
        if order.status in ("refunded", "partially_refunded", "refund_pending"):
            yield from self.desk.request(actor, "get_ledger", order_id=order_id)

    # --- what changes something -------------------------------------------------------------------

    def _claim(self, actor: Actor, draw: Stream) -> Steps:
        told = yield from self.desk.request(actor, "list_tickets", status="new")
        free = [row for row in told.rows if at_home(row) and row.assignee_id is None]
        if free:
            ticket_id = draw.pick(free, "row").id
            yield from self.desk.request(actor, "claim_ticket", ticket_id=ticket_id)

    def _answer(self, actor: Actor, draw: Stream) -> Steps:
        rows = yield from self._own(actor)
        waiting = [row for row in rows if at_home(row) and row.status == "open"]
        if waiting:
            ticket = draw.pick(waiting, "row")
            yield from self.desk.request(
                actor, "reply", ticket_id=ticket.id, body="We are looking into it."
            )
            yield from self.desk.request(
                actor,
                "set_status",
                ticket_id=ticket.id,
                status=draw.pick(ENDS, "status"),
                if_version=ticket.version,
            )

    def _merge(self, actor: Actor, draw: Stream) -> Steps:
        customer_id = 1 + draw.below(CUSTOMERS, "row")
        told = yield from self.desk.request(
            actor, "search_tickets", query=f"customer:{customer_id} status<solved"
        )
        if len(told.rows) > 1:
            target, source = told.rows[:2]
            yield from self.desk.request(
                actor, "merge_tickets", source_id=source.id, target_id=target.id
            )

    def _pay_back(self, actor: Actor, draw: Stream) -> Steps:
        order_id = 1 + draw.below(ORDERS, "row")
        told = yield from self.desk.request(actor, "list_charges", order_id=order_id)
        for charge in told.rows[:1]:
            if charge.status == "succeeded":
                yield from self.desk.request(
                    actor,
                    "refund",
                    charge_id=charge.id,
                    amount=max(1, charge.amount // 10),
                    reason="goodwill",
                )
