"""What the agent is told: prompt, tools, answers, rewards, and the record of it."""

from __future__ import annotations

import json
import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from simharness.env import Env
from simharness.episode.inputs import read_inputs
from simharness.episode.play import arguments_text, played_by, task_of
from simharness.episode.policies import READS, Sampler
from simharness.episode.transcript import RawCall
from simharness.errors import HarnessError, UsageError
from simharness.findings.schema import fits
from simharness.product.goal import MILLION
from simharness.recording.format import FrameType
from simharness.validate.check import Check, Result, Severity, decided
from simharness.validate.subject import SAMPLED

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from simharness.env import Reset, Step
    from simharness.episode.episode import Episode
    from simharness.episode.step import Result as Told
    from simharness.product.tool import ToolSpec
    from simharness.validate.subject import Subject

SAMPLES = 3
"""Valid calls that are made of each tool."""
OWN = ("wait", "say", "finish")
"""Tools of the harness itself."""
MALFORMED = "invalid_arguments"
STRANGE: tuple[object, ...] = ({"no": "such"}, ["no such"], "no such", True, 2**70, 0.5, None)
"""Values of which most fit no given schema."""
UNDECLARED = ("reset", "state", "invariants", "repair", "settings", "authorize")
"""What a product has as methods and no agent may call, unless a tool is called so."""
PLACEHOLDER = re.compile(r"\{[a-z_.]+\}|(?<=[a-z:=#] )None\b|[=#]None\b|<[\w.]+ object at ")
IDENTIFIER = re.compile(r"\b[a-z]+(?:_[a-z]+)+\b")
TO_CALL = re.compile(
    r"\b(?:call|calling|use|using|invoke|invoking)\s+(?:the\s+)?(?:tools?\s+)?"
    r"([`'\"]?\w+[`'\"]?(?:(?:,|(?:,?\s+(?:and|or|then))+)\s+(?:call\s+)?[`'\"]?\w+[`'\"]?)*)",
    re.IGNORECASE,
)
"""What a prompt says is to be called: one word, or several with commas and `and` between."""


# --- through the public face ----------------------------------------------------------------------


def stepped(subject: Subject, seed: int, policy: str) -> tuple[Env, Reset, list[Step]]:
    """Let a policy play by way of the environment that trainers use; gives all that it told."""
    env = Env(subject.plan(seed), on_harness="mark")
    subject.played += 1
    start = env.reset()
    play = played_by(subject.policy(policy), task_of(env.episode))
    steps: list[Step] = []
    try:
        action = next(play)
        while True:
            steps.append(env.step(action))
            if env.episode.ended:
                break
            action = play.send(steps[-1].observation)
    except StopIteration:
        steps.append(env.step(None))
    finally:
        play.close()
    return env, start, steps


def names_of(subject: Subject) -> list[str]:
    """Name the sampled policies that the scenario has."""
    return [n for n in SAMPLED if n != "expert" or n in subject.scenario.policies]


def reward_well_formed(subject: Subject) -> Result:
    """Look at every reward of some episodes: kind, range, when it comes, and its sum."""
    wrong: list[str] = []
    steps_seen = 0
    for policy in names_of(subject):
        seed = subject.seeds[0]
        env, _, steps = stepped(subject, seed, policy)
        where = f"{policy}, seed {seed}"
        paid = [record.reward for record in env.episode.steps]
        for number, (step, raw) in enumerate(zip(steps, paid, strict=True), 1):
            # Whoever pays by a mode of a product's own may give anything.
            if type(raw) is not int or type(step.reward) is not float:
                wrong.append(f"{where}: step {number} pays {raw!r}, no whole number")
            elif not 0 <= raw <= MILLION:
                wrong.append(f"{where}: step {number} pays {step.reward:g}, outside of 0 to 1")
            elif raw and number < len(steps):
                wrong.append(f"{where}: step {number} pays {step.reward:g} before the end")
        total = sum(step.reward or 0.0 for step in steps)
        told = steps[-1].info.get("verdict", {}).get("score")
        if told is None or float(told) != total:
            wrong.append(f"{where}: the rewards add up to {total:g}, the verdict's score is {told}")
        steps_seen += len(steps)
    return decided({"episodes": len(names_of(subject)), "steps": steps_seen}, wrong)


