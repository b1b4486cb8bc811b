"""Pages of lists as the agent was told them against what the view delivered: H114 and H115."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

from simharness.findings.finding import Finding
from simharness.findings.story import page_of
from simharness.parts.row_name import number_of
from simharness.product.tool import AS_OF

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from simharness.findings.story import Exchange, Story
    from simharness.kernel.journal import Row

Query = tuple[str, str, str, tuple[int, ...]]
"""Tool, view, query and the ids that were delivered: pages of one list while nothing changes."""

SHOWN = 3
"""Rows that an explanation names."""


def torn_pages(story: Story) -> Iterator[Finding]:
    """Find pages that repeat or skip ids, alone or beside the page before, and lists cut short."""
    pages: dict[Query, dict[int, tuple[int, ...]]] = {}
    told: set[tuple[Query, str, tuple[int, ...]]] = set()
    for exchange in story.exchanges.values():
        found = page_of(exchange)
        if found is None:
            continue
        table, row = found
        answer: dict[str, Any] = exchange.value
        ids = tuple(number_of(shown) or 0 for shown in answer["ids"])
        delivered = tuple(row.values["rows"][::2])
        query = exchange.tool, row.values["view"], row.values["query"], delivered
        others = pages.setdefault(query, {})
        page = answer["page"] if isinstance(answer.get("page"), int) else 1
        for code, what, keys in problems(ids, delivered, page, others, answer, table):
            if (query, code + what, keys) not in told:
                told.add((query, code + what, keys))
                yield torn(story, exchange, row, code, what, keys)
        others[page] = ids


def problems(
    ids: tuple[int, ...],
    delivered: tuple[int, ...],
    page: int,
    others: dict[int, tuple[int, ...]],
    answer: dict[str, Any],
    table: str,
) -> Iterator[tuple[str, str, tuple[int, ...]]]:
    """Say what is wrong with one page: code, what it does to the ids, and which."""
    if twice := repeated(ids):
        yield "H114", "repeats", twice
    for number, shown in others.items():
        if number != page and (again := tuple(i for i in ids if i in shown)):
            yield "H114", "repeats", again
    places = {key: i for i, key in enumerate(delivered)}
    at = [places[i] for i in ids if i in places]
    in_order = len(at) == len(ids) and all(a < b for a, b in pairwise(at))
    if in_order and at:
        skipped = set(range(at[0], at[-1])) - set(at)
        before = others.get(page - 1)
        if page == 1:
            skipped |= set(range(at[0]))
        elif before and before[-1] in places:
            skipped |= set(range(places[before[-1]] + 1, at[0]))
        if skipped:
            yield "H114", "skips", tuple(delivered[i] for i in sorted(skipped))
    if answer["next_page"] is not None or marked(answer, table):
        return
    if in_order and (page == 1 or at):
        missing = delivered[at[-1] + 1 :] if at else delivered
    elif not in_order and all(n in others for n in range(1, page)):
        # Of a list in an order of the tool's own only all pages together tell what isn't in it.
        seen = {*ids, *(i for n in range(1, page) for i in others[n])}
        missing = tuple(key for key in delivered if key not in seen)
    else:
        return  # a page behind the last one is empty
    if missing:
        yield "H115", "ends before", missing


def repeated(ids: Sequence[int]) -> tuple[int, ...]:
    """Give the ids that occur more than once."""
    if len(set(ids)) == len(ids):
        return ()
    return tuple(dict.fromkeys(i for i in ids if ids.count(i) > 1))


def marked(answer: dict[str, Any], table: str) -> bool:
    """Tell whether a page says, in a field of its own, that there is more than it shows."""
    return any(v for k, v in answer.items() if k not in (table, "ids", "page", "next_page", AS_OF))


def torn(
    story: Story, exchange: Exchange, row: Row, code: str, what: str, keys: tuple[int, ...]
) -> Finding:
    """Build a finding of one page."""
    v = row.values
    table = v["view"].rpartition(".")[0]
    names = tuple(f"{table}:{key}" for key in keys)
    more = len(names) - SHOWN
    shown = ", ".join(names[:SHOWN]) + (f" and {more} more" if more > 0 else "")
    page = exchange.value["page"]
    silent = ", with no next page and no mark of it" if code == "H115" else ""
    answer = exchange.rows.get("RETURN", row)
    return Finding(
        code=code,
        step=exchange.step,
        t=answer.t,
        keys=names,
        evidence={
            "view": v["view"],
            "key": names[0],
            "query": v["query"],
            "page": page,
            "delivered": len(v["rows"]) // 2,
            "told": len(exchange.value["ids"]),
            "source": v["source"],
        },
        events=(row.index,) if answer is row else (row.index, answer.index),
        explanation=(
            f"page {page} of {exchange.tool} {what} {shown}, which {v['view']} delivered{silent}"
        ),
    )
