"""The collector looks less often while episodes run, and as before afterwards."""

from __future__ import annotations

import gc

import pytest

from simharness.rollout.collector import OBJECTS, seldom_collected


@pytest.mark.parametrize(
    ("before", "within"),
    [(700, OBJECTS), (OBJECTS + 1, OBJECTS + 1), (0, 0)],
)
def test_it_looks_less_often_and_never_more(before: int, within: int) -> None:
    kept = gc.get_threshold()
    try:
        gc.set_threshold(before, 7, 8)
        with seldom_collected():
            assert gc.get_threshold()[0] == within
        assert gc.get_threshold()[:2] == (before, 7)
    finally:
        gc.set_threshold(*kept)


def test_it_looks_as_before_after_a_failure() -> None:
    before = gc.get_threshold()
    with pytest.raises(KeyError), seldom_collected():
        raise KeyError
    assert gc.get_threshold() == before
