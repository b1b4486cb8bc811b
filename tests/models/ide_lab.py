"""The IDE with a small task, for tests that need whole episodes. They load it by its path."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from simharness.api import (
    Call,
    Criterion,
    Drawing,
    Ending,
    Instance,
    Scenario,
    parse_instant,
)
from simharness.models.ide import Ide
from simharness.models.ide.initial import Entry, Start, put
from simharness.models.ide.people.house import start_people
from simharness.models.ide.people.rivals import push_later

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping, Sequence

    from simharness.api import Action, Observation, Row, Task

    Acts = Generator[Action, Observation, None]

TEST = """from shop import total


def test_total():
    assert total([1, 2]) == 3
"""
START = Start(
    files={"shop.py": "def total(prices):\n    return max(prices)\n"},
    tests={"test_shop.py": TEST},
    history=(Entry(message="Begin", files={"README.md": "A shop.\n"}),),
    title="The total is wrong",
    body="It is that of the dearest thing alone.",
)


def expert(task: Task) -> Acts:
    """Mend the shop, push that, and wait for the CI server."""
    yield Call("read_ticket", {})
    yield Call("run_tests", {})
    yield Call("run_command", {"command": "grep -n max *.py; git log --oneline"})
    yield Call("edit_file", {"path": "shop.py", "old_text": "max", "new_text": "sum"})
    line = "python -m pytest -q && git commit -qam 'Add up' && git push"
    told = yield Call("run_command", {"command": line})
    while told.value["exit_code"]:
        told = yield Call("run_command", {"command": "git pull --rebase -q; git push"})
    yield Call("wait", {"seconds": 60})
    yield Call("ci_status", {})
    yield Call("submit", {"message": "The total adds up."})
    yield Call("finish", {"message": "Done."})


class Mend(Scenario["IdeLab"]):
    """A test fails; main moves meanwhile."""

    id = "ide-lab/mend"
    doc = "a CI job of what the agent has pushed has passed"
    profile = "production"
    epoch = parse_instant("2026-03-02T09:00:00Z")
    policies: ClassVar = {"expert": expert}

    def base_rows(self) -> Mapping[str, Sequence[Row]]:
        return {}

    def draw(self, drawing: Drawing) -> None:
        drawing.between("pushed_after", 1, 60)

    def start(self, product: IdeLab, instance: Instance) -> int:
        put(product, START)
        return 0

    def people(self, product: IdeLab, instance: Instance) -> None:
        start_people(product, ["shop.py"])
        ms = int(instance["pushed_after"]) * 1_000
        push_later(product, "kit", 1, ms, lambda files: {"NEWS": "We sell more.\n"}, "Tell news")

    def prompt(self, instance: Instance) -> str:
        return "Read the ticket, mend the shop, push that to main and see that CI passes."

    def brief(self, instance: Instance) -> dict[str, Any]:
        return {}

    def goal(self, product: IdeLab, instance: Instance, ending: Ending) -> tuple[Criterion, ...]:
        changes = product.ci_jobs.table.changes
        own = [c.key for c in changes if c.old is None and c.owner == self.agent]
        jobs = [product.ci_jobs.table.rows[key] for key in own]
        passed = [job.id for job in jobs if job.status == "passed"]
        text = f"{len(passed)} of {len(jobs)} jobs have passed"
        keys = tuple(f"ci_jobs:{job.id}" for job in jobs)
        return (Criterion("passed", bool(passed), text, keys),)


class IdeLab(Ide):
    """The IDE with a task."""

    name = "ide-lab"
    scenarios = (Mend(),)
