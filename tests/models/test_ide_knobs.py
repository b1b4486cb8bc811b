"""Each knob of the IDE's views, writes and leases changes what happens, and is found as declared.

An agent reads a view ten times around what a rival does: an update that stays open for a while, a
row that comes into being, and a second update. In between the agent writes itself.
"""

from __future__ import annotations

from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from simharness.api import MS, Actor, Operation, Refused
from simharness.models.ide import Ide
from simharness.models.ide.initial import Entry, Start, add_row
from tests.models.ide_house import House

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Mapping

Config = dict[str, Any]
Act = tuple[float, str, dict[str, Any]]
READS = (1.0, 3.0, 5.3, 6.0, 9.0, 20.0, 31.0, 41.0, 52.0, 62.0)
"""Seconds at which the agent reads; at 2 it looks for what comes into being at 50, at 40 it
writes."""
OWN_AT, MISSING_AT, END_AT = 40.0, (2.0, 70.0), 80.0


START = Start(
    files={"README.md": "# shop\n", "other.txt": "x\n"},
    history=(
        *(Entry(message=f"Step {n}", files={"README.md": f"{n}\n"}) for n in range(5)),
        Entry(message="Turn", files={"README.md": "turn\n"}, branch="topic"),
    ),
)
PUSH = {"branch": "topic", "files": {"NEWS": "n\n"}, "message": "Tell news"}
REVS = tuple(House(start=START).ide.history.commits)


SLOW: Config = {"db.latency": "1s", "ci.latency": "5s"}


class Table(NamedTuple):
    """How a table is looked at and changed."""

    key: int
    """A row that is there at the start."""
    reads: Mapping[str, tuple[str, dict[str, Any]]]
    """By kind of view, the tool or operation that reads it."""
    one: Mapping[str, Any]
    two: Mapping[str, Any]
    own: Mapping[str, Any]
    """What the agent changes."""
    new: Mapping[str, Any]
    """A row that the rival makes."""
    write: tuple[str, dict[str, Any]] = ("", {})
    """The tool or operation by which the agent writes as everybody does."""
    clash: Mapping[str, Any] = {}
    """Another column, which the rival changes before that."""
    lost: Mapping[str, Any] = {}
    """A column that it writes as well."""
    written: int = 0
    """The row that it writes; by default `key`."""
    meets: tuple[float, float, float] = (40.4, 40.5, 41.2)
    """When the rival begins, changes and ends, to come in between where every step takes 1 s."""
    scope: tuple[Config, tuple[float, float, float]] = ({}, (39.3, 39.4, 39.8))
    """What it takes for whole records to be felt, and when the rival comes for that."""


OTHER = 2
"""A file that the search doesn't find."""
SHOP = "# shop\n"
TABLES = {
    "files": Table(
        1,
        {
            "detail": ("open_file", {"path": "README.md"}),
            "list": ("list_files", {}),
            "search": ("search_text", {"pattern": "shop"}),
        },
        one={"content": f"{SHOP}one\n"},
        two={"content": "# none\n"},
        own={"content": f"{SHOP}own\n"},
        new={"path": "NEWS", "content": SHOP},
        write=("write_file", {"path": "README.md", "content": SHOP + "written\n"}),
        clash={"mode": "100755"},
        lost={"content": SHOP + "lost\n"},
    ),
    "branches": Table(
        2,
        {
            "detail": ("db.read", {"tx": "look", "view": "branches.detail", "id": 2}),
            "list": ("repo.fetch", {}),
        },
        one={"rev": REVS[1]},
        two={"rev": REVS[2]},
        own={"rev": REVS[3]},
        new={"title": "other", "rev": REVS[4]},
        write=("repo.push", PUSH),
        clash={"title": "moved"},
        lost={"rev": REVS[1]},
        scope=(SLOW, (40.4, 40.5, 41.2)),
    ),
    "ci_jobs": Table(
        1,
        {"detail": ("ci_status", {"job_id": 1}), "list": ("ci_status", {})},
        one={"status": "running"},
        two={"status": "failed"},
        own={"log": "looked at"},
        new={"rev": REVS[4], "branch": "main"},
        # What is pushed starts a job, whose row the server writes.
        write=("repo.push", PUSH),
        clash={"branch": "moved"},
        lost={"log": "lost"},
        written=2,
        meets=(49.0, 49.5, 50.6),
        scope=({**SLOW, "ci_jobs.write.lock": "none"}, (49.0, 49.5, 50.6)),
    ),
    "tickets": Table(
        1,
        {"detail": ("read_ticket", {})},
        one={"body": "one"},
        two={"body": "two"},
        own={"body": "own"},
        new={"title": "Another one"},
    ),
}
VIEWS = [f"{name}.{kind}" for name, table in TABLES.items() for kind in table.reads]


