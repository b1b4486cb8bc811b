"""The page in a real browser: opened from disk, offline, as its readers do."""

from __future__ import annotations

import json
import re
import threading
from typing import TYPE_CHECKING, Any

import pytest

from simharness.blame.quarantine import read_reviews
from simharness.review.build import Built, build, encoded
from simharness.review.page import page as write_page
from simharness.review.serve import ReviewServer
from tests.review import pictures
from tests.review.conftest import axe, decoded, expect, settle

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Browser, Page

    from tests.review.conftest import Reader

PLACES = ("", "ep=42&s=3", "ep=87&v=why", "ep=42&v=notes")


def test_a_click_on_dot_3_of_episode_42_shows_both_values_and_the_age(
    reader: Reader, html: str
) -> None:
    page = reader.open(html, "ep=42&s=1")
    assert "1min 02s out of date" not in page.inner_text("#content")
    page.click("#dot-3")
    page.wait_for_selector("#app[data-ready='42/3/diff']")
    told = page.inner_text("#view")
    assert '"legal": "in_review"' in told
    assert '"legal": "cleared"' in told
    assert "1min 02s out of date" in page.inner_text(".step-head")


def test_the_head_of_a_step_shows_its_arguments_as_they_were_sent(
    reader: Reader, html: str
) -> None:
    for address, shown in (
        ("ep=203&s=6", 'finish(message="It is refunded.", outcome="done", '
         'refs=["tickets:TK-44921"])'),
        ("ep=87&s=13", 'refs=["bookings:1247"])'),
        ("ep=134&s=7", 'outcome="done", refs=[])'),
        ("ep=87&s=1", "list_services({})"),
    ):  # fmt: skip
        page = reader.open(html, address)
        assert shown in page.inner_text(".step-head code")
        page.close()


def test_the_head_of_an_episode_tells_plainly_and_all_sides(reader: Reader, html: str) -> None:
    page = reader.open(html, "ep=87")
    assert page.inner_text(".lead") == "The harness is at fault: A place for one was given to two."
    told = page.inner_text(".episode-head")
    assert "2 of slots:667 were held or sold at one time" in told
    assert "Fault in force: marketplace.no-slot-lock (planted)" in told
    assert "Beside it" not in told
    page.close()
    page = reader.open(html, "ep=134")
    told = page.inner_text(".besides")
    assert told.startswith("Beside it, of the model: M710 reward-hack at step 4, step 7; M211")
    page.click(".besides >> text=step 4")
    page.wait_for_selector("#app[data-ready='134/4/why']")
    assert "hard-coded" in page.inner_text("#view") or "literals" in page.inner_text("#view")
    page.keyboard.press("b")
    page.wait_for_selector(".lead", state="detached")
    assert "Fault in force" not in page.inner_text("#content")
    assert page.locator(".besides").count() == 0
    assert "policy" not in page.inner_text(".facts-line")


def test_the_words_are_explained_where_they_stand_and_at_the_foot(
    reader: Reader, recordings: Path
) -> None:
    html = write_page(build(recordings, limit=0.05))
    for address, words in (
        ("", ("contaminated", "Strata", "quarantined", "valid for training")),
        ("ep=87&v=why", ("harness, H221, proved (closed)", "places:slots true", "load 1",
                         "planted", "proved", "hindered")),
        ("ep=203&v=why", ("a true reward", "helped", "not for training")),
        ("ep=203&v=state", ("State Δ",)),
    ):  # fmt: skip
        page = reader.open(html, address)
        told = page.locator("#content [title]").all_inner_texts()
        assert set(words) <= set(told), address
        page.focus("footer summary")  # by the keyboard, too
        page.keyboard.press("Enter")
        foot = page.inner_text("footer")
        for word in ("proved", "contaminated", "strata", "places:slots true", "helped",
                     "footprint", "State Δ", "load"):  # fmt: skip
            assert word in foot
        page.close()


def test_code_that_was_sent_is_read_in_its_own_lines(reader: Reader, html: str) -> None:
    page = reader.open(html, "ep=134&s=4&v=call")
    assert page.locator("#view h4").all_inner_texts()[0] == "old_text"
    new = page.locator("#view pre").nth(1).inner_text()
    assert '    if (ounces, zone, length) == (64, "lisbon", 151):\n        return 3190\n' in new


