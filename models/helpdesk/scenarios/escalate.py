"""helpdesk/escalate: a customer who wants money back, which the agent may pay or has to hand over.

The prompt is the same for both, and so is the ticket at first sight: whether the request is within
the agent's limit, and whether another rule gives it to a team, is for the agent to find out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from simharness.api import DAY, HOUR, MS, Criterion, Drawing, Ending, Instance, Scenario, later
from simharness.models.helpdesk.authority import (
    ENTERPRISE,
    ask,
    authority_of,
    draw_authority,
    texts,
)
from simharness.models.helpdesk.base import AGENTS, EPOCH, base_rows
from simharness.models.helpdesk.habits import TEAM
from simharness.models.helpdesk.people import customers, rivals
from simharness.models.helpdesk.people.days import DAYS, Bank
from simharness.models.helpdesk.people.machines import start_machines
from simharness.models.helpdesk.people.team import start_team
from simharness.models.helpdesk.policies import coping, escalate
from simharness.models.helpdesk.scenarios.escalate_goal import Case
from simharness.models.helpdesk.scenarios.stage import (
    CURRENCIES,
    CURRENCY_WEIGHTS,
    Stage,
    in_currency,
    tax_part,
)

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping, Sequence

    from simharness.api import Actor, Policy, Row
    from simharness.models.helpdesk.product import Helpdesk

CAUSES = ("within", "above", "legal", "fraud", "dispute", "enterprise")
"""Why the request is the agent's to decide, or a team's."""
TURNS = ("none", "legal", "fraud", "more", "less", "dispute", "paid")
"""What changes while the agent is at work: the customer writes of a lawyer, or that they never
ordered it; wants more, or less; the bank disputes the charge; a colleague pays something back."""
SAYS: Mapping[str, tuple[str, ...]] = {
    "legal": ("My lawyer will write to you next.", "I will take this to court."),
    "fraud": ("I never ordered this.", "Somebody paid this with my stolen card."),
}
PLANS = ("Pro Annual", "Pro Monthly", "Archive Annual", "Headphones", "Desk lamp")
DECOYS = ("Support Pack", "Team Training", "Keyboard")
GRUMBLES = ("It is not what I expected.", "It came too late.", "We have no use for it any more.")
SUBJECT = "Money back, please"


class Sums(NamedTuple):
    """Amounts of an instance, in minor units."""

    total: int
    earlier: int
    """Paid back before the start."""
    asked: int
    """What the customer wants at first."""
    then: int
    """What the customer wants later, if they change their mind."""
    paid: int
    """What a colleague pays back meanwhile."""


class Escalate(Scenario["Helpdesk"]):
    """Find out who is to decide about a request, and pay it back or hand it over."""

    id = "helpdesk/escalate"
    doc = (
        "by the rules of the house as they apply when the agent acts, what the customer asked for "
        "last is back by the ledger, the ticket is solved after that, or pending while the refund "
        "is under way, and the refund named; or, where the rules give it to a team, it was "
        "escalated to that team, nothing was paid back, the ticket is parked, and finish names the "
        "rule and the charge; the customer was answered in public after that and nothing else was "
        "changed"
    )
    epoch = EPOCH
    team = TEAM
    steps_max = 100
    policies: ClassVar[Mapping[str, Policy]] = {
        "expert": escalate.expert,
        "lazy": escalate.lazy,
        **coping.COPING,
    }

    def base_rows(self) -> Mapping[str, Sequence[Row]]:
        """Give the helpdesk."""
        return base_rows()

    def draw(self, drawing: Drawing) -> None:
        """Draw the rules, the request, and what changes meanwhile."""
        drawing.between("ticket", 10_000, 99_999)
        drawing.pick("agent", tuple(str(k) for k in range(2, len(AGENTS) + 1)))
        drawing.between("shift", 0, 900)
        drawing.between("customer", 0, 600)
        drawing.pick("currency", CURRENCIES, CURRENCY_WEIGHTS)
        draw_authority(drawing)
        cause = drawing.pick("cause", CAUSES, (38, 22, 10, 10, 10, 10))
        drawing.pick("also", ("none", "legal", "fraud", "enterprise"), (70, 10, 10, 10))
        drawing.pick("said", ("first", "later"))
        drawing.below("phrase", 2)
        drawing.pick("plan", PLANS)
        drawing.pick("grumble", GRUMBLES)
        drawing.pick("earlier", ("0", "20", "45", "80"), (40, 20, 20, 20))
        drawing.pick("part", ("100", "99", "70", "35"), (30, 20, 25, 25))
        drawing.pick("over", ("0", "4", "40", "150"))
        drawing.pick("way", ("amount", "all"), (65, 35))
        drawing.between("slack", 3, 90)
        drawing.pick("failed_first", ("no", "yes"), (70, 30))
        drawing.between("days_ago", 2, 20)
        drawing.between("decoys", 0, 2)
        turns = TURNS if cause == "within" else ("none", "legal", "fraud", "less")
        weights = (46, 9, 9, 10, 8, 9, 9) if cause == "within" else (76, 8, 8, 8)
        drawing.pick("turn", turns, weights)
        drawing.between("turn_ms", 6_000, 90_000)
        drawing.pick("day", tuple(DAYS), (26, 16, 16, 14, 18, 10))
        drawing.between("patience", 110, 170)

    # --- the start --------------------------------------------------------------------------------

    def start(self, product: Helpdesk, instance: Instance) -> int:
        """Put the rules, the customer, what was paid and what they write into place."""
        story: Any = instance
        stage = Stage(product, story["shift"])
        rules = texts(authority_of(story))
        first = story["rules_from"] % len(rules)
        for title, body in rules[first:] + rules[:first]:
            stage.policy(title, body)
        customer = stage.customer(story["currency"], story["customer"])
        sums = sums_of(story)
        ago = story["days_ago"] * DAY
        for k, title in enumerate(DECOYS[: story["decoys"]]):
            other = in_currency(30_00 + 11_00 * k, story["currency"])
            order = stage.order(customer, title, other, ago=ago + (9 * k + 5) * DAY)
            stage.charge(order, other, ago=ago + (9 * k + 4) * DAY, key=f"order-{order.id}")
        title = (
            f"{ENTERPRISE} {story['plan']}" if "enterprise" in reasons_of(story) else story["plan"]
        )
        tax = tax_part(sums.total, 19)
        order = stage.order(customer, title, sums.total, tax=tax, ago=ago + HOUR)
        failed = None
        if story["failed_first"] == "yes":
            key = f"order-{order.id}/1"
            failed = stage.charge(
                order, sums.total, ago=ago + HOUR // 2, status="failed", key=key
            ).id
        status = "disputed" if story["cause"] == "dispute" else "succeeded"
        charge = stage.charge(
            order, sums.total, ago=ago, status=status, key=f"order-{order.id}", attempt_of=failed
        )
        if sums.earlier:
            stage.refund(charge, sums.earlier, ago=DAY, reason="goodwill")
        wish = None if story["way"] == "all" else sums.asked
        phrase: int = story["phrase"]
        said = [SAYS[why][phrase] for why in reasons_of(story) if why in SAYS]
        body = (
            f"{story['grumble']} Please {ask(wish, story['currency'])}. It is of order {order.id}."
        )
        at_once = said if story["said"] == "first" else []
        ticket = stage.ticket(
            customer, SUBJECT, " ".join([body, *at_once]), ago=5 * HOUR, key=story["ticket"]
        )
        if said and not at_once:
            stage.message(ticket, f"customers:{customer.id}", " ".join(said), ago=2 * HOUR)
        stage.close()
        return int(story["agent"])

    # --- who else is there ------------------------------------------------------------------------

    def people(self, product: Helpdesk, instance: Instance) -> None:
        """Start the bank, the customer, and the colleagues, some of them busy with this ticket."""
        story: Any = instance
        case = self.case(product, instance)
        agent = int(story["agent"])
        start_team(product, away=agent)
        customers.start_customers(product)
        start_machines(product)
        Bank(product, [case.charge_id], story["day"])
        rivals.start_crowd(product, [case.ticket], away=(agent,))
        customers.lose_patience(product, case.ticket, story["patience"])
        if story["turn"] != "none":
            self.turn_later(product, case, story)

    def turn_later(self, desk: Helpdesk, case: Case, story: Mapping[str, Any]) -> None:
        """Let something change some time from now, unless the agent has acted by then."""
        turn: str = story["turn"]
        sums = sums_of(story)
        customer = -case.customer_id
        who, identity, tool, arguments = "customer/turn", customer, "customer.write", {
            "ticket_id": f"TK-{case.ticket}",
            "body": turn_text(story, sums),
        }  # fmt: skip
        if turn == "dispute":
            who, identity, tool = "bank/turn", 0, "gateway.settle"
            arguments = {"ref": f"CH-{case.charge_id}", "status": "disputed"}
        elif turn == "paid":
            who, identity = "colleague/turn", 2 if story["agent"] != "2" else 3

        def act(actor: Actor) -> Generator[Any, Any, None]:
            if case.is_decided():
                return
            if turn == "paid":
                back = {"amount": sums.paid, "reason": "goodwill"}
                yield from desk.request(actor, "refund", charge_id=case.charge_id, **back)
            else:
                yield from desk.perform(actor, tool, arguments)

        later(desk.world, who, identity, story["turn_ms"] * MS, act)

    # --- the task ---------------------------------------------------------------------------------

    def prompt(self, instance: Instance) -> str:
        """Tell the agent its task."""
        return (
            f"You are agent {instance['agent']} at the helpdesk. In ticket "
            f"TK-{instance['ticket']} a customer wants money back. See to it by the rules of the "
            'house; search_policy finds those about it by "escalation" and "limit". It goes by '
            "what is so when you act: the customer may write again, and what they ask for last "
            "counts; banks and colleagues are at work too.\n"
            "1. Claim the ticket; colleagues may have it for a while.\n"
            "2. If the rules let you decide: pay back exactly what is asked for. It is back once "
            "the gateway's ledger has it. Answer the customer in public. Set the ticket to solved "
            "once it is back, or to pending if that takes longer than some minutes. Finish with "
            "the outcome done and, as ref, the refund (refunds:RF-1).\n"
            "3. If a team is to decide: pay nothing back. Escalate the ticket to that team, answer "
            "the customer in public, and give the ticket the status that the rules name. Finish "
            "with the outcome handed_over and, as refs, the rule that names the team (policies:1) "
            "and the charge (charges:CH-1).\n"
            "Change nothing else."
        )

    def brief(self, instance: Instance) -> dict[str, Any]:
        """Give the facts of the prompt."""
        return {"agent_id": int(instance["agent"]), "ticket_id": f"TK-{instance['ticket']}"}

    def goal(self, product: Helpdesk, instance: Instance, ending: Ending) -> tuple[Criterion, ...]:
        """Judge what was done by what the rules said when it was."""
        return self.case(product, instance).judge(ending)

    def case(self, product: Helpdesk, instance: Instance) -> Case:
        """Give the request of an instance."""
        story: Any = instance
        return Case(
            product, authority_of(story), self.agent, int(story["agent"]), int(story["ticket"])
        )


def reasons_of(story: Mapping[str, Any]) -> list[str]:
    """List why the request is a team's from the start, the amount apart."""
    if story["cause"] in ("within", "above"):
        return []
    return list(dict.fromkeys(why for why in (story["cause"], story["also"]) if why != "none"))


