"""The workshop with tools that answer something else than they declare."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from simharness.api import (
    Answer,
    Instance,
    Operation,
    Page,
    Row,
    Transaction,
    paged,
    store,
    tool,
    write_tool,
)
from tests.episode.workshop import Part, Shift, Workshop

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


@dataclass(frozen=True, slots=True, kw_only=True)
class Person(Row):
    """Somebody who may sign in."""


class Signed(Shift):
    """Sign the agent in as some row."""

    identity: ClassVar[Any] = 0

    def base_rows(self) -> Mapping[str, Sequence[Row]]:
        """Give the parts and one person."""
        return {**super().base_rows(), "people": [Person(id=1)]}

    def start(self, product: Workshop, instance: Instance) -> int:
        """Say who it is."""
        identity: int = self.identity
        return identity


class Present(Signed):
    """Sign the agent in as the person."""

    id = "careless/present"
    identity = 1


class Nobody(Signed):
    """Sign the agent in as nobody."""

    id = "careless/nobody"


class Absent(Signed):
    """Sign the agent in as a row that isn't there."""

    id = "careless/absent"
    identity = 99


class Forgotten(Signed):
    """Forget to say who it is."""

    id = "careless/forgotten"
    identity = None


class Careless(Workshop):
    """Each tool makes another slip."""

    name = "careless"
    scenarios: ClassVar = (Shift(), Present(), Nobody(), Absent(), Forgotten())  # type: ignore[assignment]
    people = store(Person, views=("auth",))
    parts = store(Part, views=("detail", "list"))

    @tool
    def other_object(self, op: Operation) -> Answer[Part]:
        """Answer some object."""
        yield from ()
        return {"x": 1}  # type: ignore[return-value]

    @write_tool
    def no_return(self, op: Operation) -> Answer[Part]:  # type: ignore[return]
        """Write, and answer nothing."""
        yield from self.parts.update(op, 3, {"label": "written"})

    @tool
    def wrong_page(self, op: Operation) -> Answer[Page[Part]]:
        """Answer a page of a table that isn't there."""
        yield from ()
        return paged("prats", (), 1)

    @tool
    def no_yield_from(self, op: Operation) -> Answer[Part]:
        """Answer the generator of a read."""
        yield from ()
        return self.parts.detail.read(op, 1)  # type: ignore[return-value]

    @write_tool
    def no_close(self, op: Operation) -> Answer[Part]:
        """Change a part, and keep its lock."""
        edit = yield from self.parts.edit(op, 3)
        tx = Transaction(op)
        edit.update(tx, {"label": "kept"})
        tx.commit()
        return self.parts.table.rows[3]

    @tool
    def as_declared(self, op: Operation) -> Answer[dict[str, Any]]:
        """Answer what is declared."""
        yield from ()
        return {"x": 1}
