"""H228, H229, H230 and H314 of events, messages and jobs, over rows written by hand."""

from __future__ import annotations

import pytest

from simharness.findings.detect import HARNESS
from simharness.findings.events import (
    lost_events,
    misapplied_events,
    repeated_jobs,
    unfounded_messages,
    unheard_failures,
)
from tests.findings.journal import Journal

N = 512


class Rows(Journal):
    """A journal of what was sent on its way."""

    def applied(
        self,
        event: str,
        created: int,
        t: int = 0,
        *,
        ref: str = "charges:1",
        inbox: str = "books",
        n: int = N,
    ) -> int:
        return self.add(
            "APPLIED", t, owner="hook/x", n=n, inbox=inbox, event=event, ref=ref, created=created
        )

    def job(self, n: int, once: int) -> int:
        return self.add("JOB", 0, owner="jobs/x", n=n, queue="jobs", job="", once=once)

    def job_end(self, n: int, reason: str, t: int = 0) -> int:
        return self.add("JOBEND", t, owner="jobs/x", n=n, queue="jobs", reason=reason)

    def message(self, order: int) -> int:
        self.add("CAUSED", 0, owner="outbox/user/1", n=N, by="user/1", by_n=8)
        return self.add(
            "MESSAGE",
            0,
            owner="outbox/user/1",
            n=N,
            outbox="outbox",
            kind="paid",
            ref="charges:1",
            order=order,
        )

    def relayed(self, reason: str = "sent") -> int:
        return self.add("RELAYED", 5, owner="outbox/user/1", n=N, outbox="outbox", reason=reason)


@pytest.mark.parametrize(
    "detector", [lost_events, misapplied_events, repeated_jobs, unfounded_messages]
)
def test_the_detectors_are_listed(detector: object) -> None:
    assert detector in HARNESS


@pytest.mark.parametrize(("created", "found"), [(9, ["H228"]), (10, []), (11, [])])
def test_what_is_older_by_a_tick_is_older(created: int, found: list[str]) -> None:
    j = Rows()
    j.applied("newer", 10)
    j.applied("other", created)
    assert j.codes(misapplied_events) == found


def test_an_older_event_is_held_against_the_newest_one() -> None:
    j = Rows()
    newest = j.applied("c", 30)
    j.applied("b", 20)
    last = j.applied("a", 10, t=4)
    finding = j.found(misapplied_events)[1]
    assert (finding.events, finding.t) == ((newest, last), 4)
    assert finding.evidence == {"older": "a", "newer": "c", "by": 20, "ref": "charges:1"}
    assert (finding.keys, finding.mechanism) == (("charges:1",), "inbox:books")


def test_the_rows_that_the_event_wrote_are_named() -> None:
    j = Rows()
    j.applied("b", 20)
    j.commit(2, owner="hook/x", n=N + 1, t=7, key=3)
    j.commit(2, owner="hook/x", n=N + 1, t=7, table="notes")
    j.commit(2, owner="hook/x", n=N, t=7, key=4)
    j.applied("a", 10, t=7, n=N + 1)
    (finding,) = j.found(misapplied_events)
    assert finding.keys == ("deals:3", "notes:7")


def test_things_and_inboxes_are_apart() -> None:
    j = Rows()
    j.applied("b", 20)
    j.applied("a", 10, ref="charges:2")
    j.applied("a", 10, inbox="mirror")
    j.applied("b", 20, inbox="mirror")
    assert j.codes(misapplied_events) == []


def test_an_event_that_is_applied_again_is_told_once_for_each_time() -> None:
    j = Rows()
    first = j.applied("a", 10)
    j.applied("b", 10)
    again = j.applied("a", 10, t=9)
    j.applied("a", 10, t=10)
    findings = j.found(misapplied_events)
    assert [f.code for f in findings] == ["H314", "H314"]
    assert findings[0].events == (first, again)
    assert findings[0].explanation == (
        "event a of charges:1 was applied once more, 9us after the first time"
    )


