"""`simharness audit`: the page, one episode in full, exit codes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.cli.conftest import Cli

FAULT = "crm.invalidation-lost"


def test_a_run_below_the_limit_exits_0_and_one_above_it_1(cli: Cli) -> None:
    cli("run", "crm/negotiation", "--seed", "0:60", "--policy", "null", "-o", "good")
    cli("run", "crm/negotiation", "--seed", "0:4", "--fault", FAULT, "--load", 4, "-o", "bad")
    good, bad = cli("audit", "good"), cli("audit", "bad")
    assert good.code == 0
    assert "gate at 5.0%: pass" in good.out
    assert bad.code == 1
    assert "gate at 5.0%: fail" in bad.out
    assert "simharness audit bad --episode crm/negotiation:" in bad.out


def test_a_run_too_short_for_an_answer_exits_3(cli: Cli) -> None:
    cli("run", "crm/negotiation", "--seed", "0:3", "--policy", "null", "-o", "short")
    assert cli("audit", "short").code == 3
    assert cli("audit", "short", "--max-rate", "0.9").code == 0


def test_one_episode_is_told_in_full(cli: Cli) -> None:
    cli("demo", "-o", "d")
    told = cli("audit", "d/episode-42.simrec", "--curve")
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
    for limit, word in (("0", "range"), ("1", "range"), ("-0.1", "range"), ("x", "valid float")):
        told = cli("audit", "r", "--max-rate", limit)
        assert (told.code, told.out) == (2, "")
        assert word in told.err
    told = cli("audit", "r", "--max-rate", "nan")
    assert (told.code, told.out) == (2, "")
    assert "a failure rate of nan is no limit" in told.err


def test_nothing_to_audit_is_told_in_words(cli: Cli) -> None:
    told = cli("audit", "nowhere")
    assert told.code == 2
    assert "Traceback" not in told.err
    assert "nowhere" in told.err
