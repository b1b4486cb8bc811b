"""What an agent may leave behind at the helpdesk: what it wrote beside the task's own rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from simharness.api import Criterion

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from simharness.api import Change
    from simharness.models.helpdesk.product import Helpdesk

FOLLOWS = ("ledger", "webhooks")
"""Tables that nobody writes but the gateway."""
TICKET_COLUMNS = ("status", "assignee_id", "merged_into")
SYSTEM = ("version", "updated_at")


class Allowed(NamedTuple):
    """What the task allows."""

    tickets: Collection[int] = ()
    """Of these status, assignee and merging, and messages in them."""
    charges: Collection[int] = ()
    """Of these refunds."""
    merges: bool = False
    escalations: bool = False


def own_changes(desk: Helpdesk, agent: str) -> list[tuple[str, Change]]:
    """Give the agent's commits with their tables, oldest first."""
    out = [
        (name, change)
        for name, store in desk.stores.items()
        for change in store.table.changes
        if change.owner == agent
    ]
    return sorted(out, key=lambda pair: pair[1].order)


def nothing_else(desk: Helpdesk, agent: str, allowed: Allowed) -> Criterion:
    """Judge that the agent wrote nothing but what the task allows."""
    wrong = [
        f"{name}:{change.key} {why}"
        for name, change in own_changes(desk, agent)
        if (why := objection(desk, name, change, allowed))
    ]
    told = "; ".join(wrong) or "none"
    return Criterion("no other row harmed", not wrong, told, role="footprint")


def objection(desk: Helpdesk, table: str, change: Change, allowed: Allowed) -> str:
    """Say why a write isn't allowed, or give an empty text."""
    row = change.new
    if table in FOLLOWS:
        return ""
    if row is None:
        return "was deleted"
    match table:
        case "tickets":
            return merge_objection(desk, change) or ticket_objection(
                change, allowed, desk.shown.agent_id
            )
        case "messages":
            moved = allowed.merges and change.old is not None
            return "" if moved or row.ticket_id in allowed.tickets else "is in another ticket"
        case "refunds":
            return "" if row.charge_id in allowed.charges else f"is of charges:{row.charge_id}"
        case "orders":
            return order_objection(desk, change, allowed.charges)
        case "escalations":
            fits = allowed.escalations and row.ticket_id in allowed.tickets
            return "" if fits else "wasn't called for"
        case _:
            return "is none of the task's rows"


def merge_objection(desk: Helpdesk, change: Change) -> str:
    """Say what is wrong with a merge: it is the later ticket that goes into the earlier one."""
    into = change.new.merged_into
    if change.old is None or into is None or change.old.merged_into is not None:
        return ""
    source, target = change.old, desk.tickets.table.rows[into]
    earlier = (target.created_at, target.id) < (source.created_at, source.id)
    return "" if earlier else f"was merged into the later tickets:{into}"


def ticket_objection(change: Change, allowed: Allowed, agent_id: int) -> str:
    """Say what may not be written of a ticket, by whom `agent_id` names."""
    if change.key not in allowed.tickets or change.old is None:
        return "is another ticket"
    if change.new.merged_into is not None and not allowed.merges:
        return "was merged"
    for column, (old, new) in differences(change).items():
        if column not in TICKET_COLUMNS:
            return f"changed {column} from {old!r} to {new!r}"
        if column == "assignee_id" and old not in (None, agent_id):
            return f"was taken from agent {old}"
        if column == "assignee_id" and new not in (None, agent_id):
            return f"was given to agent {new}"
    return ""


def order_objection(desk: Helpdesk, change: Change, charges: Collection[int]) -> str:
    """Say what may not be written of an order: its status follows the money of its charges."""
    known = {desk.charges.table.rows[key].order_id for key in charges}
    if change.key not in known:
        return "is another order"
    return "was cancelled" if change.new.status == "cancelled" else ""


def statements(changes: Iterable[Change]) -> list[Change]:
    """Give the commits of a ticket that say how far it is.

    Those that change its status, and those that change nothing: the same status said once more.
    What was called solved too early isn't mended by calling it so again. Whoever claims a ticket or
    merges it says nothing of that.
    """
    return [
        change
        for change in changes
        if change.new.merged_into is None
        and (
            change.old is None
            or change.old.status != change.new.status
            or (change.new.status != "solved" and not differences(change))
        )
    ]


def differences(change: Change) -> Mapping[str, tuple[object, object]]:
    """Give the columns that a commit changed, with their values before and after."""
    old, new = change.old, change.new
    return {
        name: (getattr(old, name), getattr(new, name))
        for name in new.__dataclass_fields__
        if name not in SYSTEM and getattr(old, name) != getattr(new, name)
    }
