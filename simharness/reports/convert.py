"""Writes a report from a recorded episode: the smallest that still finds what was found there."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

from simharness.blame.attribution import judge_record
from simharness.blame.case import story_of_episode
from simharness.env import finish, new_episode
from simharness.episode.step import CALLS
from simharness.episode.transcript import parse_arguments
from simharness.errors import HarnessError, UsageError
from simharness.findings.causes import causes_of, root_of
from simharness.kernel.calendar import format_instant
from simharness.parts.row import SYSTEM_COLUMNS
from simharness.product.fault import parse_fault
from simharness.product.script import AGENT, SLUG
from simharness.product.tool import BadArgument
from simharness.reports.check import check_report, places_of
from simharness.reports.heard import Heard, listen, rows_of_calls, touched, waits
from simharness.reports.load import read_report
from simharness.reports.play import play_case
from simharness.reports.write import document, duration, holds

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from simharness.episode.episode import Episode
    from simharness.parts.row import Row, RowType
    from simharness.product.product import Product
    from simharness.recording.reader import EpisodeRecord
    from simharness.reports.heard import Past
    from simharness.reports.play import Played
    from simharness.reports.report import Report

T = TypeVar("T")
Rows = dict[str, list[dict[str, Any]]]

TRIES = 60
"""Times that a report is played at most while one part of it is made smaller."""
PINNED = ("api.latency", "db.latency", "put.latency")
"""Knobs of waits that each action of the report has for itself."""
JUDGED = ("H51", "M")
"""Codes that may need a goal to be found."""


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
    return {
        "label": str(number),
        "at": duration(heard.at),
        "actor": heard.actor,
        "call": heard.call,
        **({"unchecked": True} if heard.unchecked else {}),
        **({"args": heard.args} if heard.args else {}),
        **({"latency": latency} if latency else {}),
    }


def report_from(record: EpisodeRecord, until: int | None = None) -> str:
    """Write a report that finds what the verdict on a recording rests on.

    Only the agent's first `until` steps are played, all if None. Raises UsageError where nothing
    was found, or where no report finds it again.
    """
    primary = primary_of(record)
    past = listen(record, until)
    sketch = sketch_of(record, past, primary)
    # A row that was made in the episode has another number where fewer are made.
    keys = tuple(key for key in primary["keys"] if named_at_start(past.episode, key))
    wanted = primary["code"], keys

    def found(sketch: Sketch) -> Played | None:
        if not fits(sketch):
            return None
        played = sketch.play()
        there = [f for f in played.findings if f.code == wanted[0]]
        same = [f for f in there if not wanted[1] or set(wanted[1]) & {*f.keys}]
        return played if same else None

    options = [sketch]
    if primary["code"].startswith(JUDGED):
        goal = goal_of(record, past.episode)
        options = [with_goal(sketch, past.episode, goal)] if goal else []
        options += [] if primary["code"].startswith("H51") else [sketch]
    near = [option for whole in options for option in narrowed(whole, primary)]
    for option in (*near, *with_task(sketch, past.episode, primary)):
        played = found(option)
        if played is not None:
            small = smaller(option, lambda sketch: found(sketch) is not None)
            done = finished(small, found(small) or played, wanted)
            return with_control(done, past.episode, primary).text()
    raise UsageError(
        f"no report of {named(record)} finds its {primary['code']} again",
        "write one by hand; simharness show FILE --truth tells what happened",
    )


def named(record: EpisodeRecord) -> str:
    """Name an episode as `--episode` takes it, with the policy that played."""
    header = record.header
    name = f"{header['scenario']}:{header['seed']}"
    return f"{name} of {record.path}" if record.path else name


def primary_of(record: EpisodeRecord) -> Mapping[str, Any]:
    """Give the finding that the verdict on a recording rests on. Raises UsageError."""
    verdict = record.verdict or judge_record(record).record()
    told = cast("dict[str, Any]", verdict)
    found = [f for f in told["findings"] if f["code"] == told["primary"]]
    against = found or [f for f in told["findings"] if f["code"].startswith("H")]
    if not against:
        raise UsageError(
            f"nothing was found in {named(record)} that a report could expect",
            "give the recording of an episode that failed",
        )
    return cast("dict[str, Any]", against[0])


# --- the sketch -----------------------------------------------------------------------------------


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


# --- the goal -------------------------------------------------------------------------------------


def goal_of(record: EpisodeRecord, episode: Episode) -> dict[str, Any]:
    """Write a goal in rows: what the reference leaves behind that was not left here.

    Empty where the reference doesn't get there, or nothing tells the two apart.
    """
    expert = episode.scenario.policies.get("expert")
    if expert is None:
        return {}
    plan = replace(episode.plan, faults=(), pins=episode.instance)
    try:
        best = finish(new_episode(plan, "expert"), expert, askable=False).episode
    except HarnessError:
        return {}
    if not best.passed:
        return {}
    goal = [c for c in best.criteria if c.role == "goal"]
    judged = [name.partition(".")[::2] for criterion in goal for name in criterion.keys]
    # Where the criteria name no rows, those that the reference wrote tell what it came to.
    for places in (judged, written_by(best)):
        rows: list[dict[str, Any]] = []
        for place, column in places:
            match = match_of(best, place, column)
            if match is not None and match not in rows and not left_by(episode, match):
                rows.append(match)
        if rows:
            return {"rows": rows}
    return {}


def with_goal(sketch: Sketch, episode: Episode, goal: Mapping[str, Any]) -> Sketch:
    """Give a sketch a goal, and the rows that it names."""
    product = type(episode.product)
    named = {f"{name}:{row['id']}" for name, rows in sketch.rows.items() for row in rows}
    for match in goal["rows"]:
        named.add(f"{match['table']}:{match['where'].get('id', 0)}")
        for column, other in product.references(match["table"]).items():
            named.add(f"{other}:{match['where'].get(column, 0)}")
    named = {product.row_name(name) for name in named}
    return replace(sketch, goal=goal, rows=reached(episode, named))


def with_task(sketch: Sketch, episode: Episode, primary: Mapping[str, Any]) -> Iterator[Sketch]:
    """Give a sketch the goal of its scenario: with the rows that were named, and with all rows."""
    slug = episode.plan.scenario.rpartition("/")[2]
    if slug == SLUG:
        return
    task = replace(sketch, goal={"scenario": slug, "instance": dict(episode.instance)})
    product = type(episode.product)
    if product.materials:
        yield replace(task, rows={})
        return
    keys = {key.partition(".")[0] for c in episode.criteria for key in c.keys}
    there = {f"{name}:{row['id']}" for name, rows in sketch.rows.items() for row in rows}
    near = {product.row_name(name) for name in (*keys, *there)}
    yield from narrowed(replace(task, rows=reached(episode, near)), primary)
    every = [
        f"{n}:{key}" for n, store in episode.product.stores.items() for key in store.table.rows
    ]
    yield replace(task, rows=reached(episode, every))


# --- the control ----------------------------------------------------------------------------------


def with_control(sketch: Sketch, episode: Episode, primary: Mapping[str, Any]) -> Sketch:
    """Add the same without what broke: without the faults, or with the suspect telling the truth.

    Only for a finding of the harness, and only what holds: it must not find the code again.
    """
    code = primary["code"]
    if not code.startswith("H"):
        return sketch
    for title, config in remedies(sketch, episode, primary["mechanism"]):
        control = {
            "title": title, "allow_other": True, "forbid": [code], "config": config,
        }  # fmt: skip
        option = replace(sketch, controls=[control])
        if fits(option) and all(result.held for result in check_report(option.read())):
            return option
    return sketch


def remedies(
    sketch: Sketch, episode: Episode, mechanism: str
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Give what may take away what was found: knobs, with what they come to."""
    product, plan = episode.product, episode.plan
    faults = {fault.id: fault for fault in product.faults}
    patched = [key for text in plan.faults for key in parse_fault(text, faults).knobs]
    before = knobs_of(episode, without_faults=True)
    defaults = {key: knob.default for key, knob in product.knobs.items()}
    calm = {key: before.get(key, defaults[key]) for key in patched if key in sketch.config}
    if calm:
        yield f"without {', '.join(parse_fault(text, faults).id for text in plan.faults)}", calm
    kind, _, place = mechanism.partition(":")
    sound: dict[str, Any] = dict(product.sound.get(mechanism, {}))
    if kind == "cache":
        sound = {f"{place}.cache.ttl": "0s"}
    elif kind == "lock" and place in product.stores:
        sound = dict(product.stores[place].sound_writes())
    elif kind == "lease" and place in product.stores:
        sound = dict(product.stores[place].sound_leases())
    elif kind == "reward":
        sound |= {"reward.mode": "goal", "reward.at": "settled"}
    elif kind == "timeout":
        sound = {"api.on_timeout": "unknown_outcome"}
    sound = {key: plain_knob(item) for key, item in sound.items() if key in defaults}
    if sound:
        yield f"with {mechanism} telling the truth", sound
    if sketch.config:
        yield "with every knob at its default", {key: defaults[key] for key in sketch.config}


