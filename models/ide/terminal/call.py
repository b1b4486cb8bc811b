"""One call of a command: its arguments, its streams, and the tree that it works on."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

from simharness.models.ide.paths import NAME_MAX, PATH_MAX, ROOT, absolute, inside
from simharness.models.ide.terminal.options import BadOption, Options, read_options

if TYPE_CHECKING:
    from collections.abc import Mapping

    from simharness.models.ide.repository.worktree import Worktree
    from simharness.models.ide.terminal.shell import Shell
    from simharness.models.ide.terminal.streams import Stream

NO_FILE = "No such file or directory"
IS_FOLDER = "Is a directory"
NO_FOLDER = "Not a directory"
EXISTS = "File exists"
DENIED = "Permission denied"
TOO_LONG = "File name too long"
NO_SPACE = "No space left on device"
NULL = "/dev/null"
ABOVE: Mapping[str, tuple[str, ...]] = {"/": ("dev", "repo"), "/dev": ("null",)}
"""What there is outside of the repository, which nobody can change."""
FILE_MAX = 2_000_000
"""Longest file that a command may write, in characters."""
TREE_MAX = 8_000_000
"""Most characters of all files together."""
ENTRIES_MAX = 3_000
"""Most files and folders that there may be; the sandbox takes a little more."""


class Trouble(Exception):  # noqa: N818  (the caller's, not ours)
    """Something that the file system refuses; the text is what tools show behind a name."""

    def __init__(self, text: str, name: str = "") -> None:
        super().__init__(text, name)
        self.text = text
        self.name = name
        """What it is about, where that isn't what the caller named."""


PLAIN = re.compile(r"[A-Za-z0-9_@%+:,./^{}-][A-Za-z0-9_@%+=:,./^{}#~-]*")
"""Names that a message shows as they are."""


def quoted(name: str) -> str:
    """Give a name as messages of GNU's tools show it: in quotes where a shell would need them."""
    if PLAIN.fullmatch(name) is not None:
        return name
    if "'" not in name:
        return f"'{name}'"
    if not any(c in name for c in '"$`\\!'):
        return f'"{name}"'
    return "'" + name.replace("'", "'\\''") + "'"


class Place(NamedTuple):
    """Where a path leads."""

    path: str
    """From `/`."""
    kind: str
    """file, folder, or empty for nothing."""

    @property
    def inner(self) -> str | None:
        """The path in the repository; None outside of it."""
        return inside(self.path)


@dataclass(slots=True)
class Call:
    """One call of a command."""

    shell: Shell
    name: str
    arguments: list[str]
    stdin: str
    out: Stream
    err: Stream
    stdin_is_file: bool = False
    """Whether what is read comes straight from a file."""

    @property
    def tree(self) -> Worktree:
        """The working tree."""
        return self.shell.tree

    # --- printing ---------------------------------------------------------------------------------

    def print(self, text: str) -> None:
        """Print a text as it is."""
        self.out.write(text)

    def fail(self, text: str, code: int = 1) -> int:
        """Print an error behind the command's name; gives the exit code."""
        self.err.write(f"{self.name}: {text}\n")
        return code

    # --- options ----------------------------------------------------------------------------------

    def options(
        self, short: str, long: Mapping[str, str] | None = None, *, in_order: bool = False
    ) -> Options:
        """Read the options. Raises BadOption."""
        return read_options(self.arguments, short, long, in_order=in_order)

    def usage(self, error: BadOption, code: int = 1) -> int:
        """Say what was wrong with the options; gives the exit code."""
        self.fail(error.text)
        self.err.write(f"Try '{self.name} --help' for more information.\n")
        return code

    # --- files ------------------------------------------------------------------------------------

    def find(self, name: str, doing: Literal["read", "write"] = "read") -> Place:
        """Follow a path; what `doing` says is noted where it leads out of the repository.

        Raises Trouble where it can't be followed: a folder on the way isn't there, or is a file.
        """
        if not name:
            raise Trouble(NO_FILE)
        meant = absolute(self.shell.folder, name)
        if inside(meant) is None and meant != NULL:
            self.shell.host.reach(doing, meant)
        parts = name.split("/")
        if len(name) > PATH_MAX or any(len(part) > NAME_MAX for part in parts):
            raise Trouble(TOO_LONG)
        here = Place("/", "folder") if name.startswith("/") else self._at(self.shell.folder)
        for number, part in enumerate(parts):
            if not part:
                # A slash at the end asks for a folder.
                if number and number == len(parts) - 1 and here.kind == "file":
                    raise Trouble(NO_FOLDER)
                continue
            if here.kind != "folder":
                raise Trouble(NO_FOLDER if here.kind == "file" else NO_FILE)
            if part == "..":
                here = self._at(here.path.rpartition("/")[0] or "/")
            elif part != ".":
                here = self._at(f"{here.path.rstrip('/')}/{part}")
        return here

    def _at(self, path: str) -> Place:
        within = inside(path)
        if within is None:
            kind = "folder" if path in ABOVE else "file" if path == NULL else ""
        elif self.tree.is_folder(within):
            kind = "folder"
        else:
            kind = "file" if within in self.tree.entries else ""
        return Place(path, kind)

    def exists(self, name: str) -> Place:
        """Follow a path to something that is there. Raises Trouble."""
        place = self.find(name)
        if not place.kind:
            raise Trouble(NO_FILE)
        return place

    def names(self, place: Place) -> list[str]:
        """Name what is in a folder."""
        within = place.inner
        return list(ABOVE[place.path]) if within is None else self.tree.names(within)

    def read(self, name: str) -> str:
        """Read a file, or for `-` what is piped in. Raises Trouble."""
        if name == "-":
            return self.stdin
        return self.content(self.exists(name))

    def content(self, place: Place) -> str:
        """Read what is at a place. Raises Trouble for a folder."""
        if place.kind == "folder":
            raise Trouble(IS_FOLDER)
        within = place.inner
        return "" if within is None else self.tree.entries[within].text

    def writable(self, name: str) -> str:
        """Give where a file can be written; an empty text for nowhere. Raises Trouble."""
        place = self.find(name, "write")
        if place.kind == "folder" or name.endswith("/"):
            raise Trouble(IS_FOLDER)
        within = place.inner
        if within is None:
            if place.path == NULL:
                return ""
            raise Trouble(DENIED)
        return within

    def write(self, within: str, text: str) -> None:
        """Write a file that `writable` has given. Raises Trouble for too much."""
        if not within:
            return
        old = self.tree.entries.get(within)
        total = self.shell.size + len(text) - (0 if old is None else len(old.text))
        if len(text) > FILE_MAX or total > TREE_MAX:
            raise Trouble(NO_SPACE)
        self.require_entry(within)
        self.shell.size = total
        self.tree.write(within, text, self.shell.now)

    def require_entry(self, within: str) -> None:
        """Refuse a file or folder more than there may be. Raises Trouble."""
        entries = self.tree.entries
        if within not in entries and len(entries) >= ENTRIES_MAX:
            raise Trouble(NO_SPACE)

    def shown(self, place: Place) -> str:
        """Give a path as one that stands in the root would write it."""
        return place.path.removeprefix(ROOT + "/")
