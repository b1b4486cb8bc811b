"""What a product class says of one of its stores, and the knobs that follow from it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic

from simharness.errors import UsageError
from simharness.parts.row import R, RowType
from simharness.parts.table import Template
from simharness.product import knobs

if TYPE_CHECKING:
    from collections.abc import Iterable

    from simharness.product.knobs import Knob

DETAIL_KINDS = ("detail", "auth")
QUERY_KINDS = ("list", "search")
KINDS = (*DETAIL_KINDS, *QUERY_KINDS, "feed", "export")

CACHE_KNOBS = (
    "ttl",
    "expire",
    "invalidate",
    "invalidate_delay",
    "invalidate_queue",
    "invalidate_rate",
    "fence",
    "granularity",
    "scope",
)
DETAIL_CACHE_KNOBS = ("negative_ttl", "shared_in_tx")
WRITE_KNOBS = ("lock", "lock_wait", "token", "scope")
FEED_KNOBS = ("payload", "poll")
EXPORT_KNOBS = ("boundary", "stamp", "resolution")
"""Knobs of a view by the name of the attribute that they set."""

LEASE_KNOBS = (
    ("ttl", "ttl"),
    ("renew", "renew_every"),
    ("fencing", "fencing"),
    ("granularity", "granularity"),
)
"""Knobs of a store's leases, each with the attribute that it sets."""


class StoreSpec(Generic[R]):
    """What a product class says of one of its stores."""

    def __init__(
        self,
        row: type[R],
        views: Iterable[str],
        unique: Iterable[str],
        write: Iterable[str] = WRITE_KNOBS,
        table: str = "",
        indexes: Iterable[str | tuple[str, ...]] = (),
        counts: Iterable[str] = (),
    ) -> None:
        self.row_type = RowType(row)
        self.views = tuple(views)
        self.unique = tuple(unique)
        self.indexes = tuple((i,) if isinstance(i, str) else i for i in indexes)
        """Columns by which rows are looked up; of several the last may be asked for by a span."""
        self.counts = tuple(counts)
        """Columns that count what stands in other tables, and so belong to nobody."""
        self.write = tuple(write)
        """Those of WRITE_KNOBS that a tool of the product reads."""
        self.name = table
        """The table; the attribute, unless the product class says otherwise."""
        self.attribute = ""
        for kind in self.views:
            if kind not in KINDS:
                raise UsageError(f"no view kind {kind!r}", "use " + ", ".join(KINDS))
        for what, columns in (("unique", self.unique), ("counting", self.counts)):
            for column in columns:
                if column not in self.row_type.by_name:
                    raise UsageError(f"{what} column {column!r} is no column of {row.__name__}")
        for index in self.indexes:
            for column in index:
                if column not in self.row_type.by_name:
                    raise UsageError(f"indexed column {column!r} is no column of {row.__name__}")
            last = self.row_type.by_name[index[-1]]
            if len(index) > 1 and (last.nullable or last.kind is not int):
                raise UsageError(
                    f"index {', '.join(index)} of {row.__name__} ends in a column without an order",
                    "end it in an int that is never None",
                )

    def template(self, rows: Iterable[R]) -> Template[R]:
        """Freeze start rows for sharing between worlds."""
        return Template(self.name, self.row_type, rows, self.unique, self.indexes)

    def knobs(self) -> list[Knob]:
        """List the knobs that this store reads."""
        out: list[Knob] = []
        if self.views:
            lag = "how far the replica is behind the primary"
            out.append(knobs.span(f"{self.name}.replica.lag", "0s", lag))
        for kind in self.views:
            view = f"{self.name}.{kind}"
            out += contract_knobs(view)
            out.append(route_knob(view, with_index=kind in QUERY_KINDS))
            if kind in DETAIL_KINDS:
                out += cache_knobs(view, ("row", "table"))
                out += detail_cache_knobs(view)
            elif kind in QUERY_KINDS:
                out += cache_knobs(view, ("query", "table", "row"))
                out += index_knobs(view)
            else:
                out += feed_knobs(view) if kind == "feed" else export_knobs(view)
        if "detail" in self.views:
            out += write_knobs(self.name, self.write)
            out += lease_knobs(self.name)
        return out


def contract_knobs(view: str) -> list[Knob]:
    """List what a view may promise."""
    return [
        knobs.duration(f"{view}.staleness", "0s", "contract: how far an answer may lag the truth"),
        knobs.flag(f"{view}.read_your_writes", True, "contract: an actor sees its own writes"),
        knobs.words(
            f"{view}.signals",
            ("as_of", "version"),
            "contract: what an answer says of its age",
        ),
    ]


