"""What background actors can do: which operations there are, and what is refused."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from simharness.api import SECOND, Answer, Operation, operation
from simharness.errors import HarnessError, UnknownName, UsageError
from tests.product.conftest import Shop
from tests.product.harbour import Harbour, begun, ben, code, do

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.product.conftest import Bench


def test_operations_are_no_tools() -> None:
    assert not set(Shop.tools) & set(Shop.operations)
    assert list(Shop.operations) == sorted(Shop.operations)
    assert {"db.begin", "lease.acquire", "node.pause", "clock.step"} <= set(Shop.operations)


def test_products_add_operations_of_their_own(bench: Callable[..., Bench]) -> None:
    assert set(Harbour.operations) == {*Shop.operations, "ship.land"}
    b = bench({})
    template = Shop.specs()["items"].template(b.table)
    harbour = Harbour(b.world, {"items": template}, b.settings, 1_000)
    steps = harbour.perform(ben(b), "ship.land", {"item_id": 1, "pieces": 5})
    assert b.run(steps) == {"landed": 5}
    assert harbour.items.table.rows[1].stock == 5


@pytest.mark.parametrize(
    ("name", "says"),
    [("ship.land", "two operations 'ship.land'"), ("land", "can't be called 'land'")],
)
def test_names_of_operations_are_unique_and_have_a_dot(name: str, says: str) -> None:
    def again(self: Shop, op: Operation) -> Answer[dict[str, Any]]:
        """Land again."""
        yield from ()
        return {}

    with pytest.raises(UsageError, match=says):
        type("Twin", (Harbour,), {"again": operation(name)(again)})


BAD: list[tuple[str, dict[str, Any], str, str]] = [
    ("db.begin", {"tx": ""}, "invalid_arguments", "1 to 64 characters"),
    ("db.begin", {"tx": "t"}, "conflict", "open already"),
    ("db.begin", {}, "invalid_arguments", "'tx' is missing"),
    ("db.commit", {"tx": "u"}, "not_found", "begin it with db.begin"),
    (
        "db.update",
        {"tx": "t", "table": "item", "id": 1, "fields": {}},
        "invalid_arguments",
        "items",
    ),
    (
        "db.update",
        {"tx": "t", "table": "items", "id": 1, "fields": {}},
        "invalid_arguments",
        "no f",
    ),
    ("db.update", {"tx": "t", "table": "items", "id": 9, "fields": {"stock": 1}}, "not_found", "9"),
    (
        "db.update",
        {"tx": "t", "table": "items", "id": "1", "fields": {}},
        "invalid_arguments",
        "id",
    ),
    ("db.update", {"tx": "t", "table": "items", "id": 1, "fields": []}, "invalid_arguments", "obj"),
    (
        "db.update",
        {"tx": "t", "table": "items", "id": 1, "fields": {"stok": 1}},
        "invalid_arguments",
        "stock",
    ),
    (
        "db.update",
        {"tx": "t", "table": "items", "id": 1, "fields": {"version": 7}},
        "invalid_arguments",
        "'version'",
    ),
    (
        "db.insert",
        {"tx": "t", "table": "items", "fields": {"color": "grey"}},
        "invalid_arguments",
        "color can't hold 'grey'",
    ),
    ("db.insert", {"tx": "t", "table": "items", "fields": {"code": "c1"}}, "conflict", "taken"),
    ("db.read", {"tx": "t", "view": "items.list", "id": 1}, "invalid_arguments", "items.detail"),
    ("db.read", {"tx": "t", "view": "items.detail", "id": 9}, "not_found", "9"),
    ("db.lock", {"tx": "t", "table": "items", "id": 9}, "not_found", "9"),
    ("db.delete", {"tx": "t", "table": "items", "id": 9}, "not_found", "9"),
    ("lease.renew", {"table": "items"}, "conflict", "ben holds no lease of items"),
    ("lease.release", {"table": "items"}, "conflict", "ben holds no lease of items"),
    ("lease.acquire", {"table": "itmes"}, "invalid_arguments", "items"),
    ("node.pause", {"seconds": 0}, "invalid_arguments", "from 1 to 86400"),
    ("clock.step", {"seconds": 1, "node": "ap"}, "invalid_arguments", "api"),
]


@pytest.mark.parametrize(("name", "arguments", "refused", "says"), BAD)
def test_what_does_not_fit_is_refused_and_says_why(
    bench: Callable[..., Bench], name: str, arguments: dict[str, object], refused: str, says: str
) -> None:
    b = bench({})
    actor = begun(b)
    before = b.table.digest()
    answer = do(b, actor, name, **arguments)
    assert code(answer) == refused
    assert says in answer.message
    assert b.table.digest() == before


def test_an_operation_that_is_unknown_names_the_nearest(bench: Callable[..., Bench]) -> None:
    b = bench({})
    with pytest.raises(UnknownName, match=r"db\.updat") as caught:
        b.run(b.shop.perform(ben(b), "db.updat", {}))
    assert "db.update" in caught.value.hint


def test_no_operation_is_the_agents(bench: Callable[..., Bench]) -> None:
    b = bench({})
    with pytest.raises(HarnessError, match=r"'agent' performs 'db\.begin'"):
        b.run(b.shop.perform(b.agent, "db.begin", {"tx": "t"}))


def test_a_clock_is_stepped(bench: Callable[..., Bench]) -> None:
    b = bench({})
    assert do(b, ben(b), "clock.step", seconds=-90) == {"node": "api", "stepped": -90}
    assert b.shop.instant == b.world.instant - 90 * SECOND
    assert do(b, ben(b, "api"), "clock.step", seconds=90)["node"] == "api"
    assert b.shop.instant == b.world.instant
