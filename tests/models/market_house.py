"""A small marketplace in a world of its own, and ways to call its tools as anybody."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from simharness.api import Actor, Operation, Refused, World, parse_instant
from simharness.findings.detect import harness_findings
from simharness.findings.story import StepSpan, surface_of, tell
from simharness.kernel import journal
from simharness.kernel.journal import Decoder
from simharness.models.marketplace import Marketplace
from simharness.models.marketplace.tables import Coupon, Customer, Provider, Service, Slot
from simharness.product.product import resolve_settings
from simharness.units import parse_duration

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping, Sequence

    from simharness.api import Row
    from simharness.findings.finding import Finding

EPOCH = parse_instant("2026-03-02T09:00:00Z")
ANN, BOB, CEM = 1, 2, 3
STUDIO, GYM = -1, -2
"""Identities: customers, and providers below 0."""


def at(text: str) -> int:
    return parse_instant(text)


def slot(key: int, day: int, hour: int, **fields: Any) -> Slot:
    starts = at(f"2026-03-{day:02}T{hour:02}:00:00Z")
    given: dict[str, Any] = {"provider_id": 1, "service_id": 1, **fields}
    return Slot(id=key, starts_at=starts, ends_at=starts + 30 * 60_000_000, **given)


ROWS: dict[str, Sequence[Row]] = {
    "customers": [
        Customer(id=ANN, full_name="Ann Example", email="ann@example.test"),
        Customer(id=BOB, full_name="Bob Example", email="bob@example.test"),
        Customer(id=CEM, full_name="Cem Example", email="cem@example.test"),
    ],
    "providers": [
        Provider(id=1, title="Studio P"),
        Provider(id=2, title="Gym G"),
        Provider(id=3, title="Closed C", active=False),
    ],
    "services": [
        Service(id=1, title="Intro call", minutes=30),
        Service(id=2, title="Pottery class", minutes=30, price=4000),
    ],
    "slots": [
        slot(1, 5, 10),
        slot(2, 5, 11),
        slot(3, 5, 14, service_id=2, capacity=2, provider_id=2),
        slot(4, 5, 15, service_id=2, capacity=5, provider_id=2),
        slot(5, 1, 10),
        slot(6, 6, 10, blocked=True),
    ],
    "coupons": [Coupon(id=1, code="SPRING", limit=1, percent=25), Coupon(id=2, code="ALL",
                percent=100, limit=9)],
}  # fmt: skip


class House:
    """A marketplace with three customers, three providers, two services and six slots.

    Slots 1 and 2 are of the free service and for one, 3 and 4 cost 40.00 and are for 2 and 5;
    5 is past, and of 6 the provider is away.
    """

    def __init__(
        self,
        config: Mapping[str, object] | None = None,
        *,
        rows: Mapping[str, Sequence[Row]] | None = None,
        profile: str = "bare",
        load: int = 0,
        seed: int = 1,
    ) -> None:
        self.world = World(seed, epoch=EPOCH)
        given = {**ROWS, **(rows or {})}
        specs = Marketplace.specs()
        templates = {name: spec.template(given.get(name, ())) for name, spec in specs.items()}
        settings = resolve_settings(Marketplace, profile, config or {})
        self.market = Marketplace(self.world, templates, settings, load)
        self._started = 0
        self.world.settle()

    def start(
        self,
        identity: int,
        tool: str,
        *,
        as_: str = "",
        after: str = "0s",
        db: str = "",
        pins: Mapping[str, int] | None = None,
        **arguments: Any,
    ) -> Any:
        """Start a call; the process ends with the answer or the refusal."""
        self._started += 1
        actor = Actor(self.world, as_ or f"caller/{self._started}", identity)
        pins = {"db": parse_duration(db)} if db else pins
        op = self._started, parse_duration(after), pins
        called = self._called(actor, tool, arguments, *op)
        return self.world.spawn(f"call/{self._started}", called)

    def _called(
        self,
        actor: Actor,
        tool: str,
        arguments: dict[str, Any],
        n: int,
        after: int,
        pins: Mapping[str, int] | None,
    ) -> Generator[Any, Any, Any]:
        yield self.world.pause(after)
        spec = self.market.tools[tool]
        try:
            op = Operation(self.world, actor, n, pins)
            return (yield from self.market.call(op, spec, spec.check(arguments)))
        except Refused as refusal:
            return refusal

    def call(self, identity: int, tool: str, **arguments: Any) -> Any:
        """Call a tool as somebody and wait for the answer."""
        return self.ended(self.start(identity, tool, **arguments))

    def ended(self, *processes: Any) -> Any:
        """Wait for calls; gives the answer of one, or those of several."""
        for process in processes:
            assert self.world.drive(process, self.world.ticks + 10**10)
        self.world.advance_to(self.world.ticks)  # what else belongs to this instant
        values = [process.value for process in processes]
        return values[0] if len(values) == 1 else values

    def perform(self, operation: str, **arguments: Any) -> Any:
        """Let a background actor do what no tool allows."""
        self._started += 1
        actor = Actor(self.world, f"machine/{self._started}", 0)
        steps = self.market.perform(actor, operation, arguments)
        return self.ended(self.world.spawn(actor.name, steps))

    def refused(self, identity: int, tool: str, **arguments: Any) -> Refused:
        """Call a tool that must refuse, and change nothing by it."""
        before = self.market.digests()
        told = self.call(identity, tool, **arguments)
        assert isinstance(told, Refused), told
        assert self.market.digests() == before
        return told

    def wait(self, duration: str) -> None:
        """Let time pass."""
        self.world.advance_to(self.world.ticks + parse_duration(duration))

    def row(self, table: str, key: int) -> Any:
        """Give a committed row."""
        return self.market.stores[table].table.rows.get(key)

    def free(self, slot_id: int) -> int:
        """Give the free places of a slot, told alike by its row and by what is held and sold."""
        row = self.row("slots", slot_id)
        place = self.market.places
        free = place.free(slot_id)
        assert (row.capacity - row.taken, row.held) == (free, place.holds.places[slot_id].held)
        return free

    def findings(self, *codes: str) -> list[Finding]:
        """Give what detectors find in the journal so far, of some codes or of all."""
        self.world.emit((journal.END, self.world.ticks, self.world.intern("stop"), 0, 0))
        rows = list(Decoder().decode_all(self.world.rows))
        span = StepSpan(1, 0, 0, ended=True, aborted=False)
        story = tell(rows, [span], surface_of(self.market))
        return [f for f in harness_findings(story) if not codes or f.code in codes]
