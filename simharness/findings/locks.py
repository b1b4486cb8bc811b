"""Exclusive locks and lifetimes that did not hold: H315 and H311, of any actor."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from simharness.findings.finding import Finding
from simharness.findings.story import name_of
from simharness.units import SECOND, humanize

if TYPE_CHECKING:
    from collections.abc import Iterator

    from simharness.findings.story import Story
    from simharness.kernel.journal import Row

PATIENCE = 30 * SECOND
"""Longest wait for a lock that is not starvation."""

Op = tuple[str, int]
"""Owner and number of an operation."""


def broken_locks(story: Story) -> Iterator[Finding]:
    """Find locks with two holders, locks kept after the answer, and writes without the lock."""
    holders: dict[str, dict[Op, Row]] = {}
    given_back: dict[tuple[str, Op], Row] = {}
    for row in story.of("LOCK", "UNLOCK", "COMMIT"):
        v = row.values
        op: Op = (v["owner"], v["n"])
        if row.kind == "COMMIT":
            lock = f"{v['table']}:{v['key']}"
            ended = given_back.get((lock, op))
            if ended is not None:
                what = f"{name_of(*op)} wrote {lock} after it had given the lock back"
                yield broken(story, row, lock, op, ended.t, (ended.index, row.index), what)
            continue
        lock = v["lock"]
        held = holders.setdefault(lock, {})
        if row.kind == "UNLOCK":
            held.pop(op, None)
            given_back[lock, op] = row
            continue
        given_back.pop((lock, op), None)
        for other, since in held.items():
            if other != op:
                what = f"lock {lock} was given to {name_of(*op)} while {name_of(*other)} held it"
                yield broken(story, row, lock, other, row.t, (since.index, row.index), what)
        held[op] = row
    yield from kept_locks(story)


def kept_locks(story: Story) -> Iterator[Finding]:
    """Find locks that were still held when the call that took them had been answered."""
    if not story.of("LOCK"):
        return
    answered = ends_of(story)
    held: dict[tuple[str, Op], Row] = {}
    for row in story.of("LOCK", "UNLOCK"):
        v = row.values
        op: Op = (v["owner"], v["n"])
        if row.kind == "LOCK":
            held[v["lock"], op] = row
            continue
        taken = held.pop((v["lock"], op), None)
        answer = answered.get(op)
        if taken is not None and answer is not None and taken.index < answer.index < row.index:
            yield kept(story, v["lock"], op, taken, answer)
    for (lock, op), taken in held.items():
        answer = answered.get(op)
        if answer is not None and taken.index < answer.index:
            yield kept(story, lock, op, taken, answer)


def ends_of(story: Story) -> dict[Op, Row]:
    """Give the row that ends each operation: the answer, or the end of the transaction it began.

    None for a transaction that is still open.
    """
    ends: dict[Op, Row] = {}
    for row in story.of("RETURN", "TXBEGIN", "TXEND"):
        op: Op = (row.values["owner"], row.values["n"])
        ends[op] = row
    for row in story.of("TXBEGIN"):
        op = (row.values["owner"], row.values["n"])
        if ends[op].kind != "TXEND":
            del ends[op]
    return ends


def kept(story: Story, lock: str, op: Op, taken: Row, answer: Row) -> Finding:
    """Build the finding of a lock that outlives its call."""
    what = f"{name_of(*op)} had been answered and still held lock {lock}"
    return broken(story, answer, lock, op, answer.t, (taken.index, answer.index), what)


def broken(
    story: Story,
    row: Row,
    lock: str,
    holder: Op,
    expired_at: int,
    events: tuple[int, ...],
    what: str,
) -> Finding:
    """Build an H315 of a lock."""
    return Finding(
        code="H315",
        step=story.step_of(row.index),
        t=row.t,
        keys=(lock,),
        evidence={"lock": lock, "holder": holder[0], "expired_at": expired_at},
        events=events,
        explanation=what,
        mechanism=f"lock:{lock.partition(':')[0]}",
    )


# --- waiting --------------------------------------------------------------------------------------


def starved_locks(story: Story) -> Iterator[Finding]:
    """Find waits for a lock that were too long, given up, or part of a circle."""
    if not story.of("LOCKWAIT"):
        return
    waiting: dict[Op, Row] = {}
    holder: dict[str, Op] = {}
    for row in story.of("LOCK", "UNLOCK", "LOCKWAIT", "LOCKTIMEOUT"):
        v = row.values
        op: Op = (v["owner"], v["n"])
        lock: str = v["lock"]
        if row.kind == "UNLOCK":
            if holder.get(lock) == op:
                del holder[lock]
        elif row.kind == "LOCKWAIT":
            waiting[op] = row
            circle = circle_of(op, waiting, holder)
            if circle:
                del waiting[op]
                what = "which waited for it: " + " -> ".join(name_of(*o) for o in (op, *circle))
                yield starved(story, row, row, what)
        else:
            since = waiting.pop(op, None)
            if row.kind == "LOCK":
                holder[lock] = op
            if since is not None and (row.kind == "LOCKTIMEOUT" or row.t - since.t > PATIENCE):
                how = "and gave up" if row.kind == "LOCKTIMEOUT" else "until it got it"
                yield starved(story, since, row, f"for {humanize(row.t - since.t)} {how}")
    end = story.rows[-1]
    ends = ends_of(story)
    for op, since in waiting.items():
        if op in ends and ends[op].index > since.index:
            continue  # it died waiting, with its node
        if end.t - since.t > PATIENCE:
            yield starved(story, since, end, f"for {humanize(end.t - since.t)} and never got it")


def circle_of(op: Op, waiting: dict[Op, Row], holder: dict[str, Op]) -> list[Op]:
    """Follow holders that wait themselves; gives those on the way back to `op`, or nothing."""
    path: list[Op] = []
    at = op
    while at in waiting and len(path) <= len(waiting):
        owner = holder.get(waiting[at].values["lock"])
        if owner is None:
            return []
        at = owner
        path.append(at)
        if at == op:
            return path
    return []


def starved(story: Story, since: Row, row: Row, what: str) -> Finding:
    """Build an H311."""
    v = since.values
    lock: str = v["lock"]
    waiter = name_of(v["owner"], v["n"])
    return Finding(
        code="H311",
        step=story.step_of(row.index),
        t=row.t,
        keys=(lock,),
        evidence={
            "lock": lock,
            "holder": v["holder"],
            "waiter": waiter,
            "waited": row.t - since.t,
        },
        events=(since.index,) if since is row else (since.index, row.index),
        explanation=f"{waiter} waited for lock {lock}, held by {v['holder']}, {what}",
        mechanism=f"lock:{lock.partition(':')[0]}",
    )


# --- lifetimes of cached answers ------------------------------------------------------------------


@dataclass(slots=True)
class Life:
    """One cached answer."""

    fill: Row
    touched: int
    """Tick of the last hit, or of the fill: nothing can count its age from later."""


def broken_lifetimes(story: Story) -> Iterator[Finding]:
    """Find cached answers served past their declared lifetime, or dropped well before its end.

    The rows don't tell whether a hit prolongs a lifetime, nor how coarse the cache's clock is. So
    an age counts from the last hit, and an entry ended too early only when it had lived less than
    half as long as was declared.
    """
    lives: dict[tuple[str, object], Life] = {}
    for row in story.rows:
        kind = row.kind
        if kind not in ("FILL", "READ", "LIST", "EXPIRE"):
            continue
        v = row.values
        if kind == "FILL":
            lives[v["view"], v["key"]] = Life(row, row.t)
        elif kind == "EXPIRE":
            life = lives.pop((v["view"], v["key"]), None)
            if life is not None and 2 * (row.t - life.fill.t) < life.fill.values["ttl"]:
                lived = humanize(row.t - life.fill.t)
                yield lifetime(story, life, row, f"was dropped after {lived}")
        elif v["source"] == "cache":
            place = v["view"], v["key"] if kind == "READ" else v["query"]
            life = lives.get(place)
            if life is None:
                continue
            age = row.t - life.touched
            if age >= life.fill.values["ttl"]:
                del lives[place]
                yield lifetime(story, life, row, f"was still served at an age of {humanize(age)}")
            else:
                life.touched = row.t


def lifetime(story: Story, life: Life, row: Row, what: str) -> Finding:
    """Build an H315 of a cached answer."""
    v = life.fill.values
    view, key = v["view"], v["key"]
    name = f"{view.rpartition('.')[0]}:{key}" if isinstance(key, int) else f"{view}({key})"
    return Finding(
        code="H315",
        step=story.step_of(row.index),
        t=row.t,
        keys=(name,),
        evidence={
            "view": view,
            "key": name,
            "holder": view,
            "ttl": v["ttl"],
            "expired_at": life.touched + v["ttl"],
        },
        events=(life.fill.index, row.index),
        explanation=f"an answer of {view} for {name} lives {humanize(v['ttl'])} and {what}",
        mechanism=f"cache:{view}",
    )
