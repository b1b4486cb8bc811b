"""Ctrl-C and kill -9 in the middle: what was recorded is there, readable, and replays."""

from __future__ import annotations

import json
import os
import re
import signal
import time
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    import subprocess
    from pathlib import Path

    from tests.cli.conftest import Cli, Recorded, Start

CRM = "crm/negotiation"
ENOUGH = 70
"""Verdicts after which a run has sealed its first shard."""


def verdicts(run: Path) -> list[dict[str, object]]:
    path = run / "verdicts.jsonl"
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    # A line that is being written has no end yet.
    return [json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("\n")]


def wait_for(run: Path, episodes: int, process: subprocess.Popen[str]) -> None:
    """Wait until a run has judged so many episodes."""
    while len(verdicts(run)) < episodes:
        assert process.poll() is None, process.communicate()
        time.sleep(0.005)


def interrupt(*_: object, **__: object) -> None:
    """Do what Ctrl-C does, in place of a function."""
    raise KeyboardInterrupt


def end(process: subprocess.Popen[str], number: signal.Signals) -> tuple[int, str, str]:
    """Send a signal to the whole group, as a terminal does."""
    os.killpg(process.pid, number)
    out, err = process.communicate()
    return process.returncode, out, err


def assert_readable(cli: Cli, run: Path, at_least: int) -> None:
    """Check that all that was judged is there with its digest, and replays."""
    judged = verdicts(run)
    assert len(judged) >= at_least
    for line in (judged[0], judged[-1]):
        shown = cli("show", run, "--episode", f"{line['scenario']}:{line['seed']}", "--json").json()
        assert shown["digest"] == line["digest"]
        assert shown["complete"]
    result = cli("replay", run, "--json")
    assert result.code == 0
    record = result.json()
    # The last one may have been recorded and not yet judged.
    assert record["identical"] == record["episodes"]
    assert record["episodes"] - len(judged) in (0, 1)


@pytest.mark.parametrize("episodes", [3, ENOUGH])
def test_an_interrupted_run_says_where_it_is_and_replays(
    start: Start, cli: Cli, tmp_path: Path, episodes: int
) -> None:
    argv = ("run", CRM, "--seed", "0:100000", "--policy", "null", "--load", "0", "-o", "out")
    process = start(*argv)
    wait_for(tmp_path / "out", episodes, process)
    code, out, err = end(process, signal.SIGINT)
    assert (code, out) == (130, "")
    told = re.fullmatch(
        r"stopped after (\d+) of 100000 episodes, which are in out\n"
        r"  go on: simharness run --resume out\n",
        err,
    )
    assert told is not None, err
    assert int(told[1]) - len(verdicts(tmp_path / "out")) in (-1, 0)
    shards = sorted(path.name for path in (tmp_path / "out" / "shards").iterdir())
    assert shards[-1].endswith(".part")
    assert (len(shards) > 1) == (episodes == ENOUGH)
    assert_readable(cli, tmp_path / "out", episodes)


def test_a_run_interrupted_while_it_proves_a_fault_replays(
    start: Start, cli: Cli, tmp_path: Path
) -> None:
    argv = ("run", CRM, "--seed", "1:1000", "--load", "8", "--fault", "crm.invalidation-lost")
    process = start(*argv, "-o", "out")
    wait_for(tmp_path / "out", 2, process)
    code, _, err = end(process, signal.SIGINT)
    assert code == 130
    assert err.startswith("stopped after ")
    assert_readable(cli, tmp_path / "out", 2)


def test_a_killed_run_is_readable_and_not_written_over(
    start: Start, cli: Cli, tmp_path: Path
) -> None:
    argv = ("run", CRM, "--seed", "0:100000", "--policy", "null", "--load", "0", "-o", "out")
    process = start(*argv)
    wait_for(tmp_path / "out", ENOUGH, process)
    code, out, err = end(process, signal.SIGKILL)
    assert (code, out, err) == (-signal.SIGKILL, "", "")
    assert_readable(cli, tmp_path / "out", ENOUGH)
    files = [path for path in (tmp_path / "out").rglob("*") if path.is_file()]
    before = {path: path.read_bytes() for path in files}
    refused = cli(*argv)
    assert refused.code == 2
    assert "folder 'out' is not empty" in refused.err
    assert {path: path.read_bytes() for path in before} == before


def test_an_interrupted_soak_stops_with_130_and_cleans_up(
    start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    process = start("soak", "--pings", "1000000", "--users", "10")
    while not list(tmp_path.glob("*/soak.simrec.part")):
        assert process.poll() is None, process.communicate()
        time.sleep(0.005)
    code, out, err = end(process, signal.SIGINT)
    assert (code, out, err.strip()) == (130, "", "stopped")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("argv", "place"),
    [
        (["demo"], "simharness.cli.demo.finish"),
        (["replay", "FILE"], "simharness.cli.replay.replay"),
        (["show", "FILE"], "simharness.cli.show.sightings"),
        (["whatif", "FILE", "--ablate", "cache:deals.list"], "simharness.cli.whatif.whatif"),
        (["list"], "simharness.cli.listing.load_product"),
    ],
)
def test_every_command_stops_with_130(
    cli: Cli,
    recorded: Recorded,
    monkeypatch: pytest.MonkeyPatch,
    argv: list[str],
    place: str,
) -> None:
    monkeypatch.setattr(place, interrupt)
    told = cli(*(recorded.file if word == "FILE" else word for word in argv))
    assert told.code == 130
    assert told.err.strip() == "stopped"


def test_an_interrupt_before_the_first_episode_says_so(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("simharness.rollout.block.new_episode", interrupt)
    told = cli("run", CRM, "--seed", "0:3")
    assert (told.code, told.out) == (130, "")
    assert told.err.startswith("stopped after 0 of 3 episodes, ")
