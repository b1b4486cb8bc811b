"""What a payment gateway is asked for, what it answers, and the events that tell of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from simharness.kernel.operation import Operation
    from simharness.kernel.process import Wait
    from simharness.parts.ledger import Kind
    from simharness.parts.reaction import Reaction

GATEWAY_EVENTS = (
    "charge.failed",
    "charge.refunded",
    "charge.succeeded",
    "charge.updated",
    "refund.failed",
    "refund.updated",
)
"""Kinds of its events. `charge.refunded` says that a refund to a card has succeeded; that of
another refund is a `refund.updated`."""


class Reply(NamedTuple):
    """What the gateway answers."""

    status: str
    """succeeded, failed, or pending until an event says more."""
    code: str
    """Why it failed; else empty."""
    ref: str
    """The row that was charged or refunded, of a repeated request that of the first."""
    gateway_ref: str
    """The gateway's own name for it."""

    def value(self) -> dict[str, str]:
        """Give it as answers of tools show it."""
        return {"status": self.status, "code": self.code, "ref": self.gateway_ref}


class Request:
    """One request, from being sent to its end."""

    __slots__ = (
        "amount",
        "answer",
        "body",
        "caller",
        "currency",
        "events",
        "gateway_ref",
        "kind",
        "method",
        "of",
        "op",
        "ref",
        "since",
        "status",
        "until",
        "waiting",
    )

    def __init__(self, kind: Kind, ref: str, of: str, amount: int, currency: str) -> None:
        self.kind: Kind = kind
        self.ref = ref
        self.of = of
        self.amount = amount
        self.currency = currency
        self.method = "card"
        self.body = ""
        self.gateway_ref = ""
        self.caller: Operation | None = None
        """Whose call it is; None for what was there from the start."""
        self.op: Reaction | None = None
        """The operation under which it is carried out."""
        self.until = 0
        """Tick at which its key is forgotten."""
        self.status = "sent"
        """sent, pending, succeeded, failed, or disputed."""
        self.since = 0
        """Instant from which on it is so."""
        self.answer: Reply | None = None
        self.waiting: list[Wait] = []
        """Who waits for the answer."""
        self.events = 0

    def become(self, status: str, since: int) -> None:
        """Take another status."""
        self.status = status
        self.since = since

    def event_kind(self, status: str) -> str:
        """Give the kind of the event of a status."""
        if status == "failed":
            return f"{self.kind}.failed"
        if status == "succeeded" and self.kind == "charge":
            return "charge.succeeded"
        if status == "succeeded" and self.method == "card":
            return "charge.refunded"
        return f"{self.kind}.updated"
