"""H220, H510 to H512, H514 to H517 and H519 over rows written by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from simharness.findings.finding import Confidence, Effect
from simharness.findings.outcome import (
    broken_invariants,
    goal_at_reset,
    others_credit,
    unstable_grades,
    wrong_reward,
)
from simharness.findings.story import Surface
from tests.findings.journal import AGENT_CALL, SURFACE, Journal, span

if TYPE_CHECKING:
    from simharness.findings.finding import Finding

PAID = span(reward=1_000_000)
UNPAID = span(reward=0)
STAGE = 5
KEY = "deals:7.stage"


def pay(journal: Journal, reward: int | None) -> list[tuple[str, Effect]]:
    return [(f.code, f.effect) for f in journal.found(wrong_reward, span(reward=reward))]


# --- pay ------------------------------------------------------------------------------------------


def test_a_goal_that_is_met_is_paid_and_one_that_is_not_is_not() -> None:
    for holds in (True, False):
        j = Journal()
        j.grade(holds)
        j.grade(True, role="footprint")
        assert pay(j, 1_000_000) == ([] if holds else [("H511", Effect.HELPED)])
        assert pay(j, 999_999) == [("H510", Effect.HINDERED) if holds else ("H515", Effect.HELPED)]
        assert pay(j, 0) == ([("H510", Effect.HINDERED)] if holds else [])
        assert pay(j, None) == []


def test_a_forbidden_write_that_the_reward_does_not_see_is_a_blind_grader() -> None:
    j = Journal()
    j.grade(True)
    row = j.grade(False, role="footprint", predicate="no forbidden write", evidence="deals:8")
    (finding,) = j.found(wrong_reward, PAID)
    assert (finding.code, finding.effect, finding.events) == ("H516", Effect.HELPED, (row,))
    assert finding.mechanism == "reward"
    assert finding.explanation == (
        "reward 1 was paid although the agent did what it must not: no forbidden write (deals:8)"
    )
    assert j.found(wrong_reward, UNPAID) == []


def test_a_false_goal_beside_a_forbidden_write_is_a_false_positive() -> None:
    j = Journal()
    j.grade(False)
    j.grade(False, role="footprint")
    assert pay(j, 1_000_000) == [("H511", Effect.HELPED)]


# --- stale grades ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("first", "again", "reward", "effect"),
    [
        (True, False, 1_000_000, Effect.HELPED),
        (False, True, 0, Effect.HINDERED),
        (True, True, 1_000_000, Effect.NONE),
        (False, False, 0, Effect.NONE),
        (False, True, None, Effect.NONE),
    ],
)
def test_a_grade_that_comes_out_otherwise_the_second_time_is_stale(
    first: bool, again: bool, reward: int | None, effect: Effect
) -> None:
    j = Journal()
    j.grade(first, evidence="as cached")
    j.grade(again, role="regrade")
    assert pay(j, reward) == [("H514", effect)]


def test_the_second_judgement_is_the_one_that_the_reward_is_held_against() -> None:
    j = Journal()
    j.grade(True)
    j.grade(False, role="regrade")
    assert pay(j, 0) == [("H514", Effect.NONE)]
    j = Journal()
    j.grade(False)
    j.grade(True, role="regrade")
    assert pay(j, 1_000_000) == [("H514", Effect.NONE)]


@pytest.mark.parametrize(
    ("first", "again", "reward", "effect"),
    [
        (True, False, 1_000_000, Effect.HELPED),
        (False, True, 0, Effect.HINDERED),
        (True, True, 1_000_000, Effect.NONE),
        (False, True, None, Effect.NONE),
    ],
)
def test_a_grade_that_differs_in_one_state_is_unstable_and_not_stale(
    first: bool, again: bool, reward: int | None, effect: Effect
) -> None:
    j = Journal()
    one = j.grade(first, evidence="at first")
    other = j.grade(again, role="unstable", evidence="then")
    (finding,) = j.found(unstable_grades, span(reward=reward))
    assert (finding.code, finding.effect, finding.events) == ("H519", effect, (one, other))
    assert "moved (at first) came to something else each time" in finding.explanation
    assert pay(j, reward) == []


def test_a_grade_that_only_caches_change_is_not_unstable() -> None:
    j = Journal()
    j.grade(True)
    assert j.codes(unstable_grades, PAID) == []
    j.grade(False, role="regrade")
    assert j.codes(unstable_grades, PAID) == []


def test_a_grade_before_the_last_commit_is_stale() -> None:
    j = Journal()
    j.commit(2, STAGE, "won")
    grade = j.grade(True)
    assert pay(j, 1_000_000) == []
    late = j.commit(3, STAGE, "lost")
    (finding,) = j.found(wrong_reward, PAID)
    assert (finding.code, finding.events) == ("H514", (grade, late))


def test_a_judgement_that_is_not_repeated_is_told() -> None:
    j = Journal()
    j.grade(True, predicate="moved")
    j.grade(True, role="regrade", predicate="something else")
    (finding,) = j.found(wrong_reward, PAID)
    assert finding.code == "H514"
    assert "not judged" in finding.explanation


# --- the start, and invariants --------------------------------------------------------------------


def test_a_goal_that_holds_at_the_start_pays_for_nothing() -> None:
    j = Journal()
    reset = j.grade(True, role="reset")
    j.grade(True)
    (finding,) = j.found(goal_at_reset, PAID)
    assert (finding.code, finding.step, finding.events) == ("H512", 0, (reset,))
    assert finding.effect is Effect.HELPED
    assert [f.effect for f in j.found(goal_at_reset, UNPAID)] == [Effect.NONE]


def test_a_goal_without_a_judgement_at_the_start_did_not_hold_there() -> None:
    j = Journal()
    j.grade(True)
    assert j.codes(goal_at_reset) == []


def test_broken_invariants_are_told_with_their_rows() -> None:
    j = Journal()
    last = j.commit(2, STAGE, "won")
    first = j.invariant("deals:7 is won and legal says none")
    second = j.invariant("the books do not balance")
    one, two = j.found(broken_invariants)
    assert (one.code, one.keys, one.events) == ("H220", ("deals:7",), (last, first))
    assert (two.code, two.keys, two.events) == ("H220", (), (second,))


# --- whose work it was ----------------------------------------------------------------------------


def credit(journal: Journal, *, paid: bool = True) -> list[Finding]:
    return journal.found(others_credit, PAID if paid else UNPAID)


def test_a_goal_that_a_background_user_reached_is_not_the_agents() -> None:
    j = Journal()
    j.call("user/1", 8)
    last = j.commit(2, STAGE, "won", owner="user/1")
    grade = j.grade(True, KEY)
    (finding,) = credit(j)
    assert (finding.code, finding.keys, finding.events) == ("H517", ("deals:7",), (last, grade))
    assert (finding.effect, finding.confidence) == (Effect.HELPED, Confidence.DETECTED)
    assert finding.evidence["by"] == "user/1#8"
    assert [f.effect for f in credit(j, paid=False)] == [Effect.NONE]


def test_a_goal_that_a_background_user_undid_is_told_without_an_effect() -> None:
    j = Journal()
    j.call("user/1", 8)
    own = j.commit(2, STAGE, "won", owner="agent", n=AGENT_CALL)
    last = j.commit(3, STAGE, "lost", owner="user/1")
    grade = j.grade(False, KEY)
    (finding,) = credit(j, paid=False)
    assert finding.events == (own, last, grade)
    assert (finding.effect, finding.confidence) == (Effect.NONE, Confidence.SUSPECTED)


def test_what_fails_and_was_never_the_agents_is_nobodys_fault() -> None:
    j = Journal()
    j.call("user/1", 8)
    j.commit(2, STAGE, "lost", owner="user/1")
    j.grade(False, KEY)
    assert credit(j, paid=False) == []


def test_the_agent_or_what_may_follow_from_it_wrote_last() -> None:
    j = Journal()
    j.call("user/1", 8)
    j.commit(2, STAGE, "won", owner="user/1")
    j.commit(3, STAGE, "lost", owner="agent", n=AGENT_CALL)
    j.grade(True, KEY)
    assert credit(j) == []
    j = Journal()
    j.commit(2, STAGE, "won", owner="settlement/1", n=1)
    j.grade(True, KEY)
    assert credit(j) == []


def test_what_a_reaction_wrote_is_the_work_of_whoever_caused_it() -> None:
    for owner, n, found in (("user/1", 8, ["H517"]), ("agent", AGENT_CALL, [])):
        j = Journal()
        j.call(owner, n)
        j.add("CAUSED", 0, owner=f"outbox/{owner}", n=n << 9, by=owner, by_n=n)
        j.add("CAUSED", 0, owner=f"hook/{owner}", n=n << 18, by=f"outbox/{owner}", by_n=n << 9)
        j.commit(2, STAGE, "won", owner=f"hook/{owner}", n=n << 18)
        j.grade(True, KEY)
        findings = credit(j)
        assert [f.code for f in findings] == found
        assert [f.evidence["by"] for f in findings] == [f"{owner}#{n}" for _ in found]


def test_a_reaction_to_the_agent_counts_as_what_it_had_written() -> None:
    j = Journal()
    j.add("CAUSED", 0, owner="hook/agent", n=AGENT_CALL << 9, by="agent", by_n=AGENT_CALL)
    own = j.commit(2, STAGE, "won", owner="hook/agent", n=AGENT_CALL << 9)
    j.call("user/1", 8)
    last = j.commit(3, STAGE, "lost", owner="user/1")
    grade = j.grade(False, KEY)
    (finding,) = credit(j, paid=False)
    assert finding.events == (own, last, grade)


@pytest.mark.parametrize("key", ["deals:7", "deals:7.notes_count"])
def test_whoever_counts_last_has_not_decided_what_is_counted(key: str) -> None:
    """As the places of a slot: the agent's hold lapses, and somebody else takes the place."""
    names = (*SURFACE.columns["deals"], "notes_count")
    counted = Surface({}, {"deals": names}, counts={"deals": ("notes_count",)})
    count = names.index("notes_count")
    j = Journal()
    j.call("user/1", 8)
    j.commit(2, count, 1, owner="agent", n=AGENT_CALL)
    j.commit(3, count, 2, owner="user/1")
    j.grade(False, key)
    assert j.codes(others_credit, UNPAID, surface=counted) == []
    assert j.codes(others_credit, UNPAID, surface=Surface({}, {"deals": names})) == ["H517"]
    j.commit(4, STAGE, "won", owner="agent", n=AGENT_CALL)
    j.commit(5, STAGE, "lost", count, 3, owner="user/1")
    j.grade(False, "deals:7")
    assert j.codes(others_credit, UNPAID, surface=counted)[-1:] == ["H517"]


def test_another_column_another_row_or_an_unknown_one_is_not_the_goals() -> None:
    j = Journal()
    j.call("user/1", 8)
    j.commit(2, 4, "b", owner="user/1")
    j.grade(True, KEY, "deals:8.stage", "deals:7.nonsense", "nonsense")
    assert credit(j) == []
    j.grade(True, "deals:7")
    assert len(credit(j)) == 1
