"""Whether a fault shows: read off the world itself, its tables and its clock, and no detector.

A witness gives what it has seen, in words; nothing where all is as it should be.
"""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any

from simharness.blame.case import story_of_episode
from simharness.findings.evidence import texts_in
from simharness.findings.turns import decode
from simharness.kernel.journal import Decoder
from simharness.models.helpdesk import Helpdesk
from simharness.models.ide import Ide
from simharness.models.ide.initial import UPSTREAM
from simharness.models.marketplace import Marketplace
from simharness.models.marketplace.hours import within

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from simharness.episode.episode import Episode

AGENT = "agent"
PASS = 1_000_000
ENDS = ("confirmed", "released", "expired")
ON_ITS_WAY = 180_000_000
"""Ticks for which an event of a gateway may be under way."""
IN_FORCE = ("pending", "confirmed")


def seen(episode: Episode) -> list[str]:
    """List what went wrong in an episode, whoever met it."""
    own = OF_PRODUCT.get(episode.product.name)
    return [*of_every_product(episode), *(own(episode) if own is not None else ())]


def of_every_product(episode: Episode) -> Iterator[str]:
    """See wrong rewards, views out of contract, and calls that ran out of time answered wrongly."""
    if episode.breaches:
        yield f"{len(episode.breaches)} reads were out of contract"
    if episode.reward != (PASS if episode.passed else 0):
        yield f"reward {episode.reward}, and the goal is {episode.passed}"
    rows = list(Decoder().decode_all(episode.world.rows))
    wrote = {(r.values["owner"], r.values["n"]) for r in rows if r.kind == "COMMIT"}
    for row in rows:
        v = row.values
        if row.kind == "TIMEOUT" and v["owner"] == AGENT:
            if v["answer"] == "default":
                yield f"{v['tool']} was answered by default"
            elif v["answer"] == "error" and (v["owner"], v["n"]) in wrote:
                yield f"{v['tool']} was answered as failed, and was done"


def of_crm(episode: Episode) -> Iterator[str]:
    """See columns of somebody's that a write took back without meaning to."""
    writer: dict[tuple[str, int, int], str] = {}
    for row in Decoder().decode_all(episode.world.rows):
        v = row.values
        if row.kind == "COMMIT":
            place = v["table"], v["key"]
            for column in v["delta"][::2]:
                before = writer.get((*place, column), "")
                if column in v["unmeant"] and before not in ("", v["owner"]):
                    yield f"{v['owner']} took back what {before} wrote into {place[0]}:{place[1]}"
                writer[*place, column] = v["owner"]


# --- marketplace ----------------------------------------------------------------------------------


def of_marketplace(episode: Episode) -> Iterator[str]:
    """See what the marketplace's own books say."""
    market = episode.product
    assert isinstance(market, Marketplace)
    yield from sold_above_capacity(market)
    yield from holds_of_two_ends(market)
    yield from places_never_given_back(market)
    yield from rows_of_another(market)
    yield from miscounted_coupons(market)
    yield from booked_while_closed(market)


def sold_above_capacity(market: Marketplace) -> Iterator[str]:
    """Follow all commits and see more held and sold at one time than there is."""
    taken: dict[int, int] = {}
    parts: dict[tuple[str, int], tuple[int, int]] = {}

    def count(table: str, row: Any, key: int, t: int) -> int:
        """Count a row as it is now; gives its slot."""
        slot_id, quantity = parts.pop((table, key), (0, 0))
        taken[slot_id] = taken.get(slot_id, 0) - quantity
        if row is None:
            return slot_id
        in_force = row.status == "confirmed" if table == "bookings" else row.status == "active"
        late = table == "holds" and row.expires_at - market.world.epoch <= t
        if in_force and not late:
            parts[table, key] = row.slot_id, row.quantity
            taken[row.slot_id] = taken.get(row.slot_id, 0) + row.quantity
        return int(row.slot_id)

    changes = [
        (change.order, name, change)
        for name in ("holds", "bookings")
        for change in market.stores[name].table.changes
    ]
    touched = {(name, change.key) for _, name, change in changes}
    first = {(name, c.key): c.old for _, name, c in sorted(changes, key=lambda c: -c[0])}
    for name in ("holds", "bookings"):
        for row in market.stores[name].table:
            if (name, row.id) not in touched:
                count(name, row, row.id, 0)
    for (name, key), row in first.items():
        count(name, row, key, 0)
    changes.sort(key=lambda item: item[0])
    for _, group in groupby(changes, key=lambda item: item[0]):
        at = [(count(name, c.new, c.key, c.t), c.t) for _, name, c in group]
        for slot_id, t in at:
            slot = market.slots.table.rows.get(slot_id)
            if slot is not None and taken.get(slot_id, 0) > slot.capacity:
                yield f"at {t} there are {taken[slot_id]} in slots:{slot_id} for {slot.capacity}"


