"""Runs jobs for a simulated world, so that what comes out is an input of its episode."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simharness.sandbox.choice import open_sandbox
from simharness.sandbox.job import dump, request, steps
from simharness.sandbox.result import unpack_result

if TYPE_CHECKING:
    from simharness.kernel.world import World
    from simharness.sandbox.job import Job
    from simharness.sandbox.result import Result


def run_job(world: World, job: Job, sandbox: str = "wasm") -> Result:
    """Run a job; a replay takes its result from the recording.

    It takes no simulated time: whoever runs something lets as much pass as its fuel is worth.

    Raises SandboxFailed when something other than the program failed, which ends the episode
    without a reward, and UsageError where no sandbox is installed.
    """
    limits = [job.limits.fuel, job.limits.memory_bytes]
    asked = dump([limits, request(job), *steps(job)]).encode()
    told = world.outside.ask(
        f"sandbox/{sandbox}", asked, lambda: open_sandbox(sandbox).run(job).pack()
    )
    return unpack_result(told)
