"""What detectors read: an episode's rows, what the agent sent and was told; no fault, no config."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from dataclasses import dataclass, field
from functools import lru_cache, wraps
from typing import TYPE_CHECKING, Any, TypeVar, cast

from simharness.errors import DamagedRecording
from simharness.kernel.journal import NAMES
from simharness.parts.row import SYSTEM_COLUMNS
from simharness.parts.row_name import number_of
from simharness.product.tool import AS_OF
from simharness.recording.rows import read_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from simharness.kernel.journal import Row
    from simharness.product.product import Product
    from simharness.product.result import Form
    from simharness.product.store_spec import StoreSpec
    from simharness.product.tool import ToolSpec
    from simharness.recording.reader import EpisodeRecord

T = TypeVar("T")

AGENT = "agent"
AUTH = ".auth"
"""How the views end that permissions are read through; nobody is told their rows."""


@dataclass(frozen=True, slots=True)
class StepSpan:
    """One step as the recording has it."""

    step: int
    first: int
    """First row of the step; the rows before step 1 belong to the start."""
    reward: int | None
    """Millionths."""
    ended: bool
    aborted: bool
    pass_mark: int = 1_000_000
    t: int | None = None
    """Tick at which the answers were handed over; None where that isn't known."""
    calls: tuple[tuple[str, str], ...] = ()
    """Tool and arguments of each call, as sent."""
    results: tuple[tuple[bool, Any], ...] = ()
    """`(ok, value or error)` of each call, as told."""


def name_of(owner: str, n: int) -> str:
    """Name an operation: `user/1#8` is the eighth of that user.

    The agent's have their step's number: `agent#6` is the call of step 6, `agent#6.2` its second.
    """
    step, i = n >> 16, n & 0xFFFF
    if owner != AGENT or not step:
        return f"{owner}#{n}"
    return f"{owner}#{step}.{i + 1}" if i else f"{owner}#{step}"


@dataclass(frozen=True, slots=True)
class Commit:
    """One COMMIT row."""

    row: int
    t: int
    owner: str
    n: int
    order: int
    table: str
    key: int
    before: int
    after: int
    """Version afterwards, positive also for a deletion."""
    delta: Sequence[Any] = ()
    given: int = 0
    read: int = 0
    unmeant: Sequence[int] = ()

    @property
    def name(self) -> str:
        """The operation, as owner and number."""
        return name_of(self.owner, self.n)

    @property
    def changes(self) -> dict[int, Any]:
        """What was changed: value by column number."""
        return dict(zip(self.delta[::2], self.delta[1::2], strict=True))


@dataclass(slots=True)
class Exchange:
    """One call of the agent: what it sent, what was done for it, what it was told."""

    n: int
    step: int
    tool: str = ""
    arguments: str | None = None
    """As sent; None where that isn't known."""
    told: bool = False
    """Whether it is known what was told."""
    ok: bool = False
    value: Any = None
    rows: dict[str, Row] = field(default_factory=dict[str, "Row"])
    """Its CALL, RETURN, TIMEOUT and BADCALL."""
    reads: list[Row] = field(default_factory=list["Row"])
    """Its READ and LIST rows, in order."""
    commits: list[Commit] = field(default_factory=list[Commit])

    @property
    def begin(self) -> int:
        """Tick at which the call began, as far as its rows tell."""
        row = self.rows.get("CALL") or (self.reads[0] if self.reads else None)
        return row.t if row is not None else 0


@dataclass(frozen=True, slots=True)
class Surface:
    """What a product publishes."""

    schemas: Mapping[str, Mapping[str, Any]] = field(default_factory=dict[str, Any])
    """JSON Schema of the arguments, by tool."""
    columns: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    """Columns in order, by table."""
    forms: Mapping[str, Form] = field(default_factory=dict[str, "Form"])
    """What each tool declares to answer."""
    keepers: tuple[tuple[str, str], ...] = ()
    """What the text of a broken invariant says, and the mechanism that should have kept it."""
    counts: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    """Columns that follow from the rows of other tables, by table."""
    shows_code: bool = False
    """Whether Python files are part of the product's world."""


