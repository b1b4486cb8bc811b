"""Leaks of a world that goes on for long: memory beyond what its truth takes, and who takes it.

The truth grows: every version of a row is kept. What grows beyond that is a leak, of the product or
of this package, and is named by the lines that allocated it, in a second world of the same seed.
"""

from __future__ import annotations

import gc
import linecache
import tracemalloc
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from simharness.memory import settled

if TYPE_CHECKING:
    from simharness.episode.episode import Episode

VERSION_BYTES = 2_000
"""What a version of a row may take, with its change, its ids and what refers to it."""
PING_BYTES = 1_000
"""What a ping may take besides."""
SLACK_BYTES = 16_000_000
"""What a process may take besides: arenas of the allocator, modules imported late."""
NAMED = 3


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
    tables = [store.table for store in episode.product.stores.values()]
    versions = sum(len(t.rows) + sum(map(len, t.history.values())) for t in tables)
    return Size(pings, settled(), versions)


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
