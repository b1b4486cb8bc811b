"""What happened in an episode, as actions of a report: who did what when, and how long it took."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from simharness.blame.case import story_of_episode
from simharness.episode.episode import Episode
from simharness.episode.inputs import read_inputs, read_outside
from simharness.episode.replay import plan_of
from simharness.errors import HarnessError
from simharness.findings.causes import causes_of
from simharness.kernel.calendar import format_instant

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from simharness.findings.story import Commit, Story
    from simharness.kernel.journal import Row
    from simharness.kernel.operation import Operation
    from simharness.parts.row import Column
    from simharness.product.tool import ToolSpec
    from simharness.recording.reader import EpisodeRecord

EFFECTS = ("READ", "LIST", "CHECKED", "LOCK", "COMMIT", "GATEWAY")
"""Rows of a call that say when it looked or wrote."""


@dataclass(slots=True)
class Heard:
    """One thing that somebody did."""

    actor: str
    identity: int
    call: str
    args: Any
    """As a report has them: a map, or the raw text of a call that fits no tool."""
    at: int
    """Tick."""
    pins: dict[str, int] = field(default_factory=dict[str, int])
    """Waits in ticks."""
    n: int = 0
    touched: frozenset[str] = frozenset()
    """Rows that it read or wrote, as `table:id`."""
    unchecked: bool = False


@dataclass(frozen=True, slots=True)
class Past:
    """A whole episode, played again while somebody listened."""

    episode: Episode
    story: Story
    acts: list[Heard]
    """What others did than the agent, by their times."""


def listen(record: EpisodeRecord, until: int | None = None) -> Past:
    """Play a recording again and write down what everybody did.

    `until` is the last step of the agent's. Raises DamagedRecording or VersionError.
    """
    plan = plan_of(record)
    calls: list[tuple[Operation, str, Mapping[str, Any]]] = []
    episode = Episode(
        plan,
        outside=read_outside(record).get(0, []),
        heard=lambda op, tool, args: calls.append((op, tool, args)),
    )
    for given in read_inputs(record)[:until]:
        if episode.ended:
            break
        try:
            episode.send(given)
        except HarnessError:
            if episode.aborted is None:
                raise
    story = story_of_episode(episode)
    rows = rows_of_calls(story)
    acts: list[Heard] = []
    for op, tool, args in calls:
        if op.actor.audited:
            continue
        name = op.actor.name
        own = rows.get((name, op.n), [])
        spec = episode.product.operations.get(tool) or episode.product.tools[tool]
        acts.append(
            Heard(
                actor=name,
                identity=op.actor.identity,
                call=tool,
                args=told(spec, args),
                at=own[0].t if own else op.begin,
                pins=waits(story, own),
                n=op.n,
                touched=touched(own),
            )
        )
    acts += deeds(episode, story, {(op.actor.name, op.n) for op, _, _ in calls})
    return Past(episode, story, sorted(acts, key=lambda act: act.at))


def rows_of_calls(story: Story) -> dict[tuple[str, int], list[Row]]:
    """Give the rows of each operation, in order."""
    out: dict[tuple[str, int], list[Row]] = defaultdict(list)
    for row in story.of("CALL", "RETURN", "MISS", *EFFECTS):
        out[row.values["owner"], row.values["n"]].append(row)
    return out


def waits(story: Story, rows: list[Row]) -> dict[str, int]:
    """Work out how long a call waited for the API, for the database, and for its cache."""
    begun = [row for row in rows if row.kind == "CALL"]
    effects = [row for row in rows if row.kind in EFFECTS]
    if not begun or not effects:
        return {}
    instants = sorted({row.t for row in effects})
    db = (instants[-1] - instants[0]) // max(1, len(instants) - 1)
    first = effects[0]
    api = instants[0] - begun[0].t
    if first.kind in ("READ", "LIST") and first.values["source"] != "cache":
        api = max(0, api - db)  # it waited for the database before its first answer, too
    out = {"api": api, "db": db, "put": put_wait(story, rows)}
    return {name: ticks for name, ticks in out.items() if ticks}


def put_wait(story: Story, rows: list[Row]) -> int:
    """Give the longest time from a miss's answer until it landed in the cache, or was refused."""
    longest = 0
    for miss in rows:
        if miss.kind != "MISS":
            continue
        place = miss.values["view"], miss.values["key"]
        answered = next((r.t for r in rows if r.index > miss.index and r.kind in EFFECTS), miss.t)
        for fill in story.of("FILL", "FENCED"):
            if fill.index > miss.index and (fill.values["view"], fill.values["key"]) == place:
                longest = max(longest, fill.t - answered)
                break
    return longest


