"""Files and commits, and the names that git gives them.

A commit's name, its rev, is the one that git would compute: SHA-1 over the commit's text, which
holds the name of its tree. So equal histories have equal revs, in every process.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha1
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

PLAIN = "100644"
EXECUTABLE = "100755"
FOLDER = "040000"
"""Mode of a folder that has been made and holds no file."""
SHORT = 7
"""Length of a rev as people write it."""


class File(NamedTuple):
    """One file of a tree."""

    text: str
    mode: str = PLAIN


class Delta(NamedTuple):
    """What happened to one path between two trees."""

    path: str
    old: File | None
    new: File | None

    @property
    def letter(self) -> str:
        """A, D or M."""
        if self.old is None:
            return "A"
        return "D" if self.new is None else "M"


@dataclass(frozen=True, slots=True, kw_only=True)
class Commit:
    """One commit: a whole tree, and what it came from."""

    rev: str
    parents: tuple[str, ...]
    author: str
    """Name and address, as `Ada Min <ada@shop.example>`."""
    message: str
    """Without the newline at its end."""
    at: int
    """Seconds since 1970."""
    tree: Mapping[str, File]
    """Files by path, in the order of their bytes."""

    @property
    def short(self) -> str:
        """The first seven digits of the rev."""
        return self.rev[:SHORT]

    @property
    def subject(self) -> str:
        """The first paragraph of the message, in one line."""
        return " ".join(self.message.partition("\n\n")[0].split("\n"))


def encoded(text: str) -> bytes:
    """Give the bytes of a text; a lone surrogate keeps the three bytes that it would have."""
    return text.encode("utf-8", "surrogatepass")


def name_of(kind: str, body: bytes) -> bytes:
    """Give the 20 bytes that name an object."""
    return sha1(b"%s %d\0%s" % (kind.encode(), len(body), body), usedforsecurity=False).digest()


def blob_name(text: str) -> str:
    """Give the name of a file's content, 40 digits."""
    return name_of("blob", encoded(text)).hex()


def ordered(files: Mapping[str, File]) -> dict[str, File]:
    """Give files in the order of their paths' bytes, which is that of their code points."""
    return {path: files[path] for path in sorted(files)}


def tree_name(files: Mapping[str, File]) -> bytes:
    """Give the 20 bytes that name a tree."""
    entries: list[tuple[str, bytes]] = []
    below: dict[str, dict[str, File]] = {}
    for path, file in files.items():
        head, slash, rest = path.partition("/")
        if slash:
            below.setdefault(head, {})[rest] = file
        else:
            blob = name_of("blob", encoded(file.text))
            entries.append((head, f"{file.mode} {head}\0".encode() + blob))
    for head, inner in below.items():
        # A folder is sorted as if its name ended in a slash, and its mode has no zero before it.
        entries.append((head + "/", f"40000 {head}\0".encode() + tree_name(inner)))
    return name_of("tree", b"".join(entry for _, entry in sorted(entries)))


def make_commit(
    files: Mapping[str, File], *, parents: Iterable[str], author: str, message: str, at: int
) -> Commit:
    """Make a commit and name it.

    Args:
        files: The whole tree.
        parents: Revs, the branch's own first.
        author: Name and address; it is the committer too.
        message: Spaces around it are left out.
        at: Seconds since 1970, UTC.
    """
    above = tuple(parents)
    said = message.strip()
    lines = [f"tree {tree_name(files).hex()}", *(f"parent {rev}" for rev in above)]
    lines += [f"{role} {author} {at} +0000" for role in ("author", "committer")]
    rev = name_of("commit", encoded("\n".join([*lines, "", said, ""]))).hex()
    tree = MappingProxyType(ordered(files))
    return Commit(rev=rev, parents=above, author=author, message=said, at=at, tree=tree)


def deltas(old: Mapping[str, File], new: Mapping[str, File]) -> list[Delta]:
    """Give what differs between two trees, by path."""
    out: list[Delta] = []
    for path in sorted({**old, **new}):
        before, after = old.get(path), new.get(path)
        if before != after:
            out.append(Delta(path, before, after))
    return out


def changed_tree(tree: Mapping[str, File], changes: Iterable[Delta]) -> dict[str, File]:
    """Give a tree with the new side of some deltas in it."""
    out = dict(tree)
    for delta in changes:
        if delta.new is None:
            out.pop(delta.path, None)
        else:
            out[delta.path] = delta.new
    return out
