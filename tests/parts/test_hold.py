"""Holds: nothing is given away twice, nothing is lost, and each hold ends once."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, TypeAlias

import pytest
from hypothesis import given
from hypothesis import strategies as st
from simpy.events import Event

from simharness.errors import HarnessError
from simharness.findings.holds import broken_holds, oversold_places
from simharness.findings.story import StepSpan, tell
from simharness.kernel import journal
from simharness.kernel.journal import Decoder
from simharness.kernel.operation import Actor, Operation
from simharness.kernel.world import World
from simharness.parts.hold import Holds
from simharness.parts.refusal import Refused

Steps: TypeAlias = Generator[Event, Any, None]


class Bed:
    """A world with a slot for one (1) and one for five (5)."""

    def __init__(self) -> None:
        self.world = World(0)
        self.holds = Holds(self.world, "slots")
        self.holds.open(1, 1)
        self.holds.open(5, 5)
        self.op = Operation(self.world, Actor(self.world, "a", 0), 1)

    def take(self, quantity: int = 1, ttl: int = 100, key: int = 5, hold: int = 0) -> int:
        return self.holds.take(self.op, key, quantity, ttl, hold=hold)

    def counts(self, key: int = 5) -> tuple[int, int, int]:
        """What is free, held and confirmed; checked against the capacity."""
        free = self.holds.free(key)
        place = self.holds.places[key]
        assert free + place.held + place.confirmed == place.capacity
        return free, place.held, place.confirmed

    def rows(self, *kinds: str) -> list[tuple[int, tuple[Any, ...]]]:
        decoded = Decoder().decode_all(self.world.rows)
        return [(r.t, tuple(r.values.values())) for r in decoded if r.kind in kinds]


def refusal(bed: Bed, quantity: int, key: int) -> str:
    with pytest.raises(Refused) as refused:
        bed.take(quantity, key=key)
    return refused.value.code


def test_a_hold_takes_from_what_is_free() -> None:
    bed = Bed()
    bed.world.advance_to(3)
    assert bed.take(2) == 1
    assert bed.take(3) == 2
    assert bed.counts() == (0, 5, 0)
    assert bed.counts(1) == (1, 0, 0)
    assert bed.rows("HOLD")[0] == (3, ("a", 1, "holds", 1, "slots", 5, 2, 5, 103))


def test_what_is_not_free_is_refused_by_the_kind_of_place() -> None:
    bed = Bed()
    bed.take(4)
    assert refusal(bed, 2, 5) == "sold_out"
    bed.take(1)
    assert refusal(bed, 1, 5) == "sold_out"
    bed.take(key=1)
    assert refusal(bed, 1, 1) == "slot_taken"
    assert len(bed.rows("HOLD")) == 3
    assert bed.world.alarms == 0


def test_what_is_confirmed_stays_taken_until_it_is_cancelled() -> None:
    bed = Bed()
    hold = bed.take(3)
    bed.holds.confirm(hold)
    bed.world.advance_to(1_000)
    assert bed.counts() == (2, 0, 3)
    assert bed.holds.state(hold) == "confirmed"
    bed.holds.cancel(hold)
    assert bed.counts() == (5, 0, 0)
    assert bed.rows("HOLDEND") == [
        (0, ("holds", 1, "confirmed")),
        (1_000, ("holds", 1, "cancelled")),
    ]


def test_what_is_released_is_free_at_once() -> None:
    bed = Bed()
    hold = bed.take(key=1)
    bed.holds.release(hold)
    assert bed.take(key=1) == 2
    bed.world.advance_to(1_000)
    assert [row[1][1:] for row in bed.rows("HOLDEND")] == [(1, "released"), (2, "expired")]


def test_a_hold_expires_when_its_age_is_its_ttl() -> None:
    bed = Bed()
    hold = bed.take(ttl=100)
    bed.world.advance_to(99)
    assert bed.holds.state(hold) == "active"
    bed.world.advance_to(100)
    assert bed.holds.state(hold) == "expired"
    assert bed.counts() == (5, 0, 0)
    assert bed.rows("HOLDEND") == [(100, ("holds", 1, "expired"))]


@pytest.mark.parametrize(("at", "confirmed"), [(99, True), (100, False)])
def test_the_instant_of_expiry_is_too_late_even_before_the_timer(at: int, confirmed: bool) -> None:
    bed = Bed()
    told: list[object] = []

    def steps() -> Steps:
        yield bed.world.pause(at)
        try:
            bed.holds.confirm(1)
        except Refused as refused:
            told.append(refused.code)
        told.append(bed.holds.state(1))

    bed.world.spawn("early", steps())
    bed.world.settle()
    bed.take(ttl=100)
    bed.world.advance_to(500)
    assert told == (["confirmed"] if confirmed else ["hold_expired", "expired"])
    assert len(bed.rows("HOLDEND")) == 1


def test_at_the_instant_of_expiry_the_place_is_free_even_before_the_timer() -> None:
    bed = Bed()

    def steps() -> Steps:
        yield bed.world.pause(100)
        bed.take(key=1)

    bed.world.spawn("early", steps())
    bed.world.settle()
    bed.take(key=1, ttl=100)
    bed.world.advance_to(150)
    assert [row[0] for row in bed.rows("HOLD", "HOLDEND")] == [0, 100, 100]


@pytest.mark.parametrize("use", ["confirm", "release"])
def test_an_end_that_comes_after_the_expiry_is_refused(use: str) -> None:
    bed = Bed()
    hold = bed.take(ttl=10)
    bed.world.advance_to(11)
    with pytest.raises(Refused, match="hold_expired"):
        getattr(bed.holds, use)(hold)
    assert len(bed.rows("HOLDEND")) == 1


@pytest.mark.parametrize("first", ["confirm", "release"])
@pytest.mark.parametrize("second", ["confirm", "release"])
def test_an_end_after_another_is_a_fault_of_the_harness(first: str, second: str) -> None:
    bed = Bed()
    hold = bed.take()
    getattr(bed.holds, first)(hold)
    with pytest.raises(HarnessError, match=r"^hold holds:1 is to be \w+, which was \w+ before"):
        getattr(bed.holds, second)(hold)
    assert len(bed.rows("HOLDEND")) == 1
    bed.counts()


def test_only_what_was_confirmed_can_be_cancelled_and_that_once() -> None:
    bed = Bed()
    hold = bed.take()
    with pytest.raises(HarnessError, match=r"is cancelled, which was active$"):
        bed.holds.cancel(hold)
    bed.holds.confirm(hold)
    bed.holds.cancel(hold)
    with pytest.raises(HarnessError, match=r"is cancelled, which was cancelled$"):
        bed.holds.cancel(hold)


def test_a_hold_may_have_the_id_of_a_row() -> None:
    bed = Bed()
    assert [bed.take(hold=hold) for hold in (0, 40, 0, 9, 0)] == [1, 40, 41, 9, 42]
    with pytest.raises(HarnessError, match=r"^hold holds:40 is taken twice"):
        bed.take(hold=40)


def test_what_makes_no_sense_is_a_fault_of_the_harness() -> None:
    bed = Bed()
    with pytest.raises(HarnessError, match=r"^place slots:9 was never opened"):
        bed.take(key=9)
    with pytest.raises(HarnessError, match=r"^place slots:5 is opened twice"):
        bed.holds.open(5, 5)
    with pytest.raises(HarnessError, match=r"^hold holds:1 was never taken"):
        bed.holds.state(1)
    for quantity, ttl in ((0, 1), (1, 0)):
        with pytest.raises(HarnessError, match=rf"^a#1 holds {quantity} of slots:5 for {ttl}"):
            bed.take(quantity, ttl)


@pytest.mark.parametrize("released", [False, True])
def test_a_leak_gives_nothing_back_now_and_later(released: bool) -> None:
    bed = Bed()
    bed.holds.leak = True
    hold = bed.take(ttl=100)
    if released:
        bed.holds.release(hold)
    bed.world.advance_to(100)
    bed.holds.leak = False
    if released:
        bed.holds.release(hold)
    bed.world.advance_to(1_000)
    assert bed.counts() == (4, 1, 0)
    assert bed.rows("HOLDEND") == []
    assert bed.world.alarms == 1 + released


def test_whoever_has_checked_himself_may_sell_too_much() -> None:
    bed = Bed()
    for _ in range(2):
        bed.holds.take(bed.op, 1, 1, 100, checked=True)
    assert bed.counts(1) == (-1, 2, 0)
    assert bed.world.alarms == 1


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["take", "confirm", "release", "cancel", "wait"]),
        st.integers(1, 4),
        st.integers(1, 6),
    ),
    max_size=40,
)


@given(STEPS)
def test_what_is_free_held_and_confirmed_adds_up_whatever_happens(
    steps: list[tuple[str, int, int]],
) -> None:
    bed = Bed()
    model: dict[int, tuple[str, int, int]] = {}
    for what, a, b in steps:
        now = bed.world.ticks
        match what:
            case "take":
                free = 5 - sum(q for s, q, _ in model.values() if s in ("active", "confirmed"))
                if free < a:
                    assert refusal(bed, a, 5) == "sold_out"
                else:
                    model[bed.take(a, ttl=b)] = "active", a, now + b
            case "wait":
                bed.world.advance_to(now + a)
                for hold, (state, quantity, expires) in model.items():
                    if state == "active" and expires <= now + a:
                        model[hold] = "expired", quantity, expires
            case _:
                if a not in model:
                    continue
                state, quantity, expires = model[a]
                if state == ("confirmed" if what == "cancel" else "active"):
                    getattr(bed.holds, what)(a)
                    ended = {"confirm": "confirmed", "release": "released", "cancel": "cancelled"}
                    model[a] = ended[what], quantity, expires
                else:
                    with pytest.raises((Refused, HarnessError)):
                        getattr(bed.holds, what)(a)
        held = sum(q for s, q, _ in model.values() if s == "active")
        confirmed = sum(q for s, q, _ in model.values() if s == "confirmed")
        assert bed.counts() == (5 - held - confirmed, held, confirmed)
        assert {hold: bed.holds.state(hold) for hold in model} == {
            h: m[0] for h, m in model.items()
        }
    bed.world.advance_to(bed.world.ticks + 10)
    bed.world.emit((journal.END, bed.world.ticks, bed.world.intern("stop"), 0, 0))
    rows = list(Decoder().decode_all(bed.world.rows))
    story = tell(rows, [StepSpan(1, 0, 0, ended=True, aborted=False)])
    assert list(broken_holds(story)) == []
    assert list(oversold_places(story)) == []
    assert bed.world.alarms == 0
