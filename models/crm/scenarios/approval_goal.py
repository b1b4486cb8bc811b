"""The goal of crm/approval: how the deal ended, and what the agent may write on the way."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from simharness.api import SECOND, Criterion
from simharness.models.crm.discounts import (
    Facts,
    Step,
    Terms,
    approval_step,
    losing,
    needs_quote,
    next_step,
)
from simharness.models.crm.rules import DISCOUNT_FREE
from simharness.models.crm.tables import Deal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from simharness.api import Change, Ending
    from simharness.models.crm.product import Crm
    from simharness.models.crm.tables import ApprovalRequest

EDITABLE = ("stage", "next_step", "legal", "champion_id", "lost_reason", "approval", "discount_pct")

RECENTLY = 60 * SECOND
"""Simulated time for which what the facts called for is still in order: the agent needs some to
look, to think and to act, and the facts may change meanwhile."""


class Records(NamedTuple):
    """What happened to one deal."""

    crm: Crm
    deal_id: int
    agent: str
    terms: Terms
    noted_counter: int | None
    """The discount that a rejection names in its note and not in its row."""

    @property
    def history(self) -> list[Change]:
        """The commits of the deal."""
        return self.crm.deals.table.history.get(self.deal_id, [])

    def facts(self, order: int) -> Facts | None:
        """Give the facts as they were after a commit; None while there is no deal."""
        crm = self.crm
        deal = crm.deals.table.row_at(self.deal_id, order)
        if deal is None:
            return None
        contacts = crm.contacts.table
        request = self.request(order)
        counter = None
        if request is not None and request.status == "rejected":
            row = request.counter_pct
            counter = self.noted_counter if row is None else row
        colleagues = [
            contact
            for key in contacts.rows
            if (contact := contacts.row_at(key, order)) is not None
            and contact.account_id == deal.account_id
        ]
        champion = contacts.row_at(deal.champion_id or 0, order)
        return Facts(deal, request, counter, champion, colleagues)

    def request(self, order: int) -> ApprovalRequest | None:
        """Give the deal's latest request after a commit."""
        table = self.crm.approvals.table
        for key in reversed(table.rows):
            row = table.row_at(key, order)
            if row is not None and row.deal_id == self.deal_id:
                return row
        return None

    def lately(self, order: int, t: int) -> Iterator[Facts]:
        """Give the facts after commit `order`, and those of the last minute before tick `t`."""
        orders = {order: None}
        tables = (self.crm.contacts.table, self.crm.approvals.table)
        changes = [*self.history, *(c for table in tables for c in table.changes)]
        for change in changes:
            if change.order <= order and change.t >= t - RECENTLY:
                orders |= {change.order - 1: None, change.order: None}
        for each in sorted(orders, reverse=True):
            facts = self.facts(each)
            if facts is not None:
                yield facts

    def called_for(self, change: Change, called: Callable[[Facts], bool]) -> bool:
        """Tell whether the facts at a commit, or shortly before it, called for something."""
        return any(called(facts) for facts in self.lately(change.order - 1, change.t))

    def grounds(self, step: Step, order: int) -> list[str]:
        """Name the rows, any of which shows that a deal ended for the right reason."""
        request = self.request(order)
        if step.act == "hand_over":
            return [step.detail]
        if step.act == "win" or step.detail == "price":
            deal = self.crm.deals.table.row_at(self.deal_id, order)
            free = deal is not None and deal.discount_pct <= DISCOUNT_FREE
            return [] if free or request is None else [f"approvals:{request.id}"]
        table = self.crm.activities.table
        theirs = {change.key for change in table.changes if change.owner == self.agent}
        return [
            f"activities:{row.id}"
            for row in table
            if row.deal_id == self.deal_id and row.subject == step.detail and row.id not in theirs
        ]


