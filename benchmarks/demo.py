"""What the demo costs: seconds of the processor and of the clock, and how often a bare start.

    python -m benchmarks.demo [--rounds 5]

Each round starts `demo` and `--version` in processes of their own. The first demo on a machine also
compiles the sandbox's interpreter, which is kept for later ones; it is told apart.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from resource import RUSAGE_CHILDREN, getrusage
from statistics import median
from tempfile import TemporaryDirectory


def cost(*words: str) -> tuple[float, float]:
    """Seconds of the processor and of the clock that `simharness` takes with these words."""
    with TemporaryDirectory() as folder:
        began, before = time.perf_counter(), getrusage(RUSAGE_CHILDREN)
        command = [sys.executable, "-m", "simharness", *words]
        subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)
        after, ended = getrusage(RUSAGE_CHILDREN), time.perf_counter()
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, ended - began


def main() -> None:
    parser = argparse.ArgumentParser(prog="demo.py", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    first = cost("demo")
    pairs = [(cost("demo"), cost("--version")) for _ in range(rounds)]
    line = {
        "first_cpu_s": first[0],
        "first_s": first[1],
        "cpu_s": median(demo[0] for demo, _ in pairs),
        "s": median(demo[1] for demo, _ in pairs),
        "over_a_start": median(demo[0] / bare[0] for demo, bare in pairs),
    }
    print(json.dumps({name: round(value, 2) for name, value in line.items()}))


if __name__ == "__main__":
    main()
