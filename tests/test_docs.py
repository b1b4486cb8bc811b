"""What the documents say is so: examples run, tables agree with the code, links lead somewhere."""

from __future__ import annotations

import re
from importlib import import_module
from typing import TYPE_CHECKING, Any

import pytest

import simharness
from simharness import api, errors
from simharness.blame.statistics import LIMIT, Gate, Method, gate
from simharness.cli import COMMANDS
from simharness.episode.plan import KERNEL_SEMANTICS
from simharness.kernel.journal import COLUMNS, NAMES
from simharness.models.crm import Crm
from simharness.models.marketplace import Marketplace
from simharness.recording.format import FORMAT
from simharness.rollout.soak import soak
from tests.pages import FENCE, ROOT, block_after, text_of

if TYPE_CHECKING:
    from pathlib import Path

binom: Any = import_module("scipy.stats").binom

README = ROOT / "README.md"
DOCS = sorted((ROOT / "docs").glob("*.md"))
PAGES = [README, ROOT / "CHANGELOG.md", *DOCS]

README_LINES_MAX = 150

INLINE = re.compile(r"`([^`\n]+)`")
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
COMMAND = re.compile(r"(?<![\w/.-])simharness ([a-z][a-z-]*)")
MACHINE_PATH = re.compile(
    r"(?<![\w.:/~-])/(?:home|mnt|opt|root|srv|tmp|usr|var|work|Users)\b|[A-Z]:\\"
)

pages = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)


def prose(text: str) -> str:
    return FENCE.sub("", text)


def anchors(page: Path) -> set[str]:
    """Give the anchors of a page's headings, as GitHub makes them."""
    headings = HEADING.findall(prose(text_of(page)))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_the_readme_is_short() -> None:
    assert len(text_of(README).splitlines()) <= README_LINES_MAX


def test_every_page_says_something_under_a_heading() -> None:
    # A merge once left one empty.
    assert [page.name for page in PAGES if not re.match(r"# \S", text_of(page))] == []


@pytest.mark.parametrize("which", ["demo", "test"])
def test_the_readme_has_one_command_line_to_start_with(which: str) -> None:
    (line,) = block_after(README, f"{which} command").splitlines()
    assert line.startswith("python3 -m venv .venv && .venv/bin/pip install ")


def test_the_readmes_example_prints_what_it_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    code = block_after(README, "example")
    said = [line.rpartition("  # ")[2] for line in code.splitlines() if line.startswith("print(")]
    names: dict[str, Any] = {}
    exec(compile(code, "README.md", "exec"), names)
    assert capsys.readouterr().out.splitlines() == said


@pytest.fixture
def desk(tmp_path: Path) -> str:
    """Save the product that the design builds; give the name of its scenario."""
    path = tmp_path / "desk.py"
    path.write_text(block_after(ROOT / "docs" / "design.md", "small product"), encoding="utf-8")
    return f"{path}:Desk/pickup"


def test_the_small_product_pays_its_expert_and_nobody_else(desk: str) -> None:
    for seed in range(20):
        expert = simharness.run(desk, seed=seed).verdict
        assert (str(expert.kind), expert.score, expert.valid) == ("ok", 1_000_000, True)
        null = simharness.run(desk, seed=seed, policy="null").verdict
        assert (str(null.kind), null.score, null.valid) == ("model", 0, True)


def test_the_small_products_fault_is_proved_and_replays(desk: str, tmp_path: Path) -> None:
    path = tmp_path / "desk.simrec"
    for seed in range(20):
        outcome = simharness.run(desk, seed=seed, faults=["desk.never-invalidated"])
        assert outcome.verdict.headline == "harness, H112, proved (closed)"
        outcome.episode.save(path)
        assert simharness.replay(path).digest == outcome.episode.digest


