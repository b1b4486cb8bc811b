"""The commands checkout and switch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simharness.models.ide.repository.clone import (
    HEADS,
    TAGS,
    GitError,
    check_name,
)
from simharness.models.ide.terminal.git.index import take
from simharness.models.ide.terminal.git.patches import between
from simharness.models.ide.terminal.git.state import (
    Git,
    is_branch,
    is_ref,
    tracking,
)
from simharness.models.ide.terminal.git.words import options

if TYPE_CHECKING:
    from simharness.models.ide.repository.objects import Commit

DETACHED = """
You are in 'detached HEAD' state. You can look around, make experimental
changes and commit them, and you can discard any commits you make in this
state without impacting any branches by switching back to a branch.

If you want to create a new branch to retain commits you create, you may
do so (now or later) by using -c with the switch command. Example:

  git switch -c <new-branch-name>

Or undo this operation with:

  git switch -

Turn off this advice by setting config variable advice.detachedHead to false

"""


def checkout(git: Git, words: list[str]) -> int:
    """Go to a branch or commit, or bring files back."""
    given, rest = options(words, "-q --quiet -f --force --detach", "-b -B")
    clone = git.clone
    git.quiet = quiet = "-q" in given or "--quiet" in given
    for letter in ("-b", "-B"):
        if letter in given:
            return new_branch(git, given[letter][-1], rest, forced=letter == "-B")
    separated = "--" in rest
    names = list(rest)
    if separated:
        at = rest.index("--")
        heads, names = rest[:at], rest[at + 1 :]
    else:
        known = bool(rest) and (clone.resolve(rest[0]) is not None or remote_of(git, rest[0]))
        heads, names = (rest[:1], rest[1:]) if known else ([], rest)
    if names:
        if heads:
            start = git.commit(heads[0])
            count = take(git, start.tree, names, index=True, worktree=True)
            where = git.short(start.rev)
        else:
            count = take(git, clone.index, names, index=False, worktree=True)
            where = "the index"
        if not quiet and not separated:
            git.tell(f"Updated {count} path{'s' * (count != 1)} from {where}\n")
        return 0
    if not heads:
        if rest and not separated:
            raise GitError(f"error: pathspec '{rest[0]}' did not match any file(s) known to git", 1)
        return 0
    return go_to(
        git, heads[0], detach="--detach" in given, forced="-f" in given or "--force" in given
    )


def switch(git: Git, words: list[str]) -> int:
    """Go to a branch."""
    given, rest = options(words, "-q --quiet --detach -d -f --force", "-c --create -C")
    git.quiet = "-q" in given or "--quiet" in given
    for letter in ("-c", "--create", "-C"):
        if letter in given:
            return new_branch(git, given[letter][-1], rest, forced=letter == "-C")
    if len(rest) != 1:
        raise GitError("fatal: missing branch or commit argument")
    detach = "--detach" in given or "-d" in given
    if not detach and not is_branch(git.clone, rest[0]) and not remote_of(git, rest[0]):
        if git.clone.resolve(rest[0]) is not None:
            kind = "tag" if TAGS + rest[0] in git.clone.refs else "commit"
            raise GitError(
                f"fatal: a branch is expected, got {kind} '{rest[0]}'\n"
                "hint: If you want to detach HEAD at the commit, try again with the --detach "
                "option."
            )
        raise GitError(f"fatal: invalid reference: {rest[0]}")
    return go_to(git, rest[0], detach=detach, forced="-f" in given)


def remote_of(git: Git, name: str) -> bool:
    """Tell whether the server has a branch of that name which one hasn't yet."""
    return not is_branch(git.clone, name) and f"refs/remotes/origin/{name}" in git.clone.refs


