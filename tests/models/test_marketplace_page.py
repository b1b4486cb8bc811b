"""docs/marketplace.md names the tables, lives, tools and knobs that there are."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from simharness.models.marketplace import Marketplace
from simharness.models.marketplace.habits import KNOBS as PEOPLE
from simharness.models.marketplace.own_knobs import KNOBS
from simharness.models.marketplace.rules import BOOKING_LIFE, HOLD_LIFE
from simharness.parts.row import SYSTEM_COLUMNS

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "marketplace.md"


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
                for name, spec in Marketplace.specs().items()
            ]
        case "booking life":
            return [[ticked(s.before), s.event, ticked(s.after), s.when] for s in BOOKING_LIFE]
        case "hold life":
            return [[ticked(s.before), s.event, ticked(s.after), s.when] for s in HOLD_LIFE]
        case "scenarios":
            return [[ticked(s.id), s.doc] for s in Marketplace.scenarios]
        case "faults":
            return [[ticked(f.id), f.doc, ticked(f.seduces)] for f in Marketplace.faults]
        case _:
            own = PEOPLE if marker == "people" else KNOBS
            return [[ticked(knob.key), str(knob.default), knob.doc] for knob in own]


MARKERS = ("tables", "booking life", "hold life", "knobs", "people", "scenarios", "faults")


@pytest.mark.parametrize("marker", MARKERS)
def test_the_page_tells_what_there_is(marker: str) -> None:
    assert told(marker) == there(marker)


def test_the_page_tells_each_tool_with_its_arguments() -> None:
    signatures = {
        f"`{name}({', '.join(p.name + '?' * (not p.required) for p in spec.parameters)})`"
        for name, spec in Marketplace.tools.items()
        if not spec.local
    }
    named = [cells[0] for cells in told("tools")]
    assert sorted(named) == sorted(signatures)


def test_the_page_tells_every_code_that_tools_refuse_with_and_no_other() -> None:
    folder = ROOT / "models" / "marketplace"
    text = "\n".join(path.read_text(encoding="utf-8") for path in sorted(folder.rglob("*.py")))
    raised = set(re.findall(r'Refused\(\s*"(\w+)"', text)) | {"slot_taken", "sold_out", "locked"}
    section = PAGE.read_text(encoding="utf-8").partition("## Tools")[2].partition("\n## ")[0]
    named = set(re.findall(r"`([a-z_]+)`", section))
    columns = {column for spec in Marketplace.specs().values() for column in spec.row_type.names}
    assert raised <= named
    assert named - raised - columns - set(Marketplace.tools) == {"none"}
