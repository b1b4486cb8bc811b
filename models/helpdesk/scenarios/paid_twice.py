"""A customer who says that they were charged twice, which may be so or not.

helpdesk/double-charge and helpdesk/legit-charge are this task with other odds: their prompts are
the same, and only who reads knows which it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from simharness.api import DAY, HOUR, MINUTE, Criterion, Drawing, Ending, Instance, Scenario, money
from simharness.models.helpdesk.base import EPOCH, base_rows
from simharness.models.helpdesk.habits import TEAM
from simharness.models.helpdesk.house import draw_house, put_rules
from simharness.models.helpdesk.people import customers, rivals
from simharness.models.helpdesk.people.days import DAYS, Bank, settle_later
from simharness.models.helpdesk.people.machines import start_machines
from simharness.models.helpdesk.people.team import start_team
from simharness.models.helpdesk.policies import coping, paid_twice
from simharness.models.helpdesk.scenarios.paid_twice_goal import Case
from simharness.models.helpdesk.scenarios.stage import (
    CURRENCIES,
    CURRENCY_WEIGHTS,
    Stage,
    in_currency,
    tax_part,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from simharness.api import Policy, Row
    from simharness.models.helpdesk.product import Helpdesk
    from simharness.models.helpdesk.tables import Charge, Order

DOUBLES = ("retry", "after_failure", "thrice", "pending")
"""Too much was taken: the gateway was asked again; so too, after a failure; twice again; and once
more by a charge that is still pending."""
LEGIT = ("two_orders", "failed", "parts", "pending_fails")
"""It only looks so: two orders of one kind; an attempt that failed; a total that was paid in two
parts; and a pending charge that comes to nothing."""
PLANS = ("Pro Annual", "Pro Monthly", "Archive Annual", "Headphones", "Desk lamp")
PRICES = (19_00, 299_00)
"""Lowest and highest price, in hundredths."""
TAXES = ("7", "19", "20")
DECOYS = ("Support Pack", "Team Training", "Keyboard")
LEADS = ("2", "3")
HELP = ("none", "paid_back", "paying", "meanwhile")
"""What a colleague has done about it: nothing; paid back what is due; asked for that, which is
pending; and will, while the agent is at work."""
SUBJECT = "I was charged twice"


class Taken(NamedTuple):
    """One charge of an instance."""

    order: int
    """Which of the customer's orders, from 0."""
    status: str
    """At the start."""
    ago: int
    """Ticks before the start."""
    becomes: str = ""
    """What a pending one ends as."""


