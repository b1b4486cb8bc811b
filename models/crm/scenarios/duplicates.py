"""Who stands in the CRM more than once: the contacts of an instance of crm/dedupe."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from simharness.api import DAY
from simharness.models.crm.base import ACCOUNTS, COMPANIES, CONTACTS_EACH, EPOCH, LAST, ROLES
from simharness.models.crm.names import MAILBOX, PAIRS, parts_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from simharness.models.crm.product import Crm
    from simharness.models.crm.tables import Contact

DUPLICATES = 4
"""Most duplicates that are there at the start."""
LOOK_ALIKES = 2

FIRST_NEW = ACCOUNTS * CONTACTS_EACH + 1
"""Id of the first contact that the instance adds."""

KINDS = ("address", "private", "initial", "nickname", "plus", "married", "orphan")
"""How a duplicate came about: another address of the company, a private one, an initial, the long
form of a first name, a tagged address, a new name, an entry without an account."""
LIKES = ("junior", "mailbox", "elsewhere", "stranger")
"""Who only looks like a duplicate: a relative at the same company, a shared mailbox under
somebody's name, somebody of that name at another company, and somebody of no company that is
known."""

TAGS = ("news", "events", "demo", "trial")
BOXES = ("office", "sales")


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One contact that the instance adds."""

    person: int
    """Whose it is: 0, 1, 2 for the account's contacts of the base, more for those who only look
    like them."""
    full_name: str
    email: str
    account_id: int | None
    role: str
    status: Any = "active"
    created_at: int = 0
    renamed: str = ""
    """The name before, which a note tells."""
    late: str = ""
    """Who adds it in the course of the episode; empty for what is there at the start."""


def entries(story: Mapping[str, Any], originals: Sequence[Contact]) -> list[Entry]:
    """List what an instance adds to the three contacts of its account, in order of id."""
    out = [duplicate(story, originals, k) for k in range(1, 1 + int(story["duplicates"]))]
    out += [look_alike(story, originals, k) for k in range(1, 1 + likes(story))]
    if story["import"] != "nothing":
        out.append(imported(story, originals))
    if story["colleague"] == "creates":
        person = untwinned(story)
        if person is not None:
            first, last = parts_of(originals[person].full_name)
            out.append(
                Entry(
                    person=person,
                    full_name=originals[person].full_name,
                    email=f"{last}.{first}@{domain_of(story)}",
                    account_id=story["account"],
                    role="",
                    late="colleague",
                )
            )
    return out


def likes(story: Mapping[str, Any]) -> int:
    """Count the look-alikes at the start: where nobody is twice there is one at least."""
    mirror = story["duplicates"] == "0" and story["import"] != "duplicate"
    return max(int(story["likes"]), int(mirror))


def domain_of(story: Mapping[str, Any]) -> str:
    """Give the domain of the account."""
    return f"{COMPANIES[int(story['account']) - 1].lower()}.example"


def twinned(story: Mapping[str, Any], person: int) -> bool:
    """Tell whether somebody of the same name works at the account, in another role."""
    if story["import"] == "junior" and story["import_person"] == person:
        return True
    return any(
        story[f"like_{k}"] == "junior" and story[f"like_person_{k}"] == person
        for k in range(1, 1 + likes(story))
    )


def untwinned(story: Mapping[str, Any]) -> int | None:
    """Give a person whose name alone tells who it is, or None."""
    first: int = story["colleague_person"]
    for person in (first, (first + 1) % CONTACTS_EACH, (first + 2) % CONTACTS_EACH):
        if not twinned(story, person):
            return person
    return None


