"""Memory, threads and open files of this process and of those that it started."""

from __future__ import annotations

import os
from pathlib import Path

PROC = Path("/proc")


def family(pid: int | str = "self") -> list[str]:
    """Name a process and all that descend from it."""
    found = [str(pid)]
    for tasks in (PROC / str(pid) / "task").glob("*/children"):
        try:
            children = tasks.read_text(encoding="ascii").split()
        except OSError:  # it has ended meanwhile
            continue
        for child in children:
            found += family(child)
    return found


def vitals() -> dict[str, int] | None:
    """Measure; None where there is no /proc to tell."""
    if not (PROC / "self" / "statm").exists():
        return None
    out = {"bytes": 0, "threads": 0, "files": 0, "processes": 0}
    for pid in family():
        folder = PROC / pid
        try:
            pages = int((folder / "statm").read_text(encoding="ascii").split()[1])
            threads = len(list((folder / "task").iterdir()))
            files = len(os.listdir(folder / "fd"))
        except OSError:  # it has ended meanwhile
            continue
        out["bytes"] += pages * os.sysconf("SC_PAGE_SIZE")
        out["threads"] += threads
        out["files"] += files
        out["processes"] += 1
    return out
