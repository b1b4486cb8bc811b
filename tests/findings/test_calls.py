"""H120, H121, H122, H123, H124, H314 and H410 to H413 over rows and answers written by hand."""

from __future__ import annotations

from typing import Any

import pytest

from simharness.findings.calls import (
    leaked_internals,
    misleading_refusals,
    silent_timeouts,
    turned_clocks,
    untrue_outcomes,
)
from simharness.findings.schema import fits, plain_object
from simharness.findings.shapes import changed_schemas, changed_shapes, misjudged_calls
from simharness.findings.story import StepSpan, Surface, surface_of
from simharness.models.crm import Crm
from tests.findings.journal import AGENT_CALL, Journal, deal, page, span

UNAVAILABLE = {"code": "unavailable", "message": "no answer in time", "retryable": True}

# --- time-outs and outcomes -----------------------------------------------------------------------


def test_a_time_out_answered_with_an_empty_success_is_silent() -> None:
    j = Journal()
    call = j.call(tool="get_deal", writes=0)
    late = j.late("default", t=30)
    (finding,) = j.found(silent_timeouts, span((True, {})))
    assert (finding.code, finding.events, finding.t) == ("H120", (call, late), 30)


@pytest.mark.parametrize("mode", ["unknown_outcome", "error", "budget"])
def test_a_time_out_told_as_an_error_is_not_silent(mode: str) -> None:
    j = Journal()
    j.call()
    j.late(mode)
    assert j.codes(silent_timeouts) == []


def test_a_write_answered_as_done_that_committed_nothing_is_a_phantom() -> None:
    j = Journal()
    call = j.call()
    answer = j.answer(t=9)
    (finding,) = j.found(untrue_outcomes, span((True, deal(1))))
    assert (finding.code, finding.events, finding.t) == ("H121", (call, answer), 9)
    assert (
        finding.explanation == "update_deal of agent#1 was answered as done and committed nothing"
    )


def test_a_phantom_success_of_a_background_user_counts_as_well() -> None:
    j = Journal()
    j.call("user/1", 8)
    j.answer("user/1", 8)
    assert j.codes(untrue_outcomes) == ["H121"]


def test_a_write_that_committed_a_read_and_a_call_without_an_answer_are_no_phantoms() -> None:
    j = Journal()
    j.call()
    j.commit(2, owner="agent", n=AGENT_CALL)
    j.answer()
    j.call("user/1", 8, writes=0)
    j.answer("user/1", 8)
    j.call("user/2", 8)
    assert j.codes(untrue_outcomes, span((True, deal(2)))) == []


def test_a_write_told_as_failed_that_committed_is_a_phantom_failure() -> None:
    j = Journal()
    j.call()
    made = j.commit(2, owner="agent", n=AGENT_CALL)
    answer = j.answer(status="conflict")
    (finding,) = j.found(untrue_outcomes, span((False, {"code": "conflict"})))
    assert (finding.code, finding.keys, finding.events) == ("H122", ("deals:7",), (made, answer))
    assert finding.evidence["told"] == "conflict"


@pytest.mark.parametrize("owner", ["agent", "user/1"])
def test_giving_up_on_a_lock_told_as_another_cause_misleads(owner: str) -> None:
    def journal(status: str) -> Journal:
        j = Journal()
        n = AGENT_CALL if owner == "agent" else 8
        j.call(owner, n)
        j.wait(owner, "user/2", n)
        j.give_up(owner, n, t=30)
        j.answer(owner, n, status=status, t=30)
        return j

    for status in ("not_found", "invalid_arguments", "forbidden"):
        (finding,) = journal(status).found(misleading_refusals)
        assert (finding.code, finding.events, finding.t) == ("H123", (2, 3), 30)
        assert finding.evidence["told"] == status
        assert "gave up waiting for the lock deals:7" in finding.explanation
    for status in ("locked", "conflict", "unavailable", "ok"):
        assert journal(status).codes(misleading_refusals) == []


def test_whoever_got_the_lock_after_all_is_refused_for_what_it_found_then() -> None:
    j = Journal()
    j.call("user/1", 8)
    j.give_up("user/1", 8, t=30)
    j.lock("user/1", 8, t=40)
    j.answer("user/1", 8, status="not_found", t=50)
    assert j.codes(misleading_refusals) == []


def test_what_was_told_counts_more_than_the_status_of_the_handler() -> None:
    j = Journal()
    j.call()
    j.commit(2, owner="agent", n=AGENT_CALL)
    j.answer(status="ok")
    assert j.codes(untrue_outcomes, span((False, UNAVAILABLE))) == ["H122"]
    assert j.codes(untrue_outcomes, span()) == []


def test_a_time_out_answered_as_failure_is_false_if_the_write_came_about_later() -> None:
    for mode, found in (("error", ["H122"]), ("unknown_outcome", []), ("default", [])):
        j = Journal()
        j.call()
        j.late(mode)
        j.commit(2, owner="agent", n=AGENT_CALL)
        j.answer()
        assert j.codes(untrue_outcomes, span((mode == "default", UNAVAILABLE))) == found


