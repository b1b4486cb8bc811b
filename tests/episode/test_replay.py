"""Replays are held against recordings, frame by frame."""

from __future__ import annotations

import json
import sys
from collections import Counter
from heapq import heappush
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import simharness.episode.plan as plan_module
import simharness.episode.start as start_module
import simharness.product.product as product_module
from simharness import env
from simharness.env import finish, make, make_plan, new_episode
from simharness.episode.episode import Episode
from simharness.episode.plan import Plan
from simharness.episode.policies import scripted
from simharness.episode.replay import replay
from simharness.episode.transcript import RawCall
from simharness.errors import (
    DamagedRecording,
    Divergence,
    RecordingError,
    SimharnessError,
    TruncatedRecording,
    UsageError,
    VersionError,
)
from simharness.kernel.world import World
from simharness.models.crm import Crm
from simharness.models.crm.rules import MOVES
from simharness.models.crm.scenarios.negotiation import Negotiation
from simharness.product.knobs import Knob
from simharness.product.policy import Call
from simharness.product.registry import load_product
from simharness.product.tool import Renderer
from simharness.recording.format import (
    CHAIN_START,
    MAGIC,
    FrameType,
    advance,
    encode_frame,
    footer_payload,
)
from simharness.recording.reader import EpisodeRecord, parse, read_file, require_complete
from simharness.recording.rows import read_rows
from simharness.units import MINUTE, SECOND
from simharness.values import pack, unpack
from tests.effort import times

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from simpy.events import Event

EPISODES = times(12)
"""How many episodes each search for an unequal replay tries."""
RESEALED_BITS = 29
"""Of the bits of a recording, each so-manieth is flipped behind sums that are made to fit."""

CRM = "crm/negotiation"
WORKSHOP_FILE = Path(__file__).with_name("workshop.py")
WORKSHOP = f"{WORKSHOP_FILE}:Workshop/shift"

SCHEDULES = st.one_of(
    st.just({"policy": "fifo"}),
    st.integers(0, 2**32).map(lambda seed: {"policy": "random", "seed": seed}),
    st.dictionaries(
        st.tuples(st.sampled_from(("user/1", "user/2", "agent/1", "")), st.integers(0, 20)),
        st.integers(0, 2**32 - 1),
        max_size=5,
    ).map(lambda named: {"policy": "named", "decisions": [[*at, r] for at, r in named.items()]}),
)
FAULTS = st.sampled_from(
    (
        (),
        ("crm.invalidation-lost",),
        ("crm.no-fence",),
        ("crm.invalidation-lost@from=10s,until=90s,load=0", "crm.no-fence@from=1s"),
    )
)


def log_bytes(episode: Episode) -> bytes:
    log: Any = episode.sink
    data: bytes = log.to_bytes()
    return data


def record_of(episode: Episode) -> EpisodeRecord:
    (record,) = parse(log_bytes(episode))
    return record


def played(policy: str, *, scenario: str = CRM, seed: int = 0, **plan: Any) -> Episode:
    """Play an episode to its end, verdict and all."""
    episode = new_episode(make_plan(scenario, seed, **plan), policy)
    chosen = scripted(policy, episode.scenario)
    assert chosen is not None
    finish(episode, chosen, askable=True)
    return episode


def divergence(record: EpisodeRecord, **how: Any) -> Divergence:
    with pytest.raises(Divergence) as caught:
        replay(record, **how)
    error = caught.value
    _, hint, code, name, frame, step = error.args
    assert hint.startswith("simharness show ")
    assert error.message.startswith(
        f"replay diverged at frame {frame}, step {step}: {code} {name}\n"
    )
    return error


# --- equal episodes ------------------------------------------------------------------------------


@settings(max_examples=EPISODES, deadline=None)
@given(
    seed=st.integers(0, 2**64 - 1),
    policy=st.sampled_from(("random", "random", "expert", "expert", "nurture", "spam", "null")),
    load=st.sampled_from((0, 500, 1000, 4000)),
    faults=FAULTS,
    schedule=SCHEDULES,
)
def test_replay_of_any_scripted_episode_is_identical(
    seed: int, policy: str, load: int, faults: tuple[str, ...], schedule: dict[str, Any]
) -> None:
    plan = Plan(scenario=CRM, seed=seed, load=load, faults=faults, schedule=schedule)
    episode = new_episode(plan, policy)
    chosen = scripted(policy, episode.scenario)
    assert chosen is not None
    finish(episode, chosen, askable=False)
    record = record_of(episode)
    assert record.complete, record.problem
    assert record.digest == episode.digest
    again = replay(record)
    assert again.digest == episode.digest
    assert again.frames == sum(
        frame.kind not in (FrameType.INFO, FrameType.VERDICT) for frame in record.frames
    )
    assert again.episode.steps == episode.steps
    assert again.episode.reward == episode.reward
    assert again.episode.criteria == episode.criteria


