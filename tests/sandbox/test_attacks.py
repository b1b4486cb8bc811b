"""What programs do to get out, to get paid or to break things: each ends in the documented way."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("wasmtime", reason="needs simharness[ide]")

from simharness.sandbox.choice import open_sandbox
from simharness.sandbox.guest.values import same
from simharness.sandbox.job import Call, Calls, Command, Kept, Limits, Tests
from simharness.sandbox.result import End, Result

SMALL = Limits(fuel=300_000_000, output_bytes=20_000, file_bytes=100_000, total_bytes=300_000)


def run(code: str, limits: Limits = SMALL, **files: str) -> Result:
    named = {path.replace("__", "/") + ".py": text for path, text in files.items()}
    result = open_sandbox().run(
        Command(files={**named, "main.py": code}, arguments=("main.py",), limits=limits)
    )
    # Whatever happened to that one, the next one is well.
    assert open_sandbox().run(Command(files={}, arguments=("-c", "print(6 * 7)"))).stdout == "42\n"
    return result


def run_tests(limits: Limits = SMALL, plugins: bool = False, **files: str) -> Result:
    named = {path.replace("__", "/") + ".py": text for path, text in files.items()}
    return open_sandbox().run(Tests(files=named, limits=limits, plugins=plugins))


def outcomes(result: Result) -> list[str]:
    return [test.outcome for test in result.tests]


@pytest.mark.parametrize(
    "path",
    [
        "/etc/passwd",
        "/proc/self/maps",
        "/proc/self/environ",
        "../../etc/passwd",
        "/repo/../etc/passwd",
        "/dev/zero",
        "/python/lib/python3.14/os.py",
        "/bundled",
        "\uff0e\uff0e/\uff0e\uff0e/etc/passwd",
        "..%2f..%2fetc/passwd",
        "main.py/../../etc/passwd",
    ],
)
def test_reading_outside_the_folder_finds_nothing(path: str) -> None:
    result = run(f"open({path!r}).read()")
    assert (result.end, result.exit_code) == (End.DONE, 1)
    assert "FileNotFoundError" in result.stderr
    assert not result.files


def test_reading_outside_is_told() -> None:
    assert run("open('/etc/passwd')").outside == (("read", "/etc/passwd"),)
    assert run("open('../x')").outside == (("read", "/x"),)
    assert run("import os\nos.listdir('/')").outside == ()


@pytest.mark.parametrize("path", ["/etc/cron.d/x", "/repo/../x", "/x", "/proc/self/mem"])
def test_writing_outside_the_folder_is_refused(path: str) -> None:
    result = run(f"open({path!r}, 'w').write('x')")
    assert "PermissionError" in result.stderr
    assert result.outside[0][0] == "write"
    assert not result.files


@pytest.mark.parametrize(
    "code",
    [
        "import _io, io\nfor cls in io.RawIOBase.__subclasses__(): cls('/etc/passwd')",
        "import posix\nposix.open('/etc/passwd', 0)",
        "import sys\nopen(2**31 - 1)",
    ],
)
def test_the_machine_is_not_behind_the_shadows_either(code: str) -> None:
    result = run(f"{code}\nprint('in')")
    assert result.stdout == ""
    assert (result.end, result.exit_code) == (End.DONE, 1)


@pytest.mark.parametrize(
    "code",
    [
        "import socket\nsocket.socket()",
        "import socket\nsocket.create_connection(('localhost', 80))",
        "import socket\nsocket.getaddrinfo('example.org', 80)",
        "import _socket\n_socket.socket()",
    ],
)
def test_there_is_no_network(code: str) -> None:
    result = run(f"{code}\nprint('in')")
    assert result.stdout == ""
    assert result.end is End.CRASHED or result.exit_code == 1


def test_a_socket_is_told() -> None:
    assert run("import socket\nsocket.socket()").outside == (("network", "socket"),)


@pytest.mark.parametrize(
    "code",
    [
        "import subprocess\nsubprocess.run(['ls'])",
        "import os\nos.system('ls')",
        "import os\nos.fork()",
        "import threading\nthreading.Thread(target=print).start()",
        "import multiprocessing",
        "import ctypes",
        "import signal\nsignal.raise_signal(9)",
    ],
)
def test_there_are_no_processes_or_threads(code: str) -> None:
    result = run(f"{code}\nprint('in')")
    assert result.stdout == ""
    assert result.end is End.CRASHED or result.exit_code == 1


def test_symbolic_links_are_refused() -> None:
    result = run("import os\nos.symlink('/etc/passwd', 'link')")
    assert "PermissionError" in result.stderr


@pytest.mark.parametrize(
    ("code", "end"),
    [
        ("while True: pass", End.FUEL),
        ("import itertools\nsum(itertools.repeat(1))", End.FUEL),
        ("'a' * 30 == 1\nimport re\nre.match('(a+)+$', 'a' * 40 + 'b')", End.FUEL),
        ("10 ** 10 ** 8", End.FUEL),
        ("while True: print('x' * 1000)", End.OUTPUT),
        ("import os\nwhile True: os.write(1, b'x' * 1000)", End.OUTPUT),
        ("import os\nos._exit(0)", End.EXITED),
        ("import os\nos.abort()", End.EXITED),
        ("import _socket\n_socket.gethostbyname(b'example.org')", End.CRASHED),
    ],
)
def test_what_goes_on_for_ever_or_leaves_is_cut_off(code: str, end: End) -> None:
    assert run(code).end is end


def test_output_is_kept_up_to_its_limit_and_up_to_the_end_of_fuel() -> None:
    result = run("while True: print('é' * 99)")
    assert result.end is End.OUTPUT
    assert 19_990 < len(result.stdout.encode()) <= 20_002
    result = run("print('x' * 9000)\nwhile True: pass")
    assert (result.end, len(result.stdout)) == (End.FUEL, 9000)
    assert result.fuel == SMALL.fuel


@pytest.mark.parametrize(
    "code",
    [
        "x = [0]\nwhile True: x = x + x",
        "x = bytearray(10 ** 9)",
        "x = 'a' * 10 ** 9",
        "x = []\nwhile True: x.append(bytes(10 ** 6))",
    ],
)
def test_a_memory_bomb_is_a_memory_error(code: str) -> None:
    result = run(code, Limits(fuel=3_000_000_000))
    assert (result.end, result.exit_code) == (End.DONE, 1)
    assert "MemoryError" in result.stderr


@pytest.mark.parametrize(
    "code",
    [
        "def f(): f()\nf()",
        "class A:\n    def __repr__(self): return repr(self)\nrepr(A())",
        "eval('(' * 1000 + ')' * 1000)",
    ],
)
def test_deep_recursion_is_an_exception(code: str) -> None:
    result = run(code)
    assert (result.end, result.exit_code) == (End.DONE, 1)
    assert "Error" in result.stderr


@pytest.mark.parametrize(
    "code",
    [
        "import sys\nsys.setrecursionlimit(10 ** 9)\ndef f(): f()\nf()",
        "import json\nx = []\nfor _ in range(100000): x = [x]\njson.dumps(x)",
    ],
)
def test_recursion_past_what_python_guards_ends_the_run(code: str) -> None:
    result = run(code, Limits(fuel=3_000_000_000))
    assert (result.end, result.exit_code, result.fuel) == (End.STACK, None, 3_000_000_000)


def test_a_large_file_meets_a_full_disk() -> None:
    result = run("open('big', 'wb').write(bytes(100 * 2 ** 20))", Limits())
    assert "File too large" in result.stderr
    many = "for n in range(9): open(f'f{n}', 'wb').write(bytes(90_000))"
    assert "No space left" in run(many).stderr
    files = "for n in range(9999): open(f'f{n}', 'wb').close()"
    assert "No space left" in run(files, Limits(fuel=3_000_000_000)).stderr


def test_a_file_that_is_rewritten_without_end_is_cut_off() -> None:
    code = "while True:\n    with open('f', 'w') as file: file.write('x' * 90_000)"
    assert run(code).end in (End.OUTPUT, End.FUEL)


def test_files_come_out_by_value() -> None:
    code = """
