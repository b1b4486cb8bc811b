"""Calls and answers against what was published: H410, H411, H412, H413."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any, cast

from simharness.findings.finding import Finding
from simharness.findings.schema import fits, plain_object
from simharness.findings.story import is_row, plain
from simharness.product.result import ANY

if TYPE_CHECKING:
    from collections.abc import Iterator

    from simharness.findings.story import Exchange, Story
    from simharness.kernel.journal import Row

Shape = tuple[str, tuple[str, ...]]
"""Kind of an answer (row, page, object, or its type) and what it is made of."""

INVALID = "invalid_arguments"


def changed_schemas(story: Story) -> Iterator[Finding]:
    """Find tools whose schemas are no longer those that the agent was shown."""
    noted = story.of("SCHEMA")
    for before, row in pairwise(noted):
        if row.values["digest"] != before.values["digest"]:
            yield Finding(
                code="H410",
                step=story.step_of(row.index),
                t=row.t,
                keys=(),
                evidence={"shown": before.values["digest"], "now": row.values["digest"]},
                events=(before.index, row.index),
                explanation=(
                    f"the schemas of the tools are now {row.values['digest'][:8]}, "
                    f"the agent was shown {before.values['digest'][:8]}"
                ),
            )


def misjudged_calls(story: Story) -> Iterator[Finding]:
    """Find calls that fit the published schema and were refused as bad, and the other way round.

    Arguments that two JSON readers could take for different values are not judged, nor is anything
    without the schemas.
    """
    for exchange in story.exchanges.values():
        schema = story.surface.schemas.get(exchange.tool)
        refusal = exchange.rows.get("BADCALL")
        row = refusal or exchange.rows.get("CALL")
        if schema is None or exchange.arguments is None or row is None:
            continue
        if refusal is not None and refusal.values["reason"] == "too_many_calls":
            continue  # the turn was too long, whatever the call said
        arguments = plain_object(exchange.arguments)
        if arguments is None:
            continue
        valid = fits(schema, arguments)
        if valid and refusal is not None:
            reason = refusal.values["reason"]
            text = f"the call of {exchange.tool} fits its schema and was refused as {reason}"
            yield misjudged(exchange, row, "H411", text, arguments)
        elif not valid and refusal is None and not refused(exchange):
            text = f"the call of {exchange.tool} does not fit its schema and was taken"
            yield misjudged(exchange, row, "H412", text, arguments)


def refused(exchange: Exchange) -> bool:
    """Tell whether the product itself refused the arguments."""
    returned = exchange.rows.get("RETURN")
    return returned is not None and returned.values["status"] == INVALID


def misjudged(
    exchange: Exchange, row: Row, code: str, text: str, arguments: dict[str, Any]
) -> Finding:
    """Build an H411 or H412."""
    return Finding(
        code=code,
        step=exchange.step,
        t=row.t,
        keys=(),
        evidence={"tool": exchange.tool, "arguments": sorted(arguments)},
        events=(row.index,),
        explanation=text,
    )


# --- answers --------------------------------------------------------------------------------------


def bad_shapes(story: Story) -> Iterator[Finding]:
    """Find answers of another form than their tool declares, once a tool and problem."""
    told: set[tuple[str, str]] = set()
    for exchange, index in answers(story):
        form = story.surface.forms.get(exchange.tool)
        wrong = form.problem(exchange.value) if form is not None else ""
        if wrong and (exchange.tool, wrong) not in told:
            told.add((exchange.tool, wrong))
            yield reshaped(story, exchange, (index,), wrong)


def answers(story: Story) -> Iterator[tuple[Exchange, int]]:
    """Give the calls that were answered by their tools without an error, each with its row."""
    for exchange in story.exchanges.values():
        if exchange.told and exchange.ok and "TIMEOUT" not in exchange.rows:
            at = exchange.rows.get("RETURN") or exchange.rows.get("CALL")
            yield exchange, at.index if at is not None else 0


def changed_shapes(story: Story) -> Iterator[Finding]:
    """Find answers of another shape than the same tool gave before, once a tool and shape.

    Only of tools that aren't known to declare what they answer.
    """
    known: dict[str, tuple[Shape, int]] = {}
    rows: dict[str, tuple[tuple[str, ...], int]] = {}
    told: set[tuple[str, tuple[str, ...]]] = set()
    for exchange, index in answers(story):
        form = story.surface.forms.get(exchange.tool)
        if form is not None and form.kind != ANY:
            continue
        tool, shape = exchange.tool, shape_of(exchange.value)
        first, cause = known.setdefault(tool, (shape, index))
        if shape != first and (tool, shape[1]) not in told:
            told.add((tool, shape[1]))
            yield reshaped(story, exchange, (cause, index), difference(first, shape))
        for columns in rows_of(exchange.value):
            expected, cause = rows.setdefault(tool, (columns, index))
            if columns != expected and (tool, columns) not in told:
                told.add((tool, columns))
                wrong = difference(("row", expected), ("row", columns))
                yield reshaped(story, exchange, (cause, index), wrong)


def shape_of(value: object) -> Shape:
    """Give the shape of an answer, the columns of rows apart; what objects hold may vary."""
    if isinstance(value, dict):
        answer = plain(cast("dict[str, Any]", value))
        if {"ids", "page", "next_page"} <= answer.keys():
            return "page", tuple(sorted(answer))
        return "row" if {"id", "version"} <= answer.keys() else "object", ()
    return type(value).__name__, ()


def rows_of(value: object) -> list[tuple[str, ...]]:
    """Give the columns of each row in an answer, each list of columns once."""
    if not isinstance(value, dict):
        return []
    answer = plain(cast("dict[str, Any]", value))
    if {"id", "version"} <= answer.keys():
        return [tuple(answer)]
    if not {"ids", "page", "next_page"} <= answer.keys():
        return []
    found: dict[tuple[str, ...], None] = {}
    for name, items in answer.items():
        if name != "ids" and isinstance(items, list):
            found.update((tuple(x), None) for x in cast("list[dict[str, Any]]", items) if is_row(x))
    return list(found)


def difference(first: Shape, now: Shape) -> str:
    """Say how two shapes differ."""
    if first[0] != now[0]:
        return f"a {now[0]}, before a {first[0]}"
    gone = [name for name in first[1] if name not in now[1]]
    new = [name for name in now[1] if name not in first[1]]
    parts = [f"without {', '.join(gone)}"] * bool(gone) + [f"with {', '.join(new)}"] * bool(new)
    return f"a {now[0]} " + (" and ".join(parts) or "with its columns in another order")


def reshaped(story: Story, exchange: Exchange, events: tuple[int, ...], what: str) -> Finding:
    """Build an H413."""
    row = story.rows[events[-1]] if story.rows else None
    return Finding(
        code="H413",
        step=exchange.step,
        t=row.t if row is not None else 0,
        keys=(),
        evidence={"tool": exchange.tool, "answer": what},
        events=events,
        explanation=f"{exchange.tool} answers {what}",
    )
