"""Values as data: what crosses the wall of the sandbox, in both directions.

Types are told exactly and by nothing that a value could say about itself: a subclass of `int` is no
int, an object with an agreeable `__eq__` is an object. None, booleans, text and ints below 2**53
stand for themselves; anything else is a JSON array that begins with the name of its type.
"""

# The program's objects are of any type, and nothing is known of them.
# pyright: reportUnknownArgumentType=false, reportUnknownLambdaType=false
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false

from __future__ import annotations

import datetime
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

NODES_MAX = 200_000
DEPTH_MAX = 100
PLAIN_INT = 2**53

_type = type
_field = object.__getattribute__


class Unencodable(ValueError):  # noqa: N818  (it says what a value is)
    """A value that is too deep or too large to cross."""


@dataclass(frozen=True, slots=True)
class Thing:
    """What came of an object of any other class: the class by name, and its fields as data."""

    type: str
    """Module and qualified name."""
    fields: tuple[tuple[str, Any], ...] = ()


class _Encoder:
    def __init__(self) -> None:
        self.nodes = 0

    def encode(self, value: Any, depth: int = 0) -> Any:
        self.nodes += 1
        if self.nodes > NODES_MAX or depth > DEPTH_MAX:
            raise Unencodable(f"a value of over {NODES_MAX} parts or {DEPTH_MAX} levels")
        kind = _type(value)
        if value is None or kind is bool or kind is str:
            return value
        if kind is int:
            return value if -PLAIN_INT < value < PLAIN_INT else ["int", hex(value)]
        if kind is float:
            return ["float", float.hex(value)]
        if kind is list or kind is tuple:
            return [kind.__name__, *[self.encode(item, depth + 1) for item in value]]
        if kind is dict:
            pairs = [
                [self.encode(key, depth + 1), self.encode(item, depth + 1)]
                for key, item in dict.items(value)
            ]
            return ["dict", *pairs]
        if kind is set or kind is frozenset:
            items = [self.encode(item, depth + 1) for item in value]
            return [kind.__name__, *sorted(items, key=repr)]
        simple = SIMPLE.get(kind)
        if simple is not None:
            return [simple[0], *simple[1](value)]
        return self.thing(value, kind, depth)

    def thing(self, value: Any, kind: type, depth: int) -> Any:
        """Encode an object by what its class declares and its dictionary holds."""
        attributes = _type.__getattribute__
        name = f"{attributes(kind, '__module__')}.{attributes(kind, '__qualname__')}"
        fields: list[Any] = []
        mro = attributes(kind, "__mro__")
        base = next((b for b in mro if b in BASES), None)
        if base is not None:
            # What a subclass of a plain type holds, read as that type.
            plain = BASES[base](value)
            fields.append(["", self.encode(plain, depth + 1)])
        try:
            held = _field(value, "__dict__")
        except AttributeError:
            held = {}
        names: list[str] = sorted(held) if _type(held) is dict else []
        for cls in mro:
            slots = attributes(cls, "__dict__").get("__slots__", ())
            slots = (slots,) if _type(slots) is str else slots
            names += [s for s in slots if _type(s) is str and s not in ("__dict__", "__weakref__")]
        for key in names:
            try:
                item = held[key] if key in held else _field(value, key)
            except AttributeError:
                continue
            fields.append([key, self.encode(item, depth + 1)])
        return ["object", name, fields]


def _zone(zone: Any) -> Any:
    """Give a fixed offset in seconds; other zones are their class's business."""
    if zone is None:
        return None
    if _type(zone) is datetime.timezone:
        return round(zone.utcoffset(None).total_seconds() * 1_000_000)
    raise Unencodable("a time in a zone that is no fixed offset")


def _timezone(offset: int | None) -> datetime.timezone | None:
    return None if offset is None else datetime.timezone(datetime.timedelta(microseconds=offset))


def _of_datetime(x: Any) -> list[Any]:
    parts = [x.year, x.month, x.day, x.hour, x.minute, x.second, x.microsecond]
    return [*parts, x.fold, _zone(x.tzinfo)]


def _of_time(x: Any) -> list[Any]:
    return [x.hour, x.minute, x.second, x.microsecond, x.fold, _zone(x.tzinfo)]


def _to_datetime(*parts: int) -> datetime.datetime:
    *moment, fold, offset = parts
    made: Any = datetime.datetime
    return made(*moment, fold=fold, tzinfo=_timezone(offset))  # type: ignore[no-any-return]


