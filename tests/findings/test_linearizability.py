"""The black-box check: histories by hand, brute force, and real products whose truth is known."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from itertools import chain, combinations, permutations
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simharness.api import Actor, Call, Draws, Operation, Refused, Stream, World
from simharness.env import make_plan
from simharness.episode.episode import Episode
from simharness.episode.inputs import read_inputs
from simharness.episode.play import drive
from simharness.episode.policies import scripted
from simharness.episode.transcript import parse_arguments
from simharness.errors import UsageError
from simharness.findings.linearizability import (
    Exchange,
    Kind,
    Observed,
    Reply,
    Request,
    RowModel,
    RowState,
    Ruling,
    check,
    histories,
    performed,
    row_model,
)
from simharness.kernel.journal import COLUMNS as ROW_COLUMNS
from simharness.kernel.journal import COMMIT, NAMES, TIMEOUT, Decoder, Row
from simharness.models.crm.product import Crm
from simharness.models.crm.rules import MOVES, OPEN_STAGES
from simharness.models.crm.tables import Deal
from simharness.parts.row import row_type_of
from simharness.product.product import resolve_settings
from simharness.product.tool import Renderer
from simharness.recording.reader import read_file
from simharness.recording.rows import read_rows

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from simpy.events import Event

    from simharness.api import Action, Observation, Task
    from simharness.episode.transcript import RawCall
    from simharness.product.view import Breach

Op = Observed[Request, Reply]
LINEARIZABLE, NOT, UNKNOWN = Ruling.LINEARIZABLE, Ruling.NOT, Ruling.UNKNOWN

# --- histories by hand ---------------------------------------------------------------------------

NOTE = row_model(("text",), {"version": 1, "text": "a"})
ABSENT = row_model(("text",))


def read(called: int, returned: int, version: int | None, text: str | None = None) -> Op:
    """A read; version None for `not_found`."""
    told = Reply(code="not_found") if version is None else answer(version, text)
    return Observed(called=called, returned=returned, input=Request(kind=Kind.READ), output=told)


def answer(version: int | None, text: str | None = None) -> Reply:
    return Reply(version=version, fields={} if text is None else {"text": text})


def update(
    called: int,
    returned: int | None,
    text: str,
    told: int | None = None,
    *,
    if_version: int | None = None,
    conflict: bool = False,
) -> Op:
    """An update that was told version `told`, or refused because of it; None: nobody was told."""
    asked = Request(kind=Kind.UPDATE, changes={"text": text}, if_version=if_version)
    reply = Reply(code="conflict", version=told) if conflict else answer(told)
    output = None if told is None else reply
    return Observed(called=called, returned=returned, input=asked, output=output)


def create(called: int, returned: int | None, text: str, version: int | None = None) -> Op:
    asked = Request(kind=Kind.CREATE, changes={"text": text})
    output = None if version is None else answer(version)
    return Observed(called=called, returned=returned, input=asked, output=output)


def delete(called: int, returned: int | None, if_version: int | None = None) -> Op:
    asked = Request(kind=Kind.DELETE, if_version=if_version)
    output = None if returned is None else Reply()
    return Observed(called=called, returned=returned, input=asked, output=output)


def ruled(*ops: Op, model: RowModel = NOTE) -> Ruling:
    ruling = check(model, ops)
    assert check(model, reversed(ops)) is ruling  # the order of a history says nothing
    return ruling


def test_nothing_happened_and_that_is_in_order() -> None:
    assert ruled() is LINEARIZABLE
    assert ruled(model=ABSENT) is LINEARIZABLE


def test_a_read_shows_what_is_there() -> None:
    assert ruled(read(0, 1, 1, "a")) is LINEARIZABLE
    assert ruled(read(0, 1, 2, "a")) is NOT
    assert ruled(read(0, 1, 1, "b")) is NOT
    assert ruled(read(0, 1, None)) is NOT
    assert ruled(read(0, 1, None), model=ABSENT) is LINEARIZABLE


def test_a_stale_read_is_not_linearizable() -> None:
    write = update(0, 5, "b", 2)
    assert ruled(write, read(6, 7, 2, "b")) is LINEARIZABLE
    assert ruled(write, read(6, 7, 1, "a")) is NOT


def test_a_read_concurrent_with_a_write_may_see_either() -> None:
    write = update(0, 5, "b", 2)
    assert ruled(write, read(3, 4, 1, "a")) is LINEARIZABLE
    assert ruled(write, read(3, 4, 2, "b")) is LINEARIZABLE
    assert ruled(write, read(3, 4, 2, "a")) is NOT


def test_two_reads_within_one_write_may_not_go_back() -> None:
    write = update(0, 9, "b", 2)
    assert ruled(write, read(1, 2, 1), read(3, 4, 2)) is LINEARIZABLE
    assert ruled(write, read(1, 2, 2), read(3, 4, 1)) is NOT
    assert ruled(write, read(1, 3, 2), read(3, 4, 1)) is LINEARIZABLE


def test_intervals_are_closed_so_return_and_call_at_one_tick_are_concurrent() -> None:
    write = update(0, 5, "b", 2)
    assert ruled(write, read(5, 7, 1, "a")) is LINEARIZABLE
    assert ruled(write, read(5, 5, 1, "a")) is LINEARIZABLE
    assert ruled(write, read(6, 6, 1, "a")) is NOT
    assert ruled(read(0, 5, 2, "b"), update(5, 6, "b", 2)) is LINEARIZABLE
    assert ruled(read(0, 4, 2, "b"), update(5, 6, "b", 2)) is NOT


def test_a_lost_update_is_not_linearizable() -> None:
    first = update(0, 5, "b", 2, if_version=1)
    assert ruled(first, update(1, 6, "c", 2, conflict=True, if_version=1)) is LINEARIZABLE
    # Both were let through although both rest on version 1.
    assert ruled(first, update(1, 6, "c", 3, if_version=1)) is NOT
    assert ruled(first, update(1, 6, "c", 2, if_version=1)) is NOT
    assert ruled(first, update(1, 6, "c", 3, if_version=2)) is LINEARIZABLE


def test_an_update_that_writes_back_an_old_column_is_not_linearizable() -> None:
    pair = row_model(("text", "size"), {"version": 1, "text": "a", "size": 0})
    first = update(0, 5, "b", 2)
    asked = Request(kind=Kind.UPDATE, changes={"size": 7})

    def second(text: str) -> Op:
        told = Reply(version=3, fields={"text": text, "size": 7})
        return Observed(called=1, returned=6, input=asked, output=told)

    assert ruled(first, second("b"), model=pair) is LINEARIZABLE
    assert ruled(first, second("a"), model=pair) is NOT


def test_a_conflict_means_another_version() -> None:
    refused = update(6, 7, "c", 2, conflict=True, if_version=1)
    assert ruled(refused) is NOT
    assert ruled(update(0, 5, "b", 2), refused) is LINEARIZABLE
    assert ruled(update(0, 5, "b", 2), update(6, 7, "c", 2, conflict=True, if_version=2)) is NOT
    assert ruled(update(0, 5, "b", 2), update(6, 7, "c", 3, conflict=True, if_version=1)) is NOT


def test_an_unknown_outcome_may_be_either() -> None:
    lost = update(0, None, "b")
    assert ruled(lost) is LINEARIZABLE
    assert ruled(lost, read(1, 2, 1, "a")) is LINEARIZABLE
    assert ruled(lost, read(1, 2, 2, "b")) is LINEARIZABLE
    assert ruled(lost, read(1, 2, 1, "a"), read(900, 901, 2, "b")) is LINEARIZABLE


def test_an_unknown_outcome_takes_effect_once_after_its_call_and_for_good() -> None:
    lost = update(5, None, "b")
    assert ruled(lost, read(0, 4, 2, "b")) is NOT
    assert ruled(lost, read(0, 5, 2, "b")) is LINEARIZABLE
    assert ruled(lost, read(6, 7, 2, "b"), read(8, 9, 1, "a")) is NOT
    assert ruled(lost, read(6, 7, 3, "b")) is NOT
    assert ruled(lost, replace(lost, called=6), read(7, 8, 3, "b")) is LINEARIZABLE


def test_a_lost_conditional_update_has_no_effect_on_another_version() -> None:
    lost = update(0, None, "b", if_version=7)
    assert ruled(lost, read(1, 2, 1, "a")) is LINEARIZABLE
    assert ruled(lost, read(1, 2, 2, "b")) is NOT


def test_an_effect_that_was_promised_must_be_there() -> None:
    # An empty success tells no version, but it tells that the write was done by then.
    asked = Request(kind=Kind.UPDATE, changes={"text": "b"})
    blank = Observed(called=0, returned=5, input=asked, output=Reply())
    assert ruled(blank, read(6, 7, 2, "b")) is LINEARIZABLE
    assert ruled(blank, read(6, 7, 1, "a")) is NOT


def test_a_row_is_created_once_and_ends() -> None:
    life = (create(0, 1, "a", 1), update(2, 3, "b", 2), delete(4, 5, if_version=2))
    assert ruled(*life, read(6, 7, None), model=ABSENT) is LINEARIZABLE
    assert ruled(*life, read(6, 7, 2, "b"), model=ABSENT) is NOT
    assert ruled(create(0, 9, "a", 1), create(0, 9, "b", 2), model=ABSENT) is NOT
    assert ruled(create(0, 9, "b", 2)) is NOT
    # The end of a row is a version too.
    assert ruled(*life, create(8, 9, "c", 4), model=ABSENT) is LINEARIZABLE
    assert ruled(*life, create(8, 9, "c", 1), model=ABSENT) is NOT


def test_a_deletion_rests_on_a_version_and_needs_a_row() -> None:
    assert ruled(delete(0, 1, if_version=1)) is LINEARIZABLE
    assert ruled(delete(0, 1, if_version=2)) is NOT
    assert ruled(delete(0, 1), model=ABSENT) is NOT
    assert ruled(delete(0, None), read(1, 2, None)) is LINEARIZABLE
    gone = replace(update(2, 3, "b", 0), output=Reply(code="not_found"))
    assert ruled(gone) is NOT
    assert ruled(delete(0, 1), gone) is LINEARIZABLE


def test_a_write_is_let_through_only_from_where_it_may_start() -> None:
    asked = Request(kind=Kind.UPDATE, changes={"text": "c"}, requires={"text": ("a",)})
    guarded = Observed(called=2, returned=3, input=asked, output=answer(2, "c"))
    assert ruled(guarded) is LINEARIZABLE
    assert ruled(update(0, 1, "b", 2), replace(guarded, output=answer(3, "c"))) is NOT
    lost = replace(guarded, returned=None, output=None)
    assert ruled(update(0, 1, "b", 2), lost, read(4, 5, 3, "c")) is NOT


def test_a_search_that_may_not_look_further_says_unknown() -> None:
    # All at once and every order possible: only the last read tells which was the last.
    writes = [replace(update(0, 9, f"t{i}"), output=Reply()) for i in range(5)]
    fine = [*writes, read(10, 11, 6, "t0")]
    wrong = [*writes, read(10, 11, 6, "nobody's")]
    assert check(NOTE, fine) is LINEARIZABLE
    assert check(NOTE, wrong) is NOT
    for history in (fine, wrong):
        assert check(NOTE, history, budget=1) is UNKNOWN
        assert check(NOTE, history, budget=3) is UNKNOWN
    assert check(NOTE, [], budget=1) is LINEARIZABLE
    assert check(NOTE, [read(0, 1, 2)], budget=1) is NOT  # one state is enough to see that


def test_memory_makes_the_search_smaller_than_the_number_of_orders() -> None:
    writes = [replace(update(0, 9, "same"), output=Reply()) for _ in range(10)]
    # 10! orders, but after any k of them the row is the same: 2**10 sets.
    assert check(NOTE, [*writes, read(10, 11, 5)], budget=1 << 11) is NOT


def test_a_long_history_of_one_caller_needs_no_search() -> None:
    ops: list[Op] = []
    for i in range(300):
        ops += [
            update(4 * i, 4 * i + 1, f"t{i}", i + 2),
            read(4 * i + 2, 4 * i + 3, i + 2, f"t{i}"),
        ]
    assert check(NOTE, ops, budget=len(ops) + 1) is LINEARIZABLE


def test_nothing_returns_before_it_is_called() -> None:
    with pytest.raises(UsageError, match="called at tick 3, returned at tick 2"):
        check(NOTE, [read(3, 2, 1)])


# --- brute force ---------------------------------------------------------------------------------


def brute_force(model: RowModel, history: Sequence[Op]) -> bool:
    """Try every order of every choice of the operations that may have had no effect."""
    must = [op for op in history if op.returned is not None]
    may = [op for op in history if op.returned is None]
    chosen = chain.from_iterable(combinations(may, size) for size in range(len(may) + 1))
    return any(
        in_time(order) and explained(model, order)
        for extra in chosen
        for order in permutations([*must, *extra])
    )


def in_time(order: Sequence[Op]) -> bool:
    latest = -1
    for op in order:
        if op.returned is not None and op.returned < latest:
            return False
        latest = max(latest, op.called)
    return True


def explained(model: RowModel, order: Iterable[Op]) -> bool:
    state = model.init
    for op in order:
        fits, state = model.step(state, op.input, op.output)
        if not fits:
            return False
    return True


class Dice:
    """Draws one after the other."""

    def __init__(self, seed: int, name: str) -> None:
        self._stream = Stream(Draws(seed), name, 0)
        self._k = -1

    def below(self, bound: int) -> int:
        self._k += 1
        return self._stream.below(bound, "dice", self._k)

    def pick(self, options: Sequence[Any]) -> Any:
        return options[self.below(len(options))]


def small_history(seed: int) -> list[Op]:
    """Let up to six operations happen one at a time, then, in half of the cases, tell one lie."""
    dice = Dice(seed, "history")
    state = NOTE.init
    now = 10
    ops: list[Op] = []
    for i in range(1 + dice.below(6)):
        now += dice.below(3)
        kind = dice.pick((Kind.READ, Kind.READ, Kind.UPDATE, Kind.UPDATE, Kind.DELETE, Kind.CREATE))
        asked = Request(
            kind=kind,
            changes={} if kind in (Kind.READ, Kind.DELETE) else {"text": f"t{i % 3}"},
            if_version=dice.pick((None, state.version, 1)) if kind is not Kind.CREATE else None,
        )
        code, after = performed(("text",), state, asked)
        called = now - dice.below(4)
        if dice.below(5) == 0:
            ops.append(Observed(called=called, returned=None, input=asked))
            state = dice.pick((state, after))
            continue
        shown = {"text": after.fields[0]} if after.fields and dice.below(2) else {}
        told = Reply(code=code, version=after.version, fields=shown)
        ops.append(Observed(called=called, returned=now + dice.below(4), input=asked, output=told))
        state = after
    known = [i for i, op in enumerate(ops) if op.output is not None]
    if known and dice.below(2):
        i = dice.pick(known)
        ops[i] = lie(ops[i], dice.below(4), dice.pick((-1, 1)))
    return ops


def lie(op: Op, how: int, by: int) -> Op:
    told = op.output
    assert told is not None
    match how:
        case 0:
            return replace(op, output=replace(told, version=(told.version or 0) + by))
        case 1:
            return replace(op, output=replace(told, code="ok" if told.code != "ok" else "conflict"))
        case 2:
            return replace(op, output=replace(told, fields={"text": f"t{by + 1}"}))
        case _:
            later = op.called + 4 * (by + 1)
            return replace(op, called=later, returned=later)


def test_two_thousand_small_histories_are_ruled_as_brute_force_rules_them() -> None:
    count: Counter[Ruling] = Counter()
    for seed in range(2_000):
        history = small_history(seed)
        ruling = check(NOTE, history)
        assert (ruling is LINEARIZABLE) == brute_force(NOTE, history), (seed, history)
        count[ruling] += 1
    assert count[LINEARIZABLE] > 500
    assert count[NOT] > 300
    assert count[UNKNOWN] == 0


VERSIONS = st.none() | st.integers(0, 4)
TEXTS = st.fixed_dictionaries({"text": st.sampled_from("abc")})
REQUESTS = st.builds(
    Request, kind=st.sampled_from(Kind), changes=TEXTS, if_version=VERSIONS, requires=st.just({})
)
CODES = st.sampled_from(("ok", "ok", "ok", "conflict", "not_found", "taken"))
REPLIES = st.none() | st.builds(Reply, code=CODES, version=VERSIONS, fields=st.just({}) | TEXTS)


@st.composite
def any_operation(draw: st.DrawFn) -> Op:
    called = draw(st.integers(0, 6))
    length = draw(st.none() | st.integers(0, 5))
    returned = None if length is None else called + length
    output = draw(REPLIES)
    return Observed(called=called, returned=returned, input=draw(REQUESTS), output=output)


@settings(max_examples=400, deadline=None)
@given(st.lists(any_operation(), max_size=6), st.sampled_from((NOTE, ABSENT)))
def test_any_six_operations_are_ruled_as_brute_force_rules_them(
    history: list[Op], model: RowModel
) -> None:
    ruling = check(model, history)
    assert (ruling is LINEARIZABLE) == brute_force(model, history)
    for budget in range(1, 6):
        assert check(model, history, budget) in (ruling, UNKNOWN)


# --- a real product in a real world --------------------------------------------------------------

TRACKED = ("stage", "next_step", "amount")
DEAL = row_type_of(Deal)
ROOF = Deal(id=1, account_id=1, title="roof", stage="negotiation", lost_reason="price")
TABLES = {
    name: spec.template([ROOF] if name == "deals" else ()) for name, spec in Crm.specs().items()
}


def asks_get(arguments: Mapping[str, Any]) -> Request:
    return Request(kind=Kind.READ, key=arguments["deal_id"])


def asks_update(arguments: Mapping[str, Any]) -> Request:
    return Request(
        kind=Kind.UPDATE,
        key=arguments["deal_id"],
        changes=arguments["fields"],
        if_version=arguments.get("if_version"),
        requires={"stage": OPEN_STAGES},
    )


def asks_move(arguments: Mapping[str, Any]) -> Request:
    to = arguments["to_stage"]
    return Request(
        kind=Kind.UPDATE,
        key=arguments["deal_id"],
        changes={"stage": to},
        if_version=arguments.get("if_version"),
        requires={"stage": tuple(stage for stage, after in MOVES.items() if to in after)},
    )


TOOLS = {"get_deal": asks_get, "update_deal": asks_update, "move_stage": asks_move}


class Office:
    """Three people who read and change one deal, each one thing after the other; one is audited."""

    def __init__(self, seed: int, config: Mapping[str, object], *, lost: int = 0) -> None:
        waits = {"api.latency": ["1us", "4us"], "db.latency": ["1us", "9us"]}
        cache = {"deals.detail.cache.ttl": "1s", "put.latency": ["1us", "4us"]}
        knobs = resolve_settings(Crm, "bare", {**waits, **cache, **config})
        self.world = World(seed)
        self.crm = Crm(self.world, TABLES, knobs, 1_000)
        self.lost = lost
        """Answers out of a hundred that never reach their caller."""
        self.exchanges: list[Exchange] = []
        self._renderer = Renderer()
        for name in ("agent", "ben", "carla"):
            actor = Actor(self.world, name, 0, audited=name == "agent")
            self.world.spawn(name, self._live(actor, Dice(seed, name), 2 + seed % 5))
        self.world.advance_to(10_000)
        assert not self.world.alive
        self.rows = list(Decoder().decode_all(self.world.rows))

    def _live(self, actor: Actor, dice: Dice, ops: int) -> Generator[Event, Any, None]:
        known: int | None = None
        for n in range(1, ops + 1):
            yield self.world.pause(dice.below(16))
            given = dice.pick((known, None))
            tool, arguments = "get_deal", {"deal_id": 1}
            match dice.below(8):
                case 0:
                    stage = dice.pick(("qualification", "proposal", "negotiation", "closed_lost"))
                    tool, arguments = "move_stage", {**arguments, "to_stage": stage}
                case 1:
                    tool, arguments = (
                        "update_deal",
                        {**arguments, "fields": {"amount": dice.below(3)}},
                    )
                case 2 | 3:
                    step = f"{actor.name} {n}"
                    tool, arguments = "update_deal", {**arguments, "fields": {"next_step": step}}
                case _:
                    pass
            if tool != "get_deal":
                arguments["if_version"] = given
            try:
                op = Operation(self.world, actor, n)
                answer = yield from self.crm.call(op, self.crm.tools[tool], arguments)
                ok, value = True, self._renderer.render(answer)
            except Refused as refusal:
                ok, value = False, refusal.value()
            if dice.below(100) < self.lost:
                ok, value = False, {"code": "unknown_outcome"}
            known = value.get("version", known)
            self.exchanges.append(
                Exchange(owner=actor.name, n=n, tool=tool, arguments=arguments, ok=ok, value=value)
            )

    # --- what callers know ------------------------------------------------------------------------

    def history(self, exchanges: Iterable[Exchange] | None = None) -> list[Op]:
        known = self.exchanges if exchanges is None else exchanges
        return histories(self.rows, known, DEAL, "deals", TRACKED, TOOLS).get(1, [])

    def ruling(self, exchanges: Iterable[Exchange] | None = None) -> Ruling:
        start = DEAL.json(ROOF)
        return check(row_model(TRACKED, start), self.history(exchanges))

    # --- what is true -----------------------------------------------------------------------------

    def of(self, kind: str) -> list[Row]:
        return [row for row in self.rows if row.kind == kind]

    def stale(self) -> list[Row]:
        """Reads of anybody that were out of date when they were called."""
        return [row for row in self.of("READ") if row.values["served"] != row.values["true"]]

    def observable(self, stale: Row) -> bool:
        """Whether the reader was told an old version after somebody had been told a newer one."""
        began, _ = self.span(stale.values["owner"], stale.values["n"])
        mine = (stale.values["owner"], stale.values["n"])
        if any((e.owner, e.n) == mine and not e.ok for e in self.exchanges):
            return False
        return any(
            e.value.get("version", 0) > stale.values["served"]
            and self.span(e.owner, e.n)[1] < began
            for e in self.exchanges
        )

    def span(self, owner: str, n: int) -> tuple[int, int]:
        mine = [r.t for r in self.rows if (r.values.get("owner"), r.values.get("n")) == (owner, n)]
        return mine[0], mine[-1]

    def unchecked(self) -> list[Row]:
        """Commits of writes that rested on another version than the one that they replaced."""
        return [
            row
            for row, e in self.writes()
            if e.arguments["if_version"] not in (None, row.values["before"])
        ]

    def unguarded(self) -> list[Row]:
        """Commits of writes that the stage before them doesn't allow."""
        before = {c.order: c.old for c in self.crm.deals.table.changes}
        return [
            row
            for row, e in self.writes()
            if before[row.values["order"]].stage not in TOOLS[e.tool](e.arguments).requires["stage"]
        ]

    def overwriting(self) -> list[Row]:
        """Commits that changed tracked columns which their call doesn't name."""
        return [
            row
            for row, e in self.writes()
            if {DEAL.names[i] for i in row.values["delta"][::2]}
            & set(TRACKED) - set(TOOLS[e.tool](e.arguments).changes)
        ]

    def writes(self) -> Iterator[tuple[Row, Exchange]]:
        by_place = {(e.owner, e.n): e for e in self.exchanges}
        for row in self.of("COMMIT"):
            exchange = by_place[row.values["owner"], row.values["n"]]
            if exchange.ok:
                yield row, exchange


