"""Defects that no named fault has, in parts, products and graders: the codes that fit each."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from benchmarks.planted_parts import (
    done_but_refused,
    gone_when_locked,
    invalidated_before_commit,
    lock_given_back_early,
    lock_given_to_two,
    looked_up,
    not_committed,
    one_view_not_invalidated,
    put_changed,
    release_dropped,
    torn_list,
    version_not_checked,
    view_hides_its_age,
    whole_record_written,
    wrong_key_invalidated,
)
from benchmarks.planted_products import (
    always_met,
    answered_twice,
    blind_to_footprint,
    clock_set_back,
    column_renamed,
    deaf_and_by_cache,
    goals,
    invalid_taken,
    judged_by_turns,
    late,
    others_work_paid,
    page_cut,
    pages_overlap,
    paid_by_chance,
    rules_not_kept,
    schema_changed,
    traceback_shown,
    valid_refused,
)
from benchmarks.planted_services import (
    amount_told_wrong,
    event_dropped,
    filter_ignored,
    handler_raises,
    hold_ends_early,
    hold_ends_twice,
    inbox_deaf,
    left_not_checked,
    moved_twice,
    one_place_more,
    price_changed,
    unit_short,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from benchmarks.planted_parts import Plant

SLOW_DATABASE = {"db.latency": ["300ms", "900ms"]}
SLOW_PUTS = {"put.latency": ["2s", "12s"]}
PAID_TWICE, BOOK = "helpdesk/double-charge", "marketplace/book"
BUSY = {"api.latency": ["200ms", "4s"]}


class Mutation(NamedTuple):
    """One defect, the world that it is planted in, and the codes that fit it."""

    name: str
    codes: frozenset[str]
    """Any of them is a fitting one."""
    plant: Plant
    policy: str = "expert"
    load: int = 4
    config: Mapping[str, object] = {}
    """Of the sound world too."""
    seeds: int = 6
    scenario: str = "crm/negotiation"


def codes(*names: str) -> frozenset[str]:
    return frozenset(names)


MUTATIONS = (
    Mutation("lock release dropped", codes("H315", "H311"), release_dropped),
    Mutation("lock given to two", codes("H315"), lock_given_to_two, load=8, config=SLOW_DATABASE),
    Mutation("a locked record told as missing", codes("H123"), gone_when_locked),
    Mutation("lock given back before the commit", codes("H315"), lock_given_back_early),
    Mutation(
        "an entry as old as its lifetime is served",
        codes("H315"),
        looked_up(lambda age, ttl: age <= ttl),
        load=8,
        config={"deals.detail.cache.granularity": "30s", "users.auth.cache.granularity": "1min"},
    ),
    Mutation(
        "entries end at a quarter of their lifetime",
        codes("H315"),
        looked_up(lambda age, ttl: age < ttl // 4),
    ),
    Mutation("invalidation of the wrong key", codes("H112"), wrong_key_invalidated, "watcher"),
    Mutation(
        "invalidation before the commit only",
        codes("H110", "H112"),
        invalidated_before_commit,
        "watcher",
        load=8,
        config=SLOW_PUTS,
    ),
    Mutation("one view of two invalidated", codes("H113"), one_view_not_invalidated, "watcher"),
    Mutation("cache put of an uncommitted row", codes("H230"), put_changed(version=1), "watcher"),
    Mutation("row corrupted in the cache", codes("H230"), put_changed(amount=7), "watcher"),
    Mutation("a view hides how old it is", codes("H112"), view_hides_its_age, "watcher"),
    Mutation("a list of two instants", codes("H114"), torn_list, "watcher"),
    Mutation("write acknowledged, not committed", codes("H121"), not_committed),
    Mutation("write done, error told", codes("H122"), done_but_refused),
    Mutation(
        "if_version not checked", codes("H310"), version_not_checked, load=8, config=BUSY, seeds=8
    ),
    Mutation(
        "whole record written", codes("H310"), whole_record_written, load=8, config=BUSY, seeds=8
    ),
    Mutation(
        "time-out told as success",
        codes("H120"),
        late("default"),
        "random",
        config={"api.timeout": "20ms"},
    ),
    Mutation(
        "time-out told as failure",
        codes("H122"),
        late("error"),
        "random",
        config={"api.timeout": "20ms"},
    ),
    Mutation("page without its last row", codes("H115"), page_cut, "watcher"),
    Mutation("pages overlap", codes("H114"), pages_overlap, "watcher"),
    Mutation("traceback shown", codes("H124"), traceback_shown, "random"),
    Mutation("column renamed", codes("H413"), column_renamed, "watcher"),
    Mutation("answered twice", codes("H314"), answered_twice),
    Mutation("clock set back", codes("H314"), clock_set_back),
    Mutation("schema changed", codes("H410"), schema_changed),
    Mutation("valid call refused", codes("H411"), valid_refused, "watcher"),
    Mutation("invalid call taken", codes("H412"), invalid_taken, "sloppy"),
    Mutation("rules not kept", codes("H220"), rules_not_kept, "hasty"),
    Mutation("grader reads a cache", codes("H514"), deaf_and_by_cache, "watcher"),
    Mutation("judged otherwise each time", codes("H519"), judged_by_turns),
    Mutation("goal met at the start", codes("H512"), goals(always_met), "null"),
    Mutation("grader blind to forbidden writes", codes("H516"), blind_to_footprint, "careless"),
    Mutation("others' work paid", codes("H517"), others_work_paid, "waiting"),
    Mutation("paid the other way round", codes("H510", "H511"), paid_by_chance),
    Mutation("a row that nobody asked for", codes("H114"), filter_ignored, "watcher"),
    Mutation("a handler raises", codes("H810"), handler_raises),
    Mutation("money moved twice", codes("H225"), moved_twice, scenario=PAID_TWICE),
    Mutation("money moved a unit short", codes("H227"), unit_short, scenario=PAID_TWICE),
    Mutation(
        "what is left of a charge not looked at",
        codes("H224"),
        left_not_checked,
        "insist",
        scenario="helpdesk/legit-charge",
    ),
    Mutation(
        "no event is a duplicate or too old", codes("H314", "H228"), inbox_deaf, scenario=PAID_TWICE
    ),
    Mutation(
        "event taken and not applied", codes("H226", "H229"), event_dropped, scenario=PAID_TWICE
    ),
    Mutation("amounts told one too high", codes("H230"), amount_told_wrong, scenario=PAID_TWICE),
    Mutation(
        "holds end at half their time", codes("H223"), hold_ends_early, "hoard", scenario=BOOK
    ),
    Mutation("holds given back twice", codes("H223"), hold_ends_twice, "hoard", scenario=BOOK),
    Mutation(
        "one place more than there is",
        codes("H221", "H222"),
        one_place_more,
        "snatch",
        load=8,
        scenario=BOOK,
    ),
    Mutation(
        "booked at another price", codes("H220", "H226", "H227"), price_changed, scenario=BOOK
    ),
)
