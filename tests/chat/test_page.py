from __future__ import annotations

from typing import TYPE_CHECKING, Any

from simharness.chat.options import OURS, THEIRS, Options
from tests.chat.provider import Scripted, serving
from tests.pages import ROOT, block_after, text_of

if TYPE_CHECKING:
    import pytest

PAGE = ROOT / "docs" / "language-models.md"


def test_the_example_prints_what_it_says(capsys: pytest.CaptureFixture[str]) -> None:
    code = block_after(PAGE, "example")
    said = [line.rpartition("  # ")[2] for line in code.splitlines() if line.startswith("print(")]
    with serving(Scripted("crm/negotiation", [7])) as scripted:
        names: dict[str, Any] = {"URL": scripted.url}
        exec(compile(code, PAGE.name, "exec"), names)
    assert capsys.readouterr().out.splitlines() == said


def test_the_page_has_every_option_and_its_default() -> None:
    text = text_of(PAGE)
    for name in THEIRS:
        assert f"`{name}`" in text
    default = Options(model="m")
    told = {"stream": "no", "timeout": "2min", "retries": "5", "limit": "30min"}
    assert sorted(told) == sorted(OURS)
    for name, value in told.items():
        assert f"| `{name}` | `{value}` |" in text
        assert getattr(default, name) == OURS[name](name, value)
