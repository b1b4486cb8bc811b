"""A real browser for tests of pages: Debian's Chromium by way of playwright."""

from __future__ import annotations

import importlib.util
import os
import shutil
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Generator

    from playwright.sync_api import Browser

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
SWITCH = "SIMHARNESS_BROWSER"
"""`required` fails where a browser is missing, `off` asks for none, else tests are skipped."""


def what_is_missing() -> str:
    if os.environ.get(SWITCH) == "off":
        return f"no browser is wanted ({SWITCH}=off)"
    if importlib.util.find_spec("playwright") is None:
        return "playwright is missing: pip install -e '.[dev]'"
    if path() is None:
        return "no Chromium on the path: apt-get install chromium"
    return ""


def path() -> str | None:
    return next((found for name in BROWSERS if (found := shutil.which(name))), None)


@contextmanager
def started() -> Generator[Browser]:
    """A browser without a window; a process can have one at a time."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(
            executable_path=path(), args=["--no-sandbox", "--disable-gpu"]
        )
        yield chromium
        chromium.close()
