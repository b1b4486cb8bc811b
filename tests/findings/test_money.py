"""H224, H225, H226, H227 and H231, over rows written by hand."""

from __future__ import annotations

from typing import Any

import pytest

from simharness.findings.calls import untrue_outcomes
from simharness.findings.coping import duplicates
from simharness.findings.detect import HARNESS
from simharness.findings.money import (
    over_refunds,
    repeated_by_harness,
    wrong_amounts,
    wrong_books,
)
from simharness.findings.outcome import others_credit
from simharness.findings.story import StepSpan, Surface, tell
from simharness.findings.turns import Account
from tests.findings.journal import AGENT_CALL, Journal, span

N = 512
CHARGE = Surface(
    {"charge": {"properties": {"idempotency_key": {}}}, "pay": {"properties": {}}},
    {"charges": ("id", "version", "created_at", "updated_at", "status")},
)


class Money(Journal):
    """A journal of what a gateway was asked for and has moved."""

    def __init__(self) -> None:
        super().__init__()
        self.n = 0

    def ask(
        self,
        ref: str,
        amount: int = 100,
        *,
        kind: str = "charge",
        of: str = "",
        key: str = "",
        body: str = "b",
        until: int = 1_000,
        repeated: int = 0,
        by: tuple[str, int] = ("agent", AGENT_CALL),
        t: int = 0,
    ) -> int:
        """Ask; gives the number of the request."""
        self.n += 1
        self.add("CAUSED", t, owner="gateway/x", n=self.n, by=by[0], by_n=by[1])
        self.add(
            "GATEWAY",
            t,
            owner="gateway/x",
            n=self.n,
            gateway="gw",
            kind=kind,
            ref=ref,
            of=of,
            amount=amount,
            currency="USD",
            key=key,
            body=body,
            until=until,
            repeated=repeated,
        )
        return self.n

    def enter(self, n: int, ref: str, amount: int, kind: str, of: str = "", t: int = 0) -> int:
        return self.add(
            "LEDGER",
            t,
            owner="gateway/x" if n else "gw",
            n=n,
            gateway="gw",
            kind=kind,
            ref=ref,
            of=of,
            amount=amount,
            currency="USD",
            at=t,
        )

    def finish(self, n: int, status: str = "succeeded", t: int = 0) -> None:
        self.add("GATEWAYEND", t, owner="gateway/x", n=n, gateway="gw", status=status)

    def move(self, ref: str, amount: int = 100, *, moved: int | None = None, **more: Any) -> int:
        """Ask for a movement that is made; gives the row of the ledger."""
        n = self.ask(ref, amount, **more)
        kind, of, t = more.get("kind", "charge"), more.get("of", ""), more.get("t", 0)
        row = self.enter(n, ref, amount if moved is None else moved, kind, of, t)
        self.finish(n, t=t)
        return row

    def back(self, ref: str, amount: int, **more: Any) -> int:
        return self.move(ref, amount, kind="refund", of="charges:1", **more)

    def books(self, ref: str, net: int, due: int = 0) -> int:
        return self.add("BOOKS", 9, ref=ref, net=net, due=due)


@pytest.mark.parametrize(
    "detector", [over_refunds, repeated_by_harness, wrong_amounts, wrong_books]
)
def test_the_detectors_are_listed(detector: object) -> None:
    assert detector in HARNESS


# --- H224 -----------------------------------------------------------------------------------------


def test_the_refund_that_passes_the_charge_completes_it() -> None:
    j = Money()
    j.move("charges:1", 10_000)
    first = j.back("refunds:1", 6_000)
    second = j.back("refunds:2", 6_000, by=("user/1", 8), t=6)
    j.back("refunds:3", 6_000, by=("user/1", 16), t=7)
    (finding,) = j.found(over_refunds)
    assert (finding.code, finding.t, finding.events) == ("H224", 6, (first, second))
    assert finding.evidence == {"charge": "charges:1", "refunded": 12_000, "charged": 10_000}
    assert finding.keys == ("charges:1", "refunds:1", "refunds:2")
    assert finding.mechanism == "gateway:gw"


def test_all_of_a_charge_may_go_back() -> None:
    j = Money()
    j.move("charges:1", 10_000)
    j.move("charges:2", 1)
    j.back("refunds:1", 6_000)
    j.back("refunds:2", 4_000)
    j.enter(0, "charges:1", 10_000, "chargeback", "charges:1")
    assert j.codes(over_refunds) == []


def test_what_was_paid_back_before_the_start_counts_and_is_nobodys() -> None:
    j = Money()
    j.enter(0, "charges:1", 100, "charge")
    j.enter(0, "refunds:1", 150, "refund", "charges:1")
    assert j.codes(over_refunds) == []
    j.back("refunds:2", 1)
    assert j.codes(over_refunds) == ["H224"]


