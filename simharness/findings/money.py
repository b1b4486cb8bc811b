"""Money that went wrong, by the gateway's ledger: H224, H225, H226, H227 and H231."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from simharness.findings.causes import causes_of, root_of
from simharness.findings.finding import Finding
from simharness.findings.leases import late_writers
from simharness.findings.story import name_of, once_a_story
from simharness.parts.money import shown
from simharness.units import humanize

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from simharness.findings.causes import Op
    from simharness.findings.story import Story
    from simharness.kernel.journal import Row

ENDED_JOBS = ("done", "dead", "dropped")


@dataclass(frozen=True, slots=True)
class Moved:
    """One movement of money, with the request that it answers."""

    row: Row
    """LEDGER."""
    request: Row | None
    """GATEWAY; None for what was there from the start, and for chargebacks."""
    root: Op
    """The call that it goes back to."""

    @property
    def kind(self) -> str:
        """Charge, refund or chargeback."""
        return str(self.row.values["kind"])

    @property
    def ref(self) -> str:
        """The product's row that stands for it."""
        return str(self.row.values["ref"])

    @property
    def charge(self) -> str:
        """The row of the charge that it belongs to."""
        return charge_of(self.row)

    @property
    def amount(self) -> int:
        """What was moved, in minor units."""
        return int(self.row.values["amount"])

    @property
    def asked(self) -> int:
        """What was to be moved."""
        return self.amount if self.request is None else int(self.request.values["amount"])

    @property
    def at_start(self) -> bool:
        """Whether it had been moved before the start."""
        return not self.row.values["n"]

    @property
    def mechanism(self) -> str:
        """What can be repaired."""
        return f"gateway:{self.row.values['gateway']}"


def charge_of(row: Row) -> str:
    """Give the charge that a GATEWAY or LEDGER row belongs to."""
    return str(row.values["ref" if row.values["kind"] == "charge" else "of"])


@once_a_story
def movements(story: Story) -> Sequence[Moved]:
    """Give what was moved, oldest first."""
    ledger = story.of("LEDGER")
    if not ledger:
        return []
    causes = causes_of(story)
    requests = {(*op_of(row), row.values["kind"]): row for row in story.of("GATEWAY")}
    return [
        Moved(row, requests.get((*op_of(row), row.values["kind"])), root_of(causes, op_of(row)))
        for row in ledger
    ]


def op_of(row: Row) -> Op:
    """Give the operation of a row."""
    return row.values["owner"], row.values["n"]


# --- twice ----------------------------------------------------------------------------------------


class Repeated(NamedTuple):
    """One movement that the harness made although it had made it before."""

    first: Moved
    again: Moved
    why: str
    """How the explanation goes on."""
    mechanism: str


@once_a_story
def repeated_movements(story: Story) -> Sequence[Repeated]:
    """Give what the harness moved twice, though it had been asked once.

    It had been asked once where both stand for the same row, where one call moved the same amount
    for the same thing twice, or where an actor gave the same key while that was to be kept. It
    also had where two did one job, which a lease was to keep to one of them: both moved the same
    amount for the same thing under that lease, one of them after it had ended.
    """
    out: list[Repeated] = []
    seen: dict[tuple[object, ...], Moved] = {}
    late = late_writers(story)
    leases = tuple(late.values())
    under = {op_of(row): row.values["lease"] for row in story.of("LEASEWRITE")} if late else {}
    for moved in movements(story):
        request = moved.request
        if moved.at_start or request is None:
            continue
        v = request.values
        places: list[tuple[tuple[object, ...], str]] = [
            (("ref", moved.kind, moved.ref), f"for {moved.ref}")
        ]
        if v["key"]:
            named = "key", v["key"], v["body"], moved.root[0]
            places.append((named, f"under the key {v['key']!a}"))
        if v["of"] and moved.root in story.calls:
            call = f"by {name_of(*moved.root)} for {v['of']}"
            places.append((("call", moved.kind, v["of"], v["amount"], moved.root), call))
        lease = under.get(moved.root, "")
        if v["of"] and lease in leases:
            job = f"for {v['of']} under lease {lease}"
            places.append((("lease", moved.kind, v["of"], v["amount"], lease), job))
        for place, why in places:
            first = seen.setdefault(place, moved)
            if first is not moved and asked_once(str(place[0]), first, moved, late):
                broken = f"lease:{lease.partition(':')[0]}" if place[0] == "lease" else ""
                out.append(Repeated(first, moved, why, broken or moved.mechanism))
                break
    return out


