"""A run directory holds what happened, whatever stops the run."""

from __future__ import annotations

import fcntl
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from simharness.env import make_plan, new_episode
from simharness.episode.replay import replay
from simharness.errors import HarnessError, RecordingError, UnknownName, UsageError
from simharness.recording.reader import EpisodeRecord, read_file
from simharness.recording.writer import ShardWriter
from simharness.rollout.audit import audit
from simharness.rollout.block import BLOCK
from simharness.rollout.catalogue import dump, index
from simharness.rollout.check import check
from simharness.rollout.request import Request
from simharness.rollout.run import resume, run
from simharness.rollout.store import LOCK, create_folder, next_folder
from tests.rollout.full import FullDisk

if TYPE_CHECKING:
    from simharness.rollout.summary import Summary

CRM = "crm/negotiation"
SHOP = Path(__file__).parents[1] / "cli" / "shop.py"
HAZARD = f"{Path(__file__).with_name('hazard.py')}:Hazard"


def silent(done: int, total: int, summary: Summary) -> None:
    """Show no progress."""


def request(episodes: int = 3, **fields: Any) -> Request:
    values: dict[str, Any] = {"policies": ("null",), "loads": ("0",), **fields}
    return Request(scenarios=values.pop("scenarios", (CRM,)), seeds=range(episodes), **values)


def recorded(folder: Path) -> list[EpisodeRecord]:
    return [r for path in sorted((folder / "shards").iterdir()) for r in read_file(path)]


def judged(folder: Path) -> list[dict[str, Any]]:
    text = (folder / "verdicts.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def assert_intact(folder: Path, at_least: int) -> None:
    """Check that all that was judged is recorded under its digest, and replays."""
    whole = {r.digest for r in recorded(folder) if r.complete}
    lines = judged(folder)
    assert len(lines) >= at_least
    assert {line["digest"] for line in lines} <= whole
    for record in recorded(folder):
        if record.complete:
            assert replay(record).digest == record.digest


def test_a_run_is_sealed_in_blocks_with_a_line_for_each_verdict(tmp_path: Path) -> None:
    summary = run(request(BLOCK + 3), tmp_path / "out", silent).summary
    assert summary.episodes == BLOCK + 3
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        *("catalog.sqlite", "run.json", "run.lock", "shards", "verdicts.jsonl")
    ]
    shards = sorted((tmp_path / "out" / "shards").iterdir())
    assert [path.name for path in shards] == ["00000.simrec", "00001.simrec"]
    assert [len(read_file(path)) for path in shards] == [BLOCK, 3]
    lines = judged(tmp_path / "out")
    records = recorded(tmp_path / "out")
    assert [line["digest"] for line in lines] == [record.digest for record in records]
    assert [line["shard"] for line in lines] == ["00000.simrec"] * BLOCK + ["00001.simrec"] * 3
    assert [line["key"] for line in lines[:2]] == [f"{CRM}:0:null", f"{CRM}:1:null"]
    assert all(record.verdict is not None for record in records)


def test_a_run_of_a_full_block_leaves_no_empty_shard(tmp_path: Path) -> None:
    run(request(BLOCK), tmp_path / "out", silent)
    assert [path.name for path in (tmp_path / "out" / "shards").iterdir()] == ["00000.simrec"]


def test_a_run_says_what_was_asked(tmp_path: Path) -> None:
    asked = request(2, config={"instance.deal": 7})
    run(asked, tmp_path / "out", silent)
    about = json.loads((tmp_path / "out" / "run.json").read_text(encoding="utf-8"))
    assert about["asked"] == asked.record()
    assert about["episodes"] == 2
    assert about["simharness"]


def test_the_same_request_gives_the_same_shards(tmp_path: Path) -> None:
    for name in ("one", "two"):
        run(request(3, policies=("expert",), loads=("2",)), tmp_path / name, silent)
    one, two = ((tmp_path / n / "shards" / "00000.simrec").read_bytes() for n in ("one", "two"))
    assert one == two
    assert judged(tmp_path / "one") == judged(tmp_path / "two")


