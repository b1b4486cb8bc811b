"""The command status."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simharness.models.ide.repository.clone import HEADS, GitError
from simharness.models.ide.terminal.git.asked import IGNORED
from simharness.models.ide.terminal.git.patches import between
from simharness.models.ide.terminal.git.state import (
    Git,
    detached,
    selected,
    tracking,
)

if TYPE_CHECKING:
    from collections.abc import Sequence


def status(git: Git, words: list[str]) -> int:
    """Say what is staged, changed and unknown."""
    short = branch = False
    specs: list[str] = []
    for word in words:
        if word in ("-s", "--short", "--porcelain", "--porcelain=v1", "-sb", "-bs"):
            short = True
            branch = branch or "b" in word.removeprefix("--porcelain").removeprefix("--short")
        elif word in ("-b", "--branch"):
            branch = True
        elif word in ("-u", "-uall", "-unormal", "--long", "-uno") or word in IGNORED:
            continue
        elif word.startswith("-") and word != "--":
            raise GitError(f"error: unknown option `{word.lstrip('-')}'", 129)
        elif word != "--":
            specs.append(git.path(word))
    if short:
        short_status(git, specs, branch=branch)
        return 0
    long_status(git, specs)
    return 0


def unknown_names(git: Git, specs: Sequence[str]) -> list[str]:
    """Name what isn't tracked; a folder without anything that is by itself."""
    known = [*git.clone.index, *git.clone.clashes]
    out: dict[str, None] = {}
    for path in selected(git.untracked(), specs):
        parts = path.split("/")
        name = path
        for depth in range(1, len(parts)):
            folder = "/".join(parts[:depth]) + "/"
            if not any(each.startswith(folder) for each in known):
                name = folder
                break
        out[name] = None
    return sorted(out)


def short_status(git: Git, specs: Sequence[str], *, branch: bool) -> None:
    """Print the short form."""
    clone = git.clone
    if branch:
        name = clone.branch
        theirs = None if name is None else clone.refs.get(f"refs/remotes/origin/{name}")
        line = "## HEAD (no branch)" if name is None else f"## {name}"
        if name is not None and theirs is not None and clone.rev is not None:
            line += f"...origin/{name}"
            ahead = sum(1 for _ in clone.graph.log([clone.rev], [theirs]))
            behind = sum(1 for _ in clone.graph.log([theirs], [clone.rev]))
            parts = [f"ahead {ahead}"] * bool(ahead) + [f"behind {behind}"] * bool(behind)
            line += f" [{', '.join(parts)}]" if parts else ""
        git.print(line + "\n")
    letters: dict[str, list[str]] = {}
    for delta in between(clone.tree, clone.index, specs):
        letters.setdefault(delta.path, [" ", " "])[0] = delta.letter
    here = {path: file for path, file in git.files().items() if path in clone.index}
    for delta in between(clone.index, here, specs):
        letters.setdefault(delta.path, [" ", " "])[1] = delta.letter
    for clash in clone.clashes.values():
        letters[clash.path] = list(clash.letters)
    for path in sorted(letters):
        git.print(f"{''.join(letters[path])} {git.shown(path)}\n")
    for path in unknown_names(git, specs):
        git.print(f"?? {git.shown(path)}\n")


