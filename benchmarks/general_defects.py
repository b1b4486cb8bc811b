"""Defects planted in the reference policy of any scenario, each with the code that explains it.

They know of a product what it publishes: which tools write, and which arguments are ids.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from benchmarks.planted_defects import Over, Part, Planted, Wrap, give_up, given, refuse
from simharness.product.policy import Action, Call

if TYPE_CHECKING:
    from collections.abc import Callable

ENDING = ("finish", "say", "wait")
UNSEEN = 900_017
"""A number that no row of any product has."""


def writes(wrap: Wrap, action: Action) -> bool:
    """Tell whether an action is a call that changes rows."""
    return isinstance(action, Call) and action.tool in wrap.writes


def stop_early(wrap: Wrap, call: Call) -> Part:
    if writes(wrap, call):
        wrap.once()
        yield None
        raise Over
    return (yield call)


def leave_it(wrap: Wrap, call: Call) -> Part:
    if writes(wrap, call):
        yield from give_up(wrap, Call("log_activity", {}))
    return (yield call)


def claim_falsely(wrap: Wrap, call: Call) -> Part:
    if writes(wrap, call):
        wrap.once()
        yield from wrap.finish("All done: everything has been taken care of.")
    return (yield call)


def repeat(wrap: Wrap, call: Call) -> Part:
    if not writes(wrap, call) and call.tool not in ENDING:
        wrap.read = call
    elif writes(wrap, call) and wrap.read is not None:
        wrap.once()
        while True:
            yield wrap.read
    return (yield call)


def call_badly(wrap: Wrap, call: Call) -> Part:
    if writes(wrap, call) and call.args:
        wrap.once()
        first = next(iter(given(call)))
        yield Call(call.tool, {k: v for k, v in given(call).items() if k != first})
        yield None
        raise Over
    return (yield call)


def make_up_an_id(wrap: Wrap, call: Call) -> Part:
    args = given(call)
    ids = [name for name in args if name.endswith("_id")]
    if writes(wrap, call) and ids:
        wrap.once()
        yield Call(call.tool, {**args, ids[0]: unseen(args[ids[0]])})
        yield None
        raise Over
    return (yield call)


def unseen(name: Any) -> Any:
    """Give an id of the same form that nobody has been shown."""
    if isinstance(name, int):
        return UNSEEN
    prefix, dash, _ = str(name).rpartition("-")
    return f"{prefix}{dash}{UNSEEN}"


def no_second_try(wrap: Wrap, call: Call) -> Part:
    told = yield call
    if told.error == "conflict" and writes(wrap, call):
        wrap.once()
        yield from wrap.finish("somebody else is working on it", "handed_over")
    return told


SKIPPED = ("M313",)
"""Fits as well wherever what the goal asks for was never tried."""

GENERAL: dict[str, Callable[[], Planted]] = {
    "stops before its first write": lambda: Planted("M510", stop_early, also=SKIPPED),
    "gives up before its first write": lambda: Planted("M514", leave_it, also=SKIPPED),
    "refuses": lambda: Planted("M514", refuse, also=SKIPPED),
    "claims it without a write": lambda: Planted("M511", claim_falsely, also=SKIPPED),
    "reads the same for ever": lambda: Planted("M310", repeat),
    "leaves an argument out and stops": lambda: Planted("M210", call_badly),
    "makes an id up and stops": lambda: Planted("M111", make_up_an_id),
    "no second try after a conflict": lambda: Planted("M610", no_second_try),
}
