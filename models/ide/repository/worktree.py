"""A tree of files and folders that is worked in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simharness.models.ide.repository.objects import FOLDER, PLAIN, File

if TYPE_CHECKING:
    from collections.abc import Iterator


def parents_of(path: str) -> Iterator[str]:
    """Give the folders above a path, the nearest first, without the root."""
    while "/" in path:
        path = path.rpartition("/")[0]
        yield path


class Worktree:
    """Files by path from the root, `src/shop.py`; the root itself is the empty path.

    A folder is there as long as it holds something, or if it was made.
    """

    __slots__ = ("_below", "entries", "stamps")

    def __init__(self) -> None:
        self.entries: dict[str, File] = {}
        """Files, and with the mode of a folder the folders that were made."""
        self.stamps: dict[str, int] = {}
        """Instant of the last write, by path, in microseconds."""
        self._below: dict[str, int] = {}
        """How many entries lie below each folder."""

    # --- looking ----------------------------------------------------------------------------------

    @property
    def files(self) -> dict[str, File]:
        """All files in the order of their paths."""
        entries = self.entries
        return {path: entries[path] for path in sorted(entries) if entries[path].mode != FOLDER}

    def file(self, path: str) -> File | None:
        """Give a file; None for a folder or nothing."""
        found = self.entries.get(path)
        return None if found is None or found.mode == FOLDER else found

    def is_folder(self, path: str) -> bool:
        """Tell whether a path is a folder; the root is one."""
        if not path or path in self._below:
            return True
        found = self.entries.get(path)
        return found is not None and found.mode == FOLDER

    def exists(self, path: str) -> bool:
        """Tell whether there is anything at a path."""
        return path in self.entries or self.is_folder(path)

    def names(self, folder: str) -> list[str]:
        """Name what lies in a folder, in the order of bytes."""
        head = folder + "/" if folder else ""
        found = {
            path[len(head) :].partition("/")[0]: None
            for path in self.entries
            if path.startswith(head)
        }
        return sorted(found)

    def below(self, folder: str) -> list[str]:
        """Give all entries in a folder and the folders in it."""
        head = folder + "/" if folder else ""
        return sorted(path for path in self.entries if path.startswith(head))

    def stamp(self, path: str) -> int:
        """Give when a path was last written, of a folder when anything in it was."""
        found = self.stamps.get(path)
        if found is not None:
            return found
        return max((self.stamps[inner] for inner in self.below(path)), default=0)

    # --- writing ----------------------------------------------------------------------------------

    def put(self, path: str, file: File, stamp: int) -> None:
        """Write a file or make a folder; what is in the way has been looked at."""
        if path not in self.entries:
            self._count(path, 1)
        self.entries[path] = file
        self.stamps[path] = stamp

    def write(self, path: str, text: str, stamp: int) -> None:
        """Write a file, which keeps its mode."""
        old = self.entries.get(path)
        self.put(path, File(text, PLAIN if old is None else old.mode), stamp)

    def remove(self, path: str) -> None:
        """Take an entry away; what it was in stays only if it was made or holds something else."""
        del self.entries[path], self.stamps[path]
        self._count(path, -1)

    def make_folder(self, path: str, stamp: int) -> None:
        """Make a folder."""
        self.put(path, File("", FOLDER), stamp)

    def keep_folder(self, folder: str, stamp: int) -> None:
        """Let a folder stay that has lost what was in it."""
        if folder and not self.is_folder(folder):
            self.make_folder(folder, stamp)

    def _count(self, path: str, step: int) -> None:
        for folder in parents_of(path):
            count = self._below.get(folder, 0) + step
            if count:
                self._below[folder] = count
            else:
                del self._below[folder]
