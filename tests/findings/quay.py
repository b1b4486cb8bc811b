"""A small product whose one table is read in every way; tests load it by its path."""

from __future__ import annotations

# ruff: noqa: TC001  (the hints of tools and classes are read when the file is loaded)
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal, TypedDict

from simharness.api import (
    HOUR,
    SECOND,
    Action,
    Actor,
    Answer,
    Call,
    Criterion,
    Drawing,
    Draws,
    Ending,
    Instance,
    Instant,
    Observation,
    Operation,
    Page,
    Population,
    Product,
    Refused,
    Row,
    Scenario,
    Stream,
    Task,
    paged,
    query,
    scaled,
    store,
    tool,
)
from simharness.product.rows_view import Query

Status = Literal["open", "shut"]
Play = Generator[Action, Observation, None]
LOADED = f"{Path(__file__)}:Quay/load"
BOX, OTHER, BOXES = 1, 2, 6
STOCK = 7


@dataclass(frozen=True, slots=True, kw_only=True)
class Box(Row):
    """What stands on the quay."""

    status: Status = "open"
    stock: int = 0
    loaded: int = 0


class BoxFields(TypedDict, total=False):
    status: Status
    stock: int


def of_status(status: Status) -> Query:
    def matches(row: Box) -> bool:
        return row.status == status

    return query(matches, status=status)


# --- policies -------------------------------------------------------------------------------------


def reading(*names: str, **arguments: Any) -> Callable[[Task], Play]:
    """Look with these tools early, late and at the end; load what was seen last."""

    def play(task: Task) -> Play:
        seen: dict[str, Any] = {"id": BOX, "version": 1, "stock": 0}
        cursor: str = task.brief["start"]
        for seconds in (90, 150, 0):
            for name in names:
                given = dict(arguments)
                if name == "export_boxes":
                    given["since"] = cursor
                told = yield Call(name, given)
                shown: list[dict[str, Any]] = []
                if not told.error:
                    shown = told.value.get("boxes", [told.value])
                for row in shown:
                    if row["id"] == BOX and row["version"] >= seen["version"]:
                        seen = row
                cursor = max([cursor, *(row["updated_at"] for row in shown)])
            if seconds:
                yield Call("wait", {"seconds": seconds})
        yield Call("load_box", {"box_id": BOX, "amount": seen["stock"]})
        yield Call("finish", {"message": "loaded"})

    return play


def wandering(seed: int, calls: int = 14) -> Callable[[Task], Play]:
    """Look at this and that, write now and then, and come back to exports with a cursor."""

    def play(task: Task) -> Play:
        dice = Stream(Draws(seed), "wanderer", 0)
        cursor = task.brief["start"]
        for k in range(calls):
            box = {"box_id": 1 + dice.below(BOXES, "box", k)}
            status = {"status": ("open", "shut")[dice.below(2, "status", k)]}
            other = {"box_id": 2 + dice.below(BOXES - 1, "other", k)}  # nobody else holds its lock
            options: list[Call] = [
                Call("get_box", box),
                Call("list_boxes", status),
                Call("search_boxes", status),
                Call("box_changes", {"wait": 3 * dice.below(2, "wait", k)}),
                Call("box_changes", {"since": cursor}),
                Call("export_boxes", {"since": cursor}),
                Call("export_boxes", {"since": cursor}),
                Call("update_box", {**other, "fields": status}),
            ]
            told = yield options[dice.below(len(options), "call", k)]
            if not told.error and "boxes" in told.value:
                cursor = max([cursor, *(row["updated_at"] for row in told.value["boxes"])])
        yield Call("finish", {"message": "enough"})

    return play


# --- scenario -------------------------------------------------------------------------------------


