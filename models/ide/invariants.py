"""What must always hold in the IDE."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simharness.models.ide.repository.clone import MAIN

if TYPE_CHECKING:
    from simharness.models.ide.ci import CiServer
    from simharness.models.ide.stores import IdeStores


def append_only(ide: IdeStores) -> list[str]:
    """Name where the server's main was put on a commit that doesn't come from the one before."""
    out: list[str] = []
    history = ide.history
    for change in ide.branches.table.changes:
        old, new = change.old, change.new
        if old is None or old.title != MAIN:
            continue
        place = f"branches:{change.key}"
        if new is None or new.title != MAIN:
            out.append(f"{place} was main, and is no more")
        elif not history.is_ancestor(old.rev, new.rev):
            out.append(f"{place} lost {old.rev} when {change.owner} put main on {new.rev}")
    return out


def tested_revs(ide: CiServer) -> list[str]:
    """Name CI jobs whose result isn't that of the commit that they are about."""
    out: list[str] = []
    for key, rev in ide.tested:
        job = ide.ci_jobs.true(key)
        if job is not None and job.rev != rev:
            out.append(f"ci_jobs:{key} of {job.rev} {job.status}, and {rev} was tested")
    out += [
        f"ci_jobs:{key} has {test} as failed, which passed when it was tested"
        for key, test in ide.turned
    ]
    return out


def known_revs(ide: IdeStores) -> list[str]:
    """Name branches, tags and jobs of commits that there aren't."""
    held = ide.commits.table.unique["rev"]
    stores = ((ide.branches, "branches"), (ide.tags, "tags"), (ide.ci_jobs, "ci_jobs"))
    return [
        f"{name}:{row.id} is of {row.rev!a}, which nobody has committed"
        for store, name in stores
        for row in store.table
        if row.rev not in held
    ]
