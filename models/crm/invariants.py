"""What must always hold in the CRM."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simharness.models.crm.rules import DISCOUNT_FREE, OPEN_STAGES

if TYPE_CHECKING:
    from simharness.models.crm.stores import CrmStores


def broken(crm: CrmStores) -> list[str]:
    """Name what is broken: an open deal without a live owner, a deal won against the rules."""
    users = crm.users.table.rows
    broken: list[str] = []
    for deal in crm.deals.table:
        if deal.stage in OPEN_STAGES:
            owner = users.get(deal.owner_id or 0)
            if owner is None or not owner.active:
                broken.append(
                    f"deals:{deal.id} is open, its owner {deal.owner_id} is no active user"
                )
        elif deal.stage == "closed_won":
            if deal.legal != "cleared":
                broken.append(f"deals:{deal.id} is won and legal says {deal.legal}")
            if deal.discount_pct > DISCOUNT_FREE and deal.approval != "approved":
                broken.append(
                    f"deals:{deal.id} is won at {deal.discount_pct} percent: {deal.approval}"
                )
    return broken
