"""A sample of `benchmarks/innocence.py`: repairs of the innocent change nothing, and it can see."""

from __future__ import annotations

import json

import pytest

from benchmarks.innocence import (
    FAULT,
    GUILTY,
    MODELS,
    Positional,
    Served,
    asked_again,
    by_value,
    innocent,
    main,
    parts_by_value,
    played,
    served,
    touchy,
)
from simharness.kernel.draws import Draws, Stream
from tests.blame.plays import plan, policy_named
from tests.effort import times

LOAD = "8"


@pytest.mark.parametrize("faults", [(), (FAULT,)])
def test_repairing_an_innocent_mechanism_changes_no_outcome_and_no_row(
    faults: tuple[str, ...],
) -> None:
    count = times(8)
    tally = by_value(count, LOAD, faults)
    assert tally.episodes == count
    assert (tally.flips, tally.changed, tally.rows, tally.misfits) == (0, 0, 0, 0)
    # The sample is worth something: every policy, several caches, each asked often.
    assert set(tally.policies) == set(MODELS)
    assert len(tally.caches) > 3
    assert tally.hits > count * 20
    assert (GUILTY in tally.caches) == (not faults)


def test_repairing_an_innocent_mechanism_changes_nothing_for_a_policy_that_is_asked_again() -> None:
    tally = asked_again(times(4), LOAD, remove=False, position=False)
    assert tally.episodes == times(4)
    assert (tally.flips, tally.changed) == (0, 0)


def test_repairing_the_guilty_mechanism_is_seen() -> None:
    tally = by_value(3, LOAD, (FAULT,), guilty=True)
    assert (tally.episodes, tally.changed) == (3, 3)
    assert tally.rows > 6
    assert tally.flips == 0


def test_repairing_a_replica_an_index_a_feed_or_an_export_that_told_the_truth_changes_nothing() -> (
    None
):
    count = times(8)
    tally = parts_by_value(count, LOAD)
    assert tally.episodes == count
    assert (tally.flips, tally.changed, tally.rows, tally.misfits) == (0, 0, 0, 0)
    assert len(tally.caches) > 2
    assert tally.hits > count


def test_repairing_a_part_that_lagged_is_seen() -> None:
    tally = parts_by_value(3, LOAD, guilty=True)
    assert (tally.episodes, tally.changed) == (3, 3)
    assert tally.rows > 3


def test_taking_an_innocent_cache_away_from_a_world_that_draws_by_position_flips_outcomes() -> None:
    tally = asked_again(12, LOAD, remove=True, position=True)
    assert (tally.episodes, tally.changed) == (12, 12)
    assert tally.flips > 1


def test_addressed_draws_alone_keep_most_outcomes_where_rows_change() -> None:
    tally = asked_again(6, LOAD, remove=True, position=False)
    assert (tally.episodes, tally.changed) == (6, 6)
    assert tally.flips <= 1


def test_draws_by_position_ignore_their_address() -> None:
    one, other = Positional(5), Positional(5)
    first = [Stream(one, "user/1", n).below(1000, "api") for n in range(20)]
    second = [Stream(other, f"user/{n}", 9).below(1000, "db", n) for n in range(20)]
    assert first == second
    assert len(set(first)) > 10
    addressed = Draws(5)
    assert first != [Stream(addressed, "user/1", n).below(1000, "api") for n in range(20)]


def test_a_removed_cache_shifts_no_instance_and_no_think_time() -> None:
    # Else the control would compare two tasks, and its flips would show nothing.
    actual = played(plan(3, 8), touchy)
    without = played(plan(3, 8, config={"users.auth.cache.ttl": "0s"}), touchy)
    assert without.instance == actual.instance
    assert without.inputs[0] == actual.inputs[0]


def test_what_was_served_is_read_from_the_rows() -> None:
    sound = served(played(plan(3, 8), policy_named("spam")))
    assert not any(view.wrong for view in sound.values())
    assert sound["users.auth"].hits > sound["accounts.list"].hits > 0
    faulty = served(played(plan(3, 8, (FAULT,)), policy_named("spam")))
    assert [name for name, view in faulty.items() if view.wrong] == [GUILTY]


def test_only_caches_that_answered_and_never_wrongly_are_innocent() -> None:
    views = {
        "a": Served(hits=3),
        "b": Served(hits=3, wrong=1),
        "c": Served(),
        "d": Served(hits=1),
    }
    assert [innocent(views, turn) for turn in range(4)] == ["a", "d", "a", "d"]
    assert innocent({"b": views["b"], "c": views["c"]}, 0) is None


def test_the_script_prints_a_line_a_case_and_says_whether_all_is_well(
    capsys: pytest.CaptureFixture[str],
) -> None:
    # So few episodes may show the control no flip; then the zeros of the others are worth nothing.
    code = main(["--episodes", "1", "--load", "4", "--json"])
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [line["case"].partition(",")[0] for line in lines] == [
        "repaired",
        "repaired",
        "control: the guilty one repaired",
        "repaired",
        "control: other parts that lagged repaired",
        "repaired",
        "removed",
        "control: removed",
    ]
    assert {line["episodes"] for line in lines} == {1}
    assert code == (0 if lines[-1]["flips"] else 1)
