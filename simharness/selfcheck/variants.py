"""What a process is started with: a variant differs from the base in one thing alone.

The base pins what the parent may have set otherwise, so that a difference has one cause.
"""

from __future__ import annotations

import os
import shlex
import sys
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


class Axis(StrEnum):
    """What a variant differs in."""

    REPEAT = "repeat"
    """Nothing: the base again."""
    HASH_SEED = "hash seed"
    COLLECTOR = "collector"
    ORDER = "order"
    """Which episodes the process has played before."""
    TIME_ZONE = "time zone"
    LOCALE = "locale"
    OPTIMISED = "optimised"
    MSGPACK = "msgpack"
    PYTHON = "python"


class Order(StrEnum):
    """In which order a process plays its episodes."""

    FORWARD = "forward"
    BACKWARD = "backward"
    TWICE = "twice"
    """Each twice in a row; the second time counts."""
    ALONE = "alone"
    """The middle one and no other."""


BASE = {"PYTHONHASHSEED": "0", "TZ": "UTC0", "LC_ALL": "C.UTF-8"}
"""Fixed for the variants of another axis, so that the hash seed isn't what parts them."""

DROPPED = (
    "PYTHONHASHSEED",
    "PYTHONHOME",
    "PYTHONIOENCODING",
    "PYTHONMALLOC",
    "PYTHONOPTIMIZE",
    "PYTHONPATH",
    "PYTHONSTARTUP",
    "PYTHONUTF8",
    "PYTHONCOERCECLOCALE",
    "MSGPACK_PUREPYTHON",
    "LANG",
    "LANGUAGE",
    "TZ",
)
"""What the parent's environment must not hand down, and every LC_ variable."""

ROOT = Path(__file__).parents[2]
"""The folder that holds this package."""
CHILD = "simharness.selfcheck.child"


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """What one process is started with."""

    name: str
    axis: Axis = Axis.REPEAT
    variables: dict[str, str] = field(default_factory=dict[str, str])
    """Environment variables that differ from `BASE`."""
    flags: tuple[str, ...] = ()
    """Options of the interpreter."""
    collector: str = ""
    """"off", "eager" (a threshold of 1), or empty for Python's own."""
    order: Order = Order.FORWARD
    python: str = sys.executable
    paths: tuple[str, ...] = (str(ROOT),)
    """Where this package is found."""

    def environment(self) -> dict[str, str]:
        """Give the whole environment of the process."""
        inherited = {
            key: value
            for key, value in os.environ.items()
            if key not in DROPPED and not key.startswith("LC_")
        }
        return {**inherited, **self.own_variables(self.paths)}

    def own_variables(self, paths: Sequence[str]) -> dict[str, str]:
        """Give the variables that the process doesn't inherit."""
        paths = [*paths]
        if self.python == sys.executable and "PYTHONPATH" in os.environ:
            paths.append(os.environ["PYTHONPATH"])
        return {**BASE, "PYTHONPATH": os.pathsep.join(paths), **self.variables}

    def command(self, *words: str) -> list[str]:
        """Give the command line of a child that is told `words`."""
        return [self.python, *self.flags, "-m", CHILD, *words]

    def shell(self, *words: str) -> str:
        """Give the same as one line for a shell, with the variables that matter."""
        unset = [f"-u{key}" for key in DROPPED if key in os.environ and key not in BASE]
        # The folder that a check makes for another Python doesn't outlive it.
        given = [f"{key}={value}" for key, value in self.own_variables([str(ROOT)]).items()]
        return shlex.join(["env", *unset, *given, *self.command(*words)])


FIRST = Variant(name="base")
"""What all others are held against."""

VARIANTS = (
    Variant(name="base again", axis=Axis.REPEAT),
    Variant(name="hash seed 1", axis=Axis.HASH_SEED, variables={"PYTHONHASHSEED": "1"}),
    Variant(name="hash seed 4242", axis=Axis.HASH_SEED, variables={"PYTHONHASHSEED": "4242"}),
    Variant(name="random hash seed", axis=Axis.HASH_SEED, variables={"PYTHONHASHSEED": "random"}),
    Variant(name="no collector", axis=Axis.COLLECTOR, collector="off"),
    Variant(name="eager collector", axis=Axis.COLLECTOR, collector="eager"),
    Variant(name="episodes backward", axis=Axis.ORDER, order=Order.BACKWARD),
    Variant(name="episodes twice", axis=Axis.ORDER, order=Order.TWICE),
    Variant(name="an episode alone", axis=Axis.ORDER, order=Order.ALONE),
    # Written as POSIX has it, so that it is known where no table of zones is installed.
    Variant(
        name="another time zone",
        axis=Axis.TIME_ZONE,
        variables={"TZ": "NZST-12NZDT,M9.5.0,M4.1.0/3"},
    ),
    Variant(
        name="another locale",
        axis=Axis.LOCALE,
        variables={"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    ),
    Variant(name="optimised", axis=Axis.OPTIMISED, flags=("-O",)),
    Variant(name="msgpack in Python", axis=Axis.MSGPACK, variables={"MSGPACK_PUREPYTHON": "1"}),
)
"""Those of the Python that asks, in the order in which they are told."""
