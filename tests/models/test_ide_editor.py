"""The editor's tools, what a start puts into the tables, and what is shared with others."""

from __future__ import annotations

from typing import Any

import pytest

from simharness.api import Refused, UsageError
from simharness.models.ide.initial import Entry, Start
from tests.models.ide_house import FILES, SHOP, START, TESTS, House


def paths(told: Any) -> list[str]:
    return [file["path"] for file in told["files"]]


def test_a_start_puts_files_history_and_ticket_into_the_tables() -> None:
    house = House()
    ide = house.ide
    assert paths(house.call("list_files")) == sorted({**FILES, **TESTS})
    assert house.call("read_ticket")["title"] == "Shipping is wrong"
    log = [c.message for c in ide.history.log([house.branch()])]
    assert log == ["Prepare the task", "Count money", "Begin"]
    assert {p: f.text for p, f in ide.clone.tree.items()} == {**FILES, **TESTS}
    assert ide.clone.resolve("v1") == ide.clone.resolve("HEAD~1")
    assert list(ide.exam.hidden.files) == ["tests/test_hidden.py"]
    assert not any("hidden" in row.path for row in ide.files.table)
    assert house.findings() == []


def test_the_same_start_has_the_same_revs() -> None:
    assert House().branch() == House(seed=2).branch()


def leaky(leak: str) -> tuple[House, list[str]]:
    start = Start(
        files={"a.py": "pass\n"},
        history=(
            Entry(message="Write it", files={"a.py": "answer\n"}, leak="past"),
            Entry(message="Strip it", files={"a.py": "pass\n"}),
            Entry(message="Fix it", files={"a.py": "answer 2\n"}, leak="future"),
        ),
    )
    house = House({"history.leak": leak}, start=start)
    return house, [c.message for c in house.ide.clone.graph.commits.values()]


@pytest.mark.parametrize(
    ("leak", "known"),
    [
        ("none", ["Strip it"]),
        ("past", ["Strip it", "Write it"]),
        ("future", ["Fix it", "Strip it"]),
    ],
)
def test_what_must_not_be_known_is_in_the_clone_only_if_the_knob_says_so(
    leak: str, known: list[str]
) -> None:
    house, messages = leaky(leak)
    assert sorted(messages) == sorted(known)
    assert house.text("a.py") == "pass\n"
    assert house.ide.clone.resolve("HEAD") == house.branch()
    assert (house.ide.clone.resolve("upstream/main") is not None) == (leak == "future")
    if leak != "future":
        assert len(house.ide.commits.table.rows) == len(known)


def test_a_start_that_cannot_be_is_refused() -> None:
    gone = Entry(message="Remove", files={"a.py": None})
    with pytest.raises(UsageError, match=r"removes 'a\.py', which isn't there"):
        House(start=Start(history=(gone,)))
    twice = Entry(message="x", at=1, files={"a": "1"}), Entry(message="x", at=1, branch="b")
    House(start=Start(history=twice))


def test_a_file_is_read_whole_or_in_lines() -> None:
    house = House()
    whole = house.call("open_file", path="src/shop.py")
    assert (whole["content"], whole["lines"], whole["version"]) == (SHOP, 7, 1)
    some = house.call("open_file", path="/repo/./src/shop.py", start_line=2, end_line=99)
    assert some["content"] == "".join(SHOP.splitlines(keepends=True)[1:])
    assert (some["start_line"], some["end_line"]) == (2, 7)
    for lines in ({"start_line": 8}, {"start_line": 3, "end_line": 2}):
        assert house.refused("open_file", path="src/shop.py", **lines).code == "invalid_arguments"


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("nothing.py", "not_found"),
        ("src", "invalid_arguments"),
        ("../etc/passwd", "invalid_arguments"),
        ("/etc/passwd", "invalid_arguments"),
        ("src/../../x", "invalid_arguments"),
        (".git/config", "invalid_arguments"),
        ("a\0b", "invalid_arguments"),
        ("x" * 300, "invalid_arguments"),
        ("", "invalid_arguments"),
    ],
)
def test_paths_that_are_no_file_of_the_repository_are_refused(path: str, code: str) -> None:
    house = House()
    assert house.refused("open_file", path=path).code == code
    assert house.refused("delete_file", path=path).code == code
    assert house.refused("edit_file", path=path, old_text="a", new_text="b").code == code


def test_an_edit_replaces_what_stands_there_just_once() -> None:
    house = House()
    house.call("edit_file", path="src/shop.py", old_text='"south": 7', new_text='"south": 6')
    assert '"south": 6' in str(house.text("src/shop.py"))
    assert house.call("open_file", path="src/shop.py")["version"] == 2
    missing = house.refused("edit_file", path="src/shop.py", old_text="west", new_text="x")
    assert missing.details["found"] == 0
    often = house.refused("edit_file", path="src/shop.py", old_text="return", new_text="x")
    assert often.details["found"] == 2
    same = house.refused("edit_file", path="src/shop.py", old_text="sum", new_text="sum")
    assert same.code == "invalid_arguments"
    assert house.findings() == []


def test_files_are_written_and_removed() -> None:
    house = House()
    house.call("write_file", path="src/new/a.py", content="a = 1\n")
    house.call("write_file", path="src/new/a.py", content="a = 2\n")
    assert house.text("src/new/a.py") == "a = 2\n"
    assert house.refused("write_file", path="src/new", content="x").code == "conflict"
    assert house.refused("write_file", path="README.md/x", content="x").code == "conflict"
    house.call("delete_file", path="src/new/a.py")
    assert house.text("src/new/a.py") is None
    assert not house.ide.tree.is_folder("src/new")


