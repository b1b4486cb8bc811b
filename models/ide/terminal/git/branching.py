"""The commands branch and tag."""

from __future__ import annotations

from simharness.models.ide.repository.clone import (
    HEADS,
    TAGS,
    GitError,
    check_name,
)
from simharness.models.ide.terminal.git.state import (
    Git,
    detached,
    is_branch,
    meant,
)
from simharness.models.ide.terminal.git.words import options, without_dashes


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
