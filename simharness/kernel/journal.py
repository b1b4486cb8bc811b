"""The rows of the journal: what each kind means and which columns it has.

A row is a tuple `(kind, t, *columns)`; `t` is the simulated instant in ticks. Names are interned:
the journal writes a STR row when a name first appears and its number afterwards. In a recording `t`
is the difference to the row before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from simharness.errors import DamagedRecording

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

RawRow = tuple[Any, ...]
"""`(kind, t, *columns)` with interned names; ints, str, None and flat lists only."""

STR: Final = 0
CALL: Final = 1
RETURN: Final = 2
READ: Final = 3
LIST: Final = 4
MISS: Final = 5
FILL: Final = 6
FENCED: Final = 7
EXPIRE: Final = 8
INVALIDATE: Final = 9
DROP: Final = 10
LOCKWAIT: Final = 11
LOCK: Final = 12
UNLOCK: Final = 13
LOCKTIMEOUT: Final = 14
COMMIT: Final = 15
RANK: Final = 16
FAULT: Final = 17
BUSY: Final = 18
RAISED: Final = 19
GRADE: Final = 20
TIMEOUT: Final = 22
BADCALL: Final = 23
END: Final = 24
INVARIANT: Final = 25
SCHEMA: Final = 26
LEASE: Final = 27
LEASEEND: Final = 28
LEASEWRITE: Final = 29
LEASEREFUSED: Final = 30
HOLD: Final = 31
HOLDEND: Final = 32
TXBEGIN: Final = 33
TXWRITE: Final = 34
TXEND: Final = 35
NODE: Final = 36
CLOCK: Final = 40
LIMITED: Final = 41
CAUSED: Final = 42
JOB: Final = 43
JOBSTART: Final = 44
JOBEND: Final = 45
MESSAGE: Final = 46
RELAYED: Final = 47
WEBHOOK: Final = 48
DELIVERED: Final = 49
WEBHOOKEND: Final = 50
APPLIED: Final = 51
IGNORED: Final = 52
CHECKED: Final = 60
GATEWAY: Final = 61
GATEWAYEND: Final = 62
LEDGER: Final = 63
BOOKS: Final = 64
SECRET: Final = 70
BEYOND: Final = 71
CUT: Final = 72
TESTED: Final = 73
UNPINNED: Final = 74
LITERAL: Final = 75
GRADER: Final = 76

COLUMNS: Final[dict[int, tuple[str, ...]]] = {
    STR: ("number", "text"),
    CALL: ("@owner", "n", "@tool", "writes"),
    RETURN: ("@owner", "n", "@status"),
    READ: ("@owner", "n", "@view", "key", "served", "true", "age", "@source", "bound", "promises"),
    LIST: (
        "@owner",
        "n",
        "@view",
        "~query",
        "order",
        "rows",
        "@source",
        "bound",
        "promises",
        "wrong",
    ),
    MISS: ("@owner", "n", "@view", "~key"),
    FILL: ("@view", "~key", "order", "ttl"),
    FENCED: ("@view", "~key", "order", "fence"),
    EXPIRE: ("@view", "~key"),
    INVALIDATE: ("@view", "~key", "order", "removed"),
    DROP: ("@view", "~key", "order", "queued"),
    LOCKWAIT: ("@owner", "n", "@lock", "@holder"),
    LOCK: ("@owner", "n", "@lock"),
    UNLOCK: ("@owner", "n", "@lock"),
    LOCKTIMEOUT: ("@owner", "n", "@lock"),
    COMMIT: (
        "@owner",
        "n",
        "order",
        "@table",
        "key",
        "before",
        "after",
        "delta",
        "given",
        "read",
        "unmeant",
    ),
    RANK: ("@process", "sequence", "rank"),
    FAULT: ("@fault", "on"),
    BUSY: ("@owner", "n", "@pool", "waiting"),
    RAISED: ("@owner", "n", "@type"),
    GRADE: ("@role", "@predicate", "holds", "@evidence", "keys"),
    TIMEOUT: ("@owner", "n", "@tool", "@answer"),
    BADCALL: ("@owner", "n", "@tool", "@reason"),
    END: ("@reason", "@outcome", "waited"),
    INVARIANT: ("@text",),
    SCHEMA: ("@digest",),
    LEASE: ("@owner", "n", "@lease", "token", "expires"),
    LEASEEND: ("@owner", "n", "@lease", "token", "@reason"),
    LEASEWRITE: ("@owner", "n", "@lease", "token", "newest"),
    LEASEREFUSED: ("@owner", "n", "@lease", "token", "newest"),
    HOLD: (
        "@owner",
        "n",
        "@holds",
        "hold",
        "@table",
        "key",
        "quantity",
        "capacity",
        "expires",
    ),
    HOLDEND: ("@holds", "hold", "@reason"),
    TXBEGIN: ("@owner", "n", "@tx"),
    TXWRITE: ("@owner", "n", "@table", "key", "before"),
    TXEND: ("@owner", "n", "@reason"),
    NODE: ("@actor", "@event", "until"),
    CLOCK: ("@node", "offset", "drift", "@reason"),
    LIMITED: ("@owner", "n", "@limit", "wait"),
    CAUSED: ("@owner", "n", "@by", "by_n"),
    JOB: ("@owner", "n", "@queue", "@job", "once"),
    JOBSTART: ("@owner", "n", "@queue", "attempt"),
    JOBEND: ("@owner", "n", "@queue", "@reason"),
    MESSAGE: ("@owner", "n", "@outbox", "@kind", "@ref", "order"),
    RELAYED: ("@owner", "n", "@outbox", "@reason"),
    WEBHOOK: ("@owner", "n", "@webhook", "@event", "@kind", "@ref", "created"),
    DELIVERED: ("@owner", "n", "@webhook", "@event", "attempt", "@answer"),
    WEBHOOKEND: ("@owner", "n", "@webhook", "@event", "@reason"),
    APPLIED: ("@owner", "n", "@inbox", "@event", "@ref", "created"),
    IGNORED: ("@owner", "n", "@inbox", "@event", "@ref", "created", "@reason"),
    CHECKED: ("@owner", "n", "@table", "key", "quantity", "free"),
    GATEWAY: (
        "@owner",
        "n",
        "@gateway",
        "@kind",
        "@ref",
        "@of",
        "amount",
        "@currency",
        "@key",
        "@body",
        "until",
        "repeated",
    ),
    GATEWAYEND: ("@owner", "n", "@gateway", "@status"),
    LEDGER: (
        "@owner",
        "n",
        "@gateway",
        "@kind",
        "@ref",
        "@of",
        "amount",
        "@currency",
        "at",
    ),
    BOOKS: ("@ref", "net", "due"),
    SECRET: ("@source", "@text"),
    BEYOND: ("@owner", "n", "@doing", "@what"),
    CUT: ("@owner", "n", "@part", "shown", "total", "told"),
    TESTED: ("@suite", "@test", "@outcome", "@message"),
    UNPINNED: ("@path", "@change", "passes"),
    LITERAL: ("@path", "@test", "literals"),
    GRADER: ("@how", "passes"),
}
"""Columns by kind, in order; `@` marks an interned name, `~` a row id (>= 0) or an interned name
(as -1 - number). READ: served and true are versions (0 = never existed), age and bound are
ticks, age 0 = fresh; promises has the bits 1 where actors see their own writes and 2 where the
versions shown are meant to be compared. LIST:
rows is flat `[key, version, ...]`, wrong is flat `[key, served, true, age, ...]`. COMMIT: before
and after are versions (after < 0: the row was deleted at version -after), delta is flat
`[column, value, ...]`, given is the version that the caller said its write rests on (0 for
none), read the version that the new values were computed on, unmeant the changed columns that
the call didn't name. CALL: writes is 1 for a tool that changes rows. END: waited is the
simulated time that the agent spent waiting for answers. GRADE: role is goal, footprint, reset
(the goal held before anything was done), regrade (judged again with empty caches, written only
when it comes out otherwise) or unstable (the same, and otherwise once more in the same state).
INVARIANT rows stand for what is broken. SCHEMA: the digest of all
tools' schemas, at the start and whenever it has changed. LEASE is a grant, or with the token of a
lease that runs its renewal; owner and n are the holder's, as in LEASEEND. LEASEREFUSED: token is
that of a refused write, 0 where the lease itself was refused. expires is a tick. TXBEGIN, TXWRITE
and TXEND tell of a transaction that stays open between calls; n is that of the call that began it,
as in its LOCK and COMMIT rows. TXWRITE is a statement, before the version that was committed then.
CLOCK: from then on the node's clock is offset ticks ahead and drift parts per million too fast;
until its first row a clock is exact. LIMITED: wait is the ticks until the call would be let
through. CAUSED: by and by_n name the operation to which it is a reaction. created is an instant,
order the place of a commit. GATEWAY is a request as the app meant it, whose key stands for it up to
the tick `until`; LEDGER is what was moved, both in minor units, with n 0 for what had been moved
before the start. BOOKS: what the product's books say is left of a charge, and what is due back of
it. SECRET: a text that the agent must not be shown, and where it lies all the same. BEYOND: a call
reached for what lies outside of the task's place: doing is read, write or network. CUT: a part of
an answer was shortened to `shown` of `total` characters, and `told` is whether it said so. The
last four are of what an agent handed in: TESTED is what became of one test of a suite (hidden;
visible, as it was at the start; own, as it was handed in); UNPINNED is a file of the test surface
that was handed in otherwise than it was given, and whether the suite passes with such files;
LITERAL the literals of a visible test that the work handed in has come to hold; GRADER how the
grader that pays came to its answer."""

NAMES: Final[dict[int, str]] = {
    value: name
    for name, value in list(globals().items())
    if isinstance(value, int) and name.isupper() and value in COLUMNS
}
"""Kind number to its name."""


class Row(NamedTuple):
    """One decoded row."""

    index: int  # type: ignore[assignment]  # the row's, not the tuple's
    """Place in the episode, from 0."""
    kind: str
    t: int
    values: dict[str, Any]
    """Columns by name (without the `@`), interned names as text."""

    def __str__(self) -> str:
        inner = " ".join(f"{k}={v!r}" for k, v in self.values.items())
        return f"#{self.index} {self.t / 1_000_000:.6f}s {self.kind} {inner}"


class Plan(NamedTuple):
    """How rows of one kind are decoded."""

    name: str
    width: int
    """Of a raw row, with kind and instant."""
    columns: tuple[str, ...]
    interned: tuple[str, ...]
    """Columns that hold the number of a name."""
    mixed: tuple[str, ...]
    """Columns that hold a row id, or the number of a name."""


PLANS: Final[dict[int, Plan]] = {
    kind: Plan(
        NAMES[kind],
        len(columns) + 2,
        tuple(c.lstrip("@~") for c in columns),
        tuple(c[1:] for c in columns if c[0] == "@"),
        tuple(c[1:] for c in columns if c[0] == "~"),
    )
    for kind, columns in COLUMNS.items()
}


def unknown_name(index: int, number: object) -> DamagedRecording:
    """Build the error for a row that uses a name before it was introduced."""
    return DamagedRecording(f"row {index} names number {number!r} that no row introduced")


class Decoder:
    """Turns raw rows (with absolute instants) into `Row`s; keeps the names seen so far."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.count = 0

    def decode(self, raw: Sequence[Any]) -> Row:
        """Decode the next row. Raises DamagedRecording when it has no known shape."""
        index = self.count
        self.count = index + 1
        kind = raw[0] if raw else None
        plan = PLANS.get(kind) if isinstance(kind, int) else None
        if plan is None or len(raw) != plan.width:
            raise DamagedRecording(
                f"row {index} has no known shape: kind {kind!r}, {len(raw)} columns"
            )
        name, _, columns, interned, mixed = plan
        names = self.names
        # An audit decodes every row of an episode: it pays to look at each number but once.
        values: dict[str, Any] = dict(zip(columns, raw[2:], strict=False))
        number: Any = None
        try:
            for column in interned:
                number = values[column]
                if number < 0:
                    raise unknown_name(index, number)
                values[column] = names[number]
            for column in mixed:
                number = values[column]
                if number < 0:
                    values[column] = names[-1 - number]
                elif not isinstance(number, int):
                    raise unknown_name(index, number)
        except (IndexError, TypeError):
            raise unknown_name(index, number) from None
        if kind == STR:
            if raw[2] != len(names) or not isinstance(raw[3], str):
                raise DamagedRecording(f"row {index} introduces name {raw[2]!r} out of turn")
            names.append(raw[3])
        return Row(index, name, raw[1], values)

    def decode_all(self, rows: Iterable[Sequence[Any]]) -> Iterator[Row]:
        """Decode rows in order."""
        for raw in rows:
            yield self.decode(raw)


def deltas(rows: Sequence[RawRow], start: int, last: int) -> tuple[list[RawRow], int]:
    """Give `rows[start:]` with each `t` relative to the row before, and the last instant."""
    out: list[RawRow] = []
    append = out.append
    for row in rows[start:] if start else rows:
        t = row[1]
        append((row[0], t - last, *row[2:]))
        last = t
    return out, last


class Undelta:
    """Turns the relative instants of a recording's rows into absolute ones."""

    def __init__(self) -> None:
        self.t = 0

    def absolute(self, rows: Iterable[Sequence[Any]]) -> list[tuple[Any, ...]]:
        """Give the rows with absolute instants.

        Raises DamagedRecording for rows that aren't rows.
        """
        out: list[tuple[Any, ...]] = []
        for row in rows:
            if len(row) < 2 or type(row[1]) is not int:
                raise DamagedRecording(f"a row without an instant: {row!r:.80}")
            self.t += row[1]
            out.append((row[0], self.t, *row[2:]))
        return out
