"""The rows of the CRM."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal, TypedDict

from simharness.api import Bounds, Instant, Row

AMOUNT_MAX = 10**13
"""Largest amount of a deal, in minor units: a pipeline of them still adds up within 64 bits."""

Amount = Annotated[int, Bounds(0, AMOUNT_MAX)]
Percent = Annotated[int, Bounds(0, 100)]

Stage = Literal[
    "prospecting", "qualification", "proposal", "negotiation", "closed_won", "closed_lost"
]
OpenStage = Literal["prospecting", "qualification", "proposal", "negotiation"]
Role = Literal["rep", "manager", "admin"]
Approval = Literal["none", "pending", "approved", "rejected"]
Legal = Literal["none", "in_review", "cleared", "blocked"]
ContactStatus = Literal["active", "left", "bounced"]
Budget = Literal["confirmed", "gone"]
ActivityKind = Literal["call", "email", "meeting", "note", "task"]
Template = Literal["nurture", "proposal", "contract", "follow_up", "custom"]


@dataclass(frozen=True, slots=True, kw_only=True)
class User(Row):
    """Somebody who works with the CRM."""

    full_name: str
    role: Role = "rep"
    active: bool = True
    grants: tuple[str, ...] = ()
    """Roles beside `role`, in the order in which they were granted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Account(Row):
    """A company."""

    title: str
    domain: str | None = None
    industry: str = ""
    owner_id: int | None = None
    active: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Contact(Row):
    """A person at a company."""

    account_id: int | None = None
    full_name: str
    email: str
    role: str = ""
    status: ContactStatus = "active"


@dataclass(frozen=True, slots=True, kw_only=True)
class Deal(Row):
    """A sale that may come about. Money is in minor units of `currency`."""

    account_id: int
    title: str
    stage: Stage = "prospecting"
    amount: int = 0
    currency: str = "USD"
    close_on: Instant | None = None
    owner_id: int | None = None
    next_step: str = ""
    discount_pct: int = 0
    approval: Approval = "none"
    legal: Legal = "none"
    budget: Budget = "confirmed"
    champion_id: int | None = None
    lost_reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Activity(Row):
    """Something that was done, or is to be done, for a deal."""

    deal_id: int
    kind: ActivityKind
    subject: str = ""
    body: str = ""
    author_id: int = 0
    at: Instant = 0
    done: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Email(Row):
    """A mail that was sent."""

    contact_id: int
    deal_id: int | None = None
    template: Template
    subject: str = ""
    body: str = ""
    at: Instant = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Meeting(Row):
    """A meeting with a contact about a deal."""

    deal_id: int
    contact_id: int
    starts_at: Instant
    minutes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Quote(Row):
    """A price that was offered."""

    deal_id: int
    total: int
    currency: str
    discount_pct: int
    status: Literal["open", "withdrawn"] = "open"


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalRequest(Row):
    """A manager's decision on a discount."""

    deal_id: int
    discount_pct: int
    status: Literal["pending", "approved", "rejected"] = "pending"
    decided_by: int | None = None
    counter_pct: int | None = None
    """The discount that would pass instead, where a rejection names one."""


class AccountFields(TypedDict, total=False):
    """What update_account may change."""

    title: str
    domain: str
    industry: str
    owner_id: int
    active: bool


class ContactFields(TypedDict, total=False):
    """What update_contact may change."""

    account_id: int
    full_name: str
    email: str
    role: str
    status: ContactStatus


class DealFields(TypedDict, total=False):
    """What update_deal may change."""

    title: str
    amount: Amount
    currency: str
    close_on: Instant
    owner_id: int
    next_step: str
    discount_pct: Percent
    legal: Literal["none", "in_review"]
    champion_id: int
    lost_reason: Literal["", "legal", "budget", "price", "competitor", "other"]