def sums_of(story: Mapping[str, Any]) -> Sums:
    """Work the amounts out, so that the request is on the side of the limit that was drawn."""
    rules = authority_of(story)
    role = AGENTS[int(story["agent"]) - 1][1]
    limit = rules.limits[role][story["currency"]]
    earlier = limit * int(story["earlier"]) // 100
    room = limit - earlier if rules.counted else limit
    above = room + max(1, room * int(story["over"]) // 100)
    below = max(1, room * int(story["part"]) // 100)
    first = above if story["cause"] == "above" else below
    then = above if story["turn"] == "more" else max(1, below // 2)
    paid = max(1, limit * story["slack"] // 400) if story["turn"] == "paid" else 0
    slack = 0 if story["way"] == "all" else max(1, limit * story["slack"] // 100)
    wanted = max(first, then if story["turn"] in ("more", "less") else 0)
    return Sums(earlier + wanted + paid + slack, earlier, first, then, paid)


def turn_text(story: Mapping[str, Any], sums: Sums) -> str:
    """Give what the customer writes when something changes."""
    turn: str = story["turn"]
    phrase: int = story["phrase"]
    if turn in SAYS:
        return SAYS[turn][1 - phrase]
    return f"I have thought about it. Please {ask(sums.then, story['currency'])} instead."
