"""How often Python's garbage collector looks, while a process does nothing but run episodes.

An episode makes some hundred thousand objects that live until its end. With Python's own threshold
the collector looks at all of them again and again, which takes up to a fifth of the time, and finds
next to nothing. Seeds mean the same however often it looks: `selfcheck` holds that.
"""

from __future__ import annotations

import gc
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Generator

OBJECTS = 50_000
"""Objects made since the last look after which it looks: about 10 MB of them."""


@contextmanager
def seldom_collected() -> Generator[None]:
    """Let the collector look less often; a threshold that is higher, and 0 for never, stay."""
    before = gc.get_threshold()
    if 0 < before[0] < OBJECTS:
        gc.set_threshold(OBJECTS, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)