def _to_time(*parts: int) -> datetime.time:
    *moment, fold, offset = parts
    made: Any = datetime.time
    return made(*moment, fold=fold, tzinfo=_timezone(offset))  # type: ignore[no-any-return]


SIMPLE: dict[type, tuple[str, Any, Any]] = {
    bytes: ("bytes", lambda x: [x.hex()], bytes.fromhex),
    bytearray: ("bytearray", lambda x: [x.hex()], bytearray.fromhex),
    complex: (
        "complex",
        lambda x: [x.real.hex(), x.imag.hex()],
        lambda r, i: complex(float.fromhex(r), float.fromhex(i)),
    ),
    range: ("range", lambda x: [x.start, x.stop, x.step], range),
    Decimal: ("Decimal", lambda x: [str(x)], Decimal),
    Fraction: ("Fraction", lambda x: [hex(x.numerator), hex(x.denominator)], None),
    datetime.datetime: ("datetime", _of_datetime, _to_datetime),
    datetime.date: ("date", lambda x: [x.year, x.month, x.day], datetime.date),
    datetime.time: ("time", _of_time, _to_time),
    datetime.timedelta: (
        "timedelta",
        lambda x: [x.days, x.seconds, x.microseconds],
        datetime.timedelta,
    ),
}
"""By exact type: its name, how its parts are read, and how it is made of them."""

SIMPLE[Fraction] = (
    "Fraction",
    SIMPLE[Fraction][1],
    lambda n, d: Fraction(int(n, 16), int(d, 16)),
)

BASES: dict[type, Any] = {
    int: int.__int__,
    str: lambda x: "".join(str.__iter__(x)),
    float: float.__float__,
    bytes: lambda x: bytes(memoryview(x)),
    tuple: lambda x: tuple(tuple.__iter__(x)),
    list: lambda x: list(list.__iter__(x)),
    dict: lambda x: dict(dict.items(x)),
    set: lambda x: set(set.__iter__(x)),
    frozenset: lambda x: frozenset(frozenset.__iter__(x)),
}
"""Plain types that classes derive from, and how to read what such an object holds."""

MAKERS = {name: make for name, _, make in SIMPLE.values()}


def encode(value: Any) -> Any:
    """Give a value as JSON data. Raises Unencodable for one that can't cross."""
    return _Encoder().encode(value)


def decode(data: Any) -> Any:
    """Give the value that data stands for. Raises ValueError for what `encode` never makes."""
    if data is None or isinstance(data, bool | int | str):
        return data
    if not isinstance(data, list) or not data:
        raise ValueError(f"no value: {data!r:.60}")
    kind, *parts = data
    try:
        return _decode(kind, parts)
    except (TypeError, ArithmeticError, LookupError, AttributeError) as error:
        raise ValueError(f"no value of type {kind!r:.60}: {error}") from None


def _decode(kind: Any, parts: list[Any]) -> Any:
    match kind:
        case "int":
            return int(parts[0], 16)
        case "float":
            return float.fromhex(parts[0])
        case "list":
            return [decode(part) for part in parts]
        case "tuple":
            return tuple(decode(part) for part in parts)
        case "set":
            return {decode(part) for part in parts}
        case "frozenset":
            return frozenset(decode(part) for part in parts)
        case "dict":
            return {decode(key): decode(item) for key, item in parts}
        case "object":
            name, fields = parts
            return Thing(str(name), tuple((str(key), decode(item)) for key, item in fields))
        case _:
            return MAKERS[kind](*parts)


def same(one: Any, other: Any) -> bool:
    """Say whether two decoded values are equal, with types: 1, 1.0 and True are three values.

    A dictionary's order doesn't matter; a NaN equals a NaN.
    """
    if type(one) is not type(other):
        return False
    if isinstance(one, list | tuple):
        many = other
        return len(one) == len(many) and all(map(same, one, many))
    if isinstance(one, dict):
        mine, theirs = one, other
        if len(mine) != len(theirs):
            return False
        # Keys 1 and True are one key to a dictionary, so they are held together by their types.
        keys = {(type(key), key): item for key, item in theirs.items()}
        return all(
            (type(key), key) in keys and same(item, keys[type(key), key])
            for key, item in mine.items()
        )
    if isinstance(one, set | frozenset):
        return {(type(i), i) for i in one} == {(type(i), i) for i in other}
    if isinstance(one, Thing):
        return one.type == other.type and same(one.fields, other.fields)
    if isinstance(one, float):
        return one == other or (one != one and other != other)
    return bool(one == other)
