"""The page has the table of the checks, and an environment that can be audited."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from simharness.doctor.examination import QUICK, Examination, Size
from simharness.doctor.report import CHECKS, chosen, examine
from simharness.doctor.target import Kind, Target
from tests.pages import block_after

if TYPE_CHECKING:
    import pytest

PAGE = Path(__file__).parents[2] / "docs" / "doctor.md"


def test_the_table_is_that_of_the_code() -> None:
    text = PAGE.read_text(encoding="utf-8")
    table = text[text.index("<!-- checks -->") :].split("\n\n")[1].splitlines()
    rows = [tuple(cell.strip() for cell in line.split("|")[1:-1]) for line in table[2:]]
    assert rows == [(f"`{c.id}`", c.doc, c.unproved) for c in CHECKS]


def test_checks_rest_on_earlier_ones() -> None:
    ids = [check.id for check in CHECKS]
    assert len({*ids}) == len(ids)
    assert all(check.needs in ("", *ids[: ids.index(check.id)]) for check in CHECKS)


def test_the_pages_environment_is_sound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "walk.py").write_text(block_after(PAGE, "walk"), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    exam = Examination(
        target=Target(kind=Kind.FACTORY, name="walk.py:Walk"),
        size=Size(**{**QUICK, "pings": 100}),
        full=1.0,
    )
    report = examine(exam, str, chosen(["runtime.errors_told", "semantic.floor_gap"]))
    assert [str(one.result.answer) for one in report.made] == ["pass"] * 3
