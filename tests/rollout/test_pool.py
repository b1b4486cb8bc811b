"""A run by several processes is the same run, whichever of them are lost, and when."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from simharness.env import make_plan, new_episode
from simharness.errors import HarnessError, RecordingError, UsageError
from simharness.recording.reader import read_file
from simharness.rollout.audit import audit
from simharness.rollout.catalogue import dump, index
from simharness.rollout.lines import recorded_lines
from simharness.rollout.pool import Pool
from simharness.rollout.request import Request
from simharness.rollout.run import local_engine, resume, run
from simharness.rollout.worker import BOOT
from tests.cli.conftest import Start, command, start
from tests.effort import times

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence

    from simharness.rollout.engine import Engine

__all__ = ["start"]

CRM = "crm/negotiation"
HAZARD = f"{Path(__file__).with_name('hazard.py')}:Hazard"


def request(episodes: int = 150, **fields: Any) -> Request:
    values: dict[str, Any] = {"policies": ("null",), "loads": ("0",), **fields}
    return Request(scenarios=values.pop("scenarios", (CRM,)), seeds=range(episodes), **values)


def contents(folder: Path) -> dict[str, bytes]:
    """Give all that has to be equal: sealed shards, verdicts, and the catalogue in order."""
    files = [*sorted((folder / "shards").iterdir()), folder / "verdicts.jsonl"]
    held = {path.name: path.read_bytes() for path in files}
    return {**held, "catalogue": "\n".join(dump(folder)).encode()}


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """A run in one process that nothing has happened to."""
    folder = tmp_path_factory.mktemp("unbroken") / "run"
    run(request(), folder)
    return contents(folder)


@pytest.mark.parametrize("workers", [1, 3])
def test_any_number_of_workers_gives_the_same_run(
    tmp_path: Path, unbroken: dict[str, bytes], workers: int
) -> None:
    told: list[int] = []
    result = run(
        request(),
        tmp_path / "run",
        lambda done, total, summary: told.append(done),
        engine=local_engine(workers),
    )
    assert (result.summary.episodes, result.stopped, result.lost) == (150, "", [])
    assert told == sorted(told)
    assert told[-1] == 150
    assert contents(tmp_path / "run") == unbroken


def workers_of(parent: int) -> list[int]:
    """Give the processes that a process has started."""
    out: list[int] = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue  # it has ended
        if int(fields[1]) == parent:
            out.append(int(path.parent.name))
    return out


def count(folder: Path) -> int:
    path = folder / "verdicts.jsonl"
    return path.read_text(encoding="utf-8").count("\n") if path.exists() else 0


def wait_for(folder: Path, episodes: int, process: subprocess.Popen[str]) -> None:
    while count(folder) < episodes and process.poll() is None:
        time.sleep(0.002)


needs_proc = pytest.mark.skipif(not Path("/proc").is_dir(), reason="looks for processes in /proc")
ARGV = ("run", CRM, "--seed", "0:150", "--policy", "null", "--load", "0")


@needs_proc
@pytest.mark.parametrize("workers", [1, 2])
def test_a_worker_that_is_killed_is_replaced_and_changes_nothing(
    start: Start, tmp_path: Path, unbroken: dict[str, bytes], workers: int
) -> None:
    draw = random.Random(workers)  # noqa: S311
    process = start(*ARGV, "--workers", workers, "-o", "run", "--json")
    for _ in range(times(2)):
        wait_for(tmp_path / "run", draw.randrange(140), process)
        for pid in workers_of(process.pid)[:1]:
            os.kill(pid, signal.SIGKILL)
    out, err = process.communicate()
    assert process.returncode == 0, err
    assert 1 <= json.loads(out)["workers_lost"] <= times(2)
    assert contents(tmp_path / "run") == unbroken


@needs_proc
@pytest.mark.parametrize("workers", [0, 1, 2])
def test_a_run_whose_parent_is_killed_is_resumed_to_the_same_run(
    start: Start, tmp_path: Path, unbroken: dict[str, bytes], workers: int
) -> None:
    draw = random.Random(10 + workers)  # noqa: S311
    argv: Sequence[object] = (*ARGV, "-o", "run")
    for _ in range(times(2)):
        process = start(*argv, "--workers", workers)
        have = count(tmp_path / "run")
        wait_for(tmp_path / "run", have + draw.randrange(1, 60), process)
        os.kill(process.pid, signal.SIGKILL)
        process.communicate()
        argv = ("run", "--resume", "run")
    before = count(tmp_path / "run")
    result = resume(tmp_path / "run", engine=local_engine(workers))
    assert 0 < before <= result.summary.episodes == 150
    assert contents(tmp_path / "run") == unbroken


@needs_proc
def test_workers_whose_parent_is_killed_end_and_let_go_of_the_run(
    start: Start, tmp_path: Path
) -> None:
    process = start(*ARGV, "--workers", 2, "-o", "run")
    wait_for(tmp_path / "run", 10, process)
    orphans = workers_of(process.pid)
    assert len(orphans) == 2
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()  # they hold stderr until they end
    assert not any(Path(f"/proc/{pid}").exists() for pid in orphans if state(pid) != "Z")


def state(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return "Z"


@pytest.mark.parametrize("workers", [0, 2])
def test_ctrl_c_ends_behind_the_episodes_under_way_and_says_how_to_go_on(
    start: Start, tmp_path: Path, unbroken: dict[str, bytes], workers: int
) -> None:
    process = start(*ARGV, "--workers", workers, "-o", "run")
    wait_for(tmp_path / "run", 20, process)
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate()
    assert (process.returncode, out) == (130, "")
    assert "of 150 episodes, which are in run\n  go on: simharness run --resume run" in err
    about = json.loads((tmp_path / "run" / "run.json").read_text(encoding="utf-8"))
    assert about["stopped"] == "interrupt"
    assert about["done"] == count(tmp_path / "run") == len(list(episodes(tmp_path / "run")))
    parts = (tmp_path / "run" / "shards").glob("*.part")
    assert all(record.complete for part in parts for record in read_file(part))
    resume(tmp_path / "run")
    assert contents(tmp_path / "run") == unbroken


def episodes(folder: Path) -> list[dict[str, Any]]:
    return [entry for entry in map(json.loads, dump(folder)) if "seed" in entry]


# Episodes that lose their workers


def unlucky() -> list[int]:
    """Give those of the first twelve seeds on which the person of the product is a hazard."""
    drawn = (new_episode(make_plan(f"{HAZARD}/sound", s), "x").instance["luck"] for s in range(12))
    return [seed for seed, luck in enumerate(drawn) if luck == 0]


@pytest.mark.parametrize("workers", [1, 2])
def test_an_episode_that_loses_worker_after_worker_is_quarantined_and_the_run_goes_on(
    tmp_path: Path, workers: int
) -> None:
    asked = request(12, scenarios=(f"{HAZARD}/kill",), policies=("expert",))
    result = run(asked, tmp_path / "run", engine=local_engine(workers), breaker=False)
    bad = unlucky()
    assert bad
    assert (result.summary.episodes, result.summary.failures) == (12, len(bad))
    assert len(result.lost) == 3 * len(bad)
    assert all("SIGKILL" in cause for cause in result.lost)
    for entry in episodes(tmp_path / "run"):
        hit = entry["seed"] in bad
        assert (entry["class"], entry["code"]) == (("harness", "H812") if hit else ("ok", ""))
        assert (entry["quarantined"], entry["score"]) == ((1, None) if hit else (0, 1.0))
    records = read_file(tmp_path / "run" / "shards" / "00000.simrec")
    for seed in bad:
        # What the agent did up to there is on record: the person strikes after 12 seconds.
        assert records[seed].complete
        assert records[seed].steps
        assert len(records[seed].inputs) == len(records[seed].steps) + 1
        assert "3 workers were lost in this episode" in str(records[seed].info["broke"])
    assert [s for s, item in enumerate(audit(tmp_path / "run").items) if item.quarantined] == bad
    before = contents(tmp_path / "run")
    index(tmp_path / "run")
    assert contents(tmp_path / "run") == before


def test_an_episode_that_never_ends_is_ended_and_named(tmp_path: Path) -> None:
    bad = unlucky()[0]
    asked = Request(
        scenarios=(f"{HAZARD}/spin",), seeds=range(bad - 1, bad + 1), policies=("expert",)
    )

    def impatient(request: Request, folder: Path, lock: int, blocks: int) -> Engine:
        return Pool(request, folder, 1, lock, patience=5)

    run(asked, tmp_path / "run", engine=impatient, breaker=False)
    found = {entry["seed"]: entry["code"] for entry in episodes(tmp_path / "run")}
    assert found == {bad - 1: "", bad: "H811"}


def test_a_pool_whose_workers_cannot_live_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("simharness.rollout.pool.BOOT", "import os; os._exit(9)")
    with pytest.raises(HarnessError, match=r"8 workers in a row were lost .*exit code 9"):
        run(request(3), tmp_path / "run", engine=local_engine(2))
    monkeypatch.undo()
    assert resume(tmp_path / "run").summary.episodes == 3


@pytest.mark.parametrize("workers", [0, 2])
def test_a_shard_that_cannot_be_written_stops_the_run_which_is_then_resumed(
    tmp_path: Path, unbroken: dict[str, bytes], workers: int
) -> None:
    code = (
        "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, 60_000)); "
        "from simharness.cli import main; main()"
    )
    words = [sys.executable, "-c", code, *map(str, ARGV), "--workers", str(workers), "-o", "run"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, encoding="utf-8", check=False)
    assert done.returncode == 2, done.stderr
    assert "error SH-REC-001: can't write " in done.stderr
    assert "the file would be too large" in done.stderr
    assert "what was played is kept; then: simharness run --resume run" in done.stderr
    assert list((tmp_path / "run" / "shards").glob("*.part"))
    resume(tmp_path / "run")
    assert contents(tmp_path / "run") == unbroken


@pytest.mark.parametrize("workers", [1, 2])
def test_a_full_disk_stops_a_pool_which_has_kept_what_it_told_of(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    unbroken: dict[str, bytes],
    workers: int,
) -> None:
    first = "from simharness.rollout.worker import main"
    full = "from tests.rollout.full import FullDisk; import simharness.recording.writer as w"
    assert first in BOOT
    boot = BOOT.replace(first, f"{full}; w.FileIO = FullDisk; {first}")
    monkeypatch.setattr("simharness.rollout.pool.BOOT", boot)
    with pytest.raises(RecordingError, match="the disk is full; free some space"):
        run(request(), tmp_path / "run", engine=local_engine(workers))
    monkeypatch.undo()
    assert 0 < count(tmp_path / "run") == len(episodes(tmp_path / "run")) < 150
    resume(tmp_path / "run", engine=local_engine(workers))
    assert contents(tmp_path / "run") == unbroken


@pytest.fixture
def small_disk(tmp_path: Path) -> Generator[Path]:
    """A disk of 200 kB, on which all of a run is."""
    place = tmp_path / "disk"
    place.mkdir()
    words = ["mount", "-t", "tmpfs", "-o", "size=200k", "tmpfs", str(place)]
    if not shutil.which("mount"):
        pytest.skip("this system has no mount")
    done = subprocess.run(words, capture_output=True, encoding="utf-8", check=False)
    if done.returncode:
        pytest.skip(f"no disk can be mounted here: {done.stderr.strip()}")
    yield place
    subprocess.run(["umount", str(place)], check=True)


@pytest.mark.parametrize("workers", [0, 2])
def test_a_run_on_a_disk_that_is_really_full_is_resumed_once_there_is_space(
    small_disk: Path, unbroken: dict[str, bytes], workers: int
) -> None:
    folder = small_disk / "run"
    with pytest.raises(RecordingError, match="the disk is full; free some space"):
        run(request(), folder, engine=local_engine(workers))
    recorded = sum(1 for _ in recorded_lines(folder))
    assert 0 < count(folder) <= recorded < 150
    with pytest.raises(RecordingError, match="disk is full"):
        resume(folder, engine=local_engine(workers))
    subprocess.run(["mount", "-o", "remount,size=20m", str(small_disk)], check=True)
    assert resume(folder, engine=local_engine(workers)).summary.episodes == 150
    assert contents(folder) == unbroken


# Resuming


def test_a_run_that_is_whole_is_resumed_to_itself(
    tmp_path: Path, unbroken: dict[str, bytes]
) -> None:
    run(request(), tmp_path / "run")
    assert resume(tmp_path / "run", engine=local_engine(2)).summary.episodes == 150
    assert contents(tmp_path / "run") == unbroken


def test_a_run_is_not_resumed_while_it_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("simharness.rollout.lock.ORPHANS", 0.1)

    def again(done: int, total: int, summary: object) -> None:
        with pytest.raises(UsageError, match="another process is writing the run"):
            resume(tmp_path / "run")

    run(request(1), tmp_path / "run", again)


def cut(folder: Path) -> None:
    """Let a run have been killed in the middle of its first shard."""
    sealed = folder / "shards" / "00000.simrec"
    data = sealed.read_bytes()
    sealed.unlink()
    sealed.with_name("00000.simrec.part").write_bytes(data[: len(data) * 2 // 3])


def other_seeds(folder: Path) -> None:
    about = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    about["asked"]["seeds"] = [1, 4]
    (folder / "run.json").write_text(json.dumps(about), encoding="utf-8")


def other_code(folder: Path) -> None:
    path = folder.parent / "hazard.py"
    path.write_text(path.read_text(encoding="utf-8") + "\n# changed\n", encoding="utf-8")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (other_seeds, r"episode 0 of .* has seed 0, not 1"),
        (other_code, r"episode 0 of .* was played by other code of hazard"),
    ],
)
def test_a_run_that_was_begun_as_another_one_is_not_resumed(
    tmp_path: Path, change: Callable[[Path], None], said: str
) -> None:
    source = Path(__file__).with_name("hazard.py").read_text(encoding="utf-8")
    (tmp_path / "hazard.py").write_text(source, encoding="utf-8")
    words = ("run", f"{tmp_path / 'hazard.py'}:Hazard/sound", "--seed", "0:3", "-o", "run")
    subprocess.run(command(*words), cwd=tmp_path, capture_output=True, check=True)
    cut(tmp_path / "run")
    change(tmp_path / "run")
    with pytest.raises(UsageError, match=said):
        resume(tmp_path / "run", engine=local_engine(1))


@pytest.mark.parametrize(
    "text", ["", "[]", '{"block": 64, "asked": {}}', '{"block": 7, "asked": {}}']
)
def test_what_is_no_run_is_not_resumed(tmp_path: Path, text: str) -> None:
    (tmp_path / "run.json").write_text(text, encoding="utf-8")
    with pytest.raises(UsageError, match=r"is not as this version writes it"):
        resume(tmp_path)
    with pytest.raises(UsageError, match="is no run"):
        resume(tmp_path / "nowhere")


def test_a_damaged_shard_is_named_and_not_overwritten(tmp_path: Path) -> None:
    run(request(3), tmp_path / "run")
    path = tmp_path / "run" / "shards" / "00000.simrec"
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    for again in (resume, index):
        with pytest.raises(RecordingError, match=r"sealed shard .* is damaged"):
            again(tmp_path / "run")
    assert path.read_bytes() == data
