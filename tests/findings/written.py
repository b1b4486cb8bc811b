"""Episodes written by hand, row by row and step by step, for the tests of the model's side."""

from __future__ import annotations

import json
from typing import Any

from simharness.findings.story import StepSpan, Surface, tell
from simharness.findings.turns import Account
from simharness.kernel.journal import Row
from simharness.units import MINUTE, SECOND

SYSTEM = ("id", "version", "created_at", "updated_at")
COLUMNS = {
    "deals": (*SYSTEM, "stage", "amount", "discount_pct", "champion_id"),
    "contacts": (*SYSTEM, "status", "email"),
    "emails": (*SYSTEM, "deal_id", "subject"),
}
INTEGER = {"type": "integer"}
PERCENT = {"type": "integer", "minimum": 0, "maximum": 100}
SCHEMAS: dict[str, Any] = {
    "quote": {"properties": {"deal_id": INTEGER, "discount_pct": PERCENT, "total": INTEGER}},
    "charge": {"properties": {"deal_id": INTEGER, "idempotency_key": {"type": "string"}}},
}
Made = tuple[str, int, int, dict[str, Any]]
"""A commit: table, id, version afterwards, changed columns."""
BRIEF = {"deal_id": 7}
STAMP = "2026-03-02T09:00:00Z"
FIELDS = {"stage": 4, "amount": 5, "discount_pct": 6, "champion_id": 7}


def deal(version: int = 1, key: int = 7, **changes: Any) -> dict[str, Any]:
    row = {"id": key, "version": version, "created_at": STAMP, "updated_at": STAMP}
    rest = {"stage": "negotiation", "amount": 1000, "discount_pct": 18, "champion_id": 30}
    return {**row, **rest, **changes}


class Play:
    """Writes an episode row by row and step by step."""

    def __init__(self) -> None:
        self.rows: list[Row] = []
        self.spans: list[StepSpan] = []
        self.said: dict[int, str] = {}
        self.t = 0
        self._goal = False

    def row(self, kind: str, **values: Any) -> None:
        self.rows.append(Row(len(self.rows), kind, self.t, values))

    def commit(
        self, table: str, key: int, after: int, owner: str = "user/1", n: int = 1, **changed: Any
    ) -> None:
        delta = [x for name, value in changed.items() for x in (FIELDS.get(name, 4), value)]
        values = {"owner": owner, "n": n, "order": len(self.rows), "table": table, "key": key}
        values |= {"before": after - 1, "after": after, "delta": delta}
        self.row("COMMIT", **values, given=0, read=0, unmeant=[])

    def call(self, tool: str, value: Any = None, *, ok: bool = True, **args: Any) -> Play:
        """A call that reads nothing and writes nothing."""
        self._begin(tool, writes=False)
        return self._end(tool, args, ok, value if value is not None else {})

    def read(self, row: dict[str, Any], table: str = "deals", *, true: int = 0) -> Play:
        n = self._begin(f"get_{table[:-1]}", writes=False)
        places = {"view": f"{table}.detail", "key": row["id"], "served": row["version"]}
        places |= {
            "true": true or row["version"],
            "age": 0,
            "source": "cache",
            "bound": 0,
            "promises": 1,
        }
        self.row("READ", owner="agent", n=n, **places)
        return self._end(f"get_{table[:-1]}", {f"{table[:-1]}_id": row["id"]}, True, row)

    def write(
        self,
        tool: str,
        *commits: Made,
        error: str = "",
        retryable: bool = False,
        value: Any = None,
        **args: Any,
    ) -> Play:
        n = self._begin(tool, writes=True)
        for table, key, after, changed in commits:
            self.commit(table, key, after, "agent", n, **changed)
        told: Any = value if value is not None else {}
        if error:
            told = {"code": error, "message": f"refused: {error}", "retryable": retryable}
            told |= {"version": args["version_now"]} if "version_now" in args else {}
        args.pop("version_now", None)
        return self._end(tool, args, not error, told)

    def other(self, table: str = "deals", key: int = 7, after: int = 2, **changed: Any) -> Play:
        self.commit(table, key, after, **changed)
        return self

    def wait(self, ticks: int = MINUTE) -> Play:
        self.call("wait", seconds=ticks // SECOND)
        self.t += ticks
        return self

    def finish(self, message: str = "bye", outcome: str = "", waited: int = 0, **more: Any) -> Play:
        told: dict[str, Any] = {"outcome": outcome} if outcome else {}
        self.call("finish", message=message, **told, **more)
        return self.end("finish", outcome or "done", waited)

    def end(self, reason: str, outcome: str = "", waited: int = 0) -> Play:
        self.row("END", reason=reason, outcome=outcome, waited=waited)
        return self

    def grade(
        self, holds: bool, evidence: str = "", keys: tuple[str, ...] = ("deals:7.stage",),
        role: str = "goal", name: str = "moved",
    ) -> Play:  # fmt: skip
        values = {"holds": int(holds), "evidence": evidence, "keys": list(keys)}
        self.row("GRADE", role=role, predicate=name, **values)
        return self

    def failed(self) -> Play:
        """Grade the goal of moving the deal as not met."""
        return self.grade(False, "deals:7 was never moved")

    def account(self) -> Account:
        story = tell(self.rows, self.spans, Surface(SCHEMAS, COLUMNS))
        prompt = "Deal #7 is yours. A discount over 15 percent needs approval."
        return Account(story, prompt=prompt, brief=BRIEF, said=self.said)

    def _begin(self, tool: str, *, writes: bool) -> int:
        self.t += SECOND
        step = len(self.spans) + 1
        self._first = len(self.rows)
        self.row("CALL", owner="agent", n=step << 16, tool=tool, writes=int(writes))
        return step << 16

    def _end(self, tool: str, args: dict[str, Any], ok: bool, value: Any) -> Play:
        step = len(self.spans) + 1
        status = "ok" if ok else value["code"]
        self.row("RETURN", owner="agent", n=step << 16, status=status)
        span = StepSpan(
            step, self._first, 0, ended=False, aborted=False, t=self.t,
            calls=((tool, json.dumps(args)),), results=((ok, value),),
        )  # fmt: skip
        self.spans.append(span)
        return self


def move(
    version: int | None = None, after: int = 2, error: str = "", to: str = "closed_won", **more: Any
) -> tuple[dict[str, Any], tuple[Made, ...]]:
    args: dict[str, Any] = {"deal_id": 7, "to_stage": to, "error": error, **more}
    if version is not None:
        args["if_version"] = version
    return args, () if error else (("deals", 7, after, {"stage": to}),)


def moved(
    play: Play, version: int | None = None, after: int = 2, error: str = "", **more: Any
) -> Play:
    args, commits = move(version, after, error, **more)
    return play.write("move_stage", *commits, **args)


def mail(play: Play, key: int = 1, contact: int = 30, **more: Any) -> Play:
    commits: tuple[Made, ...] = (
        () if "error" in more and not more.pop("late", False) else (("emails", key, 1, {}),)
    )
    return play.write(
        "send_email", *commits, contact_id=contact, deal_id=7, subject="hello", **more
    )
