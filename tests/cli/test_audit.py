"""`simharness audit`: the page, one episode in full, exit codes."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from simharness.cli import call
from simharness.rollout.audit import audit
from tests.cli.conftest import SHOP

if TYPE_CHECKING:
    from tests.cli.conftest import Cli, Recorded

FAULT = "crm.invalidation-lost"


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Five runs: sound, faulty, short, sound but for one load, sound but for one given reward."""
    folder = tmp_path_factory.mktemp("runs")

    def run(name: str, scenario: str, *words: str) -> Path:
        assert call(["run", scenario, *words, "-o", str(folder / name)]) == 0
        return folder / name / "shards"

    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        shutil.copy(SHOP, "shop.py")
        good = run("good", "./shop.py:Shop/sound", "--seed", "0:116")
        bad = run("bad", "crm/negotiation", "--seed", "0:2", "--fault", FAULT, "--load", "4")
        run("short", "./shop.py:Shop/sound", "--seed", "0:20")
        given = run("given", "./shop.py:Shop/given", "--policy", "null")
    for name, other in (("busy", bad), ("paid", given)):
        shutil.copytree(good, folder / name)
        shutil.copy(other / "00000.simrec", folder / name / "9.simrec")
    return folder


@pytest.mark.parametrize(
    ("name", "exit_code", "reason"),
    [
        ("good", 0, "gate at 5.0%: pass"),
        ("bad", 1, "tool get_deal: 2 of 2 episodes, surely 11.2% or more"),
        ("short", 3, "32 more episodes at this rate would decide"),
        ("busy", 1, "load 4: 2 of 2 episodes, surely 6.7% or more"),
        ("paid", 1, "H512 is never allowed: 1 episode"),
    ],
)
def test_the_gate_passes_fails_or_asks_for_more_and_says_why(
    cli: Cli,
    runs: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    exit_code: int,
    reason: str,
) -> None:
    monkeypatch.chdir(runs)
    told = cli("audit", name, "--max-rate", 0.05)
    assert (told.code, told.err) == (exit_code, "")
    assert reason in told.out
    assert max(map(len, told.out.splitlines())) <= 80
    commands = re.findall(r"^ +simharness (audit .*)$", told.out, re.MULTILINE)
    assert bool(commands) is (name not in ("good", "short"))
    for command in commands:
        assert cli(*command.split()).code == 0


