"""A log of Inspect AI, `.eval`: a zip of JSON files, a sample an episode.

Quarantine is Inspect's own invalidation of a sample. What was hidden from the agent becomes events:
`info` of the source `simharness.truth`, and `state` with JSON Patch for what was committed.
"""

from __future__ import annotations

import zipfile
from contextlib import suppress
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from simharness import __version__
from simharness.episode.transcript import parse_arguments
from simharness.exporters.chat import named, spelled_alike
from simharness.exporters.loss import TRUTH, Loss
from simharness.exporters.text import json_text

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from pathlib import Path

    from simharness.episode.messages import ChatTurn
    from simharness.exporters.trajectory import Trajectory

LOG_VERSION = 2
CREATED = "2000-01-01T00:00:00+00:00"
"""An export knows no wall clock: the same recordings make the same bytes."""
ZIP_DATE = (1980, 1, 1, 0, 0, 0)
LEVEL = 6
OURS = "simharness"
SCORER = "reward"


def exporter(file: BinaryIO, out: Path, include: Collection[str], loss: Loss) -> InspectLog:
    """Make the exporter."""
    return InspectLog(file, loss, include)


class InspectLog:
    """Trajectories as the samples of one log."""

    def __init__(self, file: BinaryIO, loss: Loss, include: Collection[str]) -> None:
        self._zip = zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=LEVEL)
        self._loss = loss
        self._include = sorted(include)
        self._summaries: list[dict[str, Any]] = []
        self._epochs: dict[str, int] = {}
        self._scenarios: dict[str, None] = {}
        self._policies: dict[str, None] = {}
        self._bounds: list[str] = []

    def add(self, trajectory: Trajectory) -> None:
        """Write one sample; the same task played again is its next epoch."""
        name = trajectory.name
        epoch = self._epochs[name] = self._epochs.get(name, 0) + 1
        self._scenarios[trajectory.plan.scenario] = None
        self._policies[trajectory.policy] = None
        self._bounds += [trajectory.instant(0), trajectory.instant(trajectory.duration)]
        sample = sample_of(trajectory, epoch, self._loss, with_truth=TRUTH in self._include)
        self._write(f"samples/{name}_epoch_{epoch}.json", sample)
        taken = (
            "id", "epoch", "input", "target", "metadata", "scores",
            "started_at", "completed_at", "total_time", "working_time", "uuid",
        )  # fmt: skip
        summary = {field: sample[field] for field in taken}
        error = sample.get("error")
        summary["error"] = error["message"] if error is not None else None
        summary["completed"] = error is None
        summary["message_count"] = len(sample["messages"])
        self._summaries.append(summary)

    def close(self) -> None:
        """Write the header and the list of samples."""
        begin = {"version": LOG_VERSION, "eval": self._eval(), "plan": {}}
        self._write("_journal/start.json", begin)
        self._write("_journal/summaries/1.json", self._summaries)
        self._write("summaries.json", self._summaries)
        invalidated = any(s["metadata"][OURS]["quarantined"] for s in self._summaries)
        ends = {"started_at": min(self._bounds), "completed_at": max(self._bounds)}
        header = {**begin, "status": "success", "results": self._results(), "stats": ends}
        self._write("header.json", {**header, "invalidated": invalidated})
        self._zip.close()

    def abandon(self) -> None:
        """Close the zip, which would else write its end into a closed file when it is collected."""
        with suppress(OSError, ValueError):
            self._zip.close()

    def _eval(self) -> dict[str, Any]:
        scenarios, policies = list(self._scenarios), list(self._policies)
        task = scenarios[0] if len(scenarios) == 1 else "several scenarios"
        policy = policies[0] if len(policies) == 1 else "several policies"
        return {
            "created": CREATED,
            "task": task,
            "dataset": {
                "name": task,
                "samples": len(self._epochs),
                "sample_ids": list(self._epochs),
                "shuffled": False,
            },
            "model": f"{OURS}/{policy}",
            "config": {"epochs": max(self._epochs.values())},
            "packages": {OURS: __version__},
            "scorers": [{"name": SCORER}],
            "metadata": {OURS: {"scenarios": scenarios, "included": self._include}},
        }

    def _results(self) -> dict[str, Any]:
        total = len(self._summaries)
        scores = [s["scores"][SCORER]["value"] for s in self._summaries if s["scores"]]
        score: dict[str, Any] = {
            "name": SCORER,
            "scorer": SCORER,
            "scored_samples": len(scores),
            "unscored_samples": total - len(scores),
            "metrics": {},
        }
        if scores:
            mean = round(sum(scores) / len(scores), 6)
            score["metrics"] = {"mean": {"name": "mean", "value": mean}}
        completed = sum(bool(s["completed"]) for s in self._summaries)
        return {"total_samples": total, "completed_samples": completed, "scores": [score]}

    def _write(self, name: str, value: Any) -> None:
        info = zipfile.ZipInfo(name, ZIP_DATE)
        info.compress_type = zipfile.ZIP_DEFLATED
        info.external_attr = 0o644 << 16
        self._zip.writestr(info, json_text(value, self._loss), compresslevel=LEVEL)


