"""Repair of replicas, indexes, feeds and exports: the guilty flip, the others change nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.innocence import followed
from simharness.blame.ablation import replayed
from simharness.blame.verdict import Proof
from simharness.blame.whatif import whatif
from simharness.cli import call
from simharness.env import finish, make_plan, new_episode
from simharness.episode.episode import Episode
from simharness.episode.play import drive
from simharness.errors import UnknownName, UsageError
from simharness.recording.reader import read_file
from simharness.recording.rows import rows_digest
from tests.effort import times
from tests.findings.quay import LOADED, Load, wandering

if TYPE_CHECKING:
    from pathlib import Path

    from simharness.recording.reader import EpisodeRecord

PARTS = (
    "replica:boxes",
    "index:boxes.list",
    "index:boxes.search",
    "feed:boxes",
    "export:boxes",
)
REPLICA = {"boxes.replica.lag": "30min", "boxes.detail.route": "replica"}
INDEX = {"boxes.search.index.lag": "30min", "boxes.search.route": "index"}
FEED = {
    "boxes.replica.lag": "30min",
    "boxes.feed.route": "replica",
    "boxes.feed.payload": "id",
}
EXPORT = {"boxes.export.stamp": "statement"}
EXPORT_REPLICA = {"boxes.replica.lag": "30min", "boxes.export.route": "replica"}

GUILTY: list[tuple[str, dict[str, Any], str]] = [
    ("get", REPLICA, "replica:boxes"),
    ("search", INDEX, "index:boxes.search"),
    ("search", {**INDEX, "boxes.search.route": "replica", **REPLICA}, "replica:boxes"),
    ("feed", FEED, "replica:boxes"),
    ("feed", FEED, "feed:boxes"),
    ("export", EXPORT, "export:boxes"),
    ("export", EXPORT_REPLICA, "replica:boxes"),
]


def recorded(folder: Path, policy: str, config: dict[str, Any]) -> EpisodeRecord:
    episode = new_episode(make_plan(LOADED, 1, "2", config=config), policy)
    finish(episode, Load.policies[policy], askable=True)
    path = folder / "episode.simrec"
    episode.save(path)
    (record,) = read_file(path)
    return record


@pytest.mark.parametrize(("policy", "config", "guilty"), GUILTY)
def test_the_guilty_part_flips_and_no_other_does(
    tmp_path: Path, policy: str, config: dict[str, Any], guilty: str
) -> None:
    record = recorded(tmp_path, policy, config)
    innocent = [part for part in PARTS if part not in {g for p, _, g in GUILTY if p == policy}]
    for part in (guilty, *innocent):
        found = whatif(record, [part])
        closed = next(arm for arm in found.arms if arm.proof is Proof.CLOSED)
        assert (found.reward, closed.score_before) == (0, 0)
        assert (part, closed.flips) == (part, part == guilty)


# --- the innocent ---------------------------------------------------------------------------------

LAGS = ("0s", "1s", "1min", ["0s", "20s"])
CONFIG = st.fixed_dictionaries(
    {
        "boxes.replica.lag": st.sampled_from(LAGS),
        "boxes.list.index.lag": st.sampled_from(LAGS),
        "boxes.search.index.lag": st.sampled_from(LAGS),
        "boxes.search.index.hydrate": st.sampled_from(("index", "primary")),
        "boxes.detail.route": st.sampled_from(("replica", "sticky")),
        "boxes.list.route": st.sampled_from(("replica", "sticky", "index")),
        "boxes.search.route": st.sampled_from(("index", "sticky")),
        "boxes.list.cache.ttl": st.sampled_from(("0s", "10s")),
        "boxes.list.cache.refill": st.sampled_from(("primary", "replica")),
        "boxes.feed.route": st.sampled_from(("primary", "replica")),
        "boxes.feed.payload": st.sampled_from(("version", "id")),
        "boxes.feed.poll": st.sampled_from(("0s", "5s")),
        "boxes.export.route": st.sampled_from(("primary", "replica")),
        "boxes.export.boundary": st.sampled_from(("inclusive", "strict")),
        "boxes.export.stamp": st.sampled_from(("commit", "statement")),
        "boxes.export.resolution": st.sampled_from(("1us", "1min")),
        "db.latency": st.sampled_from(("0s", ["1ms", "2s"])),
    }
)


def again(episode: Episode, part: str) -> str:
    """The digest of the rows when the same calls are sent with a part repaired."""
    return rows_digest(replayed(episode.plan, episode.inputs, frozenset({part})).world.rows)


@settings(max_examples=times(12), deadline=None)
@given(CONFIG, st.integers(0, 2**32), st.sampled_from(("0", "3")))
def test_a_part_that_served_only_what_was_true_changes_not_one_row(
    config: dict[str, Any], seed: int, load: str
) -> None:
    episode = Episode(make_plan(LOADED, seed, load, config=config))
    drive(episode, wandering(seed))
    actual = rows_digest(episode.world.rows)
    parts = followed(episode)
    assert set(parts) == set(PARTS)
    for part, served in parts.items():
        if not served.wrong:
            assert (part, again(episode, part)) == (part, actual)


def test_a_part_that_served_what_was_not_true_changes_rows() -> None:
    seen: set[str] = set()
    for config in (REPLICA, INDEX, {**INDEX, "boxes.search.index.hydrate": "primary"}, FEED):
        for seed in range(4):
            episode = Episode(make_plan(LOADED, seed, "3", config=config))
            drive(episode, wandering(seed))
            for part, served in followed(episode).items():
                if served.wrong:
                    seen.add(part)
                    assert again(episode, part) != rows_digest(episode.world.rows)
    assert seen == {"replica:boxes", "index:boxes.search", "feed:boxes"}


# --- the command ----------------------------------------------------------------------------------


def test_the_command_repairs_an_index_and_names_what_it_knows(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    record = recorded(tmp_path, "search", INDEX)
    path = str(tmp_path / "episode.simrec")
    assert call(["whatif", path, "--ablate", "index:boxes.search"]) == 0
    assert "flips" in capsys.readouterr().out
    with pytest.raises(UnknownName) as caught:
        whatif(record, ["index:boxes.detail"])
    hint = f"{caught.value.message} {caught.value.hint}"
    assert "index:boxes.search" in hint
    for part in PARTS:
        with pytest.raises(UsageError) as near:
            whatif(record, [f"{part}x"])
        assert part in f"{near.value.message} {near.value.hint}"
