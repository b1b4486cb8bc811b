"""Plays episodes in a process of its own: `python -m simharness.selfcheck.child JOB`.

JOB is JSON, as `job_text` writes it. The answer is a line of JSON on stdout: the digest and the
verdict's digest of each episode by its number, or an error.
"""

from __future__ import annotations

import gc
import json
import os
import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

from simharness.selfcheck.variants import Order

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from simharness.episode.plan import Plan
    from simharness.rollout.request import Request


def job_text(request: Request, order: Order, collector: str, folder: Path | None) -> str:
    """Write a job: a request, the order of its episodes, and where to leave their recordings."""
    job = {
        "request": request.record(),
        "order": str(order),
        "collector": collector,
        "folder": None if folder is None else str(folder),
    }
    return json.dumps(job, separators=(",", ":"))


def numbers(order: Order, count: int) -> Iterator[int]:
    """Give the numbers of the episodes as an order plays them."""
    match order:
        case Order.FORWARD:
            yield from range(count)
        case Order.BACKWARD:
            yield from reversed(range(count))
        case Order.TWICE:
            for number in range(count):
                yield number
                yield number
        case Order.ALONE:
            yield count // 2


def play(job: Mapping[str, Any]) -> dict[str, list[str]]:
    """Play the episodes of a job: number to the digests of the episode and of its verdict."""
    from simharness.episode.policies import PolicySource
    from simharness.product.registry import load_scenario
    from simharness.rollout.request import read_request

    request = read_request(job["request"])
    sources = {
        (name, policy): PolicySource(policy, load_scenario(name)[1], len(request.seeds))
        for name in request.scenarios
        for policy in request.policies
    }
    out: dict[str, list[str]] = {}
    for number in numbers(Order(job["order"]), len(request)):
        entry = request.entry(number)
        source = sources[entry.scenario, entry.policy]
        path = None if job["folder"] is None else os.path.join(job["folder"], f"{number}.simrec")
        plan = request.plan(entry)
        out[str(number)] = play_one(plan, source, entry.seed - request.seeds.start, path)
    return out


def play_one(plan: Plan, source: Any, number: int, path: str | None) -> list[str]:
    """Play one episode and judge it; leaves its recording where asked to."""
    from simharness.blame.attribution import judge
    from simharness.env import new_episode
    from simharness.episode.play import drive
    from simharness.errors import HarnessError, SimharnessError
    from simharness.recording.writer import FrameLog
    from simharness.selfcheck.difference import judged
    from simharness.values import digest_of

    log = FrameLog()
    episode = new_episode(plan, source.name, log)
    policy = source.policy(number)
    try:
        drive(episode, policy)
    except HarnessError:
        if episode.aborted is None:
            raise
    expert = episode.scenario.policies.get("expert")
    try:
        verdict = judge(episode, policy if source.askable else None, expert).record()
    except SimharnessError as error:
        # Its re-runs go astray where the product does; what the episode came to is still told.
        verdict = {"error": type(error).code}
    episode.close(verdict)
    if path is not None:
        with open(path, "wb") as file:
            file.write(log.to_bytes())
    return [log.digest, digest_of(judged(verdict))]


def set_collector(how: str) -> None:
    """Set the collector of this process: "off", "eager", or empty for Python's own way."""
    if how == "off":
        gc.disable()
    elif how == "eager":
        # What has been imported so far is garbage to nobody, and looking at it takes most time.
        gc.freeze()
        gc.set_threshold(1)


def main(argv: list[str]) -> None:
    """Play a job and answer."""
    job = json.loads(argv[0])
    # What the product prints is not the answer.
    answers = os.dup(1)
    os.dup2(2, 1)
    # Products are loaded after all else, with the collector as it is asked for.
    import_module("simharness.env")
    set_collector(job["collector"])
    from simharness.errors import SimharnessError

    answer: dict[str, Any]
    try:
        answer = {"episodes": play(job)}
    except SimharnessError as error:
        answer = {"error": {"code": error.code, "message": error.message, "hint": error.hint}}
    with os.fdopen(answers, "w", encoding="ascii") as out:
        out.write(json.dumps(answer) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
