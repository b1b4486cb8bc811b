"""What a person types at `simharness play`, read as calls."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simharness.cli.prompt import completions
from simharness.cli.typed import Mistyped, kind_text, read_calls, usage
from simharness.product.registry import load_product

if TYPE_CHECKING:
    from simharness.product.tool import ToolSpec

TOOLS: dict[str, ToolSpec] = {
    spec.name: spec
    for name in ("crm", "helpdesk", "marketplace", "ide")
    for spec in load_product(name).tools.values()
}


def read(line: str) -> list[tuple[str, Any]]:
    return [(call.tool, call.args) for call in read_calls(line, TOOLS)]


@pytest.mark.parametrize(
    "line",
    [
        "get_deal 42",
        "get_deal deal_id=42",
        "get_deal  deal_id = 42 ",
        'get_deal {"deal_id": 42}',
        'get_deal{"deal_id":42}',
    ],
)
def test_one_call_has_many_forms(line: str) -> None:
    assert read(line) == [("get_deal", {"deal_id": 42})]


@pytest.mark.parametrize(
    ("line", "arguments"),
    [
        ("list_deals negotiation", {"stage": "negotiation"}),
        ("list_deals null 7", {"stage": None, "owner_id": 7}),
        ("list_deals page=2 stage=negotiation", {"page": 2, "stage": "negotiation"}),
        ("finish It is done, and paid.", {"message": "It is done, and paid."}),
        ("finish It's so. outcome=refused", {"message": "It's so.", "outcome": "refused"}),
        ('finish "It is" done a:1,b:2', {"message": "It is", "outcome": "done", "refs": ["a:1", "b:2"]}),  # noqa: E501
        ("finish 'say \"it\"'", {"message": 'say "it"'}),
        ("reply TK-7 We paid it back. public=true", {"ticket_id": "TK-7", "body": "We paid it back.", "public": True}),  # noqa: E501
        ("update_deal 42 fields.next_step=call back fields.amount=5 if_version=3", {"deal_id": 42, "fields": {"next_step": "call back", "amount": 5}, "if_version": 3}),  # noqa: E501
        ('update_deal 42 {"amount": 5}', {"deal_id": 42, "fields": {"amount": 5}}),
        ("hold_slots 1,2", {"slot_ids": [1, 2]}),
        ("hold_slots [1, 2]", {"slot_ids": [1, 2]}),
        ('run_command git log -1 && echo "x y" a=b', {"command": 'git log -1 && echo "x y" a=b'}),
        ("search_text def price path=shop", {"pattern": "def price", "path": "shop"}),
        ('edit_file path=a old_text="x\\n" new_text=""', {"path": "a", "old_text": "x\n", "new_text": ""}),  # noqa: E501
        ("pipeline_summary", {}),
        ("pipeline_summary {}", {}),
    ],
)  # fmt: skip
def test_words_take_the_types_of_the_schema(line: str, arguments: dict[str, object]) -> None:
    assert [told for _, told in read(line)] == [arguments]


def test_calls_that_are_sent_at_once() -> None:
    two = [("get_deal", {"deal_id": 42}), ("get_deal", {"deal_id": 43})]
    assert read("get_deal 42 & get_deal 43") == two
    assert read('get_deal {"deal_id": 42} & get_deal {"deal_id": 43}') == two
    assert read("finish 'a & b' & wait 5") == [("finish", {"message": "a & b"}), ("wait", {"seconds": 5})]  # noqa: E501  # fmt: skip


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("get_dael 42", "no tool is called 'get_dael'; did you mean get_deal"),
        ("get_deal", "argument 'deal_id' is missing\nusage: get_deal deal_id"),
        ("get_deal x", "argument 'deal_id' must be an integer, got 'x'"),
        ("get_deal 1 2", "'2' is one too many"),
        ("get_deal deal_id=1 deal_id=2", "deal_id is given twice"),
        ('get_deal {"deal_id": 42} x', "'x' is one too many"),
        ("get_deal deel_id=1", "no argument 'deel_id'; did you mean deal_id?"),
        ("update_deal 42 amount=5", "no argument 'amount'; did you mean fields.amount?"),
        ("update_deal 42 fields.colour=red", "fields has no field 'colour'"),
        ("get_ticket 7", "must be an id such as TK-7"),
        ('finish "x', "is no JSON: Unterminated string"),
        ("finish 'x", "isn't closed"),
        ("& get_deal 1", "the name of a tool comes first"),
        ('{"deal_id": 1}', "the name of a tool comes first"),
    ],
)
def test_slips_are_told_with_what_would_do(line: str, told: str) -> None:
    with pytest.raises(Mistyped) as caught:
        read(line)
    assert told in str(caught.value)


PIECES = st.lists(
    st.one_of(
        st.sampled_from([*TOOLS, *"=&{}[1 ", '"', "'", "deal_id=", "fields."]),
        st.text(max_size=6),
    ),
    max_size=12,
)  # fmt: skip


@given(PIECES)
def test_any_line_is_a_call_that_its_tool_takes_or_is_mistyped(pieces: list[str]) -> None:
    line = "".join(pieces).strip()
    if not line:
        return
    try:
        calls = read_calls(line, TOOLS)
    except Mistyped:
        return
    for call in calls:
        TOOLS[call.tool].check(dict(cast("dict[str, object]", call.args)))
        json.dumps(call.args)


@given(st.text(min_size=1), st.booleans())
def test_a_text_in_json_quotes_arrives_as_it_is(text: str, named: bool) -> None:
    line = f"say {'text=' if named else ''}{json.dumps(text)}"
    assert read(line) == [("say", {"text": text})]


def test_help_names_every_argument() -> None:
    for spec in TOOLS.values():
        assert all(parameter.name in usage(spec) for parameter in spec.parameters)
        assert all(kind_text(parameter.schema) for parameter in spec.parameters)
    (since,) = (p for p in TOOLS["deal_changes"].parameters if p.name == "since")
    assert kind_text(since.schema) == "instant such as 2026-03-05T14:00:00Z"


@pytest.mark.parametrize(
    ("before", "word", "offered"),
    [
        ("", "get_de", ["get_deal "]),
        ("", "qu", ["quit "]),
        ("help ", "get_de", ["get_deal "]),
        ("get_deal ", "", ["deal_id="]),
        ("wait 5 & get_deal ", "d", ["deal_id="]),
        ("list_deals ", "stage=nego", ["stage=negotiation "]),
        ("list_deals page=2 ", "pa", []),
        ("update_deal 42 ", "fields.am", ["fields.amount="]),
        ("update_deal 42 ", "fields.legal=", ["fields.legal=none ", "fields.legal=in_review "]),
        ("no_such_tool ", "x", []),
    ],
)
def test_tab_offers_what_fits(before: str, word: str, offered: list[str]) -> None:
    assert list(completions(before, word, TOOLS, ["help", "quit"])) == offered
