"""H311 and H315 over rows written by hand, at their boundaries."""

from __future__ import annotations

import pytest

from simharness.findings.locks import PATIENCE, broken_lifetimes, broken_locks, starved_locks
from simharness.units import SECOND
from tests.findings.journal import Journal

# --- holders --------------------------------------------------------------------------------------


def test_a_lock_that_passes_from_one_to_the_next_is_sound() -> None:
    j = Journal()
    j.lock("user/1")
    j.wait("user/2", "user/1#8")
    j.commit(2, owner="user/1")
    j.unlock("user/1")
    j.lock("user/2")
    j.commit(3, owner="user/2")
    j.unlock("user/2")
    j.answer("user/2", 8)
    assert j.codes(broken_locks) == []
    assert j.codes(starved_locks) == []


def test_a_lock_with_two_holders_is_broken() -> None:
    j = Journal()
    first = j.lock("user/1", t=1)
    second = j.lock("user/2", t=4)
    (finding,) = j.found(broken_locks)
    assert (finding.code, finding.keys, finding.t) == ("H315", ("deals:7",), 4)
    assert finding.evidence == {"lock": "deals:7", "holder": "user/1", "expired_at": 4}
    assert finding.events == (first, second)
    assert finding.mechanism == "lock:deals"
    assert finding.explanation == "lock deals:7 was given to user/2#8 while user/1#8 held it"


def test_two_locks_are_not_one() -> None:
    j = Journal()
    j.lock("user/1")
    j.lock("user/2", lock="deals:8")
    assert j.codes(broken_locks) == []


def test_a_lock_still_held_after_the_answer_is_broken() -> None:
    j = Journal()
    j.call("user/1", 8)
    taken = j.lock("user/1")
    answer = j.answer("user/1", 8, t=5)
    (finding,) = j.found(broken_locks)
    assert (finding.code, finding.t, finding.events) == ("H315", 5, (taken, answer))
    j.unlock("user/1")
    assert j.codes(broken_locks) == ["H315"]


def test_a_lock_of_somebody_without_an_answer_may_be_held_to_the_end() -> None:
    j = Journal()
    j.lock("customer/legal", 1)
    assert j.codes(broken_locks) == []


def test_a_write_after_the_lock_was_given_back_is_broken() -> None:
    j = Journal()
    j.lock("user/1")
    ended = j.unlock("user/1", t=3)
    written = j.commit(2, owner="user/1", t=4)
    (finding,) = j.found(broken_locks)
    assert (finding.events, finding.evidence["expired_at"]) == ((ended, written), 3)


def test_a_write_under_a_lock_taken_again_or_of_another_row_is_sound() -> None:
    j = Journal()
    j.lock("user/1")
    j.unlock("user/1")
    j.commit(2, owner="user/1", key=8)
    j.commit(2, owner="user/1", n=9)
    j.lock("user/1")
    j.commit(2, owner="user/1")
    assert j.codes(broken_locks) == []


# --- waits ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("waited", "found"), [(30 * SECOND, []), (30 * SECOND + 1, ["H311"])])
def test_thirty_seconds_are_the_longest_wait_that_is_no_starvation(
    waited: int, found: list[str]
) -> None:
    j = Journal()
    j.lock("user/1")
    j.wait("user/2", "user/1#8", t=5)
    j.unlock("user/1", t=5 + waited)
    j.lock("user/2", t=5 + waited)
    assert j.codes(starved_locks) == found


def test_a_wait_that_was_given_up_is_starvation_however_short() -> None:
    j = Journal()
    j.lock("user/1")
    since = j.wait("user/2", "user/1#8", t=5)
    end = j.give_up("user/2", t=6 * SECOND + 5)
    (finding,) = j.found(starved_locks)
    assert (finding.code, finding.events) == ("H311", (since, end))
    assert finding.evidence == {
        "lock": "deals:7",
        "holder": "user/1#8",
        "waiter": "user/2#8",
        "waited": 6 * SECOND,
    }
    assert finding.explanation == (
        "user/2#8 waited for lock deals:7, held by user/1#8, for 6s and gave up"
    )


@pytest.mark.parametrize(("end", "found"), [(30 * SECOND, []), (30 * SECOND + 1, ["H311"])])
def test_a_wait_that_never_ends_counts_to_the_last_row(end: int, found: list[str]) -> None:
    j = Journal()
    j.lock("user/1")
    j.wait("user/2", "user/1#8")
    j.answer("user/3", 8, t=end)
    assert j.codes(starved_locks) == found