NEVER: dict[str, object] = {"deals.detail.cache.invalidate": "never"}
LATE: dict[str, object] = {"deals.detail.cache.fence": False, "put.latency": ["1us", "60us"]}
UNCHECKED: dict[str, object] = {"deals.write.token": "ignored"}
UNLOCKED: dict[str, object] = {"deals.write.lock": "none"}
WHOLE: dict[str, object] = {"deals.write.scope": "whole_record"}
RUNS = 150


@pytest.mark.parametrize("lost", [0, 15])
@pytest.mark.parametrize("lock", ["row", "optimistic"])
def test_a_sound_product_is_always_linearizable(lock: str, lost: int) -> None:
    seen: Counter[str] = Counter()
    for seed in range(RUNS):
        office = Office(seed, {"deals.write.lock": lock}, lost=lost)
        assert not office.stale()
        assert not office.crm.shared.breaches
        assert office.ruling() is LINEARIZABLE, seed
        seen.update("ok" if e.ok else e.value["code"] for e in office.exchanges)
        seen.update(row.values["source"] for row in office.of("READ"))
    assert min(seen[what] for what in ("ok", "conflict", "forbidden", "cache", "primary")) > 50
    assert (seen["unknown_outcome"] > 50) == (lost > 0)


@pytest.mark.parametrize("lost", [0, 15])
@pytest.mark.parametrize("config", [NEVER, LATE], ids=["never", "late"])
def test_a_stale_read_that_can_be_told_is_never_passed(
    config: dict[str, object], lost: int
) -> None:
    seen: Counter[tuple[bool, bool, Ruling]] = Counter()
    for seed in range(RUNS):
        office = Office(seed, config, lost=lost)
        stale = office.stale()
        told = [row for row in stale if office.observable(row)]
        ruling = office.ruling()
        if told:
            assert ruling is not LINEARIZABLE, seed
        if ruling is not LINEARIZABLE:
            assert stale, seed
            assert told or lost, seed
        # The live check objects to the same reads of the one who is audited, but for those of age 0.
        breached = {breach.row for breach in office.crm.shared.breaches}
        mine = [row for row in stale if row.values["owner"] == "agent"]
        assert {row.index for row in mine if row.values["age"]} <= breached
        assert breached <= {row.index for row in mine}
        seen[bool(stale), bool(told), ruling] += 1
    assert seen[True, True, NOT] > 50
    assert seen[False, False, LINEARIZABLE] > 20


