"""Draws are what a second Philox says they are, in whatever order they are asked for."""

from __future__ import annotations

import math
from hashlib import blake2b

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.random import Philox

from simharness.errors import UsageError
from simharness.kernel import draws
from simharness.kernel.draws import DECLARED, FRACTION, WORD, Draws, Stream, minus_ln, word_of

WORDS = st.integers(0, WORD - 1)
NAMES = st.text(max_size=20)


def philox(counter: tuple[int, int, int, int], key: tuple[int, int]) -> tuple[int, int, int, int]:
    """Philox 4x64-10 of Salmon et al. (2011), in plain ints."""
    a, b, c, d = counter
    k, m = key
    for _ in range(10):
        first, second = a * 0xD2E7470EE14C6C93, c * 0xCA5A826395121157
        a, b, c, d = (
            second >> 64 ^ b ^ k,
            second % WORD,
            first >> 64 ^ d ^ m,
            first % WORD,
        )
        k = (k + 0x9E3779B97F4A7C15) % WORD
        m = (m + 0xBB67AE8584CAA73B) % WORD
    return a, b, c, d


def name_word(name: str) -> int:
    return int.from_bytes(blake2b(name.encode(), digest_size=8).digest(), "little")


def test_numpy_and_the_witness_give_the_published_words() -> None:
    golden = [5705853004827290377, 6584680345644299050, 680768428710196683]
    assert Philox(key=[1, 2]).random_raw(3).tolist() == golden
    assert list(philox((1, 0, 0, 0), (1, 2)))[:3] == golden


@given(WORDS, NAMES, st.integers(0, 2**64 - 1))
def test_a_block_holds_the_words_of_its_address(seed: int, owner: str, n: int) -> None:
    key = (seed, name_word(owner))
    expected = [*philox((1, n, 0, 0), key), *philox((2, n, 0, 0), key)]
    assert Draws(seed).block(owner, n) == expected


