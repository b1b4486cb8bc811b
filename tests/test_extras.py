"""What is missing is installed from where simharness came from."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from simharness import extras
from simharness.extras import to_install

if TYPE_CHECKING:
    import pytest

ROOT = Path(__file__).resolve().parent.parent


class Installed:
    def __init__(self, url: str | None) -> None:
        self.url = url

    def __call__(self, name: str) -> Installed:
        return self

    def read_text(self, name: str) -> str | None:
        assert name == "direct_url.json"
        return None if self.url is None else json.dumps({"url": self.url, "dir_info": {}})


def test_a_checkout_is_named_and_stays_one(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(ROOT)
    assert to_install("simharness[ide]") == "pip install -e '.[ide]'"
    monkeypatch.chdir(tmp_path)
    assert to_install("simharness[ide]") == f"pip install -e '{ROOT}[ide]'"
    assert to_install("other[ide]") == "pip install 'other[ide]'"


def test_the_folder_that_it_was_installed_from_is_named_while_it_is_there(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(extras, "__file__", str(tmp_path / "site-packages/simharness/extras.py"))
    source = tmp_path / "a b"
    source.mkdir()
    (source / "setup.cfg").write_text("")
    monkeypatch.setattr(extras, "distribution", Installed(source.as_uri()))
    assert to_install("simharness[ide]") == f"pip install '{source}[ide]'"
    shutil.rmtree(source)
    assert to_install("simharness[ide]") == "pip install 'simharness[ide]'"
    for url in (None, "https://example.org/simharness.whl"):
        monkeypatch.setattr(extras, "distribution", Installed(url))
        assert to_install("simharness[ide]") == "pip install 'simharness[ide]'"