def test_others_commits_stand_in_for_what_they_were_told() -> None:
    seen: Counter[tuple[bool, Ruling]] = Counter()
    for seed in range(RUNS):
        office = Office(seed, NEVER)
        ruling = office.ruling([e for e in office.exchanges if e.owner == "agent"])
        told = any(newer_was_told(office.rows, b) for b in office.crm.shared.breaches)
        assert (ruling is not LINEARIZABLE) == told, seed
        seen[told, ruling] += 1
    assert seen[True, NOT] > 20
    assert seen[False, LINEARIZABLE] > 20


def newer_was_told(rows: Sequence[Row], breach: Breach) -> bool:
    """Whether a later version's writer had returned at a tick before the stale read was called."""
    at = {(row.kind, row.values.get("owner"), row.values.get("n")): row.t for row in rows}
    reader = rows[breach.row].values
    return any(
        at.get(("RETURN", v["owner"], v["n"]), row.t) < at["CALL", reader["owner"], reader["n"]]
        for row in rows
        if row.kind == "COMMIT" and (v := row.values)["table"] == breach.view.rpartition(".")[0]
        if v["key"] == breach.key and abs(v["after"]) > breach.served
    )


@pytest.mark.parametrize("lock", ["row", "none"])
def test_a_token_that_is_ignored_shows(lock: str) -> None:
    seen: Counter[Ruling] = Counter()
    for seed in range(RUNS):
        office = Office(seed, {**UNCHECKED, "deals.write.lock": lock})
        ruling = office.ruling()
        assert (ruling is NOT) == bool(office.unchecked() or office.unguarded()), seed
        seen[ruling] += 1
    assert min(seen[NOT], seen[LINEARIZABLE]) > 20


