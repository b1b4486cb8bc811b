"""What could be had: what was free for a moment, unless the agent was told that it wasn't."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import pytest

from simharness.env import make_plan
from simharness.episode.episode import Episode
from simharness.episode.play import drive
from simharness.episode.transcript import RawCall
from simharness.kernel.operation import Actor, Operation
from simharness.models.marketplace.scenarios.earliest_goal import NEAR
from simharness.models.marketplace.scenarios.field import own_ids
from simharness.product.policy import Call
from simharness.units import SECOND
from tests.models import test_earliest, test_waitlist
from tests.models.playing import DONE, acting, answers, buying, failing

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping

    from simharness.models.marketplace.product import Marketplace
    from simharness.product.policy import Action, Observation, Task

    Play = Generator[Action, Observation, None]

BEST, SECOND_BEST, *_ = test_earliest.fitting(test_earliest.PLAIN)
WANTED = own_ids().slot
RIVAL = 9


class Company:
    """An episode of nobody but the agent and a rival, who does as a test says."""

    def __init__(
        self,
        scenario: str,
        pins: Mapping[str, object],
        knobs: Mapping[str, object] | None = None,
    ) -> None:
        config = {f"instance.{name}": value for name, value in pins.items()} | {**(knobs or {})}
        self.episode = Episode(make_plan(scenario, 1, load=0, config=config))
        self.market = cast("Marketplace", self.episode.product)
        self.rival = Actor(self.market.world, "rival", RIVAL)
        self.hold = 0

    def take(self, slot_id: int) -> None:
        """Let the rival hold a slot in a moment."""

        def act() -> Generator[Any, Any, None]:
            hold = yield from self.market.request(self.rival, "hold_slot", slot_id=slot_id)
            self.hold = hold.id

        self.market.world.spawn("rival/takes", act())

    def lock(self, slot_id: int, seconds: int) -> None:
        """Let a desk have the form of a slot open for some seconds."""

        def act() -> Generator[Any, Any, None]:
            op = Operation(self.market.world, Actor(self.market.world, "desk", 0), 0)
            edit = yield from self.market.slots.edit(op, slot_id)
            yield self.market.world.timer(seconds * SECOND)
            edit.close()

        self.market.world.spawn("desk/opens", act())

    def let_go(self) -> None:
        """Let the rival give back in a moment what they hold."""
        steps = self.market.request(self.rival, "release_hold", hold_id=self.hold)
        self.market.world.spawn("rival/lets-go", steps)


_SLOT = next(s for s in test_earliest.judged(test_earliest.PLAIN)[1] if s.id == BEST)
SEARCH = Call("search_slots", {"service_id": _SLOT.service_id, "full": True})
FULL = next(s.id for s in test_earliest.judged(test_earliest.PLAIN)[1] if s.capacity == s.taken)
LOOKS = {
    "reads": Call("get_slot", {"slot_id": BEST}),
    "searches": SEARCH,
    "hears": Call("slot_changes", {}),
    "tries": Call("hold_slot", {"slot_id": BEST}),
}
PAUSE = Call("wait", {"seconds": 3})


def taking_the_second(company: Company, *, before: bool, look: Call | None, later: int = 0) -> Play:
    """Look at the best slot, before the rival has it or while they do; then take another one."""
    if before and look is not None:
        yield look
    company.take(BEST)
    yield PAUSE
    if not before and look is not None:
        yield look
    company.let_go()
    yield Call("wait", {"seconds": 3 + later})
    yield from buying(SECOND_BEST)(cast("Task", None))


def judged(**how: Any) -> set[str]:
    """Tell what of the goal of `earliest` that fails."""
    company = Company(test_earliest.SCENARIO, test_earliest.PLAIN)
    drive(company.episode, lambda _: taking_the_second(company, **how))
    return failing(company.episode)


@pytest.mark.parametrize("look", LOOKS)
def test_whoever_was_told_that_the_best_was_gone_may_take_the_next(look: str) -> None:
    assert judged(before=False, look=LOOKS[look]) == set()


@pytest.mark.parametrize("look", ["reads", "searches"])
def test_whoever_was_shown_the_best_has_to_try_it(look: str) -> None:
    assert judged(before=True, look=LOOKS[look]) == {"the earliest"}


def test_whoever_does_not_look_has_no_excuse() -> None:
    assert judged(before=False, look=None) == {"the earliest"}


def test_a_look_of_long_ago_is_none() -> None:
    assert judged(before=False, look=LOOKS["reads"], later=120) == {"the earliest"}


def test_one_page_of_a_search_tells_nothing_of_the_others() -> None:
    page = Call("search_slots", {"page": 3})
    assert judged(before=False, look=page) == {"the earliest"}


ASKING_TOO_MUCH = {
    "more than there are": Call("hold_slot", {"slot_id": BEST, "quantity": 20}),
    "one that is full as well": Call("hold_slots", {"slot_ids": [BEST, FULL]}),
}


@pytest.mark.parametrize("what", ASKING_TOO_MUCH)
def test_a_refusal_of_something_else_is_no_excuse(what: str) -> None:
    company = Company(test_earliest.SCENARIO, test_earliest.PLAIN)
    policy = acting(ASKING_TOO_MUCH[what], last=buying(SECOND_BEST))
    drive(company.episode, policy)
    (refused,) = [r for s in company.episode.steps for r in s.results if r.tool.startswith("hold")][
        :1
    ]
    assert refused.value["code"] == "slot_taken"
    assert refused.value["slot_id"] == (FULL if "full" in what else BEST)
    assert failing(company.episode) == {"the earliest"}


@pytest.mark.parametrize(("places", "failed"), [(1, set[str]()), (20, {"the earliest"})])
def test_a_lock_excuses_only_who_tried_for_what_they_want(places: int, failed: set[str]) -> None:
    """Whoever asks for twenty until a desk's lock refuses would have been refused anyway."""
    knobs = {"slots.write.lock_wait": "1s"}
    company = Company(test_earliest.SCENARIO, test_earliest.PLAIN, knobs)
    company.lock(BEST, 20)
    policy = acting(
        Call("hold_slot", {"slot_id": BEST, "quantity": places}),
        Call("wait", {"seconds": 30}),
        last=buying(SECOND_BEST),
    )
    drive(company.episode, policy)
    assert answers(company.episode, "hold_slot")[0]["code"] == "locked"
    assert failing(company.episode) == failed