import os
os.makedirs('a/b')
open('a/b/new.txt', 'w').write('n\u00e9w')
open('a/raw', 'wb').write(bytes([255, 0]))
os.remove('old.py')
open('same.py', 'w').write('same')
open('/tmp/scratch', 'w').write('gone')
os.rename('moved.py', 'a/moved.py')
"""
    result = run(code, old="old", same="same", moved="moved")
    assert result.files == {
        "a/b/new.txt": "n\u00e9w",
        "a/raw": b"\xff\x00",
        "old.py": None,
        "moved.py": None,
        "a/moved.py": "moved",
    }


# --- tests that shouldn't pass ----------------------------------------------------------------


def test_leaving_early_passes_nothing() -> None:
    test = "from m import f\ndef test_a(): assert f() == 1\ndef test_b(): assert f() == 2\n"
    for leave in ("import sys; sys.exit(0)", "raise SystemExit", "raise KeyboardInterrupt"):
        result = run_tests(m=leave, test_m=test)
        assert not result.passed
        assert outcomes(result) == ["error"]
    result = run_tests(m="import os; os._exit(0)", test_m=test)
    assert (result.end, result.passed, outcomes(result)) == (End.EXITED, False, [])
    result = run_tests(m="import os\ndef f(): os._exit(0)", test_m=test)
    assert (result.end, outcomes(result)) == (End.EXITED, ["cut", "not_run"])
    result = run_tests(m="import sys\ndef f(): sys.exit(0)", test_m=test)
    assert outcomes(result) == ["failed", "failed"]
    result = run_tests(m="def f():\n    while True: pass", test_m=test)
    assert (result.end, outcomes(result)) == (End.FUEL, ["cut", "not_run"])


@pytest.mark.parametrize(
    ("code", "name"),
    [
        ("import unittest\nunittest.TestCase.assertEqual = print", "unittest.case.TestCase."),
        ("import unittest.case\nunittest.case._Outcome = None", "unittest.case._Outcome"),
        ("import pytest\npytest.raises = print", "pytest.raises"),
        ("import time\ntime.perf_counter = lambda: 0", "time.perf_counter"),
        ("import json\njson.dumps = str", "json.dumps"),
        ("import builtins\nbuiltins.AssertionError = KeyError", "builtins.AssertionError"),
        ("import builtins\nbuiltins.sneaky = 1", "builtins.sneaky"),
        ("import sys\nsys.modules['time'] = sys", "time"),
        ("import datetime\ndatetime.datetime = None", "datetime.datetime"),
        (
            "import sys\nr = sys.modules['simharness.sandbox.guest.running']\n"
            "r.Tests._judge = lambda *a: r.Outcome(a[1].nodeid, 'passed', '', '')",
            "simharness.sandbox.guest.running.Tests._judge",
        ),
    ],
)
def test_patches_of_what_it_runs_on_are_told(code: str, name: str) -> None:
    result = run_tests(m=code, test_m="import m\ndef test_a(): pass\n")
    assert result.end is End.DONE
    assert any(found.startswith(name) for found in result.tampered), result.tampered


def test_patches_that_are_undone_are_nobody_s_business() -> None:
    test = """
