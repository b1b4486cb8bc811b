import ast
import enum
import json
import os
import random
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

import simharness
from simharness.errors import DamagedRecording, UsageError
from simharness.values import (
    BYTES_MAX,
    DEPTH_MAX,
    INT_MAX,
    INT_MIN,
    digest,
    digest_of,
    fast_packer,
    pack,
    unpack,
)

msgpack = import_module("msgpack")  # it has no types to import

# Literals, so that another process can read the same vectors.
VECTORS = [
    ("None", "c0"),
    ("False", "c2"),
    ("True", "c3"),
    ("0", "00"),
    ("1", "01"),
    ("127", "7f"),
    ("128", "cc80"),
    ("255", "ccff"),
    ("256", "cd0100"),
    ("65536", "ce00010000"),
    ("4294967296", "cf0000000100000000"),
    ("9223372036854775807", "cf7fffffffffffffff"),
    ("18446744073709551615", "cfffffffffffffffff"),
    ("-1", "ff"),
    ("-32", "e0"),
    ("-33", "d0df"),
    ("-129", "d1ff7f"),
    ("-32769", "d2ffff7fff"),
    ("-2147483649", "d3ffffffff7fffffff"),
    ("-9223372036854775808", "d38000000000000000"),
    ("''", "a0"),
    ("'a'", "a161"),
    ("'\\xe9\\u20ac'", "a5c3a9e282ac"),
    ("'\\U0001f600'", "a4f09f9880"),
    ("'\\ud800'", "a3eda080"),
    ("'\\ud83d\\ude00'", "a6eda0bdedb880"),
    ("'\\x00'", "a100"),
    (repr("a" * 31), "bf" + "61" * 31),
    (repr("a" * 32), "d920" + "61" * 32),
    (repr("a" * 256), "da0100" + "61" * 256),
    ("b''", "c400"),
    ("b'\\x00\\xff'", "c40200ff"),
    (repr(b"\1" * 256), "c50100" + "01" * 256),
    ("[]", "90"),
    ("()", "90"),
    ("[1, 'a', None]", "9301a161c0"),
    ("(1, (2, []))", "9201920290"),
    (repr([0] * 16), "dc0010" + "00" * 16),
    ("{}", "80"),
    ("{'b': 1, 'a': 2}", "82a16102a16201"),
    ("{'b': 1, 'B': 2, '': 3}", "83a003a14202a16201"),
    ("{'\\U0001f600': 1, '\\uffff': 2}", "82a3efbfbf02a4f09f988001"),
    ("{'m': {'z': [True], 'y': {}}}", "81a16d82a17980a17a91c3"),
]

HOSTILE = [
    "",  # nothing
    "c0c0",  # more than one value
    "c1",  # never used
    "ddffffffff",  # an array of 2**32 - 1 items
    "ddffffffff" * 20,
    "dfffffffff",
    "dbffffffff",
    "c6ffffffff",
    "c9ffffffff05",
    "dcffff" * 900 + "00" * 70_000,  # 900 half-filled arrays, each as long as the data allows
    "91" * 100_000,  # deeper than any stack
    "91" * 5_000 + "c0",
    "91" * (DEPTH_MAX + 1) + "c0",
    "91" * DEPTH_MAX + "90",
    "81a161" * (DEPTH_MAX + 1) + "c0",
    "a1ff",  # no UTF-8
    "a2c080",  # zero in two bytes
    "ca3f000000",  # floats
    "cb3fe0000000000000",
    "91ca7fc00000",
    "d60500000000",  # extension types, the last a timestamp
    "c70005",
    "d6ff00000000",
    "c700ff",
    "8101c0",  # keys that are no str
    "81c0c0",
    "81c40161c0",
    "8190c0",
    "8180c0",
    "82a162c0a161c0",  # keys out of order, and twice
    "82a161c0a161c0",
    "cc01",  # long forms of what has a shorter one
    "cd00ff",
    "d0ff",
    "d30000000000000001",
    "d90161",
    "da000161",
    "c5000161",
    "dc0000",
    "dd0000000101",
    "de0000",
]

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(INT_MIN, INT_MAX)
    | st.text(st.characters(codec=None, categories=None))
    | st.binary(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=30,
)


