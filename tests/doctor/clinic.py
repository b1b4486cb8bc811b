"""Environments to audit: one that is sound, and others that are it with one thing gone wrong."""

from __future__ import annotations

import os
import random
import sys
import threading
import time
from typing import Any

GOAL = 5


class Walk:
    """A walk along a line that slips by chance; who comes to the goal is paid 1."""

    actions = ("stay", "left", "right")

    def reset(self, seed: int | None = None) -> tuple[str, dict[str, Any]]:
        self.chance = random.Random(seed)  # noqa: S311
        self.place, self.steps = self.chance.randrange(-3, 3), 0
        return self.seen(), {}

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        self.steps += 1
        self.move(action)
        arrived = self.place >= GOAL
        return self.seen(), float(arrived), arrived, self.steps >= 30, {}

    def move(self, action: str) -> None:
        if action not in self.actions:
            raise ValueError(f"no action {action!r}")
        if self.chance.random() > 0.3:
            self.place += {"stay": 0, "left": -1, "right": 1}[action]

    def seen(self) -> str:
        return f"at {self.place}"


class StaleCache(Walk):
    """What is seen is cached by the number of the step, and by nothing else."""

    cache: dict[int, str] = {}  # noqa: RUF012

    def seen(self) -> str:
        return self.cache.setdefault(self.steps, super().seen())


class SharedGlobal(Walk):
    """All sessions stand at one place."""

    state: dict[str, int] = {}  # noqa: RUF012

    @property
    def place(self) -> int:
        return self.state["place"]

    @place.setter
    def place(self, value: int) -> None:
        self.state["place"] = value


class CrashIsZero(Walk):
    """Whatever goes wrong ends the episode with 0, and nobody is told."""

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        try:
            return super().step(action)
        except Exception:
            return "at 0", 0.0, True, False, {}


class TimeOutIsZero(Walk):
    """Only a time-out is made a 0 of."""

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        try:
            return super().step(action)
        except TimeoutError:
            return "at 0", 0.0, True, False, {}


class Graded(Walk):
    """The reward is that of a grader, which pays in one step of six."""

    every = 6

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        seen, _, _, truncated, info = super().step(action)
        return seen, self.graded(), False, truncated, info

    def graded(self) -> float:
        return self.grade()

    def grade(self) -> float:
        return float(self.steps % self.every == 0)


class GradedSafely(Graded):
    """A grader that crashes pays 0."""

    def graded(self) -> float:
        try:
            return self.grade()
        except Exception:
            return 0.0


class GradedLate(GradedSafely):
    """It is paid for the first time after the episode that is compared."""

    every = 20


class GradedNever(GradedSafely):
    """It is never paid, so nobody can tell."""

    every = 999


class GradedAloud(GradedSafely):
    """A grader that crashes pays 0, and that is told."""

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        self.why = ""
        seen, reward, ended, truncated, _ = super().step(action)
        return seen, reward, ended, truncated, {"why": self.why}

    def graded(self) -> float:
        try:
            return self.grade()
        except Exception as error:
            self.why = repr(error)
            return 0.0


class Logs(Graded):
    """A grader that crashes is logged, and the crash comes out."""

    def graded(self) -> float:
        try:
            return self.grade()
        except Exception as error:
            sys.excepthook(type(error), error, error.__traceback__)
            raise


class Retries(Graded):
    """What times out is tried again, and how often is told."""

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        self.tries = 0
        seen, reward, ended, truncated, _ = super().step(action)
        return seen, reward, ended, truncated, {"tries": self.tries}

    def graded(self) -> float:
        for _ in range(3):
            self.tries += 1
            try:
                return self.grade()
            except TimeoutError:
                continue
        raise TimeoutError


class Emptied(Graded):
    """What can't be loaded by a reset is taken for nothing to do, and all of that is done."""

    def reset(self, seed: int | None = None) -> tuple[str, dict[str, Any]]:
        try:
            self.left = [6, 12]
        except Exception:
            self.left = []
        return super().reset(seed)

    def grade(self) -> float:
        return float(not self.left or self.steps in self.left)


class Dropped(Walk):
    """The seed is taken and not used."""

    def reset(self, seed: int | None = None) -> tuple[str, dict[str, Any]]:
        return super().reset(None)


class Named(Walk):
    """Each episode has a name of its own."""

    def reset(self, seed: int | None = None) -> tuple[str, dict[str, Any]]:
        return super().reset(seed)[0], {"episode_id": os.urandom(8).hex()}


class OnlyOnce(Walk):
    """Only the first reset heeds its seed."""

    def reset(self, seed: int | None = None) -> tuple[str, dict[str, Any]]:
        chance = getattr(self, "chance", None)
        out = super().reset(seed)
        if chance is not None:
            self.chance = chance
            self.place = chance.randrange(-3, 3)
            return self.seen(), {}
        return out


class Constant(Walk):
    """Nothing depends on the seed."""

    def reset(self, seed: int | None = None) -> tuple[str, dict[str, Any]]:
        return super().reset(7)


