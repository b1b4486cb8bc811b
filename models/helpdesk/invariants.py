"""What must always hold in the helpdesk."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simharness.models.helpdesk.rules import tax_of

if TYPE_CHECKING:
    from simharness.models.helpdesk.billing import Billing
    from simharness.models.helpdesk.threads import Threads


def shares(desk: Billing) -> list[str]:
    """Name charges of whose net or tax more was paid back than there was.

    A refund above the whole charge, and books that differ from the ledger, the ledger tells.
    """
    out: list[str] = []
    for charge in desk.charges.table:
        refunds = desk.refunds_of(charge.id)
        order = desk.orders.true(charge.order_id)
        if not refunds or order is None:
            continue
        tax = tax_of(order, charge.amount)
        parts = (
            ("tax", tax, sum(refund.tax for refund in refunds)),
            ("net", charge.amount - tax, sum(refund.net for refund in refunds)),
        )
        if sum(refund.amount for refund in refunds) <= charge.amount:
            out += [
                f"charges:{charge.id} has {had} of {name}, and {back} are paid back"
                for name, had, back in parts
                if back > had
            ]
    return out


def merges(desk: Threads) -> list[str]:
    """Name merged tickets that end nowhere or in a circle, and messages that were left behind."""
    out: list[str] = []
    for ticket in desk.tickets.table:
        if ticket.merged_into is None:
            continue
        if desk.live(ticket).merged_into is not None:
            out.append(f"tickets:{ticket.id} is merged, and no ticket goes on in its place")
        if ticket.status != "closed":
            out.append(f"tickets:{ticket.id} is merged, and {ticket.status}")
        out += [
            f"messages:{message.id} was left behind on tickets:{ticket.id}, which is merged"
            for message in desk.messages.table.where(ticket_id=ticket.id)
        ]
    return out


def split_threads(desk: Threads) -> list[str]:
    """Name tickets that a mail opened although its thread had one."""
    return [
        f"tickets:{new} was opened beside tickets:{old} for one thread"
        for old, new in desk.split_threads
    ]


def claims(desk: Threads) -> list[str]:
    """Name tickets that two agents were told to have claimed."""
    out: list[str] = []
    agents: dict[int, int] = {}
    for ticket_id, agent in desk.claimed:
        first = agents.setdefault(ticket_id, agent)
        if not agent:
            del agents[ticket_id]
        elif first != agent:
            out.append(f"tickets:{ticket_id} was claimed by agent {first} and by agent {agent}")
            agents[ticket_id] = agent
    return out
