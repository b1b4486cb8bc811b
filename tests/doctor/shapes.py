"""Wrappers of Gymnasium around an environment of its own."""

from __future__ import annotations

from typing import Any, SupportsFloat

import gymnasium as gym

Step = tuple[Any, SupportsFloat, bool, bool, dict[str, Any]]


class Sound(gym.Wrapper[Any, Any, Any, Any]):
    """It pays a bonus for each step, and lets errors out."""

    def step(self, action: Any) -> Step:
        seen, reward, terminated, truncated, info = self.env.step(action)
        return seen, float(reward) + self.bonus(), terminated, truncated, info

    def bonus(self) -> float:
        return 0.5


class Swallows(Sound):
    """A bonus that can't be computed is a large one."""

    def bonus(self) -> float:
        try:
            return super().bonus()
        except Exception:
            return 0.9


def sound() -> gym.Env[Any, Any]:
    """Wrap it so that errors come out."""
    return Sound(gym.make("FrozenLake-v1"))


def swallows() -> gym.Env[Any, Any]:
    """Wrap it so that errors in the wrapper are paid."""
    return Swallows(gym.make("FrozenLake-v1"))