@dataclass(slots=True)
class Story:
    """Rows by index, with what detectors look up again and again."""

    rows: Sequence[Row]
    steps: Sequence[StepSpan]
    commits: dict[tuple[str, int], list[Commit]]
    """Commits by (table, key), oldest first."""
    invalidations: dict[tuple[str, int], list[Row]]
    """INVALIDATE rows by (view, key of the changed row), oldest first."""
    calls: dict[tuple[str, int], Row]
    """CALL rows by (owner, n)."""
    kinds: dict[str, list[Row]]
    """Rows by kind, oldest first."""
    committed: dict[tuple[str, int], list[Commit]]
    """Commits by (owner, n), oldest first."""
    exchanges: dict[int, Exchange]
    """The agent's calls by number, in order."""
    reads: list[Row]
    """The agent's READ and LIST rows, oldest first."""
    surface: Surface
    memo: dict[object, Any] = field(default_factory=dict[object, Any], repr=False, compare=False)
    """What `once_a_story` has worked out, by the function that did."""

    def of(self, *kinds: str) -> list[Row]:
        """Give the rows of some kinds, oldest first."""
        if len(kinds) == 1:
            return self.kinds.get(kinds[0], [])
        found = [row for kind in kinds for row in self.kinds.get(kind, ())]
        found.sort()  # by index, the first of a row's fields, of which no two are equal
        return found

    def grades(self) -> list[Row]:
        """Give the rows of the final judgement (not those of reset and regrade)."""
        return [r for r in self.of("GRADE") if r.values["role"] in ("goal", "footprint")]

    def step_of(self, row: int) -> int:
        """Give the step that a row belongs to; 0 for the start."""
        at = bisect_right(self.steps, row, key=lambda s: s.first) - 1
        return self.steps[at].step if at >= 0 else 0

    def column(self, table: str, number: int) -> str:
        """Name a column, by its number where nobody has said how it is called."""
        names = self.surface.columns.get(table, ())
        return names[number] if number < len(names) else f"column {number}"


def once_a_story(find: Callable[[Story], T]) -> Callable[[Story], T]:
    """Let what several detectors ask be worked out once; they share it and change none of it."""

    @wraps(find)
    def known(story: Story) -> T:
        memo = story.memo
        if find not in memo:
            memo[find] = find(story)
        found: T = memo[find]
        return found

    return known


def tell(rows: Sequence[Row], steps: Sequence[StepSpan], surface: Surface | None = None) -> Story:
    """Build the look-ups. `surface` makes more decidable: names of columns, schemas of tools."""
    commits: dict[tuple[str, int], list[Commit]] = defaultdict(list)
    committed: dict[tuple[str, int], list[Commit]] = defaultdict(list)
    invalidations: dict[tuple[str, int], list[Row]] = defaultdict(list)
    calls: dict[tuple[str, int], Row] = {}
    kinds: dict[str, list[Row]] = defaultdict(list)
    exchanges = spoken(steps)
    reads: list[Row] = []
    for row in rows:
        kind = row.kind
        kinds[kind].append(row)
        if kind in INNER:
            continue
        v: dict[str, Any] = row.values
        if kind == "INVALIDATE":
            invalidations[v["view"], v["key"]].append(row)
            continue
        if kind == "CALL":
            calls[v["owner"], v["n"]] = row
        elif kind == "COMMIT":
            made = commit_of(row)
            commits[made.table, made.key].append(made)
            committed[made.owner, made.n].append(made)
        if v["owner"] == AGENT:
            n = v["n"]
            exchange = exchanges.get(n)
            if exchange is None:
                exchange = exchanges[n] = Exchange(n, n >> 16)
            if kind == "READ" or kind == "LIST":
                exchange.reads.append(row)
                reads.append(row)
            elif kind == "COMMIT":
                exchange.commits.append(committed[AGENT, n][-1])
            else:
                exchange.rows.setdefault(kind, row)
                if kind == "CALL":
                    exchange.tool = v["tool"]
    return Story(
        rows=rows,
        steps=steps,
        commits=dict(commits),
        invalidations=dict(invalidations),
        calls=calls,
        kinds=dict(kinds),
        committed=dict(committed),
        exchanges=exchanges,
        reads=reads,
        surface=surface if surface is not None else shown_surface(exchanges),
    )


INNER = frozenset(NAMES.values()) - {
    "CALL",
    "RETURN",
    "READ",
    "LIST",
    "COMMIT",
    "INVALIDATE",
    "TIMEOUT",
    "BADCALL",
}
"""Kinds that are looked up by kind alone."""


def commit_of(row: Row) -> Commit:
    """Read a COMMIT row."""
    v = row.values
    return Commit(
        row.index,
        row.t,
        v["owner"],
        v["n"],
        v["order"],
        v["table"],
        v["key"],
        v["before"],
        abs(v["after"]),
        v["delta"],
        v["given"],
        v["read"],
        v["unmeant"],
    )


def spoken(steps: Sequence[StepSpan]) -> dict[int, Exchange]:
    """Give what the agent sent and was told, by the number of the call."""
    out: dict[int, Exchange] = {}
    for span in steps:
        for i in range(max(len(span.calls), len(span.results))):
            n = span.step << 16 | i
            exchange = out[n] = Exchange(n, span.step)
            if i < len(span.calls):
                exchange.tool, exchange.arguments = span.calls[i]
            if i < len(span.results):
                exchange.told = True
                exchange.ok, exchange.value = span.results[i]
    return out


