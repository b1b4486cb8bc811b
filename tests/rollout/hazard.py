"""A product whose person is a hazard on some seeds: a scenario for each thing that may be done."""

from __future__ import annotations

# ruff: noqa: TC003  (the classes' type hints are read when the file is loaded)
import os
import signal
from collections.abc import Callable, Generator, Mapping
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
class Lamp(Row):
    """A lamp."""

    lit: bool = False


class Leaving(BaseException):
    """What is no Exception."""


def light(task: Task) -> Generator[Action, Observation, None]:
    """Light the lamp, after a while."""
    for _ in range(3):
        yield Call("get_lamp", {"lamp_id": 1})
    yield Call("light", {"lamp_id": 1})
    yield Call("finish", {"message": "lit"})


def gamble(task: Task) -> Generator[Action, Observation, None]:
    """Light the lamp in one of three plays."""
    if task.draws(0).below(3, "luck") == 0:
        yield Call("light", {"lamp_id": 1})
    yield Call("finish", {"message": "lit"})


def tumble(task: Task) -> Generator[Action, Observation, None]:
    """Fail as a policy, by what is no Exception."""
    yield Call("get_lamp", {"lamp_id": 1})
    raise Leaving("the policy left")


class Light(Scenario["Hazard"]):
    """Light the lamp."""

    id = "hazard/sound"
    profile = "bare"
    policies: ClassVar[Mapping[str, Callable[[Task], Generator[Action, Observation, None]]]] = {
        "expert": light,
        "gamble": gamble,
        "tumble": tumble,
    }

    def base_rows(self) -> Mapping[str, list[Lamp]]:
        """Give the lamp."""
        return {"lamps": [Lamp(id=1)]}

    def draw(self, drawing: Drawing) -> None:
        """Draw whether the person is a hazard: where it is 0."""
        drawing.between("luck", 0, 3)

    def start(self, product: Hazard, instance: Instance) -> int:
        """Sign the agent in as nobody."""
        if instance["luck"] == 0 and self.id == "hazard/start":
            raise ValueError("start broke")
        return 0

    def people(self, product: Hazard, instance: Instance) -> None:
        """Start the person."""
        world = product.world

        def live() -> Generator[Any, Any, None]:
            yield world.timer(12 * SECOND)
            if instance["luck"] == 0:
                self.misbehave()

        world.spawn("user/1", live())

    def misbehave(self) -> None:
        """Do what the scenario is named for."""
        match self.id.rpartition("/")[2]:
            case "exit":
                raise SystemExit(0)
            case "leave":
                raise Leaving("gone")
            case "close":
                raise GeneratorExit
            case "kill":
                os.kill(os.getpid(), signal.SIGKILL)
            case "spin":
                while True:
                    pass
            case _:
                pass

    def prompt(self, instance: Instance) -> str:
        """Tell the agent its task."""
        if instance["luck"] == 0 and self.id == "hazard/prompt":
            raise ValueError("prompt broke")
        return "Light the lamp."

    def brief(self, instance: Instance) -> dict[str, Any]:
        """Give the facts of the prompt."""
        return {"lamp_id": 1}

    def goal(self, product: Hazard, instance: Instance, ending: Ending) -> tuple[Criterion, ...]:
        """Look whether it is lit."""
        if instance["luck"] == 0 and self.id == "hazard/goal" and ending.message:
            raise ValueError("goal broke")
        return (Criterion("lit", product.lamps.table.rows[1].lit, "it is", ("lamps:1",)),)


KINDS = ("exit", "leave", "close", "kill", "spin", "start", "prompt", "goal")


class Hazard(Product):
    """A lamp, and a person."""

    name = "hazard"
    scenarios = (
        Light(),
        *(type(f"Light{kind}", (Light,), {"id": f"hazard/{kind}"})() for kind in KINDS),
    )
    lamps = store(Lamp, views=("detail",))

    @tool
    def get_lamp(self, op: Operation, lamp_id: int) -> Answer[Lamp]:
        """Read a lamp."""
        row = yield from self.lamps.detail.read(op, lamp_id)
        if row is None:
            raise Refused("not_found", f"no lamp {lamp_id}")
        return row

    @tool
    def light(self, op: Operation, lamp_id: int) -> Answer[Lamp]:
        """Light a lamp."""
        return (yield from self.lamps.update(op, lamp_id, {"lit": True}))
