"""The helpdesk that all instances start from: the same for every seed.

Each order was charged once. Some are still to be paid, some were paid back in full or in part, and
of some the refund is under way. The rules of the house come with the instance.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from simharness.api import DAY, HOUR, Draws, Stream, parse_instant
from simharness.models.helpdesk.rules import tax_back
from simharness.models.helpdesk.tables import (
    Agent,
    Charge,
    Customer,
    Entry,
    Message,
    Order,
    Refund,
    Ticket,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from simharness.api import Row

EPOCH = parse_instant("2026-03-02T09:00:00Z")

_FIRST_TEXT = """
Aino Bela Chidi Dalia Emre Freya Goran Hana Ivo Jaya Kofi Lucia Mateo Nadia Oskar Priya Rafael
Sanna Tomas Ursa Vito Wen Ximena Yara Zoltan
"""
FIRST = tuple(_FIRST_TEXT.split())
_LAST_TEXT = """
Adler Bauer Castro Dvorak Engel Ferrari Garcia Holm Ito Jonas Kim Laine Moreau Nilsson Ortiz
Pavlov Ricci Silva Toth Ueda Varga Weber Xu Yilmaz Zhou
"""
LAST = tuple(_LAST_TEXT.split())

PLANS = (
    ("Pro Annual", 299_00, 19),
    ("Pro Monthly", 25_00, 19),
    ("Team Annual", 1_490_00, 7),
    ("Headphones", 80_00, 20),
    ("Desk", 100_00, 20),
)
"""Title, price in hundredths of the unit, tax in per cent of the net."""
SCALES = {"USD": 100, "EUR": 100, "JPY": 1, "KWD": 1000}
"""Minor units of the unit."""
CUSTOMERS = 40
ORDERS = 80
TICKETS = 60
AGENTS = (
    ("Morgan Field", "admin"), ("Alex Stone", "lead"), ("Sam Rivers", "lead"),
    ("Kit Marsh", "agent"), ("Noa Hill", "agent"), ("Rae Brook", "agent"), ("Jo Lake", "agent"),
    ("Bo Glen", "agent"),
)  # fmt: skip
"""Name and role."""
SUBJECTS = (
    "Where is my invoice", "I was charged twice", "Please cancel my plan", "It does not arrive",
    "How do I change my card", "A refund, please", "The price is wrong", "I can't sign in",
)  # fmt: skip


def base_rows() -> dict[str, Sequence[Row]]:
    """Build the start rows, by table."""
    stream = Stream(Draws(20260303), "helpdesk/base", 0)
    stamp: dict[str, Any] = {"created_at": EPOCH - 30 * DAY, "updated_at": EPOCH - 2 * DAY}
    currencies = ("USD", "USD", "USD", "EUR", "EUR", "JPY", "KWD")
    customers: list[Customer] = []
    for i in range(1, CUSTOMERS + 1):
        first, last = FIRST[i % len(FIRST)], LAST[i * 7 % len(LAST)]
        email = f"{first}.{last}.{i}@mail.example".lower()
        currency = currencies[i % len(currencies)]
        customers.append(
            Customer(id=i, full_name=f"{first} {last}", email=email, currency=currency, **stamp)
        )
    agents = [
        Agent(id=i, full_name=name, role=role, **stamp)  # type: ignore[arg-type]  # a literal above
        for i, (name, role) in enumerate(AGENTS, 1)
    ]
    orders: list[Order] = []
    charges: list[Charge] = []
    refunds: list[Refund] = []
    for i in range(1, ORDERS + 1):
        add_order(stream, i, customers, orders, charges, refunds)
    tickets: list[Ticket] = []
    messages: list[Message] = []
    for i in range(1, TICKETS + 1):
        add_ticket(stream, i, tickets, messages)
    return {
        "customers": customers,
        "agents": agents,
        "orders": orders,
        "charges": charges,
        "refunds": refunds,
        "ledger": ledger_of(charges, refunds),
        "tickets": tickets,
        "messages": messages,
    }


def ledger_of(charges: list[Charge], refunds: list[Refund]) -> list[Entry]:
    """Make the gateway's ledger of charges and refunds that have succeeded."""
    entries: list[Entry] = []
    orders = {charge.id: charge.order_id for charge in charges}
    moved: list[tuple[Any, str, int, Charge | Refund]] = [
        *(("charge", f"CH-{row.id}", row.order_id, row) for row in charges),
        *(("refund", f"RF-{row.id}", orders[row.charge_id], row) for row in refunds),
    ]
    for kind, ref, order_id, row in moved:
        if row.status == "succeeded":
            entries.append(
                Entry(
                    id=len(entries) + 1,
                    kind=kind,
                    ref=ref,
                    amount=row.amount,
                    currency=row.currency,
                    at=row.created_at,
                    order_id=order_id,
                    created_at=row.created_at,
                    updated_at=row.created_at,
                )
            )
    return entries


