"""Inspect finds the tasks, its tools are ours, and no failure of the harness is in its mean."""

from __future__ import annotations

import gc
import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest

import simharness as sh
from simharness.adapters.health import PROCESS
from simharness.errors import UnknownName
from tests.adapters.family import framework, run_example

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

inspect_ai = framework("inspect_ai")
model = framework("inspect_ai.model")
solver = framework("inspect_ai.solver")
adapter = framework("simharness.adapters.inspect")

WORKSHOP = f"{Path(__file__).parents[1] / 'episode' / 'workshop.py'}:Workshop/shift"
STALE = {"parts.detail.cache.ttl": "1h", "parts.detail.cache.invalidate": "never"}

# Libraries of Inspect's warn of each other, and leave sockets of theirs to the collector.
pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

Played = list[tuple[str, dict[str, Any]]]


@pytest.fixture(autouse=True)
def healthy() -> Generator[None]:
    yield
    PROCESS.forget()
    # What Inspect leaves open warns when it is collected, which must not be in another test.
    gc.collect()


def scripted(turns: list[Played | str]) -> Callable[..., Any]:
    """A model that answers its n-th turn with these calls, or with this text."""

    def answer(messages: list[Any], tools: Any, choice: Any, config: Any) -> Any:
        turn = turns[sum(message.role == "assistant" for message in messages)]
        if isinstance(turn, str):
            out = model.ModelOutput.from_content("mockllm/model", turn)
        else:
            out = model.ModelOutput.for_tool_call("mockllm/model", *turn[0])
            calls = out.choices[0].message.tool_calls
            for number, (tool, arguments) in enumerate(turn[1:], 1):
                more = model.ModelOutput.for_tool_call("mockllm/model", tool, arguments)
                (call,) = more.choices[0].message.tool_calls
                call.id = f"{call.id}-{number}"
                calls.append(call)
        # Without a usage Inspect counts tokens itself, with a table from the network.
        out.usage = model.ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
        return out

    return answer


def evaluate(
    task: Any, turns: list[Played | str], folder: Path, answer: Any = None, **more: Any
) -> Any:
    played = model.get_model("mockllm/model", custom_outputs=answer or scripted(turns))
    (log,) = inspect_ai.eval(task, model=played, display="none", log_dir=str(folder), **more)
    return log


def metrics(log: Any) -> tuple[int, int, float]:
    """Samples that are scored, those that aren't, and the mean."""
    (score,) = log.results.scores
    return score.scored_samples, score.unscored_samples, score.metrics["mean"].value


RESIZE: list[Played | str] = [
    [("resize", {"part_id": part, "size": 7}) for part in (1, 2, 3)],
    [("finish", {"message": "resized"})],
]
BREAK: list[Played | str] = [[("look", {"part_id": 1})], [("explode", {"after": 1})]]
CHANGE: list[Played | str] = [
    [("look", {"part_id": 1}), ("resize", {"part_id": 1, "size": 3}), ("look", {"part_id": 1})],
    [("finish", {"message": "resized"})],
]


def test_the_example_prints_what_it_says(tmp_path: Path) -> None:
    # It names a task, which Inspect finds by its entry point.
    said, told = run_example("inspect", tmp_path)
    assert told == said


def test_a_sample_is_a_seed(tmp_path: Path) -> None:
    turns: list[Played | str] = [[("finish", {"message": "nothing to do"})]]
    log = evaluate(adapter.scenario_task("crm/negotiation", "eval:0:2"), turns, tmp_path)
    assert log.status == "success"
    assert metrics(log) == (2, 0, 0.0)
    seed = log.samples[0].metadata["seed"]
    assert log.samples[0].input == sh.make("crm/negotiation", seed=seed).reset().prompt
    assert log.samples[0].scores["verdict"].metadata["class"] == "model"


def test_tools_are_published_by_their_own_schemas(tmp_path: Path) -> None:
    seen: list[Any] = []

    def answer(messages: Any, tools: Any, choice: Any, config: Any) -> Any:
        seen.append(tools)
        return scripted(["nothing to do"])(messages, tools, choice, config)

    task = adapter.scenario_task("helpdesk/triage", seeds="0")
    assert evaluate(task, [], tmp_path, answer).status == "success"
    ours = sh.make("helpdesk/triage", seed=0).reset().tools
    assert [tool.name for tool in seen[0]] == [tool["name"] for tool in ours]
    for theirs, tool in zip(seen[0], ours, strict=True):
        assert theirs.description == tool["description"]
        schema = theirs.parameters.model_dump(exclude_none=True)
        for argument in schema["properties"].values():
            del argument["description"]
        assert schema == known(tool["parameters"])


def known(schema: Any) -> Any:
    """A schema without what Inspect has no field for."""
    if isinstance(schema, dict):
        fields = cast("dict[str, Any]", schema)
        return {key: known(value) for key, value in fields.items() if key != "minProperties"}
    return list(map(known, cast("list[object]", schema))) if isinstance(schema, list) else schema


