"""Every value of every knob of the CRM changes what happens, with the findings declared for it."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from simharness.api import MS, Call, Draws, Stream
from simharness.blame.case import story_of_episode
from simharness.env import make_plan
from simharness.episode.episode import Episode
from simharness.episode.play import perform
from simharness.findings.detect import harness_findings
from simharness.kernel.journal import Decoder
from simharness.models.crm import Crm
from tests.models import knob_lab
from tests.models.knob_lab import AGAIN_AT, END_AT, MISSING_AT, OWN_AT, PROBES, READS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

SCRIPT = f"{Path(knob_lab.__file__).resolve()}:Lab/script"
PAIRS = 500

Config = dict[str, Any]


class Case(NamedTuple):
    """One value of a knob, what it takes to be felt, and what is found then."""

    key: str
    value: object
    view: str
    given: Config
    """Other knobs, without which this one decides nothing."""
    rival: str
    before: frozenset[str]
    """Codes with the default value and the other knobs."""
    after: frozenset[str]
    """Codes with the value."""
    token: bool = False
    """Whether the agent's writes name the version that it read."""

    def __str__(self) -> str:
        return f"{self.key}={self.value}"


class Played(NamedTuple):
    """What came of the script."""

    rows: list[tuple[str, int, dict[str, Any]]]
    told: list[tuple[bool, Any]]
    reward: int | None
    codes: frozenset[str]


def play(view: str, config: Mapping[str, Any], rival: str, *, token: bool = False) -> Played:
    """Go through the script: ten reads, two writes, two looks for what isn't there, the end."""
    probe = PROBES[view]
    pins = {"instance.probe": view, "instance.rival": rival}
    episode = Episode(make_plan(SCRIPT, seed=1, load=0, config={**config, **pins}))
    acts = [(at, probe.read) for at in READS]
    if probe.missing is not None:
        acts += [(MISSING_AT, probe.missing), (70.0, probe.missing)]
    tool, arguments = probe.own
    own = tool, {**arguments, "if_version": 1} if token else arguments
    acts += [(OWN_AT, own)]
    if rival == "calls":
        acts += [(AGAIN_AT, probe.own)]
    acts += [(END_AT, ("finish", {"message": "over"}))]
    for at, (name, args) in sorted(acts, key=lambda timed: timed[0]):
        if not episode.ended:
            perform(episode, Call(name, args), at=max(int(at * 1_000) * MS, episode.world.ticks))
    rows = [
        (row.kind, row.t, row.values)
        for row in Decoder().decode_all(episode.world.rows)
        if row.kind != "STR"
    ]
    told = [(result.ok, result.value) for step in episode.steps for result in step.results]
    findings = harness_findings(story_of_episode(episode))
    return Played(rows, told, episode.reward, frozenset(f.code for f in findings))


# --- what each knob does --------------------------------------------------------------------------

SLOW: Config = {"db.latency": "1s"}
LAG = "8s"

NONE: frozenset[str] = frozenset()
STALE = frozenset({"H110"})
OWN = frozenset({"H111"})
LOST = frozenset({"H112"})


def own_is_read(view: str) -> frozenset[str]:
    """Give the code of an own write that isn't seen; requests of approval make other rows."""
    return NONE if view == "approvals.detail" else OWN


def cache_cases(view: str) -> Iterable[Case]:
    """What a cache does."""
    cache, table = f"{view}.cache", view.partition(".")[0]
    ttl = {f"{cache}.ttl": "60s"}
    own = own_is_read(view)

    def case(
        name: str,
        value: object,
        given: Config,
        after: frozenset[str] = NONE,
        before: frozenset[str] = NONE,
    ) -> Case:
        return Case(f"{cache}.{name}", value, view, given, "open", before, after)

    statement = NONE if view == "activities.list" else STALE  # whose notes are never left open
    late = {f"{cache}.ttl": "5s", "put.latency": "3s", "db.latency": "100ms"}
    yield case("ttl", "60s", {})
    yield case("expire", "after_access", {f"{cache}.ttl": "12s"})
    yield case("invalidate", "async", ttl)
    yield case("invalidate", "on_statement", ttl, statement)
    yield case("invalidate", "never", ttl, LOST | own)
    yield case("invalidate_delay", "20s", ttl, LOST | own)
    yield case("invalidate_rate", "1/min", ttl, LOST | own)
    slow = {**ttl, f"{cache}.invalidate_rate": "1/min"}
    yield case("invalidate_queue", 1, slow, LOST | own, LOST | own)
    yield case("fence", False, late, STALE)
    # Permissions are read by every call, the last long after the entry should have ended.
    outlived = frozenset({"H315"}) if view == "users.auth" else NONE
    yield case("granularity", "1min", {f"{cache}.ttl": "12s"}, outlived)
    yield case("refill", "replica", {**ttl, f"{table}.replica.lag": LAG}, STALE | own)
    yield case("scope", "table", ttl)
    if view.endswith((".list", ".search")):
        yield case("scope", "row", ttl, STALE | (OWN if view == "activities.list" else NONE))
    else:
        yield case("negative_ttl", "60s", {})
        yield case("shared_in_tx", True, ttl, frozenset({"H230"}))


