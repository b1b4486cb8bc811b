"""The catalogue of a run, `catalog.sqlite`: an index of its episodes to search and to join.

It holds nothing that the other files don't, and is made anew from them: at the end of a run from
verdicts.jsonl, by `simharness index` from the shards. It is replaced whole, so that whoever reads
it never sees half of one.
"""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from simharness.blame.quarantine import read_reviews, settled
from simharness.chat.usage import USAGE
from simharness.errors import RecordingError, UsageError
from simharness.recording.format import from_os_error
from simharness.rollout.block import SHARDS
from simharness.rollout.lines import read_lines, recorded_lines, write_lines

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from simharness.rollout.line import Line

CATALOGUE = "catalog.sqlite"
FORMAT = 2
SCHEMA = """
CREATE TABLE episodes (
    scenario TEXT NOT NULL,
    seed NOT NULL,            -- an INTEGER, or TEXT from 2^63 on, which SQLite has no integer for
    policy TEXT NOT NULL,
    faults TEXT NOT NULL,     -- a JSON array
    load TEXT NOT NULL,
    member INTEGER NOT NULL,  -- place in the group of its instance
    key TEXT NOT NULL,
    shard TEXT NOT NULL REFERENCES shards (name),
    place INTEGER NOT NULL,   -- within the shard, from 0
    digest TEXT NOT NULL,
    steps INTEGER NOT NULL,
    class TEXT NOT NULL,
    code TEXT NOT NULL,       -- the primary one
    codes TEXT NOT NULL,      -- a JSON array
    effect TEXT NOT NULL,
    confidence TEXT NOT NULL,
    valid INTEGER NOT NULL,
    score REAL,
    goal INTEGER,
    quarantined INTEGER NOT NULL,
    reason TEXT NOT NULL,     -- of the quarantine, or of its review
    usage TEXT,               -- a JSON object: what a model's answers took; NULL where none played
    PRIMARY KEY (scenario, seed, policy, faults, load, member)
) WITHOUT ROWID;
CREATE TABLE shards (
    name TEXT PRIMARY KEY,
    episodes INTEGER NOT NULL,
    sealed INTEGER NOT NULL,
    digest TEXT NOT NULL      -- BLAKE2b-128 of the digests of its episodes, one after the other
) WITHOUT ROWID;
"""
COLUMNS = 22
SEED_MAX = 2**63 - 1


def write_catalogue(folder: Path, *, merge: bool = False) -> int:
    """Make the catalogue of a run from its verdicts.jsonl; gives how many episodes it holds.

    Raises UsageError for an episode that is there twice: with `merge` only if the two differ.
    RecordingError when it can't be written.
    """
    path = folder / CATALOGUE
    temporary = path.with_name(f"{CATALOGUE}.tmp")
    with contextlib.suppress(FileNotFoundError):
        temporary.unlink()
    try:
        with contextlib.closing(sqlite3.connect(temporary)) as base:
            base.execute("PRAGMA synchronous = OFF")  # it is renamed when whole, or made again
            base.executescript(SCHEMA)
            base.execute(f"PRAGMA user_version = {FORMAT}")
            count = fill(base, folder, merge=merge)
            base.commit()
        os.replace(temporary, path)
    except sqlite3.OperationalError as error:
        raise RecordingError(
            f"can't write {str(path)!r}: {error}",
            f"the recordings are whole; free some space, then: simharness index {folder}",
        ) from error
    except OSError as error:
        raise from_os_error("write", path, error) from error
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink()
    return count


def index(folder: Path, *, merge: bool = False) -> int:
    """Make verdicts.jsonl and the catalogue again from the shards; gives the count of episodes.

    Raises UsageError for what is no run and for an episode that is there twice, RecordingError for
    what can't be read.
    """
    if not (folder / SHARDS).is_dir():
        raise UsageError(f"{str(folder)!r} is no run", f"give a folder that has {SHARDS} in it")
    write_lines(folder, recorded_lines(folder))
    return write_catalogue(folder, merge=merge)


