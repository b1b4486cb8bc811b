"""The sandbox that decides: CPython in WebAssembly, a fresh instance for every job."""

from __future__ import annotations

import threading
from functools import cache
from typing import TYPE_CHECKING, Any, cast

from simharness.errors import SandboxFailed
from simharness.sandbox.component import IDENTITY, component, engine, missing
from simharness.sandbox.events import Events, Stop
from simharness.sandbox.job import request, steps
from simharness.sandbox.result import End

if TYPE_CHECKING:
    from wasmtime import Store

    from simharness.sandbox.job import Job
    from simharness.sandbox.result import Result

WASI = "0.2.9"
"""The version of the interfaces that the component was built with."""

OUT_OF_FUEL = "all fuel consumed"
OUT_OF_STACK = "call stack exhausted"
TRAP = "wasm trap: "
MISSING_IMPORT = "unknown import: "
TRIES = 2


class Instances:
    """What every instance is made from: engine, compiled component, and what it may call.

    The component asks for all of WASI. It gets an empty environment, no arguments and no folders;
    whatever else it calls of it ends the run. What it tells goes to the `Events` of the job that
    the calling thread runs.
    """

    def __init__(self) -> None:
        from wasmtime.component import Linker

        self.engine = engine()
        self.component = component(self.engine)
        self.running = threading.local()
        self.linker = Linker(self.engine)
        self.linker.allow_shadowing = True
        self.linker.define_unknown_imports_as_traps(self.component)
        given = {
            "cli/environment": ("get-environment", "get-arguments"),
            "filesystem/preopens": ("get-directories",),
        }
        with self.linker.root() as root:
            root.add_func("emit", self._emit)
            for interface, names in given.items():
                with root.add_instance(f"wasi:{interface}@{WASI}") as instance:
                    for name in names:
                        instance.add_func(name, _nothing)

    def _emit(self, store: Any, event: str) -> None:
        self.running.events.take(event)


def _nothing(store: Any) -> list[Any]:
    """Give an empty environment, no arguments, no folders."""
    return []


@cache
def instances() -> Instances:
    """Give what this process makes instances from; the first call loads or compiles it."""
    return Instances()


class WasmSandbox:
    """Runs jobs in WebAssembly; see `simharness.sandbox.Sandbox`."""

    name = "wasm"
    identity = IDENTITY

    def run(self, job: Job) -> Result:
        """Run one job. A failure of the machine's is tried once more.

        Raises SandboxFailed when it fails again, UsageError for a job that is none and where
        wasmtime isn't installed.
        """
        begin, calls = request(job), steps(job)
        failures: tuple[type[Exception], ...] = (Failure, OSError, MemoryError, wasmtime_error())
        failure: Exception | None = None
        for _ in range(TRIES):
            try:
                return attempt(instances(), job, begin, calls)
            except failures as error:
                failure = error
        raise SandboxFailed(f"the sandbox failed twice: {failure}", "look at memory and disk")


class Failure(Exception):  # noqa: N818  (it becomes SandboxFailed)
    """Something other than the program has failed."""


def attempt(made: Instances, job: Job, begin: str, calls: tuple[str, ...]) -> Result:
    """Run a job in a new instance.

    Raises Failure, or what wasmtime raises, when it wasn't the program that failed.
    """
    from wasmtime import Store

    store = Store(made.engine)
    try:
        return run_in(store, made, job, begin, calls)
    finally:
        # Not left to the collector: an instance has hundreds of megabytes, and its place.
        made.running.events = None
        store.close()


def run_in(store: Store, made: Instances, job: Job, begin: str, calls: tuple[str, ...]) -> Result:
    """Run a job in an instance in this store."""
    from wasmtime import WasmtimeError

    events = made.running.events = Events(job)
    budget = job.limits.fuel
    store.set_fuel(budget)
    store.set_limits(memory_size=job.limits.memory_bytes)
    instance = made.linker.instantiate(store, made.component)
    # Names that the component exports, or else it is another one.
    functions = [cast("Any", instance.get_func(store, name)) for name in ("begin", "call")]
    end, detail = End.DONE, ""
    try:
        functions[0](store, begin)
        for step in calls:
            functions[1](store, step)
    except Stop as stop:
        end, detail = stop.end, stop.detail
    except WasmtimeError as error:
        end, detail = ended_by(str(error), events)
    if end is End.DONE and not events.done:
        end, detail = End.CRASHED, "the runner ended without saying so"
    used = budget if end in (End.FUEL, End.STACK) else budget - store.get_fuel()
    return events.result(end, detail, used, IDENTITY)


def wasmtime_error() -> type[Exception]:
    """Give the class of wasmtime's errors. Raises UsageError where it isn't installed."""
    try:
        from wasmtime import WasmtimeError
    except ImportError as error:
        raise missing(error) from error
    return WasmtimeError


def ended_by(message: str, events: Events) -> tuple[End, str]:
    """Say what a trap means. Raises Failure for what is none."""
    if events.stopped is not None:
        return events.stopped
    if OUT_OF_FUEL in message:
        return End.FUEL, "out of fuel"
    if OUT_OF_STACK in message:
        return End.STACK, "the machine's stack is used up"
    if MISSING_IMPORT in message:
        asked = message.partition(MISSING_IMPORT)[2].split("`")[1]
        return End.CRASHED, f"asked the system for {asked}"
    if TRAP in message:
        return End.CRASHED, message.partition(TRAP)[2].strip().split("\n")[0]
    raise Failure(message.strip().split("\n")[-1])
