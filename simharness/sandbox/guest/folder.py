"""The one folder there is: files in memory, by path."""

# The program's objects are of any type, and nothing is known of them.
# pyright: reportUnknownArgumentType=false, reportUnknownLambdaType=false
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false

from __future__ import annotations

import errno
import os
import stat
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from simharness.sandbox.guest.clock import Clock
    from simharness.sandbox.guest.report import Report

ROOT = "/repo"
"""Where the files that were given stand; it is also the working directory."""
SCRATCH = "/tmp"
"""A folder for temporary files; nothing in it leaves the sandbox."""
PATH_MAX = 4096
INTERPRETER = ("/python/", "/0/", "/1/", "/bundled/", "/world/")
"""Where the interpreter's own files were when it was built; tracebacks look for their lines."""
OUTSIDE_MAX = 100
"""Paths outside that are told of."""


class Node:
    """A file, or a folder (which has no data)."""

    __slots__ = ("data", "mode", "mtime_ns", "number")

    def __init__(self, number: int, data: bytearray | None, mode: int, mtime_ns: int) -> None:
        self.number = number
        self.data = data
        self.mode = mode
        self.mtime_ns = mtime_ns


def failure(number: int, path: object = None, other: object = None) -> OSError:
    """Build the error that the system would raise."""
    args: tuple[Any, ...] = (number, os.strerror(number))
    if path is not None:
        args = (*args, path) if other is None else (*args, path, None, other)
    return OSError(*args)


