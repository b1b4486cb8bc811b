"""Every benchmark still runs, at a tiny size."""

from __future__ import annotations

import json
from typing import cast

import pytest

from benchmarks import costs, crowd, faults, guard, runs, sandbox, scenarios, sessions, sound
from simharness.product.registry import OWN, load_product


def lines(text: str) -> list[dict[str, object]]:
    """Read a JSON line a case."""
    return [json.loads(line) for line in text.splitlines() if line.startswith("{")]


def test_the_costs_are_measured(capsys: pytest.CaptureFixture[str]) -> None:
    costs.main(["--rounds", "1", "--calls", "8", "--episodes", "2"])
    cases = lines(capsys.readouterr().out)
    assert [c["case"] for c in cases] == ["machine", "call", "episode", "tainted", "reset"]


def test_faults_are_found_wherever_they_show(capsys: pytest.CaptureFixture[str]) -> None:
    few = "crm.activity-reward,crm.sliding-ttl"
    arguments = ["--products", "crm", "--scenarios", "crm/negotiation", "--faults", few]
    assert faults.main([*arguments, "--seeds", "1", "--loads", "1", "--workers", "1"]) == 0
    cases = lines(capsys.readouterr().out)
    assert [c["fault"] for c in cases[:2]] == few.split(",")
    assert all(c["shows"] and c["shows"] == c["found"] for c in cases[:2])
    assert [c["case"] for c in cases[2:]] == few.split(",")


def test_a_fault_that_has_shown_often_enough_is_played_no_more(
    capsys: pytest.CaptureFixture[str],
) -> None:
    arguments = ["--products", "crm", "--scenarios", "crm/negotiation", "--seeds", "40"]
    arguments += ["--faults", "crm.activity-reward", "--policies", faults.SEDUCED]
    assert faults.main([*arguments, "--enough", "3", "--workers", "1"]) == 0
    measured, total = lines(capsys.readouterr().out)
    assert measured["episodes"] == total["of"] == faults.CHUNK
    assert measured["shows"] == total["shows_in"] == faults.CHUNK


def test_faults_of_the_marketplace_are_found(capsys: pytest.CaptureFixture[str]) -> None:
    few = "marketplace.coupon-race,marketplace.email-reward,marketplace.hold-leak"
    arguments = [
        "--products",
        "marketplace",
        "--scenarios",
        "marketplace/reschedule",
        "--faults",
        few,
    ]
    assert faults.main([*arguments, "--seeds", "1", "--loads", "1", "--workers", "1"]) == 0
    cases = lines(capsys.readouterr().out)
    assert all(c["shows"] and c["shows"] == c["found"] for c in cases[:3])


def test_every_fault_is_measured() -> None:
    known = {fault.id for name in OWN for fault in load_product(name).faults}
    assert set(faults.EXPECTED) == known


def test_sound_episodes_have_no_findings(capsys: pytest.CaptureFixture[str]) -> None:
    sound.main(["--episodes", "6"])
    cases = lines(capsys.readouterr().out)
    assert [c["episodes"] for c in cases] == [3, 3]
    assert all(c["findings"] == {} and c["broken_invariants"] == 0 for c in cases)


def test_sound_episodes_of_a_whole_product(capsys: pytest.CaptureFixture[str]) -> None:
    sound.main(["--scenarios", "marketplace", "--policies", "random", "--load", "1",
                "--episodes", "1", "--workers", "1"])  # fmt: skip
    cases = lines(capsys.readouterr().out)
    assert [c["scenario"] for c in cases] == [s.id for s in load_product("marketplace").scenarios]


def test_a_crowd_is_measured(capsys: pytest.CaptureFixture[str]) -> None:
    crowd.main(["--users", "20,60", "--events", "500", "--rounds", "1"])
    cases = lines(capsys.readouterr().out)
    assert [c["users"] for c in cases] == [20, 60]
    assert all(c["ns_per_event"] for c in cases)


def test_scenarios_are_measured(capsys: pytest.CaptureFixture[str]) -> None:
    argv = ["crm/negotiation", "--seeds", "0:2", "--loads", "1", "--baseline-seeds", "2"]
    assert scenarios.main([*argv, "--workers", "1", "--json"]) == 0
    (case,) = lines(capsys.readouterr().out)
    assert case["case"] == "crm/negotiation"
    rows = case["lines"]
    assert isinstance(rows, list)
    told = {row["name"]: row for row in cast("list[dict[str, object]]", rows)}
    assert told["load 1: expert score min / mean"]["ok"]
    assert told["load 1: findings against the harness"]["value"] == 0
    assert told["spam at load 1: max"]["ok"]
    assert told["expert takes over, at load 1: min"]["ok"]
    assert told["shapes in 2 episodes"]["value"] == 2
    # Nobody has to wait for a lock in two episodes; that is no failure of so few.
    assert told["load 1: lock waits an episode"]["ok"] is None


def test_a_scenario_that_does_not_exist_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert scenarios.main(["crm/nothing", "--workers", "1"]) == 2
    assert "nothing" in capsys.readouterr().err


def test_the_guard_is_measured(capsys: pytest.CaptureFixture[str]) -> None:
    guard.main(["--rounds", "1", "--episodes", "1", "--load", "1", "--profile"])
    cases = lines(capsys.readouterr().out)
    assert [c["mode"] for c in cases] == ["on", "profile"]
    assert all(c["guarded_unguarded"] for c in cases)


def test_the_sandbox_is_measured(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("wasmtime", reason="needs simharness[ide]")
    assert sandbox.main(["--rounds", "1"]) == 0
    cases = [c["case"] for c in lines(capsys.readouterr().out)]
    assert cases[:5] == list(sandbox.JOBS)
    assert cases[-1] == "sizes"


@pytest.mark.parametrize(
    ("case", "options"),
    [
        ("rate", ["--episodes", "4"]),
        ("speedup", ["--episodes", "2", "--rounds", "1"]),
        ("memory", ["--episodes", "20"]),
        ("kills", ["--episodes", "70", "--kills", "3"]),
    ],
)
def test_runs_are_measured(
    capsys: pytest.CaptureFixture[str], case: str, options: list[str]
) -> None:
    assert runs.main([case, *options]) == 0
    told = lines(capsys.readouterr().out)
    assert case in [line["case"] for line in told]
    assert all(line["equal"] for line in told if case == "kills")


def test_dropped_sessions_leave_no_place_taken(capsys: pytest.CaptureFixture[str]) -> None:
    assert sessions.main(["--sessions", "30"]) == 0
    *measured, last = lines(capsys.readouterr().out)
    assert [one["sessions"] for one in measured] == list(range(3, 31, 3))
    assert last == {"open": 0, "recorded": 30, "code": 0}
