"""The goal of a report that is written from an episode: in rows, or that of its scenario."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from simharness.blame.case import story_of_episode
from simharness.env import finish, new_episode
from simharness.errors import HarnessError
from simharness.findings.causes import causes_of, root_of
from simharness.parts.row import SYSTEM_COLUMNS
from simharness.product.script import AGENT, SLUG
from simharness.reports.shrink import narrowed
from simharness.reports.sketch import reached
from simharness.reports.write import holds

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from simharness.episode.episode import Episode
    from simharness.recording.reader import EpisodeRecord
    from simharness.reports.sketch import Sketch


def goal_of(record: EpisodeRecord, episode: Episode) -> dict[str, Any]:
    """Write a goal in rows: what the reference leaves behind that was not left here.

    Empty where the reference doesn't get there, or nothing tells the two apart.
    """
    expert = episode.scenario.policies.get("expert")
    if expert is None:
        return {}
    plan = replace(episode.plan, faults=(), pins=episode.instance)
    try:
        best = finish(new_episode(plan, "expert"), expert, askable=False).episode
    except HarnessError:
        return {}
    if not best.passed:
        return {}
    goal = [c for c in best.criteria if c.role == "goal"]
    judged = [name.partition(".")[::2] for criterion in goal for name in criterion.keys]
    # Where the criteria name no rows, those that the reference wrote tell what it came to.
    for places in (judged, written_by(best)):
        rows: list[dict[str, Any]] = []
        for place, column in places:
            match = match_of(best, place, column)
            if match is not None and match not in rows and not left_by(episode, match):
                rows.append(match)
        if rows:
            return {"rows": rows}
    return {}


def goals_left(episode: Episode) -> list[dict[str, Any]]:
    """Write goals that an episode met: each a row that its agent left."""
    matches = [match_of(episode, place, column) for place, column in written_by(episode)]
    left = [match for match in matches if match is not None and left_by(episode, match)]
    return [{"rows": [match]} for i, match in enumerate(left) if match not in left[:i]]


def with_goal(sketch: Sketch, episode: Episode, goal: Mapping[str, Any]) -> Sketch:
    """Give a sketch a goal, and the rows that it names."""
    product = type(episode.product)
    named = {f"{name}:{row['id']}" for name, rows in sketch.rows.items() for row in rows}
    for match in goal["rows"]:
        named.add(f"{match['table']}:{match['where'].get('id', 0)}")
        for column, other in product.references(match["table"]).items():
            named.add(f"{other}:{match['where'].get(column, 0)}")
    named = {product.row_name(name) for name in named}
    return replace(sketch, goal=goal, rows=reached(episode, named))


def with_task(sketch: Sketch, episode: Episode, primary: Mapping[str, Any]) -> Iterator[Sketch]:
    """Give a sketch the goal of its scenario: with the rows that were named, and with all rows."""
    slug = episode.plan.scenario.rpartition("/")[2]
    if slug == SLUG:
        return
    task = replace(sketch, goal={"scenario": slug, "instance": dict(episode.instance)})
    product = type(episode.product)
    if product.materials:
        yield replace(task, rows={})
        return
    keys = {key.partition(".")[0] for c in episode.criteria for key in c.keys}
    there = {f"{name}:{row['id']}" for name, rows in sketch.rows.items() for row in rows}
    near = {product.row_name(name) for name in (*keys, *there)}
    yield from narrowed(replace(task, rows=reached(episode, near)), primary)
    every = [
        f"{n}:{key}" for n, store in episode.product.stores.items() for key in store.table.rows
    ]
    yield replace(task, rows=reached(episode, every))


def written_by(best: Episode) -> list[tuple[str, str]]:
    """Name what the agent wrote, or caused to be written: rows with their columns."""
    story = story_of_episode(best)
    causes = causes_of(story)
    out: list[tuple[str, str]] = []
    for history in story.commits.values():
        for commit in history:
            if root_of(causes, (commit.owner, commit.n))[0] == AGENT and commit.delta:
                place = f"{commit.table}:{commit.key}"
                out += [(place, story.column(commit.table, n)) for n in commit.delta[::2]]
    return out


def match_of(best: Episode, place: str, column: str) -> dict[str, Any] | None:
    """Write what the reference left in a row, so that it can be counted."""
    table, _, number = place.partition(":")
    store = best.product.stores.get(table)
    row = store.table.rows.get(int(number)) if store is not None and number.isdecimal() else None
    if store is None or row is None:
        return None
    row_type = store.table.row_type
    told = row_type.json(row)
    if store.table.row_at(row.id, 0) is not None:
        where = {"id": told["id"], column: told.get(column)} if column not in ("", "id") else {}
    else:
        # A row that was made: its id, and that of others that were, is nobody's business, nor are
        # texts that anybody may choose.
        others = type(best.product).references(table)
        where = {
            c.name: told[c.name]
            for c in row_type.columns
            if c.name not in SYSTEM_COLUMNS
            and not c.instant
            and (c.kind is not str or c.choices or c.name == "currency")
            and (c.name not in others or of_start(best, others[c.name], getattr(row, c.name)))
        }
    where = {name: item for name, item in where.items() if item is not None}
    return {"table": table, "where": where} if len(where) > 1 and holds(where) else None


def named_at_start(episode: Episode, name: str) -> bool:
    """Tell whether a name, as `table:id`, is that of a row that was there at the start."""
    table, _, number = name.partition(":")
    known = table in episode.product.stores and number.isdecimal()
    return known and of_start(episode, table, int(number))


def of_start(best: Episode, table: str, key: object) -> bool:
    """Tell whether a row was there at the start."""
    return isinstance(key, int) and best.product.stores[table].table.row_at(key, 0) is not None


def left_by(episode: Episode, match: Mapping[str, Any]) -> bool:
    """Tell whether an episode, too, has left exactly one row of that kind."""
    table = episode.product.stores[match["table"]].table
    where: dict[str, Any] = match["where"]
    rows = [table.row_type.json(row) for row in table]
    return sum(all(row[name] == item for name, item in where.items()) for row in rows) == 1
