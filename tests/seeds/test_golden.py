from __future__ import annotations

from typing import TYPE_CHECKING, cast

import pytest

import simharness
from simharness.env import only_episode
from simharness.episode.replay import replay
from simharness.errors import Divergence, UsageError
from simharness.kernel.world import World
from simharness.product.registry import OWN, load_product
from tests.seeds import golden

if TYPE_CHECKING:
    from pathlib import Path

    from simpy.events import Event

    from simharness.recording.reader import EpisodeRecord

pytestmark = pytest.mark.seeds

FILES = golden.files()
CURRENT = golden.FOLDER / simharness.__version__


@pytest.mark.parametrize("path", FILES, ids=[f"{p.parent.name}/{p.stem}" for p in FILES])
def test_a_golden_recording_replays_identical(path: Path) -> None:
    record = only_episode(path)
    assert record.complete
    assert replay(record).digest == record.digest


@pytest.fixture(scope="module")
def made() -> dict[str, bytes]:
    """Give what this version records, which takes a while."""
    if missing := [name for name in OWN if load_product(name).missing()]:
        pytest.skip(f"can't play {', '.join(missing)} here")
    return golden.recordings()


@pytest.fixture
def recorded_once(made: dict[str, bytes], monkeypatch: pytest.MonkeyPatch) -> None:
    """Let those who write recordings be handed them."""
    monkeypatch.setattr(golden, "recordings", lambda: made)


def test_this_version_records_what_lies_in_its_folder(made: dict[str, bytes]) -> None:
    changed = golden.differences(made, CURRENT)
    assert changed == [], f"if this was meant: {golden.COMMAND} --write"


def test_every_scenario_and_fault_has_a_golden_recording() -> None:
    there = [only_episode(path).header for path in FILES if path.parent == CURRENT]
    scenarios = {header["scenario"] for header in there}
    faults = {str(fault) for header in there for fault in listed(header["faults"])}
    for name in OWN:
        product = load_product(name)
        assert {scenario.id for scenario in product.scenarios} <= scenarios
        assert {fault.id for fault in product.faults} <= faults


def listed(value: object) -> list[object]:
    return cast("list[object]", value) if isinstance(value, list) else []


def test_golden_recordings_stay_small_and_say_nothing_of_a_machine() -> None:
    own = [path for path in FILES if path.parent == CURRENT]
    for name in OWN:
        sizes = [path.stat().st_size for path in own if path.name.startswith(f"{name}-")]
        assert sum(sizes) < golden.BYTES_MAX, name
    for path in own:
        info = only_episode(path).info
        assert set(info) == {"policy", "simharness"}


def test_a_change_of_meaning_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without this, golden recordings that hold nothing would pass for ever."""
    exact = World.timer

    def late(world: World, ticks: int) -> Event:
        return exact(world, ticks + 1)

    monkeypatch.setattr(World, "timer", late)

    def diverges(record: EpisodeRecord) -> bool:
        try:
            replay(record)
        except Divergence:
            return True
        return False

    assert any(diverges(only_episode(path)) for path in FILES)


@pytest.mark.usefixtures("recorded_once")
def test_writing_makes_the_folder_and_leaves_equal_files_alone(tmp_path: Path) -> None:
    assert len(golden.write(tmp_path, "1.0.0.dev3")) == len(golden.cases())
    own = tmp_path / "1.0.0.dev3"
    first, second, *_ = sorted(own.iterdir())
    first.write_bytes(b"")
    (own / "left-over.simrec").write_bytes(b"")
    before = second.stat().st_mtime_ns
    assert golden.write(tmp_path, "1.0.0.dev3") == sorted([first.name, "left-over.simrec"])
    assert second.stat().st_mtime_ns == before
    assert golden.write(tmp_path, "1.0.0") != []
    assert [path.name for path in tmp_path.iterdir()] == ["1.0.0"], "the way to it is not kept"


@pytest.mark.usefixtures("recorded_once")
def test_recordings_of_a_release_are_never_written_again(tmp_path: Path) -> None:
    golden.write(tmp_path, "1.0.0")
    assert golden.write(tmp_path, "1.0.0") == []
    (file, *_) = sorted((tmp_path / "1.0.0").iterdir())
    file.write_bytes(b"as it was")
    with pytest.raises(UsageError, match=rf"1\.0\.0 is a release and records {file.name}"):
        golden.write(tmp_path, "1.0.0")
    assert file.read_bytes() == b"as it was"
    golden.write(tmp_path, "1.1.0.dev0")
    assert file.read_bytes() == b"as it was"
