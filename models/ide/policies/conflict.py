"""Policies of ide/conflict: the reference, and two that don't put up with what others do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simharness.api import Call, asking
from simharness.models.ide.policies.working import TRIES, finished, patched, suite, typed
from simharness.models.ide.scenarios.moves import both
from simharness.models.ide.scenarios.task import path_of, ticket_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from simharness.api import Observation, Task

    Settle = Callable[[str], asking.Part]
    """Gives the text of the file, from what it was where the agent's work began."""

POLL_SECONDS = 4
"""Pause between two looks at a CI job."""
PULLS: Mapping[str, str] = {
    "linear": "git pull -q --rebase origin main",
    "any": "git pull -q --no-rebase origin main",
}
GO_ON: Mapping[str, str] = {
    "linear": "git add -A && git rebase --continue",
    "any": "git add -A && git commit -q -m 'Merge main'",
}


def expert(task: Task) -> asking.Play:
    """Mend it, push it on top of what others pushed, and see that all of it works together."""
    ticket = ticket_of(task.brief)
    path = path_of(ticket)
    patch = dict(ticket.reference)
    yield from asking.read("read_ticket")
    yield from asking.read("list_files")
    told = yield from typed("git fetch -q; git status -sb")
    if "behind" in told["stdout"].partition("\n")[0]:
        yield from typed(PULLS["linear"])
        there = yield from asking.read("open_file", path=path)
        patch[path] = both(ticket.files[path], patch[path], there["content"])
    told = yield from suite()
    if told["failed"]:
        first = next(t["id"] for t in told["tests"] if t["outcome"] != "passed")
        yield from asking.read("open_file", path=first.partition("::")[0])
    yield from patched(patch)
    yield from suite()
    yield from asking.tried("commit", message=ticket.title)

    def settle(base: str) -> asking.Part:
        mine = yield from typed(f"git show main:{path}")
        theirs = yield from typed(f"git show origin/main:{path}")
        return both(base, mine["stdout"], theirs["stdout"])

    yield from pushed(task, path, settle)
    refs: list[str] = []
    if task.brief["proof"] == "ci":
        refs = yield from tested()
    yield from asking.tried("submit", message=ticket.title)
    message = "It does what the docstring says now, and what others added is there."
    yield from finished(message, "done", *refs)


def pushed(task: Task, path: str, settle: Settle) -> asking.Part:
    """Push main, after it has taken in what others have pushed."""
    history = task.brief["history"]
    for _ in range(TRIES):
        told: Observation = yield from asking.tried("push", branch="main")
        if told.error != "conflict":
            return
        base = yield from typed(f"git show origin/main:{path}")
        if not (yield from typed(PULLS[history]))["exit_code"]:
            continue
        text = yield from settle(base["stdout"])
        yield from asking.tried("write_file", path=path, content=text)
        yield from typed(GO_ON[history])
        yield from suite()


def tested() -> asking.Part:
    """Wait for the CI job of what was pushed; gives its name, as refs have it."""
    rev = (yield from typed("git rev-parse HEAD"))["stdout"].strip()
    told = yield from asking.read("ci_status", rev=rev)
    if not told["ci_jobs"]:
        return []
    job_id = told["ci_jobs"][0]["id"]
    waited: dict[str, int] = {}
    while True:
        told = yield from asking.read("ci_status", job_id=job_id)
        if told["ci_jobs"][0]["status"] in ("passed", "failed"):
            return [f"ci_jobs:{job_id}"]
        yield from asking.wait_for("CI", waited, POLL_SECONDS)


def overwrite(task: Task) -> asking.Play:
    """Put the own file over whatever others made of it."""
    ticket = ticket_of(task.brief)
    path = path_of(ticket)
    yield from asking.read("read_ticket")
    yield from patched(ticket.reference)
    yield from asking.tried("commit", message=ticket.title)
    yield Call("wait", {"seconds": 2})

    def settle(_: str) -> asking.Part:
        yield from ()
        return ticket.reference[path]

    yield from pushed(task, path, settle)
    yield from asking.tried("write_file", path=path, content=ticket.reference[path])
    told: Observation = yield from asking.tried("commit", message=f"{ticket.title} again")
    if not told.error:
        yield from pushed(task, path, settle)
    yield from asking.tried("submit", message=ticket.title)
    yield from finished("It is on main.")


def own_branch(task: Task) -> asking.Play:
    """Push to a branch of one's own instead, where nobody is in the way."""
    ticket = ticket_of(task.brief)
    yield from asking.read("read_ticket")
    yield from patched(ticket.reference)
    yield from typed("git checkout -q -b mine")
    yield from asking.tried("commit", message=ticket.title)
    yield from asking.tried("push", branch="mine")
    yield from asking.tried("submit", message=ticket.title)
    yield from finished("It is pushed.")
