"""What was once reproduced reproduces: every report under seeds/ holds, and so do its controls."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from simharness.reports.check import check_report
from simharness.reports.load import load_report, read_report

pytestmark = pytest.mark.seeds

ROOT = Path(__file__).resolve().parent.parent.parent
FILES = sorted((ROOT / "seeds" / "reports").glob("*.toml"))
PAGE = ROOT / "docs" / "reports.md"


def shortcomings(path: Path) -> list[tuple[str, list[str]]]:
    return [
        (result.played.case.title, [*result.missing, *result.unexpected])
        for result in check_report(load_report(path))
        if not result.held
    ]


@pytest.mark.parametrize("path", FILES, ids=[path.stem for path in FILES])
def test_a_report_holds_with_its_controls(path: Path) -> None:
    assert shortcomings(path) == []


def test_every_report_has_a_control_and_an_id_of_its_own() -> None:
    reports = [load_report(path) for path in FILES]
    assert all(report.controls for report in reports)
    assert len({report.id for report in reports}) == len(reports)


def test_the_example_of_the_page_holds() -> None:
    found = re.search(r"^```toml\n(.*?)^```$", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    assert found is not None
    for result in check_report(read_report(PAGE, found[1].encode())):
        assert result.held, (result.missing, result.unexpected)