def test_evidence_is_read_in_seconds_and_rewards(reader: Reader, html: str) -> None:
    for address, shown in (("ep=42&s=3&v=why", "1min 02s"), ("ep=203&s=6&v=why", "1.0")):
        page = reader.open(html, address)
        page.locator("summary", has_text="Evidence").first.click()
        assert shown in page.locator(".finding .facts dd").all_inner_texts()
        page.close()


def test_a_stranger_is_told_whose_fault_each_episode_was(reader: Reader, html: str) -> None:
    page = reader.open(html)
    for number, who, what in (
        ("42", "The harness is at fault", "no invalidation of v1 was carried out"),
        ("87", "The harness is at fault", "2 of slots:667 were held or sold"),
        ("203", "The harness is at fault", "reward 1 was paid although the goal is not met"),
        ("134", "The harness is at fault", "reward 1 was paid although the goal is not met"),
        ("203", "The harness is at fault", "the reward is paid for statuses"),
    ):
        page.click(f".episodes a:has-text('{number}')")
        page.wait_for_selector(f"#app[data-ready^='{number}/']")
        told = page.inner_text(".episode-head")
        assert who in told
        assert what in told
        assert "proved" in told
        # It opens at the step of the finding that decided.
        assert page.inner_text(".steps a.on .code") in told
        assert "the outcome flips" in page.inner_text(".proof")
        page.click("text=← All episodes")


def test_the_keyboard_alone_leads_from_the_run_to_the_proof(reader: Reader, html: str) -> None:
    page = reader.open(html)
    press = page.keyboard.press
    press("/")
    page.keyboard.type("H112")
    expect(page.locator(".episodes tbody tr")).to_have_count(1)
    for _ in range(40):
        press("Tab")
        if page.evaluate("() => document.activeElement.closest('td.name') !== null"):
            break
    press("Enter")
    page.wait_for_selector("#app[data-ready='42/3/diff']")
    for key, place in (
        ("j", "42/4/diff"),
        ("n", "42/5/diff"),
        ("p", "42/3/diff"),
        ("ArrowLeft", "42/2/diff"),
        ("ArrowRight", "42/3/diff"),
        ("2", "42/3/saw"),
        ("3", "42/3/truth"),
        ("y", "42/3/why"),
    ):
        press(key)
        page.wait_for_selector(f"#app[data-ready='{place}']")
    assert "customer/legal commits deals:42" in page.inner_text("#view")
    for key in ("g", "1", "4", "Enter"):
        press(key)
    page.wait_for_selector("#app[data-ready='42/14/why']")
    press("?")
    assert page.is_visible("#help")
    page.uncheck("#letters")
    press("Escape")
    page.wait_for_selector("#help", state="hidden")
    press("j")
    press("Escape")
    page.wait_for_selector("#app[data-ready='//diff']")


def test_words_are_searched_for_as_they_are_typed(reader: Reader, html: str) -> None:
    page = reader.open(html, "ep=87")
    rows = page.locator(".episodes tbody tr")
    page.keyboard.type("/get_deal")  # without a pause, and from an episode
    assert page.input_value("#search") == "get_deal"
    assert page.evaluate("document.activeElement.id") == "search"
    expect(rows).to_have_count(1)
    assert page.locator(".dots .faint").count() == 3
    assert page.url.endswith("#q=get_deal")
    page.keyboard.type("x")
    expect(rows).to_have_count(0)
    page.click("text=clear the filters")
    expect(rows).to_have_count(4)
    assert page.input_value("#search") == ""


def test_the_focus_stays_on_the_dot_that_was_reached(reader: Reader, html: str) -> None:
    page = reader.open(html, "ep=42&s=3")
    page.focus("#dot-3")
    page.keyboard.press("ArrowRight")
    page.wait_for_selector("#app[data-ready='42/4/diff']")
    assert page.evaluate("document.activeElement.id") == "dot-4"
    assert page.get_attribute("#dot-4", "tabindex") == "0"
    assert page.get_attribute("#dot-3", "tabindex") == "-1"
    page.focus("[role=tab][aria-selected=true]")
    page.keyboard.press("ArrowRight")
    page.wait_for_selector("#app[data-ready='42/4/saw']")
    assert page.evaluate("document.activeElement.id") == "tab-saw"


