"""Which sandbox there is, and what one is told who has none."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

from simharness.errors import UnknownName, UsageError
from simharness.extras import to_install
from simharness.kernel.world import World
from simharness.sandbox import choice
from simharness.sandbox.asking import run_job
from simharness.sandbox.choice import open_sandbox
from simharness.sandbox.job import Call, Calls, Command, Limits, Tests
from simharness.sandbox.result import End, Result

ROOT = Path(__file__).resolve().parents[2]


def test_without_wasmtime_one_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing(name: str) -> None:
        return None

    monkeypatch.setattr(importlib.util, "find_spec", nothing)
    assert not choice.is_installed()
    with pytest.raises(UsageError) as told:
        open_sandbox()
    hint = to_install("simharness[ide]")
    assert str(told.value) == f"the sandbox needs wasmtime, which isn't installed; run: {hint}"


def test_nothing_imports_wasmtime_before_something_is_run() -> None:
    code = "import sys, simharness.api; sys.exit('wasmtime' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False)
    assert done.returncode == 0


def test_an_unknown_sandbox_is_refused() -> None:
    with pytest.raises(UnknownName, match="no sandbox named 'docker'"):
        open_sandbox("docker")


def test_a_world_takes_a_known_result_and_runs_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[str] = []
    told = Result(end=End.DONE, fuel=5, stdout="hi\n", exit_code=0)

    class Fake:
        def run(self, job: object) -> Result:
            ran.append("once")
            return told

    def fake(name: str) -> Fake:
        return Fake()

    monkeypatch.setattr("simharness.sandbox.asking.open_sandbox", fake)
    job = Command(files={"a.py": "print('hi')"}, arguments=("a.py",))
    world = World(1)
    assert run_job(world, job) == run_job(world, job) == told
    other = World(1)
    other.outside.learn(world.outside.answers)
    assert run_job(other, job) == told
    assert ran == ["once"]
    # Whatever differs in a job is another question.
    run_job(other, Command(files={"a.py": "print('hi')"}, arguments=("a.py",), stdin="x"))
    run_job(
        other,
        Command(files={"a.py": "print('hi')"}, arguments=("a.py",), limits=Limits(fuel=1)),
    )
    assert ran == ["once"] * 3


# --- the subprocess, for code of one's own ----------------------------------------------------


def test_a_process_gives_results_of_the_same_shape() -> None:
    unsafe = open_sandbox("unsafe-process")
    test = "from m import f\ndef test_a(): assert f(1) == 2\ndef test_b(): assert f(1) == 3\n"
    files = {"m.py": "def f(n): return n + 1\n", "test_m.py": test}
    result = unsafe.run(Tests(files=files))
    assert [t.outcome for t in result.tests] == ["passed", "failed"]
    assert result.tests[1].message == "AssertionError: assert 2 == 3"
    assert result.sandbox.startswith("unsafe-process/")
    (answer,) = unsafe.run(Calls(files=files, calls=(Call(target="m:f", args=(4,)),))).answers
    assert answer.value == 5
    left = unsafe.run(Command(files={}, arguments=("-c", "import os; os._exit(3)")))
    assert (left.end, left.exit_code) == (End.EXITED, 3)
    written = unsafe.run(
        Command(files={}, arguments=("-c", "with open('a', 'w') as f: f.write('b')"))
    )
    assert written.files == {"a": "b"}


def test_a_process_that_goes_on_is_ended() -> None:
    unsafe = open_sandbox("unsafe-process")
    job = Command(files={}, arguments=("-c", "while True: pass"), limits=Limits(fuel=1))
    assert unsafe.run(job).end is End.FUEL
