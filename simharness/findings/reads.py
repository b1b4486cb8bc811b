"""Reads that broke their view's contract: H110, H111, H112, for what the agent observed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from simharness.findings.finding import Finding
from simharness.findings.story import AGENT, Commit, Story
from simharness.units import humanize

if TYPE_CHECKING:
    from collections.abc import Iterator

    from simharness.kernel.journal import Row


def stale_reads(story: Story) -> Iterator[Finding]:
    """Find reads served older than their contract allows, and reads that miss the reader's own write."""
    for row in story.rows:
        if row.kind == "READ" and row.values["owner"] == AGENT:
            v = row.values
            if v["served"] != v["true"]:
                yield from judged(story, row, v["key"], v["served"], v["true"], v["age"])
        elif row.kind == "LIST" and row.values["owner"] == AGENT and row.values["wrong"]:
            for key, served, true, age in zip(*[iter(row.values["wrong"])] * 4, strict=True):
                yield from judged(story, row, key, served, true, age)


def judged(story: Story, row: Row, key: int, served: int, true: int, age: int) -> Iterator[Finding]:
    """Judge one key of one stale read."""
    v: dict[str, Any] = row.values
    view: str = v["view"]
    table = view.rpartition(".")[0]
    later = [c for c in story.commits.get((table, key), ()) if c.after > served and c.row < row.index]
    if not later:
        return
    evidence = {
        "view": view,
        "key": f"{table}:{key}",
        "served": served,
        "true": true,
        "age": age,
        "source": v["source"],
    }
    where = {
        "step": story.step_of(row.index),
        "t": row.t,
        "keys": (f"{table}:{key}",),
        "evidence": evidence,
        "events": (later[0].row, row.index),
        "mechanism": f"{v['source']}:{view}" if v["source"] == "cache" else "",
    }
    saw = f"{view} served {table}:{key} v{served}, the truth was v{true} for {humanize(age)}"
    if age > v["bound"]:
        if v["source"] == "cache" and not invalidated(story, view, later[0], row.index):
            yield Finding(
                code="H112", explanation=f"{saw}, and no invalidation of v{served} was carried out", **where
            )
        else:
            yield Finding(code="H110", explanation=f"{saw} (allowed: {humanize(v['bound'])})", **where)
    own = [c for c in later if c.owner == AGENT]
    if own:
        yield Finding(
            code="H111", explanation=f"{saw}, although the agent itself wrote v{own[0].after}", **where
        )


def invalidated(story: Story, view: str, commit: Commit, before: int) -> bool:
    """Tell whether an invalidation for a commit was carried out before a row: after it, or within its own call."""
    call = story.calls.get((commit.owner, commit.n))
    since = call.index if call is not None else commit.row
    return any(
        since < row.index < before and not for_an_earlier_one(story, commit, row)
        for row in story.invalidations.get((view, commit.key), ())
    )


def for_an_earlier_one(story: Story, commit: Commit, invalidation: Row) -> bool:
    """Tell a statement's own invalidation from one that a slow worker carried out while this writer was waiting.

    Both stand within the writer's call; the slow one bears the order of an earlier commit of the row. So may the
    statement's, when nothing else was committed in between, but that one is of the same instant as its commit.
    """
    if invalidation.index > commit.row or invalidation.t == commit.t:
        return False
    order = invalidation.values["order"]
    return any(c.order == order for c in story.commits[commit.table, commit.key])
