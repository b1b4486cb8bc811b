"""`simharness list`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from simharness.cli.output import emit_json, table
from simharness.episode.plan import load_text
from simharness.episode.policies import TRANSCRIPT, policy_names, scripted
from simharness.errors import UnknownName, UsageError
from simharness.findings import taxonomy
from simharness.product.registry import load_product, load_scenario, product_names
from simharness.units import format_duration

if TYPE_CHECKING:
    from simharness.product.fault import Trigger
    from simharness.product.policy import Policy
    from simharness.product.product import Product

KINDS = ("products", "scenarios", "faults", "policies", "tools", "knobs", "codes")
COLUMNS_SHOWN = {"codes": 4, "scenarios": 3, "faults": 3}
"""How many columns the table shows, where JSON has more."""
SPLITS = ("train", "eval")


@click.command("list")
@click.argument("kind", type=click.Choice(KINDS), default="scenarios")
@click.argument("of", required=False, metavar="[PRODUCT|SCENARIO|PREFIX]")
@click.option("--json", "as_json", is_flag=True, help="Print as JSON.")
def command(kind: str, of: str | None, as_json: bool) -> int:
    """List what there is: of all products, or of one product or scenario; codes by their prefix."""
    head, rows = LISTS[kind](of)
    if not rows and not as_json:
        click.echo("none")
        return 0
    if as_json:
        emit_json([dict(zip(head, row, strict=True)) for row in rows])
    else:
        shown = COLUMNS_SHOWN.get(kind, len(head))
        table(head[:shown], [[first_line(cell) for cell in row[:shown]] for row in rows], indent="")
    return 0


def first_line(cell: Any) -> str:
    """Cut a cell to its first line."""
    return str(cell).partition("\n")[0]


def products(of: str | None) -> list[type[Product]]:
    """Give the products that are meant."""
    if of is None:
        return [load_product(name) for name in product_names()]
    if is_scenario(of):
        return [load_scenario(of)[0]]
    return [load_product(of)]


def is_scenario(of: str) -> bool:
    """Tell `product/slug` and `path.py:Class/slug` from a product; a path may hold slashes."""
    return "/" in of.rpartition(".py:")[2]


def list_products(of: str | None) -> tuple[tuple[str, ...], list[tuple[Any, ...]]]:
    """List products."""
    return ("id", "scenarios", "about"), [
        (p.name, len(p.scenarios), p.__doc__ or "") for p in products(of)
    ]


def list_scenarios(of: str | None) -> tuple[tuple[str, ...], list[tuple[Any, ...]]]:
    """List scenarios with what full reward means, the prompt of seed 0, the seeds of each split."""
    from simharness.episode.episode import Episode
    from simharness.episode.plan import Plan

    if of is not None and is_scenario(of):
        names = [(load_scenario(of)[0].name, of)]
    else:
        # A product given by path has its scenarios under that path.
        names = [
            (p.name, s.id if of is None or ".py:" not in of else f"{of}/{s.id.rpartition('/')[2]}")
            for p in products(of)
            for s in p.scenarios
        ]
    return ("id", "product", "about", "prompt_seed", "prompt", *SPLITS), [
        (
            name,
            product,
            load_scenario(name)[1].doc,
            0,
            Episode(Plan(scenario=name)).prompt,
            *splits(name),
        )
        for product, name in names
    ]


def splits(scenario: str) -> list[list[int]]:
    """Give first and end of the seeds of each split."""
    found = [load_scenario(scenario)[1].seeds_of(name) for name in SPLITS]
    return [[seeds.start, seeds.stop] for seeds in found]


def list_faults(of: str | None) -> tuple[tuple[str, ...], list[tuple[Any, ...]]]:
    """List faults, with the knobs that each sets and when it is in force."""
    return ("id", "seduces", "what is broken", "sets", "when"), [
        (f.id, f.seduces, f.doc, dict(f.knobs), when(f.trigger))
        for p in products(of)
        for f in p.faults
    ]


def when(trigger: Trigger) -> str:
    """Say when a fault is in force."""
    said: list[str] = []
    if trigger.start:
        said.append(f"from {format_duration(trigger.start)}")
    if trigger.until is not None:
        said.append(f"until {format_duration(trigger.until)}")
    if trigger.load_above is not None:
        said.append(f"at a load above {load_text(trigger.load_above)}")
    if trigger.queue_above is not None:
        view, length = trigger.queue_above
        said.append(f"once more than {length} invalidations of {view} wait")
    return " ".join(said) or "always"


def list_policies(of: str | None) -> tuple[tuple[str, ...], list[tuple[Any, ...]]]:
    """List the policies of a scenario, or of all."""
    if of is not None and is_scenario(of):
        _, scenario = load_scenario(of)
        found = [scenario]
    else:
        found = [s for p in products(of) for s in p.scenarios]
    return ("scenario", "policy", "about"), [
        *((s.id, name, about(scripted(name, s))) for s in found for name in policy_names(s)),
        *((s.id, TRANSCRIPT + "FILE", "the assistant's turns of a chat") for s in found),
    ]


def about(policy: Policy | None) -> str:
    """Give the first line of a policy's docstring."""
    return first_line((getattr(policy, "__doc__", "") or "").strip())


def list_tools(of: str | None) -> tuple[tuple[str, ...], list[tuple[Any, ...]]]:
    """List the tools of a product, which all its scenarios have."""
    if of is None:
        raise UsageError("list tools needs a product", "e.g. simharness list tools crm")
    (product,) = products(of)
    return ("tool", "arguments", "about"), [
        (t.name, ", ".join(p.name + ("" if p.required else "?") for p in t.parameters), t.doc)
        for t in product.tools.values()
    ]


def list_knobs(of: str | None) -> tuple[tuple[str, ...], list[tuple[Any, ...]]]:
    """List the knobs of a product, with the value of its production profile where it has one."""
    if of is None:
        raise UsageError("list knobs needs a product", "e.g. simharness list knobs crm")
    (product,) = products(of)
    production = product.profiles.get("production", {})
    return ("knob", "default", "production", "forms", "about"), [
        (k.key, k.default, production.get(k.key, ""), k.forms, k.doc)
        for k in product.knobs.values()
    ]


def list_codes(of: str | None) -> tuple[tuple[str, ...], list[tuple[Any, ...]]]:
    """List the codes of findings, or those that begin with a prefix. Raises UnknownName."""
    found = [code.record() for code in taxonomy.matching(of or "")]
    if not found:
        raise UnknownName.among("code", str(of), taxonomy.load())
    first = ("code", "slug", "class", "explanation")
    head = (*first, *(key for key in found[0] if key not in first))
    return head, [tuple(record[key] for key in head) for record in found]


LISTS = {
    "products": list_products,
    "scenarios": list_scenarios,
    "faults": list_faults,
    "policies": list_policies,
    "tools": list_tools,
    "knobs": list_knobs,
    "codes": list_codes,
}
