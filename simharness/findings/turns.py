"""The agent's side of an episode: its calls beside what it was told, and what it could know at each of them."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

from simharness.findings.story import AGENT, Commit, Story

if TYPE_CHECKING:
    from simharness.kernel.journal import Row

TEXT = "text"
"""Tool of a turn that was plain text."""
SPEECH = (TEXT, "say", "finish")
WAIT = "wait"
MENTION = re.compile(r"([a-z][a-z_]*)\s*[:#]?\s*#?(\d{1,18})\b")
"""A word and the number that follows it: `deal 42`, `deals:42`, `Deal #42`."""
REF = re.compile(r"\b([a-z_]+):(\d{1,18})\b")
VERSION_ARGUMENTS = ("if_version", "expected_version", "version")
ENCODINGS_MAX = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One call of the agent, or one text, with its answer. Calls of one step see nothing of each other's."""

    step: int
    t: int
    """Tick at which the answer was handed over."""
    tool: str
    arguments: str
    """As sent; for a text, the text."""
    ok: bool = True
    value: Any = None
    """The answer, or the error as `{"code", "message", "retryable", ...}`."""
    index: int = 0
    """Place within the step, from 0."""
    args: Mapping[str, Any] = field(init=False, default_factory=dict[str, Any])
    """The arguments; empty where they are no JSON object."""

    def __post_init__(self) -> None:
        decoded = {"text": self.arguments} if self.tool == TEXT else decode(self.arguments)
        object.__setattr__(self, "args", decoded)

    @property
    def n(self) -> int:
        """The number of the call in the journal."""
        return self.step << 16 | self.index

    @property
    def error(self) -> str:
        """The code that it was refused with, or an empty text."""
        return "" if self.ok else str(self.value.get("code", "")) if isinstance(self.value, dict) else "error"

    @property
    def retryable(self) -> bool:
        """Whether the refusal said that the same call may succeed later."""
        return not self.ok and isinstance(self.value, dict) and bool(self.value.get("retryable"))

    @property
    def text(self) -> str:
        """What it says to people: message or text."""
        said = self.args.get("message", self.args.get("text", "")) if self.tool in SPEECH else ""
        return said if isinstance(said, str) else ""


@dataclass(frozen=True, slots=True)
class Shown:
    """One row that an answer showed."""

    turn: Turn
    row: Mapping[str, Any]
    fresh: bool


