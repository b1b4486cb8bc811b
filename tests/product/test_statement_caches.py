"""Caches in front of open transactions: refilled too early, and shared before the commit."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from simharness.api import SECOND, Operation
from simharness.findings.detect import harness_findings
from simharness.findings.story import StepSpan, tell
from simharness.kernel.journal import NAMES
from simharness.product.tool import Renderer
from tests.product.harbour import CACHED, begun, codes, do, found

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.product.conftest import Bench


def refilled(b: Bench) -> None:
    """Read a row between a statement and its commit, and after that."""
    b.write(1, stock=1)  # so that the statement's invalidation bears the order of this commit
    actor = begun(b)
    b.read(1)
    b.at(100)
    do(b, actor, "db.update", tx="t", table="items", id=1, fields={"stock": 7})
    b.at(200)
    b.read(1)
    b.at(300)
    do(b, actor, "db.commit", tx="t")
    b.at(400)
    b.read(1)


def test_a_refill_between_statement_and_commit_is_stale(bench: Callable[..., Bench]) -> None:
    b = bench({**CACHED, "items.detail.cache.invalidate": "on_statement"})
    refilled(b)
    (finding,) = found(b)
    assert finding.code == "H110", "the invalidation was carried out, too early"
    assert finding.evidence["age"] == 100
    assert finding.mechanism == "cache:items.detail"


def test_an_invalidation_at_the_commit_comes_in_time(bench: Callable[..., Bench]) -> None:
    b = bench(CACHED)
    refilled(b)
    assert codes(b) == []


SHARED = {**CACHED, "items.detail.cache.shared_in_tx": True}


def leaked(b: Bench, end: str) -> None:
    """Read an own write, let the agent read the row, then end."""
    actor = begun(b)
    do(b, actor, "db.update", tx="t", table="items", id=1, fields={"stock": 7})
    do(b, actor, "db.read", tx="t", view="items.detail", id=1)
    b.at(100)
    b.read(1)
    b.at(200)
    do(b, actor, end, tx="t")


@pytest.mark.parametrize("end", ["db.rollback", "db.commit"])
def test_a_value_served_before_its_commit_is_a_phantom(
    bench: Callable[..., Bench], end: str
) -> None:
    b = bench(SHARED)
    alarms = b.world.alarms
    leaked(b, end)
    (finding,) = found(b)
    assert finding.code == "H230"
    assert (finding.evidence["served"], finding.evidence["true"]) == (2, 1)
    assert finding.mechanism == "cache:items.detail"
    assert b.world.alarms > alarms, "a live verdict looks closer"


@pytest.mark.parametrize("end", ["db.rollback", "db.commit"])
def test_only_the_read_of_the_phantom_is_blamed(bench: Callable[..., Bench], end: str) -> None:
    b = bench({**SHARED, "items.detail.cache.ttl": "1s"})
    actor = begun(b)
    do(b, actor, "db.update", tx="t", table="items", id=1, fields={"stock": 7})
    do(b, actor, "db.read", tx="t", view="items.detail", id=1)
    spans = [asked(b, 1)]
    do(b, actor, end, tx="t")
    b.at(2 * SECOND)
    spans.append(asked(b, 2))
    assert [span.results[0][1]["stock"] for span in spans] == [7, 0 if end == "db.rollback" else 7]
    findings = harness_findings(tell(b.rows(*NAMES.values()), spans))
    assert [(f.code, f.step) for f in findings] == [("H230", 1)]


def asked(b: Bench, step: int) -> StepSpan:
    """Let the agent get item 1 as an episode does; gives what is known of the step."""
    first = len(b.world.rows)
    op = Operation(b.world, b.agent, step << 16)
    answer = b.run(b.shop.call(op, b.shop.tools["get_item"], {"item_id": 1}))
    told = (True, dict(Renderer().render(answer)))
    return StepSpan(
        step,
        first,
        0,
        ended=False,
        aborted=False,
        calls=(("get_item", '{"item_id": 1}'),),
        results=(told,),
    )


@pytest.mark.parametrize("end", ["db.rollback", "db.commit"])
def test_a_cache_apart_from_open_transactions_is_silent(
    bench: Callable[..., Bench], end: str
) -> None:
    b = bench(CACHED)
    leaked(b, end)
    assert codes(b) == []
    b.read(1)
    assert b.seen()[:2] == ((2, 2) if end == "db.commit" else (1, 1))
