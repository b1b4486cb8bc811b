"""How a report is played: who comes first, what overlaps, what is left out, and how it ends."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from simharness.episode.replay import replay
from simharness.product.script import SLUG
from simharness.recording.reader import read_file
from simharness.reports.check import check_case, check_report
from simharness.reports.load import read_report
from simharness.reports.play import play_case
from simharness.units import SECOND

if TYPE_CHECKING:
    from simharness.reports.play import Played
    from simharness.reports.report import Case

HEAD = """\
report = 1
id = "x"
title = "x"
product = "crm"
"""
ROWS = """
[rows]
accounts = [{ id = 1, title = "A", domain = "a.example" }]
"""
READ = ("agent", "get_account", "args = { account_id = 1 }")
WRITE = ("rep", "update_account", 'args = { account_id = 1, fields = { title = "B" } }')


CONTROL = '\n[[control]]\ntitle = "of another"\n[[control.actions]]'
CALL = ('actor = "agent"', 'call = "get_account"', "args = { account_id = 9 }")


def action(label: str, when: str, actor: str, call: str, *more: str) -> str:
    lines = [f'label = "{label}"', when, f'actor = "{actor}"', f'call = "{call}"', *more]
    return "\n".join(["[[actions]]", *lines, ""])


def case_of(*actions: str, head: str = "", rows: str = ROWS) -> Case:
    return read_report(Path("x.toml"), "\n".join([HEAD, head, rows, *actions]).encode()).case


def play(*actions: str, head: str = "", rows: str = ROWS) -> Played:
    return play_case(case_of(*actions, head=head, rows=rows))


def title(played: Played, label: str) -> str:
    answer = played.answers[label]
    assert answer.ok, answer
    return str(answer.value["title"])


@pytest.mark.parametrize(
    ("order", "seen"), [(("write", "read"), "B"), (("read", "write"), "A")], ids=["after", "before"]
)
def test_actions_of_an_instant_come_in_the_order_of_the_file(
    order: tuple[str, str], seen: str
) -> None:
    acts = {"read": READ, "write": WRITE}
    parts = {name: action(name, 'at = "5s"', *act) for name, act in acts.items()}
    played = play(*(parts[name] for name in order))
    assert title(played, "read") == seen
    assert played.answers["write"].t == played.answers["read"].t == 5 * SECOND


def test_the_agent_can_stand_between_two_others() -> None:
    """It sees what the first wrote and not what the second did."""
    second = ("rep", "update_account", 'args = { account_id = 1, fields = { title = "C" } }')
    played = play(
        action("one", 'at = "5s"', *WRITE),
        action("read", 'at = "5s"', *READ),
        action("two", 'at = "5s"', *second),
        action("again", 'at = "5s"', *READ),
    )
    assert (title(played, "read"), title(played, "again")) == ("B", "C")


def test_timers_of_an_instant_come_before_its_actions() -> None:
    rows = """
