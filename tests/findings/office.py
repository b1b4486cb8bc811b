"""A small CRM in a world of its own, where three people work on one deal and all is known."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from simharness.api import Actor, Draws, Operation, Refused, Stream, World
from simharness.findings.linearizability import (
    Exchange,
    Kind,
    Request,
    RowHistory,
    Ruling,
    check,
    histories,
    row_model,
)
from simharness.kernel.journal import Decoder, Row
from simharness.models.crm.product import Crm
from simharness.models.crm.rules import MOVES, OPEN_STAGES
from simharness.models.crm.tables import Deal
from simharness.parts.row import row_type_of
from simharness.product.product import resolve_settings
from simharness.product.tool import Renderer

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence

    from simpy.events import Event


class Dice:
    """Draws one after the other."""

    def __init__(self, seed: int, name: str) -> None:
        self._stream = Stream(Draws(seed), name, 0)
        self._k = -1

    def below(self, bound: int) -> int:
        self._k += 1
        return self._stream.below(bound, "dice", self._k)

    def pick(self, options: Sequence[Any]) -> Any:
        return options[self.below(len(options))]


TRACKED = ("stage", "next_step", "amount")
DEAL = row_type_of(Deal)
ROOF = Deal(id=1, account_id=1, title="roof", stage="negotiation", lost_reason="price")
TABLES = {
    name: spec.template([ROOF] if name == "deals" else ()) for name, spec in Crm.specs().items()
}


def asks_get(arguments: Mapping[str, Any]) -> Request:
    return Request(kind=Kind.READ, key=arguments["deal_id"])


def asks_update(arguments: Mapping[str, Any]) -> Request:
    return Request(
        kind=Kind.UPDATE,
        key=arguments["deal_id"],
        changes=arguments["fields"],
        if_version=arguments.get("if_version"),
        requires={"stage": OPEN_STAGES},
    )


def asks_move(arguments: Mapping[str, Any]) -> Request:
    to = arguments["to_stage"]
    return Request(
        kind=Kind.UPDATE,
        key=arguments["deal_id"],
        changes={"stage": to},
        if_version=arguments.get("if_version"),
        requires={"stage": tuple(stage for stage, after in MOVES.items() if to in after)},
    )


TOOLS = {"get_deal": asks_get, "update_deal": asks_update, "move_stage": asks_move}


STAGES = ("qualification", "proposal", "negotiation", "closed_lost")


class Office:
    """Three people who read and change one deal, each one thing after the other; one is audited."""

    def __init__(self, seed: int, config: Mapping[str, object], *, lost: int = 0) -> None:
        waits = {"api.latency": ["1us", "4us"], "db.latency": ["1us", "9us"]}
        cache = {"deals.detail.cache.ttl": "1s", "put.latency": ["1us", "4us"]}
        knobs = resolve_settings(Crm, "bare", {**waits, **cache, **config})
        self.world = World(seed)
        self.crm = Crm(self.world, TABLES, knobs, 1_000)
        self.lost = lost
        """Answers out of a hundred that never reach their caller."""
        self.exchanges: list[Exchange] = []
        self._renderer = Renderer()
        for name in ("agent", "ben", "carla"):
            actor = Actor(self.world, name, 0, audited=name == "agent")
            self.world.spawn(name, self._live(actor, Dice(seed, name), 2 + seed % 5))
        self.world.advance_to(10_000)
        assert not self.world.alive
        self.rows = list(Decoder().decode_all(self.world.rows))

    def _live(self, actor: Actor, dice: Dice, ops: int) -> Generator[Event, Any, None]:
        known: int | None = None
        for n in range(1, ops + 1):
            yield self.world.pause(dice.below(16))
            given = dice.pick((known, None))
            tool = "get_deal"
            arguments: dict[str, Any] = {"deal_id": 1}
            match dice.below(8):
                case 0:
                    tool, arguments["to_stage"] = "move_stage", dice.pick(STAGES)
                case 1:
                    tool, arguments["fields"] = "update_deal", {"amount": dice.below(3)}
                case 2 | 3:
                    tool, arguments["fields"] = "update_deal", {"next_step": f"{actor.name} {n}"}
                case _:
                    pass
            if tool != "get_deal":
                arguments["if_version"] = given
            try:
                op = Operation(self.world, actor, n)
                answer = yield from self.crm.call(op, self.crm.tools[tool], arguments)
                value: Any = self._renderer.render(answer)
                ok = True
            except Refused as refusal:
                ok, value = False, refusal.value()
            if dice.below(100) < self.lost:
                ok, value = False, {"code": "unknown_outcome"}
            version: int | None = value.get("version", known)
            known = version
            self.exchanges.append(
                Exchange(owner=actor.name, n=n, tool=tool, arguments=arguments, ok=ok, value=value)
            )

    # --- what callers know ------------------------------------------------------------------------

    def history(self, exchanges: Iterable[Exchange] | None = None) -> RowHistory:
        known = self.exchanges if exchanges is None else exchanges
        return histories(self.rows, known, DEAL, "deals", TRACKED, TOOLS).get(1, [])

    def ruling(self, exchanges: Iterable[Exchange] | None = None) -> Ruling:
        start = DEAL.json(ROOF)
        return check(row_model(TRACKED, start), self.history(exchanges))

    # --- what is true -----------------------------------------------------------------------------

    def of(self, kind: str) -> list[Row]:
        return [row for row in self.rows if row.kind == kind]

    def stale(self) -> list[Row]:
        """Reads of anybody that were out of date when they were called."""
        return [row for row in self.of("READ") if row.values["served"] != row.values["true"]]

    def observable(self, stale: Row) -> bool:
        """Whether the reader was told an old version after somebody had been told a newer one."""
        began, _ = self.span(stale.values["owner"], stale.values["n"])
        mine = (stale.values["owner"], stale.values["n"])
        if any((e.owner, e.n) == mine and not e.ok for e in self.exchanges):
            return False
        return any(
            e.value.get("version", 0) > stale.values["served"]
            and self.span(e.owner, e.n)[1] < began
            for e in self.exchanges
        )

    def span(self, owner: str, n: int) -> tuple[int, int]:
        mine = [r.t for r in self.rows if (r.values.get("owner"), r.values.get("n")) == (owner, n)]
        return mine[0], mine[-1]

    def unchecked(self) -> list[Row]:
        """Commits of writes that rested on another version than the one that they replaced."""
        return [
            row
            for row, e in self.writes()
            if e.arguments["if_version"] not in (None, row.values["before"])
        ]

    def unguarded(self) -> list[Row]:
        """Commits of writes that the stage before them doesn't allow."""
        before = {c.order: c.old for c in self.crm.deals.table.changes}
        return [
            row
            for row, e in self.writes()
            if before[row.values["order"]].stage not in TOOLS[e.tool](e.arguments).requires["stage"]
        ]

    def overwriting(self) -> list[Row]:
        """Commits that changed tracked columns which their call doesn't name."""
        return [
            row
            for row, e in self.writes()
            if {DEAL.names[i] for i in row.values["delta"][::2]}
            & set(TRACKED) - set(TOOLS[e.tool](e.arguments).changes)
        ]

    def writes(self) -> Iterator[tuple[Row, Exchange]]:
        by_place = {(e.owner, e.n): e for e in self.exchanges}
        for row in self.of("COMMIT"):
            exchange = by_place[row.values["owner"], row.values["n"]]
            if exchange.ok:
                yield row, exchange
