"""What honest programs and tests get from the sandbox."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

pytest.importorskip("wasmtime", reason="needs simharness[ide]")

from simharness.errors import SandboxFailed, UsageError
from simharness.sandbox import component, wasm
from simharness.sandbox.build import sources_digest
from simharness.sandbox.choice import open_sandbox
from simharness.sandbox.job import Call, Calls, Command, Job, Limits, Tests
from simharness.sandbox.result import End, Result, unpack_result

ROOT = Path(__file__).resolve().parents[2]

TWO = {
    "shop.py": "def total(n):\n    return n + 1\n",
    "tests/test_shop.py": (
        "from shop import total\n"
        "def test_one():\n    assert total(1) == 2\n"
        "def test_two():\n    print('seen')\n    assert total(2) == 4\n"
    ),
}


def run(job: Job) -> Result:
    return open_sandbox().run(job)


def command(*arguments: str, files: dict[str, str] | None = None, stdin: str = "") -> Result:
    return run(Command(files=files or {}, arguments=arguments, stdin=stdin))


def test_the_component_is_built_from_these_sources() -> None:
    assert sources_digest() == component.SOURCES, "run: python -m simharness.sandbox.build"


def test_tests_are_told_one_by_one() -> None:
    result = run(Tests(files=TWO))
    one, two = result.tests
    assert (one.test_id, one.outcome) == ("tests/test_shop.py::test_one", "passed")
    assert (two.outcome, two.message) == ("failed", "AssertionError: assert 3 == 4")
    assert two.output == "seen\n"
    assert 'File "/repo/tests/test_shop.py", line 6, in test_two' in two.trace
    assert (result.end, result.passed, result.tampered) == (End.DONE, False, ())
    assert unpack_result(result.pack()) == result


def test_a_run_without_tests_has_not_passed() -> None:
    assert not run(Tests(files={})).passed
    missing = run(Tests(files=TWO, paths=("nowhere",)))
    assert missing.detail == "file or directory not found: nowhere"
    assert run(Tests(files=TWO, paths=("tests/test_shop.py::test_one",))).passed


def test_pytest_in_words() -> None:
    result = command("-m", "pytest", "-q", files=TWO)
    assert result.exit_code == 1
    assert "FAILED tests/test_shop.py::test_two - AssertionError: assert 3 == 4" in result.stdout
    assert result.stdout.splitlines()[-1] == "1 failed, 1 passed in 0.00s"
    assert command("-m", "pytest", files=TWO, stdin="").stdout.startswith("=====")
    assert command("-m", "pytest", "-k", "one", files=TWO).exit_code == 0
    assert command("-m", "pytest").exit_code == 5
    assert command("-m", "pytest", "nowhere").exit_code == 4
    assert command("-m", "pytest", "--nonsense").exit_code == 4


def test_unittest_in_words() -> None:
    test = "import unittest\nclass A(unittest.TestCase):\n    def test_a(self): self.fail('no')\n"
    result = command("-m", "unittest", files={"test_a.py": test})
    assert result.exit_code == 1
    assert "AssertionError: no" in result.stderr
    assert result.stderr.splitlines()[-1] == "FAILED (failures=1)"


def test_what_pytest_offers() -> None:
    test = """
import unittest
import pytest
made = []
@pytest.fixture(scope="module", params=[1, 2])
def number(request):
    made.append(request.param)
    yield request.param
    made.append(-request.param)
@pytest.fixture(autouse=True)
def always(): made.append("always")
class TestA:
    def setup_method(self): self.ready = True
    def test_in_class(self, number, tmp_path, monkeypatch):
        (tmp_path / "x").write_text("y")
        monkeypatch.setenv("A", "b")
        assert self.ready and number
    @pytest.mark.xfail(reason="known")
    def test_known(self): assert not self.ready
    @pytest.mark.skipif("sys.platform == 'wasi'", reason="no")
    def test_skipped(self): assert False
class TestU(unittest.TestCase):
    @classmethod
    def setUpClass(cls): cls.ready = 1
    def test_ready(self): self.assertEqual(self.ready, 1)
    def test_parts(self):
        for n in range(2):
            with self.subTest(n=n): self.assertEqual(n, 0)
    @unittest.expectedFailure
    def test_expected(self): self.fail()
@pytest.mark.parametrize("b", ["x", "y"])
@pytest.mark.parametrize("a", [1, pytest.param(2, id="two")])
def test_product(a, b): assert (a, b) != (2, "y")
def test_raises():
    with pytest.raises(ValueError, match="b.d"): raise ValueError("bad")
    assert 0.1 + 0.2 == pytest.approx(0.3)
def test_capture(capsys):
    print("out")
    assert capsys.readouterr().out == "out\\n"
