"""A timeline for ui.perfetto.dev: Chrome's JSON trace, a process an episode, a track an actor.

Ticks are microseconds, as `ts` is. Slices of one track have to nest, so what overlaps on a track is
laid on further tracks of the same name.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any, BinaryIO

from simharness.blame.chain import link
from simharness.blame.sightings import about_task, reads_of
from simharness.exporters.loss import TRUTH, Loss
from simharness.exporters.text import json_text
from simharness.exporters.trajectory import as_score
from simharness.findings.story import AGENT

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from pathlib import Path

    from simharness.exporters.trajectory import Trajectory
    from simharness.kernel.journal import Row

BEGINS = {"LOCKWAIT": "wait", "LOCK": "hold", "LEASE": "lease"}
ENDS = {"LOCK": "wait", "LOCKTIMEOUT": "wait", "UNLOCK": "hold", "LEASEEND": "lease"}
CACHE = ("MISS", "FILL", "FENCED", "EXPIRE", "INVALIDATE", "DROP")
INSTANTS = ("COMMIT", "GRADE", "BUSY", "HOLD", "HOLDEND", "LEDGER", "GATEWAY", "GATEWAYEND", *CACHE)
DRAWN = frozenset({"CALL", "RETURN", "FAULT", "READ", "LIST", "STR", *BEGINS, *ENDS, *INSTANTS})
UNDRAWN = "rows of the journal of kinds that aren't drawn"
CHAT = "prompts and schemas of tools"


def exporter(file: BinaryIO, out: Path, include: Collection[str], loss: Loss) -> Perfetto:
    """Make the exporter."""
    return Perfetto(file, include, loss)


class Perfetto:
    """Trajectories as the processes of one trace."""

    def __init__(self, file: BinaryIO, include: Collection[str], loss: Loss) -> None:
        self._file = file
        self._loss = loss
        self._include = sorted(include)
        self._count = 0
        self._first = True
        file.write(b'{"displayTimeUnit":"ms","traceEvents":[\n')

    def add(self, trajectory: Trajectory) -> None:
        """Write one episode as a process."""
        self._count += 1
        process = Process(self._count, trajectory)
        process.draw_agent()
        self._loss.dropped[CHAT] += 1
        if TRUTH in self._include:
            process.draw_truth()
            undrawn = sum(row.kind not in DRAWN for row in trajectory.story.rows)
            self._loss.dropped[UNDRAWN] += undrawn
        for event in process.events():
            self._file.write(b"" if self._first else b",\n")
            self._first = False
            self._file.write(json_text(event, self._loss).encode())

    def close(self) -> None:
        """Close the list; say what the trace holds."""
        about = json_text({"simharness.included": ",".join(self._include)}, self._loss)
        self._file.write(b'\n],"otherData":' + about.encode() + b"}\n")

    def abandon(self) -> None:
        """There is nothing to let go of."""


class Process:
    """The tracks of one episode."""

    def __init__(self, pid: int, trajectory: Trajectory) -> None:
        self._pid = pid
        self._trajectory = trajectory
        self._slices: dict[str, list[tuple[int, int, str, dict[str, Any]]]] = defaultdict(list)
        self._instants: dict[str, list[tuple[int, str, dict[str, Any]]]] = defaultdict(list)
        self._counters: list[tuple[int, str, int]] = []
        self._flows: list[tuple[tuple[str, int], tuple[str, int]]] = []
        self._end = trajectory.duration

    def draw_agent(self) -> None:
        """Draw what the agent did and was told."""
        for turn in self._trajectory.turns:
            given, told = turn.given, turn.told
            end = told.t if told is not None else given.at
            about: dict[str, Any] = {"kind": given.kind}
            if given.text:
                about["text"] = given.text
            if told is not None:
                about["reward"] = as_score(told.reward)
            self._slices["agent"].append((given.at, end, f"step {given.step}", about))
            answers = [m["content"] for m in turn.messages if m["role"] == "tool"]
            for place, call in enumerate(given.calls):
                details = {"id": call.id, "arguments": call.arguments}
                if place < len(answers):
                    details["answer"] = answers[place]
                self._slices["agent calls"].append((given.at, end, call.tool, details))
        labels = self._trajectory.labels()
        self._instants["agent"].append((self._end, "end", labels))

    def draw_truth(self) -> None:
        """Draw what the agent could not see."""
        story = self._trajectory.story
        begun: dict[tuple[str, int], tuple[int, str]] = {}
        held: dict[tuple[str, int, str, str], int] = {}
        faults: dict[str, int] = {}
        busy = 0
        for row in story.rows:
            v, kind = row.values, row.kind
            if kind == "CALL":
                begun[v["owner"], v["n"]] = row.t, v["tool"]
                busy += 1
                self._counters.append((row.t, "calls under way", busy))
            elif kind == "RETURN" and (v["owner"], v["n"]) in begun:
                start, tool = begun.pop((v["owner"], v["n"]))
                details = {"n": v["n"], "status": v["status"]}
                self._slices[actor(v["owner"])].append((start, row.t, tool, details))
                busy -= 1
                self._counters.append((row.t, "calls under way", busy))
            elif kind == "FAULT":
                name = str(v["fault"])
                if v["on"]:
                    faults[name] = row.t
                else:
                    self._slices["faults"].append((faults.pop(name, row.t), row.t, name, {}))
            elif kind in BEGINS or kind in ENDS:
                self._draw_lock(row, held)
            elif kind in INSTANTS:
                self._instants[track_of(row)].append((row.t, link(row).text, {"row": row.index}))
                if kind == "BUSY":
                    self._counters.append((row.t, f"queue of {v['pool']}", v["waiting"]))
            elif kind in ("READ", "LIST") and v["owner"] == AGENT and about_task(row):
                self._draw_read(row)
        for (owner, n), (start, tool) in begun.items():
            details = {"n": n, "status": "never returned"}
            self._slices[actor(owner)].append((start, self._end, tool, details))
        for (owner, n, lock, how), start in held.items():
            about = {"owner": owner, "n": n}
            self._slices[f"lock {lock}"].append((start, self._end, f"{how} {owner}", about))
        for name, start in faults.items():
            self._slices["faults"].append((start, self._end, name, {}))

    def _draw_lock(self, row: Row, held: dict[tuple[str, int, str, str], int]) -> None:
        v = row.values
        lock = str(v["lease"] if row.kind.startswith("LEASE") else v["lock"])
        owner, n = v["owner"], v["n"]
        ended = (owner, n, lock, ENDS.get(row.kind, ""))
        if ended in held:
            slice = (held.pop(ended), row.t, f"{ended[3]} {owner}", {"owner": owner, "n": n})
            self._slices[f"lock {lock}"].append(slice)
        if row.kind in BEGINS:
            held.setdefault((owner, n, lock, BEGINS[row.kind]), row.t)

    def _draw_read(self, row: Row) -> None:
        """Draw a read of the agent: how old it was, and the commit that it had missed."""
        view = str(row.values["view"])
        table = view.rpartition(".")[0]
        ages = [age for *_, age in reads_of(row)]
        self._counters.append((row.t, "age of what the agent read", max(ages, default=0)))
        details = {"row": row.index, "source": row.values["source"]}
        self._instants["agent reads"].append((row.t, link(row).text, details))
        for key, served, _, age in reads_of(row):
            commits = self._trajectory.story.commits.get((table, key), [])
            newer = next((c for c in commits if c.after > served), None)
            if age and newer is not None:
                self._flows.append(((f"commits of {table}", newer.t), ("agent reads", row.t)))

    def events(self) -> Iterator[dict[str, Any]]:
        """Give the trace events: names of tracks first, then each track by time."""
        pid = self._pid
        yield named("process_name", pid, 0, self._trajectory.item.key)
        tids: dict[str, int] = {}
        tid = 0
        for track in sorted({*self._slices, *self._instants}, key=rank):
            lanes = laid(self._slices.get(track, []))
            tids[track] = tid + 1
            for number, lane in enumerate(lanes or [[]]):
                tid += 1
                yield named("thread_name", pid, tid, track)
                yield {"ph": "M", "name": "thread_sort_index", "pid": pid, "tid": tid,
                       "args": {"sort_index": tid}}  # fmt: skip
                for start, end, name, details in lane:
                    yield {"ph": "X", "cat": track, "name": name, "pid": pid, "tid": tid,
                           "ts": start, "dur": end - start, "args": details}  # fmt: skip
                if number:
                    continue
                for t, name, details in self._instants.get(track, []):
                    yield {"ph": "i", "s": "t", "cat": track, "name": name, "pid": pid,
                           "tid": tid, "ts": t, "args": details}  # fmt: skip
        for t, name, value in self._counters:
            yield {"ph": "C", "name": name, "pid": pid, "ts": t, "args": {"value": value}}
        for number, ends in enumerate(self._flows):
            for ph, (track, t) in zip("sf", ends, strict=True):
                # A flow binds to a slice, so each end has one of no length of its own.
                tid = tids[track]
                yield {"ph": "X", "cat": "stale", "name": "stale", "pid": pid, "tid": tid,
                       "ts": t, "dur": 0, "args": {}}  # fmt: skip
                yield {"ph": ph, "bp": "e", "cat": "stale", "name": "missed by the agent",
                       "id": (pid << 32) + number, "pid": pid, "tid": tid, "ts": t}  # fmt: skip


def named(what: str, pid: int, tid: int, name: str) -> dict[str, Any]:
    """Give the event that names a process or a thread."""
    return {"ph": "M", "name": what, "pid": pid, "tid": tid, "args": {"name": name}}


def actor(owner: str) -> str:
    """Name the track of an actor's calls."""
    return "agent, on the server" if owner == AGENT else f"user {owner}"


def track_of(row: Row) -> str:
    """Name the track of a row that is drawn as an instant."""
    v = row.values
    if row.kind == "COMMIT":
        return f"commits of {v['table']}"
    if row.kind == "GRADE":
        return "grade"
    if row.kind == "BUSY":
        return "workers"
    return f"cache {v['view']}" if row.kind in CACHE else "places and money"


ORDER = ("agent", "agent calls", "agent reads", "agent, on the server", "faults", "grade")


def rank(track: str) -> tuple[int, str]:
    """Order tracks: the agent's first, those of other users last."""
    if track in ORDER:
        return ORDER.index(track), ""
    return len(ORDER) + track.startswith("user "), track


def laid(
    slices: list[tuple[int, int, str, dict[str, Any]]],
) -> list[list[tuple[int, int, str, dict[str, Any]]]]:
    """Lay slices on as few lanes as it takes for those of one lane not to overlap."""
    lanes: list[list[tuple[int, int, str, dict[str, Any]]]] = []
    for one in sorted(slices, key=lambda s: (s[0], s[1])):
        free = next((lane for lane in lanes if lane[-1][1] <= one[0]), None)
        if free is None:
            lanes.append(free := [])
        free.append(one)
    return lanes
