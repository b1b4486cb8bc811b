"""Outboxes: what was committed is told, in order, at least once; nothing else is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simharness.kernel.schedule import Fifo, Random
from simharness.parts.outbox import Outbox
from simharness.parts.transaction import Transaction
from tests.parts.posts import Bed

if TYPE_CHECKING:
    from simharness.parts.outbox import Message


class Office(Bed):
    """An outbox whose messages somebody listens to."""

    def __init__(self, seed: int = 0, *, drawn: bool = False) -> None:
        super().__init__(seed, Random(seed) if drawn else Fifo())
        self.outbox = Outbox(self.world)
        self.outbox.subscribers.append(self.hear)
        self.orders: list[int] = []

    def hear(self, message: Message) -> None:
        self.note(message.kind)
        self.orders.append(message.order)

    def tell(self, kind: str, key: int = 1, *, commit: bool = True) -> Transaction:
        tx = self.add(self.op(), key, 1)
        self.outbox.write(tx, kind, f"charges:{key}", {"amount": 1})
        if commit:
            tx.commit()
        return tx


def test_a_message_of_a_commit_is_relayed_after_its_wait() -> None:
    office = Office()
    office.outbox.latency = (7, 7)
    office.tell("paid")
    office.end()
    assert office.log == [(7, "paid")]
    assert office.rows("MESSAGE", "RELAYED") == [
        (0, ("outbox", "paid", "charges:1", 1)),
        (7, ("outbox", "sent")),
    ]
    assert office.world.reactions == 0


def test_nothing_is_told_of_a_transaction_that_is_never_committed() -> None:
    office = Office()
    office.tell("paid", commit=False)
    office.end()
    assert (office.log, office.rows("MESSAGE"), office.outbox.waiting) == ([], [], 0)


def test_nothing_is_told_of_a_transaction_that_is_refused() -> None:
    office = Office()
    tx = office.tell("paid", 2, commit=False)
    other = Transaction(office.op())
    other.delete(office.table, 2)
    other.commit()
    with pytest.raises(Exception, match="no charges row 2"):
        tx.commit()
    office.end()
    assert office.rows("MESSAGE") == []


def test_messages_are_relayed_in_the_order_of_the_commits() -> None:
    office = Office()
    office.outbox.latency = (0, 1_000)
    late = office.tell("late", 1, commit=False)
    for i in range(5):
        office.tell(f"m{i}", 2)
    late.commit()
    office.end()
    assert [kind for _, kind in office.log] == ["m0", "m1", "m2", "m3", "m4", "late"]
    assert office.orders == sorted(office.orders)


def test_a_crash_between_handing_on_and_noting_it_hands_on_twice() -> None:
    office = Office()
    office.outbox.latency, office.outbox.ack = (10, 10), (10, 10)
    office.tell("a")
    office.tell("b")
    office.world.advance_to(15)
    office.outbox.crash(100)
    office.end()
    assert office.log == [(10, "a"), (125, "a"), (145, "b")]
    assert office.world.reactions == 0
    assert office.findings() == []


def test_a_crash_before_that_only_delays() -> None:
    office = Office()
    office.outbox.latency = (10, 10)
    office.tell("a")
    office.world.advance_to(5)
    office.outbox.crash()
    office.world.advance_to(5)
    office.outbox.crash(20)
    office.end()
    assert office.log == [(35, "a")]


def test_a_relay_that_is_down_tells_later_of_what_comes_meanwhile() -> None:
    office = Office()
    office.world.advance_to(1)
    office.outbox.crash(50)
    office.tell("a")
    office.world.advance_to(40)
    assert office.log == []
    office.end()
    assert office.log == [(51, "a")]


def test_a_message_that_is_lost_is_found() -> None:
    office = Office()
    office.outbox.loss = 1_000_000
    office.tell("paid", 3)
    office.end()
    assert office.log == []
    (finding,) = office.findings()
    assert (finding.code, finding.keys, finding.mechanism) == (
        "H229",
        ("charges:3",),
        "outbox:outbox",
    )
    assert finding.explanation == "message paid of charges:3 was lost by outbox outbox"
    assert office.world.alarms


@pytest.mark.parametrize(("commit", "found"), [(None, ["H230"]), (20, ["H230"]), (5, [])])
def test_a_message_that_is_told_before_its_commit_is_found(
    commit: int | None, found: list[str]
) -> None:
    office = Office()
    office.outbox.latency = (10, 10)
    office.outbox.early = True
    tx = office.tell("paid", commit=False)
    if commit is not None:
        office.world.advance_to(commit)
        tx.commit()
    office.end()
    assert office.log == [(10, "paid")]
    assert [f.code for f in office.findings()] == found


def test_a_repaired_outbox_loses_nothing_and_is_not_early() -> None:
    office = Office()
    office.world.repair = frozenset({"outbox:outbox"})
    office.outbox.loss = 1_000_000
    office.outbox.early = True
    office.tell("a")
    office.tell("b", commit=False)
    office.end()
    assert office.log == [(0, "a")]


WRITES = st.lists(
    st.tuples(st.integers(0, 50), st.integers(1, 3), st.booleans()), min_size=1, max_size=15
)


@settings(deadline=None)
@given(WRITES, st.lists(st.integers(0, 500), max_size=4), st.integers(0, 5))
def test_just_what_was_committed_is_relayed_at_least_once_and_in_order(
    writes: list[tuple[int, int, bool]], crashes: list[int], seed: int
) -> None:
    office = Office(seed, drawn=True)
    office.outbox.latency, office.outbox.ack = (0, 30), (0, 10)
    for at in crashes:
        office.world.after(at, lambda _: office.outbox.crash(7))
    told: list[str] = []
    for i, (wait, key, commit) in enumerate(writes):
        office.world.advance_to(office.world.ticks + wait)
        office.tell(f"m{i}", key, commit=commit)
        if commit:
            told.append(f"m{i}")
    office.end()
    heard = [kind for _, kind in office.log]
    assert list(dict.fromkeys(heard)) == told
    assert office.orders == sorted(office.orders)
    if not crashes:
        assert heard == told
    assert office.world.reactions == 0
    assert office.findings() == []
