"""The commands fetch, pull and push."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simharness.api import Refused
from simharness.models.ide.repository.clone import BAD_NAME, REMOTES, GitError
from simharness.models.ide.terminal.git.merging import merge_rev, require_clean
from simharness.models.ide.terminal.git.picking import rebase_onto
from simharness.models.ide.terminal.git.words import options, without_dashes

if TYPE_CHECKING:
    from collections.abc import Generator

    from simpy.events import Event

    from simharness.models.ide.terminal.git.state import Git


def fetch(git: Git, words: list[str]) -> Generator[Event, object, int]:
    """Learn of the server's branches."""
    given, _ = options(words, "-q --quiet --all -p --prune --tags")
    git.quiet = bool(given.keys() & {"-q", "--quiet"})
    yield from fetched(git)
    return 0


def fetched(git: Git) -> Generator[Event, object, None]:
    """Learn of the server's branches, and say what is new."""
    clone = git.clone
    branches = yield from git.call.shell.host.server_branches()
    lines: list[str] = []
    for title, rev in sorted(branches.items()):
        old = clone.refs.get(REMOTES + title)
        if old == rev:
            continue
        yield from git.call.shell.host.learn(rev)
        clone.refs[REMOTES + title] = rev
        if old is None:
            lines.append(f" * [new branch]      {title:10} -> origin/{title}\n")
        elif clone.graph.is_ancestor(old, rev):
            lines.append(f"   {git.short(old)}..{git.short(rev)}  {title:10} -> origin/{title}\n")
        else:
            span = f"{git.short(old)}...{git.short(rev)}"
            lines.append(f" + {span} {title:10} -> origin/{title}  (forced update)\n")
    if lines:
        git.tell("From https://git.ide.example/repo\n" + "".join(lines))


def pull(git: Git, words: list[str]) -> Generator[Event, object, int]:
    """Fetch, and join the server's branch to one's own."""
    given, rest = options(words, "--rebase -r --no-rebase --ff-only --ff --no-edit -q --quiet")
    git.quiet = bool(given.keys() & {"-q", "--quiet"})
    names = without_dashes(rest)
    clone = git.clone
    title = names[1] if len(names) > 1 else clone.branch
    if title is None:
        raise GitError("You are not currently on a branch.\nPlease specify which branch you want "
                       "to merge with.", 1)  # fmt: skip
    if clone.clashes:
        require_clean(git, "Pulling")
    yield from fetched(git)
    rev = clone.refs.get(REMOTES + title)
    if rev is None:
        raise GitError(f"fatal: couldn't find remote ref {title}", 1)
    mine = clone.rev
    if "--rebase" in given or "-r" in given:
        here = {path: file for path, file in git.files().items() if path in clone.index}
        if clone.index != clone.tree or here != clone.index:
            raise GitError("error: cannot pull with rebase: You have unstaged changes.\n"
                           "error: Please commit or stash them.")  # fmt: skip
        if mine is not None and clone.graph.is_ancestor(mine, rev):
            return merge_rev(git, rev, f"origin/{title}", "")
        return rebase_onto(git, rev, rev)
    apart = mine is not None and not clone.graph.is_ancestor(mine, rev)
    apart = apart and not clone.graph.is_ancestor(rev, mine or "")
    if apart and not given.keys() & {"--no-rebase", "--ff"}:
        if "--ff-only" in given:
            raise GitError("fatal: Not possible to fast-forward, aborting.")
        raise GitError(
            "hint: You have divergent branches and need to specify how to reconcile them.\n"
            "hint: You can do so by running one of the following commands sometime before\n"
            "hint: your next pull:\n"
            "hint: \n"
            "hint:   git config pull.rebase false  # merge\n"
            "hint:   git config pull.rebase true   # rebase\n"
            "hint:   git config pull.ff only       # fast-forward only\n"
            "hint: \n"
            'hint: You can replace "git config" with "git config --global" to set a default\n'
            "hint: preference for all repositories. You can also pass --rebase, --no-rebase,\n"
            "hint: or --ff-only on the command line to override the configured default per\n"
            "hint: invocation.\n"
            "fatal: Need to specify how to reconcile divergent branches."
        )
    message = f"Merge branch '{title}' of https://git.ide.example/repo"
    return merge_rev(git, rev, rev, message)


def push(git: Git, words: list[str]) -> Generator[Event, object, int]:
    """Put the server's branch on one's own; CI then tests it."""
    given, rest = options(
        words, "-u --set-upstream -f --force --force-with-lease -q --quiet --tags", ""
    )
    git.quiet = bool(given.keys() & {"-q", "--quiet"})
    clone = git.clone
    names = without_dashes(rest)
    spec = names[1] if len(names) > 1 else clone.branch
    if names and names[0] != "origin":
        raise GitError(
            f"fatal: '{names[0]}' does not appear to be a git repository\n"
            "fatal: Could not read from remote repository.\n\n"
            "Please make sure you have the correct access rights\nand the repository exists."
        )
    if spec is None:
        raise GitError("fatal: You are not currently on a branch.")
    source, colon, title = spec.partition(":")
    title = title if colon else source
    if title == "HEAD":
        title = clone.branch or ""
    rev = clone.resolve(source)
    if rev is None:
        raise GitError(
            f"error: src refspec {source} does not match any\n"
            "error: failed to push some refs to 'https://git.ide.example/repo.git'", 1,
        )  # fmt: skip
    if not title or BAD_NAME.search(title) is not None:
        raise GitError(f"fatal: invalid refspec '{spec}'")
    forced = bool(given.keys() & {"-f", "--force", "--force-with-lease"})
    url = "https://git.ide.example/repo.git"
    old = clone.refs.get(REMOTES + title)
    if old == rev:
        branches = yield from git.call.shell.host.server_branches()
        if branches.get(title) == rev:
            git.tell("Everything up-to-date\n")
            return 0
    try:
        there = yield from git.call.shell.host.send(title, rev, forced=forced)
    except Refused as refusal:
        if refusal.code != "conflict":
            raise
        why = (
            "non-fast-forward"
            if old is not None and clone.graph.is_ancestor(rev, old)
            else "fetch first"
        )
        raise GitError(
            f"To {url}\n ! [rejected]        {source} -> {title} ({why})\n"
            f"error: failed to push some refs to '{url}'\n"
            "hint: Updates were rejected because the remote contains work that you do\n"
            "hint: not have locally. This is usually caused by another repository pushing\n"
            "hint: to the same ref. You may want to first integrate the remote changes\n"
            "hint: (e.g., 'git pull ...') before pushing again.\n"
            "hint: See the 'Note about fast-forwards' in 'git push --help' for details.",
            1,
        ) from None
    if given.keys() & {"-u", "--set-upstream"}:
        git.report(f"branch '{source}' set up to track 'origin/{title}'.\n")
    if not there:
        git.tell(f"To {url}\n * [new branch]      {source} -> {title}\n")
    else:
        known = there in clone.graph and clone.graph.is_ancestor(there, rev)
        dots, sign = ("..", " ") if known else ("...", "+")
        end = "" if known else " (forced update)"
        git.tell(f"To {url}\n {sign} {there[:7]}{dots}{git.short(rev)}  {source} -> {title}{end}\n")
    return 0
