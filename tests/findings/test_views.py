"""H113, H114, H230 and A120 over rows and answers written by hand."""

from __future__ import annotations

import pytest

from simharness.findings.phantoms import phantom_contents, phantom_versions, same
from simharness.findings.reads import silent_staleness, stale_reads, torn_lists, views_disagree
from simharness.units import MINUTE
from tests.findings.journal import AGENT_CALL, Journal, deal, page, span

SECOND_CALL = 2 << 16
TITLE, STAGE = 4, 5

# --- two views ------------------------------------------------------------------------------------


def test_two_views_that_show_different_versions_disagree() -> None:
    j = Journal()
    j.commit(2, TITLE, "b", t=1)
    j.call(t=2, tool="list_deals", writes=0)
    listed = j.listing(7, 2, 8, 1, t=2)
    j.call(t=5, n=SECOND_CALL, tool="get_deal", writes=0)
    read = j.read(1, 2, n=SECOND_CALL, t=5, age=4)
    (finding,) = j.found(views_disagree)
    assert (finding.code, finding.keys, finding.t) == ("H113", ("deals:7",), 5)
    assert finding.evidence == {
        "view": "deals.detail",
        "key": "deals:7",
        "served": 1,
        "true": 2,
        "age": 4,
        "source": "cache",
        "other": "deals.list",
    }
    assert finding.events == (listed, read)
    assert finding.mechanism == "cache:deals.detail"


def test_a_commit_since_the_first_call_began_explains_the_difference() -> None:
    for t, found in ((1, ["H113"]), (2, []), (3, [])):
        j = Journal()
        if t < 2:
            j.commit(2, TITLE, "b", t=t)
        j.call(t=2, tool="list_deals", writes=0)
        if t >= 2:
            j.commit(2, TITLE, "b", t=t)
        j.listing(7, 2, t=4)
        j.call(t=5, n=SECOND_CALL, tool="get_deal", writes=0)
        j.read(1, 2, n=SECOND_CALL, t=5, age=5 - t)
        assert j.codes(views_disagree) == found


def test_one_view_at_two_times_is_no_disagreement() -> None:
    j = Journal()
    j.read(2)
    j.read(1, 2, n=SECOND_CALL)
    assert j.codes(views_disagree) == []


def test_a_difference_that_the_contract_allows_is_no_disagreement() -> None:
    for age, found in ((MINUTE, []), (MINUTE + 1, ["H113"])):
        j = Journal()
        j.commit(2, TITLE, "b")
        j.listing(7, 2, t=1)
        j.read(1, 2, n=SECOND_CALL, t=1, age=age, bound=MINUTE)
        assert j.codes(views_disagree) == found


def test_a_row_missing_from_a_list_is_shown_in_the_version_that_did_not_match() -> None:
    j = Journal()
    j.commit(2, STAGE, "won")
    j.read(2, t=1)
    j.listing(8, 1, n=SECOND_CALL, t=1, wrong=(7, 1, 2, 1), source="cache")
    (finding,) = j.found(views_disagree)
    assert (finding.evidence["view"], finding.evidence["other"]) == ("deals.list", "deals.detail")


def test_a_disagreement_is_told_once_and_permissions_are_not_shown() -> None:
    j = Journal()
    for n in (1, 2, 3):
        j.read(2, n=n << 16, t=1)
        j.listing(7, 1, n=n << 16, t=1)
    assert j.codes(views_disagree) == ["H113"]
    j = Journal()
    j.read(2, view="users.auth")
    j.read(1, view="users.detail")
    assert j.codes(views_disagree) == []


# --- one instant ----------------------------------------------------------------------------------


def test_rows_that_were_never_true_together_are_torn() -> None:
    j = Journal()
    ended = j.commit(2, TITLE, "b", key=7, t=1)
    newer = j.commit(2, TITLE, "b", key=8, t=2)
    row = j.listing(7, 1, 8, 2, t=5)
    (finding,) = j.found(torn_lists)
    assert (finding.code, finding.keys) == ("H114", ("deals:7", "deals:8"))
    assert finding.events == (ended, newer, row)
    assert (finding.evidence["served"], finding.evidence["true"]) == (1, 2)
    assert finding.evidence["age"] == 4


def test_rows_of_one_earlier_instant_are_not_torn() -> None:
    j = Journal()
    j.commit(2, TITLE, "b", key=8, t=1)
    j.commit(2, TITLE, "b", key=7, t=2)
    j.listing(7, 1, 8, 2)
    j.listing(7, 1, 8, 1, n=SECOND_CALL)
    assert j.codes(torn_lists) == []
    j.commit(3, TITLE, "c", key=8, t=3)
    assert j.codes(torn_lists) == []


def test_a_row_that_is_too_old_by_itself_is_a_stale_read_instead() -> None:
    for bound, found in ((3, []), (4, ["H114"])):
        j = Journal()
        j.commit(2, TITLE, "b", key=7, t=1)
        j.commit(2, TITLE, "b", key=8, t=2)
        j.listing(7, 1, 8, 2, t=5, wrong=(7, 1, 2, 4), bound=bound, source="cache")
        assert j.codes(torn_lists) == found


# --- what views say of themselves -----------------------------------------------------------------


def test_a_read_that_calls_itself_fresh_and_is_not_is_stale() -> None:
    j = Journal()
    j.commit(2, TITLE, "b", t=1)
    j.call(t=3)
    j.read(1, t=5)
    (finding,) = j.found(stale_reads)
    assert (finding.code, finding.evidence["true"], finding.evidence["age"]) == ("H112", 2, 4)


def test_a_read_whose_call_began_no_later_than_the_commit_is_fresh() -> None:
    j = Journal()
    j.commit(2, TITLE, "b", t=3)
    j.call(t=3)
    j.read(1, t=5)
    assert j.codes(stale_reads) == []


