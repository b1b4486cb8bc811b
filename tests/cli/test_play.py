"""`simharness play`, through a pipe and at a terminal."""

from __future__ import annotations

import io
import signal
import sys
from typing import TYPE_CHECKING

import pytest

from simharness.recording.reader import read_file
from tests.cli.terminal import Terminal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.cli.conftest import Cli, Told

CRM = "crm/negotiation"
STALE = (
    *("--seed", "42", "--load", "4", "--fault", "crm.invalidation-lost", "--set"),
    *("instance.deal=42", "--set", "instance.legal=in_review", "--set", "instance.legal_after=45"),
)
"""Episode 42: legal answers after 45 s, and the cache doesn't tell."""
OVER = "the episode is over; what was true:"


@pytest.fixture
def play(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Told]:
    """Play with lines that come through a pipe."""

    def run(lines: str | bytes, *argv: object) -> Told:
        data = lines if isinstance(lines, bytes) else lines.encode()
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data), encoding="utf-8"))
        return cli("play", CRM, *argv)

    return run


def test_an_episode_is_played_through_a_pipe_and_its_truth_told(
    play: Callable[..., Told], cli: Cli, tmp_path: Path
) -> None:
    lines = "get_deal 42\nwait 60\nget_deal 42\nfinish No answer. outcome=handed_over\n"
    told = play(lines, *STALE, "--set", "instance.legal_answer=cleared", "-o", "me.simrec")
    assert (told.code, told.err) == (0, "")
    assert max(map(len, told.out.splitlines())) <= 80
    seen, _, truth = told.out.partition(OVER)
    assert seen.count('legal: "in_review"') == 2
    assert "cleared" not in seen.partition("> ")[2]
    assert "deals:42 v1 legal in_review  v3 legal cleared" in truth
    assert "verdict: harness, H112 cache-invalidation-lost, proved" in truth
    assert "simharness show me.simrec" in truth
    assert cli("replay", "me.simrec").code == 0
    (record,) = read_file(tmp_path / "me.simrec")
    assert record.info["policy"] == "person:terminal"
    assert len(record.steps) == 4
    assert not list(tmp_path.glob("*.part"))


def test_what_is_shown_before_the_end_tells_nothing_that_was_not_observed(
    play: Callable[..., Told],
) -> None:
    # Two worlds that look the same to the agent, as the cache hides in both what legal answered.
    lines = "get_deal 42\nwait 60\nget_deal 42\nhelp\ntask\nget_dael\nfinish Done.\n"
    cleared, blocked = (
        play(lines, *STALE, "--set", f"instance.legal_answer={a}", "-o", f"{a}.simrec").out
        for a in ("cleared", "blocked")
    )
    assert cleared.partition(OVER)[0] == blocked.partition(OVER)[0]
    assert cleared.partition(OVER)[2] != blocked.partition(OVER)[2]


def test_slips_and_commands_are_no_steps(play: Callable[..., Told], tmp_path: Path) -> None:
    lines = "\n  \nget_dael 1\nget_deal\nhelp\nhelp get_deal\nhelp nope\ntask\nget_deal 42\nquit\n"
    told = play(lines, "-o", "me.simrec")
    assert told.code == 0
    assert "no tool is called 'get_dael'; did you mean get_deal" in told.out
    assert "usage: get_deal deal_id" in told.out
    assert max(map(len, told.out.splitlines())) <= 80
    (record,) = read_file(tmp_path / "me.simrec")
    assert len(record.steps) == 2  # the call, and going away
    assert record.complete


def test_the_end_of_the_input_is_that_of_the_agent(
    play: Callable[..., Told], tmp_path: Path
) -> None:
    told = play("get_deal 42 & get_deal 9999")  # without a line's end
    assert told.code == 0
    assert 'error: {"code": "not_found"' in told.out
    assert "verdict: model" in told.out
    (record,) = read_file(next((tmp_path / "runs").glob("crm-negotiation-0-001.simrec")))
    assert record.complete
    assert "crm-negotiation-0-002" in play("").out


def test_an_episode_that_is_left_is_kept(play: Callable[..., Told], cli: Cli) -> None:
    told = play("get_deal 42\nabort\n", "-o", "me.simrec")
    assert told.code == 0
    assert OVER not in told.out
    assert "stopped after 1 step; the recording is me.simrec.part" in told.out
    shown = cli("show", "me.simrec.part")
    assert shown.code == 0
    assert '"deal_id":42' in shown.out
    assert "verdict: none is recorded" in shown.out


def test_nothing_is_written_over(play: Callable[..., Told], tmp_path: Path) -> None:
    (tmp_path / "me.simrec").write_text("mine")
    told = play("quit\n", "-o", "me.simrec")
    assert told.code == 2
    assert "'me.simrec' is there already" in told.err
    assert (tmp_path / "me.simrec").read_text() == "mine"


def test_lines_in_another_encoding_and_controls_are_told_of(play: Callable[..., Told]) -> None:
    told = play(b"say caf\xe9 \x1b[31m\nget_\x1b[2Jdeal\nquit\n", "-o", "me.simrec")
    assert told.code == 0
    assert "\x1b" not in told.out
    assert r"caf\xe9" in told.out


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Callable[..., Terminal]]:
    begun: list[Terminal] = []

    def start(*argv: object, columns: int = 80) -> Terminal:
        begun.append(Terminal(tmp_path, *argv, columns=columns))
        return begun[-1]

    yield start
    for one in begun:
        one.close()


def test_a_person_plays_at_a_terminal_with_tab(
    terminal: Callable[..., Terminal], tmp_path: Path
) -> None:
    pytest.importorskip("readline", reason="this Python has no line editor")
    one = terminal("play", CRM, "--seed", "42", "-o", "me.simrec")
    one.until("> ")
    one.send("get_dea\td\t42\r")
    shown = one.until("> ")
    assert "get_deal deal_id=42" in shown
    assert 'title: "' in shown
    one.send("finish Nothing to do.\r")
    assert one.end() == 0
    assert OVER in one.lines()
    assert max(map(len, one.lines())) <= 80
    assert (tmp_path / "me.simrec").exists()


@pytest.mark.parametrize(("keys", "code"), [("\x03", 130), ("\x04", 0)])
def test_ctrl_c_and_ctrl_d_end_it_cleanly(
    terminal: Callable[..., Terminal], tmp_path: Path, keys: str, code: int
) -> None:
    one = terminal("play", CRM, "--seed", "42", "-o", "me.simrec")
    one.until("> ")
    one.send("get_deal 42\r")
    one.until("> ")
    one.send(keys)
    assert one.end() == code
    assert "Traceback" not in one.shown
    if code:
        assert "stopped after 1 step; the recording is me.simrec.part" in one.shown
        (record,) = read_file(tmp_path / "me.simrec.part")
        assert len(record.steps) == 1
    else:
        assert OVER in one.shown


def test_a_kill_amid_it_leaves_what_was_played(
    terminal: Callable[..., Terminal], tmp_path: Path
) -> None:
    one = terminal("play", CRM, "--seed", "42", "-o", "me.simrec")
    one.until("> ")
    one.send("get_deal 42\r")
    one.until("> ")
    one.process.send_signal(signal.SIGKILL)
    assert one.end() == -signal.SIGKILL
    (record,) = read_file(tmp_path / "me.simrec.part")
    assert len(record.steps) == 1