import time
from unittest import mock
def test_a(monkeypatch):
    monkeypatch.setattr(time, 'time', lambda: 1)
    assert time.time() == 1
    with mock.patch('json.dumps'): pass
"""
    result = run_tests(test_m=test)
    assert result.passed
    assert result.tampered == ()


@pytest.mark.parametrize(
    "forged",
    [
        '["plan",[],["test_m.py::test_a"]]',
        '["end","test_m.py::test_a","passed","",""]',
        '["start","test_m.py::test_b"]',
        '["done",[]]',
        '["nonsense"]',
        "no json",
        "[" * 5000,
        "{}",
        '["stdout", 5]',
        '["status", true, 1]',
        '["file", "../../etc/passwd", "x"]',
        '["file", "/etc/passwd", "x"]',
        '["bytes", "a", "no hex"]',
    ],
)
def test_a_forged_event_ends_the_run(forged: str) -> None:
    code = f"""
import gc, sys
def test_a():
    emit = sys.modules['app'].emit if 'app' in sys.modules else None
    emit = emit or next(o for o in gc.get_objects() if getattr(o, '__name__', '') == 'emit')
    emit({forged!r})
    assert False
"""
    result = run_tests(test_m=code)
    assert not result.passed
    assert result.end is End.CRASHED


def test_a_forged_value_is_none_and_does_not_break_the_recording() -> None:
    code = """
