"""What the agent saw beside what was true: every read of its, with the columns that differed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from simharness.findings.story import AGENT
from simharness.parts.row_name import number_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from simharness.kernel.journal import Row
    from simharness.parts.row import RowType
    from simharness.product.product import Product
    from simharness.recording.rows import Rows, Told


@dataclass(frozen=True, slots=True)
class Sighting:
    """One row that the agent read."""

    step: int
    t: int
    """Tick."""
    view: str
    key: str
    """`table:id`."""
    served: int
    true: int
    age: int
    """Ticks since when it had been wrong; 0 for a fresh read."""
    source: str
    differences: tuple[tuple[str, Any, Any], ...]
    """`(column, saw, true)`; what was seen is None where the answer didn't show it."""

    def record(self) -> dict[str, Any]:
        """Give the sighting as JSON shows it."""
        return {
            "step": self.step,
            "t": self.t,
            "view": self.view,
            "key": self.key,
            "served": self.served,
            "true": self.true,
            "age": self.age,
            "source": self.source,
            "differences": [{"column": c, "saw": a, "true": b} for c, a, b in self.differences],
        }


def sightings(rows: Rows, product: type[Product]) -> list[Sighting]:
    """List what the agent read, in order."""
    types: dict[str, RowType[Any]] = {name: spec.row_type for name, spec in product.specs().items()}
    commits = [row for row in rows.rows if row.kind == "COMMIT"]
    out: list[Sighting] = []
    for told in rows.steps:
        last = next((s.first for s in rows.steps if s.step == told.step + 1), len(rows.rows))
        for row in rows.rows[told.first : last]:
            if row.values.get("owner") != AGENT or not about_task(row):
                continue
            for key, served, true, age in reads_of(row):
                view: str = row.values["view"]
                table = view.rpartition(".")[0]
                differences: list[tuple[str, Any, Any]] = []
                if age:
                    kind = types[table]
                    differences = differ(kind, commits, told, table, key, served, row.index)
                out.append(
                    Sighting(
                        told.step,
                        row.t,
                        view,
                        f"{table}:{key}",
                        served,
                        true,
                        age,
                        row.values["source"],
                        tuple(differences),
                    )
                )
    return out


def about_task(row: Row) -> bool:
    """Tell whether a row is a read that the agent asked for (reads of permissions are not)."""
    return row.kind in ("READ", "LIST") and not row.values["view"].endswith(".auth")


def reads_of(row: Row) -> Iterator[tuple[int, int, int, int]]:
    """Give `(key, served, true, age)` of a READ, and of what was wrong in a LIST."""
    v = row.values
    if row.kind == "READ":
        yield v["key"], v["served"], v["true"], v["age"]
        return
    wrong = {
        key: (served, true, age)
        for key, served, true, age in zip(*[iter(v["wrong"])] * 4, strict=True)
    }
    for key, version in zip(*[iter(v["rows"])] * 2, strict=True):
        if key not in wrong:
            yield key, version, version, 0
    for key, (served, true, age) in wrong.items():
        yield key, served, true, age


def differ(
    row_type: RowType[Any],
    commits: list[Row],
    told: Told,
    table: str,
    key: int,
    served: int,
    before: int,
) -> list[tuple[str, Any, Any]]:
    """List the columns changed after version `served`, with what the agent was shown."""
    shown = shown_row(told, key)
    true: dict[str, Any] = {}
    for row in commits:
        v = row.values
        if (v["table"], v["key"]) != (table, key):
            continue
        if abs(v["after"]) <= served or row.index >= before:
            continue
        numbers: list[int] = v["delta"][::2]
        values: list[Any] = v["delta"][1::2]
        for number, value in zip(numbers, values, strict=True):
            column = row_type.columns[number]
            true[column.name] = column.shown(value)
    return [
        (name, shown.get(name), value) for name, value in true.items() if shown.get(name) != value
    ]


def shown_row(told: Told, key: int) -> Mapping[str, Any]:
    """Find the row with this id in what a step told the agent."""
    for _, value in told.results:
        for shown in objects_in(value):
            if number_of(shown.get("id")) == key:
                return shown
    return {}


def objects_in(value: object) -> Iterator[Mapping[str, Any]]:
    """Give an answer that is an object, then the objects in its lists."""
    if not isinstance(value, dict):
        return
    answer = cast("dict[str, Any]", value)
    yield answer
    for inner in answer.values():
        if isinstance(inner, list):
            for item in cast("list[object]", inner):
                if isinstance(item, dict):
                    yield cast("dict[str, Any]", item)
