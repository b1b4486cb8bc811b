"""Values that came out of a sandbox, compared as the data that they are.

A program decides what it answers, and what it claims to have answered. Made into Python's own
values again, such data could hold fractions that take minutes to be reduced, sets whose items all
collide, and numbers that raise when they are compared. Here every value has one form that takes
time linear in its data, but for the sorting of sets and dictionaries, and forms are compared.
"""

# What data holds is known only once it has been looked at.
# pyright: reportUnknownArgumentType=false, reportUnknownVariableType=false

from __future__ import annotations

import datetime
from decimal import Decimal
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from simharness.sandbox.guest.values import decode

if TYPE_CHECKING:
    from collections.abc import Callable

NODES_MAX = 200_000
"""Parts of a value, as many as the guest sends."""
TEXT_MAX = 200
"""Characters of a longer text are digested."""
START = datetime.datetime(1, 1, 1)  # noqa: DTZ001  (of dates without a zone)
MICROSECOND = datetime.timedelta(microseconds=1)

Form = tuple[Any, ...] | str | None
"""Made of tuples, texts and None alone, so that equality is that of all parts."""


def same_data(one: Any, other: Any) -> bool:
    """Say whether two values are equal, given as data: 1, 1.0 and True are three values.

    The order of a dictionary doesn't matter; a NaN equals a NaN of its kind; decimals, floats and
    instants are compared as numbers and not as they are written.

    Raises:
        ValueError: Data of no value, or of too many parts.
    """
    return form(one) == form(other)


def form(data: Any) -> Form:
    """Give the form of a value. Raises ValueError for what a sandbox never sends."""
    return _Former().form(data)


def leaf_text(data: Any) -> str:
    """Write a value without values in it as code has it. Raises ValueError."""
    return repr(decode(data))


class _Former:
    def __init__(self) -> None:
        self.nodes = 0

    def form(self, data: Any) -> Form:
        self.nodes += 1
        if self.nodes > NODES_MAX:
            raise ValueError(f"a value of over {NODES_MAX} parts")
        if data is None:
            return None
        if isinstance(data, str):
            return text_form(data)
        if isinstance(data, bool | int):
            return type(data).__name__, hex(data)
        if not isinstance(data, list) or not data:
            raise ValueError(f"no value: {data!r:.60}")
        kind, *parts = data
        if kind in ("list", "tuple"):
            return kind, *map(self.form, parts)
        if kind in ("set", "frozenset"):
            return kind, *sorted(map(self.form, parts), key=repr)
        if kind == "dict":
            return kind, *sorted(map(self.pair, parts), key=repr)
        if kind == "object":
            return self.thing(parts)
        try:
            return str(kind), *LEAVES[kind](parts)
        except (TypeError, ArithmeticError, LookupError, AttributeError) as error:
            raise ValueError(f"no value of type {kind!r:.60}: {error}") from None

    def pair(self, data: Any) -> Form:
        """Give the form of a key and what it stands for."""
        if not isinstance(data, list) or len(data) != 2:
            raise ValueError(f"no value: {data!r:.60}")
        key, item = data
        return self.form(key), self.form(item)

    def thing(self, parts: list[Any]) -> Form:
        """Give the form of an object of any other class: its name, and its fields in order."""
        match parts:
            case [str(name), list(fields)]:
                return "object", text_form(name), *map(self.pair, fields)
            case _:
                raise ValueError(f"no value: {parts!r:.60}")


def text_form(text: str) -> str | tuple[str, ...]:
    """Give a text, or what is known of a long one."""
    if len(text) <= TEXT_MAX:
        return text
    return "text", str(len(text)), blake2b(text.encode("utf-8", "surrogatepass")).hexdigest()


def whole(parts: list[Any]) -> Form:
    """Give the form of a large int, which no int below 2**53 has."""
    (text,) = parts
    return (text_form(hex(int(text, 16))),)


def sized(parts: list[Any], count: int) -> list[Any]:
    """Check how many parts there are. Raises LookupError."""
    if len(parts) != count:
        raise LookupError(f"{len(parts)} parts instead of {count}")
    return parts


def real(text: str) -> str:
    """Give the form of a float: 0.0 for both zeros."""
    return (float.fromhex(text) + 0.0).hex()


def decimal(parts: list[Any]) -> Form:
    """Give the form of a decimal number: its digits without zeros at the end."""
    (text,) = parts
    if not isinstance(text, str):
        raise TypeError("a decimal number that is no text")
    sign, digits, exponent = Decimal(text).as_tuple()
    if not isinstance(exponent, int):
        # "n" and "N" are kinds of NaN, which may carry digits; "F" is infinity.
        return exponent, str(sign) if exponent == "F" else ""
    written = "".join(map(str, digits)).lstrip("0")
    kept = written.rstrip("0")
    if not kept:
        return ("0",)
    return str(sign), text_form(kept), str(exponent + len(written) - len(kept))


def ratio(parts: list[Any]) -> Form:
    """Give the form of a fraction, which its class keeps reduced: one that isn't is no other's."""
    one, other = parts
    return text_form(hex(int(one, 16))), text_form(hex(int(other, 16)))


def data_of_bytes(parts: list[Any]) -> Form:
    """Give the form of bytes."""
    (text,) = parts
    return (text_form(bytes.fromhex(text).hex()),)


def numbers(parts: list[Any]) -> Form:
    """Give the form of a range: the numbers that it holds."""
    held = range(*parts)
    # `len` takes no more than a machine's word.
    if not held:
        return ("0",)
    return tuple(map(str, (held.start, held[-1], held.step if held.start != held[-1] else 0)))


def moment(parts: list[Any]) -> Form:
    """Give the form of a date with a time: the instant, where its offset is known."""
    *date, _, offset = parts
    held = datetime.datetime(*date)  # noqa: DTZ001  (its offset is a number beside it)
    ticks = (held - START) // MICROSECOND
    return ("naive", str(ticks)) if offset is None else ("aware", str(ticks - whole_number(offset)))


def clock_time(parts: list[Any]) -> Form:
    """Give the form of a time of day, less its offset where that is known."""
    *time, _, offset = parts
    held = datetime.time(*time)
    minutes = held.hour * 60 + held.minute
    ticks = (minutes * 60 + held.second) * 1_000_000 + held.microsecond
    return ("naive", str(ticks)) if offset is None else ("aware", str(ticks - whole_number(offset)))


def whole_number(value: Any) -> int:
    """Take a number of microseconds. Raises TypeError for anything else."""
    if type(value) is not int:
        raise TypeError("no number of microseconds")
    return value


LEAVES: dict[str, Callable[[list[Any]], Any]] = {
    "int": whole,
    "float": lambda parts: map(real, sized(parts, 1)),
    "complex": lambda parts: map(real, sized(parts, 2)),
    "Decimal": decimal,
    "Fraction": ratio,
    "bytes": data_of_bytes,
    "bytearray": data_of_bytes,
    "range": numbers,
    "datetime": moment,
    "time": clock_time,
    "date": lambda parts: [decode(["date", *parts]).isoformat()],
    "timedelta": lambda parts: [str(decode(["timedelta", *parts]) // MICROSECOND)],
}
"""How the parts of a value without values in it are put into their form."""
