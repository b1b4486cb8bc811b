"""Where two recordings part is told by frame, row and column."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from simharness.env import run
from simharness.recording.format import FrameType, footer_payload
from simharness.recording.reader import EpisodeRecord, parse
from simharness.recording.writer import FrameLog
from simharness.selfcheck.difference import Difference, difference_between
from simharness.values import pack, unpack

if TYPE_CHECKING:
    from collections.abc import Callable

    Change = Callable[[FrameType, list[Any]], None]


@pytest.fixture(scope="module")
def recorded() -> EpisodeRecord:
    episode = run("crm/negotiation", seed=1, policy="refuse", load=4).episode
    assert isinstance(episode.sink, FrameLog)
    (record,) = parse(episode.sink.to_bytes())
    return record


def changed(record: EpisodeRecord, change: Change, frames: int = 1 << 20) -> EpisodeRecord:
    """Give the same recording with some frames changed, and no more than a number of them."""
    log = FrameLog()
    for frame in record.frames[:frames]:
        if frame.kind is FrameType.FOOTER:
            steps, rows, _ = frame.fields
            assert isinstance(steps, int)
            assert isinstance(rows, int)
            log.write(footer_payload(steps, rows, log.chain), FrameType.FOOTER)
            continue
        fields: list[Any] = [*unpack(frame.payload)][1:]  # type: ignore[misc]
        change(frame.kind, fields)
        log.write(pack([frame.kind, *fields]), frame.kind)
    (out,) = parse(log.to_bytes())
    return out


def difference(record: EpisodeRecord, change: Change, frames: int = 1 << 20) -> Difference:
    found = difference_between(record, changed(record, change, frames))
    assert found is not None
    return found


def nothing(kind: FrameType, fields: list[Any]) -> None:
    """Leave a frame as it is."""


def test_equal_recordings_have_no_difference(recorded: EpisodeRecord) -> None:
    assert difference_between(recorded, recorded) is None


def test_info_and_the_prose_of_a_verdict_make_no_difference(recorded: EpisodeRecord) -> None:
    def change(kind: FrameType, fields: list[Any]) -> None:
        if kind is FrameType.INFO:
            fields[0]["python"] = "4.0"
        if kind is FrameType.VERDICT:
            fields[0]["sentence"] = "said in other words"

    other = changed(recorded, change)
    assert other.info["python"] == "4.0"
    assert difference_between(other, changed(recorded, nothing)) is None


def test_another_verdict_on_an_equal_episode_is_one(recorded: EpisodeRecord) -> None:
    def change(kind: FrameType, fields: list[Any]) -> None:
        if kind is FrameType.VERDICT:
            fields[0]["valid"] = not fields[0]["valid"]

    found = difference_between(changed(recorded, nothing), changed(recorded, change))
    assert found is not None
    assert (found.kind, found.code) == ("VERDICT", "SH-DIV-108")
    assert found.lines == ("verdict valid: recorded True, produced False",)


def test_a_count_of_draws_names_its_stream(recorded: EpisodeRecord) -> None:
    streams: list[str] = []

    def change(kind: FrameType, fields: list[Any]) -> None:
        if kind is FrameType.CHECKPOINT and fields[3] and not streams:
            streams.append(max(fields[3]))
            fields[3][streams[0]] += 1

    found = difference(recorded, change)
    assert (found.kind, found.stream, found.table) == ("RNG", streams[0], "")
    assert f"first stream whose draw count differs: {streams[0]}" in found.tell()


def test_a_digest_of_a_table_names_the_table(recorded: EpisodeRecord) -> None:
    def change(kind: FrameType, fields: list[Any]) -> None:
        if kind is FrameType.CHECKPOINT:
            fields[2]["deals"] = "0" * 32

    found = difference(recorded, change)
    assert (found.kind, found.stream, found.table, found.step) == ("STATE", "", "deals", 0)
    assert found.t == 0
    assert found.recorded == ""


def test_a_row_is_shown_with_its_columns_and_time(recorded: EpisodeRecord) -> None:
    def change(kind: FrameType, fields: list[Any]) -> None:
        if kind is FrameType.STEP:
            *_, last = fields[2]
            last[1] += 3

    found = difference(recorded, change)
    assert found.kind in ("RNG", "CODE")
    assert found.step == 1
    ((name, then, now),) = found.fields
    assert (name, found.t is not None) == ("t", True)
    assert then != now
    assert found.record()["fields"] == [{"field": "t", "recorded": then, "produced": now}]


def test_what_the_agent_sent_is_told_as_such(recorded: EpisodeRecord) -> None:
    def change(kind: FrameType, fields: list[Any]) -> None:
        if kind is FrameType.INPUT:
            fields[1] += 1

    found = difference(recorded, change)
    assert (found.kind, found.code, found.step) == ("INPUT", "SH-DIV-101", 1)
    assert found.t is not None


def test_a_recording_that_ends_early_is_told_as_such(recorded: EpisodeRecord) -> None:
    found = difference(changed(recorded, nothing), nothing, len(recorded.frames) - 2)
    assert (found.kind, found.lines) == ("TRUNCATED", ("only the base goes on",))
