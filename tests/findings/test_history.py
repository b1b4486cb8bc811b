"""H310 over commits written by hand."""

from __future__ import annotations

from simharness.findings.history import lost_updates
from tests.findings.journal import Journal

TITLE, STAGE = 4, 5


def test_a_write_that_names_an_old_version_overwrites_what_was_committed_since() -> None:
    j = Journal()
    theirs = j.commit(3, TITLE, "b", owner="user/1", n=8)
    j.commit(4, STAGE, "won", owner="user/2", n=8)
    mine = j.commit(5, TITLE, "c", owner="agent", n=1 << 16, t=9, given=2, read=4)
    (finding,) = j.found(lost_updates)
    assert (finding.code, finding.keys, finding.t, finding.mechanism) == (
        "H310",
        ("deals:7",),
        9,
        "lock:deals",
    )
    assert finding.evidence == {
        "key": "deals:7",
        "field": "title",
        "lost": "b",
        "by": "agent#1",
        "from": "user/1#8",
        "version": 3,
    }
    assert finding.events == (theirs, mine)
    assert finding.explanation == (
        "agent#1 wrote deals:7 v5 over title 'b', which user/1#8 had committed as v3; "
        "the write rests on v2, and no conflict was raised"
    )


def test_the_version_named_is_the_last_that_may_have_been_seen() -> None:
    for given, lost in ((1, 1), (2, 1), (3, 0), (4, 0)):
        j = Journal()
        j.commit(3, TITLE, "b", owner="user/1")
        j.commit(4, STAGE, "won", owner="user/2")
        j.commit(5, TITLE, "c", owner="agent", given=given, read=4)
        assert len(j.found(lost_updates)) == lost


def test_fields_that_nobody_else_has_written_are_not_lost() -> None:
    j = Journal()
    j.commit(3, STAGE, "won", owner="user/1")
    j.commit(4, TITLE, "c", owner="agent", given=2, read=3)
    assert j.codes(lost_updates) == []


def test_a_write_computed_on_an_old_version_loses_what_others_wrote() -> None:
    for read, lost in ((2, 1), (3, 0)):
        j = Journal()
        j.commit(3, TITLE, "b", owner="user/1")
        j.commit(4, TITLE, "c", owner="user/2", read=read)
        assert len(j.found(lost_updates)) == lost


def test_a_write_computed_before_ones_own_other_write_loses_nothing_of_others() -> None:
    j = Journal()
    j.commit(3, TITLE, "b", owner="user/2", n=8)
    j.commit(4, TITLE, "c", owner="user/2", n=9, read=2)
    assert j.codes(lost_updates) == []


def test_an_unconditional_write_of_a_named_field_means_it() -> None:
    j = Journal()
    j.commit(3, TITLE, "b", owner="user/1")
    j.commit(4, TITLE, "c", owner="agent", read=3)
    assert j.codes(lost_updates) == []


def test_a_field_that_the_call_did_not_name_takes_back_what_was_committed() -> None:
    j = Journal()
    theirs = j.commit(3, TITLE, "b", owner="user/1")
    mine = j.commit(4, STAGE, "won", TITLE, "a", owner="agent", read=3, unmeant=(TITLE,))
    (finding,) = j.found(lost_updates)
    assert finding.events == (theirs, mine)
    assert (finding.evidence["field"], finding.evidence["lost"]) == ("title", "b")
    assert "did not name the field" in finding.explanation


def test_a_field_that_the_call_did_not_name_may_take_back_ones_own_write() -> None:
    j = Journal()
    j.commit(3, TITLE, "b", owner="agent", n=1)
    j.commit(4, STAGE, "won", TITLE, "a", owner="agent", n=2, read=3, unmeant=(TITLE,))
    assert j.codes(lost_updates) == ["H310"]


def test_a_field_that_was_never_written_has_nothing_to_lose() -> None:
    j = Journal()
    j.commit(3, STAGE, "won", owner="user/1")
    j.commit(4, TITLE, "a", owner="agent", read=3, unmeant=(TITLE,))
    assert j.codes(lost_updates) == []


def test_only_the_last_writer_of_a_field_is_undone_and_once_for_all_its_fields() -> None:
    j = Journal()
    j.commit(3, TITLE, "b", owner="user/1")
    last = j.commit(4, TITLE, "c", STAGE, "won", owner="user/2")
    j.commit(5, TITLE, "d", STAGE, "lost", owner="user/3", given=2, read=4)
    (finding,) = j.found(lost_updates)
    assert finding.events[0] == last
    assert (finding.evidence["field"], finding.evidence["lost"]) == ("title, stage", ["c", "won"])


def test_two_writers_undone_by_one_write_are_two_findings() -> None:
    j = Journal()
    j.commit(3, TITLE, "b", owner="user/1")
    j.commit(4, STAGE, "won", owner="user/2")
    j.commit(5, TITLE, "d", STAGE, "lost", owner="user/3", given=2, read=4)
    assert [f.evidence["from"] for f in j.found(lost_updates)] == ["user/1#8", "user/2#8"]


def test_other_rows_and_tables_are_other_histories() -> None:
    j = Journal()
    j.commit(3, TITLE, "b", key=8)
    j.commit(3, TITLE, "b", table="accounts")
    j.commit(4, TITLE, "c", owner="agent", given=2, read=3)
    assert j.codes(lost_updates) == []


def test_a_column_whose_name_nobody_knows_is_told_by_number() -> None:
    j = Journal()
    j.commit(3, TITLE, "b", owner="user/1")
    j.commit(4, TITLE, "c", owner="user/2", given=2, read=3)
    (finding,) = j.found(lost_updates, surface=None)
    assert finding.evidence["field"] == "column 4"
