"""What the reader recovers from files that are whole, cut, flipped, foreign and malicious."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import FrozenInstanceError
from typing import TYPE_CHECKING, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simharness.errors import (
    DamagedRecording,
    RecordingError,
    TruncatedRecording,
    VersionError,
)
from simharness.recording.format import MAGIC, FrameType, encode_frame, footer_payload
from simharness.recording.reader import (
    EpisodeRecord,
    iter_episodes,
    parse,
    read_file,
    require_complete,
)
from simharness.recording.writer import FrameLog
from simharness.values import pack

if TYPE_CHECKING:
    from pathlib import Path

Fields = Sequence[object]
INPUT: Fields = [3, 0, 0, "text", "hi"]
STEP: Fields = [7, 0, 4, [[1, 0], [2, 4]], [{"value": 1}], None, 0]
NOTHING: dict[str, object] = {}


def episode(*frames: Fields, seed: int = 1, steps: int = 0, rows: int = 0) -> FrameLog:
    """Return a log of HEADER, the frames and a FOOTER with these counts."""
    log = FrameLog()
    for frame in ([1, {"seed": seed}], *frames):
        payload = pack(list(frame))
        log.write(payload, FrameType(payload[1]))
    log.write(footer_payload(steps, rows, log.chain), FrameType.FOOTER)
    return log


def sample(seed: int = 1) -> FrameLog:
    """Return a log with every frame type in it."""
    return episode(
        [2, {"python": "3.x"}],
        INPUT,
        [4, ["rank", 2]],
        [5, [["READ", 0, 7]]],
        [6, 1, 4, {"deals": "00ff"}, {"crm": 7}],
        STEP,
        [8, {"class": "sound"}],
        seed=seed,
        steps=1,
        rows=3,
    )


def shard(*logs: FrameLog) -> bytes:
    return MAGIC + b"".join(log.to_bytes()[len(MAGIC) :] for log in logs)


def only(data: bytes) -> EpisodeRecord:
    (record,) = parse(data)
    return record


def test_whole_episode_is_read_as_written() -> None:
    log = sample()
    record = require_complete(only(log.to_bytes()))
    assert record.header == {"seed": 1}
    assert record.info == {"python": "3.x"}
    assert record.verdict == {"class": "sound"}
    assert [int(frame.kind) for frame in record.frames] == [1, 2, 3, 4, 5, 6, 7, 8, 9]
    assert record.payloads == tuple(log.payloads)
    assert record.digest == log.digest
    assert record.problem == ""
    assert (record.offset, record.end) == (8, len(log.to_bytes()))
    assert [frame.fields[3] for frame in record.inputs] == ["hi"]
    assert [frame.fields[3] for frame in record.steps] == [[{"value": 1}]]


def test_record_cant_be_changed() -> None:
    record = only(sample().to_bytes())
    with pytest.raises(FrozenInstanceError):
        record.complete = False  # type: ignore[misc]  # pyright: ignore[reportAttributeAccessIssue]


def test_info_and_verdict_are_outside_the_digest() -> None:
    bare = only(episode(INPUT, STEP, steps=1, rows=2).to_bytes())
    noted = only(episode([2, {"a": 1}], INPUT, [8, NOTHING], STEP, steps=1, rows=2).to_bytes())
    assert bare.complete
    assert noted.complete
    assert bare.digest == noted.digest
    assert (bare.info, bare.verdict) == ({}, None)


def test_last_info_and_verdict_count() -> None:
    record = only(episode([2, {"a": 1}], [8, {"b": 1}], [2, {"a": 2}], [8, {"b": 2}]).to_bytes())
    assert (record.info, record.verdict) == ({"a": 2}, {"b": 2})


def test_minimal_episode_needs_no_steps() -> None:
    inputs: list[Fields] = [[3, step, 0, "text", "hi"] for step in range(3)]
    assert only(episode(*inputs, [4, ["rank", 2]]).to_bytes()).complete


def test_every_truncation_recovers_the_longest_valid_prefix() -> None:
    logs = (sample(1), sample(2))
    data = shard(*logs)
    ends = [len(MAGIC)]
    for log in logs:
        for payload in log.payloads:
            ends.append(ends[-1] + len(encode_frame(payload)))
    first_end = ends[len(logs[0].payloads)]
    for size in range(len(MAGIC), len(data)):
        records = list(parse(data[:size]))
        intact = sum(end <= size for end in ends) - 1
        assert sum(len(record.frames) for record in records) == intact, size
        if size in (len(MAGIC), first_end):  # as whole as a file of fewer episodes
            assert all(record.complete for record in records)
            continue
        assert records[-1].problem == f"truncated at byte {ends[intact]}"
        assert records[-1].end == ends[intact]
        assert [record.complete for record in records] == [True] * (size > first_end) + [False]
        with pytest.raises(TruncatedRecording, match=r"episode is not complete: truncated at byte"):
            require_complete(records[-1])


def test_every_flipped_bit_is_detected() -> None:
    data = shard(sample(1), sample(2))
    sound = list(parse(data))
    for bit in range(len(data) * 8):
        flipped = bytearray(data)
        flipped[bit // 8] ^= 1 << bit % 8
        if bit < len(MAGIC) * 8:
            with pytest.raises(RecordingError):
                parse(bytes(flipped))
            continue
        records = list(parse(bytes(flipped)))
        broken = records[-1]
        assert not broken.complete, bit
        assert broken.problem.startswith("damaged at byte "), bit
        assert records[:-1] == sound[: len(records) - 1]
        assert broken.payloads == sound[len(records) - 1].payloads[: len(broken.frames)]
        with pytest.raises(DamagedRecording, match=r"episode is not complete: damaged at byte"):
            require_complete(broken)


def test_damage_in_the_second_episode_leaves_the_first() -> None:
    data = bytearray(shard(sample(1), sample(2), sample(3)))
    data[len(sample(1).to_bytes()) + 60] ^= 255
    first, second = parse(bytes(data))
    assert first == only(sample(1).to_bytes())
    assert second.header == {"seed": 2}
    assert not second.complete


def test_damage_at_the_start_of_an_episode_is_not_lost() -> None:
    whole = sample().to_bytes()
    first, second = parse(whole + bytes(20))
    assert first.complete
    assert (second.header, second.frames) == ({}, ())
    assert second.problem.startswith(f"damaged at byte {len(whole)}: the checksum")


@pytest.mark.parametrize(
    ("frames", "problem"),
    [
        ([[1, NOTHING]], "a second HEADER before the FOOTER"),
        ([[3, 2, 0, "text", ""]], "INPUT of step 2 after step -1"),
        ([INPUT, [3, 2, 0, "text", ""]], "INPUT of step 2 after step 0"),
        ([INPUT, STEP, INPUT], "INPUT of step 0 after step 0"),
        ([STEP], "STEP 0 without an INPUT of its own"),
        ([INPUT, STEP, STEP], "STEP 0 without an INPUT of its own"),
        ([[4, 1]], "wrong DECISION field"),
        ([INPUT], "the FOOTER counts 7 steps, the frames 0"),
        ([[5, [[1, 0]]]], "the FOOTER counts 7 steps, the frames 0"),
    ],
)
def test_sound_bytes_in_a_wrong_structure_are_damage(frames: list[Fields], problem: str) -> None:
    record = only(episode(*frames, steps=7).to_bytes())
    assert problem in record.problem
    with pytest.raises(DamagedRecording):
        require_complete(record)


def test_numbers_may_begin_at_one_and_several_inputs_may_share_a_step() -> None:
    frames: list[Fields] = []
    for step in (1, 2, 3):
        frames += [[3, step, 0, "text", "hi"], [3, step, 0, "effect", b"out"]]
        frames += [[7, step, 0, [[1, 0]], ["ok"], "0.5", 1]]
    assert only(episode(*frames, steps=3, rows=3).to_bytes()).complete


def test_wrong_row_count_and_wrong_chain_are_damage() -> None:
    assert "counts 9 rows, the frames 1" in only(episode([5, [[1, 0]]], rows=9).to_bytes()).problem
    log = episode()
    log.payloads[-1] = footer_payload(0, 0, b"x" * 16)
    record = only(log.to_bytes())
    assert f"chain {(b'x' * 16).hex()} is not {log.digest}" in record.problem
    assert record.digest == log.digest


def test_swapped_frames_are_damage_though_each_is_intact() -> None:
    log = episode([4, [1]], [4, [2]])
    log.payloads[1], log.payloads[2] = log.payloads[2], log.payloads[1]
    assert "the FOOTER's chain" in only(log.to_bytes()).problem


def test_missing_header_is_damage() -> None:
    data = MAGIC + encode_frame(pack(INPUT))
    assert "an episode begins with HEADER, got INPUT" in only(data).problem


def test_nothing_after_a_damaged_frame_is_trusted() -> None:
    assert len(list(parse(shard(episode(steps=7), sample(2))))) == 1


def test_part_is_read_like_a_sealed_file(tmp_path: Path) -> None:
    path = tmp_path / "x.simrec.part"
    path.write_bytes(sample().to_bytes()[:-1])
    (record,) = iter_episodes(path)
    assert record.path == str(path)
    with pytest.raises(
        TruncatedRecording, match=r"recovered 8 frames with 1 step \('.*\.part'\); its writer was"
    ):
        require_complete(record)


def test_file_with_only_the_magic_has_no_episodes() -> None:
    assert list(parse(MAGIC)) == []


@pytest.mark.parametrize("size", range(8))
def test_file_cut_inside_the_magic_is_truncated(size: int, tmp_path: Path) -> None:
    path = tmp_path / "x.simrec"
    path.write_bytes(MAGIC[:size])
    with pytest.raises(TruncatedRecording, match=r"not a whole .simrec file: '.*' (is empty|ends)"):
        iter_episodes(path)


@pytest.mark.parametrize(
    "data", [b"PK\x03\x04 a zip", b"SIMREC\x00\n", b"SIMREC\x01\r\n", b"SIMREX\x01\n", b"\n"]
)
def test_foreign_file_is_named_with_its_start(data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "x.simrec"
    path.write_bytes(data)
    with pytest.raises(DamagedRecording) as caught:
        iter_episodes(path)
    assert f"not a .simrec file: {str(path)!r} starts with {data[:8]!r}" in caught.value.message
    assert caught.value.hint


def test_newer_format_asks_for_a_newer_package() -> None:
    with pytest.raises(VersionError, match="needs format 2, this build reads up to 1") as caught:
        parse(b"SIMREC\x02\n and whatever")
    assert caught.value.code.startswith("SH-VER")
    assert "pip install" in caught.value.hint


def test_paths_that_cant_be_read_are_told_in_words(tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    for path, reason in [
        (str(tmp_path), "it is a folder; name a .simrec file inside it"),
        (str(tmp_path / "none"), "no such file or folder"),
        (str(fifo), "it is not a regular file"),
        ("a\0b", "zero byte"),
    ]:
        with pytest.raises(RecordingError, match=reason):
            iter_episodes(path)


@pytest.mark.parametrize("number", [13, 5])
def test_refusal_of_the_system_is_told_in_words(
    number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(number, "refused")

    path = tmp_path / "x.simrec"
    sample().save(path)
    monkeypatch.setattr(type(path), "open", refuse)
    with pytest.raises(RecordingError, match=r"can't read '.*': (permission denied|the device)"):
        read_file(path)


def test_file_over_the_limit_is_refused_before_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "x.simrec"
    with path.open("wb") as file:
        file.truncate((1 << 30) + 1)
    with pytest.raises(RecordingError, match="recording too large"):
        read_file(path)


values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.text() | st.binary(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
maps = st.dictionaries(st.text(), values, max_size=3)
texts = st.text(st.characters(codec=None))  # lone surrogates too


@given(
    st.lists(
        st.tuples(maps, st.lists(values, max_size=3), texts | st.binary() | st.lists(values)),
        max_size=4,
    )
)
def test_whatever_was_recorded_comes_back(
    steps: list[tuple[dict[str, object], list[object], object]],
) -> None:
    frames: list[Fields] = []
    for step, (info, results, calls) in enumerate(steps):
        frames += [[2, info], [3, step, step, "calls", calls], [4, results]]
        frames.append([7, step, step, [[1, 0, *results]], results, None, info])
    log = episode(*frames, steps=len(steps), rows=len(steps))
    record = require_complete(only(log.to_bytes()))
    assert record.payloads == tuple(log.payloads)
    assert record.digest == log.digest
    assert [frame.fields[3] for frame in record.inputs] == [calls for _, _, calls in steps]
    assert [frame.fields[3] for frame in record.steps] == [results for _, results, _ in steps]


@given(st.binary(max_size=200))
def test_garbage_after_the_magic_raises_nothing(data: bytes) -> None:
    for record in parse(MAGIC + data):
        if not record.complete:
            with pytest.raises(RecordingError):
                require_complete(record)


@given(st.lists(values, max_size=4))
def test_sound_frames_of_garbage_raise_nothing(garbage: list[object]) -> None:
    data = MAGIC + b"".join(encode_frame(pack(value)) for value in garbage)
    assert [record.complete for record in parse(data)] == [False] * bool(garbage)


@given(st.integers(0, 9), values)
def test_any_value_as_a_frame_raises_nothing(kind: int, value: object) -> None:
    fields = cast("list[object]", value) if isinstance(value, list) else [value]
    tail = encode_frame(pack([kind, *fields]))
    record = only(sample().to_bytes()[: -len(encode_frame(sample().payloads[-1]))] + tail)
    assert len(record.frames) in (8, 9)


@given(st.data())
def test_any_corruption_leaves_only_true_episodes(data: st.DataObject) -> None:
    whole = shard(sample(1), sample(2))
    start = data.draw(st.integers(len(MAGIC), len(whole) - 1))
    junk = data.draw(st.binary(max_size=30))
    changed = whole[:start] + junk + whole[start + data.draw(st.integers(0, 30)) :]
    sound = [require_complete(record) for record in parse(whole)]
    for read, true in zip(parse(changed), sound, strict=False):
        if read.complete:
            assert read == true
