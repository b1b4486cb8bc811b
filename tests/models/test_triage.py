"""helpdesk/triage is a task: tickets by the rules pay, and originals that don't stand still."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from simharness.kernel.draws import Draws, Stream
from simharness.models.helpdesk.base import TICKETS
from simharness.models.helpdesk.policies.triage import expert
from simharness.models.helpdesk.routing import (
    SUBJECTS,
    WORDS,
    Place,
    Routing,
    draw_routing,
    read_routing,
    routing_of,
    texts,
)
from simharness.models.helpdesk.scenarios.queue import STATES
from simharness.product.policy import Call
from simharness.product.scenario import Drawing
from tests.models.playing import DONE, acting, failing, play

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping

    from simharness.episode.episode import Episode
    from simharness.product.policy import Action, Observation, Policy, Task

FULL = 1_000_000
PLACED = "new tickets are where the rules put them"
MERGED = "duplicates are merged into the live original"
UNDONE, ELSE, TOLD = "nobody's edit undone", "nothing else", "told"

FIRST, AGAIN, ORIGINAL, OLD = (f"TK-{TICKETS + k}" for k in range(1, 5))
"""A new ticket, another one about the same, and a new one whose original there is."""
QUIET: Mapping[str, object] = {
    "shift": 0,
    "agent": "4",
    "customers": 2,
    "tickets": 3,
    "customer_0": 0,
    "kind_0": "fresh",
    "matter_0": 0,
    "kind_1": "again",
    "customer_2": 1,
    "kind_2": "old",
    "matter_2": 1,
    "state_2": "open",
    "access_agent": 0,
    "access_priority": "high",
    "access_status": "on_hold",
    "exception": "none",
    "live": "unclosed",
    "until": 50,
    "event_0": "none",
    "event_1": "none",
    "event_2": "none",
}
BARE = {**QUIET, "until": 110}


def played(
    policy: Policy | str, pins: Mapping[str, object] = QUIET, seed: int = 1, load: int = 0
) -> Episode:
    return play("helpdesk/triage", policy, seed, pins, load)


def then(*acts: Call) -> Policy:
    """Do the job, something else, and finish."""

    def policy(task: Task) -> Generator[Action, Observation, None]:
        job = expert(task)
        action: Any = next(job)
        while action.tool != "finish":
            action = job.send((yield action))
        for act in acts:
            _ = yield act
        yield DONE

    return policy


def update(ticket_id: str, **fields: object) -> Call:
    return Call("update_ticket", {"ticket_id": ticket_id, "fields": fields})


def merge(source_id: str, target_id: str) -> Call:
    return Call("merge_tickets", {"source_id": source_id, "target_id": target_id})


def into(episode: Episode, ticket_id: str) -> int | None:
    key = int(ticket_id.partition("-")[2])
    target: int | None = episode.product.stores["tickets"].table.rows[key].merged_into
    return target


# --- the reference --------------------------------------------------------------------------------


@pytest.mark.parametrize("live", ["unclosed", "unsolved"])
@pytest.mark.parametrize("state", STATES)
def test_a_duplicate_goes_into_whichever_original_is_live(state: str, live: str) -> None:
    episode = played(expert, {**QUIET, "state_2": state, "live": live})
    assert episode.reward == FULL, failing(episode)
    assert into(episode, AGAIN) == TICKETS + 1
    ended = state == "closed" or (state == "solved" and live == "unsolved")
    if state == "merged":  # what it was merged into was there before
        assert into(episode, f"TK-{TICKETS + 5}") == TICKETS + 3
    else:
        assert into(episode, OLD) == (None if ended else TICKETS + 3)


@pytest.mark.parametrize("seconds", [4, 9, 12, 15, 20, 30])
@pytest.mark.parametrize("event", ["claims", "raises", "merges", "closes", "solves"])
def test_the_reference_copes_with_colleagues(event: str, seconds: int) -> None:
    pins = {**QUIET, "event_0": event, "seconds_0": seconds, "about_0": 2, "live": "unsolved"}
    episode = played(expert, pins)
    assert episode.reward == FULL, failing(episode)


def test_an_original_that_its_customer_opens_again_is_live() -> None:
    pins = {**QUIET, "state_2": "solved", "live": "unsolved"}
    writes = {"event_0": "writes", "seconds_0": 15, "about_0": 2}
    assert into(played(expert, pins), OLD) is None
    episode = played(expert, {**pins, **writes})
    assert (episode.reward, into(episode, OLD)) == (FULL, TICKETS + 3)


@pytest.mark.parametrize(("mail", "new"), [("same", 1), ("other", 1)])
def test_what_comes_in_time_is_seen_to(mail: str, new: int) -> None:
    pins = {**QUIET, "event_0": "mails", "seconds_0": 40, "about_0": 2, "mail_0": mail}
    episode = played(expert, pins)
    assert episode.reward == FULL, failing(episode)
    table = episode.product.stores["tickets"].table
    mails = [c for c in table.changes if c.old is None]
    assert len(mails) == new
    assert (table.rows[mails[0].key].merged_into is not None) == (mail == "same")
    assert PLACED in failing(played(acting(DONE), pins))


# --- what is not paid -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("policy", "broken"),
    [
        (then(), set[str]()),
        (then(update(FIRST, priority="low")), {PLACED}),
        (then(update(FIRST, tags=["x"])), {PLACED}),
        (then(update(FIRST, tags=["login", "account"])), {PLACED}),
        (then(update(FIRST, assignee_id=3)), {PLACED}),
        (then(Call("set_status", {"ticket_id": FIRST, "status": "open"})), {PLACED}),
        (then(Call("set_status", {"ticket_id": ORIGINAL, "status": "pending"})), {ELSE}),
        (then(update("TK-1", priority="urgent")), {ELSE}),
        (then(Call("reply", {"ticket_id": FIRST, "body": "x", "public": False})), {ELSE}),
        (acting(update(FIRST, priority="high"), DONE), {PLACED}),
        (acting(merge(FIRST, AGAIN), last=expert), {MERGED}),
        (acting(Call("finish", {"message": "x", "outcome": "refused"})), {PLACED, TOLD}),
    ],
)
def test_each_criterion_fails_by_what_breaks_it(policy: Policy, broken: set[str]) -> None:
    assert failing(played(policy, BARE)) == broken


def test_a_duplicate_that_is_placed_and_a_ticket_that_is_merged_are_wrong() -> None:
    assert failing(played("lazy")) == {PLACED}
    other = {**QUIET, "customer_2": 0}
    assert failing(played(acting(merge(OLD, FIRST), last=expert), other)) == {MERGED}


def test_what_a_colleague_has_set_stays() -> None:
    raised = {**QUIET, "event_0": "raises", "seconds_0": 4, "about_0": 0}
    careless = acting(Call("wait", {"seconds": 8}), update(FIRST, priority="high"), last=expert)
    assert failing(played(careless, raised)) == {UNDONE}
    claimed = {**QUIET, "event_0": "claims", "seconds_0": 4, "about_0": 2}
    late = acting(Call("wait", {"seconds": 8}), update(OLD, assignee_id=3), last=expert)
    assert failing(played(late, claimed)) == {UNDONE, ELSE}


def test_nobodys_tag_is_dropped() -> None:
    def policy(task: Task) -> Generator[Action, Observation, None]:
        """Wait until somebody has left a tag on a ticket, and write over it."""
        yield from acting(last=None)(task)
        row: dict[str, Any] = {"tags": []}
        for ticket_id in (FIRST, AGAIN, OLD) * 12:
            told = yield Call("get_ticket", {"ticket_id": ticket_id})
            row = told.value
            if row["tags"]:
                break
            yield Call("wait", {"seconds": 5})
        yield update(row["id"], tags=["mine"])
        yield from expert(task)

    assert UNDONE in failing(played(policy, {**QUIET, "until": 110}, load=8))


def test_a_merge_that_rests_on_an_older_version_is_refused() -> None:
    told: list[str] = []

    def policy(task: Task) -> Generator[Action, Observation, None]:
        for version in (7, 1):
            args = {"source_id": AGAIN, "target_id": FIRST, "if_version": version}
            told.append((yield Call("merge_tickets", args)).error)
        yield from expert(task)

    assert played(policy).reward == FULL
    assert told == ["conflict", ""]


# --- the rules ------------------------------------------------------------------------------------


def drawn(seed: int) -> Routing:
    drawing = Drawing(Stream(Draws(seed), "instance", 0), {})
    drawing.pick("agent", ("4",))
    draw_routing(drawing)
    return routing_of(drawing.finish())


@pytest.mark.parametrize("seed", range(12))
def test_the_rules_are_what_their_texts_say(seed: int) -> None:
    rules = drawn(seed)
    assert read_routing([{"title": t, "body": b} for t, b in texts(rules)]) == rules


def test_each_text_has_the_words_of_its_matter_alone() -> None:
    rules = drawn(1)
    for matter, written in SUBJECTS.items():
        for subject, body in written:
            said = f"{subject} {body}".lower()
            assert [m for m, words in WORDS.items() if any(w in said for w in words)] == [matter]
            assert rules.matter(subject, body) == matter


@pytest.mark.parametrize(
    ("exception", "facts", "changed"),
    [
        ("none", {"written": 5, "active": False}, {}),
        ("currency", {"currency": "JPY"}, {"priority": "urgent"}),
        ("currency", {"currency": "USD"}, {}),
        ("twice", {"written": 2}, {"priority": "urgent"}),
        ("twice", {"written": 1}, {}),
        ("away", {"active": False}, {"agent": 7}),
        ("away", {"active": True}, {}),
    ],
)
def test_an_exception_changes_what_goes_to_an_agent(
    exception: str, facts: dict[str, Any], changed: dict[str, Any]
) -> None:
    usual, spam = Place("low", "open", "x", 3), Place("low", "closed", "ads", 0)
    places = {"access": (WORDS["access"], usual), "advertising": (WORDS["advertising"], spam)}
    rules = Routing(places=places, live="unclosed", exception=exception, currency="JPY", deputy=7)
    given: dict[str, Any] = {"currency": "USD", "written": 1, "active": True, **facts}
    assert rules.place("access", **given) == usual._replace(**changed)
    assert rules.place("advertising", **given) == spam
