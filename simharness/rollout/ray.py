"""Plays blocks in the workers of a Ray cluster: one that is there, or one of this machine's own.

Each worker is an actor of one processor, which writes its shards to the run's folder itself; so all
machines have to share that. Ray's own retries are off: it would try again without knowing which
episode loses its workers, and how often. What is lost is played again from here, as by the pool.
"""

from __future__ import annotations

import logging
import os
import shlex
import socket
import sys
import time
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any

from simharness.errors import HarnessError, SimharnessError, UsageError
from simharness.extras import imported
from simharness.kernel.guard import is_armed
from simharness.rollout.actor import Actor, Ending, Job
from simharness.rollout.block import SHARDS, intact
from simharness.rollout.engine import Lost, Played, Sealed
from simharness.rollout.pool import LOOKS, processors
from simharness.rollout.retries import GRACE, PATIENCE, Retries
from simharness.rollout.run import patience_for
from simharness.rollout.store import ABOUT

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator

    from simharness.rollout.actor import Turn
    from simharness.rollout.block import Block
    from simharness.rollout.engine import Engine, Event
    from simharness.rollout.request import Request
    from simharness.rollout.run import Engines

TURN = 0.5
"""Seconds of a turn at least; it lasts to the end of the episode."""
CALL = 0.002
"""Seconds of a turn for each worker at least: twice what a call takes this process."""
ANSWER = 10.0
"""Seconds that a cluster may take to answer at all."""
COMING = 600.0
"""Seconds that the first worker of a cluster may take to begin."""
MEMORY = 100_000_000
"""Bytes of the store of objects of an own cluster, through which nothing passes but lines."""
CAUSE = 300
"""Characters of what Ray says of a lost worker that are kept."""


def ray_engine(workers: int | None, address: str = "") -> Engines:
    """Let a Ray cluster play: the one at an address, else one that lasts as long as the run.

    None workers stand for as many as the cluster has processors. Raises UsageError where Ray isn't
    installed, or nothing answers at the address.
    """
    if workers == 0:
        raise UsageError("0 workers play in this process, not on Ray", "give --workers 1 or more")
    imported("ray", "ray")
    require_answer(address)

    def make(request: Request, folder: Path, lock: int, blocks: int) -> Engine:
        return Ray(request, folder, workers, blocks, address, patience_for(request))

    return make


def require_answer(address: str) -> None:
    """Look whether anything answers at HOST:PORT, for Ray would try for minutes.

    Raises UsageError.
    """
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not host or not port.isdecimal():
        return  # `auto`, and whatever else Ray knows to find
    try:
        socket.create_connection((host.strip("[]"), int(port)), ANSWER).close()
    except (OSError, OverflowError) as error:
        raise UsageError(
            f"no Ray cluster answers at {address!r}: {error}",
            "ray status tells the address on a machine of the cluster; without --ray-address one "
            "of this machine's own is started",
        ) from error


@dataclass(slots=True)
class Worker:
    """One actor as it is seen from here."""

    actor: Any
    call: Any
    """What it has been asked last and has not answered."""
    since: float
    """When that was, in seconds of a clock that only runs forward."""
    ready: bool = False
    block: Block | None = None
    hung: bool = False


