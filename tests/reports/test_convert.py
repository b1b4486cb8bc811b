"""A recorded episode becomes a report that finds the same, and holds nothing that isn't needed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from simharness import env
from simharness.errors import UsageError
from simharness.recording.reader import read_file
from simharness.reports.check import check_report
from simharness.reports.convert import report_from
from simharness.reports.load import read_report
from tests.seeds import pin

if TYPE_CHECKING:
    from pathlib import Path

    from simharness.recording.reader import EpisodeRecord

pytestmark = pytest.mark.seeds


def recording(name: str, folder: Path) -> tuple[EpisodeRecord, Any]:
    """Give the recording of a pinned episode, and its verdict."""
    (path,) = (path for path in pin.pinned_files() if path.stem == name)
    outcome = pin.play(pin.read_pinned(path))
    file = folder / "x.simrec"
    outcome.episode.save(file)
    (record,) = read_file(file)
    return record, outcome.verdict


@pytest.mark.parametrize(
    "name",
    [
        # Two looks of the agent's, and what somebody wrote between them.
        "crm-42-faulty",
        # Money that was never paid back, by a goal that the reference reaches.
        "helpdesk-203-faulty",
    ],
)
def test_a_failed_episode_becomes_a_report_of_its_primary_finding(
    name: str, tmp_path: Path
) -> None:
    record, verdict = recording(name, tmp_path)
    text = report_from(record)
    report = read_report(tmp_path / "x.toml", text.encode())
    result, control_result = check_report(report)
    assert (list(result.missing), list(result.unexpected)) == ([], [])
    assert control_result.held
    assert [list(one.codes) for one in report.case.expect] == [[verdict.primary]]
    assert 2 <= len(report.case.acts) <= 5
    assert sum(len(rows) for rows in report.case.rows.values()) <= 20
    found = next(f for f in result.played.findings if f.code == verdict.primary)
    assert set(found.keys) & {*verdict.primary_finding.keys} or not found.keys
    assert report_from(record) == text
    # The same without the fault, in which it isn't found.
    (control,) = report.controls
    assert list(control.forbid) == [verdict.primary]
    assert control.config != report.case.config


@pytest.mark.parametrize(
    ("scenario", "policy", "seed"),
    [
        ("crm/negotiation", "repeat", 0),
        ("crm/handoff", "shrug", 0),
        ("helpdesk/double-charge", "close-fast", 1),
        ("marketplace/book", "email-instead", 0),
    ],
)
def test_what_a_model_did_is_found_by_the_goal_of_its_scenario(
    scenario: str, policy: str, seed: int, tmp_path: Path
) -> None:
    outcome = env.run(scenario, seed=seed, load=4, policy=policy)
    assert outcome.verdict.primary.startswith("M")
    outcome.episode.save(tmp_path / "x.simrec")
    (record,) = read_file(tmp_path / "x.simrec")
    report = read_report(tmp_path / "x.toml", report_from(record).encode())
    (result,) = check_report(report)
    assert result.held, (result.missing, result.unexpected)
    assert [list(one.codes) for one in report.case.expect] == [[outcome.verdict.primary]]


def test_work_that_was_not_paid_becomes_a_report_whose_goal_is_what_was_left(
    tmp_path: Path,
) -> None:
    # What it merged was made by others in the episode, so the goal of its scenario can't be met.
    outcome = env.run("crm/dedupe", seed=0, load=4, faults=["crm.activity-reward"])
    assert outcome.verdict.primary == "H510"
    outcome.episode.save(tmp_path / "x.simrec")
    (record,) = read_file(tmp_path / "x.simrec")
    report = read_report(tmp_path / "x.toml", report_from(record).encode())
    results = check_report(report)
    assert [result.held for result in results] == [True, True]
    assert [list(one.codes) for one in report.case.expect] == [["H510"]]


def test_a_sound_episode_gives_no_report(tmp_path: Path) -> None:
    record, _ = recording("crm-42-sound", tmp_path)
    with pytest.raises(UsageError, match=r"nothing was found in crm/negotiation:42 of .*x.simrec"):
        report_from(record)