def duplicate(story: Mapping[str, Any], originals: Sequence[Contact], k: int) -> Entry:
    """Make the k-th duplicate, from 1."""
    person: int = story[f"person_{k}"]
    original = originals[person]
    kind: str = story[f"kind_{k}"]
    name = original.full_name
    plain, _, surname = name.partition(" ")
    first, last = parts_of(name)
    domain = domain_of(story)
    if kind == "nickname" and plain not in PAIRS:
        kind = "initial"
    email = (
        f"{first[0]}.{last}@{domain}",
        f"{last}.{first[0]}@{domain}",
        f"{last}@{domain}",
        f"{first}_{last}@{domain}",
    )[k - 1]
    account: int | None = story["account"]
    renamed, role = "", original.role
    if kind == "private":
        email = f"{first}.{last}.{k}@mail.example"
    elif kind == "initial":
        name, email = f"{plain[0]}. {surname}", f"{first[0]}{last}{k}@{domain}"
    elif kind == "nickname":
        name = f"{PAIRS[plain]} {surname}"
        email = f"{PAIRS[plain].lower()}.{last}.{k}@{domain}"
    elif kind == "plus":
        name = f"{surname}, {plain}"
        email = original.email.replace("@", f"+{TAGS[k - 1]}@")
    elif kind == "married":
        taken = {row.full_name.partition(" ")[2] for row in originals}
        free = [one for one in LAST if one not in taken]
        renamed = name
        name = f"{plain} {free[(story['account'] + 5 * k) % len(free)]}"
        email = f"{name.replace(' ', '.').lower()}.{k}@{domain}"
    elif kind == "orphan":
        email, account = f"{first}{last}{k}@{domain}", None
        role = original.role if twinned(story, person) else ""
    days = 90 + 7 * k if story[f"age_{k}"] == "older" else 90 - 7 * k
    return Entry(
        person=person,
        full_name=name,
        email=email,
        account_id=account,
        role=role,
        status=story[f"status_{k}"],
        created_at=EPOCH - days * DAY,
        renamed=renamed,
    )


def look_alike(story: Mapping[str, Any], originals: Sequence[Contact], k: int) -> Entry:
    """Make the k-th contact that only looks like a duplicate, from 1."""
    person: int = story[f"like_person_{k}"]
    original = originals[person]
    kind = story[f"like_{k}"]
    first, last = parts_of(original.full_name)
    account: int | None = story["account"]
    role = original.role
    if kind == "junior":
        email = f"{first}.{last}.jr{k}@{domain_of(story)}"
        role = f"{ROLES[(person + k) % len(ROLES)]} trainee"
    elif kind == "mailbox":
        email, role = f"{BOXES[k - 1]}@{domain_of(story)}", MAILBOX
    elif kind == "elsewhere":
        other = (int(story["account"]) + 6 + k) % ACCOUNTS
        account, email = other + 1, f"{first}.{last}@{COMPANIES[other].lower()}.example"
    else:
        email, account, role = f"{first}.{last}.{k}@post.example", None, ""
    return Entry(
        person=CONTACTS_EACH + k,
        full_name=original.full_name,
        email=email,
        account_id=account,
        role=role,
        created_at=EPOCH - (60 + k) * DAY,
    )


def imported(story: Mapping[str, Any], originals: Sequence[Contact]) -> Entry:
    """Make what the vendor's import brings: a duplicate, or somebody's relative."""
    person: int = story["import_person"]
    original = originals[person]
    first, last = parts_of(original.full_name)
    junior = story["import"] == "junior"
    mark = ".jr" if junior else "-1"
    return Entry(
        person=CONTACTS_EACH if junior else person,
        full_name=original.full_name,
        email=f"{first}.{last}{mark}@{domain_of(story)}",
        account_id=story["account"],
        role="intern" if junior else original.role,
        late="import",
    )


def originals_of(crm: Crm, story: Mapping[str, Any]) -> list[Contact]:
    """Give the contacts of the account that are in the base, as they were at the start."""
    first = (story["account"] - 1) * CONTACTS_EACH + 1
    rows = [crm.contacts.table.row_at(key, 0) for key in range(first, first + CONTACTS_EACH)]
    return [row for row in rows if row is not None]