def plain_knob(item: Any) -> Any:
    """Give a knob's value as TOML has it."""
    return list(cast("Sequence[Any]", item)) if isinstance(item, tuple) else item


def written_by(best: Episode) -> list[tuple[str, str]]:
    """Name what the agent wrote, or caused to be written: rows with their columns."""
    story = story_of_episode(best)
    causes = causes_of(story)
    out: list[tuple[str, str]] = []
    for history in story.commits.values():
        for commit in history:
            if root_of(causes, (commit.owner, commit.n))[0] == AGENT and commit.delta:
                place = f"{commit.table}:{commit.key}"
                out += [(place, story.column(commit.table, n)) for n in commit.delta[::2]]
    return out


def match_of(best: Episode, place: str, column: str) -> dict[str, Any] | None:
    """Write what the reference left in a row, so that it can be counted."""
    table, _, number = place.partition(":")
    store = best.product.stores.get(table)
    row = store.table.rows.get(int(number)) if store is not None and number.isdecimal() else None
    if store is None or row is None:
        return None
    row_type = store.table.row_type
    told = row_type.json(row)
    if store.table.row_at(row.id, 0) is not None:
        where = {"id": told["id"], column: told.get(column)} if column not in ("", "id") else {}
    else:
        # A row that was made: its id, and that of others that were, is nobody's business, nor are
        # texts that anybody may choose.
        others = type(best.product).references(table)
        where = {
            c.name: told[c.name]
            for c in row_type.columns
            if c.name not in SYSTEM_COLUMNS
            and not c.instant
            and (c.kind is not str or c.choices or c.name == "currency")
            and (c.name not in others or of_start(best, others[c.name], getattr(row, c.name)))
        }
    where = {name: item for name, item in where.items() if item is not None}
    return {"table": table, "where": where} if len(where) > 1 and holds(where) else None


