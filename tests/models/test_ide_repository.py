"""Commits have git's own names; differences and merges are those of GNU diff and git."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections import Counter
from random import Random
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simharness.models.ide.repository.graph import Graph
from simharness.models.ide.repository.indent import by_indent
from simharness.models.ide.repository.lines import gnu_hunks, hunks, merge_hunks, split_lines
from simharness.models.ide.repository.merging import merge_texts, merge_trees
from simharness.models.ide.repository.objects import EXECUTABLE, Commit, File, make_commit
from simharness.models.ide.repository.unified import normal, unified
from tests.effort import times

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

ADA = "Ada Min <ada@ide.example>"
LINES = (
    "def f(x):", "    return x", "", "    y = x + 1", "class A:", "    def g(self):", "", "a", "b",
    "        pass", "import os", "    if x:", "        return 1", "    else:", "c", "d", "e", "g",
)  # fmt: skip


def text_of(lines: list[str], end: str) -> str:
    return "\n".join(lines) + end * bool(lines)


TEXTS = st.builds(
    text_of,
    st.lists(st.sampled_from(LINES), max_size=14),
    st.sampled_from(("\n", "\n", "\n", "")),
)
GIT_ENV = {
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_SYSTEM": os.devnull,
    "LC_ALL": "C",
    "TZ": "UTC",
    "PATH": os.environ["PATH"],
}


def needs(tool: str) -> None:
    if shutil.which(tool) is None:
        pytest.skip(f"{tool} isn't installed here")


def run(folder: Path, *command: str, **env: str) -> str:
    done = subprocess.run(
        command, cwd=folder, env={**GIT_ENV, **env}, capture_output=True, check=False
    )
    return done.stdout.decode()


def commits() -> dict[str, Commit]:
    """Make a history with a merge in it, by name."""
    first = make_commit({"a": File("1\n")}, parents=(), author=ADA, message="one", at=10)
    left = make_commit({"a": File("2\n")}, parents=(first.rev,), author=ADA, message="l", at=20)
    right = make_commit({"a": File("3\n")}, parents=(first.rev,), author=ADA, message="r", at=30)
    both = make_commit(
        {"a": File("4\n")}, parents=(left.rev, right.rev), author=ADA, message="m", at=40
    )
    return {"first": first, "left": left, "right": right, "both": both}


FOLDERS: Mapping[str, File] = {
    "a.txt": File("a\n"),
    "a/b": File("b\n"),
    "a/c/d.py": File("ü\n", EXECUTABLE),
    "a0": File(""),
    "z": File("no newline"),
}


def test_a_commit_has_the_name_that_git_gives_it(tmp_path: Path) -> None:
    needs("git")
    for path, file in FOLDERS.items():
        place = tmp_path / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(file.text, encoding="utf-8")
        place.chmod(0o755 if file.mode == EXECUTABLE else 0o644)
    run(tmp_path, "git", "init", "-q")
    run(tmp_path, "git", "add", "-A")
    who = {
        f"GIT_{role}_{key}": value
        for role in ("AUTHOR", "COMMITTER")
        for key, value in (
            ("NAME", "Ada Min"),
            ("EMAIL", "ada@ide.example"),
            ("DATE", "1772442000 +0000"),
        )
    }
    run(tmp_path, "git", "commit", "-qm", "Say\n\nmore", **who)
    real = run(tmp_path, "git", "rev-parse", "HEAD").strip()
    made = make_commit(FOLDERS, parents=(), author=ADA, message=" Say\n\nmore\n", at=1_772_442_000)
    assert made.rev == real
    assert made.subject == "Say"


@settings(max_examples=25, deadline=None)
@given(TEXTS, TEXTS)
def test_differences_are_those_of_diff_and_git(
    tmp_path_factory: pytest.TempPathFactory, old: str, new: str
) -> None:
    needs("diff")
    needs("git")
    folder = tmp_path_factory.mktemp("diff")
    (folder / "a").write_text(old)
    (folder / "b").write_text(new)
    a, b = split_lines(old), split_lines(new)
    for context in (3, 1):
        told = run(folder, "diff", f"-U{context}", "a", "b").split("\n", 2)[-1]
        assert unified(a, b, gnu_hunks(a, b, context=context), context=context) == told
    assert normal(a, b, gnu_hunks(a, b, context=0)) == run(folder, "diff", "a", "b")
    lines = run(folder, "git", "diff", "--no-index", "a", "b").split("\n")
    body = [line for line in lines if line[:1] in ("+", "-") and line[:4] not in ("+++ ", "--- ")]
    ours = unified(a, b, hunks(a, b, by_indent)).split("\n")
    assert [line for line in ours if line[:1] in ("+", "-")] == body


LONG = ((700, 4000, 0.8), (600, 40, 0.5), (400, 6, 0.3), (900, 2, 0.9))
"""Lines, of how many kinds, and the share of them that the other side draws anew.

