"""Time and randomness as constants.

Time begins at the instant that the host names and moves by sleeping alone. Random numbers that
nobody seeded come from one fixed sequence.
"""

from __future__ import annotations

import time
from typing import Any

NS = 1_000_000_000
KINDS = ("time", "monotonic", "perf_counter", "process_time", "thread_time")

_gmtime, _strftime, _asctime = time.gmtime, time.strftime, time.asctime


class Clock:
    """The guest's clock."""

    def __init__(self) -> None:
        self.start_ns = 0
        self.slept_ns = 0

    def begin(self, instant_us: int) -> None:
        """Start at an instant, in microseconds since 1970."""
        self.start_ns = instant_us * 1000
        self.slept_ns = 0

    def time_ns(self) -> int:
        """Read the time of day."""
        return self.start_ns + self.slept_ns

    def time(self) -> float:
        """Read the time of day in seconds."""
        return self.time_ns() / NS

    def elapsed_ns(self) -> int:
        """Read the time since the start."""
        return self.slept_ns

    def elapsed(self) -> float:
        """Read the time since the start in seconds."""
        return self.slept_ns / NS

    def sleep(self, seconds: Any, /) -> None:
        """Let time pass, and nothing else."""
        if isinstance(seconds, str) or not hasattr(seconds, "__float__"):
            raise TypeError(
                f"'{type(seconds).__name__}' object cannot be interpreted as an integer"
            )
        if seconds < 0:
            raise ValueError("sleep length must be non-negative")
        self.slept_ns += int(float(seconds) * NS)

    def gmtime(self, seconds: Any = None, /) -> Any:
        """Break a time down; the zone is UTC, so local time is the same."""
        return _gmtime(self.time() if seconds is None else seconds)

    def strftime(self, form: str, given: Any = None, /) -> str:
        """Format a time."""
        return _strftime(form, self.gmtime() if given is None else given)

    def asctime(self, given: Any = None, /) -> str:
        """Format a time the old way."""
        return _asctime(self.gmtime() if given is None else given)

    def ctime(self, seconds: Any = None, /) -> str:
        """Format seconds the old way."""
        return _asctime(self.gmtime(seconds))

    def clock_gettime(self, number: int, /) -> float:
        """Read a clock by its number; 0 is the time of day."""
        return self.clock_gettime_ns(number) / NS

    def clock_gettime_ns(self, number: int, /) -> int:
        """Read a clock by its number in nanoseconds."""
        return self.time_ns() if number == 0 else self.elapsed_ns()

    def install(self) -> None:
        """Put this clock in the place of the machine's."""
        module: Any = time
        for kind in KINDS:
            setattr(module, kind, self.time if kind == "time" else self.elapsed)
            setattr(module, f"{kind}_ns", self.time_ns if kind == "time" else self.elapsed_ns)
        for name in ("sleep", "gmtime", "strftime", "asctime", "ctime"):
            setattr(module, name, getattr(self, name))
        module.localtime = self.gmtime
        for name in ("clock_gettime", "clock_gettime_ns"):
            if hasattr(module, name):
                setattr(module, name, getattr(self, name))


class Entropy:
    """Bytes in the place of the machine's random ones: a counter through a mixing function."""

    def __init__(self) -> None:
        self.count = 0

    def begin(self) -> None:
        """Start the sequence anew."""
        self.count = 0

    def word(self) -> int:
        """Give the next 64 bits (splitmix64)."""
        self.count += 1
        z = (self.count * 0x9E3779B97F4A7C15) & 0xFFFFFFFFFFFFFFFF
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & 0xFFFFFFFFFFFFFFFF
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & 0xFFFFFFFFFFFFFFFF
        return z ^ (z >> 31)

    def urandom(self, size: int, /) -> bytes:
        """Give bytes as `os.urandom` does."""
        if size < 0:
            raise ValueError("negative argument not allowed")
        words = [self.word().to_bytes(8, "little") for _ in range((size + 7) // 8)]
        return b"".join(words)[:size]

    def install(self) -> None:
        """Let `random` draw its seeds here."""
        import random

        module: Any = random
        seed = random.Random.seed
        entropy = self

        def seed_shadow(self: Any, a: Any = None, version: int = 2) -> None:
            """Initialize internal state from a seed."""
            seed(self, entropy.word() if a is None else a, version)

        seed_shadow.__name__ = "seed"
        seed_shadow.__qualname__ = "Random.seed"
        module.Random.seed = seed_shadow
        module.seed = module._inst.seed
        module._urandom = self.urandom
