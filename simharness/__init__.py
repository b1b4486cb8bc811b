"""A deterministic simulation harness for agents that learn in mock products.

Public names are loaded when they are first used, so that `simharness --help` starts without NumPy
and SimPy.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

__version__ = "0.1.0.dev0"

if TYPE_CHECKING:
    from simharness.blame.verdict import Verdict as Verdict
    from simharness.env import Env as Env
    from simharness.env import Outcome as Outcome
    from simharness.env import Reset as Reset
    from simharness.env import Step as Step
    from simharness.env import audit as audit
    from simharness.env import make as make
    from simharness.env import replay as replay
    from simharness.env import run as run
    from simharness.errors import ContractBreach as ContractBreach
    from simharness.errors import Divergence as Divergence
    from simharness.errors import ForbiddenCall as ForbiddenCall
    from simharness.errors import HarnessError as HarnessError
    from simharness.errors import RecordingError as RecordingError
    from simharness.errors import SimharnessError as SimharnessError
    from simharness.errors import UnknownName as UnknownName
    from simharness.errors import UsageError as UsageError
    from simharness.errors import VersionError as VersionError
    from simharness.product.policy import Call as Call
    from simharness.product.policy import Observation as Observation
    from simharness.product.product import Product as Product

_PUBLIC = {
    "Call": "simharness.product.policy",
    "ContractBreach": "simharness.errors",
    "Divergence": "simharness.errors",
    "Env": "simharness.env",
    "ForbiddenCall": "simharness.errors",
    "HarnessError": "simharness.errors",
    "Observation": "simharness.product.policy",
    "Outcome": "simharness.env",
    "Product": "simharness.product.product",
    "RecordingError": "simharness.errors",
    "Reset": "simharness.env",
    "SimharnessError": "simharness.errors",
    "Step": "simharness.env",
    "UnknownName": "simharness.errors",
    "UsageError": "simharness.errors",
    "Verdict": "simharness.blame.verdict",
    "VersionError": "simharness.errors",
    "audit": "simharness.env",
    "make": "simharness.env",
    "replay": "simharness.env",
    "run": "simharness.env",
}

__all__ = [
    "Call",
    "ContractBreach",
    "Divergence",
    "Env",
    "ForbiddenCall",
    "HarnessError",
    "Observation",
    "Outcome",
    "Product",
    "RecordingError",
    "Reset",
    "SimharnessError",
    "Step",
    "UnknownName",
    "UsageError",
    "Verdict",
    "VersionError",
    "__version__",
    "audit",
    "make",
    "replay",
    "run",
]


def __getattr__(name: str) -> object:
    """Import a public name (PEP 562). Raises AttributeError for any other."""
    module = _PUBLIC.get(name)
    if module is None:
        raise AttributeError(f"module 'simharness' has no attribute {name!r}")
    value: object = getattr(importlib.import_module(module), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
