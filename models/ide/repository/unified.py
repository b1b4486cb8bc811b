"""Differences as people read them: unified hunks."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from simharness.models.ide.repository.lines import Hunk

NO_NEWLINE = "\\ No newline at end of file\n"
CONTEXT = 3


def marked(sign: str, line: str) -> str:
    """Give a line behind its sign; one that ends the text without a newline says so."""
    return sign + line if line.endswith("\n") else f"{sign}{line}\n{NO_NEWLINE}"


def span(first: int, count: int) -> str:
    """Write a stretch of lines, `first` counted from 0, as the head of a hunk has it."""
    if count == 1:
        return str(first + 1)
    return f"{first + 1 if count else first},{count}"


def groups(found: Sequence[Hunk], context: int) -> Iterator[list[Hunk]]:
    """Put hunks together whose context would touch."""
    group: list[Hunk] = []
    for hunk in found:
        if group and hunk.a0 - group[-1].a1 > 2 * context:
            yield group
            group = []
        group.append(hunk)
    if group:
        yield group


def unified(
    old: Sequence[str],
    new: Sequence[str],
    found: Sequence[Hunk],
    *,
    context: int = CONTEXT,
    heading: Callable[[int], str] | None = None,
) -> str:
    """Write hunks in the unified form, without the names above them.

    `heading` gives what stands behind the second @@, for the first line shown, counted from 0.
    """
    out: list[str] = []
    for group in groups(found, context):
        a0, b0 = max(group[0].a0 - context, 0), max(group[0].b0 - context, 0)
        a1 = min(group[-1].a1 + context, len(old))
        b1 = min(group[-1].b1 + context, len(new))
        said = heading(a0) if heading is not None else ""
        text = f"@@ -{span(a0, a1 - a0)} +{span(b0, b1 - b0)} @@"
        out.append(f"{text} {said}".rstrip() + "\n" if said else text + "\n")
        place = a0
        for hunk in group:
            out += [marked(" ", line) for line in old[place : hunk.a0]]
            out += [marked("-", line) for line in old[hunk.a0 : hunk.a1]]
            out += [marked("+", line) for line in new[hunk.b0 : hunk.b1]]
            place = hunk.a1
        out += [marked(" ", line) for line in old[place:a1]]
    return "".join(out)


def normal(old: Sequence[str], new: Sequence[str], found: Sequence[Hunk]) -> str:
    """Write hunks in the form that diff has without options."""
    out: list[str] = []
    for hunk in found:
        a0, a1, b0, b1 = hunk
        letter = "a" if a0 == a1 else "d" if b0 == b1 else "c"
        out.append(f"{_range(a0, a1)}{letter}{_range(b0, b1)}\n")
        out += [marked("< ", line) for line in old[a0:a1]]
        out += ["---\n"] * (letter == "c")
        out += [marked("> ", line) for line in new[b0:b1]]
    return "".join(out)


def _range(first: int, last: int) -> str:
    if last <= first:
        return str(first)
    return str(last) if last == first + 1 else f"{first + 1},{last}"
