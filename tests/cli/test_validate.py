from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from simharness.extras import to_install
from simharness.product.registry import OWN, load_product
from simharness.validate import determinism

if TYPE_CHECKING:
    from tests.cli.conftest import Cli

PLANTED = Path(__file__).parents[1] / "validate" / "planted.py"
FEW = ("--quick", "--seed", "14:17")
KEYS = {"id", "ok", "detail", "level", "status", "severity", "codes", "measured", "evidence",
        "remediation", "next", "seconds"}  # fmt: skip

STARTS = ("static", "runtime.task_declaration_accuracy")
PLAYED = (*STARTS, "runtime.seed_control", "runtime.crash_never_a_number")
"""What costs more; one scenario of a product stands for all of its."""
FIRST = ("crm/negotiation", "helpdesk/double-charge", "ide/impossible")
SHIPPED = [s.id for name in OWN for s in load_product(name).scenarios]


def test_the_keys_of_a_report(cli: Cli) -> None:
    told = cli("validate", f"{PLANTED}:Undocumented/pickup", *FEW, "--check", "static", "--json")
    assert told.code == 1
    report = told.json()
    assert report["scenario"].endswith("planted.py:Undocumented/pickup")
    assert (report["ok"], report["seeds"]) == (False, [14, 17])
    assert report["counts"] == {"pass": 4, "fail": 1, "skip": 0, "error": 0}
    first, *others = report["checks"]
    assert set(first) == KEYS
    assert (first["id"], first["ok"], first["status"]) == ("static.manifest", False, "fail")
    assert first["detail"] == "`doc` doesn't say what full reward means"
    assert "--check static.manifest --seed 14:17" in first["next"]
    assert all(one["ok"] and not one["next"] for one in others)


def test_a_failure_is_told_with_what_to_do_and_the_command(cli: Cli) -> None:
    told = cli("validate", f"{PLANTED}:Polite/pickup", *FEW, "--check", "semantic.floor_gap")
    assert told.code == 1
    lines = told.out.splitlines()
    assert "  FAIL  semantic.floor_gap           refuse is paid 1 on seed 14" in lines
    assert "  refuse is paid 1 on seed 14" in lines
    assert any(line.startswith("  to do: let the goal ask for") for line in lines)
    again = f"  again: simharness run {PLANTED}:Polite/pickup --seed 14 --policy refuse"
    assert again in lines


def test_the_exit_codes(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    warned = cli("validate", f"{PLANTED}:Namesakes/pickup", *FEW, "--check",
                 "runtime.rubric_introspectable")  # fmt: skip
    assert warned.code == 0
    assert "FAIL (warn)" in warned.out
    broken = cli("validate", f"{PLANTED}:Broken/pickup", *FEW, "--check", "runtime.seed_control")
    assert broken.code == 1
    assert "ZeroDivisionError" in broken.out
    assert "to do: mend the product's code" in broken.out

    def ours(*args: object) -> None:
        raise ZeroDivisionError("ours")

    with monkeypatch.context() as patch:
        patch.setattr(determinism, "start_of", ours)
        told = cli("validate", "crm/negotiation", *FEW, "--check", "runtime.seed_control")
    assert told.code == 4
    assert "ERROR" in told.out
    for words in (
        ("crm/nothing",),
        ("crm/negotiation", "--check", "semantic.oracle"),
        ("crm/negotiation", "--quick", "--thorough"),
        ("crm/negotiation", "--seed", "3"),
    ):
        refused = cli("validate", *words)
        assert refused.code == 2, words
        assert refused.err.startswith("error SH-USE-")


def test_a_scenario_that_cannot_be_played_here_is_refused_in_a_line(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(load_product("ide"), "missing", lambda: "simharness[ide]")
    told = cli("validate", "ide/fix", *FEW)
    assert told.code == 2
    first, hint = told.err.splitlines()
    assert first == "error SH-USE-001: ide/fix needs what isn't installed"
    assert hint.strip() == f"run: {to_install('simharness[ide]')}"


def test_the_example_of_the_page_fails_what_the_page_says(cli: Cli, tmp_path: Path) -> None:
    page = (PLANTED.parents[2] / "docs" / "products.md").read_text(encoding="utf-8")
    shop = tmp_path / "repairs.py"
    blocks = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    shop.write_text("\n\n".join(blocks), encoding="utf-8")
    told = cli("validate", f"{shop}:Repairs/hand-out", "--quick", "--seed", "0:20", "--json").json()
    failed = [one["id"] for one in told["checks"] if one["status"] in ("fail", "error")]
    said = page.partition("## Before it is used")[2]
    assert failed == re.findall(r"`(runtime\.\w+)`", said)


@pytest.mark.parametrize("scenario", SHIPPED)
def test_shipped_scenarios_pass_what_is_cheap(cli: Cli, scenario: str) -> None:
    checks = PLAYED if scenario in FIRST else STARTS
    if missing := load_product(scenario.partition("/")[0]).missing():
        pytest.skip(f"needs {missing}")
    words = [word for check in checks for word in ("--check", check)]
    told = cli("validate", scenario, "--quick", "--seed", "0:2", *words)
    assert told.code == 0, told.out