def state_contract(subject: Subject) -> Result:
    """Look whether id, step count and clock of some episodes are coherent, and the end is one."""
    wrong: list[str] = []
    ids: set[str] = set()
    for seed in subject.few_seeds[:2]:
        env, start, steps = stepped(subject, seed, names_of(subject)[0])
        ids.add(start.episode_id)
        clock = start.t
        for number, step in enumerate(steps, 1):
            if step.observation.episode_id != start.episode_id:
                wrong.append(f"seed {seed}: step {number} is of {step.observation.episode_id!r}")
            if step.info["step"] != number:
                wrong.append(f"seed {seed}: step {number} calls itself {step.info['step']}")
            if step.observation.t < clock:
                wrong.append(f"seed {seed}: at step {number} time has gone back from {clock}")
            clock = step.observation.t
            if (step.terminated or step.truncated) != (number == len(steps)):
                wrong.append(f"seed {seed}: step {number} of {len(steps)} says that it is the end")
        try:
            env.step(None)
            wrong.append(f"seed {seed}: the episode goes on after its end")
        except UsageError:
            pass  # as it must
    if len(ids) < 2:
        wrong.append(f"two seeds give the episode id {ids}")
    return decided({"episodes": 2, "ids": sorted(ids)}, wrong)


# --- answers --------------------------------------------------------------------------------------


def observation_schema(subject: Subject) -> Result:
    """Hold every answer of the kept episodes, and one of each tool, against its declared form."""
    wrong: list[str] = []
    answers = errors = 0
    named = [("valid calls of each tool", episode) for episode in probed(subject).episodes]
    broke: Exception | None = None
    try:
        named = [*((kept.name, kept.episode) for kept in subject.kept), *named]
    except Exception as error:
        # A policy breaks on answers of another form; the form is what is to be told.
        broke = error
    for name, episode in named:
        for tool, ok, value in answers_of(episode):
            answers += ok
            errors += not ok
            problem = problem_of(episode, tool, value, ok=ok)
            if problem:
                code = " (H413)" if ok else ""
                wrong.append(f"{name}: {tool} answers {problem}{code}")
    if broke is not None and not wrong:
        raise broke
    return decided({"answers": answers, "errors": errors}, wrong)


def answers_of(episode: Episode) -> Iterator[tuple[str, bool, Any]]:
    """Give all answers of an episode: tool, whether it is one, value or error."""
    for record in episode.steps:
        for result in record.results:
            yield result.tool, result.ok, result.value


def problem_of(episode: Episode, tool: str, value: Any, *, ok: bool) -> str:
    """Say what is wrong with an answer as told; empty where nothing is."""
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError) as error:
        return f"what is no JSON ({type(error).__name__})"
    if ok:
        return episode.product.forms[tool].problem(value)
    kinds = {"code": str, "message": str, "retryable": bool}
    found = [f"an error whose {key} is {value.get(key)!r}" for key, kind in kinds.items()
             if type(value.get(key)) is not kind or value[key] == ""]  # fmt: skip
    return found[0] if found else ""


class Probe(NamedTuple):
    """Episodes in which each tool was called with what its schema allows, and forbids."""

    episodes: list[Episode]
    """More than one where a call broke the one before."""
    counts: dict[str, int]
    wrong: list[str]

    def call(self, subject: Subject, tool: str, arguments: str) -> Told | None:
        """Make a call; None where that broke the episode, which is told."""
        if self.episodes[-1].ended:
            self.episodes.append(subject.long(subject.seeds[0]))
        call = RawCall(id="", tool=tool, arguments=arguments)
        try:
            (told,) = self.episodes[-1].call((call,)).results
        except HarnessError as error:
            self.wrong.append(f"{tool} breaks on {arguments:.120}: {error.message}")
            self.episodes.append(subject.long(subject.seeds[0]))
            return None
        return told

    def refused(self, subject: Subject, tool: str, arguments: str) -> bool:
        """Make a call; tell whether it was turned away before it reached the tool."""
        before = self.bad_calls
        self.call(subject, tool, arguments)
        return self.bad_calls > before

    @property
    def bad_calls(self) -> int:
        """Calls that were turned away so far."""
        return sum(episode.bad_calls for episode in self.episodes)


