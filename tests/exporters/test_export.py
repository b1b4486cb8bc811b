"""Which episodes an export takes, what it says of the rest, and what it does to files."""

from __future__ import annotations

import errno
import json
import os
import shutil
import subprocess
import sys
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from simharness.blame.verdict import Class
from simharness.cli import call
from simharness.env import make_plan
from simharness.errors import RecordingError, UnknownName, UsageError
from simharness.exporters.export import export
from simharness.exporters.files import written
from simharness.exporters.formats import FORMATS
from simharness.exporters.loss import Loss
from simharness.exporters.text import json_line
from simharness.recording.writer import ShardWriter
from simharness.rollout.broken import LEFT
from simharness.rollout.intake import Intake
from simharness.rollout.request import Request
from simharness.rollout.run import run

if TYPE_CHECKING:
    from tests.exporters.conftest import Recordings

HAZARD = f"{Path(__file__).parents[1] / 'rollout' / 'hazard.py'}:Hazard"
SUFFIX = {"atif": ".jsonl", "inspect": ".eval"}


def name_of(format: str) -> str:
    return f"out{SUFFIX.get(format, '.x')}"


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="ascii").splitlines()]


def test_invalid_quarantined_and_hidden_are_left_out(
    recordings: Recordings, tmp_path: Path
) -> None:
    out = tmp_path / "a.jsonl"
    report = export("trl", recordings.all, out)
    assert (report.found, report.exported) == (5, 3)
    assert report.loss.record()["left_out"] == {"invalid and quarantined": 2}
    assert all(line["valid"] and not line["quarantined"] for line in lines(out))
    assert all("truth" not in line for line in lines(out))
    assert not report.included
    (hidden,) = (n for why, n in report.loss.dropped.items() if "hidden truth" in why)
    assert hidden > 300


@pytest.mark.parametrize("include", [("invalid",), ("quarantined",)])
def test_an_episode_needs_every_permission(
    recordings: Recordings, tmp_path: Path, include: tuple[str, ...]
) -> None:
    assert export("trl", recordings.all, tmp_path / "a.jsonl", include=include).exported == 3


def test_what_is_included_is_told(recordings: Recordings, tmp_path: Path) -> None:
    out = tmp_path / "a.jsonl"
    report = export("trl", recordings.all, out, include=("invalid", "quarantined", "truth"))
    assert report.exported == 5
    assert report.included == {"invalid": 2, "quarantined": 2, "truth": 5}
    stale = [read for line in lines(out) for read in reads_of(line) if read["age"]]
    assert len(stale) == 6
    faults = [json.loads(line["truth"])["faults"] for line in lines(out)]
    assert ["crm.invalidation-lost"] in faults


def reads_of(line: dict[str, Any]) -> list[dict[str, Any]]:
    steps = json.loads(line["truth"])["steps"].values()
    return [read for step in steps for read in step["reads"]]


def test_a_review_lifts_quarantine_and_does_not_make_an_episode_valid(
    recordings: Recordings, tmp_path: Path
) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    shutil.copy(recordings.quarantined, folder)
    review = {"key": "crm/negotiation:42:expert", "decision": "keep", "by": "ada"}
    (folder / "reviews.jsonl").write_text(json.dumps(review) + "\n")
    with pytest.raises(UsageError, match=r"nothing to export: 1 episodes, 1 invalid;") as caught:
        export("trl", folder, tmp_path / "a.jsonl")
    assert caught.value.hint.endswith("--include invalid")
    assert export("trl", folder, tmp_path / "a.jsonl", include=("invalid",)).exported == 1


@pytest.mark.parametrize("format", sorted(FORMATS))
def test_nothing_left_makes_no_file(recordings: Recordings, tmp_path: Path, format: str) -> None:
    with pytest.raises(UsageError, match="nothing to export: 1 episodes, 1 invalid and quaran"):
        export(format, recordings.aborted, tmp_path / name_of(format))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("format", sorted(FORMATS))
