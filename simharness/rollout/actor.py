"""A worker of a Ray cluster: plays a block in turns, each of which is a call.

A turn ends behind an episode, so that whoever calls may say at each whether to go on. Turns are
much longer than a call takes, and much shorter than a person waits.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from contextlib import ExitStack
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from simharness.errors import SimharnessError, UsageError
from simharness.kernel.guard import guarded
from simharness.rollout.block import Player
from simharness.rollout.collector import seldom_collected

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping
    from pathlib import Path

    from simharness.rollout.block import Block
    from simharness.rollout.line import Line
    from simharness.rollout.request import Request


class Ending(Enum):
    """How a block ended for a worker."""

    SEALED = "sealed"
    LEFT = "left"


@dataclass(frozen=True, slots=True)
class Job:
    """What a worker is told when it begins."""

    request: Request
    folder: Path
    about: bytes
    """What the run's `run.json` holds, by which a worker knows that it sees the same folder."""
    here: Path
    """The working directory of who asks, from which products by path are found."""
    path: tuple[str, ...]
    variables: Mapping[str, str]
    guarded: bool


@dataclass(frozen=True, slots=True)
class Turn:
    """What came of a turn."""

    lines: tuple[Line, ...] = ()
    ending: Ending | SimharnessError | None = None
    """None where there is more to play."""


class Actor:
    """Plays blocks of a run, one after the other."""

    def __init__(self, job: Job) -> None:
        """Become a worker; raises nothing of ours, see `look`."""
        # Ctrl-C is for who asks; and what a product prints is no answer of a command.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        os.dup2(2, 1)
        os.environ.update(job.variables)
        sys.path[:] = [*job.path, *(place for place in sys.path if place not in job.path)]
        if job.here.is_dir():
            os.chdir(job.here)
        self._job = job
        self._player = Player(job.request, job.folder)
        self._stopping = False
        self._playing: Generator[int | Line, None, bool] | None = None
        self._stay = ExitStack()
        self._stay.enter_context(seldom_collected())
        if job.guarded:
            self._stay.enter_context(guarded())

    def look(self, about: str) -> UsageError | None:
        """Look whether the run can be written from here; `about` is the name of its `run.json`."""
        path = self._job.folder / about
        try:
            if path.read_bytes() == self._job.about:
                return None
            why = "is of another run"
        except OSError as error:
            why = f"can't be read ({error.strerror})"
        return UsageError(
            f"{str(path)!r} {why} on {os.uname().nodename}, where a worker is to write to it",
            "give -o a folder on a disk that all machines of the cluster share",
        )

    def begin(self, block: Block) -> None:
        """Take up a block."""
        self._playing = self._player.play(block, lambda: self._stopping)

    def turn(self, seconds: float, *, stopping: bool) -> Turn:
        """Play for so long, and to the end of the episode; when `stopping`, leave the block."""
        assert self._playing is not None
        self._stopping = stopping
        until = time.monotonic() + seconds
        lines: list[Line] = []
        ending: Ending | SimharnessError | None = None
        try:
            while not lines or time.monotonic() < until:
                told = next(self._playing)
                if not isinstance(told, int):
                    lines.append(told)
        except StopIteration as end:
            ending = Ending.SEALED if end.value else Ending.LEFT
        except SimharnessError as error:
            ending = error
        return Turn(tuple(lines), ending)
