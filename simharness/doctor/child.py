"""Hosts a target in a process of its own: `python -m simharness.doctor.child JOB LINK CLOCK`.

JOB is a target as JSON. LINK is the number of a socket on which requests come and answers go, a
line of JSON each. CLOCK is the number of a file in which the process leaves, before everything that
it asks of the target, how much it has asked so far and what: whoever waits can tell a hang from
work.
"""

from __future__ import annotations

import faulthandler
import importlib
import json
import mmap
import os
import signal
import socket
import statistics
import sys
import time
import traceback
from typing import TYPE_CHECKING, Any

from simharness.doctor.check import WARM_SESSIONS
from simharness.doctor.injection import inject, says_so
from simharness.doctor.session import Lost, Refused, Unusable
from simharness.doctor.vitals import vitals
from simharness.memory import give_back

if TYPE_CHECKING:
    from collections.abc import Callable

    from simharness.doctor.session import Session, Source, Turn

CLOCK_BYTES = 256
SOURCES = {
    "gymnasium": ("simharness.doctor.local", "LocalSource"),
    "factory": ("simharness.doctor.local", "LocalSource"),
    "openenv": ("simharness.doctor.openenv", "OpenEnvSource"),
    "mcp": ("simharness.doctor.mcp", "McpSource"),
}
POOL = 500
"""Actions that pings are taken from, in turn."""
ERRORS_MAX = 20
"""Pings that may fail before the rest isn't sent."""