def test_a_place_that_one_moved_away_from_is_no_excuse() -> None:
    """It looks at its slot, which is full by its own booking, and moves that to a worse one."""
    company = Company(test_earliest.SCENARIO, test_earliest.PLAIN)
    third = test_earliest.fitting(test_earliest.PLAIN)[2]

    def policy(task: Task) -> Play:
        company.take(BEST)
        yield PAUSE
        yield LOOKS["reads"]
        look = Call("get_slot", {"slot_id": SECOND_BEST})
        yield from buying(SECOND_BEST, end=look)(task)
        yield LOOKS["reads"]
        rows = company.market.bookings.table.where(slot_id=SECOND_BEST)
        yield Call("reschedule_booking", {"booking_id": rows[-1].id, "slot_id": third})
        yield DONE

    drive(company.episode, policy)
    (wrong,) = [c for c in company.episode.criteria if not c.holds]
    assert f"slots:{SECOND_BEST} could be had" in wrong.evidence
    assert f"slots:{BEST} could" not in wrong.evidence


def test_a_place_that_one_has_booked_oneself_is_no_excuse() -> None:
    """It looks at the best slot, which is full by its own booking, and gives that up."""
    company = Company(test_earliest.SCENARIO, test_earliest.PLAIN)

    def policy(task: Task) -> Play:
        yield from buying(BEST, end=LOOKS["reads"])(task)
        (row,) = [b for b in company.market.bookings.table if b.hold_id is not None]
        yield Call("cancel_booking", {"booking_id": row.id})
        yield from buying(SECOND_BEST)(task)

    drive(company.episode, policy)
    assert failing(company.episode) == {"the earliest"}


