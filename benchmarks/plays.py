"""Episodes for the detectors: policies that go wrong, and stories told from recordings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simharness.api import Call
from simharness.env import make_plan
from simharness.episode.episode import Episode
from simharness.episode.play import drive
from simharness.episode.policies import scripted
from simharness.errors import HarnessError
from simharness.findings.detect import harness_findings
from simharness.findings.story import story_of_record
from simharness.models.crm.policies.negotiation import expert as reference
from simharness.recording.reader import parse
from simharness.recording.writer import FrameLog

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping

    from simharness.api import Action, Observation, Policy, Task
    from simharness.findings.finding import Finding
    from simharness.findings.story import Story

    Play = Generator[Action, Observation, None]


def watcher(task: Task) -> Play:
    """Look at the deal and at lists of it, by turns, and change it now and then."""
    deal, user = task.brief["deal_id"], task.brief["user_id"]
    for turn in range(14):
        told = yield Call("get_deal", {"deal_id": deal})
        yield Call("list_deals", {"page": 1})
        yield Call("list_deals", {"page": 2})
        yield Call("list_deals", {"owner_id": user})
        if turn % 3 == 0 and not told.error:
            fields = {"next_step": f"turn {turn}"}
            yield Call(
                "update_deal",
                {"deal_id": deal, "fields": fields, "if_version": told.value["version"]},
            )
        yield Call("wait", {"seconds": 25})


def careless(task: Task) -> Play:
    """Change somebody else's deal, then do the job."""
    other = task.brief["deal_id"] % 84 + 1
    yield Call("update_deal", {"deal_id": other, "fields": {"next_step": "mine now"}})
    yield from reference(task)


def sloppy(task: Task) -> Play:
    """Send an argument that no schema has."""
    yield Call("get_deal", {"deal_id": task.brief["deal_id"], "verbose": True})
    yield Call("finish", {"message": "gave up", "outcome": "handed_over"})


def hasty(task: Task) -> Play:
    """Close the deal as won, whatever the rules say."""
    yield Call("move_stage", {"deal_id": task.brief["deal_id"], "to_stage": "closed_won"})
    yield Call("finish", {"message": "It is won."})


def waiting(task: Task) -> Play:
    """Wait for others to do the job, and say that it is done."""
    yield Call("wait", {"seconds": 240})
    yield Call("get_deal", {"deal_id": task.brief["deal_id"]})
    yield Call("finish", {"message": "It is done."})


POLICIES: dict[str, Policy] = {
    "watcher": watcher,
    "careless": careless,
    "sloppy": sloppy,
    "hasty": hasty,
    "waiting": waiting,
}


def played(
    seed: int,
    policy: str = "expert",
    load: int = 4,
    config: Mapping[str, object] | None = None,
    faults: tuple[str, ...] = (),
    scenario: str = "crm/negotiation",
) -> Episode:
    episode = Episode(make_plan(scenario, seed, load, faults, config=config))
    play = POLICIES.get(policy) or scripted(policy, episode.scenario)
    assert play is not None
    try:
        drive(episode, play)
    except HarnessError:
        assert episode.aborted is not None
    return episode


def story_of(episode: Episode) -> Story:
    """Read an episode as everybody can who has its recording."""
    if episode.sink.digest and isinstance(episode.sink, FrameLog):
        (record,) = parse(episode.sink.to_bytes())
        return story_of_record(record, type(episode.product), episode.scenario.pass_mark)
    raise AssertionError


def found(episode: Episode) -> list[Finding]:
    return harness_findings(story_of(episode))
