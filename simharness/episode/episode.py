"""An episode: one world driven call by call, from reset to grade. It knows no verdict yet."""

from __future__ import annotations

from shlex import quote
from typing import TYPE_CHECKING, Any, cast

from simharness.episode.info import EXTERNAL, with_notes
from simharness.episode.plan import load_text, setting_text
from simharness.episode.start import schemas_digest, templates
from simharness.episode.step import (
    BESIDE,
    CALL_TEXT_MAX,
    CALLS,
    LATER,
    OUTSIDE,
    STOP,
    TEXT,
    TURN_TEXT_MAX,
    Input,
    Placebo,
    Result,
    StepRecord,
    cut,
    input_payload,
    raw,
    with_id,
)
from simharness.episode.transcript import RawCall, parse_arguments
from simharness.errors import Deadlock, HarnessError, SimharnessError, UsageError
from simharness.kernel import guard, journal
from simharness.kernel.calendar import format_instant
from simharness.kernel.draws import Stream
from simharness.kernel.operation import Actor, Operation
from simharness.kernel.schedule import parse_scheduler
from simharness.kernel.world import World
from simharness.parts.refusal import Refused
from simharness.product.fault import arm
from simharness.product.goal import Criterion, Ending, score
from simharness.product.product import Product, find_fault, resolve_settings
from simharness.product.registry import load_scenario
from simharness.product.scenario import Instance, Scenario, instance_of
from simharness.product.tool import AS_OF, BadArgument, Renderer, ToolSpec
from simharness.recording.recorder import ABORTED, TERMINATED, TRUNCATED, Recorder, Teller
from simharness.recording.writer import FrameLog, Sink
from simharness.units import DAY, MINUTE, SECOND, format_duration

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping, Sequence
    from pathlib import Path

    from simpy.events import Event

    from simharness.episode.plan import Plan
    from simharness.kernel.outside import Answered
    from simharness.kernel.process import Process
    from simharness.parts.table import Change
    from simharness.product.view import Breach

CALLS_PER_TURN = 64
THINK = (1 * SECOND, 9 * SECOND)
"""Default think time before a step, uniform between these ticks, keyed by (seed, step)."""
OVERDUE = 10 * MINUTE
"""Simulated time after which a call that is still under way means that the harness is stuck."""
CHECKPOINT_STEPS = 16

LATE = {
    "unknown_outcome": (
        "unknown_outcome",
        "no answer in time; the call may or may not take effect",
    ),
    "error": ("unavailable", "no answer in time"),
    "budget": ("unavailable", "the time of this episode is up"),
}
"""Code and message that answer a late call: by `api.on_timeout`, or at the end of the budget."""


