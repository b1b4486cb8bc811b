"""Writes that undo what somebody else has committed: H310, of any two actors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from simharness.findings.finding import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from simharness.findings.story import Commit, Story


def lost_updates(story: Story) -> Iterator[Finding]:
    """Find commits that rest on an older version and overwrite what was committed since.

    A conflict that was raised leaves no commit, and a write that names no version and whose values
    were computed on the newest one means to overwrite: neither is found.
    """
    for history in story.commits.values():
        for i, commit in enumerate(history):
            if commit.given or commit.unmeant or 0 < commit.read < commit.before:
                for lost, columns in overwritten(history[:i], commit):
                    yield lost_update(story, lost, commit, columns)


def overwritten(before: Sequence[Commit], commit: Commit) -> list[tuple[Commit, list[int]]]:
    """Give the commits that one commit undoes, each with the columns."""
    out: dict[int, tuple[Commit, list[int]]] = {}
    unmeant = frozenset(commit.unmeant)
    for column in commit.delta[::2]:
        for earlier in reversed(before):
            if column not in earlier.delta[::2]:
                continue
            # Only the last to have written the column is undone; who came before already was.
            by_token = 0 < commit.given < earlier.after
            by_read = 0 < commit.read < earlier.after and earlier.owner != commit.owner
            if by_token or by_read or column in unmeant:
                out.setdefault(earlier.row, (earlier, []))[1].append(column)
            break
    return list(out.values())


def lost_update(story: Story, lost: Commit, commit: Commit, columns: Sequence[int]) -> Finding:
    """Build an H310."""
    name = f"{commit.table}:{commit.key}"
    fields = ", ".join(story.column(commit.table, column) for column in columns)
    values = lost.changes
    gone: Any = values[columns[0]] if len(columns) == 1 else [values[c] for c in columns]
    if set(columns) <= set(commit.unmeant):
        why = "did not name the field"
    else:
        base = commit.given if 0 < commit.given < lost.after else commit.read
        why = f"rests on v{base}"
    return Finding(
        code="H310",
        step=story.step_of(commit.row),
        t=commit.t,
        keys=(name,),
        evidence={
            "key": name,
            "field": fields,
            "lost": gone,
            "by": commit.name,
            "from": lost.name,
            "version": lost.after,
        },
        events=(lost.row, commit.row),
        explanation=(
            f"{commit.name} wrote {name} v{commit.after} over {fields} {gone!r}, which {lost.name} "
            f"had committed as v{lost.after}; the write {why}, and no conflict was raised"
        ),
        mechanism=f"lock:{commit.table}",
    )
