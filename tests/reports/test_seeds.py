"""What was once reproduced reproduces: every report under seeds/ holds, and so do its controls."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from simharness.errors import UsageError
from simharness.recording.reader import read_file
from simharness.reports.check import check_report
from simharness.reports.convert import report_from
from simharness.reports.load import load_report, read_report
from simharness.reports.play import play_case

pytestmark = pytest.mark.seeds

ROOT = Path(__file__).resolve().parent.parent.parent
FILES = sorted((ROOT / "seeds" / "reports").glob("*.toml"))
MACHINERY = Path(__file__).with_name("test_machinery.py")
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


@pytest.mark.parametrize("path", FILES, ids=[path.stem for path in FILES])
def test_a_recording_of_a_report_becomes_that_report_again(path: Path, tmp_path: Path) -> None:
    played = play_case(load_report(path).case)
    played.episode.save(tmp_path / "x.simrec")
    (record,) = read_file(tmp_path / "x.simrec")
    codes = [finding.code for finding in played.verdict.findings]
    if not played.verdict.primary and not any(code.startswith("H") for code in codes):
        with pytest.raises(UsageError, match="nothing was found"):
            report_from(record)
        return
    again = read_report(path, report_from(record).encode())
    (result,) = check_report(again)
    assert result.held, (result.missing, result.unexpected)
    assert result.played.episode.digest == played.episode.digest
    assert again.case.expect[0].codes[0] in codes


def test_every_report_has_a_control_and_an_id_of_its_own() -> None:
    reports = [load_report(path) for path in FILES]
    assert all(report.controls for report in reports)
    assert len({report.id for report in reports}) == len(reports)


def test_the_example_of_the_page_holds() -> None:
    found = re.search(r"^```toml\n(.*?)^```$", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    assert found is not None
    for result in check_report(read_report(PAGE, found[1].encode())):
        assert result.held, (result.missing, result.unexpected)


def test_the_page_lists_every_report_and_every_test_with_its_codes() -> None:
    table = PAGE.read_text("utf-8").partition("<!-- table of reports -->")[2]
    found = [line.strip("| \n").split(" | ") for line in table.strip().splitlines()[2:]]
    told = {row[0]: (*row[1:3], row[3].split() if len(row) > 3 else []) for row in found}
    expected: dict[str, tuple[str, str, list[str]]] = {}
    for path in FILES:
        report = load_report(path)
        codes = {
            c for case in (report.case, *report.controls) for e in case.expect for c in e.codes
        }
        link = f"[{path.name}](../seeds/reports/{path.name})"
        expected[report.id] = (report.case.title, link, sorted(codes))
    tests = {row[0]: row[2].strip("`") for row in found if row[2].startswith("`")}
    assert {key: told[key] for key in told if key not in tests} == expected
    assert {
        key: name for key, name in tests.items() if not name.startswith(f"test_{key.lower()}_")
    } == {}
    there = re.findall(r"^def (test_b\d+_\w+)", MACHINERY.read_text("utf-8"), re.MULTILINE)
    assert sorted(tests.values()) == sorted(there)
