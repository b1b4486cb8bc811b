"""A report that is being written from an episode, at first with all that happened."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from simharness.episode.step import CALLS
from simharness.episode.transcript import parse_arguments
from simharness.errors import UsageError
from simharness.kernel.calendar import format_instant
from simharness.product.fault import parse_fault
from simharness.product.reference import escaped
from simharness.product.script import AGENT
from simharness.product.tool import BadArgument
from simharness.reports.heard import Heard, rows_of_calls, touched, waits
from simharness.reports.load import read_report
from simharness.reports.play import play_case
from simharness.reports.write import document, duration, holds

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from simharness.episode.episode import Episode
    from simharness.parts.row import Row, RowType
    from simharness.product.product import Product
    from simharness.recording.reader import EpisodeRecord
    from simharness.reports.heard import Past
    from simharness.reports.play import Played
    from simharness.reports.report import Report

Rows = dict[str, list[dict[str, Any]]]
PINNED = ("api.latency", "db.latency", "put.latency")
"""Knobs of waits that each action of the report has for itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sketch:
    """A report that is being written."""

    id: str
    title: str
    product: str
    seed: int
    epoch: int
    config: Mapping[str, Any]
    goal: Mapping[str, Any]
    rows: Rows
    signs: Mapping[str, Mapping[str, Any]]
    """Whom actors are signed in as, by name."""
    acts: Sequence[Heard]
    expect: Sequence[Mapping[str, Any]] = ()
    controls: Sequence[Mapping[str, Any]] = ()
    verdict: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def text(self) -> str:
        """Write it as TOML."""
        names = {heard.actor for heard in self.acts} | {AGENT}
        return document(
            {
                "report": 1,
                "id": self.id,
                "title": self.title,
                "product": self.product,
                "seed": self.seed,
                "epoch": format_instant(self.epoch),
                # What else was found there is left to another report.
                "allow_other": True,
            },
            {
                "actors": {name: to for name, to in self.signs.items() if name in names},
                "config": self.config,
                "goal": self.goal,
                "rows": self.rows,
            },
            {
                "actions": [entry(i, heard) for i, heard in enumerate(self.acts, 1)],
                "expect": self.expect,
            },
            {"verdict": self.verdict},
            {"control": self.controls},
        )

    def read(self) -> Report:
        """Read it as the file that it will be."""
        return read_report(Path(f"{self.id}.toml"), self.text().encode())

    def play(self) -> Played:
        """Play it."""
        return play_case(self.read().case)


def entry(number: int, heard: Heard) -> dict[str, Any]:
    """Write an action."""
    latency = {name: duration(ticks) for name, ticks in heard.pins.items()}
    args = escaped(heard.args)
    return {
        "label": str(number),
        "at": duration(heard.at),
        "actor": heard.actor,
        "call": heard.call,
        **({"unchecked": True} if heard.unchecked else {}),
        **({"args": args} if args else {}),
        **({"latency": latency} if latency else {}),
    }


def fits(sketch: Sketch) -> bool:
    """Tell whether a sketch is a sound report."""
    try:
        sketch.read()
    except UsageError:
        return False
    return True


def sketch_of(record: EpisodeRecord, past: Past, primary: Mapping[str, Any]) -> Sketch:
    """Write down all that happened."""
    episode = past.episode
    product = type(episode.product)
    identities = {heard.actor: heard.identity for heard in past.acts}
    identities[AGENT] = episode.agent.identity
    acts = [heard for heard in past.acts if holds(heard.args)]
    acts = sorted([*acts, *of_agent(past)], key=lambda heard: heard.at)
    named = {name for heard in acts for name in heard.touched} | {*primary["keys"]}
    scenario = episode.plan.scenario
    name, _, slug = scenario.rpartition("/")
    return Sketch(
        id=f"{slug}-{episode.plan.seed}-{primary['code']}",
        title=str(primary["explanation"])[:200] or f"{primary['code']} in {scenario}",
        product=name,
        seed=episode.plan.seed,
        epoch=episode.world.epoch,
        config=config_of(episode),
        goal={},
        rows=reached(episode, named | signed_rows(product, identities.values())),
        signs={
            actor: sign
            for actor, identity in identities.items()
            if (sign := signed(product, identity))
        },
        acts=acts,
    )


