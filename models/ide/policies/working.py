"""What scripted policies do in the IDE, through the tools that every agent has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from simharness.api import Call, asking
from simharness.models.ide.scenarios.delivery import CHANGES, Delivery
from simharness.models.ide.tickets.edits import edits

if TYPE_CHECKING:
    from collections.abc import Mapping

    from simharness.api import Observation

TRIES = 12
"""How often a push is tried that others are ahead of."""
POLL_SECONDS = 6
POLLS = 60
"""Looks at a CI job before it is taken for lost."""


# --- looking --------------------------------------------------------------------------------------


def begun() -> asking.Part:
    """Read the ticket, and what fails; gives the answer of the tests."""
    yield from asking.read("read_ticket")
    yield from asking.read("list_files")
    told = yield from suite()
    bad = [test["id"].partition("::")[0] for test in told["tests"] if test["outcome"] != "passed"]
    for path in dict.fromkeys(bad):
        yield from asking.read("open_file", path=path)
    return told


# --- files ----------------------------------------------------------------------------------------


def patched(patch: Mapping[str, str]) -> asking.Part:
    """Bring the files of a patch into the working tree, by edits where they are there already."""
    for path, text in patch.items():
        told: Observation = yield Call("open_file", {"path": path})
        if told.error != "not_found":
            there = told.value or (yield from asking.read("open_file", path=path))
            steps = edits(there["content"], text)
            for step in steps:
                arguments = {"old_text": step.old_text, "new_text": step.new_text}
                told = yield from asking.tried("edit_file", path=path, **arguments)
                if told.error:
                    break
            if there["content"] == text or (steps and not told.error):
                continue
        yield from asking.tried("write_file", path=path, content=text)


def suite(*paths: str) -> asking.Part:
    """Run the tests below some paths, or all of them; gives the answer."""
    arguments = {"paths": list(paths)} if paths else {}
    return (yield from asking.read("run_tests", **arguments))


def typed(command: str) -> asking.Part:
    """Type a line into the terminal; gives the answer."""
    return (yield from asking.read("run_command", command=command))


# --- handing over ---------------------------------------------------------------------------------


def handed_over(brief: Mapping[str, Any], message: str) -> asking.Part:
    """Note, commit, push and hand in as the task asks for; tells whether CI has passed it.

    Where it doesn't ask for CI that is true.
    """
    return (yield from delivered(Delivery.of(brief), message))


def delivered(delivery: Delivery, message: str) -> asking.Part:
    """Note, commit, push and hand in; tells whether CI has passed it, if that is asked for."""
    if delivery.note:
        yield from noted(delivery.number, message)
    if delivery.way != "tree":
        yield from stand_on(delivery.branch)
        yield from asking.tried("commit", message=message)
        if delivery.branch:
            yield from pushed(delivery.branch)
    yield from asking.tried("submit", message=message)
    if not delivery.ci:
        return True
    rev = (yield from typed("git rev-parse HEAD"))["stdout"].strip()
    return (yield from passed(rev))


def noted(number: int, message: str) -> asking.Part:
    """Add a line to the log of changes, unless it is there."""
    told = yield from asking.read("open_file", path=CHANGES)
    text: str = told["content"]
    if f"#{number}" not in text:
        yield from patched({CHANGES: f"{text}- {message} (#{number}).\n"})


def passed(rev: str) -> asking.Part:
    """Wait for the CI job of a commit; tells whether it passed."""
    job_id = 0
    for _ in range(POLLS):
        # By its commit: a busy team's jobs push it out of the newest in a minute.
        asked = {"job_id": job_id} if job_id else {"rev": rev}
        told = yield from asking.read("ci_status", **asked)
        for job in told["ci_jobs"]:
            if job["rev"] == rev:
                job_id = job["id"]
                if job["status"] in ("passed", "failed"):
                    return job["status"] == "passed"
        yield Call("wait", {"seconds": POLL_SECONDS})
    return False


def stand_on(branch: str) -> asking.Part:
    """Go to a branch, a new one if need be; whatever is empty is the one that one is on."""
    told = yield from typed("git status --short --branch")
    on = told["stdout"].partition("\n")[0].removeprefix("## ").partition("...")[0]
    if branch and on != branch:
        told = yield from typed(f"git checkout -q {branch}")
        if told["exit_code"]:
            yield from typed(f"git checkout -q -b {branch}")


def pushed(branch: str) -> asking.Part:
    """Push a branch, on top of what others have pushed meanwhile."""
    for _ in range(TRIES):
        told: Observation = yield from asking.tried("push", branch=branch)
        if told.error != "conflict":
            return
        if (yield from typed(f"git pull -q --rebase origin {branch}"))["exit_code"]:
            return


def finished(message: str, outcome: str = "done", *refs: str) -> asking.Play:
    """End the episode."""
    yield Call("finish", {"message": message, "outcome": outcome, "refs": list(refs)})