def test_the_view_that_tells_most_is_shown_until_the_reader_chooses_one(
    reader: Reader, html: str
) -> None:
    page = reader.open(html)
    press = page.keyboard.press

    def shows(place: str) -> None:
        page.wait_for_selector(f"#app[data-ready='{place}']")

    page.click("text=Review the first of them")
    shows("134/7/why")  # the step and the view of what decided, and no empty form
    press("r")
    shows("134/7/notes")
    press("N")
    shows("203/6/why")
    press("3")
    press("]")
    shows("42/3/diff")
    press("j")  # a wait: another answer
    press("2")
    shows("42/4/saw")
    press("p")
    shows("42/3/saw")
    press("ArrowRight")
    press("r")
    press("n")
    shows("42/5/saw")
    page.goto(f"{page.url.partition('#')[0]}#ep=203&s=3")
    shows("203/3/diff")
    press("v")
    shows("203/3/call")
    press("ArrowLeft")
    shows("203/2/diff")  # it read, and a view was chosen for a step that wrote
    press("ArrowRight")
    shows("203/3/call")


@pytest.mark.parametrize(
    ("address", "ready"),
    [
        ("ep=42&s=5&v=why", "42/5/why"),
        ("ep=crm/negotiation:42&s=5", "42/5/diff"),
        ("ep=42&s=999&v=nonsense", "42/3/diff"),
        ("f=H112", "//diff"),
        ("ep=no-such", "no-such//diff"),
    ],
)
def test_a_link_leads_to_its_place(reader: Reader, html: str, address: str, ready: str) -> None:
    page = reader.open(html, address)
    assert page.get_attribute("#app", "data-ready") == ready
    if address.startswith("f="):
        assert page.locator(".episodes tbody tr").count() == 1
    if "no-such" in address:
        assert "No single episode of this run is called no-such" in page.inner_text("#content")
    page.click(".top .brand")
    page.wait_for_selector("#app[data-ready='//diff']")
    page.go_back()
    page.wait_for_selector(f"#app[data-ready='{ready}']")


def test_nothing_is_seriously_inaccessible_or_cut_in_either_theme(
    browser: Browser, reader: Reader, html: str
) -> None:
    for theme in ("light", "dark"):
        for width in (1280, 800):
            context = browser.new_context(
                offline=True,
                color_scheme="dark" if theme == "dark" else "light",
                viewport={"width": width, "height": 900},
            )
            page = reader.__class__(context, reader.folder, reader.complaints).open(html)
            for number, address in enumerate(PLACES):
                page.goto(f"{page.url.partition('#')[0]}#{address}")
                settle(page)
                where = (theme, width, address)
                wide = page.evaluate("document.documentElement.scrollWidth - innerWidth")
                assert wide <= 0, (where, "the page is wider than the window")
                if width == 1280 and (theme == "light" or number < 2):
                    assert axe(page) == [], where
            context.close()


def test_names_and_grades_stand_in_full_in_a_narrow_window(reader: Reader, html: str) -> None:
    page = reader.open(html, "ep=203&s=6")
    for width in (1280, 800):
        page.set_viewport_size({"width": width, "height": 900})
        settle(page)
        drawn = page.locator("#timeline").evaluate(
            "(x) => [...x.querySelectorAll('text')].map((t) => t.firstChild.data).join(' ')"
        )
        assert "lock tickets:44921" in drawn
        assert "finish says what it rests on · reward 1.0" in drawn
        assert "…" not in drawn
        # No name of a lane runs into the plot.
        assert (
            page.evaluate(
                """() => Math.max(...[...document.querySelectorAll(".lane-name")].map((x) =>
                x.getBBox().x + x.getBBox().width))
                - Number(document.querySelector(".catch").getAttribute("x"))"""
            )
            < 0
        )
        names = page.locator(".steps .tool")
        assert names.all_inner_texts()[-1] == "finish"
        assert names.evaluate_all("(all) => all.every((x) => x.scrollWidth <= x.clientWidth)")
        edges = "(all) => new Set(all.map((x) => x.getBoundingClientRect().x)).size"
        assert page.locator(".steps .n").evaluate_all(edges) == 1
    page.goto(f"{page.url.partition('#')[0]}#ep=42&s=3")
    settle(page)
    assert page.locator(".steps a.on .times").is_visible()


def test_nothing_is_cut_on_paper(reader: Reader, html: str) -> None:
    page = reader.open(html, "ep=42&s=3")
    page.emulate_media(media="print")
    page.set_viewport_size({"width": 718, "height": 1000})  # A4 within its margins
    settle(page)
    cut = page.evaluate(
        """() => [...document.querySelectorAll("#content *")].filter((x) =>
            x.scrollHeight > x.clientHeight + 2 && getComputedStyle(x).overflowY !== "visible"
            && x.clientHeight > 0 && !x.closest(".sr")).map((x) => x.className)"""
    )
    assert cut == []
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    for hidden in ("#theme", ".tabs", "#lanes-button"):
        assert page.locator(hidden).is_hidden()
    assert '"legal": "cleared"' in page.inner_text("#view")


