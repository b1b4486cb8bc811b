"""What calls were told against what they did: H120, H121, H122, H123, H124, H314."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, cast

from simharness.findings.causes import causes_of, root_of
from simharness.findings.finding import Finding
from simharness.findings.story import is_row, name_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from simharness.findings.causes import Op
    from simharness.findings.story import Story
    from simharness.kernel.journal import Row

UNKNOWN = "unknown_outcome"
TRY_AGAIN = ("locked", "conflict", "unavailable", "rate_limited", UNKNOWN)
"""Refusals that say of a record that somebody else is at it, or that now isn't the time."""


def silent_timeouts(story: Story) -> Iterator[Finding]:
    """Find calls that ran out of time and were answered as if they had succeeded."""
    for row in story.of("TIMEOUT"):
        v = row.values
        if v["answer"] != "default":
            continue
        call = story.calls.get((v["owner"], v["n"]))
        yield Finding(
            code="H120",
            step=story.step_of(row.index),
            t=row.t,
            keys=(),
            evidence={"operation": name_of(v["owner"], v["n"]), "tool": v["tool"]},
            events=(row.index,) if call is None else (call.index, row.index),
            explanation=f"{v['tool']} ran out of time and was answered with an empty success",
            mechanism="timeout",
        )


# --- writes ---------------------------------------------------------------------------------------


def untrue_outcomes(story: Story) -> Iterator[Finding]:
    """Find writes said to be done that weren't (H121), or to have failed that were done (H122).

    An honest `unknown_outcome` is neither, and of a time-out answered as a success H120 says
    enough. What repeats a request under its key has been done by the first. Only tools that are
    declared to write are judged: others may commit and refuse at once. A time-out is no refusal of
    the tool's: it is judged for all.
    """
    answered = {(r.values["owner"], r.values["n"]): r for r in story.of("RETURN")}
    repeats = repeated_requests(story)
    for op, call in story.calls.items():
        ok, code, row = outcome(story, op, answered.get(op))
        if row is None or not (call.values["writes"] or row.kind == "TIMEOUT"):
            continue
        commits = story.committed.get(op)
        name, tool = name_of(*op), call.values["tool"]
        if ok and not commits and op not in repeats:
            yield untrue(
                story,
                "H121",
                (call, row),
                (),
                {"operation": name, "tool": tool},
                f"{tool} of {name} was answered as done and committed nothing",
            )
        elif commits and not ok and code != UNKNOWN:
            made = commits[0]
            keys = tuple(dict.fromkeys(f"{c.table}:{c.key}" for c in commits))
            yield untrue(
                story,
                "H122",
                (story.rows[made.row], row),
                keys,
                {"operation": name, "tool": tool, "told": code},
                f"{tool} of {name} was answered with {code} although it committed "
                f"{keys[0]} v{made.after}",
                "timeout" if row.kind == "TIMEOUT" else "",
            )


def misleading_refusals(story: Story) -> Iterator[Finding]:
    """Find calls that gave up waiting for a lock and were refused for another cause.

    Whoever is told that a record isn't there, or that an argument is wrong, won't try again.
    """
    answered = {(r.values["owner"], r.values["n"]): r for r in story.of("RETURN")}
    waits: dict[Op, Row] = {}
    for told in story.of("LOCK", "LOCKTIMEOUT"):
        op = told.values["owner"], told.values["n"]
        if told.kind == "LOCKTIMEOUT":
            waits[op] = told
        else:
            waits.pop(op, None)
    for op, waited in waits.items():
        call = story.calls.get(op)
        ok, code, row = outcome(story, op, answered.get(op))
        if call is None or row is None or ok or code in TRY_AGAIN:
            continue
        lock, tool = waited.values["lock"], call.values["tool"]
        yield Finding(
            code="H123",
            step=story.step_of(row.index),
            t=row.t,
            keys=(),
            evidence={"operation": name_of(*op), "tool": tool, "told": code, "lock": lock},
            events=(waited.index, row.index),
            explanation=(
                f"{tool} of {name_of(*op)} gave up waiting for the lock {lock} and was refused "
                f"as {code}"
            ),
        )


def repeated_requests(story: Story) -> set[Op]:
    """Give the calls that asked a gateway once more for what had been asked before."""
    again = [row.values for row in story.of("GATEWAY") if row.values["repeated"]]
    causes = causes_of(story)
    return {root_of(causes, (v["owner"], v["n"])) for v in again}


def outcome(story: Story, op: tuple[str, int], answer: Row | None) -> tuple[bool, str, Row | None]:
    """Give what a caller was told: success, else the code, and the row that says so, if any."""
    exchange = story.exchanges.get(op[1]) if op[0] == "agent" else None
    late = exchange.rows.get("TIMEOUT") if exchange is not None else None
    if late is not None:
        mode = late.values["answer"]
        if mode == "default":
            return False, UNKNOWN, late  # H120
        return False, mode if mode == UNKNOWN else "unavailable", late
    if answer is None:
        return False, "", None
    status = answer.values["status"]
    if exchange is not None and exchange.told:
        if exchange.ok:
            return True, "", answer
        value = exchange.value
        said = cast("dict[str, Any]", value).get("code", "") if isinstance(value, dict) else ""
        return False, str(said) or "an error", answer
    return status == "ok", status, answer


