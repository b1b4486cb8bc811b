"""What the sandbox costs: a run of two tests, other jobs, the start, memory, sizes.

Prints one JSON line a case. Times are medians, in milliseconds: on the wall's clock, and of the
processor, which others on the machine concern less.

    python -m benchmarks.sandbox [--rounds 50] [--cold]

`--cold` also compiles the component anew, in a process with an empty cache.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from simharness.sandbox.component import CACHE_VARIABLE, IDENTITY, cache_folder
from simharness.sandbox.job import Call, Calls, Command, Tests
from simharness.sandbox.wasm import WasmSandbox, instances

if TYPE_CHECKING:
    from collections.abc import Sequence

    from simharness.sandbox.job import Job

FILES = {
    "shipping.py": "def cost(weight, zone):\n    return 500 + 100 * weight * zone\n",
    "tests/test_shipping.py": (
        "from shipping import cost\n\n"
        "def test_flat():\n    assert cost(0, 1) == 500\n\n"
        "def test_zone():\n    assert cost(2, 3) == 1100\n"
    ),
}
JOBS: dict[str, Job] = {
    "two tests": Tests(files=FILES),
    "pytest in words": Command(files=FILES, arguments=("-m", "pytest")),
    "program": Command(files=FILES, arguments=("-c", "pass")),
    "one call": Calls(files=FILES, calls=(Call(target="shipping:cost", args=(2, 3)),)),
    "twenty calls": Calls(
        files=FILES, calls=tuple(Call(target="shipping:cost", args=(n, 3)) for n in range(20))
    ),
}
START = """
import sys, time
started = time.perf_counter()
from simharness.sandbox.wasm import instances
instances()
sys.stdout.write(str(time.perf_counter() - started))
"""


def job_case(name: str, job: Job, rounds: int) -> dict[str, Any]:
    """Run a job again and again, each time in a fresh instance."""
    sandbox = WasmSandbox()
    fuel = sandbox.run(job).fuel
    walls: list[float] = []
    processor: list[float] = []
    for _ in range(rounds):
        wall, own = time.perf_counter(), time.process_time()
        result = sandbox.run(job)
        walls.append(time.perf_counter() - wall)
        processor.append(time.process_time() - own)
        if result.fuel != fuel:
            raise AssertionError(f"{name}: fuel {result.fuel} after {fuel}")
    return {
        "case": name,
        "ms": round(1000 * statistics.median(walls), 2),
        "ms_cpu": round(1000 * statistics.median(processor), 2),
        "fuel": fuel,
        "rounds": rounds,
    }


def start_case(name: str, folder: str) -> dict[str, Any]:
    """Start a process that gets ready to run jobs."""
    env = {**os.environ, CACHE_VARIABLE: folder}
    done = subprocess.run(
        [sys.executable, "-c", START], env=env, capture_output=True, text=True, check=True
    )
    return {"case": name, "ms": round(1000 * float(done.stdout), 1)}


def sizes() -> dict[str, Any]:
    """Give memory and file sizes, in millions of bytes."""
    packed = files("simharness.sandbox").joinpath("data/python.wasm.xz")
    folder = cache_folder()
    kept = max((p.stat().st_size for p in folder.glob("*.cwasm")), default=0) if folder else 0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {
        "case": "sizes",
        "packed_mb": round(len(packed.read_bytes()) / 1e6, 1),
        "kept_mb": round(kept / 1e6, 1),
        "peak_memory_mb": round(peak * 1024 / 1e6, 1),
    }


def main(argv: Sequence[str] | None = None) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.sandbox", description=__doc__)
    parser.add_argument("--rounds", type=int, default=50)
    parser.add_argument("--cold", action="store_true", help="compile anew, too")
    options = parser.parse_args(argv)
    instances()
    machine = {
        "sandbox": IDENTITY,
        "wasmtime": version("wasmtime"),
        "python": platform.python_version(),
    }
    cases = [job_case(name, job, options.rounds) for name, job in JOBS.items()]
    folder = cache_folder()
    if folder is not None:
        cases.append(start_case("start, kept", str(folder)))
    if options.cold:
        with tempfile.TemporaryDirectory() as empty:
            cases.append(start_case("start, cold", str(Path(empty))))
    for case in [*cases, sizes()]:
        print(json.dumps({**case, **machine}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