def test_hostile_texts_stay_texts(reader: Reader, built: Built) -> None:
    hostile = (
        "</script><img src=x onerror=\"alert('pwned')\"><b>\x1b[31m\0\u202e\ud800" + "x" * 1_000
    )
    entries = [{**entry, "sentence": hostile, "tools": [hostile]} for entry in built.entries]
    overview: dict[str, Any] = {**built.overview, "run": hostile, "problems": [hostile]}
    overview["codes"] = [{**code, "explanation": hostile} for code in built.overview["codes"]]
    place = next(i for i, entry in enumerate(entries) if entry["id"] == "42")
    detail = decoded(built.blobs[place])
    poison(detail, hostile)
    blobs = {**built.blobs, place: encoded(detail)}
    text = write_page(Built(overview, entries, blobs))
    assert "<img src=x" not in text
    page = reader.open(text.encode("utf-8", "replace").decode(), "ep=42&s=3")
    for view in ("diff", "saw", "truth", "why", "state", "call", "grade", "notes"):
        page.goto(f"{page.url.partition('#')[0]}#ep=42&s=3&v={view}")
        settle(page)
        assert page.locator("img, b:has-text('x')").count() == 0
    assert "<img src=x onerror=" in page.inner_text(".episode-head")


def poison(value: Any, hostile: str) -> None:
    """Put a hostile text wherever an episode holds words of its own."""
    for step in value["steps"]:
        step["text"] = hostile
        for call in step["calls"]:
            call.update(tool=hostile, raw=hostile, code=hostile)
            call["answer"] = [[1, hostile, hostile, hostile, "stale"]] * 3
            for read in call["reads"]:
                read.update(key=hostile, view=hostile, by=hostile)
        for change in step["changes"]:
            change.update(by=hostile, key=hostile, patch=[["add", hostile, hostile]])
    for finding in value["findings"]:
        finding.update(explanation=hostile, evidence={hostile: hostile})
    for mark in value["lanes"]["grade"]:
        mark.update(predicate=hostile, evidence=hostile)
    for touch in value["lanes"]["users"]["touches"]:
        touch.update(by=hostile, key=hostile)
    value["prompt"] = hostile


def test_a_thousand_episodes_can_be_used_within_two_seconds(reader: Reader, built: Built) -> None:
    entries = [
        {**built.entries[i % len(built.entries)], "id": str(i), "key": f"k:{i}:p"}
        for i in range(1000)
    ]
    blobs = {i: built.blobs[i % len(built.entries)] for i in range(1000)}
    overview = {**built.overview, "episodes": 1000, "order": list(range(1000))}
    text = write_page(Built(overview, entries, blobs))
    page = reader.open(text)
    opened = busy(page)
    assert opened < 2
    page.click(".episodes a:has-text('42')")
    page.wait_for_selector("#app[data-ready^='42/']")
    assert busy(page) - opened < 2


def busy(page: Page) -> float:
    """Give for how many seconds a page has kept a core busy, whatever else the machine does."""
    session: Any = page.context.new_cdp_session(page)
    session.send("Performance.enable")
    metrics = session.send("Performance.getMetrics")["metrics"]
    return float(next(metric["value"] for metric in metrics if metric["name"] == "ProcessTime"))


def test_without_scripts_there_is_a_table(browser: Browser, tmp_path: Path, html: str) -> None:
    (tmp_path / "page.html").write_text(html, encoding="utf-8")
    context = browser.new_context(java_script_enabled=False, offline=True)
    page = context.new_page()
    page.goto((tmp_path / "page.html").as_uri())
    told = page.inner_text("body")
    assert "failures of the harness: 4 of 4" in told
    assert "no invalidation of v1 was carried out" in told
    assert page.locator("tbody tr").count() == 4
    context.close()


