"""A report that is wrong is refused with its file, its line, its key and what would be right."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from simharness.cli import call
from simharness.errors import UsageError
from simharness.reports.load import load_report, read_report

SOUND = """\
report = 1
id = "sound"
title = "two accounts"
product = "crm"
seed = 1
epoch = "2026-03-02T09:00:00Z"

[actors]
agent = { user_id = 2 }

[config]
"accounts.list.cache.ttl" = "300s"

[goal]
rows = [{ table = "accounts", where = { id = 1 }, count = 0 }]

[rows]
users = [{ id = 2, full_name = "Ada", role = "admin" }]
accounts = [
  { id = 1, title = "A" },
  { id = 2, title = "B" },
]
deals = [{ id = 5, account_id = 1, title = "D", close_on = "2026-03-05T00:00:00Z" }]

[[actions]]
label = "list"
at = "0s"
actor = "agent"
call = "list_accounts"
returns = { ids = [1, 2] }

[[actions]]
label = "delete"
at = "1s"
actor = "agent"
call = "delete_account"
args = { account_id = "$list.ids.0" }
latency = { db = "1s" }

[[expect]]
code = "H112"
action = "delete"

[verdict]
class = "ok"
reward = 1.0

[[control]]
title = "not cached"
config = { "accounts.list.cache.ttl" = "0s" }
"""
NAME = Path("bad.toml")

BROKEN = {
    "bad TOML": ('seed = 1', 'seed = ', r"bad.toml:5: no TOML: Invalid value"),
    "a key twice": ('seed = 1', 'id = "x"', r"bad.toml:5: no TOML: Cannot overwrite a value"),
    "an unclosed text": ('"two accounts"', '"two accounts', r"bad.toml:3: no TOML: "),
    "no format": ("report = 1\n", "", r"bad.toml:1: the file: no key 'report'; begin"),
    "a later format": ("report = 1", "report = 2", r"bad.toml:1: report: got 2; this version read"),
    "no product": ('product = "crm"\n', "", r"bad.toml:1: the file: no key 'product'"),
    "an unknown product": (
        '"crm"', '"crn"', r"bad.toml:4: product: no product named 'crn'; did you mean 'crm'\?",
    ),
    "an unknown key": (
        "seed = 1", "sed = 1", r"bad.toml:5: sed: no key named 'sed'; did you mean 'seed'",
    ),
    "a negative seed": ("seed = 1", "seed = -1", r"bad.toml:5: seed: got -1, expected a whole num"),
    "a seed that is too large": (
        "seed = 1", f"seed = {2**64}", r"bad.toml:5: seed: got 18446744073709551616, .* to 1",
    ),
    "a time beyond any episode": (
        'at = "1s"', 'at = "9000d"',
        r"bad.toml:34: actions\[2\].at: got '9000d', which is too long; a report lasts 3660d",
    ),
    "a latency beyond any episode": (
        'db = "1s"', 'db = "9000d"', r"bad.toml:38: actions\[2\].latency.db: got '9000d', which is",
    ),
    "an end beyond any episode": (
        "seed = 1", 'until = "9000d"', r"bad.toml:5: until: got '9000d', which is too long",
    ),
    "an epoch without a zone": (
        "09:00:00Z", "09:00:00", r"bad.toml:6: epoch: instant '2026-03-02T09:00:00' has no zone; e",
    ),
    "an unknown identity": (
        "user_id", "customer_id", r"bad.toml:9: actors.agent.customer_id: no key named 'customer_i",
    ),
    "an actor who isn't there": (
        "user_id = 2", "user_id = 3", r"bad.toml:9: actors.agent.user_id: no row users:3; add user",
    ),
    "an unknown knob": (
        "list.cache.ttl\" = \"300s", "list.cache.tll\" = \"300s",
        r'bad.toml:12: config."accounts.list.cache.tll": no knob named .*mean .accounts.list.cache',
    ),
    "a knob's wrong value": (
        '"300s"', '300', r'bad.toml:12: config."accounts.list.cache.ttl": .*got 300; give a durati',
    ),
    "an unknown table in the goal": (
        'table = "accounts"', 'table = "account"',
        r"bad.toml:15: goal.rows\[1\].table: no table named 'account'; did you mean 'accounts'",
    ),
    "an unknown column in the goal": (
        "where = { id = 1 }", "where = { di = 1 }", r"bad.toml:15: goal.rows\[1\].where.di: no col",
    ),
    "an unknown table": (
        "users = [", "user = [", r"bad.toml:18: rows.user: no table named 'user'; did you mean 'us",
    ),
    "an unknown column": (
        'title = "B"', 'titel = "B"',
        r"bad.toml:21: rows.accounts\[2\].titel: no column named 'titel'; did you mean 'title'",
    ),
    "a column that is missing": (
        ', title = "B"', "", r"bad.toml:21: rows.accounts\[2\]: the row has no 'title'; give a tex",
    ),
    "a value of another type": (
        'title = "B"', 'title = 7',
        r"bad.toml:21: rows.accounts\[2\].title: column title can't hold 7; give a text",
    ),
    "a value that isn't among the choices": (
        'role = "admin"', 'role = "boss"',
        r"bad.toml:18: rows.users\[1\].role: .*can't hold 'boss'; give one of rep, manager, admin",
    ),
    "an id twice": (
        "id = 2, title", "id = 1, title", r"bad.toml:21: rows.accounts\[2\].id: 1 is the id of an ",
    ),
    "a row that another one names and isn't there": (
        "account_id = 1,", "account_id = 9,",
        r"bad.toml:23: rows.deals\[1\].account_id: there is no row accounts:9; add that row to acc",
    ),
    "an unreadable instant": (
        "2026-03-05T00:00:00Z", "next week",
        r"bad.toml:23: rows.deals\[1\].close_on: unreadable instant 'next week'",
    ),
    "a negative time": ('"1s"\nactor', '"-1s"\nactor', r"bad.toml:34: actions\[2\].at: negative d"),
    "an unreadable time": (
        '"1s"\nactor', '"soon"\nactor', r"bad.toml:34: actions\[2\].at: unreadable duration 'soon'",
    ),
    "a time that is a number": (
        'at = "1s"\nactor', 'at = 1\nactor', r"bad.toml:34: actions\[2\].at: got 1, expected a dur",
    ),
    "no time": (
        'at = "1s"\nactor', 'actor', r"bad.toml:32: actions\[2\]: the action has neither 'at' nor ",
    ),
    "an unknown tool": (
        '"delete_account"', '"delete_acount"',
        r"bad.toml:36: actions\[2\].call: no tool named 'delete_acount'; did you mean 'delete_acco",
    ),
    "an operation of the agent's": (
        '"list_accounts"', '"node.crash"', r"bad.toml:29: actions\[1\].call: node.crash is no tool",
    ),
    "an unknown argument": (
        "{ account_id =", "{ accont_id =",
        r"bad.toml:37: actions\[2\].args.accont_id: no argument of delete_account named 'accont_id",
    ),
    "an argument of another type": (
        '"$list.ids.0"', '"one"',
        r"bad.toml:37: actions\[2\].args.account_id: argument 'account_id' must be an integer, got",
    ),
    "an argument that is missing": (
        '{ account_id = "$list.ids.0" }', "{}",
        r"bad.toml:37: actions\[2\].args: argument 'account_id' of delete_account is missing",
    ),
    "a reference to nothing": (
        "$list.ids", "$lists.ids",
        r"bad.toml:37: actions\[2\].args: no action named 'lists'; did you mean 'list'",
    ),
    "an unknown wait": (
        "{ db =", "{ bd =", r"bad.toml:38: actions\[2\].latency.bd: no key named 'bd'; did you mea",
    ),
    "a label twice": (
        'label = "delete"', 'label = "list"', r"bad.toml:32: actions\[2\]: a second action 'list';",
    ),
    "an unknown code": (
        '"H112"', '"H119"', r"bad.toml:41: expect\[1\].code\[1\]: no code named 'H119'; did you me",
    ),
    "an unknown action": (
        'action = "delete"', 'action = "delet"',
        r"bad.toml:42: expect\[1\].action: no action named 'delet'; did you mean 'delete'",
    ),
    "an unknown class": (
        'class = "ok"', 'class = "fine"', r"bad.toml:45: verdict.class: no value named 'fine'; kno",
    ),
    "an unreadable reward": ("reward = 1.0", 'reward = "all"', r"bad.toml:46: verdict.reward: got"),
    "an unknown key of a control": (
        'title = "not cached"', 'titel = "not cached"', r"bad.toml:49: control\[1\].titel: no key ",
    ),
    "a control that drops nothing": (
        'title = "not cached"', 'drop = ["lst"]',
        r"bad.toml:49: control\[1\].drop\[1\]: no action named 'lst'; did you mean 'list'",
    ),
    "a table that is a list": ("[verdict]", "[[verdict]]", r"bad.toml:44: verdict: got .*, expect"),
    "a flag that is a text": (
        "seed = 1", 'strict = "yes"', r"bad.toml:5: strict: got 'yes', expected true or false",
    ),
    "an action that comes too late": (
        "seed = 1", 'until = "500ms"', r"bad.toml:34: actions\[2\].at: the action comes after `unt",
    ),
    "evidence that no finding has": (
        'code = "H112"', 'code = "H112"\nevidence = { veiw = "accounts.list" }',
        r"bad.toml:42: expect\[1\].evidence.veiw: no key named 'veiw'; did you mean 'view'",
    ),
    "nothing to stay as it is": (
        "[goal]", '[goal]\nkeep = [{ table = "accounts", where = { id = 9 } }]',
        r"bad.toml:15: goal.keep\[1\]: no row of accounts in \[rows\] is such",
    ),
    "the goal of a scenario that there isn't": (
        "[goal]", '[goal]\nscenario = "negotiate"',
        r"bad.toml:15: goal.scenario: no scenario of crm named 'negotiate'; did you mean 'neg",
    ),
    "the goal of a scenario without what it drew": (
        "[goal]", '[goal]\nscenario = "negotiation"',
        r"bad.toml:\d+: goal.instance: no value for ",
    ),
    "no reward": ("reward = 1.0", "reward = nan", r"bad.toml:46: verdict.reward: got"),
    "an action that waits for itself": (
        'at = "1s"\nactor', 'after = "delete"\nactor', r"bad.toml:34: actions\[2\].after: no actio",
    ),
    "a text without quotes": (
        'actor = "agent"\ncall = "list', 'actor = agent\ncall = "list',
        r"bad.toml:28: no TOML: Invalid value; texts stand in quotes",
    ),
    "quotes of a word processor": (
        '"two accounts"', "\u201ctwo accounts\u201d", r"bad.toml:3: no TOML: .*not with the quotes",
    ),
    "a colon for an equals sign": ("seed = 1", "seed: 1", r"bad.toml:5: no TOML: Expected '=' aft"),
    "a heading twice": ("[verdict]", "[rows]\n[verdict]", r"bad.toml:44: .*twice; write a heading"),
    "actions as one table": (
        '[[actions]]\nlabel = "list"', '[actions]\nlabel = "list"',
        r"bad.toml:32: .*; write a heading once; that of a list is \[\[actions\]\]",
    ),
    "a control as one table": (
        "[[control]]", "[control]", r"bad.toml:48: control: .*expected a list; write \[\[control\]",
    ),
    "the format as a text": ("report = 1", 'report = "1"', r"bad.toml:1: report: got '1'; this ve"),
    "a fault that there isn't": (
        "seed = 1", 'faults = ["crm.invalidation"]',
        r"bad.toml:5: faults\[1\]: no fault named .*mean 'crm.invalidation-lost'",
    ),
    "faults as a text": (
        "seed = 1", 'faults = "crm.no-fence"', r"bad.toml:5: faults: .*expected a list; write \[ ",
    ),
    "a day for an instant": (
        '"2026-03-02T09:00:00Z"', "2026-03-02", r"bad.toml:6: epoch: unreadable .*; write it as '2",
    ),
    "a day that there isn't": (
        "2026-03-05T00", "2026-02-30T00", r"bad.toml:23: .*no such date: 2026-02-30; that month ha",
    ),
    "a wait below zero": (
        '{ db = "1s" }', '{ db = "-1s" }', r"bad.toml:38: actions\[2\].latency.db: negative durat",
    ),
    "one wait for all": (
        '{ db = "1s" }', '"1s"', r"bad.toml:38: actions\[2\].latency: .*expected a table; write {",
    ),
    "half a crash": (
        'latency = { db = "1s" }', 'crash = "after"',
        r"bad.toml:38: actions\[2\].crash: no value named 'after'; did you mean 'after_commit'",
    ),
    "an answer and an error": (
        "returns = {", 'error = "not_found"\nreturns = {',
        r"bad.toml:25: actions\[1\]: the action has both 'returns' and 'error'; give one",
    ),
    "a misspelt check": (
        "returns = {", "return = {", r"bad.toml:30: actions\[1\].return: .*mean 'returns'",
    ),
    "two times": (
        'at = "1s"\nactor', 'at = "1s"\nafter = "list"\nactor',
        r"bad.toml:32: actions\[2\]: the action has both 'at' and 'after'; give one",
    ),
    "a wait after that is none": (
        'at = "1s"\nactor', 'after = "list+soon"\nactor', r"bad.toml:34: .*unreadable duration 'so",
    ),
    "nobody": (
        'at = "1s"\nactor = "agent"', 'at = "1s"', r"bad.toml:32: .*has no 'actor'; add: actor = ",
    ),
    "no call": ('call = "list_accounts"\n', "", r"bad.toml:25: .*has no 'call'; add: call = "),
    "somebody else who finishes": (
        '"agent"\ncall = "list_accounts"', '"bob"\ncall = "finish"',
        r"bad.toml:29: actions\[1\].call: only the agent can finish; write actor = \"agent\"",
    ),
    "somebody else's call that comes unchecked": (
        'actor = "agent"\ncall = "list', 'unchecked = true\nactor = "bob"\ncall = "list',
        r"bad.toml:28: actions\[1\].unchecked: only the agent's .*; leave it out",
    ),
    "arguments as a text": (
        '{ account_id = "$list.ids.0" }', '"account_id=1"',
        r"bad.toml:37: actions\[2\].args: .*expected a table; write {",
    ),
    "an answer that is yet to come": (
        'call = "list_accounts"\nreturns = { ids = [1, 2] }',
        'call = "get_account"\nargs = { account_id = "$delete.id" }',
        r"bad.toml:30: .*\$delete is sent later than this action; write after = \"delete\"",
    ),
    "an action by a number too high": (
        'action = "delete"', "action = 7", r"bad.toml:42: expect\[1\].action: no action named '7';",
    ),
    "a finding without a code": ('code = "H112"\n', "", r"bad.toml:40: .*no key 'code'; add: code"),
    "a code in small letters": (
        '"H112"', '"h112"', r"bad.toml:41: .*no code named 'h112'; did you mean .*'H112'",
    ),
    "no codes": ('"H112"', "[]", r"bad.toml:41: expect\[1\].code: an empty list of codes; name on"),
    "the beginning of a code that decides": (
        'class = "ok"', 'primary = "H11"', r"bad.toml:45: verdict.primary: no code named 'H11'; di",
    ),
    "a code that can't decide so": (
        'class = "ok"', 'class = "model"\nprimary = "H112"',
        r"bad.toml:46: verdict.primary: H112 decides no verdict of class model; correct one",
    ),
    "what is expected and forbidden": (
        "seed = 1", 'forbid = ["H1"]',
        r"bad.toml:41: expect\[1\].code: H112 is expected and forbidden; see line 5",
    ),
    "fewer than none": (
        "count = 0", "count = -1", r"bad.toml:15: goal.rows\[1\].count: got -1, expected .*; write",
    ),
    "two ways to pay": (
        "[goal]", '[reward]\nmode = "goal"\nrows = []\n[goal]',
        r"bad.toml:14: reward: a reward has a mode or rows; write { mode",
    ),
    "a knob in the contract": (
        "[goal]", '[contract]\n"accounts.list.cache.ttl" = "1s"\n[goal]',
        r"bad.toml:15: contract.*a contract has no such key; .*others go to \[config\]",
    ),
    "a control that is the report": (
        '{ "accounts.list.cache.ttl" = "0s" }', '{ "accounts.list.cache.ttl" = "300s" }',
        r"bad.toml:48: control\[1\]: the control changes nothing; change config",
    ),
    "an actor who does nothing": (
        "agent = { user_id", "agnet = { user_id",
        r"bad.toml:9: actors.agnet: no actor named 'agnet'; did you mean 'agent'",
    ),
    "a row by itself": (
        'users = [{ id = 2, full_name = "Ada", role = "admin" }]', "users = { id = 2 }",
        r"bad.toml:18: rows.users: .*expected a list; write \[\[rows.users\]\] above each",
    ),
    "an id that is a text": (
        'id = 2, title', 'id = "2", title', r"bad.toml:21: .*column id can't hold '2'; give a whol",
    ),
    "a key below a heading that isn't its own": (
        "[verdict]", 'until = "1h"\n[verdict]', r"bad.toml:44: expect\[1\].until: no key named 'un",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("old", "new", "message"), BROKEN.values(), ids=[*BROKEN])
def test_a_wrong_report_says_where_and_what_would_be_right(
    old: str, new: str, message: str
) -> None:
    text = SOUND.replace(old, new, 1)
    assert text != SOUND
    with pytest.raises(UsageError) as caught:
        read_report(NAME, text.encode())
    told = caught.value
    assert re.match(message, f"{told.message}; {told.hint}"), (told.message, told.hint)
    assert told.hint


def test_each_of_them_is_told_and_the_request_refused(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    for number, (old, new, _) in enumerate(BROKEN.values()):
        (tmp_path / f"{number:03}.toml").write_text(SOUND.replace(old, new, 1), "utf-8")
    assert call(["report", "check", str(tmp_path)]) == 2
    told = capfd.readouterr().err
    named = re.findall(r"(\d{3})\.toml:\d+: .+\n  .+", told)
    assert named == [f"{number:03}" for number in range(len(BROKEN))]
    assert "Traceback" not in told


def test_the_report_that_they_come_from_is_sound() -> None:
    report = read_report(NAME, SOUND.encode())
    assert [act.label for act in report.case.acts] == ["list", "delete"]
    assert report.controls[0].config == {"accounts.list.cache.ttl": "0s"}


IDE = """\
report = 1
id = "x"
title = "x"
product = "ide"
network = ["https://x.example/"]

