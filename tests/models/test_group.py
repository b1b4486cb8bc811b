"""marketplace/group is a task: a pair that belongs together pays, or saying that there is none."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from simharness import env
from simharness.models.marketplace.policies.group import expert
from simharness.models.marketplace.scenarios.stage import first_id
from simharness.product.policy import Call

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping

    from simharness.episode.episode import Episode
    from simharness.product.policy import Action, Observation, Policy, Task

SEEDS = range(16)
BUSY_SEEDS = range(100, 104)

PINS: Mapping[str, object] = {
    "theme": "voice",
    "shift": 3,
    "customer": 7,
    "size": "one",
    "room": "paid",
    "room_price": 20,
    "coach_price": 40,
    "senior_extra": 10,
    "extra_max": 20,
    "seat": 2,
    "prefer": "earliest",
    "stand": "one",
    "rooms": 0,
    "coaches": 0,
    "seniors": 0,
    "lacking": 0,
    "lone": 0,
    "free": 1,
    "free_room": 0,
    "free_coach": 0,
    "rival": "none",
    "block": "none",
    "until": 60,
}
"""The first room and the first coach are free at the third time; a room alone at the first."""
FIRST = first_id("slots", 3)
ROOM, LONE = FIRST + 1 + 2, FIRST + 1
"""A room's slots begin with one before the window."""
COACH = FIRST + 3 * 7 + 2 * 7 + 1 + 2
"""Coaches come after three rooms, the first of the named last."""
MANY: Mapping[str, object] = {**PINS, "stand": "many", "rooms": 2**10 - 1, "coaches": 2**10 - 1}
NOTHING: Mapping[str, object] = {**PINS, "stand": "none"}

DONE = Call("finish", {"message": "x", "outcome": "done"})
WAIT = Call("wait", {"seconds": 70})


def giving_up(*refs: str) -> Call:
    """Say that both can't be had."""
    return Call("finish", {"message": "x", "outcome": "impossible", "refs": list(refs)})


def played(
    policy: Policy | str, seed: int, pins: Mapping[str, object] | None = None, load: int = 1
) -> Episode:
    """Play one episode with parts of its instance pinned."""
    config = {f"instance.{name}": value for name, value in (pins or {}).items()}
    return env.run("marketplace/group", seed=seed, load=load, policy=policy, config=config).episode


def acting(*acts: Call) -> Policy:
    """Do as it is written here, whatever comes back."""

    def play(task: Task) -> Generator[Action, Observation, None]:
        for act in acts:
            _ = yield act

    return play


def alone(*acts: Call, **changes: object) -> Episode:
    """Do as it is written here, in a world without others who want the same."""
    return played(acting(*acts), 1, {**PINS, **changes}, load=0)


def booking(*slots: int, end: Call = DONE, places: int = 1) -> Policy:
    """Book and pay slots, one after the other, and finish."""

    def play(task: Task) -> Generator[Action, Observation, None]:
        for slot_id in slots:
            told = yield Call("hold_slot", {"slot_id": slot_id, "quantity": places})
            hold: Any = told.value
            told = yield Call("confirm_booking", {"hold_id": hold["id"]})
            made: Any = told.value
            money = {"amount": made["price"], "currency": made["currency"]}
            yield Call("pay", {"booking_id": made["id"], **money})
            yield WAIT
        yield end

    return play


def failing(episode: Episode) -> set[str]:
    """Name the criteria that don't hold."""
    return {c.name for c in episode.criteria if not c.holds}


# --- the reference --------------------------------------------------------------------------------


def test_the_expert_books_both_or_neither_on_many_roads() -> None:
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


