"""A run from its request to its sealed shards, and from where it was stopped."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import count, islice
from typing import TYPE_CHECKING

from simharness.blame.statistics import Gate
from simharness.chat.options import read_options
from simharness.errors import SimharnessError
from simharness.rollout.block import Block, shard_name
from simharness.rollout.breaker import Breaker
from simharness.rollout.check import check
from simharness.rollout.collector import seldom_collected
from simharness.rollout.engine import Local, Lost, Played, Sealed
from simharness.rollout.groups import Refill, write_groups
from simharness.rollout.interrupt import stop_asked
from simharness.rollout.lines import read_lines
from simharness.rollout.pool import Pool, processors
from simharness.rollout.retries import PATIENCE
from simharness.rollout.store import RunStore, asked_about, moved, read_about
from simharness.rollout.summary import Summary

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from simharness.rollout.engine import Engine
    from simharness.rollout.groups import Group
    from simharness.rollout.line import Line
    from simharness.rollout.request import Entry, Request

Progress = Callable[[int, int, Summary], None]
"""Told the episodes done, all episodes, and the counts so far."""
Engines = Callable[["Request", "Path", int, int], "Engine"]
"""Makes an engine for a request, its folder, the descriptor of its lock and its blocks."""

INTERRUPT, BREAKER = "interrupt", "breaker"
SLACK = 600
"""Seconds of real time that an episode may take beyond what its model may."""


@dataclass(slots=True)
class Result:
    """What came of a run."""

    summary: Summary
    total: int
    """Episodes that were asked for, those of refilled groups included."""
    stopped: str = ""
    """What ended it before its time: `interrupt` or `breaker`."""
    breaker: Breaker | None = None
    lost: list[str] = field(default_factory=list[str])
    """How each worker ended that was lost."""
    groups: list[Group] = field(default_factory=list["Group"])
    """Of a run with groups: all of them, in order."""


def local_engine(workers: int | None) -> Engines:
    """Choose who plays on this machine.

    0 workers stand for this process, None for as many as there are processors. A run of one
    episode needs no other process: nothing goes on without it.
    """

    def make(request: Request, folder: Path, lock: int, blocks: int) -> Engine:
        number = processors() if workers is None else workers
        if number == 0 or (workers is None and len(request) == 1):
            return Local(request, folder)
        return Pool(request, folder, max(1, min(number, blocks)), lock, patience_for(request))

    return make


def patience_for(request: Request) -> float:
    """Give the seconds of real time after which an episode is taken to hang."""
    limits = [read_options(policy).limit for policy in request.models]
    return max(limits) + SLACK if limits else PATIENCE


def run(
    request: Request,
    folder: Path,
    progress: Progress | None = None,
    *,
    engine: Engines | None = None,
    breaker: bool = True,
) -> Result:
    """Run all episodes and write the run directory. What was recorded stays, whatever stops it.

    Raises UsageError for what can't be run, HarnessError for a scenario that can't start, and
    RecordingError when the disk is full or refuses; such a run can be resumed.
    """
    check(request)
    store = RunStore.create(folder, asked_about(request))
    return Rollout(request, store, [], progress, breaker=breaker).go(engine or local_engine(0))


def resume(
    folder: Path,
    progress: Progress | None = None,
    *,
    engine: Engines | None = None,
    breaker: bool = True,
    base_url: str = "",
) -> Result:
    """Go on with a run that was stopped or killed: what is recorded is kept, the rest is played.

    Models are asked where they were, or at another `base_url`.

    Raises what `run` raises, and UsageError for what is no run, is being written, or was begun by
    other code.
    """
    request = moved(read_about(folder)[1], base_url)
    check(request)
    store = RunStore.reopen(folder, asked_about(request))
    lines = read_lines(folder)
    return Rollout(request, store, lines, progress, breaker=breaker).go(engine or local_engine(0))


class Rollout:
    """One run under way."""

    def __init__(
        self,
        request: Request,
        store: RunStore,
        lines: Iterable[Line],
        progress: Progress | None,
        *,
        breaker: bool,
    ) -> None:
        self._request = request
        self._store = store
        self._breaker = Breaker(grouped=request.group > 1) if breaker else None
        self._refill = Refill(request) if request.group > 1 else None
        self._progress = progress
        self.result = Result(Summary(), len(request), breaker=self._breaker)
        for line in lines:
            self._count(line)
        self._begun = dict(store.done)

    def go(self, engines: Engines) -> Result:
        """Play what is left: first what was asked for, then what replaces dropped groups."""
        request, result = self._request, self.result
        try:
            if self._breaker is not None and self._breaker.test.answer is Gate.FAIL:
                result.stopped = BREAKER
            entries: Iterable[Entry] = request.entries()
            size, first = len(request), 0
            while size and not result.stopped:
                blocks = -(-size // request.block)
                engine = engines(request, self._store.folder, self._store.lock, blocks)
                with seldom_collected(), stop_asked(partial(self._interrupt, engine)):
                    try:
                        self._play(engine, self._left(entries, first))
                    except BaseException:
                        engine.kill()
                        raise
                first += blocks
                entries = self._next(entries)
                size = len(entries)
                result.total += size
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):
                result.stopped = INTERRUPT
            # What stopped it is what has to be heard of; `simharness index` makes up for the rest.
            with suppress(SimharnessError):
                self._close()
            raise
        self._close()
        return result

    def _interrupt(self, engine: Engine) -> None:
        self.result.stopped = INTERRUPT
        # A model may be asked for long, and what it answers comes out otherwise anyway next time.
        engine.stop(soon=bool(self._request.models))

    def _left(self, entries: Iterable[Entry], first: int) -> Iterator[Block]:
        """Cut episodes into blocks, and give those that aren't done."""
        more = iter(entries)
        for number in count(first):
            chosen = tuple(islice(more, self._request.block))
            if not chosen:
                return
            shard = shard_name(number)
            told = self._begun.get(shard, 0)
            if told < len(chosen) or not (self._store.shards / shard).exists():
                yield Block(number, chosen, told=told)

    def _next(self, played: Iterable[Entry]) -> list[Entry]:
        """Give what is played in the next round."""
        if self._refill is None or not self._request.refill or self.result.stopped:
            return []
        again = played if isinstance(played, list) else self._request.entries()
        return self._refill.after(list(again))

    def _play(self, engine: Engine, blocks: Iterator[Block]) -> None:
        with closing(engine.play(blocks)) as events:
            for event in events:
                if isinstance(event, Played):
                    self._store.add(event.line)
                    if self._count(event.line) and not self.result.stopped:
                        self.result.stopped = BREAKER
                        engine.stop()
                elif isinstance(event, Lost):
                    self.result.lost.append(event.cause)
                if self._progress is not None and not isinstance(event, Sealed):
                    summary = self.result.summary
                    self._progress(summary.episodes, self.result.total, summary)

    def _count(self, line: Line) -> bool:
        """Count an episode; gives whether the breaker wants to stop."""
        self.result.summary.add(line)
        if self._refill is not None:
            self._refill.add(line)
        return self._breaker is not None and self._breaker.add(line)

    def _close(self) -> None:
        result = self.result
        self._store.close(result.stopped)
        if self._refill is not None:
            result.groups = write_groups(self._store.folder)
