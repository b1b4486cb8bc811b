"""What helpdesk/escalate pays for: the request as it stood when the agent acted upon it."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from simharness.api import SECOND, Criterion
from simharness.models.helpdesk.authority import (
    LIMIT,
    ORDER,
    PARKING,
    Facts,
    asked,
    title_of,
)
from simharness.models.helpdesk.scenarios.footprint import Allowed, nothing_else, statements

if TYPE_CHECKING:
    from collections.abc import Iterator

    from simharness.api import Change, Ending
    from simharness.models.helpdesk.authority import Authority
    from simharness.models.helpdesk.product import Helpdesk

RECENTLY = 60 * SECOND
"""Simulated time for which facts still count that have changed: the agent needs it to see and to
act. For so long a ticket may also be called pending after its money has come back."""


class Decision(NamedTuple):
    """What the rules make of a request."""

    reason: str
    """Why it is a team's; empty where the agent may pay back."""
    amount: int
    """What was asked for."""


class Case:
    """One request, and what was made of it."""

    def __init__(self, desk: Helpdesk, rules: Authority, agent: str, agent_id: int, ticket: int):
        self.desk = desk
        self.rules = rules
        self.agent = agent
        self.agent_id = agent_id
        self.ticket = ticket

    # --- what it is about -------------------------------------------------------------------------

    @cached_property
    def customer_id(self) -> int:
        """Give the customer."""
        return self.desk.tickets.table.rows[self.ticket].customer_id

    @cached_property
    def charge_id(self) -> int:
        """Give the charge in question: the newest that the customer had at the start."""
        table = self.desk.charges.table
        began = [row for key in table.rows if (row := table.row_at(key, 0)) is not None]
        own = [c for c in began if c.customer_id == self.customer_id and c.status != "failed"]
        return max(own, key=lambda charge: (charge.created_at, charge.id)).id

    @cached_property
    def role(self) -> str:
        """Give the agent's role."""
        return self.desk.agents.table.rows[self.agent_id].role

    @cached_property
    def refund_ids(self) -> list[int]:
        """List all refunds of the charge."""
        rows = self.desk.refunds.table
        return [row.id for row in rows if row.charge_id == self.charge_id]

    @cached_property
    def message_ids(self) -> list[int]:
        """List what the customer has written into the ticket."""
        author = f"customers:{self.customer_id}"
        rows = self.desk.messages.table.where(ticket_id=self.ticket)
        return [row.id for row in rows if row.author == author]

    def facts(self, order: int) -> Facts:
        """Give the facts after a commit."""
        desk = self.desk
        charge = desk.charges.table.row_at(self.charge_id, order)
        assert charge is not None
        refunds = (desk.refunds.table.row_at(key, order) for key in self.refund_ids)
        earlier = sum(row.amount for row in refunds if row is not None and row.status != "failed")
        messages = (desk.messages.table.row_at(key, order) for key in self.message_ids)
        texts = tuple(row.body for row in messages if row is not None)
        return Facts(
            asked=asked(texts, charge.amount - earlier),
            earlier=earlier,
            texts=texts,
            disputed=charge.status == "disputed",
            title=desk.orders.table.rows[charge.order_id].title,
            currency=charge.currency,
            role=self.role,
        )

    def decision(self, order: int) -> Decision:
        """Give what the rules make of the facts after a commit."""
        facts = self.facts(order)
        return Decision(self.rules.reason(facts), facts.asked)

    def decisions(self, act: Change) -> set[Decision]:
        """Give what the rules made of it when the agent acted, or shortly before."""
        return {self.decision(order) for order in self.moments(act)}

    def moments(self, act: Change) -> Iterator[int]:
        """Give the place of a commit's past in the order, and of those that are not long past."""
        desk = self.desk
        yield act.order - 1
        author = f"customers:{self.customer_id}"
        for change in reversed(desk.messages.table.changes):
            if change.t < act.t - RECENTLY:
                break
            if change.order < act.order and change.new is not None and change.new.author == author:
                yield change.order - 1
        past = [*desk.charges.table.history.get(self.charge_id, ())]
        past += [c for c in desk.refunds.table.changes if c.new.charge_id == self.charge_id]
        yield from (c.order - 1 for c in past if act.t - RECENTLY <= c.t and c.order < act.order)

    # --- what the agent did -----------------------------------------------------------------------

    def made(self, table: str) -> list[Change]:
        """Give the rows of a table that the agent made, oldest first."""
        changes = self.desk.stores[table].table.changes
        return [c for c in changes if c.owner == self.agent and c.old is None]

    @cached_property
    def escalations(self) -> list[Change]:
        """Give what it asked other teams for."""
        return self.made("escalations")

    @cached_property
    def refunds(self) -> list[Change]:
        """Give what it paid back, or wanted to."""
        return self.made("refunds")

    @cached_property
    def live(self) -> list[int]:
        """Give its refunds that have not failed."""
        rows = self.desk.refunds.table.rows
        return [c.key for c in self.refunds if rows[c.key].status != "failed"]

    def is_decided(self) -> bool:
        """Tell whether the agent has acted by now."""
        return bool(self.made("escalations") or self.made("refunds"))

    def returned(self, refund_id: int) -> Change | None:
        """Give the entry of a refund in the ledger; None where it isn't back."""
        ref = f"RF-{refund_id}"
        return next((c for c in self.desk.entries.table.changes if c.new.ref == ref), None)

    # --- criteria ---------------------------------------------------------------------------------

    def by_the_rules(self) -> Criterion:
        """Whatever the agent did was what the rules said then."""
        wrong: list[str] = []
        for act in self.escalations:
            teams = {self.rules.teams[d.reason] for d in self.decisions(act) if d.reason}
            if act.new.team not in teams:
                right = " or ".join(sorted(teams)) or "nobody"
                wrong.append(f"escalations:{act.key} is to {act.new.team!a:.40}, not to {right}")
        for act in self.refunds:
            amounts = {d.amount for d in self.decisions(act) if not d.reason}
            if act.new.amount not in amounts:
                right = " or ".join(str(a) for a in sorted(amounts)) or "nothing"
                wrong.append(f"refunds:{act.key} is of {act.new.amount}, not of {right}")
        if self.escalations and self.live:
            wrong.append(f"refunds:{self.live[0]} was made beside an escalation")
        if len(self.live) > 1:
            wrong.append(f"refunds:{self.live[1]} is a second one")
        if not self.escalations and not self.live:
            wrong.append("nothing was paid back and nobody was asked")
        keys = (
            *(f"escalations:{c.key}.team" for c in self.escalations),
            *(f"refunds:{c.key}.amount" for c in self.refunds),
        )
        told = "; ".join(wrong) or ", ".join(key.partition(".")[0] for key in keys)
        return Criterion("by the rules", not wrong, told, keys)

    def by_the_ledger(self) -> Criterion:
        """What was to be paid back is back; of what a team decides nothing is."""
        table = self.desk.refunds.table
        wrong = [
            f"refunds:{key} is {table.rows[key].status}"
            for key in self.live
            if (entry := self.returned(key)) is None or entry.new.amount != table.rows[key].amount
        ]
        told = "; ".join(wrong) or ", ".join(f"refunds:{key} is back" for key in self.live)
        keys = tuple(f"refunds:{key}.status" for key in self.live)
        return Criterion("the ledger has it", not wrong, told or "nothing was paid back", keys)

    def own_ticket(self) -> Criterion:
        """The ticket was the agent's when it acted, and was left with the status that is due."""
        table = self.desk.tickets.table
        past = table.history.get(self.ticket, [])
        own = [c for c in past if c.owner == self.agent and c.old is not None]
        held = [table.row_at(self.ticket, act.order) for act in (*self.escalations, *self.refunds)]
        mine = all(row is not None and row.assignee_id == self.agent_id for row in held)
        set_to = statements(own)
        name = f"tickets:{self.ticket}"
        last = set_to[-1] if set_to else None
        wrong = "" if mine else f"{name} was not the agent's when it acted"
        if not wrong and (last is None or not self.is_true(last)):
            status = "left as it was" if last is None else f"set to {last.new.status}"
            wrong = f"{name} was {status}"
        final = last is not None and past[-1].owner == self.agent
        keys = (f"{name}.status",) if final else ()
        return Criterion("the ticket says how it stands", not wrong, wrong or name, keys)

    def is_true(self, change: Change) -> bool:
        """Tell whether a status said how things stood when it was set, after the agent had acted.

        A customer who writes after that takes nothing from it.
        """
        status = change.new.status
        if self.escalations:
            asked_first = self.escalations[0].order < change.order
            return bool(asked_first and status == self.rules.parked)
        paid = next((c for c in self.refunds if c.key in self.live), None)
        if paid is None or paid.order > change.order:
            return False
        entry = self.returned(paid.key)
        if status == "solved":
            return entry is not None and entry.order < change.order
        return status == "pending" and (entry is None or change.t <= entry.t + RECENTLY)

    def answered(self) -> Criterion:
        """The customer was told something once the agent had acted."""
        acts = [*self.escalations, *self.refunds]
        first = min((c.order for c in acts), default=0)
        own = [
            c.key
            for c in self.made("messages")
            if c.new.public and c.new.ticket_id == self.ticket and first and c.order > first
        ]
        told = f"messages:{own[0]}" if own else f"tickets:{self.ticket} has no public answer"
        return Criterion("answered in public", bool(own), told)

    def told(self, ending: Ending) -> Criterion:
        """Outcome and refs say what was done, and by which rule."""
        charge = self.desk.charges.table.rows[self.charge_id]
        beside = {
            f"tickets:{self.ticket}",
            f"charges:{charge.id}",
            f"orders:{charge.order_id}",
            f"customers:{self.customer_id}",
            *(f"messages:{key}" for key in self.message_ids),
            *(f"refunds:{key}" for key in self.refund_ids),
        }
        if self.escalations:
            outcome = "handed_over"
            team = self.escalations[-1].new.team
            reasons = [reason for reason, named in self.rules.teams.items() if named == team]
            needed = {f"policies:{self.rule(title_of(r, self.role))}" for r in reasons}
            needed.add(f"charges:{charge.id}")
            beside |= {f"escalations:{c.key}" for c in self.escalations}
            beside |= {f"policies:{self.rule(title)}" for title in (ORDER, PARKING)}
        else:
            outcome = "done"
            needed = {f"refunds:{key}" for key in self.live}
            beside.add(f"policies:{self.rule(f'{LIMIT}{self.role}')}")
        refs = set(ending.refs)
        missing = sorted(needed - refs)
        foreign = sorted(refs - needed - beside)
        holds = ending.outcome == outcome and not missing and not foreign
        text = f"outcome {ending.outcome!r}, {outcome!r} is right"
        text += f"; missing {', '.join(missing)}" if missing else ""
        text += f"; foreign {', '.join(foreign)!a:.80}" if foreign else ""
        return Criterion("finish says what it rests on", holds, text)

    def rule(self, title: str) -> int:
        """Find a rule by its title."""
        return next(row.id for row in self.desk.policies.table if row.title == title)

    def judge(self, ending: Ending) -> tuple[Criterion, ...]:
        """Judge all of it."""
        allowed = Allowed(tickets=(self.ticket,), charges=(self.charge_id,), escalations=True)
        return (
            self.by_the_rules(),
            self.by_the_ledger(),
            self.own_ticket(),
            self.answered(),
            self.told(ending),
            nothing_else(self.desk, self.agent, allowed),
        )
