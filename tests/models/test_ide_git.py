"""The terminal's git says and does what the real one does, to the rev."""

from __future__ import annotations

import atexit
import re
import shutil
import tempfile
import tomllib
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from simharness.models.ide.initial import Entry, Start
from simharness.models.ide.stores import AUTHOR
from tests.models.ide_house import EPOCH, House
from tests.models.ide_real import Said, lay_out, needs, real, tree_in, tree_of, typed

SHOP = """import os


def total(prices):
    return sum(prices)


def shipping(weight):
    return 5 * weight
"""
START = Start(
    files={"README.md": "# Shop\n\nSmall.\n", "src/shop.py": SHOP, "src/tax.py": "RATE = 19\n"},
    history=(
        Entry(message="Begin", files={"README.md": "# Shop\n"}),
        Entry(
            message="Sell things\n\nAt a price.",
            files={"src/shop.py": SHOP.replace("5 * weight", "4 * weight"), "old.txt": "old\n"},
            author="Kit Marsh <kit@ide.example>",
            tags=("v1",),
        ),
        Entry(message="Drop the old", files={"old.txt": None}),
    ),
)
LINES: dict[str, list[str]] = {
    group: table["lines"]
    for group, table in tomllib.loads(
        Path(__file__).with_name("ide_git_lines.toml").read_text(encoding="utf-8")
    ).items()
}
URL = "https://git.ide.example/repo"


def identity(author: str, at: int) -> dict[str, str]:
    """Give the variables by which git knows who commits, and when."""
    name, _, address = author.rpartition(" ")
    values = {"NAME": name, "EMAIL": address.strip("<>"), "DATE": f"{at} +0000"}
    roles = ("AUTHOR", "COMMITTER")
    return {f"GIT_{role}_{key}": value for role in roles for key, value in values.items()}


