"""A tool's schema and check come from one signature; a check answers whatever it is sent."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypedDict

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from simharness.api import (
    Answer,
    Bounds,
    Instant,
    Operation,
    Page,
    Product,
    Row,
    format_instant,
    tool,
)
from simharness.errors import UsageError
from simharness.product.tool import (
    INT_MAX,
    RESERVED_ARGUMENTS,
    RESERVED_TOOLS,
    TEXT_MAX,
    BadArgument,
    ToolSpec,
    local_tool,
    paged,
    tool_spec,
)

if TYPE_CHECKING:
    from collections.abc import Callable


class Fields(TypedDict, total=False):
    title: str
    amount: Annotated[int, Bounds(0, 100)]
    due: Instant


class Everything(Product):
    """A product with one tool of every kind of argument."""

    name = "everything"

    @tool
    def act(
        self,
        op: Operation,
        number: int,
        percent: Annotated[int, Bounds(0, 100)],
        text: str,
        flag: bool,
        stage: Literal["open", "shut"],
        at: Instant,
        fields: Fields,
        numbers: list[int],
        note: str | None = None,
        page: Annotated[int, Bounds(1, 9)] = 1,
        until: Instant | None = None,
    ) -> Answer[dict[str, Any]]:
        """Act on everything."""
        yield from ()
        return {}

    @local_tool
    def rest(self, op: Operation) -> Answer[dict[str, Any]]:
        """Do nothing."""
        yield from ()
        return {}


ACT = Everything.tools["act"]
GOOD: dict[str, object] = {
    "number": 7,
    "percent": 50,
    "text": "hello",
    "flag": True,
    "stage": "open",
    "at": "1970-01-01T00:00:01Z",
    "fields": {"title": "x"},
    "numbers": [1, 2],
}


def checked(**changes: object) -> dict[str, Any]:
    return ACT.check({**GOOD, **changes})


# --- the schema -----------------------------------------------------------------------------------


def test_the_schema_says_what_the_hints_say() -> None:
    schema = ACT.schema
    assert schema["name"] == "act"
    assert schema["description"] == "Act on everything."
    assert schema["parameters"]["required"] == list(GOOD)
    assert schema["parameters"]["additionalProperties"] is False
    date = {"type": "string", "format": "date-time"}
    assert schema["parameters"]["properties"] == {
        "number": {"type": "integer"},
        "percent": {"type": "integer", "minimum": 0, "maximum": 100},
        "text": {"type": "string"},
        "flag": {"type": "boolean"},
        "stage": {"type": "string", "enum": ["open", "shut"]},
        "at": date,
        "fields": {
            "type": "object",
            "properties": {
                "title": {"type": "string"},
                "amount": {"type": "integer", "minimum": 0, "maximum": 100},
                "due": date,
            },
            "additionalProperties": False,
            "minProperties": 1,
        },
        "numbers": {"type": "array", "items": {"type": "integer"}},
        "note": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        "page": {"type": "integer", "minimum": 1, "maximum": 9},
        "until": {"anyOf": [date, {"type": "null"}]},
    }
    json.dumps(schema)


def test_a_tool_without_arguments_has_an_empty_schema() -> None:
    rest = Everything.tools["rest"]
    assert rest.local
    assert not ACT.local
    assert rest.schema["parameters"]["properties"] == {}
    assert rest.check({}) == {}
    with pytest.raises(BadArgument, match=r"^no argument is called 'x'; arguments: none"):
        rest.check({"x": 1})


def test_every_product_has_the_tools_of_all() -> None:
    assert list(Everything.tools) == ["act", "finish", "rest", "say", "wait"]


# --- the check ------------------------------------------------------------------------------------


def test_arguments_that_fit_are_given_as_they_are_meant() -> None:
    assert checked() == {**GOOD, "at": 1_000_000}
    more: dict[str, object] = {"note": None, "page": 9, "until": None}
    assert checked(**more) == {**GOOD, "at": 1_000_000, **more}
    assert checked(until="1970-01-01T00:00:02Z")["until"] == 2_000_000


@pytest.mark.parametrize(
    ("name", "sent", "value"),
    [
        ("number", 2.0, 2),
        ("number", -0.0, 0),
        ("number", INT_MAX, INT_MAX),
        ("number", -INT_MAX, -INT_MAX),
        ("percent", 0, 0),
        ("percent", 100.0, 100),
        ("text", "", ""),
        ("text", "\ud800", "\ud800"),
        ("text", "x" * TEXT_MAX, "x" * TEXT_MAX),
        ("flag", False, False),
        ("numbers", [], []),
        ("numbers", [1.0, 2], [1, 2]),
        ("numbers", [0] * 1_000, [0] * 1_000),
        ("fields", {"amount": 5.0}, {"amount": 5}),
        ("fields", {"due": "1970-01-01T00:00:01Z", "title": ""}, {"due": 1_000_000, "title": ""}),
    ],
)
def test_a_value_that_fits_is_taken(name: str, sent: object, value: object) -> None:
    got = checked(**{name: sent})[name]
    assert got == value
    assert type(got) is type(value)


@pytest.mark.parametrize(
    ("name", "sent", "message"),
    [
        ("number", True, "argument 'number' must be an integer, got True"),
        ("number", 2.5, "argument 'number' must be an integer, got 2.5"),
        ("number", "2", "argument 'number' must be an integer, got '2'"),
        ("number", None, "argument 'number' must be an integer, got None"),
        ("number", float("nan"), "must be an integer, got nan"),
        ("number", float("inf"), "must be an integer, got inf"),
        ("number", 2**63, "argument 'number' must be from -9223372036854775807 to"),
        ("number", 1e300, "argument 'number' must be from -9223372036854775807 to"),
        ("percent", 101, "argument 'percent' must be from 0 to 100, got 101"),
        ("percent", -1, "argument 'percent' must be from 0 to 100, got -1"),
        ("text", 5, "argument 'text' must be a string, got 5"),
        ("text", None, "argument 'text' must be a string"),
        ("text", "x" * (TEXT_MAX + 1), "argument 'text' is 20001 characters long"),
        ("flag", 1, "argument 'flag' must be true or false, got 1"),
        ("flag", "true", "argument 'flag' must be true or false"),
        ("stage", "ajar", "argument 'stage' must be one of open, shut, got 'ajar'"),
        ("stage", ["open"], "argument 'stage' must be one of open, shut"),
        ("at", 5, "argument 'at' must be an ISO 8601 UTC text, got 5"),
        ("at", "tomorrow", "argument 'at': unreadable instant 'tomorrow'"),
        ("at", "2026-03-02T09:00:00", "has no zone"),
        ("at", "2026-02-30T09:00:00Z", "no such date"),
        ("until", "soon", "argument 'until': unreadable instant"),
        ("note", 5, "argument 'note' must be a string"),
        ("page", None, "argument 'page' must be an integer, got None"),
        ("numbers", "12", "argument 'numbers' must be an array"),
        ("numbers", {"0": 1}, "argument 'numbers' must be an array"),
        ("numbers", [1, "2"], "argument 'numbers[1]' must be an integer, got '2'"),
        ("numbers", [0] * 1_001, "argument 'numbers' has 1001 items, at most 1000"),
        ("fields", {}, "argument 'fields' names no field; fields: title, amount, due"),
        ("fields", [], "argument 'fields' must be an object, got []"),
        ("fields", {"owner": 1}, "'fields' has no field 'owner'; fields: title, amount, due"),
        ("fields", {"amount": 101}, "argument 'fields.amount' must be from 0 to 100"),
        ("fields", {"title": None}, "argument 'fields.title' must be a string"),
        ("other", 1, "no argument is called 'other'; arguments: number, percent, text"),
    ],
)
def test_a_value_that_does_not_fit_is_refused_by_name(
    name: str, sent: object, message: str
) -> None:
    with pytest.raises(BadArgument) as caught:
        checked(**{name: sent})
    assert message in str(caught.value)


@pytest.mark.parametrize("name", list(GOOD))
def test_a_required_argument_that_is_missing_is_named(name: str) -> None:
    arguments = {key: value for key, value in GOOD.items() if key != name}
    with pytest.raises(BadArgument, match=rf"^argument '{name}' is missing$"):
        ACT.check(arguments)


def nested(depth: int) -> list[object]:
    out: list[object] = []
    for _ in range(depth):
        out = [out]
    return out


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)
NEARLY = st.sampled_from([*GOOD.values(), 0, 100, "2026-13-01T00:00:00Z", {"due": "x"}, [True]])


@given(
    st.dictionaries(st.sampled_from([p.name for p in ACT.parameters]) | st.text(), JSON | NEARLY)
)
@example({**GOOD, "fields": {"\ud800": 1}})
@example({**GOOD, "\ud800": 1})
@example({**GOOD, "at": "9" * 100})
def test_whatever_is_sent_is_taken_or_refused_as_a_bad_argument(
    arguments: dict[str, object],
) -> None:
    try:
        taken = ACT.check(arguments)
    except BadArgument as error:
        refusal = error
    else:
        assert taken.keys() == arguments.keys() >= GOOD.keys()
        return
    assert len(str(refusal)) < 400 or arguments.keys() - {p.name for p in ACT.parameters}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("number", 10**5_000),
        ("fields", {"amount": -(10**5_000)}),
        ("text", [10**5_000]),
        ("text", nested(sys.getrecursionlimit() * 10)),
    ],
    ids=["int", "field", "list", "nesting"],
)
def test_a_value_too_large_to_show_is_refused_all_the_same(name: str, value: object) -> None:
    with pytest.raises(BadArgument, match=rf"^argument '{name}.* too large to show$"):
        checked(**{name: value})


@given(st.data())
def test_arguments_by_the_schema_are_always_taken(data: st.DataObject) -> None:
    whole = st.integers(0, 100)
    strategies: dict[str, st.SearchStrategy[object]] = {
        "number": st.integers(-INT_MAX, INT_MAX),
        "percent": whole,
        "text": st.text(),
        "flag": st.booleans(),
        "stage": st.sampled_from(["open", "shut"]),
        "at": st.integers(0, 2**50).map(format_instant),
        "fields": st.fixed_dictionaries({"amount": whole}, optional={"title": st.text()}),
        "numbers": st.lists(st.integers(-INT_MAX, INT_MAX)),
    }
    optional: dict[str, st.SearchStrategy[object]] = {
        "note": st.none() | st.text(),
        "page": st.integers(1, 9),
    }
    arguments = data.draw(st.fixed_dictionaries(strategies, optional=optional))
    assert ACT.check(arguments).keys() == arguments.keys()


# --- what can't be published ----------------------------------------------------------------------


def named(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    function.__name__ = name
    return tool(function)


@pytest.mark.parametrize("name", sorted(RESERVED_TOOLS))
def test_a_tool_by_a_reserved_name_is_refused(name: str) -> None:
    def function(self: object, op: Operation) -> Answer[dict[str, Any]]:
        """Do it."""
        yield from ()
        return {}

    with pytest.raises(UsageError, match=rf"^a tool can't be called '{name}'"):
        tool_spec(named(function, name))
    with pytest.raises(UsageError, match=rf"^a tool can't be called '{name}'"):
        type("Bad", (Product,), {name: named(function, name)})


@pytest.mark.parametrize("name", sorted(RESERVED_ARGUMENTS))
def test_an_argument_by_a_reserved_name_is_refused(name: str) -> None:
    arguments = "me, op, self" if name == "self" else f"self, op, {name}"
    space: dict[str, Any] = {}
    exec(f"def act({arguments}: int):\n    'Do it.'\n    yield", space)
    with pytest.raises(UsageError, match=rf"^argument '{name}' of tool 'act' can't be called that"):
        tool_spec(tool(space["act"]))


def test_a_tool_without_a_docstring_is_refused() -> None:
    def act(self: object, op: Operation) -> Answer[dict[str, Any]]:
        yield from ()
        return {}

    with pytest.raises(UsageError, match=r"^tool 'act' has no docstring"):
        tool_spec(tool(act))


@pytest.mark.parametrize("hint", [float, dict, "int | str", set[int], bytes, None])
def test_an_argument_of_a_type_that_no_agent_can_send_is_refused(hint: Any) -> None:
    def act(self: object, op: Operation, value: Any) -> Answer[dict[str, Any]]:
        """Do it."""
        yield from ()
        return {}

    act.__annotations__["value"] = hint
    with pytest.raises(UsageError, match=r"^argument act\.value has type"):
        tool_spec(tool(act))


# --- pages ----------------------------------------------------------------------------------------


@given(st.integers(0, 70))
def test_pages_give_every_row_once_and_in_order(number: int) -> None:
    rows = tuple(Row(id=i) for i in range(number))
    got: list[Row] = []
    page: int | None = 1
    while page is not None:
        cut: Page[Row] = paged("rows", rows, page)
        assert cut.page == page
        assert len(cut.rows) <= 20
        got += cut.rows
        page = cut.next_page
    assert tuple(got) == rows


def test_a_page_beyond_the_end_is_empty_and_the_last() -> None:
    cut = paged("rows", (Row(id=1),), 5)
    assert (cut.rows, cut.next_page) == ((), None)


def test_a_spec_knows_the_type_of_its_answer() -> None:
    assert isinstance(ACT, ToolSpec)
    assert ACT.result == dict[str, Any]