def add_order(
    stream: Stream,
    key: int,
    customers: list[Customer],
    orders: list[Order],
    charges: list[Charge],
    refunds: list[Refund],
) -> None:
    """Make one order with its charge, and perhaps a refund."""
    at = EPOCH - (3 + stream.below(25, "order day", key)) * DAY
    stamp: dict[str, Any] = {"created_at": at, "updated_at": at}
    customer = customers[stream.below(CUSTOMERS, "order of", key)]
    title, price, per_cent = PLANS[stream.below(len(PLANS), "plan", key)]
    total = price * SCALES[customer.currency] // 100
    tax = total - total * 100 // (100 + per_cent)
    fate = stream.below(20, "fate", key)
    share = {0: total, 1: total, 2: total // 3, 3: total}.get(fate, 0)
    if share:
        back = tax_back(tax, total, share, (), "cumulative")
        refunds.append(
            Refund(
                id=len(refunds) + 1,
                charge_id=len(charges) + 1,
                amount=share,
                currency=customer.currency,
                status="pending" if fate == 3 else "succeeded",
                net=share - back,
                tax=back,
                **stamp,
            )
        )
    paid = fate != 4
    statuses: dict[int, Any] = {
        0: "refunded", 1: "refunded", 2: "partially_refunded", 3: "refund_pending", 4: "unpaid",
    }  # fmt: skip
    orders.append(
        Order(
            id=key,
            customer_id=customer.id,
            title=title,
            total=total,
            currency=customer.currency,
            net=total - tax,
            tax=tax,
            status=statuses.get(fate, "paid"),
            **stamp,
        )
    )
    if paid:
        charges.append(
            Charge(
                id=len(charges) + 1,
                order_id=key,
                customer_id=customer.id,
                amount=total,
                currency=customer.currency,
                status="succeeded",
                **stamp,
            )
        )


def add_ticket(stream: Stream, key: int, tickets: list[Ticket], messages: list[Message]) -> None:
    """Make one ticket with its first message."""
    at = EPOCH - (1 + stream.below(70, "ticket age", key)) * HOUR
    stamp: dict[str, Any] = {"created_at": at, "updated_at": at}
    customer_id = 1 + stream.below(CUSTOMERS, "ticket of", key)
    subject = SUBJECTS[stream.below(len(SUBJECTS), "subject", key)]
    statuses: tuple[Any, ...] = ("new", "new", "open", "open", "pending", "solved", "closed")
    status = statuses[stream.below(len(statuses), "status", key)]
    priorities: tuple[Any, ...] = ("low", "normal", "normal", "high", "urgent")
    body = f"{subject}. Please help me with that."
    tickets.append(
        Ticket(
            id=key,
            customer_id=customer_id,
            subject=subject,
            body=body,
            status=status,
            priority=priorities[stream.below(len(priorities), "priority", key)],
            assignee_id=None if status == "new" else 2 + stream.below(len(AGENTS) - 1, "who", key),
            **stamp,
        )
    )
    messages.append(
        Message(id=key, ticket_id=key, author=f"customers:{customer_id}", body=body, **stamp)
    )
