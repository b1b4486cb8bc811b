"""How the marketplace's policies ask, try, wait and give up: as those of all products."""

from __future__ import annotations

from simharness.api import asking

BUSY_SECONDS, SETTLE_SECONDS = asking.BUSY_SECONDS, asking.SETTLE_SECONDS
READS = asking.READS

Play = asking.Play
Part = asking.Part
Impatient = asking.Impatient

read, read_pages = asking.read, asking.read_pages
tried, unknown, retry_after = asking.tried, asking.unknown, asking.retry_after
wait_for = asking.wait_for
