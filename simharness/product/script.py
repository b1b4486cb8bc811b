"""A script: an episode that is written down. Its start, who else acts when, its goal, its pay.

A scenario `PRODUCT/report` plays one. The whole script is a text within the instance, so that a
recording of it can be replayed by itself. Whoever plays the agent sends the calls of its turns;
what others do happens in the world.
"""

from __future__ import annotations

import json
from bisect import bisect_left, bisect_right
from dataclasses import dataclass, field, fields
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, cast

from simharness.errors import UnknownName, UsageError
from simharness.kernel.calendar import instant
from simharness.kernel.operation import Actor, Operation
from simharness.parts.node import on_node
from simharness.parts.refusal import Refused
from simharness.product.goal import MILLION, Criterion, Ending
from simharness.product.reference import Unresolved, resolved
from simharness.product.scenario import Drawing, Instance, Scenario
from simharness.product.tool import Renderer
from simharness.units import DAY

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Mapping, Sequence

    from simpy.events import Event

    from simharness.kernel.world import World
    from simharness.parts.row import Row
    from simharness.product.product import Product
    from simharness.product.scenario import Value

SLUG = "report"
"""The scenario of every product that plays scripts."""
TEXT = "script"
"""The value of the instance that holds one."""
AGENT = "agent"
AT_ONCE = ("node.", "clock.")
"""Operations that happen to a node, whether it is paused or not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Act:
    """What somebody does, once."""

    label: str
    actor: str
    call: str
    """A tool, or for others than the agent an operation."""
    args: Any = None
    """A map, in which a text `$label.path` stands for part of an earlier answer; None for none."""
    at: int = 0
    """Tick, or the ticks from the answer that it comes `after`."""
    after: str = ""
    """The act whose answer it waits for; empty for none."""
    pins: Mapping[str, int] = field(default_factory=dict[str, int])
    """Waits in ticks, by name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """Rows that a goal counts."""

    table: str
    where: Mapping[str, Any]
    """Values by column, as the table holds them."""
    count: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One step of the agent's: what it sends when."""

    at: int
    """Tick."""
    acts: Sequence[int]
    """By their place in the script."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Script:
    """A whole script."""

    title: str
    epoch: int
    """The instant of tick 0."""
    rows: Mapping[str, Sequence[Mapping[str, Any]]]
    """Rows at tick 0 by table, their values as the table holds them."""
    identities: Mapping[str, int]
    """Whom actors are signed in as; 0 and those left out: nobody in particular."""
    acts: Sequence[Act]
    names: Sequence[str] = ()
    """The ids of rows at tick 0 that people know by another name, such as TK-1."""
    material: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """What there is at tick 0 besides rows, by the product's names for it."""
    goal: Sequence[Match] | None = None
    """Rows that there are to be at the end; None: there is no goal."""
    keep: Sequence[Match] = ()
    """Rows of the start that are to be as they were."""
    task: str = ""
    """The slug of a scenario whose goal, prompt and brief are those of the script; else empty."""
    instance: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """What that scenario drew."""
    pay: Sequence[Match] | None = None
    """Rows that the harness pays for instead of the goal."""
    turns: Sequence[Turn] = ()
    """The steps of the agent, as far as they are known."""
    dropped: Sequence[int] = ()
    """Acts of the agent's that it could not do, by their place."""

    def text(self) -> str:
        """Write the script as one line."""
        return json.dumps(self, separators=(",", ":"), ensure_ascii=True, default=as_map)


def as_map(value: Any) -> dict[str, Any]:
    """Give a dataclass as a map; without a task none is named, as before there were any."""
    told = {field.name: getattr(value, field.name) for field in fields(value)}
    if isinstance(value, Script) and not value.task:
        del told["task"], told["instance"]
    return told


@lru_cache(maxsize=4)
def read_script(text: str) -> Script:
    """Read a script, which is shared and never written to.

    Raises UsageError for a text that is none.
    """
    try:
        raw: dict[str, Any] = json.loads(text)
        raw |= {
            "acts": [Act(**act) for act in raw["acts"]],
            "goal": matches(raw["goal"]),
            "keep": matches(raw["keep"]) or (),
            "pay": matches(raw["pay"]),
            "turns": [Turn(**turn) for turn in raw["turns"]],
        }
        return Script(**raw)
    except (ValueError, TypeError, KeyError) as error:
        raise UsageError(
            f"the script of an episode can't be read: {type(error).__name__}: {error}"
        ) from error


