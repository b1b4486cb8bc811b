"""The log in memory and the shard: what is on the disk, and what is refused in which words."""

from __future__ import annotations

import os
import subprocess
import sys
from io import FileIO
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simharness.errors import RecordingError
from simharness.recording import writer
from simharness.recording.format import (
    CHAIN_START,
    FRAME_BYTES_MAX,
    MAGIC,
    FrameType,
    encode_frame,
    footer_payload,
)
from simharness.recording.reader import parse, read_file
from simharness.recording.writer import FrameLog, ShardWriter
from simharness.values import digest, pack

ROOT = Path(__file__).resolve().parents[2]


HEADER = b"\x92\x01\x80"
INFO = b"\x92\x02\x80"


class SmallWrites(FileIO):
    """A file that takes what it has room for, a little at a time, and can be interrupted."""

    room = 1_000_000
    interrupt_at = 1_000_000

    def write(self, data: object) -> int:
        assert isinstance(data, memoryview)
        view = data.cast("B")
        done = super().write(view[: min(50, SmallWrites.room - self.tell())])
        if self.tell() > SmallWrites.interrupt_at:
            SmallWrites.interrupt_at = 1_000_000
            raise KeyboardInterrupt
        if not done:
            raise OSError(28, "No space left on device")
        return done


def fill(sink: FrameLog | ShardWriter, seed: int, steps: int = 2) -> None:
    """Write a whole episode."""
    sink.write(pack([1, {"seed": seed}]), FrameType.HEADER)
    sink.write(pack([2, {"python": "3.x"}]), FrameType.INFO)
    for step in range(steps):
        sink.write(pack([3, step, step, "text", "hi"]), FrameType.INPUT)
        sink.write(pack([7, step, step, [[1, 0]], [], None, 0]), FrameType.STEP)
    sink.write(footer_payload(steps, steps, sink.chain), FrameType.FOOTER)


def whole(seed: int, steps: int = 2) -> FrameLog:
    log = FrameLog()
    fill(log, seed, steps)
    return log


def test_log_chains_all_but_info_verdict_and_footer() -> None:
    log = whole(1)
    chain = CHAIN_START
    for payload in log.payloads:
        if payload[1] in (1, 3, 7):
            chain = digest(payload, chain)
    assert log.chain == chain
    assert log.digest == chain.hex()


@pytest.mark.parametrize("payload", [b"", b"\x92", INFO, b"\xc0"])
def test_payload_of_another_type_is_refused(payload: bytes, tmp_path: Path) -> None:
    log = FrameLog()
    with ShardWriter(tmp_path / "x.simrec") as shard:
        for sink in (log, shard):
            with pytest.raises(RecordingError, match="payload is not a HEADER frame"):
                sink.write(payload, FrameType.HEADER)
            with pytest.raises(RecordingError, match="frame too long"):
                sink.write(bytes(FRAME_BYTES_MAX + 1), FrameType.HEADER)
    assert log.payloads == []
    assert read_file(tmp_path / "x.simrec") == ()


def test_save_writes_the_bytes_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "episode.simrec"
    path.write_bytes(b"older")
    log = whole(1)
    log.save(path)
    assert path.read_bytes() == log.to_bytes() == MAGIC + b"".join(map(encode_frame, log.payloads))
    assert os.listdir(tmp_path) == ["episode.simrec"]


def test_unfinished_log_is_saved_and_read_as_truncated(tmp_path: Path) -> None:
    log = FrameLog()
    log.write(HEADER, FrameType.HEADER)
    log.save(tmp_path / "x.simrec")
    (record,) = read_file(tmp_path / "x.simrec")
    assert record.problem.startswith("truncated")


def test_failed_save_leaves_the_older_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x.simrec"
    whole(1).save(path)
    before = path.read_bytes()

    def refuse(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", refuse)
    with pytest.raises(RecordingError, match=r"can't write '.*x\.simrec': the disk is full; free"):
        whole(2).save(path)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["x.simrec"]


def test_bad_paths_are_told_in_words(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    (tmp_path / "file").touch()
    for path, reason in [
        (tmp_path / "none" / "x.simrec", "no such file or folder; check the path, or create"),
        (tmp_path / "file" / "x.simrec", "a part of the path is not a folder"),
        (tmp_path / ("x" * 300), "the name is too long"),
        (Path("a\0b"), "zero byte"),
        (folder, "it is a folder"),
    ]:
        for action in (whole(1).save, ShardWriter):
            with pytest.raises(RecordingError, match=reason):
                action(path)
    assert sorted(os.listdir(tmp_path)) == ["file", "folder"]


def test_refusal_of_the_system_is_told_in_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(writer, "FileIO", refuse)
    with pytest.raises(RecordingError, match=r"can't write '.*\.part': permission denied; change"):
        ShardWriter(tmp_path / "x.simrec")


def test_shard_is_sealed_by_a_rename(tmp_path: Path) -> None:
    path = tmp_path / "00000.simrec"
    with ShardWriter(path) as shard:
        fill(shard, 1)
        shard.append(whole(2))
        assert shard.digest == whole(2).digest
        assert shard.episodes == 2
        assert not path.exists()
    assert os.listdir(tmp_path) == ["00000.simrec"]
    assert path.read_bytes() == MAGIC + b"".join(whole(n).to_bytes()[8:] for n in (1, 2))
    assert [record.header for record in read_file(path)] == [{"seed": 1}, {"seed": 2}]


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 4)), max_size=4))
def test_streamed_and_appended_shards_are_equal(
    tmp_path_factory: pytest.TempPathFactory, episodes: list[tuple[int, int]]
) -> None:
    folder = tmp_path_factory.mktemp("shards")
    with ShardWriter(folder / "a") as streamed, ShardWriter(folder / "b") as appended:
        for seed, steps in episodes:
            fill(streamed, seed, steps)
            appended.append(whole(seed, steps))
    assert (folder / "a").read_bytes() == (folder / "b").read_bytes()
    assert [record.digest for record in read_file(folder / "a")] == [
        whole(seed, steps).digest for seed, steps in episodes
    ]


