"""What must not get out or in: hidden truth, files, processes, sockets, memory."""

from __future__ import annotations

import json
import os
import sys
import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from simharness.episode.play import drive, raw_call, task_of
from simharness.errors import UsageError
from simharness.memory import settled
from simharness.validate.check import Check, Result, decided, skipped
from simharness.validate.plays import harmless, harmless_call

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping

    from simharness.episode.episode import Episode
    from simharness.episode.step import Result as Told
    from simharness.product.tool import ToolSpec
    from simharness.validate.subject import Subject

NAMES_MAX = 64
"""Values of an instance that twins are tried for."""
TWINS_MAX = 6
"""Hidden values whose twins are played, for each of two seeds."""
TURNS, CALLS = 6, 8
"""How long twins are watched, and by how many calls a turn; the first has one of each tool."""
TURN = 1000
"""Draws that a turn has for itself."""
WEATHER = ("locked", "conflict", "rate_limited", "unavailable", "unknown_outcome")
"""Refusals that tell of somebody at work, which others may see, and of no value."""
TEXT_MIN = 16
"""Characters from which what the goal says is told from a chance phrase."""


# --- hidden truth ---------------------------------------------------------------------------------


class Swap(NamedTuple):
    """One value of an instance, and a twin of the episode that differs in it alone."""

    seed: int
    name: str
    pins: Mapping[str, Any]
    twin_pins: Mapping[str, Any]
    hidden: bool
    """Whether it changes neither the prompt nor a row of the start."""
    leaks: bool
    """Whether it changes the brief and not the prompt."""


@lru_cache(maxsize=1)
def swaps(subject: Subject) -> tuple[Swap, ...]:
    """Swap each value of the instances of two seeds for one that another seed draws."""
    out: list[Swap] = []
    for seed in subject.few_seeds[:2]:
        own = subject.begin(subject.plan(seed))
        instance, digests = dict(own.instance), own.product.digests()
        for name in [*instance][:NAMES_MAX]:
            found = twin(subject, seed, instance, name)
            if found is None:
                continue
            pins, other = found
            same = own.prompt == other.prompt
            out.append(
                Swap(
                    seed,
                    name,
                    pinned(instance),
                    pins,
                    hidden=same and digests == other.product.digests(),
                    leaks=same and brief_of(own) != brief_of(other),
                )
            )
    return tuple(out)


def twin(
    subject: Subject, seed: int, instance: Mapping[str, Any], name: str
) -> tuple[Mapping[str, Any], Episode] | None:
    """Begin an episode with one value of its instance swapped; None where no other fits."""
    drawn = (found.get(name) for found in subject.instances.values())
    for value in [v for v in dict.fromkeys(drawn) if v not in (None, instance[name])][:3]:
        pins = pinned({**instance, name: value})
        try:
            return pins, subject.begin(subject.plan(seed, config=pins))
        except UsageError:
            continue  # a value that goes with none of the others
    return None


def pinned(instance: Mapping[str, Any]) -> dict[str, Any]:
    """Give the settings that pin an instance."""
    return {f"instance.{key}": value for key, value in instance.items()}


def brief_of(episode: Episode) -> Mapping[str, Any]:
    """Give the facts of the prompt as policies get them."""
    return episode.scenario.brief(episode.instance)


def oracle_containment(subject: Subject) -> Result:
    """Swap what is yet to come in a twin world, and look whether anything tells them apart early.

    Hidden are the values of an instance that change neither the prompt nor a row of the start.
    Both worlds get the same harmless calls; as long as their tables are equal, so must be every
    answer.
    """
    hidden = [swap for swap in swaps(subject) if swap.hidden]
    if not hidden:
        return skipped("nothing of the instance is hidden: each value changes prompt or start")
    wrong: list[str] = []
    turns = 0
    for seed in dict.fromkeys(swap.seed for swap in hidden):
        for swap in [one for one in hidden if one.seed == seed][:TWINS_MAX]:
            one, other = (
                subject.begin(subject.plan(seed, config=pins))
                for pins in (swap.pins, swap.twin_pins)
            )
            watched, told = told_apart(one, other)
            turns += watched
            if told:
                wrong.append(f"seed {seed}: instance.{swap.name} shows before it happens: {told}")
    names = list(dict.fromkeys(swap.name for swap in hidden))
    return decided({"hidden": names, "turns_watched": turns}, wrong)


