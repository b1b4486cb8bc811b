"""A soak finds what only shows after a while, and says what it is; a sound world passes."""

from __future__ import annotations

from pathlib import Path

import pytest

from simharness.rollout import leak
from simharness.rollout import soak as module
from simharness.rollout.leak import Size
from simharness.rollout.soak import PINGS_MAX, soak

WORN = f"{Path(__file__).with_name('worn.py')}:Worn"


def test_a_sound_world_passes_and_tells_both_kinds_of_latency() -> None:
    report = soak(f"{WORN}/sound", pings=700, users=0)
    assert (report.errors, report.pings, report.replayed) == ([], 700, True)
    assert report.leaks == []
    assert 0 < report.simulated_p50_us <= report.simulated_p99_us
    assert 0 < report.p50_us <= report.p99_us


def test_a_leak_is_found_and_named_by_its_line() -> None:
    report = soak(f"{WORN}/leak", pings=700, users=0)
    assert report.failed == 1
    assert "MB more than the truth takes" in report.errors[0]
    assert "worn.py:" in report.leaks[0]
    assert "bytearray(300_000)" in report.leaks[0]


def test_memory_that_was_freed_before_hides_no_leak() -> None:
    freed = [bytearray(300_000) for _ in range(4_000)]
    # Every tenth stays, so that the rest can't be given back by lowering the top of the heap.
    kept = freed[::10]
    freed.clear()
    report = soak(f"{WORN}/leak", pings=700, users=0)
    assert report.failed == 1, report.memory_growth_mb
    assert len(kept) == 400


def test_a_person_who_waits_for_ever_is_found_and_named() -> None:
    report = soak(f"{WORN}/stuck", pings=1500, users=0)
    assert report.failed == 1
    assert "user/1 has waited for an event that nobody has triggered since " in report.errors[0]


def test_a_call_that_never_ends_is_found_and_named() -> None:
    report = soak(f"{WORN}/lock", pings=1500, users=0)
    assert report.failed == 1
    assert "has not ended by" in report.errors[0]
    assert "waits for an event that nobody has triggered" in report.errors[0]


def test_a_soak_by_the_clock_ends_when_its_time_is_up() -> None:
    report = soak(f"{WORN}/sound", pings=PINGS_MAX, users=0, seconds=0.2)
    assert 0 < report.pings < PINGS_MAX
    assert report.errors == []
    assert report.replayed


def test_of_a_long_recording_the_beginning_is_replayed(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = soak(f"{WORN}/sound", pings=300, users=0)
    monkeypatch.setattr(module, "KEPT_BYTES", 20_000)
    cut = soak(f"{WORN}/sound", pings=300, users=0)
    assert cut.digest == whole.digest
    assert (cut.errors, cut.replayed) == ([], True)
    assert 10 < cut.replayed_steps < whole.replayed_steps == 301


@pytest.mark.parametrize(
    ("grown", "versions", "pings", "excess"),
    [
        (0, 0, 100, 0),
        (leak.SLACK_BYTES, 0, 100, 0),
        (leak.SLACK_BYTES + 1, 0, 100, leak.SLACK_BYTES + 1),
        (leak.SLACK_BYTES + 1, 1, 100, 0),
        (30_000_000, 0, 40_000, 0),
        (50_000_000, 0, 40_000, 50_000_000),
        (50_000_000, 20_000, 40_000, 0),
    ],
)
def test_memory_may_grow_by_what_the_truth_takes(
    grown: int, versions: int, pings: int, excess: int
) -> None:
    earlier = Size(10, 70_000_000, 500)
    later = Size(10 + pings, 70_000_000 + grown, 500 + versions)
    assert later.excess_after(earlier) == excess
