"""Whatever several callers do at once through the tools, what must always hold holds."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from simharness.api import Actor, Draws, Operation, Refused, Stream
from simharness.models.marketplace import Marketplace
from simharness.models.marketplace.invariants import Invariants
from simharness.models.marketplace.tables import Provider
from tests.models.market_house import ROWS, House, slot

if TYPE_CHECKING:
    from collections.abc import Generator

CALLS = 90
IDENTITIES = (0, 0, 0, 0, 1, 1, 2, -1, -2)
TOOLS = sorted(name for name, spec in Marketplace.tools.items() if not spec.local)
# What others build on, and what rests on it, is tried more often.
OFTEN = (
    *("hold_slot", "confirm_booking", "pay", "pay", "request_booking", "approve_booking") * 3,
    *("cancel_booking", "reschedule_booking", "release_hold", "hold_slots") * 2,
    *("reschedule_booking",) * 4,
)
# Few ids, so that callers meet.
IDS = {"slot_id": 6, "service_id": 2, "provider_id": 3, "customer_id": 3, "payment_id": 30}
OPEN = [
    slot(1, 5, 10), slot(2, 5, 11), slot(3, 5, 14, service_id=2, capacity=2, provider_id=2),
    slot(4, 5, 15, service_id=2, capacity=20, provider_id=2), slot(5, 5, 16, capacity=20),
    slot(6, 5, 17, provider_id=2, service_id=2),
]  # fmt: skip


class Caller:
    """Calls one tool after the other with arguments that fit their schemas."""

    def __init__(
        self, house: House, number: int, seed: int, noted: Counter[str], strict: bool
    ) -> None:
        self.house = house
        self.strict = strict
        self.actor = Actor(house.world, f"caller/{number}", IDENTITIES[number])
        self.noted = noted
        self.draw = Stream(Draws(seed), self.actor.name, 0)
        self.k = 0

    def below(self, bound: int) -> int:
        self.k += 1
        return self.draw.below(bound, "dice", self.k)

    def live(self) -> Generator[Any, Any, None]:
        house = self.house
        tools = (*TOOLS, *OFTEN)
        for n in range(1, CALLS + 1):
            yield house.world.pause(1 + self.below(2_000_000))
            tool = tools[self.below(len(tools))]
            spec = house.market.tools[tool]
            arguments = spec.check(
                {p.name: self.worth(p.name) for p in spec.parameters if p.required or self.below(2)}
            )
            status = "ok"
            op = Operation(house.world, self.actor, n)
            try:
                yield from house.market.call(op, spec, arguments)
            except Refused as refusal:
                status = refusal.code
            self.noted[f"{tool} {status}"] += 1
            if not self.strict:
                continue
            written = sum(
                change.owner == self.actor.name and change.n == n
                for store in house.market.stores.values()
                for change in store.table.changes_after(op.begin_order)
            )
            either = tool in ("confirm_booking", "pay")
            if not (either and status == "ok"):
                assert (written > 0) == (status == "ok" and spec.writes), (tool, arguments, status)
            sound(house, (tool, arguments, status))

    def worth(self, name: str) -> Any:
        match name:
            case "slot_ids":
                first = 1 + self.below(6)
                return [first, 1 + (first + self.below(5)) % 6]
            case "booking_id" | "hold_id":
                tables = self.house.market.stores
                table = tables["bookings" if name == "booking_id" else "holds"].table
                return max(1, table.top - self.below(12))
            case "amount":
                return (4000, 4000, 4000, 2000, 8000)[self.below(5)]
            case "currency":
                return ("USD", "USD", "USD", "EUR")[self.below(4)]
            case "idempotency_key":
                return f"k{self.below(6)}"
            case "quantity":
                return 1 + self.below(2)
            case "coupon":
                return ("SPRING", "ALL", "NONE")[self.below(3)]
            case "to":
                return ("ann@example.test", "nobody")[self.below(2)]
            case "starts_at" | "from_time":
                return f"2026-03-{2 + self.below(4):02}T1{self.below(4)}:00:00Z"
            case "ends_at" | "to_time":
                return f"2026-03-05T1{self.below(3)}:30:00Z"
            case "full":
                return self.below(2) == 1
            case "page" | "wait":
                return 1
            case "since":
                return "2026-03-02T09:00:00Z"
            case "subject" | "body":
                return "text"
            case _:
                return 1 + self.below(IDS[name])


def sound(house: House, why: object = None) -> None:
    """Hold that nothing is broken, and that slots say what is taken of them."""
    assert house.market.invariants() == [], why
    places = house.market.places
    for row in list(house.market.slots.table):
        free = places.free(row.id)
        now = house.row("slots", row.id)
        place = places.holds.places[row.id]
        assert (now.taken, now.held) == (place.held + place.confirmed, place.held), (why, now)
        assert free == now.capacity - now.taken >= 0


def crowd(
    seed: int, config: dict[str, object], noted: Counter[str], *, strict: bool = True
) -> House:
    house = House({"hold.ttl": "8s", **config}, rows={**ROWS, "slots": OPEN}, seed=seed)
    callers = [
        house.world.spawn(f"live/{i}", Caller(house, i, seed, noted, strict).live())
        for i in range(len(IDENTITIES))
    ]
    house.ended(*callers)
    house.wait("1min")
    return house


CONFIGS: list[dict[str, object]] = [
    {"booking.isolation": "lock"},
    {"booking.isolation": "unique"},
    {"booking.isolation": "hold"},
    {"booking.isolation": "lease"},
    {"booking.approval": "auto"},
    {"booking.remote": "after_commit", "remote.latency": ["10ms", "3s"]},
    {
        # The first two are charges: nothing has been paid that could be paid back.
        "gateway.mode": ["fail", "async_fail", "ok"],
        "gateway.latency": ["10ms", "4s"],
        "gateway.settle_after": "3s",
        "webhook.delay": ["10ms", "5s"],
        "webhook.duplicates": 1,
        "webhook.order": "any",
    },
]


@pytest.mark.parametrize("config", CONFIGS, ids=str)
def test_no_mix_of_calls_breaks_what_must_hold(config: dict[str, object]) -> None:
    noted: Counter[str] = Counter()
    for seed in (1, 2, 3):
        house = crowd(seed, {"db.latency": ["1ms", "700ms"], **config}, noted)
        sound(house)
        assert house.findings() == []
        assert (house.market.moving, house.market.remote_writes) == (set(), 0)
        ledger = house.market.ledger()
        assert {k: v for k, v in house.market.books().items() if v} == {
            k: v for k, v in ledger.items() if v
        }
        held = [hold for hold in house.market.holds.table if hold.status == "active"]
        assert held == []
    rare = {"approve_booking", "decline_booking"} if "booking.approval" in config else set[str]()
    for tool in TOOLS:
        assert noted[f"{tool} ok"] or tool in rare, (tool, noted)
    for code in ("slot_taken", "sold_out", "hold_expired", "conflict", "forbidden"):
        assert any(what.endswith(f" {code}") for what in noted), code


def test_without_isolation_places_are_sold_twice_and_found() -> None:
    config: dict[str, object] = {"booking.isolation": "none", "db.latency": ["1ms", "700ms"]}
    houses = [crowd(seed, config, Counter(), strict=False) for seed in (1, 2, 3)]
    # H122: of two places that are held together, the first stays held when the second is refused.
    codes = {finding.code for house in houses for finding in house.findings()}
    assert codes & {"H221", "H222"}
    assert codes <= {"H122", "H221", "H222", "H223"}


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({"booking.isolation": "none"}, "are taken"),
        ({"hold.leak": True}, "is active past its end"),
        ({"booking.on_webhook": "overwrite", "webhook.delay": ["1s", "20s"]}, "are paid"),
        (
            {"booking.remote": "before_insert", "booking.compensate": "blind"},
            "stands for no booking",
        ),
    ],
    ids=str,
)
def test_what_is_looked_at_again_is_broken_or_not_as_at_a_first_look(
    config: dict[str, object], said: str
) -> None:
    texts: set[str] = set()

    def look(house: House) -> Generator[Any, Any, None]:
        for _ in range(400):
            yield house.world.timer(300_000)
            broken = house.market.invariants()
            assert broken == Invariants(house.market).broken()
            texts.update(broken)

    config = {"db.latency": ["1ms", "700ms"], "gateway.settle_after": "3s", **config}
    for seed in (1, 2):
        house = House({"hold.ttl": "8s", **config}, rows={**ROWS, "slots": OPEN}, seed=seed)
        for i in range(len(IDENTITIES)):
            caller = Caller(house, i, seed, Counter(), strict=False)
            house.world.spawn(f"live/{i}", caller.live())
        house.ended(house.world.spawn("look", look(house)))
    assert any(said in text for text in texts), texts


def test_the_days_of_opening_hours_keep_coming() -> None:
    rows = {**ROWS, "slots": [], "providers": [Provider(id=1, title="P", hours="09:00-11:00")]}
    house = House({"slots.horizon": 2}, rows=rows)
    assert len(house.market.slots.table.rows) == 2 * 4
    house.wait("24h")
    assert len(house.market.slots.table.rows) == 3 * 4
    house.wait("48h")
    times = [row.starts_at for row in house.market.slots.table]
    assert len({*times}) == len(times) == 5 * 4