class Account:
    """An episode as its agent lived it. Prompt, brief and tools' schemas make more decidable, where they are known."""

    def __init__(
        self,
        story: Story,
        turns: Sequence[Turn],
        *,
        prompt: str = "",
        brief: Mapping[str, Any] | None = None,
        tools: Iterable[Mapping[str, Any]] = (),
    ) -> None:
        self.story = story
        self.turns = tuple(turns)
        self.prompt = prompt
        self.brief: Mapping[str, Any] = brief or {}
        self.schemas: dict[str, Mapping[str, Any]] = {t["name"]: t["parameters"]["properties"] for t in tools}
        self._rows: dict[int, list[Row]] = defaultdict(list)
        self.tables: set[str] = set()
        for row in story.rows:
            v = row.values
            if v.get("owner") == AGENT and "n" in v:
                self._rows[v["n"]].append(row)
            table = v.get("table") or str(v.get("view", "")).rpartition(".")[0]
            if table:
                self.tables.add(table)
        self.shown: dict[str, list[Shown]] = defaultdict(list)
        """Rows by key, in the order in which the agent was shown them."""
        self.columns: dict[str, tuple[str, ...]] = {}
        """Columns of each table, as far as a row of it was shown."""
        for turn in self.turns:
            if turn.ok:
                self._see(turn)

    def _see(self, turn: Turn) -> None:
        for row in objects(turn.value):
            if type(row.get("id")) is not int or type(row.get("version")) is not int:
                continue
            places = list(self._places(turn, row["id"], row["version"]))
            if len(places) > 1:
                places = [p for p in places if self.columns.get(p[0]) == tuple(row)]
            if len(places) == 1:
                table, fresh = places[0]
                self.columns.setdefault(table, tuple(row))
                self.shown[f"{table}:{row['id']}"].append(Shown(turn, row, fresh))

    def _places(self, turn: Turn, key: int, version: int) -> Iterator[tuple[str, bool]]:
        """Give the tables that a row of an answer may come from, and whether it was fresh."""
        out: dict[str, bool] = {}
        for row in self.rows(turn):
            v = row.values
            table = v.get("table") or str(v.get("view", "")).rpartition(".")[0]
            if row.kind == "READ" and not v["view"].endswith(".auth") and v["key"] == key and v["served"] == version:
                out[table] = v["served"] == v["true"]
            elif row.kind == "LIST" and (key, version) in zip(*[iter(v["rows"])] * 2, strict=True):
                out[table] = key not in v["wrong"][::4]
            elif row.kind == "COMMIT" and v["key"] == key and v["after"] == version:
                out[table] = True
        return iter(out.items())

    # --- calls and the journal ----------------------------------------------------------------------------------------

    def rows(self, turn: Turn) -> Sequence[Row]:
        """Give the journal's rows of a call."""
        return self._rows.get(turn.n, ())

    def begin(self, turn: Turn) -> int:
        """Give the row that a call begins with."""
        rows = self.rows(turn)
        return rows[0].index if rows else next((s.first for s in self.story.steps if s.step == turn.step), 0)

    def commits(self, turn: Turn) -> list[Row]:
        """Give what a call committed, also after its answer."""
        return [row for row in self.rows(turn) if row.kind == "COMMIT"]

    def writes(self) -> Iterator[Turn]:
        """Give the calls of tools that change rows, in order."""
        for turn in self.turns:
            if any(row.kind == "CALL" and row.values["writes"] for row in self.rows(turn)):
                yield turn

    def table_of(self, stem: str) -> str:
        """Give the table whose rows an id named `<stem>_id` means; empty where none is called so."""
        for name in (f"{stem}s", f"{stem[:-1]}ies", f"{stem}es", stem):
            if name in self.tables:
                return name
        return ""

    def named(self, turn: Turn) -> list[str]:
        """Give the rows that a call names by id, as `table:id`, in the order of its arguments."""
        return [
            f"{table}:{value}"
            for name, value in turn.args.items()
            if name.endswith("_id") and type(value) is int and (table := self.table_of(name[:-3]))
        ]

    def target(self, turn: Turn) -> str:
        """Give the row that a call is about: the first that it names; empty where it names none."""
        return next(iter(self.named(turn)), "")

    def last(self, key: str, turn: Turn) -> Shown | None:
        """Give what a row was last shown as before a call."""
        return next((s for s in reversed(self.shown.get(key, ())) if s.turn.step < turn.step), None)

    def looked_since(self, key: str, after: Turn, before: Turn | None = None) -> bool:
        """Tell whether a row was shown again after one call and before another."""
        return any(
            s.turn.step > after.step and (before is None or s.turn.step < before.step) for s in self.shown.get(key, ())
        )

    def others(self, keys: Iterable[str], after: int, before: int) -> list[Commit]:
        """Give other actors' commits of some rows between two rows of the journal."""
        return [
            commit
            for key in keys
            for commit in self.story.commits.get(split(key), ())
            if commit.owner != AGENT and after < commit.row < before
        ]

    def column(self, table: str, index: int) -> str:
        """Name a column by its number; empty where no row of the table was shown."""
        names = self.columns.get(table, ())
        return names[index] if index < len(names) else ""

    def committed(self, turn: Turn, key: str) -> bool:
        """Tell whether a call committed a key of a goal: `table:id`, or `table:id.column`."""
        place, _, column = key.partition(".")
        table, number = split(place)
        for row in self.commits(turn):
            v = row.values
            if v["table"] == table and v["key"] == number:
                names = [self.column(table, i) for i in v["delta"][::2]]
                if not column or column in names or "" in names:
                    return True
        return False

    # --- the goal -----------------------------------------------------------------------------------------------------

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
    def end(self) -> Row | None:
        """The END row."""
        return next((row for row in self.story.rows if row.kind == "END"), None)