def view_cases(view: str) -> Iterable[Case]:
    """What routes and contracts do."""
    table, _, kind = view.partition(".")
    own = own_is_read(view)
    lag: Config = {f"{table}.replica.lag": LAG}
    if kind == "feed":
        lag[f"{view}.payload"] = "id"
    behind = {**lag, f"{view}.route": "replica"}

    def case(
        key: str,
        value: object,
        given: Config,
        after: frozenset[str] = NONE,
        before: frozenset[str] = NONE,
    ) -> Case:
        return Case(key, value, view, given, "open", before, after)

    yield case(f"{view}.route", "replica", lag, STALE | own)
    yield case(f"{view}.route", "sticky", lag, STALE)
    unlagged = {key: value for key, value in behind.items() if value != LAG}
    yield case(f"{table}.replica.lag", LAG, unlagged, STALE | own)
    silent = frozenset({"A120"})
    yield case(f"{view}.staleness", "10s", behind, silent | own, STALE | own)
    yield case(f"{view}.read_your_writes", False, behind, STALE, STALE | own)
    yield case(f"{view}.signals", ["as_of"], {})
    yield case(f"{view}.signals", ["version"], {})
    if kind in ("list", "search"):
        index = {f"{view}.index.lag": LAG}
        by_index = {f"{view}.route": "index"}
        yield case(f"{view}.route", "index", index, STALE | own)
        yield case(f"{view}.index.lag", LAG, by_index, STALE | own)
        # Nothing stops matching in a list without a filter, nor does an activity ever change.
        after = {"accounts.list": STALE, "activities.list": STALE | own}
        found = after.get(view, frozenset({"H110", "H114"}))
        both = {**index, **by_index}
        yield case(f"{view}.index.hydrate", "primary", both, found, STALE | own)
    elif kind == "feed":
        yield case(f"{view}.payload", "id", {**behind, f"{view}.payload": "version"}, STALE | own)
        yield case(f"{view}.poll", "5s", behind, STALE | own, STALE | own)
    elif kind == "export":
        missed = frozenset({"H229"})
        yield case(f"{view}.boundary", "strict", {}, missed)
        yield case(f"{view}.stamp", "statement", {}, missed)
        strict = {f"{view}.boundary": "strict"}
        yield case(f"{view}.resolution", "1min", strict, missed, missed)


def write_cases(table: str) -> Iterable[Case]:
    """What locks, versions and leases do."""
    view = f"{table}.detail"
    clash = NONE if table == "approvals" else frozenset({"H310"})
    write, lease = f"{table}.write", f"{table}.lease"
    yield Case(f"{write}.lock", "optimistic", view, SLOW, "calls", NONE, NONE)
    yield Case(f"{write}.lock", "none", view, SLOW, "calls", NONE, clash)
    gave_up = frozenset({"H311"})
    yield Case(f"{write}.lock_wait", "1s", view, {}, "calls", NONE, gave_up)
    keys = Crm.knobs
    if f"{write}.scope" in keys:
        yield Case(f"{write}.scope", "whole_record", view, {}, "calls", NONE, frozenset({"H310"}))
    if f"{write}.token" in keys:
        yield Case(f"{write}.token", "refreshed", view, {}, "calls", NONE, clash, token=True)
        yield Case(f"{write}.token", "ignored", view, {}, "calls", NONE, clash, token=True)
    broken = frozenset({"H315"})
    yield Case(f"{lease}.ttl", "10s", view, {}, "lease", NONE, NONE)
    yield Case(f"{lease}.renew", "5s", view, {}, "lease", NONE, NONE)
    yield Case(f"{lease}.fencing", False, view, {}, "lease", NONE, broken)
    yield Case(f"{lease}.granularity", "7s", view, {}, "lease", NONE, broken)


