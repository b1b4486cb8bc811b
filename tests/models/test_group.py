"""marketplace/group is a task: a pair that belongs together pays, or saying that there is none."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from simharness.models.marketplace.scenarios.stage import first_id
from simharness.product.policy import Call
from tests.models.playing import DONE, acting, buying, failing, impossible, play

if TYPE_CHECKING:
    from collections.abc import Mapping

    from simharness.episode.episode import Episode
    from simharness.product.policy import Policy, Task
    from tests.models.playing import Play

SCENARIO = "marketplace/group"

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

WAIT = Call("wait", {"seconds": 70})
LOOK = Call("get_slot", {"slot_id": LONE})


def played(policy: Policy | str, pins: Mapping[str, object], load: int = 0) -> Episode:
    """Play one episode with parts of its instance pinned."""
    return play(SCENARIO, policy, 1, pins, load)


def alone(*acts: Call, **changes: object) -> Episode:
    """Do as it is written here, in a world without others who want the same."""
    return played(acting(*acts), {**PINS, **changes})


# --- the reference --------------------------------------------------------------------------------


@pytest.mark.parametrize("size", ["one", "three"])
@pytest.mark.parametrize("freed", ["room", "coach", "both"])
def test_the_expert_waits_for_the_half_that_is_missing(freed: str, size: str) -> None:
    pins = {**PINS, "stand": "later", "freed": freed, "freed_at": 20, "until": 90, "size": size}
    episode = played("expert", pins)
    assert episode.reward == 1_000_000
    waited = played("expert", {**pins, "freed_at": 80, "until": 60})
    assert waited.reward == 1_000_000
    assert '"impossible"' in waited.steps[-1].input.calls[0].arguments


def test_the_expert_tries_again_when_the_refused_half_is_shown_anew() -> None:
    """A search of the other half may be older than the refusal, which wasn't about it."""
    assert play(SCENARIO, "expert", 6, load=1).reward == 1_000_000


# --- both -----------------------------------------------------------------------------------------


def test_both_are_enough() -> None:
    assert not failing(played(buying(ROOM, COACH), PINS))


def test_one_is_not() -> None:
    for slot_id in (ROOM, COACH):
        assert "both or neither" in failing(played(buying(slot_id), PINS))


def test_two_at_different_times_are_no_pair() -> None:
    assert "both or neither" in failing(played(buying(LONE, COACH), PINS))


def test_a_room_for_too_few_is_none() -> None:
    episode = played(buying(ROOM, COACH), {**PINS, "size": "two"})
    assert "both or neither" in failing(episode)


def test_a_better_pair_that_was_free_counts() -> None:
    assert failing(played(buying(ROOM, COACH), MANY)) == {"the best pair"}
    assert not failing(played(buying(ROOM - 1, COACH - 1), MANY))


def test_a_better_pair_counts_for_whoever_requests_as_well() -> None:
    def requests(*slots: int) -> Policy:
        def policy(_: Task) -> Play:
            for slot_id in slots:
                told = yield Call("request_booking", {"slot_id": slot_id})
                made = told.value
                money = {"amount": made["price"], "currency": made["currency"]}
                yield Call("pay", {"booking_id": made["id"], **money})
            yield Call("wait", {"seconds": 60})
            yield DONE

        return policy

    auto = {"booking.approval": "auto"}
    worse = play(SCENARIO, requests(ROOM, COACH), 1, MANY, knobs=auto)
    assert failing(worse) == {"the best pair"}
    assert not failing(play(SCENARIO, requests(ROOM - 1, COACH - 1), 1, MANY, knobs=auto))


def test_both_are_there_and_said_to_be() -> None:
    refuse = impossible(f"slots:{LONE}")
    episode = played(buying(ROOM, COACH, end=refuse), PINS)
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
    left = alone(WAIT, impossible(f"slots:{LONE}"), stand="none")
    taken = played(buying(ROOM, COACH), PINS)
    assert left.prompt == taken.prompt
    assert not failing(left) | failing(taken)
    assert failing(alone(WAIT, impossible(f"slots:{LONE}"))) == {"given up for a reason"}


@pytest.mark.parametrize("refs", [(), (f"slots:{LONE + 1}",), (f"slots:{LONE}", "slots:1")])
def test_giving_up_needs_what_was_free_alone(refs: tuple[str, ...]) -> None:
    episode = alone(WAIT, impossible(*refs), stand="none")
    assert failing(episode) == {"given up for a reason"}


def test_giving_up_early_is_not_enough() -> None:
    episode = alone(impossible(f"slots:{LONE}"), stand="none")
    assert failing(episode) == {"given up for a reason"}


def test_what_is_still_held_spoils_it() -> None:
    hold = Call("hold_slot", {"slot_id": LONE})
    end = impossible(f"slots:{LONE}")
    assert failing(alone(hold, WAIT, end, stand="none")) == {"no other row harmed"}
    release = Call("release_hold", {"hold_id": 1})
    assert not failing(alone(hold, release, WAIT, end, stand="none"))


# --- the footprint --------------------------------------------------------------------------------


def test_reads_and_mails_are_free_and_waiting_lists_are_not() -> None:
    mail = Call("send_email", {"to": "a@b.example", "subject": "x", "body": "y"})
    end = impossible(f"slots:{LONE}")
    assert not failing(alone(mail, LOOK, Call("list_services"), WAIT, end, stand="none"))
    line = Call("join_waitlist", {"slot_id": COACH})
    assert failing(alone(line, LOOK, WAIT, end, stand="none")) == {"no other row harmed"}
