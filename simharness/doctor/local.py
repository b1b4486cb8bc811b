"""Targets whose code runs in this process: Gymnasium ids, and factories.

A factory gives something with `reset(seed=...)`, which answers an observation and an info, and
`step(action)`, which answers observation, reward, terminated, truncated and info; and with an
`action_space` of Gymnasium, or `actions`, a list, unless actions are given.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
import math
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from simharness.doctor.canonical import canonical
from simharness.doctor.places import own_code
from simharness.doctor.session import Turn, Unusable, refusal
from simharness.doctor.spaces import Listed, Spaced, is_space

if TYPE_CHECKING:
    from simharness.doctor.spaces import Actions

PLAIN_WRAPPERS = ("OrderEnforcing", "PassiveEnvChecker", "TimeLimit")
"""Those that Gymnasium makes of itself; they leave rewards as they are."""
FORM = "expected (observation, reward, terminated, truncated, info)"


class LocalSource:
    """Gives sessions of what a callable makes."""

    def __init__(self, job: dict[str, Any]) -> None:
        self._make = maker_of(job)
        self._options: dict[str, Any] = job["reset"]
        self._ignored = frozenset(job["ignored"])
        made = self._make()
        self._actions = actions_of(made, job["actions"])
        self._gymnasium = job["kind"] == "gymnasium"
        spec = getattr(made, "spec", None)
        inner: object = getattr(made, "unwrapped", made)
        self.facts: dict[str, Any] = {
            "class": f"{type(inner).__module__}.{type(inner).__qualname__}",
            "full": getattr(spec, "reward_threshold", None),
            "range": declared_range(made),
            "code": own_code(made, self._make.func),
        }
        close = getattr(made, "close", None)
        if callable(close):
            close()

    def open(self) -> LocalSession:
        """Open a session."""
        return LocalSession(self._make(), self._actions, self._options, self._ignored)

    def draw(self, seed: int, count: int) -> list[Any]:
        """Draw actions as JSON."""
        return self._actions.draw(seed, count)

    def null(self) -> Any:
        """Give the first action."""
        return self._actions.null()

    def garbage(self) -> list[tuple[str, Any]]:
        """Give what is no action."""
        return self._actions.garbage()

    def close(self) -> None:
        """Nothing is held."""


class LocalSession:
    """One environment in this process."""

    def __init__(
        self, env: Any, actions: Actions, options: dict[str, Any], ignored: frozenset[str]
    ) -> None:
        self._env = env
        self._actions = actions
        self._options = options
        self._ignored = ignored
        self._space = getattr(env, "observation_space", None)

    def reset(self, seed: int | None) -> Turn:
        """Begin an episode."""
        options = {"options": self._options} if self._options else {}
        answer = self._env.reset(seed=seed, **options)
        observation: Any
        info: Any
        if is_tuple(answer, 2) and type(answer[1]) is dict:
            observation, info = answer
            flaws = self._flaws(observation)
        else:
            observation, info = answer, {}
            flaws = (*self._flaws(observation), "reset doesn't answer (observation, info)")
        return Turn(
            observation=canonical(observation, self._ignored),
            info=canonical(info, self._ignored),
            flaws=flaws,
        )

    def step(self, action: Any) -> Turn:
        """Act."""
        answer = self._env.step(self._actions.revive(action))
        if not is_tuple(answer, 5):
            raise Unusable(f"step answers {answer!r:.80}", FORM)
        observation: Any
        info: Any
        observation, reward, terminated, truncated, info = answer
        refused = refusal(observation) or refusal(info)
        flaws = list(self._flaws(observation))
        for name, value in (("terminated", terminated), ("truncated", truncated)):
            # NumPy's has another type, and is as good.
            if type(value).__name__ not in ("bool", "bool_"):
                flaws.append(f"{name} is {value!r:.40}, and no bool")
        if type(info) is not dict:
            flaws.append(f"info is {info!r:.40}, and no dict")
        return Turn(
            observation=canonical(observation, self._ignored),
            info=canonical(info, self._ignored),
            reward=plain_reward(reward),
            terminated=bool(terminated),
            truncated=bool(truncated),
            flaws=tuple(flaws),
            refused=refused,
        )

    def close(self) -> None:
        """Close the environment, if it can be."""
        close = getattr(self._env, "close", None)
        if callable(close):
            close()

    def _flaws(self, observation: Any) -> tuple[str, ...]:
        if self._space is None or self._space.contains(observation):
            return ()
        shown = canonical(observation)[:80]
        return (f"the observation {shown} is not in {self._space!r:.120}",)


def is_tuple(value: object, length: int) -> bool:
    """Tell whether a value is a tuple of a length."""
    return isinstance(value, tuple) and len(cast("tuple[object, ...]", value)) == length


def plain_reward(reward: Any) -> Any:
    """Make Python's number of one of NumPy."""
    item = getattr(reward, "item", None)
    return item() if callable(item) and getattr(reward, "ndim", None) == 0 else reward


