"""marketplace/earliest: the reference, its mirrors, and each criterion of the goal by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from simharness.kernel.draws import Draws, Stream
from simharness.models.marketplace.requirements import WEEKDAYS, Offer, Wish
from simharness.models.marketplace.scenarios.earliest import Earliest, wish_of
from simharness.models.marketplace.scenarios.earliest_goal import NEAR, Judge
from simharness.models.marketplace.scenarios.field import own_ids
from simharness.product.policy import Call
from simharness.product.scenario import Drawing
from simharness.units import HOUR, MINUTE
from tests.models.playing import acting, buying, failing, play

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping

    from simharness.episode.episode import Episode
    from simharness.product.policy import Action, Observation, Policy, Task

SCENARIO = "marketplace/earliest"
PLAIN: Mapping[str, object] = {
    "zone": "America/New_York",
    "days": "all",
    "hours": "long",
    "willing": "2",
    "places": 1,
    "money": "paid",
    "price": 50,
    "coupon": "none",
    "relax": "nothing",
    "there": "first",
    "fits": 3,
    "others": 1,
    "gap": "30",
    "no_provider": 1,
    "no_length": 1,
    "no_price": 1,
    "no_day": 0,
    "no_hours": 1,
    "no_gap": 1,
    "no_booked": 1,
    "field": 77,
}
NOTHING: Mapping[str, object] = {**PLAIN, "there": "none"}


def played(
    policy: Policy | str, seed: int, pins: Mapping[str, object] | None = None, load: int | str = 0
) -> Episode:
    """Play one episode with parts of its instance pinned; by default with nobody else there."""
    return play(SCENARIO, policy, seed, pins, load)


def judge_of(episode: Episode) -> Judge:
    """Give the judge of an episode as it is now."""
    product: Any = episode.product
    return Judge(product, wish_of(episode.instance), own_ids(), "agent")


def judged(pins: Mapping[str, object], seed: int = 1) -> tuple[Judge, list[Any]]:
    """Give the judge of an instance before anything happens, and its slots by time."""
    episode = played("null", seed, pins)
    judge = judge_of(episode)
    return judge, sorted(judge.own_slots(), key=lambda slot: (slot.starts_at, slot.id))


def fitting(pins: Mapping[str, object]) -> list[int]:
    """Give the slots that meet every requirement and are free, the earliest first."""
    judge, slots = judged(pins)
    return [s.id for s in slots if judge.level(s, 0) == 1 and judge.free(s.id, 0)]


# --- mirrors --------------------------------------------------------------------------------------


def test_one_prompt_asks_for_a_booking_or_for_saying_that_there_is_nothing() -> None:
    there, nothing = played("expert", 1, PLAIN), played("expert", 1, NOTHING)
    assert there.prompt == nothing.prompt
    outcomes = ['"impossible"' in e.steps[-1].input.calls[0].arguments for e in (there, nothing)]
    assert outcomes == [False, True]
    assert there.reward == nothing.reward == 1_000_000


@pytest.mark.parametrize("relax", ["provider", "hours"])
def test_what_may_be_given_up_is_given_up_where_nothing_else_is_there(relax: str) -> None:
    pins = {**PLAIN, "relax": relax, "there": "second", "no_booked": 0}
    episode = played("expert", 1, pins)
    assert episode.reward == 1_000_000
    judge = judge_of(episode)
    assert [judge.failed_by(row) for row in judge.booked] == [{relax}]


@pytest.mark.parametrize("coupon", ["usable", "used_up"])
def test_a_coupon_is_tried_where_the_price_is_too_high_without(coupon: str) -> None:
    for seed in range(3):
        pins = {"coupon": coupon, "money": "paid", "price": 50}
        assert played("expert", seed, pins).reward == 1_000_000


def test_saying_that_there_is_nothing_needs_the_slot_that_costs_too_much() -> None:
    judge, slots = judged(NOTHING)
    near = [s.id for s in slots if judge.failing(s, 0) == NEAR and judge.free(s.id, 0)]

    def saying(*keys: int) -> Policy:
        refs = [f"slots:{key}" for key in keys]
        return acting(Call("finish", {"message": "x", "outcome": "impossible", "refs": refs}))

    assert not failing(played(saying(near[0]), 1, NOTHING))
    for keys in ((), (near[-1] + 1,), (near[0], near[0] + 1)):
        assert failing(played(saying(*keys), 1, NOTHING)) == {"told"}
    there = played(saying(near[0]), 1, PLAIN)
    assert failing(there) == {"told"}


# --- criteria, one by one -------------------------------------------------------------------------


def test_the_right_booking_is_enough() -> None:
    assert not failing(played(buying(fitting(PLAIN)[0]), 1, PLAIN))


def test_a_later_slot_is_not_the_earliest() -> None:
    assert failing(played(buying(fitting(PLAIN)[1]), 1, PLAIN)) == {"the earliest"}


def test_an_unpaid_booking_is_none() -> None:
    episode = played(buying(fitting(PLAIN)[0], pay=False), 1, PLAIN)
    assert "one booking" in failing(episode)


@pytest.mark.parametrize("what", ["provider", "length", "price", "hours", "gap"])
def test_a_slot_that_fails_one_requirement_fails_the_wish(what: str) -> None:
    judge, slots = judged(PLAIN)
    wrong = [
        s.id for s in slots if judge.failing(s, 0) == frozenset({what}) and judge.free(s.id, 0)
    ]
    assert "meets the wish" in failing(played(buying(wrong[0]), 1, PLAIN))


def test_a_booking_for_too_many_is_wrong() -> None:
    pins = {**PLAIN, "places": 2}
    assert "one booking" in failing(played(buying(fitting(pins)[0], places=1), 1, pins))


@pytest.mark.parametrize(
    "act",
    [
        Call("send_email", {"to": "a@b.example", "subject": "x", "body": "y"}),
        Call("cancel_booking", {"booking_id": 0}),
        Call("hold_slot", {"slot_id": 0}),
    ],
    ids=lambda call: call.tool,
)
def test_other_writes_spoil_the_job(act: Call) -> None:
    best, later, *_ = fitting(PLAIN)
    judge, _ = judged(PLAIN)
    own = [row.id for row in judge.market.bookings.table if row.customer_id == judge.customer]
    known = {"booking_id": own[0], "slot_id": later}
    args: Any = act.args
    act = Call(act.tool, {k: known.get(k, v) for k, v in args.items()})
    assert failing(played(buying(best, more=(act,)), 1, PLAIN)) == {"nothing else"}


def test_what_is_released_in_the_end_does_no_harm() -> None:
    best, later, *_ = fitting(PLAIN)

    def play(task: Task) -> Generator[Action, Observation, None]:
        told = yield Call("hold_slot", {"slot_id": later})
        yield Call("release_hold", {"hold_id": told.value["id"]})
        yield from buying(best)(task)

    assert not failing(played(play, 1, PLAIN))


# --- the wish -------------------------------------------------------------------------------------

CHANGES: list[tuple[dict[str, Any], set[str]]] = [
    ({}, set()),
    ({"service": "Piano Standard"}, {"service"}),
    ({"provider": "Beech House"}, {"provider"}),
    ({"minutes": 30}, {"length"}),
    ({"after": -30}, {"hours"}),
    ({"after": 120}, set()),
    ({"after": 150}, {"hours"}),
    ({"after": 24 * 60}, {"day"}),
    ({"after": -24 * 60}, {"day"}),
    ({"price": 51}, {"price"}),
    ({"price": 60, "percent": 20}, set()),
    ({"busy": 90}, set()),
    ({"busy": 89}, {"gap"}),
    ({"busy": -90}, set()),
    ({"busy": -89}, {"gap"}),
]
WISH = Wish(
    service="Yoga",
    minutes=60,
    providers=("Elm Yard",),
    zone="America/New_York",
    first_day="2026-03-26",
    last_day="2026-03-27",
    weekdays=WEEKDAYS[:4],
    opens="09:00",
    closes="12:00",
    places=2,
    price_max=100,
    gap=30,
)
NINE = 1_774_530_000_000_000
"""2026-03-26 09:00 in New York, a Thursday: 13:00 UTC."""


@pytest.mark.parametrize(("changes", "fails"), CHANGES)
def test_a_wish_names_what_an_offer_fails(changes: dict[str, Any], fails: set[str]) -> None:
    starts = NINE + changes.get("after", 0) * MINUTE
    offer = Offer(
        changes.get("service", "Yoga Standard"),
        changes.get("provider", "Elm Yard"),
        starts,
        starts + changes.get("minutes", 60) * MINUTE,
        changes.get("price", 50),
    )
    begins = NINE + changes["busy"] * MINUTE if "busy" in changes else 0
    busy = [(begins, begins + HOUR)]
    assert WISH.failing(offer, busy, changes.get("percent", 0)) == fails


def test_a_wish_survives_being_told() -> None:
    for seed in range(50):
        drawing = Drawing(Stream(Draws(seed), "instance", 0), {})
        Earliest().draw(drawing)
        instance = drawing.finish()
        wish = wish_of(instance)
        assert Wish.of_brief(Earliest().brief(instance)) == wish
        text = Earliest().prompt(instance)
        assert all(str(part) in text for part in (wish.service, wish.opens, wish.last_day))