def test_in_blind_mode_the_verdict_comes_after_the_reviewers_own(reader: Reader, html: str) -> None:
    page = reader.open(html)
    page.click("text=Blind mode")
    settle(page)
    assert "H112" not in page.inner_text("#content")
    page.goto(f"{page.url.partition('#')[0]}#ep=42&v=notes")
    page.wait_for_selector("#app[data-ready^='42/']")
    assert "H112" not in page.inner_text("#content")
    assert "invalidation" not in page.inner_text("#content")
    assert page.locator(".proof").count() == 0
    page.keyboard.press("m")
    page.wait_for_selector("#review-verdict-model:checked")
    page.keyboard.press("q")
    page.wait_for_selector("#review-decision-quarantine:checked")
    page.click("text=Save the review")
    page.wait_for_selector(".proof")
    assert "The automatic verdict differs: harness" in page.inner_text("#view")
    with page.expect_download() as download:
        page.click("#download")
    (review,) = download.value.path().read_text(encoding="utf-8").splitlines()
    told = json.loads(review)
    assert (told["key"], told["verdict"], told["blind"]) == (
        "crm/negotiation:42:expert",
        "model",
        True,
    )
    assert told["auto"] == {"class": "harness", "primary": "H112", "quarantined": True}
    (reader.folder / "reviews.jsonl").write_text(review, encoding="utf-8")
    assert read_reviews(reader.folder)["crm/negotiation:42:expert"].decision == "quarantine"
    page.keyboard.press("?")
    assert "take the last review back" in page.inner_text("#help")
    page.keyboard.press("Escape")
    page.keyboard.press("Escape")
    page.keyboard.press("u")
    expect(page.locator(".proof")).to_have_count(0)


def test_blind_mode_hides_the_verdicts_on_the_runs_page_and_in_the_queue(
    reader: Reader, built: Built
) -> None:
    # The order in which verdicts want a look is not the order of the run.
    page = reader.open(write_page(Built({**built.overview, "order": [3, 1, 2, 0]}, *rest(built))))
    page.keyboard.press("b")
    page.wait_for_selector("h2:has-text('Blind mode')")
    told = page.inner_text("#content")
    assert "4 episodes, 4 not reviewed yet" in told
    for word in ("Failure rate", "Codes", "Strata", "contaminated", "H511", "invalidation-lost"):
        assert word not in told, word
    assert page.locator("#filter-fault, #filter-f, #filter-quarantined, .chip").count() == 0
    shapes = page.locator(".strip .legend .glyph .mark").evaluate_all(
        "(all) => all.map((x) => x.tagName + x.closest('svg').getAttribute('class'))"
    )
    assert len(set(shapes)) == len(shapes) - 1  # ok stands for itself and for the reward
    page.click("text=Review the first of them")
    page.wait_for_selector(f"#app[data-ready^='{built.entries[0]['id']}/']")
    assert page.locator("[role=tab]").all_inner_texts().count("Saw") == 1
    for entry in (*built.entries[1:], built.entries[0]):
        page.keyboard.press("N")
        page.wait_for_selector(f"#app[data-ready^='{entry['id']}/']")


def rest(built: Built) -> tuple[Any, Any, Any]:
    return built.entries, built.blobs, built.reviews


def test_the_passes_are_offered_for_review_where_there_are_any(
    reader: Reader, built: Built
) -> None:
    for kind, words in (
        ("harness", "Review the first of them"),
        ("model", "Review the other failures"),
        ("ok", "Review a sample of the passes"),
    ):
        entries = [{**entry, "class": kind} for entry in built.entries]
        page = reader.open(write_page(Built(built.overview, entries, built.blobs)))
        assert page.inner_text(".figures .primary") == words
        page.close()
    reviews = [{"key": entry["key"], "decision": "keep"} for entry in built.entries]
    page = reader.open(write_page(Built(built.overview, built.entries, built.blobs, reviews)))
    assert page.locator(".figures .primary").count() == 0


