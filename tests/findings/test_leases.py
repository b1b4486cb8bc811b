"""H315 of leases: over rows written by hand, at their boundaries, and in small worlds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from simharness.findings.detect import HARNESS
from simharness.findings.leases import broken_leases
from simharness.findings.story import tell
from simharness.kernel import journal
from simharness.kernel.journal import Decoder
from simharness.kernel.operation import Actor, Operation
from simharness.kernel.world import World
from simharness.parts.lease import Leases
from simharness.parts.refusal import Refused
from simharness.units import SECOND
from tests.findings.journal import Journal, span

if TYPE_CHECKING:
    from collections.abc import Generator

    from simpy.events import Event

    from simharness.findings.finding import Finding


class Rows(Journal):
    """A journal of leases: 100 ticks each, unless said otherwise."""

    def lease(
        self, owner: str, token: int, t: int, expires: int | None = None, lease: str = "slots:7"
    ) -> int:
        until = t + 100 if expires is None else expires
        return self.add("LEASE", t, owner=owner, n=8, lease=lease, token=token, expires=until)

    def end(self, owner: str, token: int, t: int, reason: str = "expired") -> int:
        return self.add(
            "LEASEEND", t, owner=owner, n=8, lease="slots:7", token=token, reason=reason
        )

    def write(self, owner: str, token: int, newest: int, t: int) -> int:
        return self.add(
            "LEASEWRITE", t, owner=owner, n=9, lease="slots:7", token=token, newest=newest
        )


def test_the_detector_is_listed() -> None:
    assert broken_leases in HARNESS


def test_leases_that_pass_from_one_to_the_next_are_sound() -> None:
    j = Rows()
    j.lease("a", 1, 0)
    j.write("a", 1, 1, 99)
    j.end("a", 1, 100)
    j.lease("b", 2, 100)
    j.lease("b", 2, 150)
    j.write("b", 2, 2, 240)
    j.end("b", 2, 241, "released")
    j.lease("a", 3, 241)
    j.lease("a", 1, 241, lease="slots:8")
    assert j.codes(broken_leases) == []


@pytest.mark.parametrize(("reason", "t", "found"), [
    ("expired", 99, ["H315"]),
    ("expired", 100, []),
    ("expired", 101, ["H315"]),
    ("released", 1, []),
    ("released", 99, []),
    ("released", 100, ["H315"]),
])  # fmt: skip
def test_a_lease_ends_when_it_was_declared_to_or_is_released_before(
    reason: str, t: int, found: list[str]
) -> None:
    j = Rows()
    granted = j.lease("a", 1, 0)
    end = j.end("a", 1, t, reason)
    assert j.codes(broken_leases) == found
    for finding in j.found(broken_leases):
        assert finding.events == (granted, end)
        assert finding.evidence == {
            "key": "slots:7",
            "holder": "a",
            "expired_at": min(t, 100),
        }
        assert (finding.keys, finding.mechanism) == (("slots:7",), "lease:slots")


@pytest.mark.parametrize(("t", "found"), [(149, ["H315"]), (150, []), (151, ["H315"])])
def test_a_renewal_declares_a_new_end(t: int, found: list[str]) -> None:
    j = Rows()
    j.lease("a", 1, 0)
    j.lease("a", 1, 50)
    j.end("a", 1, t)
    assert j.codes(broken_leases) == found


@pytest.mark.parametrize(("t", "found"), [(99, []), (100, ["H315"])])
def test_a_renewal_comes_before_the_end(t: int, found: list[str]) -> None:
    j = Rows()
    j.lease("a", 1, 0)
    j.lease("a", 1, t)
    assert j.codes(broken_leases) == found


@pytest.mark.parametrize(("t", "found"), [(100, []), (101, ["H315"])])
def test_a_lease_that_never_ends_is_alive_past_its_expiry(t: int, found: list[str]) -> None:
    j = Rows()
    granted = j.lease("a", 1, 0)
    j.lease("b", 1, t, lease="slots:8")
    assert j.codes(broken_leases) == found
    for finding in j.found(broken_leases):
        assert (finding.keys, finding.events) == (("slots:7",), (granted,))
        assert finding.explanation.startswith("lease slots:7 of a#8 had not ended")


def test_a_lease_with_two_holders_is_broken_once() -> None:
    j = Rows()
    first = j.lease("a", 1, 0)
    second = j.lease("b", 2, 40)
    (finding,) = j.found(broken_leases)
    assert (finding.t, finding.events) == (40, (first, second))
    assert finding.evidence == {"key": "slots:7", "holder": "a", "expired_at": 100}
    assert finding.explanation == "lease slots:7 was given to b#8 while a#8 held it"
    j.end("a", 1, 100)
    assert j.codes(broken_leases) == ["H315"]
    j.lease("c", 3, 120)
    assert [f.evidence["holder"] for f in j.found(broken_leases)] == ["a", "b"]


@pytest.mark.parametrize(("t", "found"), [(99, []), (100, ["H315"])])
def test_a_write_needs_a_lease_that_has_not_expired(t: int, found: list[str]) -> None:
    j = Rows()
    granted = j.lease("a", 1, 0)
    written = j.write("a", 1, 1, t)
    assert j.codes(broken_leases) == found
    for finding in j.found(broken_leases):
        assert finding.events == (granted, written)


@pytest.mark.parametrize("reason", ["expired", "released"])
@pytest.mark.parametrize("newest", [1, 2])
def test_a_write_after_the_end_is_broken_whether_or_not_somebody_else_has_the_lease(
    reason: str, newest: int
) -> None:
    j = Rows()
    j.lease("a", 1, 0, 50)
    end = j.end("a", 1, 50 if reason == "expired" else 20, reason)
    if newest == 2:
        j.lease("b", 2, 50)
    written = j.write("a", 1, newest, 50)
    (finding,) = j.found(broken_leases)
    assert finding.events == (end, written)
    assert finding.evidence["holder"] == "a"
    assert finding.evidence["expired_at"] == j.rows[end].t


def test_a_write_under_a_token_that_is_not_the_newest_is_broken() -> None:
    j = Rows()
    j.write("a", 1, 2, 50)
    (finding,) = j.found(broken_leases)
    assert finding.evidence == {"key": "slots:7", "holder": "a", "expired_at": 50}
    j = Rows()
    j.lease("a", 1, 0)
    j.lease("b", 2, 10)
    j.write("a", 1, 2, 50)
    assert j.codes(broken_leases) == ["H315", "H315"]


def test_an_end_that_is_told_twice_or_of_nothing_says_nothing() -> None:
    j = Rows()
    j.end("a", 1, 5)
    j.lease("a", 2, 5)
    j.end("a", 2, 105)
    j.end("a", 2, 300)
    assert j.codes(broken_leases) == []


# --- in small worlds ------------------------------------------------------------------------------


def played(pause: int, **knobs: Any) -> tuple[World, list[Finding], list[str]]:
    """Let one import under a lease stand still for a while before it writes; another follows it."""
    world = World(0)
    leases = Leases(world, "deals")
    leases.ttl = 10 * SECOND
    for name, value in knobs.items():
        setattr(leases, name, value)
    refused: list[str] = []

    def work(name: str, start: int, think: int) -> Generator[Event, Any, None]:
        op = Operation(world, Actor(world, name, 0), 1)
        yield world.pause(start)
        grant = yield from leases.acquire(op, patience=60 * SECOND)
        yield world.pause(think)
        try:
            leases.check(op, 0, grant.token)
        except Refused as refusal:
            refused.append(f"{name} {refusal.code}")
        leases.release(0, grant.token)

    world.spawn("import", work("import", SECOND // 2, pause))
    world.spawn("sweep", work("sweep", SECOND, 5 * SECOND))
    world.advance_to(60 * SECOND)
    world.emit((journal.END, world.ticks, world.intern("stop"), world.intern(""), 0))
    story = tell(list(Decoder().decode_all(world.rows)), [span()])
    return world, list(broken_leases(story)), refused


def test_a_holder_that_outlives_its_lease_writes_where_nothing_fences_it() -> None:
    for pause in (11, 18):  # while the other one has the lease, and after that
        world, findings, refused = played(pause * SECOND, fencing=False)
        (finding,) = findings
        assert finding.evidence == {
            "key": "deals",
            "holder": "import",
            "expired_at": 10 * SECOND + SECOND // 2,
        }
        assert (finding.keys, finding.mechanism) == (("deals",), "lease:deals")
        assert (refused, world.alarms) == ([], 1)


def test_fencing_refuses_it() -> None:
    for pause in (10, 11, 18):
        world, findings, refused = played(pause * SECOND)
        assert (findings, refused, world.alarms) == ([], ["import conflict"], 0)


def test_whoever_writes_in_time_is_left_alone_fenced_or_not() -> None:
    for fencing in (False, True):
        assert played(9 * SECOND, fencing=fencing)[1:] == ([], [])
        renewed = played(20 * SECOND, fencing=fencing, renew_every=4 * SECOND)
        assert renewed[1:] == ([], [])


def test_a_clock_that_is_too_coarse_ends_leases_early() -> None:
    world, findings, _ = played(9 * SECOND + SECOND * 4 // 5, granularity=SECOND)
    assert {f.code for f in findings} == {"H315"}
    assert findings[0].explanation == (
        "lease deals ended 500ms earlier than import#1 had been told"
    )
    assert world.alarms
