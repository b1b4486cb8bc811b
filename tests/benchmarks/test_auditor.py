"""The benchmark of the auditor: a small sample of it is right, and its matrix counts as it says."""

from __future__ import annotations

import itertools
import json
from typing import TYPE_CHECKING, Any

import pytest

from benchmarks.auditor import LATER, constant, faulty, main
from benchmarks.faults import SEDUCED
from benchmarks.matrix import Judged, Matrix
from benchmarks.plots import plot
from simharness.blame.verdict import Class
from simharness.errors import UsageError
from simharness.product.registry import load_product

if TYPE_CHECKING:
    from pathlib import Path

NONE = ["--faults=0", "--mutations=0", "--defects=0", "--conditions=0", "--clean=0", "--workers=1"]


def measured(capsys: pytest.CaptureFixture[str], *asked: str) -> tuple[int, Any]:
    code = main([*NONE, *asked, "--json"])
    return code, json.loads(capsys.readouterr().out)


@pytest.mark.bench
@pytest.mark.parametrize(
    ("product", "group"), [("crm", "faults"), ("marketplace", "defects"), ("helpdesk", "defects")]
)
def test_a_sample_of_each_product_is_judged_rightly(
    product: str, group: str, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = [f"--products={product}", "--loads=1", "--clean=4", f"--{group}=1"]
    code, record = measured(capsys, *asked)
    assert code == 0
    assert record["undetected"] == []
    assert record["sound"]["right"] == record["sound"]["of"] > 4
    assert record["primary"]["right"] == record["primary"]["of"] > 0
    for told in record["classes"].values():
        assert told["right"] == told["of"]


def judged(**more: Any) -> Judged:
    plain: dict[str, Any] = {
        "group": "fault",
        "case": "a.b",
        "name": "a.b in a/c:1",
        "truth": Class.HARNESS,
        "due": ("H112", "H111"),
        "fitting": ("H112", "H111"),
        "kind": Class.HARNESS,
        "primary": "H112",
        "codes": frozenset({"H112"}),
    }
    return Judged(**{**plain, **more})


def missed(**more: Any) -> Judged:
    return judged(kind=Class.MODEL, primary="M510", codes=frozenset({"M510"}), **more)


def test_the_matrix_counts_classes_codes_and_false_alarms() -> None:
    sound: dict[str, Any] = {"group": "clean", "due": (), "fitting": (), "truth": Class.OK}
    matrix = Matrix().add_all(
        [
            *[judged(name=f"seed {seed}") for seed in range(8)],
            missed(),
            judged(truth=None, fitting=(), primary="M310", kind=Class.MODEL),
            missed(group="mutation", case="x", truth=None, fitting=(), shows=False),
            *[judged(**sound, kind=Class.OK, primary="", codes=frozenset()) for _ in range(19)],
            judged(**sound, codes=frozenset({"H310"})),
        ]
    )
    record = matrix.record()
    assert record["classes"]["harness"]["given"] == {
        "harness": 8,
        "model": 1,
        "ok": 0,
        "ambiguous": 0,
    }
    assert (record["classes"]["ok"]["right"], record["classes"]["ok"]["of"]) == (19, 20)
    code = record["codes"]["H112"]
    assert (code["found"]["right"], code["found"]["of"]) == (9, 10)
    assert code["primaries"] == {"H112": 8, "M510": 1}
    assert record["primary"]["share"] == pytest.approx(8 / 9, abs=1e-6)
    assert (record["sound"]["right"], record["sound"]["alarms"]) == (19, {"H310": 1})
    assert record["undetected"] == ["mutation x"]
    text = "\n".join(matrix.text())
    assert max(map(len, text.splitlines())) <= 80
    assert "never found: mutation x" in text
    assert "faults found: 1 of 1" in text


def test_measurements_of_several_parts_are_added_up(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sound: dict[str, Any] = {"group": "clean", "due": (), "fitting": (), "truth": Class.OK}
    episodes = [
        judged(),
        missed(),
        judged(truth=None, fitting=(), primary="", kind=Class.MODEL),
        judged(**sound, codes=frozenset({"H310"})),
        judged(**sound, kind=Class.OK, primary="", codes=frozenset()),
        judged(group="mutation", case="x", truth=None, fitting=(), shows=False),
    ]
    words: list[str] = []
    for number in range(3):
        path = tmp_path / f"{number}.json"
        part = Matrix().add_all(episodes[2 * number : 2 * number + 2])
        path.write_text(json.dumps(part.record()), encoding="utf-8")
        words += ["--add", str(path)]
    code, told = measured(capsys, *words)
    assert (code, told) == (1, Matrix().add_all(episodes).record())


@pytest.mark.parametrize("loads", ["1", "4,8", "4,8,1"])
@pytest.mark.parametrize("product", ["crm", "helpdesk", "ide"])
def test_each_scenario_and_load_meets_each_policy_and_trigger(product: str, loads: str) -> None:
    names = [scenario.id for scenario in load_product(product).scenarios]
    every = loads.split(",")
    count = 6 * len(names) * len(every)
    met: dict[str, set[tuple[str, str, str, str]]] = {}
    for one in faulty(product, every, count, 0):
        met.setdefault(one.case, set()).add((one.scenario, one.load, one.policy, one.trigger))
    first, *_ = load_product(product).faults
    triggers = [""] if constant(first.knobs) else ["", LATER]
    assert met[first.id] == set(itertools.product(names, every, ("expert", SEDUCED), triggers))


def test_the_matrix_is_drawn(tmp_path: Path) -> None:
    path = tmp_path / "matrix.svg"
    plot(Matrix().add_all([judged(), missed()]), path)
    assert path.read_text(encoding="utf-8").startswith("<?xml")
    with pytest.raises(UsageError, match=r"'.*matrix\.pdf' is no picture"):
        plot(Matrix(), path.with_suffix(".pdf"))
