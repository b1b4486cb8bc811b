"""The taxonomy is complete and well formed, and documents and command line show it as it is."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
import tomllib
import zipfile
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from simharness.blame.verdict import Class
from simharness.cli import call
from simharness.errors import UnknownName
from simharness.findings.taxonomy import (
    GROUPS,
    TAXONOMY_VERSION,
    Code,
    Kind,
    Quarantine,
    always_quarantines,
    code,
    document,
    is_harness,
    is_model,
    load,
    matching,
)

ROOT = Path(__file__).resolve().parent.parent.parent
DATA = ROOT / "simharness" / "findings" / "taxonomy.toml"
USERS = ("findings", "blame")

FORM = re.compile(r"[HMAX]\d{3}")
SLUG = re.compile(r"[a-z]+(-[a-z]+)*")
# No full stop inside, so that nothing can hold two sentences or an abbreviation.
SENTENCE = re.compile(r"[A-Z][^.!?\n]*[^.!?\s]\.")

KINDS = {"H": Kind.HARNESS, "M": Kind.MODEL, "A": Kind.AMBIGUOUS, "X": Kind.EXTERNAL}
ZERO_TOLERANCE = {"H210", "H211", "H212", "H512", "H513", "H519", "H910", "H911", "H912"}
ADVISORY = {"A120", "H710", "M512"}

codes = pytest.mark.parametrize("c", load().values(), ids=lambda c: c.code)


def entries() -> list[dict[str, Any]]:
    """Give the tables of the file, as they stand there."""
    found: list[dict[str, Any]] = tomllib.loads(DATA.read_text(encoding="utf-8"))["codes"]
    return found


def codes_used(source: str) -> set[str]:
    """Give the string literals of a source that have the form of a code."""
    return {
        node.value
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and FORM.fullmatch(node.value)
    }


@pytest.mark.parametrize("field", ["code", "slug", "explanation", "detector", "remedy"])
def test_no_two_codes_share_a_text(field: str) -> None:
    counts = Counter(entry[field] for entry in entries())
    assert [text for text, count in counts.items() if count > 1] == []


def test_the_file_is_of_this_version_and_has_every_code_that_is_loaded() -> None:
    assert tomllib.loads(DATA.read_text(encoding="utf-8"))["version"] == TAXONOMY_VERSION
    records = [{k: v for k, v in c.record().items() if v != ""} for c in load().values()]
    assert [{k: v for k, v in entry.items() if v != ""} for entry in entries()] == records


def test_codes_stand_in_order_within_their_class() -> None:
    order = [("HMAX".index(name[0]), name) for name in load()]
    assert order == sorted(order)


@codes
def test_a_code_has_its_form_and_the_class_of_its_letter(c: Code) -> None:
    assert FORM.fullmatch(c.code)
    assert SLUG.fullmatch(c.slug)
    assert c.kind is KINDS[c.code[0]]
    assert c.code[:2] in GROUPS


@codes
def test_every_text_is_one_sentence(c: Code) -> None:
    for text in (c.explanation, c.detector, c.remedy, *([c.undetected] if c.undetected else [])):
        assert SENTENCE.fullmatch(text), text


@codes
def test_a_parent_is_a_general_code_of_the_same_class(c: Code) -> None:
    if c.parent:
        assert code(c.parent).kind is c.kind
        assert code(c.parent).parent == ""
        assert c.parent != c.code


@codes
def test_quarantine_follows_from_class_and_group(c: Code) -> None:
    if c.kind is Kind.EXTERNAL or c.code[:2] in ("H2", "H9"):
        expected = Quarantine.ALWAYS
    elif c.kind is Kind.HARNESS and not c.advisory:
        expected = Quarantine.BY_EFFECT
    else:
        expected = Quarantine.NEVER
    assert c.quarantines is expected
    assert always_quarantines(c.code) is (expected is Quarantine.ALWAYS)


def test_only_the_named_codes_fail_a_gate_at_once_or_decide_nothing() -> None:
    assert {c.code for c in load().values() if c.zero_tolerance} == ZERO_TOLERANCE
    assert {c.code for c in load().values() if c.advisory} == ADVISORY


def test_every_group_has_a_code() -> None:
    assert {name[:2] for name in load()} == set(GROUPS)


def test_classes_are_those_of_verdicts() -> None:
    assert {str(kind) for kind in Kind} == {str(kind) for kind in Class} - {str(Class.OK)}


def used_in(*layers: str) -> set[str]:
    """Give the codes that the code of some layers names."""
    return {
        name
        for layer in layers
        for path in (ROOT / "simharness" / layer).rglob("*.py")
        for name in codes_used(path.read_text(encoding="utf-8"))
    }


def test_every_code_that_is_given_is_in_the_taxonomy() -> None:
    used = used_in(*USERS)
    assert {"H112", "A190"} <= used
    assert sorted(used - set(load())) == []


def test_a_code_has_a_detector_or_says_why_it_has_none() -> None:
    used = used_in(*USERS, "validate")
    assert {c.code for c in load().values() if not c.undetected} == used


def test_a_code_in_a_source_would_be_found() -> None:
    assert codes_used('"""Of H1 and H999."""\nf(code="M999" if x else "H998")') == {"H998", "M999"}


def test_a_code_is_looked_up_by_name() -> None:
    assert code("H112").slug == "cache-invalidation-lost"
    assert is_harness("H112")
    assert not is_model("H112")
    assert is_model("M310")
    assert not is_harness("A110")
    assert not is_model("X810")


@pytest.mark.parametrize("look_up", [code, is_harness, is_model, always_quarantines])
def test_an_unknown_code_names_the_near_ones(look_up: Any) -> None:
    with pytest.raises(UnknownName, match=r"^no code named 'H119'; did you mean 'H"):
        look_up("H119")


def test_a_prefix_selects_codes_in_order() -> None:
    assert [c.code for c in matching("H91")] == ["H910", "H911", "H912"]
    assert matching("h91") == matching("H91")
    assert matching("") == tuple(load().values())
    assert matching("Z") == ()


def test_the_document_is_the_generated_one() -> None:
    page = (ROOT / "docs" / "taxonomy.md").read_text(encoding="utf-8")
    assert page == document(), "python -m simharness.findings.taxonomy > docs/taxonomy.md"


def python(*arguments: str, folder: Path) -> str:
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        capture_output=True,
        check=True,
        stdin=subprocess.DEVNULL,
    )
    return done.stdout.decode("utf-8").replace("\r\n", "\n")


def test_the_module_prints_the_document() -> None:
    assert python("-m", "simharness.findings.taxonomy", folder=ROOT) == document()


def test_the_data_are_found_in_a_zip_file(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "packed.zip", "w") as packed:
        for name in ("__init__.py", "errors.py", "findings/__init__.py", "findings/taxonomy.py"):
            packed.write(ROOT / "simharness" / name, f"simharness/{name}")
        packed.write(DATA, "simharness/findings/taxonomy.toml")
    script = (
        "import sys; sys.path.insert(0, 'packed.zip')\n"
        "from simharness.findings import taxonomy\n"
        "print('packed.zip' in taxonomy.__file__, len(taxonomy.load()))"
    )
    assert python("-c", script, folder=tmp_path).split() == ["True", str(len(load()))]


def listed(*arguments: str, capsys: pytest.CaptureFixture[str]) -> str:
    assert call(["list", "codes", *arguments]) == 0
    return capsys.readouterr().out


def test_list_codes_shows_all_codes(capsys: pytest.CaptureFixture[str]) -> None:
    head, *rows = listed(capsys=capsys).splitlines()
    assert head.split() == ["code", "slug", "class", "explanation"]
    assert [tuple(row.split(maxsplit=3)) for row in rows] == [
        (c.code, c.slug, str(c.kind), c.explanation) for c in load().values()
    ]


def test_list_codes_takes_a_prefix(capsys: pytest.CaptureFixture[str]) -> None:
    rows = listed("h91", capsys=capsys).splitlines()[1:]
    assert [row.split()[0] for row in rows] == ["H910", "H911", "H912"]


def test_list_codes_gives_every_field_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert json.loads(listed("H2", "--json", capsys=capsys)) == [c.record() for c in matching("H2")]


def test_list_codes_refuses_a_prefix_of_none(capsys: pytest.CaptureFixture[str]) -> None:
    assert call(["list", "codes", "H119"]) == 2
    assert "no code named 'H119'" in capsys.readouterr().err
