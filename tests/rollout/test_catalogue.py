"""The catalogue is an index: made again from the recordings, equal each time."""

from __future__ import annotations

import json
import shutil
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from simharness.errors import RecordingError, UsageError
from simharness.rollout.catalogue import dump, index
from simharness.rollout.request import Request
from simharness.rollout.run import run

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

CRM = "crm/negotiation"


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of two policies and two loads, on two seeds of which one is very large."""
    folder = tmp_path_factory.mktemp("source") / "run"
    seeds = range(2**63 - 1, 2**63 + 1)
    policies, loads = ("null", "expert"), ("0", "2.50")
    run(Request(scenarios=(CRM,), seeds=seeds, policies=policies, loads=loads), folder)
    return folder


@pytest.fixture
def folder(source: Path, tmp_path: Path) -> Path:
    shutil.copytree(source, tmp_path / "run")
    return tmp_path / "run"


def rows(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(text) for text in dump(folder)]


def test_it_has_a_row_for_each_episode_and_each_shard(folder: Path) -> None:
    *episodes, shard = rows(folder)
    assert [(e["seed"], e["policy"], e["load"]) for e in episodes] == [
        (seed, policy, load)
        for seed in (2**63 - 1, str(2**63))
        for policy in ("expert", "null")
        for load in ("0", "2.5")
    ]
    assert [e["key"] for e in episodes[:2]] == [
        f"{CRM}:{2**63 - 1}:expert load=0",
        f"{CRM}:{2**63 - 1}:expert load=2.5",
    ]
    assert {e["score"] for e in episodes if e["policy"] == "null"} == {0.0}
    assert (shard["name"], shard["episodes"], shard["sealed"]) == ("00000.simrec", 8, 1)


def test_it_answers_queries(folder: Path) -> None:
    with closing(sqlite3.connect(folder / "catalog.sqlite")) as base:
        query = "SELECT count(*), avg(score) FROM episodes WHERE policy = 'null' AND seed = ?"
        assert base.execute(query, (2**63 - 1,)).fetchone() == (2, 0.0)


def delete(path: Path) -> None:
    path.unlink()


def damage(path: Path) -> None:
    path.write_bytes(b"SQLite format 3\0" + bytes(3000))


def empty(path: Path) -> None:
    path.write_bytes(b"")


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:5000])


@pytest.mark.parametrize("harm", [delete, damage, empty, cut])
@pytest.mark.parametrize("name", ["catalog.sqlite", "verdicts.jsonl"])
def test_it_is_made_again_after_any_harm(
    folder: Path, name: str, harm: Callable[[Path], None]
) -> None:
    before, lines = list(dump(folder)), (folder / "verdicts.jsonl").read_bytes()
    harm(folder / name)
    assert index(folder) == 8
    assert list(dump(folder)) == before
    assert (folder / "verdicts.jsonl").read_bytes() == lines


@pytest.mark.parametrize("harm", [delete, damage, empty, cut])
def test_one_that_cannot_be_read_is_told_with_what_to_do(
    folder: Path, harm: Callable[[Path], None]
) -> None:
    harm(folder / "catalog.sqlite")
    with pytest.raises(RecordingError, match=r"make it again: simharness index "):
        list(dump(folder))


def test_reviews_stand_in_it(folder: Path) -> None:
    key = f"{CRM}:{2**63}:null load=0"
    review = {"key": key, "decision": "quarantine", "by": "ada", "note": "odd"}
    (folder / "reviews.jsonl").write_text(json.dumps(review) + "\n", encoding="utf-8")
    index(folder)
    reasons = {row["key"]: row["reason"] for row in rows(folder) if row.get("quarantined")}
    assert reasons == {key: "quarantined by ada: odd"}


def test_an_episode_that_is_there_twice_is_refused_or_merged_on_purpose(folder: Path) -> None:
    before = list(dump(folder))
    shards = folder / "shards"
    shutil.copy(shards / "00000.simrec", shards / "00001.simrec")
    with pytest.raises(UsageError, match=r"is in 00000\.simrec and in 00001\.simrec; --merge"):
        index(folder)
    assert list(dump(folder)) == before
    assert index(folder, merge=True) == 8
    assert list(dump(folder))[:8] == before[:8]


def test_two_episodes_of_one_key_that_differ_are_always_refused(
    folder: Path, tmp_path: Path
) -> None:
    # The same key, played in another order of the instants.
    other = Request(
        scenarios=(CRM,),
        seeds=range(2**63 - 1, 2**63),
        policies=("expert",),
        loads=("2.5",),
        schedule="random:3",
    )
    run(other, tmp_path / "other")
    shutil.copy(tmp_path / "other/shards/00000.simrec", folder / "shards/00001.simrec")
    with pytest.raises(UsageError, match="and the two differ; take one of the shards out"):
        index(folder, merge=True)


@pytest.mark.parametrize("fields", [{"policies": ("null", "null")}, {"loads": ("1", "1.0")}])
def test_a_run_that_would_play_an_episode_twice_is_refused(
    tmp_path: Path, fields: dict[str, Any]
) -> None:
    with pytest.raises(UsageError, match="is named twice"):
        run(Request(scenarios=(CRM,), seeds=range(1), **fields), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_what_is_no_run_has_no_index(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is no run"):
        index(tmp_path)
