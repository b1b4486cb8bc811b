"""The commands diff, log and show."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from simharness.models.ide.regex import BadPattern, compile_pattern
from simharness.models.ide.repository.clone import GitError
from simharness.models.ide.terminal.git.asked import Asked, read
from simharness.models.ide.terminal.git.patches import between, shown
from simharness.models.ide.terminal.git.state import (
    Git,
    date,
    indented,
    iso_date,
    selected,
    within,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from simharness.models.ide.repository.objects import Commit, Delta, File


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