def test_a_missing_lock_shows_where_a_write_rests_on_a_column_and_nowhere_else() -> None:
    seen: Counter[Ruling] = Counter()
    for seed in range(4 * RUNS):
        office = Office(seed, UNLOCKED)
        assert not office.unchecked()
        assert not office.overwriting()
        ruling = office.ruling()
        assert (ruling is NOT) == bool(office.unguarded()), seed
        seen[ruling] += 1
    assert seen[NOT] > 5
    assert seen[LINEARIZABLE] > 20


@pytest.mark.parametrize("lock", ["row", "none"])
def test_columns_that_are_written_back_show(lock: str) -> None:
    seen: Counter[Ruling] = Counter()
    for seed in range(RUNS):
        office = Office(seed, {**WHOLE, "deals.write.lock": lock})
        ruling = office.ruling()
        assert (ruling is NOT) == bool(office.overwriting() or office.unguarded()), seed
        seen[ruling] += 1
    assert min(seen[NOT], seen[LINEARIZABLE]) > 20


# --- real episodes -------------------------------------------------------------------------------


def prober(task: Task) -> Generator[Action, Observation, None]:
    """Writes and looks, whatever it is told; some of its writes rest on a version that never was."""
    deal = {"deal_id": task.brief["deal_id"]}
    for i in range(16):
        yield Call("get_deal", deal)
        token = {"if_version": 999} if i % 4 == 3 else {}
        yield Call("update_deal", {**deal, "fields": {"next_step": f"probe {i}"}, **token})
    yield [Call("get_deal", deal), Call("update_deal", {**deal, "fields": {"amount": 1}})]


