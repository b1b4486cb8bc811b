"""The log of a server: a line of JSON for each event, on stderr."""

from __future__ import annotations

import json
import sys
import threading
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import TextIO


class Log:
    """Writes events, each by its time, its name and its fields."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = sys.stderr if stream is None else stream
        self._lock = threading.Lock()

    def __call__(self, event: str, fields: Mapping[str, Any]) -> None:
        """Write an event, from any thread."""
        now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        line = json.dumps({"time": now, "event": event, **fields}, default=str)
        with self._lock:
            try:
                self._stream.write(line + "\n")
                self._stream.flush()
            except (OSError, ValueError):  # nobody reads it any more, which stops no server
                return
