"""Depots whose code asks the machine for the time."""

from __future__ import annotations

import time

import simharness.api as sh
from tests.validate.depot import Depot, Parcel, Recall


class Punctual(Depot):
    @sh.tool
    def get_parcel(self, op: sh.Operation, parcel_id: int) -> sh.Answer[Parcel]:
        """Read one parcel, and look at the clock."""
        time.time()
        return (yield from super().get_parcel(op, parcel_id))


class Clocked(Depot):
    """Reads the clock by a name that no reader of code sees."""

    @sh.tool
    def get_recall(self, op: sh.Operation, recall_id: int) -> sh.Answer[Recall]:
        """Read why a parcel was recalled, and look at the clock."""
        getattr(time, "mono" + "tonic")()
        return (yield from super().get_recall(op, recall_id))