def test_files_are_listed_by_folder() -> None:
    house = House()
    assert paths(house.call("list_files", path="src/")) == ["src/money.py", "src/shop.py"]
    assert paths(house.call("list_files", path="README.md")) == ["README.md"]
    assert house.refused("list_files", path="nowhere").code == "not_found"


def test_a_search_finds_lines_by_pattern() -> None:
    house = House()
    told = house.call("search_text", pattern=r"^def (total|cents)\(")
    assert [(m["path"], m["line"]) for m in told["matches"]] == [
        ("src/money.py", 1),
        ("src/shop.py", 1),
    ]
    assert house.call("search_text", pattern="def", path="tests")["total"] == 1
    assert house.refused("search_text", pattern="(").code == "invalid_arguments"
    house.call("write_file", path="many", content="x\n" * 300)
    many = house.call("search_text", pattern="x", path="many")
    assert (len(many["matches"]), many["total"]) == (200, 300)


def test_a_commit_takes_all_changes_and_a_push_tells_the_server() -> None:
    house = House()
    base = house.branch()
    house.call("write_file", path="src/new.py", content="n = 1\n")
    house.call("delete_file", path="src/money.py")
    made = house.call("commit", message="Change things")
    assert [(f["path"], f["change"]) for f in made["files"]] == [
        ("src/money.py", "D"),
        ("src/new.py", "A"),
    ]
    assert house.branch() == base
    assert house.call("push") == {"branch": "main", "rev": made["rev"]}
    assert house.branch() == made["rev"]
    assert house.ide.history[made["rev"]].parents == (base,)
    assert house.refused("push").code == "conflict"
    assert house.refused("commit", message="again").code == "conflict"
    assert house.refused("commit", message=" ").code == "invalid_arguments"
    assert house.refused("push", branch="nowhere").code == "not_found"
    assert house.findings() == []


def test_a_push_that_would_lose_a_colleagues_commit_is_refused() -> None:
    house = House()
    files = {"src/money.py": None, "NEWS": "new\n"}
    theirs = house.call("repo.push", branch="main", files=files, message="Drop money")
    house.call("write_file", path="a", content="a\n")
    house.call("commit", message="Mine")
    told = house.refused("push")
    assert (told.code, told.details["rev"]) == ("conflict", theirs["rev"])
    assert house.branch() == theirs["rev"]
    assert house.ide.history[theirs["rev"]].tree.get("src/money.py") is None
    assert theirs["rev"] not in house.ide.clone.graph
    assert house.findings() == []


@pytest.mark.parametrize(
    "arguments",
    [
        {"branch": "a..b", "files": {"x": "1"}},
        {"branch": "main", "files": {}},
        {"branch": "main", "files": {"x": None}},
        {"branch": "main", "files": {"x": 1}},
        {"branch": "main", "files": {"README.md": FILES["README.md"]}},
    ],
)
def test_a_colleagues_push_that_is_none_is_refused(arguments: dict[str, Any]) -> None:
    assert House().refused("repo.push", message="m", **arguments).code == "invalid_arguments"


def test_a_colleagues_new_branch_begins_at_main() -> None:
    house = House()
    made = house.call("repo.push", branch="feature/x", files={"x": "1\n"}, message="Try")
    assert house.branch("feature/x") == made["rev"]
    assert house.ide.history[made["rev"]].parents == (house.branch(),)


def test_main_that_loses_a_commit_breaks_an_invariant() -> None:
    house = House()
    base = house.branch()
    house.call("repo.push", branch="main", files={"x": "1\n"}, message="One")
    row = next(row.id for row in house.ide.branches.table if row.title == "main")
    house.call("db.begin", tx="t")
    house.call("db.update", tx="t", table="branches", id=row, fields={"rev": base})
    house.call("db.commit", tx="t")
    assert [f.code for f in house.findings()] == ["H220"]


def test_a_branch_of_no_commit_breaks_an_invariant() -> None:
    house = House()
    house.call("db.begin", tx="t")
    house.call("db.insert", tx="t", table="branches", fields={"title": "x", "rev": "0" * 40})
    house.call("db.commit", tx="t")
    assert "nobody has committed" in house.ide.invariants()[0]


def test_a_submission_holds_the_whole_working_tree() -> None:
    house = House()
    house.call("write_file", path="a", content="a\n")
    assert house.call("submit", message="Done") == {"submission": 1, "files": 5}
    row = house.ide.submissions.table.rows[1]
    assert ("a", "100644", "a\n") in row.files
    assert row.rev == house.branch()
    assert isinstance(house.refused("submit", message=""), Refused)


def test_writes_that_others_make_to_the_table_show_in_the_tree() -> None:
    house = House()
    assert house.ide.tree.file("README.md") is not None
    key = house.ide.files.table.taken_by("path", "README.md")
    house.call("db.begin", tx="t")
    house.call("db.update", tx="t", table="files", id=key, fields={"path": "READ", "content": "r"})
    house.call("db.commit", tx="t")
    assert house.ide.tree.file("README.md") is None
    assert house.call("commit", message="Rename")["files"][0]["path"] == "READ"


def test_two_edits_at_one_time_both_count() -> None:
    house = House({"db.latency": "50ms"})
    one = house.start("edit_file", path="README.md", old_text="# Shop", new_text="# Store")
    two = house.start("edit_file", path="README.md", old_text="small", new_text="large")
    assert all(not isinstance(told, Refused) for told in house.ended(one, two))
    assert house.text("README.md") == "# Store\n\nA large shop.\n"
    assert START.files["README.md"] == FILES["README.md"]
    assert house.findings() == []
