"""marketplace/book is a task: only the customer's best slot pays, booked once and paid."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from simharness import env
from simharness.episode.episode import Episode
from simharness.models.marketplace.policies.book import Booker, expert
from simharness.models.marketplace.scenarios.book import DATES, HOMES, NAMES, wanted, wish_of
from simharness.models.marketplace.wishes import Wish
from simharness.product.policy import Call
from simharness.product.registry import load_product
from tests.models.playing import failing, play

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping

    from simharness.product.policy import Action, Observation, Policy, Task

    Play = Generator[Action, Observation, Any]

QUIET: Mapping[str, object] = {
    "customer": 7,
    "service": "Language lesson",
    "home": "Europe/Berlin",
    "date": "2026-04-02",
    "hour": 14,
    "others": "later",
    "first": "time",
    "order": 0,
    "coupon": "none",
    "price_cap": "none",
    "begun": "no",
    "payment": "ok",
    "luck": "good",
    **{f"state_{k}": "open" for k in range(9)},
    **{f"event_{k}": "none" for k in range(9)},
}
"""Three providers at 14:00 and again at 15:00, all free; nobody else wants anything."""
PRICE = 45_00


def plan(changes: Mapping[str, object], load: float = 0, seed: int = 1) -> Any:
    config = {f"instance.{key}": value for key, value in {**QUIET, **changes}.items()}
    return env.make_plan("marketplace/book", seed, load, config=config)


def played(policy: Policy, changes: Mapping[str, object] = {}, load: float = 0) -> Episode:
    return play("marketplace/book", policy, 1, {**QUIET, **changes}, load)


def slots_of(changes: Mapping[str, object] = {}) -> list[int]:
    return wanted(wish_of(Episode(plan(changes)).instance))


SLOTS = slots_of()


# --- the reference --------------------------------------------------------------------------------


@pytest.mark.parametrize("payment", ["ok", "declined", "declined_twice", "bounced", "slow"])
@pytest.mark.parametrize("begun", ["no", "held", "held_shortly", "booked"])
def test_the_expert_copes_with_the_bank_and_with_what_was_begun(payment: str, begun: str) -> None:
    episode = played(expert, {"payment": payment, "begun": begun})
    assert episode.reward == 1_000_000
    charged = len(episode.product.stores["payments"].table.changes) > 0
    assert charged == (begun != "booked")


@pytest.mark.parametrize(
    ("states", "rank"),
    [
        ({"event_0": "blocks"}, 1),
        ({"event_0": "books", "event_1": "blocks", "event_2": "books"}, 3),
        ({"event_0": "books", "event_1": "books", "first": "provider"}, 2),
    ],
)
def test_the_expert_takes_the_next_best_of_what_is_left(
    states: Mapping[str, object], rank: int
) -> None:
    changes = {**states, "ms_0": 1_000, "ms_1": 1_000, "ms_2": 1_000, "ms_3": 1_000}
    episode = played(expert, changes)
    assert episode.reward == 1_000_000
    booked = [b.slot_id for b in episode.product.stores["bookings"].table if b.customer_id == 7]
    assert booked[-1] == slots_of(changes)[rank]


# --- mirrors: the same prompt, and another truth --------------------------------------------------


@pytest.mark.parametrize(
    ("possible", "impossible"),
    [
        (
            {"coupon": "good", "percent": 20, "price_cap": "needs_coupon", "price_max": PRICE - 1},
            {"coupon": "used_up", "percent": 20, "price_cap": "needs_coupon",
             "price_max": PRICE - 1},
        ),
        ({"others": "none"}, {"others": "none", "luck": "gone", "ms_0": 9_000, "ms_1": 9_000,
                              "ms_2": 9_000}),
    ],
)  # fmt: skip
def test_only_the_truth_tells_a_wish_that_can_be_met_from_one_that_cannot(
    possible: Mapping[str, object], impossible: Mapping[str, object]
) -> None:
    one, other = (played(expert, changes) for changes in (possible, impossible))
    assert one.scenario.prompt(one.instance) == other.scenario.prompt(other.instance)
    assert (one.reward, other.reward) == (1_000_000, 1_000_000)
    assert [e.product.ending.outcome for e in (one, other)] == ["done", "impossible"]  # type: ignore[union-attr]


@pytest.mark.parametrize("named", ["services", "slots"])
def test_where_price_and_places_both_stand_in_the_way_either_may_be_named(named: str) -> None:
    both = {"coupon": "used_up", "percent": 20, "price_cap": "needs_coupon", "price_max": PRICE - 1,
            "others": "none", "luck": "gone", "ms_0": 9_000, "ms_1": 9_000,
            "ms_2": 9_000}  # fmt: skip

    def refuse(task: Task) -> Play:
        yield Call("wait", {"seconds": 40})
        refs = ["services:2"] if named == "services" else [f"slots:{k}" for k in slots_of(both)]
        yield finish(*refs, outcome="impossible")

    told = played(refuse, both)
    assert told.reward == 1_000_000, told.criteria


# --- each criterion by a play that breaks it alone ------------------------------------------------


def take(slot_id: int, *, pay: bool = True, **confirm: Any) -> Play:
    told = yield Call("hold_slot", {"slot_id": slot_id})
    told = yield Call("confirm_booking", {"hold_id": told.value["id"], **confirm})
    booking = told.value
    if pay:
        money = {"amount": booking["price"], "currency": "USD"}
        yield Call("pay", {"booking_id": booking["id"], **money})
        yield Call("wait", {"seconds": 40})
    return booking["id"]


def finish(*refs: str, outcome: str = "done") -> Call:
    return Call("finish", {"message": "x", "outcome": outcome, "refs": list(refs)})


def well(task: Task) -> Play:
    key = yield from take(SLOTS[0])
    yield finish(f"bookings:{key}")


def second_best(task: Task) -> Play:
    key = yield from take(SLOTS[1])
    yield finish(f"bookings:{key}")


def twice(task: Task) -> Play:
    key = yield from take(SLOTS[0])
    yield from take(SLOTS[1])
    yield finish(f"bookings:{key}")


def unpaid(task: Task) -> Play:
    key = yield from take(SLOTS[0], pay=False)
    yield finish(f"bookings:{key}")


def unnamed(task: Task) -> Play:
    yield from take(SLOTS[0])
    yield finish()


def holding_more(task: Task) -> Play:
    key = yield from take(SLOTS[0])
    yield Call("hold_slot", {"slot_id": SLOTS[1]})
    yield finish(f"bookings:{key}")


def elsewhere(task: Task) -> Play:
    told = yield Call("search_slots", {"service_id": 1})
    free = told.value["slots"][-1]["id"]
    told = yield Call("hold_slot", {"slot_id": free})
    yield Call("release_hold", {"hold_id": told.value["id"]})
    key = yield from take(SLOTS[0])
    yield finish(f"bookings:{key}")


def without_coupon(task: Task) -> Play:
    yield from well(task)


def given_up(task: Task) -> Play:
    yield Call("wait", {"seconds": 60})
    yield finish(*(f"slots:{key}" for key in SLOTS), outcome="impossible")


@pytest.mark.parametrize(
    ("policy", "changes", "broken"),
    [
        (well, {}, []),
        (second_best, {}, ["best slot"]),
        (twice, {}, ["one booking of the wish"]),
        (unpaid, {}, ["booked, or not to be had", "finish names what stood in the way",
                      "nothing else is held"]),
        (unnamed, {}, ["finish names the booking"]),
        (holding_more, {}, ["nothing else is held"]),
        (elsewhere, {}, ["no forbidden write"]),
        (without_coupon, {"coupon": "good"}, ["paid what is due"]),
        (given_up, {}, ["booked, or not to be had"]),
        (given_up, {"luck": "gone", **{f"ms_{k}": 1_000 for k in range(9)}}, []),
    ],
)  # fmt: skip
def test_each_criterion_fails_by_what_breaks_it(
    policy: Policy, changes: Mapping[str, object], broken: list[str]
) -> None:
    assert failing(played(policy, changes)) == {*broken}


def test_a_slot_that_was_lost_before_it_could_be_had_is_not_missed() -> None:
    def waits(task: Task) -> Play:
        yield Call("wait", {"seconds": 30})
        key = yield from take(SLOTS[1])
        yield finish(f"bookings:{key}")

    assert not failing(played(waits, {"event_0": "books", "ms_0": 1_000}))
    assert failing(played(waits)) == {"best slot"}


# --- the wish -------------------------------------------------------------------------------------


def test_at_least_three_slots_will_do_for_every_wish() -> None:
    for service in NAMES:
        for home in HOMES[NAMES[service]]:
            for date in DATES:
                for hour in range(11, 15):
                    where = {"service": service, "home": home, "date": date, "hour": hour}
                    instance: Any = {**QUIET, **where, "others": "none", "quantity": 1}
                    assert len(wanted(wish_of(instance))) == 3, instance


def test_a_wish_is_told_in_the_customers_own_time() -> None:
    wish = Wish("Tax advice", ("A", "B"), "2026-04-02", (14, 15), "America/New_York", "provider")
    assert wish.starts()[0] == 1_775_152_800_000_000  # 18:00 UTC, in summer time
    assert [title for title, _ in wish.ranked()] == ["A", "A", "B", "B"]
    assert "Thursday 2 April 2026 at 14:00" in wish.text()
    assert Wish.of(wish.brief()) == wish
    assert Booker({"customer_id": 1, **wish.brief()}).wish == wish


# --- episode 87 -----------------------------------------------------------------------------------


def test_the_double_booking_of_episode_87_is_told_step_by_step() -> None:
    (showcase,) = load_product("marketplace").showcases
    outcome = env.run(
        showcase.scenario,
        seed=87,
        load=1,
        faults=showcase.faults,
        config=dict(showcase.config),
    )
    assert outcome.verdict.headline == "harness, H221, proved (closed)"
    (told,) = {f.explanation for f in outcome.verdict.findings if f.code == "H221"}
    for who in ("agent#", "rival/0#"):
        assert told.count(f"{who}") == 2
    assert (told.count(" checked at "), told.count(" inserted 1 at ")) == (2, 2)