class Case(NamedTuple):
    """One value of a knob, what it takes to be felt, and what is found with and without it."""

    key: str
    value: object
    view: str
    given: Config
    rival: str = "open"
    """What the rival is there for."""
    after: frozenset[str] = frozenset()
    before: frozenset[str] = frozenset()

    def __str__(self) -> str:
        return f"{self.key}={self.value}"


NONE: frozenset[str] = frozenset()
STALE = frozenset({"H110"})
OWN = frozenset({"H111"})
LOST = frozenset({"H112"})
LAG = "8s"


def cache_cases(view: str) -> Iterable[Case]:
    """What a cache does."""
    cache, table = f"{view}.cache", view.partition(".")[0]
    ttl = {f"{cache}.ttl": "60s"}
    late = {f"{cache}.ttl": "5s", "put.latency": "3s", "db.latency": "100ms"}
    slow = {**ttl, f"{cache}.invalidate_rate": "1/min"}

    def case(name: str, value: object, given: Config, *codes: frozenset[str]) -> Case:
        return Case(f"{cache}.{name}", value, view, given, "open", *codes)

    yield case("ttl", "60s", {})
    yield case("expire", "after_access", {f"{cache}.ttl": "12s"})
    yield case("invalidate", "async", ttl)
    yield case("invalidate", "on_statement", ttl, STALE)
    yield case("invalidate", "never", ttl, LOST | OWN)
    yield case("invalidate_delay", "20s", ttl, LOST | OWN)
    yield case("invalidate_rate", "1/min", ttl, LOST | OWN)
    yield case("invalidate_queue", 1, slow, LOST | OWN, LOST | OWN)
    yield case("fence", False, late, STALE)
    yield case("granularity", "1min", {f"{cache}.ttl": "12s"})
    yield case("refill", "replica", {**ttl, f"{table}.replica.lag": LAG}, STALE | OWN)
    yield case("scope", "table", ttl)
    if view.endswith(".detail"):
        yield case("negative_ttl", "60s", {})
        yield case("shared_in_tx", True, ttl, frozenset({"H230"}))
    else:
        yield case("scope", "row", ttl, STALE)


def view_cases(view: str) -> Iterable[Case]:
    """What routes and contracts do."""
    table = view.partition(".")[0]
    lag: Config = {f"{table}.replica.lag": LAG}
    behind = {**lag, f"{view}.route": "replica"}
    silent = frozenset({"A120"})

    def case(key: str, value: object, given: Config, *codes: frozenset[str]) -> Case:
        return Case(key, value, view, given, "open", *codes)

    yield case(f"{view}.route", "replica", lag, STALE | OWN)
    yield case(f"{view}.route", "sticky", lag, STALE)
    yield case(f"{table}.replica.lag", LAG, {f"{view}.route": "replica"}, STALE | OWN)
    yield case(f"{view}.staleness", "10s", behind, silent | OWN, STALE | OWN)
    yield case(f"{view}.read_your_writes", False, behind, STALE, STALE | OWN)
    yield case(f"{view}.signals", ["as_of"], {})
    yield case(f"{view}.signals", ["version"], {})
    if not view.endswith(".detail"):
        index, by_index = {f"{view}.index.lag": LAG}, {f"{view}.route": "index"}
        yield case(f"{view}.route", "index", index, STALE | OWN)
        yield case(f"{view}.index.lag", LAG, by_index, STALE | OWN)
        # What stops matching is shown all the same.
        found = STALE | ({"H114"} if view == "files.search" else NONE)
        yield case(f"{view}.index.hydrate", "primary", {**index, **by_index}, found, STALE | OWN)


def write_cases(table: str) -> Iterable[Case]:
    """What locks and leases do."""
    view, write, lease = f"{table}.detail", f"{table}.write", f"{table}.lease"
    if f"{write}.lock" in Ide.knobs:
        lost = frozenset({"H310"})
        yield Case(f"{write}.lock", "optimistic", view, SLOW, "lost")
        yield Case(f"{write}.lock", "none", view, SLOW, "lost", lost)
        yield Case(f"{write}.lock_wait", "1s", view, SLOW, "locked", frozenset({"H311"}))
        yield Case(f"{write}.scope", "whole_record", view, TABLES[table].scope[0], "clash", lost)
    broken = frozenset({"H315"})
    yield Case(f"{lease}.ttl", "10s", view, {}, "lease")
    yield Case(f"{lease}.renew", "5s", view, {}, "lease")
    yield Case(f"{lease}.fencing", False, view, {}, "lease", broken)
    yield Case(f"{lease}.granularity", "7s", view, {}, "lease", broken)


SAME = {f"{table}.list.cache.scope" for table in ("files", "branches", "ci_jobs")}
"""Knobs of whose values one can't be told from the default: the one query matches every row."""
CASES = [
    *(case for view in VIEWS for case in (*cache_cases(view), *view_cases(view))),
    *(case for table in TABLES for case in write_cases(table)),
]