@lru_cache(maxsize=1)
def probed(subject: Subject) -> Probe:
    """Call each tool; `finish`, which ends it, comes last."""
    episode = subject.long(subject.seeds[0])
    task = task_of(episode)
    counts = {"tools": len(task.tools), "valid": 0, "invalid": 0}
    probe = Probe([episode], counts, [])
    wrong = probe.wrong
    tools = sorted(episode.product.tools.values(), key=lambda spec: spec.name == "finish")
    for number, spec in enumerate(tools):
        for text in invalid_calls(spec):
            counts["invalid"] += 1
            if not probe.refused(subject, spec.name, text):
                wrong.append(f"{spec.name} takes {text:.120}, which its schema forbids")
        schema = spec.schema["parameters"]
        sampler = Sampler(task.draws(number), task.brief)
        for _ in range(SAMPLES):
            args = sampler.object(schema)
            if not fits(schema, args):
                break
            counts["valid"] += 1
            text = arguments_text(args)
            if probe.refused(subject, spec.name, text):
                wrong.append(f"{spec.name} doesn't take {text:.120}, which its schema allows")
            if probe.episodes[-1].ended:
                break
        if spec.name not in OWN:
            at_bounds(subject, probe, spec, task.brief)
    return probe


def at_bounds(subject: Subject, probe: Probe, spec: ToolSpec, brief: Mapping[str, Any]) -> None:
    """Call a tool with each value that its schema names: bounds of a number, each of a choice.

    What an argument may be is then all that its schema says, so that the tool's own code may not
    call one of them malformed, unless it does so whatever the argument is. Of texts and ids a
    schema doesn't say everything.
    """
    schema = spec.schema["parameters"]
    given = {name: fill(name, schema["properties"][name], brief) for name in schema["required"]}
    plain = probe.call(subject, spec.name, arguments_text(given))
    for name, inner in schema["properties"].items():
        for value in named_values(inner):
            args = {**given, name: value}
            if not fits(schema, args):
                continue
            probe.counts["valid"] += 1
            text = arguments_text(args)
            before = probe.bad_calls
            told = probe.call(subject, spec.name, text)
            if probe.bad_calls > before or (malformed(told) and not malformed(plain)):
                probe.wrong.append(f"{spec.name} doesn't take {text:.120}, which its schema allows")


def malformed(told: Told | None) -> bool:
    """Tell whether a call was refused for the form of its arguments."""
    return told is not None and not told.ok and told.value.get("code") == MALFORMED


def fill(name: str, schema: Mapping[str, Any], brief: Mapping[str, Any]) -> Any:
    """Give a value for an argument: what the brief says of that name, else any that fits."""
    return brief[name] if name in brief and fits(schema, brief[name]) else example(schema)


def named_values(schema: Mapping[str, Any]) -> Sequence[Any]:
    """Give the values that a schema names: the bounds of a number, or each of a choice."""
    if "anyOf" in schema:
        return [value for inner in schema["anyOf"] for value in named_values(inner)]
    if "enum" in schema:
        return list(schema["enum"])
    if schema.get("type") == "boolean":
        return (False, True)
    return [schema[bound] for bound in ("minimum", "maximum") if bound in schema]


def tool_declaration_accuracy(subject: Subject) -> Result:
    """Call each tool with what its schema allows and with what it forbids, and some that aren't."""
    probe = probed(subject)
    wrong = [*probe.wrong]
    episode = subject.long(subject.seeds[0])
    undeclared = [name for name in UNDECLARED if name not in episode.product.tools]
    wrong += [
        f"{name} can be called, and is no declared tool"
        for name in undeclared
        if not refused(episode, name, "{}")
    ]
    return decided({**probe.counts, "undeclared": len(undeclared)}, wrong)


def refused(episode: Episode, tool: str, arguments: str) -> bool:
    """Make a call; tell whether it was turned away before it reached the tool."""
    before = episode.bad_calls
    episode.call((RawCall(id="", tool=tool, arguments=arguments),))
    return episode.bad_calls > before


def invalid_calls(spec: ToolSpec) -> Iterator[str]:
    """Give arguments that a tool's schema forbids: unknown, missing, of the wrong kind."""
    schema = spec.schema["parameters"]
    yield '{"no_such_argument":1}'
    if schema["required"]:
        yield "{}"
    for name, inner in schema["properties"].items():
        value = next((v for v in STRANGE if not fits(inner, v)), None)
        if not fits(inner, value):
            fill = {other: example(schema["properties"][other]) for other in schema["required"]}
            yield arguments_text({**fill, name: value})


def example(schema: Mapping[str, Any]) -> Any:
    """Give a value that fits a schema, whatever it means."""
    if "anyOf" in schema:
        return example(schema["anyOf"][0])
    if "enum" in schema:
        return schema["enum"][0]
    match schema.get("type"):
        case "integer":
            return schema.get("minimum", 1)
        case "boolean":
            return True
        case "array":
            return []
        case "object":
            return {}
        case _:
            return "2026-03-05T14:00:00Z" if schema.get("format") == "date-time" else "a"


