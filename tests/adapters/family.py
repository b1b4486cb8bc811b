"""Frameworks that tests need: an absent one skips, but not in the environment made for it."""

from __future__ import annotations

import os
import subprocess
import sys
import warnings
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import pytest

from tests.pages import ROOT, block_after

if TYPE_CHECKING:
    from pathlib import Path

SWITCH = "SIMHARNESS_FAMILY"
"""Names the frameworks that have to be there, apart by commas: `gymnasium,inspect_ai`."""


def framework(name: str) -> Any:
    """Import a framework; skip the module's tests where it may be missing, else fail."""
    top = name.partition(".")[0]
    if find_spec(top) is None:
        assert top not in os.environ.get(SWITCH, "").split(","), f"{top} is missing"
        pytest.skip(f"{top} is missing; .ci/run frameworks has it", allow_module_level=True)
    with warnings.catch_warnings():
        # What a library warns of when it is imported is nothing of ours.
        warnings.simplefilter("ignore")
        return import_module(name)


def run_example(name: str, folder: Path) -> tuple[list[str], list[str]]:
    """Run an example of the page; give what it says that it prints, and what it printed.

    It runs in another folder than the tree's, so that what is installed is found, as by a user.
    """
    code = block_after(ROOT / "docs" / "frameworks.md", f"{name} example")
    said = [line.rpartition("  # ")[2] for line in code.splitlines() if line.startswith("print(")]
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return said, done.stdout.splitlines()
