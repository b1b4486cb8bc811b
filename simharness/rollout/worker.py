"""The process of a worker: plays the blocks that it is sent, and tells what comes of them.

It is a fresh Python that has imported nothing of its parent's, so that neither threads nor state of
the parent's matter to it. Messages go over one pipe, whose end tells either side that the other is
gone. A worker whose parent is gone finishes its episode, leaves the part of its shard, and ends.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from simharness.rollout.block import Block, Player

READY, BEGIN, LINE, SEALED, LEFT, FAILED = range(6)
"""What a worker tells, each with what goes with it: nothing, a place, a line, nothing, nothing, an
error."""
STOP = "stop"
BOOT = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
    "from simharness.rollout.worker import main; main(sys.argv[2])"
)


def main(text: str) -> None:
    """Be a worker; `text` is the JSON of its pipe, the run's lock, folder, request and guard."""
    job: dict[str, Any] = json.loads(text)
    # Ctrl-C goes to the whole group of processes; what is to stop is the parent's to say.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for number in (job["pipe"], job["lock"]):
        # What a product starts must keep neither the pipe nor the lock.
        os.set_inheritable(number, False)
    # What a product prints is no answer of the command.
    os.dup2(2, 1)
    pipe: Connection[Any, Any] = Connection(job["pipe"])
    from simharness.errors import SimharnessError
    from simharness.kernel.guard import guarded
    from simharness.rollout.block import Player
    from simharness.rollout.collector import seldom_collected
    from simharness.rollout.request import read_request

    player = Player(read_request(job["request"]), Path(job["folder"]))
    # The parent is gone, or has closed the pipe because it is done.
    gone = contextlib.suppress(EOFError, BrokenPipeError, ConnectionResetError)
    guard = guarded() if job["guarded"] else contextlib.nullcontext()
    with gone, seldom_collected(), guard:
        pipe.send((READY, None))
        while (block := pipe.recv()) != STOP:
            try:
                play(player, block, pipe.send, lambda: stopped(pipe))
            except SimharnessError as error:
                pipe.send((FAILED, error))
    # Products may have left threads or handlers behind that nobody waits for, and words unsaid.
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    os._exit(0)


def play(
    player: Player, block: Block, tell: Callable[[object], None], stopping: Callable[[], bool]
) -> None:
    """Play a block and tell how it gets on."""
    told = player.play(block, stopping)
    with contextlib.closing(told):
        while True:
            try:
                one = next(told)
            except StopIteration as end:
                tell((SEALED if end.value else LEFT, None))
                return
            tell((BEGIN, one) if isinstance(one, int) else (LINE, one))


def stopped(pipe: Connection[Any, Any]) -> bool:
    """Look whether the parent wants this worker to stop, or is gone; nothing else comes now."""
    try:
        return pipe.poll() and pipe.recv() == STOP
    except EOFError:
        return True
