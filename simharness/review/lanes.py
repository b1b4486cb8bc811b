"""The lanes of an episode's timeline, out of its rows.

Instants are ticks since the start. Lanes tell of the rows in **focus**: those that the agent read
or wrote, that a finding names, or that the goal rests on. Everybody else's traffic is counted in
bins, and every count that stands for more than it shows is told in `notes`.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any

from simharness.blame.chain import link
from simharness.blame.sightings import about_task, reads_of
from simharness.findings.story import AGENT

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from simharness.findings.finding import Finding
    from simharness.findings.story import Story
    from simharness.kernel.journal import Row

BINS = 200
KEYS_MAX = 12
"""Rows whose lag is drawn."""
LOCKS_MAX = 8
EVENTS_MAX = 400
"""Marks of one lane."""
TOUCHES_MAX = 200
CACHE_KINDS = ("MISS", "FILL", "FENCED", "EXPIRE", "INVALIDATE", "DROP")
MOVES = ("CHECKED", "HOLD", "HOLDEND", "LEDGER", "GATEWAY", "GATEWAYEND")


def focus_of(story: Story, findings: Sequence[Finding]) -> list[str]:
    """Name the rows in focus, as `table:id`, what matters most first."""
    keys: dict[str, None] = {}
    for finding in findings:
        keys.update(dict.fromkeys(finding.keys))
    for row in story.grades():
        keys.update(dict.fromkeys(str(key).partition(".")[0] for key in row.values["keys"]))
    for exchange in story.exchanges.values():
        for commit in exchange.commits:
            keys[f"{commit.table}:{commit.key}"] = None
    for kind in ("READ", "LIST"):
        for row in story.reads:
            if row.kind == kind and about_task(row):
                table = str(row.values["view"]).rpartition(".")[0]
                keys.update(dict.fromkeys(f"{table}:{key}" for key, *_ in reads_of(row)))
    return list(keys)


def lanes_of(story: Story, findings: Sequence[Finding], faults: Sequence[str]) -> dict[str, Any]:
    """Give all lanes of an episode."""
    end = story.rows[-1].t if story.rows else 0
    focus = focus_of(story, findings)
    notes: list[str] = []
    return {
        "lag": lag_lane(story, focus, end, notes),
        "users": users_lane(story, set(focus), end, notes),
        "caches": cache_lane(story, set(focus), notes),
        "locks": lock_lane(story, set(focus), end, notes),
        "faults": fault_lane(story, faults, end),
        "moves": move_lane(story, set(focus), findings, notes),
        "grade": grade_lane(story),
        "notes": notes,
    }


def lag_lane(story: Story, focus: list[str], end: int, notes: list[str]) -> list[dict[str, Any]]:
    """For how long what the agent believes of each row has been out of date.

    A span is `[from, to, believed version]`: it begins with the commit that made the belief old,
    and ends when the agent learns of that commit or a later one, or with the episode.
    """
    beliefs: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for row in story.of("READ", "LIST", "COMMIT"):
        v = row.values
        if v["owner"] != AGENT:
            continue
        if row.kind == "COMMIT":
            beliefs[f"{v['table']}:{v['key']}"].append((row.t, abs(v["after"])))
        elif about_task(row):
            table = str(v["view"]).rpartition(".")[0]
            for key, served, _, _ in reads_of(row):
                if served:
                    beliefs[f"{table}:{key}"].append((row.t, served))
    out: list[dict[str, Any]] = []
    for name in focus:
        spans = lag_spans(story, name, beliefs.get(name, []), end)
        if spans:
            out.append({"key": name, "spans": spans})
    if len(out) > KEYS_MAX:
        notes.append(f"truth lag: {KEYS_MAX} of {len(out)} rows are drawn")
    return out[:KEYS_MAX]


def lag_spans(
    story: Story, key: str, beliefs: Sequence[tuple[int, int]], end: int
) -> list[list[int]]:
    """Give the spans in which the belief of one row is out of date."""
    table, _, number = key.rpartition(":")
    if not number.isdigit():
        return []
    commits = story.commits.get((table, int(number)), [])
    spans: list[list[int]] = []
    for i, (learned, version) in enumerate(beliefs):
        until = beliefs[i + 1][0] if i + 1 < len(beliefs) else end
        newer = next((c for c in commits if c.after > version), None)
        if newer is None or newer.t >= until:
            continue
        if spans and spans[-1][2] == version and spans[-1][1] == learned:
            spans[-1][1] = until  # served the same old version again
        else:
            spans.append([newer.t, until, version])
    return spans


def users_lane(story: Story, focus: set[str], end: int, notes: list[str]) -> dict[str, Any]:
    """Count everybody else's calls and commits in bins, and tell who changed a row in focus."""
    calls: dict[str, Counter[int]] = defaultdict(Counter)
    writes: dict[str, Counter[int]] = defaultdict(Counter)
    owners: dict[str, set[str]] = defaultdict(set)
    touches: list[dict[str, Any]] = []
    total = 0
    for row in story.of("CALL", "COMMIT"):
        v = row.values
        owner: str = v["owner"]
        if owner == AGENT:
            continue
        group = owner.partition("/")[0]
        owners[group].add(owner)
        place = min(BINS - 1, row.t * BINS // max(1, end))
        if row.kind == "CALL":
            calls[group][place] += 1
            total += 1
            continue
        writes[group][place] += 1
        key = f"{v['table']}:{v['key']}"
        if key in focus:
            columns = [story.column(v["table"], number) for number in v["delta"][::2]]
            touches.append(
                {"t": row.t, "by": owner, "key": key, "v": abs(v["after"]), "columns": columns}
            )
    if total:
        notes.append(f"others: {total:,} calls are counted in {BINS} bins; the recording has each")
    if len(touches) > TOUCHES_MAX:
        notes.append(
            f"others: {TOUCHES_MAX} of {len(touches):,} changes of rows in focus are drawn"
        )
    return {
        "groups": [
            {
                "name": group,
                "owners": len(owners[group]),
                "calls": binned(calls[group]),
                "writes": binned(writes[group]),
            }
            for group in sorted(owners, key=lambda g: (-calls[g].total(), g))
        ],
        "touches": touches[:TOUCHES_MAX],
        "bins": BINS,
    }


def binned(counts: Counter[int]) -> list[int]:
    """Give counts as a flat list `[bin, count, ...]` of the bins that have any."""
    return [x for pair in sorted(counts.items()) for x in pair]


def cache_lane(story: Story, focus: set[str], notes: list[str]) -> list[dict[str, Any]]:
    """Give, for each view that the agent read through, its reads and what its cache did for them.

    A stale read names the instant at which the served version was replaced.
    """
    views: dict[str, set[Any]] = defaultdict(set)
    for row in story.reads:
        if about_task(row):
            v = row.values
            views[v["view"]].add(v["key"] if row.kind == "READ" else v["query"])
    events: dict[str, list[dict[str, Any]]] = {view: [] for view in sorted(views)}
    for row in story.reads:
        if about_task(row):
            events[row.values["view"]].append(read_mark(story, row))
    for row in story.of(*CACHE_KINDS):
        v = row.values
        view: str = v["view"]
        if view not in views:
            continue
        about = v["key"] in views[view] or f"{view.rpartition('.')[0]}:{v['key']}" in focus
        if about:
            mark = {"t": row.t, "kind": row.kind.lower(), "key": str(v["key"])}
            if row.kind == "INVALIDATE":
                mark["removed"] = v["removed"]
            events[view].append(mark)
    out: list[dict[str, Any]] = []
    for view, marks in events.items():
        marks.sort(key=lambda mark: mark["t"])
        if len(marks) > EVENTS_MAX:
            notes.append(f"{view}: {EVENTS_MAX} of {len(marks):,} marks are drawn")
        out.append({"view": view, "events": marks[:EVENTS_MAX]})
    return out


def read_mark(story: Story, row: Row) -> dict[str, Any]:
    """Give the mark of one read of the agent."""
    v = row.values
    wrong = [(key, age) for key, _, _, age in reads_of(row) if age]
    key = v["key"] if row.kind == "READ" else v["query"] or "all"
    mark = {
        "t": row.t,
        "kind": "hit" if v["source"] == "cache" else "read",
        "key": str(key),
        "source": v["source"],
        "step": story.step_of(row.index),
    }
    if wrong:
        mark["age"] = max(age for _, age in wrong)
        mark["since"] = row.t - mark["age"]
        mark["bound"] = v["bound"]
    return mark


def lock_lane(story: Story, focus: set[str], end: int, notes: list[str]) -> list[dict[str, Any]]:
    """Give who waited for, and held, the locks and leases that the agent met or in focus."""
    spans: dict[str, list[dict[str, Any]]] = defaultdict(list)
    mine: set[str] = set()
    begun: dict[tuple[str, int, str, str], dict[str, Any]] = {}
    ends = {"LOCK": "wait", "LOCKTIMEOUT": "wait", "UNLOCK": "hold", "LEASEEND": "lease"}
    starts = {"LOCKWAIT": "wait", "LOCK": "hold", "LEASE": "lease"}
    for row in story.of("LOCKWAIT", "LOCK", "UNLOCK", "LOCKTIMEOUT", "LEASE", "LEASEEND"):
        v = row.values
        name: str = v["lease"] if row.kind.startswith("LEASE") else v["lock"]
        owner, n = v["owner"], v["n"]
        if owner == AGENT:
            mine.add(name)
        ended = begun.pop((owner, n, name, ends.get(row.kind, "")), None)
        if ended is not None:
            ended["to"] = row.t
        if row.kind in starts:
            kind = starts[row.kind]
            span = {"owner": owner, "kind": kind, "from": row.t, "to": end}
            spans[name].append(span)
            begun[owner, n, name, kind] = span
    names = sorted((n for n in spans if n in mine or n in focus), key=lambda n: (n not in mine, n))
    if len(names) > LOCKS_MAX:
        notes.append(f"locks: {LOCKS_MAX} of {len(names)} are drawn")
    out: list[dict[str, Any]] = []
    for name in names[:LOCKS_MAX]:
        if len(spans[name]) > EVENTS_MAX:
            notes.append(f"lock {name}: {EVENTS_MAX} of {len(spans[name]):,} spans are drawn")
        out.append({"lock": name, "spans": spans[name][:EVENTS_MAX]})
    return out


def fault_lane(story: Story, faults: Sequence[str], end: int) -> list[dict[str, Any]]:
    """Give when each fault was in force; one that never came into force has no span."""
    spans: dict[str, list[list[int]]] = {fault.partition("@")[0]: [] for fault in faults}
    for row in story.of("FAULT"):
        v = row.values
        found = spans.setdefault(str(v["fault"]).removeprefix("fault/"), [])
        if v["on"]:
            found.append([row.t, end])
        elif found:
            found[-1][1] = row.t
    return [{"name": name, "spans": found} for name, found in spans.items()]


def move_lane(
    story: Story, focus: set[str], findings: Sequence[Finding], notes: list[str]
) -> list[dict[str, Any]]:
    """Give what happened to places and money in focus: looked at, taken, given back, moved."""
    events = {index for finding in findings for index in finding.events}
    out: list[dict[str, Any]] = []
    holds: dict[tuple[str, int], dict[str, Any]] = {}
    for row in story.of(*MOVES):
        v = row.values
        if row.kind == "HOLDEND":
            taken = holds.get((v["holds"], v["hold"]))
            if taken is not None:
                out.append(
                    {
                        "t": row.t,
                        "kind": row.kind.lower(),
                        "by": taken["by"],
                        "text": f"{v['holds']}:{v['hold']} of {taken['place']} is {v['reason']}",
                    }
                )
            continue
        if not (v["owner"] == AGENT or row.index in events or set(named(row)) & focus):
            continue
        mark = {"t": row.t, "kind": row.kind.lower(), "by": v["owner"], "text": link(row).text}
        if row.kind == "HOLD":
            mark["place"] = f"{v['table']}:{v['key']}"
            holds[v["holds"], v["hold"]] = mark
        out.append(mark)
    out.sort(key=lambda mark: mark["t"])
    if len(out) > EVENTS_MAX:
        notes.append(f"money and places: {EVENTS_MAX} of {len(out):,} marks are drawn")
    return out[:EVENTS_MAX]


def named(row: Row) -> Iterator[str]:
    """Name the rows that a row of money or places is about."""
    v = row.values
    if "table" in v:
        yield f"{v['table']}:{v['key']}"
    for column in ("ref", "of"):
        if v.get(column):
            yield str(v[column])


def grade_lane(story: Story) -> list[dict[str, Any]]:
    """Give each predicate that was judged."""
    return [
        {
            "t": row.t,
            "role": row.values["role"],
            "predicate": row.values["predicate"],
            "holds": bool(row.values["holds"]),
            "evidence": row.values["evidence"],
            "keys": list(row.values["keys"]),
        }
        for row in story.of("GRADE")
    ]