def told_apart(one: Episode, other: Episode) -> tuple[int, str]:
    """Send twins the same calls until their tables differ; gives the turns, and what told them."""
    task = task_of(one, 1)
    # By what a tool does, and not by its name: any that writes nothing might tell.
    tools = [tool for tool in task.tools if reading(one.product.tools[tool["name"]])]
    # Each of them once, as long as little has happened; then whatever is drawn.
    first_of_all = [[tool] for tool in tools if tool["name"] != "wait"]
    for turn in range(1, TURNS + 1):
        among = first_of_all if turn == 1 else [tools] * CALLS
        draws = [task.draws(turn * TURN + k) for k in range(len(among))]
        calls = [
            raw_call(harmless_call(draw, some, task.brief))
            for draw, some in zip(draws, among, strict=True)
        ]
        first, second = one.call(calls), other.call(calls)
        if one.product.digests() != other.product.digests():
            return turn - 1, ""
        for call, left, right in zip(calls, first.results, second.results, strict=True):
            if left != right and not weather(left) and not weather(right):
                told = f"{json.dumps(left.value)[:80]} or {json.dumps(right.value)[:80]}"
                return turn, f"{call.tool} answers {told}"
        if one.ended or other.ended:
            break
    return TURNS, ""


def reading(tool: ToolSpec) -> bool:
    """Tell whether a tool leaves nothing behind that matters: it reads, waits, or takes a note."""
    return harmless(tool.name) or not (tool.writes or tool.name in ("say", "finish"))


def weather(told: Told) -> bool:
    """Tell whether a call was refused because others were at work."""
    return not told.ok and told.value["code"] in WEATHER


def no_solution_leakage(subject: Subject) -> Result:
    """Look for what the goal says and the brief knows in what the agent is told."""
    wrong = [
        f"seed {swap.seed}: the brief tells instance.{swap.name}, the prompt doesn't"
        for swap in swaps(subject)
        if swap.leaks and swap.hidden
    ]
    # What the start shows anybody may read; a brief is to leave it out all the same.
    beyond = [swap.name for swap in swaps(subject) if swap.leaks and not swap.hidden]
    texts = 0
    for kept in subject.kept:
        episode = kept.episode
        secrets = {c.evidence for c in episode.criteria if len(c.evidence) >= TEXT_MIN}
        told = {"the prompt": episode.prompt}
        told.update(
            (f"the schema of {name}", json.dumps(tool.schema, ensure_ascii=False))
            for name, tool in episode.product.tools.items()
        )
        told.update(
            (f"the answer of {r.tool} at step {record.input.step}",
             json.dumps(r.value, ensure_ascii=False))
            for record in episode.steps
            for r in record.results
        )  # fmt: skip
        texts += len(told)
        wrong += [
            f"{kept.name}: {where} holds the goal's {secret!r:.80}"
            for where, text in told.items()
            for secret in sorted(secrets)
            if secret in text
        ]
    return decided(
        {
            "values_swapped": len(swaps(subject)),
            "texts": texts,
            "brief_beyond_prompt": list(dict.fromkeys(beyond)),
        },
        wrong,
    )


# --- the machine ----------------------------------------------------------------------------------

FILES = ("open", "os.", "shutil.", "tempfile.", "glob.", "mmap.")
PROCESSES = ("subprocess.", "os.exec", "os.fork", "os.posix_spawn", "os.spawn", "os.system",
             "pty.", "ctypes.dlopen", "signal.", "syslog.")  # fmt: skip
NETWORK = ("socket.", "urllib.", "http.", "ftplib.", "smtplib.", "ssl.", "webbrowser.")


@dataclass(slots=True)
class Watch:
    """What the audit hook sees; Python has no way to take one away again."""

    installed: bool = False
    on: bool = False
    seen: list[str] = field(default_factory=list[str])

    def hook(self, event: str, args: tuple[Any, ...]) -> None:
        """Note an event of the interpreter."""
        if self.on and event.startswith((*FILES, *PROCESSES, *NETWORK)):
            shown = str(args[0])[:80] if args else ""
            self.seen.append(f"{event}({shown})")


