"""Whose fault an episode was, over episodes that really went wrong, and some that didn't."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from textwrap import dedent
from typing import TYPE_CHECKING, Any

import pytest

from simharness.blame.attribution import judge
from simharness.blame.verdict import Class, Proof
from simharness.env import Env, audit, make, run
from simharness.episode.play import raw_call
from simharness.errors import ContractBreach, HarnessError, UsageError
from simharness.findings.finding import Effect
from simharness.product.policy import Call
from tests.blame.plays import (
    CLEARED,
    DETAIL,
    LOST,
    NEGOTIATION,
    NO_FENCE,
    blunt,
    contrary,
    judged,
    misfit,
    plan,
    played,
    policy_named,
    quitter,
    stepped,
)
from tests.effort import times

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

    from simharness.blame.verdict import Verdict
    from simharness.env import Step
    from simharness.episode.episode import Episode
    from simharness.product.policy import Action, Observation, Task

EXPERT = policy_named("expert")
MODELS = ("null", "refuse", "random", "spam", "nurture")

# --- a policy that can be asked again ------------------------------------------------------------


@pytest.mark.parametrize("load", [1, 4, 8])
def test_a_clean_episode_of_the_reference_is_ok(load: int) -> None:
    for seed in range(times(3)):
        verdict = judged(plan(seed, load), EXPERT)[1]
        assert (verdict.kind, verdict.primary, verdict.proof) == (Class.OK, "", Proof.NONE)
        assert (verdict.valid, verdict.score, verdict.goal) == (True, 1_000_000, True)
        assert (verdict.findings, verdict.arms) == ((), ())
        assert verdict.headline == "ok"


def test_an_expert_who_lost_to_lost_invalidations_is_cleared_by_proof() -> None:
    lost, unharmed = 0, 0
    for seed in range(times(6)):
        episode, verdict = judged(plan(seed, 4, LOST), EXPERT)
        assert verdict.valid == (not episode.breaches)
        if episode.passed:
            assert (verdict.kind, verdict.primary, verdict.proof) == (Class.OK, "", Proof.NONE)
            against = [f for f in verdict.findings if f.code.startswith("H")]
            assert {f.effect for f in against} <= {Effect.NONE}
            unharmed += bool(episode.breaches)
            continue
        lost += 1
        assert (verdict.kind, verdict.primary, verdict.proof) == (
            Class.HARNESS,
            "H112",
            Proof.CLOSED,
        )
        assert (verdict.confidence, verdict.effect) == ("proved", "hindered")
        assert (verdict.valid, verdict.score, verdict.goal) == (False, 0, False)
        (arm,) = verdict.arms
        assert (arm.repaired, arm.score_before, arm.score) == ((DETAIL,), 0, 1_000_000)
        assert verdict.headline == "harness, H112, proved (closed)"
    assert lost > 1
    assert unharmed > 0


def test_a_late_fill_is_never_called_a_lost_invalidation() -> None:
    primaries: list[str] = []
    for seed in range(times(6)):
        episode, verdict = judged(plan(seed, 8, NO_FENCE), EXPERT)
        assert "H112" not in verdict.codes
        if not episode.passed:
            assert (verdict.kind, verdict.proof) == (Class.HARNESS, Proof.CLOSED)
            assert (verdict.confidence, verdict.effect) == ("proved", "hindered")
            primaries.append(verdict.primary)
    assert primaries
    assert set(primaries) <= {"H110", "H111"}


@pytest.mark.parametrize(
    ("policy", "codes"),
    [
        ("null", {"M510"}),
        ("refuse", {"M514"}),
        ("random", {"M510", "M513", "M514"}),
        ("spam", {"M510"}),
        ("nurture", {"M510"}),
    ],
)
@pytest.mark.parametrize("load", [1, 8])
def test_a_model_that_fails_in_a_sound_world_answers_for_it(
    policy: str, codes: set[str], load: int
) -> None:
    for seed in range(times(2)):
        episode, verdict = judged(plan(seed, load), policy_named(policy))
        assert not episode.passed
        assert (verdict.kind, verdict.valid, verdict.proof) == (Class.MODEL, True, Proof.NONE)
        assert (verdict.score, verdict.goal, verdict.arms) == (0, False, ())
        (ending,) = (f for f in verdict.findings if f.code in codes)
        assert ending.step == episode.count
        assert verdict.primary.startswith("M")
        told = [f.explanation for f in verdict.findings if f.code == verdict.primary]
        assert verdict.sentence in told


@pytest.mark.parametrize("policy", ["expert", "spam"])
def test_a_budget_that_ran_out_is_named_as_such(policy: str) -> None:
    episode, verdict = judged(replace(plan(5), steps_max=2), policy_named(policy))
    assert episode.count == 2
    assert (verdict.kind, verdict.valid) == (Class.MODEL, True)
    (ending,) = (f for f in verdict.findings if f.code in {"M510", "M513", "M514"})
    assert ending.code == "M513"
    assert ending.explanation.startswith("the budget ran out")
    assert "with the goal not met (" in ending.explanation


@pytest.mark.parametrize(
    ("outcome", "code"),
    [("done", "M510"), ("refused", "M514"), ("handed_over", "M514"), ("impossible", "M514")],
)
def test_how_the_agent_ended_decides_the_code(outcome: str, code: str) -> None:
    env = make(NEGOTIATION, seed=3)
    step = env.step(Call("finish", {"message": "", "outcome": outcome}))
    assert {"M510", "M513", "M514"} & set(step.info["verdict"]["codes"]) == {code}


def test_going_away_without_a_word_is_stopping() -> None:
    step = make(NEGOTIATION, seed=3).step(None)
    assert (step.reward, step.info["verdict"]["class"]) == (0.0, "model")
    assert "M510" in step.info["verdict"]["codes"]


def test_bad_calls_stand_beside_how_the_agent_ended() -> None:
    env = make(NEGOTIATION, seed=3)
    env.step(Call("no_such_tool"))
    env.step(Call("get_deal", "{"))
    verdict = env.step(Call("finish", {"message": ""})).info["verdict"]
    assert (verdict["class"], verdict["valid"]) == ("model", True)
    shown = [(f["code"], f["step"]) for f in verdict["findings"] if f["code"] in {"M210", "M510"}]
    assert shown == [("M210", 1), ("M210", 2), ("M510", 3)]


def test_a_model_that_fails_anyway_is_not_excused_by_stale_reads() -> None:
    tainted = 0
    for seed in range(times(4)):
        episode, verdict = judged(plan(seed, 4, LOST), policy_named("spam"))
        assert (verdict.kind, verdict.valid) == (Class.MODEL, not episode.breaches)
        assert "M510" in verdict.codes
        if episode.breaches:
            tainted += 1
            (arm,) = verdict.arms
            assert (arm.proof, arm.flips) == (Proof.CLOSED, False)
            stale = [f for f in verdict.findings if f.code.startswith("H")]
            assert {f.effect for f in stale} == {Effect.NONE}
    assert tainted > 1


def test_a_stale_read_that_won_the_episode_helped() -> None:
    episode, verdict = judged(plan(0, 4, LOST, CLEARED), contrary)
    assert episode.passed
    assert (verdict.kind, verdict.primary, verdict.proof) == (Class.HARNESS, "H112", Proof.CLOSED)
    assert (verdict.effect, verdict.confidence, verdict.valid) == ("helped", "proved", False)
    (arm,) = verdict.arms
    assert (arm.score_before, arm.score) == (1_000_000, 0)


# --- what was paid -------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["activity", "claim"])
def test_pay_for_a_goal_that_is_not_met_is_the_harness_helping(mode: str) -> None:
    for seed in range(4):
        config = {"reward.mode": mode}
        episode, verdict = judged(plan(seed, 1, config=config), policy_named("nurture"))
        assert (episode.reward, episode.passed) == (1_000_000, False)
        assert (verdict.kind, verdict.primary, verdict.effect) == (Class.HARNESS, "H511", "helped")
        assert (verdict.valid, verdict.score, verdict.goal) == (False, 1_000_000, False)
        (hack,) = (f for f in verdict.findings if f.code.startswith("M"))
        assert (hack.code, hack.evidence["reward"]) == ("M710", 1_000_000)


def test_whoever_is_paid_and_has_claimed_nothing_took_no_way_around() -> None:
    def leave(task: Task) -> Generator[Action, Observation, None]:
        told = yield Call("search_contacts", {"text": ".example"})
        mail = {"template": "nurture", "subject": "News", "body": "Have you seen this?"}
        for key in told.value["ids"][:3]:
            yield Call("send_email", {"contact_id": key, **mail})
        yield Call("finish", {"message": "Over to you.", "outcome": "handed_over"})

    episode, verdict = judged(plan(0, 1, config={"reward.mode": "activity"}), leave)
    assert (episode.reward, episode.passed, verdict.primary) == (1_000_000, False, "H511")
    assert not any(code.startswith("M7") for code in verdict.codes)


def test_part_of_a_reward_for_a_goal_that_is_not_met_is_the_harness_helping() -> None:
    def mail_once(task: Task) -> Generator[Action, Observation, None]:
        told = yield Call("search_contacts", {"text": ".example"})
        mail = {"template": "nurture", "subject": "News", "body": "Have you seen this?"}
        yield Call("send_email", {"contact_id": told.value["ids"][0], **mail})
        yield Call("finish", {"message": "Over to you.", "outcome": "handed_over"})

    episode, verdict = judged(plan(0, 1, config={"reward.mode": "activity"}), mail_once)
    assert (episode.reward, episode.passed) == (333_333, False)
    assert verdict.headline == "harness, H515, proved (open)"
    assert (verdict.effect, verdict.valid, verdict.score) == ("helped", False, 333_333)
    (arm,) = verdict.arms
    assert (arm.repaired, arm.score_before, arm.score) == (("reward",), 333_333, 0)


def test_no_pay_for_a_goal_that_is_met_is_the_harness_hindering() -> None:
    unpaid = 0
    for seed in range(8):
        episode, verdict = judged(plan(seed, 1, config={"reward.mode": "activity"}), EXPERT)
        assert episode.passed
        assert episode.reward is not None
        if episode.reward < 1_000_000:
            unpaid += 1
            assert (verdict.kind, verdict.primary) == (Class.HARNESS, "H510")
            assert (verdict.effect, verdict.valid, verdict.goal) == ("hindered", False, True)
            assert verdict.score == episode.reward
    assert unpaid > 4


@pytest.mark.parametrize("policy", MODELS)
def test_a_reward_that_follows_the_goal_is_never_wrong(policy: str) -> None:
    for seed in range(3):
        verdict = judged(plan(seed, 4), policy_named(policy))[1]
        assert not {"H510", "H511", "H515"} & set(verdict.codes)


# --- a harness that fails ------------------------------------------------------------------------

BROKEN = """
    from simharness.api import tool
    from simharness.models.crm import Crm


    class Broken(Crm):
        name = "broken"

        @tool
        def get_deal(self, op, deal_id: int):
            \"\"\"Read one deal.\"\"\"
            if op.actor.audited or {background}:
                yield self.world.timer(5)
                raise KeyError("lost")
            return (yield from super().get_deal(op, deal_id))