def long_status(git: Git, specs: Sequence[str]) -> None:
    """Print the long form."""
    clone = git.clone
    if clone.branch is not None:
        git.print(f"On branch {clone.branch}\n")
    elif clone.action is None or clone.action.kind != "rebase":
        git.print(detached(git) + "\n")
    told = tracking(git)
    if told:
        git.print(told + "\n")
    if clone.rev is None:
        git.print("\nNo commits yet\n\n")
    git.print(under_way(git))
    staged = [d for d in between(clone.tree, clone.index, specs) if d.path not in clone.clashes]
    tracked = {path: file for path, file in git.files().items() if path in clone.index}
    changed = [d for d in between(clone.index, tracked, specs) if d.path not in clone.clashes]
    unknown = unknown_names(git, specs)
    if staged:
        git.print("Changes to be committed:\n")
        merging = clone.action is not None and clone.action.kind == "merge"
        if clone.rev is None:
            git.print('  (use "git rm --cached <file>..." to unstage)\n')
        elif not merging:
            git.print('  (use "git restore --staged <file>..." to unstage)\n')
        for delta in staged:
            what = {"A": "new file:", "M": "modified:", "D": "deleted:"}[delta.letter]
            git.print(f"\t{what:12}{git.shown(delta.path)}\n")
        git.print("\n")
    if clone.clashes:
        git.print("Unmerged paths:\n")
        clashes = [clone.clashes[path] for path in sorted(clone.clashes)]
        gone = any(clash.letters in ("DU", "UD") for clash in clashes)
        if clone.action is None or clone.action.kind == "rebase":
            git.print('  (use "git restore --staged <file>..." to unstage)\n')
        how = (
            '"git add/rm <file>..." as appropriate to mark'
            if gone
            else '"git add <file>..." to mark'
        )
        git.print(f"  (use {how} resolution)\n")
        for clash in clashes:
            what = {
                "UU": "both modified:", "AA": "both added:", "DU": "deleted by us:",
                "UD": "deleted by them:",
            }[clash.letters]  # fmt: skip
            git.print(f"\t{what:17}{git.shown(clash.path)}\n")
        git.print("\n")
    if changed:
        gone = any(delta.new is None for delta in changed)
        git.print("Changes not staged for commit:\n")
        git.print(f'  (use "git add{"/rm" * gone} <file>..." to update what will be committed)\n')
        git.print('  (use "git restore <file>..." to discard changes in working directory)\n')
        for delta in changed:
            what = "modified:" if delta.letter == "M" else "deleted:"
            git.print(f"\t{what:12}{git.shown(delta.path)}\n")
        git.print("\n")
    if unknown:
        git.print("Untracked files:\n")
        git.print('  (use "git add <file>..." to include in what will be committed)\n')
        git.print("".join(f"\t{git.shown(path)}\n" for path in unknown) + "\n")
    if staged:
        return
    if changed or clone.clashes:
        git.print('no changes added to commit (use "git add" and/or "git commit -a")\n')
    elif unknown:
        git.print('nothing added to commit but untracked files present (use "git add" to track)\n')
    elif clone.rev is None:
        git.print('nothing to commit (create/copy files and use "git add" to track)\n')
    else:
        git.print("nothing to commit, working tree clean\n")


def under_way(git: Git) -> str:
    """Say what waits for somebody to settle its conflicts."""
    action, clashes = git.clone.action, git.clone.clashes
    if action is None:
        return ""
    if action.kind == "merge":
        if clashes:
            return (
                'You have unmerged paths.\n  (fix conflicts and run "git commit")\n'
                '  (use "git merge --abort" to abort the merge)\n\n'
            )
        return (
            "All conflicts fixed but you are still merging.\n"
            '  (use "git commit" to conclude merge)\n\n'
        )
    fix = "fix conflicts and then run" if action.kind == "rebase" else "fix conflicts and run"
    if action.kind == "cherry-pick":
        head = f"You are currently cherry-picking commit {git.short(action.rev)}.\n"
    else:
        title, onto = action.back.removeprefix(HEADS), git.short(action.onto)
        head = f"You are currently rebasing branch '{title}' on '{onto}'.\n"
    go_on = f'  ({fix} "git {action.kind} --continue")\n'
    if not clashes:
        go_on = f'  (all conflicts fixed: run "git {action.kind} --continue")\n'
    if action.kind == "cherry-pick":
        return (
            f'{head}{go_on}  (use "git cherry-pick --skip" to skip this patch)\n'
            '  (use "git cherry-pick --abort" to cancel the cherry-pick operation)\n\n'
        )
    return (
        f'{head}{go_on}  (use "git rebase --skip" to skip this patch)\n'
        '  (use "git rebase --abort" to check out the original branch)\n\n'
    )
