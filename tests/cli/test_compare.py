"""`simharness compare`: pairs, flips, what is worse, and what can't be compared."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.cli.conftest import Cli

OK = {"class": "ok", "primary": "", "score": 1.0}
BROKEN = {"class": "harness", "primary": "H112", "score": 0.0}


def verdicts(run: str, *outcomes: tuple[str, dict[str, Any]]) -> None:
    """Write what a run leaves of its verdicts."""
    Path(run).mkdir()
    lines = [json.dumps({"key": key, **outcome}) + "\n" for key, outcome in outcomes]
    Path(run, "verdicts.jsonl").write_text("".join(lines), encoding="utf-8")


def keys(seeds: range, policy: str = "expert") -> list[str]:
    return [f"crm/negotiation:{seed}:{policy}" for seed in seeds]


def test_a_run_that_got_worse_exits_1_and_its_flips_are_listed(cli: Cli) -> None:
    verdicts("old", *((key, OK) for key in keys(range(20))))
    verdicts("new", *((k, BROKEN if i < 6 else OK) for i, k in enumerate(keys(range(22)))))
    told = cli("compare", "old", "new")
    assert told.code == 1
    assert "worse: failures of the harness, earned rewards" in told.out
    assert "crm/negotiation:5 ok, reward 1.0 -> harness H112, reward 0.0" in told.out
    assert max(map(len, told.out.splitlines())) <= 80
    record: Any = cli("compare", "old", "new", "--json").json()
    assert (record["pairs"], record["only_before"], record["only_after"]) == (20, 0, 2)
    counts = {"both": 0, "only_before": 0, "only_after": 6, "neither": 14}
    assert record["failures"] == {**counts, "p": 0.03125, "change": "worse"}
    assert [flip["seed"] for flip in record["flipped"]] == list(range(6))
    back: Any = cli("compare", "new", "old", "--json")
    assert (back.code, back.json()["paid"]["change"]) == (0, "better")


def test_to_mend_a_grader_that_pays_for_nothing_makes_nothing_worse(cli: Cli) -> None:
    for_nothing = {"class": "harness", "primary": "H511", "score": 1.0}
    unpaid = {"class": "model", "primary": "M312", "score": 0.0}
    verdicts("old", *((key, for_nothing) for key in keys(range(20))))
    verdicts("new", *((key, unpaid) for key in keys(range(20))))
    told = cli("compare", "old", "new")
    assert (told.code, "worse" in told.out, "<0.001" in told.out) == (0, False, True)
    record: Any = cli("compare", "old", "new", "--json").json()
    assert record["failures"]["change"] == "better"
    assert (record["paid"]["neither"], record["paid"]["only_before"]) == (20, 0)


def test_five_flips_are_too_few_to_show_a_difference(cli: Cli) -> None:
    verdicts("old", *((key, OK) for key in keys(range(20))))
    verdicts("new", *((k, BROKEN if i < 5 else OK) for i, k in enumerate(keys(range(20)))))
    told = cli("compare", "old", "new")
    assert told.code == 0
    assert "no difference shown" in told.out


def test_seeds_with_several_policies_are_paired_by_policy(cli: Cli) -> None:
    both = [*keys(range(3)), *keys(range(3), "random")]
    verdicts("old", *((key, OK) for key in both))
    verdicts("new", *((key, OK) for key in both))
    assert cli("compare", "old", "new", "--json").json()["pairs"] == 6
    verdicts("other", *((key, OK) for key in keys(range(3), "random")))
    verdicts("one", *((key, OK) for key in keys(range(3))))
    assert cli("compare", "one", "other", "--json").json()["pairs"] == 3


def test_real_runs_are_compared(cli: Cli) -> None:
    for name, policy in (("old", "null"), ("new", "refuse")):
        words = ("run", "crm/negotiation", "--seed", "0:2", "--policy", policy, "-o", name)
        assert cli(*words).code == 0
    assert "old against new: 2 pairs" in cli("compare", "old", "new").out


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "holds no verdict"),
        ("nonsense\n", "line 1 is no JSON"),
        ("[]\n", "line 1 lacks key"),
        ('{"key": "x", "class": "ok", "primary": "", "score": NaN}\n', "has the score nan"),
        ('{"key": "x", "class": "ok", "primary": "", "score": 99}\n', "has the score 99"),
        ('{"key": "x", "class": "alien", "primary": "", "score": 1}\n', "has the class 'alien'"),
        ('{"key": "x", "class": "ok", "primary": "", "score": 1}\n', "key 'x' is not readable"),
        (
            '{"key": "a/b:1:p", "class": "ok", "primary": "", "score": 1.0}\n' * 2,
            "holds the episode a/b:1:p 2 times",
        ),
        (
            '{"key": "a/b:1:p", "class": "ok", "primary": "", "score": 1.0}\n',
            "have no seed of a scenario in common",
        ),
    ],
)
def test_what_cannot_be_compared_is_refused_in_words(cli: Cli, text: str, reason: str) -> None:
    verdicts("old", ("crm/negotiation:1:expert", OK))
    verdicts("new")
    Path("new", "verdicts.jsonl").write_text(text, encoding="utf-8")
    told = cli("compare", "old", "new")
    assert (told.code, told.out) == (2, "")
    assert reason in told.err


def test_a_folder_without_verdicts_is_refused_in_words(cli: Cli) -> None:
    verdicts("old", ("crm/negotiation:1:expert", OK))
    told = cli("compare", "old", "nowhere")
    assert told.code == 2
    assert "'nowhere' holds no verdicts.jsonl" in told.err
