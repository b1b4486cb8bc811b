"""H221, H222 and H223: over rows written by hand, at their boundaries, and in small worlds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from simharness.findings.detect import HARNESS
from simharness.findings.holds import broken_holds, oversold_places
from simharness.findings.story import tell
from simharness.kernel import journal
from simharness.kernel.journal import Decoder
from simharness.kernel.operation import Actor, Operation
from simharness.kernel.world import World
from simharness.parts.hold import Holds
from simharness.parts.refusal import Refused
from simharness.units import SECOND
from tests.findings.journal import Journal, span

if TYPE_CHECKING:
    from collections.abc import Generator

    from simpy.events import Event

    from simharness.findings.finding import Finding


class Rows(Journal):
    """A journal of holds: 100 ticks each."""

    def hold(
        self, hold: int, t: int = 0, quantity: int = 1, capacity: int = 5, key: int = 7
    ) -> int:
        return self.add(
            "HOLD",
            t,
            owner="user/1",
            n=8,
            holds="holds",
            hold=hold,
            table="slots",
            key=key,
            quantity=quantity,
            capacity=capacity,
            expires=t + 100,
        )

    def end(self, hold: int, t: int, reason: str) -> int:
        return self.add("HOLDEND", t, holds="holds", hold=hold, reason=reason)


def test_the_detectors_are_listed() -> None:
    assert {broken_holds, oversold_places} <= set(HARNESS)


# --- ends -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("reason", "t", "found"), [
    ("expired", 99, ["H223"]),
    ("expired", 100, []),
    ("expired", 101, ["H223"]),
    ("released", 99, []),
    ("released", 100, ["H223"]),
    ("confirmed", 0, []),
    ("confirmed", 99, []),
    ("confirmed", 100, ["H223"]),
])  # fmt: skip
def test_a_hold_ends_when_it_was_declared_to_or_before_by_somebodys_doing(
    reason: str, t: int, found: list[str]
) -> None:
    j = Rows()
    taken = j.hold(1, quantity=2)
    end = j.end(1, t, reason)
    assert j.codes(broken_holds) == found
    for finding in j.found(broken_holds):
        assert (finding.keys, finding.events) == (("slots:7",), (taken, end))
        assert finding.evidence == {"hold_id": "holds:1", "slot_id": "slots:7", "expired_at": 100}
        assert finding.explanation.startswith("holds:1 (2 of slots:7) e")
        assert finding.mechanism == "places:slots"


@pytest.mark.parametrize(("t", "found"), [(100, []), (101, ["H223"])])
def test_a_hold_that_never_ends_is_leaked(t: int, found: list[str]) -> None:
    j = Rows()
    taken = j.hold(1)
    j.answer("user/2", 8, t=t)
    assert j.codes(broken_holds) == found
    for finding in j.found(broken_holds):
        assert finding.events == (taken,)


@pytest.mark.parametrize("first", ["confirmed", "released", "expired"])
@pytest.mark.parametrize("second", ["confirmed", "released", "expired"])
def test_a_hold_that_ended_twice_is_broken(first: str, second: str) -> None:
    j = Rows()
    taken = j.hold(1)
    t = 100 if first == "expired" else 50
    rows = (taken, j.end(1, t, first), j.end(1, 100, second))
    (finding,) = j.found(broken_holds)
    assert (finding.code, finding.events) == ("H223", rows)
    assert finding.explanation.endswith(f" was {second} after it had been {first}")


def test_a_confirmed_hold_is_cancelled_once() -> None:
    j = Rows()
    j.hold(1)
    j.end(1, 50, "confirmed")
    j.end(1, 5_000, "cancelled")
    assert j.codes(broken_holds) == []
    j.end(1, 5_001, "cancelled")
    assert j.codes(broken_holds) == ["H223"]


def test_holds_of_other_tables_are_others() -> None:
    j = Rows()
    j.hold(1)
    j.end(1, 50, "released")
    j.add("HOLDEND", 60, holds="carts", hold=1, reason="released")
    j.end(2, 60, "released")
    assert j.codes(broken_holds) == []


# --- capacities -----------------------------------------------------------------------------------


@pytest.mark.parametrize(("capacity", "code"), [(1, "H221"), (2, "H222")])
def test_a_place_holds_what_it_has_and_no_more(capacity: int, code: str) -> None:
    j = Rows()
    for hold in range(capacity):
        j.hold(hold + 1, capacity=capacity)
    assert j.codes(oversold_places) == []
    last = j.hold(9, t=5, capacity=capacity)
    (finding,) = j.found(oversold_places)
    assert (finding.code, finding.keys, finding.events) == (code, ("slots:7",), (last,))
    assert finding.evidence == {"slot_id": "slots:7", "capacity": capacity, "sold": capacity + 1}
    assert finding.explanation == (
        f"{capacity + 1} of slots:7 were held or sold at one time, and there is {capacity}: "
        "user/1#8 took 1"
    )


@pytest.mark.parametrize(
    ("ends", "found"),
    [
        (("released",), []),
        (("expired",), []),
        (("confirmed",), ["H221"]),
        (("confirmed", "cancelled"), []),
        (("released", "expired"), []),
        (("expired", "confirmed"), ["H221"]),
    ],
)
def test_what_was_given_back_can_be_taken_and_what_is_confirmed_can_not(
    ends: tuple[str, ...], found: list[str]
) -> None:
    j = Rows()
    j.hold(1, capacity=1)
    for reason in ends:
        j.end(1, 50, reason)
    j.hold(2, t=60, capacity=1)
    assert j.codes(oversold_places) == found


def test_a_hold_that_is_confirmed_after_somebody_else_has_its_place_sells_it_twice() -> None:
    j = Rows()
    first = j.hold(1, capacity=1)
    j.end(1, 100, "expired")
    j.hold(2, t=100, capacity=1)
    late = j.end(1, 110, "confirmed")
    j.end(2, 120, "confirmed")
    (finding,) = j.found(oversold_places)
    assert (finding.code, finding.t, finding.events) == ("H221", 110, (first, late))


def test_what_was_given_back_twice_is_free_once() -> None:
    j = Rows()
    j.hold(1, capacity=1)
    j.end(1, 50, "released")
    j.end(1, 100, "expired")
    j.hold(2, t=100, capacity=1)
    assert j.codes(oversold_places) == []
    j.hold(3, t=100, capacity=1)
    assert j.codes(oversold_places) == ["H221"]


def test_places_are_counted_by_themselves() -> None:
    j = Rows()
    j.hold(1, capacity=1)
    j.hold(2, capacity=1, key=8)
    assert j.codes(oversold_places) == []


# --- in small worlds ------------------------------------------------------------------------------


def played(think: int = 0, **attributes: Any) -> tuple[World, list[Finding]]:
    """Let six people book one slot for two and one for one, a second apart."""
    world = World(0)
    holds = Holds(world, "slots")
    for name, value in attributes.items():
        setattr(holds, name, value)
    holds.open(1, 1)
    holds.open(2, 2)

    def book(i: int) -> Generator[Event, Any, None]:
        op = Operation(world, Actor(world, f"user/{i}", 0), 1)
        yield world.pause(i * SECOND)
        for key in (1, 2):
            try:
                if think:
                    if holds.free(key) < 1:
                        continue
                    yield world.pause(think)
                hold = holds.take(op, key, 1, 4 * SECOND, checked=think > 0)
            except Refused:
                continue
            yield world.pause(SECOND // 2)
            if i == 0:
                holds.release(hold)
            elif i % 2:
                holds.confirm(hold)

    for i in range(6):
        world.spawn(f"user/{i}", book(i))
    world.advance_to(60 * SECOND)
    world.emit((journal.END, world.ticks, world.intern("stop"), world.intern(""), 0))
    story = tell(list(Decoder().decode_all(world.rows)), [span()])
    return world, [*broken_holds(story), *oversold_places(story)]


def test_a_sound_booking_is_silent() -> None:
    world, findings = played()
    assert (findings, world.alarms) == ([], 0)
    assert any(row.kind == "HOLDEND" for row in Decoder().decode_all(world.rows))


def test_a_leak_is_found() -> None:
    world, findings = played(leak=True)
    assert {f.code for f in findings} == {"H223"}
    assert {f.evidence["slot_id"] for f in findings} == {"slots:1", "slots:2"}
    assert world.alarms


def test_checking_thinking_and_taking_sells_too_much() -> None:
    world, findings = played(think=2 * SECOND)
    assert {f.code for f in findings} == {"H221", "H222"}
    assert world.alarms


def test_an_early_expiry_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    original = Holds.take

    def take(self: Holds, *args: Any, **more: Any) -> int:
        hold = original(self, *args, **more)
        item = next(h for p in self.places.values() for h in p.active.values() if h.id == hold)
        item.expires -= SECOND

        def lapse(_: Event) -> None:
            self.state(hold)

        self.world.after(item.expires - self.world.ticks, lapse)
        return hold

    monkeypatch.setattr(Holds, "take", take)
    _, findings = played()
    assert {f.code for f in findings} == {"H223"}
    assert all(f.explanation.endswith(" expired 1s too early") for f in findings)
