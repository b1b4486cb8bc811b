"""The page has the table of the rules, and our own products keep them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from simharness.kernel.forbidden import FINE, NAMES, PACKAGES, RULES, code_of
from simharness.lint.check import lint, lint_source
from simharness.lint.files import own_models

ROOT = Path(__file__).resolve().parents[2]


def test_the_table_is_that_of_the_code() -> None:
    text = (ROOT / "docs" / "lint.md").read_text(encoding="utf-8")
    table = text[text.index("<!-- rules -->") :].split("\n\n")[1].splitlines()
    assert [tuple(cell.strip() for cell in line.split("|")[1:-1]) for line in table[2:]] == [
        (rule.code, rule.slug, rule.what, rule.why, rule.use) for rule in RULES.values()
    ]


def test_rules_have_their_form() -> None:
    assert list(RULES) == [f"SH{n:03}" for n in range(1, len(RULES) + 1)]
    assert len({rule.slug for rule in RULES.values()}) == len(RULES)
    for rule in RULES.values():
        assert re.fullmatch(r"[a-z]+(-[a-z]+)*", rule.slug)
        assert re.fullmatch(r"[A-Z][^|\n]*\.", rule.why)
        for text in (rule.what, rule.use):
            assert re.fullmatch(r"[^|\n]*[^|\n.]", text)


def test_every_forbidden_name_has_a_rule() -> None:
    assert {*PACKAGES.values(), *NAMES.values()} <= set(RULES)
    for name, code in {**PACKAGES, **NAMES}.items():
        assert code_of(name) == code_of(f"{name}.below") == code
    assert [code_of(name) for name in sorted(FINE)] == [None] * len(FINE)
    assert code_of("os.path.join") is None
    assert code_of("timely") is None


def test_our_own_products_are_clean_and_allow_nothing() -> None:
    report = lint([own_models()])
    assert [str(finding) for finding in report.findings] == []
    assert report.allowed == 0
    assert report.files >= len(list((ROOT / "models").rglob("*.py")))


@pytest.mark.parametrize("name", ["products.md", "design.md"])
def test_the_products_that_the_pages_build_are_clean(name: str) -> None:
    page = (ROOT / "docs" / name).read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    source = "\n".join(blocks)
    assert "sh.Product" in source
    assert lint_source(source, name) == ([], 0)
