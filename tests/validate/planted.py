"""Depots with one thing wrong each; a name of the table in test_checks.py is a class here."""

from __future__ import annotations

import os
import socket
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import simharness.api as sh
from tests.validate.depot import Depot, Parcel, Pickup, Play, Recall, cope, expert

if TYPE_CHECKING:
    from collections.abc import Generator

PRODUCTION = Depot.profiles["production"]
HOARD: list[bytes] = []
"""What a leaking product keeps."""
NUMBERS = count()


def criterion(name: str, holds: bool, evidence: str = "parcels:1 was looked at") -> sh.Criterion:
    return sh.Criterion(name, holds, evidence)


# --- what is declared -----------------------------------------------------------------------------


class Undocumented(Depot):
    scenarios = (type("P", (Pickup,), {"doc": " "})(),)


class Harmless(Depot):
    """Its fault sets a knob to what the profile sets it to."""

    faults = (
        sh.Fault(id="depot.slow", doc="lists are old", knobs={"parcels.list.cache.ttl": "600s"}),
    )


class SharedSeeds(Depot):
    scenarios = (type("P", (Pickup,), {"eval": range(5, 50)})(),)


class NoTimeout(Depot):
    profiles: ClassVar[Any] = {"bare": {}, "production": {**PRODUCTION, "api.timeout": "0s"}}


class HalfAStep(Depot):
    scenarios = (type("P", (Pickup,), {"steps_max": 60.5})(),)


class NoSemantics(Depot):
    semantics = 0


# --- what is a function of the seed ---------------------------------------------------------------


class SeedDropped(Depot):
    class Same(Pickup):
        def draw(self, drawing: sh.Drawing) -> None:
            for name, value in {"parcel": 3, "arrives_after": 100, "shelf": 7, "recall": 0}.items():
                drawing.between(name, value, value)

    scenarios = (Same(),)


class Counting(Depot):
    def deliver(self, instance: sh.Instance) -> Generator[Any, Any, None]:
        op = sh.Operation(self.world, sh.Actor(self.world, "clerk", 0), 1)
        yield from self.parcels.update(op, 1, {"label": f"made {next(NUMBERS)}"})
        yield from super().deliver(instance)


class Hashed(Depot):
    """What a clerk writes differs from process to process, and not within one."""

    def deliver(self, instance: sh.Instance) -> Generator[Any, Any, None]:
        op = sh.Operation(self.world, sh.Actor(self.world, "clerk", 0), 1)
        yield from self.parcels.update(op, 1, {"label": f"made {hash('clerk')}"})
        yield from super().deliver(instance)


class Unordered(Depot):
    """What a tool answers, which the reference never calls, depends on the hash seed."""

    @sh.tool
    def get_days(self, op: sh.Operation) -> sh.Answer[dict[str, Any]]:
        """Tell when the depot is open."""
        yield self.database(op)
        return {"days": list({"mon", "tue", "wed", "thu", "fri", "sat"})}


class Singleton(Depot):
    """Its users do nothing once another world has been made."""

    current: ClassVar[Any] = None

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        type(self).current = self

    def look_around(self, actor: sh.Actor, draw: sh.Stream) -> Generator[Any, Any, None]:
        if self.current is not self:
            return
        yield from super().look_around(actor, draw)


# --- what is told and paid ------------------------------------------------------------------------


class Generous(Depot):
    def generous(self, ending: sh.Ending) -> int:
        met = all(c.holds for c in self.scenarios[0].goal(self, self.instance, ending))
        return sh.MILLION * 3 // 2 if met else 0

    class Noted(Pickup):
        def people(self, product: Depot, instance: sh.Instance) -> None:
            product.instance = instance  # type: ignore[attr-defined]
            super().people(product, instance)

    profiles: ClassVar[Any] = {"bare": {}, "production": {**PRODUCTION, "reward.mode": "generous"}}
    reward_modes: ClassVar[Any] = {"generous": generous}
    scenarios = (Noted(),)
    instance: Any


class Forgetful(Depot):
    @sh.tool
    def show_recall(self, op: sh.Operation, recall_id: int) -> sh.Answer[Recall]:
        """Read a recall, and forget to return it."""
        yield from self.recalls.detail.read(op, recall_id)
        return None  # type: ignore[return-value]


class Mislabelled(Depot):
    """Publishes another schema than it checks by."""


LABEL = Mislabelled.tools["label_parcel"]
Mislabelled.tools["label_parcel"] = replace(
    LABEL,
    parameters=tuple(
        replace(p, schema={"type": "integer"}) if p.name == "label" else p for p in LABEL.parameters
    ),
)


class Picky(Depot):
    @sh.tool
    def list_parcels(
        self, op: sh.Operation, page: Annotated[int, sh.Bounds(1, 10)] = 1
    ) -> sh.Answer[sh.Page[Parcel]]:
        """List all parcels, and call some pages malformed that the schema allows."""
        if page > 9:
            raise sh.Refused("invalid_arguments", "page is too high")
        return (yield from super().list_parcels(op, page))


