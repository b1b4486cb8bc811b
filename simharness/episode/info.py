"""What is true of this machine and this build: the INFO frame, outside every digest."""

from __future__ import annotations

import platform
import sys
from functools import lru_cache
from hashlib import blake2b
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING

from simharness import __version__
from simharness.recording.format import FrameType
from simharness.values import pack

if TYPE_CHECKING:
    from simharness.product.product import Product


@lru_cache(maxsize=64)
def sources(product: type[Product]) -> dict[str, str]:
    """Fingerprint the Python files beside a product's class: file name to blake2b-64."""
    file = getattr(sys.modules.get(product.__module__), "__file__", None)
    if file is None:
        return {}
    path = Path(file)
    files = sorted(path.parent.glob("*.py")) if (path.parent / "__init__.py").exists() else [path]
    return {f.name: blake2b(f.read_bytes(), digest_size=8).hexdigest() for f in files}


@lru_cache(maxsize=1)
def versions() -> dict[str, str]:
    """Give the versions of what a recording was made with."""
    out = {"python": platform.python_version(), "simharness": __version__, "platform": platform.platform()}
    for package in ("simpy", "numpy", "msgpack"):
        try:
            out[package] = version(package)
        except PackageNotFoundError:
            out[package] = "unknown"
    return out


@lru_cache(maxsize=256)
def info_payload(product: type[Product], policy: str) -> bytes:
    """Give the INFO frame of episodes of a product that a policy plays."""
    info = {**versions(), "policy": policy, "sources": dict(sources(product))}
    return pack([FrameType.INFO, info])
