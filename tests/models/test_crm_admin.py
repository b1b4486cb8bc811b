"""Users: who may call at all, who may do what, and how that changes."""

from __future__ import annotations

from typing import Any

import pytest

from tests.models.crm_house import ADMIN, GONE, OTHER, REP, House

ADMINS_ONLY: list[tuple[str, dict[str, Any]]] = [
    ("delete_account", {"account_id": 3}),
    ("grant", {"user_id": OTHER, "role": "manager"}),
    ("revoke", {"user_id": OTHER, "role": "manager"}),
    ("deactivate_user", {"user_id": REP}),
]


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [("get_deal", {"deal_id": 1}), ("pipeline_summary", {}), *ADMINS_ONLY],
)
@pytest.mark.parametrize("identity", [GONE, 99])
def test_only_active_users_may_call(identity: int, tool: str, arguments: dict[str, Any]) -> None:
    assert House().refused(identity, tool, **arguments).code == "unauthorized"


@pytest.mark.parametrize(("tool", "arguments"), ADMINS_ONLY)
def test_reps_may_not_administer(tool: str, arguments: dict[str, Any]) -> None:
    assert House().refused(OTHER, tool, **arguments).code == "forbidden"


def test_a_granted_role_counts_until_it_is_revoked() -> None:
    house = House()
    row = house.call(ADMIN, "grant", user_id=REP, role="admin")
    assert (row.role, row.grants, row.version) == ("rep", ("admin",), 2)
    assert house.call(REP, "grant", user_id=OTHER, role="manager").grants == ("manager",)
    assert house.call(ADMIN, "revoke", user_id=REP, role="admin").grants == ()
    assert house.refused(REP, "grant", user_id=OTHER, role="admin").code == "forbidden"


def test_a_revoked_role_counts_while_the_permission_is_cached() -> None:
    house = House({"users.auth.cache.ttl": "5min", "users.auth.cache.invalidate": "never"})
    house.call(ADMIN, "grant", user_id=REP, role="admin")
    house.call(REP, "get_deal", deal_id=1)
    house.call(ADMIN, "revoke", user_id=REP, role="admin")
    assert house.call(REP, "grant", user_id=OTHER, role="admin").grants == ("admin",)


def test_grants_hold_each_role_once() -> None:
    house = House()
    house.call(ADMIN, "grant", user_id=REP, role="manager")
    assert house.refused(ADMIN, "grant", user_id=REP, role="manager").code == "conflict"
    assert house.refused(ADMIN, "revoke", user_id=REP, role="admin").code == "conflict"
    # The own role is none of the grants.
    assert house.refused(ADMIN, "revoke", user_id=ADMIN, role="admin").code == "conflict"


@pytest.mark.parametrize("tool", ["grant", "revoke"])
def test_who_is_not_there_is_not_found(tool: str) -> None:
    assert House().refused(ADMIN, tool, user_id=99, role="rep").code == "not_found"
    assert House().refused(ADMIN, "deactivate_user", user_id=99).code == "not_found"
    assert House().refused(ADMIN, "get_user", user_id=99).code == "not_found"


def test_who_owns_an_open_deal_is_not_shut_out() -> None:
    house = House()
    told = house.refused(ADMIN, "deactivate_user", user_id=REP)
    assert (told.code, told.details) == ("conflict", {"deal_id": 1})
    house.call(REP, "update_deal", deal_id=1, fields={"owner_id": OTHER})
    assert house.call(ADMIN, "deactivate_user", user_id=REP).active is False
    assert house.refused(REP, "get_deal", deal_id=1).code == "unauthorized"
    assert house.call(ADMIN, "get_user", user_id=REP).active is False


def test_nobody_is_shut_out_twice_or_by_themselves() -> None:
    assert House().refused(ADMIN, "deactivate_user", user_id=GONE).code == "conflict"
    assert House().refused(ADMIN, "deactivate_user", user_id=ADMIN).code == "forbidden"
