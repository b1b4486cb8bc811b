"""crm/dedupe is a task: only the right merges pay, and only reading tells which those are."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from simharness.blame.case import story_of_episode
from simharness.findings.detect import harness_findings
from simharness.kernel.draws import Draws, Stream
from simharness.models.crm.base import CONTACTS_EACH, base_rows
from simharness.models.crm.names import parts_of, renaming, same_name, same_role
from simharness.models.crm.policies.asking import read
from simharness.models.crm.policies.dedupe import Clerk, expert
from simharness.models.crm.scenarios.dedupe import KEEP, Dedupe
from simharness.models.crm.scenarios.duplicates import FIRST_NEW, LIKES, entries
from simharness.product.policy import Call, Task
from simharness.product.scenario import Drawing
from tests.effort import times
from tests.models.playing import DONE, acting, failing, impossible, play, roads

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping

    from simharness.episode.episode import Episode
    from simharness.product.policy import Action, Observation, Policy

SEEDS = range(30)
BUSY_SEEDS = range(100, 110)

QUIET: Mapping[str, object] = {
    "account": 9,
    "original": "active",
    "import": "nothing",
    "colleague": "nothing",
    "until": 70,
}
FIRST = (9 - 1) * CONTACTS_EACH + 1
"""The first contact of account 9."""
ONE: Mapping[str, object] = {
    **QUIET,
    "duplicates": "1",
    "person_1": 0,
    "kind_1": "address",
    "age_1": "younger",
    "status_1": "active",
    "rule": "oldest",
    "likes": "1",
    "like_1": "junior",
    "like_person_1": 1,
}
"""Contact FIRST_NEW is FIRST's duplicate, FIRST_NEW + 1 has the name of FIRST + 1."""
MIRROR: Mapping[str, object] = {**ONE, "duplicates": "0"}
"""Nobody is there twice; FIRST_NEW has the name of FIRST + 1."""

MERGE = Call("merge_contacts", {"source_id": FIRST_NEW, "target_id": FIRST})


def played(
    policy: Policy | str, seed: int, pins: Mapping[str, object] | None = None, load: int = 1
) -> Episode:
    """Play one episode with parts of its instance pinned."""
    return play("crm/dedupe", policy, seed, pins, load)


def hasty(task: Task) -> Generator[Action, Observation, None]:
    """Merge who has one name, as the first search shows it, into the lowest id, and leave."""
    account = yield from read("get_account", account_id=task.brief["account_id"])
    found = yield from read("search_contacts", text=f"@{account['domain']}")
    first: dict[tuple[str, str], int] = {}
    for row in found["contacts"]:
        target = first.setdefault(parts_of(row["full_name"]), row["id"])
        if target != row["id"]:
            yield Call("merge_contacts", {"source_id": row["id"], "target_id": target})
    yield Call("finish", {"message": "The duplicates are merged.", "outcome": "done"})


# --- the reference --------------------------------------------------------------------------------


