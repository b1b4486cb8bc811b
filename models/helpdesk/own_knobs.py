"""The knobs of the helpdesk's own: how tickets are kept, and how its books are."""

from __future__ import annotations

from simharness.api import (
    GATEWAY_EVENTS,
    gateway_knobs,
    knobs,
    refund_knobs,
    sweep_knobs,
    webhook_knobs,
)
from simharness.models.helpdesk.billing import TOP_UP

OWN = (
    knobs.choice(
        "refund.check",
        ("atomic", "check_then_insert", "none"),
        "whether what is left of a charge is looked at as the refund is made, or before the wait, "
        "or never (defects)",
    ),
    *refund_knobs(),
    knobs.choice(
        "refund.rounding",
        ("cumulative", "per_step"),
        "whether the tax of refunds adds up, or each is rounded by itself (a defect)",
    ),
    knobs.flag(
        "order.status_moves_money",
        True,
        "an order set to refunded or cancelled is paid back; else the status is a mere word "
        "(a defect)",
    ),
    knobs.choice(
        "ticket.claim",
        ("atomic", "last_writer"),
        "whether a claim looks at the ticket as it is written, or before the wait (a defect)",
    ),
    knobs.choice(
        "ticket.merge",
        ("guarded", "blind"),
        "whether a merge looks at both tickets as it is written, or before the wait (a defect)",
    ),
    knobs.choice(
        "inbound.group",
        ("per_thread", "race"),
        "whether mails of one thread wait for each other, or each looks for its ticket by itself "
        "(a defect)",
    ),
    knobs.interval("ticket.auto_close", "none", "time after which a solved ticket is closed"),
    knobs.duration(
        "reward.window", "10min", "time without a customer's message that `silence` pays for"
    ),
)
EVENTS = (*GATEWAY_EVENTS, TOP_UP)
"""Kinds of events that the app may listen to."""
KNOBS = (*OWN, *gateway_knobs(), *sweep_knobs(), *webhook_knobs(kinds=EVENTS))
