"""docs/helpdesk.md names the tables, lives, tools, operations and knobs that there are."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from simharness.models.helpdesk import Helpdesk
from simharness.models.helpdesk.own_knobs import OWN
from simharness.models.helpdesk.rewards import REWARD_MODES
from simharness.models.helpdesk.rules import TICKET_LIFE
from simharness.parts.row import SYSTEM_COLUMNS

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "helpdesk.md"
TEXT = PAGE.read_text(encoding="utf-8")


def told(marker: str) -> list[list[str]]:
    """Give the cells of the table that follows a comment, its head left out."""
    after = TEXT.partition(f"<!-- {marker} -->\n\n")[2]
    lines = after.partition("\n\n")[0].splitlines()[2:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def there(marker: str) -> list[list[str]]:
    """Give the same cells as the code has them, in its order."""
    if marker == "ticket life":
        return [[*step] for step in TICKET_LIFE]
    if marker == "knobs":
        return [[f"`{knob.key}`", str(knob.default), knob.doc] for knob in OWN]
    out: list[list[str]] = []
    for name, spec in Helpdesk.specs().items():
        first = spec.row_type.by_name["id"].shown(1)
        columns = [f"`{c}`" for c in spec.row_type.names if c not in SYSTEM_COLUMNS]
        out.append([f"`{name}`", str(first), " ".join(columns)])
    return out


@pytest.mark.parametrize("marker", ["tables", "ticket life", "knobs"])
def test_the_page_tells_what_there_is(marker: str) -> None:
    assert told(marker) == there(marker)


def test_the_page_tells_each_tool_with_its_arguments() -> None:
    signatures = [
        f"`{name}({', '.join(p.name + '?' * (not p.required) for p in spec.parameters)})`"
        for name, spec in Helpdesk.tools.items()
        if not spec.local
    ]
    assert sorted(cells[0] for cells in told("tools")) == sorted(signatures)


def test_the_page_tells_each_operation_of_its_own_and_each_reward_mode() -> None:
    of_others = ("db", "lease", "node", "clock")
    for name, spec in Helpdesk.operations.items():
        if name.partition(".")[0] not in of_others:
            arguments = ", ".join(p.name + "?" * (not p.required) for p in spec.parameters)
            assert f"`{name}({arguments})`" in TEXT
    for mode in REWARD_MODES:
        assert f"`{mode}` " in TEXT.partition("The reward modes")[2]


def test_the_page_tells_every_code_that_tools_refuse_with_and_no_other() -> None:
    folder = ROOT / "models" / "helpdesk"
    text = "\n".join(path.read_text(encoding="utf-8") for path in sorted(folder.rglob("*.py")))
    raised = set(re.findall(r'Refused\(\s*"(\w+)"', text)) | {"locked", "unknown_outcome"}
    section = TEXT.partition("## Tools")[2].partition("\n## ")[0]
    named = set(re.findall(r"`([a-z_]+)`", section))
    columns = {column for spec in Helpdesk.specs().values() for column in spec.row_type.names}
    others = {"finish", "gateway", "code", "left", "if_version"}
    assert raised <= named
    assert named - raised - columns - set(Helpdesk.tools) <= others