any_text = st.text(max_size=12) | st.sampled_from(("\ud800", "a\x00b", "\u2028", "é"))
arguments = st.one_of(
    any_text,
    st.recursive(
        st.none() | st.booleans() | st.integers(-(10**20), 10**20) | st.floats() | any_text,
        lambda inner: st.lists(inner, max_size=2) | st.dictionaries(any_text, inner, max_size=2),
        max_leaves=4,
    ).map(json.dumps),
)
sound_calls = st.sampled_from(
    (
        ("get_deal", '{"deal_id": 42}'),
        ("list_deals", '{"stage": "negotiation"}'),
        ("update_deal", '{"deal_id": 42, "fields": {"next_step": "x", "amount": 5}}'),
        ("update_deal", '{"deal_id": 41, "fields": {"currency": "A,B"}, "if_version": 1}'),
        ("move_stage", '{"deal_id": 42, "to_stage": "closed_lost"}'),
        ("request_approval", '{"deal_id": 42, "discount_pct": 30}'),
        ("search_contacts", '{"text": "example"}'),
        ("pipeline_summary", ""),
        ("wait", '{"seconds": 86400}'),
        ("wait", '{"seconds": 100}'),
        ("say", '{"text": "hello"}'),
        ("finish", '{"message": "done", "refs": ["deals:42"]}'),
    )
)


def call_of(made: tuple[str, str], call_id: str) -> RawCall:
    return RawCall(id=call_id, tool=made[0], arguments=made[1])


calls = st.builds(
    call_of,
    sound_calls
    | st.tuples(st.sampled_from(("get_deal", "update_deal", "", "rm -rf")) | any_text, arguments),
    st.just("") | st.just("call_1_0") | any_text,
)
pins = st.none() | st.dictionaries(
    st.sampled_from(("api", "db", "put", "unknown")), st.integers(0, 90 * SECOND), max_size=2
)
turns = st.one_of(
    st.lists(st.tuples(calls, pins), min_size=1, max_size=4),
    any_text,
)


def without_pins(episode: Episode) -> list[object]:
    """Give the steps but for the pins: a recording doesn't tell no pins from empty ones."""
    return [step._replace(input=step.input._replace(pins=())) for step in episode.steps]


@settings(max_examples=EPISODES, deadline=None)
@given(
    seed=st.integers(0, 50),
    script=st.lists(st.tuples(turns, st.integers(0, 5 * MINUTE) | st.none()), max_size=4),
    timeout=st.sampled_from(("0s", "30s", "40ms")),
    schedule=SCHEDULES,
)
def test_replay_of_whatever_an_agent_sends_is_identical(
    seed: int,
    script: list[tuple[list[tuple[RawCall, dict[str, int] | None]] | str, int | None]],
    timeout: str,
    schedule: dict[str, Any],
) -> None:
    config = {"api.timeout": timeout}
    plan = Plan(
        scenario=CRM,
        seed=seed,
        load=500,
        config=config,
        schedule=schedule,
        ticks_max=15 * MINUTE,
    )
    episode = Episode(plan)
    for turn, think in script:
        at = None if think is None else episode.world.ticks + think
        if isinstance(turn, str):
            episode.say(turn, at)
        else:
            episode.call([call for call, _ in turn], at, [pin for _, pin in turn])
        if episode.ended:
            break
    else:
        episode.stop()
    episode.close()
    record = record_of(episode)
    assert record.complete, record.problem
    again = replay(record)
    assert again.digest == episode.digest
    assert without_pins(again.episode) == without_pins(episode)
    told = read_rows(record).steps
    for step, heard in zip(episode.steps, told, strict=True):
        assert heard.results == tuple((r.ok, r.value) for r in step.results)


def test_saved_recording_is_read_and_replays_identical(tmp_path: Path) -> None:
    episode = played("expert", seed=3, load=4, faults=("crm.invalidation-lost",))
    path = tmp_path / "one.simrec"
    episode.save(path)
    assert env.replay(path).digest == episode.digest
    (record,) = read_file(path)
    assert record.path == str(path)
    assert replay(record).digest == episode.digest