import sys
def forge(text):
    sys.modules['app'].emit(text)
"""
    for text in ('["value",' + "9" * 40 + ',["list"]]', '["value",["list",1.5],null]'):
        calls = (Call(target="m:forge", args=(text,)),)
        result = open_sandbox().run(Calls(files={"m.py": code}, calls=calls))
        assert result.answers[0].kind in ("cut", "unencodable")
        assert result.pack()


def test_more_than_a_recording_holds_is_cut_off() -> None:
    code = """
import sys
event = '["stdout",""]' + ' ' * 1_000_000
while True: sys.modules['app'].emit(event)
"""
    result = run(code, Limits())
    assert result.end is End.OUTPUT
    assert result.pack()


def test_hooks_count_only_where_they_may() -> None:
    conftest = """
import pytest
@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    outcome.get_result().outcome = 'passed'
"""
    files: dict[str, Any] = {"conftest": conftest, "test_m": "def test_a(): assert 1 == 2\n"}
    assert outcomes(run_tests(**files)) == ["failed"]
    assert outcomes(run_tests(plugins=True, **files)) == ["passed"]
    deselect = "def pytest_collection_modifyitems(items): items[:] = []"
    assert outcomes(run_tests(conftest=deselect, test_m=files["test_m"])) == ["failed"]
    planted = "pytest_plugins = ['evil']"
    result = run_tests(conftest=planted, evil="raise SystemExit(0)", test_m=files["test_m"])
    assert outcomes(result) == ["failed"]


def test_a_file_of_the_tree_does_not_stand_before_the_standard_library() -> None:
    names = ("json", "unittest", "pytest", "time", "os", "random", "site", "usercustomize")
    evil: dict[str, Any] = dict.fromkeys(names, "print('evil')\ndef dumps(x): return 'evil'\n")
    test = "import json, pytest\ndef test_a(): assert json.dumps([1]) == '[1]'\n"
    result = run_tests(test_m=test, **evil)
    assert result.passed
    assert result.stdout == ""


# --- values -----------------------------------------------------------------------------------

EVIL = """
class Always:
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    def __hash__(self): return 42
    def __repr__(self): return "42"
class Int(int):
    def __eq__(self, other): return True
    def __int__(self): return 42
    __hash__ = int.__hash__
class Str(str): pass
class Faked:
    __class__ = int
def always(): return Always()
def subclass(): return Int(7)
def boolean(): return True
def floating(): return 1.0
def text(): return Str("42")
def faked(): return Faked()
def nested(): return [1, {"a": Always()}]
def patched():
    import builtins
    builtins.type = lambda value: int
    builtins.isinstance = lambda *a: True
    return Always()
