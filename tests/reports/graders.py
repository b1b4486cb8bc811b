"""The workshop with graders that fail and with budgets; tests load it by its path."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from simharness.api import SECOND, Answer, Call, Criterion, Drawing, Ending, Instance, Operation
from simharness.api import local_tool as local
from tests.episode.workshop import SIZE_WANTED, Shift, Workshop

if TYPE_CHECKING:
    from collections.abc import Generator

    from simharness.api import Action, Observation, Task

FATES = ("passes", "fails", "fails again", "breaks")


def by_fate(task: Task) -> Generator[Action, Observation, None]:
    """Do the job, or not, as the seed says."""
    size = SIZE_WANTED if task.brief["fate"] != 1 and task.brief["fate"] != 2 else 1
    yield Call("resize", {"part_id": task.brief["part_id"], "size": size})
    yield Call("finish", {"message": "resized"})


class Fated(Shift):
    """Give one part the size that is wanted; the grader breaks on some seeds."""

    id = "graders/fated"
    policies: ClassVar = {"fate": by_fate}

    def draw(self, drawing: Drawing) -> None:
        """Draw what becomes of the episode."""
        super().draw(drawing)
        drawing.below("fate", len(FATES))

    def brief(self, instance: Instance) -> dict[str, Any]:
        """Tell the policy."""
        return {**super().brief(instance), "fate": instance["fate"]}

    def goal(self, product: Workshop, instance: Instance, ending: Ending) -> tuple[Criterion, ...]:
        """Judge, or break before there is a verdict."""
        if product.ending is not None and FATES[int(instance["fate"])] == "breaks":
            raise OSError("the verifier was killed")
        return super().goal(product, instance, ending)


class Limited(Shift):
    """Give one part the size that is wanted within a minute."""

    id = "graders/limited"
    ticks_max = 60 * SECOND


class Graders(Workshop):
    """The workshop with these tasks."""

    name = "graders"
    scenarios: ClassVar = (Fated(), Limited())  # type: ignore[assignment]

    @local
    def sleep(self, op: Operation, seconds: int) -> Answer[dict[str, Any]]:
        """Let time pass."""
        yield self.world.timer(seconds * SECOND)
        return {"slept": seconds}