def route_knob(view: str, *, with_index: bool) -> Knob:
    """Give the knob of where a view reads."""
    routes = ("primary", "replica", "sticky", *(("index",) if with_index else ()))
    doc = "where it reads; sticky: the replica, or the primary until own writes have got there"
    return knobs.choice(f"{view}.route", routes, doc)


def cache_knobs(view: str, scopes: tuple[str, ...]) -> list[Knob]:
    """List the knobs of a view's cache."""
    cache = f"{view}.cache"
    return [
        knobs.duration(f"{cache}.ttl", "0s", "life of a cached answer; 0s caches none"),
        knobs.choice(
            f"{cache}.expire",
            ("after_write", "after_access"),
            "whether a hit prolongs an entry's life",
        ),
        knobs.choice(
            f"{cache}.invalidate",
            ("on_commit", "async", "on_statement", "never"),
            "when a write removes the cached answers that it concerns",
        ),
        knobs.duration(f"{cache}.invalidate_delay", "0s", "time from a commit to its invalidation"),
        knobs.count(
            f"{cache}.invalidate_queue",
            "none",
            "queued invalidations beyond which they are dropped",
        ),
        knobs.rate(f"{cache}.invalidate_rate", "none", "how fast the one worker invalidates"),
        knobs.flag(f"{cache}.fence", True, "refuse a fill older than the last invalidation"),
        knobs.duration(f"{cache}.granularity", "1us", "unit of the cache's clock", low=1),
        knobs.choice(
            f"{cache}.scope",
            scopes,
            "what an invalidation removes: answers that hold the row, those of queries that it "
            "meets too, or the whole table's",
        ),
        knobs.choice(
            f"{cache}.refill",
            ("primary", "replica"),
            "where it gets what it lacks: as routed, or from the replica",
        ),
    ]


def detail_cache_knobs(view: str) -> list[Knob]:
    """List the knobs of a cache that only views of one row have."""
    return [
        knobs.duration(f"{view}.cache.negative_ttl", "0s", "life of a cached miss; 0s caches none"),
        knobs.flag(
            f"{view}.cache.shared_in_tx",
            False,
            "let what an open transaction reads of its own writes enter the cache",
        ),
    ]


def write_knobs(table: str, names: tuple[str, ...]) -> list[Knob]:
    """List the knobs of how rows of a table are written, those of some names."""
    write = f"{table}.write"
    every = [
        knobs.choice(
            f"{write}.lock", ("row", "optimistic", "none"), "what guards a read-think-write"
        ),
        knobs.duration(f"{write}.lock_wait", "30s", "patience for a row lock, then `locked`"),
        knobs.choice(
            f"{write}.token",
            ("read", "refreshed", "ignored"),
            "the version that if_version is held against",
        ),
        knobs.choice(
            f"{write}.scope",
            ("fields", "whole_record"),
            "whole_record also writes what the call leaves out, as the caller last read it",
        ),
    ]
    return [knob for knob in every if knob.key.rpartition(".")[2] in names]


def lease_knobs(table: str) -> list[Knob]:
    """List the knobs of a table's leases."""
    lease = f"{table}.lease"
    return [
        knobs.duration(
            f"{lease}.ttl", "30s", "life of a lease of this table, or of a renewal", low=1
        ),
        knobs.interval(f"{lease}.renew", "none", "time between automatic renewals"),
        knobs.flag(f"{lease}.fencing", True, "refuse writes under a lease that has ended"),
        knobs.duration(f"{lease}.granularity", "1us", "unit of the leases' clock", low=1),
    ]


def index_knobs(view: str) -> list[Knob]:
    """List the knobs of a view's index."""
    return [
        knobs.span(f"{view}.index.lag", "0s", "how far the index is behind the primary"),
        knobs.choice(
            f"{view}.index.hydrate",
            ("index", "primary"),
            "whence come the rows that it found; from the primary they may no longer match",
        ),
    ]


def feed_knobs(view: str) -> list[Knob]:
    """List the knobs of a feed."""
    return [
        knobs.choice(
            f"{view}.payload",
            ("version", "id"),
            "what a notice carries: the row, or its id, and the row is read again",
        ),
        knobs.duration(
            f"{view}.poll",
            "0s",
            "time after which rows shown older than announced are read again; 0s never",
        ),
    ]


def export_knobs(view: str) -> list[Knob]:
    """List the knobs of an export."""
    return [
        knobs.choice(
            f"{view}.boundary",
            ("inclusive", "strict"),
            "whether rows stamped exactly at the cursor are exported",
        ),
        knobs.choice(
            f"{view}.stamp",
            ("commit", "statement"),
            "what rows are stamped with: their commit, or the statement before it",
        ),
        knobs.duration(f"{view}.resolution", "1us", "unit of the stamps", low=1),
    ]
