"""What a crowd costs: one world with 100 to 10,000 background users.

    python benchmarks/crowd.py [--users 100,1000,10000] [--events 200000] [--rounds 3]

Plays each world until about as many events have happened and prints one JSON line a size: the cost
of an event as a ratio to the smallest crowd's, measured by turns in one run, and the memory that a
user takes from the start on. Nothing may grow with the square of the crowd.
"""

from __future__ import annotations

import argparse
import gc
import json
import time
import tracemalloc
from statistics import median

from simharness.env import make_plan
from simharness.episode.episode import Episode
from simharness.units import SECOND

SCENARIO = "crm/negotiation"
TEAM = 20
"""Users at load 1."""


def world_of(users: int) -> Episode:
    """Build a world with so many background users; its rows are counted and not kept."""
    plan = make_plan(SCENARIO, seed=1, load=str(users // TEAM))
    return Episode(plan, keep_rows=False)


def cost(users: int, events: int) -> tuple[float, int]:
    """Give the nanoseconds that an event takes, and how many happened."""
    episode = world_of(users)
    world = episode.world
    start = world.scheduled
    gc.collect()
    begun = time.process_time_ns()
    while world.scheduled - start < events:
        world.advance_to(world.ticks + SECOND)
        world.rows.clear()  # what a recorder packs a step at a time
    spent = time.process_time_ns() - begun
    return spent / (world.scheduled - start), world.scheduled - start


def memory(users: int) -> float:
    """Give the bytes that a user takes once all have started."""
    gc.collect()
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    episode = world_of(users)
    episode.world.advance_to(0)
    gc.collect()
    taken = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    return taken


def main(arguments: list[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--users", default="100,1000,10000")
    parser.add_argument("--events", type=int, default=200_000)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args(arguments)
    sizes = [int(size) for size in options.users.split(",")]
    if any(size < TEAM or size % TEAM for size in sizes):
        parser.error(f"--users {options.users}: a load has {TEAM} users, so give multiples of that")
    costs: dict[int, list[float]] = {size: [] for size in sizes}
    for _ in range(options.rounds):
        for size in sizes:
            costs[size].append(cost(size, options.events)[0])
    first = sizes[0]
    base = memory(first)
    for size in sizes:
        ratios = [c / b for c, b in zip(costs[size], costs[first], strict=True)]
        each = (memory(size) - base) / (size - first) if size != first else None
        print(
            json.dumps(
                {
                    "users": size,
                    "ns_per_event": round(median(costs[size])),
                    "ratio": round(median(ratios), 2),
                    "bytes_per_user": None if each is None else round(each),
                }
            )
        )


if __name__ == "__main__":
    main()
