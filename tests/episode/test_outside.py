"""Answers from outside are inputs: they are recorded, and a replay asks nobody unless told to."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from simharness.cli import main
from simharness.env import make
from simharness.episode.replay import replay
from simharness.errors import Divergence, HarnessError
from simharness.product.policy import Call
from simharness.product.registry import load_product
from simharness.recording.format import FrameType
from simharness.recording.reader import read_file

if TYPE_CHECKING:
    from simharness.env import Env
    from simharness.recording.reader import EpisodeRecord

PATH = f"{Path(__file__).with_name('oracle.py')}:Oracle"
ORACLE: Any = load_product(PATH)


def played(questions: list[str], scenario: str = "consulted") -> Env:
    env = make(f"{PATH}/{scenario}", seed=3, on_harness="mark")
    env.reset()
    for question in questions:
        env.step(Call("consult", {"question": question}))
    env.step(Call("finish", {"message": "asked"}))
    return env


def saved(env: Env, folder: Path) -> EpisodeRecord:
    path = folder / "one.simrec"
    env.save(path)
    (record,) = read_file(path)
    return record


@pytest.fixture(autouse=True)
def nobody_was_asked() -> None:
    ORACLE.asked.clear()


def test_answers_are_recorded_once_with_the_step_that_asked(tmp_path: Path) -> None:
    record = saved(played(["a", "b", "a"]), tmp_path)
    assert ORACLE.asked == ["start", "a", "b"]
    told = [f.fields for f in record.of(FrameType.INPUT) if f.fields[2] == "outside"]
    assert [(fields[0], fields[3][16:]) for fields in told] == [  # type: ignore[index]
        (0, b"\0START"),
        (1, b"\0A"),
        (2, b"\0B"),
    ]


def test_a_replay_asks_nobody(tmp_path: Path) -> None:
    env = played(["a", "b"])
    record = saved(env, tmp_path)
    ORACLE.asked.clear()
    assert replay(record).digest == env.episode.digest
    assert replay(record, until=1).episode.count == 1
    assert ORACLE.asked == []


def test_a_verification_asks_again_and_compares(tmp_path: Path) -> None:
    record = saved(played(["a"]), tmp_path)
    ORACLE.asked.clear()
    replay(record, reverify=True)
    assert ORACLE.asked == ["start", "a"]


def test_a_branch_knows_what_its_past_was_answered() -> None:
    env = make(f"{PATH}/shift", seed=3, on_harness="mark")
    env.reset()
    env.step(Call("consult", {"question": "a"}))
    twin = env.branch(step=1)
    assert ORACLE.asked == ["a"]
    one, two = (e.step(Call("consult", {"question": "b"})) for e in (env, twin))
    assert one.info["digest"] == two.info["digest"]


def test_an_answer_that_can_t_be_had_ends_the_episode_and_replays(tmp_path: Path) -> None:
    env = make(f"{PATH}/shift", seed=3)
    env.reset()
    with pytest.raises(HarnessError, match="the oracle is gone"):
        env.step(Call("consult", {"question": "broken"}))
    assert env.episode.reward is None
    record = saved(env, tmp_path)
    ORACLE.asked.clear()
    assert replay(record).episode.aborted is not None
    assert ORACLE.asked == []


def test_the_command_line_verifies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    played(["a"]).save(tmp_path / "one.simrec")
    ORACLE.asked.clear()
    for options, code in (([], 0), (["--reverify"], 0)):
        monkeypatch.setattr(
            "sys.argv", ["simharness", "replay", str(tmp_path / "one.simrec"), *options]
        )
        with pytest.raises(SystemExit) as ended:
            main()
        assert (ended.value.code or 0) == code


def test_a_recording_that_was_answered_otherwise_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = saved(played(["a"]), tmp_path)
    monkeypatch.setattr(ORACLE, "loud", False)
    assert replay(record).frames > 0
    with pytest.raises(Divergence, match="INPUT"):
        replay(record, reverify=True)
