"""marketplace/waitlist: the reference, its mirrors, and each criterion of the goal by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from simharness.models.marketplace.scenarios.field import own_ids
from simharness.models.marketplace.scenarios.waitlist import wish_of
from simharness.models.marketplace.scenarios.waitlist_goal import Judge
from simharness.product.policy import Call
from simharness.units import SECOND
from tests.models.playing import DONE, acting, buying, failing, impossible, play

if TYPE_CHECKING:
    from collections.abc import Mapping

    from simharness.episode.episode import Episode
    from simharness.product.policy import Policy

SCENARIO = "marketplace/waitlist"
WANTED = own_ids().slot
NEVER: Mapping[str, object] = {
    "zone": "Europe/Berlin",
    "capacity": 1,
    "until": 120,
    "places_freed": "0",
    "freed_at_1": 30,
    "freed_by": "cancelling",
    "then": "nothing",
    "listed": "no",
    "ahead": "0",
    "fallback": "day",
    "instead": "there",
    "fits": 2,
    "gap": "0",
    "others": 1,
    "no_provider": 0,
    "no_price": 1,
    "no_hours": 1,
    "no_gap": 0,
    "no_booked": 1,
    "field": 77,
}
"""Nothing comes free, and there is something else."""
FREED: Mapping[str, object] = {**NEVER, "places_freed": "1"}
NOTHING: Mapping[str, object] = {**NEVER, "instead": "nothing"}
JOIN = Call("join_waitlist", {"slot_id": WANTED})
UNTIL = Call("wait", {"seconds": 125})


def played(
    policy: Policy | str, seed: int, pins: Mapping[str, object] | None = None, load: int | str = 0
) -> Episode:
    """Play one episode with parts of its instance pinned; by default with nobody else there."""
    return play(SCENARIO, policy, seed, pins, load)


def fitting(pins: Mapping[str, object]) -> list[int]:
    """Give the free slots that may be booked instead, the earliest first."""
    episode = played("null", 1, pins)
    product: Any = episode.product
    until = product.world.epoch + 120 * SECOND
    judge = Judge(product, wish_of(episode.instance), own_ids(), "agent", until)
    slots = sorted(judge.own_slots(), key=lambda slot: (slot.starts_at, slot.id))
    return [s.id for s in slots if judge.level(s, 0) and judge.free(s.id, 0)]


# --- the reference --------------------------------------------------------------------------------


@pytest.mark.parametrize("ahead", ["0", "2"])
@pytest.mark.parametrize("freed_by", ["cancelling", "lapsing"])
@pytest.mark.parametrize("what", ["nothing", "rival", "away"])
def test_the_expert_copes_with_what_becomes_of_a_place(
    ahead: str, freed_by: str, what: str
) -> None:
    pins = {**FREED, "ahead": ahead, "freed_by": freed_by, "then": what}
    pins |= {"answer_1": "declines", "answer_2": "pays", "then_after_ms": 900}
    assert played("expert", 1, pins, load=1).reward == 1_000_000


# --- mirrors --------------------------------------------------------------------------------------


def test_one_prompt_asks_for_the_slot_for_another_or_for_saying_that_there_is_none() -> None:
    episodes = [played("expert", 1, pins) for pins in (FREED, NEVER, NOTHING)]
    assert len({e.prompt for e in episodes}) == 1
    assert [e.reward for e in episodes] == [1_000_000] * 3
    slots = [
        [row.slot_id for row in e.product.stores["bookings"].table if row.hold_id is not None]
        for e in episodes
    ]
    assert slots == [[WANTED], [fitting(NEVER)[0]], []]


def test_a_place_in_line_that_is_there_already_is_named() -> None:
    pins = {**NOTHING, "listed": "yes"}
    episode = played("expert", 1, pins)
    assert episode.reward == 1_000_000
    line = 1 + 77 % 50
    assert not failing(played(acting(UNTIL, impossible(f"waitlist:{line}")), 1, pins))
    assert failing(played(acting(UNTIL, impossible(f"waitlist:{line + 1}")), 1, pins)) == {"told"}


# --- criteria, one by one -------------------------------------------------------------------------


def test_the_right_booking_in_time_is_enough() -> None:
    best = fitting(NEVER)[0]
    assert not failing(played(acting(JOIN, UNTIL, last=buying(best)), 1, NEVER))


def test_something_else_before_the_time_is_too_early() -> None:
    best = fitting(NEVER)[0]
    assert failing(played(acting(JOIN, last=buying(best)), 1, NEVER)) == {"stood in line"}


def test_whoever_never_stood_in_line_hasnt_tried() -> None:
    best = fitting(NEVER)[0]
    assert failing(played(acting(UNTIL, last=buying(best)), 1, NEVER)) == {"stood in line"}


def test_whoever_joins_the_line_late_hasnt_stood_in_it() -> None:
    best = fitting(NEVER)[0]
    for half, missing in ((50, set[str]()), (75, {"stood in line"})):
        late = Call("wait", {"seconds": half})
        policy = acting(late, JOIN, late, UNTIL, last=buying(best))
        assert failing(played(policy, 1, NEVER)) == missing
    policy = acting(UNTIL, JOIN, last=buying(best))
    assert failing(played(policy, 1, NEVER)) == {"stood in line"}


def test_a_later_slot_is_not_the_earliest() -> None:
    later = fitting(NEVER)[1]
    assert failing(played(acting(JOIN, UNTIL, last=buying(later)), 1, NEVER)) == {"the earliest"}


def test_whoever_slept_through_the_place_has_missed_it() -> None:
    best = fitting(FREED)[0]
    play = acting(JOIN, UNTIL, last=buying(best))
    assert failing(played(play, 1, FREED)) == {"the wanted slot"}


def test_the_wanted_slot_is_good_at_any_time() -> None:
    assert not failing(played(acting(UNTIL, last=buying(WANTED)), 1, FREED))


def test_giving_up_needs_the_place_in_line_and_the_time() -> None:
    line = "waitlist:1"
    assert not failing(played(acting(JOIN, UNTIL, impossible(line)), 1, NOTHING))
    assert failing(played(acting(JOIN, impossible(line)), 1, NOTHING)) == {"told"}
    assert failing(played(acting(JOIN, UNTIL, impossible()), 1, NOTHING)) == {"told"}
    assert failing(played(acting(JOIN, UNTIL, impossible(line)), 1, NEVER)) == {"told"}
    assert failing(played(acting(JOIN, UNTIL, DONE), 1, NOTHING)) == {"one booking"}


def test_other_writes_spoil_the_job() -> None:
    best, later = fitting(NEVER)
    hold = Call("hold_slot", {"slot_id": later})
    play = acting(JOIN, UNTIL, last=buying(best, more=(hold,)))
    assert failing(played(play, 1, NEVER)) == {"nothing else"}
    mail = Call("send_email", {"to": "a@b.example", "subject": "x", "body": "y"})
    assert "nothing else" in failing(played(acting(JOIN, UNTIL, mail, last=buying(best)), 1, NEVER))


def test_the_time_is_up_when_the_provider_goes_away() -> None:
    pins = {**FREED, "then": "away", "then_after_ms": 500, "freed_at_1": 15}
    best = fitting(pins)[0]
    pause = Call("wait", {"seconds": 25})
    assert not failing(played(acting(JOIN, pause, last=buying(best)), 1, pins))
