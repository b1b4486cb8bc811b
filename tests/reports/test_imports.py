"""What people have becomes the skeleton of a report, with the traps that real files hold."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

from simharness.cli.report import new
from simharness.errors import UsageError
from simharness.reports.check import check_case
from simharness.reports.imports import report_of_chat, report_of_rows
from simharness.reports.load import read_report

if TYPE_CHECKING:
    from simharness.reports.report import Case


def read(path: Path, text: str) -> Case:
    return read_report(path, text.encode()).case


def call(tool: str, arguments: str) -> dict[str, Any]:
    return {"id": "call_id", "type": "function", "function": {"name": tool, "arguments": arguments}}


def test_a_chat_becomes_the_calls_that_were_sent(tmp_path: Path) -> None:
    """Ids that repeat, arguments encoded twice, a broken call, and turns that say something."""
    twice = json.dumps(json.dumps({"deal_id": 7}))
    messages = [
        {"role": "user", "content": "Look at deal 7."},
        {"role": "assistant", "tool_calls": [call("get_deal", twice), call("list_deals", "")]},
        {"role": "assistant", "content": "One moment."},
        {"role": "assistant", "tool_calls": [call("get_deal", '{"deal_id": 7'), call("fly", "{}")]},
    ]
    path = tmp_path / "chat.jsonl"
    path.write_text(json.dumps({"messages": messages}), encoding="utf-8")
    case = read(path, report_of_chat(path, "crm"))
    sent = [(act.at // 1_000_000, act.call, act.args) for act in case.acts]
    assert sent == [
        (0, "get_deal", {"deal_id": 7}),
        (0, "list_deals", {}),
        (5, "get_deal", '{"deal_id": 7'),
        (5, "fly", "{}"),
    ]
    assert case.unchecked == {"3", "4"}
    result = check_case(case)
    assert result.held
    assert [f.code for f in result.played.findings].count("M210") == 2
    with pytest.raises(UsageError, match=r"no conversation 2 in .*; it holds 1"):
        report_of_chat(path, "crm", 2)


SLOTS = """\ufeffID;Provider id;service-id;starts_at;Ends At;capacity
3;1;2;2026-03-05 14:00;2026-03-05 15:00:00;2
4;1;2;2026-03-05T14:00:00Z;2026-03-05T16:00:00+01:00;
"""


def test_a_table_becomes_rows_with_those_that_they_name(tmp_path: Path) -> None:
    path = tmp_path / "slots.csv"
    path.write_text(SLOTS.replace("\n", "\r\n"), encoding="utf-8", newline="")
    case = read(path, report_of_rows(path, "marketplace", "slots", "Europe/Berlin"))
    local, exact = case.rows["slots"]
    assert exact["starts_at"] - local["starts_at"] == 3_600_000_000
    assert (local["capacity"], "capacity" in exact) == (2, False)
    assert [row["id"] for row in case.rows["providers"]] == [1]
    assert [row["id"] for row in case.rows["services"]] == [2]
    assert check_case(case).held


@pytest.mark.parametrize("tags", ['["vip","late"]', '"[\\"vip\\",\\"late\\"]"', "vip, late"])
def test_a_list_in_a_cell_may_be_json_or_json_within_json(tags: str, tmp_path: Path) -> None:
    path = tmp_path / "tickets.csv"
    cell = '"' + tags.replace('"', '""') + '"'
    text = f"id,customer_id,subject,tags,assignee_id\nTK-3,1,Lamp,{cell},null\n"
    path.write_text(text, encoding="utf-8")
    case = read(path, report_of_rows(path, "helpdesk", "tickets"))
    (ticket,) = case.rows["tickets"]
    assert (ticket["id"], tuple(ticket["tags"])) == (3, ("vip", "late"))
    assert "assignee_id" not in ticket


WRONG = {
    "no zone": (
        SLOTS,
        r"x.csv:2: starts_at: '2026-03-05 14:00' has no zone; say which one: --zone",
    ),
    "an id twice": (SLOTS.replace("\n4;", "\n3;"), r"x.csv:3: id 3 is that of line 2, too; give"),
    "a column twice": (SLOTS.replace("capacity", "id"), r"x.csv:1: two columns are named 'id'"),
    "an unknown column": (SLOTS.replace("capacity", "capcity"), r"x.csv:1: no column named 'capci"),
    "a cell too many": (SLOTS + "5;1;2;;;;;\n", r"x.csv:4: 8 cells, and there are 6 columns"),
    "no number": (SLOTS.replace(";2\n", ";two\n"), r"x.csv:2: capacity: .* can't hold 'two'; give"),
    "an open quote": (SLOTS + '5;"1;2\n', r"x.csv:\d: no CSV: unexpected end of data"),
    "nothing": ("", r"x.csv is empty; its first line names the columns"),
}


@pytest.mark.parametrize(("text", "message"), WRONG.values(), ids=[*WRONG])
def test_a_wrong_table_says_where(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text(text, encoding="utf-8")
    zone = "" if message.startswith(r"x.csv:2: starts_at") else "Europe/Berlin"
    with pytest.raises(UsageError, match=message):
        report_of_rows(path, "marketplace", "slots", zone)


EVENTS = """\ufeffBEGIN:VCALENDAR
VERSION:2.0
PRODID:x
BEGIN:VEVENT
UID:a
SUMMARY:A long
  title
