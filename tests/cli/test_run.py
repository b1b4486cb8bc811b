"""`simharness run` over many things at once, stopped and gone on with."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from simharness.cli.output import ProgressLine
from simharness.cli.run import note
from simharness.rollout.summary import Summary

if TYPE_CHECKING:
    from tests.cli.conftest import Cli, Spawn

CRM = "crm/negotiation"
HAZARD = f"{Path(__file__).parents[1] / 'rollout' / 'hazard.py'}:Hazard"


def lines(run: str) -> list[dict[str, Any]]:
    text = Path(run, "verdicts.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def test_policies_loads_and_sets_of_faults_are_multiplied(cli: Cli) -> None:
    words = ["--policy", "null", "--policy", "refuse", "--load", "0", "--load", "0.5"]
    sets = ["--fault-set", "none", "--fault-set", "crm.no-fence+crm.invalidation-lost"]
    told = cli("run", CRM, "--seed", "0:2", *words, *sets, "-o", "run", "--json")
    assert told.json()["asked"] == told.json()["episodes"] == 16
    keys = [line["key"] for line in lines("run")]
    assert len(set(keys)) == 16
    assert keys[:4] == [
        f"{CRM}:0:null load=0 faults=none",
        f"{CRM}:0:null load=0.5 faults=none",
        f"{CRM}:0:null load=0 faults=crm.no-fence+crm.invalidation-lost",
        f"{CRM}:0:null load=0.5 faults=crm.no-fence+crm.invalidation-lost",
    ]
    # Each can be named where it has to be.
    refused = cli("show", "run", "--episode", f"{CRM}:0")
    assert refused.code == 2
    assert all(key in refused.err for key in keys[:4])
    assert cli("show", "run", "--episode", str(keys[2])).code == 0
    assert cli("audit", "run", "--episode", str(keys[2])).code == 0
    assert cli("compare", "run", "run").code == 0
    assert cli("replay", "run", "--json").json()["identical"] == 16


def test_two_faults_are_in_force_together(cli: Cli) -> None:
    words = ["--fault", "crm.no-fence", "--fault", "crm.invalidation-lost", "--policy", "null"]
    assert cli("run", CRM, *words, "-o", "run").code == 0
    assert [line["faults"] for line in lines("run")] == [["crm.no-fence", "crm.invalidation-lost"]]


def test_a_run_that_the_breaker_stops_says_why_and_what_to_look_at(cli: Cli) -> None:
    words = ("run", f"{HAZARD}/exit", "--seed", "0:60", "--load", "0", "-o", "run")
    told = cli(*words)
    assert (told.code, told.err) == (1, "")
    assert re.search(r"^stopped after \d+ of 60 episodes: .* failed by the harness", told.out, re.M)
    look = re.findall(r"^ +simharness (audit run .+)$", told.out, re.MULTILINE)
    assert look
    assert cli(*look[0].split()).code == 0
    again = re.search(r"simharness (run --resume run --no-breaker)$", told.out, re.MULTILINE)
    assert again is not None
    whole = cli(*again[1].split(), "--json")
    assert (whole.code, whole.json()["episodes"], whole.json()["stopped"]) == (0, 60, "")
    assert cli("run", "--resume", "run", "--json").code == 1


def test_episodes_that_broke_are_shown_replayed_and_audited(cli: Cli) -> None:
    words = ("run", f"{HAZARD}/start", "--seed", "0:12", "--load", "0", "-o", "run")
    told = cli(*words, "--no-breaker")
    assert told.code == 0
    assert "can't be reset: ValueError: start broke (hazard.py:" in " ".join(told.out.split())
    broken = [line for line in lines("run") if line["class"] == "harness"]
    assert broken
    key = str(broken[0]["key"])
    for argv in (("show", "run", "--episode", key), ("audit", "run", "--episode", key)):
        assert cli(*argv).code == 0, argv
    replayed = cli("replay", "run", "--json")
    assert (replayed.code, replayed.json()["identical"]) == (0, 12 - len(broken))
    assert len(replayed.json()["unfinished"]) == len(broken)
    assert "broke (" in replayed.json()["unfinished"][0]
    assert cli("view", "run", "-o", "page.html").code == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--seed", "3"), "--seed can't be given with --resume"),
        (("--policy", "null"), "--policy can't be given with --resume"),
        (("-o", "other"), "-o can't be given with --resume"),
        ((CRM,), "SCENARIO can't be given with --resume"),
    ],
)
def test_a_resumed_run_takes_no_other_request(cli: Cli, words: tuple[str, ...], said: str) -> None:
    told = cli("run", "--resume", "run", *words)
    assert (told.code, told.out) == (2, "")
    assert said in told.err


def test_what_is_no_run_cannot_be_resumed(cli: Cli) -> None:
    told = cli("run", "--resume", "nowhere")
    assert (told.code, told.err.splitlines()[0]) == (2, "error SH-USE-001: 'nowhere' is no run")


def test_a_run_needs_a_scenario(cli: Cli) -> None:
    told = cli("run")
    assert told.code == 2
    assert "Missing argument 'SCENARIO...'" in told.err


def test_the_same_command_again_says_how_to_resume(cli: Cli) -> None:
    words = ("run", CRM, "--policy", "null", "-o", "run")
    assert cli(*words).code == 0
    told = cli(*words)
    assert told.code == 2
    assert "go on with the run in it: simharness run --resume run" in told.err


def test_workers_print_nothing_of_a_product_among_the_answers(spawn: Spawn, tmp_path: Path) -> None:
    source = Path(__file__).parents[1] / "rollout" / "hazard.py"
    text = source.read_text(encoding="utf-8").replace(
        '        return {"lamps"', "        print('hello')\n        return {\"lamps\""
    )
    (tmp_path / "loud.py").write_text(text, encoding="utf-8")
    words = ("run", "loud.py:Hazard/sound", "--seed", "0:2", "--workers", "1", "--json")
    told = spawn(*words, env={"SIMHARNESS_GUARD": "off"})
    assert told.code == 0
    assert "hello" in told.err
    assert json.loads(told.out)["episodes"] == 2


def test_groups_are_told(cli: Cli) -> None:
    words = ("run", f"{HAZARD}/sound", "--policy", "gamble", "--group", "4", "-o", "run")
    told = cli(*words, "--seed", "0:3", "--load", "0")
    assert told.code == 0
    assert "  groups: 3 of 3 kept, with 12 of 12 members left in\n" in told.out
    assert len(Path("run", "groups.jsonl").read_text(encoding="utf-8").splitlines()) == 3


def test_the_progress_tells_the_failure_rate_with_its_bounds() -> None:
    assert note(Summary(episodes=50)) == ", 0 harness failures"
    told = note(Summary(episodes=50, failures=5))
    assert told == ", 5 harness failures = 10.0% (4.3% to 21.4%)"


def test_the_rate_of_a_resumed_run_is_that_of_what_it_plays(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    now = 0
    monkeypatch.setattr("simharness.cli.output.time.perf_counter_ns", lambda: now)
    progress = ProgressLine("episodes")
    progress.before = 900
    progress.update(901, 1000)
    now = 20_000_000_000
    progress.update(920, 1000)
    assert capsys.readouterr().err == "920/1000 episodes, 1/s, 80 s left\n"


def test_the_progress_of_nothing_yet_is_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    now = 0
    monkeypatch.setattr("simharness.cli.output.time.perf_counter_ns", lambda: now)
    progress = ProgressLine("episodes")
    now = 20_000_000_000
    progress.update(0, 10, ", waiting")
    assert capsys.readouterr().err == "0/10 episodes, waiting\n"


def test_ray_that_is_not_installed_is_named_before_anything_is_written(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    told = cli("run", CRM, "--engine", "ray", "--workers", 1, "-o", "out")
    assert (told.code, told.out, Path("out").exists()) == (2, "", False)
    assert "ray can't be imported" in told.err
    assert "[ray]'" in told.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--engine", "ray", "--workers", 0), "0 workers play in this process, not on Ray"),
        (("--ray-address", "auto"), "add --engine ray"),
        (("--engine", "dask"), "'dask' is not one of 'local', 'ray'"),
    ],
)
def test_options_of_engines_that_do_not_go_together_are_refused(
    cli: Cli, words: tuple[object, ...], said: str
) -> None:
    told = cli("run", CRM, *words, "-o", "out")
    assert (told.code, Path("out").exists()) == (2, False)
    assert said in " ".join(told.err.split())
