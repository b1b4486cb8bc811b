"""The one interface of all sandboxes, and the choice among them."""

from __future__ import annotations

import importlib.util
from typing import TYPE_CHECKING, Protocol

from simharness.errors import UnknownName
from simharness.sandbox.component import missing
from simharness.sandbox.process import ProcessSandbox
from simharness.sandbox.wasm import WasmSandbox

if TYPE_CHECKING:
    from simharness.sandbox.job import Job
    from simharness.sandbox.result import Result


class Sandbox(Protocol):
    """Runs jobs: one interpreter a job, and nothing is left of it but its result."""

    @property
    def name(self) -> str:
        """What it is chosen by."""
        ...

    @property
    def identity(self) -> str:
        """Which build of it results come from."""
        ...

    def run(self, job: Job) -> Result:
        """Run one job.

        Raises SandboxFailed when something other than the program failed, UsageError for a job that
        can't be laid out.
        """
        ...


SANDBOXES: dict[str, type[WasmSandbox] | type[ProcessSandbox]] = {
    "wasm": WasmSandbox,
    "unsafe-process": ProcessSandbox,
}


def open_sandbox(name: str = "wasm") -> Sandbox:
    """Give a sandbox by its name.

    `unsafe-process` runs programs as this user, unguarded and not deterministically: it is for
    looking for bugs in code of your own. Raises UnknownName; UsageError where `wasm` can't run.
    """
    if name not in SANDBOXES:
        raise UnknownName.among("sandbox", name, SANDBOXES)
    if name == "wasm" and not is_installed():
        raise missing()
    return SANDBOXES[name]()


def is_installed() -> bool:
    """Say whether the sandbox that decides can run here."""
    return importlib.util.find_spec("wasmtime") is not None
