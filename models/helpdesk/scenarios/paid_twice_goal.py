"""What is due back to a customer who says that they were charged twice, and what became of it."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from simharness.api import DAY, SECOND, Criterion, money
from simharness.models.helpdesk.base import AGENTS
from simharness.models.helpdesk.house import house_of, rule_id
from simharness.models.helpdesk.scenarios.footprint import Allowed, nothing_else, statements

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from simharness.api import Change, Ending
    from simharness.models.helpdesk.product import Helpdesk
    from simharness.models.helpdesk.scenarios.paid_twice import Taken
    from simharness.models.helpdesk.tables import Charge

LATELY = 60 * SECOND
"""For so long after money has come back a ticket may still be called pending: to look takes time,
and so do events."""
RECENT = 180 * DAY
"""Charges before that are another year's, and not what the customer means."""
DONE = ("solved", "closed")


class Case:
    """One customer's charges, and what was made of them."""

    def __init__(
        self, desk: Helpdesk, agent: str, story: Mapping[str, Any], layout: Sequence[Taken]
    ) -> None:
        self.desk = desk
        self.agent = agent
        self.story = story
        self.layout = layout

    # --- what it is about -------------------------------------------------------------------------

    @property
    def agent_id(self) -> int:
        """Give whom the agent is signed in as."""
        return int(self.story["agent"])

    @property
    def colleague(self) -> int:
        """Give the colleague who is busy with the same matter."""
        others = [key for key in range(2, len(AGENTS) + 1) if key != self.agent_id]
        shift: int = self.story["shift"]
        return others[shift % len(others)]

    @cached_property
    def charges(self) -> list[Charge]:
        """Give the charges of the layout, in its order."""
        # Theirs are the first that the instance has added.
        first = min(c.id for c in self.desk.charges.table if c.customer_id == self.customer_id)
        return [self.desk.charges.table.rows[first + k] for k in range(len(self.layout))]

    @property
    def customer_id(self) -> int:
        """Give the customer: the only one beyond those of the base."""
        return max(self.desk.customers.table.rows)

    @cached_property
    def tickets(self) -> list[int]:
        """Give the tickets that the customer had at the start, the agent's first."""
        table = self.desk.tickets.table
        first: int = self.story["ticket"]
        own = [row.id for row in table if row.customer_id == self.customer_id and row.id != first]
        return [first, *(key for key in own if table.row_at(key, 0) is not None)]

    @cached_property
    def due(self) -> list[int]:
        """Give the charges that are due back by the rules, once none is pending."""
        total = self.desk.orders.table.rows[self.charges[0].order_id].total
        equal = [
            (-taken.ago, row.id)
            for row, taken in zip(self.charges, self.layout, strict=True)
            if taken.order == 0 and "succeeded" in (taken.status, taken.becomes)
        ]
        if len(equal) * self.charges[0].amount <= total:
            return []
        equal.sort()
        keep = house_of(self.story).keep
        return [key for _, key in (equal[1:] if keep == "first" else equal[:-1])]

    @cached_property
    def meant(self) -> list[int]:
        """Give the charges that the customer means and that are in the ledger."""
        return [
            row.id
            for row, taken in zip(self.charges, self.layout, strict=True)
            if taken.ago < RECENT and "succeeded" in (taken.status, taken.becomes)
        ]

    # --- the money --------------------------------------------------------------------------------

    @cached_property
    def paid_back(self) -> dict[int, list[tuple[int, int, int]]]:
        """Give what the ledger has paid back of each charge: amount, commit order and tick.

        Order and tick are 0 for what was back at the start.
        """
        desk = self.desk
        out: dict[int, list[tuple[int, int, int]]] = {}
        for entry in desk.entries.table:
            if entry.kind != "refund":
                continue
            refund = desk.refunds.true(int(entry.ref.partition("-")[2]))
            made = desk.entries.table.history.get(entry.id, [])
            order, t = (made[0].order, made[0].t) if made else (0, 0)
            if refund is not None:
                out.setdefault(refund.charge_id, []).append((entry.amount, order, t))
        return out

    @cached_property
    def reason(self) -> int | None:
        """Give the commit after which there was something to say; None where there never was.

        By then what was pending has come to its end, of each charge that is due a refund was made
        that came to something, and the agent has looked at each charge in question.
        """
        desk, orders = self.desk, [0]
        for row, taken in zip(self.charges, self.layout, strict=True):
            ends = [
                c.order
                for c in desk.charges.table.history.get(row.id, ())
                if c.old is not None and c.old.status == "pending" != c.new.status
            ]
            if taken.becomes and not ends:
                return None
            orders += ends[:1]
        for key in self.due:
            # The first of a row's changes made it, unless it was there at the start.
            made = [
                past[0].order if past and past[0].old is None else 0
                for refund in desk.refunds.table
                if refund.charge_id == key and refund.status != "failed"
                for past in [desk.refunds.table.history.get(refund.id)]
            ]
            if not made:
                return None
            orders.append(max(made))
        for key in self.due or self.meant:
            if key not in desk.shown.since:
                return None
            orders.append(desk.shown.since[key])
        return max(orders)

    def exactly_the_duplicate(self) -> Criterion:
        """Judge what is back, by the ledger."""
        wrong: list[str] = []
        keys: list[str] = []
        for row in self.desk.charges.table:
            if row.customer_id != self.customer_id:
                continue
            back = sum(amount for amount, *_ in self.paid_back.get(row.id, ()))
            due = row.amount if row.id in self.due else 0
            if back != due:
                shown = f"{money.show(back, row.currency)} of {money.show(due, row.currency)}"
                wrong.append(f"charges:{row.id} has {shown} back")
                keys += [
                    f"refunds:{refund.id}.status"
                    for refund in self.desk.refunds.table
                    if refund.charge_id == row.id
                ]
        right = ", ".join(f"charges:{key}" for key in self.due) or "nothing"
        told = "; ".join(wrong) or f"{right} is back"
        return Criterion("exactly what is due is back", not wrong, told, tuple(keys))

    # --- the ticket -------------------------------------------------------------------------------

    @cached_property
    def writes(self) -> list[Change]:
        """Give the agent's commits of the ticket, or of what goes on in its place, oldest first.

        The customer's other ticket counts from when the first was merged into it, or if it was.
        """
        out = [
            change
            for key in self.tickets
            for change in self.desk.tickets.table.history.get(key, ())
            if change.owner == self.agent and key in (self.live, self.live_before(change.order))
        ]
        return sorted(out, key=lambda change: change.order)

    @property
    def live(self) -> int:
        """Give the ticket that goes on."""
        return self.desk.live(self.desk.tickets.table.rows[self.tickets[0]]).id

    def live_before(self, order: int) -> int:
        """Give the ticket that went on before a commit."""
        key = self.tickets[0]
        for _ in self.tickets:
            row = self.desk.tickets.table.row_at(key, order - 1)
            key = row.merged_into if row is not None and row.merged_into is not None else key
        return key

    def claimed(self) -> Criterion:
        """Judge that somebody sees to the ticket."""
        kept = self.story["kept"] == "yes"
        own = any(change.new.assignee_id == self.agent_id for change in self.writes)
        name = f"tickets:{self.live}"
        told = "a colleague keeps it" if kept else "claimed" if own else "never claimed"
        return Criterion("claimed", kept or own, f"{name} was {told}" if own else f"{name}: {told}")

    def true_status(self) -> Criterion:
        """Judge the status that the agent left.

        Customers who wrote after that, and colleagues who merged, take nothing from it.
        """
        told = statements(self.writes)
        name = f"tickets:{self.live}"
        if not told:
            return Criterion("true status", False, f"{name} was given none", (f"{name}.status",))
        last = told[-1]
        backs = [self.paid_back.get(key, [(0, 0, 0)])[-1] for key in self.due]
        back = all(key in self.paid_back for key in self.due)
        order = max((order for _, order, _ in backs), default=0)
        t = max((t for *_, t in backs), default=0)
        holds = False
        if self.reason is None or last.order <= self.reason:
            said = "before there was a reason"
        elif last.new.status in DONE:
            holds = back and last.order > order
            said = "after all was back" if holds else "before all was back"
        elif last.new.status == "pending":
            holds = bool(self.due) and not (back and last.t > t + LATELY)
            said = "with a refund under way" if holds else "with none under way"
        else:
            said = "and left so"
        final = self.desk.tickets.table.history[last.key][-1].owner == self.agent
        keys = (f"tickets:{last.key}.status",) if final else ()
        text = f"tickets:{last.key} was set to {last.new.status} {said}"
        return Criterion("true status", holds, text, keys)

    def answered(self) -> Criterion:
        """Judge that the customer was told something, once there was something to tell."""
        table, reason = self.desk.messages.table, self.reason
        own = [
            change.key
            for change in table.changes
            if change.owner == self.agent
            and change.old is None
            and change.new.public
            and table.rows[change.key].ticket_id == self.live
            and reason is not None
            and change.order > reason
        ]
        told = f"messages:{own[0]}" if own else f"tickets:{self.live} has no public answer to that"
        return Criterion("answered in public", bool(own), told)

    # --- the ending -------------------------------------------------------------------------------

    def told(self, ending: Ending) -> Criterion:
        """Judge outcome and refs."""
        rule = rule_id(self.desk.policies.table.rows, "duplicates")
        refused = not self.due
        named = self.meant if refused else self.due
        needed = {f"charges:{key}" for key in named}
        if refused:
            needed.add(f"policies:{rule}")
        beside = {f"tickets:{key}" for key in self.tickets}
        beside.add(f"policies:{rule}")
        beside |= {f"refunds:{r.id}" for r in self.desk.refunds.table if r.charge_id in self.due}
        beside |= {f"orders:{row.order_id}" for row in self.charges}
        author = f"customers:{self.customer_id}"
        beside.add(author)
        beside |= {f"messages:{m.id}" for m in self.desk.messages.table if m.author == author}
        wanted = "refused" if refused else "done"
        refs = set(ending.refs)
        missing = sorted(needed - refs)
        foreign = sorted(refs - needed - beside)
        holds = ending.outcome == wanted and not missing and not foreign
        text = f"outcome {ending.outcome!r}, {wanted!r} is right"
        text += f"; missing {', '.join(missing)}" if missing else ""
        text += f"; foreign {', '.join(foreign)!a:.80}" if foreign else ""
        return Criterion("finish says what it rests on", holds, text)

    def judge(self, ending: Ending) -> tuple[Criterion, ...]:
        """Judge all of it."""
        allowed = Allowed(tickets=self.tickets, charges=self.due, merges=True)
        return (
            self.exactly_the_duplicate(),
            self.true_status(),
            self.answered(),
            self.claimed(),
            self.told(ending),
            nothing_else(self.desk, self.agent, allowed),
        )
