"""The canonical encoding: equal values have equal bytes, and equal bytes are equal values.

A value is None, a bool, an int in [-2**63, 2**64), a str, bytes, or a list or dict of values with
str keys. `pack` gives the one msgpack text of it: shortest forms, map keys in the order of their
code points, lone surrogates kept as they are. The bytes are the same on every supported Python,
under every hash seed, and with msgpack in C or in pure Python; a digest of them names the value.

Equal means equal here, type and all: `True` and `1` are two values. A tuple counts as a list, and a
member of a `StrEnum` or `IntEnum` as its plain str or int, so these come back from `unpack` as
such. Floats are refused: state is counted in ints, and a float that must be kept is kept as text.

`unpack` reads bytes from anywhere. It takes only what `pack` could have written, within
`BYTES_MAX` and `DEPTH_MAX`, and whatever else it meets is a `DamagedRecording`.
"""

from __future__ import annotations

import enum
import hashlib
from importlib import import_module
from itertools import chain
from typing import TYPE_CHECKING, Final, Protocol, TypeAlias, cast

from simharness.errors import DamagedRecording, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

Value: TypeAlias = (
    bool | int | str | bytes | list["Value"] | tuple["Value", ...] | dict[str, "Value"] | None
)
"""What `pack` takes, as a type to write in signatures."""

BYTES_MAX: Final = 64 * 1024 * 1024
"""The most bytes that one value packs to."""

DEPTH_MAX: Final = 64
"""The most lists and dicts that may stand inside each other."""

INT_MIN: Final = -(2**63)
INT_MAX: Final = 2**64 - 1


class Packer(Protocol):
    """The one method of `msgpack.Packer` in use."""

    def pack(self, obj: object, /) -> bytes:
        """Return the bytes of `obj`."""
        ...


def pack(value: object) -> bytes:
    """Return the canonical bytes of `value`.

    The parameter is `object` because a `list[int]` is no `list[Value]` to a type checker; the types
    are checked here instead, exactly.

    Raises:
        UsageError: Something in `value` is no `Value` or is too big; the message starts with the
            path to it, as in "fields.amount[3]: float 0.5 can't be packed".
    """
    data = _packb(_plain(value, None, 0), **_PACK_OPTIONS)
    if len(data) > BYTES_MAX:
        raise UsageError(f"value: packs to {len(data)} bytes", f"at most {BYTES_MAX}")
    return data


def unpack(data: bytes) -> object:
    """Return the value that packs to `data`, which may come from anywhere.

    Raises:
        DamagedRecording: The bytes are not what `pack` writes for any value.
    """
    if len(data) > BYTES_MAX:
        raise DamagedRecording(f"packed value of {len(data)} bytes, expected at most {BYTES_MAX}")
    unpacker = _new_unpacker(max_buffer_size=max(len(data), 1), **_UNPACK_OPTIONS)
    try:
        # A header makes msgpack allocate all the items it claims, at each level again. Skipping
        # allocates nothing and fails if they aren't there, so that unpacking is then safe.
        unpacker.feed(data)
        unpacker.skip()
        if unpacker.tell() != len(data):
            raise DamagedRecording(
                f"packed value ends at byte {unpacker.tell()}, expected {len(data)}"
            )
        unpacker.feed(data)
        value = unpacker.unpack()
    except DamagedRecording:
        raise
    # msgpack documents no narrower type for what can go wrong; RecursionError is part of it.
    except Exception as error:
        raise DamagedRecording(f"packed value: {str(error) or type(error).__name__}") from error
    _check_canonical(value, data)
    return value


def digest(data: bytes, previous: bytes = b"") -> bytes:
    """Return the blake2b-128 of `previous` followed by `data`: 16 bytes, for chains."""
    chained = hashlib.blake2b(previous, digest_size=16)
    chained.update(data)
    return chained.digest()


def digest_of(value: object) -> str:
    """Return the digest of the canonical bytes of `value`, 32 hex digits.

    Raises:
        UsageError: As `pack`.
    """
    return digest(pack(value)).hex()


def fast_packer() -> Packer:
    """Return a packer that checks nothing, for rows that are known to be clean.

    Clean are None, str, int in range, and tuples and lists of those; their bytes are the same as
    those of `pack`. A packer is not for several threads at once.
    """
    return _new_packer(**_PACK_OPTIONS)


class _Unpacker(Protocol):
    def feed(self, data: bytes, /) -> None: ...
    def skip(self) -> None: ...
    def tell(self) -> int: ...
    def unpack(self) -> object: ...


# msgpack has no types of its own: these are all that this package uses of it.
_msgpack = import_module("msgpack")
_packb = cast("Callable[..., bytes]", _msgpack.packb)
_new_packer = cast("Callable[..., Packer]", _msgpack.Packer)
_new_unpacker = cast("Callable[..., _Unpacker]", _msgpack.Unpacker)

