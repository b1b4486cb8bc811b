"""What all episodes of a scenario start from, built once a process and never written to."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from simharness.values import digest_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from simharness.parts.table import Template
    from simharness.product.product import Product
    from simharness.product.scenario import Scenario
    from simharness.product.tool import ToolSpec


def schemas_digest(tools: Mapping[str, ToolSpec]) -> str:
    """Digest the published schemas of all tools; known tools are digested once a process."""
    key = tuple(tools.items())
    found = _SCHEMAS.get(key)
    if found is None:
        text = json.dumps([tool.schema for tool in tools.values()], sort_keys=True)
        found = _SCHEMAS[key] = digest_of(text)
    return found


_SCHEMAS: dict[tuple[tuple[str, ToolSpec], ...], str] = {}

_TEMPLATES: dict[tuple[type[Product], str], dict[str, Template[Any]]] = {}


def templates(product: type[Product], scenario: Scenario[Any]) -> dict[str, Template[Any]]:
    """Give a scenario's start tables, built once a process; worlds share and never change them."""
    key = (product, scenario.id)
    held = _TEMPLATES.get(key)
    if held is None:
        rows = scenario.base_rows()
        held = {name: spec.template(rows.get(name, ())) for name, spec in product.specs().items()}
        _TEMPLATES[key] = held
    return held
