"""A parcel desk whose goals are too weak: one holds at the start, one is met by whoever helps."""

from __future__ import annotations

# ruff: noqa: TC003  (the classes' type hints are read when the file is loaded)
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import simharness.api as sh


@dataclass(frozen=True, slots=True, kw_only=True)
class Parcel(sh.Row):
    addressee: str
    handed_over: bool = False


def expert(task: sh.Task) -> Generator[sh.Action, sh.Observation, None]:
    yield sh.Call("hand_over", {"parcel_id": task.brief["parcel_id"]})
    yield sh.Call("finish", {"message": "It is handed over."})


def waiting(task: sh.Task) -> Generator[sh.Action, sh.Observation, None]:
    """Let others do it, and say that it is done."""
    yield sh.Call("wait", {"seconds": 60})
    yield sh.Call("get_parcel", {"parcel_id": task.brief["parcel_id"]})
    yield sh.Call("finish", {"message": "It is handed over."})


class Others(sh.Scenario["Weak"]):
    id = "weak/others"
    doc = "the parcel is handed over, whoever did it"
    policies: ClassVar[
        Mapping[str, Callable[[sh.Task], Generator[sh.Action, sh.Observation, None]]]
    ] = {"expert": expert, "waiting": waiting}

    def base_rows(self) -> Mapping[str, Sequence[sh.Row]]:
        return {"parcels": [Parcel(id=i, addressee=f"flat {i}") for i in range(1, 10)]}

    def draw(self, drawing: sh.Drawing) -> None:
        drawing.between("parcel", 1, 9)

    def start(self, product: Weak, instance: sh.Instance) -> int:
        return 0

    def people(self, product: Weak, instance: sh.Instance) -> None:
        product.world.spawn("colleague", product.help_out(int(instance["parcel"])))

    def prompt(self, instance: sh.Instance) -> str:
        return f"Hand over parcel {instance['parcel']}, then call finish."

    def brief(self, instance: sh.Instance) -> dict[str, Any]:
        return {"parcel_id": instance["parcel"]}

    def goal(
        self, product: Weak, instance: sh.Instance, ending: sh.Ending
    ) -> tuple[sh.Criterion, ...]:
        key = int(instance["parcel"])
        done = product.parcels.table.rows[key].handed_over
        told = f"parcels:{key} is {'' if done else 'not '}handed over"
        return (sh.Criterion("handed over", done, told, (f"parcels:{key}.handed_over",)),)


class Given(Others):
    id = "weak/given"
    doc = "there is a parcel"

    def goal(
        self, product: Weak, instance: sh.Instance, ending: sh.Ending
    ) -> tuple[sh.Criterion, ...]:
        key = int(instance["parcel"])
        return (sh.Criterion("there", key in product.parcels.table.rows, f"parcels:{key} is"),)


class Weak(sh.Product):
    """A parcel desk."""

    name = "weak"
    scenarios = (Others(), Given())
    parcels = sh.store(Parcel, views=("detail",))

    @sh.tool
    def get_parcel(self, op: sh.Operation, parcel_id: int) -> sh.Answer[Parcel]:
        """Read one parcel."""
        row = yield from self.parcels.detail.read(op, parcel_id)
        if row is None:
            raise sh.Refused("not_found", f"no parcel {parcel_id}")
        return row

    @sh.write_tool
    def hand_over(self, op: sh.Operation, parcel_id: int) -> sh.Answer[Parcel]:
        """Hand a parcel over."""
        return (yield from self.parcels.update(op, parcel_id, {"handed_over": True}))

    def help_out(self, parcel_id: int) -> Generator[Any, Any, None]:
        yield self.world.timer(30 * sh.SECOND)
        actor = sh.Actor(self.world, "colleague", 1)
        yield from self.request(actor, "hand_over", parcel_id=parcel_id)
