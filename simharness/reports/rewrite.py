"""Writes again, from a recording of a report, the report: its script, and what was found."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from simharness.episode.step import STOP
from simharness.kernel.calendar import format_instant
from simharness.product.reference import references
from simharness.product.script import AGENT
from simharness.product.tool import BadArgument
from simharness.reports.actions import CRASHES
from simharness.reports.load import read_report
from simharness.reports.play import play_case
from simharness.reports.sketch import signed
from simharness.reports.write import document, duration

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from simharness.episode.episode import Episode
    from simharness.product.product import Product
    from simharness.product.script import Act, Match, Scripted
    from simharness.reports.play import Played
    from simharness.reports.report import Report

LISTED = ("history", "network")
"""What a report may hold besides rows that is a list; the rest are texts by name."""
CRASH_WORDS = {number: word for word, number in CRASHES.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Rewrite:
    """A report that is being written from the script of its recording."""

    id: str
    episode: Episode
    """The recorded one, of a scenario that plays scripts, played again to its end."""
    expect: Sequence[Mapping[str, Any]] = ()
    verdict: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def text(self) -> str:
        """Write it as TOML."""
        plan, script = self.episode.plan, cast("Scripted", self.episode.scenario).script
        product = type(self.episode.product)
        last = self.episode.steps[-1].input
        names = {AGENT, *(act.actor for act in script.acts)}
        material: dict[str, Any] = {**script.material}
        goal: dict[str, Any] = {"scenario": script.task} if script.task else {}
        goal |= {"instance": dict(script.instance)} if script.instance else {}
        goal |= {"rows": [match(product, one) for one in script.goal]} if script.goal else {}
        goal |= {"keep": [match(product, one) for one in script.keep]} if script.keep else {}
        for one in goal.get("keep", ()):
            del one["count"]
        reward: dict[str, Any] = {}
        if script.pay is not None:
            reward["rows"] = [match(product, one) for one in script.pay]
        return document(
            {
                "report": 1,
                "id": self.id,
                "title": script.title,
                "product": plan.scenario.rpartition("/")[0],
                "seed": plan.seed,
                "epoch": format_instant(script.epoch),
                **({"faults": list(plan.faults)} if plan.faults else {}),
                **({"until": duration(last.at)} if last.kind == STOP else {}),
                # What else was found there is left to another report.
                "allow_other": True,
                **({"network": material["network"]} if "network" in material else {}),
            },
            {
                "actors": {
                    name: sign
                    for name, identity in script.identities.items()
                    if name in names and (sign := signed(product, identity))
                },
                "config": dict(plan.config),
                "reward": reward,
                "goal": goal,
                "rows": {
                    name: [row(product, name, one) for one in rows]
                    for name, rows in script.rows.items()
                },
                **{name: item for name, item in material.items() if name not in LISTED},
            },
            {
                "history": [commit(entry) for entry in material.get("history", ())],
                "actions": [action(product, act) for act in script.acts],
                "expect": self.expect,
            },
            {"verdict": self.verdict},
        )

    def read(self) -> Report:
        """Read it as the file that it will be."""
        return read_report(Path(f"{self.id}.toml"), self.text().encode())

    def play(self) -> Played:
        """Play it."""
        return play_case(self.read().case)


def row(product: type[Product], table: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """Write the values of a row, which are given as its table holds them."""
    columns = product.specs()[table].row_type.by_name
    told: dict[str, Any] = {}
    for name, item in values.items():
        if item is not None:
            shown = columns[name].shown(item)
            told[name] = list(cast("Sequence[Any]", shown)) if isinstance(shown, tuple) else shown
    return told


def match(product: type[Product], one: Match) -> dict[str, Any]:
    """Write rows that a goal counts."""
    where = row(product, one.table, one.where)
    return {"table": one.table, "where": where, "count": one.count}


def commit(entry: Mapping[str, Any]) -> dict[str, Any]:
    """Write a commit."""
    return {**entry, **({"at": format_instant(entry["at"])} if "at" in entry else {})}


def action(product: type[Product], act: Act) -> dict[str, Any]:
    """Write an action."""
    wait = f"+{duration(act.at)}" if act.at else ""
    latency = {name: duration(ticks) for name, ticks in act.pins.items() if name != "crash"}
    return {
        "label": act.label,
        **({"after": f"{act.after}{wait}"} if act.after else {"at": duration(act.at)}),
        "actor": act.actor,
        "call": act.call,
        **({} if checked(product, act) else {"unchecked": True}),
        **({"args": act.args} if act.args else {}),
        **({"latency": latency} if latency else {}),
        **({"crash": CRASH_WORDS[act.pins["crash"]]} if "crash" in act.pins else {}),
    }


def checked(product: type[Product], act: Act) -> bool:
    """Tell whether an action is one that its tool takes, as far as its arguments are known."""
    if act.actor != AGENT:
        return True
    spec, given = product.tools.get(act.call), act.args
    if spec is None or not isinstance(given, dict):
        return spec is not None and given is None
    args = cast("dict[str, Any]", given)
    if any(True for _ in references(args)):
        return True
    try:
        spec.check(args)
    except BadArgument:
        return False
    return True