def declared_range(env: Any) -> tuple[float, float] | None:
    """Give the `reward_range` of an environment, if it is finite and nothing around it pays."""
    layer: object = env
    while type(layer).__name__ in PLAIN_WRAPPERS and not hasattr(type(layer), "reward_range"):
        layer = getattr(layer, "env", None)
    found: Any = getattr(layer, "reward_range", None)
    try:
        low, high = map(float, found)
    except (TypeError, ValueError):
        return None
    return (low, high) if low <= high and math.isfinite(low) and math.isfinite(high) else None


def maker_of(job: dict[str, Any]) -> functools.partial[Any]:
    """Give what makes an environment. Raises Unusable."""
    name, given = str(job["name"]), dict(job["make"])
    if job["kind"] == "gymnasium":
        try:
            import gymnasium
        except ImportError as error:
            raise Unusable(f"gymnasium can't be imported: {error}", extra="gymnasium") from None
        # Its checker only warns, on stderr, of what is looked at here.
        return functools.partial(gymnasium.make, name, disable_env_checker=True, **given)
    place, _, factory = name.rpartition(":")
    found: Any = module_of(place)
    for part in factory.split("."):
        if not hasattr(found, part):
            raise Unusable(f"{place} has no {factory!r}", "give MODULE:FACTORY or PATH.py:FACTORY")
        found = getattr(found, part)
    if not callable(found):
        raise Unusable(f"{name} is a {type(found).__name__}", "give something that can be called")
    return functools.partial(found, **given)


def module_of(place: str) -> Any:
    """Import a module by name, or a file by path. Raises Unusable if it isn't there."""
    if not place.endswith(".py"):
        sys.path.insert(0, os.getcwd())
        return importlib.import_module(place)
    path = Path(place).resolve()
    if not path.is_file():
        raise Unusable(f"there is no file {place!r}", "give PATH.py:FACTORY")
    sys.path.insert(0, str(path.parent))
    # What is beside it may be imported by name, so it keeps its own unless that is taken.
    name = path.stem if path.stem not in sys.modules else f"target_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise Unusable(f"{place!r} can't be imported", "give a file of Python")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def actions_of(env: Any, given: list[Any]) -> Actions:
    """Find where the actions of an environment come from. Raises Unusable."""
    space: Any = getattr(env, "action_space", None)
    if given:
        if not is_space(space):
            return Listed(given)
        for action in given:
            if not space.contains(action):
                raise Unusable(f"{action!r} is not in {space!r:.120}", "give actions that are")
        return Listed(given, space)
    if is_space(space):
        return Spaced(space)
    listed = getattr(env, "actions", None)
    if isinstance(listed, list | tuple) and listed:
        return Listed(list(listed))  # pyright: ignore[reportUnknownArgumentType]
    raise Unusable(
        f"{type(env).__name__} has neither an action_space of Gymnasium nor a list `actions`",
        "give actions with --action JSON, the one that does nothing first",
    )