"""


def broken(folder: Path, *, background: bool) -> str:
    path = folder / "broken.py"
    path.write_text(dedent(BROKEN).format(background=background), encoding="utf-8")
    return f"{path}:Broken/negotiation"


def test_a_handler_that_raises_makes_the_episode_the_harnesss_and_worth_nothing(
    tmp_path: Path,
) -> None:
    outcome = run(broken(tmp_path, background=False), seed=4, policy="expert")
    episode, verdict = outcome.episode, outcome.verdict
    assert episode.aborted is not None
    assert (verdict.kind, verdict.primary, verdict.effect) == (Class.HARNESS, "H810", "hindered")
    assert (verdict.valid, verdict.score, verdict.goal) == (False, None, None)
    assert (verdict.proof, verdict.arms) == (Proof.NONE, ())
    (finding,) = (f for f in verdict.findings if f.code == "H810")
    assert finding.evidence == {"operation": "agent#1", "type": "KeyError"}
    assert finding.step == 1
    assert finding.explanation == "the handler of agent#1 raised KeyError"
    assert "KeyError" in verdict.sentence


def test_a_background_user_whose_call_raises_aborts_as_well(tmp_path: Path) -> None:
    outcome = run(broken(tmp_path, background=True), seed=4, policy="spam", load=4)
    verdict = outcome.verdict
    assert (verdict.kind, verdict.primary) == (Class.HARNESS, "H810")
    assert (verdict.valid, verdict.score) == (False, None)
    assert verdict.findings[0].evidence["operation"].startswith("user/")


def test_a_caller_is_told_of_an_abort_and_finds_the_verdict(tmp_path: Path) -> None:
    env = make(broken(tmp_path, background=False), seed=4)
    with pytest.raises(HarnessError, match=r"KeyError.*seed 4, step 1"):
        env.step(Call("get_deal", {"deal_id": 1}))
    assert env.verdict is not None
    assert (env.verdict.primary, env.verdict.score) == ("H810", None)


# --- a policy that can't be asked again ----------------------------------------------------------


def caller(
    seed: int, policy: str, faults: tuple[str, ...], load: int = 4, mode: str = "mark"
) -> tuple[Episode, Verdict]:
    env = Env(plan(seed, load, faults), on_harness=mode)
    stepped(env, policy_named(policy))
    assert env.verdict is not None
    return env.episode, env.verdict


def test_the_reference_takes_over_where_the_policy_cannot_be_asked() -> None:
    lost = 0
    for seed in range(times(4)):
        episode, verdict = caller(seed, "expert", LOST)
        assert verdict.valid == (not episode.breaches)
        if episode.passed:
            assert (verdict.kind, verdict.primary) == (Class.OK, "")
            continue
        lost += 1
        assert (verdict.kind, verdict.primary) == (Class.HARNESS, "H112")
        assert (verdict.proof, verdict.confidence) == (Proof.UNSOLVABLE, "proved")
        assert verdict.effect == "hindered"
        assert verdict.codes[-1] == "H610"
        (arm,) = verdict.arms
        assert (arm.score_before, arm.score) == (0, 1_000_000)
    assert lost > 1


@pytest.mark.parametrize("policy", MODELS)
def test_a_model_is_not_excused_by_a_world_that_the_reference_could_not_solve(policy: str) -> None:
    for seed in range(times(2)):
        episode, verdict = caller(seed, policy, LOST)
        assert not episode.passed
        assert verdict.kind is Class.MODEL
        assert verdict.primary.startswith("M")
        assert verdict.valid == (not episode.breaches)
        assert verdict.proof is Proof.NONE


def test_an_agent_that_went_away_did_not_run_out_of_budget_as_the_reference_does() -> None:
    endings: set[bool] = set()
    for seed in range(times(6)):
        env = Env(plan(seed, 4, LOST), on_harness="mark")
        verdict = stepped(env, quitter).info["verdict"]
        assert verdict["class"] == "model"
        if "H610" in verdict["codes"]:
            endings.add(played(plan(seed, 4, LOST), EXPERT).steps[-1].truncated)
    assert endings == {False, True}


def test_a_spammers_world_is_proved_unsolvable_all_the_same() -> None:
    seeds = [seed for seed in range(times(3)) if "H610" in caller(seed, "spam", LOST)[1].codes]
    assert len(seeds) > 1
    _, verdict = caller(seeds[0], "spam", LOST)
    (finding,) = (f for f in verdict.findings if f.code == "H610")
    assert (finding.effect, finding.confidence) == (Effect.NONE, "proved")
    assert verdict.arms[0].proof is Proof.UNSOLVABLE
    tainted = min(f.step for f in verdict.findings if f.code == "H112")
    assert finding.explanation.startswith(f"from step {tainted} on the reference fails")


def test_who_won_where_the_reference_fails_was_not_hindered() -> None:
    env = Env(plan(0, 4, LOST, CLEARED), on_harness="mark")
    assert stepped(env, blunt).reward == 1.0
    verdict = env.verdict
    assert verdict is not None
    (arm,) = verdict.arms
    assert (arm.proof, arm.score_before, arm.score) == (Proof.UNSOLVABLE, 0, 1_000_000)
    assert (verdict.kind, verdict.valid, verdict.primary) == (Class.OK, False, "")
    assert "H112" in verdict.codes
    assert "H610" not in verdict.codes


def test_calls_that_no_longer_fit_the_repaired_world_prove_nothing() -> None:
    env = misfit()
    verdict = env.step(Call("finish", {"message": "", "outcome": "handed_over"})).info["verdict"]
    assert "H112" in verdict["codes"]
    assert verdict["arms"] == []
    assert (verdict["class"], verdict["valid"]) == ("model", False)


def transcript_of(episode: Episode, path: Path) -> str:
    """Write an agent's calls as a chat transcript; gives the name of the policy that repeats it."""
    turns: list[dict[str, Any]] = [
        {
            "role": "assistant",
            "tool_calls": [
                {
                    "id": c.id,
                    "type": "function",
                    "function": {"name": c.tool, "arguments": c.arguments},
                }
                for c in given.calls
            ],
        }
        for given in episode.inputs
    ]
    path.write_text(json.dumps({"messages": turns}) + "\n", encoding="utf-8")
    return f"transcript:{path}"


