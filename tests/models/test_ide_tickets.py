"""The IDE's tickets: each is broken, can be mended, and can't be cheated."""

from __future__ import annotations

import unittest
from typing import TYPE_CHECKING, Any

import pytest

from benchmarks.tickets import faults_of
from simharness.api import sandbox
from simharness.models.ide.tickets import FAMILIES, Draw, draw_ticket
from simharness.models.ide.tickets.edits import edits
from simharness.models.ide.tickets.program import Outcome, Program
from simharness.models.ide.tickets.sketch import same_outcomes
from simharness.models.ide.tickets.text import fill, reflowed
from tests.effort import times

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

SEEDS = 6
MANY = times(20)
"""Tickets of a family whose test files are run: 6 and 12 of the intervals had a bend that wasn't
one."""


@pytest.mark.skipif(not sandbox.is_installed(), reason="needs wasmtime")
@pytest.mark.parametrize("family", FAMILIES)
def test_a_ticket_holds_what_it_promises(family: str) -> None:
    # The flaky test takes many runs, and is of no family.
    flaky = family == "shipping"
    assert faults_of(draw_ticket(family, 2**31 + 7), flaky=flaky) == []


@pytest.mark.parametrize("family", FAMILIES)
def test_tickets_differ_and_tell_right_from_nearly_right(family: str) -> None:
    texts: dict[str, int] = {}
    for seed in range(SEEDS):
        ticket = draw_ticket(family, seed)
        texts[repr((ticket.body, ticket.files, ticket.tests))] = seed
        base = {**ticket.files, **ticket.tests}
        right = Program(ticket.solution).run(ticket.probes)
        assert same_outcomes(right, Program({**base, **ticket.reference}).run(ticket.probes)), seed
        nothing: dict[str, str] = {}
        for patch in (nothing, ticket.hardcode, *ticket.near_misses):
            outcomes = Program({**base, **patch}).run(ticket.probes)
            assert not same_outcomes(right, outcomes), (seed, patch)
    assert len(texts) == SEEDS


def cases_in(files: Mapping[str, str], path: str) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Give the tests of a file of the generators' own, by id."""
    module = Program(files).load(path.removesuffix(".py").replace("/", "."))
    for name, found in vars(module).items():
        if name.startswith("test_"):
            yield f"{path}::{name}", found
        elif name.startswith("Test"):
            suite: type[Any] = found
            for method in [own for own in vars(suite) if own.startswith("test_")]:
                holder = suite(method) if issubclass(suite, unittest.TestCase) else suite()
                yield f"{path}::{name}::{method}", getattr(holder, method)


def failed_of(files: Mapping[str, str], path: str) -> set[str]:
    """Run a test file of the generators' own; gives the ids of what fails."""
    failed: set[str] = set()
    ran = 0
    for test_id, test in cases_in(files, path):
        ran += 1
        try:
            test()
        except (Exception, pytest.fail.Exception):  # whatever a test raises fails it
            failed.add(test_id)
    assert ran
    return failed


@pytest.mark.parametrize("family", FAMILIES)
def test_test_files_fail_where_tickets_say_so(family: str) -> None:
    for seed in range(MANY):
        ticket = draw_ticket(family, seed)
        (path,) = ticket.tests
        bent = ticket.contradiction
        assert bent.path == path
        assert failed_of({**ticket.files, **ticket.tests}, path) == set(ticket.failing), seed
        for right in ({**ticket.files, **ticket.reference}, ticket.solution):
            assert failed_of({**right, **ticket.tests}, path) == set(), seed
            assert failed_of({**right, path: bent.text}, path) == {bent.test_id}, seed


@pytest.mark.parametrize(
    ("given", "expected", "passes"),
    [
        (Outcome([1], after=([1, 2],)), Outcome([1], after=([2, 1],)), True),
        (Outcome([1]), Outcome([2]), False),
        (Outcome(True), Outcome(1), True),
        (Outcome(1), Outcome(True), False),
        (Outcome(0), Outcome(None), False),
        (Outcome(None), Outcome(None), True),
        (Outcome(raised="KeyError"), Outcome(raised="KeyError"), True),
        (Outcome(raised="KeyError"), Outcome(raised="ValueError"), False),
        (Outcome(raised="KeyError"), Outcome(1), False),
        (Outcome(kept=True), Outcome(kept=True), True),
    ],
)
def test_a_test_sees_values_and_errors_alone(
    given: Outcome, expected: Outcome, passes: bool
) -> None:
    assert given.meets(expected) is passes


def test_a_ticket_is_a_function_of_its_seed() -> None:
    for family in FAMILIES:
        assert draw_ticket(family, 5) == draw_ticket(family, 5)


def test_a_draw_for_one_purpose_shifts_no_other() -> None:
    one, two = Draw(3, "shipping"), Draw(3, "shipping")
    one.below("more", 1000)
    assert [one.below("price", 10**6) for _ in range(5)] == [
        two.below("price", 10**6) for _ in range(5)
    ]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("a\nb\nc\n", "a\nx\nc\n"),
        ("a\na\na\n", "a\nx\na\n"),
        ("a\nb\n", "a\nnew\nb\n"),
        ("x = 1\ny = 1\nx = 1\n", "x = 2\ny = 1\nx = 3\n"),
        ("only", "another"),
        ("a\nb\na\nb\n", "b\na\nb\na\nb\n"),
        ("a\n", ""),
        ("same\n", "same\n"),
    ],
)
def test_edits_lead_from_one_text_to_the_other(old: str, new: str) -> None:
    text = old
    for edit in edits(old, new):
        assert text.count(edit.old_text) == 1
        text = text.replace(edit.old_text, edit.new_text)
    assert text == new


def test_a_place_takes_the_lines_of_its_value() -> None:
    values = {"body": "if $x:\n    go($x)", "x": "y", "none": ""}
    template = "def f($x):\n    $body\n    $none\n    return ${x}s, '$5'"
    assert fill(template, values) == "def f(y):\n    if y:\n        go(y)\n    return ys, '$5'"


def test_prose_is_broken_anew_and_examples_are_not() -> None:
    long = "word " * 30
    example = "        f(1)\n        f(2)\n"
    code = f'def f():\n    """Give {long}.\n\n    One\n    two.\n\n{example}    """\n'
    _, first, second, *rest = reflowed(code).split("\n")
    assert first.count("word") + second.count("word") == 30
    assert max(len(first), len(second)) < 100
    assert rest == ["", "    One two.", "", "        f(1)", "        f(2)", '    """', ""]