def test_the_numbers_behind_an_answer_are_told_as_json(
    cli: Cli, runs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(runs)
    told = cli("audit", "busy", "--exact", "--json")
    busy: Any = told.json()
    assert (told.code, busy["gate"], busy["interval"]) == (1, "fail", "exact")
    assert (busy["failure_rate"]["failures"], busy["failure_rate"]["episodes"]) == (2, 118)
    assert busy["contamination"]["point"] == busy["failure_rate"]["point"]
    assert {s["value"] for s in busy["strata"] if s["fails"]} >= {"4", FAULT, "get_deal"}
    assert (busy["score"]["mean"], busy["score"]["clean"]) == (round(116 / 118, 6), 1.0)
    assert "39 more episodes" in cli("audit", "short", "--exact").out
    assert cli("audit", "short", "--max-rate", "0.9").code == 0


def test_one_episode_is_told_in_full(cli: Cli, recorded: Recorded) -> None:
    told = cli("audit", recorded.file, "--curve")
    assert told.code == 0
    assert "harness, H112, proved (closed)" in told.out
    assert "cache:deals.detail true -> 1.0 (closed): flips" in told.out
    assert "customer/legal commits deals:42" in told.out
    assert "point of no return" in told.out
    assert max(map(len, told.out.splitlines())) <= 160


def test_json_holds_what_scripts_rely_on(cli: Cli) -> None:
    cli("run", "crm/negotiation", "--seed", "0:2", "--fault", FAULT, "--load", 4, "-o", "r")
    report: Any = cli("audit", "r", "--json").json()
    keys = {"run", "episodes", "score", "valid", "verdicts", "codes", "quarantined"}
    assert keys | {"failure_rate", "gate", "items"} <= set(report)
    wanted = {"key", "class", "primary", "codes", "effect", "confidence", "score", "valid"}
    assert all(wanted <= set(item) for item in report["items"])
    one: Any = cli("audit", "r", "--episode", 0, "--json").json()
    assert one["primary"] == "H112"
    assert one["chain"]
    assert one["arms"]


def test_a_limit_outside_0_and_1_is_refused(cli: Cli) -> None:
    cli("run", "crm/negotiation", "--seed", "0:2", "--policy", "null", "-o", "r")
    for limit, word in (
        ("0", "a failure rate of 0 is no limit"),
        ("1", "1 % is 0.01"),
        ("-0.1", "5 % is 0.05"),
        ("5", "5 % is 0.05"),
        ("2.5", "2.5 % is 0.025"),
        ("nan", "a failure rate of nan is no limit"),
        ("x", "valid float"),
    ):
        for command in ("audit", "view"):
            told = cli(command, "r", "--max-rate", limit, *(["-o", "p.html"] * (command == "view")))
            assert (told.code, told.out) == (2, "")
            assert word in told.err


@pytest.mark.parametrize(
    "words",
    [
        ("--seed", "0:3", "--fault", FAULT, "--load", "4"),
        ("--seed", "0:4", "--policy", "random"),
        ("--seed", "0:2", "--policy", "null", "--load", "8"),
    ],
)
def test_a_run_ends_with_the_gate_that_its_audit_gives(cli: Cli, words: tuple[str, ...]) -> None:
    # Not `.json()`: on a slow machine both tell on stderr how far they have come.
    told = cli("run", "crm/negotiation", "crm/hygiene", *words, "-o", "r", "--json")
    ran: Any = json.loads(told.out)
    report: Any = json.loads(cli("audit", "r", "--json").out)
    shared = set(ran) & set(report) - {"score", "strata", "reasons"}
    assert {"gate", "failure_rate", "contamination", "further_episodes"} <= shared
    assert {key: ran[key] for key in shared} == {key: report[key] for key in shared}
    # The lines of a run don't say which tools were called.
    keys = ("by", "value", "failures", "episodes")
    strata = [[s[key] for key in keys] for s in report["strata"] if s["by"] != "tool"]
    assert [[s[key] for key in keys] for s in ran["strata"]] == strata
    assert len(ran["strata"]) >= 2


def test_a_run_fails_by_what_is_never_allowed(cli: Cli) -> None:
    told = cli("run", f"{SHOP}:Shop/given", "--policy", "null", "-o", "r")
    assert told.code == 0
    assert "gate at 5.0%: fail\n    H512 is never allowed: 1 episode" in told.out


def test_a_file_has_no_gate_unless_a_limit_is_asked_for(cli: Cli) -> None:
    cli("run", "crm/negotiation", "--seed", "0:2", "--fault", FAULT, "--load", 4, "-o", "r")
    file = "r/shards/00000.simrec"
    told = cli("audit", file)
    assert told.code == 0
    assert "failures of the harness: 2 of 2" in told.out
    assert "gate" not in told.out
    assert "fails" not in told.out
    report: Any = cli("audit", file, "--json").json()
    assert (report["gate"], report["limit"], report["reasons"]) == (None, None, [])
    assert not any(stratum["fails"] for stratum in report["strata"])
    assert "gate at 5.0%: fail" in cli("audit", file, "--max-rate", 0.05).out
    assert cli("view", file, "-o", "file.html").code == 0
    assert "Gate" not in Path("file.html").read_text(encoding="utf-8").partition("<script")[0]
    cli("view", "r", "-o", "run.html")
    assert "Gate at 5.0%: <strong>fail" in Path("run.html").read_text(encoding="utf-8")


def test_episodes_that_are_not_told_are_named(cli: Cli) -> None:
    cli("run", "crm/negotiation", "--seed", "0:6", "--policy", "null", "-o", "r")
    told = cli("audit", "r")
    assert told.out.count("simharness audit r --episode") == 3
    named = re.search(r"and 3 more: ((?:crm/negotiation:\d,?\s+){3})", told.out)
    assert named is not None
    shown = re.findall(r"--episode crm/negotiation:(\d)", told.out)
    assert sorted(shown + re.findall(r":(\d)", named[1])) == list("012345")


def test_nothing_to_audit_is_told_in_words(cli: Cli) -> None:
    told = cli("audit", "nowhere")
    assert told.code == 2
    assert "Traceback" not in told.err
    assert "nowhere" in told.err


def test_episodes_of_one_seed_are_told_apart_by_commands_that_work(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    words = ["--seed", "0:2", "--policy", "null", "--policy", "random", "--group", "2"]
    assert cli("run", "crm/negotiation", *words, "-o", "a b").code == 0
    told = cli("audit", "a b")
    commands = re.findall(r"^ +simharness (audit .*)$", told.out, re.MULTILINE)
    assert commands
    for command in commands:
        alone = cli(*shlex.split(command))
        assert (alone.code, alone.err) == (0, "")
    several = cli("show", "a b", "--episode", "1")
    assert several.code == 2
    named = re.findall(r"'(crm/negotiation:1:.*?)'", several.err)
    assert len(named) == len({*named}) == 4
    for name in (*named, re.findall(r"e.g. '(.*)'", cli("show", "a b").err)[0]):
        assert cli("show", "a b", "--episode", name).code == 0


def test_of_equal_keys_the_files_are_named_and_codes_of_the_harness_come_first(
    cli: Cli, recorded: Recorded, tmp_path: Path
) -> None:
    (tmp_path / "run").mkdir()
    for name in ("a", "b"):
        shutil.copy(recorded.file, tmp_path / "run" / f"{name}.simrec")
    told = cli("audit", tmp_path / "run")
    assert f"simharness audit {tmp_path}/run/a.simrec\n" in told.out
    codes = re.findall(r"^  ([HMXA]\d+) ", told.out, re.MULTILINE)
    assert codes[0] == "H112"
    assert {*codes} == {*json.loads(cli("audit", tmp_path / "run", "--json").out)["codes"]}


def test_what_lies_behind_a_damaged_place_is_counted(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert cli("run", "crm/negotiation", "--seed", "0:6", "-o", "r").code in (0, 3)
    (shard,) = Path("r/shards").glob("*.simrec")
    data = bytearray(shard.read_bytes())
    data[len(data) // 2] ^= 1
    shard.write_bytes(data)
    told = cli("audit", "r")
    left = int(re.findall(r"^r: (\d+) episode", told.out)[0])
    lost = 6 - left - 1
    assert 0 < left < 5
    assert told.code == 1
    assert f"{lost} episodes of verdicts.jsonl can be read of no shard" in told.out
    exported = cli("export", "trl", "r", "-o", "x.jsonl")
    assert exported.code == 0
    assert f"1 damaged; {lost} lost with a damaged shard" in " ".join(exported.out.split())


def test_an_episode_that_ends_while_its_run_is_audited_is_not_lost(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert cli("run", "crm/negotiation", "--seed", "0:2", "-o", "r").code in (0, 3)
    verdicts = Path("r/verdicts.jsonl")
    line = verdicts.read_text("utf-8").splitlines()[0]

    def more(done: int) -> None:
        with verdicts.open("a", encoding="utf-8") as file:
            file.write(line.replace("crm/negotiation:0:", f"crm/negotiation:{7 + done}:") + "\n")

    assert audit(Path("r"), progress=more).problems == []
    # Told before the shards were read, they are held against them.
    (problem,) = audit(Path("r")).problems
    assert problem.startswith("2 episodes of verdicts.jsonl can be read of no shard")
