"""marketplace/reschedule is a task: only the best move pays, and the old place isn't given up."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from simharness.models.marketplace.scenarios.reschedule import Reschedule
from simharness.models.marketplace.scenarios.reschedule_goal import options
from simharness.models.marketplace.scenarios.stage import first_id
from simharness.product.policy import Call
from tests.models.playing import DONE, acting, buying, failing, impossible, play

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping

    from simharness.episode.episode import Episode
    from simharness.product.policy import Action, Observation, Policy, Task

SCENARIO = "marketplace/reschedule"

PINS: Mapping[str, object] = {
    "theme": "lesson",
    "shift": 3,
    "customer": 7,
    "price": 40,
    "extra": 10,
    "extra_max": 20,
    "seat": 2,
    "named": "number",
    "prefer": "earliest",
    "stand": "one",
    "free": 2,
    "rival": "none",
    "block": "none",
    "long": "none",
    "long_free": 0,
    "away": "no",
    "until": 60,
    "old_provider": 0,
}
"""The first of the named has one slot left, at the third time; nobody gets in the way."""
BOOKING = first_id("bookings", 3)
OLD = first_id("slots", 3)
GOOD = OLD + 1 + 1 + 2
"""A provider's slots begin with one before the window."""
OUTSIDE = [OLD + 1 + 14 + k for k in range(7)]
"""Slots of the provider that isn't named."""
LONG = OLD + 1 + 21 + 1
"""The longer ones within the window begin here."""
FREE_LONG: Mapping[str, object] = {**PINS, "stand": "none", "long": "free", "long_mask": 1}
NOTHING: Mapping[str, object] = {**PINS, "stand": "none"}

MOVE = Call("reschedule_booking", {"booking_id": BOOKING, "slot_id": GOOD})
CANCEL = Call("cancel_booking", {"booking_id": BOOKING})
WAIT = Call("wait", {"seconds": 70})
LOOK = Call("get_slot", {"slot_id": GOOD})
GIVE_UP = impossible(f"slots:{OLD}")


def played(policy: Policy | str, pins: Mapping[str, object], load: int = 0) -> Episode:
    """Play one episode with parts of its instance pinned."""
    return play(SCENARIO, policy, 1, pins, load)


def alone(*acts: Call, **changes: object) -> Episode:
    """Do as it is written here, in a world without others who want the same."""
    return played(acting(*acts), {**PINS, **changes})


def test_what_fits_is_in_the_order_of_the_request() -> None:
    episode = alone(DONE)
    scenario = Reschedule()
    facts = scenario._facts(episode.instance)  # pyright: ignore[reportPrivateUsage]
    found = options(episode.product, facts)  # type: ignore[arg-type]
    assert [o.tier for o in found] == [0] * 10 + [1] * 5
    assert [(o.starts_at, o.place) for o in found[:10]] == sorted(
        (o.starts_at, o.place) for o in found[:10]
    )


# --- moved ----------------------------------------------------------------------------------------


def test_the_right_move_is_enough() -> None:
    assert not failing(alone(MOVE, DONE))


def test_moving_elsewhere_is_not() -> None:
    free = alone(DONE).product.stores["slots"].table.rows
    away = next(key for key in OUTSIDE if free[key].taken == 0)
    move = Call("reschedule_booking", {"booking_id": BOOKING, "slot_id": away})
    assert failing(alone(move, DONE)) == {"moved to the best"}


def test_the_longer_one_is_for_want_of_another() -> None:
    assert not failing(played(buying(LONG, more=[CANCEL]), FREE_LONG))
    pins = {**FREE_LONG, "stand": "one"}
    assert failing(played(buying(LONG, more=[CANCEL]), pins)) == {"moved to the best"}
    dear = {**FREE_LONG, "extra": 21}
    assert failing(played(buying(LONG, more=[CANCEL]), dear)) == {"moved to the best"}
    assert played("expert", {**dear, "away": "start"}, load=1).reward == 1_000_000


def test_the_old_place_is_kept_until_there_is_the_new_one() -> None:
    def policy(task: Task) -> Generator[Action, Observation, None]:
        yield CANCEL
        yield from buying(LONG, more=[CANCEL])(task)

    assert failing(played(policy, FREE_LONG)) == {"never without a place"}


def test_two_bookings_are_one_too_many() -> None:
    booking = alone(DONE).product.stores["bookings"].table.top + 1
    acts = (
        Call("hold_slot", {"slot_id": LONG}),
        Call("confirm_booking", {"hold_id": 1}),
        Call("pay", {"booking_id": booking, "amount": 5000, "currency": "USD"}),
        WAIT,
        DONE,
    )
    episode = played(acting(*acts), FREE_LONG)
    assert "no more than one booking" in failing(episode)


# --- not moved ------------------------------------------------------------------------------------


def test_nothing_fits_and_its_mirror_have_one_prompt() -> None:
    left, moved = alone(WAIT, GIVE_UP, stand="none"), alone(MOVE, DONE)
    assert left.prompt == moved.prompt
    assert not failing(left) | failing(moved)
    assert failing(alone(WAIT, GIVE_UP)) == {"left as the request says"}


@pytest.mark.parametrize(
    "end",
    [
        DONE,
        impossible(),
        impossible("slots:1"),
    ],
)
def test_giving_up_needs_the_old_slot(end: Call) -> None:
    assert failing(alone(WAIT, end, stand="none")) == {"left as the request says"}


def test_giving_up_early_is_not_enough() -> None:
    assert failing(alone(GIVE_UP, stand="none")) == {"left as the request says"}


@pytest.mark.parametrize(("away", "cancels"), [("no", False), ("start", True)])
def test_a_booking_is_given_up_only_where_the_provider_is_away(away: str, cancels: bool) -> None:
    right = (LOOK, WAIT, LOOK, CANCEL, GIVE_UP) if cancels else (LOOK, WAIT, GIVE_UP)
    wrong = (LOOK, WAIT, GIVE_UP) if cancels else (LOOK, WAIT, LOOK, CANCEL, GIVE_UP)
    assert not failing(alone(*right, stand="none", away=away))
    assert failing(alone(*wrong, stand="none", away=away)) == {"left as the request says"}
    assert played("expert", {**NOTHING, "away": away}, load=1).reward == 1_000_000


# --- the footprint --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "act",
    [
        Call("hold_slot", {"slot_id": LONG}),
        Call("join_waitlist", {"slot_id": GOOD + 1}),
    ],
    ids=lambda call: call.tool,
)
def test_what_is_left_behind_spoils_the_job(act: Call) -> None:
    pins = {"long": "free", "long_mask": 1}
    assert failing(alone(MOVE, act, DONE, **pins)) == {"no other row harmed"}


def test_reads_and_mails_are_free() -> None:
    mail = Call("send_email", {"to": "a@b.example", "subject": "x", "body": "y"})
    assert not failing(alone(mail, Call("list_services"), MOVE, DONE))
