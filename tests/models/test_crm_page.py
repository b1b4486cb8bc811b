"""docs/crm.md names the tables, tools, moves, knobs, scenarios and faults that there are."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from simharness.models.crm import Crm
from simharness.models.crm.habits import KNOBS
from simharness.models.crm.rules import MOVES
from simharness.parts.row import SYSTEM_COLUMNS

PAGE = Path(__file__).resolve().parents[2] / "docs" / "crm.md"


def told(marker: str) -> list[list[str]]:
    """Give the cells of the table that follows a comment, its head left out."""
    after = PAGE.read_text(encoding="utf-8").partition(f"<!-- {marker} -->\n\n")[2]
    lines = after.partition("\n\n")[0].splitlines()[2:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def ticked(names: str | tuple[str, ...]) -> str:
    return " ".join(f"`{name}`" for name in names) if isinstance(names, tuple) else f"`{names}`"


def there(marker: str) -> list[list[str]]:
    """Give the same cells as the code has them, in its order."""
    match marker:
        case "tables":
            return [
                [
                    ticked(name),
                    ticked(tuple(c for c in spec.row_type.names if c not in SYSTEM_COLUMNS)),
                    ticked(spec.unique),
                ]
                for name, spec in Crm.specs().items()
            ]
        case "moves":
            return [[ticked(stage), ticked(after)] for stage, after in MOVES.items()]
        case "knobs":
            return [[ticked(knob.key), str(knob.default), knob.doc] for knob in KNOBS]
        case "scenarios":
            return [[ticked(scenario.id), scenario.doc] for scenario in Crm.scenarios]
        case _:
            return [[ticked(fault.id), fault.doc] for fault in Crm.faults]


@pytest.mark.parametrize("marker", ["tables", "moves", "knobs", "scenarios", "faults"])
def test_the_page_tells_what_there_is(marker: str) -> None:
    assert told(marker) == there(marker)


def test_the_page_tells_each_tool_with_its_arguments() -> None:
    signatures = {
        f"`{name}({', '.join(p.name + '?' * (not p.required) for p in spec.parameters)})`"
        for name, spec in Crm.tools.items()
        if not spec.local
    }
    named = [cells[0] for cells in told("tools")]
    assert sorted(named) == sorted(signatures)


def test_the_page_tells_no_code_that_no_tool_refuses_with() -> None:
    folder = Path(__file__).resolve().parents[2] / "models" / "crm"
    text = "\n".join(path.read_text(encoding="utf-8") for path in sorted(folder.rglob("*.py")))
    raised = set(re.findall(r'Refused\(\s*"(\w+)"', text))
    named = {code for cells in told("tools") for code in re.findall(r": `(\w+)`", cells[1])}
    assert "undeliverable" in named
    assert named <= raised