[rows]
customers = [{ id = 1, full_name = "Ann" }, { id = 2, full_name = "Bo" }]
providers = [{ id = 1, title = "P" }]
services = [{ id = 1, title = "S" }]
[[rows.slots]]
id = 1
provider_id = 1
service_id = 1
starts_at = 2026-03-05T10:00:00Z
ends_at = 2026-03-05T10:30:00Z
"""
    text = [
        HEAD.replace("crm", "marketplace"),
        "[actors]\nagent = { customer_id = 1 }\nbo = { customer_id = 2 }",
        '[config]\n"hold.ttl" = "60s"',
        rows,
        action("hold", 'at = "0s"', "bo", "hold_slot", "args = { slot_id = 1 }"),
        action("early", 'at = "59999999us"', "agent", "hold_slot", "args = { slot_id = 1 }"),
        action("in time", 'at = "60s"', "agent", "hold_slot", "args = { slot_id = 1 }"),
    ]
    played = play_case(read_report(Path("x.toml"), "\n".join(text).encode()).case)
    assert played.answers["early"].value["code"] == "slot_taken"
    assert played.answers["in time"].ok


def test_calls_of_the_agent_that_overlap_are_a_parallel_turn() -> None:
    played = play(
        action("slow", 'at = "1s"', *READ, 'latency = { db = "10s" }'),
        action("quick", 'at = "3s"', *READ),
        action("write", 'at = "5s"', *WRITE),
        action("late", 'at = "20s"', *READ),
    )
    assert [len(step.input.calls) for step in played.episode.steps] == [2, 1, 0]
    sent = {label: (a.sent // SECOND, a.t // SECOND) for label, a in played.answers.items()}
    assert sent == {"slow": (1, 11), "quick": (3, 3), "write": (5, 5), "late": (20, 20)}
    assert [title(played, label) for label in ("slow", "quick", "late")] == ["B", "A", "B"]


def test_an_action_can_wait_for_the_answer_of_another() -> None:
    played = play(
        action("slow", 'at = "1s"', *WRITE, 'latency = { db = "4s" }'),
        action("read", 'after = "slow+2s"', *READ),
        action("back", 'after = "read"', "rep", "get_account", "args = { account_id = 1 }"),
    )
    assert played.answers["slow"].t == 5 * SECOND
    assert played.answers["read"].sent == played.answers["back"].sent == 7 * SECOND
    assert title(played, "read") == "B"


def test_what_refers_to_nothing_is_left_out_and_fails_what_rests_on_it() -> None:
    expect = '[[expect]]\ncode = "H110"\naction = "third"\n'
    case = case_of(
        action("first", 'at = "0s"', "agent", "get_account", "args = { account_id = 9 }"),
        action("second", 'at = "1s"', "rep", "get_account", 'args = { account_id = "$first.id" }'),
        action("third", 'after = "second"', "agent", "list_accounts"),
        expect,
    )
    result = check_case(case)
    assert result.played.skipped == {
        "second": "$first.id: first was refused (not_found)",
        "third": "second was skipped",
    }
    assert list(result.missing) == ["H110 at third: third was skipped (second was skipped)"]


@pytest.mark.parametrize("wanted", ["returns = {}", 'error = "not_found"'])
def test_what_is_left_out_has_no_answer_to_hold_against_one(wanted: str) -> None:
    result = check_case(
        case_of(
            action("first", 'at = "0s"', "agent", "get_account", "args = { account_id = 9 }"),
            action(
                "second", 'at = "1s"', "rep", "get_account", 'args = { account_id = "$first.id" }',
                wanted,
            ),
        )
    )  # fmt: skip
    assert list(result.missing) == ["second: left out ($first.id: first was refused (not_found))"]


def test_a_control_may_leave_out_what_it_has_from_its_report() -> None:
    read = action(
        "second", 'at = "1s"', "rep", "get_account", 'args = { account_id = "$first.id" }'
    )
    parts = [
        *(HEAD, ROWS, action("first", 'at = "0s"', *READ), read, "returns = { id = 1 }", CONTROL),
        *('label = "first"', 'at = "0s"', *CALL),
    ]
    report = read_report(Path("x.toml"), "\n".join(parts).encode())
    found = check_report(report)
    assert [[*result.missing] for result in found] == [[], []]
    assert "second" in found[1].played.skipped


def test_a_reference_reaches_into_lists_and_dollars_can_be_written() -> None:
    rows = ROWS.replace("}]", '}, { id = 7, title = "$7" }]')
    read = 'args = { account_id = "$list.ids.-1" }'
    write = 'args = { account_id = "$list.accounts.0.id", fields = { title = "$$list" } }'
    played = play(
        action("list", 'at = "0s"', "agent", "list_accounts"),
        action("read", 'at = "1s"', "agent", "get_account", read),
        action("write", 'at = "2s"', "agent", "update_account", write),
        rows=rows,
    )
    assert (title(played, "read"), title(played, "write")) == ("$7", "$list")


def test_finish_ends_the_agents_part_and_nothing_new_begins() -> None:
    played = play(
        action("finish", 'at = "5s"', "agent", "finish", 'args = { message = "Done." }'),
        action("read", 'at = "6s"', *READ),
        action("write", 'at = "7s"', *WRITE),
    )
    assert played.skipped["read"] == "the agent has finished"
    assert {*played.answers} == {"finish"}
    assert played.episode.world.ticks == 5 * SECOND


@pytest.mark.parametrize(
    ("until", "end"), [("", 30), ('until = "1h"', 3600), ('until = "10s"', 10)]
)
def test_it_ends_when_all_is_done_or_when_it_says(until: str, end: int) -> None:
    write = action("write", 'at = "5s"', *WRITE, 'latency = { db = "25s" }')
    config = '[config]\n"accounts.detail.cache.ttl" = "2h"'
    played = play(action("read", 'at = "0s"', *READ), write, head=f"{until}\n{config}")
    assert played.episode.world.ticks == end * SECOND


@pytest.mark.parametrize(
    ("crash", "code", "version", "primary"),
    [
        ("before_commit", "unknown_outcome", 1, ""),
        ("after_commit", "unknown_outcome", 2, ""),
        ("handler", None, 1, "H810"),
    ],
)
def test_a_worker_can_die(crash: str, code: str | None, version: int, primary: str) -> None:
    write = action("write", 'at = "5s"', "agent", *WRITE[1:], f'crash = "{crash}"')
    goal = '[goal]\nrows = [{ table = "accounts", where = { id = 1, title = "B" } }]\n'
    played = play(write, goal, rows=ROWS)
    row = played.episode.product.stores["accounts"].table.rows[1]
    assert row.version == version
    assert played.verdict.primary.startswith(primary)
    if code is None:
        assert played.reward is None
        assert played.verdict.kind == "harness"
    else:
        assert played.answers["write"].value["code"] == code
        assert played.reward == version - 1


@pytest.mark.parametrize("agents", ["", action("read", 'at = "1s"', *READ)], ids=["alone", "after"])
def test_a_tool_may_fail_while_the_agent_does_nothing(agents: str, tmp_path: Path) -> None:
    """The agent's part ends in that instant, and the recording of it replays."""
    write = action("write", 'at = "5s"', *WRITE, 'crash = "handler"')
    later = action("later", 'at = "9s"', *READ)
    waits = action("waits", 'after = "write"', *READ)
    case = case_of(agents, write, waits, '[[expect]]\ncode = "H810"\naction = "write"\n')
    result = check_case(case)
    assert result.held, (result.missing, result.unexpected)
    assert result.played.reward is None
    result.played.episode.save(tmp_path / "x.simrec")
    (record,) = read_file(tmp_path / "x.simrec")
    assert replay(record).digest == result.played.episode.digest
    assert play(agents, write, later).verdict.primary == "H810"