"""


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("always", 42),
        ("subclass", 42),
        ("subclass", 7),
        ("boolean", 1),
        ("floating", 1),
        ("text", "42"),
        ("faked", 0),
        ("nested", [1, {"a": 42}]),
        ("patched", 42),
    ],
)
def test_a_value_is_what_it_is_and_not_what_it_says(name: str, wanted: object) -> None:
    result = open_sandbox().run(
        Calls(files={"evil.py": EVIL}, calls=(Call(target=f"evil:{name}"),))
    )
    (answer,) = result.answers
    # Who breaks the builtins has no value at all.
    assert answer.kind == ("cut" if name == "patched" else "value")
    assert answer.kind == "cut" or not same(answer.value, wanted)


def test_a_call_finds_neither_later_inputs_nor_an_expectation() -> None:
    code = """
import gc, sys, types
def look(marker):
    terces = "terces"
    seen = []
    frame = sys._getframe()
    while frame is not None:
        seen += [repr(v) for v in list(frame.f_locals.values()) + list(frame.f_globals.values())]
        frame = frame.f_back
    for o in gc.get_objects():
        if type(o) in (dict, list, tuple):
            seen.append(str(o)[:100000])
        if type(o) is type(look):
            cells = [c.cell_contents for c in o.__closure__ or () if c != types.CellType()]
            seen += [str(cells), str(o.__defaults__), str(o.__code__.co_consts)]
    return [s[:200] for s in seen if terces in s[::-1]]
def later(value): return value
"""
    calls = (
        Call(target="look:look", args=("x",)),
        Call(target="look:later", args=("secret",)),
    )
    first, second = open_sandbox().run(Calls(files={"look.py": code}, calls=calls)).answers
    assert (first.kind, first.value) == ("value", [])
    assert second.value == "secret"


def test_calls_share_no_object_with_the_host_and_tell_what_became_of_arguments() -> None:
    given = [3, 1, 2]
    code = "def f(items): items.sort(); return items"
    result = open_sandbox().run(
        Calls(files={"m.py": code}, calls=(Call(target="m:f", args=(given,)),))
    )
    assert given == [3, 1, 2]
    assert result.answers[0].value == [1, 2, 3]
    assert result.answers[0].arguments == [[[1, 2, 3]], {}]


def test_a_call_that_raises_or_is_cut_off_says_so() -> None:
    code = "def a(): raise KeyError('x')\ndef b():\n    while True: pass\ndef c(): return 1"
    calls = tuple(Call(target=f"m:{name}") for name in "abc")
    result = open_sandbox().run(Calls(files={"m.py": code}, calls=calls, limits=SMALL))
    assert [answer.kind for answer in result.answers] == ["raised", "cut", "not_run"]
    assert result.answers[0].raised[:2] == ("builtins.KeyError", "builtins.LookupError")
    assert result.end is End.FUEL


def test_a_kept_value_is_called_by_its_name() -> None:
    code = (
        "class C:\n    def __init__(self, n): self.n = n\n    def add(self, k): return self.n + k"
    )
    calls = (
        Call(target="m:C", args=(5,), keep="c"),
        Call(target="$c:add", args=(2,)),
        Call(target="m:C.add", args=(Kept("c"), 3)),
    )
    result = open_sandbox().run(Calls(files={"m.py": code}, calls=calls))
    assert [answer.value for answer in result.answers] == [None, 7, 8]


def test_values_that_can_t_cross_are_refused_and_not_guessed() -> None:
    code = """
def deep():
    x = []
    for _ in range(60): x = [x]
    return x
def circle():
    x = []
    x.append(x)
    return x
def large(): return list(range(300_000))
def hostile():
    class H:
        def __getattribute__(self, name): raise RuntimeError
        __slots__ = ('a',)
    return H()
"""
    names = ("deep", "circle", "large", "hostile")
    calls = tuple(Call(target=f"m:{name}") for name in names)
    result = open_sandbox().run(Calls(files={"m.py": code}, calls=calls))
    kinds = [answer.kind for answer in result.answers]
    assert kinds == ["unencodable", "unencodable", "unencodable", "value"]
