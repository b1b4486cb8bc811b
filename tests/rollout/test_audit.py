"""Auditing runs: what is told of whole, damaged, foreign, empty and unfinished ones."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING

import pytest

from simharness.blame.quarantine import append_review
from simharness.blame.statistics import Gate
from simharness.errors import RecordingError, UsageError, VersionError
from simharness.recording.format import MAGIC
from simharness.rollout.audit import audit
from simharness.rollout.request import Request
from simharness.rollout.run import run

if TYPE_CHECKING:
    from pathlib import Path

    from simharness.rollout.audit import Report

FAULT = "crm.invalidation-lost"


@pytest.fixture(scope="module")
def faulty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run in which the harness fails most episodes."""
    folder = tmp_path_factory.mktemp("runs") / "faulty"
    request = Request(
        scenarios=("crm/negotiation",), seeds=range(6), faults=((FAULT,),), loads=("4",)
    )
    run(request, folder, lambda done, total, summary: None)
    return folder


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of the sound product, long enough for the gate."""
    folder = tmp_path_factory.mktemp("runs") / "sound"
    request = Request(scenarios=("crm/negotiation",), seeds=range(60), policies=("null",))
    run(request, folder, lambda done, total, summary: None)
    return folder


@pytest.fixture
def copy(faulty: Path, tmp_path: Path) -> Path:
    """A copy of the faulty run to do things to."""
    return shutil.copytree(faulty, tmp_path / "run")


def shard(folder: Path) -> Path:
    """The run's only shard."""
    (file,) = (folder / "shards").glob("*.simrec")
    return file


def verdicts(folder: Path) -> dict[str, tuple[str, str, bool]]:
    """Class, primary and validity of each episode as the run itself wrote them."""
    lines = (folder / "verdicts.jsonl").read_text(encoding="utf-8").splitlines()
    records = [json.loads(line) for line in lines]
    return {r["key"]: (r["class"], r["primary"], r["valid"]) for r in records}


def judged(report: Report) -> dict[str, tuple[str, str, bool]]:
    """The same as an audit finds them."""
    return {i.key: (str(i.verdict.kind), i.verdict.primary, i.verdict.valid) for i in report.items}


def test_an_audit_from_the_rows_agrees_with_the_verdicts_of_the_run(faulty: Path) -> None:
    report = audit(faulty)
    assert judged(report) == verdicts(faulty)
    decision = report.decision()
    assert decision.answer is Gate.FAIL
    assert decision.failure.failures >= 3
    assert {i.sample.at for i in report.items if i.verdict.kind == "harness"} == {"get_deal"}
    assert report.codes()["H112"] == 6


def test_a_sound_run_passes_the_gate(sound: Path) -> None:
    report = audit(sound)
    assert report.decision().answer is Gate.PASS
    assert not report.problems
    assert {i.verdict.primary for i in report.items} == {"M511"}
    assert all(i.verdict.valid and not i.quarantined for i in report.items)


def test_episodes_are_ordered_by_who_wants_a_look(faulty: Path, sound: Path) -> None:
    first = audit(faulty).first_to_look_at()
    assert len(first) == 6
    assert first[0].verdict.kind == "harness"
    assert first[0].verdict.primary == "H112"
    assert len({item.key for item in first}) == 6
    assert all(item.verdict.kind == "model" for item in audit(sound).first_to_look_at())


def test_a_single_recording_is_audited_as_well(faulty: Path) -> None:
    assert judged(audit(shard(faulty))) == verdicts(faulty)


def test_a_review_keeps_or_quarantines_an_episode(copy: Path) -> None:
    before = {i.key: i.quarantined for i in audit(copy).items}
    bad = next(key for key, out in before.items() if out)
    reviews = [
        {"key": bad, "decision": "quarantine", "by": "ann", "note": "first thought"},
        {"key": bad, "decision": "keep", "by": "ann", "note": "looked again"},
    ]
    text = "".join(json.dumps(r) + "\n" for r in reviews)
    (copy / "reviews.jsonl").write_text(text, encoding="utf-8")
    after = {i.key: (i.quarantined, i.reason) for i in audit(copy).items}
    assert after[bad] == (False, "kept by ann: looked again")
    assert {k: v for k, (v, _) in after.items() if k != bad} == {
        k: v for k, v in before.items() if k != bad
    }


@pytest.mark.parametrize(
    "line", ["nonsense", "[]", '{"key": 3}', '{"key": "a", "decision": "maybe"}']
)
def test_a_review_that_cannot_be_read_is_named_by_its_line(copy: Path, line: str) -> None:
    (copy / "reviews.jsonl").write_text("\n" + line + "\n", encoding="utf-8")
    with pytest.raises(UsageError, match="line 2"):
        audit(copy)


