"""Job queues: what is put down is done by so many workers, tried again, and given up in the end."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simharness.kernel.schedule import Fifo, Random
from simharness.parts.queue import BACKOFF_MAX, JobQueue, backoff_ticks
from simharness.parts.refusal import Refused
from simharness.units import SECOND
from tests.parts.posts import Bed, Steps

if TYPE_CHECKING:
    from simharness.parts.reaction import Reaction


class Shop(Bed):
    """A queue of jobs that take some ticks and fail so many times: `(name, ticks, failures)`."""

    def __init__(self, workers: int = 1, seed: int = 0, *, drawn: bool = False) -> None:
        super().__init__(seed, Random(seed) if drawn else Fifo())
        self.failed: dict[str, int] = {}
        self.queue: JobQueue[tuple[str, int, int]] = JobQueue(
            self.world, "jobs", self.work, workers=workers
        )

    def work(self, op: Reaction, job: tuple[str, int, int]) -> Steps:
        name, ticks, failures = job
        self.note(f"{name} begins")
        yield self.world.pause(ticks)
        if self.failed.get(name, 0) < failures:
            self.failed[name] = self.failed.get(name, 0) + 1
            raise Refused("unavailable", "not now")
        self.note(name)

    def put(self, *jobs: tuple[str, int, int]) -> None:
        for job in jobs:
            self.queue.put(self.op(), job, job[0])

    def done(self) -> list[tuple[int, str]]:
        return [(t, what) for t, what in self.log if " " not in what]


def test_jobs_are_done_in_their_order_by_so_many_workers() -> None:
    shop = Shop(workers=2)
    shop.put(("a", 10, 0), ("b", 3, 0), ("c", 3, 0), ("d", 3, 0))
    shop.end()
    assert shop.done() == [(3, "b"), (6, "c"), (9, "d"), (10, "a")]
    assert [row[1][1] for row in shop.rows("JOB")] == ["a", "b", "c", "d"]
    assert shop.rows("JOBEND") == [(t, ("jobs", "done")) for t in (3, 6, 9, 10)]


def test_a_job_is_a_reaction_to_what_put_it_down() -> None:
    shop = Shop()
    shop.world.advance_to(5)
    shop.put(("a", 10, 0))
    assert shop.world.reactions == 1
    shop.world.advance_to(14)
    assert shop.world.reactions == 1
    shop.world.advance_to(15)
    assert shop.world.reactions == 0
    assert shop.rows("CAUSED") == [(5, ("agent", 1))]


def test_a_job_that_fails_is_tried_again_after_a_while_that_doubles() -> None:
    shop = Shop()
    shop.put(("a", 0, 3))
    shop.end()
    begun = [t for t, what in shop.log if what == "a begins"]
    assert begun == [0, SECOND, 3 * SECOND, 7 * SECOND]
    assert [row[1][1] for row in shop.rows("JOBEND")] == ["failed"] * 3 + ["done"]


def test_others_are_done_while_a_job_rests() -> None:
    shop = Shop()
    shop.put(("a", 1, 1), ("b", 1, 0))
    shop.end()
    assert shop.done() == [(2, "b"), (SECOND + 2, "a")]


def test_a_job_that_fails_for_good_is_put_aside() -> None:
    shop = Shop()
    shop.queue.attempts = 3
    shop.put(("a", 0, 9), ("b", 0, 0))
    shop.end()
    assert [job.label for job in shop.queue.dead] == ["a"]
    assert [row[1][1] for row in shop.rows("JOBEND")] == ["failed", "done", "failed", "dead"]
    assert shop.world.reactions == 0


@pytest.mark.parametrize(
    ("failed", "ticks"), [(1, 5), (2, 10), (4, 40), (60, BACKOFF_MAX), (10_000, BACKOFF_MAX)]
)
def test_the_wait_between_attempts_doubles_up_to_a_day(failed: int, ticks: int) -> None:
    assert backoff_ticks(5, failed) == ticks


def test_a_full_queue_drops_what_comes_and_says_so() -> None:
    shop = Shop()
    shop.queue.length = 2
    shop.world.settle()
    shop.put(("a", 5, 0), ("b", 5, 0), ("c", 5, 0))
    assert shop.queue.put(shop.op(), ("d", 5, 0), "d") is None
    assert shop.world.alarms == 1
    shop.end()
    assert [name for _, name in shop.done()] == ["a", "b", "c"]
    assert ("jobs", "dropped") in [row[1] for row in shop.rows("JOBEND")]
    assert shop.world.reactions == 0


def test_a_paused_queue_begins_nothing_and_goes_on_when_resumed() -> None:
    shop = Shop(workers=2)
    shop.put(("a", 5, 0))
    shop.world.advance_to(2)
    shop.queue.pause()
    shop.put(("b", 5, 0), ("c", 5, 0))
    shop.world.advance_to(100)
    assert shop.done() == [(5, "a")]
    assert shop.queue.waiting == 2
    shop.queue.resume()
    shop.end()
    assert shop.done() == [(5, "a"), (105, "b"), (105, "c")]


def test_the_number_of_workers_can_change() -> None:
    shop = Shop(workers=3)
    shop.world.advance_to(1)
    shop.queue.workers = 1
    shop.put(("a", 5, 0), ("b", 5, 0), ("c", 5, 0), ("d", 5, 0))
    shop.world.advance_to(6)
    shop.queue.workers = 4
    shop.end()
    assert shop.done() == [(6, "a"), (11, "b"), (11, "c"), (11, "d")]


def test_in_any_order_means_drawn_by_the_jobs_own_addresses() -> None:
    def order(names: str) -> list[str]:
        shop = Shop()
        shop.queue.order = "any"
        shop.queue.pause()
        for name in names:
            actor = shop.user if name.isupper() else shop.agent
            shop.queue.put(shop.op(actor), (name, 1, 0), name)
        shop.queue.resume()
        shop.end()
        return [name for _, name in shop.done()]

    assert sorted(order("abcdefgh")) == list("abcdefgh")
    assert order("abcdefgh") != list("abcdefgh")
    assert order("abcdefgh") == order("abcdefgh")
    assert [n for n in order("abcdefgH") if n != "H"] == [n for n in order("abcdefgh") if n != "h"]


# --- workers that are taken for dead --------------------------------------------------------------


def test_a_worker_that_says_it_is_still_at_it_keeps_its_job() -> None:
    shop = Shop(workers=2)
    shop.queue.once = True
    shop.queue.visibility = 10
    shop.put(("a", 25, 0))
    shop.end()
    assert shop.done() == [(25, "a")]
    assert shop.findings() == []


def test_a_slow_worker_that_says_nothing_has_its_job_done_twice() -> None:
    shop = Shop(workers=2)
    shop.queue.visibility = 10
    shop.queue.heartbeat = False
    shop.put(("a", 15, 0))
    shop.end()
    assert shop.done() == [(15, "a"), (25, "a")]
    reasons = [row[1][1] for row in shop.rows("JOBEND")]
    assert reasons == ["visible", "done", "done"]
    assert (shop.world.reactions, shop.world.alarms) == (0, 1)
    assert shop.findings() == []  # nobody has promised otherwise


def test_to_do_a_job_twice_breaks_a_promise_and_is_mended_by_value() -> None:
    shop = Shop(workers=2)
    shop.queue.once = True
    shop.queue.visibility = 10
    shop.queue.heartbeat = False
    shop.put(("a", 15, 0))
    shop.end()
    (finding,) = shop.findings()
    assert (finding.code, finding.mechanism) == ("H314", "queue:jobs")
    assert finding.evidence == {"job": "a", "queue": "jobs"}
    assert finding.explanation == "job a of jobs was done once more, 10us after the first time"


def test_a_repaired_queue_does_it_once() -> None:
    shop = Shop(workers=2)
    shop.world.repair = frozenset({"queue:jobs"})
    shop.queue.visibility = 10
    shop.queue.heartbeat = False
    shop.put(("a", 15, 0))
    shop.end()
    assert shop.done() == [(15, "a")]


def test_a_job_that_was_done_while_it_waited_once_more_is_left_alone() -> None:
    shop = Shop(workers=1)
    shop.queue.visibility = 10
    shop.queue.heartbeat = False
    shop.put(("a", 15, 0), ("b", 5, 0))
    shop.end()
    assert shop.done() == [(15, "a"), (20, "b")]


JOBS = st.lists(st.tuples(st.integers(0, 30), st.integers(0, 6)), max_size=12)


@settings(deadline=None)
@given(
    JOBS,
    st.integers(1, 4),
    st.sampled_from(["fifo", "any"]),
    st.booleans(),
    st.integers(0, 40),
    st.integers(0, 3),
)
def test_every_job_ends_once_however_it_goes(
    jobs: list[tuple[int, int]],
    workers: int,
    order: str,
    heartbeat: bool,
    visibility: int,
    seed: int,
) -> None:
    shop = Shop(workers, seed, drawn=True)
    shop.queue.once = heartbeat
    shop.queue.order, shop.queue.heartbeat = order, heartbeat
    shop.queue.visibility, shop.queue.attempts = visibility, 4
    for i, (ticks, failures) in enumerate(jobs):
        shop.put((f"j{i}", ticks, failures))
    shop.end()
    assert shop.world.reactions == 0
    dead = {job.label for job in shop.queue.dead}
    done = [name for _, name in shop.done()]
    assert dead | set(done) == {f"j{i}" for i in range(len(jobs))}
    if heartbeat:
        assert len(done) + len(dead) == len(jobs)
        assert dead == {f"j{i}" for i, (_, failures) in enumerate(jobs) if failures >= 4}
    assert shop.findings() == []


def test_a_job_that_is_done_in_the_instant_in_which_it_is_handed_out_again_is_left_alone() -> None:
    for seed in range(40):
        shop = Shop(2, seed, drawn=True)
        shop.queue.visibility, shop.queue.heartbeat = 10, False
        shop.put(("a", 10, 0))
        shop.end()
        assert {t for t, _ in shop.done()} in ({10}, {10, 20})
        assert shop.world.reactions == 0