def played(
    seed: int, policy: str, load: int, fault: str = "", config: dict[str, object] | None = None
) -> Episode:
    faults = (fault,) if fault else ()
    episode = Episode(make_plan("crm/negotiation", seed, load, faults, config=config))
    play = prober if policy == "prober" else scripted(policy, episode.scenario)
    assert play is not None
    drive(episode, play)
    return episode


def exchanged(
    step: int, calls: Sequence[RawCall], told: Sequence[tuple[bool, Any]]
) -> list[Exchange]:
    """What the agent sent and was told in one step."""
    out: list[Exchange] = []
    for i, (call, (ok, value)) in enumerate(zip(calls, told, strict=True)):
        arguments, _ = parse_arguments(call.arguments)
        n = step << 16 | i
        out.append(
            Exchange(
                owner="agent", n=n, tool=call.tool, arguments=arguments or {}, ok=ok, value=value
            )
        )
    return out


def told_in(episode: Episode) -> list[Exchange]:
    return [
        exchange
        for step in episode.steps
        for exchange in exchanged(
            step.input.step, step.input.calls, [(r.ok, r.value) for r in step.results]
        )
    ]


def episode_histories(episode: Episode) -> dict[int, list[Op]]:
    rows = list(Decoder().decode_all(episode.world.rows))
    return histories(rows, told_in(episode), DEAL, "deals", TRACKED, TOOLS)


