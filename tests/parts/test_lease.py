"""Leases: one holder at a time, an end that comes by itself, and tokens that tell who is late."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, TypeAlias

import pytest
from hypothesis import given
from hypothesis import strategies as st
from simpy.events import Event

from simharness.errors import HarnessError
from simharness.findings.leases import broken_leases
from simharness.findings.story import StepSpan, tell
from simharness.kernel import journal
from simharness.kernel.journal import Decoder
from simharness.kernel.operation import Actor, Operation
from simharness.kernel.world import World
from simharness.parts.lease import Grant, Leases
from simharness.parts.refusal import Refused
from simharness.product import knobs
from simharness.product.knobs import Settings

Steps: TypeAlias = Generator[Event, Any, None]


class Bed:
    """A world with the leases of one table."""

    def __init__(self, ttl: int = 100) -> None:
        self.world = World(0)
        self.leases = Leases(self.world, "slots")
        self.leases.ttl = ttl
        self.log: list[tuple[int, str]] = []

    def op(self, name: str) -> Operation:
        return Operation(self.world, Actor(self.world, name, 0), 1)

    def take(self, op: Operation, key: int = 7) -> Grant:
        """Acquire a free lease, which costs no event."""
        with pytest.raises(StopIteration) as end:
            next(self.leases.acquire(op, key))
        grant = end.value.value
        assert isinstance(grant, Grant)
        return grant

    def ask(self, name: str, start: int, patience: int, hold: int | None = None) -> Operation:
        """Let a process acquire the lease, and give it back after `hold` ticks, if at all."""
        op = self.op(name)

        def steps() -> Steps:
            yield self.world.pause(start)
            try:
                grant = yield from self.leases.acquire(op, 7, patience)
            except Refused as refusal:
                self.note(f"{name} refused {refusal.code}")
                return
            self.note(f"{name} has {grant.token}")
            if hold is not None:
                yield self.world.pause(hold)
                self.note(f"{name} gives back {self.leases.release(7, grant.token)}")

        self.world.spawn(name, steps())
        return op

    def note(self, what: str) -> None:
        self.log.append((self.world.ticks, what))

    def rows(self, *kinds: str) -> list[tuple[int, str, tuple[Any, ...]]]:
        decoded = Decoder().decode_all(self.world.rows)
        return [
            (r.t, r.kind, tuple(r.values.values())) for r in decoded if r.kind.startswith(kinds)
        ]


def code_of(refused: pytest.ExceptionInfo[Refused]) -> str:
    return refused.value.code


# --- taking and waiting ---------------------------------------------------------------------------


def test_a_free_lease_is_granted_without_a_wait() -> None:
    bed = Bed()
    op = bed.op("a")
    assert bed.take(op) == Grant(1, 100)
    assert bed.leases.holder(7) is op
    assert bed.rows("LEASE") == [(0, "LEASE", ("a", 1, "slots:7", 1, 100))]


def test_a_lease_of_the_whole_table_has_its_name_and_is_none_of_a_row() -> None:
    bed = Bed()
    bed.take(bed.op("a"), 0)
    bed.take(bed.op("b"), 1)
    assert [row[2][2] for row in bed.rows("LEASE")] == ["slots", "slots:1"]


def test_a_held_lease_is_refused_at_once_to_those_without_patience() -> None:
    bed = Bed()
    bed.take(bed.op("a"))
    with pytest.raises(Refused) as refused:
        next(bed.leases.acquire(bed.op("b"), 7))
    assert code_of(refused) == "locked"
    assert bed.rows("LEASEREFUSED") == [(0, "LEASEREFUSED", ("b", 1, "slots:7", 0, 1))]
    assert bed.world.alarms == 0


def test_a_lease_is_handed_over_in_order_of_asking() -> None:
    bed = Bed()
    for start, name in enumerate("cab"):
        bed.ask(name, start, patience=1_000, hold=10)
    bed.world.advance_to(500)
    assert bed.log == [
        (0, "c has 1"),
        (10, "c gives back True"),
        (10, "a has 2"),
        (20, "a gives back True"),
        (20, "b has 3"),
        (30, "b gives back True"),
    ]
    assert bed.leases.holder(7) is None


def test_a_wait_names_the_lease_and_its_holder() -> None:
    bed = Bed()
    bed.ask("a", 0, 0)
    bed.ask("b", 1, 50)
    bed.world.advance_to(5)
    assert bed.world.waiting() == ["b waits for lease slots:7, held by a#1"]


@pytest.mark.parametrize(
    ("patience", "end"), [(98, (99, "b refused locked")), (99, (100, "b has 2"))]
)
def test_patience_that_lasts_to_the_very_end_of_the_lease_is_enough(
    patience: int, end: tuple[int, str]
) -> None:
    bed = Bed(ttl=100)
    bed.ask("b", 1, patience)
    bed.ask("a", 0, 0)
    bed.world.advance_to(500)
    assert bed.log == [(0, "a has 1"), end]


def test_patience_that_ends_before_the_timer_of_that_instant_is_enough_too() -> None:
    bed = Bed(ttl=100)
    token = bed.take(bed.op("a")).token
    bed.ask("b", 1, patience=119)
    bed.world.advance_to(20)
    bed.leases.renew(7, token)
    bed.world.advance_to(500)
    assert bed.log == [(120, "b has 2")]


def test_whoever_gave_up_is_not_handed_the_lease() -> None:
    bed = Bed()
    bed.ask("a", 0, 0)
    bed.ask("b", 1, 10)
    bed.ask("c", 2, 1_000)
    bed.world.advance_to(150)
    assert bed.log == [(0, "a has 1"), (11, "b refused locked"), (100, "c has 2")]


def test_taking_a_lease_twice_is_a_fault_of_the_harness() -> None:
    bed = Bed()
    op = bed.op("a")
    bed.take(op)
    with pytest.raises(HarnessError, match=r"^a#1 takes lease slots:7 twice"):
        next(bed.leases.acquire(op, 7))


# --- the end --------------------------------------------------------------------------------------


def test_a_lease_ends_by_itself_when_its_age_is_its_ttl() -> None:
    bed = Bed(ttl=100)
    op = bed.op("a")
    bed.take(op)
    bed.world.advance_to(99)
    assert bed.leases.holder(7) is op
    bed.world.advance_to(100)
    assert bed.leases.holder(7) is None
    assert bed.rows("LEASEEND") == [(100, "LEASEEND", ("a", 1, "slots:7", 1, "expired"))]


def test_at_the_instant_of_its_end_a_lease_is_over_before_its_timer_comes() -> None:
    bed = Bed(ttl=100)

    def early() -> Steps:
        # Scheduled before the lease's timer of the same instant.
        yield bed.world.pause(100)
        bed.note(f"holder {bed.leases.holder(7)}")
        bed.note(f"new token {bed.take(bed.op('b')).token}")
        bed.note(f"late release {bed.leases.release(7, 1)}")

    bed.world.spawn("early", early())
    bed.world.settle()
    bed.take(bed.op("a"))
    bed.world.advance_to(150)
    assert bed.log == [(100, "holder None"), (100, "new token 2"), (100, "late release False")]
    assert len(bed.rows("LEASEEND")) == 1


def test_a_lease_ends_once_released_or_expired() -> None:
    bed = Bed()
    token = bed.take(bed.op("a")).token
    assert bed.leases.release(7, token)
    assert not bed.leases.release(7, token)
    bed.world.advance_to(500)
    assert [row[2][-1] for row in bed.rows("LEASEEND")] == ["released"]


def test_a_renewal_counts_from_its_instant() -> None:
    bed = Bed(ttl=100)
    token = bed.take(bed.op("a")).token
    bed.world.advance_to(60)
    assert bed.leases.renew(7, token) == Grant(1, 160)
    bed.world.advance_to(159)
    assert bed.leases.holder(7) is not None
    bed.world.advance_to(160)
    assert bed.leases.holder(7) is None
    assert [row[0] for row in bed.rows("LEASE")] == [0, 60, 160]


def test_a_lease_that_has_ended_can_not_be_renewed() -> None:
    bed = Bed(ttl=100)
    token = bed.take(bed.op("a")).token
    bed.world.advance_to(100)
    with pytest.raises(Refused) as refused:
        bed.leases.renew(7, token)
    assert code_of(refused) == "conflict"


@pytest.mark.parametrize("use", ["renew", "release", "abandon", "check"])
@pytest.mark.parametrize("token", [0, 2])
def test_a_token_that_was_never_granted_is_a_fault_of_the_harness(use: str, token: int) -> None:
    bed = Bed()
    op = bed.op("a")
    bed.take(op)
    arguments = (op, 7, token) if use == "check" else (7, token)
    with pytest.raises(HarnessError, match=f"^token {token} of lease slots:7 was never granted"):
        getattr(bed.leases, use)(*arguments)


def test_automatic_renewal_keeps_a_lease_until_it_is_given_back() -> None:
    bed = Bed(ttl=100)
    bed.leases.renew_every = 60
    op = bed.op("a")
    token = bed.take(op).token
    bed.world.advance_to(1_000)
    assert bed.leases.holder(7) is op
    assert [row[0] for row in bed.rows("LEASE")][:4] == [0, 60, 120, 180]
    bed.leases.release(7, token)
    assert bed.world.next_ticks() is not None
    bed.world.advance_to(5_000)
    assert bed.world.next_ticks() is None
    assert len(bed.rows("LEASEEND")) == 1


@pytest.mark.parametrize(("renew", "end"), [(99, None), (100, 100), (101, 100)])
def test_a_renewal_at_the_very_end_comes_too_late(renew: int, end: int | None) -> None:
    bed = Bed(ttl=100)
    bed.leases.renew_every = renew
    bed.take(bed.op("a"))
    bed.world.advance_to(150)
    assert [row[0] for row in bed.rows("LEASEEND")] == ([] if end is None else [end])


def test_an_abandoned_lease_ends_a_ttl_after_its_last_renewal_unless_its_holder_comes_back() -> (
    None
):
    bed = Bed(ttl=100)
    bed.leases.renew_every = 60
    token = bed.take(bed.op("a")).token
    bed.world.advance_to(70)
    bed.leases.abandon(7, token)
    bed.world.advance_to(110)
    bed.leases.renew(7, token)
    bed.world.advance_to(190)
    bed.leases.abandon(7, token)
    bed.world.advance_to(900)
    assert [row[0] for row in bed.rows("LEASE")] == [0, 60, 110, 170, 270]
    assert bed.rows("LEASEEND")[0][0] == 270


@pytest.mark.parametrize(
    ("at", "unit", "ttl", "ends"),
    [(0, 10, 100, 100), (9, 10, 100, 100), (10, 10, 100, 110), (3, 10, 95, 100), (3, 1, 95, 98)],
)
def test_a_coarse_clock_counts_ages_in_whole_units(at: int, unit: int, ttl: int, ends: int) -> None:
    bed = Bed(ttl=ttl)
    bed.leases.granularity = unit
    bed.world.advance_to(at)
    assert bed.take(bed.op("a")).expires == at + ttl
    bed.world.advance_to(500)
    assert [row[0] for row in bed.rows("LEASEEND")] == [ends]
    assert bool(bed.world.alarms) == (ends != at + ttl)


# --- writing --------------------------------------------------------------------------------------


def test_tokens_grow_by_one_with_each_grant_of_a_lease() -> None:
    bed = Bed()
    for token in (1, 2, 3):
        assert bed.take(bed.op("a")).token == token
        bed.leases.release(7, token)
    assert bed.take(bed.op("a"), 8).token == 1


def test_a_write_under_the_lease_is_let_through() -> None:
    bed = Bed()
    op = bed.op("a")
    bed.leases.check(op, 7, bed.take(op).token)
    assert bed.rows("LEASEWRITE") == [(0, "LEASEWRITE", ("a", 1, "slots:7", 1, 1))]
    assert bed.world.alarms == 0


@pytest.mark.parametrize("taken_since", [False, True])
@pytest.mark.parametrize("fencing", [False, True])
def test_only_fencing_refuses_a_write_under_a_lease_that_has_ended(
    fencing: bool, taken_since: bool
) -> None:
    bed = Bed(ttl=100)
    bed.leases.fencing = fencing
    op = bed.op("a")
    token = bed.take(op).token
    bed.world.advance_to(99)
    bed.leases.check(op, 7, token)
    bed.world.advance_to(100)
    if taken_since:
        bed.take(bed.op("b"))
    written = (100, "LEASEWRITE", ("a", 1, "slots:7", 1, 1 + taken_since))
    if fencing:
        with pytest.raises(Refused) as refused:
            bed.leases.check(op, 7, token)
        assert code_of(refused) == "conflict"
        assert bed.rows("LEASEREFUSED") == [(100, "LEASEREFUSED", written[2])]
    else:
        bed.leases.check(op, 7, token)
        assert bed.rows("LEASEWRITE")[-1] == written
    assert bed.world.alarms == (not fencing)


def test_the_attributes_follow_knobs() -> None:
    table = {
        knob.key: knob
        for knob in (
            knobs.duration("slots.lease.ttl", "30s", "life", low=1),
            knobs.flag("slots.lease.fencing", True, "whether late writers are refused"),
        )
    }
    settings = Settings(table, {key: knob.read(knob.default) for key, knob in table.items()})
    bed = Bed()
    settings.bind("slots.lease.ttl", bed.leases, "ttl")
    settings.bind("slots.lease.fencing", bed.leases, "fencing")
    assert (bed.leases.ttl, bed.leases.fencing) == (30_000_000, True)
    settings.patch({"slots.lease.fencing": False})
    assert bed.leases.fencing is False


# --- whatever happens -----------------------------------------------------------------------------

PLANS = st.lists(
    st.tuples(
        st.integers(0, 12),  # start
        st.integers(0, 9),  # patience
        st.integers(0, 12),  # time from grant to write
        st.integers(0, 4),  # time from there to the release
    ),
    min_size=1,
    max_size=8,
)


@given(PLANS, st.integers(1, 8), st.integers(0, 8))
def test_with_fencing_only_the_one_holder_writes(
    plans: list[tuple[int, int, int, int]], ttl: int, renew: int
) -> None:
    bed = Bed(ttl)
    bed.leases.renew_every = renew
    wrote: list[tuple[int, int]] = []

    def steps(op: Operation, start: int, patience: int, think: int, hold: int) -> Steps:
        yield bed.world.pause(start)
        try:
            grant = yield from bed.leases.acquire(op, 7, patience)
            yield bed.world.pause(think)
            bed.leases.check(op, 7, grant.token)
        except Refused:
            return
        assert bed.leases.holder(7) is op
        wrote.append((bed.world.ticks, grant.token))
        yield bed.world.pause(hold)
        bed.leases.release(7, grant.token)

    for i, plan in enumerate(plans):
        bed.world.spawn(f"p{i}", steps(bed.op(f"p{i}"), *plan))
    bed.world.advance_to(1_000)
    assert bed.world.alive == {}
    assert bed.leases.holder(7) is None
    assert wrote == sorted(wrote)
    held = newest = 0  # 0: nobody
    for _, kind, values in bed.rows("LEASE"):
        token: int = values[3]
        match kind:
            case "LEASE":
                assert token in (held, newest + 1)
                assert held in (0, token)
                held, newest = token, max(newest, token)
            case "LEASEEND":
                assert token == held
                held = 0
            case "LEASEWRITE":
                assert token == held == newest
            case _:
                assert token == 0 or token != held
    bed.world.emit((journal.END, bed.world.ticks, bed.world.intern("stop"), 0, 0))
    rows = list(Decoder().decode_all(bed.world.rows))
    step = StepSpan(1, 0, 0, ended=True, aborted=False)
    assert list(broken_leases(tell(rows, [step]))) == []
    assert bed.world.alarms == 0