def asked_once(what: str, first: Moved, moved: Moved, late: Mapping[Op, str]) -> bool:
    """Tell whether two movements that have something in common were asked for once."""
    request, again = first.request, moved.request
    if what == "key":
        return request is None or again is None or again.t < request.values["until"]
    if what == "lease":
        return first.root[0] != moved.root[0] and (first.root in late or moved.root in late)
    return True


def repeated_by_harness(story: Story) -> Iterator[Finding]:
    """Find charges and refunds that the harness made twice (H225)."""
    for first, moved, why, mechanism in repeated_movements(story):
        refs = list(dict.fromkeys((first.ref, moved.ref)))
        v = moved.row.values
        yield found(
            story,
            "H225",
            moved,
            tuple(refs),
            {f"{moved.kind}s": refs, "amount": moved.amount, "currency": v["currency"]},
            (first.row.index, moved.row.index),
            f"{shown(moved.amount, v['currency'])} were moved twice {why}, the second time "
            f"{humanize(moved.row.t - first.row.t)} after the first",
            mechanism,
        )


# --- too much, and otherwise than asked -----------------------------------------------------------


def over_refunds(story: Story) -> Iterator[Finding]:
    """Find charges of which more was paid back than had been taken (H224).

    What the harness paid back twice is H225's, and what it moved otherwise than asked is H227's.
    """
    again = {each.again.row.index for each in repeated_movements(story)}
    charged: dict[str, int] = defaultdict(int)
    refunds: dict[str, list[Moved]] = defaultdict(list)
    told: set[str] = set()
    for moved in movements(story):
        charge = moved.charge
        if moved.kind == "charge":
            charged[charge] += moved.asked
        if moved.kind != "refund" or moved.row.index in again:
            continue
        refunds[charge].append(moved)
        refunded = sum(each.asked for each in refunds[charge])
        if refunded <= charged[charge] or charge in told or moved.at_start:
            continue
        told.add(charge)
        currency = moved.row.values["currency"]
        yield found(
            story,
            "H224",
            moved,
            (charge, *(each.ref for each in refunds[charge])),
            {"charge": charge, "refunded": refunded, "charged": charged[charge]},
            tuple(each.row.index for each in refunds[charge]),
            f"{shown(refunded, currency)} of {charge} were paid back, which was a charge of "
            f"{shown(charged[charge], currency)}",
        )


def wrong_amounts(story: Story) -> Iterator[Finding]:
    """Find money that was moved by another amount than was asked for (H227)."""
    for moved in movements(story):
        if moved.request is None or moved.amount == moved.asked:
            continue
        low, high = sorted((moved.amount, moved.asked))
        evidence: dict[str, Any] = {
            "asked": moved.asked,
            "moved": moved.amount,
            "currency": moved.row.values["currency"],
        }
        if low and not high % low:
            evidence["factor"] = high // low
        yield found(
            story,
            "H227",
            moved,
            (moved.ref,),
            evidence,
            (moved.request.index, moved.row.index),
            f"a {moved.kind} of {shown(moved.asked, evidence['currency'])} was asked for "
            f"{moved.ref}, and {shown(moved.amount, evidence['currency'])} were moved",
        )


# --- the books ------------------------------------------------------------------------------------