def test_a_time_out_answered_as_failure_is_true_if_nothing_came_of_it() -> None:
    j = Journal()
    j.call()
    j.late("error")
    assert j.codes(untrue_outcomes, span((False, UNAVAILABLE))) == []


# --- internals ------------------------------------------------------------------------------------


def told(ok: bool, value: Any, arguments: str = "{}") -> list[str]:
    j = Journal()
    j.call(tool="get_deal", writes=0)
    j.answer()
    found = j.found(leaked_internals, span((ok, value), calls=(("get_deal", arguments),)))
    return [f.evidence["shown"] for f in found]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Traceback (most recent call last):\n ...", "Traceback (most recent call last)"),
        ('File "x", line 3', 'File "x", line 3'),
        ("error in crm/product.py at 12", "crm/product.py"),
        ("this is a mock service", "mock"),
        ("raised by simharness.parts", "simharness"),
        ("the Simulator is busy", "Simulator"),
        ("the harness failed", "harness"),
    ],
)
def test_errors_do_not_show_what_is_behind_the_product(text: str, shown: str) -> None:
    assert told(False, {"code": "internal", "message": text}) == [shown]
    assert told(True, {"answer": {"notes": [text]}}) == [shown]


@pytest.mark.parametrize(
    "text", ["a mockup", "hammock", "harnessed", "unittest.mock", "copy.python"]
)
def test_words_that_only_look_like_it_are_no_leak(text: str) -> None:
    assert told(False, {"code": "internal", "message": text}) == []


def test_what_rows_hold_what_is_quoted_and_what_the_agent_sent_is_no_leak() -> None:
    assert told(True, deal(1, title="mock interviews")) == []
    assert told(True, {"stdout": "Traceback (most recent call last)"}) == []
    assert told(False, {"message": "no field 'mock'"}, '{"mock": 1}') == []


# --- order ----------------------------------------------------------------------------------------


def test_rows_that_run_backward_are_found_once() -> None:
    j = Journal()
    for t in (5, 5, 4, 3):
        j.schema(str(t))
        j.rows[-1] = type(j.rows[-1])(len(j.rows) - 1, "SCHEMA", t, j.rows[-1].values)
    (finding,) = j.found(turned_clocks)
    assert (finding.code, finding.events) == ("H314", (1, 2))


def test_answers_that_run_backward_or_come_before_their_rows_are_found() -> None:
    j = Journal()
    j.call(t=1)
    j.answer(t=4)
    first = span(t=4)
    assert j.codes(turned_clocks, first) == []
    assert j.codes(turned_clocks, span(t=3)) == ["H314"]
    j.call(t=6, n=2 << 16)
    assert j.codes(turned_clocks, first, span(t=6, step=2, first=2)) == []
    assert j.codes(turned_clocks, span(t=9), span(t=8, step=2, first=2)) == ["H314"]


def test_an_operation_has_one_answer() -> None:
    j = Journal()
    j.call()
    first = j.answer()
    second = j.answer()
    (finding,) = j.found(turned_clocks)
    assert (finding.code, finding.events) == ("H314", (first, second))
    assert finding.explanation == "agent#1 was answered twice"
    calls = (("get_deal", "{}"),)
    assert j.codes(turned_clocks, span((True, {}), (True, {}), calls=calls)) == ["H314"] * 2


# --- schemas --------------------------------------------------------------------------------------

SCHEMA = Surface({"get_deal": Crm.tools["get_deal"].schema["parameters"]}, {})


def test_schemas_that_change_are_told_with_each_change() -> None:
    j = Journal()
    j.schema("aa")
    assert j.codes(changed_schemas) == []
    j.schema("bb")
    (finding,) = j.found(changed_schemas)
    assert (finding.code, finding.events) == ("H410", (0, 1))
    assert finding.evidence == {"shown": "aa", "now": "bb"}


def test_a_call_that_fits_its_schema_is_not_refused_as_bad() -> None:
    j = Journal()
    j.bad_call()
    given = span((False, {}), calls=(("get_deal", '{"deal_id": 4}'),))
    assert j.codes(misjudged_calls, given, surface=SCHEMA) == ["H411"]
    assert j.codes(misjudged_calls, given, surface=None) == []
    for raw in ('{"deal_id": "4"}', "{}", '{"deal_id": 4, "x": 1}', '{"deal_id": true}'):
        given = span((False, {}), calls=(("get_deal", raw),))
        assert j.codes(misjudged_calls, given, surface=SCHEMA) == []


def test_a_call_that_does_not_fit_its_schema_is_refused() -> None:
    j = Journal()
    j.call(tool="get_deal", writes=0)
    for raw, found in (('{"deal_id": 4}', []), ('{"deal_id": "4"}', ["H412"]), ("{}", ["H412"])):
        given = span((True, deal(1)), calls=(("get_deal", raw),))
        assert j.codes(misjudged_calls, given, surface=SCHEMA) == found
    j.answer(status="invalid_arguments")
    given = span((False, {}), calls=(("get_deal", "{}"),))
    assert j.codes(misjudged_calls, given, surface=SCHEMA) == []