def changed(at: float, tx: str, table: str, fields: Mapping[str, Any], key: int = 0) -> list[Act]:
    """Update a row, by default the one that is read, in a transaction of 0.4 s."""
    row = {"table": table, "id": key or TABLES[table].key}
    return [
        (at - 0.2, "db.begin", {"tx": tx}),
        (
            at,
            "db.update",
            {"tx": tx, **row, "fields": dict(fields)},
        ),
        (at + 0.2, "db.commit", {"tx": tx}),
    ]


def rivals(view: str, how: str) -> list[Act]:
    """Give what the rival does."""
    name = view.partition(".")[0]
    table = TABLES[name]
    row = {"table": name, "id": table.key}
    if how == "lease":
        return [(1.5, "lease.acquire", {"table": name}), *changed(50.0, "late", name, table.one)]
    if how in ("clash", "lost", "locked"):
        row["id"] = table.written or table.key
        fields = dict(table.lost if how == "lost" else table.clash)
        held = (39.8, 43.9 if table.written else 39.9, 55.0)
        times = {"lost": table.meets, "clash": table.scope[1], "locked": held}
        begin, update, end = times[how]
        done = "db.rollback" if how == "locked" else "db.commit"
        return [
            (begin, "db.begin", {"tx": "one"}),
            (update, "db.update", {"tx": "one", **row, "fields": fields}),
            (end, done, {"tx": "one"}),
        ]
    look = {"tx": "one", "view": f"{name}.detail", "id": table.key}
    return [
        (4.8, "db.begin", {"tx": "one"}),
        (5.0, "db.update", {"tx": "one", **row, "fields": dict(table.one)}),
        (5.1, "db.read", look),
        (5.6, "db.commit", {"tx": "one"}),
        (49.8, "db.begin", {"tx": "new"}),
        (50.0, "db.insert", {"tx": "new", "table": name, "fields": dict(table.new)}),
        (50.1, "db.commit", {"tx": "new"}),
        *(changed(25.0, "other", name, {"content": "y\n"}, OTHER) if name == "files" else ()),
        *changed(60.0, "two", name, table.two),
    ]


def agents(view: str, how: str, missing: int) -> list[Act]:
    """Give what the agent does."""
    name, _, kind = view.partition(".")
    tool, arguments = TABLES[name].reads[kind]
    acts: list[Act] = [(0.5, "db.begin", {"tx": "look"}), *((at, tool, arguments) for at in READS)]
    if kind == "detail":
        look = {"tx": "look", "view": view, "id": missing}
        acts += [(at, "db.read", look) for at in MISSING_AT]
    if how in ("open", "lease"):
        acts += changed(OWN_AT, "own", name, TABLES[name].own)
    else:
        acts.append((OWN_AT, *TABLES[name].write))
    return acts


def play(view: str, config: Config, how: str) -> tuple[list[Any], list[str], frozenset[str]]:
    """Go through the script; gives the journal, what was told, and the codes that were found."""
    house = House(config, start=START)
    ide, world = house.ide, house.world
    add_row(ide.ci_jobs.table, {"rev": REVS[0], "branch": "main"})
    told: list[str] = []

    def live(actor: Actor, acts: list[Act]) -> Generator[Any, Any, None]:
        for at, what, arguments in acts:
            yield world.timer(max(0, int(at * 1_000) * MS - world.ticks))
            spec = ide.tools.get(what) or ide.operations[what]
            op = Operation(world, actor, actor.next_n)
            actor.next_n += 1
            try:
                answer = yield from ide.call(op, spec, spec.check(arguments))
            except Refused as refusal:
                answer = refusal.code
            told.append(f"{op.name} {what} {answer} {op.dated}")

    world.spawn(
        "rival", live(Actor(world, "rival", 0), sorted(rivals(view, how), key=itemgetter(0)))
    )
    table = ide.stores[view.partition(".")[0]].table
    world.spawn(
        "agent", live(house.agent, sorted(agents(view, how, table.top + 1), key=itemgetter(0)))
    )
    house.wait(f"{END_AT:g}s")
    rows = list(world.rows)
    return rows, told, frozenset(finding.code for finding in house.findings())


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_value_changes_what_happens_and_is_found_as_declared(case: Case) -> None:
    without = play(case.view, case.given, case.rival)
    with_it = play(case.view, {**case.given, case.key: case.value}, case.rival)
    same = case.key in SAME and case.value == "table"
    assert (without[:2] == with_it[:2], without[2], with_it[2]) == (same, case.before, case.after)


def test_every_value_of_every_such_knob_has_a_case() -> None:
    told = {(case.key, str(case.value)) for case in CASES}
    keys = {case.key for case in CASES}
    for key, knob in Ide.knobs.items():
        if key.partition(".")[0] in TABLES:
            assert key in keys, key
            forms = knob.forms.removeprefix("one of ").split(", ") if "one of" in knob.forms else []
            for value in forms:
                assert value == knob.default or (key, value) in told, (key, value)