def episode_rulings(episode: Episode) -> dict[int, Ruling]:
    deals = episode.product.stores["deals"].table
    out: dict[int, Ruling] = {}
    for key, history in episode_histories(episode).items():
        start = deals.row_at(key, 0)
        model = row_model(TRACKED, DEAL.json(start) if start is not None else None)
        out[key] = check(model, history)
    return out


@pytest.mark.parametrize("policy", ["expert", "random", "prober"])
def test_an_episode_of_a_sound_product_is_linearizable(policy: str) -> None:
    for seed in range(8):
        rulings = episode_rulings(played(seed, policy, 4))
        assert len(rulings) > 5
        assert set(rulings.values()) == {LINEARIZABLE}, (seed, rulings)


@pytest.mark.parametrize("fault", ["crm.invalidation-lost", "crm.no-fence"])
def test_what_the_live_check_finds_in_an_episode_is_never_passed(fault: str) -> None:
    seen: Counter[tuple[bool, Ruling]] = Counter()
    for seed in range(12):
        for policy in ("expert", "prober"):
            episode = played(seed, policy, 8, fault)
            rows = list(Decoder().decode_all(episode.world.rows))
            rulings = episode_rulings(episode)
            breached = [b for b in episode.breaches if b.view == "deals.detail"]
            told = {breach.key for breach in breached if newer_was_told(rows, breach)}
            for key, ruling in rulings.items():
                assert (ruling is not LINEARIZABLE) == (key in told), (seed, policy, key)
                seen[key in told, ruling] += 1
    assert seen[True, NOT] > 5
    assert seen[False, LINEARIZABLE] > 50


