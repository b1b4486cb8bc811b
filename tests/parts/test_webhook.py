"""Webhooks and inboxes: events come late, twice and out of order, and are applied once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simharness.kernel.schedule import Fifo, Random
from simharness.parts.refusal import Refused
from simharness.parts.transaction import Transaction
from simharness.parts.webhook import Inbox, Notice, Webhook
from simharness.units import SECOND
from tests.parts.posts import Bed, Steps

if TYPE_CHECKING:
    from simharness.kernel.operation import Operation, Span
    from simharness.parts.reaction import Reaction


class Post(Bed):
    """A webhook whose endpoint writes the event's kind into the charge that it is about."""

    def __init__(self, seed: int = 0, *, drawn: bool = False) -> None:
        super().__init__(seed, Random(seed) if drawn else Fifo())
        self.hook = Webhook(self.world, "hook", self.take)
        self.inbox = Inbox(self.world, "books")
        self.refusals: dict[str, int] = {}
        self.slow: dict[str, int] = {}
        self.think: Span = (0, 0)

    def take(self, op: Reaction, notice: Notice) -> Steps:
        name = notice.event_id
        self.note(f"{name} comes")
        if self.refusals.get(name, 0):
            self.refusals[name] -= 1
            raise Refused("unavailable", "not now")
        yield self.world.pause(self.slow.pop(name, 0))
        yield op.latency(self.think, "db")
        key = int(notice.ref.partition(":")[2])
        tx = self.add(op, key, int(str(notice.payload.get("amount", 0))))
        tx.update(self.table, key, {"status": notice.kind})
        if self.inbox.take(tx, notice):
            tx.commit()
            self.note(name)

    def send(
        self, event_id: str, kind: str = "ok", created: int = 0, key: int = 1, amount: int = 0
    ) -> None:
        notice = Notice(event_id, kind, created, f"charges:{key}", {"amount": amount})
        self.hook.send(self.op(), notice)

    def arrive(self, op: Operation, event_id: str, kind: str, created: int) -> None:
        """Deliver an event by hand, now."""
        notice = Notice(event_id, kind, created, "charges:1")
        self.world.spawn(f"by hand/{op.n}", self.hook.arrive(op, notice))
        self.world.settle()

    def applied(self) -> list[tuple[int, str]]:
        return [(t, what) for t, what in self.log if " " not in what]

    def status(self, key: int = 1) -> str:
        return self.table.rows[key].status

    def codes(self) -> list[str]:
        return [finding.code for finding in self.findings()]


def test_an_event_is_delivered_after_its_delay_and_applied() -> None:
    post = Post()
    post.hook.delay = (5, 5)
    post.send("ev-1", "succeeded", created=77)
    assert post.world.reactions == 1
    post.end()
    assert post.applied() == [(5, "ev-1")]
    assert post.status() == "succeeded"
    assert post.world.reactions == 0
    assert post.rows("WEBHOOK", "APPLIED", "DELIVERED", "WEBHOOKEND") == [
        (0, ("hook", "ev-1", "succeeded", "charges:1", 77)),
        (5, ("books", "ev-1", "charges:1", 77)),
        (5, ("hook", "ev-1", 1, "ok")),
        (5, ("hook", "ev-1", "delivered")),
    ]


def test_a_pinned_wait_is_as_long_as_pinned() -> None:
    post = Post()
    post.hook.delay = (5, 500)
    notice = Notice("ev-1", "ok", 0, "charges:1")
    post.hook.send(post.op(pins={"webhook": 9}), notice)
    post.end()
    assert post.applied() == [(9, "ev-1")]


def test_fifo_events_wait_for_those_before_them() -> None:
    post = Post()
    post.hook.delay = (0, 1_000)
    for i in range(8):
        post.send(f"ev-{i}", created=i)
    post.end()
    assert [name for _, name in post.applied()] == [f"ev-{i}" for i in range(8)]


def test_events_of_any_order_overtake_each_other_and_the_older_are_ignored() -> None:
    post = Post()
    post.hook.delay, post.hook.order = (0, 1_000), "any"
    for i in range(8):
        post.send(f"ev-{i}", f"s{i}", created=i)
    post.end()
    names = [name for _, name in post.applied()]
    assert names == sorted(names)
    assert len(names) < 8
    assert post.status() == "s7"
    assert {row[1][-1] for row in post.rows("IGNORED")} == {"older"}
    assert len(names) + len(post.rows("IGNORED")) == 8


def test_an_event_that_is_refused_comes_again_and_others_wait_if_it_is_fifo() -> None:
    post = Post()
    post.refusals["a"] = 2
    post.send("a", created=1)
    post.send("b", created=2)
    post.end()
    assert post.applied() == [(3 * SECOND, "a"), (3 * SECOND, "b")]
    assert [row[1][2:] for row in post.rows("DELIVERED")] == [
        (1, "unavailable"),
        (2, "unavailable"),
        (3, "ok"),
        (1, "ok"),
    ]


