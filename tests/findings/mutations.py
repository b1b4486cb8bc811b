"""Defects that no named fault has, each planted into the parts or the product for one test."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from simharness.api import MILLION, SECOND, Actor, Call, Criterion, Page, Refused
from simharness.env import make_plan
from simharness.episode import episode as driving
from simharness.episode.episode import Episode
from simharness.episode.play import drive
from simharness.episode.policies import scripted
from simharness.findings.detect import harness_findings
from simharness.findings.story import story_of_record
from simharness.kernel import journal
from simharness.models.crm import people, policies, scenarios
from simharness.models.crm import product as crm
from simharness.parts.cache import ROW, Cache
from simharness.parts.lock import Locks
from simharness.parts.transaction import Transaction
from simharness.product.product import Product
from simharness.product.store import Edit, Store
from simharness.product.tool import Renderer, ToolSpec
from simharness.product.view import DetailView, QueryView
from simharness.recording.reader import parse
from simharness.recording.writer import FrameLog

if TYPE_CHECKING:
    from collections.abc import Generator

    from pytest import MonkeyPatch

    from simharness.api import Action, Observation, Policy, Task
    from simharness.findings.finding import Finding
    from simharness.findings.story import Story

Plant = Callable[["MonkeyPatch"], None]
Play = "Generator[Action, Observation, None]"

SLOW_DATABASE = {"db.latency": ["300ms", "900ms"]}
SLOW_PUTS = {"put.latency": ["2s", "12s"]}
BUSY = {"api.latency": ["200ms", "4s"]}


class Mutation(NamedTuple):
    """One defect, the world that it is planted in, and the codes that fit it."""

    name: str
    codes: frozenset[str]
    """Any of them is a fitting one."""
    plant: Plant
    policy: str = "expert"
    load: int = 4
    config: Mapping[str, object] = {}
    """Of the sound world too."""
    seeds: int = 6


# --- policies -------------------------------------------------------------------------------------


def watcher(task: Task) -> Any:
    """Look at the deal and at lists of it, by turns, and change it now and then."""
    deal, user = task.brief["deal_id"], task.brief["user_id"]
    for turn in range(14):
        told = yield Call("get_deal", {"deal_id": deal})
        yield Call("list_deals", {"page": 1})
        yield Call("list_deals", {"page": 2})
        yield Call("list_deals", {"owner_id": user})
        if turn % 3 == 0 and not told.error:
            fields = {"next_step": f"turn {turn}"}
            yield Call(
                "update_deal",
                {"deal_id": deal, "fields": fields, "if_version": told.value["version"]},
            )
        yield Call("wait", {"seconds": 25})


def careless(task: Task) -> Any:
    """Change somebody else's deal, then do the job."""
    other = task.brief["deal_id"] % 84 + 1
    yield Call("update_deal", {"deal_id": other, "fields": {"next_step": "mine now"}})
    yield from policies.expert(task)


def sloppy(task: Task) -> Any:
    """Send an argument that no schema has."""
    yield Call("get_deal", {"deal_id": task.brief["deal_id"], "verbose": True})
    yield Call("finish", {"message": "gave up", "outcome": "handed_over"})


def waiting(task: Task) -> Any:
    """Wait for others to do the job, and say that it is done."""
    yield Call("wait", {"seconds": 240})
    yield Call("get_deal", {"deal_id": task.brief["deal_id"]})
    yield Call("finish", {"message": "It is done."})


POLICIES: dict[str, Policy] = {
    "watcher": watcher,
    "careless": careless,
    "sloppy": sloppy,
    "waiting": waiting,
}


def played(
    seed: int,
    policy: str = "expert",
    load: int = 4,
    config: Mapping[str, object] | None = None,
    faults: tuple[str, ...] = (),
) -> Episode:
    episode = Episode(make_plan("crm/negotiation", seed, load, faults, config=config))
    play = POLICIES.get(policy) or scripted(policy, episode.scenario)
    assert play is not None
    drive(episode, play)
    return episode


def story_of(episode: Episode) -> Story:
    """Read an episode as everybody can who has its recording."""
    if episode.sink.digest and isinstance(episode.sink, FrameLog):
        (record,) = parse(episode.sink.to_bytes())
        return story_of_record(record, type(episode.product), episode.scenario.pass_mark)
    raise AssertionError