@pytest.mark.parametrize("decisions", [[], [["user/1", 0, 7], ["agent/1", 0, 3]]])
def test_named_decisions_are_recorded_and_replayed(decisions: list[Any]) -> None:
    episode = Episode(Plan(scenario=CRM, schedule={"policy": "named", "decisions": decisions}))
    episode.say("hello")
    episode.stop()
    episode.close()
    record = record_of(episode)
    assert len(record.of(FrameType.DECISION)) == bool(decisions)
    assert replay(record).digest == episode.digest


def test_schedules_lead_to_different_episodes_that_each_replay() -> None:
    """Ties decide only where there are some: four calls at one instant, without waits."""
    digests: set[str] = set()
    for seed in range(8):
        plan = Plan(
            scenario=CRM, load=0, profile="bare", schedule={"policy": "random", "seed": seed}
        )
        episode = Episode(plan)
        body = '{"deal_id": 1, "fields": {"next_step": "%s"}}'
        episode.call([RawCall(id="", tool="update_deal", arguments=body % i) for i in "abcd"])
        episode.stop()
        episode.close()
        assert replay(record_of(episode)).digest == episode.digest
        digests.add(str(episode.product.stores["deals"].true(1)))
    assert len(digests) > 1


# --- until ---------------------------------------------------------------------------------------


def test_until_replays_the_steps_before_and_no_more() -> None:
    episode = new_episode(make_plan(CRM, 5, 1), "caller")
    digests = [episode.digest]
    for deal in (1, 2, 3):
        episode.call((RawCall(id="", tool="get_deal", arguments=f'{{"deal_id": {deal}}}'),))
        digests.append(episode.digest)
    record = record_of(episode)
    assert not record.complete
    for step, digest in enumerate(digests):
        again = replay(record, until=step)
        assert again.digest == digest
        assert again.episode.count == step
        assert not again.episode.ended


@pytest.mark.parametrize("until", [-1, 4])
def test_until_beyond_the_recording_is_refused(until: int) -> None:
    episode = new_episode(make_plan(CRM, 5, 0), "caller")
    for _ in range(3):
        episode.say("hm")
    with pytest.raises(UsageError, match=f"no step {until} in this recording; give 0 to 3"):
        replay(record_of(episode), until=until)


def test_until_the_last_step_of_a_whole_recording_replays_the_end_too() -> None:
    episode = played("expert", seed=1)
    again = replay(record_of(episode), until=episode.count)
    assert again.episode.ended
    assert again.digest == episode.digest


def test_step_without_an_answer_is_where_the_recording_ends() -> None:
    episode = Episode(Plan(scenario=WORKSHOP, load=0))
    episode.say("hello")
    with pytest.raises(KeyboardInterrupt):
        episode.call((RawCall(id="", tool="interrupt", arguments=""),))
    record = record_of(episode)
    with pytest.raises(TruncatedRecording):
        replay(record)


def test_until_a_step_without_an_answer_is_a_truncated_divergence() -> None:
    episode = Episode(Plan(scenario=CRM, load=0))
    episode.say("hello")
    episode.say("hello?")
    payloads = record_of(episode).payloads[:-1]
    (record,) = parse(MAGIC + b"".join(map(encode_frame, payloads)))
    assert [frame.kind for frame in record.frames[-2:]] == [FrameType.STEP, FrameType.INPUT]
    error = divergence(record, until=2)
    assert error.args[2:6] == ("SH-DIV-107", "TRUNCATED", 5, 2)
    assert "the recording ends before frame 5 (STEP)" in error.message


# --- another model -------------------------------------------------------------------------------


def seed_that_wins() -> Episode:
    for seed in range(50):
        episode = played("expert", seed=seed)
        for row in read_rows(record_of(episode)).rows:
            if row.kind == "COMMIT" and "closed_won" in row.values["delta"]:
                return episode
    raise AssertionError("no seed wins")