class Host:
    """Does what it is asked for with a target."""

    def __init__(self, clock: mmap.mmap) -> None:
        self._clock = clock
        self._asked = 0
        self._sessions: dict[str, Session] = {}
        self.source: Source

    def before(self, what: str) -> None:
        """Leave word of what is asked of the target next."""
        self._asked += 1
        text = what.encode("utf-8", "replace")[: CLOCK_BYTES - 9]
        self._clock[:] = self._asked.to_bytes(8, "little") + text.ljust(CLOCK_BYTES - 8, b"\0")

    def open(self, job: dict[str, Any]) -> dict[str, Any]:
        """Open the target, and tell what is known of it."""
        self.before("opening it")
        module, name = SOURCES[job["kind"]]
        self.source = getattr(importlib.import_module(module), name)(job)
        return self.source.facts

    def do(self, request: dict[str, Any]) -> Any:
        """Do what a request says."""
        words = dict(request)
        method: Callable[..., Any] = getattr(self, f"do_{words.pop('do')}")
        return method(**words)

    def do_facts(self) -> dict[str, Any]:
        """Tell what is known of the target by now."""
        return self.source.facts

    def do_draw(self, seed: int, count: int) -> list[Any]:
        """Draw actions."""
        self.before("drawing actions")
        return self.source.draw(seed, count)

    def do_script(self, lines: list[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
        """Reset and step named sessions in a given order; gives the transcript of each name.

        A line is `{"as": TRANSCRIPT, "session": NAME}` with `seed` (a reset), `action` (a step) or
        `close`. What comes of a session that has ended or failed is left out.
        """
        out: dict[str, list[dict[str, Any]]] = {}
        over: set[str] = set()
        for line in lines:
            name, to = line["session"], line.get("as", line["session"])
            if line.get("close"):
                self._close(name)
                continue
            told = out.setdefault(to, [])
            if "seed" in line:
                over.discard(to)
            elif to in over:
                continue
            turn, record = self._turn(name, line, f"{len(told)} of {to!r}")
            told.append(record)
            if turn is None or turn.ended:
                over.add(to)
        for name in list(self._sessions):
            self._close(name)
        return out

    def do_agent(
        self, seeds: list[int], steps: int, null: bool = False, session: str = ""
    ) -> list[dict[str, Any]]:
        """Play episodes with the null action or random ones; gives what each came to.

        With `session` all are of that one, which stays open.
        """
        out: list[dict[str, Any]] = []
        for seed in seeds:
            name = session or "agent"
            self.before(f"drawing actions for seed {seed}")
            actions = [self.source.null()] * steps if null else self.source.draw(seed, steps)
            turn, record = self._turn(name, {"seed": seed}, f"seed {seed}")
            rewards: list[Any] = []
            flaws: list[str] = list(record.get("flaws", ()))
            raised = record.get("raised", "")
            for number, action in enumerate(actions, 1):
                if turn is None or turn.ended:
                    break
                turn, record = self._turn(name, {"action": action}, f"{number} of seed {seed}")
                raised = record.get("raised", "")
                if turn is not None:
                    rewards.append(record["reward"])
                    flaws += record["flaws"]
            if not session:
                self._close(name)
            out.append({
                "seed": seed,
                "steps": len(rewards),
                "ended": turn is not None and turn.ended,
                "raised": raised,
                "flaws": list(dict.fromkeys(flaws))[:5],
                "odd": list(dict.fromkeys(map(str, filter(odd, rewards))))[:5],
                "paid": sum(r for r in rewards if isinstance(r, float)),
                "low": min((r for r in rewards if isinstance(r, float)), default=None),
                "high": max((r for r in rewards if isinstance(r, float)), default=None),
            })  # fmt: skip
        return out

    def do_garbage(self, seed: int, action: Any) -> list[dict[str, Any]]:
        """Send what is no action, each to an episode of its own after one step."""
        out: list[dict[str, Any]] = []
        for name, wrong in self.source.garbage():
            self._turn("garbage", {"seed": seed}, "before garbage")
            sound, record = self._turn("garbage", {"action": action}, "before garbage")
            if sound is not None and not sound.ended:
                turn, record = self._turn("garbage", {"action": wrong}, name)
                said = turn is not None and says_so(turn, sound)
                out.append({"name": name, "said": said, **record})
            self._close("garbage")
        return out

    def do_inject(self, seed: int, actions: list[Any], **words: Any) -> dict[str, Any]:
        """Raise exceptions inside of the target; `words` are those of `inject`."""
        return inject(self.source, seed, actions, before=self.before, **words)

    def do_pings(self, pings: int, seed: int, seconds: float) -> dict[str, Any]:
        """Step one session many times, with a reset after each end; measures on the way.

        It is measured after resets, so that what an episode holds while it goes on is no leak.
        """
        actions = self.source.draw(seed, POOL)
        times: list[int] = []
        errors: list[str] = []
        resets = failed = 0
        turn: Turn | None = None
        until = time.monotonic() + seconds
        warm, warmed, due = None, max(1, pings // 5), False
        before_warm = 0
        while len(times) < pings and failed < ERRORS_MAX and time.monotonic() < until:
            if turn is None or turn.ended or due:
                turn, record = self._turn("pings", {"seed": seed + resets}, f"reset {resets}")
                resets += 1
                if due and turn is not None:
                    warm, before_warm, due = measured(), resets, False
            else:
                number = len(times)
                before = time.perf_counter_ns()
                turn, record = self._turn("pings", {"action": actions[number % POOL]},
                                          f"ping {number}", False)  # fmt: skip
                times.append(time.perf_counter_ns() - before)
                due = len(times) == warmed
            if turn is None:
                failed += 1
                errors.append(f"ping {len(times)}: {record['raised']}")
                self._close("pings")
        if failed < ERRORS_MAX:
            turn, record = self._turn("pings", {"seed": seed + resets}, "the last reset")
            if turn is None:
                failed += 1
                errors.append(f"the last reset: {record['raised']}")
        after = measured()
        self._close("pings")
        return {"pings": len(times), "resets": resets, "failed": failed, "errors": errors[:5],
                "warm": warm, "after": after, **spread(times),
                "counted": [len(times) - warmed, resets - before_warm]}  # fmt: skip

    def do_sessions(self, count: int, seed: int, seconds: float) -> dict[str, Any]:
        """Open, use and close sessions; measures after the first few, and at the end."""
        (action,) = self.source.draw(seed, 1)
        warm = None
        errors: list[str] = []
        done = 0
        until = time.monotonic() + seconds
        while done < count and time.monotonic() < until and not errors:
            if done == WARM_SESSIONS:
                warm = measured()
            turn, record = self._turn("one of many", {"seed": seed}, f"session {done}")
            if turn is not None and not turn.ended:
                turn, record = self._turn("one of many", {"action": action}, f"session {done}")
            if turn is None:
                errors.append(f"session {done}: {record['raised']}")
            self._close("one of many")
            done += 1
        return {"sessions": done, "errors": errors, "warm": warm, "after": measured()}

    def _turn(
        self, name: str, line: dict[str, Any], label: str, whole: bool = True
    ) -> tuple[Turn | None, dict[str, Any]]:
        """Reset or step a session, which is opened if it isn't; gives the turn and its record."""
        try:
            if name not in self._sessions:
                self.before(f"opening a session ({label})")
                self._sessions[name] = self.source.open()
            session = self._sessions[name]
            if "seed" in line:
                self.before(f"reset(seed={line['seed']}) ({label})")
                turn = session.reset(line["seed"])
            else:
                self.before(f"step {label}")
                turn = session.step(line["action"])
        except (Exception, SystemExit) as error:
            return None, {"raised": told(error)}
        return turn, turn.record(whole)

    def _close(self, name: str) -> None:
        session = self._sessions.pop(name, None)
        if session is not None:
            self.before("closing a session")
            session.close()


def odd(reward: Any) -> bool:
    """Tell a reward that is there and no number to train on, as `Turn.record` writes it."""
    return reward is not None and not isinstance(reward, float)


def told(error: BaseException) -> str:
    """Say what was raised and where; of what a protocol refused, what it said."""
    if isinstance(error, Refused | Lost | Unusable):
        return f"{type(error).__name__.lower()}: {error.args[0]}"
    frames = traceback.extract_tb(error.__traceback__)
    where = f" ({os.path.basename(frames[-1].filename)}:{frames[-1].lineno})" if frames else ""
    text = " ".join(str(error).split())
    return f"{type(error).__name__}{': ' if text else ''}{text:.200}{where}"


def measured() -> dict[str, int] | None:
    """Measure what is held once this process has given back what it can."""
    give_back()
    return vitals()


def spread(times: list[int]) -> dict[str, float]:
    """Give the spread of times in ms, and the medians of the first and the last fifth."""
    if not times:
        return {}
    ordered = sorted(times)
    fifth = max(1, len(times) // 5)
    return {
        "p50_ms": ordered[len(times) // 2] / 1e6,
        "p99_ms": ordered[len(times) * 99 // 100] / 1e6,
        "max_ms": ordered[-1] / 1e6,
        "first_ms": statistics.median(times[:fifth]) / 1e6,
        "last_ms": statistics.median(times[-fifth:]) / 1e6,
    }


def main(argv: list[str]) -> None:
    """Open the target, then answer requests until there are no more."""
    job = json.loads(argv[0])
    link = socket.socket(fileno=int(argv[1]))
    link.set_inheritable(False)
    clock = mmap.mmap(int(argv[2]), CLOCK_BYTES)
    os.close(int(argv[2]))
    # Who waits in vain asks where it hangs.
    faulthandler.register(signal.SIGUSR1, all_threads=False)
    host = Host(clock)
    lines = link.makefile("rb")

    def send(answer: dict[str, Any]) -> None:
        link.sendall(json.dumps(answer).encode("ascii") + b"\n")

    try:
        send({"opened": host.open(job)})
    except (Exception, SystemExit) as error:
        unusable = error if isinstance(error, Unusable) else Unusable(told(error))
        send({"unusable": unusable.message, "hint": unusable.hint, "extra": unusable.extra})
        return
    for line in lines:
        try:
            send({"done": host.do(json.loads(line))})
        except (Exception, SystemExit) as error:
            send({"broke": told(error)})
    host.source.close()


if __name__ == "__main__":
    main(sys.argv[1:])