class Brittle(Depot):
    @sh.tool
    def list_parcels(
        self, op: sh.Operation, page: Annotated[int, sh.Bounds(1, 1000)] = 1
    ) -> sh.Answer[sh.Page[Parcel]]:
        """List all parcels, and break on the last page that the schema allows."""
        assert page != 1000
        return (yield from super().list_parcels(op, page))


class Nameless(Depot):
    @sh.tool
    def get_recall(self, op: sh.Operation, recall_id: int) -> sh.Answer[Recall]:
        """Read why a parcel was recalled, and refuse without a word."""
        row = yield from self.recalls.detail.read(op, recall_id)
        if row is None:
            raise sh.Refused("", "")
        return row


class Unfilled(Depot):
    class Braces(Pickup):
        def prompt(self, instance: sh.Instance) -> str:
            return super().prompt(instance) + " Ask {clerk} otherwise."

    scenarios = (Braces(),)


class Misdirecting(Depot):
    class Elsewhere(Pickup):
        def prompt(self, instance: sh.Instance) -> str:
            return super().prompt(instance) + " Then call close_depot and finish."

    scenarios = (Elsewhere(),)


# --- what must not get out or in ------------------------------------------------------------------


class Forecasting(Depot):
    class Noted(Pickup):
        def people(self, product: Depot, instance: sh.Instance) -> None:
            product.due = int(instance["arrives_after"])  # type: ignore[attr-defined]
            super().people(product, instance)

    scenarios = (Noted(),)
    due = 0

    @sh.tool
    def get_forecast(self, op: sh.Operation) -> sh.Answer[dict[str, Any]]:
        """Tell what nobody can know yet."""
        yield self.database(op)
        return {"arrives_in": self.due}


class Foretelling(Depot):
    """The same by a tool that isn't called as if it read."""

    scenarios = (Forecasting.Noted(),)
    due = 0

    @sh.local_tool
    def opening_hours(self, op: sh.Operation) -> sh.Answer[dict[str, Any]]:
        """Tell what nobody can know yet."""
        yield from ()
        return {"arrives_in": self.due}


class Filing(Depot):
    @sh.tool
    def get_parcel(self, op: sh.Operation, parcel_id: int) -> sh.Answer[Parcel]:
        """Read one parcel, and a file."""
        Path(__file__).read_bytes()
        return (yield from super().get_parcel(op, parcel_id))


class Calling(Depot):
    @sh.tool
    def get_parcel(self, op: sh.Operation, parcel_id: int) -> sh.Answer[Parcel]:
        """Read one parcel, and take a socket."""
        socket.socket().close()
        return (yield from super().get_parcel(op, parcel_id))


class Hoarding(Depot):
    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        HOARD.append(b"x" * (12 << 20))


class Swallowing(Depot):
    def call(self, op: sh.Operation, tool: sh.ToolSpec, arguments: dict[str, Any]) -> Any:
        answer: dict[str, Any] = {}
        try:
            answer = yield from super().call(op, tool, arguments)
        except sh.Refused:
            raise
        except Exception:
            pass
        return answer


class Telling(Depot):
    class Generous(Pickup):
        def brief(self, instance: sh.Instance) -> dict[str, Any]:
            return {**super().brief(instance), "shelf": instance["shelf"]}

    scenarios = (Generous(),)


# --- the world ------------------------------------------------------------------------------------


class StaleLists(Depot):
    profiles: ClassVar[Any] = {
        "bare": {},
        "production": {**PRODUCTION, "parcels.list.cache.invalidate": "never"},
    }


class Lonely(Depot):
    scenarios = (type("P", (Pickup,), {"team": 3})(),)


class Uniform(Depot):
    class OneRoad(Pickup):
        def draw(self, drawing: sh.Drawing) -> None:
            drawing.between("parcel", 1, 12)
            for name, value in {"arrives_after": 100, "shelf": 7, "recall": 0}.items():
                drawing.between(name, value, value)

    scenarios = (OneRoad(),)


# --- the goal -------------------------------------------------------------------------------------


class Goal(Pickup):
    """Adds criteria to the goal, or accepts more."""

    def more(self, product: Any, ending: sh.Ending) -> tuple[sh.Criterion, ...]:
        return ()

    def or_else(self, product: Any, ending: sh.Ending, instance: sh.Instance) -> bool:
        return False

    def goal(
        self, product: Any, instance: sh.Instance, ending: sh.Ending
    ) -> tuple[sh.Criterion, ...]:
        if self.or_else(product, ending, instance):
            return (criterion("good enough", holds=True),)
        return (*super().goal(product, instance, ending), *self.more(product, ending))


class Vague(Depot):
    class Rowless(Goal):
        def more(self, product: Any, ending: sh.Ending) -> tuple[sh.Criterion, ...]:
            rows = product.parcels.table.rows.values()
            moved = any(row.status != "under way" for row in rows)
            return (criterion("something happened", moved, "or not"),)

    scenarios = (Rowless(),)


