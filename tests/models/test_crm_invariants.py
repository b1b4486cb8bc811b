"""Whatever several callers do at once through the tools, what must always hold holds."""

from __future__ import annotations

from collections import Counter
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import pytest

from simharness.api import Actor, Draws, Operation, Refused, Stream, Transaction
from simharness.models.crm import Crm
from simharness.models.crm.base import ACCOUNTS, base_rows
from simharness.models.crm.people.machines import start_machines
from simharness.models.crm.people.managers import Managers
from simharness.models.crm.people.team import start_team
from simharness.models.crm.tables import (
    AccountFields,
    ContactFields,
    ContactStatus,
    DealFields,
    Role,
    Stage,
)
from tests.models.crm_house import House

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping

CALLERS = 10
CALLS = 80
TOOLS = sorted(name for name, spec in Crm.tools.items() if not spec.local)
# What rarely succeeds, or what others build on, is tried more often.
OFTEN = (
    "create_account",
    "deactivate_user",
    "grant",
    "revoke",
    "delete_account",
    "merge_contacts",
    "move_stage",
    "update_deal",
    "update_deal",
)
STORY = {"approval_after": 5, "approval_answer": "approved"}

# Few ids, so that callers meet.
IDS = {"deal_id": 14, "contact_id": 9, "user_id": 9, "approval_id": 20}
STAGES: tuple[str, ...] = Stage.__args__  # type: ignore[attr-defined]
ROLES: tuple[str, ...] = Role.__args__  # type: ignore[attr-defined]
STATUSES: tuple[str, ...] = ContactStatus.__args__  # type: ignore[attr-defined]


class Caller:
    """Calls one tool after the other with arguments that fit their schemas."""

    def __init__(self, house: House, number: int, seed: int, noted: Counter[str]) -> None:
        self.house = house
        self.actor = Actor(house.world, f"caller/{number}", number)
        self.draws = Draws(seed)
        self.noted = noted
        self.draw = Stream(self.draws, self.actor.name, 0)
        self.k = 0

    def below(self, bound: int) -> int:
        self.k += 1
        return self.draw.below(bound, "dice", self.k)

    def pick(self, options: tuple[str, ...]) -> str:
        return options[self.below(len(options))]

    def live(self) -> Generator[Any, Any, None]:
        house = self.house
        tools = (*TOOLS, *OFTEN)
        for n in range(1, CALLS + 1):
            yield house.world.pause(1 + self.below(2_000_000))
            tool = self.pick(tools)
            spec = house.crm.tools[tool]
            arguments = spec.check(
                {p.name: v for p in spec.parameters for v in self.value(tool, p)}
            )
            status = "ok"
            try:
                yield from house.crm.call(Operation(house.world, self.actor, n), spec, arguments)
            except Refused as refusal:
                status = refusal.code
            written = sum(
                change.owner == self.actor.name and change.n == n
                for store in house.crm.stores.values()
                for change in store.table.changes
            )
            assert (written > 0) == (status == "ok" and spec.writes), (tool, arguments, status)
            assert house.crm.invariants() == [], (tool, arguments, status)
            self.noted[f"{tool} {status}"] += 1

    def value(self, tool: str, parameter: Any) -> list[Any]:
        """Give one value for a parameter, or none."""
        name: str = parameter.name
        if not parameter.required and self.below(2):
            return []
        if name == "fields":
            return [self.fields(tool)]
        return [self.worth(name, parameter.schema)]

    def worth(self, name: str, schema: Mapping[str, Any] = MappingProxyType({})) -> Any:
        if name in IDS or name in ("source_id", "target_id", "owner_id"):
            kind = {"owner_id": "user_id"}.get(name, name if name in IDS else "contact_id")
            return 1 + self.below(IDS[kind])
        if name == "account_id":
            return 1 + self.below(3) if self.below(2) else ACCOUNTS + 1 + self.below(2)
        if name in ("page", "if_version"):
            return 1 + self.below(3)
        if name == "discount_pct":
            return self.below(40)
        if name in ("amount", "minutes"):
            return 10 + self.below(100)
        if name == "starts_at":
            return "2026-03-0" + str(1 + self.below(5)) + "T12:00:00Z"
        choices: dict[str, tuple[str, ...]] = {
            "stage": STAGES[:4],
            "to_stage": ("closed_won", "negotiation", *STAGES),
            "role": ROLES,
            "kind": ("note", "task"),
            "template": ("custom", "contract"),
            "currency": ("USD", "JPY"),
        }
        if name in choices:
            return self.pick(choices[name])
        if name in ("email", "domain"):
            return (
                f"n{self.below(12)}@elm.example"
                if name == "email"
                else f"n{self.below(12)}.example"
            )
        (plain,) = [s for s in schema.get("anyOf", [schema]) if s.get("type") != "null"]
        match plain.get("type"), plain.get("format"):
            case "integer", _:
                return plain.get("minimum", 0) + self.below(2)
            case "boolean", _:
                return bool(self.below(2))
            case "string", "date-time":
                return "2026-03-02T09:00:30Z"
            case _:
                return self.pick(("oak", "a.b", "call"))

    def fields(self, tool: str) -> dict[str, Any]:
        choices: dict[str, Callable[[], Any]] = {
            "legal": lambda: "in_review",
            "lost_reason": lambda: "price",
            "status": lambda: self.pick(STATUSES),
            "active": lambda: bool(self.below(4)),
            "champion_id": lambda: 1 + self.below(IDS["contact_id"]),
            "close_on": lambda: "2026-04-01T00:00:00Z",
        }
        kinds: dict[str, Any] = {
            "update_deal": DealFields,
            "update_contact": ContactFields,
            "update_account": AccountFields,
        }
        names = sorted(kinds[tool].__annotations__)
        chosen = {names[self.below(len(names))] for _ in range(1 + self.below(2))}
        return {n: choices[n]() if n in choices else self.worth(n) for n in sorted(chosen)}


