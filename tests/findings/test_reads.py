"""H110, H111 and H112 over rows written by hand, and over the rows of real episodes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simharness.blame.case import case_of
from simharness.env import make_plan
from simharness.episode.episode import Episode
from simharness.episode.play import drive
from simharness.episode.policies import scripted
from simharness.findings.reads import stale_reads
from simharness.findings.story import StepSpan, tell
from simharness.kernel.journal import COLUMNS, NAMES, Row
from simharness.units import MINUTE, SECOND
from tests.effort import times

if TYPE_CHECKING:
    from simharness.findings.finding import Finding

VIEW = "deals.detail"
LIST = "deals.list"
NUMBERS = {name: number for number, name in NAMES.items()}

EMPTY: dict[str, list[int]] = {"delta": [], "unmeant": []}

Event = tuple[str, int, dict[str, Any]]


def call(owner: str, n: int, t: int = 0) -> Event:
    return "CALL", t, {"owner": owner, "n": n, "tool": "get_deal"}


def commit(
    version: int, *, owner: str = "user/1", n: int = 1, t: int = 0, order: int = 0, key: int = 7
) -> Event:
    """Commit of `version` of a row; a negative version is a deletion."""
    values = {"owner": owner, "n": n, "order": order or abs(version), "table": "deals", "key": key}
    return "COMMIT", t, {**values, "before": abs(version) - 1, "after": version}


def invalidate(*, order: int, view: str = VIEW, key: int = 7, t: int = 0) -> Event:
    return "INVALIDATE", t, {"view": view, "key": key, "order": order, "removed": 1}


def drop(*, order: int) -> Event:
    return "DROP", 0, {"view": VIEW, "key": 7, "order": order, "queued": 2}


def fill(*, order: int) -> Event:
    return "FILL", 0, {"view": VIEW, "key": 7, "order": order}


def read(
    served: int,
    true: int,
    *,
    age: int = MINUTE,
    bound: int = 0,
    owner: str = "agent",
    source: str = "cache",
    view: str = VIEW,
    t: int = 0,
    own: int = 1,
) -> Event:
    values = {"owner": owner, "n": 1 << 16, "view": view, "key": 7, "served": served, "true": true}
    return "READ", t, {**values, "age": age, "source": source, "bound": bound, "promises": own}


def listing(*wrong: int, bound: int = 0, owner: str = "agent", source: str = "cache") -> Event:
    """A list answer; `wrong` is flat: key, served, true, age."""
    values = {"owner": owner, "n": 1 << 16, "view": LIST, "query": "stage=proposal", "order": 0}
    flat = [x for key in wrong[::4] for x in (key, 1)]
    return (
        "LIST",
        0,
        {
            **values,
            "rows": flat,
            "source": source,
            "bound": bound,
            "promises": 1,
            "wrong": list(wrong),
        },
    )


def row_of(index: int, kind: str, t: int, values: dict[str, Any]) -> Row:
    """Make a row; columns that these detectors don't look at are empty."""
    columns = [name.lstrip("@~") for name in COLUMNS[NUMBERS[kind]]]
    assert set(values) <= set(columns)
    return Row(index, kind, t, {name: values.get(name, EMPTY.get(name, 0)) for name in columns})


def found(*events: Event, steps: tuple[int, ...] = (0,)) -> list[Finding]:
    """What the detector finds; `steps` gives the first row of each step."""
    rows = [row_of(index, *event) for index, event in enumerate(events)]
    spans = [StepSpan(i + 1, first, 0, ended=False, aborted=False) for i, first in enumerate(steps)]
    return list(stale_reads(tell(rows, spans)))


def codes(*events: Event) -> list[str]:
    return [finding.code for finding in found(*events)]


# --- one row -------------------------------------------------------------------------------------


def test_a_fresh_read_gives_nothing() -> None:
    assert codes(commit(2), read(2, 2, age=0)) == []