@pytest.mark.parametrize("size", ["one", "three"])
@pytest.mark.parametrize("freed", ["room", "coach", "both"])
def test_the_expert_waits_for_the_half_that_is_missing(freed: str, size: str) -> None:
    pins = {**PINS, "stand": "later", "freed": freed, "freed_at": 20, "until": 90, "size": size}
    episode = played("expert", 3, pins, load=0)
    assert episode.reward == 1_000_000
    waited = played("expert", 3, {**pins, "freed_at": 80, "until": 60}, load=0)
    assert waited.reward == 1_000_000
    assert '"impossible"' in waited.steps[-1].input.calls[0].arguments


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


# --- both -----------------------------------------------------------------------------------------


def test_both_are_enough() -> None:
    assert not failing(played(booking(ROOM, COACH), 1, PINS, load=0))


def test_one_is_not() -> None:
    for slot_id in (ROOM, COACH):
        assert "both or neither" in failing(played(booking(slot_id), 1, PINS, load=0))


def test_two_at_different_times_are_no_pair() -> None:
    assert "both or neither" in failing(played(booking(LONE, COACH), 1, PINS, load=0))


def test_a_room_for_too_few_is_none() -> None:
    episode = played(booking(ROOM, COACH), 1, {**PINS, "size": "two"}, load=0)
    assert "both or neither" in failing(episode)


def test_a_better_pair_that_was_free_counts() -> None:
    assert failing(played(booking(ROOM, COACH), 1, MANY, load=0)) == {"the best pair"}
    assert not failing(played(booking(ROOM - 1, COACH - 1), 1, MANY, load=0))


def test_both_are_there_and_said_to_be() -> None:
    refuse = giving_up(f"slots:{LONE}")
    episode = played(booking(ROOM, COACH, end=refuse), 1, PINS, load=0)
    assert failing(episode) == {"the best pair"}


def test_what_is_booked_has_to_be_paid() -> None:
    acts = (
        Call("hold_slots", {"slot_ids": [ROOM, COACH]}),
        Call("confirm_booking", {"hold_id": 1}),
        Call("confirm_booking", {"hold_id": 2}),
    )
    assert {"given up for a reason", "no other row harmed"} <= failing(alone(*acts, DONE))


# --- neither --------------------------------------------------------------------------------------


def test_nothing_to_be_had_and_its_mirror_have_one_prompt() -> None:
    left = alone(WAIT, giving_up(f"slots:{LONE}"), stand="none")
    taken = played(booking(ROOM, COACH), 1, PINS, load=0)
    assert left.prompt == taken.prompt
    assert not failing(left) | failing(taken)
    assert failing(alone(WAIT, giving_up(f"slots:{LONE}"))) == {"given up for a reason"}


@pytest.mark.parametrize("refs", [(), (f"slots:{LONE + 1}",), (f"slots:{LONE}", "slots:1")])
def test_giving_up_needs_what_was_free_alone(refs: tuple[str, ...]) -> None:
    episode = alone(WAIT, giving_up(*refs), stand="none")
    assert failing(episode) == {"given up for a reason"}


def test_giving_up_early_is_not_enough() -> None:
    episode = alone(giving_up(f"slots:{LONE}"), stand="none")
    assert failing(episode) == {"given up for a reason"}


def test_what_is_still_held_spoils_it() -> None:
    hold = Call("hold_slot", {"slot_id": LONE})
    end = giving_up(f"slots:{LONE}")
    assert failing(alone(hold, WAIT, end, stand="none")) == {"no other row harmed"}
    release = Call("release_hold", {"hold_id": 1})
    assert not failing(alone(hold, release, WAIT, end, stand="none"))


# --- the footprint --------------------------------------------------------------------------------


def test_reads_and_mails_are_free_and_waiting_lists_are_not() -> None:
    mail = Call("send_email", {"to": "a@b.example", "subject": "x", "body": "y"})
    end = giving_up(f"slots:{LONE}")
    assert not failing(alone(mail, Call("list_services"), WAIT, end, stand="none"))
    line = Call("join_waitlist", {"slot_id": COACH})
    assert failing(alone(line, WAIT, end, stand="none")) == {"no other row harmed"}
