"""Frameworks that tests need: an absent one skips, but not in the environment made for it."""

from __future__ import annotations

import os
import warnings
from contextlib import redirect_stdout
from importlib import import_module
from importlib.util import find_spec
from io import StringIO
from typing import Any

import pytest

from tests.pages import ROOT, block_after

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


def run_example(name: str) -> tuple[list[str], list[str]]:
    """Run an example of the page; give what it says that it prints, and what it printed."""
    code = block_after(ROOT / "docs" / "frameworks.md", f"{name} example")
    said = [line.rpartition("  # ")[2] for line in code.splitlines() if line.startswith("print(")]
    told = StringIO()
    with redirect_stdout(told):
        exec(compile(code, f"frameworks.md, {name}", "exec"), {})
    return said, told.getvalue().splitlines()
