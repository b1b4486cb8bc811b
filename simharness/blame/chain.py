"""The causal chain: the rows that lead from the write, over what was seen, to the grade."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from simharness.findings.story import AGENT
from simharness.parts.money import shown
from simharness.units import format_duration

if TYPE_CHECKING:
    from simharness.findings.finding import Finding
    from simharness.findings.story import Story
    from simharness.kernel.journal import Row

CALLS_SHOWN = 3


@dataclass(frozen=True, slots=True)
class Link:
    """One row of a chain, in words."""

    row: int
    t: int
    """Tick."""
    text: str


def chain_of(story: Story, finding: Finding) -> list[Link]:
    """Link a finding's cause, what the agent did next, the end, and what failed there."""
    links = [link(story.rows[index]) for index in finding.events if index < len(story.rows)]
    after = finding.events[-1] if finding.events else 0
    calls = [
        row
        for row in story.rows[after + 1 :]
        if row.kind in ("CALL", "BADCALL") and row.values["owner"] == AGENT
    ]
    shown = calls if len(calls) <= CALLS_SHOWN else [*calls[: CALLS_SHOWN - 1], calls[-1]]
    links += [link(row) for row in shown]
    known = {item.row for item in links}
    for row in story.rows[after + 1 :]:
        if row.kind == "END" and row.index not in known:
            links.append(link(row))
    for row in story.grades():
        if not row.values["holds"] and row.index not in known:
            links.append(link(row))
    return sorted(links, key=lambda item: item.row)


def link(row: Row) -> Link:
    """Put one row into words."""
    v = row.values
    match row.kind:
        case "COMMIT":
            text = f"{v['owner']} commits {v['table']}:{v['key']} v{abs(v['after'])}"
        case "READ":
            stale = f", the truth is v{v['true']}" if v["served"] != v["true"] else ""
            what = f"{v['owner']} reads {v['view']} {v['key']}"
            text = f"{what}: v{v['served']} from {v['source']}{stale}"
        case "LIST":
            what = f"{v['owner']} lists {v['view']} ({v['query'] or 'all'})"
            text = f"{what}: {len(v['rows']) // 2} rows"
        case "CALL":
            text = f"{v['owner']} calls {v['tool']}"
        case "BADCALL":
            text = f"{v['owner']} sends a call of {v['tool']} that is refused as {v['reason']}"
        case "END":
            outcome = f" with outcome {v['outcome']}" if v["outcome"] else ""
            text = f"the episode ends ({v['reason']}){outcome}"
        case "GRADE":
            text = f"{v['predicate']}: {'holds' if v['holds'] else 'fails'} ({v['evidence']})"
        case "CHECKED":
            place = f"{v['table']}:{v['key']}"
            text = f"{v['owner']} looks for {v['quantity']} of {place}, {v['free']} free"
        case "HOLD":
            place = f"{v['table']}:{v['key']}"
            text = f"{v['owner']} takes {v['quantity']} of {place}, which has {v['capacity']}"
        case "GATEWAY":
            what = f"{v['kind']} of {shown(v['amount'], v['currency'])}"
            text = f"{v['owner']} asks for a {what} for {v['ref']}"
        case "GATEWAYEND":
            text = f"{v['owner']} is answered by {v['gateway']}: {v['status']}"
        case "LEDGER":
            amount = shown(v["amount"], v["currency"])
            text = f"{v['gateway']} moves a {v['kind']} of {amount} ({v['ref']})"
        case "DROP":
            text = f"the invalidation of {v['view']} {v['key']} is lost, {v['queued']} are queued"
        case _:
            text = " ".join([row.kind, *(f"{name}={value}" for name, value in v.items())])
    return Link(row.index, row.t, text)


def tell_chain(links: list[Link]) -> list[str]:
    """Give a line for each link."""
    return [f"{format_duration(item.t)} #{item.row} {item.text}" for item in links]
