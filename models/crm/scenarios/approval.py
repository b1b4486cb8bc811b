"""crm/approval: a discount taken through approval to closed won."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from simharness.api import Criterion, Drawing, Ending, Instance, Scenario
from simharness.models.crm.base import CONTACTS_EACH, DEALS, EPOCH, REPS, base_rows
from simharness.models.crm.discounts import QUOTED, REJECTED, Terms, rules_text
from simharness.models.crm.habits import TEAM
from simharness.models.crm.people.approvers import Approvers, counters, decision_text
from simharness.models.crm.people.buyers import Buyers
from simharness.models.crm.people.desk import Desk, request_text
from simharness.models.crm.people.machines import start_machines
from simharness.models.crm.people.managers import MANAGER
from simharness.models.crm.people.notes import note_fields
from simharness.models.crm.people.team import start_team
from simharness.models.crm.policies import approval, coping
from simharness.models.crm.rules import DISCOUNT_FREE
from simharness.models.crm.scenarios.approval_goal import Records, judge
from simharness.models.crm.tables import Activity, ApprovalRequest

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from simharness.api import Policy, Row
    from simharness.models.crm.product import Crm

# Discounts in percent, by what they are; no two kinds share one, since a decision is for one.
FREE, FREE_CHANGED = (0, 7), (8, DISCOUNT_FREE)
OVER, OVER_CHANGED = (26, 33), (34, 40)
OLD_APPROVED, OLD_REJECTED = (16, 17), (41, 50)
FLOOR = (19, 22)
COUNTER_MAX, COUNTER_LOW = 25, 18

DECIDED = {
    "void_approved": "approved",
    "void_none": "approved",
    "void_rejected": "rejected",
    "pending": "pending",
    "approved": "approved",
    "rejected": "rejected",
}
"""Status of the request that was made before the start."""


class Approval(Scenario["Crm"]):
    """Win one deal at a discount that somebody may have to approve."""

    id = "crm/approval"
    doc = (
        "by the facts committed before the agent's move, or before it finished, the deal is closed "
        "won at a discount that is free or approved and with the quote that it needs, closed lost, "
        "or left and handed over, as the rules say; finish names the row on which that rests, and "
        "there is no forbidden write"
    )
    epoch = EPOCH
    team = TEAM
    steps_max = 80
    policies: ClassVar[Mapping[str, Policy]] = {
        "expert": approval.expert,
        "lazy": approval.lazy,
        **coping.COPING,
    }

    def base_rows(self) -> Mapping[str, Sequence[Row]]:
        """Give the company."""
        return base_rows()

    def draw(self, drawing: Drawing) -> None:
        """Draw which deal it is, the terms, the facts at the start, and what becomes of them."""
        drawing.between("deal", 1, DEALS)
        drawing.between("owner", 1, REPS)
        floor = drawing.between("floor_pct", *FLOOR)
        drawing.pick("if_rejected", tuple(REJECTED), (60, 40))
        drawing.pick("quote", tuple(QUOTED), (60, 40))
        over = drawing.pick("discount", ("free", "over"), (18, 82)) == "over"
        drawing.between("discount_pct", *(OVER if over else FREE))
        asked = ("none", *DECIDED) if over else ("none", "void_none")
        weights = (22, 18, 6, 16, 14, 8, 16) if over else (60, 40)
        past = drawing.pick("asked", asked, weights)
        old = OLD_REJECTED if past == "void_rejected" else OLD_APPROVED
        drawing.between("old_pct", *old)
        before = drawing.between("requests", 4, 14)
        drawing.between("request", 1, before)
        # Whoever hasn't read their ids can't name requests and notes.
        drawing.between("first_request", 1, 9_000)
        drawing.between("first_note", 100, 90_000)
        answer = drawing.pick(
            "answer", ("approves", "counters", "counters_low", "rejects"), (46, 26, 14, 14)
        )
        low = answer == "counters_low"
        drawing.between("counter_pct", *((COUNTER_LOW, floor - 1) if low else (floor, COUNTER_MAX)))
        drawing.pick("counter_by", ("row", "note"), (50, 50))
        drawing.between("approval_after", 20, 150)
        drawing.pick("manager", ("here", "away"), (75, 25))
        drawing.pick("colleague", ("no", "asks"), (75, 25))
        drawing.between("colleague_at", 1, 40)
        drawing.pick("legal", ("none", "in_review", "cleared", "blocked"), (22, 34, 40, 4))
        drawing.pick("legal_answer", ("cleared", "blocked"), (84, 16))
        drawing.between("legal_after", 20, 150)
        drawing.between("champion_k", 0, CONTACTS_EACH - 1)
        drawing.pick("champion", ("stays", "left", "leaves"), (55, 25, 20))
        drawing.between("champion_at", 10, 150)
        drawing.between("successor_k", 1, CONTACTS_EACH - 1)
        drawing.pick("successor", ("yes", "no"), (70, 30))
        drawing.pick("budget", ("stays", "gone", "goes"), (86, 4, 10))
        drawing.between("budget_at", 10, 150)
        change = drawing.pick("change", ("none", "to_free", "to_over", "amount"), (54, 10, 16, 20))
        drawing.between("change_at", 10, 200)
        drawing.between("changed_pct", *(OVER_CHANGED if change == "to_over" else FREE_CHANGED))
        drawing.between("changed_amount", 10_000_00, 500_000_00)

    # --- the start --------------------------------------------------------------------------------

    def start(self, product: Crm, instance: Instance) -> int:
        """Put the deal into negotiation with the facts of the instance."""
        story: Any = instance
        deals = product.deals.table
        deal = deals.rows[story["deal"]]
        first = (deal.account_id - 1) * CONTACTS_EACH + 1
        champion = first + story["champion_k"]
        asked: str = story["asked"]
        facts = {
            "stage": "negotiation",
            "owner_id": story["owner"],
            "legal": story["legal"],
            "discount_pct": story["discount_pct"],
            "approval": "none" if asked in ("none", "void_none") else DECIDED[asked],
            "budget": "gone" if story["budget"] == "gone" else "confirmed",
            "champion_id": champion,
            "lost_reason": "",
        }
        deals.start_with(deals.row_type.evolve(deal, facts))
        self._start_contacts(product, story, first, champion)
        self._start_requests(product, story)
        for column, gone in (("budget", "gone"), ("legal", "blocked")):
            if story[column] == gone:
                self._start_note(product, story, column, f"They told us: {gone}.")
        return int(story["owner"])

    def _start_contacts(self, product: Crm, story: Any, first: int, champion: int) -> None:
        contacts = product.contacts.table
        heir = first + (story["champion_k"] + story["successor_k"]) % CONTACTS_EACH
        for key in range(first, first + CONTACTS_EACH):
            stays = story["champion"] != "left" if key == champion else story["successor"] == "yes"
            # One of the other two has gone in any case.
            if not (stays and key in (champion, heir)):
                status = "left" if key % 2 else "bounced"
                contacts.start_with(
                    contacts.row_type.evolve(contacts.rows[key], {"status": status})
                )

    def _start_requests(self, product: Crm, story: Any) -> None:
        """Put earlier requests into place, the deal's own among those of other deals."""
        table = product.approvals.table
        asked: str = story["asked"]
        self._start_note(product, story, "", "They called.", 1 + story["deal"] % DEALS)
        for k in range(1, story["requests"] + 1):
            key = story["first_request"] + k - 1
            other = 1 + (story["deal"] + k * 5) % DEALS
            if k == story["request"] and asked != "none":
                table.start_with(self._own_request(story, key, asked))
                self._note_request(product, story, table.rows[key])
            elif other != story["deal"]:
                row = ApprovalRequest(
                    id=key,
                    deal_id=other,
                    discount_pct=16 + k,
                    status="approved" if k % 3 else "rejected",
                    decided_by=MANAGER,
                )
                table.start_with(row)

    def _own_request(self, story: Any, key: int, asked: str) -> ApprovalRequest:
        percent = story["old_pct"] if asked.startswith("void") else story["discount_pct"]
        status: Any = DECIDED[asked]
        by_row = counters(story["answer"]) and story["counter_by"] == "row"
        return ApprovalRequest(
            id=key,
            deal_id=story["deal"],
            discount_pct=percent,
            status=status,
            decided_by=None if status == "pending" else MANAGER,
            counter_pct=story["counter_pct"] if by_row and status == "rejected" else None,
        )

    def _note_request(self, product: Crm, story: Any, request: ApprovalRequest) -> None:
        percent = request.discount_pct
        if request.status == "pending":
            body = request_text(percent)
        else:
            noted = counters(story["answer"]) and story["counter_by"] == "note"
            counter = story["counter_pct"] if noted and request.status == "rejected" else None
            body = decision_text(request.status, percent, counter)
        self._start_note(product, story, f"approval {request.id}", body)

    def _start_note(
        self, product: Crm, story: Any, subject: str, body: str, deal_id: int = 0
    ) -> None:
        table = product.activities.table
        fields: Any = note_fields(deal_id or story["deal"], subject, body)
        key = max(table.top + 1, story["first_note"])
        table.start_with(Activity(id=key, at=EPOCH, **fields))

    # --- the task ---------------------------------------------------------------------------------

    def people(self, product: Crm, instance: Instance) -> None:
        """Start the customers of the deal, the managers, the deal desk and the other reps."""
        story: Any = instance
        deal = product.deals.table.rows[story["deal"]]
        Buyers(product, deal.id, story).start()
        Approvers(product, deal.id, story).start()
        Desk(product, deal.id, story).start()
        start_team(product, deal.id)
        start_machines(product, spare_accounts={deal.account_id}, spare_deals={deal.id})

    def prompt(self, instance: Instance) -> str:
        """Tell the agent its task."""
        return (
            f"You are user {instance['owner']}, a sales rep. Deal #{instance['deal']} is in "
            "negotiation. Take its discount through approval and win the deal, or end it as the "
            f"rules say, then call finish.\n{rules_text(terms(instance))}"
        )

    def brief(self, instance: Instance) -> dict[str, Any]:
        """Give the facts of the prompt."""
        names = ("floor_pct", "if_rejected", "quote")
        return {
            "deal_id": instance["deal"],
            "user_id": instance["owner"],
            **{name: instance[name] for name in names},
        }

    def goal(self, product: Crm, instance: Instance, ending: Ending) -> tuple[Criterion, ...]:
        """Judge how the deal ended, by the facts committed before."""
        story: Any = instance
        noted = counters(story["answer"]) and story["counter_by"] == "note"
        records = Records(
            product,
            story["deal"],
            self.agent,
            terms(instance),
            noted_counter=story["counter_pct"] if noted else None,
        )
        return judge(records, ending)


def terms(instance: Instance) -> Terms:
    """Give what the task fixes."""
    story: Any = instance
    return Terms(story["floor_pct"], story["if_rejected"], story["quote"])