With many kinds git gives up looking for the shortest script; with few, frequent lines are left out.
"""


@pytest.mark.parametrize(("size", "kinds", "new"), LONG)
def test_differences_of_long_texts_are_those_of_diff_and_git(
    tmp_path: Path, size: int, kinds: int, new: float
) -> None:
    needs("diff")
    needs("git")
    draws = Random(size * kinds)  # noqa: S311
    a = [f"{int(kinds * draws.random() ** 2)}\n" for _ in range(size)]
    b = [line if draws.random() > new else draws.choice(a) for line in a if draws.random() > 0.05]
    b[size // 3 : size // 3] = a[size // 2 : size // 2 + size // 8]
    for name, lines in (("a", a), ("b", b)):
        (tmp_path / name).write_text("".join(lines))
    assert normal(a, b, gnu_hunks(a, b, context=0)) == run(tmp_path, "diff", "a", "b")
    told = run(tmp_path, "git", "diff", "--no-index", "a", "b").split("\n")[4:]
    ours = unified(a, b, hunks(a, b, by_indent)).split("\n")
    assert [s for s in ours if s[:1] in "+-"] == [s for s in told if s[:1] in "+-"]


@settings(max_examples=200, deadline=None)
@given(TEXTS, TEXTS)
def test_hunks_turn_the_old_text_into_the_new_one_and_no_line_more(old: str, new: str) -> None:
    a, b = split_lines(old), split_lines(new)
    assert "".join(a) == old
    often = max(map(max, (Counter(a).values() or [0], Counter(b).values() or [0])))
    for found in (hunks(a, b), hunks(a, b, by_indent), gnu_hunks(a, b, context=3)):
        place = 0
        out: list[str] = []
        for a0, a1, b0, b1 in found:
            assert a0 < a1 or b0 < b1
            out += a[place:a0] + b[b0:b1]
            place = a1
        assert out + a[place:] == b
        changes = sum(h.a1 - h.a0 + h.b1 - h.b0 for h in found)
        # Frequent lines may be passed over.
        assert changes == distance(a, b) if often < 4 else changes >= distance(a, b)


def distance(a: list[str], b: list[str]) -> int:
    """Count the fewest lines that go or come, the plain way."""
    row = list(range(len(b) + 1))
    for i, line in enumerate(a, 1):
        before, row[0] = row[0], i
        for j, other in enumerate(b, 1):
            step = before if line == other else min(row[j], row[j - 1]) + 1
            before, row[j] = row[j], step
    return row[-1]


DISTINCT = tuple(f"line {i}\n" for i in range(12))


@st.composite
def edited(draw: st.DrawFn) -> str:
    """Change some of twelve different lines."""
    out: list[str] = []
    for line in DISTINCT:
        what = draw(st.sampled_from(("keep", "keep", "keep", "keep", "drop", "change", "add")))
        if what != "drop":
            out.append(line if what != "change" else draw(st.sampled_from(("x\n", "y\n"))))
        if what == "add":
            out.append(draw(st.sampled_from(("new\n", "other\n"))))
    return "".join(out)


@settings(max_examples=25, deadline=None)
@given(edited(), edited())
def test_texts_are_merged_as_git_does(
    tmp_path_factory: pytest.TempPathFactory, ours: str, theirs: str
) -> None:
    needs("git")
    folder = tmp_path_factory.mktemp("merge")
    base = "".join(DISTINCT)
    for name, text in (("base", base), ("ours", ours), ("theirs", theirs)):
        (folder / name).write_text(text)
    names = ("-L", "HEAD", "-L", "base", "-L", "main")
    real = run(folder, "git", "merge-file", "-p", *names, "ours", "base", "theirs")
    merged = merge_texts(base, ours, theirs, our_name="HEAD", their_name="main")
    assert merged.text == real
    assert (merged.conflicts > 0) == ("<<<<<<< HEAD" in real)


FREQUENT = ("\n", "    return x\n", "def f():\n", "    pass\n", "}\n")
IDENTITY = {
    f"GIT_{who}_{what}": value
    for who in ("AUTHOR", "COMMITTER")
    for what, value in (("NAME", "a"), ("EMAIL", "a"), ("DATE", "@1 +0000"))
}


def three_texts(seed: int) -> tuple[str, str, str]:
    """Draw a text and what two sides make of it: of lines that come again and again."""
    draw = Random(seed)  # noqa: S311
    lines = [*FREQUENT, *(f"line {k}\n" for k in range(draw.choice((0, 3, 10, 30))))]

    def edited() -> list[str]:
        out = list(base)
        for _ in range(draw.randint(1, 4)):
            at, what = draw.randint(0, len(out)), draw.random()
            if what < 0.4:
                out[at:at] = [draw.choice(lines) for _ in range(draw.randint(1, 4))]
            elif what < 0.7:
                del out[at : at + draw.randint(1, 3)]
            elif what < 0.85:
                out[at : at + 1] = [draw.choice(lines)]
            else:
                start = draw.randint(0, len(out))
                out[at:at] = out[start : start + draw.randint(1, 5)]
        return out

    base = [draw.choice(lines) for _ in range(draw.choice((5, 15, 40, 120)))]
    return "".join(base), "".join(edited()), "".join(edited())


def merged_by_git(folder: Path, texts: tuple[str, str, str]) -> tuple[str, str, str]:
    """Merge commits of texts by the real git; gives the result and the names of both sides."""
    run(folder, "git", "init", "-q")
    revs: list[str] = []
    for text in texts:
        (folder / "f").write_text(text)
        run(folder, "git", "add", "f")
        tree = run(folder, "git", "write-tree").strip()
        parent = ("-p", revs[0]) if revs else ()
        made = run(folder, "git", "commit-tree", "-m", "x", *parent, tree, **IDENTITY)
        revs.append(made.strip())
    _, ours, theirs = revs
    tree = run(folder, "git", "merge-tree", "--write-tree", ours, theirs).partition("\n")[0]
    return run(folder, "git", "cat-file", "-p", f"{tree}:f"), ours, theirs


SHORTEST_DIFFERS = (34, 55, 67, 124, 136)
"""Seeds by which a merge of shortest scripts comes to something else."""


@pytest.mark.parametrize("seed", [*SHORTEST_DIFFERS, *range(1_000, 1_000 + times(4))])
def test_commits_are_merged_as_git_does(tmp_path: Path, seed: int) -> None:
    needs("git")
    if not run(tmp_path, "git", "merge-tree", "-h").startswith("usage: git merge-tree [--write"):
        pytest.skip("this git can't merge without a working tree")
    base, ours, theirs = three_texts(seed)
    real, our_name, their_name = merged_by_git(tmp_path, (base, ours, theirs))
    merged = merge_texts(base, ours, theirs, our_name=our_name, their_name=their_name)
    assert merged.text == real


def test_a_merge_differs_from_what_a_shortest_script_would_give() -> None:
    for seed in SHORTEST_DIFFERS:
        base, *sides = (split_lines(text) for text in three_texts(seed))
        assert any(merge_hunks(base, side) != hunks(base, side) for side in sides)


def test_a_merge_of_trees_names_what_clashes() -> None:
    base = {"a": File("1\n"), "b": File("1\n"), "c": File("1\n"), "d": File("1\n")}
    ours = {"a": File("2\n"), "b": File("2\n"), "c": File("1\n"), "e": File("o\n")}
    theirs = {"a": File("1\n"), "b": File("3\n"), "d": File("2\n"), "e": File("t\n")}
    merged = merge_trees(base, ours, theirs, our_name="HEAD", their_name="x")
    assert merged.files["a"] == File("2\n")
    assert "c" not in merged.files
    assert [(c.path, c.letters) for c in merged.clashes] == [("b", "UU"), ("d", "DU"), ("e", "AA")]
    assert merged.files["b"].text == "<<<<<<< HEAD\n2\n=======\n3\n>>>>>>> x\n"
    assert merged.files["d"] == File("2\n")


def test_history_is_told_from_the_newest_and_knows_who_comes_from_whom() -> None:
    made = commits()
    graph = Graph(made.values())
    both, left, right, first = (made[n].rev for n in ("both", "left", "right", "first"))
    assert [c.rev for c in graph.log([both])] == [both, right, left, first]
    assert [c.rev for c in graph.log([both], [right])] == [both, left]
    assert graph.merge_base(left, right) == first
    assert graph.merge_base(left, both) == left
    assert graph.is_ancestor(first, both)
    assert not graph.is_ancestor(left, right)
    assert graph.abbreviated(both[:6].upper()) == [both]
    assert graph.abbreviated("zzzz") == graph.abbreviated(both[:3]) == []
