"""Knobs: the named settings of a product, each registered by the part that reads it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from simharness.errors import UnknownName, UsageError
from simharness.parts.clock import DRIFT_MAX, EXACT, OFFSET_MAX, Skew
from simharness.parts.limit import Rate
from simharness.units import humanize, parse_duration

if TYPE_CHECKING:
    from simharness.kernel.operation import Span

NONE = "none"

Parser = Callable[[object], Any]


@dataclass(frozen=True, slots=True)
class Knob:
    """One setting: its key, how its value is read, its default, what it does."""

    key: str
    parse: Parser
    default: object
    """In the form that a config file gives it."""
    doc: str
    forms: str
    """The accepted forms, for messages and listings."""

    def read(self, value: object) -> Any:
        """Parse a configured value.

        Raises UsageError naming the knob, the value and the accepted forms.
        """
        try:
            return self.parse(value)
        except UsageError as error:
            raise UsageError(f"knob {self.key}: {error.message}", f"give {self.forms}") from None


def duration(key: str, default: str, doc: str, *, low: int = 0) -> Knob:
    """Make a knob that holds a length of time in ticks, `low` or more."""

    def parse(value: object) -> int:
        ticks = _duration(value)
        if ticks < low:
            raise UsageError(f"got {value!r}")
        return ticks

    forms = "a duration such as '300s', '5min' or " + (
        "'0s'" if low == 0 else f"'{low}us', the shortest"
    )
    return Knob(key, parse, default, doc, forms)


def interval(key: str, default: str, doc: str) -> Knob:
    """Make a knob that holds the ticks between repetitions; "none" is 0, never."""

    def parse(value: object) -> int:
        ticks = 0 if value == "none" else _duration(value)
        if ticks == 0 and value != "none":
            raise UsageError(f"got {value!r}")
        return ticks

    return Knob(key, parse, default, doc, "'none', or a duration such as '10s' or '1min'")


def choice(key: str, options: tuple[str, ...], doc: str) -> Knob:
    """Make a knob that holds one of some words; the first is the default."""

    def parse(value: object) -> str:
        if not isinstance(value, str) or value not in options:
            raise UsageError(f"got {value!r}")
        return value

    return Knob(key, parse, options[0], doc, "one of " + ", ".join(options))


def flag(key: str, default: bool, doc: str) -> Knob:
    """Make a knob that is on or off."""

    def parse(value: object) -> bool:
        if isinstance(value, bool):
            return value
        if value in ("true", "false"):
            return value == "true"
        raise UsageError(f"got {value!r}")

    return Knob(key, parse, default, doc, "true or false")


COUNT_MAX = 10**9


def count(key: str, default: int | str, doc: str, *, low: int = 0, high: int = COUNT_MAX) -> Knob:
    """Make a knob that holds a whole number; where that may be 0, "none" stands for 0, no bound."""

    def parse(value: object) -> int:
        if value == "none" and low == 0:
            return 0
        if isinstance(value, str) and re.fullmatch(r"[0-9]{1,18}", value):
            value = int(value)
        if type(value) is not int or not low <= value <= high:
            raise UsageError(f"got {value!r}")
        return value

    forms = f"a whole number from {low} to {high}" + (", or 'none'" if low == 0 else "")
    return Knob(key, parse, default, doc, forms)


def share(key: str, default: str, doc: str) -> Knob:
    """Make a knob that holds a share from 0 to 1, read in millionths."""

    def parse(value: object) -> int:
        found = None
        if type(value) in (int, float, str):
            found = re.fullmatch(r"([01])(?:\.([0-9]{1,6}))?", str(value))
        millionths = int(found[1]) * 10**6 + int((found[2] or "").ljust(6, "0")) if found else -1
        if not 0 <= millionths <= 10**6:
            raise UsageError(f"got {value!r}")
        return millionths

    return Knob(key, parse, default, doc, "a share from 0 to 1, such as 0.25")


def span(key: str, default: object, doc: str, *, high: int | None = None) -> Knob:
    """Make a knob that holds an elastic wait: one duration, or the shortest and the longest.

    `high` is the longest in ticks; None for any.
    """

    def parse(value: object) -> Span:
        found = parse_span(value)
        if high is not None and found[1] > high:
            raise UsageError(f"got {value!r}")
        return found

    most = "" if high is None else f", at most {humanize(high)}"
    return Knob(key, parse, default, doc, f"a duration, or ['shortest', 'longest']{most}")


def spans(key: str, default: object, doc: str) -> Knob:
    """Make a knob that holds an elastic wait for each call; one alone is that of every call."""

    def parse(value: object) -> tuple[Span, ...]:
        items = items_of(value)
        if not items or not any(items_of(item) is not None for item in items):
            return (parse_span(value),)  # two durations are the ends of one wait
        singles = [items_of(item) or [item] for item in items]
        return tuple(parse_span(one[0] if len(one) == 1 else one) for one in singles)

    forms = (
        "a duration, ['shortest', 'longest'], or a list of lists of one or two durations, one for "
        "each call, such as [['35s'], ['1s', '2s']]"
    )
    return Knob(key, parse, default, doc, forms)


def choices(key: str, options: tuple[str, ...], doc: str) -> Knob:
    """Make a knob that holds a word for each call; one alone, as the default, is every call's."""

    def parse(value: object) -> tuple[str, ...]:
        items = items_of(value)
        chosen = [value] if items is None else items
        words = tuple(item for item in chosen if isinstance(item, str) and item in options)
        if not words or len(words) < len(chosen):
            raise UsageError(f"got {value!r}")
        return words

    return Knob(key, parse, options[0], doc, "one of " + ", ".join(options) + ", or a list of them")


