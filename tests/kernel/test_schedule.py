"""Fifo is SimPy's own order; other orders are repeatable and their decisions have names."""

from __future__ import annotations

from collections.abc import Callable, Generator
from functools import partial
from hashlib import blake2b
from typing import Any, TypeAlias

import pytest
import simpy
from hypothesis import given
from hypothesis import strategies as st

from simharness.errors import UsageError
from simharness.kernel import journal
from simharness.kernel.draws import Draws, Stream
from simharness.kernel.schedule import Fifo, Named, Random, Scheduler, parse_scheduler
from simharness.kernel.world import World

Steps: TypeAlias = Generator[simpy.Event, Any, None]
Log: TypeAlias = list[tuple[int, str]]
Start: TypeAlias = Callable[[str, Steps], simpy.Process]
Op: TypeAlias = tuple[str, int, int]
"""What one step of a process does, a duration and a choice."""

OPS = (
    "timeout",
    "zero",
    "resource",
    "priority",
    "impatient",
    "put",
    "get",
    "fill",
    "draw",
    "all",
    "any",
    "child",
    "interrupt",
    "event",
    "wait",
    "fail",
)


class Bed:
    """What the processes of one workload share, in stock SimPy or in a world."""

    def __init__(self, env: simpy.Environment, start: Start) -> None:
        self.env = env
        self.start = start
        self.log: Log = []
        self.resource = simpy.Resource(env, capacity=2)
        self.priority = simpy.PriorityResource(env, capacity=1)
        self.store = simpy.Store(env, capacity=2)
        self.container = simpy.Container(env, capacity=5, init=2)
        self.signal = env.event()
        self.others: list[simpy.Process] = []

    def note(self, label: str) -> None:
        self.log.append((int(self.env.now), label))

    def live(self, name: str, ops: list[Op]) -> Steps:
        self.note(f"{name} starts")
        for at, (kind, ticks, number) in enumerate(ops):
            try:
                yield from self.act(f"{name}.{at}", kind, ticks, number)
            except simpy.Interrupt as interrupt:
                self.note(f"{name}.{at} interrupted by {interrupt.cause}")
            self.note(f"{name}.{at} {kind}")

    def act(self, label: str, kind: str, ticks: int, number: int) -> Steps:
        env = self.env
        request: Any
        match kind:
            case "timeout":
                yield env.timeout(ticks)
            case "zero":
                yield env.timeout(0)
            case "resource":
                request = self.resource.request()
                with request:
                    yield request
                    self.note(f"{label} holds")
                    yield env.timeout(ticks)
            case "priority":
                request = self.priority.request(priority=number)
                with request:
                    yield request
                    self.note(f"{label} holds")
                    yield env.timeout(ticks)
            case "impatient":
                request = self.resource.request()
                with request:
                    done = yield request | env.timeout(number)
                    self.note(f"{label} {'got it' if request in done else 'gave up'}")
            case "put":
                yield self.store.put(label) | env.timeout(ticks)
            case "get":
                got = self.store.get()
                yield got | env.timeout(ticks + 1)
                self.note(f"{label} got {got.value if got.triggered else 'nothing'}")
            case "fill":
                yield self.container.put(1 + number) | env.timeout(ticks)
            case "draw":
                yield self.container.get(1 + number) | env.timeout(ticks)
            case "all":
                yield env.timeout(ticks) & env.timeout(number)
            case "any":
                yield env.timeout(ticks) | env.timeout(number)
            case "child":
                yield self.start(f"{label}/child", self.child(label, ticks))
            case "interrupt":
                other = self.others[number % len(self.others)]
                if other.is_alive and other is not env.active_process:
                    other.interrupt(label)
            case "event":
                self.signal.succeed(label)
                self.signal = env.event()
            case "wait":
                signal = self.signal
                yield signal | env.timeout(ticks)
                self.note(f"{label} heard {signal.value if signal.triggered else 'nothing'}")
            case _:
                child = self.start(f"{label}/child", self.failing(ticks))
                child.defused = True  # an interrupt may leave it without anybody who cares
                try:
                    yield child
                except ValueError as error:
                    self.note(f"{label} sees {error}")

    def child(self, label: str, ticks: int) -> Steps:
        yield self.env.timeout(ticks)
        self.note(f"{label} child")

    def failing(self, ticks: int) -> Steps:
        yield self.env.timeout(ticks)
        raise ValueError(f"after {ticks}")

    def begin(self, workload: list[list[Op]]) -> None:
        for i, ops in enumerate(workload):
            self.others.append(self.start(f"p{i}", self.live(f"p{i}", ops)))


def in_stock_simpy(workload: list[list[Op]]) -> Log:
    env = simpy.Environment()
    bed = Bed(env, lambda _, steps: env.process(steps))
    bed.begin(workload)
    env.run()
    return bed.log


