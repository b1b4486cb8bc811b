"""Groups: flagged members leave before mean and deviation; dropped groups are replaced."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from simharness.errors import UsageError
from simharness.recording.reader import read_file
from simharness.rollout.audit import audit
from simharness.rollout.groups import GROUPS, Group, Member, Refill
from simharness.rollout.request import Entry, Request
from simharness.rollout.run import local_engine, resume, run

if TYPE_CHECKING:
    from collections.abc import Sequence

HAZARD = f"{Path(__file__).with_name('hazard.py')}:Hazard"
INSTANCE = ("shop/buy", 7, "expert", (), "1")


def group(*scores: float | None, flagged: Sequence[int] = ()) -> Group:
    members = [
        Member(f"shop/buy:7:expert member={n}", n, score, n in flagged or score is None)
        for n, score in enumerate(scores)
    ]
    return Group(INSTANCE, tuple(members))


def test_advantages_are_those_that_were_computed_by_hand() -> None:
    # 1, 0, 1, 1, 0: mean 3/5, squares 2 * 0.36 + 3 * 0.16 = 1.2, deviation sqrt(1.2 / 4).
    whole = group(1.0, 0.0, 1.0, 1.0, 0.0)
    assert whole.mean == pytest.approx(0.6)
    assert whole.deviation == pytest.approx(0.5477225575)
    up, down = pytest.approx(0.7302967433), pytest.approx(-1.0954451150)
    assert whole.advantages() == [up, down, up, up, down]


def test_flagged_members_leave_before_mean_and_deviation() -> None:
    # Without the fourth: 1, 0, 1, 0: mean 1/2, squares 4 * 0.25 = 1, deviation sqrt(1 / 3).
    cut = group(1.0, 0.0, 1.0, 1.0, 0.0, flagged=[3])
    assert cut.mean == pytest.approx(0.5)
    assert cut.deviation == pytest.approx(0.5773502692)
    up, down = pytest.approx(0.8660254038), pytest.approx(-0.8660254038)
    assert cut.advantages() == [up, down, up, None, down]
    told = cut.record()
    assert (told["started"], told["valid"], told["dropped"]) == (5, 4, "")
    assert told["members"][3] == {
        "key": "shop/buy:7:expert member=3",
        "score": 1.0,
        "flagged": True,
        "advantage": None,
    }


def test_equal_scores_have_no_advantage() -> None:
    assert group(1.0, 1.0, 1.0).advantages() == [0.0, 0.0, 0.0]


@pytest.mark.parametrize(
    ("found", "dropped"),
    [
        (group(1.0, 0.0, 1.0, None), ""),  # a quarter
        (group(1.0, 0.0, 1.0, None, 0.0, 1.0, None), "2 of 7 flagged, more than 25%"),
        (group(1.0, 0.0, 1.0, flagged=[1]), "1 of 3 flagged, more than 25%"),
        (group(1.0, None), "1 of 2 valid, fewer than 2"),
        (group(None, None), "0 of 2 valid, fewer than 2"),
    ],
)
def test_a_group_of_which_too_little_is_left_is_dropped(found: Group, dropped: str) -> None:
    assert found.dropped == dropped
    if dropped:
        assert found.advantages() == [None] * len(found.members)
        assert (found.record()["mean"], found.record()["deviation"]) == (None, None)


def line(entry: Entry, *, valid: bool) -> dict[str, Any]:
    return {
        **entry._asdict(),
        "key": f"{entry.seed}",
        "valid": valid,
        "quarantined": not valid,
        "score": 1.0 if valid else None,
    }


def test_dropped_groups_are_replaced_by_the_seeds_after_the_last_in_order() -> None:
    request = Request(scenarios=("shop/buy",), seeds=range(5), loads=("1", "8"), group=2, refill=2)
    refill = Refill(request)
    bad = {(0, "1"), (2, "1"), (3, "1"), (4, "8"), (6, "1")}
    entries = list(request.entries())
    # Whoever is heard of first changes nothing.
    for entry in reversed(entries):
        refill.add(line(entry, valid=(entry.seed, entry.load) not in bad))
    second = refill.after(entries)
    assert [(e.seed, e.load, e.member) for e in second] == [
        *((5, "1", 0), (5, "1", 1), (6, "1", 0), (6, "1", 1)),
        *((5, "8", 0), (5, "8", 1)),
    ]
    for entry in second:
        refill.add(line(entry, valid=(entry.seed, entry.load) not in bad))
    assert refill.after(second) == []  # the reserve of load 1 is used up


def asked(**fields: Any) -> Request:
    values: dict[str, Any] = {
        "scenarios": (f"{HAZARD}/exit",),
        "seeds": range(6),
        "policies": ("gamble",),
        "loads": ("0",),
        "group": 6,
        "refill": 3,
        **fields,
    }
    return Request(**values)


def groups(folder: Path) -> list[dict[str, Any]]:
    text = (folder / GROUPS).read_text(encoding="utf-8")
    return [json.loads(one) for one in text.splitlines()]


def sealed(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (folder / "shards").iterdir()}


def test_a_run_of_groups_is_the_same_however_it_is_played(tmp_path: Path) -> None:
    result = run(asked(), tmp_path / "one", breaker=False)
    found = groups(tmp_path / "one")
    dropped = [one for one in found if one["dropped"]]
    assert 0 < len(dropped) < len(found)
    assert result.total == result.summary.episodes == 6 * len(found)
    assert [one["seed"] for one in found] == list(range(len(found)))
    assert len(found) == 6 + min(3, len(dropped))
    kept = [one for one in found if not one["dropped"]]
    scores = [[member["score"] for member in one["members"]] for one in kept]
    assert any(len(set(scored)) > 1 for scored in scores)  # members draw otherwise
    for one in kept:
        advantages = [member["advantage"] for member in one["members"]]
        assert sum(advantages) == pytest.approx(0, abs=1e-6)
    run(asked(), tmp_path / "two", breaker=False, engine=local_engine(2))
    assert sealed(tmp_path / "two") == sealed(tmp_path / "one")
    assert groups(tmp_path / "two") == found
    last = max((tmp_path / "two" / "shards").iterdir())
    last.unlink()
    resume(tmp_path / "two", breaker=False)
    assert sealed(tmp_path / "two") == sealed(tmp_path / "one")
    assert groups(tmp_path / "two") == found


def test_members_of_a_group_live_in_one_world_and_are_told_apart(tmp_path: Path) -> None:
    run(asked(scenarios=(f"{HAZARD}/sound",), seeds=range(1), refill=0), tmp_path / "run")
    records = read_file(tmp_path / "run" / "shards" / "00000.simrec")
    assert len({json.dumps(record.header, sort_keys=True) for record in records}) == 1
    assert len({record.digest for record in records}) > 1
    keys = [item.key for item in audit(tmp_path / "run").items]
    assert keys == [f"{HAZARD}/sound:0:gamble member={n}" for n in range(6)]


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"group": 1}, "only groups are refilled"),
        ({"seeds": range(2**31 - 3, 2**31 - 1)}, "3 seeds after 2147483647 go beyond their split"),
    ],
)
def test_a_reserve_that_makes_no_sense_is_refused(
    tmp_path: Path, fields: dict[str, Any], said: str
) -> None:
    with pytest.raises(UsageError, match=said):
        run(asked(**fields), tmp_path / "run")
    assert not (tmp_path / "run").exists()