# --- A120 -----------------------------------------------------------------------------------------


def test_an_answer_that_is_out_of_date_within_its_contract_should_say_so() -> None:
    for age, found in ((MINUTE, ["A120"]), (MINUTE + 1, [])):
        j = Journal()
        j.commit(2, TITLE, "b")
        j.read(1, 2, age=age, bound=MINUTE)
        assert j.codes(silent_staleness, span((True, deal(1)))) == found
        assert j.codes(silent_staleness, span((True, {"as_of": "09:00", "deal": deal(1)}))) == []


def test_an_own_write_that_is_missed_is_never_within_a_contract() -> None:
    j = Journal()
    j.commit(2, TITLE, "b", owner="agent", n=AGENT_CALL)
    j.read(1, 2, age=1, bound=MINUTE)
    assert j.codes(silent_staleness) == []
    assert j.codes(stale_reads) == ["H111"]


# --- versions that never were ---------------------------------------------------------------------


def test_a_version_that_nobody_committed_is_a_phantom() -> None:
    j = Journal()
    j.commit(2, TITLE, "b")
    filled = j.fill(1, 100)
    row = j.read(3, t=2)
    (finding,) = j.found(phantom_versions)
    assert (finding.code, finding.keys, finding.events) == ("H230", ("deals:7",), (filled, row))
    assert (finding.evidence["served"], finding.evidence["true"]) == (3, 2)
    assert finding.mechanism == "cache:deals.detail"


def test_versions_before_and_after_each_commit_are_known_from_then_on() -> None:
    j = Journal()
    for served, found in ((1, 0), (2, 1), (0, 1)):
        j = Journal()
        j.read(served)
        j.commit(2, TITLE, "b")
        assert len(j.found(phantom_versions)) == found
    j = Journal()
    j.commit(2, TITLE, "b")
    j.commit(-3, before=2)
    for served in (1, 2, 3):
        j.read(served)
    assert j.codes(phantom_versions) == []


def test_of_a_row_without_commits_the_lowest_version_is_the_true_one() -> None:
    j = Journal()
    j.read(4, owner="user/1", n=8)
    j.read(4)
    assert j.codes(phantom_versions) == []
    j.read(5, n=SECOND_CALL)
    j.listing(7, 5, n=SECOND_CALL)
    assert j.codes(phantom_versions) == ["H230"]


def test_what_background_users_see_is_no_finding() -> None:
    j = Journal()
    j.commit(2, TITLE, "b")
    j.read(3, owner="user/1", n=8)
    assert j.codes(phantom_versions) == []


# --- contents that never were ---------------------------------------------------------------------


def test_a_row_told_with_another_value_than_committed_is_a_phantom() -> None:
    for title, found in (("b", []), ("c", ["H230"])):
        j = Journal()
        made = j.commit(2, TITLE, "b")
        row = j.read(2)
        findings = j.found(phantom_contents, span((True, deal(2, title=title))))
        assert [f.code for f in findings] == found
        for finding in findings:
            assert finding.events == (made, row)
            evidence = finding.evidence
            assert (evidence["column"], evidence["shown"], evidence["committed"]) == (
                "title",
                "c",
                "b",
            )


def test_one_version_is_told_with_the_same_contents_each_time() -> None:
    j = Journal()
    j.read(1)
    j.read(1, n=SECOND_CALL)
    spans = (span((True, deal(1))), span((True, deal(1, stage="won")), step=2, first=1))
    (finding,) = j.found(phantom_contents, *spans)
    assert (finding.step, finding.evidence["column"]) == (2, "stage")


def test_a_column_that_no_commit_has_written_stays_as_it_is() -> None:
    j = Journal()
    j.commit(2, TITLE, "b")
    j.read(1, view="deals.list")
    j.read(2, n=SECOND_CALL)
    first = span((True, deal(1)))
    assert j.codes(phantom_contents, first, span((True, deal(2, title="b")), step=2)) == []
    wrong = span((True, deal(2, title="b", owner_id=9)), step=2)
    assert [f.evidence["column"] for f in j.found(phantom_contents, first, wrong)] == ["owner_id"]


def test_a_page_shows_the_rows_that_were_delivered() -> None:
    j = Journal()
    j.listing(7, 1, 8, 1)
    assert j.codes(phantom_contents, span((True, page(deal(1), deal(1, key=8))))) == []
    assert j.codes(phantom_contents, span((True, page(deal(2), deal(1, key=9))))) == ["H230"] * 2


def test_a_write_shows_the_row_as_it_was_committed() -> None:
    j = Journal()
    j.commit(2, TITLE, "b", owner="agent", n=AGENT_CALL)
    assert j.codes(phantom_contents, span((True, deal(2, title="b")))) == []
    assert j.codes(phantom_contents, span((True, deal(2, title="a")))) == ["H230"]


def test_a_row_of_unknown_origin_is_not_judged() -> None:
    j = Journal()
    j.read(1, view="deals.auth")
    j.commit(2, TITLE, "b")
    assert j.codes(phantom_contents, span((True, deal(2, title="c")))) == []


@pytest.mark.parametrize(
    ("committed", "told", "equal"),
    [
        (1_772_442_000_000_000, "2026-03-02T09:00:00Z", True),
        (1_772_442_000_000_000, "2026-03-02T09:00:01Z", False),
        (("a", "b"), ["a", "b"], True),
        (["a"], ["b"], False),
        (None, None, True),
        (5, "5", False),
        (2**62 * 4, "never", False),
    ],
)
def test_values_are_told_in_json(committed: object, told: object, equal: bool) -> None:
    assert same(committed, told) is equal