@pytest.mark.parametrize("mode", ["unknown_outcome", "error", "default"])
def test_only_the_honest_answer_to_a_timeout_is_linearizable(mode: str) -> None:
    config = {"api.timeout": "25ms", "api.on_timeout": mode}
    rulings: Counter[Ruling] = Counter()
    late = 0
    for seed in range(8):
        episode = played(seed, "prober", 1, config=config)
        late += sum(row[0] == TIMEOUT for row in episode.world.rows)
        rulings[episode_rulings(episode)[int(episode.instance["deal"])]] += 1
    assert late > 20
    assert rulings == {LINEARIZABLE if mode == "unknown_outcome" else NOT: 8}


def test_a_recording_gives_the_histories_that_its_episode_gave(tmp_path: Path) -> None:
    episode = played(5, "prober", 2, config={"api.timeout": "25ms"})
    episode.save(tmp_path / "it.simrec")
    (record,) = read_file(tmp_path / "it.simrec")
    rows = read_rows(record)
    exchanges = [
        exchange
        for given, told in zip(read_inputs(record), rows.steps, strict=True)
        for exchange in exchanged(given.step, given.calls, told.results)
    ]
    assert histories(rows.rows, exchanges, DEAL, "deals", TRACKED, TOOLS) == episode_histories(
        episode
    )


# --- from rows to histories ----------------------------------------------------------------------


def told_by(
    events: Sequence[tuple[str, int, tuple[object, ...]]], *exchanges: Exchange
) -> dict[int, list[Op]]:
    """Build the histories of rows given as kind, tick and the values of their columns."""
    names = {NAMES[number]: columns for number, columns in ROW_COLUMNS.items()}
    rows = [
        Row(i, kind, t, dict(zip((c.lstrip("@~") for c in names[kind]), values, strict=True)))
        for i, (kind, t, values) in enumerate(events)
    ]
    return histories(rows, exchanges, DEAL, "deals", TRACKED, TOOLS)


def commit(owner: str, before: int, after: int, *delta: object, key: int = 7) -> tuple[object, ...]:
    return owner, 1, abs(after), "deals", key, before, after, list(delta)


COMMIT_COLUMNS = [column.lstrip("@~") for column in ROW_COLUMNS[COMMIT]]
NEXT_STEP = DEAL.names.index("next_step")
TITLE = DEAL.names.index("title")


