"""A run by a Ray cluster is the same run as one by this process, whatever is lost on the way."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import pytest

from simharness.env import make_plan, new_episode
from simharness.errors import HarnessError, UsageError
from simharness.recording.reader import read_file
from simharness.rollout.catalogue import dump
from simharness.rollout.ray import Ray, Worker, ray_engine
from simharness.rollout.request import Request
from simharness.rollout.run import BREAKER, INTERRUPT, resume, run
from tests.adapters.family import framework
from tests.cli.conftest import command

if TYPE_CHECKING:
    from collections.abc import Generator

    from simharness.rollout.engine import Engine
    from simharness.rollout.summary import Summary

ray = framework("ray")

# Ray warns of its own future; whatever it leaves open ends with its processes.
pytestmark = pytest.mark.filterwarnings("ignore::Warning")

CRM = "crm/negotiation"
HAZARD = f"{Path(__file__).with_name('hazard.py')}:Hazard"
BOTH = Request(scenarios=(CRM, f"{HAZARD}/exit"), seeds=range(65))
"""130 episodes of two products, some of which raise."""


def contents(folder: Path) -> dict[str, bytes]:
    """Give all that has to be equal: sealed shards, verdicts, and the catalogue in order."""
    files = [*sorted((folder / "shards").iterdir()), folder / "verdicts.jsonl"]
    held = {path.name: path.read_bytes() for path in files}
    return {**held, "catalogue": "\n".join(dump(folder)).encode()}


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """A run in one process that nothing has happened to."""
    folder = tmp_path_factory.mktemp("local") / "run"
    assert run(BOTH, folder, breaker=False).summary.failures
    return contents(folder)


@pytest.fixture(scope="module", autouse=True)
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Generator[str]:
    """A cluster of two processors, which takes long to start; gives its address."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(tmp_path_factory.mktemp("home")))
        patch.setenv("RAY_AUTH_MODE", "disabled")
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        patch.setenv("RAY_raylet_start_wait_time_s", "200")
        patch.setenv("RAY_worker_niceness", "0")  # its own choice is 15
        patch.delenv("RAY_ADDRESS", raising=False)
        told = ray.init(
            address="local", num_cpus=2, object_store_memory=100_000_000, include_dashboard=False
        )
        yield told.address_info["address"]
        ray.shutdown()


def actors() -> list[int]:
    """Give the processes of the workers."""
    return [
        int(path.parent.name)
        for path in Path("/proc").glob("[0-9]*/cmdline")
        if read(path).startswith(b"ray::Actor")
    ]


def read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""  # it has ended


def test_a_run_that_loses_a_worker_and_has_broken_episodes_is_the_run_of_one_process(
    tmp_path: Path, local: dict[str, bytes]
) -> None:
    told: list[int] = []

    def progress(done: int, total: int, summary: Summary) -> None:
        if done > 20 >= max(told, default=0):
            os.kill(actors()[0], signal.SIGKILL)
        told.append(done)

    engine = ray_engine(2)
    result = run(BOTH, tmp_path / "run", progress, engine=engine, breaker=False)
    assert (result.summary.episodes, result.stopped) == (130, "")
    assert result.summary.failures > 5
    assert len(result.lost) == 1
    assert "ActorDiedError" in result.lost[0]
    assert (told, told[-1]) == (sorted(told), 130)
    assert contents(tmp_path / "run") == local
    assert ray.is_initialized()


def test_ctrl_c_ends_behind_the_episodes_under_way_and_the_run_is_resumed(tmp_path: Path) -> None:
    # So many that a Ray worker isn't through them before this process hears of the first.
    request = replace(BOTH, seeds=range(200))
    asked: list[int] = []

    def progress(done: int, total: int, summary: Summary) -> None:
        if done > 5 and not asked:
            asked.append(done)
            signal.raise_signal(signal.SIGINT)

    result = run(request, tmp_path / "run", progress, engine=ray_engine(1), breaker=False)
    assert (result.stopped, result.summary.episodes < len(request)) == (INTERRUPT, True)
    parts = (tmp_path / "run" / "shards").glob("*.part")
    assert all(record.complete for part in parts for record in read_file(part))
    resume(tmp_path / "run", engine=ray_engine(2), breaker=False)
    run(request, tmp_path / "local", breaker=False)
    assert contents(tmp_path / "run") == contents(tmp_path / "local")


