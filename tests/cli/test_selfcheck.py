from __future__ import annotations

import json
import subprocess
import sys
from functools import partial
from typing import TYPE_CHECKING

import pytest

from simharness.cli import selfcheck
from simharness.selfcheck import check, pythons
from simharness.selfcheck.variants import VARIANTS, Axis
from tests.determinism.culprits import CLEAN, CULPRITS, marked_line

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.conftest import Cli

# On a busy machine there is progress on stderr, so that stays unasked.
SMALL = ("--seed", "0:2", "--load", "0", "--pythons", "none")


def product(folder: Path, source: str) -> str:
    path = folder / "tiny.py"
    path.write_text(source, encoding="utf-8")
    return f"{path}:Tiny/scene"


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Try no more variants than a test is about."""
    wanted = (Axis.HASH_SEED, Axis.ORDER, Axis.OPTIMISED)
    some = {variant.axis: variant for variant in VARIANTS if variant.axis in wanted}
    monkeypatch.setattr(selfcheck, "selfcheck", partial(check.selfcheck, variants=[*some.values()]))


@pytest.mark.usefixtures("few")
def test_a_sound_product_is_identical_in_every_variant(cli: Cli, tmp_path: Path) -> None:
    told = cli("selfcheck", product(tmp_path, CLEAN), *SMALL, "--json")
    assert told.code == 0
    result = json.loads(told.out)
    assert (result["episodes"], result["variants"], result["identical"]) == (2, 3, 2)
    assert len(result["tried"]) == 3
    assert result["diverged"] == result["skipped"] == result["causes"] == []


@pytest.mark.usefixtures("few")
def test_episodes_of_several_policies_are_told_apart(cli: Cli, tmp_path: Path) -> None:
    scenario = product(tmp_path, CULPRITS["set-order"])
    told = cli("selfcheck", scenario, *SMALL, "--policy", "expert", "--policy", "null", "--json")
    result = json.loads(told.out)
    assert result["episodes"] == 4
    names = {name for parted in result["diverged"] for name in parted["episodes"]}
    assert f"{scenario}:0:expert" in names


@pytest.mark.usefixtures("few")
def test_a_difference_is_told_with_its_place_its_cause_and_the_commands(
    cli: Cli, tmp_path: Path
) -> None:
    scenario = product(tmp_path, CULPRITS["set-order"])
    told = cli("selfcheck", scenario, *SMALL)
    assert told.code == 3
    lines = told.out.splitlines()
    verdicts = {line.split("  ")[1].strip(): line for line in lines if line.startswith("  ")}
    assert verdicts["random hash seed"].endswith(f"DIVERGED: {scenario}:0, {scenario}:1")
    assert verdicts["optimised"].endswith("identical")
    assert "0 of 2 episodes identical in 4 processes" in lines
    assert f"{scenario}:0, base (recorded) against random hash seed (produced):" in lines
    assert "  SH-DIV-105 CODE at step 1, frame " in told.out
    assert "    1. differs under another hash seed: the order of a set" in told.out
    line = marked_line(CULPRITS["set-order"])
    assert f"tiny.py:{line}:" in told.out
    assert "SH013 set-order" in told.out
    assert "    2. " not in told.out
    base, other = [line.strip() for line in lines if " -m simharness.selfcheck.child " in line]
    digests = [
        subprocess.run(line, shell=True, capture_output=True, text=True, check=True).stdout
        for line in (base, other)
    ]
    assert all('"episodes"' in told for told in digests)
    assert digests[0] != digests[1]


@pytest.mark.usefixtures("few")
def test_the_keys_of_a_difference(cli: Cli, tmp_path: Path) -> None:
    scenario = product(tmp_path, CULPRITS["module-counter"])
    told = cli("selfcheck", scenario, *SMALL, "--json")
    assert told.code == 3
    result = json.loads(told.out)
    assert result["identical"] == 1, "the first is the first in every order"
    assert {one["axis"] for one in result["diverged"]} == {"order"}
    assert result["causes"][0]["scenario"] == scenario
    assert result["causes"][0]["axis"] == "order"
    one = result["diverged"][0]
    assert (one["code"], one["class"], one["step"], one["table"]) == (
        "SH-DIV-105",
        "CODE",
        1,
        "things",
    )
    assert one["fields"][0]["field"] == "delta"
    assert one["next"].startswith("env ")


@pytest.mark.parametrize(
    ("pythons", "said"),
    [
        ("/no/such/python", "Python '/no/such/python' can't be used: it can't be started: No such"),
        (f"{sys.executable},/bin/true", "Python '/bin/true' can't be used: it ended with code 0"),
        ("", "pythons '' are not readable"),
        (",", "pythons ',' are not readable"),
        (f"{sys.executable},", "are not readable\n  give auto, none, or paths of interpreters"),
    ],
)
def test_a_python_that_was_named_is_never_skipped(
    cli: Cli, tmp_path: Path, pythons: str, said: str
) -> None:
    told = cli("selfcheck", product(tmp_path, CLEAN), *SMALL[:4], "--pythons", pythons)
    assert told.code == 2
    assert said in told.err


@pytest.mark.usefixtures("few")
def test_a_python_that_was_found_and_cant_be_used_is_told(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pythons, "interpreters", lambda: {"python3.99": "/no/such/python"})
    told = cli("selfcheck", product(tmp_path, CLEAN), *SMALL[:4])
    assert told.code == 0
    line = next(line for line in told.out.splitlines() if "SKIP" in line)
    assert "python3.99" in line
    assert "SKIP: it can't be started: No such file or directory" in line


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("crm/nowhere",), "no scenario of crm named 'nowhere'"),
        (("crm/negotiation", "--seed", "3:1"), "seed range '3:1' is empty"),
        (("crm/negotiation", "--policy", "nobody"), "no policy of crm/negotiation named"),
        (("crm/negotiation", "--fault", "crm.nothing"), "no fault named"),
        (("crm/negotiation", "--load", "much"), "load 'much' is not a number"),
    ],
)
def test_what_cant_be_run_is_a_usage_error(cli: Cli, words: tuple[str, ...], said: str) -> None:
    told = cli("selfcheck", *words)
    assert told.code == 2
    assert said in told.err


@pytest.mark.usefixtures("few")
def test_a_crash_in_one_variant_is_a_harness_error_that_names_it(cli: Cli, tmp_path: Path) -> None:
    source = CLEAN.replace(
        "def size() -> int:\n", "def size() -> int:\n    if not __debug__:\n        os._exit(9)\n"
    ).replace("from collections.abc", "import os\nfrom collections.abc", 1)
    told = cli("selfcheck", product(tmp_path, source), *SMALL)
    assert told.code == 4
    assert "error SH-HAR-001: selfcheck: the process 'optimised' ended with code 9" in told.err
    assert "again: env " in told.err
