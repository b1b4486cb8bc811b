"""docs/helpdesk.md names the tables, lives, tools, operations and knobs that there are."""

from __future__ import annotations

import re

import pytest

from simharness.models.helpdesk import Helpdesk
from simharness.models.helpdesk.habits import KNOBS as PEOPLE
from simharness.models.helpdesk.own_knobs import OWN
from simharness.models.helpdesk.rewards import REWARD_MODES
from simharness.models.helpdesk.rules import TICKET_LIFE
from tests.models.pages import Cells, PageOf, knobs, own_columns, signature, signatures, ticked

PAGE = PageOf(Helpdesk)


def there(marker: str) -> Cells:
    """Give the cells of a table as the code has them, in its order."""
    if marker == "ticket life":
        return [[*step] for step in TICKET_LIFE]
    if marker in ("knobs", "people"):
        return knobs(PEOPLE if marker == "people" else OWN)
    if marker == "scenarios":
        return [[ticked(scenario.id), scenario.doc] for scenario in Helpdesk.scenarios]
    if marker == "faults":
        return [[ticked(fault.id), fault.doc, ticked(fault.seduces)] for fault in Helpdesk.faults]
    return [
        [ticked(name), str(spec.row_type.by_name["id"].shown(1)), own_columns(spec)]
        for name, spec in Helpdesk.specs().items()
    ]


MARKERS = ("tables", "ticket life", "knobs", "people", "scenarios", "faults")


@pytest.mark.parametrize("marker", MARKERS)
def test_the_page_tells_what_there_is(marker: str) -> None:
    assert PAGE.told(marker) == there(marker)


def test_the_page_tells_each_tool_with_its_arguments() -> None:
    assert sorted(cells[0] for cells in PAGE.told("tools")) == signatures(Helpdesk)


def test_the_page_tells_each_operation_of_its_own_and_each_reward_mode() -> None:
    of_others = ("db", "lease", "node", "clock")
    for name, spec in Helpdesk.operations.items():
        if name.partition(".")[0] not in of_others:
            assert signature(name, spec) in PAGE.text
    for mode in REWARD_MODES:
        assert f"`{mode}` " in PAGE.text.partition("The reward modes")[2]


def test_the_page_tells_every_code_that_tools_refuse_with_and_no_other() -> None:
    raised = PAGE.raised() | {"locked", "unknown_outcome"}
    named = set(re.findall(r"`([a-z_]+)`", PAGE.section("Tools")))
    others = {"finish", "gateway", "code", "left", "if_version"}
    assert raised <= named
    assert named - raised - PAGE.columns() - set(Helpdesk.tools) <= others
