"""crm/negotiation: the task, its goal, and what the agent may write meanwhile."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from simharness.api import SECOND, Criterion, Drawing, Ending, Instance, Scenario
from simharness.models.crm.base import CONTACTS_EACH, DEALS, EPOCH, REPS, base_rows
from simharness.models.crm.habits import TEAM
from simharness.models.crm.people.customers import Customers
from simharness.models.crm.people.machines import start_machines
from simharness.models.crm.people.managers import Managers
from simharness.models.crm.people.team import start_team
from simharness.models.crm.policies import coping, negotiation
from simharness.models.crm.rules import DISCOUNT_FREE, RULES_TEXT, next_move
from simharness.models.crm.tables import ApprovalRequest, Deal

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from simharness.api import Change, Policy, Row
    from simharness.models.crm.product import Crm

EDITABLE = ("stage", "next_step", "legal", "champion_id", "lost_reason", "approval")

RECENTLY = 60 * SECOND
"""Simulated time for which an act that the facts called for is still in order: the agent needs some
to look, to think and to act, and the facts may change meanwhile."""


class Negotiation(Scenario["Crm"]):
    """Pick the right next action for one deal by its true state."""

    id = "crm/negotiation"
    doc = (
        "the deal ends in the stage that the rule table gives for the facts committed before "
        "the agent's last move, with that move's required act and no forbidden write"
    )
    epoch = EPOCH
    team = TEAM
    policies: ClassVar[Mapping[str, Policy]] = {
        "expert": negotiation.expert,
        **coping.COPING,
    }

    def base_rows(self) -> Mapping[str, Sequence[Row]]:
        """Give the company."""
        return base_rows()

    def draw(self, drawing: Drawing) -> None:
        """Draw which deal it is, its facts at the start, and what becomes of them."""
        drawing.between("deal", 1, DEALS)
        drawing.between("owner", 1, REPS)
        drawing.pick("legal", ("none", "in_review", "cleared", "blocked"), (35, 35, 24, 6))
        drawing.pick("legal_answer", ("cleared", "blocked"), (78, 22))
        drawing.between("legal_after", 20, 150)
        over = drawing.pick("discount", ("free", "over"), (50, 50))
        drawing.between(
            "discount_pct", *((0, DISCOUNT_FREE) if over == "free" else (DISCOUNT_FREE + 1, 40))
        )
        drawing.pick("approval", ("none", "pending", "approved", "rejected"), (45, 25, 20, 10))
        drawing.pick("approval_answer", ("approved", "rejected"), (70, 30))
        drawing.between("approval_after", 20, 150)
        drawing.pick("champion", ("stays", "left", "leaves"), (60, 20, 20))
        drawing.between("champion_at", 10, 100)
        drawing.pick("successor", ("yes", "no"), (65, 35))
        drawing.pick("budget", ("stays", "gone", "goes"), (82, 8, 10))
        drawing.between("budget_at", 10, 120)

    def start(self, product: Crm, instance: Instance) -> int:
        """Put the deal into negotiation with the facts of the instance."""
        story: Any = instance
        deal_id: int = story["deal"]
        deals = product.deals.table
        deal = deals.rows[deal_id]
        over = story["discount"] == "over"
        approval = story["approval"] if over else "none"
        kind = deals.row_type
        deals.start_with(
            kind.evolve(
                deal,
                {
                    "stage": "negotiation",
                    "owner_id": story["owner"],
                    "legal": story["legal"],
                    "discount_pct": story["discount_pct"],
                    "approval": approval,
                    "budget": "gone" if story["budget"] == "gone" else "confirmed",
                    "lost_reason": "",
                },
            )
        )
        if approval == "pending":
            request = ApprovalRequest(id=1, deal_id=deal_id, discount_pct=story["discount_pct"])
            product.approvals.table.start_with(request)
        contacts = product.contacts.table
        first = (deal.account_id - 1) * CONTACTS_EACH + 1
        for key in range(first, first + CONTACTS_EACH):
            gone = story["champion"] == "left" if key == first else story["successor"] == "no"
            if gone:
                status = "left" if key % 2 else "bounced"
                contacts.start_with(
                    contacts.row_type.evolve(contacts.rows[key], {"status": status})
                )
        return int(story["owner"])

    def people(self, product: Crm, instance: Instance) -> None:
        """Start the customers of the deal, the managers and the other reps."""
        story: Any = instance
        Customers(product, story["deal"], story).start()
        Managers(product, story["deal"], story).start()
        start_team(product, story["deal"])
        deal = product.deals.table.rows[story["deal"]]
        start_machines(product, spare_accounts={deal.account_id}, spare_deals={deal.id})

    def prompt(self, instance: Instance) -> str:
        """Tell the agent its task."""
        return (
            f"You are user {instance['owner']}, a sales rep. Deal #{instance['deal']} is in "
            f"negotiation. Take the right next action for it, then call finish.\n{RULES_TEXT}"
        )

    def brief(self, instance: Instance) -> dict[str, Any]:
        """Give the facts of the prompt."""
        return {"deal_id": instance["deal"], "user_id": instance["owner"]}

    def goal(self, product: Crm, instance: Instance, ending: Ending) -> tuple[Criterion, ...]:
        """Judge the last move by the facts committed before it."""
        story: Any = instance
        deal_id: int = story["deal"]
        moves = [
            change
            for change in product.deals.table.history.get(deal_id, ())
            if change.owner == self.agent and change.old.stage != change.new.stage
        ]
        harm = forbidden_writes(product, deal_id, self.agent)
        clean = Criterion(
            "no forbidden write", not harm, "; ".join(harm) or "none", role="footprint"
        )
        stage = (f"deals:{deal_id}.stage",)
        if not moves:
            return Criterion(
                "moved by the rules", False, f"deals:{deal_id} was never moved", stage
            ), clean
        last = moves[-1]
        before = last.order - 1
        champion = product.contacts.table.row_at(last.old.champion_id or 0, before)
        colleagues = [
            row
            for key in product.contacts.table.rows
            if (row := product.contacts.table.row_at(key, before)) is not None
            and row.account_id == last.old.account_id
        ]
        wanted = next_move(last.old, champion, colleagues)
        moved = Criterion(
            "moved by the rules",
            len(moves) == 1 and wanted.move == last.new.stage,
            f"deals:{deal_id} v{last.old.version} -> {last.new.stage}, the rules say "
            + (wanted.move or f"first {wanted.first} {wanted.detail}".rstrip()),
            stage,
        )
        done, evidence = required_act(
            product, deal_id, last, wanted.first, wanted.detail, self.agent
        )
        return moved, Criterion("required act done", done, evidence), clean


def required_act(
    crm: Crm, deal_id: int, move: Change, act: str, detail: str, agent: str
) -> tuple[bool, str]:
    """Tell whether the act that a move calls for was done, with its row."""
    if act == "lost_reason":
        reason = move.old.lost_reason
        return reason == detail, f"deals:{deal_id} lost_reason {reason!r}, called for {detail!r}"
    if act == "quote":
        for change in crm.quotes.table.changes:
            row = change.new
            if (
                change.owner == agent
                and row.deal_id == deal_id
                and row.discount_pct == DISCOUNT_FREE
            ):
                return True, f"quotes:{row.id}"
        return False, f"no quote at {DISCOUNT_FREE} percent"
    if act == "task":
        for change in crm.activities.table.changes:
            row = change.new
            if change.owner == agent and row.deal_id == deal_id and row.kind == "task":
                return True, f"activities:{row.id}"
        return False, "no task logged"
    if act == "contract":
        champion = move.old.champion_id
        for change in crm.emails.table.changes:
            row = change.new
            if change.owner == agent and row.contact_id == champion and row.template == "contract":
                return True, f"emails:{row.id}"
        if (agent, champion, deal_id) in crm.undeliverable:
            return True, f"contacts:{champion} could no longer be mailed"
        return False, f"no contract mail to contacts:{champion}"
    return False, f"the facts called for {act} {detail}".rstrip()


# --- the footprint --------------------------------------------------------------------------------


def forbidden_writes(crm: Crm, deal_id: int, agent: str) -> list[str]:
    """List the agent's commits that the task doesn't allow, each with its row, in commit order."""
    out: list[tuple[int, str]] = []
    made: set[tuple[str, int]] = set()
    for name, store in crm.stores.items():
        for change in store.table.changes:
            if change.owner != agent:
                continue
            reason = objection(crm, name, change, deal_id)
            if not reason and name in ("emails", "quotes", "approvals"):
                # Of each kind one is enough; a contract goes to each champion once.
                act = (name, change.new.contact_id if name == "emails" else 0)
                reason = "was done before" if act in made else ""
                made.add(act)
            if reason:
                out.append((change.order, f"{name}:{change.key} {reason}"))
    return [text for _, text in sorted(out)]


def objection(crm: Crm, table: str, change: Change, deal_id: int) -> str:
    """Say why a write isn't allowed, or give an empty text."""
    row = change.new
    if row is None:
        return "was deleted"
    if table == "deals":
        if change.key != deal_id:
            return "is another deal"
        return deal_objection(crm, change)
    if table in ("activities", "quotes", "approvals", "emails"):
        if change.old is None and row.deal_id != deal_id:
            return "is about another deal"
        return record_objection(crm, table, change, deal_id)
    return "is none of the task's tables"


