"""The node that an actor runs on: it can be paused, and it can crash.

A pause holds up the actor's calls under way and those that it would make; what the world has
meanwhile done for them (a lock granted, a timer run out) they find out afterwards. A crash ends
them where they are: what was committed stays, what they hold is given back.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from simharness.kernel import journal
from simharness.parts.refusal import Refused

if TYPE_CHECKING:
    from collections.abc import Generator

    from simpy.events import Event

    from simharness.kernel.operation import Actor, Operation
    from simharness.kernel.world import World

T = TypeVar("T")

UNKNOWN = "unknown_outcome"


class Crashed(BaseException):
    """Ends a call whose node has crashed. No tool may take it for an error of its own."""


def on_node(
    op: Operation, steps: Generator[Event, Any, T], *, at_once: bool = False
) -> Generator[Event, Any, T]:
    """Run one call of a background actor on its node, once that isn't paused, or `at_once`.

    Raises Refused `unknown_outcome` when the node crashes before it has ended.
    """
    actor = op.actor
    world: Any = op.world
    world.calls[op] = world.active_process
    try:
        if actor.paused_until > world.ticks and not at_once:
            while actor.paused_until > world.ticks:
                yield world.timer(actor.paused_until - world.ticks)
            op.begin, op.begin_order = world.ticks, world.order  # sent only now
        return (yield from steps)
    except Crashed:
        raise Refused(UNKNOWN, f"the node of {actor.name} has crashed") from None
    finally:
        del world.calls[op]


def pause(world: World, actor: Actor, until: int, but: Operation) -> None:
    """Hold up everything that an actor does, `but` one call, until a tick."""
    actor.paused_until = max(actor.paused_until, until)
    _note(world, actor, "paused", actor.paused_until)
    for op, process in world.calls.items():
        if op.actor is actor and op is not but:
            process.hold(actor.paused_until)


def crash(world: World, actor: Actor, but: Operation) -> None:
    """End all calls of an actor, `but` one, where they are; it can start afresh at once."""
    actor.paused_until = 0
    _note(world, actor, "crashed", world.ticks)
    for op, process in world.calls.items():
        if op.actor is actor and op is not but:
            # One that ends in this very instant has been answered.
            process.break_off(Crashed(), partial(world.calls.__contains__, op))


def _note(world: World, actor: Actor, what: str, until: int) -> None:
    world.emit((journal.NODE, world.ticks, actor.number, world.numbers[what], until))
