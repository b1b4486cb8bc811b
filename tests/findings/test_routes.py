"""H110, H111, H113, H114, H229 and A120 by way of replicas, indexes, feeds and exports.

Each defect is planted by knobs into a small product, beside a control that is clean.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simharness.blame.case import case_of
from simharness.env import make_plan, run
from simharness.episode.episode import Episode
from simharness.episode.play import drive
from simharness.findings.reads import mismatched_rows, missed_records, stale_reads
from simharness.kernel.calendar import parse_instant
from simharness.product.policy import Call
from simharness.units import SECOND
from tests.effort import times
from tests.findings.quay import LOADED, wandering

if TYPE_CHECKING:
    from simharness.blame.verdict import Verdict
    from simharness.findings.finding import Finding
    from simharness.product.policy import Policy, Task
    from tests.findings.quay import Play

DETAIL = {"boxes.detail.route": "replica", "boxes.replica.lag": "30min"}
SEARCH = {"boxes.search.route": "index", "boxes.search.index.lag": "30min"}
HYDRATED = {**SEARCH, "boxes.search.index.hydrate": "primary"}
FEED = {
    "boxes.feed.route": "replica",
    "boxes.feed.payload": "id",
    "boxes.replica.lag": "30min",
}
STATEMENT = {"boxes.export.stamp": "statement"}


def judged(policy: str, config: dict[str, Any], load: int = 0, seed: int = 1) -> Verdict:
    return run(LOADED, policy=policy, seed=seed, load=load, config=config).verdict


def harness(verdict: Verdict) -> list[Finding]:
    return [f for f in verdict.findings if f.code[0] in "HA"]


def codes(policy: str, config: dict[str, Any], load: int = 0) -> list[str]:
    return sorted({f.code for f in harness(judged(policy, config, load))})


# --- planted, and clean ---------------------------------------------------------------------------

PLANTED: list[tuple[str, dict[str, Any], str, str, str]] = [
    ("get", DETAIL, "H110", "replica:boxes", "replica"),
    ("search", SEARCH, "H110", "index:boxes.search", "index"),
    ("feed", FEED, "H110", "replica:boxes", "replica"),
    ("export", STATEMENT, "H229", "export:boxes", "primary"),
]


@pytest.mark.parametrize(("policy", "config", "code", "mechanism", "source"), PLANTED)
def test_a_planted_lag_or_gap_is_found_and_proved(
    policy: str, config: dict[str, Any], code: str, mechanism: str, source: str
) -> None:
    verdict = judged(policy, config)
    found = [f for f in verdict.findings if f.keys == ("boxes:1",)]
    assert {f.code for f in found} == {code}
    for finding in found:
        assert (finding.mechanism, finding.evidence["source"]) == (mechanism, source)
        assert (finding.evidence["served"], finding.evidence["true"]) == (1, 2)
        assert str(finding.effect) == "hindered"
    assert (str(verdict.kind), str(verdict.proof), verdict.primary) == ("harness", "closed", code)


@pytest.mark.parametrize("load", [0, 4])
@pytest.mark.parametrize("policy", ["get", "list", "search", "feed", "export", "both"])
def test_a_product_at_its_defaults_is_clean(policy: str, load: int) -> None:
    verdict = judged(policy, {}, load)
    assert harness(verdict) == []
    assert (str(verdict.kind), verdict.valid) == ("ok", True)


@pytest.mark.parametrize(
    ("policy", "config"),
    [
        ("get", {"boxes.detail.route": "sticky", "boxes.replica.lag": "1us"}),
        ("get", {**DETAIL, "boxes.replica.lag": "0s"}),
        ("search", {**SEARCH, "boxes.search.index.lag": "0s"}),
        ("feed", {**FEED, "boxes.feed.payload": "version"}),
        ("export", {"boxes.export.resolution": "1min"}),
    ],
)
def test_a_part_that_is_sound_as_it_is_set_is_clean(policy: str, config: dict[str, Any]) -> None:
    verdict = judged(policy, config)
    assert harness(verdict) == []
    assert str(verdict.kind) == "ok"


def test_views_that_read_different_places_disagree() -> None:
    both = [f for f in harness(judged("both", DETAIL)) if f.code == "H113"]
    (finding,) = both
    evidence = {"view": "boxes.detail", "other": "boxes.list", "served": 1, "true": 2}
    assert finding.evidence.items() >= evidence.items()
    assert (finding.keys, finding.mechanism) == (("boxes:1",), "replica:boxes")
    assert "H113" not in codes("get", DETAIL)
    assert "H113" not in codes("both", {**DETAIL, "boxes.list.route": "replica"})


def test_what_an_export_leaves_out_disagrees_with_no_other_view() -> None:
    def play(task: Task) -> Play:
        yield Call("export_boxes", {"since": task.brief["start"]})
        yield Call("wait", {"seconds": 90})
        told = yield Call("export_boxes", {"since": task.brief["start"]})
        cursor = max(row["updated_at"] for row in told.value["boxes"])
        yield Call("wait", {"seconds": 150})
        yield Call("export_boxes", {"since": cursor})
        yield Call("get_box", {"box_id": 1})

    verdict = run(LOADED, policy=play, seed=1, load=0, config=STATEMENT).verdict
    assert [f.code for f in harness(verdict)] == ["H229"]


# --- rows that a filter returns against its own predicate -----------------------------------------


def shutting(task: Task) -> Play:
    """Shut a box and look among the open ones, then read it by itself."""
    yield Call("search_boxes", {"status": "open"})
    yield Call("update_box", {"box_id": 3, "fields": {"status": "shut"}})
    yield Call("search_boxes", {"status": "open"})
    yield Call("get_box", {"box_id": 3})


def sent(policy: Policy, config: dict[str, Any], load: str = "0", seed: int = 1) -> Episode:
    episode = Episode(make_plan(LOADED, seed, load, config=config))
    drive(episode, policy)
    return episode


def test_a_row_that_no_longer_matches_is_h114_since_it_stopped() -> None:
    verdict = run(LOADED, policy=shutting, seed=1, load=0, config=HYDRATED).verdict
    (finding,) = harness(verdict)
    assert (finding.code, finding.keys, finding.step) == ("H114", ("boxes:3",), 3)
    assert finding.mechanism == "index:boxes.search"
    evidence = finding.evidence
    assert (evidence["served"], evidence["true"], evidence["source"]) == (2, 2, "index")
    episode = sent(shutting, HYDRATED)
    (change,) = episode.product.stores["boxes"].table.history[3]
    assert evidence["age"] == finding.t - change.t
    assert [b.key for b in episode.breaches] == [3]


def test_a_row_that_no_longer_matches_is_an_old_row_where_the_index_holds_it() -> None:
    found = harness(run(LOADED, policy=shutting, seed=1, load=0, config=SEARCH).verdict)
    assert [f.code for f in found] == ["H110", "H111", "H113"]
    assert harness(run(LOADED, policy=shutting, seed=1, load=0).verdict) == []


def test_a_row_may_fail_the_filter_for_as_long_as_the_contract_says() -> None:
    for staleness, found in (("1h", []), ("1ms", ["H114"])):
        config = {**HYDRATED, "boxes.search.staleness": staleness}
        verdict = run(LOADED, policy=shutting, seed=1, load=0, config=config).verdict
        assert [f.code for f in harness(verdict) if f.code[0] == "H"] == found


# --- a search that lags behind a create -----------------------------------------------------------


@pytest.mark.parametrize(("lag", "codes_"), [("1h", ["H110", "H111"]), ("0s", [])])
def test_an_index_that_lags_behind_a_create_misses_the_agents_own_row(
    lag: str, codes_: list[str]
) -> None:
    contact = {"email": "ann@example.test", "full_name": "Ann Example"}

    def play(task: Task) -> Play:
        yield Call("create_contact", contact)
        yield Call("search_contacts", {"email": contact["email"]})
        yield Call("create_contact", contact)

    config = {"contacts.search.route": "index", "contacts.search.index.lag": lag}
    episode = Episode(make_plan("crm/negotiation", 1, "0", profile="bare", config=config))
    drive(episode, play)
    created, searched, refused = (step.results[0] for step in episode.steps[:3])
    key = created.value["id"]
    assert searched.value["ids"] == ([] if codes_ else [key])
    assert refused.value["code"] == "conflict"
    found = list(stale_reads(case_of(episode).story))
    assert [f.code for f in found] == codes_
    for finding in found:
        evidence = {"view": "contacts.search", "key": f"contacts:{key}", "served": 0, "true": 1}
        assert finding.evidence.items() >= evidence.items()
        assert finding.mechanism == "index:contacts.search"


# --- missed records -------------------------------------------------------------------------------


@pytest.mark.parametrize(("given_", "found"), [({}, ["H229"]), ({"inclusive": True}, [])])
def test_a_strict_boundary_is_the_products_fault_unless_the_caller_asks(
    given_: dict[str, Any], found: list[str]
) -> None:
    def play(task: Task) -> Play:
        told = yield Call("update_box", {"box_id": 3, "fields": {"stock": 1}})
        yield Call("export_boxes", {"since": told.value["updated_at"], **given_})

    config = {"boxes.export.boundary": "strict"}
    verdict = run(LOADED, policy=play, seed=1, load=0, config=config).verdict
    assert [f.code for f in harness(verdict)] == found
    strict: dict[str, Any] = {"since": "1970-01-01T00:00:00Z", "inclusive": False}
    own = reading_once("export_boxes", strict)
    assert harness(run(LOADED, policy=own, seed=1, load=0).verdict) == []


def reading_once(tool: str, arguments: dict[str, Any]) -> Policy:
    def play(task: Task) -> Play:
        yield Call(tool, arguments)

    return play


def test_no_staleness_excuses_a_missed_record() -> None:
    config = {**STATEMENT, "boxes.export.staleness": "1h"}
    verdict = judged("export", config)
    (finding,) = harness(verdict)
    assert (finding.code, finding.keys) == ("H229", ("boxes:1",))


# --- allowed --------------------------------------------------------------------------------------

ALLOWED: list[tuple[str, str, dict[str, Any]]] = [
    ("get", "detail", DETAIL),
    ("search", "search", SEARCH),
    ("search", "search", HYDRATED),
    ("feed", "feed", FEED),
    ("export", "export", {"boxes.export.route": "replica", "boxes.replica.lag": "30min"}),
]


@pytest.mark.parametrize(("policy", "view", "config"), ALLOWED)
def test_lag_that_is_allowed_and_told_is_nobodys_fault(
    policy: str, view: str, config: dict[str, Any]
) -> None:
    bound: dict[str, Any] = {**config, f"boxes.{view}.staleness": "30min"}
    told = judged(policy, {**bound, f"boxes.{view}.signals": ["as_of"]}, 4)
    assert harness(told) == []
    assert told.valid
    silent = harness(judged(policy, bound, 4))
    if config is HYDRATED:
        return  # its rows are new: nothing is out of date but the answer to the question
    assert {f.code for f in silent} == {"A120"}
    assert any(f.keys == ("boxes:1",) for f in silent)


def test_an_answer_and_a_refusal_say_as_of_when_they_are_true() -> None:
    config = {**DETAIL, "boxes.detail.signals": ["as_of"], "boxes.replica.lag": "10s"}

    def play(task: Task) -> Play:
        yield Call("wait", {"seconds": 60})
        for box in (1, 99):
            yield Call("get_box", {"box_id": box})
        yield Call("list_boxes", {"status": "open"})

    episode = sent(play, config)
    answer, refusal = (step.results[0].value for step in episode.steps[1:3])
    for step, value in zip(episode.steps[1:3], (answer, refusal), strict=True):
        assert parse_instant(value["as_of"]) == episode.world.epoch + step.input.at - 10 * SECOND
    assert "as_of" not in episode.steps[3].results[0].value


# --- the live check and the audit -----------------------------------------------------------------


def told_by_rows(episode: Episode) -> set[tuple[int, int]]:
    story = case_of(episode).story
    found = [*stale_reads(story), *mismatched_rows(story), *missed_records(story)]
    return {(f.events[-1], int(f.keys[0].partition(":")[2])) for f in found}


def told_live(episode: Episode) -> set[tuple[int, int]]:
    return {(b.row, b.key) for b in episode.breaches}


VIEWS = ("detail", "list", "search", "feed", "export")
LAGS = ("0s", "3s", "1min", ["0s", "20s"])
CONFIG = st.fixed_dictionaries(
    {
        "boxes.replica.lag": st.sampled_from(LAGS),
        "boxes.list.index.lag": st.sampled_from(LAGS),
        "boxes.search.index.lag": st.sampled_from(LAGS),
        "boxes.search.index.hydrate": st.sampled_from(("index", "primary")),
        "boxes.list.route": st.sampled_from(("primary", "replica", "sticky", "index")),
        "boxes.search.route": st.sampled_from(("primary", "replica", "sticky", "index")),
        "boxes.list.cache.ttl": st.sampled_from(("0s", "20s")),
        "boxes.list.cache.refill": st.sampled_from(("primary", "replica")),
        "boxes.list.cache.scope": st.sampled_from(("query", "table", "row")),
        "boxes.detail.cache.ttl": st.sampled_from(("0s", "20s")),
        "boxes.detail.cache.refill": st.sampled_from(("primary", "replica")),
        "boxes.detail.cache.fence": st.booleans(),
        "boxes.feed.payload": st.sampled_from(("version", "id")),
        "boxes.feed.poll": st.sampled_from(("0s", "5s")),
        "boxes.export.boundary": st.sampled_from(("inclusive", "strict")),
        "boxes.export.stamp": st.sampled_from(("commit", "statement")),
        "boxes.export.resolution": st.sampled_from(("1us", "1s", "1min")),
        "db.latency": st.sampled_from(("0s", ["1ms", "2s"])),
        **{
            f"boxes.{view}.route": st.sampled_from(("primary", "replica", "sticky"))
            for view in ("detail", "feed", "export")
        },
        **{f"boxes.{view}.staleness": st.sampled_from(("0s", "5s")) for view in VIEWS},
        **{f"boxes.{view}.read_your_writes": st.booleans() for view in VIEWS},
    }
)


@settings(max_examples=times(15), deadline=None)
@given(CONFIG, st.integers(0, 2**32), st.sampled_from(("0", "2", "6")))
def test_rows_alone_tell_the_same_breaches_as_the_live_check(
    config: dict[str, Any], seed: int, load: str
) -> None:
    episode = sent(wandering(seed), config, load, seed)
    assert told_by_rows(episode) == told_live(episode)


def test_the_live_check_has_breaches_of_every_source_to_agree_on() -> None:
    configs: list[dict[str, Any]] = [
        {**DETAIL, "boxes.list.route": "replica"},
        SEARCH,
        HYDRATED,
        FEED,
        {"boxes.export.boundary": "strict", "boxes.export.resolution": "1min"},
    ]
    views: list[set[str]] = []
    for config in configs:
        views.append(set())
        for seed in range(6):
            episode = sent(wandering(seed), config, "6", seed)
            assert told_by_rows(episode) == told_live(episode)
            views[-1] |= {b.view for b in episode.breaches}
    assert views == [
        {"boxes.detail", "boxes.list"},
        {"boxes.search"},
        {"boxes.search"},
        {"boxes.feed"},
        {"boxes.export"},
    ]


@settings(max_examples=times(8), deadline=None)
@given(CONFIG, st.integers(0, 2**32))
def test_no_harness_finding_within_a_bound_that_covers_the_lag(
    config: dict[str, Any], seed: int
) -> None:
    told: dict[str, Any] = {
        key: value
        for key, value in config.items()
        if not key.endswith((".scope", ".boundary", ".stamp", ".fence", ".staleness", ".ttl"))
    }
    for view in VIEWS:
        told[f"boxes.{view}.staleness"] = "1min"
        told[f"boxes.{view}.read_your_writes"] = False
        told[f"boxes.{view}.signals"] = ["as_of"]
    verdict = run(LOADED, policy=wandering(seed), seed=seed, load=4, config=told).verdict
    assert harness(verdict) == []
