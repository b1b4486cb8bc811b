"""Commands of git that change index, branches and commits of one's own."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from simharness.models.ide.repository.clone import (
    HEADS,
    TAGS,
    GitError,
    check_name,
)
from simharness.models.ide.repository.merging import merge_trees
from simharness.models.ide.terminal.git.looking import long_status
from simharness.models.ide.terminal.git.patches import between, shown, stat
from simharness.models.ide.terminal.git.state import (
    Git,
    date,
    detached,
    is_branch,
    is_ref,
    meant,
    selected,
    tracking,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from simharness.models.ide.repository.objects import Commit, File

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


UNMERGED = """error: {} is not possible because you have unmerged files.
hint: Fix them up in the work tree, and then use 'git add/rm <file>'
hint: as appropriate to mark resolution and make a commit.
fatal: Exiting because of an unresolved conflict."""


def options(
    words: Sequence[str], plain: str, valued: str = ""
) -> tuple[dict[str, list[str]], list[str]]:
    """Read options: those of one letter or name without a value, and those with one.

    Args:
        words: The arguments.
        plain: Options without a value, with blanks between them.
        valued: Options with one.

    Returns:
        The values of each option, in order, and the rest; `--` stays in it.

    Raises:
        GitError: For an option that there isn't.
    """
    known, takes = plain.split(), valued.split()
    given: dict[str, list[str]] = {}
    rest: list[str] = []
    queue = list(words)
    while queue:
        word = queue.pop(0)
        if word == "--":
            return given, [*rest, "--", *queue]
        name, equals, value = word.partition("=")
        if name in takes and equals and name.startswith("--"):
            given.setdefault(name, []).append(value)
        elif word in takes:
            if not queue:
                raise GitError(f"error: switch `{word.lstrip('-')}' requires a value", 129)
            given.setdefault(word, []).append(queue.pop(0))
        elif word in known:
            given.setdefault(word, []).append("")
        elif (
            word.startswith("-")
            and len(word) > 2
            and word[1] != "-"
            and f"-{word[1]}"
            in (
                *known,
                *takes,
            )
        ):
            if f"-{word[1]}" in takes:
                given.setdefault(word[:2], []).append(word[2:])
            else:
                given.setdefault(word[:2], []).append("")
                queue.insert(0, "-" + word[2:])
        elif word.startswith("-") and word != "-":
            kind = "option" if word.startswith("--") else "switch"
            shown_word = word.lstrip("-") if kind == "option" else word[1]
            raise GitError(f"error: unknown {kind} `{shown_word}'", 129)
        else:
            rest.append(word)
    return given, rest


def without_dashes(rest: list[str]) -> list[str]:
    """Give the rest of the arguments without `--`."""
    return [word for word in rest if word != "--"]


# --- the index ------------------------------------------------------------------------------------


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


# --- commits --------------------------------------------------------------------------------------


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


# --- branches and tags ----------------------------------------------------------------------------


def branch(git: Git, words: list[str]) -> int:
    """Show, make, move or remove branches."""
    asks = ("--contains", "--merged", "--no-merged")
    filled = [
        f"{word}=HEAD" if word in asks and (after is None or after.startswith("-")) else word
        for word, after in zip(words, [*words[1:], None][: len(words)], strict=True)
    ]
    given, rest = options(
        filled,
        "-a --all -r --remotes -v -vv --list -l -d -D -f --delete --force --show-current -m -M "
        "--move --no-color",
        "--contains --merged --no-merged",
    )
    clone = git.clone
    names = without_dashes(rest)
    if "--show-current" in given:
        git.print(f"{clone.branch}\n" if clone.branch is not None else "")
        return 0
    if given.keys() & {"-d", "-D", "--delete"}:
        return remove_branches(git, names, forced="-D" in given or "-f" in given)
    if given.keys() & {"-m", "-M", "--move"}:
        if not 1 <= len(names) <= 2:
            raise GitError("fatal: branch name required")
        old = names[0] if len(names) == 2 else clone.branch or ""
        check_name(names[-1], "branch")
        if not is_branch(clone, old):
            raise GitError(f"fatal: No branch named '{old}'.")
        if is_branch(clone, names[-1]) and "-M" not in given and names[-1] != old:
            raise GitError(f"fatal: a branch named '{names[-1]}' already exists")
        rev = clone.refs.pop(HEADS + old)
        clone.refs[HEADS + names[-1]] = rev
        if clone.head == HEADS + old:
            clone.head = HEADS + names[-1]
        return 0
    listing = given.keys() & {"-a", "--all", "-r", "--remotes", "-v", "-vv", "--list", "-l",
                              "--contains", "--merged", "--no-merged"}  # fmt: skip
    if names and not listing:
        make_branch(git, names[0], names[1] if len(names) > 1 else "HEAD", forced="-f" in given)
        return 0
    list_branches(git, given, names)
    return 0


def make_branch(git: Git, name: str, start: str, *, forced: bool) -> None:
    """Make a branch. Raises GitError."""
    check_name(name, "branch")
    if is_branch(git.clone, name) and not forced:
        raise GitError(f"fatal: a branch named '{name}' already exists")
    rev = git.clone.resolve(start)
    if rev is None:
        raise GitError(f"fatal: not a valid object name: '{start}'")
    if forced and git.clone.head == HEADS + name:
        raise GitError(f"fatal: cannot force update the branch '{name}' checked out at '/repo'")
    git.clone.refs[HEADS + name] = rev


def remove_branches(git: Git, names: list[str], *, forced: bool) -> int:
    """Remove branches; only with force those with commits that nothing else has."""
    clone = git.clone
    status = 0
    for name in names:
        rev = clone.refs.get(HEADS + name)
        if rev is None:
            git.tell(f"error: branch '{name}' not found.\n")
            status = 1
            continue
        if clone.branch == name:
            git.tell(f"error: Cannot delete branch '{name}' checked out at '/repo'\n")
            status = 1
            continue
        theirs = clone.refs.get(f"refs/remotes/origin/{name}", clone.rev)
        if not forced and (theirs is None or not clone.graph.is_ancestor(rev, theirs)):
            git.tell(
                f"error: The branch '{name}' is not fully merged.\n"
                f"If you are sure you want to delete it, run 'git branch -D {name}'.\n"
            )
            status = 1
            continue
        del clone.refs[HEADS + name]
        git.print(f"Deleted branch {name} (was {git.short(rev)}).\n")
    return status


def list_branches(git: Git, given: dict[str, list[str]], patterns: list[str]) -> None:
    """Print branches, the present one with a star."""
    clone = git.clone
    rows: list[tuple[str, str, str]] = []
    remote_only = "-r" in given or "--remotes" in given
    every = "-a" in given or "--all" in given
    if not remote_only:
        if clone.branch is None and clone.rev is not None:
            rows.append(("* ", f"({detached(git)})", clone.rev))
        for name in sorted(clone.refs):
            if name.startswith(HEADS):
                mark = "* " if name == clone.head else "  "
                rows.append((mark, name.removeprefix(HEADS), clone.refs[name]))
    if remote_only or every:
        head = "refs/" if every else "refs/remotes/"
        remotes = [name for name in sorted(clone.refs) if name.startswith("refs/remotes/")]
        rows += [("  ", name.removeprefix(head), clone.refs[name]) for name in remotes]
    if patterns:
        rows = [row for row in rows if any(meant(row[1], pattern) for pattern in patterns)]
    for option, keep in (("--contains", True), ("--merged", True), ("--no-merged", False)):
        for name in given.get(option, []):
            rev = git.rev(name)
            graph = clone.graph
            rows = [
                row
                for row in rows
                if (graph.is_ancestor(rev, row[2]) if option == "--contains"
                    else graph.is_ancestor(row[2], rev) == keep)
            ]  # fmt: skip
    wide = max((len(name) for _, name, _ in rows), default=0)
    for mark, name, rev in rows:
        if "-v" in given or "-vv" in given:
            subject = clone.graph[rev].subject
            git.print(f"{mark}{name:{wide}} {git.short(rev)} {subject}\n")
        else:
            git.print(f"{mark}{name}\n")


def tag(git: Git, words: list[str]) -> int:
    """Show, make or remove tags."""
    given, rest = options(words, "-l --list -d --delete -a -f --force -n", "-m --message")
    clone = git.clone
    names = without_dashes(rest)
    if "-d" in given or "--delete" in given:
        status = 0
        for name in names:
            rev = clone.refs.pop(TAGS + name, None)
            if rev is None:
                git.tell(f"error: tag '{name}' not found.\n")
                status = 1
            else:
                git.print(f"Deleted tag '{name}' (was {git.short(rev)})\n")
        return status
    if not names or "-l" in given or "--list" in given:
        for name in sorted(clone.refs):
            title = name.removeprefix(TAGS)
            if name.startswith(TAGS) and (not names or any(meant(title, p) for p in names)):
                git.print(title + "\n")
        return 0
    check_name(names[0], "tag")
    if TAGS + names[0] in clone.refs and not ("-f" in given or "--force" in given):
        raise GitError(f"fatal: tag '{names[0]}' already exists")
    rev = clone.resolve(names[1] if len(names) > 1 else "HEAD")
    if rev is None:
        raise GitError(f"fatal: Failed to resolve '{(names[1:] or ['HEAD'])[0]}' as a valid ref.")
    clone.refs[TAGS + names[0]] = rev
    return 0


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


# --- putting aside --------------------------------------------------------------------------------


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