class Folder:
    """All files and folders, by absolute path; there are no links."""

    def __init__(self, report: Report, clock: Clock) -> None:
        self._report = report
        self._clock = clock
        self.nodes: dict[str, Node] = {}
        self.cwd = ROOT
        self.file_bytes_max = self.total_bytes_max = self.files_max = 0
        self.used = 0
        """Bytes in all files."""
        self._numbers = 0
        self._changes = 0
        self._outside: dict[tuple[str, str], None] = {}

    def begin(self, files: dict[str, bytes], limits: dict[str, int]) -> None:
        """Lay out the files that were given, by relative path."""
        self.file_bytes_max = limits["file_bytes"]
        self.total_bytes_max = limits["total_bytes"]
        self.files_max = limits["files"]
        self.nodes = {}
        self._numbers = self._changes = self.used = 0
        self._outside = {}
        self.cwd = ROOT
        for path in ("/", ROOT, SCRATCH):
            self._add(path, None, 0o755)
        for name in sorted(files):
            path = f"{ROOT}/{name}"
            self._folders_of(path)
            self._add(path, bytearray(files[name]), 0o644)

    def _folders_of(self, path: str) -> None:
        parent = path.rpartition("/")[0] or "/"
        if parent not in self.nodes:
            self._folders_of(parent)
            self._add(parent, None, 0o755)

    def _add(self, path: str, data: bytearray | None, mode: int) -> Node:
        self._numbers += 1
        kind = stat.S_IFDIR if data is None else stat.S_IFREG
        node = Node(self._numbers, data, kind | (mode & 0o777), self.tick())
        self.nodes[path] = node
        self.used += len(data or b"")
        return node

    def tick(self) -> int:
        """Give the time of a change; each is a microsecond after the one before."""
        self._changes += 1
        return self._clock.time_ns() + self._changes * 1000

    # --- paths --------------------------------------------------------------------------------

    def resolve(self, path: Any) -> str:
        """Give the absolute form of a path."""
        given = os.fspath(path)
        text = os.fsdecode(given)
        if "\0" in text:
            raise ValueError("embedded null byte")
        if not text:
            raise failure(errno.ENOENT, given)
        if len(text) > PATH_MAX:
            raise failure(errno.ENAMETOOLONG, given)
        parts: list[str] = [] if text[0] == "/" else self.cwd.strip("/").split("/")
        for part in text.split("/"):
            if part == "..":
                if parts:
                    parts.pop()
            elif part not in ("", "."):
                parts.append(part)
        return "/" + "/".join(p for p in parts if p)

    def inside(self, path: str) -> bool:
        """Say whether a path is one that a program may write to."""
        return path.startswith((f"{ROOT}/", f"{SCRATCH}/")) or path in (ROOT, SCRATCH)

    def outside(self, doing: str, path: str) -> None:
        """Tell the host that a path was touched which isn't in any folder there is."""
        if doing == "read" and path.startswith(INTERPRETER):
            return
        key = (doing, path[:200])
        if key not in self._outside and len(self._outside) < OUTSIDE_MAX:
            self._outside[key] = None
            self._report.event("outside", doing, path[:200])

    def find(self, path: Any, doing: str = "read") -> tuple[str, Node]:
        """Find what stands at a path."""
        full = self.resolve(path)
        node = self.nodes.get(full)
        if node is None:
            if not self.inside(full):
                self.outside(doing, full)
            parent = self.nodes.get(full.rpartition("/")[0] or "/")
            missing = parent is None or parent.data is None
            raise failure(errno.ENOENT if missing else errno.ENOTDIR, path)
        if node.data is not None and os.fsdecode(path).endswith("/"):
            raise failure(errno.ENOTDIR, path)
        return full, node

    def parent(self, path: Any, doing: str) -> tuple[str, Node | None]:
        """Give the full path that is about to be made or changed, and what stands there."""
        full = self.resolve(path)
        if not self.inside(full) or full in (ROOT, SCRATCH):
            self.outside(doing, full)
            raise failure(errno.EACCES, path)
        above = self.nodes.get(full.rpartition("/")[0])
        if above is None:
            raise failure(errno.ENOENT, path)
        if above.data is not None:
            raise failure(errno.ENOTDIR, path)
        return full, self.nodes.get(full)

    def touched(self, path: str) -> None:
        """Date the folder that a path is in."""
        above = self.nodes.get(path.rpartition("/")[0] or "/")
        if above is not None:
            above.mtime_ns = self.tick()

    def children(self, path: str) -> list[str]:
        """Name what is in a folder, in the order of code points."""
        prefix = "/" if path == "/" else f"{path}/"
        start = len(prefix)
        return sorted(
            name[start:]
            for name in self.nodes
            if name.startswith(prefix) and len(name) > start and "/" not in name[start:]
        )

    # --- changes ------------------------------------------------------------------------------

    def create(self, path: str, data: bytearray | None, mode: int, shown: Any) -> Node:
        """Make a file or a folder where there is none."""
        if len(self.nodes) >= self.files_max:
            raise failure(errno.ENOSPC, shown)
        node = self._add(path, data, mode)
        self.touched(path)
        if data is None:
            self.tell_folder(path)
        else:
            self.tell_file(path)
        return node

    def resize(self, node: Node, size: int) -> None:
        """Make room for bytes up to `size`, or cut what is beyond."""
        data = node.data
        assert data is not None
        if size > self.file_bytes_max:
            raise failure(errno.EFBIG)
        grown = size - len(data)
        if grown > 0:
            if self.used + grown > self.total_bytes_max:
                raise failure(errno.ENOSPC)
            data.extend(bytes(grown))
        else:
            del data[size:]
        self.used += grown
        node.mtime_ns = self.tick()

    def remove(self, path: str) -> None:
        """Take a file or an empty folder away."""
        node = self.nodes.pop(path)
        self.used -= len(node.data or b"")
        self.touched(path)
        self._tell("removed", path)

    def move(self, source: str, target: str) -> None:
        """Move a file, or a folder with all that is in it."""
        moved = [p for p in self.nodes if p == source or p.startswith(f"{source}/")]
        if target in self.nodes:
            self.remove(target)
        for path in moved:
            node = self.nodes.pop(path)
            new = target + path[len(source) :]
            self.nodes[new] = node
            self._tell("removed", path)
            if node.data is None:
                self.tell_folder(new)
            else:
                self.tell_file(new)
        self.touched(source)
        self.touched(target)

    def tell_file(self, path: str) -> None:
        """Tell the host what is in a file now."""
        node = self.nodes.get(path)
        if node is None or node.data is None or not path.startswith(f"{ROOT}/"):
            return
        try:
            self._tell("file", path, node.data.decode("utf-8"))
        except UnicodeDecodeError:
            self._tell("bytes", path, node.data.hex())

    def tell_folder(self, path: str) -> None:
        """Tell the host of a folder that is there now."""
        self._tell("folder", path)

    def _tell(self, kind: str, path: str, *parts: str) -> None:
        if path.startswith(f"{ROOT}/"):
            self._report.event(kind, path[len(ROOT) + 1 :], *parts)