def test_a_hit_on_a_version_that_nobody_invalidated_is_a_lost_invalidation() -> None:
    (finding,) = found(
        call("user/1", 1),
        commit(2, t=5 * SECOND),
        call("agent", 1 << 16),
        read(1, 2, age=65 * SECOND, t=70 * SECOND),
        steps=(0, 2),
    )
    assert (finding.code, finding.step, finding.t) == ("H112", 2, 70 * SECOND)
    assert finding.keys == ("deals:7",)
    assert finding.evidence == {
        "view": VIEW,
        "key": "deals:7",
        "served": 1,
        "true": 2,
        "age": 65 * SECOND,
        "source": "cache",
    }
    assert finding.events == (1, 3)
    assert finding.mechanism == "cache:deals.detail"
    assert finding.explanation.startswith("deals.detail served deals:7 v1, ")
    assert finding.explanation.endswith(", and no invalidation of v1 was carried out")
    assert {"v2", "1min 05s"} <= set(re.findall(r"v2|1min 05s", finding.explanation))


def test_a_dropped_invalidation_is_a_lost_one() -> None:
    assert codes(commit(2), drop(order=2), read(1, 2)) == ["H112"]


def test_a_put_that_comes_after_the_invalidation_is_stale_and_no_lost_invalidation() -> None:
    (finding,) = found(commit(2), invalidate(order=2), fill(order=1), read(1, 2, bound=30 * SECOND))
    assert finding.code == "H110"
    assert finding.explanation.endswith("(allowed: 30s)")


def test_an_invalidation_counts_only_until_the_read() -> None:
    assert codes(commit(2), read(1, 2), invalidate(order=2)) == ["H112"]


@pytest.mark.parametrize("other", [{"view": LIST}, {"key": 8}])
def test_an_invalidation_of_something_else_is_none(other: dict[str, Any]) -> None:
    assert codes(commit(2), invalidate(order=2, **other), read(1, 2)) == ["H112"]


def test_an_invalidation_for_the_version_served_is_none_for_its_successor() -> None:
    assert codes(
        call("user/1", 1),
        commit(2, n=1),
        invalidate(order=2),
        call("user/1", 2),
        commit(3, n=2),
        read(2, 3),
    ) == ["H112"]


def test_what_counts_is_the_invalidation_for_the_first_version_that_was_missed() -> None:
    # Version 2 was invalidated and put back by a late fill; that version 3 was lost as well made
    # nobody see version 1.
    assert codes(commit(2), invalidate(order=2), fill(order=1), commit(3), read(1, 3)) == ["H110"]


def test_an_invalidation_by_the_statement_inside_the_writers_own_call_was_carried_out() -> None:
    statement = invalidate(order=1, t=SECOND)
    late = commit(2, n=3, t=9 * SECOND)
    rows = (call("user/1", 3), statement, fill(order=1), late, read(1, 2))
    assert codes(*rows) == ["H110"]
    before_the_call = (rows[1], rows[2], rows[0], *rows[3:])
    assert codes(*before_the_call) == ["H112"]


def test_statements_in_a_row_on_one_key_each_have_an_invalidation_of_their_own() -> None:
    # Nothing else was committed in between, so the second statement's order is the first's commit.
    assert codes(
        call("user/1", 1),
        invalidate(order=1, t=1),
        commit(2, n=1, t=1),
        call("user/1", 2),
        invalidate(order=2, t=9),
        commit(3, n=2, t=9),
        fill(order=2),
        read(2, 3),
    ) == ["H110"]


def test_a_slow_invalidation_of_the_version_before_is_none_for_the_writer_that_waits() -> None:
    # The second writer's call began before the worker came round to the first one's commit.
    assert codes(
        call("user/1", 1),
        call("user/2", 1),
        commit(2, owner="user/1", t=10),
        invalidate(order=2, t=20),
        fill(order=2),
        commit(3, owner="user/2", t=30),
        drop(order=3),
        read(2, 3),
    ) == ["H112"]


def test_a_writer_without_a_call_invalidates_from_its_commit_on() -> None:
    rows = (commit(2, owner="customer/legal"), invalidate(order=2), fill(order=1), read(1, 2))
    assert codes(*rows) == ["H110"]
    assert codes(rows[1], rows[0], *rows[2:]) == ["H112"]


