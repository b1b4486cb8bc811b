"""The house rules of the CRM.

Which stage follows which, and what a deal in negotiation calls for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

    from simharness.models.crm.tables import Contact, Deal

OPEN_STAGES = ("prospecting", "qualification", "proposal", "negotiation")

MOVES: dict[str, tuple[str, ...]] = {
    "prospecting": ("qualification", "closed_lost"),
    "qualification": ("prospecting", "proposal", "closed_lost"),
    "proposal": ("qualification", "negotiation", "closed_lost"),
    "negotiation": ("qualification", "proposal", "closed_won", "closed_lost"),
    "closed_won": (),
    "closed_lost": (),
}
"""Stage to the stages that may follow it."""

DISCOUNT_FREE = 15
"""Percent up to which a discount needs no approval."""


class Next(NamedTuple):
    """What a deal in negotiation calls for."""

    move: str
    """The stage to move it to; empty while something has to happen first."""
    first: str
    """What has to be done before: legal, wait, approval, champion, lost_reason, quote, task,
    contract."""
    detail: str = ""


def next_move(deal: Deal, champion: Contact | None, colleagues: Iterable[Contact]) -> Next:
    """Read the rule table for the facts of a deal.

    `colleagues` are the champion's, at the same account.

    In this order: budget gone - lost; legal blocks - lost; legal hasn't answered - ask or wait; a
    discount over 15 % without approval - ask or wait; rejected - back to proposal; champion gone -
    another active one, or back to qualification; else won.
    """
    if deal.budget == "gone":
        return Next("closed_lost", "lost_reason", "budget")
    if deal.legal == "blocked":
        return Next("closed_lost", "lost_reason", "legal")
    if deal.legal == "none":
        return Next("", "legal")
    if deal.legal == "in_review":
        return Next("", "wait", "legal")
    if deal.discount_pct > DISCOUNT_FREE:
        if deal.approval == "none":
            return Next("", "approval")
        if deal.approval == "pending":
            return Next("", "wait", "approval")
        if deal.approval == "rejected":
            return Next("proposal", "quote")
    if champion is None or champion.status != "active":
        if any(c.status == "active" for c in colleagues):
            return Next("", "champion")
        return Next("qualification", "task")
    return Next("closed_won", "contract")


RULES_TEXT = """\
Decide by the facts of the deal, in this order:
1. budget is gone: close it as lost, with lost_reason "budget" set on the deal first.
2. legal is blocked: close it as lost, with lost_reason "legal" set on the deal first.
3. legal is none: set it to in_review and wait for their answer; in_review: wait for it.
4. discount_pct over 15: it needs an approved approval. None yet: request it and wait for \
the decision. Rejected: make a quote at 15 percent and move the deal back to proposal.
5. the champion has left or bounced: make another active contact of the account the champion. \
If there is none, log a task on the deal and move it back to qualification.
6. otherwise send the contract mail to the champion and close the deal as won.
Other people work in the same CRM and facts may change while you work: pass if_version, and decide \
again after a conflict. Move the deal once, touch no other deal, send no other mail."""
