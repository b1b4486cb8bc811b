"""A black-box check: could all that callers were told come from rows that do one thing at a time?

`check` searches for an order of the operations on one object that respects their instants and that
a sequential model would have answered just so (Wing and Gong, with memory, as in Porcupine). It
cross-checks the detectors, which know the truth: it sees only API results.

`histories` uses the instants of CALL, RETURN and TIMEOUT rows, and of each exchange what its caller
sent and was told. What background users, customers and workers sent and were told is kept nowhere,
so their COMMIT rows stand for it: key, version given, columns named, new version. Whoever commits
without a CALL does so at the COMMIT's instant.

A pass does not prove anything about lists, searches, permission checks, the reads and refusals of
background users, columns that are not tracked, or two rows together. Nor does it prove that a read
was fresh if nobody had been told of the newer version before the tick of its call. A failure is no
finding where a contract allows staleness: the model allows none.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from simharness.errors import UsageError
from simharness.parts.row_name import number_of

if TYPE_CHECKING:
    from simharness.kernel.journal import Row
    from simharness.parts.row import RowType

StateT = TypeVar("StateT", bound=Hashable)
InputT = TypeVar("InputT")
OutputT = TypeVar("OutputT")

STATES_MAX = 100_000
"""States that one search may visit. A count and no clock: the ruling is the same everywhere."""


class Ruling(StrEnum):
    """What a search found."""

    LINEARIZABLE = "linearizable"
    NOT = "not linearizable"
    UNKNOWN = "unknown"
    """The budget ran out first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Observed(Generic[InputT, OutputT]):
    """One operation as its caller saw it."""

    called: int
    """Tick."""
    returned: int | None
    """Tick; None for an unknown outcome: it takes effect at any time after the call, or never."""
    input: InputT
    output: OutputT | None = None
    """None where nothing is known of it."""


@dataclass(frozen=True, slots=True)
class Model(Generic[StateT, InputT, OutputT]):
    """What an object does when it does one thing at a time, as pure functions of a state."""

    init: StateT
    step: Callable[[StateT, InputT, OutputT | None], tuple[bool, StateT]]
    """Whether the state allows this output (None it always does), and the state afterwards."""


def check(
    model: Model[StateT, InputT, OutputT],
    history: Iterable[Observed[InputT, OutputT]],
    budget: int = STATES_MAX,
) -> Ruling:
    """Search for a sequential order of the operations on one object that the model agrees with.

    Intervals are closed: a return and a call at one tick are concurrent, since ticks don't say
    which came first. Raises UsageError for an operation that returns before it is called.
    """
    ops = sorted(history, key=lambda op: op.called)
    ends = sorted((op.returned, i) for i, op in enumerate(ops) if op.returned is not None)
    for returned, i in ends:
        if returned < ops[i].called:
            raise UsageError(f"called at tick {ops[i].called}, returned at tick {returned}")
    required = sum(1 << i for _, i in ends)
    stack = [(0, model.init)]
    seen = set(stack)
    while stack:
        done, state = stack.pop()
        if done & required == required:
            return Ruling.LINEARIZABLE
        # Whoever was called after a return comes after the operation that returned.
        limit = next(returned for returned, i in ends if not done >> i & 1)
        ahead: list[tuple[int, StateT]] = []
        for i in range((~done & done + 1).bit_length() - 1, len(ops)):
            op = ops[i]
            if op.called > limit:
                break
            if done >> i & 1:
                continue
            fits, after = model.step(state, op.input, op.output)
            # One that need not be placed and would change nothing here may as well come later.
            if fits and (op.returned is not None or after != state):
                ahead.append((done | 1 << i, after))
        for node in reversed(ahead):
            if node not in seen:
                if len(seen) >= budget:
                    return Ruling.UNKNOWN
                seen.add(node)
                stack.append(node)
    return Ruling.NOT


