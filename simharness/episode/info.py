"""What is true of this machine and this build: the INFO frame, outside every digest."""

from __future__ import annotations

import platform
import sys
from functools import lru_cache
from hashlib import blake2b
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from simharness import __version__
from simharness.recording.format import FrameType
from simharness.values import pack, unpack

if TYPE_CHECKING:
    from collections.abc import Mapping

    from simharness.product.product import Product


BROKE = "broke"
"""Field with the sentence that says how an episode broke that could not go on."""
PAYLOADS_MAX = 1024
"""Payloads that are kept; a server goes on for long, and may play one seed any number of times."""
EXTERNAL = "external"
"""Field with code and cause of what ended an episode from outside."""
# Plain dicts, because mypy doesn't take a class for the hashable that `lru_cache` wants.
_SOURCES: dict[type[Product], dict[str, str]] = {}
_PAYLOADS: dict[tuple[object, ...], bytes] = {}


def info_payload(
    product: type[Product], policy: str, more: Mapping[str, str | int] | None = None
) -> bytes:
    """Give the INFO frame of episodes of a product that a policy plays, with `more` fields."""
    key = (product, policy, *sorted((more or {}).items()))
    payload = _PAYLOADS.get(key)
    if payload is None:
        info = {**versions(), "policy": policy, "sources": sources(product), **(more or {})}
        payload = pack([FrameType.INFO, info])
        if BROKE not in info:
            if len(_PAYLOADS) >= PAYLOADS_MAX:
                _PAYLOADS.clear()
            _PAYLOADS[key] = payload
    return payload


def with_notes(payload: bytes, notes: Mapping[str, Any]) -> bytes:
    """Give an INFO frame with the fields of another one, if there is one, and with notes."""
    fields: dict[str, Any] = cast("list[Any]", unpack(payload))[1] if payload else {}
    return pack([FrameType.INFO, {**fields, **notes}])


def sources(product: type[Product]) -> dict[str, str]:
    """Fingerprint the Python files beside a product's class, once a process: name to blake2b-64."""
    found = _SOURCES.get(product)
    if found is None:
        files = {path.name: path.read_bytes() for path in source_files(product)}
        found = {name: blake2b(data, digest_size=8).hexdigest() for name, data in files.items()}
        _SOURCES[product] = found
    return found


def source_files(product: type[Product]) -> list[Path]:
    """List the Python files of a product's package, or the one file that it is."""
    file = getattr(sys.modules.get(product.__module__), "__file__", None)
    if file is None:
        return []
    path = Path(file)
    return sorted(path.parent.glob("*.py")) if (path.parent / "__init__.py").exists() else [path]


@lru_cache(maxsize=1)
def versions() -> dict[str, str]:
    """Give the versions of what a recording was made with."""
    out = {
        "python": platform.python_version(),
        "simharness": __version__,
        "platform": platform.platform(),
    }
    for package in ("simpy", "numpy", "msgpack"):
        try:
            out[package] = version(package)
        except PackageNotFoundError:
            out[package] = "unknown"
    return out