def test_who_moves_is_judged_by_when_they_moved() -> None:
    """The best two were held by others as the agent took the third, and not as it moved."""
    company = Company(test_earliest.SCENARIO, test_earliest.PLAIN)
    third = test_earliest.fitting(test_earliest.PLAIN)[2]
    hold = company.market.request

    def policy(task: Task) -> Play:
        for n, slot_id in enumerate((BEST, SECOND_BEST)):
            steps = hold(
                Actor(company.market.world, f"other/{n}", RIVAL + n), "hold_slot", slot_id=slot_id
            )
            company.market.world.spawn(f"other/{n}", steps)
        yield PAUSE
        yield from buying(third, end=Call("wait", {"seconds": 300}))(task)
        (row,) = [b for b in company.market.bookings.table if b.hold_id == 3]
        yield Call("wait", {"seconds": 300})
        yield Call("reschedule_booking", {"booking_id": row.id, "slot_id": SECOND_BEST})
        yield Call("finish", {"message": "x", "outcome": "done"})

    drive(company.episode, policy)
    assert failing(company.episode) == {"the earliest"}


def test_what_others_hold_is_not_sold() -> None:
    pins = {**test_earliest.PLAIN, "fits": 1}
    (only,) = test_earliest.fitting(pins)
    judge, slots = test_earliest.judged(pins)
    near = next(s.id for s in slots if judge.failing(s, 0) == NEAR and judge.free(s.id, 0))
    company = Company(test_earliest.SCENARIO, pins)

    def give_up(_: Task) -> Play:
        company.take(only)
        yield PAUSE
        refs = [f"slots:{near}"]
        yield Call("finish", {"message": "x", "outcome": "impossible", "refs": refs})

    drive(company.episode, give_up)
    assert failing(company.episode) == {"told"}


def test_a_place_that_was_shown_and_left_is_missed() -> None:
    """It was free for 20 seconds: too short for all but those who have seen it."""
    pins = {**test_waitlist.FREED, "freed_at_1": 15}
    best = test_waitlist.fitting(pins)[0]

    def sees(company: Company, look: Call) -> Play:
        yield test_waitlist.JOIN
        booking = next(b for b in company.market.bookings.table if b.slot_id == WANTED)
        while company.market.bookings.table.rows[booking.id].status == "confirmed":
            yield Call("wait", {"seconds": 1})
        yield look
        yield Call("wait", {"seconds": 14})
        company.take(WANTED)
        yield test_waitlist.UNTIL
        yield from buying(best)(cast("Task", None))

    for look, missed in (
        (Call("get_slot", {"slot_id": WANTED}), {"the wanted slot"}),
        (Call("get_slot", {"slot_id": best}), set[str]()),
    ):
        company = Company(test_waitlist.SCENARIO, pins)
        drive(company.episode, lambda _, c=company, n=look: sees(c, n))  # type: ignore[misc]
        assert failing(company.episode) == missed


def test_a_hold_that_nobody_told_the_agent_of_is_not_left() -> None:
    company = Company(test_earliest.SCENARIO, test_earliest.PLAIN)
    hold = RawCall(id="", tool="hold_slot", arguments=f'{{"slot_id": {SECOND_BEST}}}')
    told = company.episode.call([hold], pins=[{"db": 40 * SECOND}])
    assert told.results[0].value["code"] == "unknown_outcome"
    drive(company.episode, buying(BEST))
    held = [h.status for h in company.market.holds.table if h.slot_id == SECOND_BEST]
    assert held == ["active"]
    assert failing(company.episode) == set()
