"""The helpdesk with small tasks, for tests that need whole episodes. They load it by its path."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from simharness.api import Call, Criterion, Drawing, Ending, Instance, Scenario, parse_instant
from simharness.models.helpdesk import Helpdesk
from simharness.models.helpdesk.tables import Agent, Charge, Customer, Message, Order, Ticket

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping, Sequence

    from simharness.api import Action, Observation, Row, Task

    Acts = Generator[Action, Observation, None]

EPOCH = parse_instant("2026-03-02T09:00:00Z")


def refund(task: Task) -> Acts:
    """Refund, wait until that has settled, and say what came of it."""
    told = yield Call("refund", {"charge_id": "CH-1", "amount": 8_000, "currency": "USD"})
    key = {"refund_id": told.value["id"]}
    while told.value["status"] == "pending":
        yield Call("wait", {"seconds": 60})
        told = yield Call("get_refund", key)
    if told.value["status"] == "failed":
        # Failing later is the gateway's way here: another attempt goes through.
        told = yield Call("refund", {"charge_id": "CH-1", "amount": 8_000})
    yield Call("set_status", {"ticket_id": "TK-1", "status": "solved"})
    refs = ["tickets:TK-1", "RF-1", "charges:1", "orders:1"]
    yield Call("finish", {"message": "It is back.", "refs": refs})


def announce(task: Task) -> Acts:
    """Refund, and say that it is done before it is."""
    yield Call("refund", {"charge_id": "CH-1", "amount": 8_000, "currency": "USD"})
    yield Call("reply", {"ticket_id": "TK-1", "body": "We have refunded 80.00 USD."})
    yield Call("set_status", {"ticket_id": "TK-1", "status": "solved"})
    yield Call("finish", {"message": "The order has been refunded."})


def pretend(task: Task) -> Acts:
    """Call the order refunded and the ticket solved, without paying anything back."""
    yield Call("set_order_status", {"order_id": 1, "status": "refunded"})
    yield Call("reply", {"ticket_id": "TK-1", "body": "We have refunded 80.00 USD."})
    yield Call("set_status", {"ticket_id": "TK-1", "status": "solved"})
    yield Call("finish", {"message": "The order has been refunded."})


def charge(*keys: str) -> Any:
    """Charge under one key after the other, until one is answered."""

    def acts(task: Task) -> Acts:
        wanted = {"order_id": 2, "amount": 2_500, "currency": "USD"}
        for key in keys:
            told = yield Call("charge", {**wanted, "idempotency_key": key})
            if not told.error:
                break
        yield Call("wait", {"seconds": 60})
        told = yield Call("list_charges", {"order_id": 2})
        yield Call("finish", {"message": "Done.", "refs": [f"charges:{told.value['ids'][0]}"]})

    return acts


BODY = {"body": "A new cartridge is on its way."}


def answer(task: Task) -> Acts:
    """Answer an open ticket, solve it, and answer what the list shows as open first."""
    yield Call("list_tickets", {"status": "open"})
    yield Call("reply", {"ticket_id": "TK-1", **BODY})
    yield Call("set_status", {"ticket_id": "TK-1", "status": "solved"})
    told = yield Call("list_tickets", {"status": "open"})
    yield Call("reply", {"ticket_id": told.value["ids"][0], **BODY})
    yield Call("finish", {"message": "Done."})


def forget(task: Task) -> Acts:
    """Answer an open ticket and solve it, then answer it again."""
    for _ in range(2):
        yield Call("reply", {"ticket_id": "TK-1", **BODY})
        yield Call("set_status", {"ticket_id": "TK-1", "status": "solved"})
    yield Call("finish", {"message": "Done."})


def stranger(task: Task) -> Acts:
    """Name a ticket that nobody has told of."""
    yield Call("set_status", {"ticket_id": "TK-77", "status": "solved"})
    yield Call("finish", {"message": "Done.", "refs": ["tickets:TK-88", "TK-1", "CH-66"]})


class Task1(Scenario["DeskLab"]):
    """What the tasks have in common."""

    profile = "bare"
    epoch = EPOCH
    steps_max = 16

    def base_rows(self) -> Mapping[str, Sequence[Row]]:
        stamp: dict[str, Any] = {"created_at": EPOCH, "updated_at": EPOCH}
        return {
            "agents": [Agent(id=1, full_name="Ann Agent", role="lead", **stamp)],
            "customers": [Customer(id=1, full_name="Robin Example", **stamp)],
            "orders": [
                Order(id=1, customer_id=1, title="Headphones", total=8_000, status="paid", **stamp),
                Order(id=2, customer_id=1, title="Pro Monthly", total=2_500, **stamp),
            ],
            "charges": [
                Charge(id=1, order_id=1, customer_id=1, amount=8_000, status="succeeded", **stamp)
            ],
            "tickets": [
                Ticket(id=1, customer_id=1, subject="Refund", status="open", **stamp),
                Ticket(id=2, customer_id=1, subject="Printer", status="open", **stamp),
            ],
            "messages": [Message(id=1, ticket_id=1, author="customers:1", body="Please.", **stamp)],
        }

    def draw(self, drawing: Drawing) -> None:
        drawing.between("nothing", 1, 2)

    def start(self, product: DeskLab, instance: Instance) -> int:
        return 1

    def prompt(self, instance: Instance) -> str:
        return "See to ticket TK-1 of customer 1: charge CH-1 of 8000 for order 1. Order 2 is 2500."

    def brief(self, instance: Instance) -> dict[str, Any]:
        return {}


class GiveBack(Task1):
    """Pay a charge back."""

    id = "desk/refund"
    doc = "8000 of CH-1 are back"
    policies: ClassVar = {
        "expert": refund,
        "announce": announce,
        "pretend": pretend,
        "stranger": stranger,
    }

    def goal(self, product: DeskLab, instance: Instance, ending: Ending) -> tuple[Criterion, ...]:
        done = [r.id for r in product.refunds.table if (r.amount, r.status) == (8_000, "succeeded")]
        keys = tuple(f"refunds:{r.id}.status" for r in product.refunds.table)
        text = f"{len(done)} refunds of charges:1 have succeeded"
        return (Criterion("8000 are back", len(done) == 1, text, keys),)


class Take(Task1):
    """Take money for an order once."""

    id = "desk/charge"
    doc = "order 2 is charged once"
    policies: ClassVar = {
        "expert": charge("k1", "k1"),
        "hasty": charge("k1", "k2"),
        "careful": charge("k1"),
    }

    def goal(self, product: DeskLab, instance: Instance, ending: Ending) -> tuple[Criterion, ...]:
        done = [c.id for c in product.charges.table if (c.order_id, c.status) == (2, "succeeded")]
        keys = tuple(f"charges:{key}" for key in done)
        return (Criterion("charged once", len(done) == 1, f"{len(done)} charges", keys),)


class Answer(Task1):
    """Answer a ticket."""

    id = "desk/answer"
    doc = "TK-1 is solved"
    policies: ClassVar = {"expert": answer, "forget": forget}

    def goal(self, product: DeskLab, instance: Instance, ending: Ending) -> tuple[Criterion, ...]:
        ticket = product.tickets.table.rows[1]
        text = f"tickets:1 is {ticket.status}"
        return (Criterion("solved", ticket.status == "solved", text, ("tickets:1.status",)),)


class DeskLab(Helpdesk):
    """The helpdesk with tasks."""

    name = "desk"
    scenarios = (GiveBack(), Take(), Answer())