@pytest.fixture
def repairs(tmp_path: Path) -> str:
    """Save the product that the guide builds, its blocks one after the other; name its scenario."""
    guide = text_of(ROOT / "docs" / "products.md")
    blocks = [block for language, block in FENCE.findall(guide) if language == "python"]
    path = tmp_path / "repairs.py"
    path.write_text("\n".join(blocks), encoding="utf-8")
    return f"{path}:Repairs/hand-out"


def test_the_guides_product_does_what_the_guide_says(repairs: str) -> None:
    for seed in range(10):
        expert = simharness.run(repairs, seed=seed).verdict
        assert (str(expert.kind), expert.score, expert.valid) == ("ok", 1_000_000, True)
        null = simharness.run(repairs, seed=seed, policy="null").verdict
        assert (str(null.kind), null.score, null.valid) == ("model", 0, True)
        faulty = simharness.run(repairs, seed=seed, faults=["repairs.never-invalidated"])
        assert faulty.verdict.headline == "harness, H112, proved (closed)"


def test_the_guides_product_stands_a_soak(repairs: str) -> None:
    report = soak(repairs, pings=300, users=20)
    assert (report.errors, report.pings, report.replayed) == ([], 300, True)


def test_the_guide_names_what_authors_import_and_nothing_else() -> None:
    guide = text_of(ROOT / "docs" / "products.md")
    assert set(re.findall(r"\bsh\.(\w+)", guide)) == set(api.__all__)


def test_the_table_of_detectors_names_the_codes_of_each_file() -> None:
    text = text_of(ROOT / "docs" / "design.md")
    table = re.findall(r"^\| `(\w+\.py)` \| ((?:[HMA]\d{3} ?)+) \|", text, re.MULTILINE)
    folder = ROOT / "simharness" / "findings"
    documented = {(name, code) for name, codes in table for code in codes.split()}
    for name, code in documented:
        assert f'"{code}"' in (folder / name).read_text(encoding="utf-8"), (name, code)
    found = {
        code
        for path in folder.glob("*.py")
        for code in re.findall(r'"([HMA]\d{3})"', text_of(path))
    }
    assert {code for _, code in documented} == found


def test_the_gates_tables_are_those_of_the_code() -> None:
    text = text_of(ROOT / "docs" / "gate.md")
    fewest, fixed = (
        [
            re.findall(r"\d+", line)
            for line in text[text.index(head) :].split("\n\n")[0].splitlines()[2:]
        ]
        for head in ("| failures | Wilson", "| episodes | passes up to")
    )
    assert len(fewest) > 3
    for failures, *counts in fewest:
        for count, method in zip(counts, Method, strict=True):
            answers = [gate(int(failures), int(count) - less, LIMIT, method) for less in (1, 0)]
            assert answers == [Gate.INCONCLUSIVE, Gate.PASS]
    assert len(fixed) > 3
    for episodes, passes, fails, *shares in fixed:
        n, most, least = int(episodes), int(passes), int(fails)
        around = [gate(k, n, LIMIT) for k in (most, most + 1, least - 1, least)]
        assert around == [Gate.PASS, Gate.INCONCLUSIVE, Gate.INCONCLUSIVE, Gate.FAIL]
        chances = [binom.cdf(most, n, p) for p in (0.01, 0.02, 0.03)]
        chances.append(1 - binom.cdf(least - 1, n, 0.1))
        assert [round(100 * chance) for chance in chances] == list(map(int, shares))


def test_the_gates_example_prints_what_it_says(capsys: pytest.CaptureFixture[str]) -> None:
    (code,) = (b for lang, b in FENCE.findall(text_of(ROOT / "docs" / "gate.md")) if lang)
    exec(compile(code, "gate.md", "exec"), {})
    assert capsys.readouterr().out == code.rpartition("  # ")[2]


