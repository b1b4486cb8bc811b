"""Takes the pictures of the documents: `python -m tests.review.pictures` writes docs/pictures."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from simharness.review.build import Built, build
from simharness.review.page import page as write_page
from tests.browser import started
from tests.review.conftest import record_showcases, settle

if TYPE_CHECKING:
    from playwright.sync_api import Browser

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "pictures"
SHOTS = {
    "episode-42.png": ("ep=42&s=3", "light"),
    "episode-87.png": ("ep=87&v=why", "light"),
    "episode-134.png": ("ep=134&s=4&v=call", "dark"),
    "episode-203.png": ("ep=203&v=grade", "dark"),
}
"""Where each picture is taken, and in which theme."""
WIDTH = 1280


def take(browser: Browser, built: Built, folder: Path) -> None:
    """Take all pictures of a page of the showcases."""
    file = folder / "page.html"
    text = write_page(Built({**built.overview, "run": "runs/demo"}, built.entries, built.blobs))
    file.write_text(text, encoding="utf-8")
    for name, (address, theme) in SHOTS.items():
        context = browser.new_context(
            offline=True,
            color_scheme="dark" if theme == "dark" else "light",
            viewport={"width": WIDTH, "height": 900},
        )
        page = context.new_page()
        page.goto(f"{file.as_uri()}#{address}")
        page.wait_for_selector("#app[data-ready]")
        settle(page)
        page.screenshot(path=folder / name, full_page=True)
        context.close()
    file.unlink()


def main() -> None:
    """Play the showcases and take their pictures."""
    FOLDER.mkdir(exist_ok=True)
    with TemporaryDirectory() as place, started() as browser:
        record_showcases(Path(place))
        take(browser, build(Path(place), curves=True), FOLDER)


if __name__ == "__main__":
    main()
