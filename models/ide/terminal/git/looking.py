"""Commands of git that look: status, diff, log, show, blame, and what is there."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from simharness.models.ide.regex import BadPattern, compile_pattern
from simharness.models.ide.repository.clone import HEADS, GitError
from simharness.models.ide.repository.indent import by_indent
from simharness.models.ide.repository.lines import hunks, split_lines
from simharness.models.ide.repository.objects import SHORT, Commit, Delta, File
from simharness.models.ide.repository.unified import CONTEXT
from simharness.models.ide.terminal.git.patches import between, shown
from simharness.models.ide.terminal.git.state import (
    Git,
    date,
    detached,
    indented,
    iso_date,
    meant,
    selected,
    tracking,
    within,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

FORMS = {
    "-p": "patch", "-u": "patch", "--patch": "patch", "--stat": "stat",
    "--shortstat": "shortstat", "--name-only": "name-only", "--name-status": "name-status",
    "--numstat": "numstat", "--no-patch": "", "-s": "",
}  # fmt: skip
IGNORED = ("--no-color", "--color", "--color=never", "--no-renames", "--no-ext-diff", "--follow",
           "--decorate=no", "--no-decorate", "--full-history", "--no-pager")  # fmt: skip


@dataclass(slots=True)
class Asked:
    """What a command that shows commits or differences was asked for."""

    revs: list[str] = field(default_factory=list[str])
    specs: list[str] = field(default_factory=list[str])
    form: str | None = None
    context: int = CONTEXT
    whole: bool = False
    """Whether merges show what they changed, unless as a patch."""
    flags: dict[str, str] = field(default_factory=dict[str, str])
    """Other options, by name."""


def read(git: Git, words: Sequence[str], known: Sequence[str], takes: Sequence[str] = ()) -> Asked:
    """Read options, revisions and paths.

    Args:
        git: Who is asked.
        words: The arguments.
        known: Options without a value.
        takes: Options with one.

    Raises:
        GitError: For an option that there isn't.
    """
    asked = Asked()
    rest = list(words)
    separated = "--" in rest
    if separated:
        at = rest.index("--")
        rest, named = rest[:at], rest[at + 1 :]
        asked.specs = git.paths(named)
    while rest:
        word = rest.pop(0)
        name, equals, value = word.partition("=")
        if word in FORMS:
            asked.form = FORMS[word]
        elif word in known:
            asked.flags[word] = ""
        elif word in IGNORED:
            continue
        elif re.fullmatch(r"-U[0-9]{1,6}|--unified=[0-9]{1,6}", word):
            asked.context = int(re.sub(r"\D", "", word))
            asked.form = asked.form or "patch"
        elif name in takes and name.startswith("--") and equals:
            asked.flags[name] = value
        elif word in takes:
            if not rest:
                raise GitError(f"error: switch `{word.lstrip('-')}' requires a value", 129)
            asked.flags[word] = rest.pop(0)
        elif word[:2] in takes and not word.startswith("--") and len(word) > 2:
            asked.flags[word[:2]] = word[2:]
        elif re.fullmatch(r"-[0-9]{1,9}", word) and "-n" in takes:
            asked.flags["-n"] = word[1:]
        elif word.startswith("-") and word != "-":
            raise GitError(f"fatal: unrecognized argument: {word}")
        elif separated or is_revision(git, word):
            asked.revs.append(word)
        else:
            place = git.path(word)
            there = git.tree.exists(place) or any(c in word for c in "*?[")
            if not there and not any(meant(path, place) for path in git.clone.index):
                git.rev(word)
            asked.specs.append(place)
    return asked


def is_revision(git: Git, word: str) -> bool:
    """Tell whether a word names a commit or a range of them."""
    parts = [part for part in re.split(r"\.\.\.?", word.removeprefix("^")) if part]
    return bool(parts) and all(git.clone.resolve(part) is not None for part in parts)


# --- status ---------------------------------------------------------------------------------------


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


# --- diff -----------------------------------------------------------------------------------------


def diff(git: Git, words: list[str]) -> int:
    """Show differences between commits, index and working tree."""
    asked = read(git, words, ("--cached", "--staged", "--exit-code", "--quiet", "-w", "-b"))
    clone = git.clone
    for flag in ("-w", "-b"):
        if flag in asked.flags:
            raise GitError(f"fatal: unrecognized argument: {flag}")
    names = asked.revs
    files = {path: file for path, file in git.files().items() if path in clone.index}
    staged = "--cached" in asked.flags or "--staged" in asked.flags
    if len(names) == 1 and ".." in names[0]:
        dots = "..." if "..." in names[0] else ".."
        one, other = (part or "HEAD" for part in names[0].split(dots, 1))
        old, new = git.commit(one), git.commit(other)
        if dots == "...":
            base = clone.graph.merge_base(old.rev, new.rev)
            if base is None:
                raise GitError(f"fatal: {names[0]}: no merge base")
            old = clone.graph[base]
        before, after = dict(old.tree), dict(new.tree)
    elif len(names) == 2:
        before, after = (dict(git.commit(name).tree) for name in names)
    elif len(names) > 2:
        raise GitError("fatal: too many revisions")
    elif staged:
        before = dict(git.commit(names[0]).tree) if names else clone.tree
        after = clone.index
    elif names:
        before, after = dict(git.commit(names[0]).tree), files
    else:
        before, after = clone.index, files
    found = between(before, after, asked.specs)
    if not names and not staged:
        found = [delta for delta in found if delta.path not in clone.clashes]
        for path in selected(sorted(clone.clashes), asked.specs):
            git.print(f"* Unmerged path {path}\n")
    if "--quiet" not in asked.flags:
        git.print(shown(found, asked.form or "patch", asked.context))
    wanted = "--exit-code" in asked.flags or "--quiet" in asked.flags
    return int(bool(found)) if wanted else 0


# --- log and show ---------------------------------------------------------------------------------

LOG_FLAGS = (
    "--oneline", "--all", "--reverse", "--no-merges", "--merges", "--first-parent", "--decorate",
    "--abbrev-commit", "-i", "--regexp-ignore-case",
)  # fmt: skip
LOG_TAKES = ("-n", "--max-count", "--skip", "-S", "-G", "--grep", "--author", "--format",
             "--pretty", "--date")  # fmt: skip


def log(git: Git, words: list[str]) -> int:
    """Show commits, the newest first."""
    asked = read(git, words, LOG_FLAGS, LOG_TAKES)
    clone, flags = git.clone, asked.flags
    if clone.rev is None and "--all" not in flags and not asked.revs:
        raise GitError(f"fatal: your current branch '{clone.branch}' does not have any commits yet")
    found = list(chosen(git, asked))
    skip = number(flags.get("--skip", "0"))
    most = flags.get("-n", flags.get("--max-count"))
    found = found[skip:] if most is None else found[skip : skip + number(most)]
    if "--reverse" in flags:
        found.reverse()
    for place, commit in enumerate(found):
        show_commit(git, commit, asked, first=place == 0)
    return 0


def number(text: str) -> int:
    """Read a count. Raises GitError."""
    if not re.fullmatch(r"[0-9]{1,9}", text):
        raise GitError(f"fatal: '{text}': not an integer")
    return int(text)


def tips(git: Git, names: Sequence[str], *, every: bool) -> tuple[list[str], list[str]]:
    """Give the commits to start from, and those to leave out with all before them."""
    clone = git.clone
    found: list[str] = []
    without: list[str] = []
    for name in names:
        if name.startswith("^"):
            without.append(git.rev(name[1:]))
        elif "..." in name:
            one, other = (git.rev(part or "HEAD") for part in name.split("...", 1))
            base = clone.graph.merge_base(one, other)
            found += [one, other]
            without += [base] if base is not None else []
        elif ".." in name:
            one, other = name.split("..", 1)
            without.append(git.rev(one or "HEAD"))
            found.append(git.rev(other or "HEAD"))
        else:
            found.append(git.rev(name))
    if every:
        found += [clone.refs[name] for name in sorted(clone.refs)]
        found += [*clone.stashes[:1], *([] if clone.rev is None else [clone.rev])]
    if not names and not every and clone.rev is not None:
        found.append(clone.rev)
    return found, without


def chosen(git: Git, asked: Asked) -> Iterator[Commit]:
    """Give the commits that a log shows."""
    flags = asked.flags
    graph = git.clone.graph
    found, without = tips(git, asked.revs, every="--all" in flags)
    ignore = "-i" in flags or "--regexp-ignore-case" in flags
    try:
        said = {
            name: compile_pattern(flags[name], ignore_case=ignore)
            for name in ("--grep", "--author", "-G")
            if name in flags
        }
    except BadPattern as error:
        raise GitError(f"fatal: {error.text}") from None
    for commit in walked(git, found, without, asked):
        merge = len(graph.parents(commit.rev)) > 1
        if ("--no-merges" in flags and merge) or ("--merges" in flags and not merge):
            continue
        if "--grep" in said and not any(map(said["--grep"].search, commit.message.split("\n"))):
            continue
        if "--author" in said and not said["--author"].search(commit.author):
            continue
        if "-S" in flags and (merge or not touches(git, commit, flags["-S"], asked.specs)):
            continue
        if "-G" in said:
            lines = shown(changes_of(git, commit, asked.specs), "patch", 0).split("\n")
            if merge or not any(
                said["-G"].search(line[1:])
                for line in lines
                if line[:1] in ("+", "-") and line[:3] not in ("+++", "---")
            ):
                continue
        yield commit


def walked(
    git: Git, found: Sequence[str], without: Sequence[str], asked: Asked
) -> Iterator[Commit]:
    """Go through history; with paths only along what has changed them."""
    graph = git.clone.graph
    first_only = "--first-parent" in asked.flags
    if not asked.specs and not first_only:
        yield from graph.log(found, without)
        return
    order = {commit.rev: place for place, commit in enumerate(graph.log(found, without))}
    waiting = {rev: None for rev in found if rev in order}
    seen: dict[str, None] = {}
    while waiting:
        rev = min(waiting, key=lambda rev: (order[rev], rev))
        del waiting[rev]
        if rev in seen:
            continue
        seen[rev] = None
        commit = graph[rev]
        above = graph.parents(rev)[:1] if first_only else graph.parents(rev)
        here = within(commit.tree, asked.specs)
        same = [up for up in above if within(graph[up].tree, asked.specs) == here]
        if asked.specs and same:
            above = same[:1]
        elif not asked.specs or above or here:
            yield commit
        waiting.update({up: None for up in above if up in order})


def touches(git: Git, commit: Commit, text: str, specs: Sequence[str]) -> bool:
    """Tell whether a commit changes how often a text stands in some file."""
    for delta in changes_of(git, commit, specs):
        old, new = ("" if file is None else file.text for file in delta[1:])
        if old.count(text) != new.count(text):
            return True
    return False


def changes_of(git: Git, commit: Commit, specs: Sequence[str] = ()) -> list[Delta]:
    """Give what a commit changes against its first parent."""
    above = git.clone.graph.parents(commit.rev)
    before: Mapping[str, File] = git.clone.graph[above[0]].tree if above else {}
    return between(before, commit.tree, specs)


def show_commit(git: Git, commit: Commit, asked: Asked, *, first: bool) -> None:
    """Print one commit of a log."""
    flags = asked.flags
    form = flags.get("--format", flags.get("--pretty"))
    merge = len(git.clone.graph.parents(commit.rev)) > 1
    apart = merge and (asked.form == "patch" or not asked.whole)
    body = (
        ""
        if asked.form in (None, "") or apart
        else shown(changes_of(git, commit, asked.specs), asked.form or "", asked.context)
    )
    if form is not None and form not in ("oneline", "medium", "short", "full"):
        text = form.removeprefix("format:").removeprefix("tformat:")
        between_only = form.startswith("format:")
        git.print("\n" * (between_only and not first) + filled(git, commit, text, flags))
        git.print("" if between_only else "\n")
        git.print("\n" * bool(body) + body)
        return
    if "--oneline" in flags or form == "oneline":
        rev = git.short(commit.rev) if "--oneline" in flags else commit.rev
        git.print(f"{rev}{names_behind(git, commit, flags)} {commit.subject}\n{body}")
        return
    git.print("" if first else "\n")
    rev = git.short(commit.rev) if "--abbrev-commit" in flags else commit.rev
    git.print(f"commit {rev}{names_behind(git, commit, flags)}\n")
    above = git.clone.graph.parents(commit.rev)
    if len(above) > 1:
        git.print(f"Merge: {' '.join(git.short(up) for up in above)}\n")
    git.print(f"Author: {commit.author}\n")
    if form != "short":
        git.print(f"Date:   {dated(commit.at, flags)}\n")
    message = commit.subject if form == "short" else commit.message
    git.print(f"\n{indented(message)}")
    if body:
        git.print("\n" + body)


def names_behind(git: Git, commit: Commit, flags: dict[str, str]) -> str:
    """Give the names of a commit in brackets, where they are asked for."""
    names = git.clone.names_of(commit.rev) if "--decorate" in flags else []
    return f" ({', '.join(names)})" if names else ""


def dated(at: int, flags: dict[str, str]) -> str:
    """Write a time as --date says. Raises GitError."""
    how = flags.get("--date", "default")
    if how == "short":
        return iso_date(at)[:10]
    if how in ("iso", "iso8601"):
        return iso_date(at)
    if how == "unix":
        return str(at)
    if how not in ("default", "local"):
        raise GitError(f"fatal: unknown date format {how}")
    return date(at)


def filled(git: Git, commit: Commit, form: str, flags: dict[str, str]) -> str:
    """Fill the form of a --format."""
    name, _, address = commit.author.rpartition(" ")
    above = git.clone.graph.parents(commit.rev)
    names = ", ".join(git.clone.names_of(commit.rev))
    body = commit.message.partition("\n\n")[2]
    values = {
        "H": commit.rev, "h": git.short(commit.rev), "an": name, "ae": address.strip("<>"),
        "cn": name, "ce": address.strip("<>"), "ad": dated(commit.at, flags),
        "cd": dated(commit.at, flags), "at": str(commit.at), "ct": str(commit.at),
        "aI": iso_strict(commit.at), "cI": iso_strict(commit.at), "ai": iso_date(commit.at),
        "ci": iso_date(commit.at), "as": iso_date(commit.at)[:10], "cs": iso_date(commit.at)[:10],
        "s": commit.subject, "b": body + "\n" * bool(body), "B": commit.message + "\n",
        "P": " ".join(above), "p": " ".join(git.short(up) for up in above), "n": "\n", "%": "%",
        "d": f" ({names})" if names else "", "D": names,
    }  # fmt: skip

    def value(found: re.Match[str]) -> str:
        return values.get(found[1], found[0])

    return re.sub(r"%([acb][neditsI]|[HhsbBPpndD%])", value, form)


def iso_strict(at: int) -> str:
    """Write a time as `2026-03-02T09:00:00+00:00`."""
    text = iso_date(at)
    return f"{text[:10]}T{text[11:19]}+00:00"


def show(git: Git, words: list[str]) -> int:
    """Show a commit with what it changes, a file of one, or a tag."""
    files = [word for word in words if ":" in word and not word.startswith("-")]
    if files:
        for word in files:
            name, _, path = word.partition(":")
            show_file(git, name or "HEAD", path)
        return 0
    asked = read(git, words, LOG_FLAGS, LOG_TAKES)
    asked.form = "patch" if asked.form is None else asked.form
    asked.whole = True
    for place, name in enumerate(asked.revs or ["HEAD"]):
        show_commit(git, git.commit(name), asked, first=place == 0)
    return 0


def show_file(git: Git, name: str, path: str) -> None:
    """Print a file, or the names in a folder, as a commit has it. Raises GitError."""
    rev = git.clone.resolve(name)
    if rev is None:
        raise GitError(f"fatal: invalid object name '{name}'.")
    place = git.path(path) if path.startswith("./") else path.rstrip("/")
    tree = git.clone.graph[rev].tree
    file = tree.get(place)
    if file is not None:
        git.print(file.text)
        return
    head = f"{place}/" if place else ""
    inner = {p[len(head) :] for p in tree if p.startswith(head)}
    if not inner:
        there = git.tree.exists(place)
        said = f"exists on disk, but not in '{name}'" if there else f"does not exist in '{name}'"
        raise GitError(f"fatal: path '{place}' {said}")
    names = sorted({p.partition("/")[0] + "/" * ("/" in p) for p in inner})
    git.print(f"tree {name}:{path}\n\n" + "".join(f"{each}\n" for each in names))


# --- blame ----------------------------------------------------------------------------------------


def blame(git: Git, words: list[str]) -> int:
    """Show who last changed each line of a file."""
    words = [word for word in words if word not in ("-s", "-w", "--")]
    asked = read(git, words[:-1], (), ("-L",))
    if not words or words[-1].startswith("-") or asked.specs:
        raise GitError("usage: git blame [<options>] [<rev-opts>] [<rev>] [--] <file>", 129)
    path, names = git.path(words[-1]), asked.revs
    start = git.commit(names[0] if names else "HEAD")
    text = git.tree.file(path)
    if path not in start.tree or (not names and text is None):
        raise GitError(f"fatal: no such path '{path}' in {names[0] if names else 'HEAD'}")
    lines = split_lines(start.tree[path].text if names or text is None else text.text)
    owners: list[str] = ["0" * 40] * len(lines)
    trace(git, start, path, lines, owners)
    first, last = lines_of(asked.flags.get("-L"), path, len(lines))
    graph = git.clone.graph
    shown_lines: list[tuple[str, str, int, str]] = []
    for at in range(first - 1, last):
        rev = owners[at]
        commit = graph.commits.get(rev)
        if commit is None:
            mark, author, when = "0" * 8, "Not Committed Yet", git.now
        else:
            boundary = not graph.parents(rev)
            mark = f"^{rev[:SHORT]}" if boundary else rev[: SHORT + 1]
            author, when = commit.author.rpartition(" ")[0], commit.at
        shown_lines.append((mark, author, when, lines[at]))
    wide = max((len(author) for _, author, _, _ in shown_lines), default=0)
    digits = len(str(last))
    for place, (mark, author, when, line) in enumerate(shown_lines, first):
        head = f"{mark} ({author:{wide}} {iso_date(when)} {place:{digits}})"
        git.print(f"{head} {line}" if line.endswith("\n") else f"{head} {line}\n")
    return 0


def lines_of(asked: str | None, path: str, count: int) -> tuple[int, int]:
    """Read which lines are asked for. Raises GitError."""
    if asked is None:
        return 1, count
    found = re.fullmatch(r"([0-9]{1,9}),(\+?)([0-9]{1,9})", asked)
    if found is None:
        raise GitError(f"fatal: -L argument not 'start,end:file': {asked}")
    first = int(found[1])
    last = first + int(found[3]) - 1 if found[2] else int(found[3])
    if first < 1 or first > count:
        raise GitError(f"fatal: file {path} has only {count} lines")
    return first, min(last, count)


def trace(git: Git, start: Commit, path: str, lines: list[str], owners: list[str]) -> None:
    """Find for each line the commit that it comes from; `owners` gets their revs."""
    graph = git.clone.graph
    own = split_lines(start.tree[path].text)
    waiting: dict[str, dict[int, int]] = {start.rev: matching(lines, own, range(len(lines)))}
    for commit in graph.log([start.rev]):
        places = waiting.pop(commit.rev, {})
        if not places:
            continue
        here = split_lines(commit.tree[path].text)
        for parent in graph.parents(commit.rev):
            above = graph[parent].tree.get(path)
            if above is None or not places:
                continue
            found = matching(here, split_lines(above.text), places.values())
            passed = {line: found[at] for line, at in places.items() if at in found}
            if passed:
                waiting.setdefault(parent, {}).update(passed)
                places = {line: at for line, at in places.items() if line not in passed}
        for line in places:
            owners[line] = commit.rev


def matching(new: list[str], old: list[str], places: Iterable[int]) -> dict[int, int]:
    """Give where lines of a new text stood in the old one; those that didn't are left out."""
    stands: dict[int, int] = {}
    a = b = 0
    for hunk in hunks(old, new, by_indent):
        while a < hunk.a0:
            stands[b] = a
            a += 1
            b += 1
        a, b = hunk.a1, hunk.b1
    while a < len(old):
        stands[b] = a
        a += 1
        b += 1
    return {place: stands[place] for place in places if place in stands}


