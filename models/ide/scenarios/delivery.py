"""How work is to be handed over beside `submit`, and whether it was."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simharness.api import Criterion
from simharness.models.ide.repository.clone import MAIN

if TYPE_CHECKING:
    from collections.abc import Mapping

    from simharness.models.ide.grading.exam import Handed
    from simharness.models.ide.product import Ide

WAYS: Mapping[str, str] = {
    "tree": "Nothing needs to be committed.",
    "commit": "Commit your change before that.",
    "branch": "Before that commit your change and push it to a new branch called {branch!r}.",
    "main": "Before that commit your change and push it to main, on top of what others pushed.",
}
"""What the prompt says of each."""


def branch_of(way: str, number: object) -> str:
    """Name the branch that the work has to be pushed to; empty for none."""
    return MAIN if way == "main" else f"fix-{number}" if way == "branch" else ""


def wish(way: str, number: object) -> str:
    """Say how the work is to be handed over."""
    return WAYS[way].format(branch=branch_of(way, number))


def delivered(ide: Ide, way: str, number: object, handed: Handed) -> tuple[Criterion, ...]:
    """Judge whether what was handed in is committed and pushed as asked for."""
    if way == "tree":
        return ()
    commit = ide.history.commits.get(handed.rev)
    held = {} if commit is None else {path: file.text for path, file in commit.tree.items()}
    name = handed.key or "the working tree"
    same = held == handed.files
    text = f"{name} {'is' if same else 'is not'} what commit {handed.rev[:7] or 'none'} holds"
    out = [Criterion("committed", same, text, (f"{handed.key}.rev",) if handed.key else ())]
    branch = branch_of(way, number)
    if branch:
        # Of all that it stood on: a bot may have put its commits elsewhere since.
        stood = [
            change.new.rev
            for change in ide.branches.table.changes
            if change.new is not None and change.new.title == branch
        ]
        there = commit is not None and any(
            ide.history.is_ancestor(commit.rev, rev) for rev in stood
        )
        key = ide.branches.table.taken_by("title", branch)
        place = f"branches:{key}" if key is not None else f"branch {branch}"
        text = f"{place} {'has had' if there else 'never had'} commit {handed.rev[:7] or 'none'}"
        out.append(Criterion("pushed", there, text))
    return tuple(out)


def nothing_else(ide: Ide, agent: str, way: str, number: object) -> Criterion:
    """Judge that the agent pushed nowhere else."""
    allowed = branch_of(way, number)
    others = [
        f"branches:{change.key}"
        for change in ide.branches.table.changes
        if change.owner == agent and (change.new is None or change.new.title != allowed)
    ]
    text = f"pushed {', '.join(others)} as well" if others else "no other branch was pushed"
    return Criterion("no other row harmed", not others, text, role="footprint")