class PaidTwice(Scenario["Helpdesk"]):
    """Find out what was taken too much, and pay exactly that back."""

    epoch = EPOCH
    team = TEAM
    steps_max = 120
    causes: ClassVar[tuple[str, ...]] = (*DOUBLES, *LEGIT)
    weights: ClassVar[tuple[int, ...]] = ()
    policies: ClassVar[Mapping[str, Policy]] = {
        "expert": paid_twice.expert,
        "lazy": paid_twice.lazy,
        **coping.COPING,
    }

    def base_rows(self) -> Mapping[str, Sequence[Row]]:
        """Give the helpdesk."""
        return base_rows()

    def draw(self, drawing: Drawing) -> None:
        """Draw what was taken, what the rules say, and what others do about it."""
        drawing.between("ticket", 10_000, 99_999)
        drawing.pick("agent", LEADS)
        drawing.between("shift", 0, 900)
        drawing.between("customer", 0, 600)
        drawing.pick("currency", CURRENCIES, CURRENCY_WEIGHTS)
        drawing.pick("plan", PLANS)
        drawing.between("price", *PRICES)
        drawing.pick("tax", TAXES)
        draw_house(drawing)
        cause = drawing.pick("cause", self.causes, self.weights)
        drawing.between("days_ago", 1, 6)
        drawing.between("gap_minutes", 2, 40)
        drawing.pick("last_year", ("no", "yes"), (60, 40))
        drawing.between("decoys", 0, 2)
        drawing.between("settles_ms", 10_000, 70_000)
        # Of what is pending nobody can pay anything back.
        helped = cause in DOUBLES and cause != "pending"
        drawing.pick("help", HELP, (46, 14, 20, 20) if helped else (100, 0, 0, 0))
        drawing.pick("paying_ends", ("succeeded", "failed"), (60, 40))
        drawing.between("help_ms", 8_000, 70_000)
        drawing.pick("day", tuple(DAYS), (26, 16, 16, 14, 18, 10))
        drawing.pick("kept", ("no", "yes"), (85, 15))
        drawing.pick("merge", ("no", "meanwhile"), (80, 20))
        drawing.between("merge_ms", 8_000, 60_000)
        drawing.pick("writes", ("no", "again"), (65, 35))
        drawing.between("writes_ms", 20_000, 100_000)
        drawing.between("patience", 110, 170)

    # --- the start --------------------------------------------------------------------------------

    def start(self, product: Helpdesk, instance: Instance) -> int:
        """Put the customer, what they bought and paid, and what they write into place."""
        story: Any = instance
        stage = Stage(product, story["shift"])
        put_rules(stage, story)
        customer = stage.customer(story["currency"], story["customer"])
        amount, per_cent = amount_of(story), int(story["tax"])
        layout = layout_of(story)
        orders: list[Order] = []
        for k, total in enumerate(totals_of(story)):
            ago = max(taken.ago for taken in layout if taken.order == k) + MINUTE
            tax = tax_part(total, per_cent)
            orders.append(stage.order(customer, story["plan"], total, tax=tax, ago=ago))
        charges: list[Charge] = []
        for k, taken in enumerate(layout):
            failed = [c.id for c in charges if c.status == "failed"]
            charges.append(
                stage.charge(
                    orders[taken.order],
                    amount,
                    ago=taken.ago,
                    status=taken.status,
                    key=f"order-{orders[taken.order].id}" + (f"/{k + 1}" if k else ""),
                    attempt_of=failed[-1] if failed else None,
                )
            )
        for k, title in enumerate(DECOYS[: story["decoys"]]):
            other = amount // 2 + 11 * (k + 1)
            ago = (20 + 9 * k) * DAY
            order = stage.order(customer, title, other, ago=ago + HOUR)
            stage.charge(order, other, ago=ago, key=f"order-{order.id}")
        case = Case(product, self.agent, story, layout)
        if story["help"] in ("paid_back", "paying") and case.due:
            charge = product.charges.table.rows[case.due[0]]
            paid = story["help"] == "paid_back"
            status, ago = ("succeeded", DAY // 2) if paid else ("pending", HOUR)
            stage.refund(charge, charge.amount, ago=ago, status=status, reason="paid twice")
        body = (
            f"My card shows more than one charge of {money.show(amount, story['currency'])} for "
            f"{story['plan']}. Please pay back what you took too much."
        )
        if story["merge"] != "no":
            again = f"{body} I will write again if nobody answers."
            key = story["ticket"] - 1 - story["shift"] % 9
            stage.ticket(customer, SUBJECT, again, ago=7 * HOUR, key=key, status="open")
        kept = {"assignee_id": case.colleague, "status": "open"} if story["kept"] == "yes" else {}
        stage.ticket(customer, SUBJECT, body, ago=5 * HOUR, key=story["ticket"], **kept)
        stage.close()
        return int(story["agent"])

    # --- who else is there ------------------------------------------------------------------------

    def people(self, product: Helpdesk, instance: Instance) -> None:
        """Start the bank, the customer, and the colleagues, some of them busy with this ticket."""
        story: Any = instance
        agent = int(story["agent"])
        case = Case(product, self.agent, story, layout_of(story))
        start_team(product, away=agent)
        customers.start_customers(product)
        start_machines(product)
        Bank(product, [row.id for row in case.charges], story["day"])
        for row, taken in zip(case.charges, case.layout, strict=True):
            if taken.becomes:
                name = f"CH-{row.id}"
                settle_later(product, "bank/charge", story["settles_ms"], name, taken.becomes)
        for refund in product.refunds.table:
            if refund.status == "pending" and refund.charge_id in case.due:
                name, ends = f"RF-{refund.id}", story["paying_ends"]
                settle_later(product, "bank/refund", story["help_ms"], name, ends)
        if story["help"] == "meanwhile" and case.due:
            ms = story["help_ms"]
            rivals.pay_back_later(product, "helper", case.colleague, ms, case.due[0])
        tickets = case.tickets
        if len(tickets) > 1:
            ms = story["merge_ms"]
            rivals.merge_later(product, "merger", case.colleague, ms, tickets[0], tickets[1])
        rivals.start_crowd(product, tickets, away=(agent, case.colleague))
        if story["writes"] == "again":
            customers.write_later(
                product, "customer", story["writes_ms"], tickets[0], "Please tell me how it goes."
            )
        customers.lose_patience(product, tickets[0], story["patience"])

    # --- the task ---------------------------------------------------------------------------------

    def prompt(self, instance: Instance) -> str:
        """Tell the agent its task."""
        return (
            f"You are agent {instance['agent']}, a lead at the helpdesk. In ticket "
            f"TK-{instance['ticket']} a customer writes that they were charged twice. See to it by "
            "the rules of the house (search_policy finds them by a word).\n"
            "1. Claim the ticket, unless a colleague keeps it. If it is merged into another one, "
            "go on in that; if you merge tickets yourself, do it by the rules as well.\n"
            "2. Find out what the rules say is due back, if anything. Colleagues may have begun. A "
            "charge that is pending has to come to its end first.\n"
            "3. If something is due: see to it that exactly that is paid back, and nothing twice. "
            "It is back once the gateway's ledger has it. Answer the customer in public. Set the "
            "ticket to solved once all is back, or to pending if that takes longer than some "
            "minutes. Finish with the outcome done and, as refs, each charge that goes back "
            "(charges:CH-1).\n"
            "4. If nothing is due: pay nothing back. Answer the customer in public, and set the "
            "ticket to solved. Finish with the outcome refused and, as refs, the rule that says so "
            "(policies:1) and the charges that the customer means, as far as the ledger has them "
            "(charges:CH-1).\n"
            "Change nothing else."
        )

    def brief(self, instance: Instance) -> dict[str, Any]:
        """Give the facts of the prompt."""
        return {"agent_id": int(instance["agent"]), "ticket_id": f"TK-{instance['ticket']}"}

    def goal(self, product: Helpdesk, instance: Instance, ending: Ending) -> tuple[Criterion, ...]:
        """Judge the money by the ledger, and what was made of the ticket."""
        story: Any = instance
        return Case(product, self.agent, story, layout_of(story)).judge(ending)


def amount_of(story: Mapping[str, Any]) -> int:
    """Give what each of the charges in question is, in minor units."""
    return in_currency(story["price"] // 100 * 100, story["currency"])


def totals_of(story: Mapping[str, Any]) -> list[int]:
    """Give the totals of the customer's orders of the plan."""
    amount = amount_of(story)
    totals = [2 * amount if story["cause"] == "parts" else amount]
    if story["cause"] == "two_orders":
        totals.append(amount)
    if story["last_year"] == "yes":
        totals.append(amount)
    return totals


def layout_of(story: Mapping[str, Any]) -> list[Taken]:
    """Give the charges for these orders, in the order in which they were made."""
    first = story["days_ago"] * DAY
    gap = story["gap_minutes"] * MINUTE
    out: list[Taken] = []
    match story["cause"]:
        case "retry" | "parts":
            out = [Taken(0, "succeeded", first), Taken(0, "succeeded", first - gap)]
        case "after_failure":
            out = [Taken(0, "failed", first), Taken(0, "succeeded", first - gap)]
            out.append(Taken(0, "succeeded", first - 2 * gap))
        case "thrice":
            out = [Taken(0, "succeeded", first - k * gap) for k in range(3)]
        case "pending" | "pending_fails":
            becomes = "succeeded" if story["cause"] == "pending" else "failed"
            out = [Taken(0, "succeeded", first), Taken(0, "pending", first - gap, becomes)]
        case "two_orders":
            out = [Taken(0, "succeeded", first), Taken(1, "succeeded", first - gap)]
        case _:
            out = [Taken(0, "failed", first), Taken(0, "succeeded", first - gap)]
    if story["last_year"] == "yes":
        out.append(Taken(len(totals_of(story)) - 1, "succeeded", first + 365 * DAY))
    return out
