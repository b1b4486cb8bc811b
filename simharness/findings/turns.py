"""The agent's side of an episode: its calls beside what it was told, and what the goal lacks."""

from __future__ import annotations

import json
import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any, cast

from simharness.findings.finding import Confidence, Effect, Finding
from simharness.findings.story import AGENT, Commit, Exchange, Story, told_rows
from simharness.parts.row_name import number_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from simharness.kernel.journal import Row

TEXT = "text"
"""Tool of a turn that was plain text."""
SPEECH = (TEXT, "say", "finish")
WAIT = "wait"
REF = re.compile(r"\b([a-z_]+):(\d{1,18})\b")
VERSION_ARGUMENTS = ("if_version", "expected_version", "version")
ENCODINGS_MAX = 3


@dataclass(frozen=True, slots=True)
class Turn:
    """One call, or one text, with its answer. Calls of one step see nothing of each other's."""

    t: int
    """Tick at which the answer was handed over."""
    exchange: Exchange
    args: Mapping[str, Any]
    """The arguments; empty where they are no JSON object."""

    @property
    def n(self) -> int:
        """The number of the call in the journal."""
        return self.exchange.n

    @property
    def step(self) -> int:
        """The step that it was sent at."""
        return self.exchange.step

    @property
    def tool(self) -> str:
        """The tool, or `text`."""
        return self.exchange.tool

    @property
    def ok(self) -> bool:
        """Whether it was answered without an error."""
        return self.exchange.ok

    @property
    def error(self) -> str:
        """The code that it was refused with, or an empty text."""
        return "" if self.ok else str(self.refusal.get("code", "error"))

    @property
    def refusal(self) -> Mapping[str, Any]:
        """The error that it was refused with; empty for none."""
        value = self.exchange.value
        return cast("dict[str, Any]", value) if not self.ok and isinstance(value, dict) else {}

    @property
    def why(self) -> str:
        """The words of the refusal."""
        return str(self.refusal.get("message", self.error))

    @property
    def retryable(self) -> bool:
        """Whether the refusal said that the same call may succeed later."""
        return bool(self.refusal.get("retryable"))

    @property
    def writes(self) -> bool:
        """Whether it called a tool that changes rows."""
        call = self.exchange.rows.get("CALL")
        return call is not None and bool(call.values["writes"])

    @property
    def commits(self) -> Sequence[Commit]:
        """What it committed, also after its answer."""
        return self.exchange.commits

    @property
    def version(self) -> int | None:
        """The version that it rests on by its own word."""
        found = (self.args.get(name) for name in VERSION_ARGUMENTS)
        return next((value for value in found if type(value) is int), None)

    @property
    def text(self) -> str:
        """What it says to people: message or text."""
        if self.tool not in SPEECH:
            return ""
        said = self.args.get("message", self.args.get("text", ""))
        return said if isinstance(said, str) else ""

    @property
    def same(self) -> str:
        """Tool and arguments as one text, equal for equal calls."""
        if not self.args:
            return f"{self.tool} {self.exchange.arguments}"
        return f"{self.tool} {json.dumps(self.args, sort_keys=True)}"


@dataclass(frozen=True, slots=True)
class Shown:
    """One row that an answer showed."""

    turn: Turn
    row: Mapping[str, Any]
    fresh: bool