def in_a_world(workload: list[list[Op]], scheduler: Scheduler | None = None) -> Log:
    world = World(0, scheduler=scheduler)
    bed = Bed(world, world.spawn)
    bed.begin(workload)
    world.advance_to(1_000_000)
    return bed.log


def drawn_workload(seed: int) -> list[list[Op]]:
    stream = Stream(Draws(seed), "workload", 0)
    numbers = (stream.bits("op", k) for k in range(10_000))
    return [
        [
            (OPS[next(numbers) % len(OPS)], next(numbers) % 4, next(numbers) % 3)
            for _ in range(1 + next(numbers) % 8)
        ]
        for _ in range(2 + next(numbers) % 7)
    ]


def digest(log: Log) -> str:
    return blake2b(repr(log).encode(), digest_size=16).hexdigest()


WORKLOADS = st.lists(
    st.lists(
        st.tuples(st.sampled_from(OPS), st.integers(0, 3), st.integers(0, 2)),
        min_size=1,
        max_size=8,
    ),
    min_size=1,
    max_size=7,
)


@given(WORKLOADS)
def test_fifo_runs_any_workload_in_stock_simpys_order(workload: list[list[Op]]) -> None:
    assert in_a_world(workload) == in_stock_simpy(workload)


def test_fifo_gives_stock_simpys_log_and_digest_on_300_seeds() -> None:
    seen: dict[str, int] = {}
    for seed in range(300):
        workload = drawn_workload(seed)
        log = in_stock_simpy(workload)
        other = in_a_world(workload)
        assert other == log, f"seed {seed}"
        assert digest(other) == digest(log)
        for _, label in log:
            word = label.split(" ")[1]
            seen[word] = seen.get(word, 0) + 1
    # The workloads do what they are meant to do.
    assert seen.keys() >= {*OPS, "holds", "gave", "got", "interrupted", "heard", "sees", "child"}
    assert min(seen.values()) >= 10


def test_named_without_decisions_runs_in_fifo_order() -> None:
    for seed in range(30):
        workload = drawn_workload(seed)
        assert in_a_world(workload, Named({})) == in_a_world(workload, Fifo())


def test_random_differs_from_fifo_and_is_repeatable() -> None:
    differing = 0
    for seed in range(30):
        workload = drawn_workload(seed)
        log = in_a_world(workload, Random(seed))
        assert in_a_world(workload, Random(seed)) == log
        differing += log != in_stock_simpy(workload)
    assert differing > 20


@pytest.mark.parametrize("seed", range(20))
def test_no_interrupt_overtakes_the_start_of_its_process(seed: int) -> None:
    world = World(0, scheduler=Random(seed))
    log: list[str] = []

    def sleeper() -> Steps:
        try:
            yield world.pause(5)
        except simpy.Interrupt:
            log.append("woken")

    def spawner() -> Steps:
        world.spawn("sleeper", sleeper()).interrupt()
        yield world.pause(1)

    world.spawn("spawner", spawner())
    world.advance_to(9)
    assert log == ["woken"]


def test_random_seeds_differ_from_each_other() -> None:
    workload: list[list[Op]] = [[("zero", 0, 0)] * 3 for _ in range(6)]
    assert len({digest(in_a_world(workload, Random(seed))) for seed in range(10)}) == 10


def test_random_ranks_lie_in_range_and_depend_on_their_address_alone() -> None:
    addresses = [(owner, n) for owner in ("a", "b") for n in (0, 7, 8, 63, 10**9)]
    forward = Random(3)
    backward = Random(3)
    ranks = {address: forward.rank(*address) for address in addresses}
    assert {address: backward.rank(*address) for address in reversed(addresses)} == ranks
    assert all(0 <= rank < 2**32 for rank in ranks.values())
    assert len(set(ranks.values())) == len(addresses)


# --- decisions by name ----------------------------------------------------------------------------


def racer(world: World, log: list[str], name: str) -> Steps:
    for lap in range(4):
        log.append(f"{name}.{lap}")
        yield world.pause(10)


def raced(scheduler: Scheduler, unrelated: int = 0) -> list[str]:
    world = World(0, scheduler=scheduler)
    log: list[str] = []
    others: list[str] = []

    def bystander(name: str) -> Steps:
        for _ in range(20):
            world.after(3, lambda _: others.append(name))
            yield world.pause(5)

    for i in range(unrelated):
        world.spawn(f"bystander/{i}", bystander(f"bystander/{i}"))
    for name in "abc":
        world.spawn(name, racer(world, log, name))
        if unrelated:
            world.spawn(f"{name}/bystander", bystander(name))
    world.advance_to(1_000)
    return log


FIFO_RACE = [f"{name}.{lap}" for lap in range(4) for name in "abc"]


def test_a_named_decision_moves_one_event_of_its_process() -> None:
    assert raced(Fifo()) == FIFO_RACE
    # Sequence 0 is the start of a process and 2 its second pause. Coming last to lap 2, `a` also
    # schedules lap 3 last.
    log = raced(Named({("a", 2): 9}))
    assert log[:6] == FIFO_RACE[:6]
    assert log[6:] == ["b.2", "c.2", "a.2", "b.3", "c.3", "a.3"]


