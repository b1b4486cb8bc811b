"""The goal of helpdesk/partial-refund: what had to go back, and what did."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from simharness.api import SECOND, Criterion, money
from simharness.models.helpdesk.proration import Purchase, Rounding, Rule, due, tax_due
from simharness.models.helpdesk.scenarios.deeds import RECENTLY, Deeds

if TYPE_CHECKING:
    from simharness.api import Change, Ending
    from simharness.models.helpdesk.product import Helpdesk
    from simharness.models.helpdesk.tables import Refund

WATCH_SECONDS = 120
"""For so long after it was made an agent looks what becomes of a refund."""


class Truth(NamedTuple):
    """What an agent has to find out."""

    ticket_id: int
    charge_id: int
    rule: Rule
    policy_id: int
    """The row in which it stands."""
    rounding: Rounding
    rounding_id: int
    bought: Purchase
    cancelled: int
    """Day of the cancellation, as it is said at the start."""
    corrected: int
    """The day that the customer names later instead, if so."""


class Judge:
    """Holds the end of an episode against the rules."""

    def __init__(self, desk: Helpdesk, truth: Truth, agent: str, customer: str) -> None:
        self.desk = desk
        self.truth = truth
        self.customer = customer
        """The actor who names another day."""
        self.deeds = Deeds(desk, agent, truth.ticket_id, truth.charge_id)
        self.own = frozenset(change.key for change in self.deeds.refunds)

    def judge(self, ending: Ending) -> tuple[Criterion, ...]:
        """Judge amount, tax, ticket, reply, refs, and what else was touched."""
        sent = self.deeds.sent()
        dues = self._dues(sent)
        reason = self.deeds.reason(sent[-1].order if sent else self._nothing_due_since())
        return (
            self._amount(sent, dues),
            self._taxes(sent, dues),
            self._ticket(sent, ending, reason),
            self.deeds.told(reason),
            self._named(sent, ending),
            self.deeds.footprint(),
        )

    # --- the amount -------------------------------------------------------------------------------

    def due_at(self, order: int) -> int:
        """Give what was due of the charge after a commit, in minor units, by the agent's hand."""
        truth = self.truth
        said = self.desk.messages.table.changes
        corrected = any(c.owner == self.customer and c.order <= order for c in said)
        day = truth.corrected if corrected else truth.cancelled
        back = sum(refund.amount for refund in self._live(order) if refund.id not in self.own)
        return due(truth.rule, truth.rounding, truth.bought, day, back)

    def _live(self, order: int) -> list[Refund]:
        """Give the refunds of the charge that hadn't failed after a commit."""
        table = self.desk.refunds.table
        rows = [table.row_at(key, order) for key in table.rows]
        return [
            row
            for row in rows
            if row is not None and row.charge_id == self.truth.charge_id and row.status != "failed"
        ]

    def _dues(self, sent: list[Change]) -> list[int]:
        """Give what was due when the agent last paid, or in the end, or shortly before."""
        desk, world = self.desk, self.desk.world
        order, t = (sent[-1].order - 1, sent[-1].t) if sent else (world.order, world.ticks)
        places = self.deeds.lately((desk.refunds.table, desk.messages.table), order, t)
        return [self.due_at(place) for place in places]

    def _nothing_due_since(self) -> int:
        """Give the commit since which nothing was due, in the end or shortly before; 0: always."""
        desk, world = self.desk, self.desk.world
        tables = desk.refunds.table, desk.messages.table
        places = self.deeds.lately(tables, world.order, world.ticks)
        last = next((place for place in places if self.due_at(place) == 0), 0)
        orders = sorted(c.order for table in tables for c in table.changes if c.order <= last)
        return next((order for order in reversed(orders) if self.due_at(order - 1)), 0)

    def _amount(self, sent: list[Change], dues: list[int]) -> Criterion:
        moved = sum(self.deeds.moved(change.key) for change in sent)
        charge = f"charges:{self.truth.charge_id}"
        refunds = " ".join(f"refunds:{change.key}" for change in sent) or "nothing"
        currency = self.truth.bought.currency
        told = (
            f"of {charge} went back {money.show(moved, currency)} ({refunds}), "
            f"due were {money.show(dues[0], currency)}"
        )
        keys = tuple(f"refunds:{change.key}.amount" for change in sent) or (f"{charge}.amount",)
        undue = [c.key for c in self.deeds.refunds if c not in sent and not self._was_due(c)]
        if undue:
            told = f"refunds:{undue[0]} came to nothing, and asked for more than was due"
            keys = (f"refunds:{undue[0]}.amount",)
        right = moved in dues and not undue
        return Criterion("exactly what was due is back", right, told, keys)

    def _was_due(self, made: Change) -> bool:
        """Tell whether no more was asked for by a refund than was due then, or shortly before."""
        tables = self.desk.refunds.table, self.desk.messages.table
        places = self.deeds.lately(tables, made.order - 1, made.t)
        return any(made.new.amount <= self.due_at(place) for place in places)

    def _taxes(self, sent: list[Change], dues: list[int]) -> Criterion:
        """Each refund has the tax that all those of the charge should have with it."""
        charge = self.desk.charges.table.rows[self.truth.charge_id]
        tax = self.desk.orders.table.rows[charge.order_id].tax
        wrong: list[str] = []
        for change in sent:
            row: Refund = change.new
            before = [(r.amount, r.tax) for r in self._live(change.order - 1)]
            wanted = tax_due(tax, charge.amount, row.amount, before)
            if (row.tax, row.net) != (wanted, row.amount - wanted):
                wrong.append(f"refunds:{row.id} has a tax of {row.tax}, due are {wanted}")
        name = "with its net and tax"
        if not sent:
            return Criterion(
                name, 0 in dues, "nothing has gone back", (f"charges:{charge.id}.amount",)
            )
        told = "; ".join(wrong) or "net and tax are as they should be"
        keys = tuple(f"refunds:{change.key}.{part}" for change in sent for part in ("net", "tax"))
        return Criterion(name, not wrong, told, keys)

    # --- the ticket -------------------------------------------------------------------------------

    def _ticket(self, sent: list[Change], ending: Ending, reason: int | None) -> Criterion:
        """Solved once all has arrived, or pending while it hadn't, and set after the reason."""
        key = f"tickets:{self.truth.ticket_id}"
        keys = self.deeds.status_keys()
        name = "the ticket says how far it is"
        if not self.deeds.statements:
            return Criterion(name, False, f"{key} is as it was", keys)
        last = self.deeds.statements[-1]
        status, at = last.new.status, self.desk.world.epoch + last.t
        told = f"{key} was set to {status}"
        if reason is None or last.order <= reason:
            return Criterion(name, False, f"{told}, before there was a reason", keys)
        if status == "solved":
            late = [c.key for c in sent if self.deeds.was(c.new, at) != "succeeded"]
            what = f"and refunds:{late[0]} had not arrived" if late else "and all had arrived"
            return Criterion(name, not late, f"{told}, {what}", keys)
        end = ending.at or self.desk.world.instant
        watched = [c for c in sent if c.new.created_at + WATCH_SECONDS * SECOND <= end]
        away = [c for c in sent if self.deeds.was(c.new, end - RECENTLY) != "succeeded"]
        right = status == "pending" and bool(away) and len(watched) == len(sent)
        what = "nothing was under way" if not away else f"refunds:{away[0].key} was under way"
        early = ", and was not looked for long enough" if len(watched) < len(sent) else ""
        return Criterion(name, right, f"{told}, and {what}{early}", keys)

    # --- the ending -------------------------------------------------------------------------------

    def _named(self, sent: list[Change], ending: Ending) -> Criterion:
        truth, name = self.truth, "told with what it rests on"
        outcome = "done" if sent else "refused"
        if ending.outcome != outcome:
            told = f"the outcome is {ending.outcome!r}, called for is {outcome!r}"
            return Criterion(name, False, told)
        moved = f"refunds:{sent[-1].key}" if sent else f"charges:{truth.charge_id}"
        refunds = self.desk.refunds.table
        fit = [
            *self.deeds.about(),
            f"policies:{truth.rounding_id}",
            *(f"refunds:{r.id}" for r in refunds if r.charge_id == truth.charge_id),
        ]
        wrong = self.deeds.named(ending, (f"policies:{truth.policy_id}", moved), fit)
        return Criterion(name, not wrong, wrong or f"refs name the rule and {moved}")
