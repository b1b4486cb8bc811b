"""The command stash."""

from __future__ import annotations

import re

from simharness.models.ide.repository.clone import (
    GitError,
)
from simharness.models.ide.repository.merging import merge_trees
from simharness.models.ide.terminal.git.patches import between, shown
from simharness.models.ide.terminal.git.state import (
    Git,
    selected,
)
from simharness.models.ide.terminal.git.status import long_status
from simharness.models.ide.terminal.git.words import options, without_dashes


def stash(git: Git, words: list[str]) -> int:
    """Put changes aside, and bring them back."""
    act = words[0] if words and not words[0].startswith("-") else "push"
    rest = words[1:] if words and not words[0].startswith("-") else words
    clone = git.clone
    if act in ("push", "save"):
        return stash_push(git, rest if act == "push" else ["-m", " ".join(rest)] if rest else [])
    if act == "list":
        for number, rev in enumerate(clone.stashes):
            git.print(f"stash@{{{number}}}: {clone.graph[rev].message}\n")
        return 0
    if act == "clear":
        clone.stashes = []
        return 0
    if act not in ("pop", "apply", "drop", "show"):
        raise GitError(
            "fatal: subcommand wasn't specified; 'push' can't be assumed due to unexpected token "
            f"'{act}'"
        )
    given, names = options(rest, "-q --quiet -p --patch --stat --index")
    if not clone.stashes:
        raise GitError("No stash entries found.", 1)
    name = names[0] if names else "stash@{0}"
    name = f"stash@{{{name}}}" if name.isdigit() else name
    found = re.fullmatch(r"stash@\{([0-9]{1,6})\}", name)
    if found is None or int(found[1]) >= len(clone.stashes):
        raise GitError(f"error: {name} is not a valid reference", 1)
    number = int(found[1])
    rev = clone.stashes[number]
    if act == "show":
        put_aside = clone.graph[rev]
        base = clone.graph[put_aside.parents[0]]
        form = "patch" if "-p" in given or "--patch" in given else "stat"
        git.print(shown(between(base.tree, put_aside.tree), form))
        return 0
    if act in ("pop", "apply"):
        try:
            status = bring_back(git, rev)
        except GitError as error:
            git.tell(error.text + "\n")
            status = error.code
            long_status(git, [])
        if status or act == "apply":
            if status and act == "pop":
                git.print("The stash entry is kept in case you need it again.\n")
            return status
    del clone.stashes[number]
    git.print(f"Dropped {'refs/stash@{0}' if not names else name} ({rev})\n")
    return 0


def stash_push(git: Git, words: list[str]) -> int:
    """Put changes aside."""
    given, rest = options(words, "-q --quiet", "-m --message")
    clone = git.clone
    here = clone.commit
    if here is None:
        raise GitError("fatal: bad revision 'HEAD'\nYou do not have the initial commit yet", 1)
    if clone.clashes:
        git.print("".join(f"{path}: needs merge\n" for path in sorted(clone.clashes)))
        raise GitError("error: could not write index", 1)
    specs = git.paths(without_dashes(rest))
    files = git.files()
    tracked = {path: file for path, file in files.items() if path in clone.index}
    kept = dict(here.tree)
    for path in selected(sorted({**kept, **tracked, **clone.index}), specs):
        file = tracked.get(path)
        if file is None:
            kept.pop(path, None)
        else:
            kept[path] = file
    if kept == dict(here.tree) and clone.index == dict(here.tree):
        git.print("No local changes to save\n")
        return 0
    where = clone.branch or "(no branch)"
    text = f"{where}: {git.short(here.rev)} {here.subject}"
    said = (given.get("-m") or given.get("--message") or [""])[-1]
    author = git.author
    index = clone.record(f"index on {text}", author=author, at=git.now)
    message = f"On {where}: {said}" if said else f"WIP on {text}"
    parents = [here.rev, index.rev]
    put = clone.record(message, author=author, at=git.now, files=kept, parents=parents)
    clone.stashes.insert(0, put.rev)
    for path in selected(sorted({**here.tree, **clone.index}), specs):
        git.write(path, here.tree.get(path))
        git.stage(path, here.tree.get(path))
    if not ("-q" in given or "--quiet" in given):
        git.print(f"Saved working directory and index state {message}\n")
    return 0


def bring_back(git: Git, rev: str) -> int:
    """Put what was put aside on top of what there is."""
    clone = git.clone
    put = clone.graph[rev]
    base = clone.graph[put.parents[0]].tree
    index = dict(clone.index)
    here = {path: file for path, file in git.files().items() if path in index}
    changed = {d.path for d in between(base, put.tree)}
    dirty = [d.path for d in between(index, here) if d.path in changed]
    if dirty:
        names = "".join(f"\t{path}\n" for path in dirty)
        raise GitError(
            "error: Your local changes to the following files would be overwritten by merge:\n"
            f"{names}Please commit your changes or stash them before you merge.\nAborting",
            1,
        )
    merged = merge_trees(
        base, index, put.tree, our_name="Updated upstream", their_name="Stashed changes"
    )
    for path in sorted(changed):
        git.write(path, merged.files.get(path))
        if path not in index and path in merged.files:
            git.stage(path, merged.files[path])
    for clash in merged.clashes:
        if clash.path in changed:
            git.print(f"Auto-merging {clash.path}\n")
            git.print(f"CONFLICT (content): Merge conflict in {clash.path}\n")
            clone.clashes[clash.path] = clash
    long_status(git, [])
    return int(bool(clone.clashes))
