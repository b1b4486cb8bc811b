"""What events, messages and jobs did wrong on their way: H228, H229, H230, H314."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

from simharness.findings.finding import Finding
from simharness.findings.story import name_of
from simharness.units import humanize

if TYPE_CHECKING:
    from collections.abc import Iterator

    from simharness.findings.story import Story
    from simharness.kernel.journal import Row

UNTAKEN = ("unheard", "given_up")
"""Ends of an event that was really sent."""


def misapplied_events(story: Story) -> Iterator[Finding]:
    """Find events that were applied over newer ones (H228), or once more (H314)."""
    newest: dict[tuple[str, str], Row] = {}
    applied: dict[tuple[str, str], Row] = {}
    for row in story.of("APPLIED"):
        v = row.values
        place = v["inbox"], v["ref"]
        latest = newest.get(place)
        first = applied.setdefault((v["inbox"], v["event"]), row)
        if latest is not None and v["created"] < latest.values["created"]:
            by = latest.values["created"] - v["created"]
            newer = latest.values["event"]
            yield Finding(
                code="H228",
                step=story.step_of(row.index),
                t=row.t,
                keys=written(story, row),
                evidence={"older": v["event"], "newer": newer, "by": by, "ref": v["ref"]},
                events=(latest.index, row.index),
                explanation=(
                    f"event {v['event']} of {v['ref']} was applied over {newer}, which is "
                    f"{humanize(by)} newer"
                ),
                mechanism=f"inbox:{v['inbox']}",
            )
            continue
        newest[place] = row
        if first is not row:
            yield repeated(
                story,
                row,
                first,
                {"event": v["event"], "ref": v["ref"]},
                f"event {v['event']} of {v['ref']} was applied once more",
                f"inbox:{v['inbox']}",
            )


def repeated_jobs(story: Story) -> Iterator[Finding]:
    """Find jobs that were done twice in a queue that promises otherwise."""
    promised: dict[tuple[str, int], Row] = {}
    done: dict[tuple[str, int], Row] = {}
    for row in story.of("JOB", "JOBEND"):
        v = row.values
        op = v["owner"], v["n"]
        if row.kind == "JOB":
            if v["once"]:
                promised[op] = row
        elif v["reason"] == "done" and op in promised:
            first = done.setdefault(op, row)
            if first is not row:
                job = promised[op].values["job"] or name_of(*op)
                text = f"job {job} of {v['queue']} was done once more"
                evidence = {"job": job, "queue": v["queue"]}
                yield repeated(story, row, first, evidence, text, f"queue:{v['queue']}")


def repeated(
    story: Story, row: Row, first: Row, evidence: dict[str, Any], text: str, mechanism: str
) -> Finding:
    """Build an H314."""
    return Finding(
        code="H314",
        step=story.step_of(row.index),
        t=row.t,
        keys=written(story, row),
        evidence=evidence,
        events=(first.index, row.index),
        explanation=f"{text}, {humanize(row.t - first.t)} after the first time",
        mechanism=mechanism,
    )


def lost_events(story: Story) -> Iterator[Finding]:
    """Find events and messages that were noted as sent and never were."""
    sent = {op_of(row): row for row in story.of("MESSAGE", "WEBHOOK")}
    for row in story.of("RELAYED", "WEBHOOKEND"):
        first = sent.get(op_of(row))
        if first is None or row.values["reason"] != "lost":
            continue
        v = first.values
        part = "outbox" if first.kind == "MESSAGE" else "webhook"
        what = "message" if first.kind == "MESSAGE" else f"event {v['event']}"
        yield Finding(
            code="H229",
            step=story.step_of(row.index),
            t=row.t,
            keys=(v["ref"],),
            evidence={"ref": v["ref"], "kind": v["kind"], part: v[part]},
            events=(first.index, row.index),
            explanation=f"{what} {v['kind']} of {v['ref']} was lost by {part} {v[part]}",
            mechanism=f"{part}:{v[part]}",
        )


def unheard_failures(story: Story) -> Iterator[Finding]:
    """Find events that something under way had failed, which nobody took.

    So the books say for ever that it is under way. Where money was moved instead, they differ from
    the ledger (H226); and what failed at once was told by the answer itself. A sender that gave up
    may have been heard all the same, by somebody who took longer than it waited.
    """
    ends = {op_of(row): row for row in story.of("WEBHOOKEND")}
    heard = {row.values["event"] for row in story.of("APPLIED", "IGNORED")}
    begun: set[tuple[str, str]] = set()
    for first in story.of("WEBHOOK"):
        v = first.values
        place = v["webhook"], v["ref"]
        last = ends.get(op_of(first))
        untaken = v["event"] not in heard and last is not None and last.values["reason"] in UNTAKEN
        if last is not None and untaken and place in begun and v["kind"].endswith(".failed"):
            how = last.values["reason"].replace("_", " ")
            yield Finding(
                code="H229",
                step=story.step_of(last.index),
                t=last.t,
                keys=(v["ref"],),
                evidence={"ref": v["ref"], "kind": v["kind"], "webhook": v["webhook"]},
                events=(first.index, last.index),
                explanation=(
                    f"event {v['event']} {v['kind']} of {v['ref']} was {how} by webhook "
                    f"{v['webhook']}, so nobody knows that it has failed"
                ),
                mechanism=f"webhook:{v['webhook']}",
            )
        begun.add(place)


def unfounded_messages(story: Story) -> Iterator[Finding]:
    """Find messages that were relayed although what they tell of was not committed by then."""
    early = {op_of(row): row for row in story.of("MESSAGE") if not row.values["order"]}
    if not early:
        return
    causes = {op_of(row): (row.values["by"], row.values["by_n"]) for row in story.of("CAUSED")}
    committed: dict[tuple[str, int], list[int]] = defaultdict(list)
    for row in story.of("COMMIT"):
        committed[op_of(row)].append(row.index)
    for row in story.of("RELAYED"):
        first = early.pop(op_of(row), None)
        if first is None or row.values["reason"] != "sent":
            continue
        later = [c for c in committed[causes[op_of(row)]] if c > first.index]
        if later and later[0] < row.index:
            continue
        v = first.values
        when = "before it was committed" if later else "and nothing was committed"
        yield Finding(
            code="H230",
            step=story.step_of(row.index),
            t=row.t,
            keys=(v["ref"],),
            evidence={"ref": v["ref"], "kind": v["kind"], "outbox": v["outbox"]},
            events=(first.index, row.index),
            explanation=f"message {v['kind']} of {v['ref']} was relayed {when}",
            mechanism=f"outbox:{v['outbox']}",
        )


def op_of(row: Row) -> tuple[str, int]:
    """Give the operation of a row."""
    return row.values["owner"], row.values["n"]


def written(story: Story, row: Row) -> tuple[str, ...]:
    """Name the rows that the operation of a row committed at its instant, else what it is about."""
    keys = [
        f"{c.values['table']}:{c.values['key']}"
        for c in story.of("COMMIT")
        if c.t == row.t and op_of(c) == op_of(row)
    ]
    return tuple(dict.fromkeys(keys)) or tuple(v for k, v in row.values.items() if k == "ref")