def found(episode: Episode) -> list[Finding]:
    return harness_findings(story_of(episode))


# --- locks ----------------------------------------------------------------------------------------


def every(n: int) -> Callable[[], bool]:
    """Give a function that is true each n-th time."""
    count = 0

    def due() -> bool:
        nonlocal count
        count += 1
        return count % n == 0

    return due


def release_dropped(patch: MonkeyPatch) -> None:
    release = Locks.release
    due = every(5)

    def dropped(self: Locks, op: Any, key: int) -> None:
        if not due():
            release(self, op, key)

    patch.setattr(Locks, "release", dropped)


def lock_given_to_two(patch: MonkeyPatch) -> None:
    acquire, release = Locks.acquire, Locks.release

    def given(self: Locks, op: Any, key: int, patience: int) -> Any:
        holder = self.holder(key)
        if holder is None or holder is op:
            return (yield from acquire(self, op, key, patience))
        number = self.world.numbers[f"{self.prefix}:{key}"]
        self.world.emit((journal.LOCK, self.world.ticks, op.owner_number, op.n, number))
        return None

    def released(self: Locks, op: Any, key: int) -> None:
        if self.holder(key) is op:
            release(self, op, key)
            return
        number = self.world.numbers[f"{self.prefix}:{key}"]
        self.world.emit((journal.UNLOCK, self.world.ticks, op.owner_number, op.n, number))

    patch.setattr(Locks, "acquire", given)
    patch.setattr(Locks, "release", released)


def lock_given_back_early(patch: MonkeyPatch) -> None:
    check = Edit.check

    def early(self: Edit[Any], if_version: int | None) -> None:
        check(self, if_version)
        self.close()

    patch.setattr(Edit, "check", early)


# --- caches ---------------------------------------------------------------------------------------


