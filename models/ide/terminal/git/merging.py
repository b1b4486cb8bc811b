"""The command merge, and what all have in common that join histories."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simharness.models.ide.repository.clone import HEADS, Action, Clone, GitError
from simharness.models.ide.repository.merging import merge_trees
from simharness.models.ide.terminal.git.committing import made_text
from simharness.models.ide.terminal.git.patches import between, stat
from simharness.models.ide.terminal.git.words import UNMERGED, options

if TYPE_CHECKING:
    from collections.abc import Mapping

    from simharness.models.ide.repository.merging import MergedTree
    from simharness.models.ide.repository.objects import File
    from simharness.models.ide.terminal.git.state import Git


def require_clean(git: Git, what: str) -> None:
    """Refuse to begin while something waits for conflicts to be settled. Raises GitError."""
    clone = git.clone
    if clone.clashes:
        raise GitError(UNMERGED.format(what))
    if clone.action is not None and clone.action.kind == "merge":
        raise GitError(
            "fatal: You have not concluded your merge (MERGE_HEAD exists).\n"
            "Please, commit your changes before you merge."
        )


def abort(git: Git, action: Action) -> None:
    """Go back to where an action began."""
    clone = git.clone
    target = clone.graph[action.back_rev]
    known = {**clone.index, **clone.tree, **dict.fromkeys(clone.clashes), **target.tree}
    for path in sorted(known):
        if path in clone.index or path in clone.clashes or path in target.tree:
            git.write(path, target.tree.get(path))
    if action.kind == "rebase":
        clone.head = action.back
    clone.move(action.back_rev)
    clone.index = dict(target.tree)
    clone.clashes = {}
    clone.action = None


def lay(git: Git, ours: Mapping[str, File], merged: MergedTree) -> None:
    """Put a merged tree into working tree and index; what clashes stays unsettled."""
    clone = git.clone
    clashing = {clash.path for clash in merged.clashes}
    for path in sorted({**ours, **merged.files}):
        file = merged.files.get(path)
        if ours.get(path) != file or path in clashing:
            git.write(path, file)
            if path not in clashing:
                git.stage(path, file)
    for clash in merged.clashes:
        clone.index.pop(clash.path, None)
        clone.clashes[clash.path] = clash


def told(
    git: Git,
    base: Mapping[str, File],
    ours: Mapping[str, File],
    theirs: Mapping[str, File],
    merged: MergedTree,
    our_name: str,
    their_name: str,
) -> None:
    """Say which files were merged, and which of them clash."""  # fmt: skip
    clashes = {clash.path: clash for clash in merged.clashes}
    for path in sorted({**ours, **theirs}):
        b, o, t = base.get(path), ours.get(path), theirs.get(path)
        if o in (t, b) or t == b:
            continue
        clash = clashes.get(path)
        if o is not None and t is not None:
            git.print(f"Auto-merging {path}\n")
            if clash is not None:
                kind = "content" if b is not None else "add/add"
                git.print(f"CONFLICT ({kind}): Merge conflict in {path}\n")
        elif clash is not None:
            gone, kept = (our_name, their_name) if o is None else (their_name, our_name)
            git.print(
                f"CONFLICT (modify/delete): {path} deleted in {gone} and modified in {kept}.  "
                f"Version {kept} of {path} left in tree.\n"
            )


def merge(git: Git, words: list[str]) -> int:
    """Join another history to one's own."""
    given, rest = options(
        words, "--abort --continue --no-ff --ff-only --ff --no-edit -q --quiet --quit", "-m"
    )
    git.quiet = bool(given.keys() & {"-q", "--quiet"})
    clone = git.clone
    action = clone.action
    if "--abort" in given:
        if action is None or action.kind != "merge":
            raise GitError("fatal: There is no merge to abort (MERGE_HEAD missing).")
        abort(git, action)
        return 0
    if "--continue" in given:
        if action is None or action.kind != "merge":
            raise GitError("fatal: There is no merge in progress (MERGE_HEAD missing).")
        return conclude(git, action)
    rest = rest or [f"origin/{clone.branch}"]
    if len(rest) != 1:
        raise GitError("fatal: No remote for the current branch." if not rest else
                       "fatal: only one commit can be merged at a time here")  # fmt: skip
    name = rest[0]
    if clone.resolve(name) is None:
        raise GitError(f"merge: {name} - not something we can merge", 1)
    message = given["-m"][-1] if "-m" in given else default_message(clone, name)
    return merge_rev(
        git,
        git.rev(name),
        name,
        message,
        fast="--no-ff" not in given,
        only_fast="--ff-only" in given,
    )


