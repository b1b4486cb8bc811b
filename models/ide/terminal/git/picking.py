"""The commands cherry-pick and rebase."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simharness.models.ide.repository.clone import Action, Clone, GitError
from simharness.models.ide.repository.merging import merge_trees
from simharness.models.ide.terminal.git.committing import made_text
from simharness.models.ide.terminal.git.merging import abort, conclude, lay, require_clean, told
from simharness.models.ide.terminal.git.patches import between
from simharness.models.ide.terminal.git.words import options

if TYPE_CHECKING:
    from collections.abc import Mapping

    from simharness.models.ide.repository.merging import MergedTree
    from simharness.models.ide.repository.objects import Commit, File
    from simharness.models.ide.terminal.git.state import Git


def pick(git: Git, commit: Commit, kind: str) -> MergedTree:
    """Put what a commit changes on top of HEAD, into working tree and index."""
    clone = git.clone
    ours = clone.tree
    base: Mapping[str, File] = (
        clone.graph[commit.parents[0]].tree if clone.graph.parents(commit.rev) else {}
    )
    name = f"{git.short(commit.rev)} ({commit.subject})"
    merged = merge_trees(base, ours, commit.tree, our_name="HEAD", their_name=name)
    git.require_way(ours, merged.files, "merge", kind)
    told(git, base, ours, commit.tree, merged, "HEAD", name)
    lay(git, ours, merged)
    return merged


def cherry_pick(git: Git, words: list[str]) -> int:
    """Put what commits have changed on top of HEAD."""
    given, rest = options(words, "--abort --continue --skip --quit -n --no-commit -x -e")
    clone = git.clone
    action = clone.action
    if given.keys() & {"--abort", "--continue", "--skip", "--quit"}:
        if action is None or action.kind != "cherry-pick":
            raise GitError("error: no cherry-pick or revert in progress\nfatal: cherry-pick failed")
        if "--abort" in given:
            abort(git, action)
            return 0
        if "--continue" in given:
            conclude(git, action)
        else:
            here = clone.tree
            for path in sorted({**clone.index, **dict.fromkeys(clone.clashes), **here}):
                git.write(path, here.get(path))
            clone.index, clone.clashes, clone.action = here, {}, None
        return pick_all(git, list(action.todo), action.back_rev)
    require_clean(git, "Cherry-picking")
    if not rest:
        raise GitError("usage: git cherry-pick [<options>] <commit-ish>...", 129)
    revs: list[str] = []
    for name in rest:
        if ".." in name:
            one, other = name.split("..", 1)
            log = clone.graph.log([git.rev(other or "HEAD")], [git.rev(one or "HEAD")])
            revs += [commit.rev for commit in log][::-1]
            continue
        rev = clone.resolve(name)
        if rev is None:
            raise GitError(f"fatal: bad revision '{name}'")
        revs.append(rev)
    if clone.index != clone.tree:
        raise GitError(
            "error: your local changes would be overwritten by cherry-pick.\n"
            "hint: commit your changes or stash them to proceed.\nfatal: cherry-pick failed"
        )
    if "-n" in given or "--no-commit" in given:
        return int(any(pick(git, clone.graph[rev], "cherry-pick").clashes for rev in revs))
    return pick_all(git, revs, clone.rev or "")


def pick_all(git: Git, revs: list[str], back: str) -> int:
    """Pick one commit after the other, until one clashes."""
    clone = git.clone
    while revs:
        commit = clone.graph[revs.pop(0)]
        if len(clone.graph.parents(commit.rev)) > 1:
            raise GitError(
                f"error: commit {commit.rev} is a merge but no -m option was given.\n"
                "fatal: cherry-pick failed"
            )
        before = clone.tree
        merged = pick(git, commit, "cherry-pick")
        clone.action = Action(
            kind="cherry-pick",
            rev=commit.rev,
            message=commit.message,
            author=commit.author,
            todo=tuple(revs),
            back=clone.head,
            back_rev=back,
        )
        if merged.clashes:
            raise GitError(
                f"error: could not apply {git.short(commit.rev)}... {commit.subject}\n"
                "hint: After resolving the conflicts, mark them with\n"
                'hint: "git add/rm <pathspec>", then run\n'
                'hint: "git cherry-pick --continue".\n'
                'hint: You can instead skip this commit with "git cherry-pick --skip".\n'
                'hint: To abort and get back to the state before "git cherry-pick",\n'
                'hint: run "git cherry-pick --abort".',
                1,
            )
        if clone.index == before:
            raise GitError(
                "The previous cherry-pick is now empty, possibly due to conflict resolution.\n"
                "If you wish to commit it anyway, use:\n\n    git commit --allow-empty\n\n"
                "Otherwise, please use 'git cherry-pick --skip'",
                1,
            )
        made = clone.commit_index(commit.message, author=commit.author, at=git.now)
        git.print(made_text(git, made, dated=True))
    return 0


def rebase(git: Git, words: list[str]) -> int:
    """Put one's own commits on top of another history."""
    given, rest = options(words, "--abort --continue --skip -q --quiet", "--onto")
    git.quiet = bool(given.keys() & {"-q", "--quiet"})
    clone = git.clone
    action = clone.action
    if given.keys() & {"--abort", "--continue", "--skip"}:
        if action is None or action.kind != "rebase":
            raise GitError("fatal: No rebase in progress?")
        if "--abort" in given:
            abort(git, action)
            return 0
        if "--continue" in given:
            if clone.clashes:
                names = "".join(f"{path}: needs merge\n" for path in sorted(clone.clashes))
                git.print(names)
                raise GitError(
                    "You must edit all merge conflicts and then\n"
                    "mark them as resolved using git add", 1,
                )  # fmt: skip
            if clone.index != clone.tree:
                author = action.author or git.author
                made = clone.commit_index(action.message, author=author, at=git.now)
                git.print(made_text(git, made))
        else:
            here = clone.tree
            for path in sorted({**clone.index, **dict.fromkeys(clone.clashes), **here}):
                git.write(path, here.get(path))
            clone.index, clone.clashes = here, {}
        return replay(git, list(action.todo), action)
    require_clean(git, "Rebasing")
    name = rest[0] if rest else f"origin/{clone.branch}"
    if clone.resolve(name) is None:
        raise GitError(f"fatal: invalid upstream '{name}'")
    here = {path: file for path, file in git.files().items() if path in clone.index}
    if clone.index != clone.tree or here != clone.index:
        what = (
            "You have unstaged changes"
            if here != clone.index
            else "Your index contains uncommitted changes"
        )
        raise GitError(f"error: cannot rebase: {what}.\nerror: Please commit or stash them.", 1)
    onto = git.rev(given["--onto"][-1]) if "--onto" in given else git.rev(name)
    return rebase_onto(git, git.rev(name), onto)


