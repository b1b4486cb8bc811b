"""The frame, its checks, the fields of each type, and the example in the documentation."""

from __future__ import annotations

import errno
import re
import struct
import zlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simharness.errors import DamagedRecording, RecordingError
from simharness.recording import format as fmt
from simharness.recording.format import (
    CHAIN_START,
    FRAME_BYTES_MAX,
    MAGIC,
    FrameType,
    Outcome,
    advance,
    decode,
    encode_frame,
    footer_payload,
    from_os_error,
    scan,
)
from simharness.recording.reader import parse
from simharness.recording.writer import FrameLog
from simharness.values import digest, pack

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "recording.md"

SOUND: dict[FrameType, list[object]] = {
    FrameType.HEADER: [{"seed": 42}],
    FrameType.INFO: [{"python": "3.11"}],
    FrameType.INPUT: [0, 10, "calls", [["get_deal", {"deal_id": 42}]]],
    FrameType.DECISION: [["rank", 3]],
    FrameType.EVENTS: [[[1, 0, "a"], ["READ", 5]]],
    FrameType.CHECKPOINT: [2, 15, {"deals": "00ff"}, {"crm": 7}],
    FrameType.STEP: [0, 20, [[1, 0]], [{"value": 1}], None, 0],
    FrameType.VERDICT: [{"class": "sound"}],
    FrameType.FOOTER: [1, 3, bytes(16)],
}


def test_magic_is_eight_bytes_with_the_format_in_them() -> None:
    assert MAGIC == b"SIMREC\x01\n"


def test_frame_is_length_two_checksums_and_payload() -> None:
    payload = b"\x92\x01\x80"
    length = struct.pack("<I", 3)
    sums = struct.pack("<II", zlib.crc32(length), zlib.crc32(payload))
    assert encode_frame(payload) == length + sums + payload


@given(st.lists(st.binary(max_size=40), max_size=5))
def test_frames_come_back_in_order(payloads: list[bytes]) -> None:
    data = b"".join(map(encode_frame, payloads))
    offset = 0
    found: list[bytes] = []
    while (frame := scan(data, offset)).outcome is Outcome.FRAME:
        assert frame.offset == offset
        found.append(frame.payload)
        offset = frame.end
    assert found == payloads
    assert frame.outcome is Outcome.END
    assert offset == len(data)


def test_scan_takes_a_view_as_well_as_bytes() -> None:
    data = encode_frame(b"abc")
    assert scan(memoryview(data), 0) == scan(data, 0)


@pytest.mark.parametrize("size", range(1, 15))
def test_every_cut_frame_is_truncated(size: int) -> None:
    found = scan(encode_frame(b"abc")[:size], 0)
    assert (found.outcome, found.offset, found.end) == (Outcome.TRUNCATED, 0, 0)


