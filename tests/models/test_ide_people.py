"""Who is around the agent in the IDE, and what they do."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest

from simharness.api import Refused
from simharness.models.ide.people.house import start_people
from simharness.models.ide.people.mergers import behind
from simharness.models.ide.people.names import colleague
from simharness.models.ide.people.rivals import push_later, push_when
from simharness.models.ide.people.team import start_team
from simharness.models.ide.people.visitors import HOLD_SECONDS
from simharness.models.ide.runner import CaseRun, SuiteRun
from tests.models.ide_house import SHOP, House
from tests.models.ide_runner import Scripted

if TYPE_CHECKING:
    from collections.abc import Mapping

    from simharness.models.ide.people.rivals import Change

PATH = "src/shop.py"
FUEL = 50_000_000


def suite(files: Mapping[str, str]) -> SuiteRun:
    """Pass, in files that no colleague changes."""
    assert not any(path.startswith("docs/") for path in files)
    return SuiteRun(tests=(CaseRun(test_id="t", outcome="passed"),), fuel=FUEL)


def crowded(load: int, config: dict[str, object] | None = None) -> House:
    runner = Scripted(suite=suite)
    house = House(config, profile="production", load=load, runner=runner, drawn=True)
    start_people(house.ide, [PATH])
    return house


def mains(house: House) -> list[str]:
    """Give where main has stood."""
    changes = house.ide.branches.table.changes
    return [change.new.rev for change in changes if change.new and change.new.title == "main"]


def test_everybody_does_their_part_and_breaks_nothing() -> None:
    house = crowded(8_000)
    ide = house.ide
    before = house.branch()
    house.wait("3min")
    moved = mains(house)
    assert 3 <= len(moved) <= 20
    assert all(ide.history.is_ancestor(a, b) for a, b in pairwise([before, *moved]))
    owners = Counter(change.owner.partition("/")[0] for change in ide.branches.table.changes)
    assert {"user", "merger", "rebase-bot"} == owners.keys()
    tips = [row.rev for row in ide.branches.table]
    known = ide.history[before].tree
    changed = [path for rev in tips for path in ide.history[rev].tree if path not in known]
    assert changed
    assert all(path.startswith("docs/notes/") for path in changed)
    assert house.text(PATH) == SHOP
    jobs = Counter(job.status for job in ide.ci_jobs.table)
    assert jobs["passed"] > 50
    assert jobs["running"] == 4 or jobs["queued"] == 0
    assert (ide.invariants(), house.findings()) == ([], [])


def test_people_go_on_when_the_agent_has_removed_all_files() -> None:
    house = crowded(8_000)
    assert house.call("run_command", command="git rm -rq .")["exit_code"] == 0
    house.wait("3min")
    assert (house.ide.invariants(), house.findings()) == ([], [])


@pytest.mark.parametrize(
    ("team", "load", "users"), [(20, 1_000, 20), (20, 8_000, 160), (0, 8_000, 0), (20, 0, 0)]
)
def test_the_team_grows_with_its_knob_and_the_load(team: int, load: int, users: int) -> None:
    house = House({"users.team": team}, load=load)
    workers = len(house.world.alive)
    start_team(house.ide)
    assert len(house.world.alive) == workers + users


def test_nobody_else_is_there_unless_it_is_set() -> None:
    for load, config in ((1_000, {"users.team": 0}), (0, {"users.bot": "30s"})):
        house = House(config, load=load)
        workers = len(house.world.alive)
        start_people(house.ide, [PATH])
        assert len(house.world.alive) == workers


def test_an_agent_has_to_catch_up_with_main_and_can() -> None:
    house = crowded(8_000)
    refused = waited = 0
    for number in range(12):
        at = house.world.ticks
        house.call("write_file", path=PATH, content=f"{SHOP}\nx = {number}\n")
        waited += house.world.ticks - at > 1_000_000
        house.call("commit", message=f"Set {number}")
        house.wait("8s")
        for _ in range(5):
            told = house.call("push")
            if not isinstance(told, Refused):
                break
            refused += 1
            pulled = house.call("run_command", command="git pull -q --rebase")
            assert pulled["exit_code"] == 0
        assert house.ide.history[house.branch()].tree[PATH].text.endswith(f"x = {number}\n")
    assert refused >= 2
    assert waited >= 1
    assert (house.ide.invariants(), house.findings()) == ([], [])


def test_a_visitor_holds_a_file_for_some_seconds_and_leaves_it_as_it_is() -> None:
    house = House({"users.team": 0, "users.sharing": "10s"}, load=1_000)
    start_people(house.ide, [PATH])
    longest = 0
    for number in range(30):
        at = house.world.ticks
        house.call("write_file", path=PATH, content=f"x = {number}\n")
        longest = max(longest, house.world.ticks - at)
        house.wait("3s")
    assert 1_000_000 < longest <= HOLD_SECONDS[1] * 1_000_000
    changes = house.ide.files.table.changes
    assert {change.owner for change in changes} == {"agent"}


def test_a_rival_changes_what_is_there_at_that_instant() -> None:
    house = House()
    seen: list[str] = []

    def change(files: Mapping[str, str]) -> dict[str, str | None]:
        seen.append(files[PATH])
        return {PATH: files[PATH] + "# end\n"} if len(seen) == 1 else {}

    for ms in (2_000, 4_000):
        push_later(house.ide, f"rival/{ms}", 3, ms, change, "End the shop")
    house.wait("1s")
    assert not seen
    house.wait("4s")
    commit = house.ide.history[house.branch()]
    assert (seen, commit.tree[PATH].text) == ([SHOP, SHOP + "# end\n"], SHOP + "# end\n")
    assert commit.author == colleague(3).author


# --- the operations -------------------------------------------------------------------------------


def pushed(house: House, branch: str, **files: str) -> str:
    told = house.call("repo.push", branch=branch, files=files, message=f"Push {sorted(files)}")
    return str(told["rev"])


def outcome(house: House, operation: str, **arguments: Any) -> Any:
    told = house.call(operation, **arguments)
    return told.code if isinstance(told, Refused) else told["rev"]


def test_a_branch_is_put_on_top_of_main() -> None:
    house = House()
    old = pushed(house, "topic", NEWS="one\n")
    pushed(house, "topic", MORE="two\n")
    assert outcome(house, "repo.rebase", branch="topic") == "conflict"
    main = pushed(house, "main", OTHER="three\n")
    assert list(behind(house.ide)) == ["topic"]
    new = outcome(house, "repo.rebase", branch="topic")
    history = house.ide.history
    assert history.is_ancestor(main, new)
    assert not history.is_ancestor(old, new)
    assert [c.message for c in history.log([new], [main])] == ["Push ['MORE']", "Push ['NEWS']"]
    assert {"NEWS", "MORE", "OTHER"} <= history[new].tree.keys()
    assert (house.branch("topic"), list(behind(house.ide))) == (new, [])
    assert house.ide.invariants() == []


def test_a_merge_moves_main_and_holds_it_meanwhile() -> None:
    house = House({"merge.latency": "5s"})
    pushed(house, "topic", NEWS="one\n")
    main = pushed(house, "main", OTHER="three\n")
    merging = house.start("repo.merge", branch="topic", as_="merger")
    house.call("write_file", path="mine", content="m\n")
    house.call("run_command", command="git pull -q")
    house.call("commit", message="Mine")
    assert house.call("push").code == "conflict"
    assert house.world.ticks >= 5_000_000
    rev = house.ended(merging)["rev"]
    assert (house.branch(), house.branch("topic")) == (rev, rev)
    assert house.ide.history.is_ancestor(main, rev)
    assert outcome(house, "repo.merge", branch="topic") == "conflict"
    assert house.findings() == []


def test_changes_that_clash_are_left_to_people() -> None:
    house = House()
    pushed(house, "topic", NEWS="one\n")
    main = pushed(house, "main", NEWS="other\n")
    for operation in ("repo.rebase", "repo.merge"):
        assert outcome(house, operation, branch="topic") == "conflict"
        assert outcome(house, operation, branch="nowhere") == "not_found"
    assert house.branch() == main
    assert list(behind(house.ide)) == ["topic"]


def test_rivals_who_push_at_one_instant_lose_nothing_of_each_other() -> None:
    house = House({"db.latency": "20ms"})
    due: list[bool] = []

    def adding(line: str) -> Change:
        return lambda files: {PATH: f"{files[PATH]}{line}\n"}

    for k, line in enumerate(("# one", "# two"), 1):
        push_when(house.ide, f"rival/{k}", k, lambda: bool(due), adding(line), f"Say {line}")
    house.wait("5s")
    assert house.ide.history[house.branch()].tree[PATH].text == SHOP
    due.append(True)
    house.wait("5s")
    text = house.ide.history[house.branch()].tree[PATH].text
    assert sorted(text.removeprefix(SHOP).splitlines()) == ["# one", "# two"]
    assert outcome(house, "repo.push", branch="main", files={"N": ""}, message="N", on="x") == (
        "conflict"
    )
