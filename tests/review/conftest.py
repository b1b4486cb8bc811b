from __future__ import annotations

import gzip
import importlib.util
import json
from base64 import b64decode
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from simharness.cli.demo import play
from simharness.product.registry import load_product
from simharness.review.build import Built, build
from simharness.review.page import page

if TYPE_CHECKING:
    from collections.abc import Generator

    from playwright.sync_api import Browser, BrowserContext, Locator, Page

PRODUCTS = ("crm", "helpdesk", "ide", "marketplace")


@dataclass(slots=True)
class Reader:
    """A person in front of a browser that is offline, with what went wrong in it."""

    context: BrowserContext
    folder: Path
    complaints: list[str] = field(default_factory=list[str])

    def open(self, text: str, address: str = "") -> Page:
        """Open a page from disk and wait until it is there."""
        file = self.folder / "page.html"
        file.write_text(text, encoding="utf-8")
        page = self.watched()
        page.goto(f"{file.as_uri()}#{address}")
        page.wait_for_selector("#app[data-ready]")
        return page

    def watched(self) -> Page:
        page = self.context.new_page()
        complain = self.complaints.append
        page.on("pageerror", lambda error: complain(f"error: {error}"))
        page.on("console", lambda told: complain(f"console: {told.type} {told.text}"))
        page.on("dialog", lambda dialog: complain(f"dialog: {dialog.message}"))
        page.on("request", lambda request: self.note(request.url))
        return page

    def note(self, url: str) -> None:
        own = (self.folder / "page.html").as_uri()
        if not url.startswith((own, "blob:", "data:")):
            self.complaints.append(f"request: {url}")


@pytest.fixture
def reader(browser: Browser, tmp_path: Path) -> Generator[Reader]:
    context = browser.new_context(offline=True, viewport={"width": 1280, "height": 900})
    context.set_default_timeout(60_000)  # the machine may have much else to do
    found = Reader(context, tmp_path)
    yield found
    context.close()
    assert found.complaints == []


@pytest.fixture(scope="session")
def recordings(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a recording of each faulty showcase, `episode-N.simrec`."""
    folder = tmp_path_factory.mktemp("recordings")
    record_showcases(folder)
    return folder


def record_showcases(folder: Path) -> None:
    """Play each showcase in its faulty form."""
    for name in PRODUCTS:
        for showcase in load_product(name).showcases:
            play(showcase, showcase.faults, folder / f"episode-{showcase.number}.simrec")


@pytest.fixture(scope="session")
def built(recordings: Path) -> Built:
    return build(recordings)


@pytest.fixture(scope="session")
def html(built: Built) -> str:
    return page(built)


def decoded(blob: str) -> Any:
    """Read what `encoded` has written."""
    return json.loads(gzip.decompress(b64decode(blob)))


def settle(page: Page) -> None:
    """Wait until what was asked of the page is drawn."""
    page.evaluate("() => new Promise((r) => requestAnimationFrame(() => requestAnimationFrame(r)))")


def expect(locator: Locator) -> Any:
    """Wait until something holds of a place of the page."""
    from playwright.sync_api import expect as expected

    expected.set_options(timeout=60_000)  # the machine may have much else to do
    return expected(locator)


def axe(page: Page) -> list[dict[str, Any]]:
    """Give the violations of accessibility rules that axe calls serious or critical."""
    found = importlib.util.find_spec("axe_playwright_python")
    assert found is not None
    assert found.origin is not None
    page.evaluate(Path(found.origin).with_name("axe.min.js").read_text(encoding="utf-8"))
    told = page.evaluate("() => axe.run({resultTypes: ['violations']})")
    return [
        {"id": v["id"], "nodes": [n["html"][:200] for n in v["nodes"][:3]]}
        for v in told["violations"]
        if v["impact"] in ("serious", "critical")
    ]