class Load(Scenario["Quay"]):
    """Load as much of box 1 as there is."""

    id = "quay/load"
    doc = "as much of box 1 is loaded as there is"
    profile = "bare"
    steps_max = 40
    ticks_max = 2 * HOUR
    policies: ClassVar[Mapping[str, Callable[[Task], Play]]] = {
        "expert": reading("get_box", box_id=BOX),
        "get": reading("get_box", box_id=BOX),
        "list": reading("list_boxes", status="open"),
        "search": reading("search_boxes", status="open"),
        "feed": reading("box_changes"),
        "export": reading("export_boxes"),
        "both": reading("get_box", "list_boxes", box_id=BOX),
    }

    def base_rows(self) -> Mapping[str, Sequence[Row]]:
        """Give six boxes."""
        return {"boxes": [Box(id=i) for i in range(1, BOXES + 1)]}

    def draw(self, drawing: Drawing) -> None:
        """Draw nothing."""

    def start(self, product: Quay, instance: Instance) -> int:
        """Sign nobody in."""
        return 0

    def people(self, product: Quay, instance: Instance) -> None:
        """Let a clerk write box 1 in a transaction that stays open, and others the rest."""
        world = product.world
        clerk = Actor(world, "clerk", 0)

        def work() -> Generator[Any, Any, None]:
            yield world.timer(5 * SECOND)
            yield from product.perform(clerk, "db.begin", {"tx": "a"})
            change = {"table": "boxes", "id": BOX, "fields": {"stock": STOCK}}
            yield from product.perform(clerk, "db.update", {"tx": "a", **change})
            yield world.timer(55 * SECOND)
            yield from product.request(clerk, "update_box", box_id=OTHER, fields={"stock": 1})
            yield world.timer(140 * SECOND)
            yield from product.perform(clerk, "db.commit", {"tx": "a"})

        world.spawn("clerk", work())

        def habit(actor: Actor, draw: Stream) -> Generator[Any, Any, None]:
            box = 3 + draw.below(BOXES - 2, "box")
            status: Status = ("open", "shut")[draw.below(2, "status")]
            if draw.below(2, "write"):
                fields: BoxFields = {"status": status, "stock": draw.below(9, "stock")}
                yield from product.request(actor, "update_box", box_id=box, fields=fields)
            else:
                yield from product.request(actor, "list_boxes", status=status)

        team = Population(world, think_mean=10 * SECOND)
        team.grow(scaled(3, product.load), lambda _: 0, habit)

    def prompt(self, instance: Instance) -> str:
        """Tell the task."""
        return "Load all of box 1."

    def brief(self, instance: Instance) -> dict[str, Any]:
        """Give the instant of the start."""
        return {"start": "1970-01-01T00:00:00Z"}

    def goal(self, product: Quay, instance: Instance, ending: Ending) -> tuple[Criterion, ...]:
        """Look how much was loaded."""
        box = product.boxes.true(BOX)
        loaded = box.loaded if box is not None else 0
        return (Criterion("all is loaded", loaded == STOCK, f"{loaded} loaded", keys=("boxes:1",)),)


class Quay(Product):
    """Boxes that are read in every way."""

    name = "quay"
    scenarios = (Load(),)
    boxes = store(Box, views=("detail", "list", "search", "feed", "export"))

    @tool
    def get_box(self, op: Operation, box_id: int) -> Answer[Box]:
        """Read one box."""
        row = yield from self.boxes.detail.read(op, box_id)
        if row is None:
            raise Refused("not_found", f"no box {box_id}")
        return row

    @tool
    def list_boxes(
        self, op: Operation, status: Status = "open", box_id: int = 0
    ) -> Answer[Page[Box]]:
        """List the boxes of a status."""
        return paged("boxes", (yield from self.boxes.list.read(op, of_status(status))), 1)

    @tool
    def search_boxes(self, op: Operation, status: Status) -> Answer[Page[Box]]:
        """Find the boxes of a status."""
        return paged("boxes", (yield from self.boxes.search.read(op, of_status(status))), 1)

    @tool
    def box_changes(
        self, op: Operation, since: Instant | None = None, wait: int = 0
    ) -> Answer[Page[Box]]:
        """Tell what has changed."""
        return paged("boxes", (yield from self.boxes.feed.read(op, since, wait * SECOND)), 1)

    @tool
    def export_boxes(
        self, op: Operation, since: Instant, inclusive: bool | None = None
    ) -> Answer[Page[Box]]:
        """Give what has changed since an instant."""
        return paged("boxes", (yield from self.boxes.export.read(op, since, inclusive)), 1)

    @tool
    def update_box(self, op: Operation, box_id: int, fields: BoxFields) -> Answer[Box]:
        """Change a box."""
        return (yield from self.boxes.update(op, box_id, {**fields}))

    @tool
    def load_box(self, op: Operation, box_id: int, amount: int) -> Answer[Box]:
        """Load so much of a box."""
        return (yield from self.boxes.update(op, box_id, {"loaded": amount}))