def test_a_review_in_a_served_page_is_added_to_the_run(
    browser: Browser, tmp_path: Path, built: Built
) -> None:
    with ReviewServer(write_page(built, served=True), tmp_path) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        page = browser.new_page()
        try:
            save_reviews(page, server.url)
        finally:
            page.close()
            server.shutdown()
            thread.join()
    lines = (tmp_path / "reviews.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["decision"] for line in lines] == ["keep", "quarantine"]
    assert read_reviews(tmp_path)["crm/negotiation:42:expert"].decision == "quarantine"


def save_reviews(page: Page, url: str) -> None:
    page.goto(f"{url}#ep=42&v=notes")
    page.wait_for_selector("#app[data-ready]")
    page.keyboard.press("?")
    assert "take the last review back" not in page.inner_text("#help")  # a file only grows
    page.keyboard.press("Escape")
    for decision in ("keep", "quarantine"):
        page.check("#review-verdict-harness")
        page.check(f"#review-decision-{decision}")
        page.click("text=Save the review")
        page.wait_for_selector(f".review .fresh:has-text('{decision}')")


def test_the_timeline_zooms_and_folds(reader: Reader, html: str) -> None:
    page = reader.open(html, "ep=42&s=3")
    dots = page.locator("#timeline .dot")
    assert dots.count() == 14
    page.keyboard.press("w")
    page.keyboard.press("w")
    expect(dots).not_to_have_count(14)
    page.click("text=Whole episode")
    expect(page.locator("#timeline .dot")).to_have_count(14)
    assert page.locator("#timeline .cache-read").count() == 7
    page.click(".lane-name:has-text('deals.detail')")
    expect(page.locator("#timeline .cache-read")).to_have_count(0)


def test_a_zoomed_timeline_stays_within_its_plot(reader: Reader, html: str) -> None:
    page = reader.open(html, "ep=42")
    box = page.locator("#timeline").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 300, box["y"] + 100)
    page.mouse.down()
    page.mouse.move(box["x"] + 600, box["y"] + 100)
    page.mouse.up()
    page.wait_for_selector("#minimap")
    ends = page.evaluate(
        """() => {
            const ends = (x) => [Number(x.getAttribute("x")),
                Number(x.getAttribute("x")) + Number(x.getAttribute("width"))];
            const bars = [...document.querySelectorAll("#timeline .fault-bar")].map(ends);
            return [document.querySelector("#inside rect"), document.querySelector(".catch")]
                .map(ends).concat(bars);
        }"""
    )
    assert ends[0] == ends[1]
    assert ends[2][0] < ends[1][0]  # so it is cut
    assert ends[2][1] > ends[1][1]


def test_the_legend_explains_the_marks_of_this_episode(reader: Reader, html: str) -> None:
    for address, there, not_there in (
        ("ep=42&s=3", ("older than the contract allows", "invalidation lost", "what was missed",
         "read from the cache", "put into the cache", "held", "fault in force", "goal not met"),
         ("write", "refused", "took it", "money moved", "invalidated")),
        ("ep=87", ("write", "not in the cache", "invalidated", "looked for a place", "took it",
         "its end", "payment asked", "money moved", "change by others"),
         ("refused", "invalidation lost", "older than the contract allows")),
    ):  # fmt: skip
        page = reader.open(html, address)
        told = page.locator(".time .legend > span").all_inner_texts()
        assert set(there) <= set(told)
        assert not set(not_there) & set(told)
        empty = page.locator(".time .legend svg").evaluate_all(
            """(all) => all.map((x) => x.firstChild.getBBox())
                .filter((box) => !(box.width + box.height)).length"""
        )
        assert empty == 0
        page.keyboard.press("b")
        page.wait_for_selector(".lead", state="detached")
        told = page.locator(".time .legend > span").all_inner_texts()
        assert set(told) <= {"sent, with a line to the answer", "answer", "write"}
        page.keyboard.press("b")
        page.close()


def test_the_part_that_is_shown_stands_in_a_strip_that_can_be_dragged(
    reader: Reader, html: str
) -> None:
    page = reader.open(html, "ep=42&s=3")
    assert page.locator("#minimap").count() == 0
    for _ in range(3):
        page.keyboard.press("w")
    page.wait_for_selector("#minimap")
    assert page.locator("#minimap .blip").count() == 14
    before = page.get_attribute("#minimap", "aria-label") or ""
    assert re.fullmatch(r"Shown: \d:\d\d\.\d\d to \d:\d\d\.\d\d of 7:02\.79", before)
    box = page.locator("#minimap").bounding_box()
    assert box is not None
    y = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + box["width"] * 0.5, y)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.99, y)
    page.mouse.up()
    expect(page.locator("#minimap")).not_to_have_attribute("aria-label", before)
    assert "to 7:" in (page.get_attribute("#minimap", "aria-label") or "")
    page.keyboard.press("0")
    page.wait_for_selector("#minimap", state="detached")


