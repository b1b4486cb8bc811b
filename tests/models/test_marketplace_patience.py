"""Whoever sleeps isn't paid: what was left alone while it was free, and looks that leave off."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from simharness.episode.play import drive
from simharness.kernel.operation import Actor
from simharness.models.marketplace.scenarios.earliest_goal import NEAR
from simharness.product.policy import Call
from simharness.units import SECOND
from tests.models import test_earliest, test_group, test_reschedule, test_waitlist
from tests.models.playing import acting, buying, failing, impossible, play
from tests.models.test_marketplace_looks import RIVAL, Company

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping

    from simharness.product.policy import Action, Observation, Task

    Play = Generator[Action, Observation, None]

MINUTE = Call("wait", {"seconds": 55})
"""With the time to think about it, a minute."""


def rival(company: Company, *slots: int, after: int) -> None:
    """Let somebody else hold slots after some seconds, and keep them."""
    market = company.market
    actor = Actor(market.world, "late", RIVAL)

    def act() -> Generator[Any, Any, None]:
        yield market.world.timer(after * SECOND)
        for slot_id in slots:
            yield from market.request(actor, "hold_slot", slot_id=slot_id)

    market.world.spawn("late/comes", act())


# --- until a deadline -----------------------------------------------------------------------------

TASKS: Mapping[str, tuple[str, Mapping[str, object], Call, Call]] = {
    "group": (
        test_group.SCENARIO,
        {**test_group.NOTHING, "until": 160},
        test_group.LOOK,
        impossible(f"slots:{test_group.LONE}"),
    ),
    "reschedule": (
        test_reschedule.SCENARIO,
        {**test_reschedule.NOTHING, "until": 160},
        test_reschedule.LOOK,
        test_reschedule.GIVE_UP,
    ),
}


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize(
    ("looks", "paid"),
    [
        ("sleep sleep sleep look", False),
        ("look sleep sleep sleep look", False),
        ("look sleep sleep sleep", False),
        ("look sleep look sleep look sleep look", True),
    ],
)
def test_whoever_gives_up_has_looked_again_and_again(task: str, looks: str, *, paid: bool) -> None:
    scenario, pins, look, end = TASKS[task]
    acts = [look if word == "look" else MINUTE for word in looks.split()]
    episode = play(scenario, acting(*acts, end), 1, pins)
    assert failing(episode) == (set() if paid else {"looked again and again"})


def test_searches_of_something_else_are_no_looks() -> None:
    scenario, pins, _, end = TASKS["group"]
    other = Call("search_slots", {"service_id": 1})
    acts = (other, MINUTE, other, MINUTE, other, MINUTE, other)
    assert failing(play(scenario, acting(*acts, end), 1, pins)) == {"looked again and again"}


def test_there_is_time_to_learn_what_there_is() -> None:
    scenario, pins, look, end = TASKS["group"]
    learn, half = Call("list_services"), Call("wait", {"seconds": 35})
    acts = (half, learn, half, learn, half, learn, look, MINUTE, look)
    assert not failing(play(scenario, acting(*acts, end), 1, pins))
    asleep = (half, learn, half, learn, MINUTE, learn, MINUTE, learn, look)
    assert failing(play(scenario, acting(*asleep, end), 1, pins)) == {"looked again and again"}


@pytest.mark.parametrize("tool", ["slot_changes", "hold_slots"])
def test_the_feed_and_tries_are_looks(tool: str) -> None:
    scenario, pins, _, end = TASKS["group"]
    slots = [test_group.ROOM, test_group.COACH]
    look = Call(tool, {"slot_ids": slots} if tool == "hold_slots" else {})
    acts = (look, MINUTE, look, MINUTE, look, MINUTE, look)
    assert not failing(play(scenario, acting(*acts, end), 1, pins))


def test_the_prompts_say_how_often_one_has_to_look() -> None:
    for scenario, pins, *_ in TASKS.values():
        assert "at least once a minute" in play(scenario, "null", 1, pins).prompt
    waiting = play(test_waitlist.SCENARIO, "null", 1, test_waitlist.NEVER).prompt
    assert "for at least half of the time from now" in waiting


@pytest.mark.parametrize(("after", "left"), [(60, False), (130, True)])
def test_a_pair_that_was_left_for_long_could_be_had(after: int, *, left: bool) -> None:
    """It looks at other slots all the while; then somebody else has the better coaches."""
    company = Company(test_group.SCENARIO, test_group.MANY)
    room, coach = test_group.ROOM, test_group.COACH
    rival(company, coach - 1, coach - 7 - 1, after=after)
    looks = (test_group.LOOK, MINUTE, test_group.LOOK, MINUTE, test_group.LOOK, MINUTE)

    def policy(task: Task) -> Play:
        yield from acting(*looks, last=buying(room, coach))(task)

    drive(company.episode, policy)
    assert ("the best pair" in failing(company.episode)) is left


# --- without one ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("after", "left"), [(500, False), (640, True)])
def test_the_earliest_that_was_left_for_ten_minutes_could_be_had(after: int, *, left: bool) -> None:
    company = Company(test_earliest.SCENARIO, test_earliest.PLAIN)
    best, second, *_ = test_earliest.fitting(test_earliest.PLAIN)
    rival(company, best, after=after)
    sleeps = Call("wait", {"seconds": 400}), Call("wait", {"seconds": 250})
    look = Call("get_slot", {"slot_id": best})
    drive(company.episode, acting(*sleeps, look, last=buying(second)))
    assert failing(company.episode) == ({"the earliest"} if left else set())


@pytest.mark.parametrize(("after", "left"), [(300, False), (700, True)])
def test_whoever_sleeps_until_all_is_sold_is_not_paid(after: int, *, left: bool) -> None:
    pins = {**test_earliest.PLAIN, "fits": 1}
    (only,) = test_earliest.fitting(pins)
    judge, slots = test_earliest.judged(pins)
    near = next(s.id for s in slots if judge.failing(s, 0) == NEAR and judge.free(s.id, 0))
    company = Company(test_earliest.SCENARIO, pins)
    market = company.market
    actor = Actor(market.world, "late", RIVAL)

    def act() -> Generator[Any, Any, None]:
        yield market.world.timer(after * SECOND)
        hold = yield from market.request(actor, "hold_slot", slot_id=only)
        made = yield from market.request(actor, "confirm_booking", hold_id=hold.id)
        money = {"amount": made.price, "currency": made.currency}
        yield from market.request(actor, "pay", booking_id=made.id, **money)

    market.world.spawn("late/comes", act())
    sleep = Call("wait", {"seconds": 400})
    drive(company.episode, acting(sleep, sleep, sleep, impossible(f"slots:{near}")))
    assert failing(company.episode) == ({"told"} if left else set())