def test_record_that_was_read_can_be_appended(tmp_path: Path) -> None:
    with ShardWriter(tmp_path / "copy.simrec") as shard:
        shard.append(*parse(whole(1).to_bytes()))
    assert (tmp_path / "copy.simrec").read_bytes() == whole(1).to_bytes()


def test_unfinished_episode_is_not_appended(tmp_path: Path) -> None:
    logs = [FrameLog(), whole(1), whole(1), whole(1)]
    logs[1].payloads.pop()
    logs[2].payloads[1] = HEADER
    logs[3].payloads[1] = b"\x92\x0c\x80"
    with ShardWriter(tmp_path / "x.simrec") as shard:
        for unfit in logs:
            with pytest.raises(RecordingError, match="not a whole episode"):
                shard.append(unfit)
        shard.append(whole(2))
    assert len(read_file(tmp_path / "x.simrec")) == 1


def test_frames_out_of_place_are_refused(tmp_path: Path) -> None:
    with ShardWriter(tmp_path / "x.simrec") as shard:
        with pytest.raises(RecordingError, match="out of place: got INFO outside an episode"):
            shard.write(INFO, FrameType.INFO)
        shard.write(HEADER, FrameType.HEADER)
        with pytest.raises(RecordingError, match="out of place: got HEADER inside an episode"):
            shard.write(HEADER, FrameType.HEADER)
        for sink in (shard, FrameLog()):
            with pytest.raises(RecordingError, match="the FOOTER's chain is not that of the"):
                sink.write(footer_payload(0, 0, b"x" * 16), FrameType.FOOTER)
        shard.write(footer_payload(0, 0, shard.chain), FrameType.FOOTER)
    assert read_file(tmp_path / "x.simrec")[0].complete


def test_each_footer_reaches_the_system(tmp_path: Path) -> None:
    shard = ShardWriter(tmp_path / "x.simrec")
    assert read_file(shard.part) == ()
    fill(shard, 1)
    shard.write(HEADER, FrameType.HEADER)
    assert [record.complete for record in read_file(shard.part)] == [True]
    shard.write(pack([2, {"text": "x" * (1 << 20)}]), FrameType.INFO)  # more than it buffers
    assert [record.complete for record in read_file(shard.part)] == [True, False]
    shard.close()


def test_exception_keeps_the_part_with_all_frames(tmp_path: Path) -> None:
    path = tmp_path / "x.simrec"
    shard = ShardWriter(path)
    with pytest.raises(KeyError), shard:  # noqa: PT012
        fill(shard, 1)
        shard.write(pack([1, {"seed": 2}]), FrameType.HEADER)
        raise KeyError
    assert not path.exists()
    first, second = read_file(shard.part)
    assert first.complete
    assert second.header == {"seed": 2}
    with pytest.raises(RecordingError, match="shard writer is closed"):
        fill(shard, 3)


def test_episode_without_footer_is_not_sealed(tmp_path: Path) -> None:
    path = tmp_path / "x.simrec"
    no_footer = pytest.raises(RecordingError, match="the last episode has no FOOTER")
    with no_footer, ShardWriter(path) as shard:
        shard.write(HEADER, FrameType.HEADER)
    assert os.listdir(tmp_path) == ["x.simrec.part"]
    assert len(read_file(f"{path}.part")) == 1


def test_sealed_file_is_not_overwritten_unless_asked(tmp_path: Path) -> None:
    path = tmp_path / "x.simrec"
    whole(1).save(path)
    with pytest.raises(RecordingError, match=r"recording exists: .*; choose another path, or pass"):
        ShardWriter(path)
    with ShardWriter(path, overwrite=True) as shard:
        fill(shard, 2)
        assert read_file(path)[0].header == {"seed": 1}
    assert read_file(path)[0].header == {"seed": 2}


