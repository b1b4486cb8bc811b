"""Commands of git that change the index and the working tree."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simharness.models.ide.repository.clone import (
    GitError,
)
from simharness.models.ide.terminal.git.patches import between, shown
from simharness.models.ide.terminal.git.state import (
    Git,
    meant,
    selected,
)
from simharness.models.ide.terminal.git.words import options, without_dashes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from simharness.models.ide.repository.objects import File


def add(git: Git, words: list[str]) -> int:
    """Put changes of the working tree into the index."""
    given, rest = options(words, "-A --all -u --update -v --verbose -f --force -n --no-all")
    every = "-A" in given or "--all" in given
    update = "-u" in given or "--update" in given
    specs = git.paths(without_dashes(rest))
    if not specs and not every and not update:
        git.tell(
            "Nothing specified, nothing added.\n"
            "hint: Maybe you wanted to say 'git add .'?\n"
            "hint: Turn this message off by running\n"
            'hint: "git config advice.addEmptyPathspec false"\n'
        )
        return 0
    files, clone = git.files(), git.clone
    known = {**files, **dict.fromkeys(clone.index), **dict.fromkeys(clone.clashes)}
    for name, spec in zip(without_dashes(rest), specs, strict=False):
        if spec and not any(meant(path, spec) for path in known):
            raise GitError(f"fatal: pathspec '{name}' did not match any files")
    for path in selected(sorted(known), specs):
        if update and path not in clone.index and path not in clone.clashes:
            continue
        git.stage(path, files.get(path))
    return 0


def rm(git: Git, words: list[str]) -> int:
    """Take files out of the index and of the working tree."""
    given, rest = options(words, "-r -f --force --cached -q --quiet")
    clone = git.clone
    names = without_dashes(rest)
    if not names:
        raise GitError("usage: git rm [<options>] [--] <file>...", 129)
    for name in names:
        spec = git.path(name)
        known = {**clone.index, **dict.fromkeys(clone.clashes)}
        found = [path for path in sorted(known) if meant(path, spec)]
        if not found:
            raise GitError(f"fatal: pathspec '{name}' did not match any files")
        if found != [spec] and "-r" not in given and not any(c in name for c in "*?["):
            raise GitError(f"fatal: not removing '{name}' recursively without -r")
        files, head = git.files(), clone.tree
        for path in found:
            if path in clone.clashes:
                continue
            differs = files.get(path, clone.index[path]) != clone.index[path]
            staged = clone.index[path] != head.get(path)
            if (differs or staged) and not {"-f", "--force", "--cached"} & given.keys():
                what = "local modifications" if differs else "changes staged in the index"
                raise GitError(
                    f"error: the following file has {what}:\n    {path}\n"
                    "(use --cached to keep the file, or -f to force removal)",
                    1,
                )
        for path in found:
            git.stage(path, None)
            if "--cached" not in given:
                git.write(path, None)
            if not given.keys() & {"-q", "--quiet"}:
                git.print(f"rm '{path}'\n")
    return 0


def restore(git: Git, words: list[str]) -> int:
    """Bring files back as the index or a commit has them."""
    given, rest = options(words, "-S --staged -W --worktree", "-s --source")
    names = without_dashes(rest)
    if not names:
        raise GitError("fatal: you must specify path(s) to restore")
    staged = "-S" in given or "--staged" in given
    worktree = not staged or "-W" in given or "--worktree" in given
    source = (given.get("-s") or given.get("--source") or [""])[-1]
    tree: Mapping[str, File]
    tree = git.commit(source).tree if source else git.clone.tree if staged else git.clone.index
    take(git, tree, names, index=staged, worktree=worktree)
    return 0


def take(
    git: Git, tree: Mapping[str, File], names: Sequence[str], *, index: bool, worktree: bool
) -> int:
    """Bring what names mean to index and working tree as a tree has it; gives how many files."""
    clone = git.clone
    count = 0
    for name in names:
        spec = git.path(name)
        known = {**tree, **(clone.index if index else {})}
        found = [path for path in sorted(known) if meant(path, spec)]
        clashing = [path for path in sorted(clone.clashes) if meant(path, spec)]
        if not found and not clashing:
            raise GitError(f"error: pathspec '{name}' did not match any file(s) known to git", 1)
        if clashing and not index:
            raise GitError("\n".join(f"error: path '{path}' is unmerged" for path in clashing), 1)
        files = git.files()
        for path in found:
            file = tree.get(path)
            count += files.get(path) != file or clone.index.get(path) != file
            if worktree:
                git.write(path, file)
            if index:
                git.stage(path, file)
    return count


def reset(git: Git, words: list[str]) -> int:
    """Move the branch, the index, and with --hard the working tree, to a commit."""
    given, rest = options(words, "--hard --soft --mixed -q --quiet")
    clone = git.clone
    quiet = bool(given.keys() & {"-q", "--quiet"})
    names = list(rest)
    target = "HEAD"
    if names and names[0] != "--" and clone.resolve(names[0]) is not None:
        target = names.pop(0)
    names = without_dashes(names)
    if names:
        tree: Mapping[str, File] = git.commit(target).tree if clone.rev is not None else {}
        for name in names:
            spec = git.path(name)
            found = [path for path in sorted({**tree, **clone.index}) if meant(path, spec)]
            if not found:
                git.rev(name)
            for path in found:
                git.stage(path, tree.get(path))
        if not quiet:
            told_unstaged(git)
        return 0
    if clone.rev is None:
        clone.index = {}
        return 0
    commit = git.commit(target)
    if "--soft" in given:
        if clone.action is not None:
            raise GitError("fatal: Cannot do a soft reset in the middle of a merge.")
        clone.move(commit.rev)
        return 0
    hard = "--hard" in given
    if hard:
        known = {**clone.index, **clone.tree, **dict.fromkeys(clone.clashes), **commit.tree}
        for path in sorted(known):
            git.write(path, commit.tree.get(path))
    clone.move(commit.rev)
    clone.index = dict(commit.tree)
    clone.clashes = {}
    if clone.action is not None and clone.action.kind != "rebase":
        clone.action = None
    if quiet:
        return 0
    if hard:
        git.print(f"HEAD is now at {git.short(commit.rev)} {commit.subject}\n")
    else:
        told_unstaged(git)
    return 0


def told_unstaged(git: Git) -> None:
    """Name what the working tree has otherwise than the index."""
    here = {path: file for path, file in git.files().items() if path in git.clone.index}
    changed = between(git.clone.index, here)
    if changed:
        git.print("Unstaged changes after reset:\n" + shown(changed, "name-status"))
