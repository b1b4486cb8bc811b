"""The command git: it finds the command that is meant, and says what went wrong."""

from __future__ import annotations

from types import GeneratorType
from typing import TYPE_CHECKING, cast

from simharness.models.ide.repository.clone import GitError
from simharness.models.ide.terminal.call import Trouble
from simharness.models.ide.terminal.git import (
    blaming,
    branching,
    committing,
    index,
    merging,
    picking,
    plumbing,
    remotes,
    showing,
    stashing,
    status,
    switching,
)
from simharness.models.ide.terminal.git.state import Git

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping

    from simpy.events import Event

    from simharness.models.ide.terminal.call import Call

SUBCOMMANDS: Mapping[str, Callable[[Git, list[str]], int | Generator[Event, object, int]]] = {
    "add": index.add,
    "blame": blaming.blame,
    "branch": branching.branch,
    "checkout": switching.checkout,
    "cherry-pick": picking.cherry_pick,
    "commit": committing.commit,
    "config": plumbing.config,
    "diff": showing.diff,
    "fetch": remotes.fetch,
    "log": showing.log,
    "ls-files": plumbing.ls_files,
    "merge": merging.merge,
    "pull": remotes.pull,
    "push": remotes.push,
    "rebase": picking.rebase,
    "remote": plumbing.remote,
    "reset": index.reset,
    "restore": index.restore,
    "rev-parse": plumbing.rev_parse,
    "rm": index.rm,
    "show": showing.show,
    "stash": stashing.stash,
    "status": status.status,
    "switch": switching.switch,
    "tag": branching.tag,
}


def git(call: Call) -> Generator[Event, object, int]:
    """Run one of the commands of git."""
    words = list(call.arguments)
    while words and words[0] in ("--no-pager", "-P", "--paginate"):
        words.pop(0)
    if words[:1] == ["--version"]:
        call.print("git version 2.39.5\n")
        return 0
    if not words:
        call.print("usage: git [--version] [--no-pager] <command> [<args>]\n")
        return 1
    name = words.pop(0)
    command = SUBCOMMANDS.get(name)
    if command is None:
        if name.startswith("-"):
            call.err.write(f"unknown option: {name}\n")
            return 129
        call.err.write(f"git: '{name}' is not a git command. See 'git --help'.\n")
        return 1
    host = call.shell.host
    try:
        told = command(Git(call, host.clone, host.author), words)
        if isinstance(told, GeneratorType):
            told = yield from cast("Generator[Event, object, int]", told)
        return cast("int", told)
    except GitError as error:
        call.err.write(error.text + "\n")
        return error.code
    except Trouble as trouble:
        call.err.write(f"fatal: {trouble.text}\n")
        return 128
