"""A plain subprocess in the place of a sandbox: for code of your own only.

It runs the same guest on the machine's Python. What the program does by way of C reaches the
machine, its instructions aren't counted, and its results differ between machines.
"""

from __future__ import annotations

import json
import platform
import resource
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from simharness.errors import SandboxFailed
from simharness.sandbox.events import Events, Stop
from simharness.sandbox.job import request, steps
from simharness.sandbox.result import End

if TYPE_CHECKING:
    from simharness.sandbox.job import Job
    from simharness.sandbox.result import Result

ROOT = Path(__file__).resolve().parents[2]
FUEL_PER_SECOND = 200_000_000
"""What stands for the budget here: seconds, in the place of instructions."""
FIXED_MEMORY = 256 * 1024 * 1024
"""Address space that any Python takes, beside what a job may use."""

CHILD = """
import json, os, sys, types

def main(write, leave):
    # Only locals keep the machine's own calls: the guest replaces them in every module.
    sys.path.insert(0, {root!r})
    asked = json.loads(sys.stdin.readline())
    out = os.dup(1)
    def emit(event):
        data = event.encode("ascii") + b"\\n"
        while data:
            data = data[write(out, data):]
    from simharness.sandbox.guest import preload, pytest_names
    preload.load()
    pytest_names.install()
    from simharness.sandbox.guest.main import Guest
    guest = Guest()
    guest.system.fstat = with_blocks(guest.system.fstat)
    guest.install(leave)
    sys.path.remove({root!r})
    guest.begin(asked[0], emit)
    for step in asked[1:]:
        guest.call(step)
    leave(0)

def with_blocks(fstat):
    # Here a raw file asks for the size of a block, which the guest's own status doesn't have.
    def call(fd):
        status = fstat(fd)
        names = [n for n in dir(status) if n.startswith("st_") and n != "st_blksize"]
        return types.SimpleNamespace(st_blksize=4096, **{{n: getattr(status, n) for n in names}})
    return call

main(os.write, os._exit)
"""


class ProcessSandbox:
    """Runs jobs in subprocesses."""

    name = "unsafe-process"
    identity = f"unsafe-process/{platform.python_version()}"

    def run(self, job: Job) -> Result:
        """Run one job. Raises SandboxFailed when no process can be started."""
        events = Events(job)
        asked = json.dumps([request(job), *steps(job)])
        seconds = max(1, job.limits.fuel // FUEL_PER_SECOND)
        memory = job.limits.memory_bytes + FIXED_MEMORY

        def limit() -> None:
            resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
            resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

        command = [sys.executable, "-I", "-c", CHILD.format(root=str(ROOT))]
        try:
            done = subprocess.run(
                command,
                input=f"{asked}\n".encode(),
                capture_output=True,
                env={"PYTHONHASHSEED": "0", "LANG": "C.UTF-8"},
                timeout=20 * seconds + 60,
                preexec_fn=limit,
                check=False,
            )
            told, status = done.stdout, done.returncode
        except subprocess.TimeoutExpired as error:
            told, status = error.stdout or b"", -24
        except OSError as error:
            raise SandboxFailed(f"no process can be started: {error}", "look at memory") from error
        end, detail = End.DONE, ""
        try:
            for line in told.decode("ascii", "replace").splitlines():
                events.take(line)
        except Stop as stop:
            end, detail = stop.end, stop.detail
        if end is End.DONE and not events.done:
            end, detail = ended_by(status)
        fuel = job.limits.fuel if end is End.FUEL else 0
        return events.result(end, detail, fuel, self.identity)


def ended_by(status: int) -> tuple[End, str]:
    """Say what the status of a process means that didn't come to its end."""
    if status in (-9, -24):
        return End.FUEL, "out of time"
    if status == -11:
        return End.STACK, "the machine's stack is used up"
    return End.CRASHED, f"the process ended with status {status}"