class Account:
    """An episode as its agent lived it; prompt and brief make more decidable.

    `said` holds plain texts by step, which the journal doesn't.
    """

    def __init__(
        self,
        story: Story,
        *,
        prompt: str = "",
        brief: Mapping[str, Any] | None = None,
        said: Mapping[int, str] | None = None,
    ) -> None:
        self.story = story
        self.prompt = prompt
        self.brief: Mapping[str, Any] = brief or {}
        self.turns = tuple(turns_of(story, said or {}))
        """All that the agent did, in order."""
        self.writes = tuple(turn for turn in self.turns if turn.writes)
        """The calls of tools that change rows."""
        self.tables = {commit_key[0] for commit_key in story.commits} | set(story.surface.columns)
        self.tables |= {row.values["view"].rpartition(".")[0] for row in story.reads}
        self._shown: dict[str, list[Shown]] = defaultdict(list)
        self._shown_by: dict[int, list[str]] = defaultdict(list)
        for turn in self.turns:
            for table, row, source in told_rows(turn.exchange):
                number = number_of(row["id"])
                key = f"{table}:{number}"
                self._shown[key].append(Shown(turn, row, is_fresh(number, source)))
                self._shown_by[turn.n].append(key)

    # --- calls and rows --------------------------------------------------------------------------

    def schema(self, tool: str) -> Mapping[str, Any]:
        """Give the schemas of a tool's arguments by name; empty where they aren't known."""
        known: Mapping[str, Any] = self.story.surface.schemas.get(tool, {}).get("properties", {})
        return known

    def table_of(self, stem: str) -> str:
        """Give the table whose rows `<stem>_id` means; empty where none is called so."""
        names = (f"{stem}s", f"{stem[:-1]}ies", f"{stem}es", stem)
        return next((name for name in names if name in self.tables), "")

    def named(self, turn: Turn) -> list[str]:
        """Give the rows that a call names by id, as `table:id`, in the order of its arguments."""
        return [
            f"{table}:{number}"
            for name, value in turn.args.items()
            if name.endswith("_id")
            and (number := number_of(value)) is not None
            and (table := self.table_of(name[:-3]))
        ]

    def target(self, turn: Turn) -> str:
        """Give the row that a call is about: the first that it names; empty for none."""
        return next(iter(self.named(turn)), "")

    def begin(self, turn: Turn) -> int:
        """Give the row of the journal that a call begins with."""
        rows = (*turn.exchange.rows.values(), *turn.exchange.reads)
        first = min((row.index for row in rows), default=-1)
        return first if first >= 0 else self._firsts.get(turn.step, 0)

    def made_good(self, turn: Turn) -> bool:
        """Tell whether a refused call went through later: the same tool, about the same row."""
        key = self.target(turn)
        return not turn.ok and any(
            t.ok and t.tool == turn.tool and self.target(t) == key for t in self.after(turn)
        )

    def after(self, turn: Turn) -> Iterator[Turn]:
        """Give the turns of later steps."""
        return islice(self.turns, bisect_right(self._steps, turn.step), None)

    @cached_property
    def _steps(self) -> list[int]:
        """The steps of the turns, which never fall."""
        return [turn.step for turn in self.turns]

    @cached_property
    def _firsts(self) -> dict[int, int]:
        """The row of the journal that each step begins with."""
        return {span.step: span.first for span in reversed(self.story.steps)}

    def committed(self, turn: Turn, key: str) -> bool:
        """Tell whether a call committed a key of a goal: `table:id`, or `table:id.column`."""
        place, _, column = key.partition(".")
        table, number = split(place)
        for commit in turn.commits:
            if (commit.table, commit.key) == (table, number):
                names = [self.story.column(table, i) for i in commit.changes]
                if not column or column in names or any(" " in name for name in names):
                    return True
        return False

    # --- what was shown --------------------------------------------------------------------------

    def shown(self, key: str) -> Sequence[Shown]:
        """Give how a row was shown, oldest first."""
        return self._shown.get(key, ())

    def shown_by(self, turn: Turn) -> Sequence[str]:
        """Give the rows that an answer showed, as `table:id`."""
        return self._shown_by.get(turn.n, ())

    def last(self, key: str, turn: Turn) -> Shown | None:
        """Give what a row was last shown as before a call."""
        shown = self.shown(key)
        before = bisect_left(shown, turn.step, key=step_of)
        return shown[before - 1] if before else None

    def conflict(self, turn: Turn) -> Turn | None:
        """Give the last conflict on a call's row since that row was last shown."""
        key = self.target(turn)
        shown = self.last(key, turn)
        since = shown.turn.step if shown is not None else 0
        for earlier in reversed(self.turns):
            between = since < earlier.step < turn.step
            if between and key and earlier.error == "conflict" and self.target(earlier) == key:
                return earlier
        return None

    def others(self, keys: Iterable[str], after: int, before: int) -> list[Commit]:
        """Give other actors' commits of some rows between two rows of the journal."""
        return [
            commit
            for key in keys
            for commit in self.story.commits.get(split(key), ())
            if commit.owner != AGENT and after < commit.row < before
        ]

    def changed_since_look(self, turn: Turn, before: int) -> bool:
        """Tell whether others changed a row that a call names after the agent's last look at it.

        That is between its last look before the call and the row `before` of the journal.
        """
        looks = ((key, self.last(key, turn)) for key in self.named(turn))
        return any(
            shown is not None and self.others((key,), self.begin(shown.turn), before)
            for key, shown in looks
        )

    def changed_unseen(self, turn: Turn) -> bool:
        """Tell whether others changed a row of a call between the last look and its effect."""
        at = turn.commits[-1].row if turn.commits else self.answered(turn)
        return self.changed_since_look(turn, at)

    def answered(self, turn: Turn) -> int:
        """Give the row of the journal that a call ends with."""
        row = turn.exchange.rows.get("RETURN") or turn.exchange.rows.get("TIMEOUT")
        return row.index if row is not None else self.begin(turn)

    # --- the goal --------------------------------------------------------------------------------

    @cached_property
    def grades(self) -> list[Row]:
        """The criteria as judged at the end."""
        return self.story.grades()

    @cached_property
    def failed(self) -> list[Row]:
        """The criteria that do not hold; none while the goal is met or was never judged."""
        return [row for row in self.grades if not row.values["holds"]]

    @cached_property
    def lacking(self) -> frozenset[str]:
        """The rows that failed criteria rest on or speak of."""
        return frozenset(key for row in self.failed for key in concerned(row))

    @cached_property
    def way(self) -> Effect:
        """What a way around the task did: it helped where it was paid."""
        last = self.story.steps[-1] if self.story.steps else None
        paid = last is not None and last.reward is not None and last.reward >= last.pass_mark
        if not self.failed:
            return Effect.NONE
        return Effect.HELPED if paid else Effect.HINDERED

    @cached_property
    def end(self) -> Row | None:
        """The END row."""
        return next(iter(self.story.of("END")), None)

    # --- findings --------------------------------------------------------------------------------

    def noted(
        self,
        code: str,
        turn: Turn,
        keys: Sequence[str],
        explanation: str,
        *,
        advisory: bool = False,
        **evidence: Any,
    ) -> Finding:
        """Make the finding of one turn; it hindered where it concerns what the goal lacks."""
        touched = not advisory and not self.lacking.isdisjoint(keys)
        return Finding(
            code=code,
            step=turn.step,
            t=turn.t,
            keys=tuple(keys),
            evidence={"tool": turn.tool, **evidence},
            events=(self.begin(turn),),
            explanation=explanation,
            effect=Effect.HINDERED if touched else Effect.NONE,
            confidence=Confidence.SUSPECTED if advisory else Confidence.DETECTED,
        )


