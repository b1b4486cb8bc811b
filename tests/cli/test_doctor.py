"""The command: what it prints, its exit codes, and targets that can't even be opened."""

from __future__ import annotations

import json
import re
import shlex
import socket
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from simharness.cli.doctor import command

if TYPE_CHECKING:
    from tests.cli.conftest import Cli

CLINIC = Path(__file__).parents[1] / "doctor" / "clinic.py"
KEYS = {"id", "ok", "answer", "detail", "measured", "evidence", "unproved", "remediation",
        "command", "seconds"}  # fmt: skip
REWARDS = ("--check", "runtime.reward_well_formed", "--quick")


def test_the_keys_of_a_report(cli: Cli) -> None:
    told = cli("doctor", f"{CLINIC}:NoNumber", *REWARDS, "--json")
    assert told.code == 1
    report = json.loads(told.out)  # progress is told on stderr where it takes long
    assert (report["target"], report["answer"]) == (f"{CLINIC}:NoNumber", "fail")
    assert report["counts"] == {"pass": 1, "fail": 1, "unknown": 0, "skip": 0}
    sound, wrong = report["checks"]
    assert set(sound) == set(wrong) == KEYS
    assert (sound["id"], sound["ok"], wrong["ok"]) == ("runtime.starts", True, False)
    assert sound["unproved"]
    assert wrong["remediation"]
    assert shlex.split(wrong["command"]) == [
        "simharness", "doctor", f"{CLINIC}:NoNumber", "--quick", "--check", wrong["id"],
    ]  # fmt: skip


def test_a_pass_says_what_it_does_not_prove_and_exits_with_0(cli: Cli) -> None:
    told = cli("doctor", "CartPole-v1", *REWARDS, "--range", "0:1")
    assert told.code == 0
    assert "  runtime.reward_well_formed: that they are the right ones" in told.out
    assert "simharness doctor CartPole-v1 --quick --range 0:1 --check ID" in told.out


def test_a_length_of_time_is_seconds_or_has_its_unit(cli: Cli) -> None:
    for given in ("20", "20s", "0.5min"):
        told = cli("doctor", f"{CLINIC}:Walk", "--check", "runtime.starts", "--timeout", given)
        assert told.code == 0, told.err


def test_a_failure_is_told_with_what_to_do_and_the_command(cli: Cli) -> None:
    told = cli("doctor", f"{CLINIC}:PaysAll", *REWARDS, "--range", "0:0.5")
    assert told.code == 1
    lines = told.out.splitlines()
    assert "  rewards are from 1 to 1, asked for 0 to 0.5" in lines
    assert any(line.startswith("  to do: pay within the range") for line in lines)
    assert any(line.startswith("  again: simharness doctor ") for line in lines)


def test_the_command_that_shows_it_again_has_every_option(cli: Cli) -> None:
    given = ["--quick"]
    for option in command.params:
        match option.opts[0]:
            case "target" | "--check" | "--quick" | "--json":
                continue
            case "--action":
                words = "--action stay --action left"
            case "--reset" | "--make":
                words = f"{option.opts[0]} {{}}"
            case "--range":
                words = "--range 0:0.5"
            case "--ignore":
                words = "--ignore key"
            case name:
                words = f"{name} 20"
        given += [
            word.replace("stay", '"stay"').replace("left", '"left"') for word in words.split()
        ]
    told = cli("doctor", f"{CLINIC}:PaysAll", *given, "--check", "runtime.reward_well_formed")
    assert told.code == 1
    (again,) = [line for line in told.out.splitlines() if line.startswith("  again: ")]
    (each,) = [line for line in told.out.splitlines() if line.startswith("  each: ")]
    for line in (again, each):
        shown = [word.removesuffix(".0") for word in shlex.split(line)[4:-2]]
        assert sorted(shown) == sorted(given)


