"""docs/ide.md names the tables, tools, operations and knobs that there are."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from simharness.models.ide import Ide
from simharness.models.ide.habits import KNOBS as PEOPLE
from simharness.models.ide.own_knobs import OWN
from simharness.models.ide.terminal.commands import COMMANDS
from simharness.models.ide.terminal.git.command import SUBCOMMANDS
from simharness.models.ide.tickets import FAMILIES
from simharness.parts.row import SYSTEM_COLUMNS

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "docs" / "ide.md").read_text(encoding="utf-8")


def told(marker: str) -> list[list[str]]:
    """Give the cells of the table that follows a comment, its head left out."""
    after = TEXT.partition(f"<!-- {marker} -->\n\n")[2]
    lines = after.partition("\n\n")[0].splitlines()[2:]
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip("|"))] for line in lines]


def signature(name: str) -> str:
    spec = Ide.tools.get(name) or Ide.operations[name]
    return f"`{name}({', '.join(p.name + '?' * (not p.required) for p in spec.parameters)})`"


def there(marker: str) -> list[list[str]]:
    """Give the same cells as the code has them, in its order."""
    if marker in ("knobs", "people"):
        named = PEOPLE if marker == "people" else OWN
        return [[f"`{knob.key}`", str(knob.default), knob.doc] for knob in named]
    if marker == "scenarios":
        return [[f"`{scenario.id}`", scenario.doc] for scenario in Ide.scenarios]
    if marker == "faults":
        return [[f"`{fault.id}`", fault.doc, f"`{fault.seduces}`"] for fault in Ide.faults]
    out: list[list[str]] = []
    for name, spec in Ide.specs().items():
        columns = [f"`{c}`" for c in spec.row_type.names if c not in SYSTEM_COLUMNS]
        out.append([f"`{name}`", str(spec.row_type.by_name["id"].shown(1)), " ".join(columns)])
    return out


@pytest.mark.parametrize("marker", ["tables", "knobs", "people", "scenarios", "faults"])
def test_the_page_tells_what_there_is(marker: str) -> None:
    assert told(marker) == there(marker)


def test_the_page_tells_each_tool_with_its_arguments() -> None:
    tools = [signature(name) for name, spec in Ide.tools.items() if not spec.local]
    assert sorted(cells[0] for cells in told("tools")) == sorted(tools)


@pytest.mark.parametrize(("marker", "known"), [("commands", COMMANDS), ("git", SUBCOMMANDS)])
def test_the_page_tells_each_command_of_the_terminal(marker: str, known: list[str]) -> None:
    named = " ".join(cells[0] for cells in told(marker))
    assert sorted(re.findall(r"`([^`]+)`", named)) == sorted(known)


def test_the_page_tells_each_family_of_tickets() -> None:
    assert [cells[0] for cells in told("families")] == [f"`{family}`" for family in FAMILIES]


def test_the_page_tells_each_operation_of_its_own() -> None:
    for name in Ide.operations:
        if name.partition(".")[0] not in ("db", "lease", "node", "clock"):
            assert signature(name) in TEXT


def test_the_page_tells_every_code_that_tools_refuse_with() -> None:
    files = sorted((ROOT / "models" / "ide").rglob("*.py"))
    text = "\n".join(path.read_text(encoding="utf-8") for path in files)
    raised = set(re.findall(r'Refused\(\s*"(\w+)"', text)) | {"locked"}
    assert raised <= set(re.findall(r"`([a-z_]+)`", TEXT))