def test_all_that_overlaps_with_one_call_is_one_turn() -> None:
    slow = action("slow", 'at = "1s"', *READ, 'latency = { db = "25s" }')
    quick = [action(f"quick {i}", f'at = "{i + 2}s"', *READ) for i in range(20)]
    first = action(
        "refers", 'at = "15s"', "agent", "get_account", 'args = { account_id = "$quick 1.id" }'
    )
    played = play(slow, *quick, first)
    assert [len(step.input.calls) for step in played.episode.steps] == [22, 0]
    assert [played.answers[f"quick {i}"].sent // SECOND for i in range(20)] == [*range(2, 22)]


def test_the_agent_may_wait_for_one_answer_after_the_other() -> None:
    chain = [action("0", 'at = "1s"', *READ)]
    chain += [action(str(i), f'after = "{i - 1}+1s"', *READ) for i in range(1, 40)]
    played = play(*chain)
    assert [played.answers[str(i)].sent // SECOND for i in range(40)] == [*range(1, 41)]


def test_without_a_goal_there_is_no_reward_and_the_class_follows_from_what_was_found() -> None:
    cache = '"accounts.detail.cache.ttl" = "1h"\n"accounts.detail.cache.invalidate" = "never"'
    config = f"[config]\n{cache}"
    reads = [action(f"read {i}", f'at = "{i}s"', *READ) for i in (1, 9)]
    write = action("write", 'at = "5s"', *WRITE)
    classes = {
        "ok": play(*reads),
        "model": play(*reads, action("more", 'at = "10s"', *READ)),
        "harness": play(*reads, write, head=config),
    }
    assert {kind: str(played.verdict.kind) for kind, played in classes.items()} == {
        kind: kind for kind in classes
    }
    assert all(played.reward is None for played in classes.values())


def test_a_recording_of_a_report_replays_by_itself(tmp_path: Path) -> None:
    file = tmp_path / "x.simrec"
    played = play(
        action("write", 'at = "5s"', *WRITE, 'latency = { db = "2s" }'),
        action("read", 'after = "write"', *READ),
        head='seed = 3\nepoch = "2027-01-01T00:00:00Z"',
    )
    played.episode.save(file)
    (record,) = read_file(file)
    again = replay(record)
    assert again.digest == played.episode.digest
    assert again.episode.plan.scenario == f"crm/{SLUG}"
    assert title(played, "read") == "B"


def test_faults_are_switched_on_by_their_names() -> None:
    write = action("write", 'at = "5s"', *WRITE, 'latency = { db = "2s" }')
    played = play(write, head='faults = ["crm.silent-default"]')
    assert played.episode.plan.faults == ("crm.silent-default",)
