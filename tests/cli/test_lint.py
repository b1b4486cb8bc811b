"""`simharness lint`: what it prints, and its exit codes."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import pytest

from simharness.cli import call
from simharness.lint.files import own_models

if TYPE_CHECKING:
    from pathlib import Path

GUILTY = "import time\n\nx = time.time()\ny = {1}.pop()\n"


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "shop.py"
    path.write_text(GUILTY, encoding="utf-8")
    return path


def test_findings_are_told_a_line_each(shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call(["lint", str(shop)]) == 1
    first, second, last = capsys.readouterr().out.splitlines()
    assert first.startswith("shop.py:3:5: SH001 clock: `time.time` reads")
    assert "; use world.ticks" in first
    assert second.startswith("shop.py:4:5: SH013 set-order: ")
    assert last == "2 findings in 1 file"


def test_findings_as_json(shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call(["lint", str(shop), "--json"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert (told["files"], told["allowed"]) == (1, 0)
    assert [(f["path"], f["line"], f["code"]) for f in told["findings"]] == [
        ("shop.py", 3, "SH001"),
        ("shop.py", 4, "SH013"),
    ]
    assert set(told["findings"][0]) == {"path", "line", "column", "code", "slug", "what", "use"}


def test_our_own_products_are_checked_where_nothing_is_named(
    shop: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    # `tests/lint/test_page.py` checks them all.
    crm = own_models() / "crm" / "scenarios"
    monkeypatch.setattr("simharness.cli.lint.own_models", lambda: crm)
    assert call(["lint"]) == 0
    assert capsys.readouterr().out.startswith(f"no findings in {len(list(crm.glob('*.py')))} files")


def test_a_folder_stands_for_its_files_but_not_for_hidden_ones(
    shop: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in (".venv", "__pycache__", "part"):
        (shop.parent / name).mkdir()
        (shop.parent / name / "a.py").write_text("x = 0.5\n", encoding="utf-8")
    assert call(["lint", ".", "part", "shop.py"]) == 1
    out = capsys.readouterr().out
    assert out.endswith("3 findings in 2 files\n")
    assert "part/a.py:1:5: SH014" in out


@pytest.mark.parametrize(
    ("name", "data", "reason"),
    [
        ("gone.py", None, "no file or folder 'gone.py'"),
        ("shop.py:Shop", None, "did you mean 'shop.py'?"),
        ("", None, "path '' is empty\n  give Python files or folders; . is this folder"),
        ("empty", b"", "no Python files in 'empty'"),
        ("a.pyc", b"\x00\x01", "a.pyc is a binary file"),
        ("a.py", b"x = '\xff'\n", "a.py can't be decoded: it is not UTF-8 and declares no"),
        ("d.py", b"\n\nx = '\xff'\n", "d.py can't be decoded: byte 7 is not utf-8"),
        ("b.py", b"# coding: nonsense\n", "b.py can't be decoded: unknown encoding"),
        ("c.py", b"def f(:\n", "c.py:1: no Python: "),
        ("sum.py", b"x = " + b"+".join([b"1"] * 5_000), "sum.py is nested too deeply"),
        ("minus.py", b"-" * 20_000 + b"1", "minus.py is nested too deeply"),
    ],
)
def test_what_cant_be_checked_is_told(
    shop: Path, capsys: pytest.CaptureFixture[str], name: str, data: bytes | None, reason: str
) -> None:
    path = shop.parent / name
    if name == "empty":
        path.mkdir()
    elif data is not None:
        path.write_bytes(data)
    assert call(["lint", name]) == 2
    told = capsys.readouterr().err
    assert reason in told
    assert "Traceback" not in told


def test_what_is_no_regular_file_is_not_waited_for(
    shop: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    os.mkfifo(shop.parent / "pipe.py")
    for name in (os.devnull, "pipe.py"):
        assert call(["lint", name]) == 2
        assert f"{name!r} is no regular file\n  give Python files" in capsys.readouterr().err


def test_other_encodings_are_read(shop: Path) -> None:
    shop.write_bytes("# coding: latin-1\nx = 'é'\n".encode("latin-1"))
    assert call(["lint", str(shop)]) == 0
    shop.write_bytes(b"\xef\xbb\xbfx = 1\r\n")
    assert call(["lint", str(shop)]) == 0
