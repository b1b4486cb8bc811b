"""The guard stops products that call what they may not, and nobody else."""

from __future__ import annotations

import datetime
import os
import random
import socketserver
import subprocess
import sys
import threading
import time
import uuid
from typing import TYPE_CHECKING, Any

import pytest

import simharness
from simharness.cli import call
from simharness.env import Outcome, make, run
from simharness.errors import ForbiddenCall, HarnessError, UsageError
from simharness.kernel import guard
from simharness.kernel.guard import guarded, is_armed, name_of
from simharness.kernel.lookouts import Patching, free_tool
from tests.determinism.culprits import CLEAN, CULPRITS, marked_line, product, sizing

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

NEW = sys.version_info >= (3, 12)
MODES = ["on", "profile"]

UNSEEN = {
    "id-order", "set-order", "set-loop", "set-pop", "float", "module-state", "module-global",
    "module-counter", "class-state", "exception-text", "repr", "del",
}  # fmt: skip
"""Culprits that call nothing, or nothing that is forbidden."""
C_TYPES = {"datetime"}
"""Methods of C types, which replaced functions can't reach; `date.today` itself calls time.time."""

CAUGHT = sorted(set(CULPRITS) - UNSEEN)
PATCHING_SEES = sorted(set(CAUGHT) - C_TYPES)


