"""Values that were never committed: H230, for what the agent was served and told."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any, cast

from simharness.errors import UsageError
from simharness.findings.finding import Finding
from simharness.findings.reads import mechanism_of, served_keys
from simharness.findings.story import AUTH, told_rows
from simharness.kernel.calendar import format_instant
from simharness.parts.row import SYSTEM_COLUMNS
from simharness.parts.row_name import number_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from simharness.findings.story import Commit, Exchange, Story
    from simharness.kernel.journal import Row

Place = tuple[str, int]
"""Table and id."""
Shown = dict[str, Any]


def phantom_versions(story: Story) -> Iterator[Finding]:
    """Find reads that served a version which nobody had committed by then.

    Of a row without any commit, the start version isn't on record: the lowest that anybody was
    served is taken for it.
    """
    first: dict[Place, dict[int, Row]] = {}
    """Of rows without a commit: the first read of each version."""
    told: set[tuple[Place, int]] = set()
    for row in story.reads:
        table = row.values["view"].rpartition(".")[0]
        for key, version, _, _ in served_keys(row):
            place = table, key
            history = story.commits.get(place)
            if history is None:
                first.setdefault(place, {}).setdefault(version, row)
                continue
            known = version == history[0].before or any(
                c.after == version and c.row < row.index for c in history
            )
            if not known and (place, version) not in told:
                told.add((place, version))
                earlier = (c.after for c in history if c.row < row.index)
                newest = max(earlier, default=history[0].before)
                yield phantom_version(story, row, place, version, newest)
    lowest = {place: min(versions) for place, versions in first.items()}
    read_by_others(story, lowest)
    for place, versions in first.items():
        for version, row in versions.items():
            if version > lowest[place]:
                yield phantom_version(story, row, place, version, lowest[place])


def read_by_others(story: Story, lowest: dict[Place, int]) -> None:
    """Lower the lowest versions of rows to what background actors read or meant to change."""
    for row in story.of("TXWRITE"):
        v = row.values
        place = v["table"], v["key"]
        if v["before"] < lowest.get(place, 0):
            lowest[place] = v["before"]
    tables: dict[str, str] = {}
    for row in story.of("READ"):
        v = row.values
        view = v["view"]
        table = tables.get(view)
        if table is None:
            table = tables[view] = view.rpartition(".")[0]
        place = table, v["key"]
        if v["served"] < lowest.get(place, 0):
            lowest[place] = v["served"]


def phantom_version(story: Story, row: Row, place: Place, version: int, newest: int) -> Finding:
    """Build an H230 of a version."""
    text = (
        f"{row.values['view']} served {place[0]}:{place[1]} v{version}, which nobody had "
        f"committed: the newest was v{newest}"
    )
    return phantom(story, row, place, {"served": version, "true": newest}, text)


def phantom(
    story: Story,
    row: Row,
    place: Place,
    evidence: dict[str, Any],
    explanation: str,
    cause: tuple[int, ...] = (),
) -> Finding:
    """Build an H230."""
    v = row.values
    name = f"{place[0]}:{place[1]}"
    view: str = v.get("view", "")
    source: str = v.get("source", "primary")
    fills = [
        f.index
        for f in story.of("FILL")
        if source == "cache"
        and f.index < row.index
        and f.values["view"] == view
        and f.values["key"] == v.get("query", place[1])
    ]
    return Finding(
        code="H230",
        step=story.step_of(row.index),
        t=row.t,
        keys=(name,),
        evidence={"view": view, "key": name, **evidence, "source": source},
        events=tuple(sorted({*cause, *fills[-1:], row.index})),
        explanation=explanation,
        mechanism="" if view.endswith(AUTH) else mechanism_of(view, source),
    )


# --- contents -------------------------------------------------------------------------------------


class Books:
    """What the journal and earlier answers say that each version of each row holds."""

    def __init__(self, story: Story) -> None:
        self._story = story
        self._told: dict[Place, dict[int, tuple[Shown, int]]] = defaultdict(dict)
        """What was told first of each version, and the row that served it."""
        self._start: dict[Place, dict[int, tuple[Any, int]]] = defaultdict(dict)
        """Values of columns that nobody had written, as told first, and the row that served."""

    def compare(self, place: Place, shown: Shown, at: int) -> list[tuple[str, Any, Any, int]]:
        """Give the columns that differ: name, value told, value on record, row that shows it."""
        versions = self._told[place]
        version: int = shown["version"]
        held = versions.get(version)
        if held is not None:
            if held[0] == shown:
                return []
            first, row = held
            return [
                (name, shown.get(name), first[name], row)
                for name in first
                if first[name] != shown.get(name)
            ]
        versions[version] = shown, at
        names = tuple(shown)
        out: list[tuple[str, Any, Any, int]] = []
        written = self._written(place, version)
        start = self._start[place]
        for i in range(len(SYSTEM_COLUMNS), len(names)):
            name = names[i]
            value = shown[name]
            if i in written:
                committed, commit = written[i]
                if not same(committed, value):
                    out.append((name, value, committed, commit.row))
            else:
                first_value, row = start.setdefault(i, (value, at))
                if first_value != value:
                    out.append((name, value, first_value, row))
        return out

    def _written(self, place: Place, version: int) -> dict[int, tuple[Any, Commit]]:
        out: dict[int, tuple[Any, Commit]] = {}
        for commit in self._story.commits.get(place, ()):
            if commit.after > version:
                break
            delta = commit.delta
            for i in range(0, len(delta), 2):
                out[delta[i]] = delta[i + 1], commit
        return out


def same(committed: object, told: object) -> bool:
    """Tell whether an answer shows a committed value; instants and names are told as text."""
    if committed == told:
        return True
    if isinstance(committed, tuple):
        committed = [*cast("tuple[object, ...]", committed)]
    if isinstance(told, tuple):
        told = [*cast("tuple[object, ...]", told)]
    if isinstance(committed, list):
        return committed == told
    if type(committed) is not int or type(told) is not str:
        return False
    if number_of(told) == committed:
        return True
    try:
        return format_instant(committed) == told
    except UsageError:
        return False


def phantom_contents(story: Story) -> Iterator[Finding]:
    """Find rows that were told with contents that their version does not have."""
    books = Books(story)
    told: set[tuple[Place, int, tuple[str, ...]]] = set()
    uncommitted = served_uncommitted(story)
    for exchange in story.exchanges.values():
        for table, shown, row in told_rows(exchange):
            place = table, number_of(shown["id"]) or 0
            version: int = shown["version"]
            served = row if row is not None else story.rows[written_at(exchange, place)]
            if (served.index, place) in uncommitted:
                continue  # has a finding of its own, and says nothing of other versions
            if row is not None and row.kind == "LIST" and not delivered(row, place[1], version):
                what: tuple[Place, int, tuple[str, ...]] = place, version, ()
                if what not in told:
                    told.add(what)
                    yield phantom(
                        story,
                        served,
                        place,
                        {"served": version, "true": delivered_version(row, place[1])},
                        f"the answer of {exchange.tool} shows {table}:{place[1]} v{version}, "
                        f"which {row.values['view']} did not deliver",
                    )
                continue
            columns = story.surface.columns.get(table)
            if columns is not None and len(columns) != len(shown):
                continue  # a row of another shape, which is a finding of its own
            wrong = books.compare(place, shown, served.index)
            what = place, version, tuple(name for name, *_ in wrong)
            if not wrong or what in told:
                continue
            told.add(what)
            name, value, committed, cause = wrong[0]
            yield phantom(
                story,
                served,
                place,
                {
                    "served": version,
                    "true": version,
                    "column": name,
                    "shown": value,
                    "committed": committed,
                },
                f"{table}:{place[1]} v{version} was told with {', '.join(what[2])} other than "
                f"committed: {name} {value!r}, on record {committed!r}",
                (cause,) if cause != served.index else (),
            )


def served_uncommitted(story: Story) -> set[tuple[int, Place]]:
    """Give the reads of what an open transaction hadn't committed: row of the journal, and place.

    Their versions are one above what was committed when the statement was made.
    """
    made: dict[tuple[Place, int], int] = {}
    for row in story.of("TXWRITE"):
        v = row.values
        made.setdefault(((v["table"], v["key"]), v["before"] + 1), row.index)
    out: set[tuple[int, Place]] = set()
    if not made:
        return out
    for row in story.reads:
        table = row.values["view"].rpartition(".")[0]
        for key, version, _, _ in served_keys(row):
            place = table, key
            if made.get((place, version), row.index) < row.index and not any(
                c.after == version and c.row < row.index for c in story.commits.get(place, ())
            ):
                out.add((row.index, place))
    return out


def written_at(exchange: Exchange, place: Place) -> int:
    """Give the COMMIT by which a call made a row what it tells."""
    return next(c.row for c in reversed(exchange.commits) if (c.table, c.key) == place)


def delivered_version(row: Row, key: int) -> int:
    """Give the version in which a LIST delivered a row; 0 for none."""
    flat = row.values["rows"]
    return next((flat[i + 1] for i in range(0, len(flat), 2) if flat[i] == key), 0)


def delivered(row: Row, key: int, version: int) -> bool:
    """Tell whether a LIST delivered a row in a version."""
    return delivered_version(row, key) == version
