"""How git shows differences: patches, lists of names, and how much changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simharness.models.ide.repository.indent import by_indent
from simharness.models.ide.repository.lines import hunks, split_lines
from simharness.models.ide.repository.objects import SHORT, Delta, File, blob_name, deltas
from simharness.models.ide.repository.unified import CONTEXT, unified
from simharness.models.ide.terminal.git.state import meant

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

NOTHING = "0" * SHORT
HEADING_MAX = 80
WIDTH = 80


def patch(delta: Delta, context: int = CONTEXT) -> str:
    """Write what happened to one file."""
    path, old, new = delta
    out = [f"diff --git a/{path} b/{path}\n"]
    if old is None:
        out.append(f"new file mode {mode(new)}\n")
    elif new is None:
        out.append(f"deleted file mode {mode(old)}\n")
    elif old.mode != new.mode:
        out.append(f"old mode {old.mode}\nnew mode {new.mode}\n")
    before = NOTHING if old is None else blob_name(old.text)[:SHORT]
    after = NOTHING if new is None else blob_name(new.text)[:SHORT]
    if before == after:
        return "".join(out)
    same_mode = old is not None and new is not None and old.mode == new.mode
    out.append(f"index {before}..{after}{' ' + mode(new) if same_mode else ''}\n")
    texts = ("" if old is None else old.text, "" if new is None else new.text)
    names = (
        "/dev/null" if old is None else f"a/{path}",
        "/dev/null" if new is None else f"b/{path}",
    )
    if any("\0" in text for text in texts):
        out.append(f"Binary files {names[0]} and {names[1]} differ\n")
        return "".join(out)
    a, b = split_lines(texts[0]), split_lines(texts[1])
    if a or b:
        tabs = ["\t" * (" " in name and name != "/dev/null") for name in names]
        out.append(f"--- {names[0]}{tabs[0]}\n+++ {names[1]}{tabs[1]}\n")

    def heading(first: int) -> str:
        for line in reversed(a[:first]):
            if line[:1].isascii() and (line[:1].isalpha() or line[:1] in ("_", "$")):
                return line.rstrip()[:HEADING_MAX].rstrip()
        return ""

    out.append(unified(a, b, hunks(a, b, by_indent), context=context, heading=heading))
    return "".join(out)


def mode(file: File | None) -> str:
    """Give a file's mode."""
    return "" if file is None else file.mode


def counts(delta: Delta) -> tuple[int, int]:
    """Count the lines that came and those that went."""
    old, new = ("" if file is None else file.text for file in delta[1:])
    found = hunks(split_lines(old), split_lines(new), by_indent)
    return sum(h.b1 - h.b0 for h in found), sum(h.a1 - h.a0 for h in found)


def stat(changes: Sequence[Delta], *, modes: bool = False, names: bool = True) -> str:
    """Write how much changed in each file, and in all.

    Args:
        changes: What changed.
        modes: Whether new and removed files are told after it.
        names: Whether each file is told.
    """
    if not changes:
        return ""
    numbers = [counts(delta) for delta in changes]
    out = _bars(changes, numbers) if names else []
    came, gone = sum(c for c, _ in numbers), sum(g for _, g in numbers)
    files = len(changes)
    text = f" {files} file{'s' * (files != 1)} changed"
    if came or not gone:
        text += f", {came} insertion{'s' * (came != 1)}(+)"
    if gone or not came:
        text += f", {gone} deletion{'s' * (gone != 1)}(-)"
    out.append(text + "\n")
    if modes:
        for path, old, new in changes:
            if old is None:
                out.append(f" create mode {mode(new)} {path}\n")
            elif new is None:
                out.append(f" delete mode {mode(old)} {path}\n")
            elif old.mode != new.mode:
                out.append(f" mode change {old.mode} => {new.mode} {path}\n")
    return "".join(out)


def _bars(changes: Sequence[Delta], numbers: Sequence[tuple[int, int]]) -> list[str]:
    most = max(came + gone for came, gone in numbers)
    digits = len(str(most))
    longest = max(len(delta.path) for delta in changes)
    graph = most
    if longest + digits + 6 + graph > WIDTH:
        if graph > WIDTH * 3 // 8 - digits - 6:
            graph = max(WIDTH * 3 // 8 - digits - 6, 6)
        if longest > WIDTH - digits - 6 - graph:
            longest = WIDTH - digits - 6 - graph
        else:
            graph = WIDTH - digits - 6 - longest
    out: list[str] = []
    for delta, (came, gone) in zip(changes, numbers, strict=True):
        plus, minus = came, gone
        if graph < most:
            total = _scaled(came + gone, graph, most)
            if total < 2 and came and gone:
                total = 2
            if came < gone:
                plus = _scaled(came, graph, most)
                minus = total - plus
            else:
                minus = _scaled(gone, graph, most)
                plus = total - minus
        name = delta.path
        if len(name) > longest:
            cut = name[len(name) - longest + 3 :]
            slash = cut.find("/")
            name = "..." + (cut[slash:] if slash >= 0 else cut)
        bar = "+" * plus + "-" * minus
        out.append(f" {name:{longest}} | {came + gone:{digits}}{' ' * bool(bar)}{bar}\n")
    return out


def _scaled(count: int, width: int, most: int) -> int:
    return 1 + count * (width - 1) // most if count else 0


def shown(changes: Sequence[Delta], form: str, context: int = CONTEXT) -> str:
    """Write changes in a form: patch, stat, shortstat, name-only, name-status or numstat."""
    if form == "stat":
        return stat(changes)
    if form == "shortstat":
        return stat(changes, names=False)
    if form == "name-only":
        return "".join(f"{delta.path}\n" for delta in changes)
    if form == "name-status":
        return "".join(f"{delta.letter}\t{delta.path}\n" for delta in changes)
    if form == "numstat":
        told = ((*counts(delta), delta.path) for delta in changes)
        return "".join(f"{came}\t{gone}\t{path}\n" for came, gone, path in told)
    return "".join(patch(delta, context) for delta in changes)


def between(
    old: Mapping[str, File], new: Mapping[str, File], specs: Sequence[str] = ()
) -> list[Delta]:
    """Give what differs between two trees in what pathspecs mean."""
    found = deltas(old, new)
    return [d for d in found if not specs or any(meant(d.path, spec) for spec in specs)]
