"""Test files with a test that is flaky in itself: what it comes to depends on when it runs.

In the sandbox a run has one instant at which its time begins, so the flaky ones here are those that
read the clock: a jitter that is seeded by it, a stamp that is cut to its digits, a share of a
minute. Of the instants of a minute each fails at a part.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from simharness.models.ide.tickets.text import fill
from simharness.models.ide.tickets.ticket import Flaky

if TYPE_CHECKING:
    from simharness.models.ide.tickets.draw import Draw

JITTER = '''"""Waits between attempts that failed."""

import random
import time


def waits(attempts, base=$base, rng=None):
    """Give the seconds to wait before each attempt: doubled each time, with up to as much again.

    The generator is seeded by the clock unless one is given.
    """
    rng = rng or random.Random(time.time_ns())
    return [base * 2**n * (1 + rng.random()) for n in range(attempts)]
'''
JITTER_TEST = """import random

from $package.$module import waits


def test_waits_grow():
    rng = random.Random($seed)
    first, *rest = waits(4, rng=rng)
    assert $base <= first <= 2 * $base
    assert len(rest) == 3


def test_$flaky():
    total = sum(waits($attempts))
    assert total < $limit
"""
STAMP = '''"""Names for files that are written out."""

import time


def export_name(kind, now=None):
    """Name an export after what it holds and when it was made, in milliseconds."""
    moment = time.time() if now is None else now
    return f"{kind}-{round(moment * 1000) % 20000}"
'''
STAMP_TEST = """from $package.$module import export_name


def test_name_holds_the_kind():
    assert export_name("$kind", now=$now).startswith("$kind-")


def test_$flaky():
    assert len(export_name("$kind")) == $length
"""
MINUTE = '''"""When the next batch goes out."""

from datetime import datetime


def seconds_to_batch(now=None, every=$every):
    """Give the seconds until the next batch; one goes out $every seconds after the other."""
    moment = now or datetime.now()
    return every - (moment.minute * 60 + moment.second) % every
'''
MINUTE_TEST = """from datetime import datetime

from $package.$module import seconds_to_batch


def test_batch_after_the_hour():
    assert seconds_to_batch(datetime(2024, 5, 2, 8, 0, 1)) == $every - 1


def test_$flaky():
    assert seconds_to_batch() > $margin
"""


def make_flaky(draw: Draw, package: str) -> Flaky:
    """Draw a test file with a flaky test, for a package."""
    kind = draw.pick("flaky", ("jitter", "stamp", "minute"))
    values: dict[str, object] = {"package": package}
    names: tuple[str, ...]
    match kind:
        case "jitter":
            names = ("retries_stay_short", "total_wait_is_bounded", "waits_add_up_to_little")
            base, attempts = draw.between("base", 2, 9), draw.between("attempts", 3, 5)
            # They add up to `least` without jitter, and to half as much again in the middle.
            least = base * (2**attempts - 1)
            values |= {"base": base, "attempts": attempts, "seed": draw.between("seed", 1, 99)}
            values |= {"limit": least + least * draw.between("share", 42, 58) // 100}
            module = draw.pick("module", ("retry", "backoff", "waiting"))
            texts = JITTER, JITTER_TEST
        case "stamp":
            names = ("name_has_the_usual_length", "name_fits_the_column", "length_of_a_name")
            word = draw.pick("kind", ("orders", "report", "stock", "ledger", "audit"))
            # It has five digits in ten seconds of twenty, and fewer in the others.
            values |= {"kind": word, "now": draw.between("now", 10_000, 99_999)}
            values |= {"length": len(word) + 6}
            module = draw.pick("module", ("export_names", "naming", "exports"))
            texts = STAMP, STAMP_TEST
        case _:
            names = ("next_batch_is_some_way_off", "there_is_time_before_the_batch")
            every = draw.pick("every", (20, 30, 60))
            values |= {"every": every, "margin": every * draw.between("margin", 30, 60) // 100}
            module = draw.pick("module", ("batches", "dispatch", "scheduling"))
            texts = MINUTE, MINUTE_TEST
    values |= {"module": module, "flaky": draw.pick("title", names)}
    code, test = (fill(text, values) for text in texts)
    path = f"tests/test_{module}.py"
    return Flaky(
        files={f"{package}/{module}.py": code},
        path=path,
        text=test,
        test_id=f"{path}::test_{values['flaky']}",
    )
