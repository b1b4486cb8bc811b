"""Runs of many episodes: how fast, how much faster with two workers, how large, how hard to break.

    python -m benchmarks.runs rate [--episodes 1000]
    python -m benchmarks.runs speedup [--episodes 256] [--rounds 3]
    python -m benchmarks.runs memory [--episodes 10000]
    python -m benchmarks.runs kills [--kills 24] [--episodes 400] [--engine ray]

`rate` plays episodes of the four products on all processors. `speedup` holds two workers over one
against two busy loops over one, by turns in one run; what others do on the machine hits all four,
and the load is told. `memory` plays short episodes and looks at the worker's memory all along.
`kills` kills workers (of Ray: actors of a cluster of the run's own) and parents of runs at random
instants and holds what comes out, resumed,
against a run that nothing has happened to. Each prints JSON lines; `kills` exits with 1 where a run
came out otherwise.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from simharness.rollout.catalogue import dump
from simharness.rollout.pool import processors
from simharness.rollout.request import Request
from simharness.rollout.run import local_engine, run

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from simharness.rollout.run import Progress

PRODUCTS = ("crm/negotiation", "helpdesk/triage", "ide/fix", "marketplace/book")
SHORT = "crm/negotiation"
BUSY = "n = 0\nfor i in range({count}): n += i * i"


def spent() -> float:
    """Give the processor's seconds of this process's children that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def timed(play: Callable[[], object]) -> tuple[float, float]:
    """Give the seconds by the clock, and by the processor in child processes."""
    wall, processor = time.perf_counter(), spent()
    play()
    return time.perf_counter() - wall, spent() - processor


def played(request: Request, workers: int, progress: Progress | None = None) -> list[str]:
    """Play a request by workers; gives its catalogue."""
    with TemporaryDirectory(prefix="simharness-runs-") as place:
        folder = Path(place) / "run"
        run(request, folder, progress, engine=local_engine(workers), breaker=False)
        return list(dump(folder))


def say(**fields: Any) -> None:
    """Print a line, with the load of the machine."""
    told = {name: round(v, 3) if isinstance(v, float) else v for name, v in fields.items()}
    print(json.dumps({**told, "load": round(os.getloadavg()[0], 1)}), flush=True)


