"""What the agent was served against what was true: H110 to H114, and A120 where it was allowed.

H110, H111 and H112 are told of each read, the others once for the same rows and versions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from simharness.findings.finding import Finding
from simharness.findings.story import AGENT, AUTH, Commit, Story
from simharness.product.tool import AS_OF
from simharness.product.view import OWN_WRITES, VERSIONS
from simharness.units import humanize

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from simharness.kernel.journal import Row


STREAMS = ("export", "feed")
"""Views that tell what has changed."""


def stale_reads(story: Story) -> Iterator[Finding]:
    """Find reads served older than their contract allows, and those that miss an own write."""
    for row in story.reads:
        table = row.values["view"].rpartition(".")[0]
        begin = -1
        for key, served, true, age in served_keys(row):
            if served != true:
                if not passed_over(story, row, key, served):
                    yield from judged(story, row, key, served, true, age)
                continue
            # What a view says of its own freshness isn't taken on trust.
            history = story.commits.get((table, key))
            if history is None or history[-1].after <= served:
                continue
            begin = story.exchanges[row.values["n"]].begin if begin < 0 else begin
            missed = [c for c in history if c.after > served and c.t < begin and c.row < row.index]
            if missed:
                newest = missed[-1].after
                yield from judged(story, row, key, served, newest, row.t - missed[0].t)


def passed_over(story: Story, row: Row, key: int, served: int) -> bool:
    """Tell whether an export or a feed left out a change that its source had: no stale read."""
    v = row.values
    table, _, kind = v["view"].rpartition(".")
    if kind not in STREAMS or key in v["rows"][::2]:
        return False
    return any(c.order <= v["order"] for c in newer_than(story, table, key, served, row.index))


def judged(story: Story, row: Row, key: int, served: int, true: int, age: int) -> Iterator[Finding]:
    """Judge one key of one stale read."""
    v: dict[str, Any] = row.values
    view: str = v["view"]
    table = view.rpartition(".")[0]
    later = newer_than(story, table, key, served, row.index)
    if not later:
        return
    saw = f"{view} served {table}:{key} v{served}, out of date for {humanize(age)} (now v{true})"
    if age > v["bound"]:
        if v["source"] == "cache" and not invalidated(story, view, later[0], row.index):
            code, text = "H112", f"{saw}, and no invalidation of v{served} was carried out"
        else:
            code, text = "H110", f"{saw} (allowed: {humanize(v['bound'])})"
        yield stale(story, row, later, (served, true, age), code, text)
    own = [c for c in later if c.owner == AGENT]
    if own and v["promises"] & OWN_WRITES:
        text = f"{saw}, although the agent itself wrote v{own[0].after}"
        yield stale(story, row, later, (served, true, age), "H111", text)


def stale(
    story: Story,
    row: Row,
    missed: Sequence[Commit],
    read: tuple[int, int, int],
    code: str,
    text: str,
) -> Finding:
    """Build a finding of one key of one stale read; `read` is version served, true version, age."""
    cause = missed[0]
    # The commit that made it stale, and the newest ones: what the reader needed may be any of them.
    shown = [cause, *missed[1:][-3:]]
    v = row.values
    events = (*(commit.row for commit in shown), row.index)
    mechanism = mechanism_of(v["view"], v["source"])
    return of_read(story, row, cause.key, read, (code, text, mechanism), events)


def of_read(
    story: Story,
    row: Row,
    key: int,
    read: tuple[int, int, int],
    what: tuple[str, str, str],
    events: tuple[int, ...],
    **more: object,
) -> Finding:
    """Build a finding of one key of one read.

    `read` is version served, true version, age; `what` is code, explanation, mechanism; `more` goes
    into the evidence.
    """
    v = row.values
    name = f"{v['view'].rpartition('.')[0]}:{key}"
    served, true, age = read
    code, text, mechanism = what
    return Finding(
        code=code,
        step=story.step_of(row.index),
        t=row.t,
        keys=(name,),
        evidence={
            "view": v["view"],
            "key": name,
            "served": served,
            "true": true,
            "age": age,
            "source": v["source"],
            **more,
        },
        events=events,
        explanation=text,
        mechanism=mechanism,
    )


def mechanism_of(view: str, source: str) -> str:
    """Name what an answer came from, as ablation does; empty for the primary."""
    table, _, kind = view.rpartition(".")
    if source in ("cache", "index"):
        return f"{source}:{view}"
    if source == "replica":
        return f"replica:{table}"
    return f"{kind}:{table}" if kind in ("feed", "export") else ""


def newer_than(story: Story, table: str, key: int, served: int, before: int) -> list[Commit]:
    """Give the commits of a row after the version served and before a row of the journal."""
    history = story.commits.get((table, key), ())
    return [c for c in history if c.after > served and c.row < before]


def invalidated(story: Story, view: str, commit: Commit, before: int) -> bool:
    """Tell whether a commit's invalidation was carried out before a row, from its own call on."""
    call = story.calls.get((commit.owner, commit.n))
    since = call.index if call is not None else commit.row
    return any(
        since < row.index < before and not for_an_earlier_one(story, commit, row)
        for row in story.invalidations.get((view, commit.key), ())
    )


