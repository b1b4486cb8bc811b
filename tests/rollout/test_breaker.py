"""A run stops when the harness is broken, says why, and can go on all the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from simharness.rollout.breaker import Breaker
from simharness.rollout.request import Request
from simharness.rollout.run import BREAKER, local_engine, resume, run

HAZARD = f"{Path(__file__).with_name('hazard.py')}:Hazard"


def line(seed: int, *, failed: bool, member: int = 0, code: str = "H112") -> dict[str, Any]:
    return {
        "scenario": "shop/buy",
        "seed": seed,
        "policy": "expert",
        "faults": ["shop.lies"] if failed else [],
        "load": "1",
        "member": member,
        "class": "harness" if failed else "ok",
        "primary": code if failed else "",
    }


def test_it_stops_at_eight_failures_in_a_row() -> None:
    breaker = Breaker()
    told = [breaker.add(line(seed, failed=True)) for seed in range(8)]
    assert told == [False] * 7 + [True]
    assert breaker.reason == "the harness failed 8 episodes in a row: H112 8"
    assert breaker.planted == ("shop.lies",)


def test_it_stops_at_the_boundary_from_twenty_episodes_on() -> None:
    breaker = Breaker()
    # Every third one, so never many in a row: at 20 episodes the boundary is 3.8 failures.
    told = [breaker.add(line(seed, failed=seed % 3 == 0)) for seed in range(20)]
    assert told == [False] * 19 + [True]
    assert breaker.reason.startswith("7 of 20 episodes failed by the harness; from 3.8 on ")
    assert breaker.reason.endswith(": H112 7")


@pytest.mark.parametrize("every", [40, 60, 10_000])
def test_a_sound_harness_goes_on(every: int) -> None:
    breaker = Breaker()
    assert not any(breaker.add(line(seed, failed=seed % every == 9)) for seed in range(2_000))


def test_of_a_group_the_first_member_counts() -> None:
    breaker = Breaker(grouped=True)
    assert not any(
        breaker.add(line(seed, failed=True, member=member))
        for seed in range(7)
        for member in range(8)
    )
    assert breaker.add(line(7, failed=True))


@pytest.mark.parametrize("workers", [0, 2])
def test_a_run_of_a_broken_harness_is_stopped_and_can_go_on(tmp_path: Path, workers: int) -> None:
    asked = Request(scenarios=(f"{HAZARD}/exit",), seeds=range(200), loads=("0",))
    engine = local_engine(workers)
    result = run(asked, tmp_path / "run", engine=engine)
    assert result.stopped == BREAKER
    assert 20 <= result.summary.episodes < 200
    assert result.breaker is not None
    assert "H810" in result.breaker.reason
    again = resume(tmp_path / "run", engine=engine)
    assert again.stopped == BREAKER
    # Each worker may have finished one more while it was being told to stop.
    assert 0 <= again.summary.episodes - result.summary.episodes <= workers
    whole = resume(tmp_path / "run", engine=engine, breaker=False)
    assert (whole.stopped, whole.summary.episodes) == ("", 200)