def new_branch(git: Git, name: str, rest: list[str], *, forced: bool) -> int:
    """Make a branch and go there."""
    clone = git.clone
    start = rest[0] if rest else "HEAD"
    check_name(name, "branch")
    existed = is_branch(clone, name)
    if existed and not forced:
        raise GitError(f"fatal: a branch named '{name}' already exists")
    if clone.rev is None and not rest:
        clone.head = HEADS + name
        git.tell(f"Switched to a new branch '{name}'\n")
        return 0
    rev = clone.resolve(start)
    if rev is None:
        raise GitError(
            f"fatal: '{start}' is not a commit and a branch '{name}' cannot be created from it"
        )
    move_tree(git, clone.graph[rev])
    clone.refs[HEADS + name] = rev
    clone.head = HEADS + name
    git.tell(f"Switched to {'and reset' if existed else 'a new'} branch '{name}'\n")
    return 0


def move_tree(git: Git, target: Commit, *, forced: bool = False) -> None:
    """Bring the working tree to another commit, and keep what was changed besides."""
    clone = git.clone
    if clone.clashes and not forced:
        git.print("".join(f"{path}: needs merge\n" for path in sorted(clone.clashes)))
        raise GitError("error: you need to resolve your current index first", 1)
    old = clone.tree
    if forced:
        for path in sorted({**old, **clone.index, **target.tree, **dict.fromkeys(clone.clashes)}):
            git.write(path, target.tree.get(path))
            git.stage(path, target.tree.get(path))
        return
    git.require_way(old, target.tree, "checkout", "switch branches")
    git.switch_tree(old, target.tree)


def go_to(git: Git, name: str, *, detach: bool, forced: bool) -> int:
    """Go to a branch or a commit."""
    clone = git.clone
    if clone.action is not None and clone.action.kind == "merge" and not forced and clone.clashes:
        move_tree(git, clone.graph[clone.rev or ""])
    if not detach and remote_of(git, name):
        clone_rev = clone.refs[f"refs/remotes/origin/{name}"]
        move_tree(git, clone.graph[clone_rev], forced=forced)
        clone.refs[HEADS + name] = clone_rev
        clone.head = HEADS + name
        git.tell(f"Switched to a new branch '{name}'\n")
        git.report(f"branch '{name}' set up to track 'origin/{name}'.\n")
        return 0
    target = git.commit(name)
    before, was = clone.rev, clone.branch
    move_tree(git, target, forced=forced)
    if before is not None:
        kept = between(target.tree, clone.index)
        here = {path: file for path, file in git.files().items() if path in clone.index}
        every = {d.path: d for d in (*kept, *between(clone.index, here))}
        git.report("".join(f"{every[path].letter}\t{path}\n" for path in sorted(every)))
    if not detach and is_branch(clone, name):
        same = clone.branch == name
        if was is None and before is not None and not same:
            left_behind(git, before, target.rev)
        clone.head = HEADS + name
        git.tell(f"Already on '{name}'\n" if same else f"Switched to branch '{name}'\n")
        git.report(tracking(git))
        return 0
    clone.head = target.rev
    clone.detached = (name if is_ref(clone, name) else git.short(target.rev), target.rev)
    if was is not None:
        git.tell(f"Note: switching to '{name}'.\n{DETACHED}")
    elif before is not None and before != target.rev:
        left_behind(git, before, target.rev)
    git.tell(f"HEAD is now at {git.short(target.rev)} {target.subject}\n")
    return 0


def left_behind(git: Git, before: str, target: str) -> None:
    """Say where HEAD stood, when it was on no branch."""
    commit_then = git.clone.graph[before]
    reach = git.clone.graph.ancestors([*git.clone.refs.values(), target])
    if before in reach:
        git.tell(f"Previous HEAD position was {git.short(before)} {commit_then.subject}\n")
        return
    lost = [c for c in git.clone.graph.log([before]) if c.rev not in reach]
    many = len(lost) > 1
    git.tell(
        f"Warning: you are leaving {len(lost)} commit{'s' * many} behind, not connected to\n"
        "any of your branches:\n\n"
        + "".join(f"  {git.short(c.rev)} {c.subject}\n" for c in lost[:4])
        + f"\nIf you want to keep {'them' if many else 'it'} by creating a new branch, this may be "
        f"a good time\nto do so with:\n\n git branch <new-branch-name> {git.short(before)}\n\n"
    )
