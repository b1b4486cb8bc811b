"""Tells a played report in the order of time: who did what, what it did, what was found."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, cast

from simharness.reports.check import brief, places_of
from simharness.units import humanize

if TYPE_CHECKING:
    from collections.abc import Iterator

    from simharness.findings.story import Story
    from simharness.kernel.journal import Row
    from simharness.reports.play import Played


class Line(NamedTuple):
    """One line of the story."""

    t: int
    """Tick."""
    order: int
    """Place among the lines of that tick."""
    who: str
    what: str

    @property
    def at(self) -> str:
        """The time since the start, for a person."""
        return humanize(self.t)


def explain(played: Played) -> list[Line]:
    """Tell what happened, oldest first."""
    lines = [*of_actions(played), *of_rows(played.story), *of_findings(played)]
    return sorted(lines, key=lambda line: (line.t, line.order))


def of_actions(played: Played) -> Iterator[Line]:
    """Tell what was sent, answered and left out."""
    story = played.story
    calls = {op: row.index for op, row in story.calls.items()}
    returns = {(r.values["owner"], r.values["n"]): r.index for r in story.of("RETURN")}
    last = len(story.rows)
    for act in played.case.acts:
        answer = played.answers.get(act.label)
        if answer is None:
            text = f"{act.label}: left out, {played.skipped.get(act.label, 'never answered')}"
            yield Line(played.episode.world.ticks, last, act.actor, text)
            continue
        op = answer.owner, answer.n
        args = act.args
        if isinstance(args, dict):
            named = cast("dict[str, Any]", args)
            args = ", ".join(f"{name}={value!r}" for name, value in named.items())
        begun, ended = calls.get(op, 0), returns.get(op, last)
        yield Line(answer.sent, begun, act.actor, f"{act.label}: {act.call}({args})")
        told = brief(answer.value, answer.ok)
        yield Line(answer.t, ended, act.actor, f"{act.label} -> {told[:160]}")


def of_rows(story: Story) -> Iterator[Line]:
    """Tell what the journal says of rows, caches, leases, holds and money."""
    for row in story.of("COMMIT", "INVALIDATE", "DROP", "LEASEEND", "HOLDEND", "LEDGER", "FAULT"):
        yield Line(row.t, row.index, row.values.get("owner", ""), told(story, row))


def told(story: Story, row: Row) -> str:
    """Tell one row of the journal."""
    v: dict[str, Any] = row.values
    if row.kind == "COMMIT":
        names = [story.column(v["table"], number) for number in v["delta"][::2]]
        changes = ", ".join(f"{n} {x!r}" for n, x in zip(names, v["delta"][1::2], strict=True))
        what = "deleted" if v["after"] < 0 else changes
        return f"commits {v['table']}:{v['key']} v{v['before']} -> v{abs(v['after'])}: {what}"[:200]
    if row.kind == "INVALIDATE":
        return f"invalidation of {v['key']} in {v['view']}: {v['removed']} answers removed"
    if row.kind == "DROP":
        return f"invalidation of {v['key']} in {v['view']} dropped"
    if row.kind == "LEASEEND":
        return f"lease {v['lease']} of token {v['token']} ends: {v['reason']}"
    if row.kind == "HOLDEND":
        return f"hold {v['holds']}:{v['hold']} ends: {v['reason']}"
    if row.kind == "LEDGER":
        return f"ledger: {v['kind']} {v['ref']}, {v['amount']} {v['currency']}"
    return f"fault {v['fault']} is {'on' if v['on'] else 'off'}"


def of_findings(played: Played) -> Iterator[Line]:
    """Tell what was found, each where it was complete."""
    last = len(played.story.rows)
    for finding in played.findings:
        at = " or ".join(places_of(played, finding))
        where = f" at {at}" if at else ""
        order = max(finding.events, default=last)
        yield Line(finding.t, order, "found", f"{finding.code}{where}: {finding.explanation}")
