"""Whether an episode is a function of its seed and its actions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simharness.doctor.check import DETERMINISM, SEEDS, STARTS, Check, decided, skipped, unknown
from simharness.doctor.difference import parted
from simharness.doctor.examination import HASH_SEEDS

if TYPE_CHECKING:
    from simharness.doctor.check import Result
    from simharness.doctor.examination import Examination, Line, Transcript

REASONS = ("the seed is dropped at times", "chance has another source", "the clock gets in")


def plays(exam: Examination) -> list[Line]:
    """Play each seed in a session of its own, then one seed by two resets of another session.

    All take the actions of the first seed, so that only the seed can make a difference.
    """
    lines: list[Line] = []
    actions = exam.actions(exam.seed)
    for seed in exam.seeds:
        name = f"seed {seed}"
        whole: Line = {"session": name, "as": name}
        lines += [whole | {"seed": seed}, *(whole | {"action": a} for a in actions)]
        lines.append({"session": name, "close": True})
    again: Line = {"session": "again", "as": "once"}
    lines.append(again | {"seed": exam.seed})
    again["as"] = "twice"
    lines += [again | {"seed": exam.seed}, *(again | {"action": a} for a in actions)]
    return lines


def made(exam: Examination, hash_seed: str) -> dict[str, Transcript]:
    """Have that played by a fresh process."""
    with exam.fresh(hash_seed) as patient:
        told: dict[str, Transcript] = patient.ask("script", lines=plays(exam))
    return told


def first(exam: Examination) -> dict[str, Transcript]:
    """Give what the process that all others are held against has played; it does it once."""
    if not exam.base:
        exam.base = made(exam, HASH_SEEDS[0])
    return exam.base


def seed_control(exam: Examination) -> Result:
    """Play seeds in two processes that are alike, and reset twice to one seed."""
    one, other = first(exam), made(exam, HASH_SEEDS[0])
    wrong: list[str] = []
    for name, transcript in one.items():
        if where := parted(transcript, other[name]):
            wrong.append(f"{name}, played by two processes that are alike, parts at {where}")
    if not wrong and (where := parted(one[f"seed {exam.seed}"], one["twice"])):
        wrong.append(f"reset(seed={exam.seed}), made twice, gives another episode, from {where}")
    told = {str(transcript) for name, transcript in one.items() if name.startswith("seed ")}
    measured = {"seeds": len(exam.seeds), "different_episodes": len(told)}
    if not wrong and len(told) == 1 and len(exam.seeds) > 1:
        return unknown(
            f"{len(exam.seeds)} seeds give one episode for the same actions: either nothing here "
            "is left to chance, or the seed is dropped for one that is fixed",
            measured,
        )
    return decided(measured, wrong)


def episode_determinism(exam: Examination) -> Result:
    """Play the same in a process with another hash seed."""
    if exam.target.remote:
        return skipped("the server runs where it runs: its processes are not ours to start")
    one, other = first(exam), made(exam, HASH_SEEDS[1])
    wrong = [
        f"{name} parts from that of a process with another PYTHONHASHSEED at {where}"
        for name, transcript in one.items()
        if (where := parted(transcript, other[name]))
    ]
    return decided({"episodes": len(one), "hash_seeds": list(HASH_SEEDS)}, wrong)


CHECKS = (
    Check(
        id=SEEDS,
        doc="the same seed gives the same episode, by every reset, and other seeds give others",
        unproved="that seeds which weren't played differ, nor that all that may vary does",
        remedy="draw everything from a generator that each reset makes anew from its seed; "
        "leave keys out that only name a session with --ignore KEY",
        run=seed_control,
        needs=STARTS,
    ),
    Check(
        id=DETERMINISM,
        doc="a process with another hash seed plays the same episodes",
        unproved="the same on another machine, operating system or version of a library",
        remedy="don't derive seeds or order from hash(), id() or sets; sort, or use hashlib",
        run=episode_determinism,
        needs=SEEDS,
    ),
)