def test_the_expert_merges_by_the_rules_on_many_roads() -> None:
    shapes = roads("crm/dedupe", SEEDS, load=1)
    assert len(shapes) >= 12
    assert shapes.most_common(1)[0][1] <= 0.3 * len(SEEDS)
    assert sorted(map(len, shapes.elements()))[len(SEEDS) // 2] >= 6


def test_a_crowd_gets_in_the_way_and_the_expert_copes() -> None:
    met = 0
    kinds: Counter[str] = Counter()
    for seed in BUSY_SEEDS:
        episode = played("expert", seed, load=8)
        assert episode.reward == 1_000_000, (seed, failing(episode))
        story = story_of_episode(episode)
        assert not [f for f in harness_findings(story) if f.code.startswith("H")]
        waited = any(row.values["owner"] == "agent" for row in story.of("LOCKWAIT"))
        history = episode.product.stores["contacts"].table.history
        changed = any(
            change.owner != "agent"
            for c in episode.criteria
            for key in c.keys
            if key.startswith("contacts:")
            for change in history.get(int(key.partition(":")[2].partition(".")[0]), ())
        )
        met += waited or changed
        kinds.update(kind for kind in ("INVALIDATE", "LOCKWAIT") for _ in story.of(kind))
        kinds.update(row.values["source"] for row in story.of("READ", "LIST"))
    assert met >= 0.3 * len(BUSY_SEEDS)
    reads = kinds["cache"] + kinds["primary"] + kinds["replica"] + kinds["index"]
    assert kinds["cache"] >= 0.3 * reads
    assert all(kinds[kind] for kind in ("INVALIDATE", "LOCKWAIT", "replica", "index"))


@pytest.mark.parametrize("name", ["null", "refuse", "random", "spam", "nurture"])
def test_whoever_does_something_else_gets_nothing(name: str) -> None:
    for seed in range(5):
        assert played(name, seed).reward == 0


def test_whoever_trusts_the_first_search_seldom_gets_anything() -> None:
    assert sum(played(hasty, seed).reward == 1_000_000 for seed in SEEDS) <= 0.1 * len(SEEDS)


@pytest.mark.parametrize("seed", range(4))
def test_the_expert_takes_over_what_others_began(seed: int) -> None:
    policy = acting(
        Call("search_contacts", {"text": "ann"}),
        Call("add_note", {"deal_id": 85, "body": "looking for duplicates"}),
        Call("get_contact", {"contact_id": FIRST_NEW}),
        Call("wait", {"seconds": 9}),
        last=expert,
    )
    assert played(policy, seed).reward == 1_000_000


@pytest.mark.parametrize("colleague", ["merges", "creates", "promotes", "bounces"])
@pytest.mark.parametrize("rule", sorted(KEEP))
def test_the_expert_copes_with_each_colleague(colleague: str, rule: str) -> None:
    pins = {"colleague": colleague, "rule": rule, "import": "duplicate", "duplicates": "3"}
    assert played("expert", 7, pins).reward == 1_000_000


# --- mirrors --------------------------------------------------------------------------------------


def test_one_prompt_asks_for_merges_or_for_saying_that_there_are_none() -> None:
    twice, mirror = played("expert", 1, ONE), played("expert", 1, MIRROR)
    assert twice.prompt == mirror.prompt
    outcomes = ['"impossible"' in e.steps[-1].input.calls[0].arguments for e in (twice, mirror)]
    assert outcomes == [False, True]
    assert twice.reward == mirror.reward == 1_000_000


@pytest.mark.parametrize("like", LIKES)
def test_look_alikes_are_named_and_not_merged(like: str) -> None:
    pins = {**MIRROR, "like_1": like}
    ours = [f"contacts:{FIRST + 1}"]
    ours += [f"contacts:{FIRST_NEW}"] if like in ("junior", "mailbox") else []
    assert played("expert", 2, pins).reward == 1_000_000
    assert played(acting(impossible(*ours)), 2, pins).reward == 1_000_000
    assert failing(played(acting(impossible()), 2, pins)) == {"told"}
    assert failing(played(acting(impossible(*ours, f"contacts:{FIRST}")), 2, pins)) == {"told"}
    assert failing(played(acting(DONE), 2, pins)) == {"told"}


def test_saying_so_is_wrong_where_somebody_is_twice() -> None:
    lazy = acting(impossible(f"contacts:{FIRST + 1}", f"contacts:{FIRST_NEW + 1}"))
    assert failing(played(lazy, 1, ONE)) == {"one contact a person", "told"}


# --- criteria, one by one -------------------------------------------------------------------------


def test_the_right_merge_is_enough() -> None:
    assert not failing(played(acting(MERGE, DONE), 1, ONE))


def test_a_wrong_merge_spoils_the_job() -> None:
    wrong = Call("merge_contacts", {"source_id": FIRST_NEW + 1, "target_id": FIRST + 1})
    episode = played(acting(MERGE, wrong, DONE), 1, ONE)
    assert "one contact a person" in failing(episode)


def test_a_merge_into_somebody_else_takes_the_mails_there() -> None:
    astray = Call("merge_contacts", {"source_id": FIRST_NEW, "target_id": FIRST + 2})
    assert failing(played(acting(astray, DONE), 1, ONE)) == {"everything followed"}


@pytest.mark.parametrize(
    ("pins", "stays"),
    [
        ({"rule": "oldest", "age_1": "younger"}, FIRST),
        ({"rule": "oldest", "age_1": "older"}, FIRST_NEW),
        ({"rule": "newest", "age_1": "younger"}, FIRST_NEW),
        ({"rule": "newest", "age_1": "older"}, FIRST),
        ({"rule": "champion", "champion": "duplicate"}, FIRST_NEW),
        ({"rule": "reachable", "status_1": "bounced", "age_1": "older"}, FIRST),
        ({"rule": "reachable", "original": "bounced"}, FIRST_NEW),
        ({"rule": "oldest", "age_1": "older", "kind_1": "orphan"}, FIRST),
    ],
)
def test_the_rule_says_who_stays(pins: Mapping[str, object], stays: int) -> None:
    goes = FIRST + FIRST_NEW - stays
    right = Call("merge_contacts", {"source_id": goes, "target_id": stays})
    wrong = Call("merge_contacts", {"source_id": stays, "target_id": goes})
    story = {**ONE, **pins}
    assert not failing(played(acting(right, DONE), 1, story))
    episode = played(acting(wrong, DONE), 1, story)
    if pins.get("kind_1") == "orphan":  # a contact without an account can't take another in
        assert failing(episode) == {"one contact a person"}
    else:
        assert failing(episode) == {"kept by the rule"}


def test_a_choice_that_was_right_a_moment_ago_is_right() -> None:
    # The duplicate's mail bounces while the agent thinks: it may be kept, and it may be given up.
    pins = {**ONE, "rule": "reachable", "age_1": "older", "direction": "wrong"}
    pins |= {"colleague": "bounces", "colleague_after": 20}
    pause = Call("wait", {"seconds": 25})
    kept = Call("merge_contacts", {"source_id": FIRST, "target_id": FIRST_NEW})
    for merge in (MERGE, kept):
        assert not failing(played(acting(pause, merge, DONE), 1, pins))
    late = Call("wait", {"seconds": 120})
    assert failing(played(acting(late, kept, DONE), 1, pins)) == {"kept by the rule"}


def test_what_comes_in_before_the_deadline_counts() -> None:
    pins = {**ONE, "import": "duplicate", "import_person": 2, "import_after": 60}
    assert failing(played(acting(MERGE, DONE), 1, pins)) == {"one contact a person"}
    wait = Call("wait", {"seconds": 70})
    late = played(acting(MERGE, wait, DONE), 1, pins)
    assert failing(late) == {"one contact a person"}
    assert "are one person" in late.criteria[0].evidence
    assert played("expert", 1, pins).reward == 1_000_000


def test_merging_and_then_giving_up_is_not_done() -> None:
    handed_over = Call("finish", {"message": "x", "outcome": "handed_over"})
    assert failing(played(acting(MERGE, handed_over), 1, ONE)) == {"told"}


@pytest.mark.parametrize(
    "act",
    [
        Call("update_contact", {"contact_id": FIRST, "fields": {"role": "boss"}}),
        Call("update_deal", {"deal_id": 85, "fields": {"next_step": "wait"}}),
        Call("create_contact", {"email": "a@b.example", "full_name": "A B"}),
        Call(
            "send_email",
            {"contact_id": FIRST, "template": "custom", "subject": "x", "body": "y"},
        ),
        Call("log_activity", {"deal_id": 85, "kind": "task", "subject": "x", "body": "y"}),
    ],
    ids=lambda call: call.tool,
)
def test_other_writes_spoil_the_job(act: Call) -> None:
    assert failing(played(acting(act, MERGE, DONE), 1, ONE)) == {"nothing else"}


def test_merges_at_other_accounts_spoil_the_job() -> None:
    other = Call("merge_contacts", {"source_id": 2, "target_id": 1})
    assert "nothing else" in failing(played(acting(MERGE, other, DONE), 1, ONE))


def test_notes_and_reads_are_free() -> None:
    note = Call("add_note", {"deal_id": 3, "body": "two of them are one"})
    reads = Call("pipeline_summary"), Call("list_deals")
    assert not failing(played(acting(note, *reads, MERGE, DONE), 1, ONE))


# --- the rules ------------------------------------------------------------------------------------


def test_the_house_rules_tell_the_persons_of_every_instance_apart() -> None:
    """Whoever reads all rows and the prompt finds the persons that the goal goes by."""
    contacts: list[Any] = list(base_rows()["contacts"])
    for seed in range(times(150)):
        drawing = Drawing(Stream(Draws(seed), "instance", 0), {})
        Dedupe().draw(drawing)
        story: Any = drawing.finish()
        first = (story["account"] - 1) * CONTACTS_EACH
        originals = contacts[first : first + CONTACTS_EACH]
        new = entries(story, originals)
        emails = [row.email for row in contacts] + [entry.email for entry in new]
        assert len(set(emails)) == len(emails)
        task = Task("", (), Dedupe().brief(story), lambda step: Stream(Draws(0), "x", step))
        clerk = Clerk(task)
        clerk.domain = originals[0].email.partition("@")[2]
        clerk.aliases = [(e.renamed, e.full_name) for e in new if e.renamed]
        persons = {row.id: k for k, row in enumerate(originals)}
        for row in contacts:
            clerk.known[row.id] = shown(row.id, row)
        for k, entry in enumerate(new):
            persons[FIRST_NEW + k] = entry.person
            clerk.known[FIRST_NEW + k] = shown(FIRST_NEW + k, entry)
        found = {frozenset(row["id"] for row in group) for group in clerk.groups()}
        true = {
            frozenset(key for key in persons if persons[key] == person)
            for person in persons.values()
        }
        assert found == {group for group in true if len(group) > 1}, seed


def shown(key: int, row: Any) -> dict[str, Any]:
    """Show a row as an answer does."""
    columns = ("account_id", "full_name", "email", "role", "status")
    return {"id": key, **{column: getattr(row, column) for column in columns}}


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("Ada Abel", "ada abel", True),
        ("Ada Abel", "Abel, Ada", True),
        ("Ada Abel", "A. Abel", True),
        ("Ada Abel", "Adelaide Abel", True),
        ("L. Abel", "Helena Abel", True),
        ("Ada Abel", "Ada Brandt", False),
        ("Ada Abel", "Ben Abel", False),
        ("B. Abel", "Ada Abel", False),
        ("Ada Abel", "A Abel", False),
        ("Abel", "Ada Abel", False),
    ],
)
def test_names_agree_as_the_prompt_says(one: str, other: str, same: bool) -> None:
    assert same_name(one, other) is same_name(other, one) is same


def test_roles_agree_when_equal_or_unknown() -> None:
    assert same_role("buyer", "buyer")
    assert same_role("buyer", "")
    assert not same_role("buyer", "finance")
    assert not same_role("shared mailbox", "")


def test_notes_of_new_names_are_told_from_others() -> None:
    assert renaming("Ada Abel is now called Ada Young.") == ("Ada Abel", "Ada Young")
    assert renaming("Ada Abel now has the desk of Ben Young.") is None