# --- H225 -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("first", "again", "found"),
    [
        # One row, one movement, whoever asks.
        ({"ref": "charges:1"}, {"ref": "charges:1", "by": ("user/1", 8)}, True),
        ({"ref": "charges:1"}, {"ref": "charges:2"}, False),
        # One call, the same amount, for the same thing.
        ({"ref": "charges:1", "of": "orders:1"}, {"ref": "charges:2", "of": "orders:1"}, True),
        ({"ref": "charges:1", "of": "orders:1"}, {"ref": "charges:2", "of": "orders:2"}, False),
        (
            {"ref": "charges:1", "of": "orders:1"},
            {"ref": "charges:2", "of": "orders:1", "amount": 99},
            False,
        ),
        (
            {"ref": "charges:1", "of": "orders:1"},
            {"ref": "charges:2", "of": "orders:1", "by": ("agent", 2 * AGENT_CALL)},
            False,
        ),
        # One key, as long as it is kept, for one body and one actor.
        (
            {"ref": "charges:1", "key": "k"},
            {"ref": "charges:2", "key": "k", "by": ("agent", 2 * AGENT_CALL), "t": 999},
            True,
        ),
        ({"ref": "charges:1", "key": "k"}, {"ref": "charges:2", "key": "k", "t": 1_000}, False),
        ({"ref": "charges:1", "key": "k"}, {"ref": "charges:2", "key": "l"}, False),
        (
            {"ref": "charges:1", "key": "k"},
            {"ref": "charges:2", "key": "k", "body": "other"},
            False,
        ),
        (
            {"ref": "charges:1", "key": "k"},
            {"ref": "charges:2", "key": "k", "by": ("user/1", 8)},
            False,
        ),
    ],
)
def test_what_was_asked_once_is_moved_once(
    first: dict[str, Any], again: dict[str, Any], found: bool
) -> None:
    j = Money()
    j.call(tool="charge")
    rows = (j.move(**first), j.move(**again))
    findings = j.found(repeated_by_harness)
    assert [f.events for f in findings] == ([rows] if found else [])
    if found:
        refs = list(dict.fromkeys((first["ref"], again["ref"])))
        assert findings[0].evidence == {"charges": refs, "amount": 100, "currency": "USD"}


@pytest.mark.parametrize(
    ("first", "again", "found"),
    [
        # The second holder charges, and so had the first, after its end.
        ({"by": ("a", 2), "token": 1, "t": 110}, {"by": ("b", 2), "token": 2, "t": 120}, True),
        ({"by": ("b", 2), "token": 2, "t": 110}, {"by": ("a", 2), "token": 1, "t": 120}, True),
        # The first had charged in time: the second does it again of its own accord.
        ({"by": ("a", 2), "token": 1, "t": 99}, {"by": ("b", 2), "token": 2, "t": 120}, False),
        # Something else, or somebody who does it twice.
        (
            {"by": ("a", 2), "token": 1, "t": 110},
            {"by": ("b", 2), "token": 2, "t": 120, "of": "orders:2"},
            False,
        ),
        (
            {"by": ("a", 2), "token": 1, "t": 110},
            {"by": ("b", 2), "token": 2, "t": 120, "amount": 99},
            False,
        ),
        ({"by": ("a", 2), "token": 1, "t": 110}, {"by": ("a", 3), "token": 1, "t": 120}, False),
    ],
)
def test_a_job_is_done_once_by_those_whom_a_lease_keeps_apart(
    first: dict[str, Any], again: dict[str, Any], found: bool
) -> None:
    j = Money()
    j.add("LEASE", 0, owner="a", n=1, lease="charges", token=1, expires=100)
    j.add("LEASEEND", 100, owner="a", n=1, lease="charges", token=1, reason="expired")
    j.add("LEASE", 101, owner="b", n=1, lease="charges", token=2, expires=201)
    rows: list[int] = []
    for k, each in enumerate((first, again), 1):
        more: dict[str, Any] = {"of": "orders:1", **each}
        (owner, n), token = more["by"], more.pop("token")
        newest = 1 + (more["t"] > 100)
        j.add("LEASEWRITE", more["t"], owner=owner, n=n, lease="charges", token=token,
              newest=newest)  # fmt: skip
        rows.append(j.move(f"charges:{k}", **more))
    findings = j.found(repeated_by_harness)
    assert [f.events for f in findings] == ([tuple(rows)] if found else [])
    for finding in findings:
        assert finding.evidence["charges"] == ["charges:1", "charges:2"]
        assert finding.mechanism == "lease:charges"


