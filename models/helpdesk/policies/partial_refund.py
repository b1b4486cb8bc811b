"""The reference of helpdesk/partial-refund, and one who never looks what became of a refund."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from simharness.api import SECOND, Call, asking, money, parse_instant
from simharness.models.helpdesk.policies.reading import answer, claimed, left_as, pay_back
from simharness.models.helpdesk.policies.watching import watched
from simharness.models.helpdesk.proration import (
    CURRENCIES,
    EARLIER,
    MODES,
    MONTHS,
    PARTS,
    ROUNDING_TITLE,
    RULE_TITLE,
    Purchase,
    Rounding,
    Rule,
    day_of,
    due,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from simharness.api import Task

    Part = asking.Part
    Play = asking.Play

WISH = re.compile(r"cancel my ([\w-]+ [\w-]+) as of (\d{4}-\d\d-\d\d)")
SCOPE = re.compile(r"Plans bought (before|on) (\d{4}-\d\d-\d\d)( or later)?: ")
FEE = re.compile(r"less (\d+) per cent")
GRACE = re.compile(r"no more than (\d+) days after")
STEP = re.compile(r"[A-Z]{3} \d+(?:\.\d+)?")
WATCH = re.compile(r"look for (\d+) seconds")


def expert(task: Task) -> Play:
    """Pay back what is due by the rules, from what it is shown and nothing else."""
    yield from play(Prorater(task))


def lazy(task: Task) -> Play:
    """Do the same, but never look what becomes of the refund."""
    yield from play(Prorater(task, lazy=True))


def play(prorater: Prorater) -> Play:
    """Work the case, then say how it ended."""
    try:
        yield from prorater.work()
    except asking.Impatient as reason:
        yield Call("finish", {"message": str(reason), "outcome": "handed_over"})
        return
    yield Call(
        "finish",
        {"message": prorater.message, "outcome": prorater.outcome, "refs": prorater.refs},
    )


class Prorater:
    """Reads case and rules, pays, watches, and says so."""

    def __init__(self, task: Task, *, lazy: bool = False) -> None:
        self.lazy = lazy
        found = WATCH.search(task.prompt)
        assert found is not None
        self.watch_ticks = int(found[1]) * SECOND
        self.agent_id: int = task.brief["agent_id"]
        self.ticket_id: str = task.brief["ticket_id"]
        self.message = ""
        self.outcome = "done"
        self.refs: list[str] = []

    def work(self) -> Part:
        """Pay back until it has arrived, or is on its way for long enough."""
        ticket = yield from claimed(self.ticket_id, self.agent_id)
        title, cancelled = yield from self.wish()
        charge, bought = yield from self.find(ticket["customer_id"], title, cancelled)
        rule, rule_id = yield from self.rule(bought)
        rounding = yield from self.rounding()
        tries = 0
        while True:
            _, cancelled = yield from self.wish()
            live = yield from self.live(charge)
            amount = due(rule, rounding, bought, cancelled, sum(live.values()))
            if not amount:
                self.refs = [f"policies:{rule_id}", f"charges:{charge['id']}"]
                if (yield from self.refuse(charge, cancelled, live)):
                    return
                continue
            tries += 1
            key = f"{self.ticket_id}-{charge['id']}-{tries}"
            refund = yield from pay_back(charge, amount, key, "cancelled early")
            if isinstance(refund, str):
                continue  # somebody else has paid some of it back meanwhile
            until = parse_instant(refund["created_at"]) + self.watch_ticks
            status = refund["status"]
            if not self.lazy:
                status = yield from watched(refund["id"], charge["order_id"], until)
            if status != "failed":
                self.refs = [f"policies:{rule_id}", f"refunds:{refund['id']}"]
                yield from self.tell(money.show(amount, charge["currency"]), status)
                return

    def tell(self, amount: str, status: str) -> Part:
        """Say how far the money is, in words and by the ticket."""
        arrived = status == "succeeded"
        self.message = f"{amount} {'went back to you' if arrived else 'is on its way to you'}."
        yield from answer(self.ticket_id, self.message)
        yield from left_as(self.ticket_id, "solved" if arrived else "pending")

    def refuse(self, charge: Mapping[str, Any], cancelled: int, live: Mapping[str, int]) -> Part:
        """Say that nothing is due; tells whether that is still so afterwards."""
        self.message, self.outcome = "Nothing is due for the rest of your plan.", "refused"
        yield from answer(self.ticket_id, self.message)
        yield from left_as(self.ticket_id, "solved")
        now = yield from self.live(charge)
        if (yield from self.wish())[1] == cancelled and now == live:
            return True
        self.outcome = "done"
        return False

    # --- the case ---------------------------------------------------------------------------------

    def wish(self) -> Part:
        """Give the plan that the customer cancels, and the day, as they said last."""
        rows = yield from asking.read_pages("list_messages", "messages", ticket_id=self.ticket_id)
        said = [WISH.search(row["body"]) for row in rows]
        last = [found for found in said if found is not None][-1]
        return last[1], day_of(last[2])

    def live(self, charge: Mapping[str, Any]) -> Part:
        """Give what has gone back of a charge or is on its way, by the ids of the refunds."""
        rows = yield from asking.read_pages("list_refunds", "refunds", charge_id=charge["id"])
        return {row["id"]: row["amount"] for row in rows if row["status"] != "failed"}

    def find(self, customer_id: int, title: str, cancelled: int) -> Part:
        """Find the charge of the plan whose term the cancellation is in, and the purchase."""
        rows = yield from asking.read_pages("list_charges", "charges", customer_id=customer_id)
        found: list[tuple[int, dict[str, Any], Purchase]] = []
        for charge in rows:
            if charge["status"] != "succeeded":
                continue
            order = yield from asking.read("get_order", order_id=charge["order_id"])
            day = day_of(order["created_at"])
            if order["title"] == title and day <= cancelled:
                months = MONTHS[title.rpartition(" ")[2]]
                bought = Purchase(day, months, charge["amount"], charge["currency"])
                found.append((day, charge, bought))
        _, charge, bought = max(found, key=lambda each: each[0])
        return charge, bought

    # --- the rules --------------------------------------------------------------------------------

    def rule(self, bought: Purchase) -> Part:
        """Find the rule that holds for a purchase, and its row."""
        told = yield from asking.read("search_policy", text=RULE_TITLE)
        for row in told["policies"]:
            if row["title"] == RULE_TITLE and holds(row["body"], bought.day):
                return read_rule(row["body"]), row["id"]
        raise asking.Impatient(f"no rule {RULE_TITLE!r} holds for what was bought")

    def rounding(self) -> Part:
        """Find how parts are rounded."""
        told = yield from asking.read("search_policy", text=ROUNDING_TITLE)
        row = next(row for row in told["policies"] if row["title"] == ROUNDING_TITLE)
        return read_rounding(row["body"])


def holds(body: str, day: int) -> bool:
    """Tell whether a rule is for what was bought on a day."""
    found = SCOPE.match(body)
    if found is None:
        return True
    border = day_of(found[2])
    return day < border if found[1] == "before" else day >= border


def read_rule(body: str) -> Rule:
    """Read a rule out of its words."""
    (unit, day_used), _ = next(each for each in PARTS.items() if each[1] in body)
    earlier, _ = next(each for each in EARLIER.items() if each[1] in body)
    fee, grace = FEE.search(body), GRACE.search(body)
    return Rule(
        unit="days" if unit == "days" else "months",
        day_used=day_used,
        fee=int(fee[1]) if fee else 0,
        grace=int(grace[1]) if grace else 0,
        earlier="deducted" if earlier == "deducted" else "apart",
    )


def read_rounding(body: str) -> Rounding:
    """Read out of its words how parts are rounded."""
    mode = next(mode for mode, words in MODES.items() if f"off: {words}." in body)
    found = (money.parse(said[0]) for said in STEP.finditer(body))
    steps = {currency: step for step, currency in found}
    exact: Any = mode
    return Rounding(exact, tuple(steps[currency] for currency in CURRENCIES))
