"""Tools that answer another form than they declare, in episodes that are otherwise won."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import simharness
from simharness import Call, HarnessError

if TYPE_CHECKING:
    from collections.abc import Generator

    from simharness.api import Action, Observation, Policy, Task

CARELESS = f"{Path(__file__).with_name('careless.py')}:Careless/shift"


def calling(tool: str) -> Policy:
    def play(task: Task) -> Generator[Action, Observation, None]:
        yield Call(tool)
        yield Call("resize", {"part_id": task.brief["part_id"], "size": 7})
        yield Call("finish", {"message": "resized"})

    return play


@pytest.mark.parametrize("tool", ["other_object", "no_return", "wrong_page"])
def test_an_answer_of_another_form_makes_a_won_episode_invalid(tool: str, tmp_path: Path) -> None:
    outcome = simharness.run(CARELESS, policy=calling(tool), load=0)
    verdict = outcome.verdict
    assert (verdict.score, verdict.valid, verdict.codes) == (1_000_000, False, ("H413",))
    assert verdict.findings[0].explanation.startswith(f"{tool} answers ")
    outcome.episode.save(tmp_path / "one.simrec")
    assert simharness.audit(tmp_path / "one.simrec").codes == ("H413",)


@pytest.mark.parametrize("tool", ["as_declared", "look"])
def test_declared_answers_leave_it_valid(tool: str) -> None:
    verdict = simharness.run(CARELESS, policy=calling(tool), load=0).verdict
    assert (verdict.valid, [c for c in verdict.codes if c.startswith("H")]) == (True, [])


def test_a_generator_as_the_answer_ends_the_episode_at_once() -> None:
    env = simharness.make(CARELESS, load=0)
    with pytest.raises(HarnessError, match=r"'no_yield_from' answers a generator.*`yield from`"):
        env.step(Call("no_yield_from"))
    assert env.verdict is not None
    assert not env.verdict.valid
