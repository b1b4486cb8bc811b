"""Effects: operations that others cause, addressed by their causes."""

from __future__ import annotations

import pytest

from simharness.errors import HarnessError
from simharness.parts.effect import EACH, Effects
from tests.parts.posts import Bed


def test_an_effect_is_named_by_its_part_and_numbered_by_its_cause() -> None:
    bed = Bed()
    effects = Effects(bed.world, "hook")
    op = bed.op()
    first, second = effects.begin(op), effects.begin(op)
    assert (first.owner, first.n, second.n) == ("hook/agent", EACH, EACH + 1)
    nested = effects.begin(second)
    assert (nested.owner, nested.n) == ("hook/hook/agent", (EACH + 1) * EACH)
    assert nested.cause is op
    assert bed.rows("CAUSED") == [
        (0, ("agent", 1)),
        (0, ("agent", 1)),
        (0, ("hook/agent", EACH + 1)),
    ]


def test_one_more_effect_shifts_no_draw_of_another_operation() -> None:
    bed = Bed()
    effects = Effects(bed.world, "hook")
    one, two = bed.op(bed.user), bed.op(bed.agent)
    effects.begin(one)
    effects.begin(one)
    with_more = effects.begin(two).below(10**9, "value")
    bed = Bed()
    effects = Effects(bed.world, "hook")
    one, two = bed.op(bed.user), bed.op(bed.agent)
    assert effects.begin(two).below(10**9, "value") == with_more


def test_effects_of_the_agent_are_waited_for_and_those_of_others_are_not() -> None:
    bed = Bed()
    effects = Effects(bed.world, "hook")
    others = effects.begin(bed.op(bed.user))
    assert bed.world.reactions == 0
    mine = effects.begin(bed.op(bed.agent))
    nested = effects.begin(mine)
    assert bed.world.reactions == 2
    mine.end()
    nested.end()
    others.end()
    assert bed.world.reactions == 0


def test_an_effect_ends_once() -> None:
    bed = Bed()
    effect = Effects(bed.world, "hook").begin(bed.op())
    effect.end()
    with pytest.raises(HarnessError, match="ends twice"):
        effect.end()


def test_an_effect_waits_as_its_cause_was_pinned() -> None:
    bed = Bed()
    effect = Effects(bed.world, "hook").begin(bed.op(pins={"webhook": 7}))
    assert effect.wait_ticks((1, 1), "webhook") == 7


def test_there_is_an_end_to_effects() -> None:
    bed = Bed()
    effects = Effects(bed.world, "hook")
    op = bed.op()
    for _ in range(EACH):
        effects.begin(op)
    with pytest.raises(HarnessError, match="too many effects"):
        effects.begin(op)


def test_attempts_at_an_effect_have_its_number_and_are_effects_too() -> None:
    bed = Bed()
    effects = Effects(bed.world, "hook")
    effect = effects.begin(bed.op())
    first, second = effects.attempt(effect, 1), effects.attempt(effect, 2)
    assert [a.owner for a in (first, second)] == ["hook/agent/1", "hook/agent/2"]
    assert first.n == second.n == effect.n
    assert first.cause is effect.cause
    assert bed.world.reactions == 3


def test_effects_of_effects_go_only_so_deep() -> None:
    bed = Bed()
    effects = Effects(bed.world, "hook")
    deep = bed.op()
    for _ in range(6):
        deep = effects.begin(deep)
    with pytest.raises(HarnessError, match="too many others"):
        effects.begin(deep)
