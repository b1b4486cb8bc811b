"""Odd terminals, closed pipes and full devices: output is told or given up, never a traceback."""

from __future__ import annotations

import io
import json
import os
import pty
import subprocess
from pathlib import Path

import pytest

from simharness.cli.output import ProgressLine
from simharness.kernel import guard
from tests.cli.conftest import SHOP, Cli, Recorded, Spawn, command
from tests.determinism.culprits import sizing

CRM = "crm/negotiation"


def test_an_output_that_nobody_reads_ends_quietly(spawn: Spawn, recorded: Recorded) -> None:
    for argv in (
        ["list", "knobs", "crm"],
        ["show", recorded.file, "--json"],
        ["replay", recorded.file],
        ["run", CRM, "--policy", "null", "-o", "out"],
        ["--help"],
    ):
        reader, writer = os.pipe()
        os.close(reader)
        with os.fdopen(writer, "wb") as pipe:
            told = spawn(*argv, stdout=pipe)
        assert (told.code, told.err) == (141, ""), argv


def test_a_reader_that_goes_after_the_first_line_is_no_error(
    recorded: Recorded, tmp_path: Path
) -> None:
    # More than a pipe holds, so that the writer is still at it when the reader has gone.
    argv = command("show", recorded.file, "--step", "1")
    many = command("list", "knobs", "crm")
    script = 'for i in 1 2 3 4 5 6 7 8; do "$@" || exit $?; done | head -n 1'
    for words in (argv, many):
        told = subprocess.run(
            ["bash", "-c", script, "bash", *words],
            cwd=tmp_path,
            capture_output=True,
            encoding="utf-8",
            check=False,
        )
        assert told.stderr == ""
        assert told.stdout.count("\n") == 1


def test_a_message_that_nobody_reads_keeps_its_exit_code_quiet(spawn: Spawn) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "wb") as pipe:
        told = spawn("run", "nope/x", stderr=pipe)
    assert (told.code, told.out) == (141, "")


@pytest.mark.parametrize(
    "argv", [["list", "knobs", "crm"], ["demo"], ["run", CRM, "--policy", "null"]]
)
def test_a_full_device_is_told(spawn: Spawn, argv: list[str]) -> None:
    if not os.path.exists("/dev/full"):
        pytest.skip("this system has no /dev/full")
    with open("/dev/full", "wb") as full:
        told = spawn(*argv, stdout=full)
    assert told.code == 2
    assert told.err.startswith(
        "error SH-REC-001: can't write 'standard output': the disk is full\n  free some space"
    )
    assert "Traceback" not in told.err


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_streams_do_no_harm(
    tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch, closed: str
) -> None:
    # No file that the command opens may take the place of a closed stream.
    noisy = sizing("[os.write(number, b'noise') for number in (1, 2)][0]", "import os")
    (tmp_path / "noisy.py").write_text(noisy, encoding="utf-8")
    script = f'"$@" >/dev/null 2>&1 {closed}'
    words = ("run", "noisy.py:Tiny/scene", "--load", "0", "-o", "out")
    argv = ["env", f"{guard.VARIABLE}=off", "bash", "-c", script, "bash", *command(*words)]
    assert subprocess.run(argv, cwd=tmp_path, check=False).returncode == 0
    monkeypatch.setenv(guard.VARIABLE, "off")
    assert cli("replay", "out").code == 0
    argv[-1] = "out/run.json/x"
    assert subprocess.run(argv, cwd=tmp_path, check=False).returncode == 2


@pytest.mark.parametrize("closed", [">&-", "<&- >&- 2>&-"])
def test_a_table_that_nobody_can_see_is_no_failure(closed: str) -> None:
    argv = ["bash", "-c", f'"$@" {closed}', "bash", *command("list", "knobs", "crm")]
    assert subprocess.run(argv, check=False).returncode == 0


@pytest.mark.parametrize("stderr", ["2</dev/null", "2>/dev/full"])
@pytest.mark.parametrize("words", [["run", "nope/x"], ["run"]])
def test_a_message_that_cant_be_written_keeps_the_exit_code(stderr: str, words: list[str]) -> None:
    if not os.path.exists("/dev/full"):
        pytest.skip("this system has no /dev/full")
    argv = ["bash", "-c", f'"$@" {stderr}', "bash", *command(*words)]
    assert subprocess.run(argv, check=False).returncode == 2


