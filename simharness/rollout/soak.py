"""Soak: one world, many users, thousands of pings of the agent; every reply is checked.

A ping is one call from a seeded mix: 70 % reads, 20 % writes, 10 % calls that no schema allows. It
passes when nothing raises, the reply fits its schema, every read kept its contract and all
invariants hold; afterwards the recording replays identical.
"""

from __future__ import annotations

import resource
import time
from dataclasses import dataclass, field, replace
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
from simharness.recording.reader import read_file
from simharness.recording.writer import ShardWriter
from simharness.rollout.collector import seldom_collected
from simharness.units import DAY, MS

if TYPE_CHECKING:
    from collections.abc import Callable

    from simharness.episode.episode import Episode
    from simharness.product.tool import ToolSpec

MIX = (70, 20, 10)
"""Reads, writes and bad calls, in percent."""
READERS = ("get_", "list_", "search_", "read_", "open_", "export_")
NEVER = ("wait", "say", "finish")
LOAD_MAX = 1000
THINK = (20 * MS, 200 * MS)
"""Simulated pause between two pings."""


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
    seconds: float = 0.0
    memory_growth_mb: float = 0.0
    replayed: bool = False
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
            "seconds": round(self.seconds, 2),
            "memory_growth_mb": round(self.memory_growth_mb, 1),
            "replayed_identical": self.replayed,
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


def soak(
    scenario: str,
    *,
    pings: int,
    users: int,
    seed: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> Report:
    """Send pings into one world with at least `users` background users. Raises UsageError."""
    report = Report()
    _, known = load_scenario(scenario)
    most = LOAD_MAX * known.team
    if users > most:
        raise UsageError(f"{users} users are too many for {scenario}", f"give 0 to {most}")
    load = -(-users * 1000 // known.team)
    plan = make_plan(scenario, seed, f"{load // 1000}.{load % 1000:03d}")
    plan = replace(plan, steps_max=pings + 1, ticks_max=365 * DAY)
    with TemporaryDirectory(prefix="simharness-soak-") as folder:
        path = Path(folder) / "soak.simrec"
        with seldom_collected(), ShardWriter(path) as writer:
            episode = new_episode(plan, "soak", writer, keep_rows=False)
            report.users = sum(1 for name in episode.world.alive if name.startswith("user/"))
            _send(episode, pings, seed, report, progress)
            if not episode.ended:
                episode.stop()
            episode.close()
        report.digest = episode.digest
        if not report.failed:
            _replay(path, report)
    return report


def _send(
    episode: Episode,
    pings: int,
    seed: int,
    report: Report,
    progress: Callable[[int, int], None] | None,
) -> None:
    source = Pings(episode, seed)
    forms = episode.product.forms
    times: list[int] = []
    start = time.perf_counter_ns()
    warm = 0
    breaches = 0
    for number in range(pings):
        call, pause = source.draw(number)
        before = time.perf_counter_ns()
        try:
            record = episode.call((call,), episode.world.ticks + pause)
        except HarnessError as error:
            report.fail(f"ping {number} ({call.tool}): {error}")
            break
        times.append(time.perf_counter_ns() - before)
        report.pings += 1
        (result,) = record.results
        outcome = "ok" if result.ok else str(result.value["code"])
        report.answers[outcome] = report.answers.get(outcome, 0) + 1
        if result.ok and (problem := forms[call.tool].problem(result.value)):
            report.fail(f"ping {number}: {call.tool} answers {problem}")
        if len(episode.breaches) > breaches:
            report.fail(f"ping {number} ({call.tool}): out of contract: {episode.breaches[-1]}")
            breaches = len(episode.breaches)
        for broken in episode.product.invariants():
            report.invariants_broken += 1
            report.fail(f"ping {number} ({call.tool}): {broken}")
        if number == pings // 5:
            warm = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        if progress is not None:
            progress(number + 1, pings)
    report.seconds = (time.perf_counter_ns() - start) / 1e9
    report.memory_growth_mb = (
        (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - warm) / 1024 if warm else 0.0
    )
    times.sort()
    if times:
        report.p50_us = times[len(times) // 2] / 1000
        report.p99_us = times[len(times) * 99 // 100] / 1000


def _replay(path: Path, report: Report) -> None:
    (record,) = read_file(path)
    try:
        replay(record)
        report.replayed = True
    except Divergence as error:
        report.fail(f"the recording doesn't replay: {error.message}")
