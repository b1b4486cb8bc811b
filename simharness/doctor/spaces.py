"""Actions of a target: drawn from its space or from a list, as JSON.

Spaces are those of Gymnasium, known by what they can do, so that Gymnasium isn't needed for others.
"""

from __future__ import annotations

import json
import random
from typing import Any, Protocol

WRONG_TEXT = "\x00 this is no action"


class Actions(Protocol):
    """Where actions come from."""

    def draw(self, seed: int, count: int) -> list[Any]:
        """Draw actions as JSON."""
        ...

    def null(self) -> Any:
        """Give the one that does nothing, or the first."""
        ...

    def garbage(self) -> list[tuple[str, Any]]:
        """Give what is no action, each with its name."""
        ...

    def revive(self, action: Any) -> Any:
        """Make the action that the target takes of its JSON."""
        ...


class Listed:
    """Actions that were given as a list; the first is taken for the one that does nothing."""

    def __init__(self, actions: list[Any], space: Any = None) -> None:
        """Take the actions, and the space that they are from, if there is one."""
        self._actions = actions
        self._space = space

    def draw(self, seed: int, count: int) -> list[Any]:
        """Draw actions as JSON."""
        drawn = random.Random(seed)  # noqa: S311
        return [self._actions[drawn.randrange(len(self._actions))] for _ in range(count)]

    def null(self) -> Any:
        """Give the first."""
        return self._actions[0]

    def garbage(self) -> list[tuple[str, Any]]:
        """Give what is no action."""
        if self._space is not None:
            return garbage_of(self._space)
        return [("a text that is no action", WRONG_TEXT), ("a map", {"no such action": 1})]

    def revive(self, action: Any) -> Any:
        """Give the action itself."""
        return action


class Spaced:
    """Actions of a space, which writes and reads their JSON."""

    def __init__(self, space: Any) -> None:
        self._space = space

    def draw(self, seed: int, count: int) -> list[Any]:
        """Draw actions as JSON."""
        self._space.seed(seed)
        return [self._written(self._space.sample()) for _ in range(count)]

    def null(self) -> Any:
        """Give the first action of the space: zero, the shortest text, and so on within."""
        return self._written(first_of(self._space))

    def garbage(self) -> list[tuple[str, Any]]:
        """Give what is no action, by the space's own word."""
        return [(name, {"raw": wrong}) for name, wrong in garbage_of(self._space)]

    def revive(self, action: Any) -> Any:
        """Make the action that the target takes of its JSON."""
        if "raw" in action:
            return action["raw"]
        return self._space.from_jsonable(action["space"])[0]

    def _written(self, action: Any) -> Any:
        written = self._space.to_jsonable([action])
        return {"space": json.loads(json.dumps(written, default=plain))}


def garbage_of(space: Any) -> list[tuple[str, Any]]:
    """Give what is no action by a space's own word; what takes texts may take any."""
    tried: list[tuple[str, Any]] = [("a number", 17)]
    if type(space).__name__ == "Discrete":
        tried = [("the number after the last action", int(space.start + space.n))]
    if type(space).__name__ != "Text":
        tried.append(("a text that is no action", WRONG_TEXT))
    return [(name, wrong) for name, wrong in tried if not space.contains(wrong)]


def plain(value: Any) -> Any:
    """Give what JSON has a form for: of a number of NumPy, Python's."""
    return value.item() if value.ndim == 0 else value.tolist()


def first_of(space: Any) -> Any:
    """Give the first element of a space; of one that has no first, a drawn one."""
    match type(space).__name__:
        case "Discrete":
            return space.start
        case "Box":
            return (0 * space.sample()).clip(space.low, space.high)
        case "MultiDiscrete":
            return space.start
        case "MultiBinary":
            return 0 * space.sample()
        case "Text" if space.min_length == 0:
            return ""
        case "Tuple":
            return tuple(map(first_of, space.spaces))
        case "Dict":
            return {name: first_of(part) for name, part in space.spaces.items()}
        case _:
            space.seed(0)
            return space.sample()


def is_space(value: Any) -> bool:
    """Tell whether actions can be drawn from it."""
    parts = ("sample", "seed", "contains", "to_jsonable", "from_jsonable")
    return all(callable(getattr(value, name, None)) for name in parts)
