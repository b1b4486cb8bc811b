"""Faults that nobody planned, and references that miss the goal where nothing is in their way."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import simharness as sh
from simharness.blame.attribution import judge, judge_record
from simharness.blame.case import case_of
from simharness.blame.planned import failing_reference, undeclared_faults
from simharness.blame.verdict import Class, Proof
from simharness.models.crm.product import Crm
from simharness.models.crm.scenarios.negotiation import Negotiation
from simharness.product.fault import arm
from simharness.product.goal import Criterion
from simharness.product.product import find_fault
from simharness.recording.reader import parse
from simharness.recording.writer import FrameLog
from tests.blame.plays import CLEARED, LOST, plan, played, policy_named

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

    from simharness.blame.case import Case
    from simharness.episode.episode import Episode
    from simharness.episode.plan import Plan

EXPERT = policy_named("expert")


def armed_by_nobody(patch: pytest.MonkeyPatch, text: str) -> None:
    """Let the scenario's people bring a fault of their own."""
    people = Negotiation.people

    def bringing(self: Negotiation, product: Crm, instance: Any) -> None:
        people(self, product, instance)
        fault = find_fault(Crm, text)
        arm(fault, product.world, product.settings, product.caches(), 4000)

    patch.setattr(Negotiation, "people", bringing)


def case(episode: Episode, policy: Any = EXPERT) -> Case:
    return case_of(episode, policy, EXPERT)


def codes(plan: Plan, policy: Any = EXPERT) -> list[str]:
    return [f.code for f in undeclared_faults(case(played(plan, policy)))]


def test_a_fault_that_the_plan_does_not_contain_is_found_beside_what_it_does(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = plan(0, 4, config=CLEARED)
    assert codes(asked) == []
    armed_by_nobody(monkeypatch, LOST[0])
    episode = played(asked, EXPERT)
    (finding,) = undeclared_faults(case(episode))
    assert (finding.code, finding.step, finding.t) == ("H313", 0, 0)
    assert "crm.invalidation-lost took effect at 0s, and the plan doesn't" in finding.explanation
    verdict = judge(episode, EXPERT, EXPERT)
    # Either repair would do, and the cache's is the smaller one.
    assert (verdict.kind, verdict.primary, verdict.proof) == (Class.HARNESS, "H112", Proof.CLOSED)
    assert verdict.codes[0] == "H313"
    episode.close(verdict.record())
    assert isinstance(episode.sink, FrameLog)
    (record,) = parse(episode.sink.to_bytes())
    assert "H313" in judge_record(record).codes


def test_a_fault_is_declared_for_the_time_that_the_plan_gives_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for trigger in ("", "@from=20s", "@until=20s"):
        assert codes(plan(0, 4, (LOST[0] + trigger,), CLEARED)) == []
    armed_by_nobody(monkeypatch, LOST[0])
    assert codes(plan(0, 4, (LOST[0] + "@from=20s",), CLEARED)) == ["H313"]


def test_a_clean_episode_with_an_undeclared_fault_is_no_clean_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    armed_by_nobody(monkeypatch, "crm.stale-index")
    episode = played(plan(2), EXPERT)
    verdict = judge(episode, EXPERT, EXPERT)
    assert episode.passed
    assert (verdict.kind, verdict.valid) == (Class.OK, False)
    assert "H313" in verdict.codes


def ask_for_more(patch: pytest.MonkeyPatch) -> None:
    """Let the goal ask for what nobody can do."""
    goal = Negotiation.goal

    def more(self: Negotiation, *args: Any) -> tuple[Criterion, ...]:
        return *goal(self, *args), Criterion("the moon is there", False, "it isn't")

    patch.setattr(Negotiation, "goal", more)


def test_a_reference_that_misses_the_goal_in_a_plain_world_is_the_tasks_fault(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert failing_reference(case(played(plan(3), EXPERT))) is None
    ask_for_more(monkeypatch)
    verdict = judge(played(plan(3), EXPERT), EXPERT, EXPERT)
    assert (verdict.kind, verdict.primary) == (Class.HARNESS, "H513")
    assert "the moon is there (it isn't)" in verdict.sentence
    assert not verdict.valid


def test_the_recording_of_such_a_reference_says_so_too(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    ask_for_more(monkeypatch)
    live = sh.run("crm/negotiation", seed=3)
    live.episode.save(tmp_path / "live.simrec")
    assert live.verdict.primary == "H513"
    assert sh.audit(tmp_path / "live.simrec") == live.verdict
    pinned = sh.run("crm/negotiation", seed=3, config=CLEARED)
    pinned.episode.save(tmp_path / "pinned.simrec")
    assert "H513" not in pinned.verdict.codes
    assert sh.audit(tmp_path / "pinned.simrec") == pinned.verdict


def test_a_reference_may_fail_where_something_was_put_in_its_way(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ask_for_more(monkeypatch)
    plain = plan(3)
    for harder in (
        plan(3, 1, LOST),
        plan(3, config={"db.latency": "100ms"}),
        plan(3, config=CLEARED),
        replace(plain, steps_max=30),
        replace(plain, load=9000),
    ):
        assert failing_reference(case(played(harder, EXPERT))) is None
    null = policy_named("null")
    assert failing_reference(case(played(plain, null), null)) is None
    assert failing_reference(case(played(plain, EXPERT), None)) is None