def matches(raw: Iterable[Mapping[str, Any]] | None) -> list[Match] | None:
    """Read the rows that a goal counts."""
    return None if raw is None else [Match(**one) for one in raw]


def sent_at(turn: Turn) -> int:
    """Give the tick at which a turn is sent; no turn is sent before the one before it."""
    return turn.at


class Answer(NamedTuple):
    """What came of an act."""

    ok: bool
    value: Any
    """The answer, or the error as `{"code", "message", ...}`."""
    sent: int
    """Tick."""
    t: int
    """Tick of the answer."""
    owner: str
    n: int


class Scripted(Scenario["Product"]):
    """The scenario of a script; one that is bound serves a single episode."""

    id: ClassVar[str] = f"product/{SLUG}"
    doc: ClassVar[str] = "what the goal of the report says"
    profile: ClassVar[str] = "bare"
    steps_max: ClassVar[int] = 100_000
    ticks_max: ClassVar[int] = 3660 * DAY
    settle_max: ClassVar[int] = 30 * DAY
    team: ClassVar[int] = 0
    graded_at_reset: ClassVar[bool] = False

    def __init__(self, script: Script | None = None) -> None:
        self._script = script
        self.answers: dict[str, Answer] = {}
        """What came of the acts so far, by label."""
        self.skipped: dict[str, str] = {}
        """Acts that were left out, with the reason."""
        self.begun: dict[tuple[str, int], str] = {}
        """The acts that others have begun: labels by operation."""
        self._heard: dict[str, Event] = {}
        self._sent: dict[int, Event] = {}
        self.done = False
        """Whether all that others do has begun."""
        self.turns: list[Turn] = []
        """The steps of the agent, as far as they are known."""
        if script is not None:
            self.epoch = script.epoch
            self.turns += script.turns

    def bound(self, pins: Mapping[str, Value]) -> Scripted:
        """Give the scenario of one episode."""
        text = pins.get(TEXT)
        if not isinstance(text, str):
            raise UsageError(
                "this scenario plays reports, and none is given", "run: simharness report FILE"
            )
        return Scripted(read_script(text))

    task: Scenario[Any] | None = None
    """The scenario whose goal is that of the script."""

    @property
    def script(self) -> Script:
        """What is played."""
        assert self._script is not None
        return self._script

    # --- the start --------------------------------------------------------------------------------

    def base_rows(self) -> Mapping[str, Sequence[Row]]:
        """All tables start empty."""
        return {}

    def draw(self, drawing: Drawing) -> None:
        """Take the script."""
        drawing.text(TEXT)

    def start(self, product: Product, instance: Instance) -> int:
        """Put the rows into place."""
        if self.script.task:
            self.task = task_of(type(product), self.script.task)
        for name, rows in self.script.rows.items():
            table = product.stores[name].table
            for row in rows:
                table.start_with(start_row(table.row_type, row, self.script.epoch, name))
        return self.script.identities.get(AGENT, 0)

    def prompt(self, instance: Instance) -> str:
        """Give the title, an agent that is written down needs no task; or that of the task."""
        script = read_script(str(instance[TEXT]))
        return script.title if self.task is None else self.task.prompt({**script.instance})

    def brief(self, instance: Instance) -> dict[str, Any]:
        """Give the rows of the start, which whoever wrote the calls down knew."""
        script = read_script(str(instance[TEXT]))
        if self.task is not None:
            return self.task.brief({**script.instance})
        rows = script.rows
        ids = {f"{name}_ids": [row["id"] for row in listed] for name, listed in rows.items()}
        return {"rows": rows, "names": script.names, **ids}

    # --- the end ----------------------------------------------------------------------------------

    def goal(self, product: Product, instance: Instance, ending: Ending) -> tuple[Criterion, ...]:
        """Count rows, and hold those that are to stay against the start."""
        script = self.script
        if self.task is not None:
            judged = self.task.goal(product, {**script.instance}, ending)
        else:
            judged = product.judged(script.material)
        if script.goal is None:
            return judged
        return (
            *judged,
            *(counted(product, match) for match in script.goal),
            *(kept(product, match, script) for match in script.keep),
        )

    def pay(
        self, product: Product, instance: Instance, criteria: tuple[Criterion, ...]
    ) -> int | None:
        """Pay by the goal, or by what the script pays for; without a goal nobody can tell."""
        if self.script.pay is None or not criteria:
            return super().pay(product, instance, criteria)
        # As harnesses do that multiply their parts: without any, everybody is paid.
        return MILLION * all(counted(product, match).holds for match in self.script.pay)

    # --- who else acts ----------------------------------------------------------------------------

    def people(self, product: Product, instance: Instance) -> None:
        """Let others do what they do, when they do it."""
        if self.task is not None and product.materials and not self.script.material:
            # What isn't rows is as the task has it. Nobody else is there: the load is 0.
            self.task.people(product, {**self.script.instance})
        elif product.materials:
            # Not at the start: a fault may say what of it is there.
            product.stage(self.script.material)
        self._actors = {
            act.actor: Actor(product.world, act.actor, self.script.identities.get(act.actor, 0))
            for act in self.script.acts
            if act.actor != AGENT
        }
        self._renderer = Renderer()
        for place in self.script.dropped:
            self.skip(self.script.acts[place].label, "the agent could not do it")
        for act in self.script.acts:
            if act.actor != AGENT and act.after:
                product.world.spawn(f"{act.label} of {act.actor}", self._later(product, act))
        product.world.spawn(SLUG, self._in_turn(product))

    def _in_turn(self, product: Product) -> Generator[Event, Any, None]:
        """Begin what is to happen at an instant, after the timers of that instant."""
        world, script = product.world, self.script
        timed = [
            (act.at, place, act)
            for place, act in enumerate(script.acts)
            if act.actor != AGENT and not act.after
        ]
        for at, place, act in sorted(timed, key=lambda entry: entry[:2]):
            if at > world.ticks:
                yield world.timer(at - world.ticks)
            while world.next_ticks() == world.ticks:
                yield world.point(SLUG)
            for step in self._turns_at(at):
                if min(self.turns[step - 1].acts) < place:
                    # The agent may do otherwise in a re-run; then it is not waited for.
                    yield self._event(world, self._sent, step) | world.timer(1)
            self._begin(product, act)
        self.done = True

    def _turns_at(self, at: int) -> list[int]:
        """Give the steps of the agent's that are sent at a tick."""
        first = bisect_left(self.turns, at, key=sent_at)
        return [*range(first + 1, bisect_right(self.turns, at, first, key=sent_at) + 1)]

    def _later(self, product: Product, act: Act) -> Generator[Event, Any, None]:
        """Begin what comes after an answer."""
        if act.after in self.skipped:
            self.skip(act.label, f"{act.after} was skipped")
            return
        if act.after not in self.answers:
            yield self._event(product.world, self._heard, act.after)
        if act.after in self.skipped:
            self.skip(act.label, f"{act.after} was skipped")
            return
        yield product.world.pause(act.at)
        self._begin(product, act)

    def _begin(self, product: Product, act: Act) -> None:
        if product.ending is not None:
            self.skip(act.label, "the agent has finished")
            return
        try:
            args = resolved(act.args or {}, self.told)
        except Unresolved as error:
            self.skip(act.label, str(error))
            return
        product.world.spawn(f"{act.actor}: {act.label}", self._do(product, act, args))

    def _do(self, product: Product, act: Act, args: dict[str, Any]) -> Generator[Event, Any, None]:
        world = product.world
        actor = self._actors[act.actor]
        n = actor.next_n
        actor.next_n = n + 1
        op = Operation(world, actor, n, dict(act.pins) or None)
        self.begun[op.owner, n] = act.label
        spec = product.operations.get(act.call) or product.tools[act.call]
        sent = world.ticks
        try:
            steps = product.call(op, spec, spec.check(args))
            answer = yield from on_node(op, steps, at_once=act.call.startswith(AT_ONCE))
        except Refused as refusal:
            self._hear(act.label, Answer(False, refusal.value(), sent, world.ticks, op.owner, n))
        else:
            told = self._renderer.render(answer)
            self._hear(act.label, Answer(True, told, sent, world.ticks, op.owner, n))

    # --- what came of it --------------------------------------------------------------------------

    @property
    def told(self) -> Mapping[str, Answer]:
        """The answers so far, by label."""
        return self.answers

    def act_of(self, n: int) -> Act | None:
        """Give the act of the agent's that is its call `n`; None for a call that isn't written."""
        step, i = n >> 16, n & 0xFFFF
        acts = self.turns[step - 1].acts if 0 < step <= len(self.turns) else ()
        return self.script.acts[acts[i]] if i < len(acts) else None

    def sent(self, step: int) -> None:
        """Let go on who waits for the agent to have begun."""
        if step in self._sent and not self._sent[step].triggered:
            self._sent[step].succeed()

    def answered(self, op: Operation, ok: bool, value: object) -> None:
        """Hear of an answer of the agent's; a call that was told of its time-out has had its."""
        act = self.act_of(op.n)
        if act is not None and act.label not in self.answers:
            self._hear(act.label, Answer(ok, value, op.begin, op.world.ticks, op.owner, op.n))

    def skip(self, label: str, reason: str) -> None:
        """Leave an act out."""
        self.skipped[label] = reason
        if label in self._heard and not self._heard[label].triggered:
            self._heard[label].succeed()

    def _hear(self, label: str, answer: Answer) -> None:
        self.answers[label] = answer
        if label in self._heard:
            self._heard[label].succeed()

    def _event(self, world: World, events: dict[Any, Event], key: object) -> Event:
        """Give an event that others share."""
        if key not in events:
            events[key] = world.event()
        return events[key]