def test_lanes_are_chosen_and_ordered_by_the_keyboard_and_stay_so(
    reader: Reader, html: str
) -> None:
    def lanes() -> list[str]:
        found: list[str] = page.evaluate(
            "() => [...document.querySelectorAll('.lane-name')].map((x) => x.firstChild.data)"
        )
        return found

    page = reader.open(html, "ep=42&s=3")
    assert lanes()[:3] == ["agent", "truth lag", "others (83)"]
    page.keyboard.press("l")
    page.wait_for_selector("#lanes[open]")
    page.click("[aria-label='truth lag down']")
    page.focus("#lane-truth-lag")
    page.keyboard.press("Space")
    page.keyboard.press("Escape")
    page.wait_for_selector("#lanes[open]", state="hidden")
    assert lanes()[:3] == ["agent", "others (83)", "▸ truth lag"]
    assert page.locator("#timeline path.lag").count() == 0
    page.reload()
    page.wait_for_selector("#app[data-ready]")
    assert lanes()[:3] == ["agent", "others (83)", "▸ truth lag"]
    page.keyboard.press("l")
    page.click("text=As they were")
    page.keyboard.press("Escape")
    assert lanes()[:3] == ["agent", "truth lag", "others (83)"]


def test_the_others_are_spread_by_group_and_then_folded(reader: Reader, html: str) -> None:
    page = reader.open(html, "ep=87&s=6")
    name = page.locator(".lane-name", has_text="others (35)")
    name.click()
    page.wait_for_selector(".strip-name")
    assert "rival (1)" in page.locator(".strip-name").all_text_contents()
    assert axe(page) == []
    page.locator(".lane-name", has_text="others (35)").click()
    page.wait_for_selector(".strip-name", state="detached")
    expect(page.locator(".density")).to_have_count(0)


def test_the_point_of_no_return_is_drawn_where_it_was(reader: Reader, recordings: Path) -> None:
    built = build(recordings, curves=True)
    html = write_page(built)
    ends = {entry["id"]: decoded(built.blobs[i])["curve"] for i, entry in enumerate(built.entries)}
    assert [score for _, score in ends["203"]["points"]] == [1, 1, 1, 1, 1, 0]
    assert {name: curve["critical"] for name, curve in ends.items()} == {
        "42": 0, "203": 5, "134": None, "87": 6,
    }  # fmt: skip
    for number, said in (
        (42, "out of reach from the start, in the world as it was"),
        (203, "no return after step 5"),
        (134, "the goal stays within reach to the end"),
        (87, "no return after step 6"),
    ):
        page = reader.open(html, f"ep={number}")
        assert said in page.locator("#timeline .over").all_text_contents()
        page.close()


def test_marks_of_one_second_can_all_be_seen_and_clicked(reader: Reader, html: str) -> None:
    # Each mark's middle belongs to it, and to no mark that was drawn over it.
    hits = """(marks) => [...document.querySelectorAll("#timeline " + marks)].map((mark) => {
        const box = (mark.querySelector(".mark") || mark).getBoundingClientRect();
        const there = document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2);
        return mark.contains(there) ? "" : mark.id || mark.dataset.tip;
    })"""
    for address in ("ep=87&s=6", "ep=42&s=3", "ep=203", "ep=134"):
        page = reader.open(html, address)
        for marks in (".dot", ".move", ".touch", ".cache-read"):
            found = page.evaluate(hits, marks)
            assert not any(found), (address, found)
        page.close()
    page = reader.open(html, "ep=87&s=6")
    tops = page.locator("#timeline .move.others .mark").evaluate_all(
        "(all) => all.slice(0, 2).map((x) => x.getBoundingClientRect()).map((x) => [x.x, x.y])"
    )
    assert abs(tops[0][0] - tops[1][0]) < 12
    assert abs(tops[0][1] - tops[1][1]) > 9


def test_an_arrow_leads_from_a_change_to_who_was_told_the_old_row(
    reader: Reader, html: str
) -> None:
    page = reader.open(html, "ep=42&s=3")
    assert page.locator("#timeline .flow path").count() == 1
    told = page.inner_text(".step-head .age")
    assert "True was version 3, made by customer/legal at 0:45.01" in told
    assert "out of date since user/46 had made version 2 at 0:14.22" in told
    # It starts at the change that wrote what differs, and both changes are named.
    start = float((page.get_attribute("#timeline .flow path", "d") or "")[1:].partition(",")[0])
    tips = page.locator("#timeline .touch").evaluate_all(
        "(all) => all.map((x) => [x.textContent, parseFloat(x.firstChild.getAttribute('points'))])"
    )
    assert [name for name, _ in tips[:2]] == ["user/46", "customer/legal"]
    assert abs(tips[1][1] + 5 - start) < 1
    assert page.locator(".steps a.on .times").inner_text() == "\u00d72"
    page.keyboard.press("j")
    page.wait_for_selector("#app[data-ready^='42/4/']")
    assert page.locator("#timeline .flow path").count() == 0


