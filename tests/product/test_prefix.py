"""A product whose rows are named with a prefix takes and gives these names everywhere."""

from __future__ import annotations

from typing import Any

import pytest

from simharness.findings.schema import fits
from simharness.models.helpdesk import Helpdesk
from simharness.product.result import row_problem
from simharness.product.tool import BadArgument
from tests.models.desk_house import ANYBODY, House


def test_a_schema_says_what_an_id_looks_like() -> None:
    schema = Helpdesk.tools["get_ticket"].schema["parameters"]
    assert schema["properties"]["ticket_id"] == {
        "type": "string",
        "pattern": "^TK-[1-9][0-9]{0,17}$",
    }
    for ticket_id, good in (("TK-1", True), ("CH-1", False), ("TK-1\n", False), (1, False)):
        assert fits(schema, {"ticket_id": ticket_id}) is good


@pytest.mark.parametrize("value", [1, "1", "CH-1", "tk-1", "TK-", None, ["TK-1"], True])
def test_an_argument_that_is_no_such_id_is_the_callers_error(value: object) -> None:
    with pytest.raises(BadArgument, match="'ticket_id' must be an id such as TK-7"):
        Helpdesk.tools["get_ticket"].check({"ticket_id": value})


def test_an_answer_with_a_bare_number_has_the_wrong_shape() -> None:
    row = House().call(ANYBODY, "get_ticket", ticket_id="TK-1")
    row_type = Helpdesk.specs()["tickets"].row_type
    assert row_problem(row, row_type) == ""
    assert "id is 1" in row_problem({**row, "id": 1}, row_type)
    assert "merged_into is 'CH-1'" in row_problem({**row, "merged_into": "CH-1"}, row_type)


@pytest.mark.parametrize(
    ("name", "row"),
    [
        ("TK-1", "tickets:1"),
        ("tickets:TK-1", "tickets:1"),
        ("tickets:1", "tickets:1"),
        ("charges:TK-1", "charges:TK-1"),
        ("orders:1", "orders:1"),
        ("1", "1"),
        ("", ""),
    ],
)
def test_a_row_has_one_name_in_the_journal(name: str, row: str) -> None:
    assert Helpdesk.row_name(name) == row


@pytest.mark.parametrize("key", [1, "TK-1"])
def test_operations_take_ids_either_way(key: object) -> None:
    house = House()
    actor = house.worker("job")

    def did(operation: str, **arguments: Any) -> Any:
        return house.perform(actor, operation, tx="one", **arguments)

    did("db.begin")
    did("db.lock", table="tickets", id=key)
    did("db.update", table="tickets", id=key, fields={"merged_into": "TK-2"})
    told = did("db.read", view="tickets.detail", id=key)
    assert (told.id, told.merged_into) == (1, 2)
    did("db.commit")
    assert house.row("tickets", 1).merged_into == 2
    did("db.begin")
    did("db.delete", table="tickets", id=key)
    did("db.commit")
    assert house.row("tickets", 1) is None


@pytest.mark.parametrize(
    ("key", "fields"), [("CH-1", {}), ("TK-1", {"merged_into": "CH-1"}), ("x", {}), (None, {})]
)
def test_operations_refuse_what_names_another_table(key: object, fields: dict[str, object]) -> None:
    house = House()
    actor = house.worker("job")
    house.perform(actor, "db.begin", tx="one")
    arguments = {"table": "tickets", "id": key, "fields": fields or {"subject": "x"}}
    told = house.perform(actor, "db.update", tx="one", **arguments)
    assert told.code == "invalid_arguments"


def test_a_table_may_be_called_as_no_attribute_is() -> None:
    house = House()
    assert Helpdesk.specs()["ledger"].attribute == "entries"
    assert house.desk.stores["ledger"] is house.desk.entries
    assert "ledger.list.cache.ttl" in Helpdesk.knobs
