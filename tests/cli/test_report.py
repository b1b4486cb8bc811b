"""`simharness report`: what it prints and how it exits."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.cli.conftest import Cli

REPORTS = Path(__file__).resolve().parent.parent.parent / "seeds" / "reports"


def test_reports_beside_broken_ones_are_checked_and_all_broken_ones_are_told(
    cli: Cli, tmp_path: Path
) -> None:
    sound = next(REPORTS.glob("B06*.toml"))
    shutil.copy(sound, tmp_path)
    shutil.copy(sound, tmp_path / "copy.toml")
    (tmp_path / "a.toml").write_text("report = ", encoding="utf-8")
    (tmp_path / "b.toml").write_text("report = 2", encoding="utf-8")
    told = cli("report", "check", str(tmp_path))
    assert told.code == 2
    assert "1 of 1 reports hold" in told.out
    for message in ("a.toml:1: no TOML", "b.toml:1: report: got 2", "copy.toml has the id 'B06'"):
        assert message in told.err


LATE = """\
report = 1
id = "late"
product = "crm"
[[actions]]
at = "3000d"
actor = "agent"
call = "list_accounts"
[[actions]]
after = "1+3000d"
actor = "agent"
call = "list_accounts"
"""


def test_a_report_that_cannot_be_played_is_named_and_the_others_go_on(
    cli: Cli, tmp_path: Path
) -> None:
    (tmp_path / "a.toml").write_text(LATE, encoding="utf-8")
    shutil.copy(next(REPORTS.glob("B06*.toml")), tmp_path)
    told = cli("report", "check", str(tmp_path))
    assert told.code == 2
    assert "1 of 1 reports hold" in told.out
    assert "a.toml: step 2 can't be sent at tick" in told.err


def test_nothing_is_written_over_unless_asked(cli: Cli, tmp_path: Path) -> None:
    report = shutil.copy(next(REPORTS.glob("B06*.toml")), tmp_path)
    before = Path(report).read_bytes()
    for line in (["record", report], ["new", "--chat", report, "--product", "crm"]):
        told = cli("report", *line, "-o", report)
        assert (told.code, told.out) == (2, "")
        assert "is there already" in told.err
        assert "--force" in told.err
        assert Path(report).read_bytes() == before
    out = tmp_path / "x.simrec"
    out.write_bytes(b"before")
    assert cli("report", "record", report, "-o", out, "--force").code == 0
    assert out.read_bytes() != b"before"
