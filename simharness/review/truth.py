"""What was true: the same answer, had every view that it was read through told the truth.

A recording holds the versions that were served and that were true, and not the rows of the latter.
So an episode with a stale read is replayed once, and the rows come from its tables' histories.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from simharness.blame.sightings import about_task, reads_of
from simharness.findings.story import is_row, page_of, plain, source_of
from simharness.parts.row_name import number_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from simharness.episode.episode import Episode
    from simharness.findings.story import Exchange
    from simharness.kernel.journal import Row

NOT_FOUND = "not_found"


@dataclass(frozen=True, slots=True)
class Truth:
    """A true answer, as far as it can be told."""

    ok: bool
    value: Any
    """The answer, or the error."""
    whole: bool
    """False for an answer that is worked out of rows and doesn't show them: only the rows that it
    rests on can be told then, and `value` is what was seen."""


class Versions:
    """The rows of all versions of an episode's tables, as answers show them."""

    def __init__(self, episode: Episode) -> None:
        self._tables = {name: store.table for name, store in episode.product.stores.items()}

    def row(self, table: str, key: int, version: int) -> dict[str, Any] | None:
        """Give a row; None where that version is a deletion, or was before the row's birth."""
        held = self._tables[table]
        changes = held.history.get(key, [])
        for change in changes:
            if change.version == version:
                return None if change.new is None else held.row_type.json(change.new)
        first = changes[0].old if changes else held.rows.get(key)
        return held.row_type.json(first) if first is not None and version > 0 else None


def truth_of(exchange: Exchange, versions: Versions) -> Truth | None:
    """Give the true answer of one call; None where the one that was told is true."""
    stale = [row for row in exchange.reads if about_task(row) and is_wrong(row)]
    if not stale or not exchange.told:
        return None
    if not exchange.ok:
        return truth_of_refusal(exchange, stale, versions)
    value: object = exchange.value
    if not isinstance(value, dict):
        return Truth(True, value, False)
    answer = cast("dict[str, Any]", value)
    if is_row(plain(answer)):
        place = source_of(exchange, plain(answer))
        row = place[1] if place is not None else None
        if row is not None and row in stale:
            return truth_of_row(answer, row, versions)
        return Truth(True, answer, False)
    listed = page_of(exchange)
    if listed is not None and listed[1] in stale:
        return truth_of_page(answer, listed[0], listed[1], versions)
    return Truth(True, answer, False)


def is_wrong(row: Row) -> bool:
    """Tell whether a READ or LIST served anything but the truth."""
    return any(age for _, _, _, age in reads_of(row))


def truth_of_refusal(exchange: Exchange, stale: list[Row], versions: Versions) -> Truth:
    """Give the row that a `not_found` should have been; other refusals stay as they are."""
    read = stale[-1].values
    refused = cast("dict[str, Any]", exchange.value)
    if stale[-1].kind == "READ" and refused.get("code") == NOT_FOUND:
        table = str(read["view"]).rpartition(".")[0]
        found = versions.row(table, read["key"], read["true"])
        if found is not None:
            return Truth(True, found, True)
    return Truth(False, refused, False)


def truth_of_row(answer: Mapping[str, Any], row: Row, versions: Versions) -> Truth:
    """Give the row at its true version, with the columns that the answer shows."""
    v = row.values
    table = str(v["view"]).rpartition(".")[0]
    found = versions.row(table, v["key"], v["true"])
    if found is None:
        return Truth(False, {"code": NOT_FOUND, "message": f"{table}:{v['key']} is gone"}, True)
    return Truth(True, renewed(answer, found), True)


def truth_of_page(answer: Mapping[str, Any], table: str, row: Row, versions: Versions) -> Truth:
    """Give a page with its rows as they were, without those that matched no longer.

    Rows that were missing come behind the others, if the page shows all that was listed: of several
    pages it isn't known on which one they would have stood.
    """
    wrong = {key: (served, true) for key, served, true, age in reads_of(row) if age}
    shown = cast("list[dict[str, Any]]", answer[table])
    listed = set(row.values["rows"][::2])
    items: list[dict[str, Any]] = []
    for item in shown:
        key = number_of(item.get("id"))
        if key is None or key not in wrong:
            items.append(item)
            continue
        served, true = wrong[key]
        found = versions.row(table, key, true)
        if found is not None and served != true:
            items.append(renewed(item, found))
    if len(shown) == len(listed):
        for key in sorted(wrong.keys() - listed):
            found = versions.row(table, key, wrong[key][1])
            if found is not None:
                items.append(found)
    ids = [item.get("id") for item in items]
    return Truth(True, {**answer, table: items, "ids": ids}, True)


def renewed(shown: Mapping[str, Any], true: Mapping[str, Any]) -> dict[str, Any]:
    """Give what was shown, with the true value of each column of the row."""
    return {name: true.get(name, value) for name, value in shown.items()}