def test_order(): assert made[:4] == ["always", 1, -1, "always"] or made
def test_nothing(missing): pass
"""
    result = run(Tests(files={"test_all.py": test}))
    told = {t.test_id.partition("::")[2]: t.outcome for t in result.tests}
    assert told == {
        "TestA::test_in_class[1]": "passed",
        "TestA::test_in_class[2]": "passed",
        "TestA::test_known": "xfailed",
        "TestA::test_skipped": "skipped",
        "TestU::test_expected": "xfailed",
        "TestU::test_parts": "failed",
        "TestU::test_ready": "passed",
        "test_product[1-x]": "passed",
        "test_product[1-y]": "passed",
        "test_product[two-x]": "passed",
        "test_product[two-y]": "failed",
        "test_raises": "passed",
        "test_capture": "passed",
        "test_order": "passed",
        "test_nothing": "error",
    }
    assert result.tampered == ()


def test_conftest_files_give_fixtures_by_folder() -> None:
    files = {
        "conftest.py": "import pytest\n@pytest.fixture\ndef name(): return 'outer'\n",
        "a/conftest.py": "import pytest\n@pytest.fixture\ndef name(name): return name + '/a'\n",
        "a/test_a.py": "def test_a(name): assert name == 'outer/a'\n",
        "test_b.py": "def test_b(name): assert name == 'outer'\n",
    }
    assert run(Tests(files=files)).passed


@pytest.mark.parametrize(
    ("arguments", "code", "out", "err"),
    [
        (("-c", "print(1 + 1)"), 0, "2\n", ""),
        (("-c", "import sys; sys.exit('bye')"), 1, "", "bye\n"),
        (("-c", "import sys; sys.exit(3)"), 3, "", ""),
        (("-c", "print(input())"), 0, "typed\n", ""),
        (("-V",), 0, "Python 3.14.0\n", ""),
        (("main.py", "a"), 0, "['main.py', 'a'] __main__\n", ""),
        (("-m", "main", "b"), 0, "['/repo/main.py', 'b'] __main__\n", ""),
        (("nowhere.py",), 2, "", "No such file or directory"),
        (("-c", "1 +"), 1, "", "SyntaxError: invalid syntax"),
        (("-c", "1 / 0"), 1, "", 'File "<string>", line 1, in <module>'),
        (("broken.py",), 1, "", 'File "/repo/broken.py", line 1\n    def f(:\n'),
    ],
)
def test_python_is_run_as_in_a_terminal(
    arguments: tuple[str, ...], code: int, out: str, err: str
) -> None:
    files = {
        "main.py": "import sys\nprint(sys.argv, __name__)\n",
        "broken.py": "def f(:\n",
    }
    result = command(*arguments, files=files, stdin="typed\n")
    assert (result.exit_code, result.stdout) == (code, out)
    assert err in result.stderr
    assert "simharness" not in result.stderr


def test_time_and_chance_are_constants() -> None:
    code = """
import datetime, os, random, time, uuid
start = time.time()
time.sleep(2.5)
print(time.time() - start, time.perf_counter(), datetime.datetime.now(datetime.timezone.utc))
print(random.random(), random.Random().random(), os.urandom(2), uuid.uuid4(), hash("a"))
"""
    one, two = (command("-c", code) for _ in range(2))
    assert one == two
    assert one.stdout.startswith("2.5 2.5 2023-11-14 22:13:22.500000+00:00\n")
    moved = run(Command(files={}, arguments=("-c", code), instant=0))
    assert "1970-01-01 00:00:02.500000+00:00" in moved.stdout


WITNESS = """
import sys
from simharness.sandbox.choice import open_sandbox
from simharness.sandbox.job import Call, Calls, Command, Limits, Tests
from simharness.values import digest
files = {"m.py": "import random\\ndef f(n): return {str(random.random()) for _ in range(n)}\\n"}
files["test_m.py"] = "from m import f\\ndef test_a(): assert len(f(3)) == 2\\n"
jobs = [
    Tests(files=files),
    Command(files=files, arguments=("-m", "pytest")),
    Command(
        files=files,
        arguments=("-c", "while True: print(list(set('abc')))"),
        limits=Limits(fuel=20_000_000),
    ),
    Calls(files=files, calls=(Call(target="m:f", args=(9,)),)),
]
for job in jobs:
    result = open_sandbox().run(job)
    sys.stdout.write(f"{digest(result.pack()).hex()} {result.fuel}\\n")
