"""Whether answers have the form that they should, and say it when something is wrong."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from simharness.doctor.check import STARTS, Check, Result, decided, unknown

if TYPE_CHECKING:
    from simharness.doctor.examination import Examination

OUT_OF_RANGE = "pay within the range, or give the range that is meant: --range LOW:HIGH"
AGENTS = ("null", "random")
REFUSED_MAX = 0.9
"""Share of steps that, refused, leave nothing to be learned of the rest."""
SHOWN = 200
"""Characters of a refusal."""


def starts(exam: Examination) -> Result:
    """Open the target, reset it, and step to the end or for some steps."""
    patient = exam.patient()
    told = patient.ask("script", lines=exam.episode(exam.seed, "one", "one"))["one"]
    raised = [f"{place(n)}: {turn['raised']}" for n, turn in enumerate(told) if "raised" in turn]
    if told[0].get("refused"):
        raised.append(f"the reset is refused: {told[0]['observation'][:SHOWN]}")
    steps = told[1:]
    if not raised and mostly_refused(steps):
        # One episode may have been unlucky, or over at once.
        for seed in exam.seeds[1:]:
            name = f"seed {seed}"
            steps += patient.ask("script", lines=exam.episode(seed, name, name))[name][1:]
    # Some of it is only known after a reset.
    known = patient.ask("facts").get("told", {})
    refused = [turn["observation"] for turn in steps if turn.get("refused")]
    measured = {"steps": len(steps), **({"refused": len(refused)} if refused else {}), **known}
    if not raised and mostly_refused(steps):
        return unknown(
            f"{len(refused)} of {len(steps)} steps are refused, so they tell nothing of the rest: "
            f"give actions that make sense with --action; one is told {refused[0][:SHOWN]}",
            measured,
        )
    return decided(measured, raised)


def mostly_refused(steps: list[dict[str, Any]]) -> bool:
    """Tell whether (nearly) all of some steps were refused."""
    return 0 < len(steps) * REFUSED_MAX <= sum("refused" in turn for turn in steps)


def observation_schema(exam: Examination) -> Result:
    """Look at every answer to the null and the random agent."""
    episodes = [one for name in AGENTS for one in exam.agent(name)]
    flaws = [f"seed {one['seed']}: {flaw}" for one in episodes for flaw in one["flaws"]]
    flaws += [f"seed {one['seed']}: {one['raised']}" for one in episodes if one["raised"]]
    return decided({"episodes": len(episodes), "steps": sum(e["steps"] for e in episodes)}, flaws)


def reward_well_formed(exam: Examination) -> Result:
    """Look at every reward of the null and the random agent."""
    episodes = [one for name in AGENTS for one in exam.agent(name)]
    wrong = [
        f"seed {one['seed']}: a reward is {text}, and no finite float or int"
        for one in episodes
        for text in one["odd"]
    ]
    paid = [one for one in episodes if one["low"] is not None]
    low = min((one["low"] for one in paid), default=None)
    high = max((one["high"] for one in paid), default=None)
    measured: dict[str, Any] = {"low": low, "high": high, "episodes": len(episodes)}
    odd = bool(wrong)
    bounds = exam.bounds or exam.patient().facts.get("range")
    if bounds is not None and low is not None and high is not None:
        least, most = bounds
        if low < least or high > most:
            how = "asked for" if exam.bounds else "and its reward_range is"
            wrong.append(f"rewards are from {low:g} to {high:g}, {how} {least:g} to {most:g}")
    if not paid and not wrong:
        return unknown("no step had a reward, so nothing is known of them", measured)
    return replace(decided(measured, wrong), remedy="" if odd else OUT_OF_RANGE)


def errors_told(exam: Examination) -> Result:
    """Send what is no action."""
    action = exam.actions(exam.seed)[0]
    told: list[dict[str, Any]] = exam.patient().ask("garbage", seed=exam.seed, action=action)
    if not told:
        return unknown("there is nothing that is no action here, or episodes end at once")
    wrong: list[str] = []
    for one in told:
        if "raised" in one:
            if one["raised"].startswith("lost"):
                wrong.append(f"{one['name']} ended the session: {one['raised']}")
        elif not one["said"] and isinstance(one["reward"], int | float):
            wrong.append(
                f"{one['name']} is answered like an action, with reward {one['reward']:g}, and "
                "nothing says that it was none"
            )
        elif not one["said"] and not exam.target.local:
            wrong.append(f"{one['name']} is answered like an action")
    return decided({"tried": [one["name"] for one in told]}, wrong)


def quiet(exam: Examination) -> Result:
    """Look at what all processes of the target have printed so far."""
    stray = exam.patient().ask("facts").get("stray", "")
    # What a process has printed is all read when it has ended.
    exam.close()
    out = [said for said, _ in exam.said if said.count]
    traced = sum(err.tracebacks for _, err in exam.said)
    wrong = [f"prints to stdout, such as {said.last()[:100]!r}" for said in out[:1]]
    if traced:
        wrong.append(f"{traced} tracebacks on stderr, of errors that no answer told")
    if stray:
        wrong.append(f"prints to stdout what is no JSON-RPC, such as {stray[:100]!r}")
    bytes_out = sum(said.count for said, _ in exam.said)
    return decided({"stdout_bytes": bytes_out, "tracebacks": traced}, wrong)


def place(number: int) -> str:
    """Name a turn of a transcript."""
    return f"step {number}" if number else "the reset"


CHECKS = (
    Check(
        id=STARTS,
        doc="it opens, resets and steps",
        unproved="anything of what it answers",
        remedy="mend this first: everything else rests on it",
        run=starts,
    ),
    Check(
        id="runtime.observation_schema",
        doc="answers have the form and the space that they are said to have",
        unproved="the same of answers to actions that were not drawn",
        remedy="answer what the space holds, and the values that the interface asks for",
        run=observation_schema,
        needs=STARTS,
    ),
    Check(
        id="runtime.reward_well_formed",
        doc="rewards are finite numbers, and in the range that was given or is declared",
        unproved="that they are the right ones",
        remedy="raise, or say that there is no reward, where none can be computed",
        run=reward_well_formed,
        needs=STARTS,
    ),
    Check(
        id="runtime.errors_told",
        doc="what is no action is refused, and not paid like one",
        unproved="that every wrong action is refused: one or two were tried",
        remedy="check actions first, and raise or answer with an error",
        run=errors_told,
        needs=STARTS,
    ),
)
LAST = (
    Check(
        id="runtime.quiet",
        doc="nothing is printed to stdout, and no traceback to stderr while all seems well",
        unproved="that no error is swallowed without a word",
        remedy="log to stderr; let errors out, or answer with them",
        run=quiet,
        needs=STARTS,
    ),
)