def for_an_earlier_one(story: Story, commit: Commit, invalidation: Row) -> bool:
    """Tell a statement's invalidation from a slow one carried out while this writer was waiting.

    Both stand within the writer's call; the slow one bears the order of an earlier commit of the
    row. So may the statement's, when nothing else was committed in between, but that one is of the
    same instant as its commit, or as a statement of its open transaction.
    """
    if invalidation.index > commit.row or invalidation.t == commit.t:
        return False
    for row in story.of("TXWRITE"):
        v = row.values
        place = v["table"], v["key"], v["owner"], v["n"]
        if place == (commit.table, commit.key, commit.owner, commit.n) and row.t == invalidation.t:
            return False
    order = invalidation.values["order"]
    return any(c.order == order for c in story.commits[commit.table, commit.key])


def served_keys(row: Row) -> Iterator[tuple[int, int, int, int]]:
    """Give what a READ or LIST says of each row: key, version served, true version, age."""
    v = row.values
    if row.kind == "READ":
        yield v["key"], v["served"], v["true"], v["age"]
        return
    wrong = {key: (key, served, true, age) for key, served, true, age in fours(v["wrong"])}
    flat = v["rows"]
    if not wrong:
        for key, version in zip(flat[::2], flat[1::2], strict=True):
            yield key, version, version, 0
        return
    for key, version in zip(flat[::2], flat[1::2], strict=True):
        yield wrong.pop(key, (key, version, version, 0))
    yield from wrong.values()


def fours(flat: Sequence[int]) -> Iterator[tuple[int, int, int, int]]:
    """Take `[key, served, true, age, ...]` apart."""
    return zip(flat[::4], flat[1::4], flat[2::4], flat[3::4], strict=True)


# --- two views ------------------------------------------------------------------------------------


class Sight(NamedTuple):
    """One row as one view showed it."""

    view: str
    version: int
    true: int
    age: int
    bound: int
    source: str
    begin: int
    """Tick at which the call began."""
    row: int

    @property
    def excused(self) -> bool:
        """Whether the contract allows it to be out of date as it is."""
        return self.version != self.true and self.age <= self.bound


def views_disagree(story: Story) -> Iterator[Finding]:
    """Find rows that two views showed in different versions, with no commit in between."""
    seen: dict[tuple[str, int], dict[str, Sight]] = {}
    told: set[tuple[object, ...]] = set()
    for row in story.reads:
        v = row.values
        view: str = v["view"]
        if view.endswith(AUTH):
            continue
        table, _, kind = view.rpartition(".")
        begin = story.exchanges[v["n"]].begin
        shown = v["rows"][::2] if kind in STREAMS else None
        for key, version, true, age in served_keys(row):
            if shown is not None and key not in shown:
                continue  # who tells of changes says nothing of the rows left out
            others = seen.setdefault((table, key), {})
            for other in others.values():
                if other.version == version or other.view == view:
                    continue
                now = Sight(view, version, true, age, v["bound"], v["source"], begin, row.index)
                older, newer = (now, other) if version < other.version else (other, now)
                since = min(begin, other.begin)
                if older.excused or committed_since(story, table, key, since, row.index):
                    continue
                what = (table, key, older.view, older.version, newer.view, newer.version)
                if what not in told:
                    told.add(what)
                    yield disagreement(story, row, f"{table}:{key}", older, newer)
            others[view] = Sight(
                view, version, true, age, v["bound"], v["source"], begin, row.index
            )


def committed_since(story: Story, table: str, key: int, begin: int, before: int) -> bool:
    """Tell whether a row was committed from a tick on, before a row of the journal."""
    return any(c.t >= begin and c.row < before for c in story.commits.get((table, key), ()))


def disagreement(story: Story, row: Row, name: str, older: Sight, newer: Sight) -> Finding:
    """Build an H113."""
    return Finding(
        code="H113",
        step=story.step_of(row.index),
        t=row.t,
        keys=(name,),
        evidence={
            "view": older.view,
            "key": name,
            "served": older.version,
            "true": newer.version,
            "age": older.age,
            "source": older.source,
            "other": newer.view,
        },
        events=tuple(sorted((older.row, newer.row))),
        explanation=(
            f"{older.view} showed {name} v{older.version} and {newer.view} v{newer.version}, "
            f"and nobody committed it in between"
        ),
        mechanism=mechanism_of(older.view, older.source),
    )