def record_objection(crm: Crm, table: str, change: Change, deal_id: int) -> str:
    """Say what a new row about the deal may not be."""
    row = change.new
    if table == "activities":
        return uncalled(crm, change, deal_id, "task") if row.kind == "task" else ""
    if table == "quotes":
        if row.discount_pct != DISCOUNT_FREE:
            return f"offers {row.discount_pct} percent"
        return uncalled(crm, change, deal_id, "quote")
    if table == "approvals":
        return uncalled(crm, change, deal_id, "approval")
    deal = crm.deals.table.row_at(deal_id, change.order)
    if row.template != "contract":
        return f"is a {row.template} mail"
    if deal is None or deal.champion_id != row.contact_id:
        return f"went to contacts:{row.contact_id}, who wasn't the champion"
    return uncalled(crm, change, deal_id, "contract")


def deal_objection(crm: Crm, change: Change) -> str:
    """Say what an update of the deal itself may not do."""
    old: Deal = change.old
    new: Deal = change.new
    for column in Deal.__slots__:
        if column not in EDITABLE and getattr(old, column) != getattr(new, column):
            return f"changed {column}"
    if new.champion_id != old.champion_id:
        contact = crm.contacts.table.row_at(new.champion_id or 0, change.order - 1)
        if contact is None or contact.account_id != new.account_id or contact.status != "active":
            return f"made contacts:{new.champion_id} champion"
        return uncalled(crm, change, change.key, "champion")
    return ""


def uncalled(crm: Crm, change: Change, deal_id: int, act: str) -> str:
    """Say that an act wasn't called for by the facts at its commit or shortly before it."""
    deals, contacts = crm.deals.table, crm.contacts.table
    facts = [*deals.history.get(deal_id, ()), *contacts.changes]
    orders = {change.order - 1}
    for fact in facts:
        if fact.order < change.order and fact.t >= change.t - RECENTLY:
            orders |= {fact.order - 1, fact.order}
    for order in sorted(orders):
        deal = deals.row_at(deal_id, order)
        if deal is None:
            continue
        people = [
            row
            for key in contacts.rows
            if (row := contacts.row_at(key, order)) is not None
            and row.account_id == deal.account_id
        ]
        champion = contacts.row_at(deal.champion_id or 0, order)
        if next_move(deal, champion, people).first == act:
            return ""
    return f"wasn't called for ({act})"