_PACK_OPTIONS: Final = {"use_bin_type": True, "unicode_errors": "surrogatepass"}
_UNPACK_OPTIONS: Final = {"raw": False, "unicode_errors": "surrogatepass"}
_UNPACKED_TYPES: Final = frozenset({type(None), bool, int, str, bytes, list, dict})

# A path to a value: the path to what holds it, and its key or index there. It becomes text only
# when there is something to refuse.
_Path: TypeAlias = "tuple[_Path, str | int] | None"


def _plain(value: object, path: _Path, depth: int) -> object:
    """Return `value` in exact base types with its keys in order, or refuse it."""
    kind = type(value)
    if value is None or kind is str or kind is bool or kind is bytes:
        return value
    if kind is int:
        return _in_range(cast("int", value), path)
    if kind is list or kind is tuple:
        _check_depth(path, depth)
        items = cast("list[object]", value)
        return [_plain(item, (path, i), depth + 1) for i, item in enumerate(items)]
    if kind is dict:
        _check_depth(path, depth)
        fields = _plain_keys(cast("dict[object, object]", value), path)
        return {key: _plain(fields[key], (path, key), depth + 1) for key in sorted(fields)}
    if isinstance(value, enum.StrEnum):
        return str.__str__(value)
    if isinstance(value, enum.IntEnum):
        return _in_range(int.__int__(value), path)
    raise _refusal(value, path)


def _in_range(number: int, path: _Path) -> int:
    if not INT_MIN <= number <= INT_MAX:
        raise UsageError(
            f"{_where(path)}: int of {number.bit_length()} bits can't be packed",
            "the range is -2**63 to 2**64 - 1; beyond it, keep the digits as a str",
        )
    return number


def _plain_keys(fields: dict[object, object], path: _Path) -> dict[str, object]:
    plain: dict[str, object] = {}
    for key, item in fields.items():
        if isinstance(key, enum.StrEnum):
            plain[str.__str__(key)] = item
        elif type(key) is str:
            plain[key] = item
        else:
            raise UsageError(
                f"{_where(path)}: key of type {type(key).__name__} can't be packed",
                "keys are str; for other keys, write a list of pairs",
            )
    return plain


def _check_depth(path: _Path, depth: int) -> None:
    # Also what ends a list that holds itself.
    if depth == DEPTH_MAX:
        raise UsageError(f"{_where(path)}: nested deeper than {DEPTH_MAX} lists and dicts")


def _refusal(value: object, path: _Path) -> UsageError:
    name = type(value).__name__
    if type(value) is float:
        return UsageError(
            f"{_where(path)}: float {value!r} can't be packed", "use an int in a smaller unit"
        )
    # The repr of an unknown object may hold an address, which would differ from run to run.
    hint = "use None, bool, int, str, bytes, and list, tuple or dict of those"
    if isinstance(value, (int, str, bytes, list, tuple, dict)):
        hint = "it is a subclass; convert it to the plain type"
    return UsageError(f"{_where(path)}: {name} can't be packed", hint)


def _where(path: _Path) -> str:
    steps: list[str | int] = []
    while path is not None:
        path, step = path
        steps.append(step)
    text = ""
    for step in reversed(steps):
        if isinstance(step, int) or not step.isidentifier():
            text += f"[{step!r}]"
        else:
            text += f".{step}" if text else step
    return text or "value"


def _check_canonical(value: object, data: bytes) -> None:
    """Refuse what msgpack reads and `pack` doesn't write, such as floats, long forms, odd keys."""
    # By level rather than by recursion, so that most of the work is done in C.
    level = [value]
    for _ in range(DEPTH_MAX + 1):
        kinds = set(map(type, level))
        if strange := kinds - _UNPACKED_TYPES:
            names = ", ".join(sorted(kind.__name__ for kind in strange))
            raise DamagedRecording(f"packed value: holds what can't be packed: {names}")
        lists = [cast("list[object]", item) for item in level if type(item) is list]
        maps = [cast("dict[object, object]", item) for item in level if type(item) is dict]
        if not lists and not maps:
            break
        for fields in maps:
            _check_keys(list(fields))
        level = list(chain.from_iterable(chain(lists, (fields.values() for fields in maps))))
    else:
        raise DamagedRecording(f"packed value: nested deeper than {DEPTH_MAX}")
    # A form longer than need be and a key that occurs twice both pack to fewer bytes again.
    if _packb(value, **_PACK_OPTIONS) != data:
        raise DamagedRecording("packed value: not in its canonical form")


def _check_keys(keys: list[object]) -> None:
    if any(type(key) is not str for key in keys):
        raise DamagedRecording("packed value: holds a key that is no str")
    if keys != sorted(cast("list[str]", keys)):
        raise DamagedRecording("packed value: holds keys out of order")
