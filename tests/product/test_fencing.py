"""Leases that end while their holder still believes in them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from simharness.api import SECOND, Actor
from tests.product.harbour import TTL, ben, code, codes, do, found, put

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.product.conftest import Bench


def outlived(b: Bench) -> tuple[Actor, Actor]:
    """Let a worker's lease run out, and another take it."""
    one, two = ben(b, "worker-a"), ben(b, "worker-b")
    assert do(b, one, "lease.acquire", table="items") == {
        "token": 1,
        "expires_at": "1970-01-01T00:00:30Z",
    }
    assert code(do(b, two, "lease.acquire", table="items")) == "locked"
    assert code(do(b, one, "lease.acquire", table="items")) == "conflict"
    b.at(TTL)
    assert do(b, two, "lease.acquire", table="items")["token"] == 2
    return one, two


@pytest.mark.parametrize("how", ["insert", "update", "delete", "transaction"])
def test_a_write_under_a_lease_that_ended_is_fenced_off(
    bench: Callable[..., Bench], how: str
) -> None:
    b = bench({})
    one, two = outlived(b)
    before = b.table.digest()
    assert code(put(b, one, how)) == "conflict"
    assert b.table.digest() == before
    assert all(b.items.locks.holder(key) is None for key in (1, 2, 3))
    assert code(put(b, two, how)) == "ok"
    b.write(2, stock=5)
    assert b.table.rows[2].stock == 5, "who has no lease isn't checked"
    assert codes(b) == []


@pytest.mark.parametrize("how", ["insert", "update", "delete", "transaction"])
def test_without_fencing_the_late_write_is_found(bench: Callable[..., Bench], how: str) -> None:
    b = bench({"items.lease.fencing": False})
    one, _ = outlived(b)
    b.at(TTL + 5)
    assert code(put(b, one, how)) == "ok"
    (finding,) = [f for f in found(b) if f.code == "H315"]
    assert finding.mechanism == "lease:items"
    assert finding.evidence == {"key": "items", "holder": "worker-a", "expired_at": TTL}
    assert b.world.alarms > 0


def test_the_repair_of_leases_fences(bench: Callable[..., Bench]) -> None:
    b = bench({"items.lease.fencing": False, "items.lease.granularity": "7s"})
    assert "lease:items" in b.shop.mechanisms()
    b.shop.repair(["lease:items"])
    one, _ = outlived(b)
    assert code(put(b, one, "update")) == "conflict"
    assert codes(b) == []


def test_a_lease_that_is_renewed_or_given_back(bench: Callable[..., Bench]) -> None:
    b = bench({})
    one, two = ben(b, "worker-a"), ben(b, "worker-b")
    do(b, one, "lease.acquire", table="items")
    b.at(20 * SECOND)
    assert do(b, one, "lease.renew", table="items") == {
        "token": 1,
        "expires_at": "1970-01-01T00:00:50Z",
    }
    b.at(40 * SECOND)
    assert code(put(b, one, "update")) == "ok"
    assert do(b, one, "lease.release", table="items") == {"released": True}
    assert do(b, two, "lease.acquire", table="items")["token"] == 2
    assert code(put(b, one, "update")) == "ok", "it believes in no lease any more"
    b.at(40 * SECOND + TTL)
    assert code(do(b, two, "lease.renew", table="items")) == "conflict"
    assert do(b, two, "lease.release", table="items") == {"released": False}
    assert codes(b) == []


def test_leases_renew_themselves_where_the_knob_says(bench: Callable[..., Bench]) -> None:
    b = bench({"items.lease.renew": "20s"})
    one = ben(b)
    do(b, one, "lease.acquire", table="items")
    b.at(300 * SECOND)
    assert code(put(b, one, "update")) == "ok"
    assert codes(b) == []