# --- what is there --------------------------------------------------------------------------------


def ls_files(git: Git, words: list[str]) -> int:
    """Name the files of the index."""
    if any(word.startswith("-") and word != "--" for word in words):
        raise GitError(f"error: unknown option `{words[0].lstrip('-')}'", 129)
    specs = git.paths([word for word in words if word != "--"] or ["."])
    for path in selected(sorted(git.clone.index), specs):
        git.print(f"{git.shown(path)}\n")
    return 0


def rev_parse(git: Git, words: list[str]) -> int:
    """Give revs in full."""
    short = brief = False
    for word in words:
        if word == "--short":
            short = True
        elif word == "--abbrev-ref":
            brief = True
        elif word == "--show-toplevel":
            git.print("/repo\n")
        elif word == "--is-inside-work-tree":
            git.print("true\n")
        elif brief:
            git.print((git.clone.branch or "HEAD" if word == "HEAD" else word) + "\n")
        else:
            found = git.clone.resolve(word)
            if found is None:
                git.print(word + "\n")
            rev = git.rev(word)
            git.print((git.short(rev) if short else rev) + "\n")
    return 0


def remote(git: Git, words: list[str]) -> int:
    """Name the remote."""
    if words in (["-v"], ["--verbose"]):
        for what in ("fetch", "push"):
            git.print(f"origin\thttps://git.ide.example/repo.git ({what})\n")
    elif not words:
        git.print("origin\n")
    else:
        raise GitError("error: the remotes of this repository can't be changed", 2)
    return 0


def config(git: Git, words: list[str]) -> int:
    """Give who one is; nothing can be set."""
    name, _, address = git.author.rpartition(" ")
    known = {"user.name": name, "user.email": address.strip("<>")}
    asked = [word for word in words if not word.startswith("-")]
    if len(asked) == 1:
        value = known.get(asked[0])
        if value is None:
            return 1
        git.print(value + "\n")
        return 0
    if "--list" in words or "-l" in words:
        git.print("".join(f"{key}={value}\n" for key, value in known.items()))
        return 0
    raise GitError("error: the configuration can't be changed here", 4)
