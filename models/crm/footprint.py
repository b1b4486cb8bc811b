"""What the agent may write when it works on one deal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simharness.models.crm.rules import DISCOUNT_FREE
from simharness.models.crm.tables import Deal

if TYPE_CHECKING:
    from simharness.api import Change
    from simharness.models.crm.product import Crm

EDITABLE = ("stage", "next_step", "legal", "champion_id", "lost_reason", "approval")


def forbidden_writes(crm: Crm, deal_id: int, agent: str) -> list[str]:
    """List the agent's commits that the task doesn't allow, each with its row, in commit order."""
    out: list[tuple[int, str]] = []
    for name, store in crm.stores.items():
        for change in store.table.changes:
            reason = objection(crm, name, change, deal_id) if change.owner == agent else ""
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
        if table == "quotes" and row.discount_pct != DISCOUNT_FREE:
            return f"offers {row.discount_pct} percent"
        if table == "emails":
            champion = crm.deals.table.row_at(deal_id, change.order)
            if row.template != "contract":
                return f"is a {row.template} mail"
            if champion is None or champion.champion_id != row.contact_id:
                return f"went to contacts:{row.contact_id}, who wasn't the champion"
        return ""
    return "is none of the task's tables"


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
    return ""
