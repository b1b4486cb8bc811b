"""Where things are: paths as people write them, and as the repository has them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simharness.api import Refused, evidence

if TYPE_CHECKING:
    from simharness.api import Operation

ROOT = "/repo"
"""Where the repository lies in the terminal."""
NAME_MAX = 255
PATH_MAX = 1000


def absolute(folder: str, path: str) -> str:
    """Give a path from `/`, with `.` and `..` worked out; `folder` is where one stands."""
    parts: list[str] = []
    whole = path if path.startswith("/") else f"{folder}/{path}"
    for part in whole.split("/"):
        if part == "..":
            del parts[-1:]
        elif part not in ("", "."):
            parts.append(part)
    return "/" + "/".join(parts)


def inside(path: str) -> str | None:
    """Give the path in the repository of one from `/`; None for one outside of it."""
    if path == ROOT:
        return ""
    return path[len(ROOT) + 1 :] if path.startswith(ROOT + "/") else None


def repository_path(path: str) -> str:
    """Give the path in the repository that a caller means, by its root or by `/repo`.

    Raises Refused `invalid_arguments` for one outside of the repository or that no file can have.
    """
    found = inside(absolute(ROOT, path))
    if found is None:
        raise Refused("invalid_arguments", f"path {path!a:.80} is outside of the repository")
    names = found.split("/")
    if len(found) > PATH_MAX or any(len(name) > NAME_MAX for name in names) or "\0" in found:
        raise Refused("invalid_arguments", f"path {path!a:.80} is none that a file can have")
    if names[0] == ".git":
        raise Refused("invalid_arguments", "the repository's own data are not for editing")
    return found


def place_of(op: Operation, path: str, doing: str = "read") -> str:
    """Give the path in the repository that a call means; what leads out of it goes on record.

    Raises Refused `invalid_arguments`.
    """
    if inside(absolute(ROOT, path)) is None:
        evidence.beyond(op, doing, path)
    return repository_path(path)
