"""The terminal says and does what bash and the GNU tools do."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.models.ide_house import House
from tests.models.ide_real import check_all, needs

FILES = {
    "README.md": "# Shop\n\nA small shop.\nIt sells things.\n",
    "a b.txt": "one two\nthree\n",
    "data/nums.txt": "10 x\n9 y\n-3 z\n1.5 w\n\n10 a\n",
    "data/words.txt": "pear\nApple\napple\nfig\nfig\nfig\nBanana\n",
    "data/empty.txt": "",
    "data/end.txt": "no newline",
    "src/shop.py": (
        "def total(prices):\n    return sum(prices)\n\n\ndef shipping(weight, region):\n"
        '    rates = {"north": 5}\n    return rates[region] * weight\n'
    ),
    "src/deep/money.py": "def cents(units):\n\treturn units * 100\n# def old(x): pass\n",
    ".hidden": "secret\n",
    "x.py": "x = 1\n",
}

LINES: dict[str, list[str]] = {
    group: table["lines"]
    for group, table in tomllib.loads(
        Path(__file__).with_name("ide_lines.toml").read_text(encoding="utf-8")
    ).items()
}


@pytest.mark.parametrize("group", LINES)
def test_lines_come_to_what_the_real_tools_make_of_them(group: str, tmp_path: Path) -> None:
    needs("bash", "ls", "grep", "sort", "diff", "find", "wc", "head", "uniq", "xargs", "cp")
    check_all(tmp_path, FILES, LINES[group])


WORDS = ("def", "total", "a", "apple", "Apple", "x1", "10", "9", "-3", "b b", "fig", "", "y.py")


def text_of(lines: list[str], end: str) -> str:
    return "\n".join(lines) + end


CONTENTS = st.builds(
    text_of,
    st.lists(st.lists(st.sampled_from(WORDS), max_size=4).map(" ".join), min_size=1, max_size=8),
    st.sampled_from(("\n", "\n", "\n", "")),
)
PATHS = ("a.py", "b.txt", "src/a.py", "src/b.txt", "src/in/c.py", "data/d.txt", "data/e f.txt")
TREES = st.dictionaries(st.sampled_from(PATHS), CONTENTS, min_size=2, max_size=5)
PATTERNS = ("a", "def", "^a", "[0-9]", "a*p", "'b b'", "'^$'", "x.", "'\\(a\\|f\\)i'", "'a\\?p'")
FORMS = (
    "grep {grep} {pattern} {file} {file}",
    "grep -E {grep} '(a|d)(p|e)+|9$' {file}",
    "grep -r {grep} {pattern} . | sort",
    "sort {sort} {file}",
    "sort {sort} {file} | uniq {uniq}",
    "uniq {uniq} {file}",
    "head -n {n} {file} {file}",
    "tail -n {n} {file}; tail -n +{n} {file}",
    "wc {wc} {file} {file}",
    "diff -U {n} {file} {file}; diff {file} {file}",
    "diff -ru src data",
    "find . {find} | sort",
    "ls {ls} . src",
    "cat -n {file} | head -n {n}; echo *.{ext} */*.{ext} */*/*",
    "mkdir -p new/in; cp {file} new/in; mv {file} new; rm -f {file}; ls -R",
    "mv src new; cp -r new data; rm -r new/in; find . -type f | sort",
)
FLAGS = {
    "grep": ("", "-n", "-i", "-v", "-c", "-l", "-L", "-o", "-w", "-x", "-in", "-vn", "-h", "-m2",
             "-A1", "-nB1", "-iw", "-on"),
    "sort": ("", "-r", "-n", "-u", "-rn", "-k2", "-k2n", "-f", "-nu", "-k1,1 -s", "-b -k2,3r"),
    "uniq": ("", "-c", "-d", "-u", "-i", "-cd"),
    "wc": ("", "-l", "-w", "-c", "-lc", "-L"),
    "find": ("-type f", "-type d", "-name '*.py'", "-maxdepth 2", "! -name '*.txt'", "-empty"),
    "ls": ("", "-a", "-R", "-r", "-F", "-S", "-d", "-AR"),
    "pattern": PATTERNS,
    "n": ("0", "1", "2", "5"),
    "ext": ("py", "txt", "none"),
    "file": (*(path.replace(" ", "\\ ") for path in PATHS), "nowhere", "src"),
}  # fmt: skip


@st.composite
def scripts(draw: st.DrawFn) -> str:
    """Make a line of several commands out of the forms."""
    out: list[str] = []
    for form in draw(st.lists(st.sampled_from(FORMS), min_size=4, max_size=8)):
        parts = form.split("{")
        line = parts[0]
        for part in parts[1:]:
            name, _, rest = part.partition("}")
            line += draw(st.sampled_from(FLAGS[name])) + rest
        out.append(line + "; echo $?")
    return "\n".join(out)


@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(TREES, scripts())
def test_any_lines_on_any_tree_come_to_what_the_real_tools_make_of_them(
    tmp_path_factory: pytest.TempPathFactory, files: dict[str, str], line: str
) -> None:
    needs("bash", "ls", "grep", "sort", "diff", "find", "wc", "head", "uniq", "cp")
    check_all(tmp_path_factory.mktemp("lines"), files, [line])


@pytest.mark.parametrize(
    "line",
    [
        "x=abcdefgh; " + "x=$x$x; " * 60 + "echo $x",
        "x=abcdefgh; " + "x=$x$x; " * 18 + 'echo "' + "$x" * 5_000 + '"',
        "x=abcdefgh; " + "x=$x$x; " * 18 + "echo" + " $x" * 5_000,
        "x=abcdefgh; " + "x=$x$x; " * 17 + "".join(f"y{n}=$x; " for n in range(1_000)),
        "x=abcdefgh; " + "x=$x$x; " * 17 + "".join(f"export y{n}=$x; " for n in range(900)),
        "x='a '; " + "x=$x$x; " * 20 + "echo $x",
        'x="$(cat README.md)"; ' + 'x="$x$x"; ' * 60 + 'y="$x" true',
    ],
)
def test_no_words_of_a_line_fill_the_machine(line: str) -> None:
    told = House().call("run_command", command=line)
    assert (told["exit_code"], told["stdout"]) == (1, "")
