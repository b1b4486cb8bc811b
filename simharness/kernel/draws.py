"""Random draws with addresses: who draws, in which of its operations, for what, and which one.

A draw is a pure function of `(seed, owner, operation number, purpose, k)`. Nothing is ever taken
from a shared stream, so a call that is added, dropped or repaired shifts nobody else's draws. The
bits are raw Philox 4x64-10 output, which NumPy keeps stable for named bit generators; NumPy's
distributions carry no such promise and are not used. Every distribution here is integer arithmetic.
"""

from __future__ import annotations

from bisect import bisect_right
from functools import lru_cache
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, TypeVar

from numpy.random import Philox

from simharness.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

T = TypeVar("T")

WORD = 1 << 64
MASK = WORD - 1

DECLARED = ("api", "db", "put", "think", "choice", "row", "value", "invalidate")
"""Purposes whose first draw (k = 0) stands in the block that an operation fetches once."""

SLOTS = {purpose: slot for slot, purpose in enumerate(DECLARED)}
"""Declared purpose to its place in the block."""


@lru_cache(maxsize=65536)
def word_of(name: str) -> int:
    """Map a name to its 64-bit word, never 0 (0 marks declared purposes)."""
    return int.from_bytes(blake2b(name.encode(), digest_size=8).digest(), "little") or 1


