"""Runs in which a model plays, through the command line, with workers that ask a server."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import time
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from simharness.episode.step import UNHEARD
from simharness.rollout.breaker import OUTAGE
from tests.chat.conftest import KEY
from tests.chat.provider import Reply, Scripted, calls, hang, says, serving, status
from tests.cli.conftest import Cli, Start, cli, start

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["cli", "start"]

CRM = "crm/negotiation"
MODEL = "openai:scripted"
FINISH = ("f", "finish", '{"message":"Done.","outcome":"done"}')
QUICK = f"{MODEL},retries=0"


def run_words(scripted: Scripted, episodes: int, policy: str = MODEL) -> list[object]:
    asked = ["--policy", policy, "--base-url", scripted.url, "--episodes", episodes]
    return ["run", CRM, *asked, "--load", "0", "-o", "out"]


def lines(folder: Path) -> list[dict[str, Any]]:
    text = (folder / "out" / "verdicts.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def assert_secret(folder: Path, *texts: str) -> None:
    """Check that the key is in no file of the run and in nothing that was said."""
    for path in (folder / "out").rglob("*"):
        assert path.is_dir() or KEY.encode() not in path.read_bytes(), path
    assert not any(KEY in text for text in texts)


def test_twenty_episodes_of_a_model_are_a_run_as_any_other(cli: Cli, tmp_path: Path) -> None:
    with serving(Scripted(CRM, range(20))) as scripted:
        ran = cli(*run_words(scripted, 20), "--workers", 2)
        agents = {headers["user-agent"] for headers in scripted.headers}
    assert ran.code == 0
    assert f"models: {len(scripted.bodies)} requests, " in ran.out
    assert all("OpenAI" in agent for agent in agents)
    cli("run", CRM, "--episodes", 20, "--load", "0", "-o", "plain")
    plain = cli("audit", "plain", "--json")
    audited = cli("audit", "out", "--json")
    assert audited.code == plain.code
    for name in ("episodes", "score", "valid", "verdicts", "codes", "failure_rate"):
        assert audited.json()[name] == plain.json()[name]
    assert cli("replay", "out").code == 0
    shards = sorted(path.name for path in (tmp_path / "out" / "shards").iterdir())
    assert shards == [f"{number:05d}.simrec" for number in range(5)]
    used = [line["usage"]["requests"] for line in lines(tmp_path)]
    assert sum(used) == len(scripted.bodies)
    assert used == [line["steps"] for line in lines(tmp_path)]
    before = lines(tmp_path)
    assert cli("index", "out").code == 0
    assert lines(tmp_path) == before
    with closing(sqlite3.connect(tmp_path / "out" / "catalog.sqlite")) as base:
        rows = base.execute("SELECT usage FROM episodes ORDER BY seed").fetchall()
    assert [json.loads(usage)["requests"] for (usage,) in rows] == used
    assert_secret(tmp_path, ran.out, ran.err)


def test_episodes_that_fail_from_outside_are_left_out_and_fail_nobody(
    cli: Cli, tmp_path: Path
) -> None:
    def reply(number: int) -> Reply | None:
        return calls(FINISH) if number % 3 == 0 else status(500, f"Bearer {KEY} broke me")

    with serving(Scripted(CRM, range(12), reply)) as scripted:
        ran = cli(*run_words(scripted, 12, QUICK), "--workers", 0)
    assert ran.code == 0
    assert "failed from outside, and not counted as failures: 8 episodes; the first: " in ran.out
    external = [line for line in lines(tmp_path) if line["class"] == "external"]
    assert len(external) == 8
    for line in external:
        assert line["codes"] == ["X810"]
        assert (line["score"], line["valid"], line["quarantined"]) == (None, False, True)
    audited = cli("audit", "out", "--json").json()
    assert (audited["external"], audited["quarantined"]) == (8, 8)
    assert audited["failure_rate"]["point"] == 0
    assert_secret(tmp_path, ran.out, ran.err)


def test_a_run_that_measured_nothing_says_so_and_fails(cli: Cli) -> None:
    with serving(Scripted(CRM, range(3), lambda number: status(500))) as scripted:
        ran = cli(*run_words(scripted, 3, QUICK), "--workers", 0)
    assert ran.code == 1
    assert ran.err.startswith("NOTHING WAS MEASURED: every episode failed from outside")
    assert "X810, model 'scripted' at http" in ran.err


def test_an_outage_stops_the_run_and_another_server_ends_it(cli: Cli, tmp_path: Path) -> None:
    good = 3

    def reply(number: int) -> Reply:
        return calls(FINISH) if number < good else status(503)

    with serving(Scripted(CRM, range(20), reply)) as scripted:
        ran = cli(*run_words(scripted, 20, QUICK), "--workers", 0)
    assert ran.code == 1
    assert f"stopped after {good + OUTAGE} of 20 episodes: {OUTAGE} episodes in a row" in ran.out
    assert "once the provider answers: simharness run --resume out" in ran.out
    with serving(Scripted(CRM, range(20))) as scripted:
        again = cli("run", "--resume", "out", "--base-url", scripted.url, "--workers", 0)
    assert again.code == 0
    classes = [line["class"] for line in lines(tmp_path)]
    assert classes.count("external") == OUTAGE
    assert len(classes) == 20
    asked = json.loads((tmp_path / "out" / "run.json").read_text(encoding="utf-8"))["asked"]
    assert asked["base_url"] == scripted.url


@pytest.mark.parametrize("workers", [0, 2])
def test_a_refusal_at_the_start_stops_the_run(cli: Cli, tmp_path: Path, workers: int) -> None:
    with serving(Scripted(CRM, range(8), lambda number: status(401, f"not {KEY}"))) as scripted:
        ran = cli(*run_words(scripted, 8), "--workers", workers)
    assert (ran.code, ran.out) == (2, "")
    assert "status 401: not [key]" in ran.err
    assert "then: simharness run --resume out" in ran.err
    assert len(scripted.bodies) <= max(1, workers)
    assert_secret(tmp_path, ran.err)
    with serving(Scripted(CRM, range(8))) as scripted:
        again = cli("run", "--resume", "out", "--base-url", scripted.url, "--workers", 0)
    assert again.code == 0
    assert len(lines(tmp_path)) == 8


@pytest.mark.parametrize("workers", [0, 1])
def test_ctrl_c_ends_a_run_amid_a_long_request(
    start: Start, cli: Cli, tmp_path: Path, workers: int
) -> None:
    played = 12

    def reply(number: int) -> Reply | None:
        return calls(FINISH) if number < played else hang

    with serving(Scripted(CRM, range(20), reply)) as scripted:
        process = start(*run_words(scripted, 20), "--workers", workers)
        while len(scripted.bodies) <= played:
            assert process.poll() is None, process.communicate()
            time.sleep(0.01)
        began = time.monotonic()
        os.killpg(process.pid, signal.SIGINT)
        out, err = process.communicate()
        took = time.monotonic() - began
    assert (process.returncode, out) == (130, "")
    assert f"stopped after {played} of 20 episodes, which are in out\n" in err
    assert took < 30
    with serving(Scripted(CRM, range(20))) as scripted:
        again = cli("run", "--resume", "out", "--base-url", scripted.url, "--workers", 0)
    assert again.code == 0
    assert [line["seed"] for line in lines(tmp_path)] == list(range(20))


def test_a_group_whose_instants_the_model_decides_is_not_paired(cli: Cli, tmp_path: Path) -> None:
    for think, paired in (("draw", True), ("wall", False)):
        with serving(Scripted(CRM, range(1), lambda number: calls(FINISH))) as scripted:
            words = run_words(scripted, 1, f"{MODEL},think={think}")
            assert cli(*words[:-1], think, "--group", 2, "--workers", 0).code == 0
        text = (tmp_path / think / "groups.jsonl").read_text(encoding="utf-8")
        assert json.loads(text)["paired"] is paired


def test_what_a_model_said_and_was_told_is_exported(cli: Cli, tmp_path: Path) -> None:
    replies = [calls(("a", "list_deals", "{}"), text="I look."), says("Well?"), calls(FINISH)]
    with serving(Scripted(CRM, range(1), replies)) as scripted:
        assert cli(*run_words(scripted, 1), "--workers", 0).code == 0
        sent = scripted.bodies[-1]["messages"]
    for format in ("atif", "openai", "trl", "verifiers"):
        out = tmp_path / f"{format}.jsonl"
        assert cli("export", format, "out", "-o", out).code == 0
        text = out.read_text(encoding="utf-8")
        assert all(told in text for told in ("I look.", "Well?", UNHEARD)), format
    line = json.loads((tmp_path / "openai.jsonl").read_text(encoding="utf-8"))
    assert line["messages"][: len(sent)] == sent
    trajectory = json.loads((tmp_path / "atif.jsonl").read_text(encoding="utf-8"))
    sources = [step["source"] for step in trajectory["steps"]]
    assert sources == ["user", "agent", "agent", "user", "agent"]


def test_an_address_needs_a_model(cli: Cli) -> None:
    told = cli("run", CRM, "--base-url", "http://127.0.0.1:1/v1")
    assert told.code == 2
    assert "no policy of this run does" in told.err