"""


def test_results_are_the_same_bytes_in_every_process() -> None:
    told: list[str] = []
    for seed in ("1", "2"):
        done = subprocess.run(
            [sys.executable, "-c", WITNESS],
            cwd=ROOT,
            env={**os.environ, "PYTHONHASHSEED": seed, "TZ": "Asia/Tokyo", "LC_ALL": "C"},
            capture_output=True,
            text=True,
            check=True,
            timeout=200,
        )
        told.append(done.stdout)
    assert told[0] == told[1]
    # These are the same on every Python and every machine, so they are pinned.
    assert told[0].splitlines() == PINNED


PINNED = [
    "8c5961dfeee246f49a9d976ad92d081b 6287694",
    "9f16584a9103bee3a28a2ab1188cbc77 7609338",
    "db7180bba0cd00c6718ca7237274ee34 20000000",
    "ae2b12e4307e90f843e67d8e4e6e5b45 3530011",
]


def test_files_that_can_t_be_laid_out_are_refused() -> None:
    for path in ("/a", "a//b", "../a", "a/", "", "a/./b", "a\0"):
        with pytest.raises(UsageError, match="no path in a repository"):
            run(Tests(files={path: ""}))
    with pytest.raises(UsageError, match="stands in it"):
        run(Tests(files={"a": "", "a/b": ""}))
    with pytest.raises(UsageError, match="over the sandbox's limits"):
        run(Tests(files={"a": "x" * 200}, limits=Limits(file_bytes=100)))
    with pytest.raises(UsageError, match="bytes of memory"):
        run(Tests(files={}, limits=Limits(memory_bytes=2**30)))
    with pytest.raises(UsageError, match="object of a class of its own"):
        run(Calls(files={}, calls=(Call(target="m:f", args=(object(),)),)))


def test_a_failure_of_the_machine_s_is_tried_once_more(monkeypatch: pytest.MonkeyPatch) -> None:
    tries: list[int] = []
    honest = wasm.attempt

    def failing(*args: object) -> Result:
        tries.append(1)
        if len(tries) == 1:
            raise wasm.Failure("mmap failed")
        return honest(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(wasm, "attempt", failing)
    assert run(Tests(files={"test_a.py": "def test_a(): pass\n"})).passed
    assert len(tries) == 2


def test_a_machine_that_fails_twice_is_no_result(monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(*args: object) -> Result:
        raise wasm.Failure("mmap failed")

    monkeypatch.setattr(wasm, "attempt", failing)
    with pytest.raises(SandboxFailed, match="failed twice: mmap failed"):
        run(Tests(files={}))


def test_memory_that_the_machine_can_t_give_is_a_failure_and_no_result() -> None:
    with pytest.raises(SandboxFailed):
        run(Tests(files={}, limits=Limits(memory_bytes=1_000_000)))


# --- the kept component -----------------------------------------------------------------------


def test_a_kept_component_is_trusted_only_if_it_is_whole_and_one_s_own(tmp_path: Path) -> None:
    path = tmp_path / "kept"
    assert component.kept_bytes(path) is None
    component.keep(path, b"code")
    assert component.kept_bytes(path) == b"code"
    assert [p.name for p in tmp_path.iterdir()] == ["kept"]
    path.chmod(0o666)
    assert component.kept_bytes(path) is None
    path.chmod(0o600)
    path.write_bytes(path.read_bytes()[:-1] + b"X")
    assert component.kept_bytes(path) is None
    path.write_bytes(b"")
    assert component.kept_bytes(path) is None


def test_without_a_folder_to_keep_it_in_it_is_compiled_each_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "file"
    file.write_text("no folder", encoding="utf-8")
    monkeypatch.setenv(component.CACHE_VARIABLE, str(file / "below"))
    assert component.cache_folder() is None
    component.keep(file / "below" / "kept", b"code")
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o777)
    monkeypatch.setenv(component.CACHE_VARIABLE, str(shared))
    assert component.cache_folder() is None


def test_a_damaged_package_is_no_sandbox(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(component, "DIGEST", "0" * 64)
    with pytest.raises(Exception, match="not the one that belongs here"):
        component.wasm()


def test_threads_run_jobs_at_one_time() -> None:
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(run, [Tests(files=TWO)] * 24))
    assert set(map(Result.pack, results)) == {run(Tests(files=TWO)).pack()}


def test_the_place_of_a_run_is_free_when_it_has_ended() -> None:
    job = Command(files={}, arguments=("-c", "import os; os._exit(0)"))
    gc.disable()
    try:
        for _ in range(component.INSTANCES_MAX + 2):
            assert run(job).end is End.EXITED
    finally:
        gc.enable()


def test_a_job_finds_nothing_of_the_one_before() -> None:
    marker = "'not' + 'hing ' + 'else has this'"
    kept = f"import sys\nsys.marker = [{marker} * 50 for _ in range(1000)]\nprint(len(sys.marker))"
    assert command("-c", kept).stdout == "1000\n"
    look = (
        f"import sys\nprint(hasattr(sys, 'marker'), b'never'.hex(), {marker} in str(sys.modules))"
    )
    assert command("-c", look).stdout.startswith("False")
    assert command("-c", kept) == command("-c", kept)


def test_a_forked_worker_runs_jobs_too() -> None:
    assert run(Tests(files=TWO)).end is End.DONE
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        try:
            told = run(Tests(files=TWO)).pack()
            os.write(writer, told)
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        told = pipe.read()
    os.waitpid(child, 0)
    assert unpack_result(told) == run(Tests(files=TWO))