class Known:
    """What ids, numbers and texts an agent has been given so far."""

    def __init__(self, account: Account) -> None:
        self._account = account
        self._ids: dict[int, set[str]] = defaultdict(set)
        """Numbers that were given as an id, with the words that they were given under."""
        self.numbers: set[int] = set()
        self._groups: list[set[int]] = []
        """Numbers that were told together."""
        self._texts: list[str] = []
        self.read_text(account.prompt)
        self.learn(account.brief)

    def learn(self, value: object, name: str = "") -> None:
        """Take in an answer, or part of one."""
        if isinstance(value, Mapping):
            items = cast("Mapping[str, object]", value)
            if group := {v for v in items.values() if type(v) is int}:
                self._groups.append(group)
            for key, inner in items.items():
                self.learn(inner, key)
        elif isinstance(value, (list, tuple)):
            for inner in cast("Sequence[object]", value):
                self.learn(inner, name)
        elif type(value) is int:
            self.numbers.add(value)
            if name.endswith("_id") or name.endswith("_ids"):
                self._ids[value].add(name.rpartition("_id")[0])
            elif name.endswith(("ids", "refs")):
                self._ids[value].add("")
        elif isinstance(value, str):
            self.read_text(value)

    def row(self, key: str) -> None:
        """Take in that a row was shown."""
        table, number = split(key)
        self._ids[number].add(table)

    def read_text(self, text: str) -> None:
        """Take in a text: its numbers, and as ids those that follow a word."""
        self._texts.append(text.lower())
        self.numbers.update(int(digits) for digits in re.findall(r"\d{1,18}", text))
        for word, digits in MENTION.findall(text.lower()):
            self._ids[int(digits)].add(word)

    def has_id(self, number: int, stem: str) -> bool:
        """Tell whether a number was given as an id of what `stem` means, or of something that nobody can tell."""
        table = self._account.table_of(stem)
        return any(
            not table or not (source := self.table(word)) or source == table for word in self._ids.get(number, ())
        )

    def table(self, word: str) -> str:
        """Give the table that a word means; empty for none."""
        return word if word in self._account.tables else self._account.table_of(word)

    def has_text(self, text: str) -> bool:
        """Tell whether a text occurs in what was told."""
        return any(text.lower() in told for told in self._texts)

    def has_number(self, number: int) -> bool:
        """Tell whether a number was given, or is a sum, difference, product or percentage of two told together."""
        if number in self.numbers or abs(number) <= 1:
            return True
        return any(
            number in (a + b, a - b, a * b, a * b // 100, a * (100 - b) // 100)
            for group in self._groups
            for a in group
            for b in group
        )


def decode(raw: str) -> dict[str, Any]:
    """Decode arguments as sent; also those encoded more than once. Gives nothing for what is no object."""
    value: Any = raw
    try:
        for _ in range(ENCODINGS_MAX):
            if not isinstance(value, str):
                break
            value = json.loads(value)
    except (ValueError, RecursionError):
        return {}
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def objects(value: object) -> Iterator[dict[str, Any]]:
    """Give all objects in a JSON value, outer ones first."""
    if isinstance(value, dict):
        held = cast("dict[str, Any]", value)
        yield held
        for inner in held.values():
            yield from objects(inner)
    elif isinstance(value, (list, tuple)):
        for inner in cast("Sequence[object]", value):
            yield from objects(inner)


def split(key: str) -> tuple[str, int]:
    """Take `table:id` (with or without a column) apart; the id is -1 where it is no number."""
    table, _, number = key.partition(".")[0].partition(":")
    return table, int(number) if number.isdecimal() else -1


def concerned(grade: Row) -> list[str]:
    """Give the rows that a criterion rests on or whose evidence names, as `table:id`."""
    out = [key.partition(".")[0] for key in grade.values["keys"]]
    out += [f"{table}:{number}" for table, number in REF.findall(grade.values["evidence"])]
    return list(dict.fromkeys(out))
