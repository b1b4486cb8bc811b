"""What the agent may write when it works on one deal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simharness.api import SECOND
from simharness.models.crm.rules import DISCOUNT_FREE, next_move
from simharness.models.crm.tables import Deal

if TYPE_CHECKING:
    from simharness.api import Change
    from simharness.models.crm.product import Crm

EDITABLE = ("stage", "next_step", "legal", "champion_id", "lost_reason", "approval")


RECENTLY = 60 * SECOND
"""Simulated time for which an act that the facts called for is still in order: the agent needs some
to look, to think and to act, and the facts may change meanwhile."""


def forbidden_writes(crm: Crm, deal_id: int, agent: str) -> list[str]:
    """List the agent's commits that the task doesn't allow, each with its row, in commit order."""
    out: list[tuple[int, str]] = []
    made: set[tuple[str, int]] = set()
    for name, store in crm.stores.items():
        for change in store.table.changes:
            if change.owner != agent:
                continue
            reason = objection(crm, name, change, deal_id)
            if not reason and name in ("emails", "quotes", "approvals"):
                # Of each kind one is enough; a contract goes to each champion once.
                act = (name, change.new.contact_id if name == "emails" else 0)
                reason = "was done before" if act in made else ""
                made.add(act)
            if reason:
                out.append((change.order, f"{name}:{change.key} {reason}"))
    return [text for _, text in sorted(out)]


def objection(crm: Crm, table: str, change: Change, deal_id: int) -> str:
    """Say why a write isn't allowed, or give an empty text."""
    row = change.new
    if row is None:
        return "was deleted"
    if table == "deals":
        if change.key != deal_id:
            return "is another deal"
        return deal_objection(crm, change)
    if table in ("activities", "quotes", "approvals", "emails"):
        if change.old is None and row.deal_id != deal_id:
            return "is about another deal"
        return record_objection(crm, table, change, deal_id)
    return "is none of the task's tables"


def record_objection(crm: Crm, table: str, change: Change, deal_id: int) -> str:
    """Say what a new row about the deal may not be."""
    row = change.new
    if table == "activities":
        return uncalled(crm, change, deal_id, "task") if row.kind == "task" else ""
    if table == "quotes":
        if row.discount_pct != DISCOUNT_FREE:
            return f"offers {row.discount_pct} percent"
        return uncalled(crm, change, deal_id, "quote")
    if table == "approvals":
        return uncalled(crm, change, deal_id, "approval")
    deal = crm.deals.table.row_at(deal_id, change.order)
    if row.template != "contract":
        return f"is a {row.template} mail"
    if deal is None or deal.champion_id != row.contact_id:
        return f"went to contacts:{row.contact_id}, who wasn't the champion"
    return uncalled(crm, change, deal_id, "contract")


def deal_objection(crm: Crm, change: Change) -> str:
    """Say what an update of the deal itself may not do."""
    old: Deal = change.old
    new: Deal = change.new
    for column in Deal.__slots__:
        if column not in EDITABLE and getattr(old, column) != getattr(new, column):
            return f"changed {column}"
    if new.champion_id != old.champion_id:
        contact = crm.contacts.table.row_at(new.champion_id or 0, change.order - 1)
        if contact is None or contact.account_id != new.account_id or contact.status != "active":
            return f"made contacts:{new.champion_id} champion"
        return uncalled(crm, change, change.key, "champion")
    return ""


def uncalled(crm: Crm, change: Change, deal_id: int, act: str) -> str:
    """Say that an act wasn't called for by the facts at its commit or shortly before it."""
    deals, contacts = crm.deals.table, crm.contacts.table
    facts = [*deals.history.get(deal_id, ()), *contacts.changes]
    orders = {change.order - 1}
    for fact in facts:
        if fact.order < change.order and fact.t >= change.t - RECENTLY:
            orders |= {fact.order - 1, fact.order}
    for order in sorted(orders):
        deal = deals.row_at(deal_id, order)
        if deal is None:
            continue
        people = [
            row
            for key in contacts.rows
            if (row := contacts.row_at(key, order)) is not None
            and row.account_id == deal.account_id
        ]
        champion = contacts.row_at(deal.champion_id or 0, order)
        if next_move(deal, champion, people).first == act:
            return ""
    return f"wasn't called for ({act})"