def test_a_run_without_episodes_is_refused(tmp_path: Path, format: str) -> None:
    run = tmp_path / "run"
    run.mkdir()
    ShardWriter(run / "00000.simrec").seal()
    with pytest.raises(RecordingError, match="no finished episode in"):
        export(format, run, tmp_path / name_of(format))
    assert list(tmp_path.iterdir()) == [run]


def test_torn_and_damaged_episodes_are_left_out_and_named(
    recordings: Recordings, tmp_path: Path
) -> None:
    data = recordings.sound.read_bytes()
    (tmp_path / "1.simrec.part").write_bytes(data[: len(data) // 2])
    (tmp_path / "2.simrec.part").write_bytes(b"")
    (tmp_path / "3.simrec").write_bytes(data)
    (tmp_path / "4.simrec").write_bytes(data[:-30] + bytes([data[-30] ^ 1]) + data[-29:])
    report = export("trl", tmp_path, tmp_path / "a.jsonl")
    assert (report.exported, report.found) == (1, 3)
    assert report.loss.left_out == {"unfinished": 1, "damaged": 1}
    torn, empty, damaged = report.loss.problems
    assert torn.startswith("crm/negotiation:5:expert in 1.simrec.part: truncated at byte")
    assert empty == "2.simrec.part is empty"
    assert damaged.startswith("crm/negotiation:5:expert in 4.simrec: damaged at byte")


def test_the_same_recordings_make_the_same_bytes(recordings: Recordings, tmp_path: Path) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    every(recordings.hostile, here)
    words = [sys.executable, "-c", EVERY, str(recordings.hostile), str(there)]
    env = {**os.environ, "PYTHONHASHSEED": "7", "TZ": "Asia/Tokyo", "LC_ALL": "C"}
    subprocess.run(words, check=True, env=env, cwd=Path(__file__).parents[2])
    made = sorted(here.iterdir())
    assert len(made) == 2 * len(FORMATS) - 1
    for path in made:
        assert path.read_bytes() == (there / path.name).read_bytes(), path.name


EVERY = (
    "import sys, pathlib; from tests.exporters.test_export import every; "
    "every(*map(pathlib.Path, sys.argv[1:]))"
)


def every(source: Path, folder: Path) -> None:
    """Export to every format, with what was hidden and without."""
    for name, format in FORMATS.items():
        export(name, source, folder / f"{name}-{name_of(name)}")
        if format.carries_truth:
            export(name, source, folder / f"{name}-truth-{name_of(name)}", include=("truth",))


def test_lone_surrogates_are_replaced_and_counted() -> None:
    loss = Loss()
    line = json_line({"\udcff": ["\ud83d\ude00", "\U0001f600", "\u2028"]}, loss)
    assert json.loads(line) == {"\ufffd": ["\ufffd\ufffd", "\U0001f600", "\u2028"]}
    assert line.isascii()
    assert loss.changed.total() == 3
    sound = Loss()
    json_line(["plain", "\U0001f600"], sound)
    assert not sound.changed


def test_the_report_counts_what_arguments_became(recordings: Recordings, tmp_path: Path) -> None:
    report = export("trl", recordings.hostile, tmp_path / "a.jsonl")
    changed = report.loss.record()["changed"]
    assert changed["calls whose arguments are no JSON object, kept as text"] == 2
    assert changed["calls whose arguments are spelled anew (spaces, forms of numbers)"] == 2
    assert changed["lone surrogates, now U+FFFD"] >= 4
    plain = export("trl", recordings.sound, tmp_path / "b.jsonl").loss.record()["changed"]
    assert plain == {}


# --- files ---------------------------------------------------------------------------------------


def test_a_file_that_is_there_is_replaced_only_by_force(
    recordings: Recordings, tmp_path: Path
) -> None:
    out = tmp_path / "a.jsonl"
    out.write_text("mine")
    with pytest.raises(UsageError, match="is there already"):
        export("trl", recordings.sound, out)
    assert out.read_text() == "mine"
    export("trl", recordings.sound, out, force=True)
    assert len(lines(out)) == 1
    assert list(tmp_path.iterdir()) == [out]


def test_a_file_that_appears_meanwhile_is_kept(tmp_path: Path) -> None:
    out = tmp_path / "a"

    def race() -> None:
        with written(out, force=False) as file:
            file.write(b"ours")
            out.write_text("theirs")

    with pytest.raises(UsageError, match="is there already"):
        race()
    assert out.read_text() == "theirs"
    assert list(tmp_path.iterdir()) == [out]


@pytest.mark.parametrize("format", sorted(FORMATS))
def test_a_full_disk_leaves_what_was_there(
    recordings: Recordings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, format: str
) -> None:
    out = tmp_path / name_of(format)
    out.write_text("before")
    real = Path.open

    def opened(path: Path, mode: str = "r", *rest: Any, **named: Any) -> Any:
        if mode == "xb":
            path.touch()
            return FullDisk()
        return real(path, mode, *rest, **named)

    monkeypatch.setattr(Path, "open", opened)
    with pytest.raises(RecordingError, match=r"can't write '.*': the disk is full") as caught:
        export(format, recordings.sound, out, force=True)
    monkeypatch.undo()
    assert "no file of that name was made" in caught.value.hint
    assert out.read_text() == "before"
    assert list(tmp_path.iterdir()) == [out]


class FullDisk(BytesIO):
    """A file on a disk that has room for some bytes only."""

    def write(self, data: Any) -> int:
        if self.tell() + len(data) > 1_000:
            raise OSError(errno.ENOSPC, "No space left on device")
        return super().write(data)


def test_an_export_that_is_stopped_leaves_nothing(recordings: Recordings, tmp_path: Path) -> None:
    def stop(done: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        export("trl", recordings.sound, tmp_path / "a.jsonl", progress=stop)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["run.json", "verdicts.jsonl", "reviews.jsonl", "x.simrec"])
def test_a_runs_own_files_are_never_written_over(
    recordings: Recordings, tmp_path: Path, name: str
) -> None:
    with pytest.raises(UsageError, match="is a name that runs use themselves"):
        export("openai", recordings.sound, tmp_path / name, force=True)


# --- the command ---------------------------------------------------------------------------------


@pytest.fixture
def said(capsys: pytest.CaptureFixture[str]) -> Any:
    def run(*words: object) -> tuple[int, str, str]:
        code = call([str(word) for word in ("export", *words)])
        out, err = capsys.readouterr()
        return code, out, err

    return run


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("atfi", "FILE", "-o", "a.json"), "no format named 'atfi'"),
        (("openai", "FILE", "-o", "a.jsonl", "--include", "truth"), "openai has no place for"),
        (("inspect", "FILE", "-o", "a.json"), "is no name for a file of inspect"),
        (("atif", "FILE", "-o", "a"), "ends in .json or .jsonl"),
        (("trl", "FILE", "-o", "."), "is a folder"),
        (("trl", "nowhere", "-o", "a"), "no such file or folder"),
        (("trl", "FILE", "-o", "a", "--episode", "crm/negotiation:6"), "no episode in"),
        (("trl", "FILE", "-o", "a", "--include", "all"), "is not one of"),
        (("trl", "FILE", "-o", "FILE", "--force"), "is a name that runs use themselves"),
        (("trl", "FILE", "-o", "FILE/a"), "is a file"),
        (("trl", "FILE"), "Missing option"),
    ],
)
def test_what_can_not_be_done_is_told(
    recordings: Recordings, tmp_path: Path, said: Any, monkeypatch: pytest.MonkeyPatch,
    words: tuple[str, ...], message: str,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    file = str(recordings.sound)
    code, out, err = said(*(word.replace("FILE", file) for word in words))
    assert (code, out) == (2, "")
    assert message in err
    assert "Traceback" not in err
    assert list(tmp_path.iterdir()) == []


def test_a_zero_byte_in_a_path_is_told(recordings: Recordings) -> None:
    with pytest.raises(UsageError, match="there is a zero byte in it"):
        export("trl", recordings.sound, Path("a\0"))


def test_the_names_that_are_not_known_come_with_near_ones() -> None:
    with pytest.raises(UnknownName) as caught:
        export("perfeto", Path("x"), Path("y"))
    assert caught.value.hint.startswith("did you mean 'perfetto'")


def test_one_document_holds_one_episode(recordings: Recordings, tmp_path: Path, said: Any) -> None:
    code, _, err = said("atif", recordings.all, "-o", tmp_path / "a.json")
    assert (code, list(tmp_path.iterdir())) == (2, [])
    assert "name one with --episode" in err
    words = ("atif", recordings.all, "-o", tmp_path / "a.json")
    code, out, _ = said(*words, "--episode", "crm/negotiation:5:expert")
    assert (code, out.splitlines()[0]) == (0, f"{tmp_path}/a.json: 1 of 1 episode as atif")


def test_the_command_says_aloud_what_it_included_and_lost(
    recordings: Recordings, tmp_path: Path, said: Any
) -> None:
    include = ("--include", "invalid", "--include", "quarantined")
    code, out, _ = said("trl", recordings.all, "-o", tmp_path / "a.jsonl", *include)
    assert code == 0
    assert f"{tmp_path}/a.jsonl: 5 of 5 episodes as trl" in out
    assert "includes 2 episodes that would be left out as invalid" in out
    assert "includes 2 episodes that would be left out as quarantined" in out
    assert "rows of the journal" in " ".join(out.split())
    assert "lone surrogates, now U+FFFD" in " ".join(out.split())
    code, out, _ = said("trl", recordings.all, "-o", tmp_path / "b.jsonl", "--json")
    assert json.loads(out)["left_out"] == {"invalid and quarantined": 2}


def test_parquet_without_pyarrow_names_the_extra(
    recordings: Recordings, tmp_path: Path, said: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.delitem(sys.modules, "simharness.exporters.parquet", raising=False)
    code, _, err = said("parquet", recordings.sound, "-o", tmp_path / "a.parquet")
    assert code == 2
    assert "pip install 'simharness[parquet]'" in err
    assert list(tmp_path.iterdir()) == []


# Episodes that broke outside of a step


@pytest.fixture(scope="module", params=["start", "prompt"])
def broken_run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of twelve episodes, of which some break before their first step."""
    folder = tmp_path_factory.mktemp("broken") / "run"
    asked = Request(scenarios=(f"{HAZARD}/{request.param}",), seeds=range(12))
    summary = run(asked, folder, breaker=False).summary
    assert 0 < summary.failures < 12
    return folder


@pytest.mark.parametrize("include", [(), ("invalid", "quarantined")])
def test_an_episode_that_broke_is_never_exported_and_is_told_of(
    broken_run: Path, tmp_path: Path, include: tuple[str, ...]
) -> None:
    verdicts = lines(broken_run / "verdicts.jsonl")
    sound = sorted(line["seed"] for line in verdicts if not line["quarantined"])
    report = export("trl", broken_run, tmp_path / "a.jsonl", include=include)
    assert (report.found, report.exported) == (12, len(sound))
    assert report.loss.record()["left_out"] == {"broken outside of a step": 12 - len(sound)}
    assert not report.included
    assert sorted(line["seed"] for line in lines(tmp_path / "a.jsonl")) == sound


def test_an_episode_that_its_agent_left_is_never_exported_and_is_told_of(tmp_path: Path) -> None:
    intake = Intake(tmp_path / "run", "visitor", {})
    plan = make_plan("crm/negotiation", 5)
    line, verdict = intake.take_broken(plan, intake.about(plan), "nobody came back", LEFT)
    assert (verdict.kind, line["primary"]) == (Class.EXTERNAL, LEFT)
    intake.close()
    for include in ((), ("invalid", "quarantined")):
        with pytest.raises(RecordingError, match=r"run': 1 broken outside of a step") as caught:
            export("trl", tmp_path / "run", tmp_path / "a.jsonl", include=include)
        assert caught.value.hint == f"see why: simharness audit {tmp_path}/run"
    assert not (tmp_path / "a.jsonl").exists()


def test_the_command_says_aloud_how_many_episodes_broke(
    broken_run: Path, tmp_path: Path, said: Any
) -> None:
    code, out, _ = said("trl", broken_run, "-o", tmp_path / "a.jsonl")
    assert code == 0
    assert "broken outside of a step" in " ".join(out.split())
