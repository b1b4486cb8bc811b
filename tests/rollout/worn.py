"""A product that wears out: a scenario for each way, and a sound one."""

from __future__ import annotations

# ruff: noqa: TC003  (the classes' type hints are read when the file is loaded)
from collections.abc import Generator, Mapping
from dataclasses import dataclass
from typing import Any

from simharness.api import (
    MINUTE,
    SECOND,
    Answer,
    Criterion,
    Drawing,
    Ending,
    Instance,
    Operation,
    Product,
    Refused,
    Row,
    Scenario,
    store,
    tool,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Lift(Row):
    """A lift."""

    floor: int = 0


class Ride(Scenario["Worn"]):
    """Ride a lift."""

    id = "worn/sound"
    profile = "bare"

    def base_rows(self) -> Mapping[str, list[Lift]]:
        """Give three lifts."""
        return {"lifts": [Lift(id=number) for number in (1, 2, 3)]}

    def draw(self, drawing: Drawing) -> None:
        """Draw nothing."""

    def start(self, product: Worn, instance: Instance) -> int:
        """Sign the agent in as nobody."""
        product.way = self.id.rpartition("/")[2]
        return 0

    def people(self, product: Worn, instance: Instance) -> None:
        """Start one person, who may wait for what never comes."""
        world = product.world

        def live() -> Generator[Any, Any, None]:
            while True:
                yield world.timer(MINUTE)
                if product.way == "stuck":
                    yield world.event()

        world.spawn("user/1", live())

    def prompt(self, instance: Instance) -> str:
        """Tell the agent its task."""
        return "Ride."

    def brief(self, instance: Instance) -> dict[str, Any]:
        """Give no facts."""
        return {}

    def goal(self, product: Worn, instance: Instance, ending: Ending) -> tuple[Criterion, ...]:
        """Look whether there are lifts."""
        return (Criterion("there", bool(product.lifts.table.rows), "they are"),)


WAYS = ("leak", "stuck", "lock")


class Worn(Product):
    """Lifts."""

    name = "worn"
    scenarios = (
        Ride(),
        *(
            type(f"Ride{way}", (Ride,), {"id": f"worn/{way}"})()
            for way in ("leak", "stuck", "lock")
        ),
    )
    lifts = store(Lift, views=("detail",))
    way = ""

    @tool
    def get_lift(self, op: Operation, lift_id: int) -> Answer[Lift]:
        """Read a lift."""
        yield self.world.timer(2 * SECOND)
        row = yield from self.lifts.detail.read(op, lift_id)
        if row is None:
            raise Refused("not_found", f"no lift {lift_id}")
        return row

    @tool
    def call_lift(self, op: Operation, lift_id: int, floor: int) -> Answer[Lift]:
        """Call a lift to a floor."""
        if self.way == "leak":
            world: Any = self.world
            world.attic = [*getattr(world, "attic", ()), bytearray(300_000)]
        if self.way == "lock":
            yield self.world.event()
        return (yield from self.lifts.update(op, lift_id, {"floor": floor}))