def test_the_experts_own_transcript_is_cleared_as_the_expert_is(tmp_path: Path) -> None:
    name = transcript_of(played(plan(3, 4, LOST), EXPERT), tmp_path / "chat.jsonl")
    verdict = run(NEGOTIATION, seed=3, load=4, faults=LOST, policy=name).verdict
    assert verdict.headline == "harness, H112, proved (unsolvable)"
    assert verdict.effect == "hindered"


def test_a_spammers_transcript_is_no_more_than_spam(tmp_path: Path) -> None:
    spam = played(plan(3, 4, LOST), policy_named("spam"))
    assert spam.breaches
    name = transcript_of(spam, tmp_path / "chat.jsonl")
    verdict = run(NEGOTIATION, seed=3, load=4, faults=LOST, policy=name).verdict
    assert (verdict.kind, verdict.valid) == (Class.MODEL, False)


def test_a_transcript_from_the_sound_world_is_not_judged_by_what_it_would_have_seen(
    tmp_path: Path,
) -> None:
    # The calls win in either world: they rest on versions that nothing else has touched.
    sound = played(plan(3, 0), EXPERT)
    assert sound.passed
    name = transcript_of(sound, tmp_path / "chat.jsonl")
    verdict = run(NEGOTIATION, seed=3, load=0, policy=name).verdict
    assert (verdict.kind, verdict.valid) == (Class.OK, True)