def sample_of(
    trajectory: Trajectory, epoch: int, loss: Loss, *, with_truth: bool
) -> dict[str, Any]:
    """Give one episode as a sample."""
    labels = trajectory.labels()
    if with_truth:
        labels["truth"] = trajectory.truth(loss)
    digest = trajectory.record.digest
    seconds = trajectory.duration / 1_000_000
    sample: dict[str, Any] = {
        "id": trajectory.name,
        "epoch": epoch,
        "input": trajectory.prompt["content"],
        "target": "",
        "messages": list(messages_of(trajectory)),
        "output": {"model": f"{OURS}/{trajectory.policy}", "choices": []},
        "scores": scores_of(trajectory),
        "metadata": {OURS: labels},
        "events": list(events_of(trajectory, with_truth=with_truth)),
        "started_at": trajectory.instant(0),
        "completed_at": trajectory.instant(trajectory.duration),
        "total_time": seconds,
        "working_time": seconds,
        "uuid": digest,
    }
    if trajectory.item.quarantined:
        sample["invalidation"] = {
            "timestamp": CREATED,
            "author": OURS,
            "reason": "quarantined: " + (trajectory.item.verdict.primary or "by a review"),
        }
    if trajectory.aborted:
        message = "the harness failed in this episode"
        sample["error"] = {"message": message, "traceback": "", "traceback_ansi": ""}
    return sample


def scores_of(trajectory: Trajectory) -> dict[str, Any] | None:
    """Give the reward as a score; none where the harness can't tell."""
    if trajectory.reward is None:
        return None
    return {SCORER: {"value": trajectory.reward}}


def messages_of(trajectory: Trajectory) -> Iterator[dict[str, Any]]:
    """Give the chat as Inspect's messages."""
    for number, message in enumerate(named(trajectory.messages)):
        shown: dict[str, Any] = {
            "id": f"message-{number}",
            "role": message["role"],
            "content": message["content"] or "",
            "source": "generate" if message["role"] == "assistant" else None,
        }
        if message["role"] == "user":
            shown["source"] = "input"
        elif message["role"] == "tool":
            shown |= {"tool_call_id": message["tool_call_id"], "function": message["name"]}
        elif "tool_calls" in message:
            calls = [call_of(call) for call in message["tool_calls"]]
            shown["tool_calls"] = [call for call, _ in calls]
            raw = {call["id"]: text for call, text in calls if text is not None}
            if raw:
                shown["metadata"] = {OURS: {"arguments": raw}}
        yield shown


def call_of(call: dict[str, Any]) -> tuple[dict[str, Any], str | None]:
    """Give one call, and the text of its arguments where the object isn't all of it."""
    raw = call["function"]["arguments"]
    arguments, problem = parse_arguments(raw)
    shown: dict[str, Any] = {
        "id": call["id"],
        "function": call["function"]["name"],
        "arguments": arguments or {},
        "type": "function",
    }
    if problem:
        shown["parse_error"] = problem
    return shown, None if spelled_alike(raw, arguments) and not problem else raw


def events_of(trajectory: Trajectory, *, with_truth: bool) -> Iterator[dict[str, Any]]:
    """Give each step as a span with its calls, and what was true where that is asked for."""
    for turn in trajectory.turns:
        span = f"step-{turn.given.step}"
        sent, told = turn.given.at, turn.told
        end = told.t if told is not None else sent
        begin = {"event": "span_begin", "id": span, "type": "agent", "name": span}
        yield {**begin, **at(trajectory, sent, None), "span_id": span}
        for event in tool_events(trajectory, turn):
            yield {**event, **at(trajectory, sent, span)}
        if with_truth:
            known = trajectory.truth_of_step(turn.given.step)
            for change in known["changes"]:
                about = {name: change[name] for name in ("side", "by", "version")}
                event = {"event": "state", "changes": change["patch"], "metadata": {OURS: about}}
                yield {**event, **at(trajectory, change["t"], span)}
            event = {"event": "info", "source": f"{OURS}.truth", "data": known["reads"]}
            yield {**event, **at(trajectory, end, span)}
        yield {"event": "span_end", "id": span, **at(trajectory, end, None), "span_id": span}
    scores = scores_of(trajectory)
    if scores is not None:
        event = {"event": "score", "score": scores[SCORER], "scorer": SCORER}
        yield {**event, **at(trajectory, trajectory.duration, None)}


def tool_events(trajectory: Trajectory, turn: ChatTurn) -> Iterator[dict[str, Any]]:
    """Give the calls of one step with their answers."""
    if turn.told is None or not turn.messages:
        return
    asked, *answers = turn.messages
    working = (turn.told.t - turn.given.at) / 1_000_000
    pairs = zip(asked.get("tool_calls", ()), answers, turn.told.results, strict=False)
    for place, (call, answer, (ok, value)) in enumerate(pairs):
        shown, _ = call_of(call)
        event: dict[str, Any] = {
            "event": "tool",
            "uuid": f"{trajectory.record.digest}-{turn.given.step}-{place}",
            "id": shown["id"],
            "function": shown["function"],
            "arguments": shown["arguments"],
            "result": answer["content"],
            "working_time": working,
            "completed": trajectory.instant(turn.told.t),
        }
        if not ok:
            refused = cast("dict[str, Any]", value if isinstance(value, dict) else {})
            message = f"{refused.get('code')}: {refused.get('message')}"
            event["error"] = {"type": "unknown", "message": message}
        yield event


def at(trajectory: Trajectory, ticks: int, span: str | None) -> dict[str, Any]:
    """Give the fields that place an event in time."""
    place: dict[str, Any] = {
        "timestamp": trajectory.instant(ticks),
        "working_start": ticks / 1_000_000,
    }
    return place if span is None else {**place, "span_id": span}
