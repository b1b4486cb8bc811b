"""Faults: named defects of the harness, switched on for a run.

Each is a patch of knobs with an optional trigger.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import TYPE_CHECKING

from simharness.errors import UnknownName, UsageError
from simharness.kernel import journal
from simharness.product.knobs import read_config
from simharness.units import format_duration, parse_duration

if TYPE_CHECKING:
    from collections.abc import Mapping

    from simharness.kernel.world import World
    from simharness.parts.cache import Cache
    from simharness.product.knobs import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class Trigger:
    """When a fault is in force; all conditions that are given must hold."""

    start: int = 0
    """First tick."""
    until: int | None = None
    """First tick at which it is over; None for never."""
    load_above: int | None = None
    """Thousandths of load that must be exceeded."""
    queue_above: tuple[str, int] | None = None
    """A view and the length of its invalidation queue that must be exceeded; from then on the fault
    stays."""


ALWAYS = Trigger()


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """A named patch of knobs."""

    id: str
    """`product.slug`."""
    doc: str
    """What is broken, in a sentence."""
    knobs: Mapping[str, object] = field(default_factory=dict[str, object])
    """Knob values while it is in force, in the form of a config file."""
    trigger: Trigger = ALWAYS
    seduces: str = ""
    """The policy that it pays, or that copes with it instead of doing the job."""


def parse_fault(text: str, known: Mapping[str, Fault]) -> Fault:
    """Read `id` or `id@key=value,...`; from, until and load (above) replace the fault's own."""
    name, at, rest = text.partition("@")
    fault = known.get(name)
    if fault is None:
        raise UnknownName.among("fault", name, known)
    if not at:
        return fault
    start, until, load = fault.trigger.start, fault.trigger.until, fault.trigger.load_above
    given: list[str] = []
    for item in rest.split(","):
        key, _, value = item.partition("=")
        if key in given:
            raise UsageError(f"trigger {text!r} gives {key!r} twice", "give each condition once")
        given.append(key)
        match key:
            case "from":
                start = parse_duration(value)
            case "until":
                until = parse_duration(value)
            case "load":
                load = parse_load(value)
            case _:
                raise UsageError(
                    f"trigger {item!r} of fault {name!r} is not readable",
                    "use from=60s, until=10min or load=2",
                )
    trigger = Trigger(
        start=start, until=until, load_above=load, queue_above=fault.trigger.queue_above
    )
    return replace(fault, trigger=trigger)


def parse_load(value: object) -> int:
    """Read a load such as 4, "2.5" or 0.5 as thousandths.

    Raises UsageError for what isn't from 0 to 1000 or has more than three decimals.
    """
    shown = repr(value)
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise UsageError(f"load {shown} is not a number", "give 0 to 1000, e.g. 1 or 2.5")
    # A float's own text has an exponent where it is small or large.
    text = format(Decimal(repr(value)), "f") if isinstance(value, float) else str(value)
    whole, point, fraction = text.partition(".")
    if whole.startswith("-"):
        raise UsageError(f"load {shown} is below 0", "give 0 to 1000, e.g. 1 or 2.5")
    digits = whole + fraction
    if not (whole and digits.isascii() and digits.isdigit()) or (point and not fraction):
        raise UsageError(f"load {shown} is not a number", "give 0 to 1000, e.g. 1 or 2.5")
    if len(fraction.rstrip("0")) > 3:
        raise UsageError(
            f"load {shown} has more than three decimals",
            "give 0 to 1000 with at most three decimals",
        )
    if len(whole) > 4:
        raise UsageError(f"load {shown} is out of range", "give 0 to 1000")
    load = int(whole) * 1000 + int((fraction + "000")[:3])
    if load > 1_000_000:
        raise UsageError(f"load {shown} is out of range", "give 0 to 1000")
    return load


def arm(
    fault: Fault, world: World, settings: Settings, caches: Mapping[str, Cache], load: int
) -> None:
    """Put a fault into force in a world whose parts are built, now or when its trigger says.

    Raises UsageError for a trigger that can't ever be met.
    """
    trigger = fault.trigger
    if trigger.until is not None and trigger.until <= trigger.start:
        raise UsageError(
            f"fault {fault.id!r} ends at {format_duration(trigger.until)}, not after its start",
            "give from < until",
        )
    if trigger.load_above is not None and load <= trigger.load_above:
        return
    if f"fault:{fault.id}" in world.repair:
        return
    patch = read_config(settings.knobs, fault.knobs, f"fault {fault.id!r}")
    number = world.intern(f"fault/{fault.id}")
    state = "waiting"

    def switch_on(_: object = None) -> None:
        nonlocal state
        if state == "waiting":
            state = "on"
            settings.patch(patch)
            # An episode with a fault is never clean at a glance; one that nobody asked for less so.
            world.alarms += 1
            world.emit((journal.FAULT, world.ticks, number, 1))

    def switch_off(_: object = None) -> None:
        nonlocal state
        if state == "on":
            settings.unpatch(patch)
            world.emit((journal.FAULT, world.ticks, number, 0))
        state = "over"

    if trigger.queue_above is not None:
        view, limit = trigger.queue_above
        cache = caches.get(view)
        if cache is None:
            raise UnknownName.among("cached view", view, caches)

        heard = cache.on_queue

        def hear(length: int) -> None:
            if heard is not None:
                heard(length)
            if length > limit and world.ticks >= trigger.start:
                switch_on()

        cache.on_queue = hear
    elif trigger.start == 0:
        switch_on()
    else:
        world.after(trigger.start, switch_on)
    if trigger.until is not None:
        world.after(trigger.until, switch_off)