def rate(episodes: int) -> None:
    """Play episodes of the four products on all processors."""
    workers = processors()
    whole = Request(scenarios=PRODUCTS, seeds=range(max(1, episodes // len(PRODUCTS))))
    wall, processor = timed(lambda: played(whole, workers))
    say(
        case="rate",
        episodes=len(whole),
        workers=workers,
        per_second=len(whole) / wall,
        per_processor_second=len(whole) / processor,
    )
    for name in PRODUCTS:
        one = Request(scenarios=(name,), seeds=range(max(1, episodes // 20)))
        wall, processor = timed(partial(played, one, 1))
        say(case=name, episodes=len(one), per_processor_second=len(one) / processor)


def busy(loops: int, count: int) -> None:
    """Run busy loops beside each other."""
    words = [sys.executable, "-c", BUSY.format(count=count)]
    processes = [subprocess.Popen(words) for _ in range(loops)]
    for process in processes:
        process.wait()


def speedup(episodes: int, rounds: int) -> None:
    """Hold two workers over one against two busy loops over one."""
    request = Request(scenarios=PRODUCTS[:1], seeds=range(episodes))
    pools: list[float] = []
    loops: list[float] = []
    costs: list[float] = []
    count = 20_000 * episodes
    for _ in range(rounds):
        one, alone = timed(lambda: played(request, 1))
        single, _ = timed(lambda: busy(1, count))
        two, both = timed(lambda: played(request, 2))
        double, _ = timed(lambda: busy(2, count))
        pools.append(one / two)
        loops.append(2 * single / double)
        costs.append(both / alone)
        say(case="round", pool=one / two, busy=2 * single / double, processor=both / alone)
    say(
        case="speedup",
        episodes=episodes,
        pool=median(pools),
        busy=median(loops),
        ratio=median(a / b for a, b in zip(pools, loops, strict=True)),
        # Whatever else the machine does: what two workers cost together, over what one costs.
        processor=median(costs),
    )


def children(parent: int) -> list[int]:
    """Give the processes that a process has started."""
    out: list[int] = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == parent:
            out.append(int(path.parent.name))
    return out


def actors(parent: int) -> list[int]:
    """Give the actors of the Ray cluster that a process has started."""
    out: list[int] = []
    found = children(parent)
    while found:
        below = [child for pid in found for child in children(pid)]
        out += [pid for pid in below if words_of(pid).startswith(b"ray::Actor")]
        found = below
    return out


def words_of(pid: int) -> bytes:
    """Give the command line of a process; nothing of one that has ended."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def resident(pid: int) -> int:
    """Give the memory of a process in bytes; 0 for one that has ended."""
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * resource.getpagesize()
    except OSError:
        return 0


def memory(episodes: int) -> None:
    """Play short episodes by one worker, and look at its memory all along."""
    request = Request(scenarios=(SHORT,), seeds=range(episodes), policies=("null",), loads=("0",))
    marks = {max(1, episodes * tenth // 10) for tenth in range(1, 11)}
    found: dict[int, float] = {}

    def look(done: int, total: int, summary: object) -> None:
        if done in marks and done not in found:
            found[done] = max(map(resident, children(os.getpid())), default=0) / 1e6

    played(request, 1, look)
    sizes = list(found.values())
    say(
        case="memory",
        episodes=episodes,
        megabytes={str(done): round(size, 1) for done, size in sorted(found.items())},
        growth=max(sizes) - sizes[0],
        parent=resident(os.getpid()) / 1e6,
    )


class Killing:
    """Kills processes of runs of one request at random instants."""

    def __init__(self, episodes: int, folder: Path, draw: random.Random, engine: str) -> None:
        self._folder = folder
        self._draw = draw
        self._engine = engine
        words = [SHORT, "--seed", f"0:{episodes}", "--policy", "null", "--load", "0"]
        self._words = ["run", *words, "-o", "run"]
        self._longest = 0.0

    def unbroken(self) -> dict[str, bytes]:
        """Play it once without a kill."""
        begun = time.perf_counter()
        self._start(self._words, self._folder / "whole", 2).communicate()
        self._longest = time.perf_counter() - begun
        return contents(self._folder / "whole" / "run")

    def killed(self, workers: int, kills: int, whole: dict[str, bytes]) -> tuple[int, int, int]:
        """Kill so many processes of runs; gives those of workers, of parents, and unequal runs.

        A run whose parent was killed is resumed, one that has ended is compared, and another begun.
        """
        met, runs, wrong = [0, 0], 0, 0
        place = self._folder / f"{workers}-{runs}"
        process = self._start(self._words, place, workers)
        while True:
            time.sleep(self._draw.uniform(0, self._longest / 3))
            if sum(met) >= kills:
                process.wait()
            if process.poll() is not None:
                told = process.communicate()
                if process.returncode:
                    raise RuntimeError(f"{place}: {told}")
                wrong += contents(place / "run") != whole
                if sum(met) >= kills:
                    return met[0], met[1], wrong
                runs += 1
                place = self._folder / f"{workers}-{runs}"
                process = self._start(self._words, place, workers)
                continue
            # As many of one kind as of the other, though there may be no worker yet.
            parent = met[1] < met[0] or (met[1] == met[0] and self._draw.random() < 0.5)
            workers_of = actors if self._engine == "ray" else children
            for pid in [process.pid] if parent else workers_of(process.pid)[:1]:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
                    met[parent] += 1
            if parent:
                process.communicate()
                words = ["run", "--resume", "run"]
                if not (place / "run" / "run.json").exists():
                    # It was killed before it had said what it is.
                    shutil.rmtree(place / "run", ignore_errors=True)
                    words = self._words
                process = self._start(words, place, workers)

    def _start(self, words: Sequence[str], place: Path, workers: int) -> subprocess.Popen[str]:
        place.mkdir(exist_ok=True)
        argv = [sys.executable, "-m", "simharness", *words, "--workers", str(workers)]
        argv += ["--engine", self._engine]
        return subprocess.Popen(
            argv, cwd=place, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8"
        )


def contents(folder: Path) -> dict[str, bytes]:
    """Give all that has to be equal: shards, lines, and the catalogue in order."""
    files = [*sorted((folder / "shards").iterdir()), folder / "verdicts.jsonl"]
    held = {path.name: path.read_bytes() for path in files}
    return {**held, "catalogue": "\n".join(dump(folder)).encode()}


def kills(count: int, episodes: int, seed: int, engine: str) -> int:
    """Kill, resume and compare with 1, 2 and 3 workers; gives how many runs came out otherwise."""
    draw = random.Random(seed)  # noqa: S311
    each = max(1, count // 3)
    wrong = 0
    with TemporaryDirectory(prefix="simharness-kills-") as place:
        killing = Killing(episodes, Path(place), draw, engine)
        whole = killing.unbroken()
        for workers in (1, 2, 3):
            of_workers, of_parents, unequal = killing.killed(workers, each, whole)
            wrong += unequal
            say(
                case="kills",
                engine=engine,
                workers=workers,
                episodes=episodes,
                of_workers=of_workers,
                of_parents=of_parents,
                equal=not unequal,
            )
    return wrong


def main(arguments: list[str] | None = None) -> int:
    """Measure and print; 1 where a killed run came out otherwise."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("case", choices=("rate", "speedup", "memory", "kills"))
    parser.add_argument("--episodes", type=int)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--kills", type=int, default=24)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--engine", choices=("local", "ray"), default="local")
    options = parser.parse_args(arguments)
    match options.case:
        case "rate":
            rate(options.episodes or 1_000)
        case "speedup":
            speedup(options.episodes or 256, options.rounds)
        case "memory":
            memory(options.episodes or 10_000)
        case _:
            return int(
                kills(options.kills, options.episodes or 400, options.seed, options.engine) > 0
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