def step_of(shown: Shown) -> int:
    """Give the step at which a row was shown."""
    return shown.turn.step


def turns_of(story: Story, said: Mapping[int, str]) -> Iterator[Turn]:
    """Give what the agent did, step by step."""
    for span in story.steps:
        t = span.t if span.t is not None else story.rows[span.first].t if story.rows else 0
        if span.step in said:
            text = said[span.step]
            spoken = Exchange(span.step << 16, span.step, TEXT, text, told=True, ok=True)
            yield Turn(t, spoken, {"text": text})
        for i in range(len(span.calls)):
            exchange = story.exchanges[span.step << 16 | i]
            yield Turn(t, exchange, decode(exchange.arguments or ""))


def is_fresh(key: int | None, source: Row | None) -> bool:
    """Tell whether a row was served as it was; what a write answers is."""
    if source is None:
        return True
    v = source.values
    return v["served"] == v["true"] if source.kind == "READ" else key not in v["wrong"][::4]


def decode(raw: str) -> dict[str, Any]:
    """Decode arguments as sent, also if encoded more than once; nothing for what is no object."""
    value: Any = raw
    try:
        for _ in range(ENCODINGS_MAX):
            if not isinstance(value, str):
                break
            value = json.loads(value)
    except (ValueError, RecursionError):
        return {}
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def split(key: str) -> tuple[str, int]:
    """Take `table:id`, with or without a column, apart; the id is -1 where it is no number."""
    table, _, number = key.partition(".")[0].partition(":")
    return table, int(number) if number.isdecimal() else -1


def concerned(grade: Row) -> list[str]:
    """Give the rows that a criterion rests on or whose evidence names, as `table:id`."""
    out = [key.partition(".")[0] for key in grade.values["keys"]]
    return list(dict.fromkeys([*out, *named_in(grade.values["evidence"])]))


def named_in(evidence: str) -> list[str]:
    """Give the rows that the evidence of a criterion names, as `table:id`."""
    return [f"{table}:{number}" for table, number in REF.findall(evidence)]
