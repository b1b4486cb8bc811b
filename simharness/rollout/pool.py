"""A pool of processes on this machine: each plays one block after the other into its own shards.

The workers are started as fresh Pythons and never forked: this process may hold threads (NumPy's,
the sandbox's, the caller's) whose locks a fork would copy in whatever state they are, and its main
module need not be importable. That costs some tenths of a second once a worker.

A worker that is lost, by a signal, a crash or for want of memory, is noticed by the end of its
pipe. Its block is played on by another one, behind the last intact episode. Where the same episode
loses worker after worker, it is recorded as a failure of the harness, with its cause, and the rest
of the block goes on.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from math import inf
from multiprocessing import Pipe
from multiprocessing.connection import wait
from typing import TYPE_CHECKING, Any

from simharness.errors import HarnessError
from simharness.kernel.guard import is_armed
from simharness.rollout.engine import Lost, Played, Sealed
from simharness.rollout.retries import GRACE, PATIENCE, Retries
from simharness.rollout.worker import BEGIN, BOOT, FAILED, LEFT, LINE, READY, SEALED, STOP

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator
    from multiprocessing.connection import Connection
    from pathlib import Path

    from simharness.errors import SimharnessError
    from simharness.rollout.block import Block
    from simharness.rollout.engine import Event
    from simharness.rollout.request import Request

LOOKS = 0.2
"""Seconds between two looks at what else there is to do."""


@dataclass(slots=True)
class Worker:
    """One worker as its parent sees it."""

    process: subprocess.Popen[bytes]
    pipe: Connection[Any, Any]
    ready: bool = False
    block: Block | None = None
    place: int | None = None
    """Of the episode under way in its block."""
    since: float = 0.0
    """When it began, in seconds of a clock that only runs forward."""
    hung: bool = False
    asked: bool = False
    """Whether it was asked to stop."""


class Pool:
    """Plays blocks in processes of this machine."""

    def __init__(
        self, request: Request, folder: Path, workers: int, lock: int, patience: float = PATIENCE
    ) -> None:
        self._request = request
        self._folder = folder
        self._count = workers
        self._lock = lock
        """Descriptor of the run's lock, which lasts as long as any worker lives."""
        self._patience = patience
        self._workers: list[Worker] = []
        self._retries = Retries()
        self._stopped = False
        self._until = inf
        """When workers that have been asked to stop soon are ended."""
        self._failure: SimharnessError | None = None

    def play(self, blocks: Iterable[Block]) -> Generator[Event | None]:
        """Play blocks; see `Engine`."""
        source = iter(blocks)
        try:
            while True:
                self._give_out(source)
                if not any(worker.block for worker in self._workers):
                    break
                yield from self._hear()
            if self._failure is not None:
                raise self._failure
        finally:
            if any(worker.block for worker in self._workers):
                self.kill()
            self._end()

    def stop(self, *, soon: bool = False) -> None:
        """Let the episodes under way be the last; see `Engine`."""
        self._stopped = True
        if soon:
            self._until = time.monotonic() + GRACE

    def kill(self) -> None:
        """End all workers at once."""
        self._stopped = True
        for worker in self._workers:
            worker.process.kill()

    # --- giving out -------------------------------------------------------------------------------

    def _give_out(self, source: Iterator[Block]) -> None:
        """Give idle workers a block each, and start workers while there are more blocks."""
        while not self._stopped:
            idle = next((w for w in self._workers if w.block is None), None)
            if idle is None and len(self._workers) == self._count:
                return
            block = self._retries.take(source)
            if block is None:
                return
            if idle is None:
                idle = self._start()
                self._workers.append(idle)
            idle.block = block
            idle.place = None
            self._send(idle, idle.block)
        for worker in self._workers:
            if worker.block is not None and not worker.asked:
                worker.asked = True
                self._send(worker, STOP)

    def _send(self, worker: Worker, message: object) -> None:
        try:
            worker.pipe.send(message)
        except (BrokenPipeError, ConnectionResetError):
            return  # it is gone, which reading tells

    def _start(self) -> Worker:
        ours, theirs = Pipe()
        job = {
            "pipe": theirs.fileno(),
            "lock": self._lock,
            "folder": str(self._folder),
            "request": self._request.record(),
            "guarded": is_armed(),
        }
        # The flags of this Python, such as -O and -X utf8, as the standard library's own pools pass
        # them on.
        private: Any = subprocess
        flags: list[str] = private._args_from_interpreter_flags()
        words = [sys.executable, *flags, "-P", "-c", BOOT, json.dumps(sys.path), json.dumps(job)]
        try:
            process = subprocess.Popen(
                words, stdin=subprocess.DEVNULL, pass_fds=(theirs.fileno(), self._lock)
            )
        except OSError as error:
            ours.close()
            raise HarnessError(
                f"a worker can't be started: {error.strerror}",
                "give fewer --workers, or 0 to play in one process",
            ) from error
        finally:
            theirs.close()
        return Worker(process, ours)

    # --- hearing ----------------------------------------------------------------------------------

    def _hear(self) -> Iterator[Event | None]:
        """Tell what the workers say until there is nothing more for now."""
        ready = set(wait([worker.pipe for worker in self._workers], LOOKS))
        for worker in [worker for worker in self._workers if worker.pipe in ready]:
            try:
                kind, what = worker.pipe.recv()
            except (EOFError, OSError):
                event = self._lose(worker)
            else:
                event = self._take(worker, kind, what)
            if event is not None:
                yield event
        now = time.monotonic()
        for worker in self._workers:
            if worker.place is not None and now - worker.since > self._patience:
                worker.hung = True
                worker.process.kill()
            elif now > self._until:
                worker.process.kill()
        yield None

    def _take(self, worker: Worker, kind: int, what: Any) -> Event | None:
        block = worker.block
        if kind == READY or block is None:
            worker.ready = True
            return None
        if kind == BEGIN:
            worker.place, worker.since = what, time.monotonic()
            return None
        if kind == LINE:
            worker.place = None
            return Played(what) if self._retries.tell(block, what) else None
        worker.block = worker.place = None
        if kind == FAILED:
            self._failure = self._failure or what
            self._stopped = True
        elif kind == SEALED:
            self._retries.seal(block)
            return Sealed(block.number)
        assert kind in (FAILED, LEFT)
        return None

    def _lose(self, worker: Worker) -> Event | None:
        """Take the loss of a worker: its block is played on, or one of its episodes given up."""
        worker.pipe.close()
        cause = ended(worker.process.wait())
        self._workers.remove(worker)
        block, place = worker.block, worker.place
        if block is None:
            return None
        if self._stopped:
            return None if time.monotonic() > self._until else Lost(block.number, cause)
        try:
            self._retries.lose(block, place, cause, self._patience if worker.hung else 0)
        except HarnessError as error:
            self._stopped = True
            self._failure = self._failure or error
        return Lost(block.number, cause)

    def _end(self) -> None:
        """Let the workers go; they end when they hear nothing more."""
        for worker in self._workers:
            worker.pipe.close()
        for worker in self._workers:
            worker.process.wait()
        self._workers.clear()


def ended(code: int) -> str:
    """Say how a process ended."""
    if code >= 0:
        return f"it ended with exit code {code}"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = f"signal {-code}"
    more = ", as when memory runs out" if name == "SIGKILL" else ""
    return f"it was ended by {name}{more}"


def processors() -> int:
    """Count the processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