def fill(base: sqlite3.Connection, folder: Path, *, merge: bool) -> int:
    """Put all lines into a new catalogue. Raises UsageError for an episode that is there twice."""
    reviews = read_reviews(folder)
    shards: dict[str, tuple[int, Any]] = {}
    count = 0
    for line in read_lines(folder):
        held, chain = shards.get(line["shard"], (0, blake2b(digest_size=16)))
        chain.update(bytes.fromhex(line["digest"]))
        shards[line["shard"]] = held + 1, chain
        quarantined, reason = settled(line["key"], line["reason"], reviews)
        row = row_of({**line, "quarantined": quarantined, "reason": reason})
        try:
            base.execute(f"INSERT INTO episodes VALUES ({', '.join('?' * COLUMNS)})", row)
        except sqlite3.IntegrityError:
            require_equal(base, line, row, merge=merge)
        else:
            count += 1
    base.executemany(
        "INSERT INTO shards VALUES (?, ?, ?, ?)",
        (
            (name, held, (folder / SHARDS / name).exists(), chain.hexdigest())
            for name, (held, chain) in sorted(shards.items())
        ),
    )
    return count


def require_equal(
    base: sqlite3.Connection, line: Line, row: tuple[Any, ...], *, merge: bool
) -> None:
    """Refuse an episode that is there already, unless it is the same one and that is meant."""
    found = base.execute(
        "SELECT shard, digest FROM episodes WHERE scenario = ? AND seed = ? AND policy = ? "
        "AND faults = ? AND load = ? AND member = ?",
        row[:6],
    ).fetchone()
    same = found[1] == line["digest"]
    if merge and same:
        return
    raise UsageError(
        f"episode {line['key']!r} is in {found[0]} and in {line['shard']}"
        + ("" if same else ", and the two differ"),
        "--merge takes episodes once that are there twice"
        if same
        else "take one of the shards out of the folder",
    )


def row_of(line: Line) -> tuple[Any, ...]:
    """Give a line as a row of the table."""
    seed = line["seed"]
    return (
        line["scenario"],
        seed if seed <= SEED_MAX else str(seed),
        line["policy"],
        json.dumps(line["faults"], separators=(",", ":")),
        line["load"],
        line["member"],
        line["key"],
        line["shard"],
        line["place"],
        line["digest"],
        line["steps"],
        line["class"],
        line["primary"],
        json.dumps(line["codes"], separators=(",", ":")),
        line["effect"],
        line["confidence"],
        line["valid"],
        line["score"],
        line["goal"],
        line["quarantined"],
        line["reason"],
        json.dumps(line[USAGE], separators=(",", ":")) if USAGE in line else None,
    )


def dump(folder: Path) -> Iterator[str]:
    """Give the catalogue as lines of JSON, episodes by key and then shards by name.

    Raises RecordingError for one that is missing, damaged or of another format.
    """
    path = folder / CATALOGUE
    again = f"make it again: simharness index {folder}"
    if not path.is_file():
        raise RecordingError(f"{str(folder)!r} has no {CATALOGUE}", again)
    try:
        with contextlib.closing(
            sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)
        ) as base:
            base.row_factory = sqlite3.Row
            (version,) = base.execute("PRAGMA user_version").fetchone()
            if version != FORMAT:
                raise RecordingError(f"{str(path)!r} has format {version}, not {FORMAT}", again)
            keys = "scenario, seed, policy, faults, load, member"
            yield from texts(base.execute(f"SELECT * FROM episodes ORDER BY {keys}"))
            yield from texts(base.execute("SELECT * FROM shards ORDER BY name"))
    except sqlite3.DatabaseError as error:
        raise RecordingError(f"{str(path)!r} is damaged: {error}", again) from error


def texts(rows: Iterable[sqlite3.Row]) -> Iterator[str]:
    """Give rows as JSON objects."""
    return (json.dumps(dict(row), separators=(",", ":")) for row in rows)