def rebase_onto(git: Git, upstream: str, onto: str) -> int:
    """Put the commits that another history hasn't on top of a commit."""
    clone = git.clone
    mine = clone.rev or ""
    title = clone.branch
    if clone.graph.is_ancestor(onto, mine) and upstream == onto:
        base_of = clone.graph.log([mine], [onto])
        if all(len(commit.parents) < 2 for commit in base_of):
            git.print(f"Current branch {title or 'HEAD'} is up to date.\n")
            return 0
    theirs = {patch_of(clone, c) for c in clone.graph.log([upstream], [mine])}
    todo = [c for c in clone.graph.log([mine], [upstream]) if len(c.parents) < 2][::-1]
    todo = [c for c in todo if patch_of(clone, c) not in theirs]
    target = clone.graph[onto]
    git.require_way(clone.tree, target.tree, "checkout", "switch branches")
    action = Action(
        kind="rebase",
        rev=onto,
        message="",
        todo=tuple(c.rev for c in todo),
        back=clone.head,
        back_rev=mine,
        onto=onto,
    )
    git.switch_tree(clone.tree, target.tree)
    clone.head = onto
    return replay(git, [c.rev for c in todo], action)


def patch_of(clone: Clone, commit: Commit) -> tuple[object, ...]:
    """Give what a commit changes, so that an equal one is known again."""
    above = clone.graph.parents(commit.rev)
    before: Mapping[str, File] = clone.graph[above[0]].tree if above else {}
    return tuple(between(before, commit.tree))


def replay(git: Git, revs: list[str], action: Action) -> int:
    """Pick the commits of a rebase, until one clashes; then give the branch its new place."""
    clone = git.clone
    total = len(revs) + len(action.done)
    done = list(action.done)
    while revs:
        rev = revs.pop(0)
        commit = clone.graph[rev]
        done.append(rev)
        if clone.rev == (commit.parents[0] if commit.parents else ""):
            git.switch_tree(clone.tree, commit.tree)
            clone.head = rev
            continue
        before = clone.tree
        merged = pick(git, commit, "rebase")
        clone.action = Action(
            kind="rebase",
            rev=rev,
            message=commit.message,
            author=commit.author,
            todo=tuple(revs),
            done=tuple(done),
            back=action.back,
            back_rev=action.back_rev,
            onto=action.onto,
        )
        if merged.clashes:
            git.tell(f"Rebasing ({len(done)}/{total})\n")
            short = git.short(rev)
            raise GitError(
                f"error: could not apply {short}... {commit.subject}\n"
                "hint: Resolve all conflicts manually, mark them as resolved with\n"
                'hint: "git add/rm <conflicted_files>", then run "git rebase --continue".\n'
                'hint: You can instead skip this commit: run "git rebase --skip".\n'
                'hint: To abort and get back to the state before "git rebase", run '
                f'"git rebase --abort".\nCould not apply {short}... {commit.subject}',
                1,
            )
        if clone.index != before:
            clone.commit_index(commit.message, author=commit.author, at=git.now)
    new = clone.rev or ""
    clone.action = None
    clone.head = action.back
    clone.move(new)
    name = action.back if action.back.startswith("refs/") else "HEAD"
    git.tell(f"Successfully rebased and updated {name}.\n")
    return 0
