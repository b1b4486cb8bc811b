"""Those who have to do with the very ticket and charge that the agent works on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from simharness.api import MS, later

if TYPE_CHECKING:
    from collections.abc import Generator

    from simharness.api import Actor
    from simharness.models.helpdesk.product import Helpdesk


def pay_unless(desk: Helpdesk, ms: int, charge_id: int, amount: int, *, unless: str) -> None:
    """Let a colleague pay something of a charge back, unless an actor has done so by then."""
    charge = desk.charges.table.rows[charge_id]

    def act(actor: Actor) -> Generator[Any, Any, None]:
        if not paid_by(desk, unless, charge_id):
            yield from desk.request(
                actor,
                "refund",
                charge_id=charge_id,
                amount=amount,
                currency=charge.currency,
                reason="goodwill",
            )

    later(desk.world, "colleague", 0, ms * MS, act)


def write_unless(
    desk: Helpdesk, who: str, ms: int, ticket_id: int, body: str, *, charge_id: int, unless: str
) -> None:
    """Let the customer of a ticket write, unless an actor has paid back of a charge by then."""

    def act(actor: Actor) -> Generator[Any, Any, None]:
        if not paid_by(desk, unless, charge_id):
            yield from desk.perform(
                actor, "customer.write", {"ticket_id": f"TK-{ticket_id}", "body": body}
            )

    later(desk.world, who, -desk.tickets.table.rows[ticket_id].customer_id, ms * MS, act)


def paid_by(desk: Helpdesk, owner: str, charge_id: int) -> bool:
    """Tell whether an actor has made a refund of a charge that hasn't failed."""
    rows = desk.refunds.table.rows
    return any(
        change.owner == owner
        and change.old is None
        and rows[change.key].charge_id == charge_id
        and rows[change.key].status != "failed"
        for change in desk.refunds.table.changes
    )