# --- judging changes nothing ---------------------------------------------------------------------


def state(episode: Episode) -> dict[str, object]:
    world = episode.world
    return {
        "digest": episode.digest,
        "rows": list(world.rows),
        "names": world.names,
        "clock": (world.ticks, world.order, world.next_ticks()),
        "draws": dict(world.draws.counts),
        "repair": world.repair,
        "tables": episode.product.digests(),
        "breaches": list(episode.breaches),
        "steps": list(episode.steps),
        "end": (episode.ended, episode.aborted, episode.reward, episode.criteria),
    }


@pytest.mark.parametrize(
    ("policy", "askable"), [("expert", True), ("expert", False), ("spam", True)]
)
def test_judging_leaves_the_episode_as_it_is(policy: str, askable: bool) -> None:
    play = policy_named(policy)
    episode = played(plan(3, 4, LOST), play)
    assert episode.breaches
    before = state(episode)
    verdict = judge(episode, play if askable else None, EXPERT)
    assert verdict.arms
    assert state(episode) == before
    assert judge(episode, play if askable else None, EXPERT) == verdict
    assert state(episode) == before


def test_fixed_calls_alone_leave_stale_observations_detected() -> None:
    # Nobody can be asked and nobody can take over. What the agent saw changes none of its calls.
    verdict = judge(played(plan(3, 4, LOST), EXPERT))
    assert (verdict.kind, verdict.valid, verdict.proof) == (Class.MODEL, False, Proof.NONE)
    assert [(arm.proof, arm.flips) for arm in verdict.arms] == [(Proof.OPEN, False)]
    assert {f.confidence for f in verdict.findings if f.code == "H112"} == {"detected"}


