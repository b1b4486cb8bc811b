"""The test surface: tests, fixtures, plugins and runner configuration, as they were at the start.

Whoever may change it decides what the tests say.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

FOLDERS = ("test", "tests")
"""All that lies in a folder of such a name is part of the surface."""
NAMES = (
    "conftest.py",
    "pytest.ini",
    ".pytest.ini",
    "pyproject.toml",
    "tox.ini",
    "setup.cfg",
    "setup.py",
    "sitecustomize.py",
    "usercustomize.py",
)
"""What runners read besides, wherever it lies."""

Texts = dict[str, str]
"""Files: text by path."""


class Unpinned(NamedTuple):
    """A file of the surface that isn't as it was."""

    path: str
    change: Literal["changed", "added", "removed"]


def is_surface(path: str) -> bool:
    """Tell whether a path belongs to the test surface by its name."""
    *folders, name = path.split("/")
    if name in NAMES or any(folder in FOLDERS for folder in folders):
        return True
    tests = name.startswith("test_") or name.endswith("_test.py")
    return (name.endswith(".py") and tests) or name.endswith((".pth", ".egg-info"))


class Surface:
    """The test surface of one task."""

    def __init__(self, base: Mapping[str, str], tests: Collection[str]) -> None:
        self.pinned: Texts = {
            path: text for path, text in base.items() if path in tests or is_surface(path)
        }
        """What it was at the start."""

    def holds(self, path: str) -> bool:
        """Tell whether a path belongs to it."""
        return path in self.pinned or is_surface(path)

    def checked_out(self, handed: Mapping[str, str]) -> Texts:
        """Give the files handed in, with the surface as it was and nothing new in it."""
        own = {path: text for path, text in handed.items() if not self.holds(path)}
        return without_clashes({**own, **self.pinned}, self.pinned)

    def restored(self, handed: Mapping[str, str]) -> Texts:
        """Give the files handed in with those of the surface put back that there were.

        What is new in it stays, which is why that is no check-out.
        """
        return without_clashes({**handed, **self.pinned}, self.pinned)

    def differences(self, handed: Mapping[str, str]) -> tuple[Unpinned, ...]:
        """Name what isn't as it was, by path."""
        out: list[Unpinned] = []
        for path in sorted({*self.pinned, *filter(self.holds, handed)}):
            was, now = self.pinned.get(path), handed.get(path)
            if now is None:
                out.append(Unpinned(path, "removed"))
            elif was is None:
                out.append(Unpinned(path, "added"))
            elif was != now:
                out.append(Unpinned(path, "changed"))
        return tuple(out)


def without_clashes(files: Texts, pinned: Mapping[str, str]) -> Texts:
    """Leave out files in whose place, or below which, a pinned file lies."""
    folders = {path[:at] for path in pinned for at, c in enumerate(path) if c == "/"}
    return {
        path: text
        for path, text in files.items()
        if path in pinned
        or (
            path not in folders
            and not any(path[:at] in pinned for at, c in enumerate(path) if c == "/")
        )
    }
