"""What a search for tickets asks for: words, `field:value` and `field<value`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from simharness.api import Refused, UsageError, parse_instant
from simharness.models.helpdesk.rules import PRIORITIES, STATUSES

if TYPE_CHECKING:
    from collections.abc import Callable

    from simharness.models.helpdesk.tables import Ticket

TERM = re.compile(r"([a-z_]+)([:<])(.+)", re.ASCII)
RANKS = {
    "status": {name: i for i, name in enumerate(STATUSES)},
    "priority": {name: i for i, name in enumerate(PRIORITIES)},
}
"""Fields whose values are compared by their order."""
STAMPS = {"created": "created_at", "updated": "updated_at"}
NOBODY = "none"
FIELDS = ("assignee", "created", "customer", "priority", "status", "tag", "updated")


def matcher(text: str) -> Callable[[Ticket], bool]:
    """Build the predicate of a search: all of its terms must hold.

    Raises Refused `invalid_arguments` for an empty search, a field that there isn't, or a value
    that doesn't fit it.
    """
    parts = text.split()
    if not parts:
        raise Refused("invalid_arguments", "query is blank")
    tests = [part_test(part) for part in parts]
    return lambda ticket: all(test(ticket) for test in tests)


def part_test(part: str) -> Callable[[Ticket], bool]:
    """Build the test of one word or term."""
    term = TERM.fullmatch(part)
    if term is None:
        word = part.lower()
        return lambda t: word in t.subject.lower() or word in t.body.lower()
    name, sign, value = term[1], term[2], term[3]
    if name not in FIELDS:
        raise Refused(
            "invalid_arguments", f"no field is called {name!a}; fields: {', '.join(FIELDS)}"
        )
    if name in RANKS:
        return ranked(name, sign, value)
    if name in STAMPS:
        return stamped(STAMPS[name], sign, value)
    if sign == "<":
        raise Refused("invalid_arguments", f"{name} has no order, write {name}:{value!a:.60}")
    if name == "tag":
        return lambda t: value in t.tags
    return numbered(name, value)


def ranked(name: str, sign: str, value: str) -> Callable[[Ticket], bool]:
    """Test a field whose values have an order."""
    ranks = RANKS[name]
    if value not in ranks:
        known = ", ".join(ranks)
        raise Refused("invalid_arguments", f"{name} is one of {known}, not {value!a:.60}")
    if sign == ":":
        return lambda t: getattr(t, name) == value
    return lambda t: ranks[getattr(t, name)] < ranks[value]


def stamped(column: str, sign: str, value: str) -> Callable[[Ticket], bool]:
    """Test an instant."""
    try:
        instant = parse_instant(value)
    except UsageError as error:
        raise Refused("invalid_arguments", f"query: {error.message}") from None
    if sign == ":":
        return lambda t: getattr(t, column) == instant
    return lambda t: getattr(t, column) < instant


def numbered(name: str, value: str) -> Callable[[Ticket], bool]:
    """Test whose ticket it is, or who works on it."""
    column = f"{name}_id"
    if name == "assignee" and value == NOBODY:
        return lambda t: t.assignee_id is None
    if not value.isascii() or not value.isdecimal() or len(value) > 18:
        raise Refused("invalid_arguments", f"{name} is a number, not {value!a:.60}")
    number = int(value)
    return lambda t: getattr(t, column) == number
