"""The memory of this process, as a measure of what stays behind."""

from __future__ import annotations

import ctypes
import gc
import resource
import sys
from pathlib import Path

STATM = Path("/proc/self/statm")


def give_back() -> None:
    """Give the system back what this process has freed and kept."""
    gc.collect()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


def settled() -> int:
    """Give the bytes that this process has once it has given back what it can.

    Memory that was freed and stays with the process hides a leak: what leaks is put there first.
    Where the system doesn't tell how much it has, the most that it ever had.
    """
    give_back()
    if STATM.exists():
        return int(STATM.read_text(encoding="ascii").split()[1]) * resource.getpagesize()
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024