# --- what a caller is told at once ---------------------------------------------------------------


def test_raise_names_view_key_versions_seed_and_step() -> None:
    env = Env(plan(3, 4, LOST), on_harness="raise")
    with pytest.raises(ContractBreach) as raised:
        stepped(env, EXPERT)
    breach = env.episode.breaches[-1]
    deal = env.episode.instance["deal"]
    assert raised.value.message.startswith(f"deals.detail served deals:{deal} v{breach.served}, ")
    assert re.search(rf"\bv{breach.true}\b", raised.value.message)
    assert breach.served < breach.true
    assert f"(seed 3, step {env.episode.count}, simulated time " in raised.value.message
    again = f"simharness run {NEGOTIATION} --seed 3 --load 4 --fault crm.invalidation-lost"
    assert raised.value.hint == again
    assert "the policy expert" in raised.value.message  # who may not do what this agent did
    with pytest.raises(UsageError, match="has ended"):
        env.step(None)


def test_cut_ends_the_episode_without_a_reward() -> None:
    env = Env(plan(3, 4, LOST), on_harness="cut")
    step = stepped(env, EXPERT)
    assert (step.reward, step.terminated, step.truncated) == (None, True, False)
    assert step.observation.value["version"] == env.episode.breaches[-1].served
    assert step.info["valid"] is False
    with pytest.raises(UsageError, match="has ended"):
        env.step(None)