def test_whoever_is_not_asked_is_known_by_its_commits() -> None:
    (op,) = told_by(
        [
            ("CALL", 3, ("ben", 1, "update_deal")),
            ("COMMIT", 5, commit("ben", 1, 2, NEXT_STEP, "call", TITLE, "x")),
            ("RETURN", 6, ("ben", 1, "ok")),
        ]
    )[7]
    asked = Request(kind=Kind.UPDATE, key=7, changes={"next_step": "call"})
    assert op == Observed(called=3, returned=6, input=asked, output=Reply(version=2))


def test_a_commit_without_a_call_is_an_instant() -> None:
    made, ended = told_by(
        [
            ("COMMIT", 5, commit("customer/legal", 0, 1, NEXT_STEP, "call")),
            ("COMMIT", 8, commit("customer/legal", 1, -2)),
            ("COMMIT", 9, ("customer/legal", 1, 3, "contacts", 7, 1, 2, [])),
        ]
    )[7]
    assert (made.called, made.returned, made.input.kind) == (5, 5, Kind.CREATE)
    assert (ended.called, ended.returned, ended.input.kind) == (8, 8, Kind.DELETE)
    assert ended.output == Reply(version=2)


def test_a_commit_of_a_call_under_way_was_before_the_end() -> None:
    (op,) = told_by(
        [
            ("CALL", 3, ("ben", 1, "update_deal")),
            ("COMMIT", 5, commit("ben", 1, 2)),
            ("CALL", 9, ("carla", 1, "get_deal")),
        ]
    )[7]
    assert (op.called, op.returned) == (3, 9)


def test_a_call_that_never_reached_the_product_or_says_nothing_is_left_out() -> None:
    moved = Exchange(
        owner="agent",
        n=1,
        tool="move_stage",
        arguments={"deal_id": 7, "to_stage": "proposal"},
        ok=False,
        value={"code": "forbidden"},
    )
    call = ("CALL", 3, ("agent", 1, "move_stage"))
    end = ("RETURN", 4, ("agent", 1, "forbidden"))
    assert told_by([call, end], moved) == {}
    assert told_by([], moved) == {}
    taken = replace(moved, value={"code": "conflict", "id": 3})
    assert told_by([call, end], taken) == {}
    absent = replace(moved, value={"code": "not_found"})
    (op,) = told_by([call, end], absent)[7]
    assert op.output == Reply(code="not_found")
    # A refusal that had an effect all the same is not explained by anybody's commit.
    assert told_by([call, ("COMMIT", 3, commit("agent", 1, 2)), end], moved) == {}


def test_a_creation_that_nobody_can_place_may_have_been_of_any_row() -> None:
    tools = {"make": lambda given: Request(kind=Kind.CREATE, changes=given)}
    calls = [Row(0, "CALL", 3, {"owner": "agent", "n": 1, "tool": "make"})]
    read_it = Row(1, "COMMIT", 9, dict(zip(COMMIT_COLUMNS, commit("ben", 1, 2), strict=True)))
    lost = Exchange(
        owner="agent", n=1, tool="make", arguments={}, ok=False, value={"code": "unknown_outcome"}
    )
    out = histories([*calls, read_it], [lost], DEAL, "deals", TRACKED, tools)
    assert [(op.called, op.returned, op.input.kind) for op in out[7]] == [
        (9, 9, Kind.UPDATE),
        (3, None, Kind.CREATE),
    ]
    done = replace(lost, ok=True, value={"id": 8, "version": 1, "next_step": "call"})
    back = Row(2, "RETURN", 9, {"owner": "agent", "n": 1, "status": "ok"})
    out = histories([*calls, read_it, back], [done], DEAL, "deals", TRACKED, tools)
    assert out[8][0].output == Reply(version=1, fields={"next_step": "call"})
    assert len(out[7]) == 1


def test_an_answer_without_the_row_tells_no_version() -> None:
    tools = {"ask": lambda given: Request(kind=Kind.UPDATE, key=given["deal_id"], shows=False)}
    rows = [
        Row(0, "CALL", 3, {"owner": "agent", "n": 1, "tool": "ask"}),
        Row(1, "RETURN", 4, {"owner": "agent", "n": 1, "status": "ok"}),
    ]
    asked = Exchange(
        owner="agent", n=1, tool="ask", arguments={"deal_id": 7}, ok=True, value={"version": 1}
    )
    (op,) = histories(rows, [asked], DEAL, "deals", TRACKED, tools)[7]
    assert op.output == Reply()


def test_an_instant_cannot_be_tracked() -> None:
    with pytest.raises(UsageError, match=r"column deals.close_on is an instant"):
        histories([], [], DEAL, "deals", ("close_on",), TOOLS)


def test_a_state_holds_lists_as_tuples() -> None:
    model = row_model(("tags",), {"version": 1, "tags": ["a", "b"]})
    assert model.init == RowState(1, (("a", "b"),))
    hash(model.init)