def test_a_circle_of_waits_is_told_once() -> None:
    j = Journal()
    j.lock("a", 1, lock="deals:1")
    j.lock("b", 1, lock="deals:2")
    j.lock("c", 1, lock="deals:3")
    j.wait("a", "b#1", 1, lock="deals:2")
    j.wait("b", "c#1", 1, lock="deals:3")
    closing = j.wait("c", "a#1", 1, lock="deals:1")
    j.give_up("c", 1, lock="deals:1")
    (finding,) = j.found(starved_locks)
    assert (finding.code, finding.events) == ("H311", (closing,))
    assert finding.explanation.endswith("which waited for it: c#1 -> a#1 -> b#1 -> c#1")


def test_a_chain_of_waits_is_no_circle() -> None:
    j = Journal()
    j.lock("a", 1, lock="deals:1")
    j.lock("b", 1, lock="deals:2")
    j.wait("b", "a#1", 1, lock="deals:1")
    j.wait("c", "b#1", 1, lock="deals:2")
    assert j.codes(starved_locks) == []


# --- lifetimes ------------------------------------------------------------------------------------


def test_an_answer_as_old_as_its_lifetime_is_no_longer_served() -> None:
    for age, found in ((99, []), (100, ["H315"]), (101, ["H315"])):
        j = Journal()
        filled = j.fill(7, 100)
        hit = j.read(1, t=7 + age, owner="user/1")
        assert j.codes(broken_lifetimes) == found
        for finding in j.found(broken_lifetimes):
            assert finding.evidence["expired_at"] == 107
            assert finding.events == (filled, hit)
            assert finding.mechanism == "cache:deals.detail"


def test_a_hit_may_have_prolonged_a_lifetime() -> None:
    j = Journal()
    j.fill(0, 100)
    j.read(1, t=90)
    j.read(1, t=189)
    assert j.codes(broken_lifetimes) == []
    j.read(1, t=289)
    assert j.codes(broken_lifetimes) == ["H315"]


def test_what_comes_from_the_primary_or_from_another_fill_is_as_young_as_it_is() -> None:
    j = Journal()
    j.fill(0, 100)
    j.read(1, t=150, source="primary")
    j.read(1, t=150, key=8)
    j.fill(160, 100)
    j.read(1, t=200)
    assert j.codes(broken_lifetimes) == []


def test_a_list_has_a_lifetime_by_its_query() -> None:
    j = Journal()
    j.fill(0, 100, "stage=open", "deals.list")
    j.listing(7, 1, t=150, query="stage=won", source="cache")
    assert j.codes(broken_lifetimes) == []
    j.listing(7, 1, t=150, query="stage=open", source="cache")
    (finding,) = j.found(broken_lifetimes)
    assert finding.keys == ("deals.list(stage=open)",)


@pytest.mark.parametrize(("lived", "found"), [(49, ["H315"]), (50, []), (100, [])])
def test_an_entry_that_ended_before_half_its_lifetime_ended_too_early(
    lived: int, found: list[str]
) -> None:
    # Nothing in the rows says how coarse the cache's clock is, so a little less is let pass.
    j = Journal()
    j.fill(3, 100)
    j.expire(3 + lived)
    assert j.codes(broken_lifetimes) == found


# --- transactions that stay open ------------------------------------------------------------------


class Opened(Journal):
    """A journal of one transaction, begun by a call that has been answered."""

    def begin(self) -> None:
        self.add("TXBEGIN", 0, owner="import", n=8, tx="t")
        self.add("RETURN", 0, owner="import", n=8, status="ok")

    def end(self, t: int) -> int:
        return self.add("TXEND", t, owner="import", n=8, reason="committed")


def test_locks_of_an_open_transaction_outlive_the_call_that_began_it() -> None:
    j = Opened()
    j.lock("import")
    j.begin()
    j.lock("import", lock="deals:8")
    j.unlock("import", t=9)
    j.unlock("import", t=9, lock="deals:8")
    j.end(9)
    j.lock("import", t=9)
    j.unlock("import", t=9)
    assert j.codes(broken_locks) == []


@pytest.mark.parametrize("given_back", [True, False])
def test_a_lock_kept_after_the_end_of_its_transaction_is_found(given_back: bool) -> None:
    j = Opened()
    j.begin()
    taken = j.lock("import")
    end = j.end(9)
    if given_back:
        j.unlock("import", t=10)
    (finding,) = j.found(broken_locks)
    assert (finding.code, finding.events) == ("H315", (taken, end))


@pytest.mark.parametrize("died", [True, False])
def test_who_dies_waiting_is_not_starved(died: bool) -> None:
    j = Journal()
    j.lock("import")
    j.wait("ben", "import#8", t=1)
    if died:
        j.add("RETURN", 2, owner="ben", n=8, status="unknown_outcome")
    j.add("STR", 2 * PATIENCE, number=99, text="long after")
    assert j.codes(starved_locks) == ([] if died else ["H311"])