def test_the_table_of_rows_is_that_of_the_journal() -> None:
    text = text_of(ROOT / "docs" / "recording.md")
    table = text[text.index("<!-- rows -->") :].split("\n\n")[1].splitlines()
    assert table[0] == "| kind | name | columns | what happened |"
    documented = [tuple(cell.strip() for cell in line.split("|")[1:-1]) for line in table[2:]]
    columns = {kind: " ".join(f"`{name}`" for name in names) for kind, names in COLUMNS.items()}
    assert [row[:3] for row in documented] == [
        (str(kind), NAMES[kind], columns[kind]) for kind in COLUMNS
    ]
    assert all(row[3] for row in documented)


def test_the_tree_of_errors_has_every_class_and_its_exit_code() -> None:
    text = text_of(ROOT / "docs" / "design.md")
    tree = next(block for _, block in FENCE.findall(text) if block.startswith("SimharnessError "))
    depths: list[str] = []
    documented: dict[str, str] = {}
    for line in tree.splitlines():
        indent, name = re.match(r"( *)(\w+)", line).groups()  # type: ignore[union-attr]
        depths[len(indent) // 2 :] = [name]
        documented[name] = depths[-2] if len(depths) > 1 else "Exception"
        if found := re.search(r" exit (\d)$", line):
            assert getattr(errors, name).exit_code == int(found[1])
    assert documented == {
        name: value.__mro__[1].__name__
        for name, value in vars(errors).items()
        if isinstance(value, type) and issubclass(value, errors.SimharnessError)
    }


def test_the_versions_are_those_of_the_code() -> None:
    text = text_of(ROOT / "docs" / "determinism.md")
    assert re.search(rf"^\| format \|.*\| {FORMAT} \|$", text, re.MULTILINE)
    assert re.search(rf"^\| kernel semantics \|.*\| {KERNEL_SEMANTICS} \|$", text, re.MULTILINE)
    raised = {p.name: p.semantics for p in (Crm, Marketplace) if p.semantics > 1}
    told = ", ".join(f"{name}: {number}" for name, number in raised.items())
    assert re.search(rf"^\| product semantics \|.*\| {told} \|$", text, re.MULTILINE)


def test_the_glossary_is_in_order_and_has_no_word_twice() -> None:
    text = text_of(ROOT / "docs" / "glossary.md")
    head, *words = re.findall(r"^\| ([^|]+) \| [^|]+ \|$", text, re.MULTILINE)
    assert head == "word"
    assert len(words) > 50
    assert words == sorted(set(words))


@pages
def test_every_relative_link_leads_somewhere(page: Path) -> None:
    for target in LINK.findall(prose(text_of(page))):
        if "://" in target:
            continue
        name, _, anchor = target.partition("#")
        path = (page.parent / name).resolve() if name else page
        assert path.exists(), target
        if anchor:
            assert anchor in anchors(path), target


@pages
def test_every_command_that_is_mentioned_exists(page: Path) -> None:
    text = text_of(page)
    code = [block for language, block in FENCE.findall(text) if language != "python"]
    code += INLINE.findall(prose(text))
    for snippet in code:
        for command in COMMAND.findall(snippet):
            assert command in COMMANDS, snippet


def test_every_command_is_in_the_readme() -> None:
    assert set(COMMAND.findall("\n".join(INLINE.findall(text_of(README))))) == set(COMMANDS)


def test_every_place_that_the_readme_names_is_there() -> None:
    text = text_of(README)
    tree = text[text.index("## Where things are") :]
    match = FENCE.search(tree)
    assert match is not None
    for line in match[2].splitlines():
        assert (ROOT / line.split()[0]).exists(), line


@pytest.mark.parametrize("text", ["see /tmp/x", "(/home/me)", "`/opt/python`", "C:\\\\temp"])
def test_a_place_on_some_machine_would_be_found(text: str) -> None:
    assert MACHINE_PATH.search(text)


@pages
def test_no_page_names_a_place_on_some_machine(page: Path) -> None:
    assert MACHINE_PATH.findall(text_of(page)) == []
