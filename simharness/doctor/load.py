"""Whether it stands many pings and many sessions, at what pace, and what it keeps of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from simharness.doctor.check import STARTS, Check, Result, decided, skipped, unknown

if TYPE_CHECKING:
    from simharness.doctor.examination import Examination

PINGS = "runtime.pings"
SLACK_BYTES = 16_000_000
"""What a process may grow by in any case: arenas of the allocator, modules imported late."""
PING_BYTES = 1_000
"""What a ping may leave behind."""
P99_MS_MAX = 1_000.0
SLOWER_MAX = 3.0
"""How many times slower the last fifth of the pings may be than the first."""
NOISE_MS = 5.0
"""What it may be slower by in any case: the machine has other work."""
SHARE = 0.6
"""Of the time that is left, what pings may take."""


def soak(exam: Examination) -> dict[str, Any]:
    """Give what came of the pings; they are sent once."""
    if exam.soak is None:
        with exam.fresh() as patient:
            told: dict[str, Any] = patient.ask(
                "pings", pings=exam.size.pings, seed=exam.seed, seconds=exam.left() * SHARE
            )
            told["sessions"] = patient.ask(
                "sessions",
                count=exam.size.sessions,
                seed=exam.seed,
                seconds=exam.left() * SHARE,
            )
        exam.soak = told
    return exam.soak


def pings(exam: Examination) -> Result:
    """Step one session many times, with a reset after each end."""
    told = soak(exam)
    measured = {key: told[key] for key in ("pings", "resets", "failed")}
    wrong = list(told["errors"])
    wrong += told["sessions"]["errors"]
    if not wrong and told["pings"] < exam.size.pings:
        return unknown(
            f"time was up after {told['pings']} of {exam.size.pings} pings: give fewer with "
            "--pings, or more time with --minutes",
            measured,
        )
    return decided(measured, wrong)


def latency(exam: Examination) -> Result:
    """Look at how long the pings took."""
    told = soak(exam)
    if not told["pings"]:
        return unknown("no ping was answered")
    measured = {k: round(told[k], 3) for k in ("p50_ms", "p99_ms", "max_ms", "first_ms", "last_ms")}
    wrong: list[str] = []
    if told["p99_ms"] > P99_MS_MAX:
        wrong.append(f"one ping in a hundred takes {told['p99_ms']:.0f} ms or more")
    if told["last_ms"] > SLOWER_MAX * told["first_ms"] + NOISE_MS:
        wrong.append(
            f"it slows down: {told['first_ms']:.3g} ms a ping in the first fifth, "
            f"{told['last_ms']:.3g} ms in the last"
        )
    return decided(measured, wrong)


def resource_bounds(exam: Examination) -> Result:
    """Hold memory, threads and files after the pings and sessions against those before."""
    if exam.target.remote:
        return skipped("the server's process is not ours to measure")
    told = soak(exam)
    sessions = told["sessions"]
    wrong: list[str] = []
    measured: dict[str, Any] = {}
    spans = (
        ("pings", told, told["pings"] - told["pings"] // 5, PING_BYTES),
        ("sessions", sessions, sessions["sessions"] - 5, 0),
    )
    for name, span, count, each in spans:
        warm, after = span["warm"], span["after"]
        if warm is None or after is None:
            return unknown(f"too few {name} were made, or there is no /proc to measure with")
        grown = {key: after[key] - warm[key] for key in after}
        measured[f"{name}_mb"] = round(grown["bytes"] / 1e6, 1)
        if grown["bytes"] > max(SLACK_BYTES, each * count):
            wrong.append(f"{count} {name} left {grown['bytes'] / 1e6:.0f} MB behind")
        for key in ("threads", "files", "processes"):
            measured[f"{name}_{key}"] = grown[key]
            if grown[key] >= max(3, min(count // 2, 20)):
                wrong.append(f"{count} {name} left {grown[key]} {key} behind")
    return decided(measured, wrong)


CHECKS = (
    Check(
        id=PINGS,
        doc="it stands many pings, and many sessions one after the other",
        unproved="the same of many clients at a time, or of days",
        remedy="run the command below and read what the first failure says",
        run=pings,
        needs=STARTS,
    ),
    Check(
        id="runtime.latency",
        doc="99 pings of 100 take less than a second, and the last are as fast as the first",
        unproved="the same on another machine, or under load",
        remedy="look for what is done anew each time, and for what grows",
        run=latency,
        needs=PINGS,
    ),
    Check(
        id="runtime.resource_bounds",
        doc="pings and sessions leave no memory, thread, file or process behind",
        unproved=f"that a leak of less than {PING_BYTES} bytes a ping doesn't add up",
        remedy="close what a session opens, and keep nothing of an episode that is over",
        run=resource_bounds,
        needs=PINGS,
    ),
)