class Draws:
    """The one source of random words of a world.

    A single Philox generator, re-keyed for every fetch. Not safe to share between threads; a world
    is driven by one thread at a time.
    """

    __slots__ = ("_bits", "_inner", "_raw", "_state", "counts", "seed")

    def __init__(self, seed: int) -> None:
        if type(seed) is not int or not 0 <= seed < WORD:
            raise UsageError(f"seed {seed!r} is not usable", "give an int from 0 to 2**64 - 1")
        self.seed = seed
        self.counts: dict[str, int] = {}
        """Fetches by owner; checkpoints carry them, so that a divergence can name the first
        culprit."""
        self._bits: Any = Philox(key=[0, 0])  # NumPy's own type of `state` differs by version
        self._raw = self._bits.random_raw
        # Plain lists: NumPy reads them in 0.3 us, arrays take more than twice that.
        self._inner: dict[str, Any] = {"counter": [0, 0, 0, 0], "key": [seed, 0]}
        self._state: dict[str, Any] = {
            "bit_generator": "Philox",
            "state": self._inner,
            "buffer": [0, 0, 0, 0],
            "buffer_pos": 4,
            "has_uint32": 0,
            "uinteger": 0,
        }

    def twin(self) -> Draws:
        """Give a source of the same words that counts for itself.

        It shares the generator, which costs 7 us to make.
        """
        twin = Draws.__new__(Draws)
        twin.seed = self.seed
        twin.counts = {}
        twin._bits, twin._raw = self._bits, self._raw
        twin._inner, twin._state = self._inner, self._state
        return twin

    def block(self, owner: str, n: int) -> list[int]:
        """Fetch the eight words of the declared purposes of operation `n` of `owner`."""
        counts = self.counts
        counts[owner] = counts.get(owner, 0) + 1
        inner = self._inner
        # NumPy steps the counter before it generates: the words are those of counters 1 and 2.
        inner["counter"] = [0, n, 0, 0]
        inner["key"] = [self.seed, word_of(owner)]
        self._bits.state = self._state
        words: list[int] = self._raw(8).tolist()
        return words

    def word(self, owner: str, n: int, purpose: str, k: int = 0, attempt: int = 0) -> int:
        """Fetch one word by its full address (purposes that are not declared, later k, repeats)."""
        counts = self.counts
        counts[owner] = counts.get(owner, 0) + 1
        inner = self._inner
        inner["counter"] = [k // 4, n, word_of(purpose), attempt]
        inner["key"] = [self.seed, word_of(owner)]
        self._bits.state = self._state
        word: int = self._raw(4).tolist()[k % 4]
        return word


class Stream:
    """The draws of one operation of one owner."""

    __slots__ = ("_draws", "_words", "n", "owner")

    def __init__(self, draws: Draws, owner: str, n: int) -> None:
        self._draws = draws
        self.owner = owner
        self.n = n
        self._words: list[int] | None = None

    def bits(self, purpose: str, k: int = 0, attempt: int = 0) -> int:
        """Give the 64-bit word at `(owner, n, purpose, k)`, the `attempt`-th replacement of it."""
        if k == 0 and attempt == 0:
            slot = SLOTS.get(purpose)
            if slot is not None:
                words = self._words
                if words is None:
                    words = self._words = self._draws.block(self.owner, self.n)
                return words[slot]
        return self._draws.word(self.owner, self.n, purpose, k, attempt)

    def below(self, bound: int, purpose: str = "choice", k: int = 0) -> int:
        """Draw uniformly from `0 .. bound - 1` (exactly: multiply-shift with rejection)."""
        if bound <= 0 or bound > WORD:
            raise UsageError(
                f"bound {bound!r} of draw {purpose!r} is not usable", "give 1 to 2**64"
            )
        product = self.bits(purpose, k) * bound
        low = product & MASK
        if low < bound:
            threshold = (WORD - bound) % bound
            attempt = 0
            while low < threshold:
                attempt += 1
                product = self.bits(purpose, k, attempt) * bound
                low = product & MASK
        return product >> 64

    def between(self, low: int, high: int, purpose: str = "choice", k: int = 0) -> int:
        """Draw uniformly from `low .. high`, both ends included."""
        return low + self.below(high - low + 1, purpose, k)

    def chance(self, millionths: int, purpose: str = "choice", k: int = 0) -> bool:
        """Be true with probability `millionths / 1_000_000`."""
        return self.below(1_000_000, purpose, k) < millionths

    def pick(self, items: Sequence[T], purpose: str = "choice", k: int = 0) -> T:
        """Draw one of `items`, each as likely."""
        return items[self.below(len(items), purpose, k)]

    def cumulative(self, ends: Sequence[int], purpose: str = "choice", k: int = 0) -> int:
        """Draw an index in proportion to weights given as their running totals."""
        return bisect_right(ends, self.below(ends[-1], purpose, k))

    def weighted(self, weights: Sequence[int], purpose: str = "choice", k: int = 0) -> int:
        """Draw an index of `weights` (non-negative ints) in proportion to them."""
        at = self.below(sum(weights), purpose, k)
        for index, weight in enumerate(weights):
            if at < weight:
                return index
            at -= weight
        raise UsageError(f"weights {list(weights)!r} of draw {purpose!r} are not usable")

    def exponential(self, mean: int, purpose: str = "think", k: int = 0) -> int:
        """Draw an exponentially distributed int with this mean, at most 44.4 times the mean."""
        return mean * minus_ln(self.bits(purpose, k)) >> FRACTION

    def shuffled(self, items: Sequence[T], purpose: str = "choice") -> list[T]:
        """Give the items in a random order (Fisher-Yates; uses k = 1 to len(items) - 1)."""
        out = list(items)
        for i in range(len(out) - 1, 0, -1):
            j = self.below(i + 1, purpose, i)
            out[i], out[j] = out[j], out[i]
        return out


FRACTION = 40
"""Fixed-point fraction bits of `minus_ln`."""
_LN2 = 762123384785
"""ln 2 in units of 2**-40 (0.693147180559945309...)."""


@lru_cache(maxsize=1)
def _log2_table() -> tuple[int, ...]:
    """Tabulate log2(1 + i/256) for i from 0 to 256, in units of 2**-40.

    By squaring: ints alone, so the same everywhere.
    """
    table: list[int] = []
    for i in range(257):
        mantissa = (256 + i) << 56  # 1.0 is 2**64
        if i == 256:
            table.append(1 << FRACTION)
            continue
        value = 0
        for bit in range(FRACTION - 1, -1, -1):
            mantissa = mantissa * mantissa >> 64
            if mantissa >= 1 << 65:
                mantissa >>= 1
                value |= 1 << bit
        table.append(value)
    return tuple(table)


def minus_ln(word: int) -> int:
    """Give -ln((word + 1) / 2**64) in units of 2**-40.

    A table with linear interpolation: the error is below 3e-6.
    """
    table = _log2_table()
    u = word + 1
    length = u.bit_length()  # u is in [2**(length-1), 2**length)
    mantissa = u << (65 - length)  # in [2**64, 2**65)
    index = (mantissa >> 56) - 256
    if index == 256:
        index = 255
    rest = mantissa - ((256 + index) << 56)
    log2 = table[index] + ((table[index + 1] - table[index]) * rest >> 56)
    return (((65 - length) << FRACTION) - log2) * _LN2 >> FRACTION