@pytest.mark.parametrize("encoding", ["ascii", "cp437", "shift_jis"])
def test_every_encoding_can_show_every_recording(
    spawn: Spawn, recorded: Recorded, encoding: str
) -> None:
    env = {"PYTHONIOENCODING": encoding}
    for argv in (
        ["show", recorded.file],
        ["list", "scenarios", f"{SHOP}:Shop/sound"],
        ["run", f"{SHOP}:Sh\u00f6p/\u20ac"],
    ):
        told = spawn(*argv, env=env)
        assert told.code == (2 if argv[0] == "run" else 0)
        assert "Traceback" not in told.err.replace("\0", "")


@pytest.mark.parametrize("env", [{"LC_ALL": "C"}, {"LC_ALL": "POSIX", "PYTHONUTF8": "0"}])
def test_a_bare_locale_is_enough(spawn: Spawn, recorded: Recorded, env: dict[str, str]) -> None:
    told = spawn("show", recorded.file, "--truth", env=env)
    assert (told.code, told.err) == (0, "")
    assert "legal cleared" in told.out


def on_a_terminal(folder: Path, env: dict[str, str], *argv: object) -> tuple[int, str]:
    """Run a command whose output is a terminal; gives its exit code and what the terminal got."""
    ours, theirs = pty.openpty()
    kept = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "TERM", "COLUMNS")}
    process = subprocess.Popen(
        command(*argv), cwd=folder, env={**kept, **env}, stdin=theirs, stdout=theirs, stderr=theirs
    )
    os.close(theirs)
    seen = b""
    while True:
        try:
            chunk = os.read(ours, 65_536)
        except OSError:  # the other side has been closed
            break
        if not chunk:
            break
        seen += chunk
    os.close(ours)
    return process.wait(), seen.decode("utf-8")


def test_a_terminal_gets_colour_and_a_dumb_one_none(tmp_path: Path, recorded: Recorded) -> None:
    code, coloured = on_a_terminal(tmp_path, {"TERM": "xterm"}, "show", recorded.file)
    assert code == 0
    assert "\x1b[2m" in coloured
    for env in ({"TERM": "dumb"}, {"TERM": "xterm", "NO_COLOR": "1"}):
        code, plain = on_a_terminal(tmp_path, env, "show", recorded.file)
        assert code == 0
        assert "\x1b" not in plain
        code, plain = on_a_terminal(tmp_path, env, "run", "nope/x")
        assert code == 2
        assert "\x1b" not in plain


def test_a_narrow_terminal_is_enough(tmp_path: Path, recorded: Recorded) -> None:
    env = {"TERM": "xterm", "COLUMNS": "20"}
    for argv in (["run", "--help"], ["show", recorded.file]):
        code, seen = on_a_terminal(tmp_path, env, *argv)
        assert code == 0
        assert "Traceback" not in seen


def test_a_story_is_told_within_a_narrow_terminal(tmp_path: Path) -> None:
    (path,) = (Path(__file__).parents[2] / "seeds" / "reports").glob("B06-*.toml")
    env = {"TERM": "dumb", "COLUMNS": "40"}
    code, seen = on_a_terminal(tmp_path, env, "report", "explain", path)
    assert code == 0
    assert "verdict: " in seen
    assert [line for line in seen.splitlines() if len(line) > 40] == []


class Terminal(io.StringIO):
    """A stderr that is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("stream", "term", "shown"),
    [
        (Terminal(), "xterm", "\r\x1b[K10/90 pings, 5/s, 16 s left, fine\r\x1b[K"),
        (Terminal(), "dumb", "10/90 pings, 1/s, 96 s left, fine\n"),
        (io.StringIO(), "xterm", "10/90 pings, 1/s, 96 s left, fine\n"),
        (None, "xterm", ""),
    ],
)
def test_progress_is_one_line_on_a_terminal_and_one_in_ten_seconds_elsewhere(
    monkeypatch: pytest.MonkeyPatch, stream: io.StringIO | None, term: str, shown: str
) -> None:
    clock = [0]
    monkeypatch.setattr("simharness.cli.output.time.perf_counter_ns", lambda: clock[0])
    monkeypatch.setattr("sys.stderr", stream)
    monkeypatch.setenv("TERM", term)
    progress = ProgressLine("pings")
    live = shown.startswith("\r")
    for done, now in (
        (8, 500_000_000),
        (9, 999_000_000),
        (10, 2_000_000_000 if live else 12_000_000_000),
        (11, 2_100_000_000 if live else 12_100_000_000),
    ):
        clock[0] = now
        progress.update(done, 90, ", fine")
    progress.close()
    progress.close()
    assert (stream.getvalue() if stream is not None else "") == shown


def test_progress_does_not_reach_standard_output(spawn: Spawn) -> None:
    told = spawn("soak", "crm/negotiation", "--pings", "100", "--users", "10", "--json")
    assert told.code == 0
    assert set(json.loads(told.out)) >= {"pings", "errors"}