[files]
"shop.py" = ""
"%s" = ""
"""


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("/etc/passwd", r'bad.toml:9: files."/etc/passwd": path .* is none from the root'),
        ("a/../b.py", r"bad.toml:9: .* has an empty part, '.' or '..'; give paths from the root"),
        (".git/config", r"bad.toml:9: .*: the repository's own data"),
        ("shop.py/b.py", r"bad.toml:9: .*: it lies below 'shop.py', which is a file"),
        ("b.py", r"bad.toml:5: network\[1\]: 'https://x.example/' is no host"),
    ],
)
def test_a_path_that_no_file_can_have_and_a_host_that_is_none(path: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        read_report(NAME, (IDE % path).encode())


DEEP = "within = " + "[" * 3_000 + "]" * 3_000
CHAIN = f"{'.'.join(['a'] * 2_000)} = 1"


@pytest.mark.parametrize("text", [DEEP, CHAIN, f"seed = {'9' * 5_000}"])
def test_what_no_reader_could_hold_is_the_fault_of_the_file(text: str) -> None:
    with pytest.raises(UsageError, match=r"bad.toml: (tables and lists stand|no TOML: Exceeds)"):
        read_report(NAME, text.encode())


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"missing.toml can't be read: No such file"):
        load_report(tmp_path / "missing.toml")
    with pytest.raises(UsageError, match=r"bad.toml:2: not UTF-8: byte 0xff"):
        read_report(NAME, b'report = 1\nid = "\xff"')


def test_a_pipe_is_no_report(tmp_path: Path) -> None:
    """Nobody writes to it, so that reading it would wait for ever."""
    os.mkfifo(tmp_path / "x.toml")
    with pytest.raises(UsageError, match=r"x.toml is no regular file"):
        load_report(tmp_path / "x.toml")
