"""What one episode of a scenario's reference shows: what it met, was served, and cost."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from simharness.blame.attribution import judge_case
from simharness.blame.case import case_of
from simharness.episode.play import drive
from simharness.findings.detect import harness_findings
from simharness.findings.story import AGENT

if TYPE_CHECKING:
    from simharness.episode.episode import Episode
    from simharness.findings.story import Commit, Exchange, Story
    from simharness.product.goal import Criterion
    from simharness.product.policy import Policy

REFUSALS = ("conflict", "locked", "slot_taken", "sold_out", "slot_blocked", "hold_expired")
"""Refusals of a write because of somebody else's."""
COUNTED = {
    "INVALIDATE": "invalidations",
    "LOCKWAIT": "lock waits",
    "replica": "replica reads",
    "index": "index reads",
}
"""What has to occur, by kind of row or source of an answer."""

Shape = tuple[str, ...]
"""Tools in the order of their calls, each with how it was answered."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One episode."""

    seed: int
    score: int
    """Millionths; 0 where the harness failed."""
    kind: str
    """Class of the verdict."""
    found: tuple[str, ...]
    """Findings against the harness by all detectors, each with its explanation."""
    criteria: tuple[Criterion, ...]
    calls: tuple[tuple[str, str], ...]
    """Tool and arguments, as sent."""
    outcome: str
    """What it called the outcome; empty where it just stopped."""
    shape: Shape
    attempts: int
    """Calls that committed something, or that somebody else got in the way of."""
    met: int
    """Attempts that were refused, had to wait or came upon a row that had changed."""
    cached: int
    """Reads of all actors through views with a cache."""
    hits: int
    counts: Counter[str]
    users: int
    """Who was there beside the agent at the start."""
    steps: int
    """Thousandths of the budget."""
    ticks: int
    """Thousandths of the budget of simulated time."""
    seconds: float
    """Of wall time, judging left out."""

    @property
    def unmet(self) -> tuple[str, ...]:
        """Evidence of the criteria that don't hold."""
        return tuple(f"{c.name}: {c.evidence}" for c in self.criteria if not c.holds)


def measured(episode: Episode, policy: Policy) -> Measured:
    """Play an episode to its end and measure it. Raises HarnessError when the harness fails."""
    users = sum(name.startswith("user/") for name in episode.world.alive)
    start = time.perf_counter()
    drive(episode, policy)
    seconds = time.perf_counter() - start
    # What is asked of the story below is asked of the one that was judged.
    case = case_of(episode, policy, policy)
    verdict = judge_case(case)
    story = case.story
    found = [f for f in harness_findings(story) if f.code.startswith("H")]
    attempts, met = contention(story)
    caches = episode.product.caches()
    counts: Counter[str] = Counter()
    cached = hits = 0
    for row in story.of("READ", "LIST"):
        source = row.values["source"]
        counts[source] += 1
        if row.values["view"] in caches:
            cached += 1
            hits += source == "cache"
    for kind in COUNTED:
        counts[kind] += len(story.kinds.get(kind, ()))
    return Measured(
        seed=episode.plan.seed,
        score=episode.reward or 0,
        kind=str(verdict.kind),
        found=tuple(f"{f.code} {f.explanation}" for f in found),
        criteria=episode.criteria,
        calls=tuple((e.tool, e.arguments or "{}") for e in story.exchanges.values()),
        outcome="" if episode.product.ending is None else episode.product.ending.outcome,
        shape=tuple(answered(exchange) for exchange in story.exchanges.values()),
        attempts=attempts,
        met=met,
        cached=cached,
        hits=hits,
        counts=Counter({told: counts[kind] for kind, told in COUNTED.items()}),
        users=users,
        steps=1000 * len(episode.steps) // episode.steps_max,
        ticks=1000 * episode.world.ticks // episode.ticks_max,
        seconds=seconds,
    )


def answered(exchange: Exchange) -> str:
    """Give a call's tool, with a mark when it was refused."""
    return exchange.tool + ("" if exchange.ok else "!")


def contention(story: Story) -> tuple[int, int]:
    """Count the agent's writes, and those that somebody got in the way of.

    Somebody did where a write was refused (`conflict`, `locked`), where it waited for a lock, and
    where somebody else had committed the row after the agent's last look at it. A tool that writes
    now and then, as one that pays under a key, counts where it did.
    """
    waited = {row.values["n"] for row in story.of("LOCKWAIT") if foreign(row.values)}
    attempts = met = 0
    seen: dict[tuple[str, int], int] = {}
    for n, exchange in story.exchanges.items():
        call, answer = exchange.rows.get("CALL"), exchange.rows.get("RETURN")
        refused = answer is not None and answer.values["status"] in REFUSALS
        hindered = call is not None and (refused or n in waited)
        if hindered or exchange.commits:
            attempts += 1
            met += hindered or any(unseen(story, commit, seen) for commit in exchange.commits)
        for commit in exchange.commits:
            seen[commit.table, commit.key] = commit.after
        for row in exchange.reads:
            v = row.values
            table = v["view"].rpartition(".")[0]
            if row.kind == "READ":
                seen[table, v["key"]] = v["served"]
            else:
                for key, version in zip(v["rows"][::2], v["rows"][1::2], strict=True):
                    seen[table, key] = version
    return attempts, met


def foreign(wait: dict[str, object]) -> bool:
    """Tell whether the agent waits for somebody else."""
    return wait["owner"] == AGENT and not str(wait["holder"]).startswith(f"{AGENT}#")


def unseen(story: Story, write: Commit, seen: dict[tuple[str, int], int]) -> bool:
    """Tell whether somebody else committed the row between the agent's last look and its write."""
    last = seen.get((write.table, write.key))
    return last is not None and any(
        commit.owner != AGENT and last < commit.after <= write.before
        for commit in story.commits.get((write.table, write.key), ())
    )
