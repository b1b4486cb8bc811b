"""Whole episodes in the IDE: the sandbox's results are their inputs, and they replay."""

from __future__ import annotations

from pathlib import Path

import pytest

import simharness
from simharness.models.ide.tickets import FAMILIES
from tests.models import ide_lab

pytest.importorskip("wasmtime", reason="needs simharness[ide]")
MEND = f"{Path(ide_lab.__file__).resolve()}:IdeLab/mend"


@pytest.mark.parametrize("schedule", ["fifo", "random:3"])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_sound_episodes_are_paid_valid_and_replay_to_the_byte(
    seed: int, schedule: str, tmp_path: Path
) -> None:
    outcome = simharness.run(MEND, seed=seed, schedule=schedule)
    verdict = outcome.verdict
    assert (verdict.score, verdict.valid) == (1_000_000, True)
    path = tmp_path / "ide.simrec"
    outcome.episode.save(path)
    assert simharness.replay(path).digest == outcome.episode.digest
    # An audit takes nothing on trust: every detector runs.
    assert simharness.audit(path).headline.startswith("ok")


def test_who_does_nothing_is_paid_nothing() -> None:
    assert simharness.run(MEND, seed=1, policy="null").verdict.score == 0


@pytest.mark.parametrize("family", FAMILIES)
def test_tickets_are_drawn_in_episodes_that_forbid_the_clock(family: str) -> None:
    # Formatting a date by `%d` asks for time.strftime, for instance.
    for number in range(4):
        config = {"instance.family": family, "instance.number": 4_000 + number}
        env = simharness.make("ide/fix", seed=number, config=config)
        assert str(4_000 + number) in env.reset().prompt
