"""The page as a file: what it holds, what it leaves out and says so, and what it never does."""

from __future__ import annotations

import http.client
import json
import re
import threading
from collections import Counter
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

import simharness as sh
from simharness.blame.verdict import Class
from simharness.cli import call
from simharness.cli.demo import play
from simharness.models.crm import Crm
from simharness.recording.reader import read_file
from simharness.recording.rows import read_rows
from simharness.review import build as building
from simharness.review.build import Built, build, within
from simharness.review.episode import shown_evidence
from simharness.review.lines import compared
from simharness.review.overview import importance, name_entries
from simharness.review.page import digest, page, sources
from simharness.review.serve import ReviewServer
from simharness.review.text import visible
from simharness.rollout.audit import audit
from tests.review.conftest import decoded

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

BLOCK = re.compile(r'<script type="application/gzip" id="([\w-]+)">([A-Za-z0-9+/=]*)</script>')
CODE_BYTES_MAX = 120_000


def blocks(html: str) -> dict[str, Any]:
    return {name: decoded(blob) for name, blob in BLOCK.findall(html)}


def detail(built: Built, name: str) -> Any:
    place = next(i for i, entry in enumerate(built.entries) if entry["id"] == name)
    return decoded(built.blobs[place])


def test_the_same_recordings_make_the_same_bytes(recordings: Path, html: str) -> None:
    assert page(build(recordings)) == html


