"""Actions of a report: who does what when, and what it must come to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from simharness.kernel.operation import AFTER_COMMIT, BEFORE_COMMIT, IN_HANDLER
from simharness.product.reference import references
from simharness.product.script import AGENT, Act
from simharness.product.tool import BadArgument
from simharness.reports.reader import pairs, plain
from simharness.reports.report import Check

if TYPE_CHECKING:
    from collections.abc import Mapping

    from simharness.product.product import Product
    from simharness.product.tool import ToolSpec
    from simharness.reports.lines import Path
    from simharness.reports.reader import Reader

ACTION = (
    "at", "after", "actor", "call", "args", "label", "returns", "error", "latency", "unchecked",
    "crash",
)  # fmt: skip
CRASHES = {"before_commit": BEFORE_COMMIT, "after_commit": AFTER_COMMIT, "handler": IN_HANDLER}
AGENTS_OWN = ("say", "finish")
"""Tools by which the agent speaks to whoever asked it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """One action, with where it stands."""

    place: Path
    act: Act
    check: Check
    unchecked: bool


class ActionReader:
    """Reads the actions of one file."""

    def __init__(self, reader: Reader, product: type[Product]) -> None:
        self.reader = reader
        self.product = product

    def read(self, at: Path, table: Mapping[str, Any], number: str) -> Action:
        """Read an action; without a label it is called by its number."""
        reader = self.reader
        for key in ("actor", "call"):
            if key not in table:
                reader.fail(at, f"the action has no {key!r}", f'add: {key} = "..."')
        actor = reader.text((*at, "actor"), table["actor"])
        call = reader.text((*at, "call"), table["call"])
        unchecked = reader.flag((*at, "unchecked"), table.get("unchecked", False))
        if unchecked and actor != AGENT:
            reader.fail((*at, "unchecked"), "only the agent's calls come unchecked", "leave it out")
        args = plain(table.get("args", {}))
        if not unchecked:
            spec = self._spec(at, actor, call)
            args = reader.table((*at, "args"), args)
            self._check_arguments((*at, "args"), spec, args)
        elif not isinstance(args, dict | str):
            reader.fail((*at, "args"), f"got {args!r}", "give a table, or the raw text")
        ticks, after = self._time(at, table)
        label = table.get("label", number)
        act = Act(
            label=str(label) if type(label) is int else reader.text((*at, "label"), label),
            actor=actor,
            call=call,
            args=args,
            at=ticks,
            after=after,
            pins=self._pins(at, table),
        )
        check = Check(returns=plain(table.get("returns")), error=table.get("error"))
        if check.error is not None:
            reader.text((*at, "error"), check.error)
            if check.returns is not None:
                reader.fail(at, "the action has both 'returns' and 'error'", "give one of them")
        return Action(place=at, act=act, check=check, unchecked=unchecked)

    def _spec(self, at: Path, actor: str, call: str) -> ToolSpec:
        tools, operations = self.product.tools, self.product.operations
        known = {**tools} if actor == AGENT else {**tools, **operations}
        if actor != AGENT:
            for name in AGENTS_OWN:
                known.pop(name, None)
                if call == name:
                    self.reader.fail(
                        (*at, "call"), f"only the agent can {name}", f'write actor = "{AGENT}"'
                    )
        elif call in operations:
            text = f"{call} is no tool: the agent can't do it"
            self.reader.fail((*at, "call"), text, 'give another actor, such as "worker"')
        if call not in known:
            kind = "tool" if actor == AGENT else "tool or operation"
            self.reader.unknown((*at, "call"), kind, call, known)
        return known[call]

    def _check_arguments(self, at: Path, spec: ToolSpec, args: Mapping[str, Any]) -> None:
        """Check arguments as the product will; those with references as far as that goes."""
        known = {parameter.name: parameter for parameter in spec.parameters}
        for where, name, value in pairs(args, at):
            if name not in known:
                self.reader.unknown(where, f"argument of {spec.name}", name, known)
            if not any(True for _ in references(value)):
                try:
                    known[name].check(name, value)
                except BadArgument as error:
                    hint = f"{spec.name}: see simharness list tools {self.product.name}"
                    self.reader.fail(where, str(error), hint)
        for name, parameter in known.items():
            if parameter.required and name not in args:
                hint = f"{spec.name} takes {', '.join(known)}"
                self.reader.fail(at, f"argument {name!r} of {spec.name} is missing", hint)

    def _time(self, at: Path, table: Mapping[str, Any]) -> tuple[int, str]:
        """Read when: at a tick, or so many ticks after an answer."""
        reader = self.reader
        if ("at" in table) == ("after" in table):
            both = "both 'at' and 'after'" if "at" in table else "neither 'at' nor 'after'"
            reader.fail(at, f"the action has {both}", "give one of them, such as at = '5s'")
        key = "at" if "at" in table else "after"
        value = table[key]
        if type(value) is int and key == "after":
            return 0, str(value)
        if key == "at" or not isinstance(value, str):
            return reader.duration((*at, key), value), ""
        label, plus, delay = value.partition("+")
        wait = reader.duration((*at, key), delay.strip()) if plus else 0
        return wait, label.strip()

    def _pins(self, at: Path, table: Mapping[str, Any]) -> dict[str, int]:
        reader = self.reader
        out: dict[str, int] = {}
        latency = reader.table((*at, "latency"), table.get("latency", {}), self.product.waits)
        for where, name, value in pairs(latency, (*at, "latency")):
            out[name] = reader.duration(where, value)
        if "crash" in table:
            out["crash"] = CRASHES[reader.one_of((*at, "crash"), table["crash"], CRASHES)]
        return out


def check_actions(reader: Reader, actions: Mapping[str, Action], until: int | None) -> None:
    """Make sure that actions refer to actions, and that each can come to pass."""
    for label, action in actions.items():
        act = action.act
        for other in references(act.args):
            if other not in actions or other == label:
                reader.unknown((*action.place, "args"), "action", other, actions)
            first = actions[other].act
            if not act.after and not first.after and first.at > act.at:
                text = f"${other} is sent later than this action"
                reader.fail((*action.place, "args"), text, f'write after = "{other}", not at')
        if act.after and (act.after not in actions or act.after == label):
            reader.unknown((*action.place, "after"), "action", act.after, actions)
        if until is not None and not act.after and act.at > until:
            reader.fail((*action.place, "at"), "the action comes after `until`", "give a later one")
    sound: set[str] = set()
    for label, action in actions.items():
        # A dict, as a set that keeps the order.
        seen = {label: None}
        while action.act.after and action.act.label not in sound:
            if action.act.after in seen:
                text = f"{' waits for '.join([*seen, action.act.after])}, and so for itself"
                reader.fail((*action.place, "after"), text, "give one of them an `at`")
            seen[action.act.after] = None
            action = actions[action.act.after]
        sound |= seen.keys()
