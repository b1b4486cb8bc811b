"""Leaks of a world that goes on for long: memory beyond what its truth takes, and who takes it.

The truth grows: every version of a row is kept. What grows beyond that is a leak, of the product or
of this package, and is named by the lines that allocated it, in a second world of the same seed.
"""

from __future__ import annotations

import ctypes
import gc
import linecache
import os
import resource
import tracemalloc
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from simharness.episode.episode import Episode

VERSION_BYTES = 2_000
"""What a version of a row may take, with its change, its ids and what refers to it."""
PING_BYTES = 1_000
"""What a ping may take besides."""
SLACK_BYTES = 16_000_000
"""What a process may take besides: arenas of the allocator, modules imported late."""
NAMED = 3
STATM = Path("/proc/self/statm")


def resident() -> int:
    """Give the memory of this process in bytes; where only its peak is known, that."""
    try:
        return int(STATM.read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def give_back() -> None:
    """Have the C library give back what it keeps for later, where it can.

    Memory that was freed and stays with the process hides a leak: what leaks is put there first.
    """
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


@dataclass(frozen=True, slots=True)
class Size:
    """How large a world is at one moment."""

    pings: int
    resident: int
    """Bytes of the process."""
    versions: int
    """Versions of all rows, those of the start included."""

    def excess_after(self, earlier: Size) -> int:
        """Give the bytes that it has grown by since, beyond what that may take; 0 for none."""
        growth = self.resident - earlier.resident
        allowed = (self.versions - earlier.versions) * VERSION_BYTES
        excess = growth - allowed
        most = max(SLACK_BYTES, (self.pings - earlier.pings) * PING_BYTES)
        return excess if excess > most else 0


def size_of(episode: Episode, pings: int) -> Size:
    """Measure a world."""
    gc.collect()
    give_back()
    tables = [store.table for store in episode.product.stores.values()]
    versions = sum(len(t.rows) + sum(map(len, t.history.values())) for t in tables)
    return Size(pings, resident(), versions)


class Allocations:
    """Says which lines have allocated most of what is alive since."""

    def __init__(self) -> None:
        tracemalloc.start()
        self._before: tracemalloc.Snapshot | None = None

    def mark(self) -> None:
        """Count from here."""
        gc.collect()
        self._before = tracemalloc.take_snapshot()

    def lines(self) -> list[str]:
        """Name the lines, the worst first, and stop counting."""
        gc.collect()
        after = tracemalloc.take_snapshot()
        tracemalloc.stop()
        if self._before is None:
            return []
        found = [
            stat
            for stat in after.compare_to(self._before, "lineno")
            if stat.size_diff > 0 and not stat.traceback[0].filename.startswith("<")
        ]
        return [
            f"{shown(stat.traceback[0].filename)}:{stat.traceback[0].lineno} "
            f"+{stat.size_diff / 1e6:.1f} MB in {stat.count_diff} blocks: "
            + linecache.getline(stat.traceback[0].filename, stat.traceback[0].lineno).strip()
            for stat in found[:NAMED]
        ]


def shown(file: str) -> str:
    """Show a path with its last two parts."""
    return "/".join(Path(file).parts[-2:])
