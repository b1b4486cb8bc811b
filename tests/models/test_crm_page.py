"""docs/crm.md names the tables, tools, moves, knobs, scenarios and faults that there are."""

from __future__ import annotations

import re

import pytest

from simharness.models.crm import Crm
from simharness.models.crm.habits import KNOBS
from simharness.models.crm.rules import MOVES
from tests.models.pages import Cells, PageOf, knobs, signatures, tables, ticked

PAGE = PageOf(Crm)


def there(marker: str) -> Cells:
    """Give the cells of a table as the code has them, in its order."""
    match marker:
        case "tables":
            return tables(Crm)
        case "moves":
            return [[ticked(stage), ticked(after)] for stage, after in MOVES.items()]
        case "knobs":
            return knobs(KNOBS)
        case "scenarios":
            return [[ticked(scenario.id), scenario.doc] for scenario in Crm.scenarios]
        case _:
            return [[ticked(fault.id), fault.doc] for fault in Crm.faults]


@pytest.mark.parametrize("marker", ["tables", "moves", "knobs", "scenarios", "faults"])
def test_the_page_tells_what_there_is(marker: str) -> None:
    assert PAGE.told(marker) == there(marker)


def test_the_page_tells_each_tool_with_its_arguments() -> None:
    assert sorted(cells[0] for cells in PAGE.told("tools")) == signatures(Crm)


def test_the_page_tells_no_code_that_no_tool_refuses_with() -> None:
    named = {code for cells in PAGE.told("tools") for code in re.findall(r": `(\w+)`", cells[1])}
    assert "undeliverable" in named
    assert named <= PAGE.raised()
