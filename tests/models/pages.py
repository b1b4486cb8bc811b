"""What the page of a product tells, and what the code has to tell it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from simharness.parts.row import SYSTEM_COLUMNS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from simharness.product.product import Product

ROOT = Path(__file__).resolve().parents[2]

Cells = list[list[str]]


class PageOf:
    """The page of one product under docs."""

    def __init__(self, product: type[Product]) -> None:
        self.product = product
        self.text = (ROOT / "docs" / f"{product.name}.md").read_text(encoding="utf-8")

    def told(self, marker: str) -> Cells:
        """Give the cells of the table that follows a comment, its head left out."""
        after = self.text.partition(f"<!-- {marker} -->\n\n")[2]
        lines = after.partition("\n\n")[0].splitlines()[2:]
        return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]

    def section(self, head: str) -> str:
        """Give what is under a heading."""
        return self.text.partition(f"## {head}\n")[2].partition("\n## ")[0]

    def raised(self) -> set[str]:
        """Give the codes with which the product's own code refuses."""
        folder = ROOT / "models" / self.product.name
        text = "\n".join(path.read_text(encoding="utf-8") for path in sorted(folder.rglob("*.py")))
        return set(re.findall(r'Refused\(\s*"(\w+)"', text))

    def columns(self) -> set[str]:
        """Give the names of all columns."""
        return {column for spec in self.product.specs().values() for column in spec.row_type.names}


def ticked(names: str | tuple[str, ...]) -> str:
    return " ".join(f"`{name}`" for name in names) if isinstance(names, tuple) else f"`{names}`"


def own_columns(spec: Any) -> str:
    """Give the columns of a table that not every table has."""
    return ticked(tuple(c for c in spec.row_type.names if c not in SYSTEM_COLUMNS))


def tables(product: type[Product]) -> Cells:
    """Give all tables with their columns and those that are unique."""
    return [
        [ticked(name), own_columns(spec), ticked(spec.unique)]
        for name, spec in product.specs().items()
    ]


def knobs(own: Iterable[Any]) -> Cells:
    """Give knobs with their defaults."""
    return [[ticked(knob.key), str(knob.default), knob.doc] for knob in own]


def signature(name: str, spec: Any) -> str:
    """Give a tool or an operation with its arguments."""
    return f"`{name}({', '.join(p.name + '?' * (not p.required) for p in spec.parameters)})`"


def signatures(product: type[Product]) -> list[str]:
    """Give all tools with their arguments, sorted."""
    return sorted(signature(name, spec) for name, spec in product.tools.items() if not spec.local)