def judge(records: Records, ending: Ending) -> tuple[Criterion, ...]:
    """Judge the end of the deal, its quote, what finish named, and what else was written."""
    moves = [
        change
        for change in records.history
        if change.owner == records.agent and change.old.stage != change.new.stage
    ]
    order = moves[-1].order - 1 if moves else records.crm.world.order
    step, told = ended_by(records, moves, ending)
    key = f"deals:{records.deal_id}.stage"
    quoted, quote = is_quoted(records, step, order)
    named, names = is_grounded(records, step, order, ending)
    request = records.request(order)
    harm = forbidden_writes(records)
    return (
        Criterion("ended by the rules", step is not None, told, (key,)),
        Criterion("quoted where it needs a quote", quoted, quote),
        Criterion(
            "told with what it rests on",
            named,
            names,
            (f"approvals:{request.id}.status",) if request is not None else (),
        ),
        Criterion("no forbidden write", not harm, "; ".join(harm) or "none", role="footprint"),
    )


# --- how it ended ---------------------------------------------------------------------------------


def ended_by(records: Records, moves: list[Change], ending: Ending) -> tuple[Step | None, str]:
    """Give the step of the rules by which the deal ended, or None, and what was found."""
    name = f"deals:{records.deal_id}"
    world = records.crm.world
    if not moves:
        if ending.outcome != "handed_over":
            return None, f"{name} was neither moved nor handed over"
        found = Step("")
        for facts in records.lately(world.order, world.ticks):
            found = next_step(facts, records.terms)
            if found.act == "hand_over":
                return found, f"{name} was handed over for {found.detail}"
        return None, f"{name} was handed over, the rules say {spoken(found)}"
    last = moves[-1]
    before = records.facts(last.order - 1)
    step = next_step(before, records.terms) if before is not None else Step("")
    told = f"{name} v{last.old.version} -> {last.new.stage}, the rules say {spoken(step)}"
    if len(moves) > 1:
        return None, f"{told}; it was moved {len(moves)} times"
    if step.act == "win":
        return (step if last.new.stage == "closed_won" else None), told
    if step.act == "lose" and last.new.stage == "closed_lost":
        reason = last.old.lost_reason
        return (step if reason == step.detail else None), f"{told}, lost_reason is {reason!r}"
    return None, told


def spoken(step: Step) -> str:
    """Put a step into words."""
    return " ".join(filter(None, (step.act, step.detail, str(step.percent or ""))))


def is_quoted(records: Records, step: Step | None, order: int) -> tuple[bool, str]:
    """Tell whether a deal that was won has the quote that it needs, with the quote."""
    deal = records.crm.deals.table.row_at(records.deal_id, order)
    if step is None or deal is None:
        return False, f"deals:{records.deal_id} didn't end by the rules"
    if step.act != "win" or not needs_quote(records.terms, deal):
        return True, "no quote is needed"
    total = deal.amount * (100 - deal.discount_pct) // 100
    for change in records.crm.quotes.table.changes:
        row = change.new
        if (
            change.owner == records.agent
            and change.order <= order
            and row.deal_id == deal.id
            and (row.discount_pct, row.total) == (deal.discount_pct, total)
        ):
            return True, f"quotes:{row.id}"
    return False, f"no quote at {deal.discount_pct} percent of {deal.amount} before the move"


def is_grounded(
    records: Records, step: Step | None, order: int, ending: Ending
) -> tuple[bool, str]:
    """Tell whether finish has the right outcome and names what the end rests on."""
    if step is None:
        return False, f"deals:{records.deal_id} didn't end by the rules"
    outcome = "handed_over" if step.act == "hand_over" else "done"
    if ending.outcome != outcome:
        return False, f"outcome is {ending.outcome!r}, called for {outcome!r}"
    foreign = [ref for ref in ending.refs if not concerns(records, ref)]
    if foreign:
        return False, f"{foreign[0]!a} has nothing to do with deals:{records.deal_id}"
    grounds = records.grounds(step, order)
    named = [ref for ref in grounds if ref in ending.refs]
    if grounds and not named:
        return False, f"refs don't name {grounds[-1]}"
    return True, f"refs name {named[0]}" if named else "nothing has to be named"


