"""What works in the CRM without anybody at the keys: the nightly import and a sweep.

Both write deals that have no next step, so each works under the lease of the deals.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from simharness.api import DAY, Actor, Refused, Stream
from simharness.models.crm.base import ACCOUNTS, CONTACTS_EACH, FIRST, INDUSTRIES, LAST, ROLES
from simharness.models.crm.people.persistence import PAUSE, TRIES
from simharness.models.crm.rules import OPEN_STAGES

if TYPE_CHECKING:
    from collections.abc import Collection, Generator

    from simharness.models.crm.product import Crm
    from simharness.models.crm.tables import Deal

IMPORTED = 8
"""Accounts of which the feed has news in a night."""
SWEPT = 4
"""Most deals that a sweep puts in order."""
NEXT_STEP = "ask for a next step"
"""What the sweep writes where nobody has written anything."""
NEWS = "read the news of the account"
"""What the import writes there."""


def start_machines(
    crm: Crm, *, spare_accounts: Collection[int] = (), spare_deals: Collection[int] = ()
) -> None:
    """Start the import and the sweep, as `users.import` and `users.sweep` say; none at load 0.

    They leave alone what is spared: the rows whose facts an agent's task rests on.
    """
    if not crm.load:
        return
    accounts, deals = frozenset(spare_accounts), frozenset(spare_deals)
    after: int = crm.settings.values["users.import"]
    if after:
        crm.world.spawn("import", import_nightly(crm, after, accounts, deals))
    pause: int = crm.settings.values["users.sweep"]
    if pause:
        crm.world.spawn("sweep", sweep(crm, pause, deals))


def import_nightly(
    crm: Crm, after: int, accounts: frozenset[int], deals: frozenset[int]
) -> Generator[Any, Any, None]:
    """Bring accounts and contacts up to date from the feed of a data vendor, once a day.

    It changes the industry of an account and the role of a contact, adds a contact now and then,
    and gives an open deal of the account that has no next step one. Spares `accounts` and `deals`.
    """
    actor = Actor(crm.world, "import", 0)
    night = 0
    yield crm.world.timer(after)
    while True:
        night += 1
        feed = Stream(crm.world.draws, "import/feed", night)
        yield from _under_lease(crm, actor, _import_once(crm, actor, feed, accounts, deals))
        yield crm.world.timer(DAY)


def _import_once(
    crm: Crm, actor: Actor, feed: Stream, accounts: frozenset[int], deals: frozenset[int]
) -> Generator[Any, Any, None]:
    for k in range(IMPORTED):
        account_id = 1 + feed.below(ACCOUNTS, "account", k)
        if account_id not in accounts:
            yield from _told(_take_over(crm, actor, feed, account_id, k))
            yield from _told(_point_to_news(crm, actor, account_id, deals))


def _take_over(
    crm: Crm, actor: Actor, feed: Stream, account_id: int, k: int
) -> Generator[Any, Any, None]:
    account = yield from crm.request(actor, "get_account", account_id=account_id)
    yield from crm.request(
        actor,
        "update_account",
        account_id=account_id,
        fields={"industry": feed.pick(INDUSTRIES, "industry", k)},
        if_version=account.version,
    )
    if feed.below(3, "new", k):
        contact_id = (account_id - 1) * CONTACTS_EACH + 1 + feed.below(CONTACTS_EACH, "contact", k)
        yield from crm.request(
            actor,
            "update_contact",
            contact_id=contact_id,
            fields={"role": feed.pick(ROLES, "role", k)},
        )
        return
    name = f"{feed.pick(FIRST, 'first', k)} {feed.pick(LAST, 'last', k)}"
    yield from crm.request(
        actor,
        "create_contact",
        # Who is known already is refused, and the import goes on.
        email=f"{name.replace(' ', '.')}@{account.domain}".lower(),
        full_name=name,
        account_id=account_id,
    )


def _point_to_news(
    crm: Crm, actor: Actor, account_id: int, spared: frozenset[int]
) -> Generator[Any, Any, None]:
    account = yield from crm.request(actor, "get_account", account_id=account_id)
    told = yield from crm.request(actor, "search_deals", text=account.title)
    for deal in told.rows:
        if deal.account_id == account_id and unplanned(deal) and deal.id not in spared:
            yield from set_next_step(crm, actor, deal, NEWS)
            return


def sweep(crm: Crm, pause: int, spared: frozenset[int]) -> Generator[Any, Any, None]:
    """Put deals in order again and again: an open deal without a next step is given one."""
    actor = Actor(crm.world, "sweep", 0)
    while True:
        yield crm.world.timer(pause)
        yield from _under_lease(crm, actor, _sweep_once(crm, actor, spared))


def _sweep_once(crm: Crm, actor: Actor, spared: frozenset[int]) -> Generator[Any, Any, None]:
    left = SWEPT
    page: int | None = 1
    while page is not None:
        told = yield from crm.request(actor, "list_deals", page=page)
        for deal in told.rows:
            if unplanned(deal) and deal.id not in spared:
                yield from _told(set_next_step(crm, actor, deal, NEXT_STEP))
                left -= 1
                if not left:
                    return
        page = told.next_page


def unplanned(deal: Deal) -> bool:
    """Tell whether an open deal has no next step."""
    return deal.stage in OPEN_STAGES and not deal.next_step.strip()


def set_next_step(crm: Crm, actor: Actor, deal: Deal, step: str) -> Generator[Any, Any, None]:
    """Give a deal a next step, unless it has changed since it was read."""
    yield from crm.request(
        actor,
        "update_deal",
        deal_id=deal.id,
        fields={"next_step": step},
        if_version=deal.version,
    )


def _under_lease(
    crm: Crm, actor: Actor, work: Generator[Any, Any, None]
) -> Generator[Any, Any, None]:
    """Work while holding the lease of the deals; whoever doesn't get it leaves it for next time."""
    for _ in range(TRIES):
        try:
            yield from crm.perform(actor, "lease.acquire", {"table": "deals"})
        except Refused:
            yield crm.world.pause(PAUSE)
        else:
            yield from _told(work)
            yield from _told(crm.perform(actor, "lease.release", {"table": "deals"}))
            return
    work.close()


def _told(steps: Generator[Any, Any, Any]) -> Generator[Any, Any, None]:
    """Take a refusal for an answer: the row was changed or is being changed; the next run looks."""
    try:
        yield from steps
    except Refused:
        return
