"""helpdesk/refund-pending: money that was promised is under way, or only seems to be."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from simharness.api import (
    DAY,
    HOUR,
    SECOND,
    Criterion,
    Drawing,
    Ending,
    Instance,
    format_instant,
    money,
)
from simharness.models.helpdesk.house import TITLES, House, texts
from simharness.models.helpdesk.people.case import pay_unless
from simharness.models.helpdesk.people.days import settle_later
from simharness.models.helpdesk.policies import coping, refund_pending
from simharness.models.helpdesk.scenarios.refund_pending_goal import Judge, Promise
from simharness.models.helpdesk.scenarios.stage import Stage, first_id, tax_part
from simharness.models.helpdesk.scenarios.task import RefundTask

if TYPE_CHECKING:
    from collections.abc import Mapping

    from simharness.api import Policy
    from simharness.models.helpdesk.product import Helpdesk
    from simharness.models.helpdesk.tables import Charge

THINGS = ("Desk", "Headphones", "Lamp", "Rug", "Printer", "Kettle")
FATES = ("pending", "arrives", "bounces", "failed", "never", "arrived")
"""What has become of what was promised: under way, soon to arrive or to fail; failed; never made;
or there already."""
STATUS: Mapping[str, str] = {
    "pending": "pending",
    "arrives": "pending",
    "bounces": "pending",
    "failed": "failed",
    "arrived": "succeeded",
}
"""Of its refund at the start."""
PROMISED = 3 * DAY
"""How long before the start it was promised, for the last time."""
RULES = ("duplicates", "pending", "merging")


class RefundPending(RefundTask):
    """Tell the truth about money that was promised, and pay it only if nobody has."""

    id = "helpdesk/refund-pending"
    doc = (
        "what was promised of the charge is under way or has arrived exactly once when the agent "
        "ends, or had been in the minute before, and the agent paid just that and only while "
        "nothing of it was; the customer was told in public afterwards; the ticket is solved if it "
        "had arrived when the agent set it, and pending if after the time that the task gives it "
        "was under way; finish names that refund; nothing else was changed"
    )
    policies: ClassVar[Mapping[str, Policy]] = {
        "expert": refund_pending.expert,
        "lazy": refund_pending.lazy,
        **coping.COPING,
    }

    def draw(self, drawing: Drawing) -> None:
        """Draw what was promised, what has become of it, and what comes in between."""
        self.draw_money(drawing)
        drawing.pick("thing", THINGS)
        size = drawing.pick("size", ("part", "most", "all"), (50, 25, 25))
        least, most = {"part": (8, 45), "most": (55, 95), "all": (100, 100)}[size]
        drawing.between("promised_pct", least, most)
        drawing.pick("promise", ("once", "mended"), (65, 35))
        drawing.between("mended_off", 1, 9)
        drawing.between("promised_by", 1, 3)
        drawing.pick("fate", FATES, (18, 16, 19, 17, 17, 13))
        drawing.between("event_at", 15, 170)
        drawing.between("until", 80, 200)
        # What else there is: refunds of before the promise, and of another order.
        drawing.pick("failures", ("one", "two"), (70, 30))
        weights = (40, 30, 30) if size == "part" else (1, 0, 0)
        drawing.pick("before", ("none", "other", "same"), weights)
        drawing.pick("elsewhere", ("no", "pending", "succeeded", "failed"), (40, 20, 20, 20))
        # What others do. Of more than half of a charge a second refund is refused, so that nobody
        # can be too late to see it.
        drawing.pick("colleague", ("no", "pays"), (100, 0) if size == "part" else (50, 50))
        drawing.between("colleague_at", 20, 110)
        self.draw_others(drawing)

    # --- the start --------------------------------------------------------------------------------

    def start(self, product: Helpdesk, instance: Instance) -> int:
        """Add the customer with orders, charges and refunds, the ticket, and the rules."""
        story: Any = instance
        stage = Stage(product, story["shift"])
        customer = stage.customer(story["currency"], story["price"])
        price: int = story["price"]
        tax = tax_part(price, story["tax_pct"])
        charges: list[Charge] = []
        other = THINGS[(THINGS.index(story["thing"]) + 1) % len(THINGS)]
        for title in (other, story["thing"]):
            order = stage.order(customer, title, price, tax=tax, ago=9 * DAY)
            charges.append(stage.charge(order, price, ago=9 * DAY))
        beside, charge = charges
        amount = amount_of(story)
        if story["elsewhere"] != "no":
            stage.refund(beside, amount, ago=PROMISED - HOUR, status=story["elsewhere"])
        if story["before"] != "none":
            earlier = amount if story["before"] == "same" else amount + amount // 9 + 1
            stage.refund(charge, earlier, ago=PROMISED + DAY, reason="came late")
        if story["fate"] == "failed" and story["failures"] == "two":
            stage.refund(charge, amount, ago=PROMISED - HOUR, status="failed", reason="promised")
        if story["fate"] != "never":
            status = STATUS[story["fate"]]
            ago = PROMISED - 2 * HOUR
            stage.refund(charge, amount, ago=ago, status=status, reason="promised")
        ticket = stage.ticket(
            customer, f"Trouble with my {story['thing']}", "It came broken.", ago=5 * DAY
        )
        author = f"agents:{story['promised_by']}"
        if story["promise"] == "mended":
            wrong = promise_text(story, charge.id, max(1, amount * story["mended_off"] // 10))
            stage.message(ticket, author, wrong, ago=PROMISED + HOUR)
        text = promise_text(story, charge.id, amount)
        stage.message(ticket, author, text, ago=PROMISED)
        asked = f"customers:{customer.id}"
        stage.message(ticket, asked, "Where is the money that you promised me?", ago=5 * HOUR)
        rules = texts(House("first", 7, 400, "billing"))
        for name in RULES:
            stage.policy(TITLES[name], rules[name])
        stage.close()
        return int(story["agent"])

    # --- the task ---------------------------------------------------------------------------------

    def people(self, product: Helpdesk, instance: Instance) -> None:
        """Start who settles what was promised, a colleague who pays as well, and everybody else."""
        story: Any = instance
        promise = self._promise(instance)
        ends = {"arrives": "succeeded", "bounces": "failed"}
        if story["fate"] in ends:
            ref = f"RF-{product.refunds.table.top}"
            ms = story["event_at"] * 1000
            settle_later(product, "bank/promise", ms, ref, ends[story["fate"]])
        if story["colleague"] == "pays":
            ms = story["colleague_at"] * 1000
            pay_unless(product, ms, promise.charge_id, promise.amount, unless=self.agent)
        self.start_others(product, story, promise.ticket_id, promise.charge_id)

    def prompt(self, instance: Instance) -> str:
        """Tell the agent its task."""
        facts = self.brief(instance)
        return (
            f"You are agent {facts['agent_id']} of a helpdesk. In {facts['ticket_id']} a customer "
            "asks what has become of money that a colleague promised there to pay back. Find out "
            "by the refunds of that charge and the gateway's ledger, and see to it by the rule "
            f"{TITLES['pending']!r} (search_policy finds it): what was promised last is to go back "
            "once, and no more. If it has arrived, set the ticket to solved. If it is under way, "
            f"look until {facts['until']} whether it arrives or fails; if it is still under way "
            "then, leave it at that and set the ticket to pending. If it was never made, or has "
            "failed, and no colleague has made it anew meanwhile, pay it back yourself, and look "
            "until then as well. Tell the customer in a public reply, after you have paid if you "
            "do, and call finish with the outcome done and that refund in refs."
        )

    def brief(self, instance: Instance) -> dict[str, Any]:
        """Give the facts of the prompt."""
        promise = self._promise(instance)
        return {
            "agent_id": instance["agent"],
            "ticket_id": f"TK-{promise.ticket_id}",
            "until": format_instant(promise.until),
        }

    def goal(self, product: Helpdesk, instance: Instance, ending: Ending) -> tuple[Criterion, ...]:
        """Judge what has become of the promise, and what was said of it."""
        return Judge(product, self._promise(instance), self.agent, ending).judge()

    def _promise(self, instance: Instance) -> Promise:
        """Say what was promised."""
        story: Any = instance
        shift: int = story["shift"]
        return Promise(
            ticket_id=first_id("tickets", shift),
            charge_id=first_id("charges", shift) + 1,
            amount=amount_of(story),
            at=self.epoch - PROMISED,
            until=self.epoch + story["until"] * SECOND,
            policy_id=first_id("policies", shift) + RULES.index("pending"),
        )


def amount_of(story: Any) -> int:
    """Give what was promised, in minor units."""
    return int(story["price"] * story["promised_pct"] // 100)


def promise_text(story: Any, charge_id: int, amount: int) -> str:
    """Say what is promised in a colleague's words."""
    return (
        f"I am sorry. We pay {money.show(amount, story['currency'])} of CH-{charge_id} back to you."
    )
