"""The black-box check: histories by hand, brute force, and real products whose truth is known."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import chain, combinations, permutations
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simharness.api import Call
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
from simharness.kernel.journal import TIMEOUT, Decoder, Row
from simharness.recording.reader import read_file
from simharness.recording.rows import read_rows
from tests.effort import times
from tests.findings.office import DEAL, TOOLS, TRACKED, Dice, Office

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
    from pathlib import Path

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


def test_what_would_change_nothing_now_may_change_something_later() -> None:
    # Nobody knows how the deletion was answered; the read shows that it came after the update.
    asked = Request(kind=Kind.DELETE, if_version=2)
    silent: Op = Observed(called=0, returned=9, input=asked)
    assert ruled(silent, update(0, 9, "b", 2), read(9, 10, None)) is LINEARIZABLE
    assert ruled(silent, update(0, 9, "b", 2), read(10, 10, 2)) is LINEARIZABLE
    assert ruled(silent, read(9, 10, None)) is NOT
    lost = replace(silent, returned=None)
    assert ruled(lost, update(0, 9, "b", 2), read(10, 11, None)) is LINEARIZABLE


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
    assert check(NOTE, ops, budget=len(ops)) is UNKNOWN


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
        told = Reply(code=code, version=after.version, fields=shown) if dice.below(6) else None
        ops.append(Observed(called=called, returned=now + dice.below(4), input=asked, output=told))
        state = after
    known = [i for i, op in enumerate(ops) if op.output is not None]
    if known and dice.below(2):
        liar: int = dice.pick(known)
        ops[liar] = lie(ops[liar], dice.below(4), dice.pick((-1, 1)))
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
NOTHING: dict[str, str] = {}
TEXTS = st.fixed_dictionaries({"text": st.sampled_from("abc")})
REQUESTS = st.builds(Request, kind=st.sampled_from(Kind), changes=TEXTS, if_version=VERSIONS)
CODES = st.sampled_from(("ok", "ok", "ok", "conflict", "not_found", "taken"))
REPLIES = st.none() | st.builds(
    Reply, code=CODES, version=VERSIONS, fields=st.just(NOTHING) | TEXTS
)


@st.composite
def any_operation(draw: st.DrawFn) -> Op:
    called = draw(st.integers(0, 6))
    length = draw(st.none() | st.integers(0, 5))
    returned = None if length is None else called + length
    output = draw(REPLIES)
    return Observed(called=called, returned=returned, input=draw(REQUESTS), output=output)


@settings(max_examples=times(100), deadline=None)
@given(st.lists(any_operation(), max_size=6), st.sampled_from((NOTE, ABSENT)))
def test_any_six_operations_are_ruled_as_brute_force_rules_them(
    history: list[Op], model: RowModel
) -> None:
    ruling = check(model, history)
    assert (ruling is LINEARIZABLE) == brute_force(model, history)
    for budget in range(1, 6):
        assert check(model, history, budget) in (ruling, UNKNOWN)


# --- a real product in a real world --------------------------------------------------------------

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
        # The live check objects to the same reads of the one who is audited, age 0 apart.
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
    """Writes and looks, whatever it is told; some writes rest on a version that never was."""
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
        assert rulings
        assert set(rulings.values()) == {LINEARIZABLE}, (seed, rulings)


@pytest.mark.parametrize("fault", ["crm.invalidation-lost", "crm.no-fence"])
def test_what_the_live_check_finds_in_an_episode_is_never_passed(fault: str) -> None:
    seen: Counter[tuple[bool, Ruling]] = Counter()
    for seed in range(5):
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
    config: dict[str, object] = {"api.timeout": "25ms", "api.on_timeout": mode}
    rulings: Counter[Ruling] = Counter()
    late = 0
    for seed in range(8):
        episode = played(seed, "prober", 1, config=config)
        late += sum(row[0] == TIMEOUT for row in episode.world.rows)
        rulings[episode_rulings(episode)[int(episode.instance["deal"])]] += 1
    assert late > 20
    if mode == "unknown_outcome":
        assert rulings == {LINEARIZABLE: 8}
    else:
        assert rulings[NOT] > 4


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


Event = tuple[str, int, dict[str, Any]]


def call(t: int, owner: str = "ben") -> Event:
    return "CALL", t, {"owner": owner, "n": 1}


def back(t: int, owner: str = "ben") -> Event:
    return "RETURN", t, {"owner": owner, "n": 1}


def commit(t: int, before: int, after: int, *delta: object, **values: object) -> Event:
    place = {"owner": "ben", "n": 1, "order": abs(after), "table": "deals", "key": 7}
    basis = {"delta": list(delta), "given": 0, "read": before, "unmeant": []}
    return "COMMIT", t, {**place, "before": before, "after": after, **basis, **values}


def told_by(
    events: Sequence[Event],
    *exchanges: Exchange,
    tools: Mapping[str, Callable[[Mapping[str, Any]], Request]] = TOOLS,
) -> dict[int, list[Op]]:
    """Build the histories of rows given as kind, tick and columns."""
    rows = [Row(i, *event) for i, event in enumerate(events)]
    return histories(rows, exchanges, DEAL, "deals", TRACKED, tools)


NEXT_STEP, AMOUNT, TITLE = map(DEAL.names.index, ("next_step", "amount", "title"))


def test_whoever_is_not_asked_is_known_by_its_commits() -> None:
    (op,) = told_by([call(3), commit(5, 1, 2, NEXT_STEP, "call", TITLE, "x"), back(6)])[7]
    asked = Request(kind=Kind.UPDATE, key=7, changes={"next_step": "call"})
    assert op == Observed(called=3, returned=6, input=asked, output=Reply(version=2))


def test_a_commit_holds_what_its_call_asked_for_and_not_what_it_did_beside() -> None:
    delta = (NEXT_STEP, "call", AMOUNT, 5)
    (op,) = told_by([call(3), commit(5, 2, 3, *delta, given=1, unmeant=[AMOUNT]), back(6)])[7]
    assert (op.input.changes, op.input.if_version) == ({"next_step": "call"}, 1)


def test_a_transaction_that_stayed_open_takes_effect_at_its_commit() -> None:
    begun: Event = ("TXBEGIN", 3, {"owner": "ben", "n": 1, "tx": "t"})
    (op,) = told_by([call(3), begun, back(3), commit(9, 1, 2, NEXT_STEP, "call")])[7]
    assert (op.called, op.returned) == (9, 9)


def test_a_commit_without_a_call_is_an_instant() -> None:
    made, ended = told_by(
        [
            commit(5, 0, 1, NEXT_STEP, "call"),
            commit(8, 1, -2),
            commit(9, 1, 2, table="contacts"),
        ]
    )[7]
    assert (made.called, made.returned, made.input.kind) == (5, 5, Kind.CREATE)
    assert (ended.called, ended.returned, ended.input.kind) == (8, 8, Kind.DELETE)
    assert ended.output == Reply(version=2)


def test_a_commit_of_a_call_under_way_was_before_the_end() -> None:
    (op,) = told_by([call(3), commit(5, 1, 2), call(9, "carla")])[7]
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
    rows = [call(3, "agent"), back(4, "agent")]
    assert told_by(rows, moved) == {}
    assert told_by([], moved) == {}
    assert told_by(rows, replace(moved, value={"code": "conflict", "id": 3})) == {}
    guess = {**moved.arguments, "if_version": 2}  # right by the time of the refusal
    overtaken = replace(moved, arguments=guess, value={"code": "conflict", "version": 2})
    assert told_by(rows, overtaken) == {}
    (op,) = told_by(rows, replace(overtaken, value={"code": "conflict", "version": 3}))[7]
    assert op.output == Reply(code="conflict", version=3)
    (op,) = told_by(rows, replace(moved, value={"code": "not_found"}))[7]
    assert op.output == Reply(code="not_found")
    # A refusal that had an effect all the same is not explained by its commit.
    assert told_by([rows[0], commit(3, 1, 2, owner="agent"), rows[1]], moved) == {}
    # Of a tool that nobody can read there are only the commits.
    unread = replace(moved, tool="request_approval")
    (op,) = told_by([rows[0], commit(3, 1, 2, owner="agent"), rows[1]], unread)[7]
    assert op.output == Reply(version=2)


def test_an_answer_in_place_of_the_outcome_comes_when_time_is_up() -> None:
    blank = Exchange(
        owner="agent",
        n=1,
        tool="move_stage",
        arguments={"deal_id": 7, "to_stage": "proposal"},
        ok=True,
        value={},
    )
    up = ("TIMEOUT", 5, {"owner": "agent", "n": 1})
    rows = [call(3, "agent"), up, commit(8, 1, 2, owner="agent"), back(9, "agent")]
    (op,) = told_by(rows, blank)[7]
    assert (op.called, op.returned, op.output) == (3, 5, Reply())
    honest = replace(blank, ok=False, value={"code": "unknown_outcome"})
    (op,) = told_by(rows, honest)[7]
    assert (op.called, op.returned, op.output) == (3, None, None)
    assert told_by(rows, replace(honest, tool="get_deal")) == {}
    assert told_by(rows, replace(honest, value={"code": "unavailable"})) == {}


def test_a_creation_that_nobody_can_place_may_have_been_of_any_row() -> None:
    def make(given: Mapping[str, Any]) -> Request:
        return Request(kind=Kind.CREATE, changes=given)

    rows = [call(3, "agent"), commit(9, 1, 2), back(9, "agent")]
    lost = Exchange(
        owner="agent", n=1, tool="make", arguments={}, ok=False, value={"code": "unknown_outcome"}
    )
    assert [
        (op.called, op.returned, op.input.kind)
        for op in told_by(rows, lost, tools={"make": make})[7]
    ] == [
        (9, 9, Kind.UPDATE),
        (3, None, Kind.CREATE),
    ]
    done = replace(lost, ok=True, value={"id": 8, "version": 1, "next_step": "call"})
    out = told_by(rows, done, tools={"make": make})
    assert out[8][0].output == Reply(version=1, fields={"next_step": "call"})
    orphan = replace(lost, value={"code": "not_found"})  # what it should have belonged to
    assert len(told_by(rows, orphan, tools={"make": make})[7]) == 1
    assert len(out[7]) == 1


def test_an_answer_without_the_row_tells_no_version() -> None:
    def ask(given: Mapping[str, Any]) -> Request:
        return Request(kind=Kind.UPDATE, key=given["deal_id"], shows=False)

    asked = Exchange(
        owner="agent", n=1, tool="ask", arguments={"deal_id": 7}, ok=True, value={"version": 1}
    )
    (op,) = told_by([call(3, "agent"), back(4, "agent")], asked, tools={"ask": ask})[7]
    assert op.output == Reply()


def test_an_instant_cannot_be_tracked() -> None:
    with pytest.raises(UsageError, match=r"column deals.close_on is an instant"):
        histories([], [], DEAL, "deals", ("close_on",), TOOLS)


def test_a_state_holds_lists_as_tuples() -> None:
    model = row_model(("tags",), {"version": 1, "tags": ["a", "b"]})
    assert model.init == RowState(1, (("a", "b"),))
    asked = Request(kind=Kind.UPDATE, changes={"tags": ["c"]})
    told = Reply(version=2, fields={"tags": ("c",)})
    assert (
        ruled(Observed(called=0, returned=1, input=asked, output=told), model=model) is LINEARIZABLE
    )