def common_cases() -> Iterable[Case]:
    """What is no store's own."""
    view = "deals.detail"
    late = {**SLOW, "api.timeout": "500ms"}
    unpaid = frozenset({"H510"})

    def case(
        key: str,
        value: object,
        given: Config,
        after: frozenset[str] = NONE,
        before: frozenset[str] = NONE,
        rival: str = "open",
    ) -> Case:
        return Case(key, value, view, given, rival, before, after)

    yield case("api.latency", "10ms", {})
    yield case("db.latency", "10ms", {})
    yield case("put.latency", "10ms", {"deals.detail.cache.ttl": "60s"})
    yield case("api.workers", 1, SLOW, rival="calls")
    yield case("api.rate_limit", "2/min", {})
    yield case("api.timeout", "500ms", SLOW)
    yield case("api.on_timeout", "error", late, frozenset({"H122"}))
    yield case("api.on_timeout", "default", late, frozenset({"H120"}))
    yield case("node.api.clock", "+250ms", {})
    yield case("reward.mode", "activity", {}, unpaid)
    yield case("reward.mode", "claim", {}, unpaid)
    yield case("reward.at", "finish", {})


CACHED = [view for view in PROBES if not view.endswith((".feed", ".export"))]
WRITTEN = sorted({view.partition(".")[0] for view in PROBES if view.endswith(".detail")})
CASES = [
    *(case for view in CACHED for case in cache_cases(view)),
    *(case for view in PROBES for case in view_cases(view)),
    *(case for table in WRITTEN for case in write_cases(table)),
    *common_cases(),
]

SAME = {
    ("accounts.list.cache.scope", "table"): "its one query matches every row",
    ("activities.list.index.hydrate", "primary"): "no activity ever changes",
}
"""Values that can't be told from the default, and why."""

PEOPLE = frozenset({"users.team", "users.think", "users.import", "users.sweep"})
"""Habits of background users, of whom the script has none; they have a test of their own."""


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_value_changes_what_happens_and_is_found_as_declared(case: Case) -> None:
    without = play(case.view, case.given, case.rival, token=case.token)
    config = {**case.given, case.key: case.value}
    with_it = play(case.view, config, case.rival, token=case.token)
    same = (case.key, str(case.value)) in SAME
    assert ((without[:3] == with_it[:3]), without.codes, with_it.codes) == (
        same,
        case.before,
        case.after,
    )


def test_every_value_of_every_knob_has_a_case() -> None:
    told = {(case.key, str(case.value)) for case in CASES}
    keys = {case.key for case in CASES}
    for key, knob in Crm.knobs.items():
        if key in PEOPLE:
            continue
        assert key in keys, key
        forms = knob.forms.removeprefix("one of ").split(", ") if "one of" in knob.forms else []
        for value in forms:
            assert value == knob.default or (key, value) in told, (key, value)


def test_pairs_of_values_get_along() -> None:
    """No two values together break the product; which two is a matter of the sample."""
    pairs = list(combinations(range(len(CASES)), 2))
    chosen = Stream(Draws(7), "pairs", 0).shuffled(pairs)[:PAIRS]
    for first, second in chosen:
        one, two = CASES[first], CASES[second]
        config = {**two.given, **one.given, one.key: one.value, two.key: two.value}
        assert play(one.view, config, two.rival).rows


@pytest.mark.parametrize(
    ("key", "value"),
    [("users.team", 3), ("users.think", "5s"), ("users.import", "30s"), ("users.sweep", "20s")],
)
def test_a_habit_of_the_people_changes_what_happens(key: str, value: object) -> None:
    def rows(config: Config) -> list[Any]:
        bare = make_plan("crm/negotiation", seed=3, profile="bare", config=config)
        episode = Episode(bare)
        episode.world.advance_to(120_000 * MS)
        return list(episode.world.rows)

    assert {key} <= PEOPLE <= set(Crm.knobs)
    assert rows({key: value}) != rows({})