def of_agent(past: Past) -> list[Heard]:
    """Give the agent's calls, with the waits that they had."""
    episode = past.episode
    rows = rows_of_calls(past.story)
    out: list[Heard] = []
    for step in episode.steps:
        if step.input.kind != CALLS:
            continue
        for i, call in enumerate(step.input.calls):
            args, _ = parse_arguments(call.arguments)
            spec = episode.product.tools.get(call.tool)
            sound = spec is not None and args is not None and holds(args)
            if spec is not None and args is not None and sound:
                try:
                    spec.check(dict(args))
                except BadArgument:
                    sound = False
            own = rows.get((AGENT, step.input.step << 16 | i), [])
            out.append(
                Heard(
                    actor=AGENT,
                    identity=episode.agent.identity,
                    call=call.tool or "?",
                    args=args if sound else call.arguments,
                    at=step.input.at,
                    pins=waits(past.story, own),
                    touched=touched(own),
                    unchecked=not sound,
                )
            )
    return out


def knobs_of(episode: Episode, *, without_faults: bool = False) -> dict[str, Any]:
    """Give the knobs that profile, config and faults have set, as they were given."""
    product, plan = episode.product, episode.plan
    profile = plan.profile or episode.scenario.profile_for(product.profiles)
    raw: dict[str, Any] = {**product.profiles[profile], **plan.config}
    for text in () if without_faults else plan.faults:
        raw |= parse_fault(text, {fault.id: fault for fault in product.faults}).knobs
    return {key: plain_knob(item) for key, item in raw.items()}


def plain_knob(item: Any) -> Any:
    """Give a knob's value as TOML has it."""
    return list(cast("Sequence[Any]", item)) if isinstance(item, tuple) else item


def config_of(episode: Episode) -> dict[str, Any]:
    """Give the knobs that differ from their defaults: by profile, config and faults."""
    raw = knobs_of(episode)
    knobs = episode.product.knobs
    return {
        key: raw[key]
        for key in sorted(raw)
        if key not in PINNED
        and not key.startswith("users.")
        and knobs[key].read(raw[key]) != knobs[key].read(knobs[key].default)
    } | {key: raw[key] for key in raw if key.startswith("users.") and "." in key[6:]}


def signed(product: type[Product], identity: int) -> dict[str, Any]:
    """Say whom an actor is signed in as, by its identity."""
    for key, (people, sign) in product.identities.items():
        if identity * sign > 0:
            return {key: product.specs()[people].row_type.by_name["id"].shown(identity * sign)}
    return {}


def signed_rows(product: type[Product], identities: Iterable[int]) -> set[str]:
    """Name the rows that actors are signed in as."""
    return {
        f"{people}:{identity * sign}"
        for identity in identities
        for people, sign in product.identities.values()
        if identity * sign > 0
    }


def reached(episode: Episode, named: Iterable[str]) -> Rows:
    """Give the rows of the start that are named, and those that these name in their columns."""
    product = type(episode.product)
    found: dict[str, dict[int, Row]] = {name: {} for name in episode.product.stores}
    pending = sorted(named)
    while pending:
        name, _, number = pending.pop().partition(":")
        store = episode.product.stores.get(name)
        if store is None or not number.isdecimal() or int(number) in found[name]:
            continue
        row = store.table.row_at(int(number), 0)
        if row is None:
            continue
        found[name][row.id] = row
        for column, other in product.references(name).items():
            pending.append(f"{other}:{getattr(row, column)}")
    epoch = episode.world.epoch
    return {
        name: [
            shown(episode.product.stores[name].table.row_type, rows[key], epoch)
            for key in sorted(rows)
        ]
        for name, rows in found.items()
        if rows
    }


def shown(row_type: RowType[Any], row: Row, epoch: int) -> dict[str, Any]:
    """Write a row, without what it would have anyway."""
    told = row_type.json(row)
    # Instants and names are told as texts, defaults are held as numbers.
    held = dict(zip(row_type.names, row_type.values(row), strict=True))
    own = {"version": 1, "created_at": epoch, "updated_at": epoch}
    return {
        name: list(cast("Sequence[Any]", item)) if isinstance(item, tuple) else item
        for name, item in told.items()
        if item is not None and held[name] != own.get(name, row_type.default(name))
    }
