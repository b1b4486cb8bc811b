"""Defects of answers, rules, goals and rewards, each planted for one test."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from benchmarks.planted_parts import every, original
from simharness.api import MILLION, SECOND, Actor, Criterion, Page, Refused, Scenario
from simharness.episode.episode import Episode
from simharness.kernel import journal
from simharness.models.crm.people import team
from simharness.models.crm.product import Crm
from simharness.models.crm.scenarios import negotiation
from simharness.models.crm.tools import deals
from simharness.parts.cache import Cache
from simharness.product.product import Product
from simharness.product.tool import BadArgument, Renderer, ToolSpec

if TYPE_CHECKING:
    from collections.abc import Callable

    import pytest

    from benchmarks.planted_parts import Plant, Steps


# --- answers --------------------------------------------------------------------------------------


def late(mode: str) -> Plant:
    """Answer calls whose time is up in another way than the knobs say, and soon."""

    def plant(patch: pytest.MonkeyPatch) -> None:
        answer = original(Episode, "_late")

        def lying(self: Episode, op: Any, call: Any, spec: ToolSpec, process: Any) -> Any:
            settings = original(self, "_settings")
            settings.values["api.on_timeout"] = mode
            return answer(self, op, call, spec, process)

        patch.setattr(Episode, "_late", lying)

    return plant


def page_cut(patch: pytest.MonkeyPatch) -> None:
    paged = original(deals, "paged")

    def cut(table: str, rows: Any, page: int) -> Page[Any]:
        whole: Page[Any] = paged(table, rows, page)
        return replace(whole, rows=whole.rows[:-1], next_page=None)

    patch.setattr(deals, "paged", cut)


def pages_overlap(patch: pytest.MonkeyPatch) -> None:
    paged = original(deals, "paged")

    def overlapping(table: str, rows: Any, page: int) -> Page[Any]:
        whole: Page[Any] = paged(table, rows, page)
        return replace(whole, rows=rows[(page - 1) * 19 : (page - 1) * 19 + 20])

    patch.setattr(deals, "paged", overlapping)


def traceback_shown(patch: pytest.MonkeyPatch) -> None:
    def shown(self: Refused) -> dict[str, Any]:
        text = 'Traceback (most recent call last):\n  File "/srv/crm/product.py", line 12, in call'
        return {"code": self.code, "message": f"{text}\n{self.message}", "retryable": False}

    patch.setattr(Refused, "value", shown)


def column_renamed(patch: pytest.MonkeyPatch) -> None:
    row_json = original(Renderer, "_row")
    count = 0

    def renamed(self: Renderer, row: Any) -> Any:
        nonlocal count
        count += 1
        shown = row_json(self, row)
        if count > 6 and "next_step" in shown:
            values = {("nextStep" if k == "next_step" else k): v for k, v in shown.items()}
            shown.clear()
            shown.update(values)
        return shown

    patch.setattr(Renderer, "_row", renamed)


def answered_twice(patch: pytest.MonkeyPatch) -> None:
    call = original(Product, "call")

    def twice(self: Product, op: Any, tool: ToolSpec, arguments: dict[str, Any]) -> Steps:
        steps: Steps = call(self, op, tool, arguments)
        answer = yield from steps
        number = self.world.numbers["ok"]
        self.world.emit((journal.RETURN, self.world.ticks, op.owner_number, op.n, number))
        return answer

    patch.setattr(Product, "call", twice)


def clock_set_back(patch: pytest.MonkeyPatch) -> None:
    call = original(Product, "call")
    due = every(20)

    def correcting(self: Product, op: Any, tool: ToolSpec, arguments: dict[str, Any]) -> Steps:
        if due():
            self.clocks["api"].step(-120 * SECOND)
        steps: Steps = call(self, op, tool, arguments)
        answer = yield from steps
        return answer

    patch.setattr(Product, "call", correcting)


def schema_changed(patch: pytest.MonkeyPatch) -> None:
    call = original(Product, "call")
    due = every(20)

    def changing(self: Product, op: Any, tool: ToolSpec, arguments: dict[str, Any]) -> Steps:
        if due():
            tools = {k: v for k, v in self.tools.items() if k != "pipeline_summary"}
            patch.setattr(self, "tools", tools, raising=False)
        steps: Steps = call(self, op, tool, arguments)
        answer = yield from steps
        return answer

    patch.setattr(Product, "call", changing)


def valid_refused(patch: pytest.MonkeyPatch) -> None:
    check = original(ToolSpec, "check")

    def narrow(self: ToolSpec, arguments: dict[str, object]) -> dict[str, Any]:
        if self.name == "wait":
            raise BadArgument("argument 'seconds' must be a string")
        checked: dict[str, Any] = check(self, arguments)
        return checked

    patch.setattr(ToolSpec, "check", narrow)


def invalid_taken(patch: pytest.MonkeyPatch) -> None:
    check = original(ToolSpec, "check")

    def wide(self: ToolSpec, arguments: dict[str, object]) -> dict[str, Any]:
        names = {p.name for p in self.parameters}
        known = {k: v for k, v in arguments.items() if k in names}
        checked: dict[str, Any] = check(self, known)
        return checked

    patch.setattr(ToolSpec, "check", wide)


# --- rules, goals and pay -------------------------------------------------------------------------


def rules_not_kept(patch: pytest.MonkeyPatch) -> None:
    def winnable(*_: Any) -> None:
        pass

    patch.setattr(Crm, "_require_winnable", winnable)


def goals(judge: Callable[..., tuple[Criterion, ...]]) -> Plant:
    """Judge by other criteria."""

    def plant(patch: pytest.MonkeyPatch) -> None:
        goal = original(negotiation.Negotiation, "goal")

        def judged(self: Any, product: Any, instance: Any, ending: Any) -> tuple[Criterion, ...]:
            return judge(goal(self, product, instance, ending), product, instance)

        patch.setattr(negotiation.Negotiation, "goal", judged)

    return plant


def by_cache(criteria: tuple[Criterion, ...], product: Any, instance: Any) -> tuple[Criterion, ...]:
    """Look at the deal through the cache that agents read through."""
    entry = product.deals.detail.cache.entries.get(instance["deal"])
    row = entry.value if entry is not None else product.deals.true(instance["deal"])
    return *criteria, Criterion("plan noted", row.next_step == "turn 12", f"v{row.version}")


def deaf_and_by_cache(patch: pytest.MonkeyPatch) -> None:
    def deaf(self: Cache, change: Any) -> None:
        pass

    patch.setattr(Cache, "_on_commit", deaf)
    goals(by_cache)(patch)


def judged_by_turns(patch: pytest.MonkeyPatch) -> None:
    """Judge one end as met and as missed, by turns."""
    liked = every(2)

    def moody(criteria: tuple[Criterion, ...], *_: Any) -> tuple[Criterion, ...]:
        return *criteria, Criterion("it is liked", liked(), "as it came")

    goals(moody)(patch)


def always_met(*_: Any) -> tuple[Criterion, ...]:
    return (Criterion("always", True, "there is nothing to do"),)


def blind_to_footprint(patch: pytest.MonkeyPatch) -> None:
    def blind(scenario: Any, product: Any, instance: Any, criteria: tuple[Criterion, ...]) -> int:
        goal = [c for c in criteria if c.role == "goal"]
        return MILLION if goal and all(c.holds for c in goal) else 0

    patch.setattr(Scenario, "pay", blind)


def others_work_paid(patch: pytest.MonkeyPatch) -> None:
    """Pay for the stage that the deal is in, whoever moved it, and let a colleague move it."""
    start = original(team, "start_team")

    def eager(product: Any, busy_deal: int) -> None:
        start(product, busy_deal)
        world = product.world

        def colleague() -> Steps:
            yield world.timer(100 * SECOND)
            actor = Actor(world, "user/eager", 1)
            yield from product.request(
                actor, "move_stage", deal_id=busy_deal, to_stage="qualification"
            )

        world.spawn("user/eager", colleague())

    def state_alone(
        criteria: tuple[Criterion, ...], product: Any, instance: Any
    ) -> tuple[Criterion, ...]:
        deal = product.deals.true(instance["deal"])
        key = f"deals:{deal.id}.stage"
        moved = deal.stage != "negotiation"
        return (Criterion("moved at all", moved, f"{key} is {deal.stage}", (key,)),)

    patch.setattr(negotiation, "start_team", eager)
    goals(state_alone)(patch)


def paid_by_chance(patch: pytest.MonkeyPatch) -> None:
    grade = original(Episode, "_grade")

    def other(self: Episode, *args: Any) -> int:
        reward: int = MILLION - grade(self, *args)
        return reward

    patch.setattr(Episode, "_grade", other)