def test_an_event_that_is_always_refused_is_given_up() -> None:
    post = Post()
    post.hook.attempts = 3
    post.refusals["a"] = 3
    post.send("a")
    post.send("b")
    post.end()
    assert [name for _, name in post.applied()] == ["b"]
    assert [row[1][2] for row in post.rows("WEBHOOKEND")] == ["given_up", "delivered"]
    assert post.world.reactions == 0
    assert post.codes() == []


def test_a_slow_endpoint_gets_the_event_again_while_it_is_still_at_it() -> None:
    """The handler takes 11 s, the sender waits for 10 s."""
    post = Post()
    post.slow["top-up"] = 11 * SECOND
    post.send("top-up", amount=2_000)
    post.end()
    assert [t for t, what in post.log if what == "top-up comes"] == [0, 11 * SECOND]
    assert post.table.rows[1].amount == 2_000
    assert {row[1][-1] for row in post.rows("IGNORED")} == {"duplicate"}
    assert post.world.reactions == 0


@pytest.mark.parametrize(("dedupe", "amount"), [(True, 20), (False, 60)])
def test_a_redelivered_event_adds_once_only_if_it_is_known(dedupe: bool, amount: int) -> None:
    post = Post()
    post.hook.duplicates = 2
    post.inbox.dedupe = dedupe
    post.send("top-up", amount=20)
    post.end()
    assert post.table.rows[1].amount == amount
    findings = post.findings()
    assert [f.code for f in findings] == ([] if dedupe else ["H314", "H314"])
    for finding in findings:
        assert (finding.keys, finding.mechanism) == (("charges:1",), "inbox:books")
        assert finding.evidence == {"event": "top-up", "ref": "charges:1"}
    assert bool(post.world.alarms) is not dedupe


def test_kinds_that_nobody_listens_to_are_not_delivered() -> None:
    post = Post()
    post.hook.kinds = ("paid",)
    post.send("a", "paid")
    post.send("b", "refunded")
    post.end()
    assert [name for _, name in post.applied()] == ["a"]
    assert post.rows("WEBHOOKEND")[0] == (0, ("hook", "b", "unheard"))
    assert post.codes() == []


def test_an_event_that_is_lost_is_found() -> None:
    post = Post()
    post.hook.lost = ("paid",)
    post.send("a", "paid", key=2)
    post.send("b", "refunded")
    post.end()
    (finding,) = post.findings()
    assert (finding.code, finding.keys, finding.mechanism) == (
        "H229",
        ("charges:2",),
        "webhook:hook",
    )
    assert finding.explanation == "event a paid of charges:2 was lost by webhook hook"
    assert (post.world.alarms, post.world.reactions) == (1, 0)


def test_a_repaired_webhook_loses_nothing() -> None:
    post = Post()
    post.world.repair = frozenset({"webhook:hook"})
    post.hook.lost = ("paid",)
    post.send("a", "paid")
    post.end()
    assert [name for _, name in post.applied()] == ["a"]


# --- older over newer -----------------------------------------------------------------------------

OLDER, NEWER = 1_000 * SECOND, 1_001 * SECOND


def delivered(apply: str, older: int, older_at: int, *, repair: bool = False) -> Post:
    """Deliver the newer event at 2 s, and the older one when it is said."""
    post = Post()
    post.inbox.apply = apply
    if repair:
        post.world.repair = frozenset({"inbox:books"})
    gateway = post.user
    events = [(2 * SECOND, "ev-2", "succeeded", NEWER), (older_at, "ev-1", "pending", older)]
    for at, event_id, kind, created in sorted(events):
        post.world.advance_to(at)
        post.arrive(post.op(gateway), event_id, kind, created)
    return post


def test_an_older_event_that_is_applied_over_a_newer_one_is_found() -> None:
    post = delivered("last_arrived", OLDER, 3 * SECOND)
    assert post.status() == "pending"
    (finding,) = post.findings()
    assert finding.code == "H228"
    assert finding.evidence == {
        "older": "ev-1",
        "newer": "ev-2",
        "by": SECOND,
        "ref": "charges:1",
    }
    assert (finding.t, finding.keys) == (3 * SECOND, ("charges:1",))
    assert finding.explanation == (
        "event ev-1 of charges:1 was applied over ev-2, which is 1s newer"
    )
    assert post.world.alarms