AGENT = {**identity(AUTHOR, EPOCH // 1_000_000), "TERM": "dumb"}


def clone_of(house: House, place: Path) -> Path:
    """Make a real clone of what the house starts with; gives its folder."""
    shutil.copytree(made(), place)
    folder = place / "clone"
    assert real(folder, "git rev-parse HEAD").stdout.strip() == house.branch()
    return folder


@cache
def made() -> Path:
    """Make the real clone that all lines get a copy of."""
    place = Path(tempfile.mkdtemp(prefix="simharness-git-"))
    atexit.register(shutil.rmtree, place, ignore_errors=True)
    make_clone(House(start=START), place)
    return place


def make_clone(house: House, place: Path) -> None:
    """Make a server and a clone in a folder."""
    folder = place / "clone"
    real(place, "git init -q --bare -b main repo.git; git init -q -b main clone")
    history = house.ide.history
    for commit in list(history.log([house.branch()]))[::-1]:
        for path in tree_of(folder):
            (folder / path).unlink()
        lay_out(folder, {path: file.text for path, file in commit.tree.items()})
        real(folder, "git add -A")
        (place / "message").write_text(commit.message)
        real(folder, "git commit -qF ../message", **identity(commit.author, commit.at))
    for row in house.ide.tags.table:
        real(folder, f"git tag {row.title} {row.rev}")
    settings = ("diff.renames", "status.renames", "merge.renames")
    named = "; ".join(f"git config {name} false" for name in settings)
    real(folder, f"git remote add origin ../repo.git; git push -qu origin main; {named}")


def compare(tmp_path: Path, line: str, *, push: dict[str, Any] | None = None) -> str:
    """Run a line in both; gives what differs, empty for nothing."""
    house = House({"terminal.max_output": 1_000_000}, start=START)
    folder = clone_of(house, tmp_path)
    if push is not None:
        made = house.call("repo.push", **push)
        commit = house.ide.history[made["rev"]]
        theirs = tmp_path / "theirs"
        real(
            tmp_path, f"git clone -q repo.git theirs; cd theirs; git checkout -qB {push['branch']}"
        )
        lay_out(theirs, {p: t for p, t in push["files"].items() if t is not None})
        env = identity(commit.author, commit.at)
        real(
            theirs,
            f"git add -A; git commit -qm '{push['message']}'; git push -q origin HEAD",
            **env,
        )
    expected = real(folder, line, **AGENT)
    swap = [("../repo.git", URL + ".git"), ("../repo", URL), (str(folder), "/repo")]
    out, err = expected.stdout, expected.stderr
    for one, other in swap:
        out, err = out.replace(one, other), err.replace(one, other)
    # A stash has no newline at the end of its message, which gives it another name.
    out = re.sub(r"\([0-9a-f]{40}\)", "(REV)", out)
    told = typed(house, line)
    told = replace(told, stdout=re.sub(r"\([0-9a-f]{40}\)", "(REV)", told.stdout))
    said = Said(expected.exit_code, out, err)
    if told != said:
        return f"{line}\n  real {said}\n  ours {told}"
    trees = tree_of(folder), tree_in(house)
    return "" if trees[0] == trees[1] else f"{line}\n  real {trees[0]}\n  ours {trees[1]}"


@pytest.mark.parametrize(
    ("group", "number"), [(group, n) for group, lines in LINES.items() for n in range(len(lines))]
)
def test_lines_come_to_what_the_real_git_makes_of_them(
    group: str, number: int, tmp_path: Path
) -> None:
    needs("git", "bash")
    wrong = compare(tmp_path / "x", LINES[group][number])
    assert not wrong, wrong


FILES = {"README.md": "# Shop\n\nTheirs.\n"}
OTHER = {"NEWS": "new\n"}
SHARED = (
    (
        {"branch": "main", "files": FILES},
        "git fetch; git status; git log --oneline HEAD..origin/main",
    ),
    ({"branch": "main", "files": FILES}, "git pull; git log --oneline -2; git pull; git fetch"),
    ({"branch": "main", "files": FILES}, "git fetch -q; git merge origin/main; git diff HEAD~1"),
    (
        {"branch": "main", "files": OTHER},
        "echo a > a; git add a; git commit -qm A; git push; git fetch; git status; git status -sb",
    ),
    (
        {"branch": "main", "files": OTHER},
        "echo a > a; git add a; git commit -qm A; git pull; git pull --rebase 2>/dev/null; "
        "git log --oneline; git push; git status -sb; git push",
    ),
    (
        {"branch": "main", "files": OTHER},
        "echo a > a; git add a; git commit -qm A; git pull -q --no-rebase --no-edit; git log "
        "--format=%s; git push -q; git status -sb",
    ),
    (
        {"branch": "main", "files": FILES},
        "echo mine >> README.md; git commit -qam Mine; git fetch; git merge origin/main; "
        "git status -s; cat README.md; git merge --abort; git rebase origin/main >/dev/null 2>&1; "
        "cat README.md; git rebase --abort; git status -sb",
    ),
    (
        {"branch": "main", "files": FILES},
        "echo dirty >> README.md; git pull; git stash -q; git pull -q; git stash pop; "
        "git status -s",
    ),
    ({"branch": "feature", "files": OTHER}, "git fetch; git branch -a; git checkout feature; ls"),
    (
        {"branch": "feature", "files": OTHER},
        "git checkout -qb mine; echo m > m; git add m; git commit -qm M; git push -u origin mine; "
        "git push origin nowhere; git push elsewhere; git push origin mine:other; git branch -r",
    ),
)


@pytest.mark.parametrize("number", range(len(SHARED)))
def test_what_colleagues_push_is_fetched_and_joined_as_by_the_real_git(
    number: int, tmp_path: Path
) -> None:
    needs("git", "bash")
    push, line = SHARED[number]
    told = compare(tmp_path / "x", line, push={**push, "message": "Theirs"})
    assert not told, told


def test_what_a_clone_does_not_know_it_cannot_show() -> None:
    house = House(start=START)
    rev = house.call("repo.push", branch="main", files=FILES, message="Secret")["rev"]
    told = typed(house, f"git show {rev}; git log --all --oneline | wc -l")
    assert told.stdout == "4\n"
    assert "Theirs" not in told.stdout + told.stderr
    assert typed(house, f"git fetch -q; git show {rev} | grep -c Theirs").stdout == "1\n"


@pytest.mark.parametrize(("leak", "seen"), [("none", 0), ("future", 1), ("past", 1)])
def test_history_shows_an_answer_only_where_it_leaks(leak: str, seen: int) -> None:
    start = Start(
        files={"a.py": "pass\n"},
        history=(
            Entry(message="Write it", files={"a.py": "answer\n"}, leak="past"),
            Entry(message="Strip it", files={"a.py": "pass\n"}),
            Entry(message="Fix it", files={"a.py": "answer\n"}, leak="future"),
        ),
    )
    house = House({"history.leak": leak}, start=start)
    line = "git log --all -p | grep -c '^+answer'; git log --all --oneline -Sanswer | wc -l"
    told = typed(house, line)
    assert told.stdout.split()[0] == str(seen)
    assert house.text("a.py") == "pass\n"
    assert typed(house, "git status -s").stdout == ""


def test_revs_in_tables_are_those_of_the_terminal() -> None:
    house = House(start=START)
    line = "echo a > a; git add a; git commit -qm A; git tag v2; git branch b; git checkout -q v1"
    typed(house, line)
    refs = {row.title: row.rev for row in house.ide.refs.table}
    made = next(row for row in house.ide.commits.table if row.message == "A")
    assert refs["refs/heads/b"] == refs["refs/heads/main"] == made.rev
    assert made.files == (("a", "100644", "a\n"),)
    assert refs["HEAD"] == next(r.rev for r in house.ide.tags.table if r.title == "v1")
    assert next(row.rev for row in house.ide.tags.table if row.title == "v2") == made.rev
    assert typed(house, "git rev-parse b").stdout.strip() == made.rev
    assert house.findings() == []


def test_the_tools_and_the_terminal_share_one_clone() -> None:
    house = House(start=START)
    house.call("write_file", path="n", content="n\n")
    made = house.call("commit", message="N")
    assert typed(house, "git log -1 --format=%H; git status -s").stdout == made["rev"] + "\n"
    typed(house, "echo m > m; git add m; git commit -qm M")
    assert house.call("push")["rev"] == house.branch()
    assert typed(house, "git status -sb").stdout == "## main...origin/main\n"
