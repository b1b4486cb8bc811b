"""The CI server tests what is pushed, in turn, and its results belong to their commits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from simharness.models.ide.runner import CaseRun, SuiteRun
from tests.models.ide_house import FILES, House
from tests.models.ide_runner import MIXED, Scripted

if TYPE_CHECKING:
    from collections.abc import Mapping

TESTS = tuple(f"tests/test_shop.py::test_{n}" for n in range(40))
FUEL = 2_000_000_000
"""Two seconds."""


def suite(files: Mapping[str, str]) -> SuiteRun:
    """Pass as long as the shop isn't broken."""
    broken = "broken" in files["src/shop.py"]
    outcome = "failed" if broken else "passed"
    tests = tuple(CaseRun(test_id=name, outcome=outcome) for name in TESTS)  # type: ignore[arg-type]
    return SuiteRun(tests=tests, fuel=FUEL)


def busy(config: Mapping[str, object] | None = None, **how: Any) -> House:
    return House(config, runner=Scripted(suite=suite), **how)


def push(house: House, text: str) -> str:
    house.call("write_file", path="src/shop.py", content=text)
    house.call("commit", message=f"Write {text}")
    return str(house.call("push")["rev"])


def jobs(house: House) -> list[tuple[int, str]]:
    return [(job["id"], job["status"]) for job in house.call("ci_status")["ci_jobs"]]


def test_what_is_pushed_is_tested() -> None:
    house = busy()
    good = push(house, "fine\n")
    assert jobs(house) == [(1, "running")]
    house.wait("3s")
    bad = push(house, "broken\n")
    house.call("repo.push", branch="try", files={"src/shop.py": "fine again\n"}, message="Mend")
    house.wait("3s")
    assert jobs(house) == [(1, "passed"), (2, "failed"), (3, "passed")]
    told = house.call("ci_status", job_id=2)["ci_jobs"][0]
    assert (told["rev"], told["branch"]) == (bad, "main")
    assert "40 tests, 40 failed" in told["log"]
    rows = [(row.job_id, row.outcome) for row in house.ide.test_results.table]
    assert rows.count((1, "passed")) == rows.count((2, "failed")) == 40
    assert good != bad
    assert house.refused("ci_status", job_id=9).code == "not_found"
    assert house.findings() == []


def test_a_job_is_found_by_its_commit_however_many_came_after_it() -> None:
    house = busy()
    mine = push(house, "fine\n")
    for number in range(21):
        files = {"src/shop.py": f"fine {number}\n"}
        house.call("repo.push", branch=f"try-{number}", files=files, message="Try")
    house.wait("60s")
    newest = [key for key, _ in jobs(house)]
    assert newest == list(range(3, 23))
    for rev in (mine, mine[:7]):
        (job,) = house.call("ci_status", rev=rev)["ci_jobs"]
        assert (job["id"], job["rev"], job["status"]) == (1, mine, "passed")
    assert house.call("ci_status", rev="f" * 40)["ci_jobs"] == []
    assert house.refused("ci_status", rev=mine[:6]).code == "invalid_arguments"
    assert house.refused("ci_status", rev=mine, job_id=1).code == "invalid_arguments"
    assert house.findings() == []


def test_jobs_wait_for_a_worker() -> None:
    house = busy({"ci.workers": 1})
    for number in range(3):
        push(house, f"fine {number}\n")
    house.wait("1s")
    assert [status for _, status in jobs(house)] == ["running", "queued", "queued"]
    house.wait("2s")
    assert [status for _, status in jobs(house)] == ["passed", "running", "queued"]
    house.wait("4s")
    assert [status for _, status in jobs(house)] == ["passed"] * 3
    assert house.findings() == []


def test_a_push_that_is_refused_starts_no_job() -> None:
    house = busy()
    house.call("repo.push", branch="main", files={"NEWS": "n\n"}, message="News")
    house.call("write_file", path="a", content="a\n")
    house.call("commit", message="Mine")
    house.refused("push")
    assert len(jobs(house)) == 1


def test_the_terminal_starts_jobs_too() -> None:
    house = busy()
    house.call(
        "run_command", command="echo fine > src/shop.py; git commit -qam F; git push; sleep 3"
    )
    assert jobs(house) == [(1, "passed")]