def test_a_named_decision_moves_the_start_of_a_process() -> None:
    log = raced(Named({("a", 0): 9}))
    assert log[:3] == ["b.0", "c.0", "a.0"]
    log = raced(Named({("a", 0): 9, ("b", 1): 9}))
    assert log[:6] == ["b.0", "c.0", "a.0", "c.1", "a.1", "b.1"]


@pytest.mark.parametrize(
    "decisions",
    [
        {("a", 2): 9},
        {("a", 0): 9},
        {("b", 1): 5, ("a", 3): 7},
        {("a", 0): 2, ("b", 0): 1, ("c", 3): 0},
    ],
)
def test_decisions_mean_the_same_after_unrelated_processes_were_added(
    decisions: dict[tuple[str, int], int],
) -> None:
    log = raced(Named(decisions))
    assert raced(Named(decisions), unrelated=7) == log
    assert (log == FIFO_RACE) == (not any(decisions.values()))


@pytest.mark.parametrize("seed", range(10))
def test_a_random_order_is_the_same_after_unrelated_processes_were_added(seed: int) -> None:
    assert raced(Random(seed), unrelated=7) == raced(Random(seed))


def test_what_a_callback_schedules_is_a_decision_of_whoever_asked_for_it() -> None:
    def order(decisions: dict[tuple[str, int], int], unrelated: int) -> list[str]:
        world = World(0, scheduler=Named(decisions))
        log: list[str] = []

        def call_back(name: str, _: simpy.Event) -> None:
            world.after(0, lambda _: log.append(name))

        def asker(name: str) -> Steps:
            world.after(5, partial(call_back, name))
            yield world.pause(9)

        names = [*(f"other/{i}" for i in range(unrelated)), "a", "b"]
        for name in names:
            world.spawn(name, asker(name))
        world.advance_to(20)
        return [name for name in log if name in "ab"]

    # a's events: its start, the callback, the pause, and then what the callback schedules.
    assert order({}, 0) == ["a", "b"]
    assert order({("a", 3): 1}, 0) == ["b", "a"]
    assert order({("a", 3): 1}, 5) == ["b", "a"]


def test_ranks_other_than_0_are_journalled_by_name() -> None:
    world = World(0, scheduler=Named({("a", 1): 4}))
    log: list[str] = []
    world.spawn("a", racer(world, log, "a"))
    world.advance_to(100)
    rows = [row for row in journal.Decoder().decode_all(world.rows) if row.kind == "RANK"]
    assert [row.values for row in rows] == [{"process": "a", "sequence": 1, "rank": 4}]


# --- records --------------------------------------------------------------------------------------


DECISIONS = st.dictionaries(
    st.tuples(st.text(max_size=8), st.integers(0, 1 << 40)), st.integers(0, 2**32 - 1), max_size=6
)


@given(DECISIONS)
def test_a_named_schedule_is_rebuilt_from_its_record(
    decisions: dict[tuple[str, int], int],
) -> None:
    record = Named(decisions).record()
    rebuilt = parse_scheduler(record)
    assert isinstance(rebuilt, Named)
    assert rebuilt.decisions == decisions
    assert rebuilt.record() == record
    assert parse_scheduler(Named(dict(reversed(decisions.items()))).record()).record() == record


def test_fifo_and_random_are_rebuilt_from_their_records() -> None:
    assert isinstance(parse_scheduler(Fifo().record()), Fifo)
    rebuilt = parse_scheduler(Random(8).record())
    assert isinstance(rebuilt, Random)
    assert [rebuilt.rank("a", n) for n in range(20)] == [Random(8).rank("a", n) for n in range(20)]


@pytest.mark.parametrize(
    "record",
    [
        {},
        {"policy": "lifo"},
        {"policy": "random"},
        {"policy": "random", "seed": "1"},
        {"policy": "random", "seed": -1},
        {"policy": "random", "seed": True},
        {"policy": "named"},
        {"policy": "named", "decisions": {}},
        {"policy": "named", "decisions": [["a", 1]]},
        {"policy": "named", "decisions": [["a", "1", 1]]},
        {"policy": "named", "decisions": [[1, 1, 1]]},
        {"policy": "named", "decisions": [["a", 1, -1]]},
        {"policy": "named", "decisions": [["a", 1, 2**32]]},
        {"policy": "named", "decisions": [["a", -1, 1]]},
        {"policy": "named", "decisions": [["a", 1, True]]},
        {"policy": "named", "decisions": [["a", 1, 1], ["a", 1, 2]]},
    ],
)
def test_a_record_that_no_scheduler_writes_is_refused(record: dict[str, object]) -> None:
    with pytest.raises(UsageError):
        parse_scheduler(record)