def test_progress_counts_up_to_the_total(tmp_path: Path) -> None:
    told: list[tuple[int, int, int]] = []
    run(request(3), tmp_path / "out", lambda done, total, s: told.append((done, total, s.episodes)))
    assert told == [(1, 3, 1), (2, 3, 2), (3, 3, 3)]


# What is refused before anything is written


@pytest.mark.parametrize(
    ("fields", "kind", "message"),
    [
        ({"scenarios": (CRM, "crm/none")}, UnknownName, "no scenario of crm named 'none'"),
        ({"scenarios": (CRM, CRM)}, UsageError, "named twice"),
        ({"policies": ("nil",)}, UnknownName, "no policy"),
        ({"faults": (("crm.nothing",),)}, UnknownName, "no fault named"),
        ({"faults": (("crm.no-fence@from=2s,until=1s",),)}, UsageError, "not after its start"),
        ({"profile": "none"}, UnknownName, "no profile"),
        ({"config": {"no.such": 1}}, UnknownName, r"no knob named 'no\.such'"),
        ({"config": {"db.latency": "soon"}}, UsageError, r"knob db\.latency"),
        ({"config": {"instance.deal": 0}}, UsageError, r"deal = 0 is out of range \(seed 0\)"),
        ({"config": {"instance.none": 0}}, UnknownName, "no instance value named 'none'"),
        ({"loads": ("many",)}, UsageError, "load 'many' is not a number"),
        ({"scenarios": (f"{SHOP}:Shop/start",)}, HarnessError, "seed 0: ValueError: start broke"),
    ],
)
def test_what_cannot_be_run_leaves_no_folder(
    tmp_path: Path, fields: dict[str, Any], kind: type[Exception], message: str
) -> None:
    with pytest.raises(kind, match=message):
        run(request(3, **fields), tmp_path / "out", silent)
    assert not (tmp_path / "out").exists()


def test_a_pin_that_suits_only_some_seeds_is_found_in_the_last_one(tmp_path: Path) -> None:
    # A discount of 10 percent is free of approval: an instance that draws one over the limit
    # can't have it.
    pins = {"instance.discount_pct": 10}
    fits: list[bool] = []
    for seed in range(12):
        one = Request(
            scenarios=(CRM,), seeds=range(seed, seed + 1), policies=("null",), config=pins
        )
        try:
            check(one)
            fits.append(True)
        except UsageError:
            fits.append(False)
    unfit = fits.index(False, fits.index(True))
    first = fits.index(True)
    while not all(fits[first:unfit]):
        first += 1
    asked = Request(
        scenarios=(CRM,), seeds=range(first, unfit + 1), policies=("null",), config=pins
    )
    with pytest.raises(UsageError, match=rf"discount_pct = 10 is out of range \(seed {unfit}\)"):
        run(asked, tmp_path / "out", silent)
    assert not (tmp_path / "out").exists()


def test_a_check_of_many_seeds_looks_at_the_first_only() -> None:
    check(request(10_000_000))


# What stops a run


