"""A desk lamp whose tool doesn't return before it is let: what a stuck product looks like."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Any

from simharness.api import (
    Answer,
    Criterion,
    Drawing,
    Ending,
    Instance,
    Operation,
    Product,
    Row,
    Scenario,
    store,
    tool,
)

GO = threading.Event()


@dataclass(frozen=True, slots=True, kw_only=True)
class Lamp(Row):
    lit: bool = False


class Light(Scenario["Slow"]):
    id = "slow/light"
    profile = "bare"

    def base_rows(self) -> dict[str, list[Lamp]]:
        return {"lamps": [Lamp(id=1)]}

    def draw(self, drawing: Drawing) -> None:
        drawing.between("luck", 0, 3)

    def start(self, product: Slow, instance: Instance) -> int:
        return 0

    def people(self, product: Slow, instance: Instance) -> None:
        pass

    def prompt(self, instance: Instance) -> str:
        return "Light the lamp."

    def brief(self, instance: Instance) -> dict[str, Any]:
        return {}

    def goal(self, product: Slow, instance: Instance, ending: Ending) -> tuple[Criterion, ...]:
        return (Criterion("lit", product.lamps.table.rows[1].lit, "", ("lamps:1",)),)


class Slow(Product):
    """A lamp."""

    name = "slow"
    scenarios = (Light(),)
    lamps = store(Lamp, views=("detail",))

    @tool
    def light(self, op: Operation, slowly: bool = False) -> Answer[Lamp]:
        """Light the lamp."""
        if slowly:
            GO.wait(30)
        return (yield from self.lamps.update(op, 1, {"lit": True}))
