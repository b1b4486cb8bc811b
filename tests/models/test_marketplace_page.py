"""docs/marketplace.md names the tables, lives, tools and knobs that there are."""

from __future__ import annotations

import re

import pytest

from simharness.models.marketplace import Marketplace
from simharness.models.marketplace.habits import KNOBS as PEOPLE
from simharness.models.marketplace.own_knobs import KNOBS
from simharness.models.marketplace.rules import BOOKING_LIFE, HOLD_LIFE
from tests.models.pages import Cells, PageOf, knobs, signatures, tables, ticked

PAGE = PageOf(Marketplace)


def there(marker: str) -> Cells:
    """Give the cells of a table as the code has them, in its order."""
    match marker:
        case "tables":
            return tables(Marketplace)
        case "booking life":
            return [[ticked(s.before), s.event, ticked(s.after), s.when] for s in BOOKING_LIFE]
        case "hold life":
            return [[ticked(s.before), s.event, ticked(s.after), s.when] for s in HOLD_LIFE]
        case "scenarios":
            return [[ticked(s.id), s.doc] for s in Marketplace.scenarios]
        case "faults":
            return [[ticked(f.id), f.doc, ticked(f.seduces)] for f in Marketplace.faults]
        case _:
            return knobs(PEOPLE if marker == "people" else KNOBS)


MARKERS = ("tables", "booking life", "hold life", "knobs", "people", "scenarios", "faults")


@pytest.mark.parametrize("marker", MARKERS)
def test_the_page_tells_what_there_is(marker: str) -> None:
    assert PAGE.told(marker) == there(marker)


def test_the_page_tells_each_tool_with_its_arguments() -> None:
    assert sorted(cells[0] for cells in PAGE.told("tools")) == signatures(Marketplace)


def test_the_page_tells_every_code_that_tools_refuse_with_and_no_other() -> None:
    raised = PAGE.raised() | {"slot_taken", "sold_out", "locked"}
    named = set(re.findall(r"`([a-z_]+)`", PAGE.section("Tools")))
    assert raised <= named
    assert named - raised - PAGE.columns() - set(Marketplace.tools) == {"none"}