def test_an_age_equal_to_the_bound_is_within_contract() -> None:
    assert codes(commit(2), read(1, 2, age=MINUTE, bound=MINUTE)) == []
    assert codes(commit(2), read(1, 2, age=MINUTE + 1, bound=MINUTE)) == ["H112"]
    late_put = (commit(2), invalidate(order=2))
    assert codes(*late_put, read(1, 2, age=MINUTE, bound=MINUTE)) == []
    assert codes(*late_put, read(1, 2, age=MINUTE + 1, bound=MINUTE)) == ["H110"]


def test_a_stale_read_from_elsewhere_than_a_cache_has_no_invalidation_to_lose() -> None:
    (finding,) = found(commit(2), read(1, 2, source="replica"))
    assert (finding.code, finding.mechanism) == ("H110", "replica:deals")


def test_a_read_that_misses_the_agents_own_write_is_told_as_well() -> None:
    lost, broken = found(call("agent", 1), commit(2, owner="agent", n=1), read(1, 2), steps=(0, 2))
    assert [lost.code, broken.code] == ["H112", "H111"]
    assert broken.explanation.endswith("although the agent itself wrote v2")
    assert (broken.step, broken.mechanism) == (2, "cache:deals.detail")


def test_no_bound_excuses_a_read_that_misses_the_agents_own_write() -> None:
    assert codes(commit(2, owner="agent"), read(1, 2, age=1, bound=MINUTE)) == ["H111"]


def test_an_own_write_may_be_missed_where_nobody_promised_otherwise() -> None:
    assert codes(commit(2, owner="agent"), read(1, 2, age=1, bound=MINUTE, own=0)) == []


def test_the_agents_own_write_may_lie_behind_somebody_elses() -> None:
    rows = (commit(2), commit(3, owner="agent"))
    assert codes(*rows, read(1, 3)) == ["H112", "H111"]
    assert codes(*rows, commit(4), read(3, 4)) == ["H112"]


def test_a_deletion_that_a_cache_missed_is_a_version_like_any_other() -> None:
    (finding,) = found(commit(2), commit(-3), read(2, 3))
    assert finding.code == "H112"
    assert (finding.evidence["served"], finding.evidence["true"]) == (2, 3)
    assert codes(commit(-3, owner="agent"), read(2, 3)) == ["H112", "H111"]


def test_a_cached_absence_misses_the_row_that_has_come() -> None:
    (finding,) = found(commit(1), read(0, 1))
    assert (finding.code, finding.evidence["served"]) == ("H112", 0)


def test_what_background_users_are_served_is_no_finding() -> None:
    assert codes(commit(2), read(1, 2, owner="user/2")) == []
    assert codes(commit(2, owner="user/2"), read(1, 2, owner="user/2")) == []
    assert codes(commit(2), listing(7, 1, 2, MINUTE, owner="user/2")) == []


def test_a_row_that_only_its_reader_calls_stale_is_no_finding() -> None:
    # Nothing in the rows says that the version served was ever replaced.
    assert codes(commit(1), read(1, 2)) == []
    assert codes(read(1, 2), commit(2)) == []


def test_permissions_are_read_like_anything_else() -> None:
    kind, t, values = commit(2)
    (finding,) = found((kind, t, {**values, "table": "users"}), read(1, 2, view="users.auth"))
    assert (finding.code, finding.mechanism) == ("H112", "cache:users.auth")


# --- lists ---------------------------------------------------------------------------------------


def test_a_list_without_a_wrong_row_gives_nothing() -> None:
    assert codes(commit(2), listing()) == []


def test_a_list_that_shows_an_old_row_lost_its_invalidation() -> None:
    (finding,) = found(commit(2), listing(7, 1, 2, MINUTE))
    assert (finding.code, finding.keys, finding.mechanism) == (
        "H112",
        ("deals:7",),
        "cache:deals.list",
    )


def test_a_list_that_lacks_a_row_is_stale_by_the_last_version_that_did_not_match() -> None:
    # Version 3 made the row match; versions 4 and 5 left it so.
    rows = (commit(2), commit(3, t=SECOND), commit(4, t=2 * SECOND), commit(5, t=3 * SECOND))
    (finding,) = found(*rows, listing(7, 2, 5, MINUTE))
    assert finding.code == "H112"
    assert (finding.events[0], finding.events[-1]) == (1, 4)
    assert finding.evidence["served"] == 2


