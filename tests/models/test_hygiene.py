"""crm/hygiene is a task: only the selected deals, set as asked, pay; others work on them too."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from simharness import env
from simharness.blame.case import story_of_episode
from simharness.findings.detect import harness_findings
from simharness.kernel.draws import Draws, Stream
from simharness.models.crm.policies.hygiene import expert, put_right
from simharness.models.crm.scenarios.hygiene import Hygiene, cast_of
from simharness.product.policy import Call
from simharness.product.scenario import Drawing
from simharness.validate.plays import taking_over

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping

    from simharness.episode.episode import Episode
    from simharness.models.crm.scenarios.hygiene import Cast
    from simharness.product.policy import Action, Observation, Policy, Task

FULL = 1_000_000
LEFT, VALUE, ELSE = "no selected deal is left", "set to what was asked", "nothing else"

QUIET: Mapping[str, object] = {
    "rule": "overdue",
    "scope": "book",
    "book": 2,
    "until": "monday",
    "exception": "inactive",
    "due": 3,
    "spared": 1,
    "first": 4,
    "gap": 1,
    "rival": "none",
    "newcomers": 0,
    "account_moves": "no",
}
OWNERLESS = {**QUIET, "rule": "ownerless", "scope": "stage", "stage": "proposal"}
MONDAY = "2026-03-09T00:00:00Z"
DONE = Call("finish", {"message": "x", "outcome": "done"})


def played(
    policy: Policy | str, seed: int = 1, pins: Mapping[str, object] | None = None, load: int = 1
) -> Episode:
    """Play one episode with parts of its instance pinned."""
    config = {f"instance.{name}": value for name, value in (pins or {}).items()}
    return env.run("crm/hygiene", seed=seed, load=load, policy=policy, config=config).episode


def parts(pins: Mapping[str, object]) -> Cast:
    """Give the parts of the deals of a pinned instance."""
    drawing = Drawing(Stream(Draws(1), "instance", 0), dict(pins))  # type: ignore[arg-type]
    Hygiene().draw(drawing)
    return cast_of(drawing.finish())


def setting(deal_id: int, **fields: object) -> Call:
    """Change fields of a deal."""
    return Call("update_deal", {"deal_id": deal_id, "fields": fields})


def acting(*acts: Call) -> Policy:
    """Do as it is written here, whatever comes back."""

    def play(task: Task) -> Generator[Action, Observation, None]:
        for act in (*acts, DONE):
            _ = yield act

    return play


def failing(episode: Episode) -> set[str]:
    """Name the criteria that don't hold."""
    return {c.name for c in episode.criteria if not c.holds}


@pytest.mark.parametrize("load", [1, 8])
def test_the_reference_gets_there_and_the_harness_is_sound(load: int) -> None:
    for seed in range(12 if load == 1 else 5):
        episode = played("expert", seed, load=load)
        assert episode.reward == FULL, (seed, episode.criteria)
        assert harness_findings(story_of_episode(episode)) == []


@pytest.mark.parametrize("policy", ["null", "refuse", "random", "spam", "nurture"])
def test_who_does_not_do_the_job_is_paid_nothing(policy: str) -> None:
    for seed in range(3):
        assert played(policy, seed).reward == 0
    assert played(policy, 0, load=8).reward == 0


def test_the_reference_takes_over() -> None:
    for seed in range(8):
        assert played(taking_over(expert), seed).reward == FULL


def test_what_is_asked_for_and_nothing_else_is_paid() -> None:
    due = parts(QUIET).due
    acts = [setting(key, close_on=MONDAY) for key in due]
    assert played(acting(*acts), pins=QUIET).reward == FULL
    assert failing(played(acting(*acts[1:]), pins=QUIET)) == {LEFT}
    note = Call("add_note", {"deal_id": due[0], "body": "moved"})
    assert played(acting(*acts, note, *acts), pins=QUIET).reward == FULL


@pytest.mark.parametrize("date", ["2026-03-16T00:00:00Z", "2026-03-09T09:00:00Z"])
def test_another_date_than_that_asked_for_is_wrong(date: str) -> None:
    due = parts(QUIET).due
    acts = [setting(key, close_on=MONDAY) for key in due[1:]]
    assert failing(played(acting(*acts, setting(due[0], close_on=date)), pins=QUIET)) == {VALUE}
    early = setting(due[0], close_on="2026-03-01T00:00:00Z")
    assert failing(played(acting(*acts, early), pins=QUIET)) == {LEFT, VALUE}


@pytest.mark.parametrize("part", ["spared", "elsewhere"])
@pytest.mark.parametrize("exception", ["inactive", "task"])
def test_deals_that_are_not_selected_are_not_to_be_touched(part: str, exception: str) -> None:
    pins = {**QUIET, "exception": exception}
    cast = parts(pins)
    acts = [setting(key, close_on=MONDAY) for key in (*cast.due, getattr(cast, part)[0])]
    assert failing(played(acting(*acts), pins=pins)) == {ELSE}


