"""The gate: what is counted once, what fails a run, and what leaves it open."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from simharness.blame.gate import Decision, Sample, decide, percent
from simharness.blame.statistics import Gate, Method
from simharness.blame.verdict import Class

SOUND = Sample(
    scenario="shop/sell",
    seed=0,
    policy="expert",
    load="1",
    faults=(),
    tools=("finish", "get_order", "pay"),
    at="",
    kind=Class.OK,
    codes=(),
    passed=True,
    quarantined=False,
    digest="",
)
BROKEN = replace(
    SOUND, kind=Class.HARNESS, codes=("H112",), at="pay", passed=False, quarantined=True
)
UNCLEAR = replace(SOUND, kind=Class.AMBIGUOUS, codes=("A190",), passed=False)


def episodes(count: int, of: Sample = SOUND, first: int = 0, **more: Any) -> list[Sample]:
    """So many episodes of different seeds."""
    seeds = range(first, first + count)
    return [replace(of, seed=s, digest=f"{of.kind}/{s}/{more}", **more) for s in seeds]


def by_stratum(decision: Decision) -> dict[tuple[str, str], tuple[int, int, bool]]:
    return {(s.by, s.value): (s.rate.failures, s.rate.episodes, s.fails) for s in decision.strata}


def test_a_run_passes_without_a_reason() -> None:
    decision = decide(episodes(147) + episodes(3, BROKEN, 147))
    assert (decision.answer, decision.reasons) == (Gate.PASS, ())
    assert (decision.failure.failures, decision.failure.episodes) == (3, 150)


def test_the_rate_of_the_whole_fails_a_run() -> None:
    decision = decide(episodes(91) + episodes(9, BROKEN, 91))
    assert decision.answer is Gate.FAIL
    assert decision.reasons[0] == "the rate is 9.0%, surely above 5.0%"


def test_a_short_run_is_told_how_many_more_episodes_it_needs() -> None:
    decision = decide(episodes(20))
    assert (decision.answer, decision.further) == (Gate.INCONCLUSIVE, 32)
    assert decision.reasons == ("32 more episodes at this rate would decide",)
    exact = decide(episodes(20), method=Method.EXACT)
    assert exact.further == 39
    assert decide([]).reasons == ("there are no episodes to judge",)


def test_a_stratum_fails_a_run_that_passes_as_a_whole() -> None:
    runs = [*episodes(286), *episodes(86, load="4"), *episodes(14, BROKEN, 86, load="4")]
    decision = decide(runs)
    assert decision.failure.high < 0.06
    assert decision.answer is Gate.FAIL
    assert [r.partition(":")[0] for r in decision.reasons] == ["load 4"]
    found = by_stratum(decision)
    assert found["load", "4"] == (14, 100, True)
    assert found["load", "1"] == (0, 286, False)
    # One scenario, and no fault: nothing to part by.
    assert {by for by, _ in found} == {"load", "tool"}


def test_a_failure_counts_for_the_tool_that_it_stands_at() -> None:
    runs = [*episodes(300, tools=("finish",)), *episodes(3, BROKEN, tools=("finish", "pay"))]
    found = by_stratum(decide(runs))
    assert found["tool", "pay"] == (3, 3, True)
    assert found["tool", "finish"] == (0, 303, False)


def test_one_failure_in_a_small_stratum_of_many_fails_nothing() -> None:
    runs = [e for load in range(40) for e in episodes(5, first=5 * load, load=str(load))]
    decision = decide([*runs, *episodes(1, BROKEN, 200, load="40")])
    assert by_stratum(decision)["load", "40"] == (1, 1, False)
    assert decision.answer is Gate.PASS


def test_a_code_of_zero_tolerance_fails_at_its_first_occurrence() -> None:
    decision = decide([*episodes(999), *episodes(1, BROKEN, 999, codes=("H512",))])
    assert decision.answer is Gate.FAIL
    assert decision.zero_tolerance == ("H512",)
    assert decision.reasons == ("H512 is never allowed: 1 episode",)


def test_damage_fails_a_run_and_an_unfinished_one_cannot_pass() -> None:
    assert decide(episodes(100), damaged=["a.simrec"]).reasons == ("damaged: a.simrec",)
    decision = decide(episodes(100), unfinished=True)
    assert decision.answer is Gate.INCONCLUSIVE
    assert decision.reasons == ("the run is unfinished, or nothing tells that it isn't",)


def test_ambiguous_episodes_that_could_lift_the_rate_over_the_limit_leave_it_open() -> None:
    few = decide([*episodes(290), *episodes(10, UNCLEAR, 290)])
    assert few.answer is Gate.PASS
    assert (few.failure.point, round(few.ambiguous.point, 4)) == (0.0, 0.0333)
    many = decide([*episodes(280), *episodes(20, UNCLEAR, 280)])
    assert (many.answer, many.further) == (Gate.INCONCLUSIVE, None)
    assert "6.7%" in many.reasons[0]
    assert many.poor
    # They don't acquit a harness that fails without them.
    broken = decide([*episodes(70), *episodes(10, UNCLEAR, 70), *episodes(20, BROKEN, 80)])
    assert broken.answer is Gate.FAIL


def test_contamination_counts_findings_that_decided_nothing() -> None:
    decision = decide([*episodes(90), *episodes(10, SOUND, 90, codes=("H110", "M210"))])
    assert (decision.failure.failures, decision.contamination.failures) == (0, 10)


def test_what_failed_outside_is_in_no_rate_and_the_same_episode_counts_once() -> None:
    outside = episodes(5, SOUND, 900, kind=Class.EXTERNAL, passed=None)
    decision = decide([*episodes(60), *episodes(20), *outside])
    assert (decision.failure.episodes, decision.external, decision.repeated) == (60, 5, 20)


def test_episodes_of_one_instance_count_as_fewer() -> None:
    groups = [e for policy in "abcdefgh" for e in episodes(20, policy=policy)]
    decision = decide(groups)
    assert (decision.instances, decision.effect, decision.effective) == (20, 8.0, 20.0)
    # 51.4 independent ones are needed, and 8 episodes count as one.
    assert (decision.answer, decision.further) == (Gate.INCONCLUSIVE, 252)
    assert decision.resampled == (0.0, 0.0)
    assert decide(episodes(160)).answer is Gate.PASS


def test_a_limit_is_never_shown_as_nothing() -> None:
    assert [percent(x) for x in (0.05, 0.001, 0.0004, 1e-9)] == ["5.0%", "0.1%", "0.04%", "1e-07%"]


def test_a_trial_that_is_there_twice_is_one_trial() -> None:
    copied = [replace(SOUND, seed=s, digest=str(s)) for s in (1, 2) for _ in range(2)]
    assert decide(copied).trials == ()
    # Two policies that do the same have a trial each, and of four trials one may be a copy.
    others = [replace(SOUND, seed=1, policy=p, digest="same") for p in ("a", "b")]
    trials = [replace(SOUND, seed=3, digest=d) for d in ("x", "y", "y", "z")]
    first, second = decide([*others, *trials]).trials
    assert (first.raw.k, first.raw.tasks) == (1, 3)
    assert (second.raw.k, second.raw.tasks, second.raw.dropped) == (2, 1, 2)


def test_pass_k_is_told_raw_and_clean_where_tasks_have_trials() -> None:
    assert decide(episodes(10)).trials == ()
    trials = [replace(SOUND, seed=s, digest=f"{s}/{i}") for s in (1, 2) for i in range(4)]
    trials[0] = replace(trials[0], passed=False, quarantined=True, kind=Class.HARNESS)
    first, second, fourth = decide(trials).trials
    assert [t.raw.k for t in (first, second, fourth)] == [1, 2, 4]
    assert [t.raw.point for t in (first, second, fourth)] == [0.875, 0.75, 0.5]
    assert [t.clean.point for t in (first, second, fourth)] == [1.0, 1.0, 1.0]
    assert (fourth.clean.tasks, fourth.clean.dropped) == (1, 1)
    assert round(second.ceiling, 6) == 0.765625