class Kind(StrEnum):
    """What is done to a row."""

    READ = "read"
    CREATE = "create"
    UPDATE = "update"
    DELETE = "delete"


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What was asked of one row."""

    kind: Kind
    key: int | None = None
    """Row id; None for a creation whose answer gives it."""
    changes: Mapping[str, Any] = field(default_factory=dict[str, Any])
    if_version: int | None = None
    requires: Mapping[str, tuple[Any, ...]] = field(default_factory=dict[str, tuple[Any, ...]])
    """Tracked columns, with the values that they may have for a write to be let through."""
    shows: bool = True
    """Whether the answer shows the row."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What was told of one row."""

    code: str = "ok"
    """ok, not_found, or conflict: the row had another version than `if_version`."""
    version: int | None = None
    """Of the row afterwards; None where the answer doesn't say."""
    fields: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Tracked columns that the answer shows."""


class RowState(NamedTuple):
    """One row: the number of its last version, and its tracked columns or None for no row."""

    version: int
    fields: tuple[Any, ...] | None


RowModel = Model[RowState, Request, Reply]
RowHistory = list[Observed[Request, Reply]]


def row_model(columns: Sequence[str], start: Mapping[str, Any] | None = None) -> RowModel:
    """Make the model of a row with some tracked columns; `start` is its first state as told."""

    def step(state: RowState, asked: Request, told: Reply | None) -> tuple[bool, RowState]:
        code, after = performed(columns, state, asked)
        if told is None:
            return True, after
        shown = dict(zip(columns, after.fields or (), strict=False))
        same = all(shown.get(name) == value for name, value in told.fields.items())
        return same and told.code == code and told.version in (None, after.version), after

    fields = tuple(frozen(start[name]) for name in columns) if start is not None else None
    return Model(RowState(start["version"] if start is not None else 0, fields), step)


def performed(columns: Sequence[str], state: RowState, asked: Request) -> tuple[str, RowState]:
    """Do one thing to a row: the code of the answer, and the row afterwards."""
    if asked.kind is Kind.CREATE:
        new = RowState(state.version + 1, tuple(frozen(asked.changes.get(c)) for c in columns))
        return ("ok", new) if state.fields is None else ("taken", state)
    if state.fields is None:
        return "not_found", state
    if asked.kind is Kind.READ:
        return "ok", state
    if asked.if_version not in (None, state.version):
        return "conflict", state
    fields = dict(zip(columns, state.fields, strict=True))
    if any(fields[name] not in allowed for name, allowed in asked.requires.items()):
        return "forbidden", state
    changed = tuple(frozen(asked.changes.get(c, fields[c])) for c in columns)
    return "ok", RowState(state.version + 1, None if asked.kind is Kind.DELETE else changed)


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """One call as its caller knows it."""

    owner: str
    n: int
    """Number of the operation, as journal rows have it."""
    tool: str
    arguments: Mapping[str, Any]
    ok: bool
    value: Any
    """The answer, or the error as a map with a `code`."""


def histories(
    rows: Sequence[Row],
    exchanges: Iterable[Exchange],
    row_type: RowType[Any],
    table: str,
    columns: Sequence[str],
    tools: Mapping[str, Callable[[Mapping[str, Any]], Request]],
) -> dict[int, RowHistory]:
    """Build the history of each row of a table that something is known of.

    `tools` reads a call's arguments as one thing done to one row; a call of another tool counts as
    one without an exchange. A refusal that says nothing of the row (forbidden, locked) must have
    had no effect. Raises UsageError for a tracked instant, which answers show as text.
    """
    for name in columns:
        if row_type.by_name[name].instant:
            raise UsageError(f"column {table}.{name} is an instant", "track other columns")
    at = {(row.kind, row.values.get("owner"), row.values.get("n")): row.t for row in rows}
    out: dict[int, RowHistory] = defaultdict(list)
    unplaced: RowHistory = []  # creations whose caller wasn't told the id
    told: set[tuple[str, int]] = set()
    for exchange in exchanges:
        place = exchange.owner, exchange.n
        called = at.get(("CALL", *place))
        if called is None or exchange.tool not in tools:
            continue
        told.add(place)
        asked = tools[exchange.tool](exchange.arguments)
        returned = at.get(("TIMEOUT", *place), at.get(("RETURN", *place)))
        if not exchange.ok and exchange.value["code"] == "unknown_outcome":
            returned = None
        output = None if returned is None else reply(asked, exchange, columns)
        if output is None and (returned is not None or asked.kind is Kind.READ):
            continue
        key = (
            number_of(exchange.value.get("id")) if asked.key is None and exchange.ok else asked.key
        )
        if key is None:
            unplaced.append(Observed(called=called, returned=None, input=asked))
        else:
            out[key].append(Observed(called=called, returned=returned, input=asked, output=output))
    for row in rows:
        place = row.values.get("owner", ""), row.values.get("n", 0)
        if row.kind == "COMMIT" and row.values["table"] == table and place not in told:
            called = returned = row.t
            # The call that began an open transaction was answered long before.
            if ("CALL", *place) in at and ("TXBEGIN", *place) not in at:
                called = at["CALL", *place]
                # A call that is under way at the end has taken effect by then.
                returned = at.get(("RETURN", *place), rows[-1].t)
            asked, seen = committed(row, row_type.names, columns)
            op = Observed(called=called, returned=returned, input=asked, output=seen)
            out[row.values["key"]].append(op)
    return {key: history + unplaced for key, history in sorted(out.items())}


def reply(asked: Request, exchange: Exchange, columns: Sequence[str]) -> Reply | None:
    """Read what an answer says of the row; None for a refusal that says nothing of it."""
    value = exchange.value
    if not exchange.ok:
        if value["code"] == "not_found" and asked.kind is not Kind.CREATE:
            return Reply(code="not_found")
        # Other conflicts are about unique columns, or about a write that overtook this one.
        version, given = value.get("version"), asked.if_version
        about = value["code"] == "conflict" and None not in (version, given) and version != given
        return Reply(code="conflict", version=version) if about else None
    if value is None:
        return Reply(code="not_found" if asked.kind is Kind.READ else "ok")
    if asked.kind is Kind.DELETE or not asked.shows:
        return Reply()
    shown = {name: frozen(value[name]) for name in columns if name in value}
    return Reply(version=value.get("version"), fields=shown)


def committed(row: Row, names: Sequence[str], columns: Sequence[str]) -> tuple[Request, Reply]:
    """Read a COMMIT row as a request and its answer."""
    v, delta = row.values, row.values["delta"]
    pairs: Iterable[tuple[int, Any]] = zip(delta[::2], delta[1::2], strict=True)
    named = {names[i]: value for i, value in pairs if i not in v["unmeant"]}
    asked = Request(
        kind=Kind.DELETE if v["after"] < 0 else Kind.UPDATE if v["before"] else Kind.CREATE,
        key=v["key"],
        changes={name: named[name] for name in columns if name in named},
        if_version=v["given"] or None,
    )
    return asked, Reply(version=abs(v["after"]))


def frozen(value: Any) -> Any:
    """Give a column's value as one that can be hashed: lists, as answers show tuples, as tuples."""
    items: Any = value
    return tuple(items) if isinstance(value, list) else value
