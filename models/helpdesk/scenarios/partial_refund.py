"""helpdesk/partial-refund: a plan that is cancelled early, and exactly what goes back of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from simharness.api import DAY, HOUR, SECOND, Criterion, Drawing, Ending, Instance
from simharness.models.helpdesk.base import EPOCH
from simharness.models.helpdesk.people.case import pay_unless, write_unless
from simharness.models.helpdesk.policies import coping, partial_refund
from simharness.models.helpdesk.proration import (
    CURRENCIES,
    MONTHS,
    ROUNDING_TITLE,
    RULE_TITLE,
    Purchase,
    Rounding,
    Rule,
    date_of,
    months_later,
    rounding_text,
    rule_text,
)
from simharness.models.helpdesk.scenarios.partial_refund_goal import WATCH_SECONDS, Judge, Truth
from simharness.models.helpdesk.scenarios.stage import Stage, first_id, tax_part
from simharness.models.helpdesk.scenarios.task import RefundTask

if TYPE_CHECKING:
    from collections.abc import Mapping

    from simharness.api import Policy
    from simharness.models.helpdesk.product import Helpdesk
    from simharness.models.helpdesk.tables import Charge, Customer

FAMILIES = ("Pro", "Team", "Studio", "Basic")
TODAY = EPOCH // DAY
"""The day on which an instance begins, since 1970."""
CUSTOMER = "customer/correction"
"""Who names another day of cancellation."""
STEPS: Mapping[str, tuple[int, ...]] = {
    "EUR": (1, 5),
    "JPY": (1, 10),
    "KWD": (1, 5, 10),
    "USD": (1, 5),
}
"""Steps to which a currency may be rounded, in minor units."""
MONTH_END = 28
"""Last day of the month that there is in every month."""


class PartialRefund(RefundTask):
    """Pay back what is due for the rest of one plan."""

    id = "helpdesk/partial-refund"
    doc = (
        "by the gateway's ledger exactly what the rules of the house gave for the cancelled plan "
        "when the agent paid, or in the minute before, went back of its charge by the agent's "
        "hand, with its net and tax, or nothing where nothing was due; the customer was told in "
        "public afterwards; the ticket is solved if all had arrived when the agent set it, and "
        "pending if after two minutes it had not; finish names the rule and the refund, or the "
        "charge where it refuses; nothing else was changed"
    )
    policies: ClassVar[Mapping[str, Policy]] = {
        "expert": partial_refund.expert,
        "lazy": partial_refund.lazy,
        **coping.COPING,
    }

    def draw(self, drawing: Drawing) -> None:
        """Draw the plan, the rules, what went back before, and what comes in between."""
        self.draw_money(drawing)
        drawing.pick("family", FAMILIES)
        drawing.pick("term", tuple(MONTHS), (15, 20, 20, 45))
        drawing.pick("when", ("early", "middle", "late"), (18, 64, 18))
        drawing.between("elapsed", 0, 999)
        drawing.between("ago", 0, 8)
        # The rules.
        drawing.pick("unit", ("days", "months"), (60, 40))
        drawing.pick("day_used", ("yes", "no"))
        drawing.between("fee", 0, 4)
        drawing.pick("grace", ("0", "7", "14", "30"))
        drawing.pick("earlier_is", ("deducted", "apart"), (60, 40))
        drawing.pick("scope", ("all", "before", "from"), (40, 30, 30))
        drawing.between("scope_gap", 1, 60)
        drawing.pick("holds", ("first", "second"))
        drawing.pick("mode", ("nearest", "down", "up"), (40, 35, 25))
        drawing.between("step", 0, 5)
        # What was before.
        drawing.pick("earlier", ("none", "succeeded", "pending", "failed"), (34, 26, 20, 20))
        drawing.between("earlier_pct", 5, 35)
        drawing.pick("attempt", ("no", "yes"), (65, 35))
        drawing.pick("former", ("no", "yes"), (50, 50))
        drawing.pick("other", ("no", "yes"), (50, 50))
        # What the customer says.
        drawing.pick("said", ("ticket", "thread", "mended"), (40, 30, 30))
        drawing.between("said_off", 3, 25)
        drawing.pick("correction", ("no", "yes"), (72, 28))
        drawing.between("correction_days", 2, 25)
        drawing.between("correction_at", 5, 75)
        # What others do.
        drawing.pick("colleague", ("no", "pays"), (58, 42))
        drawing.between("colleague_pct", 5, 45)
        drawing.between("colleague_at", 15, 75)
        self.draw_others(drawing)

    # --- the start --------------------------------------------------------------------------------

    def start(self, product: Helpdesk, instance: Instance) -> int:
        """Add the customer with plans, charges and refunds, the ticket, and the rules."""
        story: Any = instance
        stage = Stage(product, story["shift"])
        customer = stage.customer(story["currency"], story["price"])
        title, bought = title_of(story), bought_of(story)
        if story["former"] == "yes":
            self._sell(stage, story, customer, title, months_later(bought.day, -bought.months))
        if story["other"] == "yes":
            # Bought a little before, so that it is the title that tells them apart.
            family = FAMILIES[(FAMILIES.index(story["family"]) + 1) % len(FAMILIES)]
            self._sell(stage, story, customer, f"{family} {story['term']}", bought.day - 2)
        charge = self._sell(
            stage, story, customer, title, bought.day, attempt=story["attempt"] == "yes"
        )
        if story["earlier"] != "none":
            amount = max(1, bought.price * story["earlier_pct"] // 100)
            ago = DAY + story["price"] * SECOND
            stage.refund(charge, amount, ago=ago, status=story["earlier"], reason="goodwill")
        self._write(stage, story, customer)
        self._post_rules(stage, story)
        stage.close()
        return int(story["agent"])

    def _sell(
        self,
        stage: Stage,
        story: Any,
        customer: Customer,
        title: str,
        day: int,
        *,
        attempt: bool = False,
    ) -> Charge:
        """Add an order that was charged on some day; gives the charge."""
        ago = self.epoch - (day * DAY + story["price"] % 30_000 * SECOND)
        price: int = story["price"]
        tax = tax_part(price, story["tax_pct"])
        order = stage.order(customer, title, price, tax=tax, ago=ago)
        if not attempt:
            return stage.charge(order, price, ago=ago)
        failed = stage.charge(order, price, ago=ago, status="failed")
        return stage.charge(order, price, ago=ago - SECOND, attempt_of=failed.id)

    @staticmethod
    def _write(stage: Stage, story: Any, customer: Customer) -> None:
        """Add the ticket and its thread."""
        day = TODAY - story["ago"]
        wish = wish_text(story, day)
        wrong = wish_text(story, day - story["said_off"])
        bodies = {"ticket": wish, "thread": "I want to cancel my plan.", "mended": wrong}
        ticket = stage.ticket(
            customer, "Please cancel my plan", bodies[story["said"]], ago=5 * HOUR
        )
        if story["said"] != "ticket":
            author = f"customers:{customer.id}"
            stage.message(ticket, author, f"Sorry, once more. {wish}", ago=3 * HOUR)

    @staticmethod
    def _post_rules(stage: Stage, story: Any) -> None:
        """Add the rules of the house."""
        rule, other = rule_of(story), other_rule(story)
        scope, beside = scopes_of(story)
        bodies = [rule_text(rule, scope)]
        if beside:
            bodies.append(rule_text(other, beside))
            if story["holds"] == "second":
                bodies.reverse()
        for body in bodies:
            stage.policy(RULE_TITLE, body)
        stage.policy(ROUNDING_TITLE, rounding_text(rounding_of(story)))

    # --- the task ---------------------------------------------------------------------------------

    def people(self, product: Helpdesk, instance: Instance) -> None:
        """Start the customer, colleagues who pay back as well, and everybody else."""
        story: Any = instance
        truth = self._truth(product, instance)
        if story["correction"] == "yes":
            write_unless(
                product,
                CUSTOMER,
                story["correction_at"] * 1000,
                truth.ticket_id,
                f"I have to correct myself. {wish_text(story, truth.corrected)}",
                charge_id=truth.charge_id,
                unless=self.agent,
            )
        if story["colleague"] == "pays":
            amount = max(1, truth.bought.price * story["colleague_pct"] // 100)
            pay_unless(
                product, story["colleague_at"] * 1000, truth.charge_id, amount, unless=self.agent
            )
        self.start_others(product, story, truth.ticket_id, truth.charge_id)

    def prompt(self, instance: Instance) -> str:
        """Tell the agent its task."""
        facts = self.brief(instance)
        return (
            f"You are agent {facts['agent_id']} of a helpdesk. In {facts['ticket_id']} a customer "
            "cancels a plan before the end of its term. Pay back of its charge exactly what the "
            f"rules of the house give ({RULE_TITLE!r} and {ROUNDING_TITLE!r}; search_policy finds "
            "them), by the day that the customer named last; colleagues may pay something back "
            f"meanwhile. Then look for {WATCH_SECONDS} seconds what becomes of it: if it fails, "
            "pay again what is due then. Once it has arrived by the gateway's ledger, set the "
            f"ticket to solved; if it is still under way after {WATCH_SECONDS} seconds, set it to "
            "pending. Tell the customer in a public reply after you have paid, and call finish "
            "with the outcome done, and the rule and the refund in refs. If nothing is due, pay "
            "nothing, tell the customer so, set the ticket to solved, and call finish with the "
            "outcome refused, and the rule and the charge in refs."
        )

    def brief(self, instance: Instance) -> dict[str, Any]:
        """Give the facts of the prompt."""
        ticket_id = first_id("tickets", int(instance["shift"]))
        return {"agent_id": instance["agent"], "ticket_id": f"TK-{ticket_id}"}

    def goal(self, product: Helpdesk, instance: Instance, ending: Ending) -> tuple[Criterion, ...]:
        """Judge what went back, by what was due."""
        truth = self._truth(product, instance)
        return Judge(product, truth, self.agent, CUSTOMER).judge(ending)

    def _truth(self, product: Helpdesk, instance: Instance) -> Truth:
        """Say what an agent has to find out."""
        story: Any = instance
        shift: int = story["shift"]
        charge_id = first_id("charges", shift)
        charge_id += (story["former"] == "yes") + (story["other"] == "yes")
        charge_id += story["attempt"] == "yes"
        policy_id = first_id("policies", shift)
        two = story["scope"] != "all"
        cancelled = TODAY - story["ago"]
        return Truth(
            ticket_id=first_id("tickets", shift),
            charge_id=charge_id,
            rule=rule_of(story),
            policy_id=policy_id + (two and story["holds"] == "second"),
            rounding=rounding_of(story),
            rounding_id=policy_id + 1 + two,
            bought=bought_of(story),
            cancelled=cancelled,
            corrected=cancelled + story["correction_days"],
        )


# --- what a story means ---------------------------------------------------------------------------


def title_of(story: Any) -> str:
    """Give the title of the plan."""
    return f"{story['family']} {story['term']}"


def wish_text(story: Any, day: int) -> str:
    """Say in the customer's words when the plan is to end."""
    return f"Please cancel my {title_of(story)} as of {date_of(day)}."