@pytest.mark.parametrize(
    ("apply", "older", "at", "status"),
    [
        ("last_arrived", OLDER, SECOND, "succeeded"),  # it comes first
        ("newest", OLDER, 3 * SECOND, "succeeded"),  # it is ignored
        ("newest", NEWER, 3 * SECOND, "pending"),  # neither is older: the later arrival wins
        ("last_arrived", NEWER, 3 * SECOND, "pending"),
    ],
)
def test_events_in_order_ignored_or_of_one_instant_are_no_fault(
    apply: str, older: int, at: int, status: str
) -> None:
    post = delivered(apply, older, at)
    assert (post.status(), post.codes(), post.world.alarms) == (status, [], 0)


def test_a_repaired_inbox_ignores_what_is_older_and_what_it_has_had() -> None:
    post = delivered("last_arrived", OLDER, 3 * SECOND, repair=True)
    post.inbox.dedupe = False
    post.arrive(post.op(), "ev-2", "succeeded", NEWER)
    assert (post.status(), post.codes()) == ("succeeded", [])
    assert [row[1][-1] for row in post.rows("IGNORED")] == ["older", "duplicate"]


def test_what_is_newer_than_the_last_may_be_older_than_the_newest() -> None:
    post = Post()
    post.inbox.apply = "last_arrived"
    for event_id, created in (("c", 30), ("a", 10), ("b", 20)):
        post.arrive(post.op(), event_id, event_id, created)
    assert post.world.alarms == 2
    assert [f.evidence["newer"] for f in post.findings()] == ["c", "c"]
    post.inbox.apply = "newest"
    assert post.inbox.objection(Notice("d", "ok", 29, "charges:1")) == "older"


def test_an_event_is_known_only_once_its_transaction_is_committed() -> None:
    post = Post()
    tx = Transaction(post.op())
    notice = Notice("ev-1", "ok", 5, "charges:1")
    assert post.inbox.take(tx, notice)
    assert post.inbox.objection(notice) == ""
    tx.commit()
    assert post.inbox.objection(notice) == "duplicate"
    assert post.inbox.objection(Notice("ev-0", "ok", 4, "charges:1")) == "older"
    assert post.inbox.objection(Notice("ev-0", "ok", 4, "charges:2")) == ""


# --- any schedule ---------------------------------------------------------------------------------

EVENTS = st.lists(
    st.tuples(st.integers(0, 30), st.integers(1, 3), st.integers(0, 4), st.integers(0, 400)),
    min_size=1,
    max_size=10,
)
CONDITIONS = st.tuples(
    st.sampled_from(["fifo", "any"]),
    st.integers(0, 3),
    st.integers(0, 300),
    st.integers(0, 40),
    st.integers(0, 5),
)


def posted(
    events: list[tuple[int, int, int, int]],
    conditions: tuple[str, int, int, int, int],
    *,
    apart: bool,
) -> Post:
    """Send events under some conditions; `apart`: each about a thing of its own."""
    order, duplicates, delay, think, seed = conditions
    post = Post(seed, drawn=True)
    post.hook.order, post.hook.duplicates, post.hook.delay = order, duplicates, (0, delay)
    post.hook.timeout, post.hook.backoff, post.think = 200, 50, (0, think)
    for i, (wait, key, refusals, slow) in enumerate(events):
        post.world.advance_to(post.world.ticks + wait)
        post.refusals[f"ev-{i}"], post.slow[f"ev-{i}"] = refusals, slow
        ref = f"charges/{i}:{key}" if apart else f"charges:{key}"
        notice = Notice(f"ev-{i}", f"s{i}", post.world.ticks, ref, {"amount": 1 << i})
        post.hook.send(post.op(), notice)
    post.end()
    return post


@settings(deadline=None)
@given(EVENTS, CONDITIONS)
def test_every_event_takes_effect_once_under_any_delay_duplicate_order_and_refusal(
    events: list[tuple[int, int, int, int]], conditions: tuple[str, int, int, int, int]
) -> None:
    post = posted(events, conditions, apart=True)
    for key in (1, 2, 3):
        due = sum(1 << i for i, event in enumerate(events) if event[1] == key)
        assert post.table.rows[key].amount == due
    assert {row[1][2] for row in post.rows("WEBHOOKEND")} == {"delivered"}
    assert post.world.reactions == 0
    assert post.codes() == []


@settings(deadline=None)
@given(EVENTS, CONDITIONS)
def test_the_newest_event_wins_under_any_delay_duplicate_order_and_refusal(
    events: list[tuple[int, int, int, int]], conditions: tuple[str, int, int, int, int]
) -> None:
    post = posted(events, conditions, apart=False)
    created = 0
    newest: dict[int, tuple[int, list[str]]] = {}
    for i, (wait, key, _, _) in enumerate(events):
        created += wait
        at, names = newest.get(key, (-1, []))
        newest[key] = (created, [*names, f"s{i}"] if at == created else [f"s{i}"])
    for key, (_, names) in newest.items():
        assert post.status(key) in names
    assert post.codes() == []
