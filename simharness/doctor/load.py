"""Whether it stands many pings and many sessions, at what pace, and what it keeps of them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from simharness.doctor.check import STARTS, WARM_SESSIONS, Check, Result, decided, skipped, unknown

if TYPE_CHECKING:
    from simharness.doctor.examination import Examination

PINGS = "runtime.pings"
SLACK_BYTES = 2_000_000
"""What our process may grow by in any case: arenas in use, caches that fill, the pings' times."""
FOREIGN_SLACK_BYTES = 16_000_000
"""The same of processes that a target starts, which can't be told to give back what is free."""
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
    """Give what came of the pings and the sessions; they are made once.

    Those after which a process has grown are made again in it: what is filled once is no leak.
    """
    if exam.soak is None:
        with exam.fresh() as patient:

            def made(do: str, **words: Any) -> dict[str, Any]:
                first = asked(do, **words)
                # One that failed is told, and not held against anything.
                if not first["errors"] and grown(first).get("bytes", 0) > slack_of(exam):
                    first["again"] = asked(do, **words)
                return first

            def asked(do: str, **words: Any) -> dict[str, Any]:
                left = exam.left() * SHARE
                told: dict[str, Any] = patient.ask(do, seed=exam.seed, seconds=left, **words)
                return told

            told = made("pings", pings=exam.size.pings)
            told["sessions"] = made("sessions", count=exam.size.sessions)
        exam.soak = told
    return exam.soak


def slack_of(exam: Examination) -> int:
    """Give what a process may grow by in any case."""
    return SLACK_BYTES if exam.target.local else FOREIGN_SLACK_BYTES


def grown(span: dict[str, Any]) -> dict[str, int]:
    """Give what has come of each thing measured; nothing where it couldn't be, or too few were."""
    warm, after = span["warm"], span["after"]
    return {key: after[key] - warm[key] for key in after} if warm and after else {}


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
    """Hold memory, threads and files after the pings and sessions against those before.

    What may leak unseen is the more the fewer there were, and is told.
    """
    if exam.target.remote:
        return skipped("the server's process is not ours to measure")
    told = soak(exam)
    sessions = told["sessions"]
    wrong: list[str] = []
    measured: dict[str, Any] = {}
    slack = slack_of(exam)
    pinged, resets = told["counted"]
    opened = sessions["sessions"] - WARM_SESSIONS
    room = max(slack, PING_BYTES * pinged)
    for name, span, count, most in (
        ("pings", told, pinged, room),
        ("sessions", sessions, opened, slack),
    ):
        more = grown(span)
        if not more:
            return unknown(f"too few {name} were made, or there is no /proc to measure with")
        measured[f"{name}_mb"] = round(more["bytes"] / 1e6, 1) + 0.0  # no -0
        if more["bytes"] > most and "again" in span:
            more["bytes"] = min(more["bytes"], grown(span["again"]).get("bytes", more["bytes"]))
            measured[f"{name}_mb_again"] = round(more["bytes"] / 1e6, 1) + 0.0  # no -0
        if more["bytes"] > most:
            wrong.append(f"{count} {name} left {more['bytes'] / 1e6:.1f} MB behind")
        for key in ("threads", "files", "processes"):
            measured[f"{name}_{key}"] = more[key]
            if more[key] >= max(3, min(count // 2, 20)):
                wrong.append(f"{count} {name} left {more[key]} {key} behind")
    unseen = ", ".join(
        f"{most // max(1, count):,} bytes a {name}"
        for name, most, count in (
            ("ping", room, pinged), ("reset", room, resets), ("session", slack, opened)
        )
    )  # fmt: skip
    return replace(
        decided(measured, wrong), unproved=f"that a leak of less than {unseen} doesn't add up"
    )


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
        unproved="that a leak doesn't add up which so few don't show; how much that is, is told",
        remedy="close what a session opens, and keep nothing of an episode that is over",
        run=resource_bounds,
        needs=PINGS,
    ),
)
