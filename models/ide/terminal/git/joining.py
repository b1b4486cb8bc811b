"""Commands of git that join histories: merge, cherry-pick, rebase; and what comes from others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simharness.api import Refused
from simharness.models.ide.repository.clone import HEADS, REMOTES, Action, Clone, GitError
from simharness.models.ide.repository.merging import merge_trees
from simharness.models.ide.terminal.git.changing import UNMERGED, made_text, options, without_dashes
from simharness.models.ide.terminal.git.patches import between, stat

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping

    from simpy.events import Event

    from simharness.models.ide.repository.merging import MergedTree
    from simharness.models.ide.repository.objects import Commit, File
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


# --- merge ----------------------------------------------------------------------------------------


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


# --- cherry-pick and rebase -----------------------------------------------------------------------


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


# --- others ---------------------------------------------------------------------------------------


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
