"""A disk that has room for some bytes of each file only."""

from __future__ import annotations

import errno
from io import FileIO
from typing import Any


class FullDisk(FileIO):
    """A file on such a disk."""

    room = 30_000

    def write(self, data: Any) -> int:
        """Write what there is room for."""
        left = self.room - self.tell()
        if left <= 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        return super().write(data[:left])