def test_an_episode_that_loses_worker_after_worker_is_quarantined_and_the_run_goes_on(
    tmp_path: Path,
) -> None:
    drawn = (new_episode(make_plan(f"{HAZARD}/sound", s), "x").instance["luck"] for s in range(40))
    lucks = list(drawn)
    bad = next(s for s in range(39) if lucks[s] == 0 and lucks[s + 1])
    asked = Request(scenarios=(f"{HAZARD}/kill",), seeds=range(bad, bad + 2))
    result = run(asked, tmp_path / "run", engine=ray_engine(1), breaker=False)
    assert len(result.lost) == 3
    found = [entry for entry in map(json.loads, dump(tmp_path / "run")) if "seed" in entry]
    assert [(e["code"], e["quarantined"]) for e in found] == [("H812", 1), ("", 0)]
    assert "3 workers were lost in this episode" in found[0]["reason"] + str(
        (tmp_path / "run" / "verdicts.jsonl").read_text()
    )


def test_a_broken_harness_stops_the_run(tmp_path: Path) -> None:
    asked = Request(scenarios=(f"{HAZARD}/sound",), seeds=range(60), policies=("tumble",))
    result = run(asked, tmp_path / "run", engine=ray_engine(1))
    assert result.stopped == BREAKER
    assert result.breaker is not None
    assert "in a row" in result.breaker.reason


class Elsewhere(Ray):
    """Workers of which each sees another folder under the name of the run's."""

    def _join(self) -> bool:
        own = super()._join()
        assert self._job is not None
        self._job = replace(self._job, about=b"another run's")
        return own


class Defective(Ray):
    """Asks of workers what they can't answer."""

    def _turn(self, worker: Worker) -> None:
        worker.call = worker.actor.look.remote(3)


def test_a_worker_that_does_not_see_the_folder_says_so(tmp_path: Path) -> None:
    def make(request: Request, folder: Path, lock: int, blocks: int) -> Engine:
        return Elsewhere(request, folder, 1, blocks)

    asked = replace(BOTH, seeds=range(2))
    with pytest.raises(UsageError, match=r"run.json' is of another run on .*, where a worker is"):
        run(asked, tmp_path / "run", engine=make)


def test_a_defect_of_a_worker_is_told_and_not_tried_again(tmp_path: Path) -> None:
    def make(request: Request, folder: Path, lock: int, blocks: int) -> Engine:
        return Defective(request, folder, 1, blocks)

    with pytest.raises(HarnessError, match="a worker failed: TypeError: unsupported operand"):
        run(replace(BOTH, seeds=range(2)), tmp_path / "run", engine=make)


def test_a_command_joins_the_cluster_at_an_address_and_leaves_it_there(
    tmp_path: Path, cluster: str
) -> None:
    words = ("run", CRM, "--seed", "0:2", "--policy", "null", "--engine", "ray")
    more = ("--workers", "1", "--ray-address", cluster, "-o", "run", "--json")
    done = subprocess.run(
        command(*words, *more), cwd=tmp_path, capture_output=True, encoding="utf-8", check=False
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["episodes"] == 2
    assert ray.cluster_resources()["CPU"] == 2


@pytest.mark.parametrize("address", ["127.0.0.1:1", "ray://127.0.0.1:1", "127.0.0.1:99999"])
def test_an_address_at_which_nothing_answers_is_refused_at_once(address: str) -> None:
    with pytest.raises(UsageError, match=f"no Ray cluster answers at '{address}'"):
        ray_engine(1, address)


@pytest.mark.slow
def test_a_command_ends_the_cluster_that_it_has_started(tmp_path: Path) -> None:
    words = ("run", CRM, "--seed", "0:2", "--policy", "null", "--engine", "ray", "--workers", "1")
    # Ray makes sockets below it, whose names may not be long.
    with TemporaryDirectory(prefix="ray-", dir="/tmp") as place:
        done = subprocess.run(
            command(*words, "-o", "run", "--json"),
            cwd=tmp_path,
            env={**os.environ, "RAY_TMPDIR": place},
            capture_output=True,
            encoding="utf-8",
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["episodes"] == 2
        assert list(Path(place).rglob("raylet*"))
        every = Path("/proc").glob("[0-9]*/cmdline")
        assert not [path for path in every if place.encode() in read(path)]
