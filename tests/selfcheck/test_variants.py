"""A variant differs from the base in what it says and in nothing else, whoever starts it."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from simharness.selfcheck import pythons
from simharness.selfcheck.variants import BASE, FIRST, VARIANTS, Axis, Variant

if TYPE_CHECKING:
    from pathlib import Path

BY_NAME = {variant.name: variant for variant in VARIANTS}


def told(variant: Variant, code: str) -> str:
    done = subprocess.run(
        [variant.python, *variant.flags, "-c", code],
        env=variant.environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


@pytest.mark.parametrize(
    ("name", "code", "wanted"),
    [
        ("another time zone", "import time; print(time.tzname[0])", "NZST"),
        (
            "another locale",
            "import codecs, locale; print(codecs.lookup(locale.getpreferredencoding(False)).name)",
            "ascii",
        ),
        ("optimised", "print(__debug__)", "False"),
        (
            "msgpack in Python",
            "import msgpack; print(msgpack.Packer.__module__)",
            "msgpack.fallback",
        ),
        ("hash seed 1", "import os; print(os.environ['PYTHONHASHSEED'])", "1"),
    ],
)
def test_a_variant_takes_effect_and_the_base_is_without_it(
    name: str, code: str, wanted: str
) -> None:
    """Without this, a variant that is spelt wrong would be identical for ever."""
    assert told(BY_NAME[name], code) == wanted
    assert told(FIRST, code) != wanted


def test_the_collector_is_set_in_the_process() -> None:
    code = (
        "import gc, sys; from simharness.selfcheck import child; "
        "child.play = lambda job: print(gc.isenabled(), gc.get_threshold()[0], file=sys.stderr);"
        'child.main([\'{"collector": "%s"}\'])'
    )
    out: list[str] = []
    for setting in ("", "off", "eager"):
        done = subprocess.run(
            [sys.executable, "-c", code % setting],
            env=FIRST.environment(),
            capture_output=True,
            text=True,
            check=True,
        )
        out.append(done.stderr.strip())
    assert out[0].startswith("True ")
    assert out[1].startswith("False ")
    assert out[2] == "True 1"
    assert out[0] != out[2]


def test_hash_seeds_are_varied_and_the_parents_is_not_handed_down(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PYTHONHASHSEED", "7")
    monkeypatch.setenv("PYTHONOPTIMIZE", "1")
    monkeypatch.setenv("TZ", "Pacific/Auckland")
    monkeypatch.setenv("LC_TIME", "C")
    seeds = {one.environment()["PYTHONHASHSEED"] for one in (FIRST, *VARIANTS)}
    assert seeds == {"0", "1", "4242", "random"}
    for one in (FIRST, *VARIANTS):
        environment = one.environment()
        assert "PYTHONOPTIMIZE" not in environment
        assert "LC_TIME" not in environment
        assert (environment["TZ"] == BASE["TZ"]) is (one.axis is not Axis.TIME_ZONE)
    code = "print(hash('x'))"
    assert told(FIRST, code) == told(BY_NAME["base again"], code)
    assert len({told(BY_NAME["random hash seed"], code) for _ in range(3)}) > 1


def test_each_variant_differs_from_the_base_in_one_way() -> None:
    for one in VARIANTS:
        ways = [one.variables != {}, one.flags != (), one.collector != "", one.order != FIRST.order]
        assert sum(ways) == (0 if one.axis is Axis.REPEAT else 1), one.name
    assert {one.axis for one in VARIANTS} == set(Axis) - {Axis.PYTHON}


def test_the_line_for_a_shell_runs_the_same_process() -> None:
    line = BY_NAME["optimised"].shell("job with 'quotes'")
    assert line.startswith("env ")
    assert f"PYTHONHASHSEED=0 TZ=UTC0 LC_ALL=C.UTF-8 PYTHONPATH={FIRST.paths[0]}" in line
    assert f"{sys.executable} -O -m simharness.selfcheck.child" in line


# --- other Pythons -------------------------------------------------------------------------------


def script(path: Path, text: str) -> str:
    path.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
    path.chmod(0o755)
    return str(path)


def test_a_python_that_cant_be_used_is_skipped_with_the_reason(tmp_path: Path) -> None:
    given = {
        "gone": str(tmp_path / "nowhere"),
        "shim": script(tmp_path / "shim", "echo 'shim: command not found' >&2; exit 127"),
        "poor": script(
            tmp_path / "poor", 'echo Traceback >&2; echo "ImportError: no numpy" >&2; exit 1'
        ),
        "mute": script(tmp_path / "mute", "exit 0"),
    }
    folder = tmp_path / "package"
    folder.mkdir()
    found, skipped = pythons.usable(given, ["crm/negotiation"], folder)
    assert found == []
    assert skipped == [
        ("gone", "it can't be started: No such file or directory"),
        ("shim", "shim: command not found"),
        ("poor", "ImportError: no numpy"),
        ("mute", "it ended with code 0 and no reason"),
    ]


def test_a_python_that_can_load_the_scenarios_is_a_variant(tmp_path: Path) -> None:
    other = script(tmp_path / "other", f'exec {sys.executable} "$@"')
    folder = tmp_path / "package"
    folder.mkdir()
    (one,), skipped = pythons.usable({"other": other}, ["crm/negotiation"], folder)
    assert skipped == []
    assert (one.axis, one.python, one.paths) == (Axis.PYTHON, other, (str(folder),))
    missing = pythons.probe(one, ["crm/nothing"])
    assert "no scenario of crm named 'nothing'" in missing


def test_this_python_and_second_names_of_one_are_left_out(tmp_path: Path) -> None:
    real = script(tmp_path / "python9", "exit 0")
    link = tmp_path / "python"
    link.symlink_to(real)
    found = pythons.distinct({"a": real, "b": str(link), "own": sys.executable})
    assert found == {"a": real}


def test_pythons_are_chosen_as_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pythons, "interpreters", lambda: {"found": "/bin/sh"})
    assert pythons.chosen("none") == {}
    assert pythons.chosen("auto") == {"found": "/bin/sh"}
    assert pythons.chosen("/a,b") == {"/a": "/a", "b": "b"}