def test_the_page_fetches_nothing_and_runs_its_own_script_alone(html: str) -> None:
    script, style = sources()
    (policy,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', html)
    policy = policy.replace("&#x27;", "'")
    assert f"script-src {digest(script)};" in policy
    assert f"style-src {digest(style)};" in policy
    assert policy.startswith("default-src 'none';")
    assert "connect-src 'none'" in policy
    assert html.count(f"<script>{script}</script>") == 1
    assert re.findall(r"<(?:link|img|iframe|object|script src)", html) == []
    assert not re.search(r"""(?:src|href|url\()=?["']?https?:""", html)
    assert len(script) + len(style) < CODE_BYTES_MAX
    for word in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval("):
        assert word not in script


def test_the_index_and_each_episode_can_be_read_back(html: str, built: Built) -> None:
    held = blocks(html)
    assert set(held) == {"index", "episode-0", "episode-1", "episode-2", "episode-3"}
    assert held["index"]["entries"] == built.entries
    assert [entry["id"] for entry in built.entries] == ["134", "203", "42", "87"]
    for place, entry in enumerate(built.entries):
        assert len(held[f"episode-{place}"]["steps"]) == entry["steps"]


def test_the_overview_says_what_the_audit_says(recordings: Path, built: Built) -> None:
    report = audit(recordings).record()
    told = built.overview
    assert {code["code"]: code["n"] for code in told["codes"]} == report["codes"]
    for name in ("failure_rate", "gate", "reasons", "strata", "valid", "score", "contamination"):
        assert told[name] == json.loads(json.dumps(report[name])), name


def test_what_was_true_stands_beside_what_was_seen(built: Built) -> None:
    step = detail(built, "42")["steps"][2]
    (one,) = step["calls"]
    assert (step["fidelity"], one["truth"]) == ("broken", "whole")
    wrong = {name: (saw, true) for _, name, saw, true, mark in one["answer"] if mark}
    assert wrong['"legal": '] == ('"in_review",', '"cleared",')
    assert wrong['"version": '] == ("1,", "3,")
    (read,) = one["reads"]
    assert (read["served"], read["true"], read["by"]) == (1, 3, "user/46")
    assert read["age"] > 60_000_000
    fresh = detail(built, "42")["steps"][0]
    assert fresh["fidelity"] == "true"
    assert {mark for *_, mark in fresh["calls"][0]["answer"]} == {""}


@pytest.mark.parametrize(
    ("code", "name", "value", "shown"),
    [
        ("H112", "age", 62_388_883, "1min 02s"),
        ("H311", "waited", 2_500_000, "2.5s"),
        ("M513", "waited", 12, "12%"),
        ("H314", "by", 90_000_000, "1min 30s"),
        ("H310", "by", "user/4#2", "user/4#2"),
        ("H311", "ttl", 5_000_000, "5s"),
        ("H222", "expired_at", 76_614_936, "1:16.61"),
        ("H229", "visible_since", 3_723_000_000, "1:02:03"),
        ("H515", "reward", 250_000, 0.25),
        ("H112", "served", 1, 1),
        ("H519", "held", True, True),
    ],
)
def test_evidence_is_shown_in_units_of_people(
    code: str, name: str, value: object, shown: object
) -> None:
    assert shown_evidence(code, name, value) == shown


def test_a_list_shows_rows_that_were_missing_and_rows_that_did_not_belong(tmp_path: Path) -> None:
    def look(task: Any) -> Any:
        for _ in range(8):
            yield sh.Call("list_deals", {"stage": "negotiation"})
            yield sh.Call("wait", {"seconds": 60})

    outcome = sh.run(
        "crm/negotiation",
        seed=4,
        load=4,
        policy=look,
        config={"deals.list.cache.ttl": "30min", "deals.list.cache.invalidate": "never"},
    )
    file = tmp_path / "lists.simrec"
    outcome.episode.save(file)
    (entry,) = (built := build(file)).entries
    calls = [c for step in detail(built, entry["id"])["steps"] for c in step["calls"]]
    stale = [c for c in calls if any(read["age"] for read in c["reads"])]
    assert stale
    marks = Counter(line[4] for c in stale for line in c["answer"])
    assert marks["stale"] + marks["missing"] + marks["extra"] > 0
    for c in stale:
        said = {read["key"]: read for read in c["reads"]}
        assert all(
            read["differences"] or read["served"] != read["true"]
            for read in said.values()
            if read["age"]
        )


def test_lanes_count_what_the_rows_hold(recordings: Path, built: Built) -> None:
    (record,) = read_file(recordings / "episode-42.simrec")
    rows = read_rows(record).rows
    lanes = detail(built, "42")["lanes"]
    others = [r for r in rows if r.kind == "CALL" and r.values["owner"] != "agent"]
    assert sum(sum(g["calls"][1::2]) for g in lanes["users"]["groups"]) == len(others)
    (lag,) = lanes["lag"]
    commits = [r for r in rows if r.kind == "COMMIT" and r.values["key"] == 42]
    first = next(r for r in commits if r.values["table"] == "deals")
    assert (lag["key"], lag["spans"][0][0]) == ("deals:42", first.t)
    (view,) = lanes["caches"]
    assert Counter(e["kind"] for e in view["events"])["drop"] == 2
    assert [f["name"] for f in lanes["faults"]] == ["crm.invalidation-lost"]
    holds = [r for r in rows if r.kind == "LOCK" and r.values["lock"] == "deals:42"]
    (lock,) = lanes["locks"]
    assert len([s for s in lock["spans"] if s["kind"] == "hold"]) == len(holds)


def test_every_change_of_a_step_is_told_once_and_by_whom(recordings: Path, built: Built) -> None:
    (record,) = read_file(recordings / "episode-87.simrec")
    commits = [row for row in read_rows(record).rows if row.kind == "COMMIT"]
    steps = detail(built, "87")["steps"]
    changes = [c for step in steps for c in step["changes"]]
    assert len(changes) == len(commits)
    sides = Counter(c["side"] for c in changes)
    agents = [row for row in commits if row.values["owner"] == "agent"]
    assert sides["agent"] == len(agents)
    assert sides["caused"] > 0  # the gateway's webhook books what the agent has paid
    taken = [c for c in changes if c["key"] == "slots:667"]
    assert ["replace", "/slots/667/taken", 2] in [op for c in taken for op in c["patch"]]


def test_all_that_want_a_look_come_first_and_the_rest_is_said_to_be_left_out(
    recordings: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    report = audit(recordings)
    assert all(importance(item)[0] == 0 for item in report.items)
    item = report.items[0]
    ranks = {
        kind: importance(
            replace(item, quarantined=False, verdict=replace(item.verdict, kind=kind, valid=True))
        )[0]
        for kind in (Class.OK, Class.MODEL, Class.AMBIGUOUS, Class.HARNESS)
    }
    assert sorted(ranks, key=lambda kind: ranks[kind]) == ["harness", "ambiguous", "model", "ok"]
    monkeypatch.setattr(building, "BYTES_MAX", 9_000)
    small = build(recordings)
    assert 1 <= len(small.blobs) < 4
    assert [entry["full"] for entry in small.entries].count(True) == len(small.blobs)
    (cap,) = small.overview["caps"]
    assert cap.startswith(f"{len(small.blobs)} of 4 episodes are here in full")
    assert cap in page(small)
    assert len(build(recordings, everything=True).blobs) == 4


def test_the_first_episode_is_held_whatever_its_size() -> None:
    assert within([2, 0, 1], {0: "x" * 5, 1: "x", 2: "x" * 50}, 10) == {2}
    assert within([0, 1, 2], {0: "x" * 5, 1: "x", 2: "x" * 50}, 10) == {0, 1}


def test_links_name_an_episode_as_briefly_as_they_can() -> None:
    def entry(scenario: str, seed: str, policy: str, file: str = "s.simrec") -> dict[str, Any]:
        key = f"{scenario}:{seed}:{policy}"
        return {"scenario": scenario, "seed": seed, "policy": policy, "key": key, "file": file}

    entries = [
        entry("a/x", "1", "p"),
        entry("a/x", "2", "p"),
        entry("a/y", "2", "p"),
        entry("a/z", "3", "p"),
        entry("a/z", "3", "q"),
        entry("a/z", "4", "p", "shards/one.simrec"),
        entry("a/z", "4", "p"),
        entry("a/z", "4", "p"),
    ]
    name_entries(entries)
    names = [e["id"] for e in entries]
    assert names[:6] == ["1", "a/x:2", "a/y:2", "a/z:3:p", "a/z:3:q", "one"]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize(
    ("saw", "true", "marks"),
    [
        ({"a": 1}, {"a": 1}, {}),
        ({"a": [], "b": {}}, {"a": [], "b": {}}, {}),
        ({"a": 1}, {"a": 2}, {"stale": 1}),
        ({"a": []}, {"a": [1]}, {"missing": 1}),
        ({"a": 2**60}, {"a": 2**60 + 1}, {"stale": 1}),
        ([{"id": 1, "v": 1}, {"id": 2, "v": 1}], [{"id": 2, "v": 1}], {"extra": 4}),
        ([{"id": 2, "v": 1}], [{"id": 1, "v": 1}, {"id": 2, "v": 1}], {"missing": 4}),
        ([1, 2], [2, 3], {"extra": 1, "missing": 1}),
        ({"a": None}, {}, {"extra": 1}),
        ({"a": {"b": 1}}, {"a": None}, {"stale": 4}),
    ],
)
def test_two_answers_are_compared_line_by_line(saw: Any, true: Any, marks: dict[str, int]) -> None:
    found, left_out = compared(saw, true)
    assert left_out == 0
    assert Counter(line.mark for line in found if line.mark) == marks
    text = "".join(line.label + line.saw for line in found if line.saw is not None)
    if not marks:
        assert json.loads(text) == saw


def test_what_could_not_be_seen_is_spelled_out() -> None:
    assert visible("a\0\x1b[31m\u202eb\ud800\x7f é→😀\n") == (
        "a\\u0000\\u001b[31m\\u202eb\\ud800\\u007f é→😀\n"
    )
    assert visible("x" * 30_000).endswith("… (10,000 more characters)")


def test_hostile_words_of_an_agent_reach_the_page_as_text(tmp_path: Path) -> None:
    evil = "</script><img src=x onerror=alert(1)>\ud800\0\u202e"

    def attack(task: Any) -> Any:
        yield sh.Call(evil, json.dumps({"deal_id": evil}))
        yield evil
        yield sh.Call("finish", {"message": evil, "outcome": evil})

    outcome = sh.run("crm/negotiation", seed=1, policy=attack)
    outcome.episode.save(tmp_path / "evil.simrec")
    html = page(build(tmp_path / "evil.simrec"))
    html.encode()  # no lone surrogate is left
    assert "<img" not in html
    assert html.count("</script>") == 3
    (steps,) = (held["steps"] for name, held in blocks(html).items() if name != "index")
    assert steps[0]["calls"][0]["tool"] == visible(evil)


@contextmanager
def serving(html: str, folder: Path | None) -> Generator[ReviewServer]:
    with ReviewServer(html, folder) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


def ask(
    server: ReviewServer, method: str, path: str, body: str = "", **headers: str
) -> tuple[int, str]:
    host, port = "127.0.0.1", server.server_address[1]
    connection = http.client.HTTPConnection(host, port, timeout=10)
    try:
        told = {name: value for name, value in headers.items() if value}
        connection.request(method, path, body or None, told)
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    finally:
        connection.close()


def test_only_the_page_and_who_has_its_address_are_served(tmp_path: Path) -> None:
    with serving("<p>page", tmp_path) as server:
        good, origin = f"/?token={server.token}", server.origin
        post = f"/reviews?token={server.token}"
        review = json.dumps({"key": "a/b:1:p", "decision": "keep", "by": "ada", "verdict": "ok"})
        assert ask(server, "GET", good) == (200, "<p>page")
        assert ask(server, "GET", good, Host="evil.example")[0] == 403
        assert ask(server, "GET", good, Origin="http://evil.example")[0] == 403
        assert ask(server, "GET", "/")[0] == 403
        assert ask(server, "GET", "/?token=guess")[0] == 403
        assert ask(server, "GET", f"/etc?token={server.token}")[0] == 404
        assert ask(server, "POST", post, review)[0] == 403
        assert ask(server, "POST", "/reviews", review, Origin=origin)[0] == 403
        assert ask(server, "POST", post, "[]", Origin=origin)[0] == 400
        assert ask(server, "POST", post, "x" * 70_000, Origin=origin)[0] == 413
        assert not (tmp_path / "reviews.jsonl").exists()
        assert ask(server, "POST", post, review, Origin=origin) == (200, '{"error": ""}')
        (line,) = (tmp_path / "reviews.jsonl").read_text(encoding="utf-8").splitlines()
        assert json.loads(line)["verdict"] == "ok"
    with serving("<p>page", None) as server:
        post = f"/reviews?token={server.token}"
        assert ask(server, "POST", post, review, Origin=server.origin)[0] == 404


def test_the_command_writes_the_page_and_a_review_overrules_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = tmp_path / "run"
    (showcase,) = Crm.showcases
    run.mkdir()
    play(showcase, showcase.faults, run / "one.simrec")
    review = {"key": "crm/negotiation:42:expert", "decision": "keep", "by": "ada"}
    (run / "reviews.jsonl").write_text(json.dumps(review) + "\n", encoding="utf-8")
    out = tmp_path / "pages" / "run.html"
    assert call(["view", str(run), "-o", str(out)]) == 0
    assert capsys.readouterr().out.startswith(f"{out}: 1 episode, ")
    index = blocks(out.read_text(encoding="utf-8"))["index"]
    assert index["reviews"] == [review]
    (entry,) = index["entries"]
    assert (entry["quarantined"], entry["reason"]) == (False, "kept by ada")
    assert call(["view", str(tmp_path / "none"), "-o", str(out)]) == 2


@pytest.fixture(scope="module")
def before_and_after(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Two runs of the same seeds: the first with a fault, the second without."""
    folder = tmp_path_factory.mktemp("runs")
    for name, fault in (("before", ["--fault", "crm.invalidation-lost"]), ("after", [])):
        words = ["run", "crm/negotiation", "--seed", "0:3", "--load", "4", *fault, "-o"]
        assert call([*words, str(folder / name)]) == 0
    return folder / "before", folder / "after"


def test_a_run_is_held_against_an_earlier_one(before_and_after: tuple[Path, Path]) -> None:
    before, after = before_and_after
    repaired = build(after, against=before)
    told = repaired.overview["compared"]
    assert (told["pairs"], told["failures"]["only_before"], told["failures"]["only_after"]) == (
        3,
        3,
        0,
    )
    fixed = [entry for entry in repaired.entries if "fixed" in entry["change"]]
    assert len(fixed) == 3
    assert {entry["before"]["class"] for entry in fixed} == {"harness"}
    undone = build(before, against=after)
    assert all(entry["change"][0] == "broken" for entry in undone.entries)
    same = build(after, against=after)
    assert same.overview["compared"]["same"] == 3
    assert not any("change" in entry for entry in same.entries)