@pytest.mark.parametrize("title", ["..x", "x.lock", "'a b'", "-x"])
def test_nothing_is_pushed_to_a_name_that_git_refuses(title: str) -> None:
    house = busy()
    told = house.call("run_command", command=f"git push origin HEAD:{title}")
    assert (told["exit_code"], told["stderr"]) == (
        128, f"fatal: invalid refspec 'HEAD:{title.strip(chr(39))}'\n",
    )  # fmt: skip
    assert jobs(house) == []


def test_a_long_job_keeps_its_lease() -> None:
    house = busy({"ci_jobs.lease.ttl": "1s", "ci.latency": "500ms"})
    push(house, "fine\n")
    house.wait("5s")
    assert jobs(house) == [(1, "passed")]
    assert house.findings() == []


def test_a_job_that_somebody_else_holds_is_tried_again() -> None:
    house = busy({"ci_jobs.lease.ttl": "3s", "ci_jobs.write.lock_wait": "1s"})
    leases = house.ide.ci_jobs.leases
    holder = house.world.spawn("holder", leases.acquire(operation(house), 1))
    house.ended(holder)
    push(house, "fine\n")
    house.wait("1s")
    assert jobs(house) == [(1, "queued")]
    house.wait("10s")
    assert jobs(house) == [(1, "passed")]


def operation(house: House) -> Any:
    from simharness.api import Actor, Operation

    return Operation(house.world, Actor(house.world, "holder", 0), 1)


def test_a_stale_checkout_gives_a_commit_the_result_of_another() -> None:
    house = busy({"ci.checkout": "stale_cache"})
    push(house, "broken\n")
    house.wait("3s")
    assert jobs(house) == [(1, "passed")]
    broken = house.ide.invariants()
    assert len(broken) == 1
    assert "was tested" in broken[0]
    assert [f.code for f in house.findings()] == ["H220"]


def test_flaky_tests_fail_by_chance_and_by_seed() -> None:
    def failed(seed: int, share: str) -> int:
        house = busy({"ci.flaky": share}, seed=seed)
        push(house, "fine\n")
        house.wait("3s")
        return sum(row.outcome == "failed" for row in house.ide.test_results.table)

    assert failed(1, "0.0") == 0
    assert failed(1, "1") == len(TESTS)
    few = [failed(seed, "0.2") for seed in range(4)]
    assert few == [failed(seed, "0.2") for seed in range(4)]
    assert len({*few}) > 1
    assert 10 < sum(few) < 60


def test_a_well_run_ide_has_no_findings() -> None:
    house = House(profile="production", runner=Scripted(suite=MIXED), seed=3, drawn=True)
    for number in range(4):
        house.call("open_file", path="src/shop.py")
        house.call("search_text", pattern="def")
        push(house, f"fine {number}\n")
        house.call("list_files")
        house.call("run_tests")
        house.call(
            "run_command", command="git fetch; grep -rn def . | head -n 3; git log --oneline"
        )
        house.call("ci_status")
        house.wait("20s")
        house.call("ci_status", job_id=1)
    assert house.findings() == []
    assert FILES["README.md"] == house.text("README.md")


@pytest.mark.parametrize(
    ("knob", "values"),
    [
        ("ci.workers", [1]),
        ("ci.latency", ["3s"]),
        ("ci.checkout", ["stale_cache"]),
        ("ci.flaky", ["0.5", 0.25, 1]),
        ("terminal.max_output", [5]),
        ("terminal.background", ["hang"]),
        ("history.leak", ["past", "future"]),
    ],
)
def test_each_knob_of_its_own_changes_what_happens(knob: str, values: list[object]) -> None:
    from simharness.models.ide.initial import Entry, Start

    start = Start(
        files=FILES,
        history=(
            Entry(message="P", files={"src/shop.py": "past\n"}, leak="past"),
            Entry(message="F", files={"src/shop.py": "future\n"}, leak="future"),
        ),
    )

    def story(config: dict[str, object]) -> object:
        house = busy(config, start=start)
        push(house, "fine\n")
        push(house, "broken\n")
        push(house, "fine too\n")
        house.call("run_command", command="sleep 1 & git log --all")
        house.wait("4s")
        return (house.world.rows, house.call("run_command", command="git log --all --oneline"))

    assert all(story({knob: value}) != story({}) for value in values)


@pytest.mark.parametrize("value", ["1.5", "-0.1", "x", None, 2, "0.1234567", True])
def test_a_share_is_from_0_to_1(value: object) -> None:
    from simharness.errors import UsageError

    with pytest.raises(UsageError, match=r"ci\.flaky"):
        House({"ci.flaky": value})
