"""Where products come from.

This package's own, entry points of group `simharness.models`, and `path.py:Class`.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any

from simharness.errors import ForbiddenCall, UnknownName, UsageError
from simharness.kernel import guard
from simharness.product.product import Product
from simharness.product.script import SLUG, Scripted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from simharness.product.scenario import Scenario

GROUP = "simharness.models"
OWN = {
    "crm": "simharness.models.crm:Crm",
    "helpdesk": "simharness.models.helpdesk:Helpdesk",
    "ide": "simharness.models.ide:Ide",
    "marketplace": "simharness.models.marketplace:Marketplace",
}
"""Products of this package; the folder models/ holds them."""
SCRIPTED = Scripted()
"""What every product has besides: it plays scripts."""


def product_names() -> list[str]:
    """Name the products that can be loaded by name."""
    return sorted({*OWN, *(name for name, _ in _entry_points())})


def load_product(name: str) -> type[Product]:
    """Load a product by name or by `path.py:Class`. Raises UnknownName or UsageError."""
    if ".py:" in name:
        return _from_path(name)
    target = OWN.get(name)
    if target is None:
        for known, value in _entry_points():
            if known == name:
                target = value
    if target is None:
        error = UnknownName.among("product", name, product_names())
        raise UnknownName(f"{error.message}", error.hint)
    module_name, _, attribute = target.partition(":")
    try:
        if module_name in sys.modules:
            found = getattr(sys.modules[module_name], attribute)
        else:
            with guard.importing(_folder_of(module_name)):
                found = getattr(importlib.import_module(module_name), attribute)
    except (ImportError, AttributeError) as error:
        raise UsageError(
            f"product {name!r} can't be loaded from {target!r}: {error}",
            "reinstall the package that offers it",
        ) from error
    return _checked(found, name)


def load_scenario(text: str) -> tuple[type[Product], Scenario[Any]]:
    """Load a scenario by `product/slug` or `path.py:Class/slug`.

    Raises UnknownName or UsageError.
    """
    head, slash, slug = text.rpartition("/")
    if not slash or not head or not slug or slug.endswith(".py"):
        raise UsageError(
            f"scenario {text!r} is not readable", "give product/slug or path.py:Class/slug"
        )
    if ".py:" in slug:
        raise UsageError(f"scenario {text!r} names no scenario", f"give {text}/slug")
    product = load_product(head)
    if slug == SLUG:
        return product, SCRIPTED
    for scenario in product.scenarios:
        if scenario.id.rpartition("/")[2] == slug:
            return product, scenario
    raise UnknownName.among(
        f"scenario of {product.name}", slug, (s.id.rpartition("/")[2] for s in product.scenarios)
    )


def _entry_points() -> list[tuple[str, str]]:
    from importlib.metadata import (
        entry_points,
    )  # slow to import, and most runs need only our own products

    return [(point.name, point.value) for point in entry_points(group=GROUP)]


def _folder_of(module_name: str) -> Path:
    """Give where the code of a product lies: the package around its module, or its only file."""
    top, _, below = module_name.partition(".")
    spec = importlib.util.find_spec(top)
    if spec is None or spec.origin is None:
        raise ImportError(f"no module named {top!r}")
    if spec.submodule_search_locations is None:
        return Path(spec.origin)
    return Path(spec.origin).parent.joinpath(*below.split(".")[:-1])


def _from_path(text: str) -> type[Product]:
    file_name, _, attribute = text.rpartition(":")
    path = Path(file_name)
    if not path.is_file():
        raise UsageError(
            f"no file {file_name!r}", "give path.py:Class with a path from the current folder"
        )
    full = path.resolve()
    module_name = "simharness_product_" + blake2b(str(full).encode(), digest_size=6).hexdigest()
    module = sys.modules.get(module_name)
    if module is None:
        spec = importlib.util.spec_from_file_location(module_name, full)
        if spec is None or spec.loader is None:
            raise UsageError(f"file {file_name!r} can't be imported", "give a Python source file")
        module = importlib.util.module_from_spec(spec)
        sys.modules[module_name] = module
        try:
            with guard.importing(full):
                spec.loader.exec_module(module)
        except ForbiddenCall:
            del sys.modules[module_name]
            raise
        except (Exception, SystemExit) as error:
            del sys.modules[module_name]
            raise UsageError(
                f"file {file_name!r} can't be imported: {type(error).__name__}: {error}",
                "run it with python first",
            ) from error
    if not hasattr(module, attribute):
        raise UnknownName.among(f"class in {file_name}", attribute, _product_classes(module))
    return _checked(getattr(module, attribute), text)


def _product_classes(module: object) -> Iterator[str]:
    for name, value in vars(module).items():
        if isinstance(value, type) and issubclass(value, Product):
            yield name


def _checked(found: object, name: str) -> type[Product]:
    if not (isinstance(found, type) and issubclass(found, Product)):
        raise UsageError(f"{name!r} is no product", "a product is a subclass of simharness.Product")
    if not found.name:
        raise UsageError(
            f"product class {found.__name__} has no name", "set its class attribute `name`"
        )
    return found
