from __future__ import annotations

import pytest

from simharness.chat.options import Options, Think, check_address, is_paired, read_options
from simharness.errors import UnknownName, UsageError
from simharness.units import SECOND


def test_a_name_is_a_model_and_its_options() -> None:
    assert read_options("openai:org/model:free") == Options(model="org/model:free")
    assert read_options(
        "openai:m,stream=yes,think=fixed:3s,timeout=2min,retries=0,limit=1h,temperature=0.5,seed=7"
    ) == Options(
        model="m",
        stream=True,
        think=Think.FIXED,
        think_ticks=3 * SECOND,
        timeout=120,
        retries=0,
        limit=3600,
        asks={"temperature": 0.5, "seed": 7},
    )


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("openai:", "names no model"),
        ("openai:,stream=yes", "names no model"),
        ("openai:m,stream", "is not readable"),
        ("openai:m,stream=", "is not readable"),
        ("openai:m,stream=maybe", "give yes or no"),
        ("openai:m,stream=yes,stream=no", "is given twice"),
        ("openai:m,temperature=hot", "give a number"),
        ("openai:m,temperature=nan", "give a number"),
        ("openai:m,max_tokens=-1", "give a whole number"),
        ("openai:m,retries=1000000", "give at most 20"),
        ("openai:m,timeout=1ms", "give whole seconds"),
        ("openai:m,timeout=soon", "soon"),
        ("openai:m,think=fixed", "give draw, fixed:DURATION, by_length or wall"),
        ("openai:m,think=fixed:2d", "give at most 1 day"),
    ],
)
def test_a_name_that_is_none_says_what_would_be(name: str, told: str) -> None:
    with pytest.raises(UsageError, match=told):
        read_options(name)


def test_an_unknown_option_names_the_near_ones() -> None:
    with pytest.raises(UnknownName, match="did you mean 'temperature'"):
        read_options("openai:m,temprature=1")


@pytest.mark.parametrize(
    "url",
    [
        "127.0.0.1:8000/v1",
        "ftp://example.org/v1",
        "http://",
        "http://[::1/v1",
        "http://example.org:0/v1",
        "http://example.org:99999999/v1",
        "https://me:hunter2@example.org/v1",
        "https://hunter2@example.org/v1",
        "https://example.org/v1?key=hunter2",
    ],
)
def test_an_address_that_is_none_or_holds_a_secret_is_refused_and_not_repeated(url: str) -> None:
    with pytest.raises(UsageError) as error:
        check_address(url)
    assert "hunter2" not in str(error.value)


def test_think_times_that_the_model_decides_unpair_a_group() -> None:
    every = ["expert", "transcript:x,think=wall", "openai:m", "openai:m,think=fixed:1s"]
    assert all(map(is_paired, every))
    assert not is_paired("openai:m,think=wall")
    assert not is_paired("openai:m,think=by_length")
