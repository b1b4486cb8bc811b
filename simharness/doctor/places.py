"""Which lines are a target's own, and at which of them an exception tells most."""

from __future__ import annotations

import ast
import functools
import inspect
import os
import sysconfig
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

Place = tuple[str, int]
"""A file and a line."""

LIBRARIES = frozenset(("gym", "gymnasium"))
"""Packages whose wrappers and makers are no part of a target, but for the environment in them."""
PACKAGES = ("site-packages", "dist-packages")
STDLIB = os.path.realpath(sysconfig.get_path("stdlib")) + os.sep
DOCTOR = os.path.realpath(os.path.dirname(__file__)) + os.sep


def own_code(env: Any, factory: Any = None) -> list[str]:
    """Give the folders and files of an environment, of all that it wraps, and of its factory."""
    base = getattr(env, "unwrapped", env)
    found: list[Any] = [type(base)]
    for layer in layers(env):
        own, *bases = type(layer).__mro__
        found += [own, *(one for one in bases if not installed(one))]
    if factory is not None:
        found.append(inspect.unwrap(factory))
    kept = [one for one in found if one is found[0] or top(one) not in LIBRARIES]
    return sorted({place for one in kept if (place := own_place(one))})


def layers(env: Any) -> list[Any]:
    """Give an environment, and those that it holds, such as one that it wraps."""
    out: list[Any] = []
    todo = [env]
    while todo:
        one = todo.pop()
        if any(one is other for other in out):
            continue
        out.append(one)
        held: list[Any] = [getattr(one, "unwrapped", None), *getattr(one, "__dict__", {}).values()]
        todo += [part for part in held if is_env(part)]
    return out


def is_env(value: object) -> bool:
    """Tell whether something is an environment, by its type: values may answer to any name."""
    return all(callable(getattr(type(value), name, None)) for name in ("reset", "step"))


def top(found: Any) -> str:
    """Give the package that something is from."""
    return str(getattr(found, "__module__", "")).partition(".")[0]


def installed(found: Any) -> bool:
    """Tell whether something is of a package that is installed, or not from a file of its own."""
    place = own_place(found)
    return not place or any(name in place for name in PACKAGES)


def own_place(found: Any) -> str:
    """Give the folder of a class's file, with a slash at the end; of a lone module, its file.

    What is Python's own has none.
    """
    try:
        path = Path(inspect.getfile(found)).resolve()
    except (OSError, TypeError):
        return ""
    place = str(path) if path.parent.name in PACKAGES else f"{path.parent}{os.sep}"
    python = place.startswith(STDLIB) and not any(name in place for name in PACKAGES)
    return "" if python else place


@functools.cache
def owns(code: tuple[str, ...], file: str) -> bool:
    """Tell whether a file is one of the target's own."""
    if file.startswith("<"):
        return False  # what code has made, such as the methods of a dataclass, is no file
    name = os.path.realpath(file)
    if name.startswith(DOCTOR):
        return False  # its folder may be above this one
    return any(
        name == one
        or (one.endswith(os.sep) and name.startswith(one)
            and not any(part in name[len(one) :] for part in PACKAGES))
        for one in code
    )  # fmt: skip


def named(file: str) -> str:
    """Name a file in few words: with its folder."""
    return os.path.join(*Path(file).parts[-2:])


def spread(places: Sequence[Place], most: int) -> list[Place]:
    """Choose up to `most` places, first those at which something may catch what is raised.

    Of those not more than half, unless there aren't as many others, and all evenly.
    """
    guarded = [place for place in places if place[1] in guarded_lines(place[0])]
    others = [place for place in places if place[1] not in guarded_lines(place[0])]
    room = max(most // 2, most - len(others))
    chosen = evenly(guarded, room)
    return sorted([*chosen, *evenly(others, most - len(chosen))])


def evenly(places: Sequence[Place], most: int) -> Sequence[Place]:
    """Choose up to `most` of them, evenly."""
    if len(places) <= most:
        return places
    return [places[k * len(places) // most] for k in range(most)]


@functools.cache
def guarded_lines(file: str) -> frozenset[int]:
    """Give the lines of a file that stand in a `try` with handlers, or in a `with`."""
    try:
        tree = ast.parse(Path(file).read_bytes())
    except (OSError, SyntaxError, ValueError):
        return frozenset()  # made by code, or written in something else
    lines: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.With) or (isinstance(node, ast.Try) and node.handlers):
            lines |= {*range(node.body[0].lineno, (node.body[-1].end_lineno or 0) + 1)}
    return frozenset(lines)