def holds_of_two_ends(market: Marketplace) -> Iterator[str]:
    """See holds that ended once more: a booking confirmed after its hold had lapsed is one."""
    for key, past in market.holds.table.history.items():
        told = [change.new.status for change in past if change.new is not None]
        ends = [status for status, _ in groupby(told) if status in ENDS]
        if len(ends) > 1:
            yield f"holds:{key} was {' and then '.join(ends)}"


def places_never_given_back(market: Marketplace) -> Iterator[str]:
    """See holds that should have ended, and slots whose places are counted as taken for nobody."""
    now = market.world.instant
    really: dict[int, int] = {}
    for hold in market.holds.table:
        if hold.status == "active":
            really[hold.slot_id] = really.get(hold.slot_id, 0) + hold.quantity
            if hold.expires_at < now:
                yield f"holds:{hold.id} is active past its end"
    for booking in market.bookings.table:
        if booking.status == "confirmed":
            really[booking.slot_id] = really.get(booking.slot_id, 0) + booking.quantity
    for slot in market.slots.table:
        if slot.taken > really.get(slot.id, 0):
            yield f"slots:{slot.id} counts {slot.taken} as taken, {really.get(slot.id, 0)} are"


def rows_of_another(market: Marketplace) -> Iterator[str]:
    """See holds and bookings that are another customer's than the one who was told of them."""
    for name in ("holds", "bookings"):
        for key, past in market.stores[name].table.history.items():
            owners = {c.new.customer_id for c in past if c.new is not None}
            if len(owners) > 1:
                yield f"{name}:{key} has been of {len(owners)} customers"


def miscounted_coupons(market: Marketplace) -> Iterator[str]:
    """See coupons used above their limit, and uses that weren't counted."""
    coupons, bookings = market.coupons.table, market.bookings.table
    for coupon in coupons:
        first = coupons.row_at(coupon.id, 0)
        now = [b for b in bookings if b.coupon == coupon.code and b.status in IN_FORCE]
        then = [bookings.row_at(b.id, 0) for b in bookings if b.coupon == coupon.code]
        at_first = sum(b is not None and b.status in IN_FORCE for b in then)
        if len(now) > coupon.limit:
            yield f"coupons:{coupon.id} is for {coupon.limit}, and {len(now)} use it"
        if first is not None and coupon.used < first.used + len(now) - at_first:
            more = len(now) - at_first
            yield f"coupons:{coupon.id} counts {coupon.used - first.used} more, and {more} use it"


def booked_while_closed(market: Marketplace) -> Iterator[str]:
    """See bookings outside their provider's hours by the true zone."""
    for booking in market.bookings.table:
        slot = market.slots.table.rows[booking.slot_id]
        provider = market.providers.table.rows[slot.provider_id]
        if booking.status == "confirmed" and not within(provider, slot.starts_at, slot.ends_at):
            yield f"bookings:{booking.id} is outside {provider.hours} in {provider.zone}"


# --- helpdesk -------------------------------------------------------------------------------------


def of_helpdesk(episode: Episode) -> Iterator[str]:
    """See what the ledger, the books and the tickets say of each other."""
    desk = episode.product
    assert isinstance(desk, Helpdesk)
    yield from moved_wrongly(desk)
    yield from booked_wrongly(desk)
    yield from brought_back(desk)
    yield from claimed_twice(desk)
    yield from never_told(episode, desk)


def moved_wrongly(desk: Helpdesk) -> Iterator[str]:
    """See money that was moved twice for one row, by another amount, or above its charge."""
    first: set[tuple[str, str]] = set()
    back: dict[int, int] = {}
    for entry in desk.entries.table:
        if (entry.kind, entry.ref) in first:
            yield f"{entry.ref} was moved twice"
        first.add((entry.kind, entry.ref))
        table = desk.charges if entry.kind != "refund" else desk.refunds
        row: Any = table.table.rows[int(entry.ref.partition("-")[2])]
        if entry.amount != row.amount:
            yield f"{entry.ref} is {row.amount}, and {entry.amount} were moved"
        if entry.kind == "refund":
            back[row.charge_id] = back.get(row.charge_id, 0) + entry.amount
    for key, amount in sorted(back.items()):
        if amount > desk.charges.table.rows[key].amount:
            yield f"{amount} of charges:{key} went back"