def ready(house: House) -> None:
    """Put the deals that callers meet on into negotiation, most of them cleared by legal."""
    deals = house.crm.deals.table
    for deal_id in range(1, IDS["deal_id"] + 1):
        facts = {"stage": "negotiation", "legal": "cleared" if deal_id % 4 else "none"}
        deals.start_with(deals.row_type.evolve(deals.rows[deal_id], {**facts, "lost_reason": ""}))


@pytest.mark.parametrize("seed", range(4))
def test_no_call_breaks_what_must_hold_and_no_refusal_changes_a_row(seed: int) -> None:
    house = House(rows=base_rows(), profile="production", load=8_000, seed=seed)
    ready(house)
    Managers(house.crm, 1, STORY).start()
    start_team(house.crm, 1)
    start_machines(house.crm)
    noted: Counter[str] = Counter()
    callers = [
        house.world.spawn(f"live/{number}", Caller(house, number, seed, noted).live())
        for number in range(1, CALLERS)
    ]
    house.world.advance_to(400_000_000)
    assert not any(process.is_alive for process in callers)
    assert house.crm.invariants() == []
    assert noted.total() == (CALLERS - 1) * CALLS
    refused = Counter(text.partition(" ")[2] for text in noted.elements())
    assert refused["ok"] > 100
    assert {"conflict", "not_found", "forbidden", "invalid_arguments"} <= set(refused)


def test_the_callers_reach_what_is_hard_to_reach() -> None:
    noted: Counter[str] = Counter()
    won = 0
    for seed in range(6):
        house = House(rows=base_rows(), profile="production", load=1_000, seed=seed)
        ready(house)
        Managers(house.crm, 1, STORY).start()
        for number in range(1, CALLERS):
            house.world.spawn(f"live/{number}", Caller(house, number, seed, noted).live())
        house.world.advance_to(400_000_000)
        won += sum(change.new.stage == "closed_won" for change in house.crm.deals.table.changes)
    assert won
    quiet = {tool for tool in TOOLS if not noted[f"{tool} ok"]}
    assert quiet == set()


@pytest.mark.parametrize(
    ("table", "key", "fields", "told"),
    [
        ("deals", 1, {"owner_id": 99}, "deals:1 is open, its owner 99 is no active user"),
        ("users", 1, {"active": False}, "deals:1 is open, its owner 1 is no active user"),
        ("deals", 1, {"stage": "closed_won", "legal": "blocked"}, "legal says blocked"),
        ("deals", 1, {"stage": "closed_won", "discount_pct": 16}, "won at 16 percent: none"),
        ("deals", 1, {"stage": "closed_won", "champion_id": 4}, "without an active champion"),
    ],
)
def test_what_is_broken_is_named(
    table: str, key: int, fields: dict[str, object], told: str
) -> None:
    house = House()
    assert house.crm.invariants() == []
    tx = Transaction(Operation(house.world, Actor(house.world, "thief", 0), 1))
    tx.update(house.crm.stores[table].table, key, fields)
    tx.commit()
    (broken,) = house.crm.invariants()
    assert told in broken