def test_what_no_call_has_asked_for_may_be_asked_for_again() -> None:
    j = Money()
    for ref in ("charges:1", "charges:2"):
        j.move(ref, of="orders:1", by=("subscriptions", 1))
    assert j.codes(repeated_by_harness) == []


def test_a_charge_and_its_refund_are_no_repetition() -> None:
    j = Money()
    j.call(tool="charge")
    j.move("charges:1", key="k", of="orders:1")
    j.move("charges:1", key="k2", of="orders:1", kind="refund")
    assert j.codes(repeated_by_harness) == []


def test_what_was_moved_before_the_start_or_never_is_no_repetition() -> None:
    j = Money()
    j.enter(0, "charges:1", 100, "charge")
    j.enter(0, "charges:1", 100, "charge")
    j.move("charges:2")
    j.finish(j.ask("charges:2"), "failed")
    assert j.codes(repeated_by_harness) == []


def test_what_is_paid_back_twice_is_no_over_refund_as_well() -> None:
    j = Money()
    j.move("charges:1", 100)
    j.back("refunds:1", 100)
    j.back("refunds:1", 100, by=("user/1", 8))
    assert j.codes(repeated_by_harness) == ["H225"]
    assert j.codes(over_refunds) == []


# --- H227 -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("moved", "more"),
    [(5_800, None), (58, {"factor": 100}), (580_000, {"factor": 100}), (57, {}), (0, {})],
)
def test_what_is_moved_is_what_was_asked_for(moved: int, more: dict[str, int] | None) -> None:
    j = Money()
    j.move("charges:1", 5_800, moved=moved)
    evidence = [f.evidence for f in j.found(wrong_amounts)]
    wanted = {"asked": 5_800, "moved": moved, "currency": "USD", **(more or {})}
    assert evidence == ([] if more is None else [wanted])


# --- H226 and H231 --------------------------------------------------------------------------------


@pytest.mark.parametrize(("net", "found"), [(4_000, []), (10_000, ["H226"]), (0, ["H226"])])
def test_the_books_say_what_the_ledger_says(net: int, found: list[str]) -> None:
    j = Money()
    j.move("charges:1", 10_000)
    last = j.back("refunds:1", 6_000)
    row = j.books("charges:1", net)
    findings = j.found(wrong_books)
    assert [f.code for f in findings] == found
    for finding in findings:
        assert finding.evidence == {"charge": "charges:1", "books": net, "ledger": 4_000}
        assert (finding.events, finding.mechanism) == ((last, row), "gateway:gw")


def test_money_that_the_books_or_the_ledger_do_not_know() -> None:
    j = Money()
    j.move("charges:1", 10_000)
    j.books("charges:1", 0)
    j.books("charges:2", 500)
    assert [f.keys for f in j.found(wrong_books)] == [("charges:1",), ("charges:2",)]


def test_nothing_is_held_against_books_that_nobody_keeps() -> None:
    j = Money()
    j.move("charges:1", 10_000)
    assert j.codes(wrong_books) == []


def test_what_was_moved_twice_or_otherwise_is_no_fault_of_the_books() -> None:
    j = Money()
    j.move("charges:1", 10_000)
    j.move("charges:1", 10_000, by=("user/1", 8))
    j.move("charges:2", 5_800, moved=58)
    j.move("charges:3", 5_800, moved=58)
    j.books("charges:1", 10_000)
    j.books("charges:2", 5_800)
    j.books("charges:3", 0)
    assert [f.keys for f in j.found(wrong_books)] == [("charges:3",)]


@pytest.mark.parametrize("under_way", ["request", "event", "call", "job", "nothing"])
def test_the_books_are_read_once_all_has_settled(under_way: str) -> None:
    j = Money()
    j.call("user/1", 8, tool="charge")
    n = j.ask("charges:1", by=("user/1", 8))
    j.enter(n, "charges:1", 100, "charge")
    if under_way != "request":
        j.finish(n)
    if under_way != "call":
        j.answer("user/1", 8)
    j.add("CAUSED", 0, owner="hook/x", n=N, by="user/1", by_n=8)
    event = {"owner": "hook/x", "n": N, "webhook": "hook", "event": "ev-1"}
    j.add("WEBHOOK", 0, **event, kind="charge.succeeded", ref="charges:1", created=0)
    if under_way != "event":
        j.add("WEBHOOKEND", 0, **event, reason="given_up")
    j.add("CAUSED", 0, owner="jobs/x", n=N, by="hook/x", by_n=N)
    j.add("JOB", 0, owner="jobs/x", n=N, queue="jobs", job="", once=1)
    j.add("JOBEND", 0, owner="jobs/x", n=N, queue="jobs", reason="failed")
    if under_way != "job":
        j.add("JOBEND", 0, owner="jobs/x", n=N, queue="jobs", reason="dead")
    j.books("charges:1", 0)
    assert j.codes(wrong_books) == (["H226"] if under_way == "nothing" else [])