def test_what_rests_on_a_failure_is_not_told_at_length(cli: Cli) -> None:
    told = cli("doctor", f"{CLINIC}:Raises", *REWARDS)
    assert told.code == 1
    assert "UNKNOWN  runtime.reward_well_formed" in told.out
    assert told.out.count("again: ") == 1
    more = ("--check", "runtime.latency", "--check", "runtime.seed_control")
    told = cli("doctor", f"{CLINIC}:Raises", *REWARDS, *more)
    assert re.search(r"UNKNOWN  4 others +not looked at: rests on runtime\.starts\n", told.out)
    assert told.out.count("UNKNOWN ") == 1
    assert told.out.count("again: ") == 1
    told = cli("doctor", f"{CLINIC}:Raises", *REWARDS, *more, "--json")
    assert len(json.loads(told.out)["checks"]) == 5


def test_what_decides_nothing_exits_with_3(cli: Cli) -> None:
    told = cli("doctor", f"{CLINIC}:PaysAll", "--quick", "--check", "semantic.floor_gap")
    assert told.code == 3
    assert "UNKNOWN semantic.floor_gap" in told.out


def unused_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@pytest.mark.parametrize(
    ("target", "pattern"),
    [
        ("", "the target is empty"),
        ("mcp:", "names nothing after 'mcp:'"),
        ("a b:c d", "'a b:c d' is not readable"),
        ("NoSuchEnv-v0", r"can't be opened: NameNotFound: .*NoSuchEnv"),
        ("no_such_module:make", r"ModuleNotFoundError: No module named 'no_such_module'"),
        ("nowhere.py:make", "there is no file 'nowhere.py'"),
        ("json:nothing", "json has no 'nothing'"),
        ("json:__name__", "json:__name__ is a str"),
        (f"{CLINIC}:Mute", "Mute has neither an action_space .* nor a list `actions`"),
        (f"{CLINIC}:refuses", r"RuntimeError: no licence for \[\] \(clinic.py:\d+\)"),
        ("http://127.0.0.1:PORT", "no answer from .*refused"),
        ("mcp:no-such-command-here", "can't be started: No such file"),
        ("mcp:true", "it doesn't speak MCP: the server ended with exit code 0"),
        ("mcp:cat", "it doesn't speak MCP: it sends back what it is sent"),
        ("mcp:sh 'x", "the command is not readable"),
    ],
)
def test_a_target_that_cannot_be_opened_is_refused_in_a_line(
    cli: Cli, target: str, pattern: str
) -> None:
    told = cli("doctor", target.replace("PORT", str(unused_port())), "--quick")
    assert (told.code, told.out) == (2, "")
    first, hint = told.err.splitlines()[-2:]
    assert re.search(pattern, first), told.err
    assert first.startswith("error SH-USE-001: ")
    assert hint.strip()


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("--action", "{"), "--action '{' is no JSON"),
        (("--action", "0", "--action", "7"), "7 is not in Discrete(2)"),
        (("--reset", "3"), "--reset '3' is no map"),
        (("--range", "1"), "range '1' is not readable"),
        (("--range", "2:1"), "give LOW:HIGH, such as 0:1"),
        (("--full", "nan"), "Invalid value for '--full': nan is no finite number"),
        (("--full", "-inf"), "Invalid value for '--full': -inf is no finite number"),
        (("--timeout", "nan"), "Invalid value for '--timeout': nan is no finite number"),
        (("--timeout", "inf"), "Invalid value for '--timeout': inf is no finite number"),
        (("--timeout", "0"), "Invalid value for '--timeout': '0' is no time to wait for"),
        (("--timeout", "soon"), "Invalid value for '--timeout': "),
        (("--minutes", "nan"), "Invalid value for '--minutes': nan is no finite number"),
        (("--check", "runtime.pigns"), "did you mean 'runtime.pings'"),
    ],
)
def test_bad_words_are_refused(cli: Cli, words: tuple[str, ...], text: str) -> None:
    told = cli("doctor", "CartPole-v1", *words)
    assert (told.code, told.out) == (2, "")
    assert text in told.err