def test_every_flipped_bit_of_a_frame_is_damage() -> None:
    data = encode_frame(b"abc")
    for bit in range(len(data) * 8):
        flipped = bytearray(data)
        flipped[bit // 8] ^= 1 << bit % 8
        found = scan(bytes(flipped), 0)
        assert found.outcome is Outcome.DAMAGED, bit
        assert "checksum" in found.reason


def test_flipped_length_is_seen_before_the_payload_is_there() -> None:
    data = bytearray(encode_frame(b"abc"))
    data[1] ^= 1
    assert scan(bytes(data[:8]), 0).outcome is Outcome.DAMAGED


def test_zeros_after_a_power_cut_are_damage() -> None:
    assert scan(bytes(64), 0).outcome is Outcome.DAMAGED


def test_frame_over_the_limit_is_refused_on_both_sides() -> None:
    with pytest.raises(RecordingError, match="frame too long: got 67108865 bytes"):
        encode_frame(bytes(FRAME_BYTES_MAX + 1))
    length = struct.pack("<I", FRAME_BYTES_MAX + 1)
    found = scan(length + struct.pack("<I", zlib.crc32(length)), 0)
    assert found.outcome is Outcome.DAMAGED
    assert "is over" in found.reason


def test_chain_leaves_out_info_verdict_and_footer() -> None:
    outside = {FrameType.INFO, FrameType.VERDICT, FrameType.FOOTER}
    for kind in FrameType:
        expected = CHAIN_START if kind in outside else digest(b"payload", CHAIN_START)
        assert advance(CHAIN_START, b"payload", kind) == expected


@pytest.mark.parametrize("kind", FrameType)
def test_sound_fields_are_decoded(kind: FrameType) -> None:
    assert decode(pack([int(kind), *SOUND[kind]])) == (kind, tuple(SOUND[kind]))


def test_footer_payload_is_a_footer() -> None:
    assert decode(footer_payload(1, 3, bytes(16))) == (FrameType.FOOTER, (1, 3, bytes(16)))


@pytest.mark.parametrize("kind", FrameType)
def test_wrong_number_of_fields_is_damage(kind: FrameType) -> None:
    fields = SOUND[kind]
    for wrong in (fields[:-1], [*fields, None]):
        with pytest.raises(DamagedRecording, match=f"wrong number of {kind.name} fields"):
            decode(pack([int(kind), *wrong]))


@pytest.mark.parametrize("kind", FrameType)
def test_wrong_type_of_each_field_is_damage(kind: FrameType) -> None:
    for index in range(len(SOUND[kind])):
        fields = list(SOUND[kind])
        fields[index] = True
        with pytest.raises(DamagedRecording, match=rf"wrong {kind.name} field '\w+': got True"):
            decode(pack([int(kind), *fields]))


@pytest.mark.parametrize("row", [[1], ["READ", "5"], [None, 0], [True, 0], [1, True], "row", {}])
def test_wrong_row_is_damage(row: object) -> None:
    with pytest.raises(DamagedRecording, match="wrong EVENTS field 'rows': got list"):
        decode(pack([5, [row]]))


@pytest.mark.parametrize("value", [None, 5, "HEADER", [], {}, [0], [10], [True, {}], ["1", {}]])
def test_what_is_no_frame_is_damage(value: object) -> None:
    with pytest.raises(DamagedRecording, match=r"not a frame|unknown frame type"):
        decode(pack(value))


@given(st.binary(max_size=60))
def test_garbage_is_damage_and_nothing_else(payload: bytes) -> None:
    try:
        kind, fields = decode(payload)
    except DamagedRecording:
        return
    assert pack([int(kind), *fields]) == payload


@pytest.mark.parametrize("bomb", [b"\x91" * 100_000, b"\x92\x04" + b"\xdd\xff\xff\xff\xff" * 900])
def test_bomb_is_damage(bomb: bytes) -> None:
    with pytest.raises(DamagedRecording):
        decode(bomb)


def test_os_errors_are_told_in_words() -> None:
    full = from_os_error("write", "x", OSError(errno.ENOSPC, "No space"), "x.part is intact")
    assert str(full) == (
        "can't write 'x': the disk is full; free some space or choose a folder on another disk; "
        "x.part is intact"
    )
    assert "value too large" in str(from_os_error("read", "x", OSError(75, "Value too large")))
    assert "zero byte" in str(from_os_error("read", "x", ValueError("embedded null byte")))
    assert "unknown reason" in str(from_os_error("read", "x", OSError()))


def test_documented_hexdump_is_the_documented_episode() -> None:
    log = FrameLog()
    log.write(pack([1, {"seed": 42}]), FrameType.HEADER)
    log.write(pack([3, 0, 5, "text", "hi"]), FrameType.INPUT)
    log.write(pack([7, 0, 9, [[1, 4]], [], None, 0]), FrameType.STEP)
    log.write(footer_payload(1, 1, log.chain), FrameType.FOOTER)
    text = DOCUMENT.read_text(encoding="utf-8")
    lines = re.findall(r"^([0-9a-f]{8})  ((?:[0-9a-f]{2} ?)+) *(?:#.*)?$", text, re.MULTILINE)
    data = b""
    for offset, line in lines:
        assert int(offset, 16) == len(data)
        data += bytes.fromhex(line)
    assert data == log.to_bytes()
    (record,) = parse(data)
    assert record.complete
    assert f"`{record.digest}`" in text


@pytest.mark.parametrize("kind", FrameType)
def test_every_frame_type_is_documented(kind: FrameType) -> None:
    names = [name for name, _ in fmt._FIELDS[kind]]  # pyright: ignore[reportPrivateUsage]
    text = DOCUMENT.read_text(encoding="utf-8")
    assert f"| {int(kind)} | {kind.name} | `[{', '.join([str(int(kind)), *names])}]` |" in text
