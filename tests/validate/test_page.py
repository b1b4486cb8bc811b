"""The page has the table of the checks."""

from __future__ import annotations

from pathlib import Path

from simharness.validate.report import CHECKS, LEVELS

ROOT = Path(__file__).resolve().parents[2]


def test_the_table_is_that_of_the_code() -> None:
    text = (ROOT / "docs" / "validate.md").read_text(encoding="utf-8")
    table = text[text.index("<!-- checks -->") :].split("\n\n")[1].splitlines()
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in table[2:]]
    assert [row[:3] for row in rows] == [[f"`{c.id}`", str(c.severity), c.doc] for c in CHECKS]
    assert all(row[3] for row in rows), "each says what a pass doesn't prove"


def test_checks_have_their_form() -> None:
    ids = [check.id for check in CHECKS]
    assert len({*ids}) == len(ids)
    assert {check.level for check in CHECKS} == {*LEVELS}
    assert all(check.needs in ("", *ids[: ids.index(check.id)]) for check in CHECKS)
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert f"by {len(CHECKS)} checks" in readme