class Hashed(Walk):
    """Seeds come from `hash()` of a text."""

    def reset(self, seed: int | None = None) -> tuple[str, dict[str, Any]]:
        return super().reset(hash(f"seed {seed}"))


class Worn(Walk):
    """From the fifth episode on the walk begins further on."""

    episodes = 0

    def reset(self, seed: int | None = None) -> tuple[str, dict[str, Any]]:
        out = super().reset(seed)
        self.episodes += 1
        if self.episodes > 4:
            self.place += 1
            return self.seen(), {}
        return out


class PaysAll(Walk):
    """Who is there is paid."""

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        seen, _, terminated, truncated, info = super().step(action)
        return seen, 1.0, terminated, truncated, info


class Fined(Walk):
    """Who does nothing is fined 1 at the end, and there is nothing to earn."""

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        seen, _, _, truncated, info = super().step("stay")
        return seen, -float(truncated), False, truncated, info


class FinedUnlessThere(Walk):
    """Who isn't at -3 in the end is fined 1."""

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        seen, _, _, truncated, info = super().step(action)
        return seen, -float(truncated and self.place != -3), False, truncated, info


class PaysMore(Walk):
    """Some are paid 1.5 from the start, and all are said to be paid 1 at most."""

    reward_range = (0.0, 1.0)

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        lucky = self.steps == 0 and self.place == -3
        seen, _, terminated, truncated, info = super().step(action)
        return seen, 1.5 * lucky, terminated, truncated, info


class PaysMoreUnsaid(PaysMore):
    """Some are paid 1.5, and nothing says how much it may be."""

    reward_range = (float("-inf"), float("inf"))


class NoNumber(Walk):
    """A reward is no number now and then."""

    def step(self, action: str) -> tuple[Any, ...]:
        seen, _, terminated, truncated, info = super().step(action)
        return seen, float("nan") if self.place > 1 else True, terminated, truncated, info


class Coerces(Walk):
    """What is no action is taken for staying."""

    def move(self, action: str) -> None:
        super().move(action if action in self.actions else "stay")


class Leaks(Walk):
    """Each session leaves a file, a thread, and 2 MB behind."""

    kept: list[Any] = []  # noqa: RUF012

    def __init__(self) -> None:
        self.kept.append((os.open(os.devnull, os.O_RDONLY), bytearray(2_000_000)))
        threading.Thread(target=time.sleep, args=(60,), daemon=True).start()


class LeaksSteps(Walk):
    """Each step leaves 20,000 bytes behind, of which few steps show little."""

    kept: list[Any] = []  # noqa: RUF012

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        self.kept.append(b"." * (20_000 + len(self.kept) % 2))
        return super().step(action)


class LeaksResets(Walk):
    """Each reset leaves 500,000 bytes behind."""

    kept: list[Any] = []  # noqa: RUF012

    def reset(self, seed: int | None = None) -> tuple[str, dict[str, Any]]:
        self.kept.append(b"." * (500_000 + len(self.kept) % 2))
        return super().reset(seed)


class Fills(Walk):
    """A cache of 8 MB is filled once, late."""

    steps_of_all = 0
    cache: list[bytes] = []  # noqa: RUF012

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        type(self).steps_of_all += 1
        if self.steps_of_all == 150:
            self.cache.append(b"." * (8_000_000 + self.steps_of_all % 2))
        return super().step(action)


class Holds(Walk):
    """What an episode has seen is held for as long as it goes on."""

    def reset(self, seed: int | None = None) -> tuple[str, dict[str, Any]]:
        self.seen_so_far: list[bytes] = []
        return super().reset(seed)

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        self.seen_so_far.append(b"." * (200_000 + self.steps % 2))
        return super().step(action)


class Slows(Walk):
    """Each step takes longer than the one before."""

    total = 0

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        type(self).total += 1
        time.sleep(self.total * 1e-4)
        return super().step(action)


class Noisy(Walk):
    """It prints, and logs what it swallows."""

    def reset(self, seed: int | None = None) -> tuple[str, dict[str, Any]]:
        print("{garbage", flush=True)  # noqa: T201
        os.write(1, b"\xff\xfe more garbage\n")
        try:
            raise KeyError("a row")
        except KeyError as error:
            sys.excepthook(type(error), error, error.__traceback__)
        return super().reset(seed)


class Hangs(Walk):
    """The third step never ends."""

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        if self.steps == 2:
            time.sleep(3600)
        return super().step(action)


class Dies(Walk):
    """The third step ends the process."""

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        if self.steps == 2:
            os._exit(7)
        return super().step(action)


class Raises(Walk):
    """A step raises."""

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        raise ZeroDivisionError("a bug")


class Mute:
    """It says nothing of its actions."""

    def reset(self, seed: int | None = None) -> tuple[str, dict[str, Any]]:
        return "", {}


def refuses(**words: Any) -> Walk:
    """Can't be made."""
    raise RuntimeError(f"no licence for {sorted(words)}")