def named_at_start(episode: Episode, name: str) -> bool:
    """Tell whether a name, as `table:id`, is that of a row that was there at the start."""
    table, _, number = name.partition(":")
    known = table in episode.product.stores and number.isdecimal()
    return known and of_start(episode, table, int(number))


def of_start(best: Episode, table: str, key: object) -> bool:
    """Tell whether a row was there at the start."""
    return isinstance(key, int) and best.product.stores[table].table.row_at(key, 0) is not None


def left_by(episode: Episode, match: Mapping[str, Any]) -> bool:
    """Tell whether an episode, too, has left exactly one row of that kind."""
    table = episode.product.stores[match["table"]].table
    where: dict[str, Any] = match["where"]
    rows = [table.row_type.json(row) for row in table]
    return sum(all(row[name] == item for name, item in where.items()) for row in rows) == 1


# --- made smaller ---------------------------------------------------------------------------------


def smaller(sketch: Sketch, found: Callable[[Sketch], bool]) -> Sketch:
    """Leave out acts of others, rows, stamps, knobs and calls of the agent's, while it is found."""
    sketch = fewer_others(sketch, found)
    option = replace(sketch, rows=needed(sketch))
    if found(option):
        sketch = option
    plain = {name: [without_stamps(row) for row in rows] for name, rows in sketch.rows.items()}
    if found(option := replace(sketch, rows=plain)):
        sketch = option

    def with_knobs(keys: Sequence[str]) -> Sketch:
        return replace(sketch, config={key: sketch.config[key] for key in keys})

    sketch = with_knobs(fewest([*sketch.config], lambda keys: found(with_knobs(keys))))
    acts = fewest(
        [*range(len(sketch.acts))],
        lambda places: found(replace(sketch, acts=[sketch.acts[place] for place in places])),
    )
    return replace(sketch, acts=[sketch.acts[place] for place in acts])


