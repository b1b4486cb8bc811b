"""Puts commits on top of another one: what a rebase does, where nothing clashes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simharness.models.ide.repository.merging import merge_trees
from simharness.models.ide.repository.objects import make_commit

if TYPE_CHECKING:
    from collections.abc import Mapping

    from simharness.models.ide.repository.graph import Graph
    from simharness.models.ide.repository.objects import Commit, File


def grafted(graph: Graph, rev: str, onto: str, at: int) -> list[Commit] | None:
    """Give the commits of `rev` that `onto` doesn't come from anew, on top of it, oldest first.

    Merges are left out, and so are commits that would change nothing there. None where a change
    clashes. `at` is their time, in seconds since 1970.
    """
    top = graph[onto]
    made: list[Commit] = []
    for commit in reversed(list(graph.log([rev], [onto]))):
        if len(commit.parents) > 1:
            continue
        before: Mapping[str, File] = graph[commit.parents[0]].tree if commit.parents else {}
        merged = merge_trees(before, top.tree, commit.tree, our_name=onto, their_name=commit.rev)
        if merged.clashes:
            return None
        if merged.files == top.tree:
            continue
        top = make_commit(
            merged.files,
            parents=[top.rev],
            author=commit.author,
            message=commit.message,
            at=at,
        )
        made.append(top)
    return made