def untrue(
    story: Story,
    code: str,
    rows: tuple[Row, Row],
    keys: tuple[str, ...],
    evidence: dict[str, Any],
    explanation: str,
    mechanism: str = "",
) -> Finding:
    """Build an H121 or H122."""
    cause, answer = sorted(rows, key=lambda row: row.index)
    return Finding(
        code=code,
        step=story.step_of(rows[1].index),
        t=rows[1].t,
        keys=keys,
        evidence=evidence,
        events=(cause.index, answer.index),
        explanation=explanation,
        mechanism=mechanism,
    )


# --- what no product would say --------------------------------------------------------------------

WORDS = re.compile(r"\b(simharness|simulator|harness|(?<!unittest\.)mock)\b", re.IGNORECASE)
CODE = re.compile(
    r"Traceback \(most recent call last\)|\bFile \"[^\"]{1,300}\", line \d+"
    r"|[\w./\\-]{1,200}\.py\b"
)
ESCAPE = re.compile(r"\\u([0-9a-fA-F]{4})")
SCANNED = 20_000
"""Characters of one text that are searched; bounds in patterns keep that linear."""
QUOTED = frozenset(("output", "stdout", "stderr", "diff", "content", "body", "text"))
"""Fields that quote what people and programs wrote."""


def leaked_internals(story: Story) -> Iterator[Finding]:
    """Find answers that show tracebacks, Python files or the harness itself.

    The columns of rows are data of the product's world, and so are Python files where it says so;
    what the agent wrote itself is no leak.
    """
    sent = ""
    seen: set[str] = set()
    shows_code = story.surface.shows_code
    for exchange in story.exchanges.values():
        sent += unescaped(exchange.arguments or "") + exchange.tool
        if not exchange.told:
            continue
        for text in texts(exchange.value):
            if text in seen:
                continue
            seen.add(text)
            text = text[:SCANNED]
            found = WORDS.search(text) or (None if shows_code else CODE.search(text))
            if found is None or found.group(0).lower() in sent.lower():
                continue
            row = (
                exchange.rows.get("RETURN")
                or exchange.rows.get("BADCALL")
                or exchange.rows.get("CALL")
            )
            yield Finding(
                code="H124",
                step=exchange.step,
                t=row.t if row is not None else 0,
                keys=(),
                evidence={"tool": exchange.tool, "shown": found.group(0)},
                events=(row.index,) if row is not None else (),
                explanation=f"the answer of {exchange.tool} shows {found.group(0)!r}",
            )
            break


def unescaped(arguments: str) -> str:
    """Give raw JSON text with its escapes undone, broken or not: an agent may write letters so."""
    plain = ESCAPE.sub(lambda found: chr(int(found[1], 16)), arguments)
    return plain.replace("\\/", "/")


def texts(value: object) -> Iterator[str]:
    """Give the texts of an answer, the columns of rows and quotations apart."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        if not is_row(cast("object", value)):
            for name, item in cast("dict[str, object]", value).items():
                if name not in QUOTED or not isinstance(item, str):
                    yield from texts(item)
    elif isinstance(value, (list, tuple)):
        for item in cast("list[object]", value):
            yield from texts(item)


# --- order ----------------------------------------------------------------------------------------


def turned_clocks(story: Story) -> Iterator[Finding]:
    """Find instants that run backward and operations that were answered twice."""
    last = None
    for row in story.rows:
        if last is not None and row.t < last.t:
            text = f"row {row.index} is of tick {row.t}, the row before of tick {last.t}"
            yield regress(story, row, (last.index, row.index), text)
            break
        last = row
    before = None
    for at, span in enumerate(story.steps):
        if span.t is None:
            continue
        end = story.steps[at + 1].first if at + 1 < len(story.steps) else len(story.rows)
        done = story.rows[end - 1] if span.first < end <= len(story.rows) else None
        if before is not None and before > span.t:
            row = done or story.rows[-1]
            text = f"step {span.step} was answered at tick {span.t}, the step before at {before}"
            yield regress(story, row, (row.index,), text)
            break
        if done is not None and done.t > span.t:
            text = f"step {span.step} was answered at tick {span.t}, its last row is of {done.t}"
            yield regress(story, done, (done.index,), text)
            break
        before = span.t
    yield from answered_twice(story)


def answered_twice(story: Story) -> Iterator[Finding]:
    """Find operations with two answers, and steps with more answers than calls."""
    answers: dict[tuple[str, int], Row] = {}
    for row in story.of("RETURN"):
        op = row.values["owner"], row.values["n"]
        first = answers.setdefault(op, row)
        if first is not row:
            yield regress(
                story, row, (first.index, row.index), f"{name_of(*op)} was answered twice"
            )
    for span in story.steps:
        if span.calls and len(span.results) > len(span.calls):
            text = f"step {span.step} has {len(span.calls)} calls and {len(span.results)} answers"
            yield regress(story, story.rows[span.first], (span.first,), text)


def regress(story: Story, row: Row, events: tuple[int, ...], text: str) -> Finding:
    """Build an H314."""
    return Finding(
        code="H314",
        step=story.step_of(row.index),
        t=row.t,
        keys=(),
        evidence={"rows": list(events)},
        events=events,
        explanation=text,
    )