@pytest.mark.parametrize(
    "raw",
    ["", "nonsense", '"{}"', "[1]", '{"deal_id": 1, "deal_id": 2}', '{"deal_id": NaN}', "[" * 9999],
)
def test_arguments_that_can_be_read_in_two_ways_are_not_judged(raw: str) -> None:
    assert plain_object(raw) is None
    for j, found in ((Journal(), 0), (Journal(), 1)):
        if found:
            j.bad_call()
        else:
            j.call(tool="get_deal")
        given = span((False, {}), calls=(("get_deal", raw),))
        assert j.codes(misjudged_calls, given, surface=SCHEMA) == []


SAMPLES: list[tuple[dict[str, Any], list[Any], list[Any]]] = [
    ({"type": "integer", "minimum": 1, "maximum": 9}, [1, 9], [0, 10, 1.5, True, "1", None]),
    ({"type": "integer"}, [2**63 - 1], [2**63]),
    ({"type": "string"}, ["", "x" * 20_000], ["x" * 20_001, 1, None]),
    ({"type": "string", "format": "date-time"}, ["2026-03-02T09:00:00Z"], ["tomorrow"]),
    ({"type": "string", "enum": ["a", "b"]}, ["a"], ["c", 1]),
    ({"type": "boolean"}, [True], [1, "true"]),
    (
        {"type": "array", "items": {"type": "boolean"}},
        [[], [True] * 1000],
        [[1], [True] * 1001],
    ),
    ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, [1, None], ["x"]),
    (
        {"type": "object", "properties": {"a": {"type": "boolean"}}, "minProperties": 1},
        [{"a": True}],
        [{}, {"b": 1}, {"a": 1}, []],
    ),
]


@pytest.mark.parametrize(("schema", "good", "bad"), SAMPLES)
def test_values_fit_the_schemas_that_tools_publish(
    schema: dict[str, Any], good: list[object], bad: list[object]
) -> None:
    assert [fits(schema, value) for value in good] == [True] * len(good)
    assert [fits(schema, value) for value in bad] == [False] * len(bad)


def test_a_surface_holds_all_tools_and_tables() -> None:
    surface = surface_of(Crm)
    assert list(surface.schemas) == list(Crm.tools)
    assert surface.columns["deals"][:2] == ("id", "version")
    assert surface_of(Crm) is surface


# --- shapes ---------------------------------------------------------------------------------------


def shapes(*values: Any, tools: tuple[str, ...] = ()) -> list[str]:
    j = Journal()
    spans: list[StepSpan] = []
    for i, value in enumerate(values, 1):
        tool = tools[i - 1] if tools else "get_deal"
        first = j.call(n=i << 16, tool=tool, writes=0)
        j.answer(n=i << 16)
        spans.append(span((True, value), step=i, first=first, calls=((tool, "{}"),)))
    return [f.explanation for f in j.found(changed_shapes, *spans)]


def test_a_tool_answers_rows_of_the_same_columns() -> None:
    renamed = {("name" if k == "title" else k): v for k, v in deal(1).items()}
    assert shapes(deal(1), deal(2)) == []
    assert shapes(deal(1), renamed, renamed) == [
        "get_deal answers a row without title and with name"
    ]
    assert shapes(deal(1), renamed, tools=("get_deal", "get_account")) == []
    swapped = dict(reversed(deal(1).items()))
    assert shapes(deal(1), swapped) == ["get_deal answers a row with its columns in another order"]


def test_a_tool_answers_what_it_answered_before() -> None:
    assert shapes(deal(1), page(deal(1))) == ["get_deal answers a page, before a row"]
    assert shapes(deal(1), {}) == ["get_deal answers a object, before a row"]
    assert shapes({"a": 1}, {"b": 2}) == []
    assert shapes({"a": 1}, "b") == ["get_deal answers a str, before a object"]


def test_a_page_may_be_empty_and_its_rows_have_the_same_columns() -> None:
    renamed = {("name" if k == "title" else k): v for k, v in deal(1).items()}
    assert shapes(page(), page(deal(1)), page()) == []
    assert shapes(page(deal(1)), page(renamed)) == [
        "get_deal answers a row without title and with name"
    ]
    assert shapes(page(), page(truncated=True)) == ["get_deal answers a page with truncated"]


def test_errors_and_time_outs_have_shapes_of_their_own() -> None:
    j = Journal()
    j.call(tool="get_deal", writes=0)
    j.call(n=2 << 16, tool="get_deal", writes=0)
    j.late("default", n=2 << 16)
    spans = (span((True, deal(1))), span((True, {}), step=2, first=1))
    assert j.codes(changed_shapes, *spans) == []
    j.call(n=3 << 16, tool="get_deal", writes=0)
    assert j.codes(changed_shapes, *spans, span((False, {}), step=3, first=3)) == []
