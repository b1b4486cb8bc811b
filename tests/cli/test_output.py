"""What is printed fits the terminal, counts right, and says of two what could be meant."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

import simharness
from simharness.cli import call
from simharness.cli.output import counted, cut, table
from simharness.product.fault import parse_load
from simharness.rollout.request import Request
from simharness.rollout.run import run

CRM = "crm/negotiation"


def nothing(done: int, total: int, summary: object) -> None:
    """Be told, and do nothing."""


def on_terminal(monkeypatch: pytest.MonkeyPatch, columns: int) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    monkeypatch.setattr("shutil.get_terminal_size", lambda: os.terminal_size((columns, 24)))


@pytest.mark.parametrize("columns", [80, 120])
def test_a_wide_table_fits_the_terminal_and_says_what_it_cut(
    columns: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    on_terminal(monkeypatch, columns)
    table(("knob", "default", "forms", "about"), [("a" * 30, "b" * 9, "c" * 200, "d " * 60)])
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= columns
    assert "ccc..." in lines[1]
    assert lines[1].lstrip().startswith("a" * 30)
    assert "--json has all)" in lines[-1]
    table(("knob", "about"), [("a", "b")])
    assert "--json" not in capsys.readouterr().out


def test_a_table_in_a_pipe_is_whole(capsys: pytest.CaptureFixture[str]) -> None:
    table(("knob", "forms", "about"), [("a", "c" * 200, "d " * 60)])
    assert "c" * 200 in capsys.readouterr().out


def test_things_are_counted_and_cut() -> None:
    assert [counted(n, "row") for n in (0, 1, 2)] == ["0 rows", "1 row", "2 rows"]
    assert (cut("abcdef", 6), cut("abcdef", 5)) == ("abcdef", "ab...")


def test_a_load_below_zero_is_called_that() -> None:
    with pytest.raises(simharness.UsageError, match="load '-1' is below 0"):
        parse_load("-1")


def test_a_turn_of_many_calls_is_shown_in_a_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    env = simharness.make(CRM, on_harness="mark")
    env.step([simharness.Call("get_deal", {"deal_id": 1 + i % 9}) for i in range(65)])
    env.step(None)
    env.save(tmp_path / "one.simrec")
    assert call(["show", str(tmp_path / "one.simrec")]) == 0
    assert max(map(len, capsys.readouterr().out.splitlines()[:5])) < 160


def test_an_episode_that_is_there_twice_is_not_guessed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, policy in (("a", "null"), ("b", "refuse")):
        simharness.run(CRM, seed=42, policy=policy).episode.save(tmp_path / f"{name}.simrec")
    assert call(["show", str(tmp_path), "--episode", f"{CRM}:42"]) == 2
    told = capsys.readouterr().err
    assert "2 episodes" in told
    for name in (f"{CRM}:42:null", f"{CRM}:42:refuse"):
        assert name in told
        assert call(["show", str(tmp_path), "--episode", name]) == 0
    # Of one name only the file tells them apart.
    (tmp_path / "c.simrec").write_bytes((tmp_path / "b.simrec").read_bytes())
    capsys.readouterr()
    assert call(["show", str(tmp_path), "--episode", f"{CRM}:42:refuse"]) == 2
    told = capsys.readouterr().err
    assert str(tmp_path / "b.simrec") in told
    assert str(tmp_path / "c.simrec") in told
    assert call(["show", str(tmp_path / "b.simrec"), "--episode", f"{CRM}:42"]) == 0


def test_two_plans_are_told_apart_by_all_that_differs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one, two = tmp_path / "a.simrec", tmp_path / "b.simrec"
    simharness.run(CRM, seed=1, policy="null").episode.save(one)
    simharness.run(CRM, seed=2, load=3, policy="null").episode.save(two)
    assert call(["replay", str(one), "--diff", str(two)]) == 3
    told, hint = capsys.readouterr()
    assert "next: simharness show each" in hint
    assert "header seed: 1 against 2" in told
    assert "header load: 1000 against 3000" in told


def test_what_many_replays_fail_of_is_said_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shop = Path(__file__).with_name("shop.py")
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / "shop.py").write_bytes(shop.read_bytes())
    monkeypatch.chdir(tmp_path / "here")
    request = Request(scenarios=("./shop.py:Shop/sound",), seeds=range(5))
    run(request, tmp_path / "run", nothing)
    monkeypatch.chdir(tmp_path)
    assert call(["replay", str(tmp_path / "run")]) != 0
    told = capsys.readouterr().out
    assert "./shop.py:Shop/sound:0 and 4 others: " in told
    assert told.count("next: ") <= 1
    assert "0 of 5 replayed identical" in told


def test_a_run_says_what_was_planned_and_what_was_done(tmp_path: Path) -> None:
    def stop(done: int, *_: object) -> None:
        if done == 2:
            about = json.loads((tmp_path / "run" / "run.json").read_text())
            assert (about["episodes"], about["done"]) == (5, None)
            raise KeyboardInterrupt

    request = Request(scenarios=(CRM,), seeds=range(5), policies=("null",))
    with pytest.raises(KeyboardInterrupt):
        run(request, tmp_path / "run", stop)
    about = json.loads((tmp_path / "run" / "run.json").read_text())
    assert (about["episodes"], about["done"]) == (5, 2)


def test_policies_scenarios_and_empty_lists_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    shop = Path(__file__).with_name("shop.py")
    assert call(["list", "policies", f"{shop}:Shop/sound"]) == 0
    told = capsys.readouterr().out
    assert "Pay the order." in told
    assert "Say that it is done, having done nothing." in told
    assert call(["list", "faults", f"{shop}:Shop/sound"]) == 0
    assert capsys.readouterr().out == "none\n"
    assert call(["list", "scenarios", CRM]) == 0
    told = capsys.readouterr().out
    assert simharness.make(CRM).episode.scenario.doc in told
    assert simharness.make(CRM).episode.prompt.splitlines()[0] not in told


def test_a_policy_that_one_scenario_lacks_is_refused_with_those_that_have_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["run", CRM, "crm/approval", "--policy", "lazy", "-o", str(tmp_path / "run")]
    assert call(command) == 2
    told = capsys.readouterr().err
    assert "lazy" in told
    assert "crm/approval" in told