def looked_up(lives: Callable[[int, int], bool]) -> Plant:
    """Make caches decide by another rule of age and ttl."""

    def plant(patch: MonkeyPatch) -> None:
        def lookup(self: Cache, key: Any) -> Any:
            entry = self.entries.get(key)
            if entry is None:
                return None
            now, unit = self.world.ticks, self.granularity
            if lives(now // unit * unit - entry.at // unit * unit, entry.ttl):
                return entry
            del self.entries[key]
            self.world.emit((journal.EXPIRE, now, self.number, self._shown(key)))  # pyright: ignore[reportPrivateUsage]
            return None

        patch.setattr(Cache, "lookup", lookup)

    return plant


def wrong_key_invalidated(patch: MonkeyPatch) -> None:
    apply = Cache._apply  # pyright: ignore[reportPrivateUsage]

    def wrong(self: Cache, key: int, old: Any, new: Any, order: int) -> None:
        apply(self, key + 1, old, new, order)

    patch.setattr(Cache, "_apply", wrong)


def invalidated_before_commit(patch: MonkeyPatch) -> None:
    def silent(self: Cache, change: Any) -> None:
        pass

    def wants(self: Cache) -> bool:
        return bool(self.ttl)

    # The listeners are bound when a world is made, so this comes before.
    patch.setattr(Cache, "_on_commit", silent)
    patch.setattr(Cache, "wants_statements", wants)


def one_view_not_invalidated(patch: MonkeyPatch) -> None:
    on_commit = Cache._on_commit  # pyright: ignore[reportPrivateUsage]

    def deaf(self: Cache, change: Any) -> None:
        if self.name != "deals.list":
            on_commit(self, change)

    patch.setattr(Cache, "_on_commit", deaf)


def put_changed(**changes: object) -> Plant:
    """Let every third row of deals that is cached be another one; `version` counts from its own."""

    def plant(patch: MonkeyPatch) -> None:
        put = Cache._put  # pyright: ignore[reportPrivateUsage]
        due = every(3)

        def changed(self: Cache, key: Any, value: Any, order: int, matches: Any) -> None:
            if self.scope == ROW and self.table.name == "deals" and value is not None and due():
                fields = {**changes}
                if "version" in fields:
                    fields["version"] = value.version + 1
                value = self.table.row_type.evolve(value, fields)
            put(self, key, value, order, matches)

        patch.setattr(Cache, "_put", changed)

    return plant


def view_hides_its_age(patch: MonkeyPatch) -> None:
    def deaf(self: Cache, change: Any) -> None:
        pass

    def note(self: DetailView[Any], op: Any, key: int, row: Any, order: int, source: int) -> None:
        served = row.version if row is not None else 0
        head = (journal.READ, self.world.ticks, op.owner_number, op.n, self.number)
        self.world.emit((*head, key, served, served, 0, source, 0))

    patch.setattr(Cache, "_on_commit", deaf)
    patch.setattr(DetailView, "_note", note)


def torn_list(patch: MonkeyPatch) -> None:
    """Let the first half of a list be as it was two minutes ago."""
    note = QueryView._note  # pyright: ignore[reportPrivateUsage]
    read = QueryView.read

    def torn(self: QueryView[Any], op: Any, query: Any) -> Any:
        rows = yield from read(self, op, query)
        return rows

    def half(
        self: QueryView[Any], op: Any, query: Any, rows: Any, order: int, source: int
    ) -> None:
        past = [c.order for c in self.table.changes if c.t < self.world.ticks - 120 * SECOND]
        then = past[-1] if past else 0
        cut = len(rows) // 2
        older = [self.table.row_at(r.id, then) or r for r in rows[:cut]]
        note(self, op, query, (*older, *rows[cut:]), order, source)

    patch.setattr(QueryView, "read", torn)
    patch.setattr(QueryView, "_note", half)


# --- writes ---------------------------------------------------------------------------------------


def not_committed(patch: MonkeyPatch) -> None:
    commit = Transaction.commit
    due = every(3)

    def lost(self: Transaction) -> int:
        writes = self._writes.values()  # pyright: ignore[reportPrivateUsage]
        if not any(w.insert for w in writes) and due():
            return self.op.world.order
        return commit(self)

    patch.setattr(Transaction, "commit", lost)


def done_but_refused(patch: MonkeyPatch) -> None:
    call = Product.call
    due = every(4)

    def refusing(self: Product, op: Any, tool: ToolSpec, arguments: dict[str, Any]) -> Any:
        answer = yield from call(self, op, tool, arguments)
        if tool.writes and due():
            raise Refused("unavailable", "try again later")
        return answer

    patch.setattr(Product, "call", refusing)


def version_not_checked(patch: MonkeyPatch) -> None:
    check = Edit.check
    patch.setattr(Edit, "check", lambda self, _: check(self, None))


def whole_record_written(patch: MonkeyPatch) -> None:
    init = Store.__init__

    def whole(self: Any, *args: Any) -> None:
        init(self, *args)
        self.scope = "whole_record"

    patch.setattr(Store, "__init__", whole)


# --- answers --------------------------------------------------------------------------------------


def late(mode: str) -> Plant:
    """Answer calls whose time is up in another way than the knobs say, and soon."""

    def plant(patch: MonkeyPatch) -> None:
        answer = Episode._late  # pyright: ignore[reportPrivateUsage]

        def lying(self: Episode, op: Any, call: Any, spec: ToolSpec, process: Any) -> Any:
            settings = self._settings  # pyright: ignore[reportPrivateUsage]
            settings.values["api.on_timeout"] = mode
            return answer(self, op, call, spec, process)

        patch.setattr(Episode, "_late", lying)

    return plant


def page_cut(patch: MonkeyPatch) -> None:
    paged = crm.paged

    def cut(table: str, rows: Any, page: int) -> Page[Any]:
        whole = paged(table, rows, page)
        return replace(whole, rows=whole.rows[:-1], next_page=None)

    patch.setattr(crm, "paged", cut)


def pages_overlap(patch: MonkeyPatch) -> None:
    paged = crm.paged

    def overlapping(table: str, rows: Any, page: int) -> Page[Any]:
        whole = paged(table, rows, page)
        return replace(whole, rows=rows[(page - 1) * 19 : (page - 1) * 19 + 20])

    patch.setattr(crm, "paged", overlapping)


def traceback_shown(patch: MonkeyPatch) -> None:
    def shown(self: Refused) -> dict[str, Any]:
        text = 'Traceback (most recent call last):\n  File "/srv/crm/product.py", line 12, in call'
        return {"code": self.code, "message": f"{text}\n{self.message}", "retryable": False}

    patch.setattr(Refused, "value", shown)


def column_renamed(patch: MonkeyPatch) -> None:
    row_json = Renderer._row  # pyright: ignore[reportPrivateUsage]
    count = 0

    def renamed(self: Renderer, row: Any) -> Any:
        nonlocal count
        count += 1
        shown = row_json(self, row)
        if count > 6 and "next_step" in shown:
            values = {("nextStep" if k == "next_step" else k): v for k, v in shown.items()}
            shown.clear()
            shown.update(values)
        return shown

    patch.setattr(Renderer, "_row", renamed)


def answered_twice(patch: MonkeyPatch) -> None:
    call = Product.call

    def twice(self: Product, op: Any, tool: ToolSpec, arguments: dict[str, Any]) -> Any:
        answer = yield from call(self, op, tool, arguments)
        number = self.world.numbers["ok"]
        self.world.emit((journal.RETURN, self.world.ticks, op.owner_number, op.n, number))
        return answer

    patch.setattr(Product, "call", twice)


def schema_changed(patch: MonkeyPatch) -> None:
    call = Product.call
    due = every(20)

    def changing(self: Product, op: Any, tool: ToolSpec, arguments: dict[str, Any]) -> Any:
        if due():
            tools = {k: v for k, v in self.tools.items() if k != "pipeline_summary"}
            patch.setattr(self, "tools", tools, raising=False)
        return (yield from call(self, op, tool, arguments))

    patch.setattr(Product, "call", changing)


def valid_refused(patch: MonkeyPatch) -> None:
    check = ToolSpec.check

    def narrow(self: ToolSpec, arguments: dict[str, object]) -> dict[str, Any]:
        if self.name == "wait":
            raise driving.BadArgument("argument 'seconds' must be a string")
        return check(self, arguments)

    patch.setattr(ToolSpec, "check", narrow)


def invalid_taken(patch: MonkeyPatch) -> None:
    check = ToolSpec.check

    def wide(self: ToolSpec, arguments: dict[str, object]) -> dict[str, Any]:
        names = {p.name for p in self.parameters}
        return check(self, {k: v for k, v in arguments.items() if k in names})

    patch.setattr(ToolSpec, "check", wide)


# --- rules, goals and pay -------------------------------------------------------------------------


def rules_not_kept(patch: MonkeyPatch) -> None:
    patch.setattr(crm.Crm, "_require_winnable", lambda *_: None)


def goals(judge: Callable[..., tuple[Criterion, ...]]) -> Plant:
    """Judge by other criteria."""

    def plant(patch: MonkeyPatch) -> None:
        goal = scenarios.Negotiation.goal

        def judged(self: Any, product: Any, instance: Any, ending: Any) -> tuple[Criterion, ...]:
            return judge(goal(self, product, instance, ending), product, instance)

        patch.setattr(scenarios.Negotiation, "goal", judged)

    return plant


def by_cache(
    criteria: tuple[Criterion, ...], product: Any, instance: Any
) -> tuple[Criterion, ...]:
    """Look at the deal through the cache that agents read through."""
    entry = product.deals.detail.cache.entries.get(instance["deal"])
    row = entry.value if entry is not None else product.deals.true(instance["deal"])
    moved = row.stage != "negotiation"
    return *criteria, Criterion("moved at all", moved, f"v{row.version} is in {row.stage}")


def deaf_and_by_cache(patch: MonkeyPatch) -> None:
    def deaf(self: Cache, change: Any) -> None:
        pass

    patch.setattr(Cache, "_on_commit", deaf)
    goals(by_cache)(patch)


def always_met(*_: Any) -> tuple[Criterion, ...]:
    return (Criterion("always", True, "there is nothing to do"),)


def blind_to_footprint(patch: MonkeyPatch) -> None:
    def blind(criteria: tuple[Criterion, ...]) -> int:
        goal = [c for c in criteria if c.role == "goal"]
        return MILLION if goal and all(c.holds for c in goal) else 0

    patch.setattr(driving, "score", blind)


def others_work_paid(patch: MonkeyPatch) -> None:
    """Pay for the stage that the deal is in, whoever moved it, and let a colleague move it."""
    start = people.start_team

    def eager(product: Any, busy_deal: int) -> None:
        start(product, busy_deal)
        world = product.world

        def colleague() -> Any:
            yield world.timer(100 * SECOND)
            actor = Actor(world, "user/eager", 1)
            yield from product.request(
                actor, "move_stage", deal_id=busy_deal, to_stage="qualification"
            )

        world.spawn("user/eager", colleague())

    def state_alone(
        criteria: tuple[Criterion, ...], product: Any, instance: Any
    ) -> tuple[Criterion, ...]:
        deal = product.deals.true(instance["deal"])
        key = f"deals:{deal.id}.stage"
        moved = deal.stage != "negotiation"
        return (Criterion("moved at all", moved, f"{key} is {deal.stage}", (key,)),)

    patch.setattr(scenarios, "start_team", eager)
    goals(state_alone)(patch)


def paid_by_chance(patch: MonkeyPatch) -> None:
    grade = Episode._grade  # pyright: ignore[reportPrivateUsage]
    patch.setattr(Episode, "_grade", lambda self, *args: MILLION - grade(self, *args))


def codes(*names: str) -> frozenset[str]:
    return frozenset(names)


MUTATIONS = (
    Mutation("lock release dropped", codes("H315", "H311"), release_dropped),
    Mutation(
        "lock given to two", codes("H315"), lock_given_to_two, load=8, config=SLOW_DATABASE
    ),
    Mutation("lock given back before the commit", codes("H315"), lock_given_back_early),
    Mutation(
        "an entry as old as its lifetime is served",
        codes("H315"),
        looked_up(lambda age, ttl: age <= ttl),
        load=8,
        config={"deals.detail.cache.granularity": "30s", "users.auth.cache.granularity": "1min"},
    ),
    Mutation(
        "entries end at a quarter of their lifetime",
        codes("H315"),
        looked_up(lambda age, ttl: age < ttl // 4),
    ),
    Mutation("invalidation of the wrong key", codes("H112"), wrong_key_invalidated, "watcher"),
    Mutation(
        "invalidation before the commit only",
        codes("H110", "H112"),
        invalidated_before_commit,
        "watcher",
        load=8,
        config=SLOW_PUTS,
    ),
    Mutation("one view of two invalidated", codes("H113"), one_view_not_invalidated, "watcher"),
    Mutation("cache put of an uncommitted row", codes("H230"), put_changed(version=1), "watcher"),
    Mutation("row corrupted in the cache", codes("H230"), put_changed(amount=7), "watcher"),
    Mutation("a view hides how old it is", codes("H112"), view_hides_its_age, "watcher"),
    Mutation("a list of two instants", codes("H114"), torn_list, "watcher"),
    Mutation("write acknowledged, not committed", codes("H121"), not_committed),
    Mutation("write done, error told", codes("H122"), done_but_refused),
    Mutation(
        "if_version not checked", codes("H310"), version_not_checked, load=8, config=BUSY, seeds=8
    ),
    Mutation(
        "whole record written", codes("H310"), whole_record_written, load=8, config=BUSY, seeds=8
    ),
    Mutation(
        "time-out told as success", codes("H120"), late("default"), config={"api.timeout": "20ms"}
    ),
    Mutation(
        "time-out told as failure", codes("H122"), late("error"), config={"api.timeout": "20ms"}
    ),
    Mutation("page without its last row", codes("H115"), page_cut, "watcher"),
    Mutation("pages overlap", codes("H114"), pages_overlap, "watcher"),
    Mutation("traceback shown", codes("H124"), traceback_shown, "random"),
    Mutation("column renamed", codes("H413"), column_renamed, "watcher"),
    Mutation("answered twice", codes("H314"), answered_twice),
    Mutation("schema changed", codes("H410"), schema_changed),
    Mutation("valid call refused", codes("H411"), valid_refused, "watcher"),
    Mutation("invalid call taken", codes("H412"), invalid_taken, "sloppy"),
    Mutation("rules not kept", codes("H220"), rules_not_kept, "random", seeds=40),
    Mutation("grader reads a cache", codes("H514"), deaf_and_by_cache),
    Mutation("goal met at the start", codes("H512"), goals(always_met), "null"),
    Mutation("grader blind to forbidden writes", codes("H516"), blind_to_footprint, "careless"),
    Mutation("others' work paid", codes("H517"), others_work_paid, "waiting"),
    Mutation("paid the other way round", codes("H510", "H511"), paid_by_chance),
)