def test_sealed_file_that_appears_meanwhile_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "x.simrec"
    exists = pytest.raises(RecordingError, match="recording exists")
    with exists, ShardWriter(path) as shard:
        fill(shard, 2)
        whole(1).save(path)
    assert read_file(path)[0].header == {"seed": 1}
    assert read_file(f"{path}.part")[0].header == {"seed": 2}


def test_part_of_another_writer_is_not_overwritten_unless_asked(tmp_path: Path) -> None:
    path = tmp_path / "x.simrec"
    first = ShardWriter(path)
    fill(first, 1)
    with pytest.raises(RecordingError, match=r"unfinished recording in the way: .*x\.simrec\.part"):
        ShardWriter(path)
    assert read_file(first.part)[0].complete
    first.close()
    with ShardWriter(path, overwrite=True):
        pass
    assert read_file(path) == ()


def test_sealed_shard_takes_no_more(tmp_path: Path) -> None:
    shard = ShardWriter(tmp_path / "x.simrec")
    shard.seal()
    shard.close()
    for action in (shard.seal, shard.flush, lambda: fill(shard, 1)):
        with pytest.raises(RecordingError, match="shard writer is sealed"):
            action()


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_full_disk_is_told_at_once(tmp_path: Path) -> None:
    (tmp_path / "x.simrec.part").symlink_to("/dev/full")
    with pytest.raises(RecordingError, match=r"can't write '.*x\.simrec': the disk is full; free"):
        ShardWriter(tmp_path / "x.simrec", overwrite=True)


@pytest.mark.parametrize("room", range(0, 400, 7))
def test_disk_that_fills_up_keeps_what_was_written(
    room: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer, "FileIO", SmallWrites)
    monkeypatch.setattr(SmallWrites, "room", len(MAGIC) + room)
    path = tmp_path / "x.simrec"
    episode = len(whole(1).to_bytes()) - len(MAGIC)
    full = pytest.raises(RecordingError, match="the disk is full")
    with full as caught, ShardWriter(path) as shard:
        for _ in range(9):
            fill(shard, 1)
    assert f"can be read from '{path}.part'" in caught.value.hint
    assert not path.exists()
    records = read_file(f"{path}.part")
    assert sum(record.complete for record in records) == room // episode
    assert bool(room % episode) == (not all(record.complete for record in records))


def test_full_disk_doesnt_hide_the_first_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: object) -> None:
        raise OSError(28, "No space left on device")

    with pytest.raises(KeyError), ShardWriter(tmp_path / "x.simrec") as shard:  # noqa: PT012
        monkeypatch.setattr(shard, "_drain", lambda: refuse(shard))
        raise KeyError


def test_write_that_was_interrupted_is_repeated_in_the_same_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer, "FileIO", SmallWrites)
    monkeypatch.setattr(SmallWrites, "interrupt_at", 60)
    shard = ShardWriter(tmp_path / "x.simrec")
    with pytest.raises(KeyboardInterrupt), shard:
        fill(shard, 1)
    assert shard.part.read_bytes() == whole(1).to_bytes()


SCRIPT = """
import sys
from simharness.errors import RecordingError
from simharness.recording.format import FrameType, footer_payload
from simharness.recording.writer import ShardWriter
from simharness.values import pack

path, limit = sys.argv[1], int(sys.argv[2])
if limit:
    import resource
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
try:
    with ShardWriter(path) as shard:
        while True:
            shard.write(pack([1, {"seed": shard.episodes}]), FrameType.HEADER)
            shard.write(pack([5, [[1, 0]] * 100]), FrameType.EVENTS)
            shard.write(footer_payload(0, 100, shard.chain), FrameType.FOOTER)
            print(shard.episodes, flush=True)
except RecordingError as error:
    print(error)
"""


def start(path: Path, limit: int) -> subprocess.Popen[str]:
    """Start a process that writes episodes without end and prints how many it has."""
    command = [sys.executable, "-c", SCRIPT, str(path), str(limit)]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)


@pytest.mark.parametrize("episodes", [1, 40])
def test_killed_process_loses_at_most_the_episode_under_way(episodes: int, tmp_path: Path) -> None:
    path = tmp_path / "x.simrec"
    with start(path, 0) as process:
        assert process.stdout is not None
        said = 0
        while said < episodes:
            said = int(process.stdout.readline())
        process.kill()
        # What it said before it died counts too.
        said = max([said, *(int(line) for line in process.stdout if line.endswith("\n"))])
    assert not path.exists()
    records = read_file(f"{path}.part")
    whole = [record.header["seed"] for record in records if record.complete]
    assert len(whole) >= said
    assert whole == list(range(len(whole)))
    assert len(records) - len(whole) <= 1


def test_real_limit_of_the_system_keeps_what_was_written(tmp_path: Path) -> None:
    path = tmp_path / "x.simrec"
    with start(path, 1500) as process:
        said, _ = process.communicate()
    assert "the file would be too large; write fewer episodes to a file" in said
    part = Path(f"{path}.part")
    assert part.stat().st_size == 1500
    *whole, torn = read_file(part)
    assert all(record.complete for record in whole)
    assert torn.problem == f"truncated at byte {torn.end}"
