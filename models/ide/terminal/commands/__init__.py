"""The commands that the terminal knows, by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simharness.models.ide.terminal.commands import (
    diffing,
    files,
    grep,
    listing,
    programs,
    sorting,
    text,
)
from simharness.models.ide.terminal.git import command

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping

    from simpy.events import Event

    from simharness.models.ide.terminal.call import Call

COMMANDS: Mapping[str, Callable[[Call], int | Generator[Event, object, int]]] = {
    "[": programs.test,
    "cat": text.cat,
    "cd": files.cd,
    "cp": files.cp,
    "curl": programs.curl,
    "diff": diffing.diff,
    "echo": text.echo,
    "exit": programs.leave,
    "export": programs.export,
    "false": programs.false,
    "find": listing.find,
    "git": command.git,
    "grep": grep.grep,
    "head": text.head,
    "ls": listing.ls,
    "mkdir": files.mkdir,
    "mv": files.mv,
    "printf": text.printf,
    "pwd": files.pwd,
    "pytest": programs.pytest,
    "python": programs.python,
    "python3": programs.python,
    "rm": files.rm,
    "rmdir": files.rmdir,
    "sleep": programs.sleep,
    "sort": sorting.sort,
    "tail": text.tail,
    "test": programs.test,
    "touch": files.touch,
    "true": programs.true,
    "uniq": sorting.uniq,
    "wait": programs.wait,
    "wc": text.wc,
    "xargs": programs.xargs,
}
