"""marketplace/reschedule is a task: only the best move pays, and the old place isn't given up."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from simharness import env
from simharness.models.marketplace.policies.reschedule import expert
from simharness.models.marketplace.scenarios.reschedule import Reschedule
from simharness.models.marketplace.scenarios.reschedule_goal import options
from simharness.models.marketplace.scenarios.stage import first_id
from simharness.product.policy import Call

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping

    from simharness.episode.episode import Episode
    from simharness.product.policy import Action, Observation, Policy, Task

SEEDS = range(16)
BUSY_SEEDS = range(100, 104)

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
DONE = Call("finish", {"message": "x", "outcome": "done"})
WAIT = Call("wait", {"seconds": 70})
GIVE_UP = Call("finish", {"message": "x", "outcome": "impossible", "refs": [f"slots:{OLD}"]})


def played(
    policy: Policy | str, seed: int, pins: Mapping[str, object] | None = None, load: int = 1
) -> Episode:
    """Play one episode with parts of its instance pinned."""
    config = {f"instance.{name}": value for name, value in (pins or {}).items()}
    return env.run(
        "marketplace/reschedule", seed=seed, load=load, policy=policy, config=config
    ).episode


def alone(*acts: Call, **changes: object) -> Episode:
    """Do as it is written here, in a world without others who want the same."""
    return played(acting(*acts), 1, {**PINS, **changes}, load=0)


def acting(*acts: Call) -> Policy:
    """Do as it is written here, whatever comes back."""

    def play(task: Task) -> Generator[Action, Observation, None]:
        for act in acts:
            _ = yield act

    return play


def failing(episode: Episode) -> set[str]:
    """Name the criteria that don't hold."""
    return {c.name for c in episode.criteria if not c.holds}


def buying(slot_id: int) -> Policy:
    """Book and pay a slot, cancel the old booking, and finish."""

    def play(task: Task) -> Generator[Action, Observation, None]:
        told = yield Call("hold_slot", {"slot_id": slot_id})
        hold: Any = told.value
        told = yield Call("confirm_booking", {"hold_id": hold["id"]})
        booking: Any = told.value
        money = {"amount": booking["price"], "currency": booking["currency"]}
        yield Call("pay", {"booking_id": booking["id"], **money})
        yield WAIT
        yield CANCEL
        yield DONE

    return play


def test_the_expert_moves_by_the_request_on_many_roads() -> None:
    shapes: Counter[tuple[tuple[str, bool], ...]] = Counter()
    for seed in SEEDS:
        episode = played("expert", seed)
        assert episode.reward == 1_000_000, (seed, failing(episode))
        shapes[tuple((r.tool, r.ok) for s in episode.steps for r in s.results)] += 1
    assert len(shapes) >= 8
    assert shapes.most_common(1)[0][1] <= 0.4 * len(SEEDS)


def test_the_expert_copes_with_a_crowd() -> None:
    for seed in BUSY_SEEDS:
        episode = played("expert", seed, load=8)
        assert episode.reward == 1_000_000, (seed, failing(episode))


@pytest.mark.parametrize("name", ["null", "refuse", "random", "spam", "email-instead"])
def test_whoever_does_something_else_gets_nothing(name: str) -> None:
    for seed in range(4):
        assert played(name, seed).reward == 0


def test_the_expert_takes_over_what_others_began() -> None:
    def play(task: Task) -> Generator[Action, Observation, None]:
        yield Call("search_slots", {"service_id": 2})
        yield Call("list_bookings", {})
        yield Call("slot_changes", {"wait": 9})
        yield from expert(task)

    for seed in range(3):
        assert played(play, seed).reward == 1_000_000


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
    assert not failing(played(buying(LONG), 1, FREE_LONG, load=0))
    pins = {**FREE_LONG, "stand": "one"}
    assert failing(played(buying(LONG), 1, pins, load=0)) == {"moved to the best"}
    dear = {**FREE_LONG, "extra": 21}
    assert failing(played(buying(LONG), 1, dear, load=0)) == {"moved to the best"}
    assert played("expert", 1, {**dear, "away": "start"}).reward == 1_000_000


def test_the_old_place_is_kept_until_there_is_the_new_one() -> None:
    def play(task: Task) -> Generator[Action, Observation, None]:
        yield CANCEL
        yield from buying(LONG)(task)

    assert failing(played(play, 1, FREE_LONG, load=0)) == {"never without a place"}


def test_two_bookings_are_one_too_many() -> None:
    booking = alone(DONE).product.stores["bookings"].table.top + 1
    acts = (
        Call("hold_slot", {"slot_id": LONG}),
        Call("confirm_booking", {"hold_id": 1}),
        Call("pay", {"booking_id": booking, "amount": 5000, "currency": "USD"}),
        WAIT,
        DONE,
    )
    episode = played(acting(*acts), 1, FREE_LONG, load=0)
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
        Call("finish", {"message": "x", "outcome": "impossible"}),
        Call("finish", {"message": "x", "outcome": "impossible", "refs": ["slots:1"]}),
    ],
)
def test_giving_up_needs_the_old_slot(end: Call) -> None:
    assert failing(alone(WAIT, end, stand="none")) == {"left as the request says"}


def test_giving_up_early_is_not_enough() -> None:
    assert failing(alone(GIVE_UP, stand="none")) == {"left as the request says"}


@pytest.mark.parametrize(("away", "cancels"), [("no", False), ("start", True)])
def test_a_booking_is_given_up_only_where_the_provider_is_away(away: str, cancels: bool) -> None:
    right = (WAIT, CANCEL, GIVE_UP) if cancels else (WAIT, GIVE_UP)
    wrong = (WAIT, GIVE_UP) if cancels else (WAIT, CANCEL, GIVE_UP)
    assert not failing(alone(*right, stand="none", away=away))
    assert failing(alone(*wrong, stand="none", away=away)) == {"left as the request says"}
    assert played("expert", 5, {**NOTHING, "away": away}).reward == 1_000_000


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