class Ray:
    """Plays blocks in actors of a Ray cluster."""

    def __init__(
        self,
        request: Request,
        folder: Path,
        workers: int | None,
        blocks: int,
        address: str = "",
        patience: float = PATIENCE,
    ) -> None:
        self._request = request
        self._folder = folder.absolute()
        self._count = workers
        self._blocks = blocks
        self._address = address
        self._patience = patience
        self._seconds = TURN
        self._ray: Any = imported("ray", "ray")
        self._kind: Any = None
        self._job: Job | None = None
        self._workers: list[Worker] = []
        self._retries = Retries()
        self._more = True
        """Whether there may be blocks that nobody has had yet."""
        self._stopped = False
        self._until = inf
        """When workers that have been asked to stop soon are ended."""
        self._failure: SimharnessError | None = None

    def play(self, blocks: Iterable[Block]) -> Generator[Event | None]:
        """Play blocks; see `Engine`."""
        source = iter(blocks)
        own = self._join()
        try:
            if self._count is None:
                self._count = int(self._ray.cluster_resources().get("CPU", 1))
            self._count = max(1, min(self._count, self._blocks))
            self._seconds = max(TURN, CALL * self._count)
            while self._give_out(source):
                yield from self._hear()
            if self._failure is not None:
                raise self._failure
        finally:
            self.kill()
            if own:
                self._ray.shutdown()

    def stop(self, *, soon: bool = False) -> None:
        """Let the turns under way be the last; see `Engine`."""
        self._stopped = True
        if soon:
            self._until = time.monotonic() + GRACE

    def kill(self) -> None:
        """End all workers at once."""
        self._stopped = True
        for worker in self._workers:
            self._ray.kill(worker.actor)
        self._workers.clear()

    def _join(self) -> bool:
        """Join the cluster or start one; gives whether that is to be left or ended again.

        Raises UsageError where none answers, HarnessError where none can be started.
        """
        ray = self._ray
        self._kind = ray.remote(num_cpus=1, max_restarts=0, max_task_retries=0)(Actor)
        self._job = Job(
            request=self._request,
            folder=self._folder,
            about=(self._folder / ABOUT).read_bytes(),
            here=Path.cwd(),
            path=tuple(sys.path),
            variables={k: v for k, v in os.environ.items() if k.startswith("SIMHARNESS_")},
            guarded=is_armed(),
        )
        if ray.is_initialized():
            return False
        # Nobody was asked whether they want to be counted.
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        quiet: dict[str, Any] = {"logging_level": logging.WARNING}
        try:
            if self._address:
                ray.init(address=self._address, **quiet)
            else:
                ray.init(
                    address="local",
                    num_cpus=self._count or processors(),
                    object_store_memory=MEMORY,
                    include_dashboard=False,
                    **quiet,
                )
        except Exception as error:  # it raises what comes to hand, even Exception itself
            again = shlex.join(["simharness", "run", "--resume", str(self._folder)])
            if self._address:
                raise UsageError(
                    f"no Ray cluster can be joined at {self._address!r}: {condensed(error)}",
                    f"see what ray status says there; then, or without Ray: {again}",
                ) from error
            raise HarnessError(
                f"Ray can't be started: {condensed(error)}", f"to go on without it: {again}"
            ) from error
        return True

    # --- giving out -------------------------------------------------------------------------------

    def _give_out(self, source: Iterator[Block]) -> bool:
        """Give idle workers a block each, and start workers; gives whether anything is under way.

        A worker has no block before it is there: others may be, and a cluster may never have room.
        """
        assert self._count is not None
        while not self._stopped and self._left and len(self._workers) < self._count:
            actor = self._kind.remote(self._job)
            self._workers.append(Worker(actor, actor.look.remote(ABOUT), time.monotonic()))
        for worker in self._workers:
            if self._stopped or not worker.ready or worker.block is not None:
                continue
            block = self._retries.take(source)
            if block is None:
                self._more = False
                break
            worker.block = block
            worker.actor.begin.remote(block)  # calls of one actor are answered in their order
            self._turn(worker)
        busy = any(worker.block is not None for worker in self._workers)
        return busy or (self._left and not self._stopped)

    @property
    def _left(self) -> bool:
        return self._more or self._retries.waiting

    def _turn(self, worker: Worker) -> None:
        worker.call = worker.actor.turn.remote(self._seconds, stopping=self._stopped)
        worker.since = time.monotonic()

    # --- hearing ----------------------------------------------------------------------------------

    def _hear(self) -> Iterator[Event | None]:
        """Tell what the workers answer until there is nothing more for now."""
        asked = {worker.call: worker for worker in self._workers if worker.call is not None}
        ready, others = self._ray.wait(list(asked), num_returns=1, timeout=LOOKS)
        if others:
            ready += self._ray.wait(others, num_returns=len(others), timeout=0)[0]
        for call in ready:
            yield from self._take(asked[call])
        now = time.monotonic()
        for worker in self._workers:
            if worker.block is not None and now - worker.since > self._patience + self._seconds:
                worker.hung = True
                self._ray.kill(worker.actor)
            elif now > self._until:
                self._ray.kill(worker.actor)
        if self._workers and not any(worker.ready for worker in self._workers):
            self._require_coming(now - min(worker.since for worker in self._workers))
        yield None

    def _take(self, worker: Worker) -> Iterator[Event]:
        call, worker.call = worker.call, None
        errors = self._ray.exceptions
        try:
            told: Turn | UsageError | None = self._ray.get(call)
        except errors.RayTaskError as error:
            # Episodes break within a turn, which tells of it. This is a defect of ours.
            self._fail(HarnessError(f"a worker failed: {condensed(error.cause)}"))
            worker.block = None
            return
        except errors.RayError as error:
            yield from self._lose(worker, condensed(error))
            return
        block = worker.block
        if block is None:
            worker.ready = True
            if isinstance(told, SimharnessError):
                self._fail(told)
            return
        assert told is not None
        assert not isinstance(told, SimharnessError)
        for line in told.lines:
            if self._retries.tell(block, line):
                yield Played(line)
        if told.ending is None:
            self._turn(worker)
            return
        worker.block = None
        if told.ending is Ending.SEALED:
            self._retries.seal(block)
            yield Sealed(block.number)
        elif isinstance(told.ending, SimharnessError):
            self._fail(told.ending)

    def _lose(self, worker: Worker, cause: str) -> Iterator[Event]:
        """Take the loss of a worker: its block is played on, or one of its episodes given up."""
        self._workers.remove(worker)
        block = worker.block
        try:
            if block is None:
                if not self._stopped:
                    self._retries.lose_idle(cause)
                return
            if time.monotonic() < self._until:
                yield Lost(block.number, cause)
            if not self._stopped:
                # Whatever it has not told of is in its part, behind which it was lost.
                place: int | None = len(intact(self._folder / SHARDS / block.shard)[0])
                place = None if place == len(block.entries) else place
                hung = self._patience if worker.hung else 0
                self._retries.lose(block, place, cause, hung)
        except SimharnessError as error:
            self._fail(error)

    def _fail(self, error: SimharnessError) -> None:
        self._failure = self._failure or error
        self._stopped = True

    def _require_coming(self, waited: float) -> None:
        if waited > COMING:
            free = self._ray.available_resources().get("CPU", 0)
            raise HarnessError(
                f"no worker has come up in {COMING:g} s; the cluster has {free:g} processors free",
                "see what ray status says of it",
            )


def condensed(error: BaseException | None) -> str:
    """Give what an error says in one line that isn't too long."""
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text[:CAUSE]}{'...' if len(text) > CAUSE else ''}"