@pytest.mark.parametrize(
    ("net", "due", "found"),
    [(40, 60, []), (40, 61, ["H231"]), (40, 0, []), (0, 100, ["H226"])],
)
def test_what_is_due_back_is_back(net: int, due: int, found: list[str]) -> None:
    j = Money()
    j.move("charges:1", 100)
    j.back("refunds:1", 60)
    j.books("charges:1", net, due)
    findings = j.found(wrong_books)
    assert [f.code for f in findings] == found
    if found == ["H231"]:
        assert findings[0].evidence == {"charge": "charges:1", "due": due, "refunded": 60}


# --- what others make of it -----------------------------------------------------------------------


def charged_twice(
    *, keys: tuple[str, str], moved: tuple[bool, bool] = (True, True), first_ok: bool = False
) -> list[str]:
    """Codes for an agent that charges twice, with what the ledger says of it."""
    j = Money()
    results: list[StepSpan] = []
    for i in (0, 1):
        op = "agent", (i + 1) * AGENT_CALL
        j.call(n=op[1], tool="charge")
        j.commit(1, n=op[1], owner="agent", key=i + 1, table="charges")
        ref = f"charges:{i + 1}"
        n = j.ask(ref, key=keys[i], by=op, t=i)
        if moved[i]:
            j.enter(n, ref, 100, "charge", t=i)
        j.finish(n, "succeeded" if moved[i] else "failed", t=i)
        j.answer(n=op[1], status="ok" if i or first_ok else "unknown_outcome")
    error = {"code": "unknown_outcome", "message": "", "retryable": False}
    for i in (0, 1):
        ok = bool(i) or first_ok
        arguments = f'{{"order_id": 1, "idempotency_key": "{keys[i]}"}}'
        result = (ok, {"status": "pending"} if ok else error)
        first = next(r.index for r in j.rows if r.values.get("n") == (i + 1) * AGENT_CALL)
        results.append(span(result, step=i + 1, first=first, calls=(("charge", arguments),)))
    story = tell(j.rows, results, CHARGE)
    codes = [f.code for f in duplicates(Account(story))]
    return codes + [f.code for f in repeated_by_harness(story)]


def test_a_second_charge_by_the_agent_is_the_agents() -> None:
    assert charged_twice(keys=("k1", "k2")) == ["M613"]
    assert charged_twice(keys=("", "")) == ["M613"]
    assert charged_twice(keys=("k1", "k2"), first_ok=True) == ["M613"]


def test_a_key_that_was_not_kept_is_the_harnesss() -> None:
    assert charged_twice(keys=("k", "k")) == ["H225"]


@pytest.mark.parametrize("moved", [(False, True), (True, False), (False, False)])
@pytest.mark.parametrize("first_ok", [False, True])
def test_what_has_failed_was_not_done_twice(moved: tuple[bool, bool], first_ok: bool) -> None:
    assert charged_twice(keys=("k1", "k2"), moved=moved, first_ok=first_ok) == []


@pytest.mark.parametrize("repeated", [0, 1])
def test_a_repeated_request_need_not_commit_anything(repeated: int) -> None:
    j = Money()
    j.call(tool="charge")
    j.finish(j.ask("charges:1", repeated=repeated), "repeated")
    j.answer()
    assert j.codes(untrue_outcomes) == ([] if repeated else ["H121"])


@pytest.mark.parametrize("asked_by", ["agent", "user/2"])
def test_an_event_is_the_work_of_whoever_asked_the_gateway(asked_by: str) -> None:
    j = Money()
    j.call("bank", 1, tool="gateway.deliver")
    j.call(asked_by, AGENT_CALL)
    j.ask("charges:7", by=(asked_by, AGENT_CALL))
    j.add("CAUSED", 0, owner="hook/bank", n=N, by="bank", by_n=1)
    j.commit(2, 4, "succeeded", owner="hook/bank", n=N, table="charges", key=7)
    j.add("APPLIED", 0, owner="hook/bank", n=N, inbox="i", event="e", ref="charges:7", created=0)
    j.grade(True, "charges:7.status")
    found = j.found(others_credit, surface=CHARGE)
    assert [f.evidence["by"] for f in found] == (
        [] if asked_by == "agent" else [f"user/2#{AGENT_CALL}"]
    )
