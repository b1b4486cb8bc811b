"""A small helpdesk in a world of its own, and ways to call its tools as anybody."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from simharness.api import Actor, Operation, Refused, World, parse_instant
from simharness.findings.detect import harness_findings
from simharness.findings.story import StepSpan, tell
from simharness.kernel import journal
from simharness.kernel.journal import Decoder
from simharness.kernel.schedule import Fifo, Random
from simharness.models.helpdesk import Helpdesk
from simharness.models.helpdesk.tables import (
    Agent,
    Charge,
    Customer,
    Message,
    Order,
    Policy,
    Ticket,
)
from simharness.product.product import resolve_settings
from simharness.product.tool import Renderer
from simharness.units import parse_duration

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping, Sequence

    from simharness.api import Row
    from simharness.findings.finding import Finding

EPOCH = parse_instant("2026-03-02T09:00:00Z")
ANYBODY, ADMIN, LEAD, ANN, BOB = 0, 1, 2, 3, 4
"""Identities: nobody in particular, and agents."""
ROBIN, KAI = -1, -2
"""Identities of customers."""


def at(text: str) -> int:
    return parse_instant(text)


ROWS: dict[str, Sequence[Row]] = {
    "customers": [
        Customer(id=1, full_name="Robin Example", email="robin@example.test"),
        Customer(id=2, full_name="Kai Example", email="kai@example.test", currency="JPY"),
        Customer(id=3, full_name="Lou Example", email="lou@example.test", currency="KWD"),
    ],
    "agents": [
        Agent(id=ADMIN, full_name="Ada Min", role="admin"),
        Agent(id=LEAD, full_name="Lee Ad", role="lead"),
        Agent(id=ANN, full_name="Ann Agent"),
        Agent(id=BOB, full_name="Bob Agent"),
        Agent(id=5, full_name="Gone Agent", active=False),
    ],
    "tickets": [
        Ticket(id=1, customer_id=1, subject="Printer", body="It does not print.", status="open"),
        Ticket(id=2, customer_id=1, subject="Invoice", body="Please send a copy.", tags=("vip",)),
        Ticket(id=3, customer_id=1, subject="Refund", body="Please.", status="closed"),
        Ticket(id=4, customer_id=2, subject="Yen", body="Back.", status="open", priority="high"),
    ],
    "messages": [
        Message(id=1, ticket_id=1, author="customers:1", body="It does not print."),
        Message(id=2, ticket_id=2, author="customers:1", body="Please send a copy."),
    ],
    "orders": [
        Order(id=1, customer_id=1, title="Desk", total=10_000, net=8_400, tax=1_600, status="paid"),
        Order(id=2, customer_id=2, title="Lamp", total=9_800, currency="JPY", status="paid"),
        Order(id=3, customer_id=3, title="Rug", total=30_001, currency="KWD", tax=5_000,
              net=25_001, status="paid"),
        Order(id=4, customer_id=1, title="Pro Monthly", total=2_500),
    ],
    "charges": [
        Charge(id=1, order_id=1, customer_id=1, amount=10_000, status="succeeded"),
        Charge(id=2, order_id=2, customer_id=2, amount=9_800, currency="JPY", status="succeeded"),
        Charge(id=3, order_id=3, customer_id=3, amount=30_001, currency="KWD", status="succeeded"),
    ],
    "policies": [
        Policy(id=1, title="Renewals", body="Paid back within 14 days."),
        Policy(id=2, title="Merging", body="Into the earlier ticket."),
    ],
}  # fmt: skip


class House:
    """A helpdesk with three customers, five agents, four tickets and four orders.

    Agents 1 and 2 are admin and lead, 5 is shut out. Orders 1 to 3 are paid, in USD, JPY and KWD,
    by CH-1 to CH-3; 4 is not.
    """

    def __init__(
        self,
        config: Mapping[str, object] | None = None,
        *,
        rows: Mapping[str, Sequence[Row]] | None = None,
        profile: str = "bare",
        load: int = 0,
        seed: int = 1,
        drawn: bool = False,
    ) -> None:
        self.world = World(seed, epoch=EPOCH, scheduler=Random(seed) if drawn else Fifo())
        given = {**ROWS, **(rows or {})}
        specs = Helpdesk.specs()
        templates = {name: spec.template(given.get(name, ())) for name, spec in specs.items()}
        settings = resolve_settings(Helpdesk, profile, config or {})
        self.desk = Helpdesk(self.world, templates, settings, load)
        self._started = 0
        self._render = Renderer()
        self.world.settle()

    def start(
        self,
        identity: int,
        tool: str,
        *,
        as_: str = "",
        after: str = "0s",
        db: str = "",
        gateway: str = "",
        **arguments: Any,
    ) -> Any:
        """Start a call or an operation; the process ends with the answer or the refusal."""
        self._started += 1
        actor = Actor(self.world, as_ or f"caller/{self._started}", identity)
        named = (("db", db), ("gateway", gateway))
        pins = {name: parse_duration(text) for name, text in named if text}
        called = self._called(actor, tool, arguments, self._started, parse_duration(after), pins)
        return self.world.spawn(f"call/{self._started}", called)

    def _called(
        self,
        actor: Actor,
        tool: str,
        arguments: dict[str, Any],
        n: int,
        after: int,
        pins: Mapping[str, int],
    ) -> Generator[Any, Any, Any]:
        yield self.world.pause(after)
        desk = self.desk
        spec = desk.tools.get(tool) or desk.operations[tool]
        try:
            op = Operation(self.world, actor, n, pins)
            answer = yield from desk.call(op, spec, spec.check(arguments))
        except Refused as refusal:
            return refusal
        return self._render.render(answer)

    def call(self, identity: int, tool: str, **arguments: Any) -> Any:
        """Call a tool as somebody and wait for the answer, as people see it."""
        return self.ended(self.start(identity, tool, **arguments))

    def ended(self, *processes: Any) -> Any:
        """Wait for calls; gives the answer of one, or those of several."""
        for process in processes:
            assert self.world.drive(process, self.world.ticks + 10**10)
        values = [process.value for process in processes]
        return values[0] if len(values) == 1 else values

    def worker(self, name: str) -> Actor:
        """Make an actor who does several things one after the other, and may do anything."""
        return Actor(self.world, name, ANYBODY)

    def perform(self, actor: Actor, operation: str, **arguments: Any) -> Any:
        """Let an actor do an operation."""
        steps = self.desk.perform(actor, operation, arguments)
        return self.ended(self.world.spawn(f"{actor.name}/{actor.next_n}", guarded(steps)))

    def request(self, actor: Actor, tool: str, **arguments: Any) -> Any:
        """Let an actor call a tool."""
        steps = self.desk.request(actor, tool, **arguments)
        return self.ended(self.world.spawn(f"{actor.name}/{actor.next_n}", guarded(steps)))

    def refused(self, identity: int, tool: str, **arguments: Any) -> Refused:
        """Call a tool that must refuse, and change nothing by it."""
        before = self.desk.digests()
        told = self.call(identity, tool, **arguments)
        assert isinstance(told, Refused), told
        assert self.desk.digests() == before
        return told

    def wait(self, duration: str) -> None:
        """Let time pass."""
        self.world.advance_to(self.world.ticks + parse_duration(duration))

    def row(self, table: str, key: int) -> Any:
        """Give a committed row."""
        return self.desk.stores[table].table.rows.get(key)

    def balanced(self) -> bool:
        """Tell whether books and ledger say the same, by the rows and by the table `ledger`."""
        desk = self.desk
        books, ledger = desk.books(), desk.ledger()
        told: dict[str, int] = {}
        for entry in desk.entries.table:
            ref = desk.row_name(entry.ref)
            table, _, key = ref.partition(":")
            if table == "refunds":
                ref = f"charges:{desk.refunds.table.rows[int(key)].charge_id}"
            sign = 1 if entry.kind == "charge" else -1
            told[ref] = told.get(ref, 0) + sign * entry.amount
        shown = {ref: told.get(ref, 0) for ref in ledger}
        return all(books.get(r, 0) == ledger.get(r, 0) for r in {*books, *ledger}) and shown == {
            **ledger
        }

    def findings(self, *codes: str) -> list[Finding]:
        """Give what detectors find in the journal so far, of some codes or of all."""
        world, desk = self.world, self.desk
        world.emit((journal.END, world.ticks, world.intern("stop"), 0, 0))
        for text in desk.invariants():
            world.emit((journal.INVARIANT, world.ticks, world.intern(text)))
        books, ledger = desk.books(), desk.ledger()
        for ref in sorted({*books, *ledger}):
            world.emit((journal.BOOKS, world.ticks, world.intern(ref), books.get(ref, 0), 0))
        rows = list(Decoder().decode_all(world.rows))
        story = tell(rows, [StepSpan(1, 0, 0, ended=True, aborted=False)])
        return [f for f in harness_findings(story) if not codes or f.code in codes]


def guarded(steps: Generator[Any, Any, Any]) -> Generator[Any, Any, Any]:
    """Give a refusal as an answer."""
    try:
        return (yield from steps)
    except Refused as refusal:
        return refusal
