"""What must always hold in the CRM."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simharness.models.crm.rules import DISCOUNT_FREE, OPEN_STAGES

if TYPE_CHECKING:
    from simharness.models.crm.stores import CrmStores
    from simharness.models.crm.tables import Deal


def broken(crm: CrmStores) -> list[str]:
    """Name what is broken: unique columns, live owners of open deals, the rules of closed_won."""
    return [*shared_values(crm), *deals_against_the_rules(crm)]


def shared_values(crm: CrmStores) -> list[str]:
    """Name rows that share what is unique."""
    out: list[str] = []
    for name, store in crm.stores.items():
        for column in store.spec.unique:
            holders: dict[object, int] = {}
            for row in store.table:
                value = getattr(row, column)
                if value is None:
                    continue
                if value in holders:
                    out.append(f"{name}:{row.id} and {name}:{holders[value]} share {column}")
                holders.setdefault(value, row.id)
    return out


def deals_against_the_rules(crm: CrmStores) -> list[str]:
    """Name open deals without a live owner, and deals that were won against the rules."""
    users = crm.users.table.rows
    out: list[str] = []
    for deal in crm.deals.table:
        if deal.stage in OPEN_STAGES:
            owner = users.get(deal.owner_id or 0)
            if (owner is None or not owner.active) and was_owned(crm, deal):
                out.append(f"deals:{deal.id} is open, its owner {deal.owner_id} is no active user")
        elif deal.stage == "closed_won":
            if deal.legal != "cleared":
                out.append(f"deals:{deal.id} is won and legal says {deal.legal}")
            if deal.discount_pct > DISCOUNT_FREE and deal.approval != "approved":
                out.append(
                    f"deals:{deal.id} is won at {deal.discount_pct} percent: {deal.approval}"
                )
            if won_without_champion(crm, deal.id):
                out.append(f"deals:{deal.id} was won without an active champion")
    return out


def was_owned(crm: CrmStores, deal: Deal) -> bool:
    """Tell whether a deal has, or ever had, an owner; one that came in without may wait for one."""
    changes = crm.deals.table.history.get(deal.id, ())
    past = (row for change in changes for row in (change.old, change.new) if row is not None)
    return deal.owner_id is not None or any(row.owner_id is not None for row in past)


def won_without_champion(crm: CrmStores, deal_id: int) -> bool:
    """Tell whether a deal had no active champion when it was won; who leaves later may."""
    for change in reversed(crm.deals.table.history.get(deal_id, [])):
        if change.old is None or change.old.stage != "closed_won":
            champion = crm.contacts.table.row_at(change.new.champion_id or 0, change.order)
            return champion is None or champion.status != "active"
    return False  # it was won before the start