@pytest.mark.parametrize("writes", [1, 4, 9, 10, 11, 25, 40])
def test_a_run_interrupted_at_any_frame_keeps_what_it_had(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, writes: int
) -> None:
    count = 0
    write = ShardWriter.write

    def interrupted(self: ShardWriter, payload: bytes, kind: Any) -> None:
        nonlocal count
        count += 1
        if count == writes:
            raise KeyboardInterrupt
        write(self, payload, kind)

    monkeypatch.setattr(ShardWriter, "write", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run(request(9), tmp_path / "out", silent)
    names = [path.name for path in (tmp_path / "out" / "shards").iterdir()]
    assert names == ["00000.simrec.part"]
    assert_intact(tmp_path / "out", len(judged(tmp_path / "out")))
    problems = [record.problem for record in recorded(tmp_path / "out")]
    assert not any(problems[:-1])
    assert all(problem.startswith("truncated") for problem in problems[-1:] if problem)


def test_an_interrupt_inside_a_tool_is_no_failure_of_the_harness(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = 0

    def progress(finished: int, total: int, summary: Summary) -> None:
        nonlocal done
        done = finished
        if done == 2:
            monkeypatch.setattr("simharness.product.product.Product.call", interrupt)

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(request(5), tmp_path / "out", progress)
    monkeypatch.undo()
    assert done == 2
    assert_intact(tmp_path / "out", 2)
    assert {line["class"] for line in judged(tmp_path / "out")} == {"model"}


def test_an_interrupt_between_two_episodes_keeps_them_all(tmp_path: Path) -> None:
    def progress(done: int, total: int, summary: Summary) -> None:
        if done == BLOCK + 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(request(BLOCK + 9), tmp_path / "out", progress)
    shards = sorted(path.name for path in (tmp_path / "out" / "shards").iterdir())
    assert shards == ["00000.simrec", "00001.simrec.part"]
    assert_intact(tmp_path / "out", BLOCK + 1)


def test_a_full_disk_stops_a_run_and_keeps_what_it_had(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("simharness.recording.writer.FileIO", FullDisk)
    with pytest.raises(RecordingError, match="the disk is full; free some space"):
        run(request(60), tmp_path / "out", silent)
    assert_intact(tmp_path / "out", 3)


@pytest.mark.parametrize("name", ["run.json", "verdicts.jsonl"])
def test_a_full_disk_is_told_whichever_file_meets_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("this system has no /dev/full")
    opened: Any = Path.open

    def full(self: Path, *args: Any, **options: Any) -> Any:
        mode = [*args, options.get("mode", "r")][0]
        writes = self.name.removesuffix(".tmp") == name and mode in "wa"
        return opened(Path("/dev/full") if writes else self, *args, **options)

    monkeypatch.setattr(Path, "open", full)
    with pytest.raises(RecordingError, match="the disk is full; free some space"):
        run(request(3), tmp_path / "out", silent)


@pytest.mark.parametrize("place", ["draw", "start", "prompt", "brief"])
def test_a_scenario_that_starts_on_no_seed_is_refused_with_its_command(
    tmp_path: Path, place: str
) -> None:
    asked = request(3, scenarios=(CRM, f"{SHOP}:Shop/{place}"))
    with pytest.raises(
        HarnessError, match=rf"{place}, seed 0: ValueError: {place} broke"
    ) as caught:
        run(asked, tmp_path / "out", silent)
    command = f"simharness run {SHOP}:Shop/{place} --seed 0 --policy null --load 0"
    assert caught.value.hint == command
    assert not (tmp_path / "out").exists()


# Episodes that break


def seeds_of_luck(luck: int) -> list[int]:
    """Give those of the first twelve seeds on which the person is a hazard (0), or not."""
    drawn = (new_episode(make_plan(f"{HAZARD}/sound", s), "x").instance["luck"] for s in range(12))
    return [seed for seed, found in enumerate(drawn) if (found == 0) is (luck == 0)]


@pytest.mark.parametrize("kind", ["start", "prompt", "goal", "exit", "leave", "close"])
def test_an_episode_that_breaks_is_one_bad_episode_with_its_recording(
    tmp_path: Path, kind: str
) -> None:
    bad, good = seeds_of_luck(0), seeds_of_luck(1)
    assert bad
    asked = request(12, scenarios=(f"{HAZARD}/{kind}",), policies=("expert",))
    summary = run(asked, tmp_path / "out", silent, breaker=False).summary
    assert (summary.episodes, summary.failures) == (12, len(bad))
    lines, records = judged(tmp_path / "out"), recorded(tmp_path / "out")
    assert [record.digest for record in records] == [line["digest"] for line in lines]
    for seed in good:
        assert (lines[seed]["class"], lines[seed]["score"]) == ("ok", 1)
        assert replay(records[seed]).digest == lines[seed]["digest"]
    for seed in bad:
        line = lines[seed]
        assert (line["class"], line["primary"], line["score"]) == ("harness", "H810", None)
        assert (line["valid"], line["quarantined"]) == (False, True)
        said = {"exit": "SystemExit: 0", "leave": "Leaving: gone", "close": "GeneratorExit"}
        assert said.get(kind, f"ValueError: {kind} broke") in line["sentence"]
        assert records[seed].complete
        assert records[seed].header["instance"]["luck"] == 0  # type: ignore[index]
    report = audit(tmp_path / "out")
    assert [s for s, item in enumerate(report.items) if item.quarantined] == bad
    assert not report.damaged
    before = list(dump(tmp_path / "out"))
    index(tmp_path / "out")
    assert list(dump(tmp_path / "out")) == before


def test_a_policy_that_leaves_by_what_is_no_exception_breaks_its_episode(tmp_path: Path) -> None:
    asked = request(2, scenarios=(f"{HAZARD}/sound",), policies=("tumble",))
    assert run(asked, tmp_path / "out", silent).summary.failures == 2
    assert "Leaving: the policy left (hazard.py:" in judged(tmp_path / "out")[0]["sentence"]


# Folders


def test_a_new_folder_is_made_with_those_above_it(tmp_path: Path) -> None:
    create_folder(tmp_path / "a" / "b")
    assert [path.name for path in (tmp_path / "a" / "b").iterdir()] == ["shards"]


def test_a_folder_that_holds_anything_is_refused(tmp_path: Path) -> None:
    (tmp_path / ".hidden").write_bytes(b"")
    with pytest.raises(UsageError, match="is not empty"):
        create_folder(tmp_path)


def test_the_slower_of_two_runs_is_refused_the_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun = os.open(create_folder(tmp_path / "a") / LOCK, os.O_RDWR | os.O_CREAT)
    fcntl.flock(begun, fcntl.LOCK_EX)
    with pytest.raises(UsageError, match="another process is writing the run"):
        run(request(1), tmp_path / "a")
    os.close(begun)

    def later(folder: Path, patience: float) -> int:
        (folder / "run.json").write_text('{"asked": {}}')  # the other run
        return os.open(folder / LOCK, os.O_RDWR | os.O_CREAT)

    monkeypatch.setattr("simharness.rollout.store.hold_run", later)
    with pytest.raises(UsageError, match="is not empty"):
        run(request(1), tmp_path / "b")


@pytest.mark.parametrize("call", ["mkdir", "write_text", "replace"])
def test_a_run_that_was_killed_before_it_said_what_it_is_is_begun_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    folder = tmp_path / "run"
    owner: Any = os if call == "replace" else Path
    done = getattr(owner, call)

    def killed(*args: Any, **options: Any) -> Any:
        done(*args, **options)
        raise KeyboardInterrupt

    def half(self: Path, text: str, **options: Any) -> None:
        done(self, text[:9], **options)
        raise KeyboardInterrupt

    monkeypatch.setattr(owner, call, half if call == "write_text" else killed)
    with pytest.raises(KeyboardInterrupt):
        run(request(2), folder)
    monkeypatch.undo()
    if call == "replace":
        assert resume(folder).summary.episodes == 2
        return
    with pytest.raises(UsageError, match=r"no run|before it had written what it is to play"):
        resume(folder)
    assert run(request(2), folder).summary.episodes == 2


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("file", "'.*file' is a file; give -o a folder"),
        ("file/below", "can't make folder '.*': a part of the path is not a folder"),
        ("dangling", "'.*dangling' is a file"),
        ("zero\0byte", "can't make folder '.*': there is a zero byte in it"),
    ],
)
def test_a_path_that_cannot_be_a_folder_is_refused(tmp_path: Path, name: str, message: str) -> None:
    (tmp_path / "file").write_bytes(b"")
    (tmp_path / "dangling").symlink_to(tmp_path / "nothing" / "there")
    with pytest.raises((UsageError, RecordingError), match=message):
        create_folder(tmp_path / name)


def test_the_next_folder_is_the_first_free_one(tmp_path: Path) -> None:
    assert next_folder(tmp_path, "x").name == "x-001"
    (tmp_path / "x-001").mkdir()
    (tmp_path / "x-003").mkdir()
    assert next_folder(tmp_path, "x").name == "x-002"
    (tmp_path / "x-002").mkdir()
    assert next_folder(tmp_path, "x").name == "x-004"