WATCH = Watch()


@contextmanager
def watching() -> Generator[list[str]]:
    """Note files, processes and sockets that are used in here, by whatever code."""
    if not WATCH.installed:
        sys.addaudithook(WATCH.hook)
        WATCH.installed = True
    WATCH.seen = []
    WATCH.on = True
    try:
        yield WATCH.seen
    finally:
        WATCH.on = False


@lru_cache(maxsize=1)
def touched(subject: Subject) -> tuple[int, list[str]]:
    """Give how many calls were watched, and what of the machine was touched during them."""
    calls = 0
    seen: list[str] = []
    for name in ("random", "expert"):
        if name in ("random", *subject.scenario.policies):
            policy, seed = subject.policy(name), subject.seeds[0]
            # Once unwatched: what is imported or read at the first time is no deed of the episode.
            subject.play(seed, policy)
            episode = subject.begin(subject.plan(seed))
            with watching() as found:
                drive(episode, policy)
            seen += [f"{name}, seed {seed}: {event}" for event in dict.fromkeys(found)]
            calls += sum(len(given.calls) for given in episode.inputs)
    return calls, seen


def host_containment(subject: Subject) -> Result:
    """Watch for files and processes while episodes are played."""
    calls, seen = touched(subject)
    wrong = [text for text in seen if not text.partition(": ")[2].startswith(NETWORK)]
    return decided({"calls": calls, "events": len(wrong)}, wrong)


def network_policy(subject: Subject) -> Result:
    """Watch for sockets while episodes are played."""
    calls, seen = touched(subject)
    wrong = [text for text in seen if text.partition(": ")[2].startswith(NETWORK)]
    return decided({"calls": calls, "events": len(wrong)}, wrong)


EPISODES_WATCHED = 5
GROWTH_MAX_MB = 32


def resource_bounds(subject: Subject) -> Result:
    """Play one seed some times more, and look what is left behind: threads, files, memory."""
    seed = subject.seeds[0]
    subject.play(seed, subject.player)
    memory = settled()
    threads, files = threading.active_count(), open_files()
    for _ in range(EPISODES_WATCHED):
        subject.play(seed, subject.player)
    grown = (settled() - memory) >> 20
    measured: dict[str, Any] = {
        "episodes": EPISODES_WATCHED,
        "threads": threading.active_count() - threads,
        "memory_growth_mb": grown,
    }
    left = open_files()
    if files is not None and left is not None:
        measured["open_files"] = left - files
    wrong = [f"{EPISODES_WATCHED} episodes leave {measured[key]} {key.replace('_', ' ')} behind"
             for key in ("threads", "open_files") if measured.get(key, 0) > 0]  # fmt: skip
    if grown > GROWTH_MAX_MB:
        wrong.append(f"{EPISODES_WATCHED} episodes of one seed take {grown} MB more than the first")
    return decided(measured, wrong)


def open_files() -> int | None:
    """Count the file descriptors of this process; None where the system doesn't show them."""
    folder = "/dev/fd" if sys.platform == "darwin" else "/proc/self/fd"
    return len(os.listdir(folder)) if os.path.isdir(folder) else None


CHECKS = (
    Check(
        id="runtime.oracle_containment",
        doc="what is yet to come, swapped in a twin world, shows in no answer before it happens",
        run=oracle_containment,
        remedy="let tools read rows through views, and let truth become rows when it happens",
    ),
    Check(
        id="runtime.host_containment",
        doc="no file and no process is used while an episode is played",
        run=host_containment,
        remedy="read data at import, and run strange programs in the sandbox",
    ),
    Check(
        id="runtime.network_policy",
        doc="no socket is used while an episode is played",
        run=network_policy,
        remedy="let tables answer in place of a network",
    ),
    Check(
        id="runtime.resource_bounds",
        doc="episodes leave no thread, file or memory behind",
        run=resource_bounds,
        remedy="keep nothing of an episode in a module or a class",
    ),
    Check(
        id="semantic.no_solution_leakage",
        doc="prompt, schemas and answers hold nothing that the goal says, the brief nothing hidden",
        run=no_solution_leakage,
        remedy="take it out of the brief or of the answer",
    ),
)
