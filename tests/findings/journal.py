"""Journals written by hand, row by row, and stories told of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from simharness.findings.story import StepSpan, Surface, tell
from simharness.kernel.journal import COLUMNS, NAMES, Row

if TYPE_CHECKING:
    from simharness.findings.finding import Finding
    from simharness.findings.story import Story

NUMBERS = {name: number for number, name in NAMES.items()}
DEAL = ("id", "version", "created_at", "updated_at", "title", "stage", "owner_id")
SURFACE = Surface({}, {"deals": DEAL})
AGENT_CALL = 1 << 16
"""Number of the agent's first call."""

Detector = Callable[["Story"], "Iterator[Finding]"]


class Journal:
    """A journal under way; each method adds a row and gives its index."""

    def __init__(self) -> None:
        self.rows: list[Row] = []

    def add(self, kind: str, t: int, /, **values: Any) -> int:
        names = [name.lstrip("@~") for name in COLUMNS[NUMBERS[kind]]]
        assert sorted(values) == sorted(names), kind
        self.rows.append(Row(len(self.rows), kind, t, {name: values[name] for name in names}))
        return len(self.rows) - 1

    def call(
        self,
        owner: str = "agent",
        n: int = AGENT_CALL,
        t: int = 0,
        tool: str = "update_deal",
        writes: int = 1,
    ) -> int:
        return self.add("CALL", t, owner=owner, n=n, tool=tool, writes=writes)

    def answer(
        self, owner: str = "agent", n: int = AGENT_CALL, t: int = 0, status: str = "ok"
    ) -> int:
        return self.add("RETURN", t, owner=owner, n=n, status=status)

    def commit(
        self,
        after: int,
        *columns: Any,
        owner: str = "user/1",
        n: int = 8,
        t: int = 0,
        key: int = 7,
        before: int | None = None,
        given: int = 0,
        read: int = 0,
        unmeant: tuple[int, ...] = (),
        table: str = "deals",
    ) -> int:
        """Commit a version; `columns` is flat, number and value by turns."""
        return self.add(
            "COMMIT",
            t,
            owner=owner,
            n=n,
            order=len(self.rows) + 1,
            table=table,
            key=key,
            before=after - 1 if before is None else before,
            after=after,
            delta=list(columns),
            given=given,
            read=read,
            unmeant=list(unmeant),
        )

    def read(
        self,
        served: int,
        true: int | None = None,
        *,
        owner: str = "agent",
        n: int = AGENT_CALL,
        t: int = 0,
        key: int = 7,
        view: str = "deals.detail",
        age: int = 0,
        bound: int = 0,
        source: str = "cache",
    ) -> int:
        return self.add(
            "READ",
            t,
            owner=owner,
            n=n,
            view=view,
            key=key,
            served=served,
            true=served if true is None else true,
            age=age,
            source=source,
            bound=bound,
            promises=1,
        )

    def listing(
        self,
        *rows: int,
        owner: str = "agent",
        n: int = AGENT_CALL,
        t: int = 0,
        query: str = "",
        wrong: tuple[int, ...] = (),
        bound: int = 0,
        source: str = "primary",
        view: str = "deals.list",
    ) -> int:
        """Answer a list; `rows` is flat, id and version by turns."""
        return self.add(
            "LIST",
            t,
            owner=owner,
            n=n,
            view=view,
            query=query,
            order=0,
            rows=list(rows),
            source=source,
            bound=bound,
            promises=1,
            wrong=list(wrong),
        )

    def fill(self, t: int, ttl: int, key: int | str = 7, view: str = "deals.detail") -> int:
        return self.add("FILL", t, view=view, key=key, order=0, ttl=ttl)

    def expire(self, t: int, key: int | str = 7, view: str = "deals.detail") -> int:
        return self.add("EXPIRE", t, view=view, key=key)

    def lock(self, owner: str, n: int = 8, t: int = 0, lock: str = "deals:7") -> int:
        return self.add("LOCK", t, owner=owner, n=n, lock=lock)

    def unlock(self, owner: str, n: int = 8, t: int = 0, lock: str = "deals:7") -> int:
        return self.add("UNLOCK", t, owner=owner, n=n, lock=lock)

    def wait(self, owner: str, holder: str, n: int = 8, t: int = 0, lock: str = "deals:7") -> int:
        return self.add("LOCKWAIT", t, owner=owner, n=n, lock=lock, holder=holder)

    def give_up(self, owner: str, n: int = 8, t: int = 0, lock: str = "deals:7") -> int:
        return self.add("LOCKTIMEOUT", t, owner=owner, n=n, lock=lock)

    def late(self, mode: str, t: int = 0, tool: str = "update_deal", n: int = AGENT_CALL) -> int:
        return self.add("TIMEOUT", t, owner="agent", n=n, tool=tool, answer=mode)

    def bad_call(self, reason: str = "invalid_arguments", tool: str = "get_deal") -> int:
        return self.add("BADCALL", 0, owner="agent", n=AGENT_CALL, tool=tool, reason=reason)

    def grade(
        self,
        holds: bool,
        *keys: str,
        role: str = "goal",
        predicate: str = "moved",
        evidence: str = "as found",
    ) -> int:
        return self.add(
            "GRADE",
            0,
            role=role,
            predicate=predicate,
            holds=int(holds),
            evidence=evidence,
            keys=list(keys),
        )

    def invariant(self, text: str) -> int:
        return self.add("INVARIANT", 0, text=text)

    def schema(self, digest: str) -> int:
        return self.add("SCHEMA", 0, digest=digest)

    def story(self, *steps: StepSpan, surface: Surface | None = SURFACE) -> Story:
        return tell(self.rows, steps or (span(),), surface)

    def found(
        self, detector: Detector, *steps: StepSpan, surface: Surface | None = SURFACE
    ) -> list[Finding]:
        return list(detector(self.story(*steps, surface=surface)))

    def codes(
        self, detector: Detector, *steps: StepSpan, surface: Surface | None = SURFACE
    ) -> list[str]:
        return [f.code for f in self.found(detector, *steps, surface=surface)]


def span(
    *results: tuple[bool, Any],
    step: int = 1,
    first: int = 0,
    reward: int | None = 0,
    calls: tuple[tuple[str, str], ...] = (),
    t: int | None = None,
) -> StepSpan:
    return StepSpan(
        step, first, reward, ended=True, aborted=False, t=t, calls=calls, results=results
    )


def deal(
    version: int, *, key: int = 7, title: str = "a", stage: str = "open", owner_id: int = 1
) -> Any:
    """A row of deals as an answer shows it."""
    at = "2026-03-02T09:00:00Z"
    values = (key, version, at, at, title, stage, owner_id)
    return dict(zip(DEAL, values, strict=True))


def page(*rows: Any, number: int = 1, next_page: int | None = None, **more: Any) -> Any:
    """A page of deals as an answer shows it."""
    ids = [row["id"] for row in rows]
    return {"deals": list(rows), "ids": ids, "page": number, "next_page": next_page, **more}
