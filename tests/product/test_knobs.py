"""Each kind of knob takes its forms and refuses the rest in words; patches lie over each other."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simharness.errors import UnknownName, UsageError
from simharness.parts.clock import Skew
from simharness.parts.limit import Rate
from simharness.product import knobs
from simharness.product.knobs import Knob, Settings, read_config
from simharness.product.product import Product, resolve_settings

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.product.conftest import Bench

KNOBS: dict[str, Knob] = {
    "duration": knobs.duration("duration", "0s", "a time"),
    "unit": knobs.duration("unit", "1us", "a time", low=1),
    "choice": knobs.choice("choice", ("row", "none"), "a word"),
    "flag": knobs.flag("flag", True, "on or off"),
    "count": knobs.count("count", "none", "a number"),
    "workers": knobs.count("workers", 8, "a number", low=1),
    "span": knobs.span("span", "0s", "a wait"),
    "interval": knobs.interval("interval", "none", "a time between"),
    "rate": knobs.rate("rate", "none", "a rate"),
    "clock": knobs.clock("clock", "a clock"),
    "limit": knobs.limit("limit", "a rate limit"),
    "words": knobs.words("words", ("as_of", "version"), "a list"),
}


@pytest.mark.parametrize(
    ("kind", "given", "value"),
    [
        ("duration", "300s", 300_000_000),
        ("duration", "0s", 0),
        ("duration", "5min", 300_000_000),
        ("unit", "1us", 1),
        ("unit", "1s", 1_000_000),
        ("choice", "none", "none"),
        ("flag", True, True),
        ("flag", "true", True),
        ("flag", "false", False),
        ("count", 0, 0),
        ("count", "none", 0),
        ("count", "12", 12),
        ("workers", 1, 1),
        ("span", "2s", (2_000_000, 2_000_000)),
        ("span", ["1s", "3s"], (1_000_000, 3_000_000)),
        ("span", ("1s", "1s"), (1_000_000, 1_000_000)),
        ("span", ["0s", "5us"], (0, 5)),
        ("clock", "exact", Skew(0, 0)),
        ("clock", "+250ms", Skew(250_000, 0)),
        ("clock", "1s", Skew(1_000_000, 0)),
        ("clock", "-2s", Skew(-2_000_000, 0)),
        ("clock", "-40ppm", Skew(0, -40)),
        ("clock", ["-1us", "+120ppm"], Skew(-1, 120)),
        ("limit", "none", None),
        ("limit", "10/s", Rate(10, 1_000_000, 10)),
        ("limit", ["60/min", 5], Rate(60, 60_000_000, 5)),
        ("interval", "none", 0),
        ("interval", "1us", 1),
        ("interval", "10s", 10_000_000),
        ("rate", "none", 0),
        ("rate", "1/min", 60_000_000),
        ("rate", "5/s", 200_000),
        ("rate", "12/min", 5_000_000),
        ("rate", "2/h", 1_800_000_000),
        ("rate", "999999999/s", 1),
        ("words", [], ()),
        ("words", ["version", "as_of"], ("as_of", "version")),
    ],
)
def test_a_value_in_one_of_its_forms_is_read(kind: str, given: object, value: object) -> None:
    read = KNOBS[kind].read(given)
    assert read == value
    assert type(read) is type(value)


@pytest.mark.parametrize(
    ("kind", "given"),
    [
        ("interval", "0s"),
        ("interval", None),
        ("interval", 5),
        ("duration", "soon"),
        ("duration", "-1s"),
        ("duration", -1),
        ("duration", 1.5),
        ("duration", True),
        ("duration", None),
        ("duration", ["1s", "2s"]),
        ("unit", "0s"),
        ("unit", 0),
        ("choice", "rows"),
        ("choice", 1),
        ("choice", ["row"]),
        ("choice", None),
        ("flag", 1),
        ("flag", "yes"),
        ("flag", "True"),
        ("flag", None),
        ("flag", []),
        ("count", -1),
        ("count", "-1"),
        ("count", "1.5"),
        ("count", 1.0),
        ("count", True),
        ("count", "²"),
        ("count", "1" * 5_000),
        ("count", None),
        ("workers", 0),
        ("workers", "0"),
        ("workers", "none"),
        ("duration", 7),
        ("span", [0, 5]),
        ("span", ["3s", "1s"]),
        ("span", ["1s"]),
        ("span", ["1s", "2s", "3s"]),
        ("span", [True, "2s"]),
        ("span", {}),
        ("clock", "-"),
        ("clock", "+-1s"),
        ("clock", "367d"),
        ("clock", 0),
        ("clock", None),
        ("clock", "1.5ppm"),
        ("clock", "-500001ppm"),
        ("clock", ["1s"]),
        ("clock", ["1ppm", "1s"]),
        ("limit", "0/s"),
        ("limit", 10),
        ("limit", ["10/s"]),
        ("limit", ["10/s", 0]),
        ("limit", ["10/s", True]),
        ("limit", ["none", 5]),
        ("limit", None),
        ("rate", "0/s"),
        ("rate", "5/d"),
        ("rate", "5"),
        ("rate", "1.5/s"),
        ("rate", "-1/s"),
        ("rate", "5/s\n"),
        ("rate", "٣/s"),
        ("rate", 5),
        ("rate", None),
        ("words", "as_of"),
        ("words", ["age"]),
        ("words", [1]),
        ("words", None),
    ],
)
def test_any_other_value_is_refused_with_the_knob_and_its_forms(kind: str, given: object) -> None:
    knob = KNOBS[kind]
    with pytest.raises(UsageError, match=rf"^knob {kind}: ") as caught:
        knob.read(given)
    assert caught.value.hint == f"give {knob.forms}"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)


@given(st.sampled_from(sorted(KNOBS)), JSON)
def test_a_knob_reads_or_refuses_whatever_a_config_may_hold(kind: str, value: object) -> None:
    # Any error but a refusal comes out and fails.
    with suppress(UsageError):
        first = KNOBS[kind].read(value)
        assert KNOBS[kind].read(value) == first


@pytest.mark.parametrize("kind", sorted(KNOBS))
def test_the_default_is_one_of_the_forms(kind: str) -> None:
    KNOBS[kind].read(KNOBS[kind].default)


# --- configs --------------------------------------------------------------------------------------


def test_an_unknown_knob_lists_the_near_names_and_says_where_it_stood() -> None:
    with pytest.raises(UnknownName, match=r"^no knob named 'durations' in the config; ") as caught:
        read_config(KNOBS, {"durations": "1s"}, "the config")
    assert "did you mean 'duration'" in caught.value.hint


def test_a_config_lies_over_the_profile_and_the_profile_over_the_defaults(
    bench: Callable[..., Bench],
) -> None:
    product = type(bench({}).shop)
    ttl = "items.detail.cache.ttl"

    def value(profile: str, config: dict[str, object]) -> Any:
        return resolve_settings(product, profile, config).values[ttl]

    assert value("bare", {}) == 0
    assert value("cached", {}) == 600_000_000
    assert value("cached", {ttl: "1s"}) == 1_000_000
    assert value("cached", {}) == 600_000_000, "a config changes no profile"


def test_an_unknown_profile_or_key_is_refused(bench: Callable[..., Bench]) -> None:
    product = type(bench({}).shop)
    with pytest.raises(UnknownName, match=r"^no profile of shop named 'cach'; did you mean"):
        resolve_settings(product, "cach", {})
    with pytest.raises(UnknownName, match=r"^no knob named 'items.detail.cache.tl' in the config"):
        resolve_settings(product, "bare", {"items.detail.cache.tl": "1s"})
    with pytest.raises(UsageError, match=r"^knob api.workers: got 'none'"):
        resolve_settings(product, "bare", {"api.workers": "none"})


def test_every_knob_of_a_product_reads_its_own_default(bench: Callable[..., Bench]) -> None:
    product = type(bench({}).shop)
    assert len(product.knobs) > 25
    for key, knob in product.knobs.items():
        assert knob.key == key
        assert knob.doc
        knob.read(knob.default)
    assert Product.knobs == {}, "each product has its own"


# --- patches --------------------------------------------------------------------------------------


class Part:
    length = 0


def bound() -> tuple[Settings, Part]:
    settings = Settings(KNOBS, {"duration": 1, "count": 5})
    part = Part()
    settings.bind("duration", part, "length")
    return settings, part


def test_a_bound_part_follows_every_patch() -> None:
    settings, part = bound()
    assert part.length == 1
    patch = {"duration": 9}
    settings.patch(patch)
    assert (part.length, settings.values) == (9, {"duration": 9, "count": 5})
    settings.unpatch(patch)
    assert (part.length, settings.values) == (1, {"duration": 1, "count": 5})


@given(st.permutations(range(3)))
def test_patches_are_taken_back_in_any_order(order: list[int]) -> None:
    settings, part = bound()
    patches = [{"duration": 10}, {"duration": 20, "count": 20}, {"duration": 10}]
    for patch in patches:
        settings.patch(patch)
    for left in order:
        settings.unpatch(patches[left])
        patches[left] = {}
        expected = [patch["duration"] for patch in patches if patch]
        assert part.length == settings.values["duration"] == (expected or [1])[-1]
    assert settings.values == {"duration": 1, "count": 5}


def test_counts_and_waits_have_an_upper_bound() -> None:
    team = knobs.count("users.team", 20, "how many", high=1000)
    assert team.read(1000) == 1000
    with pytest.raises(UsageError, match=r"knob users.team: got 1001; give a whole number from 0"):
        team.read(1001)
    wait = knobs.span("api.latency", "0s", "wait", high=60_000_000)
    assert wait.read(["1s", "1min"]) == (1_000_000, 60_000_000)
    with pytest.raises(UsageError, match=r"knob api.latency: got '1h'; give .*, at most 1min"):
        wait.read("1h")