def narrowed(sketch: Sketch, primary: Mapping[str, Any]) -> Iterator[Sketch]:
    """Give the sketch with what came to the rows of the finding, to those of the agent, and whole.

    Without a goal nothing counts that came after the finding.
    """
    late = max((h.at for h in sketch.acts), default=0) if sketch.goal else primary["t"]
    acts = [heard for heard in sketch.acts if heard.at <= late]
    own = {name for heard in acts if heard.actor == AGENT for name in heard.touched}
    for near in ({*primary["keys"]}, own, None):
        close = [h for h in acts if h.actor == AGENT or near is None or h.touched & near]
        yield replace(sketch, acts=close)


def fewer_others(sketch: Sketch, found: Callable[[Sketch], bool]) -> Sketch:
    """Leave out what others did."""

    def kept(places: Sequence[int]) -> Sketch:
        there = {*places}
        acts = [h for i, h in enumerate(sketch.acts) if h.actor == AGENT or i in there]
        return replace(sketch, acts=acts)

    others = [i for i, heard in enumerate(sketch.acts) if heard.actor != AGENT]
    return kept(fewest(others, lambda places: found(kept(places))))


def fewest(items: Sequence[T], found: Callable[[Sequence[T]], bool]) -> list[T]:
    """Leave items out, in ever smaller chunks, as long as it is still found without them."""
    left, kept = TRIES, list(items)
    size = len(kept)
    while kept and size and left > 0:
        start = 0
        while start < len(kept) and left > 0:
            option = kept[:start] + kept[start + size :]
            left -= 1
            if found(option):
                kept = option
            else:
                start += size
        size //= 2
    return kept


def without_stamps(row: Mapping[str, Any]) -> dict[str, Any]:
    """Give a row as if it had been made at the start."""
    return {name: item for name, item in row.items() if name not in ("created_at", "updated_at")}


def needed(sketch: Sketch) -> Rows:
    """Give the rows that the actions came to, and those that these name in their columns."""
    case = sketch.read().case
    played = play_case(case)
    named = {name for rows in rows_of_calls(played.story).values() for name in touched(rows)}
    named |= signed_rows(case.product, case.identities.values())
    matches = [*(case.goal or ()), *case.keep]
    named |= {f"{match.table}:{match.where.get('id', 0)}" for match in matches}
    if case.task:
        named |= {key.partition(".")[0] for c in played.episode.criteria for key in c.keys}
    return reached(played.episode, named)


def fits(sketch: Sketch) -> bool:
    """Tell whether a sketch is a sound report."""
    try:
        sketch.read()
    except UsageError:
        return False
    return True


def finished(sketch: Sketch, played: Played, wanted: tuple[str, tuple[str, ...]]) -> Sketch:
    """Say what is to be expected: the finding, where it was found, and the verdict."""
    code, keys = wanted
    same = [f for f in played.findings if f.code == code]
    finding = next((f for f in same if set(keys) & {*f.keys}), same[0])
    evidence = {
        name: duration(item) if name in ("age", "by") and type(item) is int else item
        for name, item in finding.evidence.items()
        if type(item) in (int, str, bool) and name not in ("query", "text")
    }
    places = places_of(played, finding)
    expect: dict[str, Any] = {"code": code}
    if len(places) == 1:
        expect["action"] = places[0]
    if evidence and holds(evidence):
        expect["evidence"] = evidence
    verdict: dict[str, Any] = {"class": str(played.verdict.kind)}
    verdict["reward"] = "none" if played.reward is None else played.reward
    done = replace(sketch, expect=[expect], verdict=verdict)
    (result, *_) = check_report(done.read())
    if not result.held:
        # Evidence may name what only the whole episode has.
        done = replace(done, expect=[{"code": code}])
    return done
