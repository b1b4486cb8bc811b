"""The command blame."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from simharness.models.ide.repository.clone import GitError
from simharness.models.ide.repository.indent import by_indent
from simharness.models.ide.repository.lines import hunks, split_lines
from simharness.models.ide.repository.objects import SHORT, Commit
from simharness.models.ide.terminal.git.asked import read
from simharness.models.ide.terminal.git.state import (
    Git,
    iso_date,
)

if TYPE_CHECKING:
    from collections.abc import Iterable


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