def wrong_books(story: Story) -> Iterator[Finding]:
    """Hold the books against the ledger: what differs (H226), and what was kept (H231).

    Each charge by itself, and only once nothing is under way that may still change it. What H225
    or H227 explain is theirs; where the books take back for done, no refund is missing.
    """
    books = story.of("BOOKS")
    if not books:
        return
    of_charge: dict[str, list[Moved]] = defaultdict(list)
    for moved in movements(story):
        of_charge[moved.charge].append(moved)
    again = {each.again.row.index for each in repeated_movements(story)}
    unsettled = under_way(story)
    unheard = unheard_of(story)
    some = next((row.values["gateway"] for row in story.of("LEDGER", "GATEWAY")), "")
    for row in books:
        ref, net, due = row.values["ref"], row.values["net"], row.values["due"]
        if ref in unsettled:
            continue
        all_moved = of_charge.get(ref, [])
        ledger = left(all_moved)
        once = [moved for moved in all_moved if moved.row.index not in again]
        explained = net in (left(all_moved, asked=True), left(once), left(once, asked=True))
        back = sum(moved.amount for moved in all_moved if moved.kind != "charge")
        if net != ledger and not explained:
            code, evidence = "H226", {"books": net, "ledger": ledger}
            text = f"the books say that {net} is left of {ref}, and the ledger says {ledger}"
        elif net == ledger and back < due:
            code, evidence = "H231", {"due": due, "refunded": back}
            text = f"{due} of {ref} are due back, and {back} were paid back"
        else:
            continue
        yield Finding(
            code=code,
            step=story.step_of(row.index),
            t=row.t,
            keys=(ref,),
            evidence={"charge": ref, **evidence},
            events=(*(moved.row.index for moved in all_moved[-1:]), row.index),
            explanation=text,
            mechanism=next(
                (unheard[r] for r in (ref, *(m.ref for m in all_moved)) if r in unheard),
                f"gateway:{some}" if some else "",
            ),
        )


def unheard_of(story: Story) -> dict[str, str]:
    """Give the webhook by row of which the newest event was never taken by the books."""
    newest: dict[str, Row] = {}
    for row in story.of("WEBHOOK"):
        ref = row.values["ref"]
        last = newest.get(ref)
        if last is None or row.values["created"] >= last.values["created"]:
            newest[ref] = row
    told = {op_of(row): row for row in newest.values()}
    return {
        told[op_of(row)].values["ref"]: f"webhook:{row.values['webhook']}"
        for row in story.of("WEBHOOKEND")
        if row.values["reason"] != "delivered" and op_of(row) in told
    }


def left(moved: list[Moved], *, asked: bool = False) -> int:
    """Add up what is left of a charge, by what was moved or by what was asked for."""
    amounts = ((m.kind, m.asked if asked else m.amount) for m in moved)
    return sum(amount if kind == "charge" else -amount for kind, amount in amounts)


def under_way(story: Story) -> set[str]:
    """Give the charges that something under way at the end is about, or goes back to."""
    opened = {op_of(row): row for row in story.of("CALL", "JOB", "MESSAGE", "WEBHOOK", "GATEWAY")}
    for row in story.of("RETURN", "RELAYED", "WEBHOOKEND", "GATEWAYEND", "JOBEND"):
        if row.kind != "JOBEND" or row.values["reason"] in ENDED_JOBS:
            opened.pop(op_of(row), None)
    if not opened:
        return set()
    causes = causes_of(story)
    roots = {root_of(causes, op) for op in opened}
    told = {row.values["ref"] for row in opened.values() if row.kind == "WEBHOOK"}
    return {
        charge_of(row)
        for row in story.of("GATEWAY", "LEDGER")
        if row.values["ref"] in told or root_of(causes, op_of(row)) in roots
    } | told


def found(
    story: Story,
    code: str,
    moved: Moved,
    keys: tuple[str, ...],
    evidence: dict[str, Any],
    events: tuple[int, ...],
    explanation: str,
    mechanism: str = "",
) -> Finding:
    """Build the finding that a movement completes."""
    return Finding(
        code=code,
        step=story.step_of(moved.row.index),
        t=moved.row.t,
        keys=keys,
        evidence=evidence,
        events=events,
        explanation=explanation,
        mechanism=mechanism or moved.mechanism,
    )
