"""Other Pythons of this machine, and which of them can run this package."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from simharness.errors import UsageError
from simharness.selfcheck.variants import ROOT, Axis, Variant

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

MINORS = range(11, 16)
PROBE_SECONDS = 60
PROBE = """
import sys
if sys.version_info < (3, 11): sys.exit("Python %d.%d is too old" % sys.version_info[:2])
import click, msgpack, numpy, simpy
from simharness.product.registry import load_scenario
for name in sys.argv[1:]: load_scenario(name)
print("%d.%d.%d" % sys.version_info[:3])
"""


def interpreters() -> dict[str, str]:
    """Find the Pythons of this machine by name; whether they serve isn't asked."""
    found: dict[str, str] = {}
    for minor in MINORS:
        if path := shutil.which(f"python3.{minor}"):
            found[f"python3.{minor}"] = path
    if pyenv := shutil.which("pyenv"):
        told = subprocess.run([pyenv, "root"], capture_output=True, text=True, check=False)
        folder = Path(told.stdout.strip() or os.devnull) / "versions"
        for minor in MINORS:
            for file in sorted(folder.glob(f"3.{minor}.*/bin/python")):
                found[f"pyenv {file.parts[-3]}"] = str(file)
    return found


def distinct(pythons: dict[str, str]) -> dict[str, str]:
    """Leave out this Python, and second names of one such as a link beside it."""
    seen = {place_of(sys.executable)}
    out: dict[str, str] = {}
    for name, path in pythons.items():
        if place_of(path) not in seen:
            seen.add(place_of(path))
            out[name] = path
    return out


def place_of(python: str) -> tuple[str, str]:
    """Tell interpreters apart: by the program, and by its folder, which a virtual one has."""
    return os.path.realpath(os.path.dirname(python)), os.path.realpath(python)


def chosen(text: str) -> dict[str, str]:
    """Read `--pythons`: `auto`, `none`, or paths with commas between them. Raises UsageError."""
    if text == "none":
        return {}
    if text == "auto":
        return distinct(interpreters())
    paths = text.split(",")
    if not all(paths):
        raise UsageError(
            f"pythons {text!r} are not readable",
            "give auto, none, or paths of interpreters with commas between them",
        )
    return {path: path for path in paths}


def link_to_package(folder: Path) -> str:
    """Let a folder hold this package alone: what it needs, other Pythons have of their own."""
    (folder / "simharness").symlink_to(ROOT / "simharness", target_is_directory=True)
    return str(folder)


def usable(
    pythons: dict[str, str], scenarios: Sequence[str], folder: Path
) -> tuple[list[Variant], list[tuple[str, str]]]:
    """Give a variant for each Python that can load the scenarios, and why the others can't.

    `folder` is an empty one, which has to stay for as long as the variants are used.
    """
    out: list[Variant] = []
    skipped: list[tuple[str, str]] = []
    paths = (link_to_package(folder),) if pythons else ()
    for name, python in pythons.items():
        variant = Variant(name=name, axis=Axis.PYTHON, python=python, paths=paths)
        told = probe(variant, scenarios)
        if told:
            skipped.append((name, told))
        else:
            out.append(variant)
    return out, skipped


def probe(variant: Variant, scenarios: Iterable[str]) -> str:
    """Say why a Python can't be used; empty where it can."""
    try:
        done = subprocess.run(
            [variant.python, "-c", PROBE, *scenarios],
            env=variant.environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=PROBE_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"it gave no answer in {PROBE_SECONDS} s"
    except OSError as error:
        return f"it can't be started: {error.strerror}"
    lines = done.stderr.strip().splitlines()
    if done.returncode == 0 and done.stdout.strip():
        return ""
    # A shim of pyenv explains itself first, a traceback last.
    if not lines:
        return f"it ended with code {done.returncode} and no reason"
    return lines[-1] if lines[0].startswith("Traceback") or "Error" in lines[-1] else lines[0]