class Episode:
    """One run of a scenario.

    `repair` names mechanisms that tell the truth in it: `cache:T.V` by value, `lock:T`, `lease:T`
    and `reward` by sound knobs, `fault:ID` and `background` by leaving them out. `placebo` delays
    writes and repairs nothing. `outside` are answers from outside that are known for its start;
    those of a step come with its input. `heard` is told of each call of anybody's, with tool and
    arguments.
    """

    def __init__(
        self,
        plan: Plan,
        *,
        repair: frozenset[str] = frozenset(),
        placebo: Placebo | None = None,
        sink: Sink | None = None,
        info: bytes = b"",
        keep_rows: bool = True,
        outside: Sequence[Answered] = (),
        heard: Callable[[Operation, str, Mapping[str, Any]], None] | None = None,
    ) -> None:
        self.plan = plan
        product_class, scenario = load_scenario(plan.scenario)
        scenario = scenario.bound(plan.pins)
        self.scenario: Scenario[Any] = scenario
        self.repair = repair
        self.sink: Sink = sink if sink is not None else FrameLog()
        self.steps: list[StepRecord] = []
        """Finished steps; only the last one where rows are not kept."""
        self.count = 0
        """Steps so far."""
        self.criteria: tuple[Criterion, ...] = ()
        self.ended = False
        self._step_under_way = 0
        self._waited = 0
        self.bad_calls = 0
        """Calls so far that no schema allows."""
        self.aborted: HarnessError | None = None
        self.notes: dict[str, Any] = {}
        """What is to be known of it and decides nothing: goes to the INFO frame when it closes."""
        self._info = info
        self.interrupted = False
        """Whether Ctrl-C or the like came amid a step, which then has no STEP in the recording."""
        profile = plan.profile or scenario.profile_for(product_class.profiles)
        settings = resolve_settings(product_class, profile, plan.config)
        load = 0 if "background" in repair else plan.load
        faults = [find_fault(product_class, text) for text in plan.faults]
        faults = [fault for fault in faults if f"fault:{fault.id}" not in repair]
        world = World(plan.seed, scheduler=parse_scheduler(plan.schedule), epoch=scenario.epoch)
        world.repair = repair
        world.outside.learn(outside)
        world.heard = heard
        world.patches = frozenset(plan.patches_of(product_class))
        self.world = world
        start_tables = templates(product_class, scenario)
        self.product: Product = product_class(world, start_tables, settings, load)
        # Think times and instance are drawn apart from the world: a replay takes both from the
        # recording.
        self._own_draws = world.draws.twin()
        self.instance: Instance = instance_of(scenario, self._own_draws, plan.pins)
        identity = scenario.start(self.product, self.instance)
        check_identity(self.product, identity, plan)
        self.agent = Actor(world, scenario.agent, identity, audited=True)
        caches = self.product.caches()
        for fault in faults:
            arm(fault, world, settings, caches, plan.load)
        self.product.repair(repair)
        if placebo is not None:
            self.product.stores[placebo.table].placebo = (placebo.longest, placebo.number)
        self._schemas = ""
        self._check_schemas()
        scenario.people(self.product, self.instance)
        if scenario.graded_at_reset:
            at_reset = scenario.goal(self.product, self.instance, Ending(outcome="done"))
            if at_reset and score(at_reset):
                self._write_grade(at_reset, "reset")
                world.alarms += 1
        self.steps_max = plan.steps_max or scenario.steps_max
        self.ticks_max = plan.ticks_max or scenario.ticks_max
        self._settings = settings
        self._renderer = Renderer()
        self._teller = Teller(world)
        self._pending: list[tuple[Process, int]] = []
        self.recorder = Recorder(world, self.sink, keep_rows=keep_rows)
        header = plan.header(product_class, self.instance)
        self.recorder.header(header, plan.decisions)
        if info:
            self.recorder.info(info)
        for answered in world.outside.answers:
            self._note_outside(answered)
        world.outside.note = self._note_outside
        world.settle()
        self.recorder.checkpoint(self.product.digests())

    # --- what the agent is told at the start ------------------------------------------------------

    @property
    def id(self) -> str:
        """A stable name of this episode among those of its run."""
        return f"{self.plan.scenario}:{self.plan.seed}"

    @property
    def prompt(self) -> str:
        """The task in words."""
        return self.scenario.prompt(self.instance)

    @property
    def digest(self) -> str:
        """The digest so far: the chain over all frames that decide what the episode was."""
        return self.sink.digest

    @property
    def breaches(self) -> list[Breach]:
        """Reads of the agent that broke their view's contract so far."""
        return self.product.shared.breaches

    @property
    def inputs(self) -> list[Input]:
        """What the agent has done so far."""
        return [step.input for step in self.steps]

    @property
    def reward(self) -> int | None:
        """The last reward in millionths; None before any, or where the harness can't tell."""
        broken_off = self.interrupted or EXTERNAL in self.notes
        return self.steps[-1].reward if self.ended and self.steps and not broken_off else None

    # --- driving ----------------------------------------------------------------------------------

    def think_ticks(self, step: int) -> int:
        """Give the default think time before a step: the same for all policies on this seed."""
        low, high = THINK
        return Stream(self._own_draws, "agent/think", step).between(low, high, "think")

    def call(
        self,
        calls: Sequence[RawCall],
        at: int | None = None,
        pins: Sequence[Mapping[str, int] | None] = (),
        beside: str = "",
    ) -> StepRecord:
        """Send one turn of calls, concurrently, at tick `at` (default: now plus the think time).

        `beside` is what was said beside them, which is recorded and nobody hears. Calls beyond the
        64th are refused, and texts that no model should send are cut: both are the model's doing
        and no error. Raises UsageError when the episode has ended or the turn is empty,
        HarnessError when the harness fails; the recording then ends with an aborted step.
        """
        if not calls or len(calls) >= 1 << 16:
            raise UsageError(f"a turn of {len(calls)} calls", "give 1 or more, or None to go away")
        if len(pins) not in (0, len(calls)):
            raise UsageError(
                f"{len(pins)} maps of waits for {len(calls)} calls", "give one a call, or none"
            )
        step = self.count + 1
        room = TURN_TEXT_MAX // len(calls)
        named = tuple(with_id(cut(call, room), step, i) for i, call in enumerate(calls))
        given = Input(step, self._instant(step, at), CALLS, named, pins=tuple(pins))
        return self._step(given._replace(text=beside[:CALL_TEXT_MAX]))

    def say(self, text: str, at: int | None = None) -> StepRecord:
        """Send plain text: a message to the person who asked."""
        step = self.count + 1
        return self._step(Input(step, self._instant(step, at), TEXT, text=text[:CALL_TEXT_MAX]))

    def stop(self, at: int | None = None) -> StepRecord:
        """End the episode as an agent does that just goes away."""
        step = self.count + 1
        return self._step(Input(step, self._instant(step, at), STOP))

    def give_up(self, code: str, cause: str) -> None:
        """End the episode where it stands, for a cause outside of it: nothing is judged or paid.

        `code` is of the taxonomy, X810 or the like, and `cause` a sentence.
        """
        self.ended = True
        self.notes[EXTERNAL] = {"code": code, "cause": cause}

    def send(self, given: Input) -> StepRecord:
        """Send a recorded input again, at its recorded instant."""
        if given.step != self.count + 1:
            raise UsageError(f"input of step {given.step} sent as step {self.count + 1}")
        self._instant(given.step, given.at)
        return self._step(given)

    def _instant(self, step: int, at: int | None) -> int:
        if self.ended:
            raise UsageError(f"episode {self.id} has ended", "reset, or make another")
        if at is None:
            return self.world.ticks + self.think_ticks(step)
        if type(at) is not int or at < self.world.ticks:
            raise UsageError(
                f"step {step} can't be sent at tick {at!r}",
                f"the clock stands at {self.world.ticks}",
            )
        latest = max(self.ticks_max, self.world.ticks) + DAY
        if at > latest:
            raise UsageError(
                f"step {step} can't be sent at tick {at}, long after the episode's time is up",
                f"give at most {latest}",
            )
        return at

    def _step(self, given: Input) -> StepRecord:
        if given.text and given.kind == CALLS:
            self.recorder.input(given.step, given.at, BESIDE, raw(given.text))
        self.recorder.input(given.step, given.at, given.kind, input_payload(given))
        self.world.outside.learn(given.outside)
        self._step_under_way = given.step
        answered = len(self.world.outside.answers)
        first = len(self.world.rows)
        guard.begin()
        try:
            self.world.advance_to(given.at)
            results: list[Result] = self._calls(given) if given.kind == CALLS else []
            self.world.settle()
            tools = self.product.tools
            # A turn that also waits on purpose says nothing of how long the answers took.
            if not any(tools[r.tool].local for r in results if r.tool in tools):
                self._waited += self.world.ticks - given.at
            self._check_overdue()
            ending = self.product.ending
            terminated = ending is not None or given.kind == STOP
            truncated = not terminated and (
                given.step >= self.steps_max or self.world.ticks >= self.ticks_max
            )
            reward: int | None = 0
            if terminated or truncated:
                reason = "finish" if ending else given.kind if terminated else "budget"
                reward = self._grade(ending, reason)
            encode = self._teller.encode
            told = [(r.ok, encode(r.value)) for r in results]
            if (caught := guard.pending()) is not None:
                raise caught
        except SimharnessError as error:
            raise self._abort(given, first, error) from error
        except (Exception, GeneratorExit) as error:
            raise self._abort(given, first, error) from error
        except BaseException as error:
            if guard.is_own(error):
                raise self._abort(given, first, error) from error
            # Ctrl-C leaves the world in the middle of an instant, and nothing can go on from there.
            self.ended = self.interrupted = True
            raise
        if len(self.world.outside.answers) > answered:
            given = given._replace(outside=tuple(self.world.outside.answers[answered:]))
        record = StepRecord(
            given,
            self.world.ticks,
            tuple(results),
            reward,
            terminated,
            truncated,
            (first, len(self.world.rows)),
        )
        flags = TERMINATED * terminated | TRUNCATED * truncated
        self.recorder.step(given.step, record.t, told, reward, flags)
        self._keep(record)
        if terminated or truncated:
            self.ended = True
        if self.ended or given.step % CHECKPOINT_STEPS == 0:
            self.recorder.checkpoint(self.product.digests())
        return record

    def _note_outside(self, answered: Answered) -> None:
        """Record an answer from outside before anything comes of it."""
        payload = answered.key + answered.answer
        self.recorder.input(self._step_under_way, self.world.ticks, OUTSIDE, payload)

    def _abort(self, given: Input, first: int, error: BaseException) -> HarnessError:
        """Close the recording on a failure of the harness: the step is kept, the reward is None."""
        # Whatever the product has made of it, a call that was forbidden is what is told.
        error = guard.pending() or error
        at = format_duration(self.world.ticks)
        where = f"seed {self.plan.seed}, step {given.step}, simulated time {at}"
        failure = type(error) if isinstance(error, HarnessError) else HarnessError
        text = f"{type(error).__name__}: {error}"
        if isinstance(error, SimharnessError):
            text = error.message
        self.aborted = failure(f"{text} ({where})", getattr(error, "hint", "") or self.command)
        self.ended = True
        self.recorder.step(given.step, self.world.ticks, [], None, ABORTED)
        rows = (first, len(self.world.rows))
        self._keep(StepRecord(given, self.world.ticks, (), None, False, False, rows))
        return self.aborted

    def _keep(self, record: StepRecord) -> None:
        self.count += 1
        if not self.recorder.keep_rows:
            self.steps.clear()
        self.steps.append(record)

    @property
    def command(self) -> str:
        """The command that runs this plan again."""
        parts = [f"simharness run {self.plan.scenario} --seed {self.plan.seed}"]
        if self.plan.load != 1000:
            parts.append(f"--load {load_text(self.plan.load)}")
        parts += [f"--fault {fault}" for fault in self.plan.faults]
        if self.plan.profile:
            parts.append(f"--profile {self.plan.profile}")
        if self.plan.schedule.get("policy") == "random":
            parts.append(f"--schedule random:{self.plan.schedule.get('seed')}")
        settings = {**self.plan.config, **{f"instance.{k}": v for k, v in self.plan.pins.items()}}
        parts += [f"--set {quote(f'{k}={setting_text(v)}')}" for k, v in settings.items()]
        return " ".join(parts)

    # --- calls ------------------------------------------------------------------------------------

    def _calls(self, given: Input) -> list[Result]:
        """Start all calls of the turn, then wait for each; answers come in their order."""
        world = self.world
        results: dict[int, Result] = {}
        started: list[tuple[int, int, RawCall, Operation, ToolSpec, Process]] = []
        timeout: int = self._settings.values["api.timeout"]
        for i, call in enumerate(given.calls):
            pins = given.pins[i] if given.pins else None
            op = Operation(world, self.agent, given.step << 16 | i, pins)
            if i >= CALLS_PER_TURN:
                text = f"a turn has at most {CALLS_PER_TURN} calls"
                results[i] = self._bad(op, call, "too_many_calls", text)
                continue
            checked = self._checked(op, call)
            if isinstance(checked, Result):
                results[i] = checked
                continue
            spec, arguments = checked
            name = f"{self.agent.name}/{given.step}" + (f".{i}" if i else "")
            begin = op.begin + (pins.get(LATER, 0) if pins else 0)
            if timeout and not spec.local:
                limit = begin + timeout
            else:
                limit = max(self.ticks_max, begin) + 1
            process = world.spawn(name, self._serve(op, spec, arguments, begin))
            started.append((limit, i, call, op, spec, process))
        self.scenario.sent(given.step)
        # Earliest deadline first: behind a long wait, the clock would have passed the others'
        # unseen.
        started.sort(key=lambda entry: entry[0])
        for limit, i, call, op, spec, process in started:
            if world.drive(process, limit):
                ok, value = process.result
                results[i] = Result(call.id, call.tool, ok, value)
            else:
                results[i] = self._late(op, call, spec, process)
        return [results[i] for i in range(len(given.calls))]

    def _serve(
        self, op: Operation, spec: ToolSpec, arguments: dict[str, Any], begin: int
    ) -> Generator[Event, Any, tuple[bool, Any]]:
        if begin > op.begin:
            yield self.world.timer(begin - op.begin)
            op.begin = op.as_of = begin
            op.begin_order = self.world.order
        try:
            answer = yield from self.product.call(op, spec, arguments)
        except Refused as refusal:
            told = False, self._dated(op, refusal.value())
        else:
            form = self.product.forms.get(spec.name)
            if form is not None and not form.holds(answer):
                self.world.alarms += 1
            told = True, self._dated(op, self._renderer.render(answer))
        self.scenario.answered(op, *told)
        return told

    def _dated(self, op: Operation, value: object) -> Any:
        """Let an answer, or a refusal, say as of when it is true, where a view signals that."""
        if not op.dated or not isinstance(value, dict):
            return value
        return {**cast("dict[str, Any]", value), AS_OF: format_instant(self.world.epoch + op.as_of)}

    def _checked(self, op: Operation, call: RawCall) -> tuple[ToolSpec, dict[str, Any]] | Result:
        """Check a call as a model sent it; a bad one changes nothing and is answered at once."""
        spec = self.product.tools.get(call.tool)
        if spec is None:
            known = ", ".join(self.product.tools)
            message = f"no tool is called {ascii(call.tool)[:80]}; tools: {known}"
            return self._bad(op, call, "unknown_tool", message)
        arguments, problem = parse_arguments(call.arguments)
        if arguments is None:
            message = f"the arguments are no JSON object: {problem}"
            return self._bad(op, call, "invalid_arguments", message)
        try:
            return spec, spec.check(arguments)
        except BadArgument as error:
            return self._bad(op, call, "invalid_arguments", str(error))

    def _bad(self, op: Operation, call: RawCall, code: str, message: str) -> Result:
        world = self.world
        self.bad_calls += 1
        tool = world.intern(ascii(call.tool)[1:-1][:80])
        world.emit((journal.BADCALL, world.ticks, op.owner_number, op.n, tool, world.intern(code)))
        error = {"code": code, "message": message, "retryable": False}
        self.scenario.answered(op, False, error)
        return Result(call.id, call.tool, False, error)

    def _late(self, op: Operation, call: RawCall, spec: ToolSpec, process: Process) -> Result:
        """Answer a call that is still under way when its time is up; what it does goes on."""
        world = self.world
        target = process.waits_for
        # What only lets time pass hinders no grading.
        if not (spec.local and target is not None and target.triggered):
            self._pending.append((process, op.begin))
        world.alarms += 1
        mode: str = "budget" if spec.local else self._settings.values["api.on_timeout"]
        tool = world.intern(spec.name)
        world.emit((journal.TIMEOUT, world.ticks, op.owner_number, op.n, tool, world.intern(mode)))
        if mode == "default":
            self.scenario.answered(op, True, {})
            return Result(call.id, call.tool, True, {})
        code, message = LATE[mode]
        retryable = code == "unavailable" and not spec.local
        error = {"code": code, "message": message, "retryable": retryable}
        self.scenario.answered(op, False, error)
        return Result(call.id, call.tool, False, error)

    def _check_overdue(self) -> None:
        """Raise Deadlock for a call that has outlived every bound: users may go on for ever."""
        alive = [(process, begin) for process, begin in self._pending if process.is_alive]
        self._pending = alive
        for process, begin in alive:
            if self.world.ticks - begin > OVERDUE:
                raise stuck(self.world, process, begin)

    # --- the end ----------------------------------------------------------------------------------

    def _grade(self, ending: Ending | None, reason: str) -> int | None:
        """Let effects under way end, then judge the truth and pay."""
        world = self.world
        final = ending if ending is not None else Ending()
        early: tuple[Criterion, ...] | None = None
        paid: int | None = 0
        if self._settings.values["reward.at"] == "finish":
            early = self.scenario.goal(self.product, self.instance, final)
            self._write_grade(early, "")
            paid = self._pay(early, final)
        settle_until = world.ticks + self.scenario.settle_max
        for process, begin in self._pending:
            if process.is_alive and not world.drive(process, settle_until):
                raise stuck(world, process, begin)
        while world.reactions and world.next_ticks() is not None and world.ticks < settle_until:
            world.advance_to(min(world.next_ticks() or settle_until, settle_until))
        outcome = ending.outcome if ending is not None else ""
        world.emit(
            (journal.END, world.ticks, world.intern(reason), world.intern(outcome), self._waited)
        )
        self._check_schemas()
        for text in self.product.invariants():
            world.emit((journal.INVARIANT, world.ticks, world.intern(text)))
            world.alarms += 1
        self._write_books()
        self.criteria = self.scenario.goal(self.product, self.instance, final)
        if early is None:
            self._write_grade(self.criteria, "")
        elif early != self.criteria:
            self._write_grade(self.criteria, "regrade")
            world.alarms += 1
        self.world.alarms += any(map(self._by_others, self.criteria))
        # A grader that rests on caches is told by judging again without them; the world is over,
        # nobody misses them.
        for cache in self.product.caches().values():
            cache.entries.clear()
        again = self.scenario.goal(self.product, self.instance, final)
        if again != self.criteria:
            # What differs in one and the same state is no cache's doing.
            third = self.scenario.goal(self.product, self.instance, final)
            self._write_grade(again, "regrade" if third == again else "unstable")
            world.alarms += 1
        return self._pay(self.criteria, final) if early is None else paid

    def _by_others(self, criterion: Criterion) -> bool:
        """Tell whether what a criterion rests on was last written by somebody else."""
        for key in criterion.keys if criterion.holds and criterion.role == "goal" else ():
            name, _, column = key.partition(".")
            table, _, number = name.partition(":")
            store = self.product.stores.get(table)
            past = store.table.history.get(int(number), ()) if store and number.isdecimal() else ()
            last = next((c for c in reversed(past) if touches(c, column)), None)
            if last is not None and last.owner != self.agent.name:
                return True
        return False

    def _pay(self, criteria: tuple[Criterion, ...], final: Ending) -> int | None:
        """Give the reward, as `reward.mode` says; None where nothing says what it is to be."""
        mode: str = self._settings.values["reward.mode"]
        seen = self.product.graded(mode, criteria)
        if mode != "goal":
            return self.product.reward_modes[mode](self.product, final)
        if "reward" in self.repair:
            return score(criteria)
        return self.scenario.pay(self.product, self.instance, seen)

    def _write_grade(self, criteria: tuple[Criterion, ...], role: str) -> None:
        world = self.world
        numbers = world.numbers
        for c in criteria:
            row = (
                numbers[role or c.role],
                numbers[c.name],
                int(c.holds),
                numbers[c.evidence],
                list(c.keys),
            )
            world.emit((journal.GRADE, world.ticks, *row))

    def _write_books(self) -> None:
        """Note what the product's books say of each charge, where it keeps any."""
        books = self.product.books()
        if books is None:
            return
        world = self.world
        dues, ledger = self.product.dues(), self.product.ledger()
        for ref in sorted({*books, *dues, *ledger}):
            net, due = books.get(ref, 0), dues.get(ref, 0)
            world.alarms += net != ledger.get(ref, 0) or due > 0
            world.emit((journal.BOOKS, world.ticks, world.intern(ref), net, due))

    def _check_schemas(self) -> None:
        """Note the digest of the tools' schemas when it isn't the one noted last."""
        digest = schemas_digest(self.product.tools)
        if digest != self._schemas:
            self.world.alarms += self._schemas != ""
            self._schemas = digest
            self.world.emit((journal.SCHEMA, self.world.ticks, self.world.intern(digest)))

    def close(self, verdict: Mapping[str, object] | None = None) -> None:
        """Write what was noted, the verdict, if there is one, and the footer."""
        if self.notes:
            self.recorder.info(with_notes(self._info, self.notes))
        if verdict is not None:
            self.recorder.verdict(verdict)
        self.recorder.footer(self.count, self.sink.chain)

    def save(self, path: str | Path) -> None:
        """Write the recording to a file. Raises RecordingError when that can't be done."""
        if not isinstance(self.sink, FrameLog):
            raise UsageError("this episode's frames went to a sink of the caller's", "save that")
        self.sink.save(path)

    @property
    def passed(self) -> bool:
        """Whether the goal holds by the truth, whatever was paid."""
        return bool(self.criteria) and score(self.criteria) >= self.scenario.pass_mark


