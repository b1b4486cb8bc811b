"""Hidden tests as a file of tests, for graders that read nothing but output or an exit code."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simharness.api import sandbox

if TYPE_CHECKING:
    from collections.abc import Sequence

    from simharness.models.ide.tickets import Probe

PATH = "tests/test_hidden.py"
HEAD = """\
import datetime
import importlib
from decimal import Decimal
from fractions import Fraction

import pytest

inf, nan = float("inf"), float("nan")
kept = {}


def target(name):
    owner, _, attribute = name.partition(":")
    found = kept[owner[1:]] if owner.startswith("$") else importlib.import_module(owner)
    for part in attribute.split("."):
        found = getattr(found, part)
    return found
"""


def test_file(probes: Sequence[Probe], expected: Sequence[sandbox.Answer]) -> str:
    """Write the tests that make some calls and assert what is expected of each."""
    out = [HEAD]
    for k, (probe, answer) in enumerate(zip(probes, expected, strict=True), 1):
        call = f"target({probe.target!r})(*{probe.args!r}, **{dict(probe.kwargs)!r})"
        out.append(f"\n\ndef test_{k}():\n")
        if answer.kind == "raised":
            out.append("    with pytest.raises(Exception) as caught:\n")
            out.append(f"        {call}\n")
            wanted = answer.raised[0].rpartition(".")[2]
            out.append(f"    assert type(caught.value).__name__ == {wanted!r}\n")
        elif probe.keep:
            out.append(f"    kept[{probe.keep!r}] = {call}\n")
        elif isinstance(answer.value, sandbox.Thing):
            wanted = answer.value.type.rpartition(".")[2]
            out.append(f"    assert type({call}).__name__ == {wanted!r}\n")
        else:
            out.append(f"    assert {call} == {answer.value!r}\n")
    return "".join(out)