@pytest.mark.parametrize(
    "act",
    [
        setting(0, next_step="call back"),
        Call("log_activity", {"deal_id": 0, "kind": "task", "subject": "x", "body": "y"}),
        Call("create_deal", {"account_id": 1, "title": "x", "amount": 1, "currency": "USD"}),
        Call("update_account", {"account_id": 1, "fields": {"industry": "retail"}}),
    ],
    ids=lambda call: call.tool,
)
def test_other_writes_spoil_the_job(act: Call) -> None:
    due = parts(QUIET).due
    assert not isinstance(act.args, str)
    args = {**act.args, "deal_id": due[0]} if "deal_id" in act.args else act.args
    acts = [setting(key, close_on=MONDAY) for key in due]
    assert failing(played(acting(*acts, Call(act.tool, args)), pins=QUIET)) == {ELSE}


def test_what_its_owner_has_set_meanwhile_is_not_overwritten() -> None:
    for rule, pins in (("overdue", QUIET), ("ownerless", {**OWNERLESS, "heir": "rep", "rep": 5})):
        pinned = {**pins, "rival": "sets", "rival_at": 10}
        value: Any = {"close_on": MONDAY} if rule == "overdue" else {"owner_id": 5}
        due = parts(pinned).due
        acts = [setting(key, **value) for key in due]
        wait = Call("wait", {"seconds": 20})
        assert failing(played(acting(wait, *acts), pins=pinned)) == {ELSE}
        assert played(acting(wait, *acts[1:]), pins=pinned).reward == FULL
        assert played(expert, pins=pinned).reward == FULL


def test_a_deal_that_its_owner_has_closed_is_no_longer_selected() -> None:
    pinned = {**QUIET, "rival": "closes", "rival_at": 10}
    acts = [setting(key, close_on=MONDAY) for key in parts(pinned).due[1:]]
    assert played(acting(Call("wait", {"seconds": 20}), *acts), pins=pinned).reward == FULL


def test_newcomers_of_the_last_minute_may_be_left_and_others_not() -> None:
    pinned = {**QUIET, "newcomers": 1, "newcomer_at": 30}
    acts = [setting(key, close_on=MONDAY) for key in parts(pinned).due]
    assert played(acting(Call("wait", {"seconds": 40}), *acts), pins=pinned).reward == FULL
    late = acting(*acts, Call("wait", {"seconds": 120}))
    assert failing(played(late, pins=pinned)) == {LEFT}
    assert played(expert, pins=pinned).reward == FULL


def test_the_owner_of_the_account_counts_for_a_minute_after_another_came() -> None:
    pinned = {**OWNERLESS, "heir": "account", "account_moves": "yes", "account_moves_at": 40}

    def waiting(seconds: int) -> Policy:
        def play(task: Task) -> Generator[Action, Observation, None]:
            told = yield Call("list_deals", {"stage": "proposal"})
            rows = [row for row in told.value["deals"] if row["id"] in parts(pinned).due]
            owners: dict[int, int] = {}
            for row in rows:
                account = yield Call("get_account", {"account_id": row["account_id"]})
                owners[row["id"]] = account.value["owner_id"]
            yield Call("wait", {"seconds": seconds})
            for key, owner in owners.items():
                yield setting(key, owner_id=owner)
            yield DONE

        return play

    assert played(waiting(20), pins=pinned).reward == FULL
    assert failing(played(waiting(150), pins=pinned)) == {VALUE}
    assert played(expert, pins=pinned).reward == FULL


def test_a_deal_without_an_owner_breaks_nothing_until_it_had_one() -> None:
    episode = played(acting(), pins=OWNERLESS)
    assert episode.product.invariants() == []
    due = parts(OWNERLESS).due
    owned = played(acting(setting(due[0], owner_id=3)), pins=OWNERLESS)
    table = owned.product.stores["deals"].table
    row = table.rows[due[0]]
    table.rows[due[0]] = table.row_type.evolve(row, {"owner_id": None})
    assert [text for text in owned.product.invariants() if f"deals:{due[0]} " in text]


@pytest.mark.parametrize("refusal", ["conflict", "locked", "unavailable", "unknown_outcome"])
def test_the_reference_looks_again_after_a_refusal(refusal: str) -> None:
    from simharness.product.policy import Observation

    def told(**result: object) -> Observation:
        return Observation(t="", episode_id="", results=(result,))

    brief = {"rule": "overdue", "scope": "all", "until": "monday"}
    deal = {
        "id": 7,
        "version": 3,
        "stage": "proposal",
        "owner_id": 1,
        "close_on": "2026-02-01T00:00:00Z",
    }
    play = put_right(brief, deal)
    write = next(play)
    assert isinstance(write, Call)
    assert isinstance(write.args, dict)
    assert (write.tool, write.args["if_version"]) == ("update_deal", 3)
    action = play.send(told(error={"code": refusal}))
    if refusal != "conflict":
        assert isinstance(action, Call)
        assert action.tool == "wait"
        action = play.send(told(value={"waited": 5}))
    assert action == Call("get_deal", {"deal_id": 7})
    again = play.send(told(value={**deal, "version": 4}))
    assert isinstance(again, Call)
    assert isinstance(again.args, dict)
    assert again.args["if_version"] == 4
