"""What re-running proves when there are several suspects, or one that did not matter."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simharness import env
from simharness.blame import proof
from simharness.blame.proof import smallest
from simharness.blame.verdict import Class, Proof
from simharness.product.policy import Call

if TYPE_CHECKING:
    from collections.abc import Generator

    from simharness.blame.verdict import Verdict
    from simharness.product.policy import Action, Observation, Task

NEVER = {
    "deals.detail.cache.ttl": "30min",
    "deals.detail.cache.invalidate": "never",
    "contacts.detail.cache.ttl": "30min",
    "contacts.detail.cache.invalidate": "never",
}
STORY = {
    "instance.legal": "in_review",
    "instance.legal_answer": "cleared",
    "instance.legal_after": 40,
    "instance.champion": "leaves",
    "instance.champion_at": 100,
    "instance.successor": "yes",
    "instance.budget": "stays",
    "instance.discount": "free",
    "instance.discount_pct": 5,
}
MASKED_SEEDS = (0, 2, 4)
"""Seeds on which somebody had the champion cached before she left."""


def verdict(seed: int, config: dict[str, Any]) -> Verdict:
    """Judge one expert episode of a busy CRM."""
    return env.run("crm/negotiation", seed=seed, load=8, config={**STORY, **config}).verdict


@pytest.mark.parametrize("seed", MASKED_SEEDS)
def test_a_defect_that_hides_another_does_not_hide_it_from_the_verdict(seed: int) -> None:
    judged = verdict(seed, NEVER)
    decisive = {f.mechanism for f in judged.findings if str(f.effect) == "hindered"}
    assert judged.kind is Class.HARNESS
    assert judged.proof is Proof.CLOSED
    assert decisive == {"cache:deals.detail", "cache:contacts.detail"}
    # Neither repair is enough by itself.
    first, *_, last = judged.arms
    assert first.repaired == ("cache:deals.detail",)
    assert not first.flips
    assert last.flips


@pytest.mark.parametrize("seed", MASKED_SEEDS)
def test_each_of_the_two_defects_is_sufficient_alone(seed: int) -> None:
    for table in ("deals", "contacts"):
        config = {key: value for key, value in NEVER.items() if key.startswith(table)}
        judged = verdict(seed, config)
        assert judged.kind is Class.HARNESS, table
        found = {f.mechanism for f in judged.findings if f.code == "H112"}
        assert found == {f"cache:{table}.detail"}


def quits(task: Task) -> Generator[Action, Observation, None]:
    """Look at the deal for a while, then give up whatever it says."""
    for _ in range(4):
        yield Call("get_deal", {"deal_id": task.brief["deal_id"]})
        yield Call("wait", {"seconds": 60})
    yield Call("finish", {"message": "I give up.", "outcome": "handed_over"})


def test_a_defect_that_did_not_matter_leaves_the_blame_with_the_model() -> None:
    plan = env.make_plan("crm/negotiation", 0, 8, config={**STORY, **NEVER})
    outcome = env.finish(env.new_episode(plan, "quits"), quits, askable=True)
    judged = outcome.verdict
    assert judged.kind is Class.MODEL
    assert "H112" in judged.codes
    assert not judged.valid
    assert "not for training" in judged.sentence
    assert all(str(f.effect) == "none" for f in judged.findings if f.code.startswith("H"))


def test_the_sound_control_of_the_same_story_passes_without_a_finding() -> None:
    for seed in MASKED_SEEDS:
        judged = verdict(seed, {})
        assert judged.kind is Class.OK
        assert judged.valid
        assert not judged.findings


@given(st.sets(st.integers(0, 9), min_size=1), st.sets(st.integers(0, 9), min_size=1))
def test_the_smallest_set_has_no_part_that_can_be_left_out(
    needed: set[int], extra: set[int]
) -> None:
    names = {f"m{i}" for i in needed}
    everything = frozenset(names | {f"m{i}" for i in extra})
    assert smallest(everything, lambda part: names <= part) == names


@given(st.lists(st.sets(st.integers(0, 5), min_size=1), min_size=1, max_size=4))
def test_the_smallest_set_is_minimal_where_several_would_do(sufficient: list[set[int]]) -> None:
    def flips(part: frozenset[str]) -> bool:
        return any({f"m{i}" for i in one} <= part for one in sufficient)

    found = smallest(frozenset(f"m{i}" for one in sufficient for i in one), flips)
    assert flips(found)
    assert not any(flips(found - {name}) for name in found)


@pytest.mark.parametrize(
    ("minimal", "delayed"),
    [
        ({"lease:deals"}, ["deals"]),
        ({"lease:deals", "lock:deals", "lock:accounts"}, ["accounts", "deals"]),
        ({"cache:deals.detail", "reward"}, []),
    ],
)
def test_placebos_delay_the_tables_whose_order_is_suspected(
    monkeypatch: pytest.MonkeyPatch, minimal: set[str], delayed: list[str]
) -> None:
    seen: list[str] = []

    def loop(*args: Any) -> tuple[Any, None]:
        seen.append(args[-1].table)
        return SimpleNamespace(flips=False), None

    monkeypatch.setattr(proof, "closed_loop", loop)
    case: Any = SimpleNamespace(plan=None, policy=object(), goal_score=0)
    assert proof.held_against_placebos(case, frozenset(minimal), None)
    assert seen == [table for table in delayed for _ in range(proof.PLACEBOS)]
