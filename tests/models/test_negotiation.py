"""crm/negotiation is a task: only doing the job pays, and others really get in the way."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest

from simharness import env
from simharness.kernel.journal import Decoder
from simharness.product.policy import Call

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping

    from simharness.episode.episode import Episode
    from simharness.product.policy import Action, Observation, Policy, Task

SEEDS = range(12)
BUSY_SEEDS = range(40)


def expert(task: Task) -> Generator[Action, Observation, None]:
    """Play the reference."""
    from simharness.models.crm.policies.negotiation import expert as reference

    return reference(task)


def about(act: Call, deal_id: int) -> Call:
    """Fill the deal's id into a call."""
    assert not isinstance(act.args, str)
    return Call(act.tool, {k: deal_id if v == "DEAL" else v for k, v in act.args.items()})


def after(*acts: Call) -> Policy:
    """Do something first, then the job as the reference does it."""

    def play(task: Task) -> Generator[Action, Observation, None]:
        for act in acts:
            yield about(act, task.brief["deal_id"])
        yield from expert(task)

    return play


def champion_mails(task: Task) -> Generator[Action, Observation, None]:
    """Mail the contract to the champion before anything is known, then do the job."""
    told = yield Call("get_deal", {"deal_id": task.brief["deal_id"]})
    mail = {
        "contact_id": told.value["champion_id"],
        "template": "contract",
        "subject": "Contract",
        "body": "Sign here.",
        "deal_id": task.brief["deal_id"],
    }
    for _ in range(2):
        yield Call("send_email", mail)
    yield from expert(task)


def played(
    policy: Policy, seed: int, pins: Mapping[str, object] | None = None, load: int = 1
) -> Episode:
    """Play one episode with facts pinned."""
    config = {f"instance.{name}": value for name, value in (pins or {}).items()}
    return env.run("crm/negotiation", seed=seed, load=load, policy=policy, config=config).episode


@pytest.mark.parametrize("seed", SEEDS)
def test_contracts_that_nobody_called_for_spoil_the_job(seed: int) -> None:
    pins = {"legal": "in_review", "champion": "stays"}
    assert played(champion_mails, seed, pins).reward == 0


@pytest.mark.parametrize(
    "act",
    [
        Call("create_quote", {"deal_id": "DEAL", "discount_pct": 15}),
        Call("log_activity", {"deal_id": "DEAL", "kind": "task", "subject": "x", "body": "y"}),
        Call("request_approval", {"deal_id": "DEAL", "discount_pct": 30}),
    ],
    ids=lambda call: call.tool,
)
def test_records_that_nobody_called_for_spoil_the_job(act: Call) -> None:
    pins = {"legal": "cleared", "discount": "free", "discount_pct": 5, "champion": "stays"}
    for seed in SEEDS:
        assert played(after(act), seed, {**pins, "budget": "stays"}).reward == 0


def test_asking_again_after_a_rejection_does_not_pay() -> None:
    pins = {"legal": "cleared", "discount": "over", "discount_pct": 30, "champion": "stays"}
    again = Call("request_approval", {"deal_id": "DEAL", "discount_pct": 30})
    for seed in SEEDS:
        facts = {"approval": "rejected", "approval_answer": "approved", "budget": "stays"}
        story = {**pins, **facts}
        episode = played(after(again, Call("wait", {"seconds": 200})), seed, story)
        assert episode.reward == 0
        assert played(expert, seed, story).reward == 1_000_000


def test_notes_and_next_steps_are_free() -> None:
    note = Call("add_note", {"deal_id": "DEAL", "body": "called them"})
    for seed in SEEDS:
        assert played(after(note), seed).reward == 1_000_000


def test_others_get_in_the_way_of_three_experts_in_ten_at_load_8() -> None:
    met = 0
    rows: Counter[str] = Counter()
    hits = reads = 0
    for seed in BUSY_SEEDS:
        episode = played(expert, seed, load=8)
        deal = f"deals:{episode.instance['deal']}"
        refused = any(
            not r.ok and r.value["code"] in ("conflict", "locked")
            for step in episode.steps
            for r in step.results
        )
        others = [
            change
            for change in episode.product.stores["deals"].table.history.get(
                int(deal.partition(":")[2]), ()
            )
            if change.owner.startswith("user/")
        ]
        met += refused or bool(others)
        assert episode.reward == 1_000_000
        for row in Decoder().decode_all(episode.world.rows):
            rows[row.kind] += 1
            if row.kind == "READ":
                reads += 1
                hits += row.values["source"] == "cache"
    assert met >= 0.3 * len(BUSY_SEEDS)
    assert hits >= 0.3 * reads
    assert rows["INVALIDATE"]
    assert rows["LOCK"]


def test_experts_take_many_roads_and_none_is_the_usual_one() -> None:
    shapes: Counter[tuple[tuple[str, str], ...]] = Counter()
    calls: list[int] = []
    for seed in range(120):
        episode = played(expert, seed)
        shape = tuple(
            (r.tool, "" if r.ok else r.value["code"]) for s in episode.steps for r in s.results
        )
        shapes[shape] += 1
        calls.append(len(episode.steps))
    assert len(shapes) >= 12
    assert shapes.most_common(1)[0][1] <= 0.3 * 120
    assert sorted(calls)[60] >= 6