def bought_of(story: Any) -> Purchase:
    """Give the plan as it was bought: so long before the cancellation as the story says."""
    months = MONTHS[story["term"]]
    last = months * 30 - 6
    begin, end = {
        "early": (0, min(20, last)),
        "middle": (last // 8, last * 7 // 8),
        "late": (max(last - 24, 0), last),
    }[story["when"]]
    day = TODAY - story["ago"] - begin - (end - begin) * story["elapsed"] // 999
    date = int(date_of(day)[8:])
    return Purchase(day - max(date - MONTH_END, 0), months, story["price"], story["currency"])


def rule_of(story: Any) -> Rule:
    """Give the rule that holds for the plan."""
    return Rule(
        unit=story["unit"],
        day_used=story["day_used"] == "yes",
        fee=story["fee"] * 5,
        grace=int(story["grace"]),
        earlier=story["earlier_is"],
    )


def other_rule(story: Any) -> Rule:
    """Give the rule for plans that were bought at another time, which differs in everything."""
    rule = rule_of(story)
    return Rule(
        unit="months" if rule.unit == "days" else "days",
        day_used=not rule.day_used,
        fee=(rule.fee + 15) % 40,
        grace=0 if rule.grace else 21,
        earlier="apart" if rule.earlier == "deducted" else "deducted",
    )


def scopes_of(story: Any) -> tuple[str, str]:
    """Say for which plans the rule holds, and for which the other; empty where there is none."""
    day, gap = bought_of(story).day, story["scope_gap"]
    if story["scope"] == "all":
        return "All plans", ""
    border = date_of(day + gap if story["scope"] == "before" else day - gap + 1)
    before, later = f"Plans bought before {border}", f"Plans bought on {border} or later"
    return (before, later) if story["scope"] == "before" else (later, before)


def rounding_of(story: Any) -> Rounding:
    """Give how the story rounds."""
    number: int = story["step"]
    choices = (STEPS[currency] for currency in CURRENCIES)
    return Rounding(story["mode"], tuple(each[number % len(each)] for each in choices))