class Namesakes(Depot):
    class Twice(Goal):
        def more(self, product: Any, ending: sh.Ending) -> tuple[sh.Criterion, ...]:
            return (criterion("seen to", holds=True),)

    scenarios = (Twice(),)


class DoneAlready(Depot):
    class AtOnce(Goal):
        def or_else(self, product: Any, ending: sh.Ending, instance: sh.Instance) -> bool:
            return ending.outcome == "handed_over" and product.world.ticks == 0

    scenarios = (AtOnce(),)


class Moody(Depot):
    class Thrice(Goal):
        def more(self, product: Any, ending: sh.Ending) -> tuple[sh.Criterion, ...]:
            product.asked = getattr(product, "asked", 0) + 1
            return (criterion("not asked too often", product.asked < 4),)

    scenarios = (Thrice(),)


class Homesick(Depot):
    class Local(Goal):
        def more(self, product: Any, ending: sh.Ending) -> tuple[sh.Criterion, ...]:
            return (criterion("at home", "NZ" not in os.environ.get("TZ", "")),)

    scenarios = (Local(),)


# --- the reference, and everybody else ------------------------------------------------------------


class Demanding(Depot):
    class More(Goal):
        def more(self, product: Any, ending: sh.Ending) -> tuple[sh.Criterion, ...]:
            return (criterion("thanked", "thanks" in ending.message),)

    scenarios = (More(),)


class FirstWish(Depot):
    class Alone(Goal):
        def more(self, product: Any, ending: sh.Ending) -> tuple[sh.Criterion, ...]:
            labels = [row.label for row in product.parcels.table]
            return (criterion("nobody else was at it", not any(labels)),)

    scenarios = (Alone(),)


def in_time(task: sh.Task) -> Play:
    """Give up where somebody else has acted before."""
    play = expert(task)
    told = yield next(play)
    if told.t > "2026-03-02T09:00:10":
        return
    while True:
        try:
            told = yield play.send(told)
        except StopIteration:
            return


class Fragile(Depot):
    scenarios = (type("P", (Pickup,), {"policies": {"expert": in_time, "cope": cope}})(),)


class Tight(Depot):
    scenarios = (type("P", (Pickup,), {"steps_max": 10})(),)


class Polite(Depot):
    class Excused(Goal):
        def or_else(self, product: Any, ending: sh.Ending, instance: sh.Instance) -> bool:
            return "can't help" in ending.message

    scenarios = (Excused(),)


class Gullible(Depot):
    class Loud(Goal):
        def or_else(self, product: Any, ending: sh.Ending, instance: sh.Instance) -> bool:
            return "Shouted" in ending.message

    scenarios = (Loud(),)


class Wordy(Depot):
    class Told(Goal):
        def or_else(self, product: Any, ending: sh.Ending, instance: sh.Instance) -> bool:
            return "Handed over" in ending.message

    scenarios = (Told(),)


class Parroted(Depot):
    class Heard(Goal):
        def or_else(self, product: Any, ending: sh.Ending, instance: sh.Instance) -> bool:
            return self.prompt(instance) in ending.message

    scenarios = (Heard(),)


class Mirrorless(Depot):
    class Blind(Goal):
        def or_else(self, product: Any, ending: sh.Ending, instance: sh.Instance) -> bool:
            recalled = 1 <= int(instance["recall"]) <= 3
            return recalled and ending.outcome == "refused" and bool(ending.refs)

    scenarios = (Blind(),)


class Openhanded(Depot):
    class Anybody(Goal):
        def or_else(self, product: Any, ending: sh.Ending, instance: sh.Instance) -> bool:
            return bool(product.world.ticks)

    scenarios = (Anybody(),)


class Forgiving(Depot):
    """Whatever else is done to parcels doesn't matter."""

    class Anything(Pickup):
        def goal(
            self, product: Any, instance: sh.Instance, ending: sh.Ending
        ) -> tuple[sh.Criterion, ...]:
            return super().goal(product, instance, ending)[:1]

    scenarios = (Anything(),)


class Mortal(Depot):
    """Its courier dies on the way."""

    def deliver(self, instance: sh.Instance) -> Generator[Any, Any, None]:
        yield from super().deliver(instance)
        raise ValueError("the van is empty")


class Meddling(Depot):
    class Writing(Goal):
        def more(self, product: Any, ending: sh.Ending) -> tuple[sh.Criterion, ...]:
            table = product.parcels.table
            table.start_with(table.row_type.evolve(table.rows[1], {"label": "judged"}))
            return ()

    scenarios = (Writing(),)


class Shapeless(Depot):
    """Answers without the fields that its reference reads."""

    @sh.tool
    def get_parcel(self, op: sh.Operation, parcel_id: int) -> sh.Answer[Parcel]:
        """Read one parcel, and tell its id alone."""
        row = yield from super().get_parcel(op, parcel_id)
        return {"id": row.id}  # type: ignore[return-value]


class Broken(Depot):
    class Halved(Pickup):
        def people(self, product: Depot, instance: sh.Instance) -> None:
            users = sh.scaled(self.team, product.load)
            product.load = users // (users - users)

    scenarios = (Halved(),)
