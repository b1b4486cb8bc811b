from __future__ import annotations

import pytest

from simharness.kernel.forbidden import RULES as LINT_RULES
from simharness.lint.check import Finding
from simharness.selfcheck.causes import RULES, SENTENCES, rank
from simharness.selfcheck.variants import Axis


def test_what_equal_processes_disagree_on_explains_the_rest() -> None:
    assert [cause.axis for cause in rank(list(Axis))] == [Axis.REPEAT]


@pytest.mark.parametrize(
    ("axes", "first"),
    [
        ((Axis.PYTHON, Axis.OPTIMISED, Axis.ORDER, Axis.COLLECTOR), Axis.COLLECTOR),
        ((Axis.PYTHON, Axis.HASH_SEED), Axis.HASH_SEED),
        ((Axis.PYTHON, Axis.MSGPACK), Axis.MSGPACK),
        ((Axis.PYTHON,), Axis.PYTHON),
    ],
)
def test_the_narrowest_cause_comes_first(axes: tuple[Axis, ...], first: Axis) -> None:
    causes = rank(axes)
    assert causes[0].axis is first
    assert {cause.axis for cause in causes} == set(axes)


def test_findings_stand_beside_the_cause_that_they_are_about() -> None:
    found = [
        Finding("a.py", line, 1, code, "is what it is")
        for line, code in enumerate(("SH013", "SH015", "SH001"), 1)
    ]
    seed, order = rank((Axis.ORDER, Axis.HASH_SEED), found)
    assert [place.line for place in seed.places] == [1]
    assert [place.line for place in order.places] == [2]
    assert seed.record()["places"][0]["code"] == "SH013"


def test_every_axis_has_a_sentence_and_rules_that_exist() -> None:
    assert set(SENTENCES) == set(RULES) == set(Axis)
    assert {code for codes in RULES.values() for code in codes} <= set(LINT_RULES)