def test_changed_rule_is_named_with_row_and_process(monkeypatch: pytest.MonkeyPatch) -> None:
    record = record_of(seed_that_wins())
    monkeypatch.setitem(MOVES, "negotiation", ("qualification", "proposal", "closed_lost"))
    error = divergence(record)
    assert error.args[2:4] == ("SH-DIV-105", "CODE")
    recorded, produced = (
        next(line for line in error.message.splitlines() if line.startswith(word))
        for word in ("recorded", "produced")
    )
    assert "COMMIT" in recorded
    assert "closed_won" in recorded
    assert "COMMIT" not in produced
    assert "  process: agent" in error.message
    won = next(frame for frame in record.inputs if b"closed_won" in frame.payload)
    assert error.args[5] == won.fields[0]


def test_changed_field_value_is_shown_with_both_values(monkeypatch: pytest.MonkeyPatch) -> None:
    record = record_of(played("spam", seed=2))
    log: Callable[..., Any] = Crm._log  # pyright: ignore[reportPrivateUsage]

    def shout(crm: Crm, op: Any, deal: int, kind: Any, subject: str, body: str, **rest: Any) -> Any:
        return log(crm, op, deal, kind, subject, body.upper(), **rest)

    monkeypatch.setattr(Crm, "_log", shout)
    error = divergence(record)
    assert error.args[2:4] == ("SH-DIV-105", "CODE")
    (field,) = [line for line in error.message.splitlines() if line.startswith("  delta: ")]
    recorded, produced = field.split(", produced ")
    assert "'spoke to them'" in recorded
    assert "'SPOKE TO THEM'" in produced
    assert "  process: user/" in error.message
    assert "last common rows:" in error.message


def test_changed_start_state_names_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    record = record_of(played("null", seed=2))
    base: Callable[[Any], dict[str, list[Any]]] = Negotiation.base_rows  # type: ignore[assignment]

    def without_a_contact(scenario: Negotiation) -> dict[str, list[Any]]:
        rows = dict(base(scenario))
        rows["contacts"] = list(rows["contacts"])[:-1]
        return rows

    monkeypatch.setattr(Negotiation, "base_rows", without_a_contact)
    monkeypatch.setattr(start_module, "_TEMPLATES", {})
    error = divergence(record)
    assert error.args[2:6] == ("SH-DIV-104", "STATE", 1, 0)
    assert "table contacts: recorded " in error.message
    assert "table deals" not in error.message


