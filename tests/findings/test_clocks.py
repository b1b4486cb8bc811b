"""H314 of stamps: a clock that was set back, where rows show it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simharness.findings.clocks import turned_stamps
from simharness.findings.detect import HARNESS
from simharness.findings.story import tell
from simharness.kernel.journal import Decoder
from simharness.units import SECOND
from tests.findings.journal import Journal, span
from tests.product.conftest import Bench

if TYPE_CHECKING:
    from simharness.findings.finding import Finding


class Rows(Journal):
    def clock(self, t: int, offset: int, drift: int = 0, node: str = "api") -> int:
        return self.add("CLOCK", t, node=node, offset=offset, drift=drift, reason="step")


def test_the_detector_is_listed() -> None:
    assert turned_stamps in HARNESS


def test_a_commit_after_a_clock_was_set_back_is_stamped_too_early() -> None:
    j = Rows()
    before = j.commit(2, t=100)
    back = j.clock(101, -50)
    after = j.commit(3, t=120, key=8)
    j.commit(4, t=121)
    (finding,) = j.found(turned_stamps)
    assert finding.events == (before, back, after)
    assert finding.evidence == {"key": "deals:8", "before": "deals:7", "by": 30, "node": "api"}
    assert finding.explanation == (
        "deals:8 is stamped 30us earlier than deals:7, which was committed before it: the clock of "
        "node api had been set back"
    )


@pytest.mark.parametrize(("t", "found"), [(149, ["H314"]), (150, []), (151, [])])
def test_a_stamp_may_be_the_same_as_the_one_before(t: int, found: list[str]) -> None:
    j = Rows()
    j.commit(2, t=100)
    j.clock(101, -50)
    j.commit(3, t=t)
    assert j.codes(turned_stamps) == found


def test_every_move_and_table_is_told_once() -> None:
    j = Rows()
    j.commit(2, t=100)
    j.commit(2, t=100, table="notes")
    j.clock(101, -50)
    j.commit(3, t=110)
    j.commit(3, t=111, table="notes")
    j.commit(4, t=112)
    j.clock(113, -60)
    j.commit(5, t=114)
    assert j.codes(turned_stamps) == ["H314"] * 3


def test_clocks_that_are_off_run_apart_or_stamp_nothing_are_left_alone() -> None:
    j = Rows()
    j.clock(0, -50, -500_000)
    j.commit(2, t=100)
    j.commit(3, t=101)
    j.clock(101, 70, 500_000)
    j.commit(4, t=102)
    j.clock(103, -(10**9), node="worker")
    j.commit(-5, before=4, t=104)
    j.commit(6, t=104)
    assert j.codes(turned_stamps) == []


# --- in a shop ------------------------------------------------------------------------------------


def shop(setting: object = "exact") -> Bench:
    return Bench({"node.api.clock": setting})


def findings(bench: Bench) -> list[Finding]:
    return list(turned_stamps(tell(list(Decoder().decode_all(bench.world.rows)), [span()])))


def test_rows_are_stamped_by_the_clock_of_the_api() -> None:
    bench = shop(["-2s", "500000ppm"])
    bench.at(4 * SECOND)
    bench.write(1, stock=1)
    key = bench.insert(title="new")
    assert bench.table.rows[1].updated_at == bench.shop.instant == 4 * SECOND
    assert bench.table.rows[key].created_at == 4 * SECOND
    bench.at(6 * SECOND)
    bench.write(1, stock=2)
    assert bench.table.rows[1].updated_at == 7 * SECOND
    assert findings(bench) == []


def test_a_step_back_shows_in_the_stamps_and_is_found() -> None:
    bench = shop()
    bench.at(4 * SECOND)
    bench.write(1, stock=1)
    bench.shop.clocks["api"].step(-SECOND)
    bench.at(4 * SECOND + SECOND // 2)
    bench.write(1, stock=2)
    assert bench.table.rows[1].updated_at == 3 * SECOND + SECOND // 2
    (finding,) = findings(bench)
    assert finding.evidence["by"] == SECOND // 2
    assert bench.world.alarms


@given(st.lists(st.tuples(st.integers(0, 10 * SECOND), st.integers(-SECOND, SECOND)), max_size=8))
def test_it_finds_just_what_the_rows_show(moves: list[tuple[int, int]]) -> None:
    bench = shop("300ppm")
    stamps: list[int] = []
    for wait, by in moves:
        bench.at(bench.world.ticks + wait)
        bench.write(1, stock=len(stamps))
        stamps.append(bench.table.rows[1].updated_at)
        bench.shop.clocks["api"].step(by)
    assert bool(findings(bench)) == (stamps != sorted(stamps))
