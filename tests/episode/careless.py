"""The workshop with tools that answer something else than they declare."""

from __future__ import annotations

from typing import Any, ClassVar

from simharness.api import Answer, Operation, Page, paged, store, tool, write_tool
from tests.episode.workshop import Part, Shift, Workshop


class Careless(Workshop):
    """Each tool makes another slip."""

    name = "careless"
    scenarios: ClassVar = (Shift(),)
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

    @tool
    def as_declared(self, op: Operation) -> Answer[dict[str, Any]]:
        """Answer what is declared."""
        yield from ()
        return {"x": 1}