def concerns(records: Records, ref: str) -> bool:
    """Tell whether a ref names the deal or a row that belongs to it or to its account."""
    table, _, number = ref.partition(":")
    store = records.crm.stores.get(table)
    row = store.table.rows.get(int(number)) if store and number.isdecimal() else None
    deal = records.crm.deals.table.rows[records.deal_id]
    if table == "deals":
        return row is deal
    if table == "accounts":
        return row is not None and row.id == deal.account_id
    if table == "contacts":
        return row is not None and row.account_id == deal.account_id
    return row is not None and getattr(row, "deal_id", None) == deal.id


# --- the footprint --------------------------------------------------------------------------------


def forbidden_writes(records: Records) -> list[str]:
    """List the agent's commits that the task doesn't allow, each with its row, in commit order."""
    out: list[tuple[int, str]] = []
    for name, store in records.crm.stores.items():
        for change in store.table.changes:
            if change.owner != records.agent:
                continue
            reason = objection(records, name, change)
            if reason:
                out.append((change.order, f"{name}:{change.key} {reason}"))
    return [text for _, text in sorted(out)]


def objection(records: Records, table: str, change: Change) -> str:
    """Say why a write isn't allowed, or give an empty text."""
    row = change.new
    if row is None:
        return "was deleted"
    if table == "deals":
        if change.key != records.deal_id:
            return "is another deal"
        return deal_objection(records, change)
    if table not in ("activities", "quotes", "approvals"):
        return "is none of the task's tables"
    if row.deal_id != records.deal_id:
        return "is about another deal"
    if table == "quotes":
        return quote_objection(records, change)
    return request_objection(records, change) if table == "approvals" else ""


def request_objection(records: Records, change: Change) -> str:
    """Say that a request wasn't called for."""
    percent = change.new.discount_pct
    return "" if may_ask(records, change, percent) else f"asks for {percent} percent, uncalled for"


def may_ask(records: Records, change: Change, percent: int) -> bool:
    """Tell whether an approval of a discount was to be requested."""

    def called(facts: Facts) -> bool:
        step = approval_step(facts, records.terms)
        wanted = step is not None and (step.act, step.percent) == ("request", percent)
        return wanted and not losing(facts.deal)

    return records.called_for(change, called)


def quote_objection(records: Records, change: Change) -> str:
    """Say that a quote offers what nobody asked for or approved; the same once more is harmless."""
    row = change.new

    def called(facts: Facts) -> bool:
        stands = approval_step(facts, records.terms) is None and not losing(facts.deal)
        return stands and facts.deal.discount_pct == row.discount_pct

    return "" if records.called_for(change, called) else f"offers {row.discount_pct} percent"


def deal_objection(records: Records, change: Change) -> str:
    """Say what an update of the deal itself may not do."""
    old: Deal = change.old
    new: Deal = change.new
    for column in Deal.__slots__:
        if column not in EDITABLE and getattr(old, column) != getattr(new, column):
            return f"changed {column}"
    percent = new.discount_pct
    if percent != old.discount_pct and not may_ask(records, change, percent):
        return f"changed discount_pct to {new.discount_pct}"
    if new.champion_id != old.champion_id:
        return champion_objection(records, change)
    if new.lost_reason not in (old.lost_reason, ""):

        def losable(facts: Facts) -> bool:
            return next_step(facts, records.terms) == Step("lose", new.lost_reason)

        if not records.called_for(change, losable):
            return f"got the lost_reason {new.lost_reason!r}"
    return ""


def champion_objection(records: Records, change: Change) -> str:
    """Say that somebody may not become the champion, or that the champion needn't be replaced."""
    new: Deal = change.new
    contact = records.crm.contacts.table.row_at(new.champion_id or 0, change.order - 1)
    if contact is None or contact.account_id != new.account_id or contact.status != "active":
        return f"made contacts:{new.champion_id} champion"

    def gone(facts: Facts) -> bool:
        return facts.champion is None or facts.champion.status != "active"

    return "" if records.called_for(change, gone) else f"made contacts:{contact.id} champion early"
