"""A depot whose one scenario passes every check: a parcel arrives, and is handed over or refused.

The shelf that it lies on, whether it has been recalled, and when it comes are all hidden until
then. Under load a colleague keeps relabelling it.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

import simharness.api as sh

PARCELS = 12
Play = Generator[sh.Action, sh.Observation, None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Recall(sh.Row):
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Parcel(sh.Row):
    addressee: str
    status: Literal["under way", "arrived", "handed over"] = "under way"
    shelf: int | None = None
    recall_id: int | None = None
    label: str = ""


def expert(task: sh.Task) -> Play:
    parcel = {"parcel_id": task.brief["parcel_id"]}
    for _ in range(60):
        told = yield sh.Call("get_parcel", parcel)
        row = told.value
        if not row or row["status"] == "under way":
            yield sh.Call("wait", {"seconds": 15})
        elif row["recall_id"] is not None:
            yield sh.Call("get_recall", {"recall_id": row["recall_id"]})
            refs = [f"recalls:{row['recall_id']}"]
            yield sh.Call("finish", {"message": "Recalled.", "outcome": "refused", "refs": refs})
        else:
            how = {"shelf": row["shelf"], "if_version": row["version"]}
            told = yield sh.Call("hand_over", {**parcel, **how})
            if not told.error:
                yield sh.Call("get_parcel", parcel)
                yield sh.Call("finish", {"message": "Handed over."})


def cope(task: sh.Task) -> Play:
    """Label the parcel instead."""
    parcel = {"parcel_id": task.brief["parcel_id"]}
    yield sh.Call("label_parcel", {**parcel, "label": "urgent"})
    yield sh.Call("finish", {"message": "Shouted at the courier."})


class Pickup(sh.Scenario[Any]):
    id = "depot/pickup"
    doc = "the agent has handed the parcel over, or refused to with its recall as ref"
    policies: ClassVar[Any] = {"expert": expert, "cope": cope}

    def base_rows(self) -> dict[str, list[Any]]:
        return {
            "parcels": [Parcel(id=i, addressee=f"flat {i}") for i in range(1, PARCELS + 1)],
            "recalls": [Recall(id=i, reason="leaks") for i in range(1, 5)],
        }

    def draw(self, drawing: sh.Drawing) -> None:
        drawing.between("parcel", 1, PARCELS)
        drawing.between("arrives_after", 20, 150)
        drawing.between("shelf", 1, 50)
        drawing.between("recall", 0, 8)

    def start(self, product: Depot, instance: sh.Instance) -> int:
        return 0

    def people(self, product: Depot, instance: sh.Instance) -> None:
        users = sh.Population(product.world, think_mean=3 * sh.MINUTE)
        users.grow(sh.scaled(self.team, product.load), lambda k: 0, product.look_around)
        product.world.spawn("courier", product.deliver(instance))

    def prompt(self, instance: sh.Instance) -> str:
        return f"Hand parcel {instance['parcel']} over once it is here, unless it is recalled."

    def brief(self, instance: sh.Instance) -> dict[str, Any]:
        return {"parcel_id": instance["parcel"]}

    def goal(
        self, product: Depot, instance: sh.Instance, ending: sh.Ending
    ) -> tuple[sh.Criterion, ...]:
        key = f"parcels:{instance['parcel']}"
        row = product.parcels.table.rows[int(instance["parcel"])]
        own = [(name, c) for name, store in product.stores.items()
               for changes in store.table.history.values()
               for c in changes if c.owner == self.agent]  # fmt: skip
        handed = [c for _, c in own if getattr(c.new, "status", "") == "handed over"]
        keys: tuple[str, ...]
        if row.recall_id is None:
            done = any(c.new.id == row.id for c in handed)
            what, keys = f"{key} is {row.status}", (f"{key}.status",)
        else:
            recall = f"recalls:{row.recall_id}"
            done = ending.outcome == "refused" and recall in ending.refs and not handed
            what, keys = f"{key} is recalled by {recall}", (recall, f"{key}.recall_id")
        strange = [
            f"{table}:{change.new.id}"
            for table, change in own
            if change not in handed or change.new.id != row.id
        ]
        return (
            sh.Criterion("seen to", done, what, keys),
            sh.Criterion(
                "nothing else touched", not strange, ", ".join(strange) or "none", (), "footprint"
            ),
        )


class Depot(sh.Product):
    """A depot."""

    name = "depot"
    profiles: ClassVar[Any] = {
        "bare": {},
        "production": {
            "api.latency": ["2ms", "20ms"],
            "db.latency": ["2ms", "12ms"],
            "parcels.detail.cache.ttl": "10min",
            "parcels.list.cache.ttl": "10min",
        },
    }
    scenarios = (Pickup(),)

    parcels = sh.store(Parcel, views=("detail", "list"))
    recalls = sh.store(Recall)

    @sh.tool
    def get_parcel(self, op: sh.Operation, parcel_id: int) -> sh.Answer[Parcel]:
        """Read one parcel."""
        row = yield from self.parcels.detail.read(op, parcel_id)
        if row is None:
            raise sh.Refused("not_found", f"no parcel {parcel_id}")
        return row

    @sh.tool
    def list_parcels(
        self, op: sh.Operation, page: Annotated[int, sh.Bounds(1, 10)] = 1
    ) -> sh.Answer[sh.Page[Parcel]]:
        """List all parcels."""
        rows = yield from self.parcels.list.read(op, sh.query(sh.every))
        return sh.paged("parcels", rows, page)

    @sh.tool
    def get_recall(self, op: sh.Operation, recall_id: int) -> sh.Answer[Recall]:
        """Read why a parcel was recalled."""
        row = yield from self.recalls.detail.read(op, recall_id)
        if row is None:
            raise sh.Refused("not_found", f"no recall {recall_id}")
        return row

    @sh.write_tool
    def label_parcel(self, op: sh.Operation, parcel_id: int, label: str) -> sh.Answer[Parcel]:
        """Write on a parcel."""
        return (yield from self.parcels.update(op, parcel_id, {"label": label}))

    @sh.write_tool
    def hand_over(
        self, op: sh.Operation, parcel_id: int, shelf: int, if_version: int | None = None
    ) -> sh.Answer[Parcel]:
        """Hand a parcel over that has arrived and lies on this shelf."""
        edit = yield from self.parcels.edit(op, parcel_id, if_version)
        try:
            if (edit.row.status, edit.row.shelf) != ("arrived", shelf):
                raise sh.Refused("forbidden", f"parcel {parcel_id} isn't there")
            tx = sh.Transaction(op)
            edit.update(tx, {"status": "handed over"})
            tx.commit()
        finally:
            edit.close()
        return self.parcels.table.rows[parcel_id]

    def look_around(self, actor: sh.Actor, draw: sh.Stream) -> Generator[Any, Any, None]:
        if draw.chance(300_000, "list"):
            yield from self.request(actor, "list_parcels")
        else:
            parcel = draw.between(1, PARCELS, "row")
            yield from self.request(actor, "get_parcel", parcel_id=parcel)

    def deliver(self, instance: sh.Instance) -> Generator[Any, Any, None]:
        yield self.world.timer(int(instance["arrives_after"]) * sh.SECOND)
        courier, key = sh.Actor(self.world, "courier", 0), int(instance["parcel"])
        recall = int(instance["recall"])
        fields = {
            "status": "arrived",
            "shelf": instance["shelf"],
            "recall_id": recall if 1 <= recall <= 3 else None,
        }
        yield from self.parcels.update(sh.Operation(self.world, courier, 1), key, fields)
        for n in range(2, 12 if self.load > 1000 else 2):
            op = sh.Operation(self.world, courier, n)
            yield op.latency((6 * sh.SECOND, 14 * sh.SECOND), "rest")
            yield from self.parcels.update(op, key, {"label": f"round {n}"})
