"""All harness detectors together: planted defects are found, and sound worlds are silent."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import pytest

from benchmarks.mutations import MUTATIONS, Mutation
from benchmarks.plays import found, played, story_of
from simharness.blame.case import story_of_episode
from simharness.findings.detect import HARNESS, harness_findings, once
from simharness.findings.finding import Finding
from simharness.findings.story import story_of_record, tell
from simharness.kernel.journal import Row
from simharness.recording.reader import parse
from simharness.recording.writer import FrameLog

if TYPE_CHECKING:
    from simharness.findings.story import Story

BY_FAULTS = ("crm.invalidation-lost", "crm.no-fence")


@lru_cache(maxsize=64)
def sound(scenario: str, policy: str, load: int, config: str, seed: int) -> list[Finding]:
    return found(played(seed, policy, load, json.loads(config), scenario=scenario))


@pytest.mark.parametrize("mutation", MUTATIONS, ids=[m.name for m in MUTATIONS])
def test_a_planted_defect_is_found_and_its_control_is_silent(mutation: Mutation) -> None:
    for seed in range(mutation.seeds):
        how = mutation.policy, mutation.load
        assert sound(mutation.scenario, *how, json.dumps(mutation.config), seed) == []
        with pytest.MonkeyPatch.context() as patch:
            mutation.plant(patch)
            episode = played(seed, *how, mutation.config, scenario=mutation.scenario)
        findings = found(episode)
        if mutation.codes & {f.code for f in findings}:
            for finding in findings:
                assert finding.explanation
                assert list(finding.events) == sorted(finding.events)
            return
    pytest.fail(f"none of {sorted(mutation.codes)} in {mutation.seeds} episodes")


@pytest.mark.parametrize("policy", ["expert", "random"])
@pytest.mark.parametrize("load", [1, 4, 8])
def test_sound_worlds_are_silent(policy: str, load: int) -> None:
    for seed in range(1000, 1025):
        assert found(played(seed, policy, load)) == [], (policy, load, seed)


@pytest.mark.parametrize("policy", ["watcher", "careless", "spam"])
def test_sound_worlds_are_silent_whatever_the_agent_does(policy: str) -> None:
    for seed in range(8):
        assert found(played(seed, policy, 8)) == [], seed


def test_a_contract_that_allows_staleness_makes_it_ambiguous() -> None:
    config = {"deals.detail.cache.invalidate": "never", "deals.detail.staleness": "10min"}
    config["deals.detail.read_your_writes"] = "false"
    seen: set[str] = set()
    for seed in range(4):
        codes = [f.code for f in found(played(seed, "watcher", 4, config))]
        seen |= set(codes)
        assert not {"H110", "H112", "H113"} & set(codes)
    assert "A120" in seen


# --- what detectors may look at -------------------------------------------------------------------


def without_faults(story: Story) -> Story:
    """Blank what tells of planned faults: FAULT and DROP rows; places stay as they are."""
    rows = [
        Row(row.index, "STR", row.t, {}) if row.kind in ("FAULT", "DROP") else row
        for row in story.rows
    ]
    return tell(rows, story.steps, story.surface)


@pytest.mark.parametrize("fault", BY_FAULTS)
def test_findings_do_not_rest_on_what_is_known_of_faults(fault: str) -> None:
    some = 0
    for seed in range(3):
        for policy in ("expert", "watcher"):
            story = story_of(played(seed, policy, 4, None, (fault,)))
            told = [plain(f) for f in harness_findings(story)]
            assert told == [plain(f) for f in harness_findings(without_faults(story))]
            some += len(told)
    assert some


def plain(finding: Finding) -> dict[str, Any]:
    """A finding, with H110 for the H112 that it may be."""
    record = finding.record()
    if finding.code in ("H110", "H112"):
        record["code"], record["explanation"] = "H110", ""
    return record


# --- live and recorded ----------------------------------------------------------------------------


def test_an_episode_in_memory_and_its_recording_tell_the_same() -> None:
    some = 0
    for seed in range(4):
        for policy in ("expert", "random", "watcher"):
            episode = played(seed, policy, 4, None, BY_FAULTS[:1])
            told = harness_findings(story_of_episode(episode))
            assert told == harness_findings(story_of(episode))
            some += len(told)
    assert some


def test_a_recording_can_be_judged_without_its_product() -> None:
    episode = played(0, "watcher", 4, None, BY_FAULTS[:1])
    assert isinstance(episode.sink, FrameLog)
    (record,) = parse(episode.sink.to_bytes())
    story = story_of_record(record)
    assert story.surface.schemas == {}
    assert "stage" in story.surface.columns["deals"]
    assert harness_findings(story) == harness_findings(story_of(episode))


# --- putting together -----------------------------------------------------------------------------


def test_each_finding_is_given_once_and_each_read_of_one_cause() -> None:
    def stale(row: int) -> Finding:
        return Finding(code="H112", step=1, t=0, keys=("deals:7",), events=(1, row))

    assert list(once([stale(2), stale(2), stale(3)])) == [stale(2), stale(3)]


def test_no_detector_stands_in_the_list_twice() -> None:
    assert len(set(HARNESS)) == len(HARNESS)


def test_an_empty_journal_has_no_findings() -> None:
    assert harness_findings(tell([], [])) == []