# --- one instant for all rows ---------------------------------------------------------------------


def torn_lists(story: Story) -> Iterator[Finding]:
    """Find lists whose rows were never true together, although none is too old by itself."""
    for row in story.reads:
        if row.kind != "LIST":
            continue
        v = row.values
        table = v["view"].rpartition(".")[0]
        newest: Commit | None = None
        oldest: tuple[int, int, Commit] | None = None
        flat = v["rows"]
        for key, version in zip(flat[::2], flat[1::2], strict=True):
            for commit in story.commits.get((table, key), ()):
                if commit.row > row.index:
                    break
                if commit.after == version and (newest is None or commit.order > newest.order):
                    newest = commit
                elif commit.after > version:
                    if oldest is None or commit.order < oldest[2].order:
                        oldest = key, version, commit
                    break
        if newest is None or oldest is None or newest.order < oldest[2].order:
            continue
        key, served, ended = oldest
        if any(k == key and age > v["bound"] for k, _, _, age in fours(v["wrong"])):
            continue  # that is a stale read
        name = f"{table}:{key}"
        yield Finding(
            code="H114",
            step=story.step_of(row.index),
            t=row.t,
            keys=(name, f"{table}:{newest.key}"),
            evidence={
                "view": v["view"],
                "key": name,
                "served": served,
                "true": max(c.after for c in story.commits[table, key] if c.row < row.index),
                "age": row.t - ended.t,
                "source": v["source"],
            },
            events=(ended.row, newest.row, row.index),
            explanation=(
                f"{v['view']} showed {name} v{served} beside {table}:{newest.key} "
                f"v{newest.after}, which was committed when {name} was v{ended.after} already"
            ),
            mechanism=mechanism_of(v["view"], v["source"]),
        )


def mismatched_rows(story: Story) -> Iterator[Finding]:
    """Find rows that a filter returned as they are, although they no longer satisfy it."""
    for row in story.reads:
        v = row.values
        if row.kind != "LIST":
            continue
        table = v["view"].rpartition(".")[0]
        for key, served, true, age in fours(v["wrong"]):
            if served != true or age <= v["bound"]:
                continue
            name = f"{table}:{key}"
            made = [c for c in story.commits.get((table, key), ()) if c.t <= row.t - age]
            text = (
                f"{v['view']}({v['query']}) returned {name} v{served}, which has not satisfied "
                f"it for {humanize(age)}"
            )
            what = "H114", text, mechanism_of(v["view"], v["source"])
            events = (*(c.row for c in made[-1:]), row.index)
            yield of_read(story, row, key, (served, true, age), what, events, query=v["query"])


def missed_records(story: Story) -> Iterator[Finding]:
    """Find changes that an export or a feed passed over, although its source had them."""
    for row in story.reads:
        v = row.values
        table, _, kind = v["view"].rpartition(".")
        if row.kind != "LIST" or kind not in STREAMS:
            continue
        shown = v["rows"][::2]
        for key, served, true, age in fours(v["wrong"]):
            missed = [
                c for c in newer_than(story, table, key, served, row.index) if c.order <= v["order"]
            ]
            if key in shown or not missed:
                continue
            name = f"{table}:{key}"
            text = (
                f"{v['view']}({v['query']}) passed over {name} v{true}, committed "
                f"{humanize(age)} before, which the reader has never been given"
            )
            what = "H229", text, f"{kind}:{table}"
            events = (missed[-1].row, row.index)
            since = missed[-1].t
            yield of_read(story, row, key, (served, true, age), what, events, visible_since=since)


# --- allowed, and not said ------------------------------------------------------------------------


def silent_staleness(story: Story) -> Iterator[Finding]:
    """Find reads that are out of date within their contract, in answers that don't say so."""
    for row in story.reads:
        v = row.values
        if row.kind == "READ" and v["served"] == v["true"]:
            continue
        table = v["view"].rpartition(".")[0]
        for key, served, true, age in served_keys(row):
            if age > v["bound"] or signalled(row, story.exchanges[v["n"]].value):
                continue
            later = newer_than(story, table, key, served, row.index)
            if not later or any(c.owner == AGENT for c in later):
                continue
            if passed_over(story, row, key, served):
                continue  # no lag: it will never come
            text = (
                f"{v['view']} served {table}:{key} v{served}, out of date for "
                f"{humanize(age)} (now v{true}): allowed up to {humanize(v['bound'])}, and not said"
            )
            yield stale(story, row, later[-1:], (served, true, age), "A120", text)


def signalled(row: Row, value: object) -> bool:
    """Tell whether an answer says as of when it is true, or shows versions to be compared."""
    return bool(row.values["promises"] & VERSIONS) or (isinstance(value, dict) and AS_OF in value)