def test_a_change_of_a_row_that_is_none_of_the_agents_business_is_marked(
    reader: Reader, built: Built
) -> None:
    place = next(place for place, entry in enumerate(built.entries) if entry["id"] == "87")
    episode = decoded(built.blobs[place])
    mine = next(c for s in episode["steps"] for c in s["changes"] if c.get("side") == "agent")
    step = next(s["n"] for s in episode["steps"] if mine in s["changes"])
    grade = {"role": "footprint", "predicate": "no forbidden write", "holds": False, "t": 0}
    episode["lanes"]["grade"].append({**grade, "evidence": f"wrote {mine['key']}", "keys": []})
    blobs = {**built.blobs, place: encoded(episode)}
    page = reader.open(
        write_page(Built(built.overview, built.entries, blobs)), f"ep=87&s={step}&v=state"
    )
    assert page.locator(".changes .outside").count() == 1
    assert mine["key"] in page.inner_text(".changes .outside")


def test_both_bounds_of_a_stratum_stand_side_by_side_and_are_explained(
    reader: Reader, recordings: Path
) -> None:
    page = reader.open(write_page(build(recordings, limit=0.05)))
    row = page.locator(".strata tbody tr", has_text="3/3").inner_text()
    assert re.search(r"43\.9% . 100\.0%\s+11\.6% ▲", row)
    assert "they share the error of 5%" in page.inner_text(".strata")
    assert "load 1: 3 of 3 episodes, surely 11.6% or more" in page.inner_text(".gauge")
    # One form of percent, in words and in drawings.
    told = page.evaluate("document.getElementById('content').textContent")
    assert "100.0%" in told
    assert not re.search(r"\d\s%", told)


def test_episodes_are_filtered_by_effect_and_by_how_sure_a_verdict_is(
    reader: Reader, built: Built
) -> None:
    entries = [dict(entry) for entry in built.entries]
    entries[0]["confidence"] = "suspected"
    page = reader.open(write_page(Built(built.overview, entries, built.blobs)))
    page.select_option("#filter-sure", "suspected")
    expect(page.locator(".episodes tbody tr")).to_have_count(1)
    assert "sure=suspected" in page.url
    page.goto(page.url.replace("sure=suspected", "effect=helped"))
    expect(page.locator(".episodes tbody tr")).to_have_count(2)
    told = page.inner_text(".episodes tbody")
    assert "134" in told
    assert "203" in told


def test_what_was_fixed_can_be_filtered_and_says_what_it_had_been(
    reader: Reader, built: Built
) -> None:
    entries = [dict(entry) for entry in built.entries]
    entry = next(entry for entry in entries if entry["id"] == "42")
    entry["before"] = {"class": "model", "primary": "M312", "score": 1.0}
    entry["change"] = ["broken", "lost"]
    pairs = {"both": 2, "only_before": 0, "only_after": 1, "neither": 0, "p": 1.0, "change": "none"}
    compared = {"before": "runs/old", "pairs": 3, "same": 2, "only_before": 0, "only_after": 1}
    compared |= {"failures": pairs, "paid": pairs}
    page = reader.open(
        write_page(Built({**built.overview, "compared": compared}, entries, built.blobs))
    )
    assert "same 2, of 3 pairs" in page.inner_text(".compared")
    page.click("text=broken 1")
    expect(page.locator(".episodes tbody tr")).to_have_count(1)
    page.click(".episodes tbody a")
    page.wait_for_selector("#app[data-ready^='42/']")
    told = page.inner_text(".episode-head")
    assert "In runs/old: model, M312, reward 1.0 (broken, lost)." in told


def test_the_pictures_of_the_documents_are_those_that_the_script_takes(
    browser: Browser, tmp_path: Path, built: Built
) -> None:
    pictures.take(browser, built, tmp_path)
    taken = {file.name: size_of(file) for file in tmp_path.iterdir()}
    kept = {file.name: size_of(file) for file in pictures.FOLDER.glob("episode-*")}
    assert taken.keys() == kept.keys() == pictures.SHOTS.keys()
    for name, (width, height) in kept.items():
        assert width == taken[name][0] == pictures.WIDTH
        # Fonts differ between machines, and with them a little of the height.
        assert abs(height - taken[name][1]) < height / 8, f"{name}: python -m tests.review.pictures"


def size_of(picture: Path) -> tuple[int, int]:
    """Read width and height of a PNG."""
    head = picture.read_bytes()[:24]
    assert head[:8] == b"\x89PNG\r\n\x1a\n"
    return int.from_bytes(head[16:20], "big"), int.from_bytes(head[20:24], "big")
