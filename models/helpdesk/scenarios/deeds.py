"""What an agent did about one ticket and one charge, by the rows and the gateway's ledger."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from simharness.api import SECOND, Criterion
from simharness.models.helpdesk.scenarios.footprint import Allowed, nothing_else, statements

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from simharness.api import Change, Ending, Table
    from simharness.models.helpdesk.product import Helpdesk
    from simharness.models.helpdesk.tables import Refund

RECENTLY = 60 * SECOND
"""Simulated time for which what was so is still a good reason: an agent needs some to look, to
think and to act, and others act meanwhile."""


class Deeds:
    """The commits of one agent, and what stood before each."""

    def __init__(self, desk: Helpdesk, agent: str, ticket_id: int, charge_id: int) -> None:
        self.desk = desk
        self.agent = agent
        self.ticket_id = ticket_id
        self.charge_id = charge_id
        self.refunds: list[Change] = [
            change for change in self._of(desk.refunds.table) if change.old is None
        ]
        """Refunds that it made, of whatever charge, in their order."""
        self.ticket: list[Change] = [
            change for change in self._of(desk.tickets.table) if change.key == ticket_id
        ]
        """Its commits of the ticket."""
        self.statements = statements(self.ticket)
        """Those that say how far it is."""

    def _of(self, table: Table[Any]) -> list[Change]:
        return [change for change in table.changes if change.owner == self.agent]

    def status_keys(self) -> tuple[str, ...]:
        """Give what a criterion about the ticket's status rests on.

        Nothing where somebody else has set it since: what counts is how the agent left it.
        """
        now = self.desk.tickets.table.rows[self.ticket_id].status
        left = self.statements[-1].new.status if self.statements else now
        return (f"tickets:{self.ticket_id}.status",) if now == left else ()

    # --- money ------------------------------------------------------------------------------------

    def moved(self, refund_id: int) -> int:
        """Give what the gateway has paid back for a refund, in minor units."""
        ref = f"refunds:{refund_id}"
        return sum(moved.amount for moved in self.desk.gateway.ledger.movements if moved.ref == ref)

    def fate(self, refund: Refund) -> tuple[str, int]:
        """Give what has become of a refund by the gateway, and the instant since which it is so."""
        status, since = self.desk.gateway.fate(f"refunds:{refund.id}")
        return (status, since) if status else (refund.status, refund.updated_at)

    def was(self, refund: Refund, instant: int) -> str:
        """Give what had become of a refund by the gateway at some instant after it was made."""
        status, since = self.fate(refund)
        return status if instant >= since else "pending"

    def sent(self) -> list[Change]:
        """Give the refunds of the charge by which it has paid something back."""
        return [c for c in self.refunds if c.new.charge_id == self.charge_id and self.moved(c.key)]

    # --- what was so ------------------------------------------------------------------------------

    def lately(self, tables: Collection[Table[Any]], order: int, t: int) -> Iterator[int]:
        """Give the places in the order of commits at which others left things standing.

        The place `order` itself, and those before and after each of their commits in some tables
        within the last minute before tick `t`.
        """
        found = {order: None}
        for table in tables:
            for change in table.changes:
                others = change.owner != self.agent
                if others and change.order <= order and change.t >= t - RECENTLY:
                    found |= {change.order - 1: None, change.order: None}
        yield from sorted(found, reverse=True)

    # --- criteria ---------------------------------------------------------------------------------

    def reason(self, order: int) -> int | None:
        """Give the commit after which something can be said that is so since commit `order`.

        Nobody has a reason before having looked at the charge or its refunds: None without a look.
        """
        looked = self.desk.shown.since.get(self.charge_id)
        return None if looked is None else max(looked, order)

    def told(self, reason: int | None) -> Criterion:
        """Judge whether the customer was told in public, after the commit that was the reason."""
        messages = [
            change.key
            for change in self._of(self.desk.messages.table)
            if change.old is None
            and change.new.ticket_id == self.ticket_id
            and change.new.public
            and reason is not None
            and change.order > reason
        ]
        said = f"messages:{messages[-1]}" if messages else "no public reply afterwards"
        evidence = f"{said} on tickets:{self.ticket_id}"
        return Criterion("the customer was told", bool(messages), evidence)

    def named(self, ending: Ending, wanted: Collection[str], fit: Collection[str]) -> str:
        """Say what is wrong with the refs of an ending, or give an empty text.

        All of `wanted` have to be there, and beside them only those that fit.
        """
        for ref in wanted:
            if ref not in ending.refs:
                return f"refs don't name {ref}"
        for ref in ending.refs:
            if ref not in wanted and ref not in fit:
                return f"{ref!a:.60} is no ground for that"
        return ""

    def about(self) -> list[str]:
        """Name the rows that the task is about, which refs may always name."""
        desk = self.desk
        charge = desk.charges.table.rows[self.charge_id]
        messages = [m.id for m in desk.messages.table if m.ticket_id == self.ticket_id]
        return [
            f"tickets:{self.ticket_id}",
            f"customers:{charge.customer_id}",
            f"orders:{charge.order_id}",
            f"charges:{self.charge_id}",
            *(f"messages:{key}" for key in messages),
        ]

    def footprint(self) -> Criterion:
        """Judge what it wrote beside the ticket, its thread, and refunds of the charge."""
        return nothing_else(self.desk, self.agent, Allowed((self.ticket_id,), (self.charge_id,)))
