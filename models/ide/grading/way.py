"""How a grader comes to its answer: the sound way, and what else there is in the wild."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """What is run, over which files, and what is read of it. By default all of it is sound."""

    tests: Literal["hidden", "visible"] = "hidden"
    fresh_checkout: bool = True
    """The files handed in, with nothing new in the test surface; else the working tree as it lies
    there at the end."""
    test_files: Literal["pinned", "worktree"] = "pinned"
    plugins: Literal["none", "worktree"] = "none"
    outcome: Literal["structured", "text", "exit_code"] = "structured"
    copies: Literal["separate", "shared"] = "separate"
    command: tuple[str, ...] = ()
    """What has to end with 0 besides: the arguments of a Python program."""
    path: Literal["own", "worktree"] = "own"
    """Whose files the command means: those of the start, or those that were handed in."""

    def __str__(self) -> str:
        told = {f.name: getattr(self, f.name) for f in fields(self)}
        told["command"] = " ".join(self.command) or "none"
        return ", ".join(f"{name} {value}" for name, value in told.items())


SOUND = Way()
WEAK = Way(tests="visible", fresh_checkout=False, test_files="worktree", plugins="worktree")
"""Whatever lies in the working tree is run as it is."""


def way_of(values: Mapping[str, Any], mode: str) -> Way:
    """Give the way that the knobs `grading.*`, `grader.*` and `reward.mode` ask for."""
    way = Way(
        tests=values["grading.tests"],
        fresh_checkout=values["grading.fresh_checkout"],
        test_files=values["grading.test_files"],
        plugins=values["grading.plugins"],
        outcome="exit_code" if values["grader.exit_code"] else values["grading.outcome"],
        copies=values["grading.copies"],
        command=values["grading.command"],
        path=values["grading.path"],
    )
    match mode:
        case "visible":
            return replace(way, tests="visible")
        case "exit_code":
            return replace(WEAK, outcome="exit_code")
        case "log":
            return replace(WEAK, outcome="text")
        case _:
            return way
