"""A small product that is paid through a gateway, whose events come back by webhook.

Tests load it by its path.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from simharness.api import (
    HOUR,
    SECOND,
    Actor,
    Answer,
    Call,
    Criterion,
    Drawing,
    Ending,
    Fault,
    Inbox,
    Instance,
    JobQueue,
    Message,
    Notice,
    Operation,
    Outbox,
    Population,
    Product,
    Reaction,
    Refused,
    Row,
    Scenario,
    Stream,
    Transaction,
    Webhook,
    bind_outbox,
    bind_queue,
    bind_webhook,
    outbox_knobs,
    queue_knobs,
    scaled,
    store,
    tool,
    webhook_knobs,
    write_tool,
)

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping, Sequence

    from simharness.api import Action, Observation, Task

CHARGES = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Charge(Row):
    """Money that is to be had."""

    status: Literal["unpaid", "pending", "succeeded"] = "unpaid"
    mails: int = 0


def expert(task: Task) -> Generator[Action, Observation, None]:
    """Pay, and wait until it has arrived."""
    charge_id = task.brief["charge_id"]
    yield Call("pay", {"charge_id": charge_id})
    for _ in range(8):
        yield Call("wait", {"seconds": 30})
        told = yield Call("get_charge", {"charge_id": charge_id})
        if told.value["status"] == "succeeded":
            break
    yield Call("finish", {"message": "It is paid."})


def hasty(task: Task) -> Generator[Action, Observation, None]:
    """Pay, and leave at once."""
    yield Call("pay", {"charge_id": task.brief["charge_id"]})
    yield Call("finish", {"message": "It is paid."})


class Settle(Scenario["Billing"]):
    """Have one charge paid."""

    id = "billing/settle"
    doc = "the charge has succeeded"
    profile = "bare"
    steps_max = 24
    ticks_max = 2 * HOUR
    policies: ClassVar = {"expert": expert, "hasty": hasty}

    def base_rows(self) -> Mapping[str, Sequence[Row]]:
        return {"charges": [Charge(id=i) for i in range(1, CHARGES + 1)]}

    def draw(self, drawing: Drawing) -> None:
        drawing.between("charge", 1, CHARGES)

    def start(self, product: Billing, instance: Instance) -> int:
        return 0

    def people(self, product: Billing, instance: Instance) -> None:
        def habit(actor: Actor, draw: Stream) -> Generator[Any, Any, None]:
            key = 1 + draw.below(CHARGES, "row")
            if key != instance["charge"]:
                yield from product.request(actor, "pay", charge_id=key)

        team = Population(product.world, think_mean=40 * SECOND)
        team.grow(scaled(3, product.load), lambda _: 0, habit)

    def prompt(self, instance: Instance) -> str:
        return f"Have charge {instance['charge']} paid."

    def brief(self, instance: Instance) -> dict[str, Any]:
        return {"charge_id": instance["charge"]}

    def goal(self, product: Billing, instance: Instance, ending: Ending) -> tuple[Criterion, ...]:
        key = int(instance["charge"])
        charge = product.charges.true(key)
        status = charge.status if charge is not None else "gone"
        return (
            Criterion(
                "the charge has succeeded",
                status == "succeeded",
                status,
                keys=(f"charges:{key}.status",),
            ),
        )


class Billing(Product):
    """Charges, paid by a gateway that tells by webhook what became of them."""

    name = "billing"
    scenarios = (Settle(),)
    waits = ("api", "db", "put", "relay", "ack", "webhook", "mail")
    own_knobs = (
        *outbox_knobs(),
        *webhook_knobs(kinds=("charge.pending", "charge.succeeded")),
        *queue_knobs("mails"),
    )
    faults = (
        Fault(
            id="billing.reordered",
            doc="the gateway's events overtake each other, and the last to come is applied",
            knobs={"webhook.order": "any", "webhook.apply": "last_arrived"},
        ),
        Fault(
            id="billing.lost",
            doc="the gateway says that it has sent what it hasn't",
            knobs={"webhook.lost": ["charge.succeeded"]},
        ),
        Fault(id="billing.early", doc="the gateway hears too early", knobs={"outbox.early": True}),
    )

    charges = store(Charge)

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        world = self.world
        self.outbox = Outbox(world)
        self.webhook = Webhook(world, "webhook", self.on_event)
        self.inbox = Inbox(world, "charges")
        self.mails: JobQueue[int] = JobQueue(world, "mails", self.mail)
        self.outbox.subscribers.append(self.settle)
        bind_outbox(self, self.outbox)
        bind_webhook(self, self.webhook, self.inbox)
        bind_queue(self, self.mails, "mails")

    @tool
    def get_charge(self, op: Operation, charge_id: int) -> Answer[Charge]:
        """Read one charge."""
        row = yield from self.charges.detail.read(op, charge_id)
        if row is None:
            raise Refused("not_found", f"no charge {charge_id}")
        return row

    @write_tool
    def pay(self, op: Operation, charge_id: int) -> Answer[Charge]:
        """Have the gateway take the money; it says later what became of it."""
        edit = yield from self.charges.edit(op, charge_id)
        try:
            if edit.row.status != "unpaid":
                raise Refused("conflict", "it is being paid", version=edit.row.version)
            tx = Transaction(op)
            edit.update(tx, {"status": "pending"})
            self.outbox.write(tx, "charge", f"charges:{charge_id}")
            tx.commit()
        finally:
            edit.close()
        return self.charges.table.rows[charge_id]

    def settle(self, message: Message) -> None:
        """Let the gateway take the money: it makes two events, half a second apart."""
        instant = self.world.instant
        for i, kind in enumerate(("charge.pending", "charge.succeeded")):
            event_id = f"{message.op.name}/{i}"
            created = instant + i * SECOND // 2
            self.webhook.send(message.op, Notice(event_id, kind, created, message.ref))

    def on_event(self, op: Reaction, notice: Notice) -> Generator[Any, Any, None]:
        """Take an event of the gateway."""
        charge_id = int(notice.ref.partition(":")[2])
        edit = yield from self.charges.edit(op, charge_id)
        try:
            tx = Transaction(op)
            edit.update(tx, {"status": notice.kind.partition(".")[2]})
            if not self.inbox.take(tx, notice):
                return
            tx.commit()
        finally:
            edit.close()
        self.mails.put(op, charge_id, notice.event_id)

    def mail(self, op: Reaction, charge_id: int) -> Generator[Any, Any, None]:
        """Send a mail about a charge."""
        yield op.latency((SECOND, 5 * SECOND), "mail", op.next_access())
        edit = yield from self.charges.edit(op, charge_id)
        try:
            tx = Transaction(op)
            edit.update(tx, {"mails": edit.row.mails + 1})
            tx.commit()
        finally:
            edit.close()