def tools_named(prompt: str, episode: Episode) -> list[str]:
    """Give the words of a prompt that are meant as tools: called as readers are, or to be called.

    What follows `call` or `use` may be an argument, a column or a value as well, which are none.
    """
    meant = [name for name in IDENTIFIER.findall(prompt) if name.startswith(READS)]
    product = episode.product
    others = {
        name for tool in product.tools.values() for name in names_in(tool.schema["parameters"])
    }
    for table, spec in product.specs().items():
        others.add(table)
        for name, column in spec.row_type.by_name.items():
            others |= {name, *map(str, column.choices)}
    for phrase in TO_CALL.findall(prompt):
        meant += [name for name in IDENTIFIER.findall(phrase) if name not in others]
    return [*dict.fromkeys(meant)]


def names_in(schema: Any) -> Iterator[str]:
    """Give all names and values of a JSON Schema."""
    if isinstance(schema, dict):
        for key, value in cast("dict[str, Any]", schema).items():
            yield key
            yield from names_in(value)
    elif isinstance(schema, list):
        for value in cast("Sequence[Any]", schema):
            yield from names_in(value)
    elif isinstance(schema, str):
        yield schema


def task_declaration_accuracy(subject: Subject) -> Result:
    """Read the prompts: that there is one, the same each time, complete, of tools that exist."""
    wrong: list[str] = []
    prompts: dict[int, str] = {}
    for seed in subject.seeds[:8]:
        episode = subject.begin(subject.plan(seed))
        prompt = prompts[seed] = episode.prompt
        tools = episode.product.tools
        if not prompt.strip():
            wrong.append(f"seed {seed}: the prompt is empty")
        if prompt != subject.begin(subject.plan(seed)).prompt:
            wrong.append(f"seed {seed}: the prompt is another the second time")
        wrong += [
            f"seed {seed}: the prompt has {found!r} in it"
            for found in PLACEHOLDER.findall(prompt)[:1]
        ]
        wrong += [
            f"seed {seed}: the prompt names the tool {name}, which isn't there"
            for name in tools_named(prompt, episode)
            if name not in tools
        ]
        try:
            json.dumps(episode.scenario.brief(episode.instance), allow_nan=False)
        except (TypeError, ValueError):
            wrong.append(f"seed {seed}: the brief is no JSON")
    lengths = [len(prompt) for prompt in prompts.values()]
    return decided({"prompts": len(prompts), "characters": max(lengths)}, wrong)


def trajectory_record(subject: Subject) -> Result:
    """Read the recordings of the kept episodes: whole, and with all that was sent and told."""
    wrong: list[str] = []
    frames = 0
    for kept in subject.kept:
        record, episode = kept.record(), kept.episode
        frames += len(record.frames)
        steps = sum(frame.kind is FrameType.STEP for frame in record.frames)
        if steps != len(episode.steps):
            wrong.append(f"{kept.name}: {steps} steps recorded, {len(episode.steps)} played")
        elif read_inputs(record) != episode.inputs:
            wrong.append(f"{kept.name}: what was sent is recorded otherwise")
        if not record.complete:
            wrong.append(f"{kept.name}: the recording isn't whole")
    return decided({"recordings": len(subject.kept), "frames": frames}, wrong)


CHECKS = (
    Check(
        id="runtime.reward_well_formed",
        doc="rewards are numbers from 0 to 1, come at the end, and add up to the score",
        run=reward_well_formed,
        remedy="pay by the goal, or let the reward mode give an int from 0 to sh.MILLION",
    ),
    Check(
        id="runtime.observation_schema",
        doc="answers are JSON of the form that their tool declares, refusals have a code",
        run=observation_schema,
        remedy="return what the tool's `sh.Answer[...]` says",
    ),
    Check(
        id="runtime.tool_declaration_accuracy",
        doc="tools take what their schema allows, refuse what it forbids; no others can be called",
        run=tool_declaration_accuracy,
        remedy="let schema and check both come from the type hints of the tool",
    ),
    Check(
        id="runtime.task_declaration_accuracy",
        doc="the prompt is there, the same each time, complete, and names tools that exist",
        run=task_declaration_accuracy,
        remedy="mend `prompt` or `brief` of the scenario",
    ),
    Check(
        id="runtime.state_contract",
        doc="episode id, step count and clock are coherent, and the end is the end",
        run=state_contract,
        remedy="keep `epoch`, budgets and id of the scenario constant",
    ),
    Check(
        id="runtime.trajectory_record",
        doc="recordings are whole and hold what was sent and told",
        run=trajectory_record,
        remedy="report it: the recorder is the harness's own",
        severity=Severity.WARN,
    ),
)