def test_an_event_that_is_applied_again_over_a_newer_one_is_one_thing() -> None:
    j = Rows()
    j.applied("a", 10)
    j.applied("b", 20)
    j.applied("a", 10)
    assert j.codes(misapplied_events) == ["H228"]


def test_a_job_is_done_once_where_that_is_promised() -> None:
    j = Rows()
    for n, once in ((1, 1), (2, 0)):
        j.job(n, once)
        j.job_end(n, "failed")
        j.job_end(n, "done")
    assert j.codes(repeated_jobs) == []
    j.job_end(2, "done")
    assert j.codes(repeated_jobs) == []
    j.job_end(1, "done", t=3)
    (finding,) = j.found(repeated_jobs)
    assert (finding.code, finding.mechanism) == ("H314", "queue:jobs")
    assert finding.evidence == {"job": "jobs/x#1", "queue": "jobs"}


def test_what_is_sent_given_up_or_unheard_is_not_lost() -> None:
    j = Rows()
    j.message(3)
    j.relayed()
    for n, reason in enumerate(("delivered", "given_up", "unheard")):
        values = {"owner": "hook/x", "n": n, "webhook": "hook", "event": f"ev-{n}"}
        j.add("WEBHOOK", 0, **values, kind="paid", ref="charges:1", created=0)
        j.add("WEBHOOKEND", 1, **values, reason=reason)
    assert j.codes(lost_events) == []
    j.relayed("lost")
    (finding,) = j.found(lost_events)
    assert finding.evidence == {"ref": "charges:1", "kind": "paid", "outbox": "outbox"}


@pytest.mark.parametrize(
    ("reason", "kinds", "heard", "found"),
    [
        ("given_up", ("pending", "refund.failed"), False, ["H229"]),
        ("unheard", ("pending", "refund.failed"), False, ["H229"]),
        ("given_up", ("pending", "refund.failed"), True, []),  # by who took longer than it waited
        ("delivered", ("pending", "refund.failed"), False, []),
        ("given_up", ("refund.failed",), False, []),  # failed at once, as the answer told
        ("given_up", ("pending", "refund.updated"), False, []),  # money that moved is H226
    ],
)
def test_a_failure_that_nobody_took_is_a_missed_record(
    reason: str, kinds: tuple[str, ...], heard: bool, found: list[str]
) -> None:
    j = Rows()
    for n, kind in enumerate(kinds):
        values = {"owner": "hook/x", "n": n, "webhook": "hook", "event": f"ev-{n}"}
        j.add("WEBHOOK", 0, **values, kind=kind, ref="charges:1", created=n)
        j.add("WEBHOOKEND", 1, **values, reason=reason if kind != "pending" else "delivered")
    if heard:
        j.applied(f"ev-{len(kinds) - 1}", 1, t=2)
    assert j.codes(unheard_failures) == found


@pytest.mark.parametrize(
    ("order", "commits", "text"),
    [
        (1, "", None),
        (0, "before", "message paid of charges:1 was relayed and nothing was committed"),
        (0, "between", None),
        (0, "after", "message paid of charges:1 was relayed before it was committed"),
        (0, "of others", "message paid of charges:1 was relayed and nothing was committed"),
    ],
)
def test_a_message_follows_its_commit(order: int, commits: str, text: str | None) -> None:
    j = Rows()
    if commits == "before":
        j.commit(2)
    j.message(order)
    if commits == "between":
        j.commit(3)
    if commits == "of others":
        j.commit(3, n=16)
    j.relayed()
    if commits == "after":
        j.commit(3)
    assert [f.explanation for f in j.found(unfounded_messages)] == ([] if text is None else [text])


def test_a_message_that_is_lost_was_not_told_too_early() -> None:
    j = Rows()
    j.message(0)
    j.relayed("lost")
    assert j.codes(unfounded_messages) == []
