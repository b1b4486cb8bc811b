"""The command commit."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from simharness.models.ide.repository.clone import (
    GitError,
)
from simharness.models.ide.terminal.git.index import add
from simharness.models.ide.terminal.git.patches import between, stat
from simharness.models.ide.terminal.git.state import (
    Git,
    date,
    tracking,
)
from simharness.models.ide.terminal.git.status import long_status
from simharness.models.ide.terminal.git.words import UNMERGED, options, without_dashes

if TYPE_CHECKING:
    from collections.abc import Mapping

    from simharness.models.ide.repository.objects import Commit, File


def commit(git: Git, words: list[str]) -> int:
    """Make a commit of the index."""
    given, rest = options(
        words,
        "-a --all --amend --no-edit --allow-empty -q --quiet -v -n --no-verify",
        "-m --message -F --file --author",
    )
    clone = git.clone
    names = without_dashes(rest)
    messages = [*given.get("-m", []), *given.get("--message", [])]
    sources = (*given.get("-F", []), *given.get("--file", []))
    messages += [git.call.read(name) for name in sources]
    amend = "--amend" in given
    if clone.clashes and not given.keys() & {"-a", "--all"}:
        git.print("".join(f"U\t{path}\n" for path in sorted(clone.clashes)))
        raise GitError(UNMERGED.format("Committing"))
    if "-a" in given or "--all" in given:
        add(git, ["-u"])
    if names:
        add(git, names)
    action = clone.action
    message = "\n\n".join(part.strip("\n") for part in messages)
    old = clone.commit
    if amend and old is None:
        raise GitError("fatal: You have nothing to amend.")
    if "--allow-empty" not in given and nothing_to_commit(git, amend=amend):
        return 1
    if not messages:
        if amend and old is not None and "--no-edit" in given:
            message = old.message
        elif action is not None and action.kind != "rebase":
            message = action.message  # as an editor that is closed at once would leave it
        else:
            raise GitError(
                "error: Terminal is dumb, but EDITOR unset\n"
                "Please supply the message using either -m or -F option.",
                1,
            )
    if not message.strip():
        raise GitError("Aborting commit due to empty commit message.", 1)
    parents = [] if clone.rev is None else [clone.rev]
    author = (given.get("--author") or [git.author])[-1]
    if not re.fullmatch(r"[^<>\n]+ <[^<>\n]*>", author):
        raise GitError(
            f"fatal: --author '{author}' is not 'Name <email>' and matches no existing author"
        )
    if action is not None and action.kind == "cherry-pick" and action.author:
        author = action.author
    if amend and old is not None:
        author = old.author if "--author" not in given else author
        parents = list(old.parents)
        made = clone.record(message, author=author, at=git.now, parents=parents)
        clone.move(made.rev)
    else:
        made = clone.commit_index(message, author=author, at=git.now)
    if not ("-q" in given or "--quiet" in given):
        git.print(made_text(git, made, dated=amend))
    return 0


def nothing_to_commit(git: Git, *, amend: bool) -> bool:
    """Tell whether a commit would change nothing, and say so."""
    clone = git.clone
    if clone.action is not None and clone.action.kind == "merge":
        return False
    if not amend:
        if clone.index != clone.tree:
            return False
        long_status(git, [])
        return True
    above = clone.graph.parents(clone.rev or "")
    if len(above) != 1 or dict(clone.graph[above[0]].tree) != clone.index:
        return False
    git.print(f"On branch {clone.branch}\n{tracking(git)}\nNo changes\n")
    git.tell(
        "You asked to amend the most recent commit, but doing so would make\n"
        "it empty. You can repeat your command with --allow-empty, or you can\n"
        'remove the commit entirely with "git reset HEAD^".\n'
    )
    return True


def made_text(git: Git, made: Commit, *, dated: bool = False) -> str:
    """Say that a commit was made."""
    clone = git.clone
    where = clone.branch or "detached HEAD"
    if not made.parents:
        where += " (root-commit)"
    out = f"[{where} {git.short(made.rev)}] {made.subject}\n"
    if made.author != git.author:
        out += f" Author: {made.author}\n"
    if dated or made.author != git.author:
        out += f" Date: {date(made.at)}\n"
    if len(made.parents) > 1:
        return out
    before: Mapping[str, File] = clone.graph[made.parents[0]].tree if made.parents else {}
    return out + stat(between(before, made.tree), modes=True, names=False)
