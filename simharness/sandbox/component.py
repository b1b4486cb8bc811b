"""The component: unpacked, checked, compiled once a machine, and kept compiled.

Compiling takes seconds, so its result is kept in a cache folder: `SIMHARNESS_CACHE`, or the user's
own (`~/.cache/simharness`). A kept file is code that will run, so it is used only when it is this
user's, nobody else can write to it, and its bytes have the digest that they begin with; anything
else is compiled anew. Where no folder can be written to, every process compiles.
"""

from __future__ import annotations

import hashlib
import lzma
import os
import stat
import tempfile
from functools import cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from simharness.errors import HarnessError, UsageError
from simharness.extras import to_install
from simharness.sandbox.job import MEMORY_MAX

if TYPE_CHECKING:
    from wasmtime import Config, Engine
    from wasmtime.component import Component

DIGEST = "f460b7c3e9bef2f158fc548ae2c438ded0c5569fc2ca240d40deaaac54b985ce"
"""SHA-256 of the component; `python -m simharness.sandbox.build` prints it."""
SOURCES = "95a29e467ba0f570b16798c2b93d98b186065b212ac959e90ca8d4665eae1a0d"
"""SHA-256 of what it was built from."""
IDENTITY = f"cpython-3.14-wasm/{DIGEST[:12]}"
"""What results say they come from."""

STACK_BYTES = 2 * 1024 * 1024
"""Machine stack of the guest, past which a run ends as `stack`; a thread has 8 MB."""
INSTANCES_MAX = 32
"""Jobs that the threads of one process may run at one time."""
POOL = {
    "total_component_instances": INSTANCES_MAX,
    "total_core_instances": 40 * INSTANCES_MAX,
    "max_core_instances_per_component": 40,
    "total_memories": INSTANCES_MAX,
    "max_memory_size": MEMORY_MAX,
    "linear_memory_keep_resident": 64 * 1024 * 1024,
    "total_tables": 10 * INSTANCES_MAX,
    "max_tables_per_component": 20,
    "table_elements": 20_000,
    "table_keep_resident": 1024 * 1024,
    "max_unused_warm_slots": 1,
}
"""How many instances there is room for, of what size, and how much memory stays with a place."""
CACHE_VARIABLE = "SIMHARNESS_CACHE"
EXTRA = "simharness[ide]"


def missing(error: ImportError | None = None) -> UsageError:
    """Build the error for an installation without wasmtime."""
    why = f" ({error})" if error else ""
    text = f"the sandbox needs wasmtime, which isn't installed{why}"
    return UsageError(text, f"run: {to_install(EXTRA)}")


def engine() -> Engine:
    """Make an engine with the settings that kept components were compiled by.

    Raises UsageError where wasmtime isn't installed.
    """
    try:
        import wasmtime
    except ImportError as error:
        raise missing(error) from error
    config = wasmtime.Config()
    config.consume_fuel = True
    config.max_wasm_stack = STACK_BYTES
    # The bits of a NaN are the processor's own choice otherwise.
    config.cranelift_nan_canonicalization = True
    keep_memory(config)
    return wasmtime.Engine(config)


def keep_memory(config: Config) -> None:
    """Let an instance take over the memory of an ended one, laid out anew by copying.

    Otherwise each page that an instance touches is a fault of the machine's, and those take as long
    as a run of two tests. wasmtime's Python has no name of its own for this, so its binding of C
    is called; nothing but time depends on it.
    """
    from wasmtime import _ffi

    ffi: Any = _ffi
    pool = ffi.wasmtime_pooling_allocation_config_new()
    for name, value in POOL.items():
        getattr(ffi, f"wasmtime_pooling_allocation_config_{name}_set")(pool, value)
    ffi.wasmtime_pooling_allocation_strategy_set(config.ptr(), pool)
    ffi.wasmtime_pooling_allocation_config_delete(pool)


def wasm() -> bytes:
    """Unpack the component. Raises HarnessError where the package's file is damaged."""
    packed = resources.files("simharness.sandbox").joinpath("data/python.wasm.xz").read_bytes()
    try:
        found = lzma.decompress(packed)
    except lzma.LZMAError as error:
        raise HarnessError(f"the sandbox's component is damaged: {error}", REINSTALL) from error
    if hashlib.sha256(found).hexdigest() != DIGEST:
        raise HarnessError("the sandbox's component is not the one that belongs here", REINSTALL)
    return found


REINSTALL = "install simharness again"


def component(made_by: Engine) -> Component:
    """Give the compiled component, from the cache where it is."""
    from wasmtime import WasmtimeError
    from wasmtime.component import Component

    folder = cache_folder()
    path = folder / file_name(made_by) if folder is not None else None
    if path is not None:
        kept = kept_bytes(path)
        if kept is not None:
            try:
                return Component.deserialize(made_by, kept)
            except WasmtimeError:
                # Compiled by another build of the same version, or for another processor.
                pass
    compiled = Component(made_by, wasm())
    if path is not None:
        keep(path, bytes(compiled.serialize()))
    return compiled


def file_name(made_by: Engine) -> str:
    """Name the kept file: by component, wasmtime, settings and what the processor can do."""
    import platform
    from importlib.metadata import version

    parts = (DIGEST, version("wasmtime"), str(STACK_BYTES), platform.machine(), processor())
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32] + ".cwasm"


@cache
def processor() -> str:
    """Name what this processor can do, as far as the system says."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    lines = [line for line in text.splitlines() if line.startswith(("flags", "Features"))]
    return lines[0] if lines else ""


def cache_folder() -> Path | None:
    """Give the folder for kept components, made if need be; None where there can't be one."""
    named = os.environ.get(CACHE_VARIABLE)
    try:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "simharness"
        folder = Path(named) if named else base
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except (OSError, RuntimeError):
        return None
    return folder if is_own(folder.stat()) else None


def is_own(status: os.stat_result) -> bool:
    """Say whether nobody but this user can have written a file or a folder."""
    return status.st_uid == os.geteuid() and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def kept_bytes(path: Path) -> bytes | None:
    """Read a kept component; None where there is none, or none that can be trusted."""
    try:
        with path.open("rb") as file:
            if not is_own(os.fstat(file.fileno())):
                return None
            data = file.read()
    except OSError:
        return None
    digest, body = data[:32], data[32:]
    return body if hashlib.sha256(body).digest() == digest else None


def keep(path: Path, body: bytes) -> None:
    """Write a kept component, whole or not at all; who can't write compiles again next time."""
    temporary: Any = None
    try:
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".making-")
        with os.fdopen(handle, "wb") as file:
            file.write(hashlib.sha256(body).digest())
            file.write(body)
        os.replace(temporary, path)
    except OSError:
        if temporary is not None:
            Path(temporary).unlink(missing_ok=True)