def rate(key: str, default: str, doc: str) -> Knob:
    """Make a knob that holds a rate, read as ticks per item; "none" is 0, no limit."""
    return Knob(key, parse_rate, default, doc, "'none', or a rate such as '5/s' or '12/min'")


def limit(key: str, doc: str) -> Knob:
    """Make a knob that holds a rate limit; none by default."""
    return Knob(
        key,
        parse_limit,
        "none",
        doc,
        "'none', a rate such as '10/s' or '600/min', or ['rate', burst]; by default burst is "
        "the number in the rate",
    )


def clock(key: str, doc: str) -> Knob:
    """Make a knob that holds how wrong a clock is; exact by default."""
    return Knob(
        key,
        parse_skew,
        "exact",
        doc,
        "'exact', an offset such as '+250ms' or '-2s', a drift such as '120ppm', or "
        "['offset', 'drift'] (at most a year and 500000ppm)",
    )


def words(key: str, options: tuple[str, ...], doc: str) -> Knob:
    """Make a knob that holds a list of some words; none by default, also told by ["none"]."""

    def parse(value: object) -> tuple[str, ...]:
        items = items_of(value)
        if items is not None and list(items) == [NONE]:
            return ()
        chosen = [item for item in items or () if isinstance(item, str) and item in options]
        if items is None or len(chosen) < len(items):
            raise UsageError(f"got {value!r}")
        return tuple(sorted(chosen))

    return Knob(key, parse, [], doc, "a list of " + ", ".join(options) + ", or of 'none' alone")


def items_of(value: object) -> Sequence[object] | None:
    """Give the items of a list or tuple; None for anything else."""
    return cast("Sequence[object]", value) if isinstance(value, list | tuple) else None


def _duration(value: object) -> int:
    # A bare number would be read as microseconds by some and as seconds by others.
    if not isinstance(value, str):
        raise UsageError(f"got {value!r}")
    return parse_duration(value)


def parse_span(value: object) -> Span:
    """Read an elastic wait. Raises UsageError when it is unreadable or ends before it begins."""
    items = items_of(value)
    if items is not None:
        if len(items) != 2:
            raise UsageError(f"got {value!r}")
        low, high = _duration(items[0]), _duration(items[1])
        if low > high:
            raise UsageError(f"got {value!r}, whose shortest is longer than its longest")
        return low, high
    exact = _duration(value)
    return exact, exact


