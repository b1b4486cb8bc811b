"""A product of somebody else's, as a file: a sound scenario, and one for each place to break."""

from __future__ import annotations

# ruff: noqa: TC003  (the classes' type hints are read when the file is loaded)
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from simharness.api import (
    SECOND,
    Action,
    Answer,
    Call,
    Criterion,
    Drawing,
    Ending,
    Instance,
    Observation,
    Operation,
    Product,
    Refused,
    Row,
    Scenario,
    Task,
    store,
    tool,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Order(Row):
    """Something that was bought."""

    title: str
    paid: bool = False


def pay(task: Task) -> Generator[Action, Observation, None]:
    """Pay the order."""
    yield Call("pay", {"order_id": task.brief["order_id"]})
    yield Call("finish", {"message": "paid"})


def lazy(task: Task) -> Generator[Action, Observation, None]:
    """Fail as a policy."""
    yield Call("wait", {"seconds": 1})
    raise ValueError("the policy broke")


class Sell(Scenario["Shop"]):
    """Pay one order."""

    id = "shop/sound"
    profile = "bare"
    policies: ClassVar[Mapping[str, Callable[[Task], Generator[Action, Observation, None]]]] = {
        "expert": pay,
        "lazy": lazy,
    }
    breaks: ClassVar[str] = ""

    def break_at(self, place: str) -> None:
        """Raise where this scenario is to break."""
        if self.breaks == place:
            raise ValueError(f"{place} broke")

    def base_rows(self) -> Mapping[str, Sequence[Row]]:
        """Give three orders."""
        self.break_at("rows")
        return {"orders": [Order(id=i, title=f"order {i}") for i in (1, 2, 3)]}

    def draw(self, drawing: Drawing) -> None:
        """Draw which order it is."""
        self.break_at("draw")
        drawing.between("order", 1, 3)

    def start(self, product: Shop, instance: Instance) -> int:
        """Sign the agent in."""
        self.break_at("start")
        product.breaks = self.breaks
        return 1

    def people(self, product: Shop, instance: Instance) -> None:
        """Start one user, who may break after five seconds."""
        self.break_at("people")
        world = product.world

        def live() -> Generator[Any, Any, None]:
            yield world.timer(5 * SECOND)
            self.break_at("user")

        world.spawn("user/1", live())

    def prompt(self, instance: Instance) -> str:
        """Tell the agent its task."""
        self.break_at("prompt")
        return f"Pay order {instance['order']}, \u20ac 5 \u00b7 \u5b8c."

    def brief(self, instance: Instance) -> dict[str, Any]:
        """Give the facts of the prompt."""
        self.break_at("brief")
        return {"order_id": instance["order"]}

    def goal(self, product: Shop, instance: Instance, ending: Ending) -> tuple[Criterion, ...]:
        """Look whether it is paid."""
        if ending.message:  # a goal is judged at the start too
            self.break_at("goal")
        key = int(instance["order"])
        return (Criterion("paid", product.orders.table.rows[key].paid, f"orders:{key}"),)


class Given(Sell):
    """Pay one order, though whoever does nothing is paid as well."""

    id = "shop/given"

    def goal(self, product: Shop, instance: Instance, ending: Ending) -> tuple[Criterion, ...]:
        """Look whether there is an order."""
        key = int(instance["order"])
        return (Criterion("there", key in product.orders.table.rows, "it is", (f"orders:{key}",)),)


PLACES = ("rows", "draw", "start", "people", "user", "prompt", "brief", "goal", "tool")


class Shop(Product):
    """A shop."""

    name = "shop"
    scenarios = (
        Sell(),
        Given(),
        *(type(f"Breaks{at}", (Sell,), {"id": f"shop/{at}", "breaks": at})() for at in PLACES),
    )
    orders = store(Order, views=("detail",))
    breaks = ""

    @tool
    def get_order(self, op: Operation, order_id: int) -> Answer[Order]:
        """Read an order."""
        row = yield from self.orders.detail.read(op, order_id)
        if row is None:
            raise Refused("not_found", f"no order {order_id}")
        return row

    @tool
    def pay(self, op: Operation, order_id: int) -> Answer[Order]:
        """Pay an order."""
        if self.breaks == "tool":
            raise ValueError("tool broke")
        return (yield from self.orders.update(op, order_id, {"paid": True}))


class Bare:
    """Not a product."""