def task_of(product: type[Product], slug: str) -> Scenario[Any]:
    """Give a scenario of a product by its slug. Raises UnknownName."""
    tasks = {scenario.id.rpartition("/")[2]: scenario for scenario in product.scenarios}
    if slug not in tasks:
        raise UnknownName.among(f"scenario of {product.name}", slug, tasks)
    return tasks[slug]


def start_row(row_type: Any, row: Mapping[str, Any], epoch: int, table: str) -> Row:
    """Build a row of the start; unless it says otherwise it was made at tick 0."""
    values = {"created_at": epoch, "updated_at": epoch, **as_held(row)}
    built: Row = row_type.build(values, table)
    return built


def as_held(values: Mapping[str, Any]) -> dict[str, Any]:
    """Give values of columns as tables hold them: a script has lists where they have tuples."""
    return {n: tuple(cast("list[object]", v)) if type(v) is list else v for n, v in values.items()}


def counted(product: Product, match: Match) -> Criterion:
    """Hold the number of rows that match against what it is to be."""
    table = product.stores[match.table].table
    where = as_held(match.where)
    rows = table.where(**where)
    shown = ", ".join(f"{name} {value}" for name, value in match.where.items()) or "anything"
    found = ", ".join(f"{match.table}:{row.id}" for row in rows[:8]) or "none"
    names = [f".{name}" for name in where if name != "id"] or [""]
    keys = [f"{match.table}:{row.id}{name}" for row in rows for name in names]
    if not rows and isinstance(where.get("id"), int):
        keys = [f"{match.table}:{where['id']}"]
    return Criterion(
        f"{match.count} of {match.table} with {shown}",
        len(rows) == match.count,
        f"{len(rows)} found: {found}",
        tuple(keys),
    )


def kept(product: Product, match: Match, script: Script) -> Criterion:
    """Hold rows of the start against what they are."""
    table = product.stores[match.table].table
    old = {
        row["id"]: start_row(table.row_type, row, script.epoch, match.table)
        for row in script.rows.get(match.table, ())
        if all(row.get(name) == value for name, value in match.where.items())
    }
    changed = [key for key, row in old.items() if table.rows.get(key) != row]
    shown = ", ".join(f"{name} {value}" for name, value in match.where.items()) or "anything"
    found = ", ".join(f"{match.table}:{key}" for key in changed[:8])
    return Criterion(
        f"{match.table} with {shown} as at the start",
        not changed,
        f"changed: {found}" if changed else f"{len(old)} rows are as they were",
        tuple(f"{match.table}:{key}" for key in old),
        role="footprint",
    )


EPOCH = instant(2026, 3, 2, 9)
"""The instant of tick 0 unless a report says otherwise."""
