"""`simharness serve`: what it refuses to serve, and what is left when it stops."""

from __future__ import annotations

import json
import re
import signal
import sys
import time
from typing import TYPE_CHECKING

import pytest

from tests.adapters.players import CRM
from tests.adapters.served import Client

if TYPE_CHECKING:
    import subprocess
    from pathlib import Path

    from tests.cli.conftest import Cli, Start

SESSION = {"scenario": CRM, "seed": 1}


def address(process: subprocess.Popen[str]) -> str:
    """Wait until the server says where it is."""
    assert process.stdout is not None
    line = process.stdout.readline()
    found = re.fullmatch(r"serving (http://127\.0\.0\.1:\d+); recordings go to run\n", line)
    assert found, (line, process.communicate())
    return found[1]


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 0), (signal.SIGINT, 130)])
def test_a_signal_stops_it_and_keeps_what_was_played(
    start: Start, tmp_path: Path, cli: Cli, number: signal.Signals, code: int
) -> None:
    process = start("serve", "http", CRM, "--port", "0", "-o", "run")
    client = Client(address(process))
    _, ended = client.ask("POST", "/v1/sessions", SESSION)
    finish = {"calls": [{"tool": "finish", "args": {"message": "no", "outcome": "done"}}]}
    assert client.ask("POST", f"/v1/sessions/{ended['session_id']}/step", finish)[1]["terminated"]
    _, left = client.ask("POST", "/v1/sessions", SESSION)
    client.ask("POST", f"/v1/sessions/{left['session_id']}/step", {"text": "hello"})
    began = time.monotonic()
    process.send_signal(number)
    _, err = process.communicate(timeout=60)
    client.close()
    assert (process.returncode, "Traceback" in err) == (code, False), err
    assert time.monotonic() - began < 20
    *log, told = err.splitlines()
    assert told == "2 episodes in run: simharness audit run"
    events = [json.loads(line) for line in log]
    assert {one["event"] for one in events} == {
        *("listening", "opened", "begun", "step", "ended", "closed", "left", "stopped")
    }
    step = next(one for one in events if one["event"] == "step")
    assert (step["episode_id"], step["seed"], step["step"]) == (f"{CRM}:1", 1, 1)
    assert left["session_id"] not in err  # a handle is a secret
    report = cli("audit", "run", "--json")
    assert [item["class"] for item in json.loads(report.out)["items"]] == ["model", "external"]
    assert cli("show", "run", "--episode", f"{CRM}:1:client member=1").code == 0
    resumed = cli("run", "--resume", "run")
    assert (resumed.code, "can't be resumed" in resumed.err) == (2, True)
    again = cli("serve", "http", CRM, "--port", "0", "-o", "run")
    assert (again.code, "is not empty" in again.err) == (2, True)


def test_one_episode_is_one_and_what_is_refused_is_in_the_log(start: Start) -> None:
    process = start("serve", "http", CRM, "--port", "0", "-o", "run")
    client = Client(address(process))
    client.ask("POST", "/v1/sessions", SESSION)
    client.ask("POST", "/v1/sessions", {**SESSION, "load": 17})
    client.close()
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=60)
    *log, told = err.splitlines()
    assert told == "1 episode in run: simharness audit run"
    (refused,) = [line for line in map(json.loads, log) if line["event"] == "refused"]
    assert (refused["status"], "load 17 is more than" in refused["reason"]) == (422, True)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["http", "crm/nothing"], "no scenario of crm named 'nothing'"),
        (["http", CRM, CRM], "is named twice"),
        (["http", CRM, "--host", "0.0.0.0"], "there is no token"),
        (["http", CRM, "--token", "short"], "can be guessed"),
        (["http", CRM, "--idle-timeout", "soon"], "soon"),
        (["http", CRM, "--idle-timeout", "0s"], "no time to wait for"),
        (["http", "crm/nothing", "--idle-timeout", "30"], "no scenario of crm named 'nothing'"),
        (["http", CRM, "--fault", "crm.nothing"], "fault"),
        (["http", CRM, "--load", "20"], "above its limit"),
        (["http", CRM, "--host", "x.invalid", "--token", "0" * 16], "is no address"),
        (["openenv"], "serve openenv needs a scenario"),
        (["mcp"], "serve mcp needs a scenario"),
        (["ftp"], "No such command"),
    ],
)
def test_what_cannot_be_served_is_said(cli: Cli, words: list[str], said: str) -> None:
    told = cli("serve", *words, "-o", "run") if words[0] == "http" else cli("serve", *words)
    assert (told.code, said in told.err) == (2, True), told.err
    assert cli("serve", "http", "--help").code == 0


def test_what_has_to_be_installed_is_said(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fastapi", None)
    monkeypatch.delitem(sys.modules, "simharness.adapters.http", raising=False)
    told = cli("serve", "http", CRM)
    assert told.code == 2
    assert "serve http needs fastapi, which isn't installed" in told.err
    assert "[serve]" in told.err
