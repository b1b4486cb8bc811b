"""`simharness audit`: the page, one episode in full, exit codes."""

from __future__ import annotations

import re
import shutil
from typing import TYPE_CHECKING, Any

import pytest

from simharness.cli import call
from tests.cli.conftest import SHOP

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.conftest import Cli, Recorded

FAULT = "crm.invalidation-lost"


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Five runs: sound, faulty, short, sound but for one load, sound but for one given reward."""
    folder = tmp_path_factory.mktemp("runs")

    def run(name: str, scenario: str, *words: str) -> Path:
        assert call(["run", scenario, *words, "-o", str(folder / name)]) == 0
        return folder / name / "shards"

    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        shutil.copy(SHOP, "shop.py")
        good = run("good", "./shop.py:Shop/sound", "--seed", "0:116")
        bad = run("bad", "crm/negotiation", "--seed", "0:2", "--fault", FAULT, "--load", "4")
        run("short", "./shop.py:Shop/sound", "--seed", "0:20")
        given = run("given", "./shop.py:Shop/given", "--policy", "null")
    for name, other in (("busy", bad), ("paid", given)):
        shutil.copytree(good, folder / name)
        shutil.copy(other / "00000.simrec", folder / name / "9.simrec")
    return folder


@pytest.mark.parametrize(
    ("name", "exit_code", "reason"),
    [
        ("good", 0, "gate at 5.0%: pass"),
        ("bad", 1, "tool get_deal: 2 of 2 episodes, surely 11.2% or more"),
        ("short", 3, "32 more episodes at this rate would decide"),
        ("busy", 1, "load 4: 2 of 2 episodes, surely 6.7% or more"),
        ("paid", 1, "H512 is never allowed: 1 episode"),
    ],
)
def test_the_gate_passes_fails_or_asks_for_more_and_says_why(
    cli: Cli,
    runs: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    exit_code: int,
    reason: str,
) -> None:
    monkeypatch.chdir(runs)
    told = cli("audit", name, "--max-rate", 0.05)
    assert (told.code, told.err) == (exit_code, "")
    assert reason in told.out
    assert max(map(len, told.out.splitlines())) <= 80
    commands = re.findall(r"^ +simharness (audit .*)$", told.out, re.MULTILINE)
    assert bool(commands) is (name not in ("good", "short"))
    for command in commands:
        assert cli(*command.split()).code == 0


def test_the_numbers_behind_an_answer_are_told_as_json(
    cli: Cli, runs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(runs)
    told = cli("audit", "busy", "--exact", "--json")
    busy: Any = told.json()
    assert (told.code, busy["gate"], busy["interval"]) == (1, "fail", "exact")
    assert (busy["failure_rate"]["failures"], busy["failure_rate"]["episodes"]) == (2, 118)
    assert busy["contamination"]["point"] == busy["failure_rate"]["point"]
    assert {s["value"] for s in busy["strata"] if s["fails"]} >= {"4", FAULT, "get_deal"}
    assert (busy["score"]["mean"], busy["score"]["clean"]) == (round(116 / 118, 6), 1.0)
    assert "39 more episodes" in cli("audit", "short", "--exact").out
    assert cli("audit", "short", "--max-rate", "0.9").code == 0


def test_one_episode_is_told_in_full(cli: Cli, recorded: Recorded) -> None:
    told = cli("audit", recorded.file, "--curve")
    assert told.code == 0
    assert "harness, H112, proved (closed)" in told.out
    assert "cache:deals.detail true -> 1.0 (closed): flips" in told.out
    assert "customer/legal commits deals:42" in told.out
    assert "point of no return" in told.out
    assert max(map(len, told.out.splitlines())) <= 160


def test_json_holds_what_scripts_rely_on(cli: Cli) -> None:
    cli("run", "crm/negotiation", "--seed", "0:2", "--fault", FAULT, "--load", 4, "-o", "r")
    report: Any = cli("audit", "r", "--json").json()
    keys = {"run", "episodes", "score", "valid", "verdicts", "codes", "quarantined"}
    assert keys | {"failure_rate", "gate", "items"} <= set(report)
    wanted = {"key", "class", "primary", "codes", "effect", "confidence", "score", "valid"}
    assert all(wanted <= set(item) for item in report["items"])
    one: Any = cli("audit", "r", "--episode", 0, "--json").json()
    assert one["primary"] == "H112"
    assert one["chain"]
    assert one["arms"]


def test_a_limit_outside_0_and_1_is_refused(cli: Cli) -> None:
    cli("run", "crm/negotiation", "--seed", "0:2", "--policy", "null", "-o", "r")
    for limit, word in (("0", "range"), ("1", "range"), ("-0.1", "range"), ("x", "valid float")):
        told = cli("audit", "r", "--max-rate", limit)
        assert (told.code, told.out) == (2, "")
        assert word in told.err
    told = cli("audit", "r", "--max-rate", "nan")
    assert (told.code, told.out) == (2, "")
    assert "a failure rate of nan is no limit" in told.err


def test_nothing_to_audit_is_told_in_words(cli: Cli) -> None:
    told = cli("audit", "nowhere")
    assert told.code == 2
    assert "Traceback" not in told.err
    assert "nowhere" in told.err