def touched(rows: list[Row]) -> frozenset[str]:
    """Name the rows that a call read or wrote."""
    out: set[str] = set()
    for row in rows:
        v = row.values
        if row.kind == "READ":
            out.add(f"{v['view'].rpartition('.')[0]}:{v['key']}")
        elif row.kind == "LIST":
            table = v["view"].rpartition(".")[0]
            out |= {f"{table}:{key}" for key in v["rows"][::2]}
        elif row.kind in ("COMMIT", "CHECKED"):
            out.add(f"{v['table']}:{v['key']}")
    return frozenset(out)


def told(spec: ToolSpec, args: Mapping[str, Any]) -> dict[str, Any]:
    """Give checked arguments as callers write them; what is at its default is left out."""
    return {
        parameter.name: written(parameter.schema, args[parameter.name])
        for parameter in spec.parameters
        if parameter.name in args and args[parameter.name] != parameter.default
    }


def written(schema: Mapping[str, Any], value: Any) -> Any:
    """Write a checked argument as its schema has it: instants and names of rows as texts."""
    schema = schema.get("anyOf", (schema,))[0]
    if type(value) is int and schema.get("format") == "date-time":
        return format_instant(value)
    if type(value) is int and "pattern" in schema:
        return f"{schema['pattern'].lstrip('^').partition('-')[0]}-{value}"
    if isinstance(value, dict):
        fields = schema.get("properties", {})
        items = cast("dict[str, Any]", value)
        return {name: written(fields.get(name, {}), item) for name, item in items.items()}
    if isinstance(value, list | tuple):
        listed = cast("Sequence[Any]", value)
        return [written(schema.get("items", {}), item) for item in listed]
    return value


def deeds(episode: Episode, story: Story, called: set[tuple[str, int]]) -> list[Heard]:
    """Give what people wrote without calling a tool, as transactions; not what the product did."""
    causes = causes_of(story)
    by_op: dict[tuple[str, int], list[Commit]] = defaultdict(list)
    for history in story.commits.values():
        for commit in history:
            op = commit.owner, commit.n
            if op not in called and op not in causes and commit.owner != episode.agent.name:
                by_op[op].append(commit)
    out: list[Heard] = []
    for (owner, n), commits in by_op.items():
        stores = episode.product.stores
        if any("detail" not in stores[commit.table].details for commit in commits):
            continue  # no operation writes such a table
        keys = frozenset(f"{commit.table}:{commit.key}" for commit in commits)
        tx = {"tx": f"t{n}"}
        steps = [("db.begin", tx)]
        steps += [statement(episode, commit, tx) for commit in sorted(commits, key=by_row)]
        steps.append(("db.commit", tx))
        out += [
            Heard(owner, 0, call, args, commits[0].t, n=n, touched=keys) for call, args in steps
        ]
    return out


def by_row(commit: Commit) -> int:
    """Order commits as the journal has them."""
    return commit.row


def statement(episode: Episode, commit: Commit, tx: dict[str, str]) -> tuple[str, dict[str, Any]]:
    """Write what a commit did to a row as an operation."""
    row_type = episode.product.stores[commit.table].spec.row_type
    columns: list[Column] = [row_type.columns[number] for number in commit.delta[::2]]
    changed = zip(columns, commit.delta[1::2], strict=True)
    fields = {column.name: column.shown(value) for column, value in changed}
    place = {**tx, "table": commit.table}
    ids: dict[str, Any] = {"id": row_type.by_name["id"].shown(commit.key)}
    if not columns:
        return "db.delete", {**place, **ids}
    if commit.before == 0:
        return "db.insert", {**place, "fields": {n: v for n, v in fields.items() if v is not None}}
    return "db.update", {**place, **ids, "fields": fields}
