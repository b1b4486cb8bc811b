"""What can be run in a sandbox, as values: files in, limits, and one of three kinds of work."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from simharness.errors import UsageError
from simharness.sandbox.guest.values import encode

if TYPE_CHECKING:
    from collections.abc import Mapping

PATH_MAX = 1000
"""Characters of a path, from the root of the folder."""
MEMORY_MAX = 512 * 1024 * 1024
"""What `Limits.memory_bytes` may be."""
INSTANT = 1_700_000_000_000_000
"""When time begins inside where nobody says otherwise: microseconds since 1970."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What a run may use; going over any of them has its own documented end."""

    fuel: int = 2_000_000_000
    """WebAssembly instructions, bytes filled and copied included: about a second a billion."""
    memory_bytes: int = 192 * 1024 * 1024
    """Memory of the whole interpreter, which takes some 30 MB of it for itself; at most 512 MiB."""
    output_bytes: int = 1024 * 1024
    """What it may print, both streams together."""
    file_bytes: int = 8 * 1024 * 1024
    """One file."""
    total_bytes: int = 32 * 1024 * 1024
    """All files together."""
    files: int = 4_000
    """Files and folders."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tests:
    """Run the tests at some paths (`tests`, `tests/test_a.py::test_b`), all of them if none."""

    __test__ = False  # for pytest: no test class

    files: Mapping[str, str | bytes]
    paths: tuple[str, ...] = ()
    plugins: bool = False
    """Whether hooks of conftest.py files, and the plugins that these name, take part."""
    load: tuple[str, ...] = ()
    """Plugins to load besides, as `-p` does; with `plugins` alone."""
    limits: Limits = field(default_factory=Limits)
    instant: int = INSTANT


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """Run `python ARGUMENTS...`: a file, `-c`, `-m unittest`, `-m pytest`, or what stdin holds."""

    files: Mapping[str, str | bytes]
    arguments: tuple[str, ...]
    stdin: str = ""
    folder: str = ""
    """Where it is run, "" for the root."""
    limits: Limits = field(default_factory=Limits)
    instant: int = INSTANT


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One call of a function."""

    target: str
    """`module:function`, `module:Class.method`, or `$name:method` of a value that was kept."""
    args: tuple[Any, ...] = ()
    """Plain values, or `Kept`."""
    kwargs: Mapping[str, Any] = field(default_factory=dict[str, Any])
    keep: str = ""
    """Keep what it returns inside, under this name, instead of giving it back."""


@dataclass(frozen=True, slots=True)
class Kept:
    """As an argument: a value that an earlier call has kept."""

    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Calls:
    """Make calls one after the other in one interpreter.

    The arguments of a call are not inside before it is its turn.
    """

    files: Mapping[str, str | bytes]
    calls: tuple[Call, ...]
    limits: Limits = field(default_factory=Limits)
    instant: int = INSTANT


Job: TypeAlias = Tests | Command | Calls


def request(job: Job) -> str:
    """Give the text that begins a run. Raises UsageError for files that can't be laid out."""
    if job.limits.memory_bytes > MEMORY_MAX:
        raise UsageError(f"{job.limits.memory_bytes} bytes of memory", f"give up to {MEMORY_MAX}")
    texts: dict[str, str] = {}
    raw: dict[str, str] = {}
    total = 0
    for path, content in sorted(job.files.items()):
        check_path(path)
        data = content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content
        total += len(data)
        if len(data) > job.limits.file_bytes or total > job.limits.total_bytes:
            raise UsageError(f"file {path!r} is over the sandbox's limits", "raise them in Limits")
        try:
            texts[path] = data.decode("utf-8")
        except UnicodeDecodeError:
            raw[path] = data.hex()
    if len(job.files) > job.limits.files:
        raise UsageError(f"{len(job.files)} files are over the sandbox's limits", "give fewer")
    for path in job.files:
        above = path.rpartition("/")[0]
        while above:
            if above in job.files:
                raise UsageError(f"{above!r} is a file, and {path!r} stands in it", "give one")
            above = above.rpartition("/")[0]
    limits = job.limits
    asked: dict[str, Any] = {
        "files": texts,
        "bytes": raw,
        "instant": job.instant,
        "stdin": "",
        "cwd": "",
        "limits": {
            "output_bytes": limits.output_bytes,
            "file_bytes": limits.file_bytes,
            "total_bytes": limits.total_bytes,
            "files": limits.files,
        },
    }
    match job:
        case Tests():
            asked |= {"mode": "tests", "paths": list(job.paths)}
            asked |= {"plugins": job.plugins, "load": list(job.load)}
        case Command():
            if job.folder:
                check_path(job.folder)
            asked |= {"mode": "command", "argv": list(job.arguments)}
            asked |= {"stdin": job.stdin, "cwd": job.folder}
        case Calls():
            asked |= {"mode": "calls"}
    return dump(asked)


def steps(job: Job) -> tuple[str, ...]:
    """Give the texts of the calls, and of the end that follows them."""
    if not isinstance(job, Calls):
        return ()
    return (*(dump(call_data(call)) for call in job.calls), "null")


def call_data(call: Call) -> dict[str, Any]:
    """Give a call as data. Raises UsageError for arguments that can't be values."""
    try:
        args = [argument(value) for value in call.args]
        kwargs = {name: argument(value) for name, value in sorted(call.kwargs.items())}
    except ValueError as error:
        raise UsageError(f"arguments of {call.target!r}: {error}", "give plain values") from None
    return {"target": call.target, "args": args, "kwargs": kwargs, "keep": call.keep}


def argument(value: Any) -> Any:
    """Give an argument as data. Raises ValueError for objects, which can't be made inside."""
    if isinstance(value, Kept):
        return ["kept", value.name]
    data = encode(value)
    if '["object"' in dump(data):
        raise ValueError(f"{value!r:.80} holds an object of a class of its own")
    return data


def check_path(path: str) -> None:
    """Raise UsageError for a path that isn't one inside the folder, in its plain form."""
    if not is_plain(path):
        raise UsageError(f"{path!r:.80} is no path in a repository", "give one like 'src/a.py'")


def is_plain(path: str) -> bool:
    """Say whether a path is one inside the folder, in its plain form."""
    parts = path.split("/")
    return (
        "\0" not in path and len(path) <= PATH_MAX and not any(p in ("", ".", "..") for p in parts)
    )


def dump(value: Any) -> str:
    """Write JSON in the one form in which requests are compared."""
    return json.dumps(value, ensure_ascii=True, separators=(",", ":"), sort_keys=True)