def refused(data: bytes) -> bool:
    try:
        unpack(data)
    except DamagedRecording:
        return True
    return False


@pytest.mark.parametrize(("literal", "expected"), VECTORS)
def test_a_value_has_these_bytes(literal: str, expected: str) -> None:
    assert pack(ast.literal_eval(literal)).hex() == expected


@pytest.mark.parametrize(("pure", "hash_seed"), [("", "1"), ("", "2"), ("1", "1"), ("1", "2")])
def test_the_bytes_and_refusals_are_the_same_in_another_process(pure: str, hash_seed: str) -> None:
    script = """
import ast, json, sys
import msgpack
from simharness.errors import DamagedRecording
from simharness.values import pack, unpack

def refused(text):
    try:
        unpack(bytes.fromhex(text))
    except DamagedRecording:
        return True
    return False

literals, packed, hostile = json.load(sys.stdin)
json.dump([
    msgpack.Packer.__module__,
    [pack(ast.literal_eval(literal)).hex() for literal in literals],
    [pack(unpack(bytes.fromhex(text))).hex() for text in packed],
    [text for text in hostile if not refused(text)],
], sys.stdout)
"""
    expected = [text for _, text in VECTORS]
    done = subprocess.run(
        [sys.executable, "-c", script],
        input=json.dumps([[literal for literal, _ in VECTORS], expected, HOSTILE]),
        env={**os.environ, "MSGPACK_PUREPYTHON": pure, "PYTHONHASHSEED": hash_seed},
        cwd=Path(simharness.__file__).parent.parent,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    backend, packed, repacked, taken = json.loads(done.stdout)
    assert not pure or backend == "msgpack.fallback"
    assert packed == expected
    assert repacked == expected
    assert taken == []


@given(VALUES)
def test_a_value_comes_back_from_its_bytes(value: object) -> None:
    data = pack(value)
    again = unpack(data)
    assert again == value
    assert pack(again) == data
    assert repr(again) == repr(ordered(value))  # True == 1, but the text tells them apart


def ordered(value: object) -> object:
    if isinstance(value, list):
        return [ordered(item) for item in cast("list[object]", value)]
    if isinstance(value, dict):
        fields = cast("dict[str, object]", value)
        return {key: ordered(fields[key]) for key in sorted(fields)}
    return value


@given(st.dictionaries(st.text(), VALUES), st.randoms(use_true_random=False))
def test_the_order_of_a_dict_does_not_matter(
    fields: dict[str, object], shuffler: random.Random
) -> None:
    items = list(fields.items())
    shuffler.shuffle(items)
    assert pack(dict(items)) == pack(fields)


@given(VALUES, VALUES)
def test_equal_bytes_mean_equal_values(one: object, other: object) -> None:
    assert (pack(one) == pack(other)) == (repr(ordered(one)) == repr(ordered(other)))


def test_a_tuple_counts_as_a_list_and_a_bool_not_as_an_int() -> None:
    assert pack((1, (2,))) == pack([1, [2]])
    assert pack(True) != pack(1)
    assert pack("a") != pack(b"a")


class Colour(enum.StrEnum):
    RED = "red"


class Level(enum.IntEnum):
    LOW = 1
    HUGE = 2**64


def test_members_of_str_and_int_enums_count_as_their_plain_values() -> None:
    assert pack([Colour.RED, Level.LOW]) == pack(["red", 1])
    assert pack({Colour.RED: {"b": Level.LOW}}) == pack({"red": {"b": 1}})


class Text(str):
    __slots__ = ()


class Number(int):
    pass


class Fields(dict[str, object]):
    pass


class Flag(enum.IntFlag):
    ON = 1


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (0.5, "value: float 0.5 can't be packed"),
        (float("nan"), "value: float nan can't be packed"),
        ({"fields": {"amount": [1, 2, 3, 0.5]}}, "fields.amount[3]: float 0.5 can't be packed"),
        ([[1.0]], "[0][0]: float 1.0 can't be packed"),
        ({"a b": {"c": 1.0}}, "['a b'].c: float 1.0 can't be packed"),
        ({"n": 2**64}, "n: int of 65 bits can't be packed"),
        ({"n": -(2**63) - 1}, "n: int of 64 bits can't be packed"),
        ([1 << 20_000], "[0]: int of 20001 bits can't be packed"),
        (Level.HUGE, "value: int of 65 bits can't be packed"),
        ({"x": {1: 2}}, "x: key of type int can't be packed"),
        ({Text("a"): 2}, "value: key of type Text can't be packed"),
        ({b"a": 2}, "value: key of type bytes can't be packed"),
        ([Text("a")], "[0]: Text can't be packed"),
        ([Number(1)], "[0]: Number can't be packed"),
        (Fields(), "value: Fields can't be packed"),
        (Flag.ON, "value: Flag can't be packed"),
        ({1, 2}, "value: set can't be packed"),
        (bytearray(b"a"), "value: bytearray can't be packed"),
        (memoryview(b"a"), "value: memoryview can't be packed"),
        ([object()], "[0]: object can't be packed"),
        (msgpack.Timestamp(1), "value: Timestamp can't be packed"),
        (msgpack.ExtType(1, b""), "value: ExtType can't be packed"),
    ],
)
def test_other_values_are_refused_with_their_path(value: object, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        pack(value)
    assert caught.value.message == message
    assert caught.value.hint


def nested(depth: int) -> list[object]:
    value: list[object] = []
    for _ in range(depth - 1):
        value = [value]
    return value


def test_nesting_is_capped_alike_both_ways() -> None:
    deepest = nested(DEPTH_MAX)
    assert unpack(pack(deepest)) == deepest
    with pytest.raises(UsageError, match="nested deeper than 64"):
        pack(nested(DEPTH_MAX + 1))


def test_a_list_that_holds_itself_is_refused() -> None:
    loop: list[object] = []
    loop.append(loop)
    with pytest.raises(UsageError, match="nested deeper than 64"):
        pack(loop)


def test_size_is_capped_alike_both_ways() -> None:
    largest = bytes(BYTES_MAX - 5)
    assert unpack(pack(largest)) == largest
    with pytest.raises(UsageError, match=r"^value: packs to 67108865 bytes"):
        pack(bytes(BYTES_MAX - 4))
    with pytest.raises(DamagedRecording, match=r"^packed value of 67108865 bytes"):
        unpack(bytes(BYTES_MAX + 1))


@pytest.mark.parametrize("text", HOSTILE, ids=lambda text: text[:24])
def test_hostile_bytes_are_refused(text: str) -> None:
    with pytest.raises(DamagedRecording, match=r"^packed value"):
        unpack(bytes.fromhex(text))


@given(st.binary(max_size=64))
def test_random_bytes_are_refused_or_are_canonical(data: bytes) -> None:
    assert refused(data) or pack(unpack(data)) == data


@given(VALUES, st.data())
def test_flipped_bytes_are_refused_or_are_canonical(value: object, draw: st.DataObject) -> None:
    data = bytearray(pack(value))
    data[draw.draw(st.integers(0, len(data) - 1))] ^= 1 << draw.draw(st.integers(0, 7))
    assert refused(bytes(data)) or pack(unpack(bytes(data))) == data


@given(VALUES, st.data())
def test_a_value_cut_short_is_refused(value: object, draw: st.DataObject) -> None:
    data = pack(value)
    assert refused(data[: draw.draw(st.integers(0, len(data) - 1))])


def test_a_digest_is_blake2b_of_16_bytes() -> None:
    assert digest(b"").hex() == "cae66941d9efbd404e4d88758ea67670"
    assert digest_of(None) == digest(b"\xc0").hex()
    assert len(digest_of({"a": [1]})) == 32


def test_digests_chain() -> None:
    first = digest(b"one")
    assert digest(b"two", first) == digest(first + b"two")
    assert digest(b"two", first) != digest(b"two")


ROWS = st.lists(st.none() | st.integers(INT_MIN, INT_MAX) | st.text()).map(tuple)


@given(st.lists(ROWS))
def test_the_fast_packer_writes_the_same_bytes(rows: list[tuple[object, ...]]) -> None:
    packer = fast_packer()
    for row in rows:
        assert packer.pack(row) == pack(row)
    assert packer.pack(("\ud800",)) == pack(["\ud800"])
