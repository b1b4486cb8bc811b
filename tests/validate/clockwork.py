"""A depot whose code asks the machine for the time."""

from __future__ import annotations

import time

import simharness.api as sh
from tests.validate.depot import Depot, Parcel


class Punctual(Depot):
    @sh.tool
    def get_parcel(self, op: sh.Operation, parcel_id: int) -> sh.Answer[Parcel]:
        """Read one parcel, and look at the clock."""
        time.time()
        return (yield from super().get_parcel(op, parcel_id))