def test_a_review_that_was_cut_short_is_told_left_out_and_written_over(copy: Path) -> None:
    bad = next(item.key for item in audit(copy).items if item.quarantined)
    kept = json.dumps({"key": bad, "decision": "keep", "by": "ann"}) + "\n"
    (copy / "reviews.jsonl").write_text(kept + kept[:20], encoding="utf-8")
    report = audit(copy)
    assert "reviews.jsonl ends amid a review, which is left out" in report.problems
    assert not next(item for item in report.items if item.key == bad).quarantined
    append_review(copy, kept)
    assert (copy / "reviews.jsonl").read_text(encoding="utf-8") == kept * 2
    # What an editor left without an end is whole, and gets one.
    (copy / "reviews.jsonl").write_text(kept.rstrip("\n"), encoding="utf-8")
    append_review(copy, kept)
    assert (copy / "reviews.jsonl").read_text(encoding="utf-8") == kept * 2
    assert "reviews.jsonl" not in " ".join(audit(copy).problems)


def test_a_damaged_recording_fails_the_gate_and_the_rest_is_audited(copy: Path) -> None:
    file = shard(copy)
    data = bytearray(file.read_bytes())
    data[len(data) * 9 // 10] ^= 4
    file.write_bytes(bytes(data))
    report = audit(copy)
    assert report.decision().answer is Gate.FAIL
    assert 0 < len(report.items) < 6
    assert any("H911" in problem and "damaged" in problem for problem in report.problems)


@pytest.mark.parametrize("data", [b"", MAGIC[:3], b"not a recording"])
def test_a_shard_that_is_no_recording_fails_the_gate_as_one_that_is_gone_does(
    sound: Path, tmp_path: Path, data: bytes
) -> None:
    folder = shutil.copytree(sound, tmp_path / "run")
    extra = folder / "shards" / "00001.simrec"
    extra.write_bytes(data)
    report = audit(folder)
    assert len(report.items) == 60
    assert report.decision().answer is Gate.FAIL
    assert ["00001.simrec" in text and "H911" in text for text in report.problems] == [True]
    # One that has only been begun is no damage.
    extra.rename(extra.with_name("00001.simrec.part"))
    if MAGIC.startswith(data):
        report = audit(folder)
        assert (report.damaged, report.decision().answer) == ([], Gate.INCONCLUSIVE)
    shard(folder).unlink()
    with pytest.raises(RecordingError, match="no finished episode"):
        audit(folder)


@pytest.mark.parametrize("text", ["", "{", "[]", None])
def test_a_run_without_its_account_cannot_pass_and_says_so(
    sound: Path, tmp_path: Path, text: str | None
) -> None:
    folder = shutil.copytree(sound, tmp_path / "run")
    about = folder / "run.json"
    if text is None:
        about.unlink()
    else:
        about.write_text(text, encoding="utf-8")
    report = audit(folder)
    (problem,) = report.problems
    assert problem.startswith("run.json is")
    assert report.decision().answer is Gate.INCONCLUSIVE
    # Recordings in a folder, or some files of it, are no run and have no account.
    assert audit(folder / "shards").problems == []
    assert audit(folder, files=[shard(folder)]).problems == []


def test_a_run_that_is_still_being_written_cannot_pass(sound: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(sound, tmp_path / "run")
    file = shard(folder)
    data = file.read_bytes()
    file.unlink()
    (file.parent / (file.name + ".part")).write_bytes(data[: len(data) - 10])
    report = audit(folder)
    assert len(report.items) == 59
    assert report.decision().answer is Gate.INCONCLUSIVE
    assert any("still being written" in problem for problem in report.problems)


def test_an_empty_folder_is_refused_in_words(tmp_path: Path) -> None:
    with pytest.raises(RecordingError, match="empty folder"):
        audit(tmp_path)


def test_a_folder_without_recordings_is_refused_in_words(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("hello", encoding="utf-8")
    with pytest.raises(RecordingError, match="without recordings"):
        audit(tmp_path)


def test_a_foreign_file_is_refused_in_words(tmp_path: Path) -> None:
    file = tmp_path / "a.simrec"
    file.write_bytes(b"PK\x03\x04 something else")
    with pytest.raises(RecordingError, match=r"not a \.simrec file"):
        audit(file)


def test_a_recording_of_a_later_format_names_the_version(tmp_path: Path, faulty: Path) -> None:
    file = tmp_path / "a.simrec"
    data = shard(faulty).read_bytes()
    file.write_bytes(b"SIMREC\x09\n" + data[len(MAGIC) :])
    with pytest.raises(VersionError):
        audit(file)


def test_a_missing_path_is_refused_in_words(tmp_path: Path) -> None:
    with pytest.raises(RecordingError, match="no such file"):
        audit(tmp_path / "nowhere")
