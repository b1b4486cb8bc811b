"""The reference of helpdesk/refund-pending, and one who looks only once."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from simharness.api import Call, asking, money, parse_instant
from simharness.models.helpdesk.policies.reading import answer, claimed, left_as, pay_back
from simharness.models.helpdesk.policies.watching import watched

if TYPE_CHECKING:
    from simharness.api import Task

    Part = asking.Part
    Play = asking.Play

PROMISE = re.compile(r"pay ([A-Z]{3} [\d.]+\d|[A-Z]{3} \d) of (CH-\d+) back")


class Promise(NamedTuple):
    """What a colleague promised."""

    charge_id: str
    amount: int
    """Minor units."""
    at: int


def expert(task: Task) -> Play:
    """See to what was promised, from what it is shown and nothing else."""
    yield from play(Watcher(task))


def lazy(task: Task) -> Play:
    """Do the same, but believe the first look, and never look again."""
    yield from play(Watcher(task, lazy=True))


def play(watcher: Watcher) -> Play:
    """See to it, then say how it ended."""
    try:
        yield from watcher.work()
    except asking.Impatient as reason:
        yield Call("finish", {"message": str(reason), "outcome": "handed_over"})
        return
    yield Call("finish", {"message": watcher.message, "outcome": "done", "refs": watcher.refs})


class Watcher:
    """Finds out what has become of the promise, pays where it has to be, and says so."""

    def __init__(self, task: Task, *, lazy: bool = False) -> None:
        self.lazy = lazy
        self.agent_id: int = task.brief["agent_id"]
        self.ticket_id: str = task.brief["ticket_id"]
        self.until = parse_instant(task.brief["until"])
        self.message = ""
        self.refs: list[str] = []

    def work(self) -> Part:
        """See to it until it has arrived, or is under way when time is up."""
        yield from claimed(self.ticket_id, self.agent_id)
        promise = yield from self.promise()
        charge = yield from asking.read("get_charge", charge_id=promise.charge_id)
        tries = 0
        while True:
            refund = yield from self.standing(promise)
            if refund is None:
                tries += 1
                key = f"{self.ticket_id}-{promise.charge_id}-{tries}"
                told = yield from pay_back(charge, promise.amount, key, "promised")
                if isinstance(told, str):
                    continue  # a colleague has paid meanwhile
                refund = told
            status = refund["status"]
            if not self.lazy:
                status = yield from watched(refund["id"], charge["order_id"], self.until)
            if status == "failed":
                continue
            self.refs = [f"refunds:{refund['id']}"]
            yield from self.tell(money.show(promise.amount, charge["currency"]), status)
            if status == "succeeded" or self.lazy:
                return
            # Others may have been busy with the ticket for long: it has to be true when it ends.
            if (yield from watched(refund["id"], charge["order_id"], 0)) == "pending":
                return

    def tell(self, amount: str, status: str) -> Part:
        """Say how far the money is, in words and by the ticket."""
        arrived = status == "succeeded"
        self.message = f"{amount} {'has arrived' if arrived else 'is still under way'}."
        yield from answer(self.ticket_id, self.message)
        yield from left_as(self.ticket_id, "solved" if arrived else "pending")

    def promise(self) -> Part:
        """Read what was promised last in the thread."""
        rows = yield from asking.read_pages("list_messages", "messages", ticket_id=self.ticket_id)
        found = [
            (said, row)
            for row in rows
            if row["author"].startswith("agents:") and (said := PROMISE.search(row["body"]))
        ]
        said, row = found[-1]
        amount, _ = money.parse(said[1])
        return Promise(said[2], amount, parse_instant(row["created_at"]))

    def standing(self, promise: Promise) -> Part:
        """Give the refund by which the promise was kept, or is to be; None where there is none."""
        rows: list[dict[str, Any]] = yield from asking.read_pages(
            "list_refunds", "refunds", charge_id=promise.charge_id
        )
        live = [
            row
            for row in rows
            if row["amount"] == promise.amount
            and parse_instant(row["created_at"]) >= promise.at
            and row["status"] != "failed"
        ]
        return live[-1] if live else None