@pytest.fixture(autouse=True)
def unasked(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.delenv(guard.VARIABLE, raising=False)
    yield
    assert not is_armed()


def play(folder: Path, source: str) -> Outcome:
    path = folder / "tiny.py"
    path.write_text(source, encoding="utf-8")
    return run(f"{path}:Tiny/scene", seed=1)


def stopped(folder: Path, source: str) -> str:
    """Play a product and give the message with which it was stopped."""
    outcome = play(folder, source)
    aborted = outcome.episode.aborted
    assert isinstance(aborted, ForbiddenCall), aborted
    assert outcome.verdict.score is None
    assert not outcome.verdict.valid
    assert str(outcome.verdict.kind) == "harness"
    return str(aborted)


@pytest.mark.parametrize("name", CAUGHT if NEW else PATCHING_SEES)
def test_a_culprit_is_stopped_and_the_line_is_told(tmp_path: Path, name: str) -> None:
    source = CULPRITS[name]
    with guarded("on"):
        told = stopped(tmp_path, source)
    assert f"tiny.py:{marked_line(source)}, which " in told
    assert "(SH0" in told
    assert "; use " in told


@pytest.mark.parametrize("name", CAUGHT)
def test_a_culprit_is_stopped_by_the_profile(tmp_path: Path, name: str) -> None:
    source = CULPRITS[name]
    with guarded("profile"):
        told = stopped(tmp_path, source)
    assert f"tiny.py:{marked_line(source)}, which " in told


@pytest.fixture
def patching(monkeypatch: pytest.MonkeyPatch) -> None:
    """Guard as 3.11 does, on every Python."""
    monkeypatch.setattr("simharness.kernel.lookouts.free_tool", lambda: None)


@pytest.mark.usefixtures("patching")
@pytest.mark.parametrize("name", PATCHING_SEES)
def test_a_culprit_is_stopped_by_replaced_functions(tmp_path: Path, name: str) -> None:
    source = CULPRITS[name]
    with guarded("on"):
        assert isinstance(guard.GUARD.lookout, Patching)
        told = stopped(tmp_path, source)
    assert f"tiny.py:{marked_line(source)}, which " in told


@pytest.mark.usefixtures("patching")
def test_a_function_is_told_by_its_own_name_whoever_else_has_it(tmp_path: Path) -> None:
    assert vars(socketserver)["time"] is time.monotonic  # and comes before the module `time`
    (tmp_path / "late.py").write_text("import time\n\ndef now():\n    return time.monotonic()\n")
    names: dict[str, Any] = {}
    guard.watch(tmp_path / "late.py")
    with guarded("on"):
        code = compile((tmp_path / "late.py").read_text(), str(tmp_path / "late.py"), "exec")
        exec(code, names)
        with pytest.raises(ForbiddenCall, match=r"the product calls time\.monotonic at "):
            names["now"]()


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", ["clean", *sorted(UNSEEN)])
def test_what_calls_nothing_forbidden_is_not_stopped(tmp_path: Path, name: str, mode: str) -> None:
    if (name, mode, NEW) == ("id-order", "on", False):
        pytest.skip("what stands in for id is called, and sees it")
    with guarded(mode):
        assert play(tmp_path, {"clean": CLEAN, **CULPRITS}[name]).episode.aborted is None


@pytest.mark.parametrize("mode", MODES)
def test_our_own_product_goes_on_as_without_a_guard(mode: str) -> None:
    faults = ["crm.invalidation-lost"]
    free = run("crm/negotiation", seed=3, load=4, faults=faults)
    with guarded(mode):
        watched = run("crm/negotiation", seed=3, load=4, faults=faults)
    assert watched.episode.digest == free.episode.digest
    assert watched.verdict == free.verdict


@pytest.mark.parametrize("mode", MODES)
def test_everybody_else_may_call_what_they_like(mode: str) -> None:
    with guarded(mode):
        assert time.time() > 0
        assert time.monotonic_ns() > 0
        assert datetime.datetime.now(datetime.UTC).year > 2000
        assert 0 <= random.random() < 1  # noqa: S311
        assert random.Random(3).random() == random.Random(3).random()  # noqa: S311
        assert uuid.uuid4() != uuid.uuid4()
        assert len(os.urandom(3)) == 3
        assert os.listdir(".")
        assert id(time) == id(time)
        assert hash("x") == hash("x")
        thread = threading.Thread(target=time.sleep, args=(0,))
        thread.start()
        thread.join()


INDIRECT = {
    "partial": sizing("partial(time.time_ns)()", "import time\nfrom functools import partial"),
    "map": sizing("next(map(hash, [1]))"),
    "alias": product(
        "clock = time.time_ns\n\n\ndef size() -> int:\n    return clock()  # <- here\n",
        "import time",
    ),
    "class": sizing("threading.Timer(1, print).interval", "import threading"),
    "generator": product(
        "RNG = [0]\n\n\ndef size() -> int:\n    import random\n    return random.Random(1)"
        ".randrange(9)  # <- here\n"
    ),
}  # fmt: skip


@pytest.mark.skipif(not NEW, reason="replaced functions don't reach all of these")
@pytest.mark.parametrize("name", INDIRECT)
def test_a_call_by_a_detour_is_stopped(tmp_path: Path, name: str) -> None:
    with guarded("on"):
        told = stopped(tmp_path, INDIRECT[name])
    assert f"tiny.py:{marked_line(INDIRECT[name])}, which " in told


SWALLOWED = product(
    "def size() -> int:\n    try:\n        return time.time_ns()  # <- here\n"
    "    except Exception:\n        return 1\n",
    "import time",
)
TRANSLATED = SWALLOWED.replace("        return 1\n", "        raise ValueError('no clock')\n", 1)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("source", [SWALLOWED, TRANSLATED])
def test_a_product_that_catches_the_violation_is_stopped_all_the_same(
    tmp_path: Path, source: str, mode: str
) -> None:
    with guarded(mode):
        assert "time.time_ns" in stopped(tmp_path, source)
        # And so is the next episode: an exception in a profile function takes it away.
        assert "time.time_ns" in stopped(tmp_path, source)


def test_a_product_loaded_before_is_guarded_too(tmp_path: Path) -> None:
    for name in ("time", "time-bound", "id", "hash"):
        path = tmp_path / f"{name.replace('-', '_')}.py"
        path.write_text(CULPRITS[name], encoding="utf-8")
        scenario = f"{path}:Tiny/scene"
        assert run(scenario, seed=1).episode.aborted is None
        with guarded("on"):
            assert isinstance(run(scenario, seed=1).episode.aborted, ForbiddenCall)
        assert run(scenario, seed=1).episode.aborted is None


def test_a_violation_at_import_is_told(tmp_path: Path) -> None:
    path = tmp_path / "tiny.py"
    path.write_text(product("BORN = time.time_ns()\nPLACE = open(__file__).close()", "import time"))
    with guarded("on"), pytest.raises(ForbiddenCall, match=r"time\.time_ns at .*tiny\.py:26, "):
        make(f"{path}:Tiny/scene")
    path.write_text(product("PLACE = open(__file__).close()"))
    with guarded("on"):
        assert make(f"{path}:Tiny/scene").reset().prompt == "Mark it."


def test_a_step_raises_what_stopped_it(tmp_path: Path) -> None:
    path = tmp_path / "tiny.py"
    path.write_text(CULPRITS["uuid"], encoding="utf-8")
    with guarded("on"):
        env = make(f"{path}:Tiny/scene", seed=1)
        env.reset()
        with pytest.raises(HarnessError, match=r"uuid\.uuid4 .*seed 1, step 1, simulated time"):
            env.step(simharness.Call("mark", {"thing_id": 1}))
    assert ForbiddenCall("a", "b").exit_code == 4


@pytest.mark.parametrize("mode", MODES)
def test_guards_nest_and_leave_everything_as_it_was(mode: str) -> None:
    before = (time.time, random.Random.__init__, vars(random)["random"], sys.getprofile())
    tool = free_tool()
    import simharness.models.crm.rules as rules

    names = dict(vars(rules))
    with guarded(mode):
        with guarded("on"), guarded("off"):
            assert is_armed()
        assert is_armed()
        if mode == "on" and NEW:
            assert free_tool() != tool
    assert not is_armed()
    assert (time.time, random.Random.__init__, vars(random)["random"], sys.getprofile()) == before
    assert free_tool() == tool
    assert vars(rules) == names


def test_an_exception_disarms() -> None:
    with pytest.raises(KeyError), guarded("on"):
        raise KeyError
    assert not is_armed()


def test_environments_in_threads_are_guarded_each_for_itself(tmp_path: Path) -> None:
    guilty, clean = tmp_path / "guilty.py", tmp_path / "clean.py"
    guilty.write_text(SWALLOWED, encoding="utf-8")
    clean.write_text(CLEAN, encoding="utf-8")
    told: dict[str, list[object]] = {"guilty": [], "clean": []}

    def work(path: Path) -> None:
        with guarded("on"):
            for seed in range(5):
                episode = run(f"{path}:Tiny/scene", seed=seed).episode
                told[path.stem].append(type(episode.aborted))

    threads = [threading.Thread(target=work, args=(path,)) for path in (guilty, clean)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert told == {"guilty": [ForbiddenCall] * 5, "clean": [type(None)] * 5}


DEADLY = {
    "exit": ("os._exit(9)", "import os"),
    "exit-bound": ("_exit(9)", "from os import _exit"),
    "abort": ("os.abort()", "import os"),
    "kill": ("os.kill(0, 0) or os._exit(9)", "import os"),
    "raise-signal": ("signal.raise_signal(9)", "import signal"),
}
"""What would end the process, and nobody could say why."""


@pytest.mark.parametrize("mode", MODES)
def test_a_product_doesnt_end_the_process(tmp_path: Path, mode: str) -> None:
    paths = [tmp_path / f"{name.replace('-', '_')}.py" for name in DEADLY]
    for path, deed in zip(paths, DEADLY.values(), strict=True):
        path.write_text(sizing(*deed), encoding="utf-8")
    scenarios = [f"{path}:Tiny/scene" for path in paths]
    done = subprocess.run(
        [sys.executable, "-m", "simharness", "run", *scenarios, "-o", tmp_path / "run"],
        env={**os.environ, guard.VARIABLE: mode},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert f"H810 {len(DEADLY)}" in done.stdout


# --- where it is armed ---------------------------------------------------------------------------


def test_the_variable_arms_every_use_of_a_product(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(guard.VARIABLE, "on")
    try:
        assert "time.time_ns" in stopped(tmp_path, CULPRITS["time"])
    finally:
        guard.disarm()


def test_the_commands_guard_unless_told_not_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "tiny.py"
    path.write_text(CULPRITS["id"], encoding="utf-8")
    words = ["run", f"{path}:Tiny/scene", "-o"]
    assert call([*words, str(tmp_path / "guarded")]) == 0
    assert "H810" in capsys.readouterr().out
    monkeypatch.setenv(guard.VARIABLE, "off")
    assert call([*words, str(tmp_path / "free")]) == 0
    assert "H810" not in capsys.readouterr().out
    monkeypatch.setenv(guard.VARIABLE, "perhaps")
    assert call([*words, str(tmp_path / "never")]) == 2
    assert "SIMHARNESS_GUARD is 'perhaps'; give off, on, profile" in " ".join(
        capsys.readouterr().err.replace("\n ", ";").split()
    )


def test_an_unknown_mode_is_refused() -> None:
    with pytest.raises(UsageError, match="guard is 'maybe'"), guarded("maybe"):
        pass


class Mine(datetime.datetime):
    """A class that inherits a method of C."""


@pytest.mark.parametrize(
    ("called", "name"),
    [
        (time.time, "time.time"),
        (datetime.datetime.now, "datetime.datetime.now"),
        (Mine.now, "datetime.datetime.now"),
        (random.randrange, "random.Random.randrange"),
        (random.random, "_random.Random.random"),
        (random.Random, "random.Random"),
        (uuid.uuid4, "uuid.uuid4"),
        (id, "builtins.id"),
        ("x".__hash__, "builtins.str.__hash__"),
        (str.join, "builtins.str.join"),
        (",".join, "builtins.str.join"),
    ],
)
def test_things_know_their_names(called: object, name: str) -> None:
    assert name_of(called) == name


@pytest.mark.usefixtures("patching")
def test_replaced_functions_are_put_back() -> None:
    import simharness.models.crm.rules as rules

    names, before = dict(vars(rules)), (time.time, random.Random.__init__, os.getpid)
    with guarded("on"):
        assert time.time is not before[0]
        assert vars(rules)["id"] is not id
    assert vars(rules) == names
    assert (time.time, random.Random.__init__, os.getpid) == before


def test_a_file_that_becomes_a_product_is_guarded_from_then_on(tmp_path: Path) -> None:
    path = tmp_path / "late.py"
    names: dict[str, Any] = {"time": time}
    exec(compile("def now():\n    return time.time()\n", str(path), "exec"), names)
    with guarded("profile" if not NEW else "on"):
        assert names["now"]() > 0
    guard.watch(path)
    with guarded("profile" if not NEW else "on"), pytest.raises(ForbiddenCall, match=r"late\.py:2"):
        names["now"]()