def default_message(clone: Clone, name: str) -> str:
    """Give the message of a merge."""
    into = "" if clone.branch in ("main", "master") else f" into {clone.branch or 'HEAD'}"
    if HEADS + name in clone.refs:
        return f"Merge branch '{name}'{into}"
    if f"refs/remotes/{name}" in clone.refs:
        return f"Merge remote-tracking branch '{name}'{into}"
    return f"Merge {'tag' if f'refs/tags/{name}' in clone.refs else 'commit'} '{name}'{into}"


def merge_rev(
    git: Git, rev: str, name: str, message: str, *, fast: bool = True, only_fast: bool = False
) -> int:
    """Merge a commit."""
    clone = git.clone
    require_clean(git, "Merging")
    here = clone.commit
    if here is None:
        git.switch_tree({}, clone.graph[rev].tree)
        clone.move(rev)
        return 0
    if clone.graph.is_ancestor(rev, here.rev):
        git.report("Already up to date.\n")
        return 0
    theirs = clone.graph[rev]
    if clone.graph.is_ancestor(here.rev, rev) and fast:
        git.report(f"Updating {git.short(here.rev)}..{git.short(rev)}\n")
        git.require_way(here.tree, theirs.tree, "merge", "merge")
        git.switch_tree(here.tree, theirs.tree)
        clone.move(rev)
        git.report("Fast-forward\n" + stat(between(here.tree, theirs.tree), modes=True))
        return 0
    if only_fast:
        raise GitError("fatal: Not possible to fast-forward, aborting.")
    base_rev = clone.graph.merge_base(here.rev, rev)
    if base_rev is None:
        raise GitError("fatal: refusing to merge unrelated histories")
    base = clone.graph[base_rev].tree
    merged = merge_trees(base, here.tree, theirs.tree, our_name="HEAD", their_name=name)
    if clone.index != clone.tree:
        paths = [d.path for d in between(clone.tree, clone.index)]
        names = "".join(f"\t{path}\n" for path in paths)
        raise GitError(
            "error: Your local changes to the following files would be overwritten by merge:\n"
            f"{names}Merge with strategy ort failed.", 2,
        )  # fmt: skip
    git.require_way(here.tree, merged.files, "merge", "merge")
    told(git, base, here.tree, theirs.tree, merged, "HEAD", name)
    lay(git, here.tree, merged)
    clone.action = Action(
        kind="merge", rev=rev, message=message, back=clone.head, back_rev=here.rev
    )
    if merged.clashes:
        git.report("Automatic merge failed; fix conflicts and then commit the result.\n")
        return 1
    made = clone.commit_index(message, author=git.author, at=git.now)
    git.report("Merge made by the 'ort' strategy.\n")
    git.report(stat(between(here.tree, made.tree), modes=True))
    return 0


def conclude(git: Git, action: Action) -> int:
    """Commit what was merged or picked, once its conflicts are settled."""
    clone = git.clone
    if clone.clashes:
        git.print("".join(f"U\t{path}\n" for path in sorted(clone.clashes)))
        require_clean(git, "Committing")
    author = action.author or git.author
    made = clone.commit_index(action.message, author=author, at=git.now)
    git.print(made_text(git, made, dated=action.kind == "cherry-pick"))
    return 0