def test_a_list_is_judged_row_by_row() -> None:
    events = (
        commit(2, key=7, order=2),
        invalidate(view=LIST, key=7, order=2),
        commit(2, key=8, order=3),
        commit(2, key=9, order=4, owner="agent"),
        listing(7, 1, 2, MINUTE, 8, 1, 2, 30 * SECOND, 9, 1, 2, 10 * SECOND, bound=20 * SECOND),
    )
    assert [(f.code, f.keys) for f in found(*events)] == [
        ("H110", ("deals:7",)),
        ("H112", ("deals:8",)),
        ("H111", ("deals:9",)),
    ]


def test_a_list_obeys_its_bound() -> None:
    assert codes(commit(2), listing(7, 1, 2, MINUTE, bound=MINUTE)) == []
    assert codes(commit(2), listing(7, 1, 2, MINUTE + 1, bound=MINUTE)) == ["H112"]


def test_a_step_begins_with_its_first_row() -> None:
    events = (commit(2), read(1, 2), read(1, 2), read(1, 2))
    assert [f.step for f in found(*events, steps=(2, 3))] == [0, 1, 2]


# --- real episodes -------------------------------------------------------------------------------


def played(
    seed: int, policy: str, load: int, fault: str, config: dict[str, object] | None = None
) -> Episode:
    faults = (fault,) if fault else ()
    episode = Episode(make_plan("crm/negotiation", seed, load, faults, config=config))
    play = scripted(policy, episode.scenario)
    assert play is not None
    drive(episode, play)
    return episode


def told_by_rows(episode: Episode) -> set[tuple[int, int, str]]:
    """Reads that the detector objects to: row, key, and whether for age or for an own write."""
    return {
        (f.events[-1], int(f.keys[0].partition(":")[2]), "own" if f.code == "H111" else "age")
        for f in stale_reads(case_of(episode).story)
    }


def told_live(episode: Episode) -> set[tuple[int, int, str]]:
    """The same as the views noted it while they served."""
    bounds = {
        v.name: v.contract.staleness for s in episode.product.stores.values() for v in s.views()
    }
    out = {(b.row, b.key, "own") for b in episode.breaches if b.own}
    return out | {(b.row, b.key, "age") for b in episode.breaches if b.age > bounds[b.view]}


FAULTS = ("", "crm.invalidation-lost", "crm.no-fence")
CONTRACTS: tuple[dict[str, object], ...] = ({}, {"deals.detail.staleness": "90s"})


@settings(max_examples=times(15), deadline=None)
@given(
    st.integers(0, 2**64 - 1),
    st.sampled_from(("expert", "random")),
    st.sampled_from((1, 4, 8)),
    st.sampled_from(FAULTS),
    st.sampled_from(CONTRACTS),
)
def test_rows_alone_tell_the_same_breaches_as_the_live_check(
    seed: int, policy: str, load: int, fault: str, contract: dict[str, object]
) -> None:
    episode = played(seed, policy, load, fault, contract)
    assert told_by_rows(episode) == told_live(episode)
    if not fault:
        assert not episode.breaches


@pytest.mark.parametrize("load", [4, 8])
def test_the_live_check_has_breaches_to_agree_on(load: int) -> None:
    kinds: set[str] = set()
    for seed in range(4):
        for policy in ("expert", "random"):
            episode = played(seed, policy, load, "crm.invalidation-lost")
            assert told_by_rows(episode) == told_live(episode)
            kinds |= {kind for _, _, kind in told_live(episode)}
    assert kinds == {"age", "own"}


def test_a_wider_contract_allows_what_the_narrow_one_forbids() -> None:
    narrow = played(3, "expert", 4, "crm.invalidation-lost")
    wide = played(3, "expert", 4, "crm.invalidation-lost", {"deals.detail.staleness": "90s"})
    assert 0 < len(told_by_rows(wide)) < len(told_by_rows(narrow))
