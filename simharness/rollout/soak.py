"""Soak: one world, many users, thousands of pings of the agent; every reply is checked.

A ping is one call from a seeded mix: 70 % reads, 20 % writes, 10 % calls that no schema allows. It
passes when nothing raises, the reply fits its schema, every read kept its contract and all
invariants hold. Nobody may be stuck, memory may not grow beyond what the truth takes, and
afterwards the recording replays identical.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from math import inf
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from simharness.env import make_plan, new_episode
from simharness.episode.play import arguments_text
from simharness.episode.policies import Sampler
from simharness.episode.replay import replay
from simharness.episode.transcript import RawCall
from simharness.errors import Divergence, HarnessError, UsageError
from simharness.kernel.draws import Draws, Stream
from simharness.product.registry import load_scenario
from simharness.recording.format import CHAIN_START, advance
from simharness.recording.reader import read_file
from simharness.recording.writer import ShardWriter
from simharness.rollout.collector import seldom_collected
from simharness.rollout.leak import Allocations, Size, size_of
from simharness.rollout.stuck import Stuck
from simharness.units import DAY, MS

if TYPE_CHECKING:
    from simharness.episode.episode import Episode
    from simharness.episode.plan import Plan
    from simharness.episode.step import StepRecord
    from simharness.product.tool import ToolSpec
    from simharness.recording.format import FrameType

MIX = (70, 20, 10)
"""Reads, writes and bad calls, in percent."""
READERS = ("get_", "list_", "search_", "read_", "open_", "export_")
NEVER = ("wait", "say", "finish")
LOAD_MAX = 1000
THINK = (20 * MS, 200 * MS)
"""Simulated pause between two pings."""
PINGS_MAX = 10**9
KEPT_BYTES = 64 * 1024 * 1024
"""How much of a recording is kept, to be replayed."""
LOOKS = 500
"""Pings between two looks at who is stuck."""
TRACED_MAX = 5_000
"""Pings of the world in which a leak is traced to its lines."""
Progress = Callable[[int, int], None]
"""Told the pings so far, and all of them; 0 where time is the limit."""


@dataclass(slots=True)
class Report:
    """What came out of a soak."""

    pings: int = 0
    users: int = 0
    errors: list[str] = field(default_factory=list[str])
    """What failed, with its ping; at most the first hundred are kept."""
    failed: int = 0
    invariants_broken: int = 0
    answers: dict[str, int] = field(default_factory=dict[str, int])
    """Replies by outcome: ok, or the error code."""
    p50_us: float = 0.0
    p99_us: float = 0.0
    """Of real time that a ping took."""
    simulated_p50_us: int = 0
    simulated_p99_us: int = 0
    """Of simulated time from sending to the answer."""
    seconds: float = 0.0
    memory_growth_mb: float = 0.0
    """Since the first fifth."""
    leaks: list[str] = field(default_factory=list[str])
    """Lines that allocated what memory grew by, if it grew by too much."""
    replayed: bool = False
    replayed_steps: int = 0
    digest: str = ""

    def record(self) -> dict[str, Any]:
        """Give the report as `--json` prints it."""
        return {
            "pings": self.pings,
            "users": self.users,
            "errors": self.failed,
            "invariants_broken": self.invariants_broken,
            "answers": dict(sorted(self.answers.items())),
            "p50_us": round(self.p50_us, 1),
            "p99_us": round(self.p99_us, 1),
            "simulated_p50_us": self.simulated_p50_us,
            "simulated_p99_us": self.simulated_p99_us,
            "seconds": round(self.seconds, 2),
            "memory_growth_mb": round(self.memory_growth_mb, 1),
            "leaks": self.leaks,
            "replayed_identical": self.replayed,
            "replayed_steps": self.replayed_steps,
            "digest": self.digest,
            "first_errors": self.errors[:10],
        }

    def fail(self, text: str) -> None:
        """Count a failure."""
        self.failed += 1
        if len(self.errors) < 100:
            self.errors.append(text)


class Pings:
    """Draws the pings of one soak."""

    def __init__(self, episode: Episode, seed: int) -> None:
        tools = [t for t in episode.product.tools.values() if t.name not in NEVER]
        self.readers = [t for t in tools if t.name.startswith(READERS)]
        self.writers = [t for t in tools if not t.name.startswith(READERS)]
        self._schemas = {t.name: t.schema["parameters"] for t in tools}
        self._brief = episode.scenario.brief(episode.instance)
        self._draws = Draws(seed)

    def draw(self, number: int) -> tuple[RawCall, int]:
        """Give the call of a ping and the pause before it, in ticks."""
        draw = Stream(self._draws, "soak", number)
        kind = draw.weighted(MIX, "mix")
        pause = draw.between(*THINK, "think")
        if kind == 2:
            return self._bad(draw), pause
        tool = draw.pick(self.readers if kind == 0 else self.writers, "tool")
        return RawCall(id="", tool=tool.name, arguments=self._arguments(tool, draw)), pause

    def _arguments(self, tool: ToolSpec, draw: Stream) -> str:
        return arguments_text(Sampler(draw, self._brief).object(self._schemas[tool.name]))

    def _bad(self, draw: Stream) -> RawCall:
        tool = draw.pick([*self.readers, *self.writers], "tool")
        match draw.below(5, "bad"):
            case 0:
                return RawCall(id="", tool=tool.name + "_now", arguments="{}")
            case 1:
                return RawCall(id="", tool=tool.name, arguments=self._arguments(tool, draw)[:-1])
            case 2:
                return RawCall(id="", tool=tool.name, arguments='{"no_such_argument":1}')
            case 3:
                return RawCall(
                    id="", tool=tool.name, arguments='["' + "x" * draw.below(200, "length") + '"]'
                )
            case _:
                return RawCall(id="", tool="\ud800" + tool.name, arguments="\x00")


class Kept(ShardWriter):
    """A recording of which the beginning is kept, while the chain goes on to the end."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.bytes = 0
        self.whole = True

    def write(self, payload: bytes, kind: FrameType) -> None:
        """Take the next frame."""
        self.bytes += len(payload)
        if self.whole and self.bytes > KEPT_BYTES:
            self.whole = False
            self.close()
        if self.whole:
            super().write(payload, kind)
        else:
            self.chain = advance(self.chain, payload, kind)