@given(WORDS, NAMES, WORDS, NAMES, st.integers(0, 1 << 40), st.integers(0, 1 << 40))
def test_a_word_is_that_of_its_address(
    seed: int, owner: str, n: int, purpose: str, k: int, attempt: int
) -> None:
    # NumPy adds one to the counter before it generates.
    counter = (k // 4 + 1, n, name_word(purpose), attempt)
    expected = philox(counter, (seed, name_word(owner)))[k % 4]
    assert Draws(seed).word(owner, n, purpose, k, attempt) == expected


def test_a_declared_purpose_stands_in_the_block_of_its_operation() -> None:
    source = Draws(7)
    block = source.block("user/1", 3)
    stream = Stream(source, "user/1", 3)
    assert [stream.bits(purpose) for purpose in DECLARED] == block


def test_a_later_draw_of_a_declared_purpose_is_fetched_by_its_own_address() -> None:
    source = Draws(7)
    stream = Stream(source, "user/1", 3)
    assert stream.bits("api", 1) == source.word("user/1", 3, "api", 1)
    assert stream.bits("api", 0, 1) == source.word("user/1", 3, "api", 0, 1)


ADDRESSES = st.lists(
    st.tuples(
        st.sampled_from(["agent", "user/1", "user/2"]),
        st.integers(0, 3),
        st.sampled_from(["api", "choice", "colour", "size"]),
        st.integers(0, 9),
    ),
    min_size=1,
    max_size=12,
    unique=True,
)


@given(ADDRESSES)
def test_a_draw_depends_on_nothing_but_its_address(
    addresses: list[tuple[str, int, str, int]],
) -> None:
    def drawn(asked: list[tuple[str, int, str, int]]) -> dict[tuple[str, int, str, int], int]:
        source = Draws(11)
        return {a: Stream(source, a[0], a[1]).bits(a[2], a[3]) for a in asked}

    alone = {address: drawn([address])[address] for address in addresses}
    assert drawn(addresses) == alone
    assert drawn(sorted(addresses, reverse=True)) == alone
    assert len(set(alone.values())) == len(addresses)


def test_one_stream_gives_the_same_words_in_any_order_and_again() -> None:
    asked = [("api", 0), ("api", 1), ("db", 0), ("colour", 0), ("colour", 5)]
    forward = Stream(Draws(1), "agent", 1)
    backward = Stream(Draws(1), "agent", 1)
    words = [forward.bits(*address) for address in asked]
    assert [backward.bits(*address) for address in reversed(asked)] == words[::-1]
    assert [forward.bits(*address) for address in asked] == words


@given(st.integers(1, WORD), WORDS)
@example(WORD, 0)
@example(1, 0)
@example(WORD // 2 + 1, 0)
def test_below_stays_in_range(bound: int, seed: int) -> None:
    assert 0 <= Stream(Draws(seed), "x", 0).below(bound) < bound


class Canned(Stream):
    """A stream that gives the words it was made with, one an attempt."""

    def __init__(self, words: list[int]) -> None:
        super().__init__(Draws(0), "canned", 0)
        self.words = words
        self.used = 0

    def bits(self, purpose: str, k: int = 0, attempt: int = 0) -> int:
        self.used = attempt + 1
        return self.words[attempt]


def test_below_rejects_exactly_the_words_that_would_bias_it() -> None:
    # Of this bound the low four bits of a word decide: one word in 16 has to go, so that the first
    # 15 leave five words for each of the three values that small words can give.
    bound = 3 * 2**60
    kept: dict[int, int] = {}
    rejected = 0
    for step in range(16):
        stream = Canned([step, 9])
        value = stream.below(bound)
        if stream.used == 1:
            kept[value] = kept.get(value, 0) + 1
        else:
            rejected += 1
    assert rejected == 1
    assert kept == {0: 5, 1: 5, 2: 5}


def test_a_huge_bound_takes_replacements_from_addresses_of_their_own() -> None:
    bound = WORD // 2 + 1  # nearly half of all words are rejected
    source = Draws(5)
    repeats = 0
    for n in range(200):
        attempt = 0
        word = source.word("x", n, "colour")
        while word * bound % WORD < WORD % bound:
            attempt += 1
            word = source.word("x", n, "colour", 0, attempt)
        repeats += attempt > 0
        assert Stream(source, "x", n).below(bound, "colour") == word * bound // WORD
    assert 60 < repeats < 140


def test_below_is_uniform() -> None:
    source = Draws(3)
    counts = [0] * 7
    for n in range(7_000):
        counts[Stream(source, "x", n).below(7)] += 1
    chi_square = sum((count - 1_000) ** 2 / 1_000 for count in counts)
    assert chi_square < 22.5  # 6 degrees of freedom: one in a thousand is above


@pytest.mark.parametrize("bound", [0, -1, WORD + 1])
def test_a_bound_that_no_draw_can_meet_is_refused(bound: int) -> None:
    with pytest.raises(UsageError, match=r"^bound -?\d+ of draw 'choice' is not usable"):
        Stream(Draws(1), "x", 0).below(bound)


def test_between_includes_both_ends_and_nothing_else() -> None:
    source = Draws(3)
    seen = {Stream(source, "x", n).between(-1, 1) for n in range(100)}
    assert seen == {-1, 0, 1}
    with pytest.raises(UsageError):
        Stream(source, "x", 0).between(2, 1)


def test_chance_is_never_at_0_and_always_at_a_million() -> None:
    source = Draws(3)
    streams = [Stream(source, "x", n) for n in range(2_000)]
    assert not any(s.chance(0) for s in streams)
    assert all(s.chance(1_000_000) for s in streams)
    assert 400 < sum(s.chance(250_000) for s in streams) < 600


def test_weights_decide_how_often_an_index_comes() -> None:
    source = Draws(3)
    counts = [0, 0, 0, 0]
    for n in range(4_000):
        counts[Stream(source, "x", n).weighted([1, 0, 2, 1])] += 1
    assert counts[1] == 0
    assert 850 < counts[0] < 1_150
    assert 1_850 < counts[2] < 2_150
    for weights in ([], [0, 0]):
        with pytest.raises(UsageError):
            Stream(source, "x", 0).weighted(weights)


@given(WORDS)
@example(0)
@example(WORD - 1)
@example(WORD - 2)
@example(WORD // 2)
@example(WORD // 2 - 1)
@example(1)
def test_minus_ln_agrees_with_the_logarithm(word: int) -> None:
    # log1p keeps its digits next to 1, where log((word + 1) / 2**64) would be 0.
    u = (word + 1) / WORD
    expected = -math.log(u) if u < 0.5 else -math.log1p(-(WORD - 1 - word) / WORD)
    assert minus_ln(word) / (1 << FRACTION) == pytest.approx(expected, rel=3e-6, abs=3e-6)


@given(WORDS, WORDS)
def test_minus_ln_never_rises(one: int, other: int) -> None:
    low, high = sorted((one, other))
    assert minus_ln(low) >= minus_ln(high) >= 0


def test_the_table_of_logarithms_never_drifts() -> None:
    table = draws._log2_table()  # pyright: ignore[reportPrivateUsage]
    data = b"".join(value.to_bytes(8, "little") for value in table)
    assert blake2b(data, digest_size=16).hexdigest() == "354e7f8ed3c026afb08790ab7eb06773"
    assert all(
        value == pytest.approx(math.log2(1 + i / 256) * 2**40, abs=2)
        for i, value in enumerate(table)
    )


def test_exponential_draws_have_their_mean_and_their_tail() -> None:
    mean = 1_000_000
    source = Draws(9)
    values = [Stream(source, "x", n).exponential(mean) for n in range(10_000)]
    assert sum(values) / len(values) == pytest.approx(mean, rel=0.03)
    for times in (1, 2, 4):
        share = sum(v > times * mean for v in values) / len(values)
        assert share == pytest.approx(math.exp(-times), abs=0.012)
    assert all(type(v) is int and 0 <= v < 45 * mean for v in values)


@given(st.lists(st.integers(), max_size=30), WORDS)
def test_shuffling_keeps_every_item_and_leaves_the_original(items: list[int], seed: int) -> None:
    before = items.copy()
    out = Stream(Draws(seed), "x", 0).shuffled(items)
    assert sorted(out) == sorted(items)
    assert items == before


def test_every_order_of_three_comes_about_as_often() -> None:
    source = Draws(4)
    counts: dict[str, int] = {}
    for n in range(3_000):
        order = "".join(Stream(source, "x", n).shuffled("abc"))
        counts[order] = counts.get(order, 0) + 1
    assert len(counts) == 6
    assert all(400 < count < 600 for count in counts.values())


@pytest.mark.parametrize("seed", [-1, WORD, True, 1.0, "1", None])
def test_a_seed_out_of_range_or_of_another_type_is_refused(seed: object) -> None:
    with pytest.raises(UsageError, match=r"^seed .* is not usable"):
        Draws(seed)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("seed", [0, 1, WORD - 1])
def test_every_seed_in_range_has_draws_of_its_own(seed: int) -> None:
    assert Draws(seed).block("x", 0) != Draws(seed ^ 2).block("x", 0)


def test_fetches_are_counted_by_owner() -> None:
    source = Draws(1)
    stream = Stream(source, "user/1", 1)
    stream.bits("api")
    stream.bits("db")  # of the same block
    stream.bits("colour")
    source.block("agent", 1)
    assert source.counts == {"user/1": 2, "agent": 1}


@given(NAMES)
def test_the_word_of_a_name_is_never_that_of_declared_purposes(name: str) -> None:
    assert word_of(name) == name_word(name) != 0