def test_several_calls_of_a_message_are_done_in_their_order(tmp_path: Path) -> None:
    log = evaluate(adapter.scenario_task(WORKSHOP, "0:3"), RESIZE, tmp_path)
    assert metrics(log) == (3, 0, 1.0)
    told = [json.loads(m.content) for m in log.samples[0].messages if m.role == "tool"]
    assert [row["id"] for row in told[:3]] == [1, 2, 3]
    assert [row["updated_at"] for row in told[:3]] == sorted(row["updated_at"] for row in told[:3])


def test_samples_that_run_at_once_tell_what_they_tell_alone(tmp_path: Path) -> None:
    told: list[Any] = []
    for at_once in (1, 4):
        task = adapter.scenario_task(WORKSHOP, "0:4")
        log = evaluate(task, RESIZE, tmp_path, epochs=2, max_samples=at_once)
        samples = sorted(log.samples, key=lambda sample: (sample.id, sample.epoch))
        told.append([s.scores["verdict"].metadata["digest"] for s in samples])
    assert told[0] == told[1]
    assert len(set(told[0])) == 4


def test_no_failure_of_the_harness_is_in_the_mean(tmp_path: Path) -> None:
    # Those seeds break on which the prompt names the first part.
    def answer(messages: list[Any], tools: Any, choice: Any, config: Any) -> Any:
        part = messages[0].text.split()[2]
        return scripted(BREAK if part == "1" else RESIZE)(messages, tools, choice, config)

    seeds = range(6)
    broken = sum(sh.make(WORKSHOP, seed=s).reset().prompt.split()[2] == "1" for s in seeds)
    assert 0 < broken < len(seeds)
    log = evaluate(adapter.scenario_task(WORKSHOP, "0:6"), [], tmp_path, answer)
    assert log.status == "success"
    assert metrics(log) == (len(seeds) - broken, broken, 1.0)
    left_out = [s.scores["verdict"] for s in log.samples if math.isnan(s.scores["verdict"].value)]
    assert {(s.reason, s.metadata["primary"]) for s in left_out} == {("environment", "H810")}


def test_a_breach_cuts_the_sample_and_where_all_are_there_is_no_mean(tmp_path: Path) -> None:
    log = evaluate(adapter.scenario_task(WORKSHOP, "0:2", config=STALE), CHANGE, tmp_path)
    assert metrics(log)[:2] == (0, 2)
    assert math.isnan(metrics(log)[2])
    # The breach is the last thing that the model was told.
    assert [m.role for m in log.samples[0].messages].count("assistant") == 1
    marked = adapter.scenario_task(WORKSHOP, "0:2", config=STALE, on_harness="mark")
    log = evaluate(marked, CHANGE, tmp_path)
    assert metrics(log)[:2] == (0, 2)
    assert [m.role for m in log.samples[0].messages].count("assistant") == 2


def test_on_request_a_breach_fails_the_evaluation(tmp_path: Path) -> None:
    task = adapter.scenario_task(WORKSHOP, "0:2", config=STALE, on_harness="raise")
    log = evaluate(task, CHANGE, tmp_path)
    assert (log.status, log.results) == ("error", None)
    assert log.error.message.startswith("parts.detail served parts:1 v1, out of date for ")
    # Not even where Inspect is asked to score what has failed is it a zero.
    task = adapter.scenario_task(WORKSHOP, "0:2", config=STALE, on_harness="raise")
    log = evaluate(task, CHANGE, tmp_path, fail_on_error=False, score_on_error=True)
    assert log.status == "success"
    assert log.results is None or math.isnan(metrics(log)[2])


def test_the_breaker_ends_the_evaluation(tmp_path: Path) -> None:
    log = evaluate(adapter.scenario_task(WORKSHOP, "0:20"), BREAK, tmp_path, max_samples=1)
    assert log.status == "error"
    assert log.error.message.startswith("the breaker stopped this process: ")
    assert log.error.message.endswith("8 episodes in a row: H810 8")


def test_a_model_that_stops_has_gone_away_with_what_it_said(tmp_path: Path) -> None:
    task = adapter.scenario_task("crm/negotiation", seeds="1", keep=tmp_path / "kept")
    log = evaluate(task, ["It is all done."], tmp_path)
    assert metrics(log) == (1, 0, 0.0)
    assert log.samples[0].scores["verdict"].metadata["class"] == "model"


def test_another_solver_may_use_the_tools(tmp_path: Path) -> None:
    turns: list[Played | str] = [[("list_deals", {})], [("finish", {"message": "done"})]]
    log = evaluate(
        adapter.scenario_task("crm/negotiation", "3"),
        turns,
        tmp_path,
        solver=solver.chain(solver.system_message("Be brief."), solver.generate()),
    )
    assert [m.role for m in log.samples[0].messages] == (
        ["system", "user", "assistant", "tool", "assistant", "tool"]
    )
    assert log.samples[0].scores["verdict"].metadata["valid"]


def test_a_request_that_cant_be_met_is_refused() -> None:
    with pytest.raises(UnknownName, match="did you mean 'negotiation'"):
        adapter.scenario_task("crm/negotiations")
    with pytest.raises(TypeError, match="lod"):
        adapter.scenario_task("crm/negotiation", lod=4)
