"""The house rules of discounts: what a deal calls for on its way to being won."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from simharness.models.crm.rules import DISCOUNT_FREE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from simharness.models.crm.tables import ApprovalRequest, Contact, Deal


class Terms(NamedTuple):
    """What one task fixes beside the house rules."""

    floor_pct: int
    """The lowest discount in percent that the customer takes."""
    rejected: str
    """What becomes of a deal that managers reject for good: hand_over, close_lost."""
    quote: str
    """Which deals need a quote before they are won: always, unapproved."""


class Facts(NamedTuple):
    """What the rules look at."""

    deal: Deal
    request: ApprovalRequest | None
    """The latest request for the deal's approval."""
    counter_pct: int | None
    """The discount that would pass instead, where the request was rejected and one was named."""
    champion: Contact | None
    colleagues: Sequence[Contact]
    """All contacts of the account."""


class Step(NamedTuple):
    """What a deal calls for."""

    act: str
    """lose, legal, wait, request, champion, hand_over, win."""
    detail: str = ""
    """The lost_reason; what is waited for; the row for which the deal is handed over."""
    percent: int = 0
    """The discount to request."""


def standing(deal: Deal, request: ApprovalRequest | None) -> str:
    """Give what an approval comes to: none, pending, approved, rejected.

    An approval or a rejection is for one discount; for another one it is void.
    """
    if deal.approval in ("none", "pending"):
        return deal.approval
    if request is None or request.discount_pct != deal.discount_pct:
        return "none"
    return request.status


def needs_quote(terms: Terms, deal: Deal) -> bool:
    """Tell whether a deal needs a quote before it is won."""
    return terms.quote == "always" or deal.discount_pct <= DISCOUNT_FREE


def losing(deal: Deal) -> str:
    """Give the reason for which a deal is lost whatever managers say, or an empty text."""
    if deal.budget == "gone":
        return "budget"
    return "legal" if deal.legal == "blocked" else ""


def approval_step(facts: Facts, terms: Terms) -> Step | None:
    """Give what the discount calls for; None where it may stand."""
    deal, request = facts.deal, facts.request
    if deal.discount_pct <= DISCOUNT_FREE:
        return None
    state = standing(deal, request)
    if state == "none":
        return Step("request", percent=deal.discount_pct)
    if state == "pending":
        return Step("wait", "approval")
    if state == "approved" or request is None:
        return None
    if facts.counter_pct is not None and facts.counter_pct >= terms.floor_pct:
        return Step("request", percent=facts.counter_pct)
    if terms.rejected == "close_lost":
        return Step("lose", "price")
    return Step("hand_over", f"approvals:{request.id}")


def next_step(facts: Facts, terms: Terms) -> Step:
    """Read the rules for the facts of a deal, in the order in which the prompt tells them."""
    deal = facts.deal
    if reason := losing(deal):
        return Step("lose", reason)
    if deal.legal == "none":
        return Step("legal")
    asked = approval_step(facts, terms)
    if asked is not None:
        return asked
    if facts.champion is None or facts.champion.status != "active":
        if any(contact.status == "active" for contact in facts.colleagues):
            return Step("champion")
        return Step("hand_over", f"contacts:{deal.champion_id}")
    if deal.legal == "in_review":
        return Step("wait", "legal")
    return Step("win")


REJECTED = {
    "hand_over": "hand the deal over: leave it as it is and finish with outcome handed_over",
    "close_lost": 'close the deal as lost, with lost_reason "price" set on it first',
}
"""What the prompt says of a rejection that stands."""

QUOTED = {
    "always": "make a quote at the deal's discount and present amount",
    "unapproved": "if the discount is up to 15, make a quote at it and the present amount",
}
"""What the prompt says of quotes."""


def rules_text(terms: Terms) -> str:
    """Tell the rules."""
    return f"""\
discount_pct of the deal is what the customer asks for. They would take less, but not less than \
{terms.floor_pct} percent.
Decide by the facts of the deal, in this order:
1. budget is gone: close it as lost, with lost_reason "budget" set on the deal first.
2. legal is blocked: close it as lost, with lost_reason "legal" set on the deal first.
3. legal is none: set it to in_review. You may go on while they look at it.
4. discount_pct over {DISCOUNT_FREE}: it needs an approval for exactly this discount; one for \
another discount is void, whatever the deal says, and so is a rejection. None yet: request it. \
Pending: wait for the decision. Rejected: if the manager names a discount that would pass \
(counter_pct of the approval, or the note about it) and the customer takes that, request it. \
Otherwise don't ask again, but {REJECTED[terms.rejected]}.
5. the champion has left or bounced: make another active contact of the account the champion. \
If there is none, hand the deal over.
6. legal is in_review: wait for them.
7. otherwise {QUOTED[terms.quote]}, and close the deal as won.
Requests and decisions, and what the customer and legal say, are noted on the deal: the subject of \
a note is "approval N" for request N, or else "budget", "legal", "discount" or "amount". In refs \
of finish name what the end rests on: the approval (approvals:N) on which the deal was won or \
which was rejected, the note (activities:N) about the budget or from legal, or the champion who \
left (contacts:N). Outcome is done for a deal that is won or lost.
Other people work in the same CRM and facts may change while you work: pass if_version, and decide \
again after a conflict. Move the deal at most once, touch no other deal, send no mail."""
