"""The IDE runs code in the sandbox: tests, programs, and the jobs of its CI server."""

from __future__ import annotations

import pytest

from simharness.models.ide.runner import SandboxRunner
from tests.models.ide_house import House
from tests.models.ide_real import typed

pytest.importorskip("wasmtime", reason="needs simharness[ide]")


def sandboxed() -> House:
    return House(runner=SandboxRunner())


def test_tests_run_over_the_working_tree() -> None:
    house = sandboxed()
    assert house.call("run_tests")["passed"] == 1
    house.call("edit_file", path="src/shop.py", old_text="sum(prices)", new_text="0")
    told = house.call("run_tests", paths=["tests/test_shop.py"])
    assert (told["passed"], told["failed"]) == (0, 1)
    assert told["tests"][0]["id"] == "tests/test_shop.py::test_total"
    assert "assert 0 == 3" in told["tests"][0]["message"]
    assert house.world.ticks > 0
    outcomes = [row.outcome for row in house.ide.test_results.table]
    assert outcomes == ["passed", "failed"]


def test_programs_read_and_write_the_working_tree() -> None:
    house = sandboxed()
    program = 'open("new.txt", "w").write(open("money.py").read())'
    line = f"cd src; python -c '{program}'; cat new.txt"
    assert typed(house, line).stdout == house.text("src/money.py")
    assert house.text("src/new.txt") == house.text("src/money.py")
    assert typed(house, "echo 'print(6 * 7)' | python").stdout == "42\n"
    assert typed(house, "python -c 'import sys; sys.exit(3)'; echo $?").stdout == "3\n"
    assert typed(house, "python -m pytest -q tests >/dev/null").exit_code == 0
    failed = typed(house, "python -c 'raise ValueError(1)' 2>&1 | tail -1")
    assert failed.stdout == "ValueError: 1\n"


def test_a_program_without_end_is_cut_off() -> None:
    house = sandboxed()
    told = typed(house, "python -c 'while True: pass'")
    assert (told.exit_code, told.stdout) == (137, "")
    assert told.stderr.startswith("python: cut off (fuel)")
    assert house.world.ticks == 2_000_000
    assert typed(house, "mkdir e; cd e; python -c 1").exit_code == 2


def test_the_ci_server_tests_in_the_sandbox() -> None:
    house = sandboxed()
    house.call("edit_file", path="src/shop.py", old_text="sum(prices)", new_text="0")
    house.call("commit", message="Break it")
    house.call("push")
    house.wait("10s")
    job = house.call("ci_status", job_id=1)["ci_jobs"][0]
    assert job["status"] == "failed"
    assert "FAILED  tests/test_shop.py::test_total" in job["log"]
    assert house.findings() == []
