"""The rows of the helpdesk. Money is in minor units of `currency`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal, TypedDict

from simharness.api import Bounds, Instant, Prefix, Row

AMOUNT_MAX = 10**13
"""Largest amount of a charge, a refund or a credit, in minor units."""

Amount = Annotated[int, Bounds(1, AMOUNT_MAX)]

TicketId = Annotated[int, Prefix("TK")]
ChargeId = Annotated[int, Prefix("CH")]
RefundId = Annotated[int, Prefix("RF")]

Role = Literal["agent", "lead", "admin"]
Status = Literal["new", "open", "pending", "on_hold", "solved", "closed"]
Priority = Literal["low", "normal", "high", "urgent"]
OrderStatus = Literal[
    "unpaid", "paid", "refunded", "partially_refunded", "refund_pending", "cancelled"
]
ChargeStatus = Literal["pending", "succeeded", "failed", "disputed"]
RefundStatus = Literal["pending", "succeeded", "failed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Customer(Row):
    """Somebody who writes, and pays."""

    full_name: str
    email: str = ""
    currency: str = "USD"


@dataclass(frozen=True, slots=True, kw_only=True)
class Agent(Row):
    """Somebody who works at the helpdesk."""

    full_name: str = ""
    role: Role = "agent"
    active: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Ticket(Row):
    """What a customer wants, and how far it has come."""

    id: TicketId
    customer_id: int
    subject: str
    body: str = ""
    status: Status = "new"
    priority: Priority = "normal"
    assignee_id: int | None = None
    tags: tuple[str, ...] = ()
    merged_into: TicketId | None = None
    """The ticket that goes on in its place."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Message(Row):
    """One message of a ticket's thread."""

    ticket_id: TicketId
    author: str
    """`customers:1`, `agents:2`, or `desk` for nobody in particular."""
    body: str
    public: bool = True
    """Whether the customer sees it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Order(Row):
    """What a customer has bought."""

    customer_id: int
    title: str
    total: int = 0
    currency: str = "USD"
    net: int = 0
    tax: int = 0
    """Part of the total."""
    status: OrderStatus = "unpaid"


@dataclass(frozen=True, slots=True, kw_only=True)
class Charge(Row):
    """Money that was taken for an order, or is to be."""

    id: ChargeId
    order_id: int
    customer_id: int
    amount: int
    currency: str = "USD"
    status: ChargeStatus = "pending"
    idempotency_key: str = ""
    attempt_of: ChargeId | None = None
    """The failed charge that it is another attempt of."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Refund(Row):
    """Money of a charge that went back, or is to."""

    id: RefundId
    charge_id: ChargeId
    amount: int
    currency: str = "USD"
    status: RefundStatus = "pending"
    idempotency_key: str = ""
    gateway_ref: str = ""
    """The gateway's own name for it, once it has answered."""
    net: int = 0
    tax: int = 0
    """Part of the amount."""
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Credit(Row):
    """Money that a customer may spend here."""

    customer_id: int
    amount: int
    currency: str = "USD"
    reason: str = ""
    event_id: str = ""
    """The event that it comes of, if any."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry(Row):
    """One movement of money, as the gateway's ledger has it."""

    kind: Literal["charge", "refund", "chargeback"]
    ref: str
    """The charge or refund, as `CH-1` or `RF-1`."""
    amount: int
    currency: str = "USD"
    at: Instant = 0
    order_id: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Event(Row):
    """An event of the gateway's that has arrived."""

    event_id: str
    kind: str
    created: Instant
    """When the gateway made it."""
    ref: str
    """The charge or refund that it is about, as `CH-1` or `RF-1`."""
    delivered_at: Instant
    status: Literal["applied", "ignored"] = "applied"
    """Ignored: it had been applied before, or something newer had."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy(Row):
    """A rule of the house, for agents to read."""

    title: str
    body: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Escalation(Row):
    """A ticket handed to a team."""

    ticket_id: TicketId
    team: str
    reason: str
    author_id: int = 0


class TicketFields(TypedDict, total=False):
    """What may be changed of a ticket beside its status."""

    priority: Priority
    tags: list[str]
    assignee_id: int | None
