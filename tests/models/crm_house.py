"""A small CRM in a world of its own, and ways to call its tools as anybody."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from simharness.api import Actor, Operation, Refused, World
from simharness.models.crm import Crm
from simharness.models.crm.base import EPOCH
from simharness.models.crm.tables import Account, Contact, Deal, User
from simharness.product.product import resolve_settings

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping, Sequence

    from simharness.api import Row

REP, OTHER, ADMIN, GONE = 1, 2, 3, 4

ROWS: dict[str, Sequence[Row]] = {
    "users": [
        User(id=REP, full_name="Rep One"),
        User(id=OTHER, full_name="Rep Two"),
        User(id=ADMIN, full_name="Ada Min", role="admin"),
        User(id=GONE, full_name="Old Hand", active=False),
    ],
    "accounts": [
        Account(id=1, title="Alder Ltd", domain="alder.test", industry="retail", owner_id=REP),
        Account(id=2, title="Birch Ltd", domain="birch.test", owner_id=OTHER),
        Account(id=3, title="Cedar Ltd", domain="cedar.test"),
        Account(id=4, title="Dogwood Ltd", domain="dogwood.test", active=False),
    ],
    "contacts": [
        Contact(id=1, account_id=1, full_name="Lena Abel", email="lena@alder.test"),
        Contact(id=2, account_id=1, full_name="L. Abel", email="abel@alder.test"),
        Contact(id=3, account_id=2, full_name="Omar Costa", email="omar@birch.test"),
        Contact(id=4, account_id=1, full_name="Kaya Reyes", email="k@alder.test", status="left"),
        Contact(id=5, full_name="Lena A.", email="lena@home.test"),
    ],
    "deals": [
        Deal(id=1, account_id=1, title="Alder rollout", stage="negotiation", owner_id=REP,
             champion_id=1, legal="cleared"),
        Deal(id=2, account_id=1, title="Alder renewal", stage="closed_won", owner_id=GONE,
             champion_id=2, legal="cleared"),
        Deal(id=3, account_id=2, title="Birch pilot", next_step="call", owner_id=OTHER),
    ],
}  # fmt: skip


class House:
    """A CRM with four users, four accounts, five contacts and three deals."""

    def __init__(
        self,
        config: Mapping[str, object] | None = None,
        *,
        rows: Mapping[str, Sequence[Row]] = ROWS,
        profile: str = "bare",
        load: int = 0,
        seed: int = 1,
    ) -> None:
        self.world = World(seed, epoch=EPOCH)
        templates = {name: spec.template(rows.get(name, ())) for name, spec in Crm.specs().items()}
        settings = resolve_settings(Crm, profile, config or {})
        self.crm = Crm(self.world, templates, settings, load)
        self._started = 0

    def start(self, identity: int, tool: str, **arguments: Any) -> Any:
        """Start a call; the process ends with the answer or the refusal."""
        self._started += 1
        actor = Actor(self.world, f"caller/{self._started}", identity)
        return self.world.spawn(actor.name, self._called(actor, tool, arguments))

    def _called(
        self, actor: Actor, tool: str, arguments: dict[str, Any]
    ) -> Generator[Any, Any, Any]:
        spec = self.crm.tools[tool]
        try:
            op = Operation(self.world, actor, 1)
            return (yield from self.crm.call(op, spec, spec.check(arguments)))
        except Refused as refusal:
            return refusal

    def call(self, identity: int, tool: str, **arguments: Any) -> Any:
        """Call a tool as somebody and wait for the answer."""
        process = self.start(identity, tool, **arguments)
        assert self.world.drive(process, self.world.ticks + 1_000_000_000)
        return process.value

    def refused(self, identity: int, tool: str, **arguments: Any) -> Refused:
        """Call a tool that must refuse, and change nothing by it."""
        before = self.crm.digests()
        told = self.call(identity, tool, **arguments)
        assert isinstance(told, Refused), told
        assert self.crm.digests() == before
        return told

    def row(self, table: str, key: int) -> Any:
        """Give a committed row."""
        return self.crm.stores[table].table.rows.get(key)