def soak(
    scenario: str,
    *,
    pings: int,
    users: int,
    seed: int = 0,
    seconds: float = inf,
    progress: Progress | None = None,
) -> Report:
    """Send pings into one world with at least `users` background users, for `seconds` at most.

    Raises UsageError.
    """
    report = Report()
    plan = plan_of(scenario, pings, users, seed)
    with TemporaryDirectory(prefix="simharness-soak-") as folder:
        path = Path(folder) / "soak.simrec"
        writer = Kept(path)
        with seldom_collected(), writer:
            episode = new_episode(plan, "soak", writer, keep_rows=False)
            report.users = sum(1 for name in episode.world.alive if name.startswith("user/"))
            leaked = send(episode, pings, seed, report, time.monotonic() + seconds, progress)
            if not episode.ended:
                episode.stop()
            episode.close()
        report.digest = episode.digest
        if not report.failed:
            replay_kept(path if writer.whole else writer.part, report)
    if leaked:
        report.leaks = trace(scenario, min(report.pings, TRACED_MAX), users, seed)
        named = "; ".join(report.leaks) or "no line that Python knows of"
        report.fail(
            f"memory grew by {leaked / 1e6:.0f} MB more than the truth takes, most of it by {named}"
        )
    return report


def plan_of(scenario: str, pings: int, users: int, seed: int) -> Plan:
    """Give the plan of a soak. Raises UsageError."""
    _, known = load_scenario(scenario)
    most = LOAD_MAX * known.team
    if users > most:
        raise UsageError(f"{users} users are too many for {scenario}", f"give 0 to {most}")
    load = -(-users * 1000 // known.team)
    plan = make_plan(scenario, seed, f"{load // 1000}.{load % 1000:03d}")
    return replace(plan, steps_max=pings + 1, ticks_max=365 * DAY)


def trace(scenario: str, pings: int, users: int, seed: int) -> list[str]:
    """Name the lines that allocate what stays, in a world of its own."""
    episode = new_episode(plan_of(scenario, pings, users, seed), "soak", Nowhere(), keep_rows=False)
    source = Pings(episode, seed)
    allocations = Allocations()
    for number in range(pings):
        call, pause = source.draw(number)
        episode.call((call,), episode.world.ticks + pause)
        if number == pings // 5:
            allocations.mark()
    return allocations.lines()


class Nowhere:
    """A sink that keeps nothing."""

    chain = CHAIN_START

    @property
    def digest(self) -> str:
        """The chain in hex."""
        return self.chain.hex()

    def write(self, payload: bytes, kind: FrameType) -> None:
        """Take the next frame."""
        self.chain = advance(self.chain, payload, kind)


def send(
    episode: Episode,
    pings: int,
    seed: int,
    report: Report,
    until: float,
    progress: Progress | None,
) -> int:
    """Send the pings and check each; gives the bytes that were leaked."""
    source = Pings(episode, seed)
    stuck = Stuck()
    times: list[int] = []
    waits: list[int] = []
    start = time.perf_counter_ns()
    warm: Size | None = None
    # Where time is the limit, what comes first counts as warming up.
    warmed = min(pings, TRACED_MAX) // 5
    for number in range(pings):
        call, pause = source.draw(number)
        at = episode.world.ticks + pause
        before = time.perf_counter_ns()
        try:
            record = episode.call((call,), at)
        except HarnessError as error:
            report.fail(f"ping {number} ({call.tool}): {error}")
            break
        times.append(time.perf_counter_ns() - before)
        waits.append(record.t - at)
        report.pings += 1
        check(episode, record, number, report)
        if number % LOOKS == LOOKS - 1:
            for text in stuck.look(episode.world):
                report.fail(f"ping {number}: {text}")
        if number == warmed:
            warm = size_of(episode, number)
        if progress is not None:
            progress(number + 1, pings if pings < PINGS_MAX else 0)
        if time.monotonic() > until:
            break
    report.seconds = (time.perf_counter_ns() - start) / 1e9
    report.p50_us, report.p99_us = (share / 1000 for share in shares(times))
    report.simulated_p50_us, report.simulated_p99_us = shares(waits)
    if warm is None:
        return 0
    after = size_of(episode, report.pings)
    report.memory_growth_mb = (after.resident - warm.resident) / 1e6
    return after.excess_after(warm)


def check(episode: Episode, record: StepRecord, number: int, report: Report) -> None:
    """Check one reply: its schema, the contracts of what was read, and the invariants."""
    (result,) = record.results
    tool = result.tool
    outcome = "ok" if result.ok else str(result.value["code"])
    report.answers[outcome] = report.answers.get(outcome, 0) + 1
    if result.ok and (problem := episode.product.forms[tool].problem(result.value)):
        report.fail(f"ping {number}: {tool} answers {problem}")
    if episode.breaches:
        report.fail(f"ping {number} ({tool}): out of contract: {episode.breaches[-1]}")
        episode.breaches.clear()
    for broken in episode.product.invariants():
        report.invariants_broken += 1
        report.fail(f"ping {number} ({tool}): {broken}")


def shares(values: list[int]) -> tuple[int, int]:
    """Give the median and what 99 % don't exceed; 0 for no values."""
    ordered = sorted(values)
    count = len(ordered)
    return (ordered[count // 2], ordered[count * 99 // 100]) if count else (0, 0)


def replay_kept(path: Path, report: Report) -> None:
    """Replay what is kept of a recording."""
    (record,) = read_file(path)
    steps = None if record.complete else max(0, len(record.steps) - 1)
    try:
        replay(record, until=steps)
        report.replayed = True
        report.replayed_steps = len(record.steps) if steps is None else steps
    except Divergence as error:
        report.fail(f"the recording doesn't replay: {error.message}")