def parse_rate(value: object) -> int:
    """Read a rate as ticks per item. Raises UsageError when it is unreadable."""
    if value == "none":
        return 0
    count, per = _rate(value)
    return max(1, per // count)


def parse_limit(value: object) -> Rate | None:
    """Read a rate limit. Raises UsageError when it is unreadable."""
    if value == "none":
        return None
    items = items_of(value)
    if items is None:
        count, per = _rate(value)
        return Rate(count, per, count)
    if len(items) != 2 or type(items[1]) is not int or not 1 <= items[1] < 10**9:
        raise UsageError(f"got {value!r}")
    return Rate(*_rate(items[0]), items[1])


def _rate(value: object) -> tuple[int, int]:
    """Read a rate as a number and the ticks of its period."""
    found = re.fullmatch(r"([0-9]{1,9})/(s|min|h)", value) if isinstance(value, str) else None
    if found is None or int(found[1]) == 0:
        raise UsageError(f"got {value!r}")
    return int(found[1]), {"s": 1_000_000, "min": 60_000_000, "h": 3_600_000_000}[found[2]]


def parse_skew(value: object) -> Skew:
    """Read how wrong a clock is. Raises UsageError when it is unreadable."""
    if value == "exact":
        return EXACT
    items = items_of(value)
    if items is not None and len(items) == 2:
        return Skew(_offset(items[0]), _drift(items[1]))
    if isinstance(value, str) and value.endswith("ppm"):
        return Skew(0, _drift(value))
    return Skew(_offset(value), 0)


def _offset(value: object) -> int:
    behind = isinstance(value, str) and value.startswith("-")
    ticks = _duration(value[1:] if isinstance(value, str) and value[:1] in ("+", "-") else value)
    if ticks > OFFSET_MAX:
        raise UsageError(f"got {value!r}")
    return -ticks if behind else ticks


def _drift(value: object) -> int:
    found = re.fullmatch(r"([+-]?[0-9]{1,6})ppm", value) if isinstance(value, str) else None
    if found is None or abs(int(found[1])) > DRIFT_MAX:
        raise UsageError(f"got {value!r}")
    return int(found[1])


class Settings:
    """The values of all knobs in one world, and the parts that hold copies of them."""

    __slots__ = ("_base", "_bound", "_held", "_patches", "knobs", "values")

    def __init__(self, knobs: Mapping[str, Knob], raw: Mapping[str, Any]) -> None:
        self.knobs = knobs
        self.values: dict[str, Any] = dict(raw)
        """Parsed values by key."""
        self._base = self.values.copy()
        self._patches: list[Mapping[str, Any]] = []
        self._held: dict[str, Any] = {}
        self._bound: list[tuple[str, object, str]] = []

    def bind(self, key: str, part: object, attribute: str) -> None:
        """Give `part.attribute` the value of a knob, now and whenever a fault patches it."""
        setattr(part, attribute, self.values[key])
        self._bound.append((key, part, attribute))

    def patch(self, values: Mapping[str, Any]) -> None:
        """Lay parsed values over those in force, until `unpatch`."""
        self._patches.append(values)
        self._refresh(values)

    def unpatch(self, values: Mapping[str, Any]) -> None:
        """Take one patch back; the others stay in force, the latest on top."""
        self._patches = [patch for patch in self._patches if patch is not values]
        self._refresh(values)

    def hold(self, values: Mapping[str, Any]) -> None:
        """Keep parsed values whatever is patched, now and later.

        How ablation makes a mechanism sound.
        """
        self._held.update(values)
        self._refresh(values)

    def _refresh(self, keys: Mapping[str, Any]) -> None:
        for key in keys:
            value = self._base[key]
            for patch in self._patches:
                value = patch.get(key, value)
            self.values[key] = self._held.get(key, value)
        for key, part, attribute in self._bound:
            if key in keys:
                setattr(part, attribute, self.values[key])


def read_config(
    knobs: Mapping[str, Knob], config: Mapping[str, object], where: str
) -> dict[str, Any]:
    """Parse a mapping of knob keys to configured values.

    Raises UnknownName for a key that isn't registered.
    """
    out: dict[str, Any] = {}
    for key, value in config.items():
        knob = knobs.get(key)
        if knob is None:
            error = UnknownName.among("knob", key, knobs)
            raise UnknownName(f"{error.message} in {where}", error.hint)
        out[key] = knob.read(value)
    return out
