"""Every command does what its help says, and `--json` keeps the keys that scripts rely on."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from simharness.cli import COMMANDS
from simharness.product.registry import OWN
from tests.cli.conftest import SHOP, Cli, Recorded

README = Path(__file__).parents[2] / "README.md"
RUN_KEYS = {
    "run",
    "episodes",
    "score",
    "valid",
    "verdicts",
    "codes",
    "quarantined",
    "failure_rate",
    "gate",
    "asked",
    "stopped",
    "reason",
    "workers_lost",
}
TOTAL_KEYS = {
    "pings",
    "errors",
    "invariants_broken",
    "p50_us",
    "p99_us",
    "memory_growth_mb",
}
LISTS = ("products", "scenarios", "faults", "policies", "tools", "knobs")


def test_help_names_every_command(cli: Cli) -> None:
    told = cli("--help")
    assert (told.code, told.err) == (0, "")
    for name, (_, line) in COMMANDS.items():
        assert re.search(rf"^  {name} +{re.escape(line[:20])}", told.out, re.MULTILINE), name


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help(cli: Cli, name: str) -> None:
    told = cli(name, "-h")
    assert (told.code, told.err) == (0, "")
    assert told.out.startswith(f"Usage: simharness {name} [OPTIONS]")


def test_version_is_told(cli: Cli) -> None:
    assert re.fullmatch(r"simharness, version \S+\n", cli("--version").out)


# demo


def test_demo_is_what_the_readme_shows_each_time_and_names_commands_that_work(cli: Cli) -> None:
    readme = README.read_text(encoding="utf-8")
    block = re.search(r"<!-- demo output -->\s*```\w*\n(.*?)^```", readme, re.DOTALL | re.MULTILINE)
    assert block is not None, "README.md has no fenced block after <!-- demo output -->"
    shown = re.sub(r"\A\$ .*\n", "", block[1])
    for told in (cli("demo"), cli("demo")):
        assert (told.code, told.out, told.err) == (0, shown, "")
    again = re.findall(r"^    simharness (.+)$", shown, re.MULTILINE)
    assert [line.split()[0] for line in again] == ["show", "whatif", "replay"]
    for line in again:
        assert cli(*line.split()).code == 0, line


# list


def test_the_tools_of_a_product_are_those_of_its_scenarios(cli: Cli) -> None:
    assert cli("list", "tools", "crm").out == cli("list", "tools", "crm/dedupe").out


@pytest.mark.parametrize("kind", LISTS)
def test_every_list_has_rows(cli: Cli, kind: str) -> None:
    of = {"tools": ["crm/negotiation"], "knobs": ["crm"]}.get(kind, [])
    told = cli("list", kind, *of)
    assert (told.code, told.err) == (0, "")
    lines = told.out.splitlines()
    assert len(lines) > 1
    assert len(cli("list", kind, *of, "--json").json()) == len(lines) - 1


def test_scenarios_are_listed_with_their_documented_keys(cli: Cli) -> None:
    rows = cli("list", "scenarios", "--json").json()
    for row in rows:
        assert set(row) == {"id", "product", "about", "prompt_seed", "prompt", "train", "eval"}
        assert (row["train"], row["eval"]) == ([0, 2**31], [2**31, 2**32])
        assert row["id"].startswith(row["product"] + "/")
    assert {"crm/negotiation", "crm/hygiene"} <= {row["id"] for row in rows}
    assert cli("list", "--json").json() == rows
    crm = [row for row in rows if row["product"] == "crm"]
    assert cli("list", "scenarios", "crm", "--json").json() == crm
    (one,) = cli("list", "scenarios", "crm/negotiation", "--json").json()
    assert one in crm


def test_seeds_of_a_split_are_run(cli: Cli, tmp_path: Path) -> None:
    told = cli("run", f"{SHOP}:Shop/sound", "--seed", "eval:3:5", "-o", tmp_path / "run")
    assert told.code == 0
    about = json.loads((tmp_path / "run" / "run.json").read_text(encoding="utf-8"))
    assert about["asked"]["seeds"] == [2**31 + 3, 2**31 + 5]


def test_lists_of_a_product_by_path_can_be_run(cli: Cli) -> None:
    (row,) = cli("list", "scenarios", f"{SHOP}:Shop/sound", "--json").json()
    assert (row["id"], row["product"]) == (f"{SHOP}:Shop/sound", "shop")
    assert cli("run", row["id"]).code == 0
    assert "orders.detail.cache.ttl" in cli("list", "knobs", f"{SHOP}:Shop").out
    assert "get_order" in cli("list", "tools", f"{SHOP}:Shop/sound").out
    assert "lazy" in cli("list", "policies", f"{SHOP}:Shop/sound").out
    assert cli("list", "products", f"{SHOP}:Shop").code == 0
    assert cli("list", "faults", f"{SHOP}:Shop/sound").code == 0


# run


def test_run_gives_the_documented_keys(cli: Cli) -> None:
    told = cli("run", "crm/negotiation", "--seed", "5:8", "--json", "-o", "here")
    summary = told.json()
    assert told.code == 0
    assert set(summary) >= RUN_KEYS
    assert set(summary["score"]) == {"mean", "min"}
    assert set(summary["failure_rate"]) == {"failures", "episodes", "point", "low", "high"}
    assert (summary["run"], summary["episodes"]) == ("here", 3)
    assert sum(summary["verdicts"].values()) == 3
    assert summary["gate"] == "inconclusive"


def test_run_tells_harness_failures_and_where_to_look(cli: Cli) -> None:
    argv = ("run", "crm/negotiation", "--load", "8", "--fault", "crm.invalidation-lost")
    told = cli(*argv, "--seed", "1")
    assert (told.code, told.err) == (0, "")
    assert "verdicts: harness 1\n" in told.out
    look = re.search(r"look at: simharness (.+)", told.out)
    assert look is not None
    shown = cli(*look[1].split())
    assert shown.code == 0
    assert "true" in shown.out


def test_runs_without_a_folder_get_a_new_one_each(cli: Cli) -> None:
    for number in (1, 2):
        told = cli("run", "crm/negotiation", "--policy", "null")
        assert told.out.startswith(f"1 episode in runs/crm-negotiation-{number:03d}\n")
    told = cli("run", f"{SHOP}:Shop/sound")
    assert told.out.startswith("1 episode in runs/shop-Shop-sound-001\n")


@pytest.mark.parametrize(
    ("argv", "seeds"),
    [
        (["--seed", "7"], [7]),
        (["--seed", "7:9"], [7, 8]),
        (["--seed", "7", "--episodes", "2"], [7, 8]),
        (["--seed", "7:9", "--episodes", "2"], [7, 8]),
        (["--episodes", "2"], [0, 1]),
        (["--seed", str(2**64 - 1)], [2**64 - 1]),
    ],
)
def test_seeds_are_taken_in_every_documented_form(
    cli: Cli, argv: list[str], seeds: list[int]
) -> None:
    assert cli("run", "crm/negotiation", "--policy", "null", "-o", "r", *argv).code == 0
    lines = Path("r/verdicts.jsonl").read_text(encoding="utf-8").splitlines()
    assert [int(re.findall(r'"seed":(\d+)', line)[0]) for line in lines] == seeds


def test_settings_pins_profile_and_triggers_reach_the_recording(cli: Cli) -> None:
    fault = "crm.no-fence@from=60s,until=10min"
    told = cli(
        *("run", "crm/negotiation", "--policy", "null", "--load", "2.5", "--fault", fault),
        *("--profile", "bare", "--set", "deals.detail.cache.ttl=300s", "-o", "r"),
        *("--set", "instance.deal=42"),
    )
    assert told.code == 0
    header = cli("show", "r", "--json").json()["header"]
    assert (header["load"], header["faults"], header["profile"]) == (2500, [fault], "bare")
    assert header["config"] == {"deals.detail.cache.ttl": "300s"}
    assert header["instance"]["deal"] == 42


# replay, show, whatif


def test_replay_gives_the_documented_keys(cli: Cli, recorded: Recorded) -> None:
    told = cli("replay", recorded.run, "--json")
    assert told.code == 0
    result = told.json()
    assert set(result) == {"replay", "episodes", "identical", "diverged", "refused", "unfinished"}
    assert (result["episodes"], result["identical"]) == (3, 3)
    assert result["diverged"] == result["unfinished"] == []


def test_replay_of_one_episode_gives_its_digest(cli: Cli, recorded: Recorded) -> None:
    digest = cli("show", recorded.file, "--json").json()["digest"]
    told = cli("replay", recorded.file)
    assert (told.code, told.err) == (0, "")
    assert told.out == f"1 of 1 replayed identical, digest {digest}\n"
    assert cli("replay", recorded.file, "--until", "3").out.startswith(
        "1 of 1 replayed identical up to step 3, "
    )
    assert cli("replay", recorded.run, "--episode", "crm/negotiation:1").code == 0


def test_recordings_are_compared(cli: Cli, recorded: Recorded) -> None:
    told = cli("replay", recorded.file, "--diff", recorded.file)
    assert (told.code, told.out) == (0, "equal\n")
    told = cli("replay", recorded.file, "--diff", recorded.sound)
    assert told.code == 3
    assert told.out == "header faults: ['crm.invalidation-lost'] against []\n"
    told = cli("replay", recorded.file, "--diff", recorded.sound, "--json")
    assert told.code == 3
    assert set(told.json()) == {"equal", "difference"}


def test_show_tells_what_was_seen_and_what_was_true(cli: Cli, recorded: Recorded) -> None:
    overview = cli("show", recorded.file)
    assert (overview.code, overview.err) == (0, "")
    assert overview.out.startswith("crm/negotiation:42 \u00b7 load 4 \u00b7 crm.invalidation-lost")
    assert "STALE" in overview.out
    assert "STALE" not in cli("show", recorded.sound).out
    truth = cli("show", recorded.file, "--truth").out
    assert "legal in_review" in truth
    assert "legal cleared" in truth
    assert "reads were fresh" in cli("show", recorded.sound, "--truth").out
    step = cli("show", recorded.file, "--step", "3").out
    assert re.search(r"^step 3, sent \S+s, answered \S+s$", step, re.MULTILINE)


def test_shown_messages_are_a_transcript_that_can_be_run(cli: Cli, recorded: Recorded) -> None:
    told = cli("show", recorded.run, "--episode", "1", "--messages")
    assert told.code == 0
    Path("chat.jsonl").write_text(told.out, encoding="utf-8")
    argv = ("run", "crm/negotiation", "--seed", "1", "--policy", "transcript:chat.jsonl")
    assert cli(*argv, "-o", "again").code == 0
    first = cli("show", recorded.run, "--episode", "1", "--json").json()
    assert cli("show", "again", "--json").json()["digest"] == first["digest"]


def test_whatif_proves_the_cache_guilty(cli: Cli, recorded: Recorded) -> None:
    argv = ("whatif", recorded.file, "--ablate", "cache:deals.detail")
    told = cli(*argv)
    assert (told.code, told.err) == (0, "")
    assert "reward 0.0" in told.out
    assert "-> goal 1.0 (the same policy asked again; before 0.0): flips" in told.out
    arms = cli(*argv, "--json").json()["arms"]
    assert [arm["flips"] for arm in arms if arm["proof"] == "closed"] == [True]
    innocent = cli("whatif", recorded.file, "--ablate", "cache:deals.list", "--json").json()
    assert not any(arm["flips"] for arm in innocent["arms"])


def test_whatif_tells_what_an_honest_reward_pays(cli: Cli) -> None:
    fault = ("--fault", "helpdesk.status-reward", "--policy", "close-fast")
    assert cli("run", "helpdesk/double-charge", "--seed", "203", *fault, "-o", "paid").code == 0
    argv = ("whatif", "paid", "--ablate", "reward")
    assert "reward true -> reward 0.0 (the recorded calls verbatim; before 1.0): flips" in (
        cli(*argv).out
    )
    (arm, *_) = cli(*argv, "--json").json()["arms"]
    assert (arm["reward"], arm["score"], arm["flips"]) == (0.0, 0.0, False)
    assert (
        cli("whatif", "paid", "--ablate", "background", "--json").json()["arms"][0]["reward"]
        is None
    )


# soak


def test_soak_gives_the_documented_keys(cli: Cli) -> None:
    told = cli("soak", "--pings", "60", "--users", "10", "--json")
    assert told.code == 0
    report = told.json()
    worlds = report["worlds"]  # a scenario of each product that has one
    assert [w["scenario"].partition("/")[0] for w in worlds] == sorted(OWN)
    for part in (report, *worlds):
        assert set(part) >= TOTAL_KEYS
        assert (part["errors"], part["invariants_broken"]) == (0, 0)
    assert [report["pings"], *(w["pings"] for w in worlds)] == [60 * len(OWN), *[60] * len(OWN)]
    assert all(set(w) >= TOTAL_KEYS and w["replayed_identical"] is True for w in worlds)


def test_soak_says_how_it_went(cli: Cli) -> None:
    told = cli("soak", "crm/negotiation", "--pings", "60", "--users", "10")
    assert (told.code, told.err) == (0, "")
    assert told.out.startswith("crm/negotiation: 60 pings, ")
    assert "replayed identical" in told.out


def test_a_soak_that_fails_exits_with_1_and_can_be_repeated(cli: Cli) -> None:
    told = cli("soak", f"{SHOP}:Shop/user", "--pings", "200", "--users", "3")
    assert told.code == 1
    assert "user broke" in told.out
    again = re.search(r"again: simharness (.+)", told.out)
    assert again is not None

    def untimed(text: str) -> str:
        return re.sub(r"^  [0-9.]+ s, p50.*$", "", text, flags=re.MULTILINE)

    repeated = cli(*again[1].split())
    assert (repeated.code, untimed(repeated.out)) == (1, untimed(told.out))
