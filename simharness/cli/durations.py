"""Lengths of real time as options take them."""

from __future__ import annotations

import math

import click

from simharness.errors import UsageError
from simharness.units import SECOND, parse_duration


def seconds(context: click.Context, param: click.Parameter, value: str) -> float:
    """Read a length of real time: a number of seconds, or one with its unit, such as `10min`."""
    try:
        found = float(value)
    except ValueError:
        try:
            found = parse_duration(value) / SECOND
        except UsageError as error:
            raise click.BadParameter(str(error), context, param) from None
    if not math.isfinite(found):
        raise click.BadParameter(f"{value} is no finite number", context, param)
    if found <= 0:
        raise click.BadParameter(f"{value!r} is no time to wait for", context, param)
    return found
