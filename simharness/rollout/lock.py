"""Locks on files, by which processes know of each other, on one machine or over a shared disk.

A lock is a file that is open for writing: an NFS client knows no exclusive lock on a folder, nor on
what is open for reading. It goes when the last process ends that holds the descriptor.
"""

from __future__ import annotations

import fcntl
import os
import time
from typing import TYPE_CHECKING

from simharness.errors import UsageError
from simharness.recording.format import from_os_error

if TYPE_CHECKING:
    from pathlib import Path

ORPHANS = 10.0
"""Seconds for which workers of a run that was killed are waited for, to finish their episodes."""
AGAIN = 0.05
"""Seconds between two tries."""


def hold(path: Path, what: str, patience: float | None = None) -> int:
    """Lock a file, which is made if need be, and give the descriptor that holds it.

    Waits `patience` seconds, ORPHANS unless given. Raises UsageError, which calls it `what`, where
    another process holds it for longer, and RecordingError from the system.
    """
    until = time.monotonic() + (ORPHANS if patience is None else patience)
    while True:
        try:
            lock = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        except OSError as error:
            raise from_os_error("write", path, error) from error
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if is_at(path, lock):
                return lock
        except BlockingIOError:
            if time.monotonic() > until:
                os.close(lock)
                raise UsageError(
                    f"another process is writing {what}", "wait for it to end, or end it"
                ) from None
            time.sleep(AGAIN)
        except OSError as error:
            os.close(lock)
            raise from_os_error("lock", path, error) from error
        os.close(lock)


def is_at(path: Path, lock: int) -> bool:
    """Whether an open file still has its name, which who held it before may have changed."""
    try:
        return os.path.samestat(os.fstat(lock), path.stat())
    except FileNotFoundError:
        return False