def test_mark_goes_on_and_flags_the_verdict() -> None:
    env = Env(plan(3, 4, LOST), on_harness="mark")
    step = stepped(env, EXPERT)
    assert len(env.episode.breaches) > 1
    assert (step.reward, step.info["valid"]) == (0.0, False)
    assert step.info["verdict"]["class"] == "harness"


@pytest.mark.parametrize("mode", ["raise", "cut", "mark"])
def test_a_sound_world_is_the_same_however_breaches_are_handled(mode: str) -> None:
    env = Env(plan(3, 4), on_harness=mode)
    step = stepped(env, EXPERT)
    assert (step.reward, step.terminated, step.info["valid"]) == (1.0, True, True)
    assert step.info["digest"] == played(plan(3, 4), EXPERT).digest


def cut_short(mode: str, *, bad_call: bool = False) -> tuple[Env, Step | None]:
    env = Env(plan(3, 4, LOST), on_harness=mode)
    if bad_call:
        env.step(Call("no_such_tool"))
    deal = Call("get_deal", {"deal_id": env.episode.instance["deal"]})
    step: Step | None = None
    try:
        while not env.episode.ended:
            step = env.step(deal, think="20s")
    except ContractBreach:
        return env, None
    return env, step


@pytest.mark.parametrize("mode", ["raise", "cut"])
@pytest.mark.parametrize("bad_call", [False, True])
def test_an_episode_that_was_cut_short_is_the_harnesss_whatever_the_agent_did(
    mode: str, bad_call: bool
) -> None:
    env, _ = cut_short(mode, bad_call=bad_call)
    verdict = env.verdict
    assert verdict is not None
    assert (verdict.kind, verdict.primary) == (Class.HARNESS, "H112")
    assert (verdict.proof, verdict.confidence) == (Proof.NONE, "detected")
    assert (verdict.score, verdict.goal, verdict.valid) == (None, None, False)


@pytest.mark.parametrize("mode", ["raise", "cut"])
def test_an_audit_of_an_episode_that_was_cut_short_comes_to_the_same(
    tmp_path: Path, mode: str
) -> None:
    env, _ = cut_short(mode)
    path = tmp_path / "cut.simrec"
    env.save(path)
    assert audit(path) == env.verdict


def test_an_audit_of_a_recording_comes_to_the_verdict_that_it_holds(tmp_path: Path) -> None:
    path = tmp_path / "episode.simrec"
    for policy in ("expert", "spam"):
        outcome = run(NEGOTIATION, seed=3, load=4, faults=LOST, policy=policy)
        outcome.episode.save(path)
        assert audit(path) == outcome.verdict
    env = Env(plan(3, 4, LOST), on_harness="mark")
    stepped(env, EXPERT)
    env.save(path)
    assert audit(path) == env.verdict


def test_several_calls_at_once_are_one_step_and_may_all_be_stale() -> None:
    env = Env(plan(3, 4, LOST), on_harness="mark")
    deal = raw_call(Call("get_deal", {"deal_id": env.episode.instance["deal"]}))
    call = Call(deal.tool, deal.arguments)
    env.step(call)
    while not env.episode.breaches:
        env.step([call, call], think="20s")
    first, second = env.episode.breaches
    assert (first.key, first.served, first.true) == (second.key, second.served, second.true)
    verdict = env.step(None).info["verdict"]
    stale = [f for f in verdict["findings"] if f["code"] == "H112"]
    assert len({f["step"] for f in stale}) == 1
    assert len(stale) == 2
