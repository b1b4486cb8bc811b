"""Leases that did not hold: H315, of any actor."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from simharness.findings.finding import Finding
from simharness.findings.story import name_of
from simharness.units import humanize

if TYPE_CHECKING:
    from collections.abc import Iterator

    from simharness.findings.causes import Op
    from simharness.findings.story import Story
    from simharness.kernel.journal import Row


@dataclass(slots=True)
class Tenure:
    """One holding of a lease."""

    grant: Row
    expires: int
    """Tick, as declared by the grant or the last renewal."""
    end: Row | None = None

    @property
    def holder(self) -> str:
        """Name who it was granted to."""
        return str(self.grant.values["owner"])

    @property
    def by(self) -> str:
        """Name the operation that it was granted to."""
        return name_of(self.holder, self.grant.values["n"])


def broken_leases(story: Story) -> Iterator[Finding]:
    """Find leases with two holders, of another length than declared, or used after their end."""
    tenures: dict[tuple[str, int], Tenure] = {}
    current: dict[str, Tenure] = {}
    for row in story.of("LEASE", "LEASEEND", "LEASEWRITE"):
        v = row.values
        lease: str = v["lease"]
        tenure = tenures.get((lease, v["token"]))
        if row.kind == "LEASEWRITE":
            yield from outlived(story, row, tenure)
        elif row.kind == "LEASEEND":
            if tenure is None or tenure.end is not None:
                continue
            tenure.end = row
            if current.get(lease) is tenure:
                del current[lease]
            yield from untimely(story, row, tenure)
        elif tenure is not None and tenure.end is None:
            if row.t >= tenure.expires:
                yield late(story, row, tenure, "was renewed", tenure.grant, row)
            tenure.expires = v["expires"]
        else:
            other = current.get(lease)
            granted = tenures[lease, v["token"]] = current[lease] = Tenure(row, v["expires"])
            if other is not None:
                what = f"was given to {granted.by} while {other.by} held it"
                yield broken(story, row, other.holder, other.expires, what, other.grant, row)
    if current:
        last = story.rows[-1]
        for tenure in current.values():
            # At the very instant of the expiry its timer may not have had its turn.
            if last.t > tenure.expires:
                yield late(story, last, tenure, "had not ended", tenure.grant)


def untimely(story: Story, row: Row, tenure: Tenure) -> Iterator[Finding]:
    """Find an end that came too early or too late."""
    if row.values["reason"] == "released":
        if row.t >= tenure.expires:
            yield late(story, row, tenure, "was released", tenure.grant, row)
    elif row.t > tenure.expires:
        yield late(story, row, tenure, "ended", tenure.grant, row)
    elif row.t < tenure.expires:
        early = humanize(tenure.expires - row.t)
        what = f"ended {early} earlier than {tenure.by} had been told"
        yield broken(story, row, tenure.holder, row.t, what, tenure.grant, row)


def outlived(story: Story, row: Row, tenure: Tenure | None) -> Iterator[Finding]:
    """Find a write that was let through although the lease that it rests on had ended."""
    v = row.values
    writer = name_of(v["owner"], v["n"])
    if tenure is not None and (tenure.end is not None or row.t >= tenure.expires):
        end = tenure.end
        ended_at = end.t if end is not None else tenure.expires
        what = f"let {writer} write {humanize(row.t - ended_at)} after its end"
        yield broken(story, row, tenure.holder, ended_at, what, end or tenure.grant, row)
    elif v["token"] < v["newest"]:
        what = f"let {writer} write under token {v['token']}, after {v['newest']} was granted"
        if tenure is not None:
            yield broken(story, row, tenure.holder, tenure.expires, what, tenure.grant, row)
        else:
            yield broken(story, row, v["owner"], row.t, what, row)


def late_writers(story: Story) -> dict[Op, str]:
    """Give the operations that wrote under a lease that had ended, each with the lease."""
    ends: dict[tuple[str, int], int] = {}
    out: dict[Op, str] = {}
    for row in story.of("LEASE", "LEASEEND", "LEASEWRITE"):
        v = row.values
        place = v["lease"], v["token"]
        if row.kind == "LEASE":
            ends[place] = v["expires"]
        elif row.kind == "LEASEEND":
            ends[place] = row.t
        elif v["token"] < v["newest"] or row.t >= ends.get(place, row.t + 1):
            out[v["owner"], v["n"]] = v["lease"]
    return out


def late(story: Story, row: Row, tenure: Tenure, how: str, *shown: Row) -> Finding:
    """Build the finding of a lease that was alive past its expiry."""
    by = humanize(row.t - tenure.expires)
    what = f"of {tenure.by} {how} {by} after it should have ended"
    return broken(story, row, tenure.holder, tenure.expires, what, *shown)


def broken(story: Story, row: Row, holder: str, expired_at: int, what: str, *shown: Row) -> Finding:
    """Build an H315 of the lease that the last row shown is about."""
    lease: str = shown[-1].values["lease"]
    return Finding(
        code="H315",
        step=story.step_of(row.index),
        t=row.t,
        keys=(lease,),
        evidence={"key": lease, "holder": holder, "expired_at": expired_at},
        events=tuple(r.index for r in shown),
        explanation=f"lease {lease} {what}",
        mechanism=f"lease:{lease.partition(':')[0]}",
    )