def test_changed_default_of_a_latency_is_shown_as_another_instant(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    episode = played("expert", scenario=WORKSHOP, seed=2)
    record = record_of(episode)
    product = type(episode.product)
    old = product.knobs["db.latency"]
    new = Knob(old.key, old.parse, "3ms", old.doc, old.forms)
    monkeypatch.setattr(product, "knobs", {**product.knobs, "db.latency": new})
    monkeypatch.setattr(product_module, "_BASES", {})
    error = divergence(record)
    assert error.args[2:4] == ("SH-DIV-103", "RNG")
    (field,) = [line for line in error.message.splitlines() if line.startswith("  t: ")]
    recorded, produced = field.removeprefix("  t: recorded ").split(", produced ")
    assert recorded != produced
    assert "READ" in error.message
    assert "  process: user/" in error.message


def test_extra_draw_names_its_owner_though_no_row_differs(monkeypatch: pytest.MonkeyPatch) -> None:
    record = record_of(played("expert", seed=2))
    authorize: Callable[..., Any] = Crm.authorize

    def curious(crm: Crm, op: Any) -> Any:
        if op.actor.name == "user/7":
            op.below(10, "curiosity")
        yield from authorize(crm, op)

    monkeypatch.setattr(Crm, "authorize", curious)
    error = divergence(record)
    assert error.args[2:4] == ("SH-DIV-103", "RNG")
    drawn = [line for line in error.message.splitlines() if line.startswith("draws of ")]
    assert [line.split(":")[0] for line in drawn] == ["draws of user/7"]


def test_another_order_of_the_same_rows_is_a_schedule_divergence(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    episode = Episode(Plan(scenario=CRM, load=0, profile="bare"))
    look = '{"deal_id": 1}'
    episode.call([RawCall(id="", tool="get_deal", arguments=look) for _ in range(3)])
    episode.stop()
    episode.close()
    record = record_of(episode)
    assert replay(record).digest == episode.digest

    def last_first(world: Any, event: Event, priority: Any = 1, delay: int = 0) -> None:
        world._serial += 1
        heappush(world._queue, (world._now + delay, priority, -world._serial, event))

    monkeypatch.setattr(World, "schedule", last_first)
    error = divergence(record)
    assert error.args[2:4] == ("SH-DIV-102", "SCHEDULE")
    assert f"  n: recorded {1 << 16}, produced {(1 << 16) + 2}" in error.message
    assert "  process: agent" in error.message


def test_answer_that_differs_though_no_row_does_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    record = record_of(played("spam", seed=2, load=0))
    render: Callable[..., Any] = Renderer.render

    def shown(renderer: Renderer, value: Any) -> Any:
        told: Any = render(renderer, value)
        if "title" in told:
            told["title"] = "secret"
        return told

    monkeypatch.setattr(Renderer, "render", shown)
    error = divergence(record)
    assert error.args[2:4] == ("SH-DIV-105", "CODE")
    assert "what the agent was told differs" in error.message
    assert "'secret'" in error.message


def test_changed_sources_are_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "own_shop.py"
    text = WORKSHOP_FILE.read_text(encoding="utf-8")
    path.write_text(text, encoding="utf-8")
    scenario = f"{path}:Workshop/shift"
    record = record_of(played("expert", scenario=scenario, load=0))
    replay(record)
    monkeypatch.delitem(sys.modules, load_product(f"{path}:Workshop").__module__)
    path.write_text(text.replace('"size": size}', '"size": size + 1}'), encoding="utf-8")
    error = divergence(record)
    assert "the product's sources have changed since: own_shop.py" in error.message
    assert "  delta: recorded [5, 7], produced [5, 8]" in error.message


def test_sources_that_a_recording_does_not_tell_are_not_called_changed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    episode = Episode(Plan(scenario=CRM, load=0))
    episode.stop()
    episode.close()

    def nothing(*_: object) -> tuple[()]:
        return ()

    monkeypatch.setattr(Negotiation, "goal", nothing)
    assert "sources" not in divergence(record_of(episode)).message


def test_raised_model_semantics_are_a_version_error(monkeypatch: pytest.MonkeyPatch) -> None:
    record = record_of(played("null", load=0))
    monkeypatch.setattr(Crm, "semantics", 3)
    with pytest.raises(VersionError, match="needs crm semantics 2, this build has 3") as caught:
        replay(record)
    assert caught.value.hint == f"pip install simharness=={record.info['simharness']}"


def test_raised_kernel_semantics_are_a_version_error(monkeypatch: pytest.MonkeyPatch) -> None:
    record = record_of(played("null", load=0))
    now = plan_module.KERNEL_SEMANTICS
    monkeypatch.setattr(plan_module, "KERNEL_SEMANTICS", now + 1)
    with pytest.raises(
        VersionError, match=f"needs kernel semantics {now}, this build has {now + 1}"
    ):
        replay(record)


def test_recording_of_a_product_that_is_not_there_names_it(tmp_path: Path) -> None:
    path = tmp_path / "gone.py"
    path.write_text(WORKSHOP_FILE.read_text(encoding="utf-8"), encoding="utf-8")
    record = record_of(played("expert", scenario=f"{path}:Workshop/shift", load=0))
    path.unlink()
    with pytest.raises(UsageError, match=r"no file .*gone\.py"):
        replay(record)


# --- damaged recordings --------------------------------------------------------------------------


def small_recording() -> bytes:
    """Record two steps in a world without users, INFO and VERDICT included."""
    episode = make(WORKSHOP, load=0)
    episode.step([Call("look", {"part_id": 1}), Call("lokk", "{", "é")], latency=[{"api": 5}, {}])
    episode.step(None)
    return log_bytes(episode.episode)


def replay_all(data: bytes) -> str:
    """Do what a user does with a file of one episode; gives the digest of an identical replay."""
    records = list(parse(data))
    if len(records) != 1:
        raise DamagedRecording(f"{len(records)} episodes")
    return replay(require_complete(records[0])).digest


def test_small_recording_is_sound() -> None:
    assert replay_all(small_recording())


def test_recording_cut_at_any_byte_is_truncated() -> None:
    data = small_recording()
    for size in range(len(MAGIC) + 1, len(data)):
        with pytest.raises(TruncatedRecording):
            replay_all(data[:size])


def test_bytes_behind_the_end_are_never_ignored() -> None:
    data = small_recording()
    for more in (b"\x00", b"\n", b"\xff" * 13, data[len(MAGIC) :], data):
        with pytest.raises(RecordingError):
            replay_all(data + more)


def test_every_flipped_bit_is_found() -> None:
    data = bytearray(small_recording())
    for at in range(len(data) * 8):
        data[at // 8] ^= 1 << at % 8
        with pytest.raises(RecordingError):
            replay_all(bytes(data))
        data[at // 8] ^= 1 << at % 8


def resealed(payloads: Sequence[bytes]) -> bytes:
    """Give the file of an episode whose sums and chain fit its payloads, the FOOTER made anew."""
    chain = CHAIN_START
    for payload in payloads[:-1]:
        kind = FrameType(payload[1]) if payload[1] in tuple(FrameType) else FrameType.STEP
        chain = advance(chain, payload, kind)
    footer: Any = unpack(payloads[-1])
    whole = [*payloads[:-1], footer_payload(footer[1], footer[2], chain)]
    return MAGIC + b"".join(map(encode_frame, whole))


def test_flipped_bits_behind_sums_that_fit_are_refused_or_another_episode() -> None:
    """A header with another seed can be a sound recording, but never passes for this one."""
    data = small_recording()
    (record,) = parse(data)
    assert resealed(record.payloads) == data
    found: Counter[tuple[FrameType, type[Exception]]] = Counter()
    for number, frame in enumerate(record.frames[:-1]):
        if frame.kind in (FrameType.INFO, FrameType.VERDICT):
            continue
        for at in range(number, len(frame.payload) * 8, RESEALED_BITS):
            flipped = bytearray(frame.payload)
            flipped[at // 8] ^= 1 << at % 8
            payloads = [*record.payloads]
            payloads[number] = bytes(flipped)
            try:
                digest = replay_all(resealed(payloads))
            except SimharnessError as error:
                found[frame.kind, type(error)] += 1
            else:
                assert digest != record.digest
    kinds = {kind for kind, _ in found}
    assert kinds == {frame.kind for frame in record.frames} - {
        FrameType.INFO,
        FrameType.VERDICT,
        FrameType.FOOTER,
    }
    for kind, refusal in found:
        # A header may name a product that isn't there: nobody can tell that from a recording that
        # was made elsewhere.
        assert issubclass(refusal, (RecordingError, Divergence)) or kind is FrameType.HEADER


def test_input_that_is_written_otherwise_is_an_input_divergence() -> None:
    """An id that follows the default is left empty; a writer that spells it out is another."""
    (record,) = parse(small_recording())
    payloads = [*record.payloads]
    at = next(i for i, frame in enumerate(record.frames) if frame.kind is FrameType.INPUT)
    fields: Any = unpack(payloads[at])
    assert fields[4][0][0] == b""
    fields[4][0][0] = b"call_1_0"
    payloads[at] = pack(fields)
    (forged,) = parse(resealed(payloads))
    error = divergence(forged)
    assert error.args[2:6] == ("SH-DIV-101", "INPUT", 2, 1)


def test_input_before_the_last_answer_is_damage() -> None:
    (record,) = parse(small_recording())
    payloads = [*record.payloads]
    at = max(i for i, frame in enumerate(record.frames) if frame.kind is FrameType.INPUT)
    fields: Any = unpack(payloads[at])
    fields[2] = 0
    payloads[at] = pack(fields)
    with pytest.raises(DamagedRecording, match="step 2 can't be sent at tick 0"):
        replay_all(resealed(payloads))


def test_header_that_fits_no_episode_is_damage() -> None:
    (record,) = parse(small_recording())
    header: Any = record.header
    changes: list[dict[str, object]] = [
        {"instance": {"part": 99}},
        {"instance": {}},
        {"schedule": {"policy": "?"}},
    ]
    for change in changes:
        payload = pack([FrameType.HEADER, {**header, **change}])
        with pytest.raises((DamagedRecording, Divergence)):
            replay_all(resealed([payload, *record.payloads[1:]]))
    for missing in ("seed", "load", "instance", "schedule", "steps_max"):
        payload = pack([FrameType.HEADER, {k: v for k, v in header.items() if k != missing}])
        with pytest.raises(DamagedRecording, match=missing):
            replay_all(resealed([payload, *record.payloads[1:]]))


def test_recording_that_goes_on_after_the_end_diverges() -> None:
    (record,) = parse(small_recording())
    stop: list[object] = []
    more = pack([FrameType.INPUT, 3, 10 * MINUTE, "stop", stop])
    (longer,) = parse(resealed([*record.payloads[:-1], more, record.payloads[-1]]))
    error = divergence(longer)
    assert error.args[2:4] == ("SH-DIV-105", "CODE")
    assert "goes on" in error.message
