"""M codes over episodes written by hand, at their boundaries, and over planted defects."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.model_defects import is_right, outcome_of
from benchmarks.planted_defects import DEFECTS, Planted, plain
from simharness.findings.finding import Confidence, Effect
from simharness.findings.known import says
from simharness.findings.model import findings_of, primary_of
from simharness.findings.turns import TEXT
from simharness.units import MINUTE, SECOND
from tests.findings.written import STAMP, Made, Play, deal, mail, moved

if TYPE_CHECKING:
    from benchmarks.model_defects import Outcome
    from simharness.findings.finding import Finding


def found(play: Play) -> list[Finding]:
    return findings_of(play.account())


def decisive(play: Play) -> set[str]:
    return {f.code for f in found(play) if f.confidence is not Confidence.SUSPECTED}


def primary(play: Play) -> str:
    finding = primary_of(found(play))
    return finding.code if finding is not None else ""


# --- M110, M111, M112 ----------------------------------------------------------------------------


def test_another_version_than_the_fresh_one_is_a_misreading() -> None:
    play = moved(Play().read(deal(4)), version=3, error="conflict", version_now=4).finish().failed()
    (finding,) = [f for f in found(play) if f.code == "M110"]
    assert (finding.step, finding.keys, finding.effect) == (2, ("deals:7",), Effect.HINDERED)
    assert finding.explanation == (
        "move_stage names if_version 3, but deals:7 was last shown, fresh, with 4"
    )
    assert primary(play) == "M110"


@pytest.mark.parametrize(
    "play",
    [
        moved(Play().read(deal(4)), version=4, after=5),
        moved(Play().read(deal(3), true=4), version=4, error="conflict"),  # it wasn't fresh
        moved(Play(), version=4, after=5),  # never shown: M111
    ],
)
def test_no_misreading(play: Play) -> None:
    assert "M110" not in decisive(play.finish().failed())


def test_a_misreading_made_good_is_advisory() -> None:
    play = moved(Play().read(deal(4)), version=3, error="conflict")
    play = moved(play.read(deal(4)), version=4, after=5).finish().failed()
    assert "M110" in {f.code for f in found(play)}
    assert "M110" not in decisive(play)


@pytest.mark.parametrize(
    ("percent", "misread"), [(18, False), (19, True), (15, False), (7, True), (1, False)]
)
def test_a_number_shown_otherwise_unless_given_elsewhere(percent: int, misread: bool) -> None:
    # 15 stands in the prompt; 7 does too, but as the id of the deal.
    play = Play().read(deal()).write("quote", deal_id=7, discount_pct=percent).finish().failed()
    assert ("M110" in decisive(play)) is misread


@pytest.mark.parametrize(
    ("amount", "made", "misread"),
    [
        (600, (("deals", 8, 1, {"amount": 600}),), False),
        (600, (("deals", 8, 1, {"amount": 500}),), True),  # it made another amount
        (600, (("deals", 7, 2, {"amount": 600}),), True),  # it changed the row that was shown
        (1600, (("deals", 8, 1, {"amount": 1600}),), True),  # more than there is
        (600, (), True),
    ],
)
def test_a_part_that_made_a_row_of_its_own_is_no_misreading(
    amount: int, made: tuple[Made, ...], misread: bool
) -> None:
    play = Play().read(deal(amount=1000)).write("quote", *made, deal_id=7, amount=amount)
    assert ("M110" in decisive(play.finish().failed())) is misread


@pytest.mark.parametrize(
    ("args", "stranger"),
    [
        ({"deal_id": 7}, False),
        ({"deal_id": 8}, True),
        ({"contact_id": 30}, False),  # deals:7 names it
        ({"contact_id": 7}, True),  # given as a deal
        ({"contact_id": 15}, False),  # "over 15": nobody can tell what that counts
        ({"deal_id": 7, "total": 1000}, False),
        ({"deal_id": 7, "total": 820}, False),  # less 18 per cent
        ({"deal_id": 7, "total": 821}, True),
        ({"deal_id": 7, "page": 99}, False),
        ({"owner": "ada@elm.example"}, True),
    ],
)
def test_values_that_nothing_gave(args: dict[str, Any], stranger: bool) -> None:
    play = Play().read(deal()).write("quote", **args).finish().failed()
    assert ("M111" in decisive(play)) is stranger


def test_looking_for_a_made_up_row_is_advisory_and_claiming_one_is_not() -> None:
    looked = Play().call("get_deal", deal_id=99).finish().failed()
    assert "M111" not in decisive(looked)
    assert "M111" in {f.code for f in found(looked)}
    assert "M111" in decisive(Play().finish("see deal 99").failed())
    assert "M111" in decisive(Play().finish(refs=["emails:3"]).failed())
    assert "M111" not in decisive(Play().finish("see deal 7, within 3 minutes").failed())


def test_the_same_version_again_after_a_conflict_is_ignored_news() -> None:
    play = moved(Play().read(deal(1)), version=1, error="conflict", version_now=2)
    again = moved(play, version=1, error="conflict", version_now=2).finish().failed()
    assert primary(again) == "M112"


@pytest.mark.parametrize(("status", "code"), [("left", "M112"), ("active", "M510")])
def test_a_write_to_a_row_shown_as_ended(status: str, code: str) -> None:
    contact = {"id": 30, "version": 2, "created_at": STAMP, "updated_at": STAMP}
    play = (
        Play().read(deal()).read({**contact, "status": status, "email": "a@b.example"}, "contacts")
    )
    assert primary(mail(play, error="undeliverable").finish().failed()) == code


# --- M210, M310 ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("went_on", "decides"), [(True, False), (False, True)])
def test_a_bad_call_decides_unless_it_was_put_right(went_on: bool, decides: bool) -> None:
    play = Play().call("quote", {"code": "invalid_arguments", "message": "no"}, ok=False)
    values = {"owner": "agent", "n": 1 << 16, "tool": "quote", "reason": "invalid_arguments"}
    play.row("BADCALL", **values)
    if went_on:
        play.write("quote", deal_id=7)
    assert ("M210" in decisive(play.finish().failed())) is decides


@pytest.mark.parametrize(("times", "repetition"), [(2, False), (3, True)])
def test_equal_calls_with_equal_answers(times: int, repetition: bool) -> None:
    play = Play()
    for _ in range(times):
        play.read(deal())
    assert ("M310" in decisive(play.end("budget").failed())) is repetition


def test_another_answer_a_write_or_a_retryable_refusal_begins_the_count_anew() -> None:
    changed = Play().read(deal(1)).read(deal(1)).read(deal(2)).read(deal(2))
    wrote = moved(Play().read(deal(1)).read(deal(1)), 1).read(deal(1)).read(deal(1))
    busy = Play()
    for _ in range(5):
        busy.call("get_deal", {"code": "locked", "retryable": True}, ok=False, deal_id=7)
    for play in (changed, wrote, busy):
        assert "M310" not in decisive(play.finish().failed())


@pytest.mark.parametrize(
    ("polls", "pause", "repetition"), [(9, 10, False), (12, 2, False), (12, 5, True)]
)
def test_polls_count_only_when_they_go_on_and_on(polls: int, pause: int, repetition: bool) -> None:
    play = Play()
    for _ in range(polls):
        play.read(deal()).wait(pause * MINUTE)
    assert ("M310" in decisive(play.finish().failed())) is repetition


# --- M211, M312, M313, M411 ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("evidence", "code"),
    [("deals:7 v2 -> lost, the rules say won", "M211"), ("the rules say first approval", "M312")],
)
def test_a_wrong_write_and_one_before_its_turn(evidence: str, code: str) -> None:
    play = moved(Play().read(deal()), 1, to="lost").finish(outcome="done").grade(False, evidence)
    assert primary(play) == code


def test_a_write_is_not_to_blame_for_other_rows_or_for_giving_up() -> None:
    done = moved(Play().read(deal()), 1).finish(outcome="handed_over")
    keys = ("deals:7.stage", "deals:8.stage")
    other = done.grade(False, "deals:8 is in negotiation", keys=keys)
    assert "M211" not in decisive(other)
    gave_up = moved(Play().read(deal()), 1).finish(outcome="handed_over")
    ending = gave_up.grade(False, "outcome 'handed_over', 'done' is right; deals:7", keys=())
    assert "M211" not in decisive(ending)
    assert primary(ending) == "M514"


def test_no_other_write_is_to_blame_where_a_later_one_was_crossed() -> None:
    play = mail(Play().read(deal()))
    play = moved(play.other(after=2), after=3).finish(outcome="done")
    lacking = play.grade(False, "deals:7 has no lost_reason", keys=(), name="act")
    assert "M211" not in decisive(lacking)


def test_nothing_is_held_against_a_write_that_somebody_else_crossed() -> None:
    play = (
        moved(Play().read(deal()).other(after=2), after=3).finish().grade(False, "deals:7 is lost")
    )
    assert decisive(play) == set()


@pytest.mark.parametrize(("error", "order"), [("forbidden", True), ("not_found", False)])
def test_a_write_refused_before_its_turn(error: str, order: bool) -> None:
    play = moved(Play().read(deal()), 1, error=error).finish().failed()
    assert ("M312" in decisive(play)) is order
    crossed = moved(Play().read(deal()).other(after=2), error=error).finish().failed()
    assert "M312" not in decisive(crossed)


def test_an_act_that_was_never_tried() -> None:
    lacking: dict[str, Any] = {"evidence": "no mail to contacts:30", "keys": (), "name": "mailed"}
    skipped = (
        moved(Play().read(deal()), 1).finish(outcome="done").grade(True).grade(False, **lacking)
    )
    assert primary(skipped) == "M313"
    tried = moved(mail(Play().read(deal()), error="not_found"), 1).finish().grade(True)
    assert "M313" not in decisive(tried.grade(False, **lacking))


def test_a_write_that_the_task_does_not_allow() -> None:
    play = moved(Play().read(deal()), 1).write("touch", ("deals", 9, 3, {}), deal_id=7).finish()
    play.grade(True).grade(False, "deals:9 is another deal", keys=(), role="footprint")
    (finding,) = [f for f in found(play) if f.code == "M411"]
    assert (finding.step, primary(play)) == (3, "M411")


# --- M510 to M514 --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("play", "code"),
    [
        (Play().read(deal()).finish("I stop here"), "M510"),
        (Play().read(deal()).end("stop"), "M510"),
        (Play().finish("The deal has been taken care of."), "M511"),
        (Play().finish("", outcome="done"), "M511"),
        (Play().finish("The deal is not done."), "M510"),
        (Play().finish("over to you", outcome="handed_over"), "M514"),
        (Play().finish("I can't help with that."), "M514"),
        (Play().read(deal()).end("budget", waited=SECOND * 19 // 100), "M513"),
        (Play().read(deal()).end("budget", waited=SECOND * 20 // 100), ""),
    ],
)
def test_endings(play: Play, code: str) -> None:
    assert primary(play.failed()) == code


def test_who_wrote_what_the_goal_rests_on_claims_in_good_faith() -> None:
    play = (
        moved(Play().read(deal()), 1, to="lost").finish("All done.").grade(False, "deals:7 is lost")
    )
    assert "M511" not in decisive(play)


def test_a_claim_in_plain_text_counts() -> None:
    play = Play().read(deal())
    play.said[1] = "The deal is closed as won, it is done."
    assert "M511" in decisive(play.end("stop").failed())
    assert play.account().turns[0].tool == TEXT


@pytest.mark.parametrize(("reads", "verified"), [(True, True), (False, False)])
def test_no_look_after_the_last_write_is_advisory(reads: bool, verified: bool) -> None:
    play = moved(Play().read(deal()), 1)
    if reads:
        play.read(deal(2))
    codes = [(f.code, f.confidence) for f in found(play.finish().grade(True))]
    assert codes == ([] if verified else [("M512", Confidence.SUSPECTED)])


def test_phrases_are_whole_words_and_can_be_negated() -> None:
    assert says("It is done.", "done") == "done"
    assert says("deal 7 is in closed_won; undone", "done") == ""
    assert says("I couldn\u2019t get it done", "done") == ""
    assert says("That did not work. Done.", "done") == "done"


# --- M610 to M613 --------------------------------------------------------------------------------


@pytest.mark.parametrize("error", ["conflict", "locked", "unavailable", "rate_limited"])
def test_a_refusal_that_asks_for_another_try(error: str) -> None:
    play = moved(Play().read(deal()), 1, error=error)
    looked = moved(Play().read(deal()), 1, error=error).read(deal(2)).finish().failed()
    assert primary(play.finish("busy", outcome="handed_over").failed()) == "M610"
    assert primary(looked) == "M510"


@pytest.mark.parametrize(("retries", "code"), [(0, "M610"), (1, "M610"), (2, "M514"), (8, "M514")])
@pytest.mark.parametrize("tool", ["move_stage", "get_deal"])
def test_who_stops_after_several_tries_has_reacted(tool: str, retries: int, code: str) -> None:
    play = Play().read(deal())
    for _ in range(1 + retries):
        play.write(tool, error="unavailable", retryable=True, deal_id=7).wait()
    assert primary(play.finish("busy", outcome="handed_over").failed()) == code


def test_a_look_that_was_refused_is_one_and_what_went_through_begins_anew() -> None:
    def refused(play: Play) -> Play:
        told = {"code": "rate_limited", "message": "too many", "retryable": True}
        return play.wait().call("get_deal", told, ok=False, deal_id=7)

    play = moved(Play().read(deal()), error="rate_limited")
    steps = [f.step for f in found(refused(play).finish().failed()) if f.code == "M610"]
    assert steps == [4], "the look alone, after which there is none"
    again = refused(refused(refused(Play()).read(deal())))
    assert "M610" in decisive(again.finish().failed())
    assert "M610" not in decisive(refused(refused(refused(Play()))).finish().failed())


@pytest.mark.parametrize(("version", "looks", "ignores"), [(None, 0, 1), (2, 0, 1), (2, 1, 0)])
def test_an_overwrite_after_a_conflict(version: int | None, looks: int, ignores: int) -> None:
    play = moved(Play().read(deal(1)), 1, error="conflict", version_now=2)
    if looks:
        play.read(deal(2))
    play = moved(play, version, after=3).finish().grade(True)
    assert ("M612" in decisive(play)) is bool(ignores)
    assert "M110" not in decisive(play)


def test_the_same_write_twice() -> None:
    assert decisive(mail(mail(Play().read(deal())), 2).finish().grade(True)) == {"M613"}
    lost = mail(Play().read(deal()), error="unknown_outcome", late=True)
    assert decisive(mail(lost, 2).finish().grade(True)) == {"M611"}
    failed = mail(Play().read(deal()), error="unknown_outcome")
    assert decisive(mail(failed, 2).finish().grade(True)) == set()
    other_words = mail(Play().read(deal())).write("send_email", ("emails", 2, 1, {}), subject="b")
    assert decisive(other_words.finish().grade(True)) == set()


def test_a_new_key_after_an_unknown_outcome_is_a_second_charge() -> None:
    play = Play()
    for key, error in (("a", "unknown_outcome"), ("b", "")):
        made: Made = ("emails", ord(key), 1, {})
        play.write("charge", made, error=error, deal_id=7, idempotency_key=key)
    assert decisive(play.finish().grade(True)) == {"M613"}


def test_what_is_decided_anew_after_news_is_no_duplicate() -> None:
    first = mail(Play().read(deal())).other(after=2)
    assert decisive(mail(first.read(deal(2)), 2).finish().grade(True)) == set()
    crossed = moved(mail(Play().read(deal()).other(after=2)), 1, error="conflict")
    assert decisive(mail(crossed.read(deal(2)), 2).finish().grade(True)) == set()
    unseen = mail(Play().read(deal())).other(after=2)
    assert decisive(mail(unseen, 2).finish().grade(True)) == {"M613"}


# --- the CRM -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", DEFECTS)
def test_planted_defects_are_told_apart(name: str) -> None:
    outcomes: list[Outcome] = []
    for seed in range(60):
        outcome = outcome_of(seed, "8", DEFECTS[name]())
        if outcome.happened:
            outcomes.append(outcome)
        if len(outcomes) == 5:
            break
    assert [o.harness for o in outcomes] == [[] for _ in range(5)]
    assert sum(is_right(o, DEFECTS[name]()) for o in outcomes) >= 4


@pytest.mark.parametrize("load", ["1", "8"])
def test_nothing_is_held_against_the_expert(load: str) -> None:
    for seed in range(10):
        outcome = outcome_of(seed, load, Planted("", plain))
        assert (outcome.passed, outcome.primary, outcome.harness) == (True, "", [])


tools = st.sampled_from(("finish", "say", "wait", "quote", "charge", "move_stage"))
names = st.sampled_from(
    (
        "refs",
        "message",
        "text",
        "outcome",
        "deal_id",
        "if_version",
        "deal_ids",
        "total",
        "page",
        "x",
    )
)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3),
    max_leaves=6,
)


@given(calls=st.lists(st.tuples(tools, st.dictionaries(names, values, max_size=4)), max_size=6))
def test_no_arguments_confuse_the_detectors(calls: list[tuple[str, dict[str, Any]]]) -> None:
    play = Play().read(deal())
    for tool, args in calls:
        refused = {"code": "conflict", "message": "no"}
        play.write(tool, error="conflict", **{k: v for k, v in args.items() if k != "error"})
        play.call(tool, refused, ok=False, **args)
    found(play.finish().failed())
