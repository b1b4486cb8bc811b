"""A recorded episode as chat messages: what an OpenAI-style API would have exchanged."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from simharness.episode.inputs import read_inputs
from simharness.episode.replay import plan_of, start_of
from simharness.product.registry import load_scenario
from simharness.recording.rows import read_rows

if TYPE_CHECKING:
    from simharness.recording.reader import EpisodeRecord


def chat_messages(record: EpisodeRecord) -> list[dict[str, Any]]:
    """Give the assistant's turns and the tools' answers; the assistant's arguments are verbatim."""
    rows = read_rows(record)
    told = {step.step: step for step in rows.steps}
    plan = plan_of(record)
    _, scenario = load_scenario(plan.scenario)
    messages: list[dict[str, Any]] = [{"role": "user", "content": start_of(scenario, plan)[0]}]
    for given in read_inputs(record):
        if given.kind == "text":
            messages.append({"role": "assistant", "content": given.text})
            continue
        if given.kind != "calls":
            continue
        messages.append(
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [
                    {
                        "id": call.id,
                        "type": "function",
                        "function": {"name": call.tool, "arguments": call.arguments},
                    }
                    for call in given.calls
                ],
            }
        )
        step = told.get(given.step)
        if step is None:
            continue
        for call, (ok, value) in zip(given.calls, step.results, strict=False):
            content = value if ok else {"error": value}
            messages.append(
                {
                    "role": "tool",
                    "tool_call_id": call.id,
                    "content": json.dumps(content, separators=(",", ":"), ensure_ascii=True),
                }
            )
    return messages
