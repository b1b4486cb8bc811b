"""A small product whose tools go wrong when asked to; tests load it by its path."""

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
    Instance,
    Operation,
    Population,
    Product,
    Row,
    Scenario,
    Stream,
    local_tool,
    scaled,
    store,
    tool,
)
from simharness.kernel.process import Wait

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping, Sequence

    from simharness.api import Action, Observation, Task

PARTS = 3
SIZE_WANTED = 7


@dataclass(frozen=True, slots=True, kw_only=True)
class Part(Row):
    """A thing that lies around."""

    label: str
    size: int = 0


def expert(task: Task) -> Generator[Action, Observation, None]:
    """Do the job."""
    part_id = task.brief["part_id"]
    yield Call("look", {"part_id": part_id})
    yield Call("resize", {"part_id": part_id, "size": SIZE_WANTED})
    yield Call("finish", {"message": "resized"})


class Shift(Scenario["Workshop"]):
    """Give one part the size that is wanted."""

    id = "workshop/shift"
    doc = "the part has the size that is wanted"
    profile = "bare"
    steps_max = 8
    ticks_max = 2 * HOUR
    policies: ClassVar = {"expert": expert}

    def base_rows(self) -> Mapping[str, Sequence[Row]]:
        return {"parts": [Part(id=i, label=f"part {i}") for i in range(1, PARTS + 1)]}

    def draw(self, drawing: Drawing) -> None:
        drawing.between("part", 1, PARTS)

    def start(self, product: Workshop, instance: Instance) -> int:
        return 0

    def people(self, product: Workshop, instance: Instance) -> None:
        def habit(actor: Actor, draw: Stream) -> Generator[Any, Any, None]:
            yield from product.request(actor, "look", part_id=1 + draw.below(PARTS, "row"))

        # They never stop, so the world's queue is never empty.
        team = Population(product.world, think_mean=20 * SECOND)
        team.grow(scaled(4, product.load), lambda _: 0, habit)

    def prompt(self, instance: Instance) -> str:
        return f"Give part {instance['part']} the size {SIZE_WANTED}."

    def brief(self, instance: Instance) -> dict[str, Any]:
        return {"part_id": instance["part"]}

    def goal(self, product: Workshop, instance: Instance, ending: Ending) -> tuple[Criterion, ...]:
        part = product.parts.true(int(instance["part"]))
        size = part.size if part is not None else 0
        return (Criterion("the size is right", size == SIZE_WANTED, f"size {size}"),)


class Workshop(Product):
    """Parts, and tools that look at them, change them, hang, raise, or answer nonsense."""

    name = "workshop"
    scenarios = (Shift(),)

    parts = store(Part)

    @tool
    def look(self, op: Operation, part_id: int) -> Answer[Part | None]:
        """Read one part."""
        return (yield from self.parts.detail.read(op, part_id))

    @tool
    def resize(self, op: Operation, part_id: int, size: int) -> Answer[Part]:
        """Change the size of a part."""
        return (yield from self.parts.update(op, part_id, {"size": size}))

    @tool
    def hang(self, op: Operation) -> Answer[dict[str, Any]]:
        """Wait for what never comes: a lost wake-up."""
        yield Wait(self.world, "a lid that nobody opens")
        return {}

    @local_tool
    def hang_here(self, op: Operation) -> Answer[dict[str, Any]]:
        """Wait for what never comes, outside the API."""
        yield Wait(self.world, "a door that nobody opens")
        return {}

    @tool
    def explode(self, op: Operation, after: int) -> Answer[dict[str, Any]]:
        """Raise after some seconds."""
        yield self.world.timer(after * SECOND)
        raise ValueError("boom")

    @tool
    def leave(
        self, op: Operation, how: Literal["SystemExit", "GeneratorExit"]
    ) -> Answer[dict[str, Any]]:
        """Raise what ends programs or generators."""
        yield self.world.timer(SECOND)
        raise SystemExit(3) if how == "SystemExit" else GeneratorExit

    @tool
    def interrupt(self, op: Operation) -> Answer[dict[str, Any]]:
        """Be where Ctrl-C strikes."""
        yield self.world.timer(SECOND)
        raise KeyboardInterrupt

    @tool
    def weigh(self, op: Operation) -> Answer[dict[str, Any]]:
        """Answer a float, which no recording holds."""
        yield self.world.timer(SECOND)
        return {"kilograms": 0.5}

    @tool
    def count(self, op: Operation, bits: int) -> Answer[dict[str, Any]]:
        """Answer a number of so many bits."""
        yield self.world.timer(SECOND)
        return {"number": (1 << bits) - 1}

    @tool
    def odd_keys(self, op: Operation) -> Answer[dict[str, Any]]:
        """Answer objects whose keys hold what separates them."""
        yield self.world.timer(SECOND)
        return ODD_KEYS

    @tool
    def twins(self, op: Operation) -> Answer[dict[str, Any]]:
        """Answer the same part twice, its second copy changed without a new version."""
        yield self.world.timer(SECOND)
        return Part(id=1, label="made up anew each time", size=self.world.ticks)  # type: ignore[return-value]


ODD_KEYS: dict[str, Any] = {
    "a,b": {"": 1},
    "": {},
    "c\\": {"\\0": 2, "\\": 3, ",": 4, ",,": [5]},
    "{": {"": 1, "x": 2},
}
