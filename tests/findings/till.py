"""A small product that charges and refunds through a payment gateway.

Tests load it by its path.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from simharness.api import (
    GATEWAY_EVENTS,
    SECOND,
    Actor,
    Answer,
    Call,
    Criterion,
    Drawing,
    Ending,
    Fault,
    Gateway,
    Inbox,
    Instance,
    Movement,
    Notice,
    Operation,
    Paid,
    Reaction,
    Refused,
    Row,
    Scenario,
    Transaction,
    Webhook,
    bind_gateway,
    bind_webhook,
    gateway_knobs,
    knobs,
    store,
    tool,
    webhook_knobs,
    write_tool,
)

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping, Sequence

    from simharness.api import Action, Observation, Task

CHARGES = 4
PRICE = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Charge(Row):
    """Money that was taken, or is to be."""

    order_id: int
    amount: int
    currency: str
    status: Literal["pending", "succeeded", "failed", "disputed"] = "pending"


@dataclass(frozen=True, slots=True, kw_only=True)
class Refund(Row):
    """Money that went back, or is to."""

    charge_id: int
    amount: int
    status: Literal["pending", "succeeded", "failed"] = "pending"


def refunder(task: Task) -> Generator[Action, Observation, None]:
    """Refund, and wait until that has settled."""
    charge_id = task.brief["charge_id"]
    told = yield Call("refund", {"charge_id": charge_id, "amount": 6_000})
    for _ in range(6):
        if told.error or told.value["status"] != "pending":
            break
        yield Call("wait", {"seconds": 30})
        told = yield Call("get_refund", {"refund_id": told.value["id"]})
    yield Call("finish", {"message": "Done as far as I can tell."})


def patient(task: Task) -> Generator[Action, Observation, None]:
    """Charge, and ask again under the same key where the outcome is unknown."""
    yield from charger(("k1", "k1"))


def hasty(task: Task) -> Generator[Action, Observation, None]:
    """Charge, and charge again under another key where the outcome is unknown."""
    yield from charger(("k1", "k2"))


def careful(task: Task) -> Generator[Action, Observation, None]:
    """Charge, and only look where the outcome is unknown."""
    yield from charger(("k1",))


def charger(keys: tuple[str, ...]) -> Generator[Action, Observation, None]:
    wanted = {"order_id": 9, "amount": 2_500, "currency": "USD"}
    for key in keys:
        told = yield Call("charge", {**wanted, "idempotency_key": key})
        if not told.error and told.value["status"] != "failed":
            break
    yield Call("wait", {"seconds": 60})
    yield Call("finish", {"message": "Done as far as I can tell."})


class Money(Scenario["Till"]):
    """What the scenarios have in common."""

    profile = "bare"
    steps_max = 16

    def base_rows(self) -> Mapping[str, Sequence[Row]]:
        return {
            "charges": [
                Charge(
                    id=i,
                    order_id=i,
                    amount=PRICE,
                    currency="USD" if i % 2 else "JPY",
                    status="succeeded",
                )
                for i in range(1, CHARGES + 1)
            ]
        }

    def draw(self, drawing: Drawing) -> None:
        drawing.between("charge", 1, CHARGES)

    def start(self, product: Till, instance: Instance) -> int:
        for row in list(product.charges.table.rows.values()):
            moved = Movement("charge", f"charges:{row.id}", "", row.amount, row.currency, 0)
            product.gateway.open(moved)
        return 0

    def prompt(self, instance: Instance) -> str:
        return f"Charge {instance['charge']}."

    def brief(self, instance: Instance) -> dict[str, Any]:
        return {"charge_id": instance["charge"]}

    def back(self, product: Till, instance: Instance) -> int:
        return product.gateway.ledger.sum("refund", f"charges:{instance['charge']}")


class GiveBack(Money):
    """Pay a part of one charge back."""

    id = "till/refund"
    doc = "6000 of the charge are back, no more and no less"
    policies: ClassVar = {"expert": refunder}

    def goal(self, product: Till, instance: Instance, ending: Ending) -> tuple[Criterion, ...]:
        back = self.back(product, instance)
        keys = tuple(f"refunds:{key}.status" for key in product.refunds.table.rows)
        return (Criterion("6000 are back", back == 6_000, f"{back} are back", keys),)


class Race(Money):
    """Pay a part of a charge back while a colleague does the same."""

    id = "till/race"
    doc = "something of the charge is back, and no more than was taken"
    policies: ClassVar = {"expert": refunder}

    def people(self, product: Till, instance: Instance) -> None:
        def colleague() -> Generator[Any, Any, None]:
            actor = Actor(product.world, "colleague", 0)
            for _ in range(150):
                yield product.world.timer(SECOND // 10)
                if product.refunds.table.rows or product.busy:
                    break
            with suppress(Refused):
                yield from product.request(
                    actor, "refund", charge_id=instance["charge"], amount=6_000
                )

        product.world.spawn("colleague", colleague())

    def goal(self, product: Till, instance: Instance, ending: Ending) -> tuple[Criterion, ...]:
        back = self.back(product, instance)
        keys = (f"charges:{instance['charge']}",)
        return (Criterion("no more is back", 0 < back <= PRICE, f"{back} are back", keys),)


class Take(Money):
    """Take money for an order once."""

    id = "till/charge"
    doc = "the order is charged once"
    policies: ClassVar = {"expert": patient, "hasty": hasty, "careful": careful}

    def goal(self, product: Till, instance: Instance, ending: Ending) -> tuple[Criterion, ...]:
        taken = [m for m in product.gateway.ledger.movements if m.of == "orders:9"]
        keys = tuple(m.ref for m in taken)
        return (Criterion("charged once", len(taken) == 1, f"{len(taken)} charges", keys),)


class Till(Paid):
    """Charges and refunds, moved by a gateway that tells by webhook what became of them."""

    name = "till"
    scenarios = (GiveBack(), Race(), Take())
    waits = ("api", "db", "put", "webhook", "gateway")
    own_knobs = (
        *gateway_knobs(),
        *webhook_knobs(kinds=GATEWAY_EVENTS),
        knobs.choice("refund.check", ("atomic", "check_then_insert"), "how sums are checked"),
        knobs.choice("refund.books", ("after_gateway", "before_gateway"), "when it is booked"),
    )
    faults = (
        Fault(
            id="till.retry",
            doc="the app asks again under another key",
            knobs={
                "gateway.latency": "20s",
                "gateway.timeout": "5s",
                "gateway.retry": "new_key",
            },
        ),
        Fault(
            id="till.cents",
            doc="all currencies are sent as if they had cents",
            knobs={"gateway.minor_units": "always_100"},
        ),
        Fault(
            id="till.race",
            doc="sums are checked before the refund is made",
            knobs={"refund.check": "check_then_insert", "db.latency": "500ms"},
        ),
        Fault(
            id="till.early",
            doc="refunds are booked as done before the gateway says so",
            knobs={"refund.books": "before_gateway"},
        ),
        Fault(
            id="till.deaf",
            doc="nobody listens to what a refund to a card sends",
            knobs={"webhook.events": ["charge.succeeded", "refund.updated", "refund.failed"]},
        ),
        Fault(
            id="till.keyless",
            doc="the gateway ignores keys",
            knobs={"gateway.idempotency": "none"},
        ),
    )

    charges = store(Charge)
    refunds = store(Refund)

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.webhook = Webhook(self.world, "webhook", self.on_event)
        self.inbox = Inbox(self.world, "till")
        self.gateway = Gateway(self.world, self.webhook)
        self.busy = False
        bind_webhook(self, self.webhook, self.inbox)
        sound = {"refund.check": "atomic", "refund.books": "after_gateway"}
        bind_gateway(self, self.gateway, sound=sound)

    def books(self) -> Mapping[str, int]:
        out = {
            f"charges:{row.id}": row.amount if row.status == "succeeded" else 0
            for row in self.charges.table.rows.values()
        }
        for refund in self.refunds.table.rows.values():
            if refund.status == "succeeded":
                out[f"charges:{refund.charge_id}"] -= refund.amount
        return out

    @tool
    def get_charge(self, op: Operation, charge_id: int) -> Answer[Charge]:
        """Read one charge."""
        row = yield from self.charges.detail.read(op, charge_id)
        if row is None:
            raise Refused("not_found", f"no charge {charge_id}")
        return row

    @tool
    def get_refund(self, op: Operation, refund_id: int) -> Answer[Refund]:
        """Read one refund."""
        row = yield from self.refunds.detail.read(op, refund_id)
        if row is None:
            raise Refused("not_found", f"no refund {refund_id}")
        return row

    @write_tool
    def charge(
        self,
        op: Operation,
        order_id: int,
        amount: int,
        currency: str,
        idempotency_key: str | None = None,
    ) -> Answer[Charge]:
        """Take money for an order."""
        wanted = {"order_id": order_id, "amount": amount, "currency": currency}

        def book() -> str:
            tx = Transaction(op)
            key = tx.insert(self.charges.table, {**wanted, "status": "pending"})
            tx.commit()
            return f"charges:{key}"

        reply = yield from self.gateway.charge(
            op, amount, currency, book, of=f"orders:{order_id}", key=idempotency_key or ""
        )
        yield from self.mark(op, reply.ref, reply.status)
        return self.charges.table.rows[id_of(reply.ref)]

    @write_tool
    def refund(self, op: Operation, charge_id: int, amount: int) -> Answer[Refund]:
        """Pay money of a charge back."""
        self.busy = True
        charge = self.charges.table.rows.get(charge_id)
        if charge is None:
            raise Refused("not_found", f"no charge {charge_id}")
        asked = self.asked_back(charge_id)
        if self.settings.values["refund.check"] == "check_then_insert":
            yield self.database(op)
        else:
            asked = self.asked_back(charge_id)
        if asked + amount > charge.amount:
            raise Refused("over_refund", f"{charge.amount - asked} are left of charge {charge_id}")
        early = self.settings.values["refund.books"] == "before_gateway"
        tx = Transaction(op)
        key = tx.insert(
            self.refunds.table,
            {
                "charge_id": charge_id,
                "amount": amount,
                "status": "succeeded" if early else "pending",
            },
        )
        tx.commit()
        reply = yield from self.gateway.refund(
            op, f"charges:{charge_id}", amount, charge.currency, f"refunds:{key}"
        )
        yield from self.mark(op, reply.ref, reply.status)
        return self.refunds.table.rows[key]

    def asked_back(self, charge_id: int) -> int:
        rows = self.refunds.table.rows.values()
        return sum(r.amount for r in rows if r.charge_id == charge_id and r.status != "failed")

    def mark(
        self, op: Operation, ref: str, status: str, notice: Notice | None = None
    ) -> Generator[Any, Any, None]:
        """Note what became of a charge or refund; an answer changes nothing that was told."""
        table, _, key = ref.partition(":")
        edit = yield from self.stores[table].edit(op, int(key))
        try:
            tx = Transaction(op)
            if notice is not None or (edit.row.status == "pending" != status):
                edit.update(tx, {"status": status})
                if notice is None or self.inbox.take(tx, notice):
                    tx.commit()
        finally:
            edit.close()

    def on_event(self, op: Reaction, notice: Notice) -> Generator[Any, Any, None]:
        """Take an event of the gateway."""
        table, _, key = notice.ref.partition(":")
        row = self.stores[table].table.rows.get(int(key))
        if row is None:
            raise Refused("not_found", f"no {notice.ref}")
        if table == "refunds" and self.settings.values["refund.books"] == "before_gateway":
            return
        yield from self.mark(op, notice.ref, str(notice.payload["status"]), notice)


def id_of(ref: str) -> int:
    return int(ref.partition(":")[2])
