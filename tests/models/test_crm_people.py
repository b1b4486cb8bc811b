"""What works beside the agent: it acts in sound episodes, and leaves the agent's rows alone."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest

from simharness import env
from simharness.kernel.journal import Decoder
from simharness.models.crm.base import base_rows
from simharness.models.crm.people.machines import NEWS, NEXT_STEP, start_machines, unplanned
from simharness.models.crm.people.team import start_team
from tests.models.crm_house import House

if TYPE_CHECKING:
    from simharness.episode.episode import Episode

HOUR = 3_600_000_000
SPARED = 14


def working(config: dict[str, object], load: int = 1_000) -> House:
    house = House(config, rows=base_rows(), load=load)
    account = house.row("deals", SPARED).account_id
    start_machines(house.crm, spare_accounts=[account], spare_deals=[SPARED])
    return house


def committed(house: House, owner: str) -> Counter[str]:
    return Counter(
        name
        for name, store in house.crm.stores.items()
        for change in store.table.changes
        if change.owner == owner
    )


def test_the_sweep_plans_what_nobody_has_planned() -> None:
    house = working({"users.sweep": "1min"})
    left = [deal.id for deal in house.crm.deals.table if unplanned(deal)]
    assert SPARED in left
    house.world.advance_to(HOUR)
    assert [deal.id for deal in house.crm.deals.table if unplanned(deal)] == [SPARED]
    swept = [deal.id for deal in house.crm.deals.table if deal.next_step == NEXT_STEP]
    assert sorted([*swept, SPARED]) == left


def test_the_import_comes_once_a_day_and_spares_what_it_is_told_to() -> None:
    house = working({"users.import": "2min"})
    account = house.row("deals", SPARED).account_id
    house.world.advance_to(2 * 60_000_000 - 1)
    assert committed(house, "import") == {}
    house.world.advance_to(HOUR)
    first = committed(house, "import")
    assert first["accounts"] >= 4
    assert first["contacts"] >= 1
    house.world.advance_to(25 * HOUR)
    assert committed(house, "import")["accounts"] > first["accounts"]
    assert house.row("accounts", account).version == 1
    for name in ("contacts", "deals"):
        for change in house.crm.stores[name].table.changes:
            assert change.new.account_id != account


def test_the_import_points_to_its_news_where_nothing_is_planned() -> None:
    house = working({"users.import": "1s"})
    house.world.advance_to(10 * 24 * HOUR)
    assert any(deal.next_step == NEWS for deal in house.crm.deals.table)


def test_import_and_sweep_work_one_at_a_time() -> None:
    waits = {"api.latency": "300ms", "db.latency": "200ms", "deals.lease.ttl": "5min"}
    house = working({**waits, "users.import": "60s", "users.sweep": "60s"})
    house.world.advance_to(HOUR)
    holder = ""
    taken: Counter[str] = Counter()
    for row in Decoder().decode_all(house.world.rows):
        values = row.values
        if row.kind == "LEASE":
            assert holder == ""
            holder = values["owner"]
            taken[holder] += 1
        elif row.kind == "LEASEEND":
            holder = ""
        elif row.kind == "COMMIT" and values["owner"] in ("import", "sweep"):
            assert values["owner"] == holder
    assert taken["import"] == 1
    assert taken["sweep"] >= 30
    assert any(row.kind == "LEASEREFUSED" for row in Decoder().decode_all(house.world.rows))


@pytest.mark.parametrize("config", [{}, {"users.sweep": "0s", "users.import": "0s"}])
def test_no_machine_works_unless_it_is_set(config: dict[str, object]) -> None:
    assert not working(config).world.alive
    assert not working({"users.sweep": "1min", "users.import": "1min"}, load=0).world.alive


@pytest.mark.parametrize(
    ("team", "load", "users"),
    [(20, 1_000, 20), (20, 8_000, 160), (3, 2_000, 6), (0, 8_000, 0), (20, 0, 0), (1, 500, 1)],
)
def test_the_team_grows_with_its_knob_and_the_load(team: int, load: int, users: int) -> None:
    house = House({"users.team": team}, rows=base_rows(), load=load)
    start_team(house.crm, 1)
    assert len(house.world.alive) == users


def test_a_team_that_thinks_less_does_more() -> None:
    calls: list[int] = []
    for think in ("10s", "40s"):
        house = House({"users.think": think}, rows=base_rows(), load=1_000)
        start_team(house.crm, 1)
        house.world.advance_to(HOUR // 6)
        calls.append(sum(row.kind == "CALL" for row in Decoder().decode_all(house.world.rows)))
    assert calls[0] > 3 * calls[1]


# --- in sound episodes ----------------------------------------------------------------------------


def sound(load: int) -> list[Episode]:
    return [env.run("crm/negotiation", seed=seed, load=load).episode for seed in range(40)]


@pytest.mark.parametrize("load", [1, 8])
def test_everybody_acts_in_sound_episodes_and_experts_still_win(load: int) -> None:
    acting: Counter[str] = Counter()
    for episode in sound(load):
        assert episode.reward == 1_000_000
        changes = [c for store in episode.product.stores.values() for c in store.table.changes]
        for owner in {change.owner.partition("/")[0] for change in changes}:
            acting[owner] += 1
        deal_id = int(episode.instance["deal"])
        for change in episode.product.stores["deals"].table.history.get(deal_id, ()):
            assert change.owner not in ("import", "sweep")
    for owner, least in {
        "user": 30,
        "customer": 15,
        "manager": 4,
        "import": 15,
        "sweep": 15,
    }.items():
        assert acting[owner] >= least, owner