def booked_wrongly(desk: Helpdesk) -> Iterator[str]:
    """See refunds that are booked as succeeded and aren't in the ledger, or the other way round.

    What has just happened may still be on its way.
    """
    late = desk.world.instant - ON_ITS_WAY
    moved = {e.ref: e.at for e in desk.entries.table if e.kind == "refund"}
    for refund in desk.refunds.table:
        ref = f"RF-{refund.id}"
        booked = refund.status == "succeeded"
        if booked != (ref in moved) and moved.get(ref, refund.updated_at) < late:
            has = "has" if ref in moved else "lacks"
            yield f"{ref} is {refund.status}, and the ledger {has} it"


def brought_back(desk: Helpdesk) -> Iterator[str]:
    """See refunds that had come to their end and were pending again."""
    for key, past in desk.refunds.table.history.items():
        for change in past:
            if change.old is not None and change.new.status == "pending" != change.old.status:
                yield f"refunds:{key} was {change.old.status}, and is pending again"


def claimed_twice(desk: Helpdesk) -> Iterator[str]:
    """See tickets that somebody was told to have while they were somebody else's."""
    owner: dict[int, int] = {}
    for ticket_id, agent in desk.claimed:
        if agent and owner.get(ticket_id, 0) not in (0, agent):
            yield f"tickets:{ticket_id} is of agents {owner[ticket_id]} and {agent}"
        owner[ticket_id] = agent


def never_told(episode: Episode, desk: Helpdesk) -> Iterator[str]:
    """See refunds that have failed at the gateway, and are pending in the books."""
    late = episode.world.ticks - ON_ITS_WAY
    refs: dict[tuple[str, int], str] = {}
    for row in Decoder().decode_all(episode.world.rows):
        v = row.values
        if row.kind == "GATEWAY":
            refs[v["owner"], v["n"]] = v["ref"]
        elif row.kind == "GATEWAYEND" and v["status"] == "failed" and row.t < late:
            table, _, key = refs.get((v["owner"], v["n"]), "").partition(":")
            if table == "refunds" and desk.refunds.table.rows[int(key)].status == "pending":
                yield f"refunds:{key} has failed, and is pending"


def of_ide(episode: Episode) -> Iterator[str]:
    """See results of CI that aren't the commit's, answers cut in silence, and leaked lines."""
    ide = episode.product
    assert isinstance(ide, Ide)
    for key, rev in ide.tested:
        if ide.ci_jobs.table.rows[key].rev != rev:
            yield f"ci_jobs:{key} is told of a commit that wasn't tested"
    for key, test in ide.turned:
        yield f"ci_jobs:{key} is told to fail {test}, which passed"
    for row in Decoder().decode_all(episode.world.rows):
        v = row.values
        if row.kind == "CUT" and v["owner"] == AGENT and not v["told"]:
            yield f"{v['shown']} of {v['total']} characters were shown as if all"
    yield from leaked_lines(episode, ide)


def leaked_lines(episode: Episode, ide: Ide) -> Iterator[str]:
    """See calls that brought what a commit of the future adds and the agent hadn't sent itself."""
    for ref in ide.refs.table:
        if not ref.title.startswith(UPSTREAM):
            continue
        commit = ide.history[ref.rev]
        before = {path: file.text for path, file in ide.history[commit.parents[0]].tree.items()}
        added = {
            line.strip()
            for path, file in commit.tree.items()
            for line in file.text.splitlines()
            if line.strip() and line not in before.get(path, "").splitlines()
        }
        sent: list[str] = []
        for exchange in story_of_episode(episode).exchanges.values():
            sent += texts_in(decode(exchange.arguments or ""))
            brought = [*texts_in(exchange.value)]
            brought += [text for commit in exchange.commits for text in texts_in(commit.delta)]
            shown = [line for line in added if holds(brought, line) and not holds(sent, line)]
            if shown and 2 * len(shown) >= len(added):
                yield f"{exchange.tool} showed {ref.title}"
                break


def holds(texts: list[str], line: str) -> bool:
    """Tell whether a line is in any of some texts."""
    return any(line in text for text in texts)


OF_PRODUCT: Mapping[str, Callable[[Episode], Iterator[str]]] = {
    "crm": of_crm,
    "marketplace": of_marketplace,
    "helpdesk": of_helpdesk,
    "ide": of_ide,
}
"""By product; what every product has in common is seen besides."""
