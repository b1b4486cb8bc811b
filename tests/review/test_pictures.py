"""Pictures of runs and episodes: what they say, and that the same data make the same bytes."""

from __future__ import annotations

import importlib.util
import re
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from simharness.blame.case import case_of_record
from simharness.blame.curve import Point
from simharness.blame.gate import Sample, counted_once, decide
from simharness.blame.verdict import Class
from simharness.cli import call
from simharness.errors import UsageError
from simharness.recording.reader import read_file
from simharness.review.pictures import draw_audit, draw_episode, draw_throughput, require

if TYPE_CHECKING:
    from pathlib import Path

needs_matplotlib = pytest.mark.skipif(
    importlib.util.find_spec("matplotlib") is None, reason="the extra `plot` isn't installed"
)
SOUND = Sample(
    scenario="shop/sell",
    seed=0,
    policy="expert",
    load="1",
    faults=(),
    tools=(),
    at="",
    kind=Class.OK,
    codes=(),
    passed=True,
    quarantined=False,
    digest="",
)
SAMPLES = [
    replace(SOUND, seed=i, digest=str(i), load="1" if i % 2 else "8", kind=kind)
    for i, kind in enumerate([Class.OK, Class.HARNESS, Class.OK, Class.EXTERNAL] * 20)
]
HEADS = {".png": b"\x89PNG\r\n", ".svg": b"<?xml"}


def texts(path: Path) -> str:
    """Give what an SVG says: matplotlib notes each text beside its outline."""
    return "\n".join(re.findall(r"<!-- (.*?) -->", path.read_text(encoding="utf-8")))


@needs_matplotlib
@pytest.mark.parametrize("suffix", HEADS)
def test_the_same_data_make_the_same_bytes(tmp_path: Path, recordings: Path, suffix: str) -> None:
    failed = [sample.failed for sample in counted_once(SAMPLES)]
    strata = decide(SAMPLES).strata
    (record,) = read_file(recordings / "episode-87.simrec")
    case = case_of_record(record)
    points = [Point(step, 1_000_000 if step < 6 else 0) for step in range(13)]
    for attempt in ("a", "b"):
        draw_audit(tmp_path / f"audit-{attempt}{suffix}", "r", failed, strata, 0.05)
        draw_episode(tmp_path / f"one-{attempt}{suffix}", "e", case.story, (), points, 6)
        draw_throughput(tmp_path / f"run-{attempt}{suffix}", "r", [(1.0, 1), (3.0, 9)], failed)
    for name in ("audit", "one", "run"):
        first, second = (tmp_path / f"{name}-{x}{suffix}" for x in ("a", "b"))
        assert first.read_bytes() == second.read_bytes()
        assert first.read_bytes().startswith(HEADS[suffix])


@needs_matplotlib
def test_a_picture_of_an_audit_names_what_fails(tmp_path: Path) -> None:
    once = counted_once(SAMPLES)
    assert len(once) == 60  # those that failed from outside are left out
    path = tmp_path / "audit.svg"
    draw_audit(path, "runs/x", [s.failed for s in once], decide(SAMPLES).strata, 0.05)
    said = texts(path)
    for text in ("failure rate of the harness", "95 % interval", "limit 5.0%", "load 1 (20/20)"):
        assert text in said


@needs_matplotlib
def test_an_episode_that_was_never_out_of_date_says_so(tmp_path: Path, recordings: Path) -> None:
    for number, words in ((42, "deals:42"), (134, "never out of date")):
        (record,) = read_file(recordings / f"episode-{number}.simrec")
        path = tmp_path / f"{number}.svg"
        draw_episode(path, "e", case_of_record(record).story, ())
        assert words in texts(path)


@needs_matplotlib
def test_pictures_of_nothing_are_pictures(tmp_path: Path) -> None:
    draw_audit(tmp_path / "a.png", "r", [], (), None)
    draw_throughput(tmp_path / "b.png", "r", [], [])
    assert {path.read_bytes()[:6] for path in tmp_path.iterdir()} == {HEADS[".png"]}


@needs_matplotlib
def test_commands_draw(
    tmp_path: Path,
    recordings: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    run = ["run", "crm/negotiation", "--seed", "0:3", "--policy", "null", "--workers", "0"]
    assert call([*run, "-o", "run", "--plot", "run.svg"]) == 0
    assert call(["audit", "run", "--plot", "audit.svg"]) == 3  # 3 episodes decide nothing
    assert call(["audit", str(recordings / "episode-203.simrec"), "--plot", "one.png"]) == 0
    assert call(["audit", "run", "--plot", "no/such/folder.png"]) == 2
    told = capsys.readouterr().err
    assert "can't write 'no/such/folder.png'" in told
    assert "throughput" in texts(tmp_path / "run.svg")
    assert "limit 5.0%" in texts(tmp_path / "audit.svg")
    assert (tmp_path / "one.png").read_bytes().startswith(HEADS[".png"])


def test_what_can_not_be_drawn_is_said_before_anything_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(UsageError, match=r"'.*a\.pdf' is no picture"):
        require(tmp_path / "a.pdf")
    monkeypatch.setattr("simharness.review.pictures.find_spec", {"matplotlib": None}.get)
    with pytest.raises(UsageError, match="pictures need matplotlib") as caught:
        require(tmp_path / "a.png")
    assert "[plot]" in caught.value.hint