DTSTART;TZID=Europe/Berlin:20260305T140000
DTEND;TZID=Europe/Berlin:20260305T150000
RRULE:FREQ=WEEKLY
END:VEVENT
BEGIN:VEVENT
UID:a
DTSTART:20260305T130000Z
END:VEVENT
BEGIN:VEVENT
UID:b
DTSTART:20260306T140000
DURATION:PT30M
END:VEVENT
END:VCALENDAR
"""


def test_events_become_rows(tmp_path: Path) -> None:
    """Folded lines, an event that is there twice, and one whose time names no zone."""
    pytest.importorskip("icalendar", reason="needs simharness[icalendar]")
    path = tmp_path / "x.ics"
    path.write_text(EVENTS.replace("\n", "\r\n"), encoding="utf-8", newline="")
    text = report_of_rows(path, "marketplace", "slots", "Europe/Berlin")
    assert "# Of an event that is repeated (RRULE, RDATE) the first stands here" in text
    case = read(path, text)
    first, second = case.rows["slots"]
    assert first["ends_at"] - first["starts_at"] == 3_600_000_000
    assert second["ends_at"] - second["starts_at"] == 1_800_000_000
    assert second["starts_at"] - first["starts_at"] == 86_400_000_000
    with pytest.raises(UsageError, match="2026-03-06 14:00:00 has no zone"):
        report_of_rows(path, "marketplace", "slots")
    path.write_text("no calendar", encoding="utf-8")
    with pytest.raises(UsageError, match=r"x\.ics (is no iCalendar|holds no events)"):
        report_of_rows(path, "marketplace", "slots")


BERLIN = "DTSTART;TZID=Europe/Berlin:20260305T140000\nDTEND;TZID=Europe/Berlin:20260305T150000"
EVENT = f"BEGIN:VCALENDAR\nBEGIN:VEVENT\nUID:a\n{BERLIN}\nEND:VEVENT\nEND:VCALENDAR\n"


def test_lines_of_a_calendar_may_end_in_a_carriage_return_alone(tmp_path: Path) -> None:
    pytest.importorskip("icalendar", reason="needs simharness[icalendar]")
    path = tmp_path / "x.ics"
    path.write_text(EVENT.replace("\n", "\r"), encoding="utf-8", newline="")
    (row,) = read(path, report_of_rows(path, "marketplace", "slots")).rows["slots"]
    assert row["ends_at"] - row["starts_at"] == 3_600_000_000


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("Europe/Berlin", "Mars/Phobos", "DTSTART is of the zone 'Mars/Phobos', which isn't known"),
        ("150000", "130000", "event 1 .*: it ends before it begins"),
    ],
)
def test_an_event_of_no_such_time_is_refused(
    old: str, new: str, message: str, tmp_path: Path
) -> None:
    pytest.importorskip("icalendar", reason="needs simharness[icalendar]")
    path = tmp_path / "x.ics"
    path.write_text(EVENT.replace(old, new), encoding="utf-8")
    with pytest.raises(UsageError, match=message):
        report_of_rows(path, "marketplace", "slots", "Europe/Berlin")


def test_a_call_may_stand_without_a_function_around_it(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    own = {"id": "1", "name": "get_deal", "arguments": {"deal_id": 7}, "requestor": "assistant"}
    messages = [{"role": "assistant", "content": None, "tool_calls": [own]}]
    path.write_text(json.dumps({"task_id": "1", "messages": messages}), encoding="utf-8")
    (act,) = read(path, report_of_chat(path, "crm")).acts
    assert (act.call, act.args) == ("get_deal", {"deal_id": 7})


@pytest.mark.parametrize("body", ["$1", "$5.99 off", "$", "$$", "$look.deals.0", "5 $"])
def test_a_text_that_reads_like_a_reference_is_sent_as_it_was(body: str, tmp_path: Path) -> None:
    note = call("add_note", json.dumps({"deal_id": 7, "body": body}))
    raw = call("add_note", f"{body}7")
    path = tmp_path / "chat.json"
    path.write_text(json.dumps([{"role": "assistant", "tool_calls": [note, raw]}]), "utf-8")
    played = check_case(read(path, report_of_chat(path, "crm"))).played
    first, second = (call.arguments for step in played.episode.steps for call in step.input.calls)
    assert (json.loads(first)["body"], second) == (body, f"{body}7")


def test_a_chat_without_calls_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "chat.json"
    path.write_text(json.dumps([{"role": "assistant", "content": "Hello."}]), encoding="utf-8")
    with pytest.raises(UsageError, match="no call of a tool in conversation 1 of"):
        report_of_chat(path, "crm")


@pytest.mark.parametrize(
    ("name", "text", "options"),
    [
        ("x.csv", "id,title\n0,Lamp\n", ["--rows", "x.csv", "--table", "accounts"]),
        (
            "x.jsonl",
            json.dumps({"messages": [{"role": "assistant", "tool_calls": [call("\ud800", "{}")]}]}),
            ["--chat", "x.jsonl"],
        ),
    ],
)
def test_what_cannot_be_read_again_is_not_written_over_a_file(
    name: str, text: str, options: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path(name).write_text(text, encoding="utf-8")
    Path("out.toml").write_text("before", encoding="utf-8")
    command = [*options, "--product", "crm", "-o", "out.toml", "--force"]
    told = CliRunner().invoke(new, command)
    assert isinstance(told.exception, UsageError)
    assert Path("out.toml").read_text(encoding="utf-8") == "before"
