"""A file imports only from its own layer or from an earlier one."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parent.parent

LAYERS: tuple[tuple[str, ...], ...] = (
    ("errors", "extras", "memory", "units", "values"),
    ("kernel",),
    ("sandbox",),
    ("parts",),
    ("product",),
    # What product authors import. It re-exports the layers before it and holds no code of its own.
    ("api",),
    ("chat",),
    ("recording",),
    ("findings",),
    ("episode",),
    ("blame",),
    ("env",),
    ("lint",),
    ("reports",),
    ("rollout",),
    ("selfcheck",),
    ("validate",),
    ("doctor",),
    ("review",),
    ("exporters",),
    ("adapters",),
    ("cli", "__main__"),
    # The products come last: nothing in the package may name one.
    ("models",),
)
RANKS = {name: rank for rank, names in enumerate(LAYERS) for name in names}

# `simharness/__init__.py` re-exports from every layer, lazily, so it is not checked; and whoever
# imports it can reach every layer, so to import it is to import the last layer of the package.
FRONT_DOOR = "cli"
# These stand in `simharness/__init__.py` itself.
FREE_NAMES = frozenset({"__version__"})
DYNAMIC_IMPORTS = frozenset({"import_module", "__import__"})


def imported_names(tree: ast.AST, package: tuple[str, ...]) -> Iterator[tuple[int, str]]:
    """Yield the line and the dotted name of each import, wherever in the file it stands."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            parts = (*base, *(node.module.split(".") if node.module else ()))
            for alias in node.names:
                yield node.lineno, ".".join((*parts, alias.name))
        elif isinstance(node, ast.Call):
            called = node.func.attr if isinstance(node.func, ast.Attribute) else None
            called = node.func.id if isinstance(node.func, ast.Name) else called
            match node.args:
                case [ast.Constant(value=str(name)), *_] if called in DYNAMIC_IMPORTS:
                    yield node.lineno, name
                case _:
                    pass


def layer_of(dotted: str) -> str | None:
    """Name the layer that an import reaches; None for what lies outside the package."""
    top, _, rest = dotted.partition(".")
    if top != "simharness":
        return None
    name = rest.split(".")[0]
    if name in FREE_NAMES:
        return None
    return name if name in RANKS else FRONT_DOOR


def source_files(package: Path) -> list[Path]:
    """List the package's own files; `models` is a link to the products, which have other rules."""
    return sorted(
        path
        for path in package.rglob("*.py")
        if path.relative_to(package).parts[0] != "models" and path != package / "__init__.py"
    )


def layer_faults(package: Path) -> list[str]:
    """Describe each file that is in no layer and each import that points upward."""
    faults: list[str] = []
    for path in source_files(package):
        relative = path.relative_to(package)
        shown = f"simharness/{relative.as_posix()}"
        own = relative.with_suffix("").parts[0]
        if own not in RANKS:
            faults.append(
                f"{shown} is in no layer: put {own!r} into LAYERS in tests/test_layers.py, "
                "after the last layer that it imports"
            )
            continue
        tree = ast.parse(path.read_text(encoding="utf-8"), filename=shown)
        for line, dotted in imported_names(tree, ("simharness", *relative.parts[:-1])):
            layer = layer_of(dotted)
            if layer is not None and RANKS[layer] > RANKS[own]:
                faults.append(f"{shown}:{line} imports {dotted}: {own!r} comes before {layer!r}")
    return faults


def plant(root: Path, files: dict[str, str]) -> Path:
    package = root / "simharness"
    for name, text in {"__init__.py": "", **files}.items():
        path = package / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return package


def test_every_import_points_to_its_own_layer_or_an_earlier_one() -> None:
    package = ROOT / "simharness"
    assert source_files(package)
    assert layer_faults(package) == []


@pytest.mark.parametrize(
    ("text", "reached"),
    [
        ("import simharness.blame.gate", "blame"),
        ("from simharness.blame import gate", "blame"),
        ("from simharness import blame", "blame"),
        ("from ..blame.gate import Gate", "blame"),
        ("from .. import blame", "blame"),
        ("def f():\n    from simharness.env import Env", "env"),
        ("if TYPE_CHECKING:\n    from simharness.env import Env", "env"),
        ("import_module('simharness.env')", "env"),
        ("importlib.import_module('simharness.env')", "env"),
        ("import simharness as sh", "cli"),
        ("from simharness import make", "cli"),
        ("from simharness.models.crm import Crm", "models"),
    ],
)
def test_a_planted_upward_import_is_caught(tmp_path: Path, text: str, reached: str) -> None:
    package = plant(tmp_path, {"parts/__init__.py": "", "parts/cache.py": text})
    (fault,) = layer_faults(package)
    assert fault.startswith("simharness/parts/cache.py:")
    assert fault.endswith(f"'parts' comes before {reached!r}")


@pytest.mark.parametrize(
    "text",
    [
        "import json",
        "from . import table",
        "from .table import Table",
        "from ..kernel.world import World",
        "from simharness import __version__",
        "from simharness.errors import UsageError",
        "import simharnessed.blame",
    ],
)
def test_a_sideways_or_downward_import_is_allowed(tmp_path: Path, text: str) -> None:
    assert layer_faults(plant(tmp_path, {"parts/cache.py": text})) == []


def test_an_unlisted_module_is_told_where_to_go(tmp_path: Path) -> None:
    package = plant(tmp_path, {"gadgets/wheel.py": "", "stray.py": ""})
    first, second = layer_faults(package)
    assert first.startswith("simharness/gadgets/wheel.py is in no layer: put 'gadgets' into LAYERS")
    assert second.startswith("simharness/stray.py is in no layer: put 'stray' into LAYERS")


def test_the_front_door_and_the_models_are_not_layers(tmp_path: Path) -> None:
    package = plant(tmp_path, {"models/shop.py": "import simharness"})
    (package / "__init__.py").write_text("from simharness.cli import main", encoding="utf-8")
    assert layer_faults(package) == []
