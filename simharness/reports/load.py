"""Reads reports. Each error names the file, the line, the key and the nearest valid spelling."""

from __future__ import annotations

import stat
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from simharness.errors import UsageError
from simharness.kernel.calendar import parse_instant
from simharness.kernel.draws import WORD, Draws, Stream
from simharness.product.fault import parse_fault
from simharness.product.registry import load_product
from simharness.product.scenario import Drawing
from simharness.product.script import AGENT, EPOCH, Match, task_of
from simharness.reports.actions import ACTION, Action, ActionReader, check_actions
from simharness.reports.expectations import ExpectationReader
from simharness.reports.material import read_material
from simharness.reports.reader import Reader, pairs, plain
from simharness.reports.report import Case, Expectation, Expected, Report
from simharness.reports.rows import Listed, RowReader, check_rows, read_match

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from simharness.product.product import Product
    from simharness.reports.lines import Path as Place

FORMAT = 1
SIZE_MAX = 16 * 1024 * 1024
"""Bytes of a report."""

SHARED = (
    "title", "faults", "until", "strict", "allow_other", "forbid", "actors", "config", "contract",
    "reward", "goal", "rows", "actions", "expect", "verdict",
)  # fmt: skip
"""Keys of reports and controls alike."""
TOP = (*SHARED, "report", "id", "product", "seed", "source", "epoch", "control")
CONTROL = (*SHARED, "drop")
PROMISES = ("staleness", "read_your_writes", "signals")
"""What a contract may promise, as the knobs of views end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Goal:
    """What must be so at the end."""

    place: Place
    rows: Sequence[Match] | None
    keep: Sequence[Match]
    task: str = ""
    instance: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """What a report or a control says, each part with where it stands."""

    title: str
    faults: Sequence[str]
    until: int | None
    config: Mapping[str, Any]
    rows: Mapping[str, Listed]
    identities: Mapping[str, int]
    actions: Mapping[str, Action]
    """By label, in the order of the file."""
    inherited: frozenset[str]
    """Labels of actions that a control has as its report has them."""
    material: Mapping[str, Any]
    goal: Goal | None
    pay: Sequence[Match] | None
    expect: Sequence[tuple[Place, Expectation]]
    verdict: Expected
    forbid: Sequence[str]
    strict: bool
    allow_other: bool

    def played(self) -> tuple[object, ...]:
        """Give what is played and how strictly it is taken, wherever it stands in the file."""
        goal = None if self.goal is None else replace(self.goal, place=())
        rows = {name: listed.rows for name, listed in self.rows.items()}
        acts = {label: (a.act, a.check, a.unchecked) for label, a in self.actions.items()}
        given = self.faults, self.until, self.config, self.identities, self.material
        return (*given, rows, acts, goal, self.pay, self.strict)


def load_report(path: str | Path) -> Report:
    """Read a report. Raises UsageError that says where the file is wrong."""
    path = Path(path)
    try:
        # A pipe would block the open, so the kind of the file is asked first.
        status = path.stat()
        if not stat.S_ISREG(status.st_mode) and not stat.S_ISDIR(status.st_mode):
            raise UsageError(f"{path} is no regular file", "copy it to one first")
        if status.st_size > SIZE_MAX:
            raise UsageError(f"{path} has more than {SIZE_MAX} bytes", "no report needs so many")
        data = path.read_bytes()
    except OSError as error:
        raise UsageError(f"{path} can't be read: {error.strerror}", "give a report file") from None
    return read_report(path, data)


def read_report(path: Path, data: bytes) -> Report:
    """Read the bytes of a report; `path` is for messages."""
    reader = Reader(path, data)
    document = reader.table((), reader.document)
    if "report" not in document:
        reader.fail((), "no key 'report'", "begin the file with: report = 1")
    if type(document["report"]) is not int or document["report"] != FORMAT:
        reader.fail(("report",), f"got {document['report']!r}", f"this version reads {FORMAT}")
    for key in ("id", "product"):
        if key not in document:
            reader.fail((), f"no key {key!r}", f'add: {key} = "..."')
    name = reader.text(("product",), document["product"])
    product: type[Product] = reader.tried(("product",), load_product, name)
    reader.table((), document, (*TOP, *product.materials))
    loader = Loader(reader, product)
    parts = loader.parts((), document, None)
    head = {
        "product": product,
        "product_name": name,
        "seed": reader.whole(("seed",), document.get("seed", 0), high=WORD - 1),
        "load": 0,
        "epoch": loader.epoch,
    }
    controls = [
        loader.parts(at, table, parts)
        for at, table in reader.tables(
            ("control",), document.get("control", []), (*CONTROL, *product.materials)
        )
    ]
    return Report(
        path=path,
        id=reader.text(("id",), document["id"]),
        source=reader.text(("source",), document["source"]) if "source" in document else "",
        case=loader.case(parts, head),
        controls=[loader.case(control, head) for control in controls],
    )


class Loader:
    """Reads the parts of one file."""

    def __init__(self, reader: Reader, product: type[Product]) -> None:
        self.reader = reader
        self.product = product
        epoch = plain(reader.document.get("epoch"))
        self.epoch = EPOCH
        if epoch is not None:
            text = reader.text(("epoch",), epoch)
            self.epoch = reader.tried(("epoch",), parse_instant, text)
        self.rows = RowReader(reader, product)
        self.actions = ActionReader(reader, product)
        self.wanted = ExpectationReader(reader)

    def case(self, parts: Parts, head: Mapping[str, Any]) -> Case:
        """Put a case together."""
        actions = parts.actions.values()
        goal = parts.goal
        return Case(
            **head,
            title=parts.title,
            faults=parts.faults,
            until=parts.until,
            config=parts.config,
            rows={name: listed.rows for name, listed in parts.rows.items()},
            identities=parts.identities,
            acts=[action.act for action in actions],
            checks={action.act.label: action.check for action in actions},
            unchecked=frozenset(a.act.label for a in actions if a.unchecked),
            inherited=parts.inherited,
            material=parts.material,
            goal=None if goal is None else goal.rows,
            keep=() if goal is None else goal.keep,
            task="" if goal is None else goal.task,
            instance={} if goal is None else goal.instance,
            pay=parts.pay,
            expect=[expectation for _, expectation in parts.expect],
            verdict=parts.verdict,
            forbid=parts.forbid,
            strict=parts.strict,
            allow_other=parts.allow_other,
        )

    def parts(self, at: Place, table: Mapping[str, Any], base: Parts | None) -> Parts:
        """Read a report, or a control that is laid over one."""
        reader = self.reader
        given = {key: ((*at, key), value) for _, key, value in pairs(table, at)}

        def read(key: str, how: Any, default: Any) -> Any:
            return how(*given[key]) if key in given else default

        rows = {**(base.rows if base else {}), **read("rows", self.rows.tables, {})}
        config = {
            **(base.config if base else {}),
            **read("config", self.config, {}),
            **read("contract", self.contract, {}),
        }
        mode, pay = read("reward", self.reward, (None, base.pay if base else None))
        if "reward" in given:
            config.pop("reward.mode", None)
        if mode is not None:
            config["reward.mode"] = mode
        identities = {
            **(base.identities if base else {}),
            **read("actors", partial(self.actors, rows), {}),
        }
        actions = dict(base.actions) if base else {}
        for where, label in read("drop", self.labels, []):
            if label not in actions:
                reader.unknown(where, "action", label, actions)
            del actions[label]
        for where, item in reader.tables((*at, "actions"), table.get("actions", []), ACTION):
            action = self.actions.read(where, item, str(len(actions) + 1))
            label = action.act.label
            if label in actions and (base is None or actions[label].place[:2] == where[:2]):
                first = reader.lines.line(actions[label].place)
                reader.fail(where, f"a second action {label!r}", f"the first is in line {first}")
            actions[label] = action
        until = read("until", reader.duration, base.until if base else None)
        check_rows(reader, self.product, rows)
        check_actions(reader, actions, until)
        goal = read("goal", self.goal, base.goal if base else None)
        if goal is not None:
            self.check_kept(goal, rows)
        expect = read("expect", partial(self.wanted.expect, actions), [])
        forbid = read("forbid", self.wanted.codes, ())
        self.wanted.check_forbidden((*at, "forbid"), forbid, expect)
        out = Parts(
            title=read("title", reader.text, "" if base else "untitled"),
            faults=read("faults", self.faults, base.faults if base else ()),
            until=until,
            config=config,
            rows=rows,
            identities=identities,
            actions=actions,
            inherited=frozenset(
                label for label in actions if base and actions[label] is base.actions.get(label)
            ),
            material={
                **(base.material if base else {}),
                **{
                    name: read_material(reader, self.product, *given[name], name)
                    for name in self.product.materials
                    if name in given
                },
            },
            goal=goal,
            pay=pay,
            expect=expect,
            verdict=read("verdict", self.wanted.verdict, Expected()),
            forbid=forbid,
            strict=read("strict", reader.flag, base.strict if base else False),
            allow_other=read("allow_other", reader.flag, False),
        )
        if base is not None and out.played() == base.played():
            reader.fail(at, "the control changes nothing", "change config, rows or an action")
        actors = {action.act.actor for action in actions.values()}
        for name in given["actors"][1] if "actors" in given and actions else ():
            if name not in (AGENT, *actors):
                reader.unknown((*at, "actors", name), "actor", name, (AGENT, *actors))
        return out

    # --- settings ---------------------------------------------------------------------------------

    def config(self, at: Place, value: object) -> dict[str, Any]:
        """Read knobs, each with a value that it takes."""
        table = self.reader.table(at, value)
        knobs = self.product.knobs
        out: dict[str, Any] = {}
        for where, key, raw in pairs(flat(table, knobs), at):
            if key not in knobs:
                self.reader.unknown(where, "knob", key, knobs)
            told = plain(raw)
            knob = knobs[key]
            self.reader.tried(where, knob.read, told)
            out[key] = told
        return out

    def contract(self, at: Place, value: object) -> dict[str, Any]:
        """Read what views promise."""
        out = self.config(at, value)
        for key in out:
            if key.rpartition(".")[2] not in PROMISES:
                hint = f"a contract says {', '.join(PROMISES)} of a view; others go to [config]"
                self.reader.fail((*at, key), "a contract has no such key", hint)
        return out

    def faults(self, at: Place, value: object) -> list[str]:
        """Read named faults."""
        known = {fault.id: fault for fault in self.product.faults}
        out = self.reader.texts(at, value)
        for i, text in enumerate(out):
            self.reader.tried((*at, i), parse_fault, text, known)
            if text in out[:i]:
                self.reader.fail((*at, i), f"fault {text!r} is named twice", "name each once")
        return out

    def reward(self, at: Place, value: object) -> tuple[str | None, list[Match] | None]:
        """Read how the harness pays: a mode, or rows."""
        table = self.reader.table(at, value, ("mode", "rows"))
        if len(table) != 1:
            self.reader.fail(at, "a reward has a mode or rows", 'write { mode = "goal" }')
        if "rows" in table:
            return None, self.matches((*at, "rows"), table["rows"])
        modes = ("goal", *sorted(self.product.reward_modes))
        return self.reader.one_of((*at, "mode"), table["mode"], modes), None

    def goal(self, at: Place, value: object) -> Goal:
        """Read a goal: rows to count, rows that stay, or the goal of a scenario."""
        reader = self.reader
        table = reader.table(at, value, ("rows", "keep", "scenario", "instance"))
        if not table:
            reader.fail(at, "an empty goal", "name rows, or keep, or leave the goal out")
        rows = self.matches((*at, "rows"), table.get("rows", []))
        out = Goal(
            place=at,
            rows=rows if {"rows", "keep"} & {*table} else None,
            keep=self.matches((*at, "keep"), table.get("keep", []), count=False),
        )
        if "scenario" not in table:
            if "instance" in table:
                reader.fail((*at, "instance"), "an instance of no scenario", "name its `scenario`")
            return out
        name = reader.text((*at, "scenario"), table["scenario"])
        task = reader.tried((*at, "scenario"), task_of, self.product, name)
        given = plain(reader.table((*at, "instance"), table.get("instance", {})))
        drawing = Drawing(Stream(Draws(0), "instance", 0), given)
        reader.tried((*at, "instance"), task.draw, drawing)
        drawn = reader.tried((*at, "instance"), drawing.finish)
        if left := [key for key in drawn if key not in given]:
            hint = "a recording of it has them: simharness report new --from X.simrec"
            reader.fail((*at, "instance"), f"no value for {', '.join(left)}", hint)
        return replace(out, task=name, instance=drawn)

    def check_kept(self, goal: Goal, rows: Mapping[str, Listed]) -> None:
        """Make sure that there is something to stay as it is: a rule about nothing holds."""
        for i, match in enumerate(goal.keep):
            listed = rows[match.table].rows if match.table in rows else ()
            if not any(all(row.get(k) == v for k, v in match.where.items()) for row in listed):
                text = f"no row of {match.table} in [rows] is such"
                self.reader.fail((*goal.place, "keep", i), text, "name rows that are there")

    def matches(self, at: Place, value: object, *, count: bool = True) -> list[Match]:
        """Read rows that are to be counted, or that are to stay."""
        keys = ("table", "where", "count") if count else ("table", "where")
        return [
            read_match(self.reader, self.product, where, table)
            for where, table in self.reader.tables(at, value, keys)
        ]

    def actors(self, rows: Mapping[str, Listed], at: Place, value: object) -> dict[str, int]:
        """Read whom actors are signed in as."""
        kinds = self.product.identities
        out: dict[str, int] = {}
        for where, name, signed in pairs(self.reader.table(at, value), at):
            table = self.reader.table(where, signed, kinds)
            if len(table) != 1:
                names = " or ".join(kinds) or "nothing: nobody signs in here"
                self.reader.fail(where, "an actor is signed in as one row", f"give {names}")
            ((key, raw),) = table.items()
            people, sign = kinds[key]
            column = self.product.specs()[people].row_type.by_name["id"]
            number = cast("int", self.reader.tried((*where, key), column.read, raw))
            known = rows[people].rows if people in rows else ()
            if number not in {row["id"] for row in known}:
                hint = f"add {people} = [{{ id = {raw!r}, ... }}] to [rows]"
                self.reader.fail((*where, key), f"no row {people}:{number}", hint)
            out[name] = sign * number
        return out

    def labels(self, at: Place, value: object) -> list[tuple[Place, str]]:
        """Read labels, or numbers, of actions."""
        items = self.reader.items(at, value)
        return [((*at, i), self.wanted.label((*at, i), item)) for i, item in enumerate(items)]


def flat(table: Mapping[str, Any], known: Mapping[str, object], prefix: str = "") -> dict[str, Any]:
    """Let `a.b = 1`, which TOML takes for nested tables, mean the key `a.b` as `"a.b" = 1` does."""
    out: dict[str, Any] = {}
    for key, value in table.items():
        name = f"{prefix}{key}"
        if isinstance(value, dict) and name not in known:
            out.update(flat(cast("dict[str, Any]", value), known, f"{name}."))
        else:
            out[name] = value
    return out
