"""The CI server: whatever is pushed is tested, by workers who take one job after the other.

A worker holds the lease of the job that it is at, and writes the result under it. A result belongs
to the commit that the job is about: that is what was checked out.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from simharness.api import SECOND, JobQueue, Transaction
from simharness.models.ide.runner import FUEL_PER_TICK, CaseRun, SuiteRun
from simharness.models.ide.stores import IdeStores

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping

    from simpy.events import Event

    from simharness.api import Grant, Operation, Reaction
    from simharness.models.ide.tables import CiJob

UNTESTED = "docs/"
"""What a job doesn't check out: no test needs it, so what is written there can't change a result,
and commits that differ in nothing else are tested once an episode."""
CI_STEP = 10 * SECOND
"""Steps of the clock that jobs go by, where it ticks: six for each commit are enough."""
LOG_MAX = 8_000
"""Longest log of a job, in characters."""
MILLION = 1_000_000


class CiServer(IdeStores):
    """A queue of jobs, and those who work on them."""

    waits = (*IdeStores.waits, "ci")

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.ci_queue: JobQueue[int] = JobQueue(self.world, "ci", self._run_job)
        self.ci_checkout = "rev"
        self.ci_flaky = 0
        """Millionths of the passing tests that fail."""
        self.ci_latency = (0, 0)
        self.tested: list[tuple[int, str]] = []
        """Jobs that have ended, each with the commit whose files were tested."""
        self.turned: list[tuple[int, str]] = []
        """Jobs with tests that were put down as failed although they had passed."""
        self._checkouts: dict[str, str] = {}
        """The commit that the workers last checked out, by branch."""
        self.settings.bind("ci.workers", self.ci_queue, "workers")
        for key, attribute in (
            ("ci.checkout", "ci_checkout"),
            ("ci.flaky", "ci_flaky"),
            ("ci.latency", "ci_latency"),
        ):
            self.settings.bind(key, self, attribute)

    def add_job(self, tx: Transaction, branch: str, rev: str, before: str) -> None:
        """Have what a transaction pushes tested once it is committed.

        Args:
            tx: The transaction that puts the branch there.
            branch: Its title.
            rev: Where it stands then.
            before: Where it stood; empty for nowhere.
        """
        key = tx.insert(self.ci_jobs.table, {"rev": rev, "branch": branch})

        def put(_: int) -> None:
            self._checkouts.setdefault(branch, before or rev)
            self.ci_queue.put(tx.op, key, f"ci_jobs:{key}")

        tx.then(put)

    def keep_results(self, tx: Transaction, job_id: int, ran: SuiteRun) -> None:
        """Put what became of tests into a transaction; 0 for a run in the agent's working tree."""
        for test in ran.tests:
            fields = {
                "job_id": job_id,
                "test_id": test.test_id,
                "outcome": test.outcome,
                "message": test.message,
            }
            tx.insert(self.test_results.table, fields)

    # --- a job ------------------------------------------------------------------------------------

    def _run_job(self, op: Reaction, job_id: int) -> Generator[Event, Any, None]:
        """Do one job. Raises Refused where somebody else is at it: then it is tried again."""
        leases = self.ci_jobs.leases
        grant = yield from leases.acquire(op, job_id, self.ci_jobs.lock_wait)
        self._keep(job_id, grant)
        try:
            job = yield from self._write(op, job_id, grant, {"status": "running"})
            checkout: str = job.rev
            if self.ci_checkout == "stale_cache":
                checkout = self._checkouts.get(job.branch, job.rev)
            else:
                self._checkouts[job.branch] = job.rev
            yield op.latency(self.ci_latency, "ci")
            ran = self._suite(op, job_id, checkout)
            yield self.world.timer(ran.fuel // FUEL_PER_TICK)
            status = "passed" if ran.passed else "failed"
            ended = {"status": status, "log": log_of(job.branch, job.rev, ran)}
            yield from self._write(op, job_id, grant, ended, ran)
            self.tested.append((job_id, checkout))
        finally:
            leases.release(job_id, grant.token)

    def _suite(self, op: Operation, job_id: int, rev: str) -> SuiteRun:
        """Run all tests of a commit, some of which may fail by chance."""
        files = {
            path: file.text
            for path, file in self.history[rev].tree.items()
            if not path.startswith(UNTESTED)
        }
        ran = self.runner.run_tests(op, files, (), self.run_instant(CI_STEP))
        if not self.ci_flaky:
            return ran
        tests = list(ran.tests)
        for k, test in enumerate(tests):
            if test.outcome == "passed" and op.below(MILLION, "flaky", k) < self.ci_flaky:
                tests[k] = CaseRun(test_id=test.test_id, outcome="failed", message="timed out")
                self.turned.append((job_id, test.test_id))
        return replace(ran, tests=tuple(tests))

    def _keep(self, job_id: int, grant: Grant) -> None:
        """Renew the lease of a job until it is given back, in time each time."""
        leases = self.ci_jobs.leases

        def renew(_: Event) -> None:
            if leases.runs(job_id, grant.token):
                leases.renew(job_id, grant.token)
                self._keep(job_id, grant)

        self.world.after(max(leases.ttl // 2, 1), renew)

    def _write(
        self,
        op: Operation,
        job_id: int,
        grant: Grant,
        changes: Mapping[str, object],
        ran: SuiteRun | None = None,
    ) -> Generator[Event, Any, CiJob]:
        """Change the row of a job under its lease; gives the row."""
        edit = yield from self.ci_jobs.edit(op, job_id)
        try:
            self.ci_jobs.leases.check(op, job_id, grant.token)
            tx = Transaction(op)
            edit.update(tx, changes)
            if ran is not None:
                self.keep_results(tx, job_id, ran)
            tx.commit()
        finally:
            edit.close()
        return self.ci_jobs.table.rows[job_id]


def log_of(branch: str, rev: str, ran: SuiteRun) -> str:
    """Write what a job did, as people read it."""
    lines = [f"testing {branch} at {rev}"]
    for test in ran.tests:
        lines.append(f"{test.outcome.upper():8}{test.test_id}")
        lines += [f"        {line}" for line in test.message.split("\n") if line]
    if ran.error:
        lines.append(f"error: {ran.error}")
    lines.append(f"{len(ran.tests)} tests, {ran.failed} failed")
    text = "\n".join(lines)
    return text if len(text) <= LOG_MAX else text[:LOG_MAX] + "\n(cut)"
