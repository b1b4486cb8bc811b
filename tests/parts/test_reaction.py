"""Reactions: operations that others cause, addressed by their causes."""

from __future__ import annotations

import pytest

from simharness.errors import HarnessError
from simharness.parts.reaction import EACH, Reactions
from tests.parts.posts import Bed


def test_a_reaction_is_named_by_its_part_and_numbered_by_its_cause() -> None:
    bed = Bed()
    reactions = Reactions(bed.world, "hook")
    op = bed.op()
    first, second = reactions.begin(op), reactions.begin(op)
    assert (first.owner, first.n, second.n) == ("hook/agent", EACH, EACH + 1)
    nested = reactions.begin(second)
    assert (nested.owner, nested.n) == ("hook/hook/agent", (EACH + 1) * EACH)
    assert nested.cause is op
    assert bed.rows("CAUSED") == [
        (0, ("agent", 1)),
        (0, ("agent", 1)),
        (0, ("hook/agent", EACH + 1)),
    ]


def test_one_more_reaction_shifts_no_draw_of_another_operation() -> None:
    bed = Bed()
    reactions = Reactions(bed.world, "hook")
    one, two = bed.op(bed.user), bed.op(bed.agent)
    reactions.begin(one)
    reactions.begin(one)
    with_more = reactions.begin(two).below(10**9, "value")
    bed = Bed()
    reactions = Reactions(bed.world, "hook")
    one, two = bed.op(bed.user), bed.op(bed.agent)
    assert reactions.begin(two).below(10**9, "value") == with_more


def test_reactions_to_the_agent_are_waited_for_and_those_to_others_are_not() -> None:
    bed = Bed()
    reactions = Reactions(bed.world, "hook")
    others = reactions.begin(bed.op(bed.user))
    assert bed.world.reactions == 0
    mine = reactions.begin(bed.op(bed.agent))
    nested = reactions.begin(mine)
    assert bed.world.reactions == 2
    mine.end()
    nested.end()
    others.end()
    assert bed.world.reactions == 0


def test_a_reaction_ends_once() -> None:
    bed = Bed()
    reaction = Reactions(bed.world, "hook").begin(bed.op())
    reaction.end()
    with pytest.raises(HarnessError, match="ends twice"):
        reaction.end()


def test_a_reaction_waits_as_its_cause_was_pinned() -> None:
    bed = Bed()
    reaction = Reactions(bed.world, "hook").begin(bed.op(pins={"webhook": 7}))
    assert reaction.wait_ticks((1, 1), "webhook") == 7


def test_there_is_an_end_to_reactions() -> None:
    bed = Bed()
    reactions = Reactions(bed.world, "hook")
    op = bed.op()
    for _ in range(EACH):
        reactions.begin(op)
    with pytest.raises(HarnessError, match="causes too many reactions"):
        reactions.begin(op)


def test_attempts_at_a_reaction_have_its_number_and_are_reactions_too() -> None:
    bed = Bed()
    reactions = Reactions(bed.world, "hook")
    reaction = reactions.begin(bed.op())
    first, second = reactions.attempt(reaction, 1), reactions.attempt(reaction, 2)
    assert [a.owner for a in (first, second)] == ["hook/agent/1", "hook/agent/2"]
    assert first.n == second.n == reaction.n
    assert first.cause is reaction.cause
    assert bed.world.reactions == 3


def test_reactions_to_reactions_go_only_so_deep() -> None:
    bed = Bed()
    reactions = Reactions(bed.world, "hook")
    deep = bed.op()
    for _ in range(6):
        deep = reactions.begin(deep)
    with pytest.raises(HarnessError, match="too many others"):
        reactions.begin(deep)
