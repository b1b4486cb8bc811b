"""A small repository in a world of its own, and ways to call the IDE's tools."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from simharness.api import Actor, Operation, Refused, World, parse_instant
from simharness.findings.detect import harness_findings
from simharness.findings.story import StepSpan, tell
from simharness.kernel import journal
from simharness.kernel.journal import Decoder
from simharness.kernel.schedule import Fifo, Random
from simharness.models.ide import Ide
from simharness.models.ide.initial import Entry, Start, put
from simharness.product.product import resolve_settings
from simharness.product.tool import Renderer
from simharness.units import parse_duration
from tests.models.ide_runner import Scripted

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping

    from simharness.findings.finding import Finding
    from simharness.models.ide.runner import Runner

EPOCH = parse_instant("2026-03-02T09:00:00Z")
SHOP = """def total(prices):
    return sum(prices)


def shipping(weight, region):
    rates = {"north": 5, "south": 7}
    return rates[region] * weight
"""
FILES = {
    "README.md": "# Shop\n\nA small shop.\n",
    "src/shop.py": SHOP,
    "src/money.py": "def cents(units):\n    return units * 100\n",
}
TEST = """from src.shop import total


def test_total():
    assert total([1, 2]) == 3
"""
TESTS = {"tests/test_shop.py": TEST}
START = Start(
    files=FILES,
    tests=TESTS,
    hidden_tests={"tests/test_hidden.py": "def test_hidden():\n    pass\n"},
    history=(
        Entry(message="Begin", files={"README.md": "# Shop\n"}),
        Entry(message="Count money", files={"src/money.py": FILES["src/money.py"]}, tags=("v1",)),
    ),
    title="Shipping is wrong",
    body="South pays too much.",
)


class House:
    """An IDE with a start, and nobody in it but callers."""

    def __init__(
        self,
        config: Mapping[str, object] | None = None,
        *,
        start: Start = START,
        profile: str = "bare",
        seed: int = 1,
        drawn: bool = False,
        runner: Runner | None = None,
        load: int = 0,
    ) -> None:
        self.world = World(seed, epoch=EPOCH, scheduler=Random(seed) if drawn else Fifo())
        templates = {name: spec.template(()) for name, spec in Ide.specs().items()}
        settings = resolve_settings(Ide, profile, config or {})
        self.ide = Ide(self.world, templates, settings, load)
        self.ide.runner = Scripted() if runner is None else runner
        put(self.ide, start)
        self.agent = Actor(self.world, "agent", 0)
        self._started = 0
        self._render = Renderer()
        self.world.settle()

    def start(self, tool: str, *, after: str = "0s", as_: str = "", **arguments: Any) -> Any:
        """Start a call or an operation; the process ends with the answer or the refusal."""
        self._started += 1
        actor = Actor(self.world, as_, 0) if as_ else self.agent
        called = self._called(actor, tool, arguments, self._started, parse_duration(after))
        return self.world.spawn(f"call/{self._started}", called)

    def _called(
        self, actor: Actor, tool: str, arguments: dict[str, Any], n: int, after: int
    ) -> Generator[Any, Any, Any]:
        yield self.world.pause(after)
        ide = self.ide
        spec = ide.tools.get(tool) or ide.operations[tool]
        try:
            op = Operation(self.world, actor, n)
            answer = yield from ide.call(op, spec, spec.check(arguments))
        except Refused as refusal:
            return refusal
        return self._render.render(answer)

    def call(self, tool: str, **arguments: Any) -> Any:
        """Call a tool and wait for the answer, as people see it."""
        return self.ended(self.start(tool, **arguments))

    def ended(self, *processes: Any) -> Any:
        """Wait for calls; gives the answer of one, or those of several."""
        for process in processes:
            assert self.world.drive(process, self.world.ticks + 10**10)
        values = [process.value for process in processes]
        return values[0] if len(values) == 1 else values

    def refused(self, tool: str, **arguments: Any) -> Refused:
        """Call a tool that must refuse, and change nothing by it."""
        before = self.ide.digests()
        told = self.call(tool, **arguments)
        assert isinstance(told, Refused), told
        assert self.ide.digests() == before
        return told

    def wait(self, duration: str) -> None:
        """Let time pass."""
        self.world.advance_to(self.world.ticks + parse_duration(duration))

    def text(self, path: str) -> str | None:
        """Give the committed content of a file."""
        table = self.ide.files.table
        key = table.taken_by("path", path)
        return None if key is None else table.rows[key].content

    def branch(self, title: str = "main") -> str:
        """Give where a branch of the server stands."""
        return next(row.rev for row in self.ide.branches.table if row.title == title)

    def reached(self) -> list[tuple[str, str]]:
        """Give what calls reached for outside of the repository."""
        rows = Decoder().decode_all(self.world.rows)
        return [(r.values["doing"], r.values["what"]) for r in rows if r.kind == "BEYOND"]

    def findings(self) -> list[Finding]:
        """Give what detectors find in the journal so far."""
        world = self.world
        world.emit((journal.END, world.ticks, world.intern("stop"), 0, 0))
        for text in self.ide.invariants():
            world.emit((journal.INVARIANT, world.ticks, world.intern(text)))
        rows = list(Decoder().decode_all(world.rows))
        return harness_findings(tell(rows, [StepSpan(1, 0, 0, ended=True, aborted=False)]))
