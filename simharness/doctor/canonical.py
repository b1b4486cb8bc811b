"""Any value as a text, so that equal values have equal texts in every process."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Set
from dataclasses import fields, is_dataclass
from typing import Any

DEPTH_MAX = 20
ADDRESS = re.compile(r"\bat 0x[0-9a-f]+")
ARRAY_SHOWN = 64
"""Elements of an array that are written out; of a larger one its digest is."""


def canonical(value: Any, ignored: frozenset[str] = frozenset(), depth: int = 0) -> str:
    """Write a value as text; `ignored` names keys that are left out wherever they stand.

    Texts that are JSON objects or arrays are read, so that keys in them can be left out too.
    """
    if depth > DEPTH_MAX:
        return "..."

    def inner(part: Any) -> str:
        return canonical(part, ignored, depth + 1)

    whole: Any = value  # what a pattern makes of it has no known parts
    match value:
        case None | bool() | int():
            return repr(value)
        case float():
            return repr(float(value))
        case str():
            return text_of(value, ignored, depth)
        case bytes() | bytearray():
            return f"bytes {hashlib.blake2b(value, digest_size=8).hexdigest()}"
        case Mapping():
            items = whole.items()
            kept = ((inner(k), inner(v)) for k, v in items if str(k) not in ignored)
            return "{" + ", ".join(f"{k}: {v}" for k, v in sorted(kept)) + "}"
        case list() | tuple():
            return "[" + ", ".join(map(inner, whole)) + "]"
        case Set():
            return "{" + ", ".join(sorted(map(inner, whole))) + "}"
        case _ if hasattr(value, "dtype") and hasattr(value, "tobytes"):
            return array_text(value)
        case _ if is_dataclass(value) and not isinstance(value, type):
            return inner({f.name: getattr(value, f.name) for f in fields(value)})
        case _ if callable(getattr(value, "model_dump", None)):
            return inner(value.model_dump())
        case _:
            return ADDRESS.sub("at ...", repr(value))


def text_of(text: str, ignored: frozenset[str], depth: int) -> str:
    """Write a text; one that is JSON as what it says, where keys are to be left out of it."""
    if ignored and text[:1] in ("{", "["):
        try:
            return canonical(json.loads(text), ignored, depth + 1)
        except ValueError:
            pass
    return json.dumps(text)


def array_text(value: Any) -> str:
    """Write an array of NumPy or the like, or a scalar of one."""
    if value.size > ARRAY_SHOWN:
        found = hashlib.blake2b(value.tobytes(), digest_size=8).hexdigest()
        return f"{value.dtype}{list(value.shape)} {found}"
    return f"{value.dtype}{list(value.shape)} {value.tolist()!r}"