def check_identity(product: Product, identity: object, plan: Plan) -> None:
    """Raise HarnessError unless the agent is signed in as a row that is there, or as nobody (0).

    Permissions are read through views named `auth`, so their tables are those of people.
    """
    where = f"{plan.scenario} signs the agent in as"
    hint = "let the scenario's start() give the id of a row, or 0 for nobody"
    if type(identity) is not int:
        raise HarnessError(f"{where} {identity!r:.60} (seed {plan.seed})", hint)
    people = [name for name, spec in product.specs().items() if "auth" in spec.views]
    known = [name for name in people if identity in product.stores[name].table.rows]
    if identity and people and not known:
        named = " or ".join(f"{name}:{identity}" for name in people)
        raise HarnessError(f"{where} {named}, which isn't there (seed {plan.seed})", hint)


def stuck(world: World, process: Process, begin: int) -> Deadlock:
    """Build the error for a call of the agent that never ends."""
    lines = dict(line.split(" waits for ", 1) for line in world.waiting())
    waits_for = lines.get(process.name, "nothing")
    return Deadlock(
        f"call {process.name!r}, sent at {format_duration(begin)}, has not ended by "
        f"{format_duration(world.ticks)}: it waits for {waits_for}",
        "look for an event that nobody triggers or a lock that is never released",
    )


def touches(change: Change, column: str) -> bool:
    """Tell whether a change wrote a column of its row; an empty name stands for any."""
    if not column or change.old is None or change.new is None:
        return True
    return bool(getattr(change.old, column, None) != getattr(change.new, column, None))
