"""How far tests that search go: through seeds, examples and mutations.

The suite is run often and looks at few of each; `SIMHARNESS_EFFORT=10 pytest` looks at ten times as
many, which is the way to search for what a few would miss.
"""

from __future__ import annotations

import os

EFFORT = int(os.environ.get("SIMHARNESS_EFFORT", "1"))


def times(few: int) -> int:
    """Give a count that grows with the effort."""
    return few * EFFORT
