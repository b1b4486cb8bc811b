"""What tasks about one ticket and the money of one charge have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from simharness.api import SECOND, Scenario
from simharness.models.helpdesk.base import EPOCH, base_rows
from simharness.models.helpdesk.habits import TEAM
from simharness.models.helpdesk.people.customers import start_customers, write_later
from simharness.models.helpdesk.people.days import Bank
from simharness.models.helpdesk.people.machines import start_machines
from simharness.models.helpdesk.people.rivals import start_crowd
from simharness.models.helpdesk.people.team import start_team

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from simharness.api import Drawing, Row
    from simharness.models.helpdesk.product import Helpdesk

BANKS = ("good", "late", "slow", "declines", "takes back", "takes back twice")
"""Days of the bank that carries out what the agent pays back."""


class RefundTask(Scenario["Helpdesk"]):
    """A task in which an agent may have to pay something of one charge back."""

    epoch = EPOCH
    team = TEAM
    steps_max = 120

    def base_rows(self) -> Mapping[str, Sequence[Row]]:
        """Give the helpdesk."""
        return base_rows()

    @staticmethod
    def draw_money(drawing: Drawing) -> None:
        """Draw the agent, and what is bought."""
        drawing.between("shift", 0, 40)
        drawing.between("agent", 4, 8)
        drawing.pick("currency", ("EUR", "JPY", "KWD", "USD"), (20, 28, 25, 27))
        drawing.between("price", 2_000, 48_000)
        drawing.between("tax_pct", 5, 25)

    @staticmethod
    def draw_others(drawing: Drawing) -> None:
        """Draw how patient the customer is, and what becomes of the agent's refunds."""
        drawing.pick("impatient", ("no", "yes"), (60, 40))
        drawing.between("impatient_at", 20, 160)
        drawing.pick("bank", BANKS, (42, 11, 12, 12, 15, 8))
        drawing.between("settle_seconds", 15, 95)

    def start_others(self, desk: Helpdesk, story: Any, ticket_id: int, charge_id: int) -> None:
        """Start the bank, the customer, those who are busy with the ticket, and everybody else."""
        settle_after = story["settle_seconds"] * SECOND
        Bank(desk, [charge_id], story["bank"], by=self.agent, settle_after=settle_after)
        if story["impatient"] == "yes":
            ms = story["impatient_at"] * 1000
            write_later(desk, "customer/impatient", ms, ticket_id, "Any news?")
        start_crowd(desk, [ticket_id], away=[story["agent"]])
        start_team(desk, away=story["agent"])
        start_customers(desk)
        start_machines(desk)