def told_rows(exchange: Exchange) -> list[tuple[str, dict[str, Any], Row | None]]:
    """Give the rows that an answer shows, each with its table and the READ or LIST that served it.

    A row counts when it has the system's columns in front and when the call read or wrote a row of
    that id: the one of that version, or else, on a page, the one of another.
    """
    value = exchange.value
    if not exchange.told or not exchange.ok or not isinstance(value, dict):
        return []
    answer = plain(cast("dict[str, Any]", value))
    if is_row(answer):
        place = source_of(exchange, answer)
        return [(place[0], answer, place[1])] if place is not None else []
    listed = page_of(exchange)
    if listed is None:
        return []
    table, row = listed
    return [(table, item, row) for item in answer[table] if is_row(item)]


def plain(answer: dict[str, Any]) -> dict[str, Any]:
    """Give an answer without what it says of its own age."""
    return {k: v for k, v in answer.items() if k != AS_OF} if AS_OF in answer else answer


def is_row(value: object) -> bool:
    """Tell whether a JSON value is a row as products render them."""
    if not isinstance(value, dict) or "version" not in value:
        return False
    return tuple(cast("dict[str, Any]", value))[:4] == SYSTEM_COLUMNS


def source_of(exchange: Exchange, shown: dict[str, Any]) -> tuple[str, Row | None] | None:
    """Find where a single row comes from: what the call wrote, else what it read last."""
    key, version = number_of(shown["id"]), shown["version"]
    for commit in exchange.commits:
        if commit.key == key and commit.after == version:
            return commit.table, None
    for row in reversed(exchange.reads):
        v = row.values
        if row.kind == "READ" and v["key"] == key and v["served"] == version:
            view: str = v["view"]
            if not view.endswith(AUTH):
                return view.rpartition(".")[0], row
    return None


def page_of(exchange: Exchange) -> tuple[str, Row] | None:
    """Give the table and the LIST of a call that answers a page of what it listed, once."""
    value = exchange.value
    if not (exchange.told and exchange.ok and isinstance(value, dict)):
        return None
    answer = cast("dict[str, Any]", value)
    if "ids" not in answer or "next_page" not in answer:
        return None
    lists = [row for row in exchange.reads if row.kind == "LIST"]
    if len(lists) != 1:
        return None
    table = lists[0].values["view"].rpartition(".")[0]
    return (table, lists[0]) if isinstance(answer.get(table), list) else None


def shown_surface(exchanges: Mapping[int, Exchange]) -> Surface:
    """Learn what the columns are called from the rows that the agent was shown."""
    columns: dict[str, tuple[str, ...]] = {}
    for exchange in exchanges.values():
        for table, shown, _ in told_rows(exchange)[:1]:
            columns.setdefault(table, tuple(shown))
    return Surface({}, columns)


def surface_of(product: type[Product] | Product) -> Surface:
    """Give what a product publishes."""
    forms, keepers = tuple(product.forms.items()), tuple(product.keepers.items())
    specs = tuple(product.specs().items())
    return published(tuple(product.tools.values()), specs, forms, keepers, product.shows_code)


@lru_cache(maxsize=64)
def published(
    tools: tuple[ToolSpec, ...],
    specs: tuple[tuple[str, StoreSpec[Any]], ...],
    forms: tuple[tuple[str, Form], ...],
    keepers: tuple[tuple[str, str], ...],
    shows_code: bool,
) -> Surface:
    """Build a surface, once for the same tools and tables."""
    return Surface(
        {tool.name: tool.schema["parameters"] for tool in tools},
        {name: spec.row_type.names for name, spec in specs},
        dict(forms),
        keepers,
        {name: spec.counts for name, spec in specs},
        shows_code,
    )


def story_of_record(
    record: EpisodeRecord, product: type[Product] | None = None, pass_mark: int = 1_000_000
) -> Story:
    """Give a recording to the detectors. Raises DamagedRecording for rows of no known shape."""
    recorded = read_rows(record)
    sent: dict[object, tuple[tuple[str, str], ...]] = {}
    for frame in record.inputs:
        step, _, kind, payload = frame.fields
        if kind == "calls":
            sent[step] = sent_calls(step, payload)
    spans = [
        StepSpan(
            told.step,
            told.first,
            told.reward,
            ended=told.terminated or told.truncated,
            aborted=told.aborted,
            pass_mark=pass_mark,
            t=told.t,
            calls=sent.get(told.step, ()),
            results=told.results,
        )
        for told in recorded.steps
    ]
    return tell(recorded.rows, spans, surface_of(product) if product is not None else None)


def sent_calls(step: object, payload: object) -> tuple[tuple[str, str], ...]:
    """Read tool and arguments of each call of an INPUT."""
    out: list[tuple[str, str]] = []
    for item in cast("list[object]", payload if isinstance(payload, list) else [None]):
        parts = cast("list[object]", item)[:3] if isinstance(item, list) else []
        match parts:
            case [bytes(), bytes(tool), bytes(arguments)]:
                out.append((text_of(tool), text_of(arguments)))
            case _:
                raise DamagedRecording(f"INPUT of step {step!r} holds a call of no known shape")
    return tuple(out)


def text_of(data: bytes) -> str:
    """Decode text as it was received, lone surrogates included."""
    return data.decode("utf-8", "surrogatepass")
