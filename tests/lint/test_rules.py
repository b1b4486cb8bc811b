"""Each rule finds what it is for, on the right line, and leaves alone what only looks like it."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

import pytest

from simharness.errors import UsageError
from simharness.kernel.forbidden import RULES
from simharness.lint.check import lint_source
from tests.determinism.culprits import CLEAN, CULPRITS, marked_line

if TYPE_CHECKING:
    from simharness.lint.check import Finding


def found(source: str) -> list[Finding]:
    """Check a snippet."""
    return lint_source(textwrap.dedent(source).lstrip("\n"), "shop.py")[0]


def told(source: str) -> list[tuple[str, int]]:
    """Give code and line of what is found in a snippet."""
    return [(finding.code, finding.line) for finding in found(source)]


CODES = {
    "time": "SH001", "time-bound": "SH001", "time-getattr": "SH001", "sleep": "SH002",
    "datetime": "SH001", "date": "SH001", "random": "SH003", "numpy-random": "SH003",
    "uuid": "SH004", "secrets": "SH004", "urandom": "SH004", "process": "SH005",
    "environment": "SH005", "threads": "SH006", "asyncio": "SH006", "multiprocessing": "SH006",
    "subprocess": "SH006", "network": "SH007", "weakref": "SH010", "del": "SH010", "id": "SH011",
    "id-order": "SH011", "hash": "SH012", "set-order": "SH013", "set-loop": "SH013",
    "set-pop": "SH013", "float": "SH014", "module-state": "SH015", "module-global": "SH015",
    "module-counter": "SH015", "class-state": "SH016", "locale": "SH009", "file-order": "SH008",
    "file": "SH007", "exception-text": "SH018", "repr": "SH019",
}  # fmt: skip


def test_every_culprit_has_its_code() -> None:
    assert set(CODES) == set(CULPRITS)


@pytest.mark.parametrize("name", CULPRITS)
def test_the_guilty_line_of_a_culprit_is_found_and_no_other(name: str) -> None:
    assert told(CULPRITS[name]) == [(CODES[name], marked_line(CULPRITS[name]))]


def test_a_product_without_a_culprit_is_clean() -> None:
    assert told(CLEAN) == []


# One line each; what stands before the bar are imports, and the guilty line is the last.
LINES = {
    "SH001": [
        "import time|time.time()",
        "import time as t|t.monotonic()",
        "import time|clock = time.perf_counter",
        "from time import time|time()",
        "from time import time as now|def f():\n    return now()",
        "from time import *|x = 1",
        "import time; m = time|m.time()",
        "import importlib|importlib.import_module('time').time()",
        "|__import__('time').time()",
        "import sys|sys.modules['time'].time()",
        "import time|time.__dict__['time']()",
        "import time|class A:\n    t = time\n    def f(self):\n        return self.t.time()",
        "import time|from functools import partial; f = partial(time.time)",
        "import datetime|datetime.datetime.now()",
        "import datetime as d|d.date.today()",
        "from datetime import datetime as dt|dt.utcnow()",
        "from datetime import datetime; when = datetime|when.now()",
        "from datetime import datetime|datetime.fromtimestamp(0)",
        "import os|os.times()",
    ],
    "SH002": ["import time|time.sleep(1)", "from time import sleep|sleep(1)"],
    "SH003": [
        "import random|random.random()",
        "from random import choice|choice([1])",
        "import random|def f(rng: random.Random):\n    return rng.random()",
        "import numpy|numpy.random.rand()",
        "import numpy as np|rng = np.random.default_rng(1)",
        "from numpy.random import Generator|def f(rng: Generator):\n    return rng.integers(3)",
        "from numpy import random|random.shuffle([1])",
        "from random import *|x = 1",
    ],
    "SH004": [
        "import uuid|uuid.uuid4()",
        "from uuid import uuid1|uuid1()",
        "from dataclasses import field; import uuid|field(default_factory=uuid.uuid4)",
        "import secrets|secrets.choice('ab')",
        "import os|os.urandom(3)",
    ],
    "SH005": [
        "import os|os.getpid()",
        "import os|os.environ['HOME']",
        "from os import environ|environ.get('HOME')",
        "from os import *|getpid()",
        "import os|os.getenv('HOME')",
        "import platform|platform.node()",
        "import sys|sys.version_info",
        "import ctypes|ctypes.string_at(0)",
        "from zoneinfo import ZoneInfo|ZoneInfo('Europe/Paris')",
    ],
    "SH006": [
        "import threading|threading.Thread()",
        "import asyncio|asyncio.sleep(1)",
        "import multiprocessing as mp|mp.Pool()",
        "import concurrent.futures|concurrent.futures.ThreadPoolExecutor()",
        "from concurrent.futures import ThreadPoolExecutor|ThreadPoolExecutor()",
        "import subprocess|subprocess.run(['x'])",
        "import os|os.system('x')",
        "import signal|signal.alarm(1)",
        "import signal|signal.raise_signal(9)",
        "import os|os._exit(9)",
        "from os import _exit|_exit(9)",
        "import os|os.killpg(1, 9)",
        "import os|os.execvp('x', [])",
    ],
    "SH007": [
        "|def f():\n    return open('x')",
        "import io|def f():\n    return io.open('x')",
        "from pathlib import Path|def f():\n    return Path('x').read_text()",
        "import socket|socket.socket()",
        "import urllib.request|urllib.request.urlopen('x')",
        "import sqlite3|sqlite3.connect('x')",
        "import os|def f():\n    return sorted(os.listdir('x'))",
        "|def f():\n    return input()",
        "import sys|sys.stdout.close()",
        "from sys import stderr|stderr.write('x')",
    ],
    "SH008": [
        "import os|names = os.listdir('x')",
        "import os|for entry in os.scandir('x'): pass",
        "import os|list(os.walk('x'))",
        "import glob|glob.glob('x')",
        "from pathlib import Path|[p.name for p in Path('x').iterdir()]",
        "from pathlib import Path|list(Path('x').rglob('*'))",
    ],
    "SH009": [
        "import locale|locale.strcoll('a', 'b')",
        "|f'{1000:n}'",
        "|def f(when):\n    return when.strftime('%d %B')",
        "import calendar|calendar.month_name[1]",
    ],
    "SH010": [
        "import weakref|weakref.finalize(1, print)",
        "import weakref|weakref.ref(1, print)",
        "import weakref|weakref.proxy(1, callback=print)",
        "from weakref import WeakSet|WeakSet()",
        "import gc|gc.collect()",
    ],
    "SH011": ["|id(1)", "|sorted([1], key=id)", "|[].sort(key=id)", "|list(map(id, [1]))"],
    "SH012": ["|hash('x')", "|min([1], key=hash)", "|'x'.__hash__()"],
    "SH013": [
        "|for x in {1, 2}: pass",
        "|for x in set([1]): pass",
        "|[x for x in frozenset('ab')]",
        "|{x: 1 for x in {1, 2}}",
        "|list({x for x in 'ab'})",
        "|tuple(set('ab'))",
        "|','.join({'a', 'b'})",
        "|enumerate({1, 2})",
        "|next(iter({1, 2}))",
        "|iter({1, 2})",
        "|print(*{1, 2})",
        "|[*{1, 2}]",
        "|{1, 2}.pop()",
        "|a, b = {1, 2}",
        "|dict.fromkeys({1, 2})",
        "|[].extend({1, 2})",
        "|list(map(str, {1, 2}))",
        "|str({1, 2})",
        "|f'{ {1, 2} }'",
        "|sorted({'a', 'b'}, key=len)",
        "|max({'a', 'b'}, key=str.lower)",
        "|a = {1}; b = [2]\nlist(a | {2})",
        "|def f(a: dict, b: dict):\n    return list(a.keys() & b.keys())",
        "|def f(a: set[int]):\n    return list(a)",
        "|def f(a: 'frozenset[int] | None'):\n    return list(a or ())",
        "from collections.abc import Set|def f(a: Set[int]):\n    yield from a",
        "|a = {1}\nb = a\nlist(b)",
        "|a = {1}.union([2])\nlist(a)",
        "|def f():\n    a = {1}\n    a |= {2}\n    return list(a)",
        "|def f() -> set[int]:\n    return {1}\nlist(f())",
        "|def f(by: dict[str, set[int]]):\n    return list(by['x'])",
        "|def f(by: dict[str, set[int]]):\n    for ids in by.values():\n        print(*ids)",
        "from collections import defaultdict|by = defaultdict(set)\nlist(by['x'])",
        "|def f(a: list[set[int]]):\n    for b in a:\n        list(b)",
        "|class A:\n    def __init__(self):\n        self.x = set()\n    def f(self):\n"
        "        return list(self.x)",
        "|class A:\n    x: frozenset[int]\n    def f(self):\n        return list(self.x)",
        "|class A:\n    x: set[int]\ndef f(a: A):\n    return list(a.x)",
        "|class A:\n    tags: set[int]\ndef f(thing):\n    return list(thing.tags)",
        "|class A:\n    x: set[int]\nclass B(A):\n    def f(self):\n        return list(self.x)",
        "|class A:\n    def x(self) -> set[int]: ...\n    def f(self):\n        list(self.x())",
        "|def f(c):\n    if c:\n        a = {1}\n    else:\n        a = {2}\n    return list(a)",
        "from itertools import chain|list(chain([1], {2}))",
    ],
    "SH014": [
        "|x = 0.5",
        "|x = 1e6",
        "|x = 2j",
        "|x = 3 / 2",
        "|def f(x):\n    x /= 2",
        "|x = float('1')",
        "|list(map(float, '12'))",
        "|x = 2 ** -1",
        "|x = round(7, 1)",
        "import math|math.sqrt(4)",
        "import math|math.pi",
        "from math import log|log(2)",
        "import statistics|statistics.mean([1])",
        "|def f(x):\n    return x > 0.5",
        "|def f(d):\n    return d.total_seconds()",
    ],
    "SH015": [
        "|SEEN = []\ndef f():\n    SEEN.append(1)",
        "|SEEN = {}\ndef f():\n    SEEN['x'] = 1",
        "|SEEN = {}\ndef f():\n    del SEEN['x']",
        "|SEEN = {'a': []}\ndef f():\n    SEEN['a'].append(1)",
        "|SEEN = set()\ndef f():\n    seen = SEEN\n    seen.add(1)",
        "from collections import Counter|C = Counter()\ndef f():\n    C['x'] += 1",
        "|n = 0\ndef f():\n    global n\n    n += 1",
        "|def f():\n    pass\ndef g():\n    f.count = 1",
        "import itertools|ids = itertools.count()",
        "from itertools import count as c|ids = c(1)",
        "|it = iter([1])\ndef f():\n    return next(it)",
        "import heapq|Q = []\ndef f():\n    heapq.heappush(Q, 1)",
        "from shop import CACHE|def f():\n    CACHE['x'] = 1",
        "import shop|def f():\n    shop.count = 1",
        "|def f(x, seen=[]):\n    seen.append(x)",
        "|def f(*, seen={}):\n    seen['x'] = 1",
        "|def f():\n    globals()['x'] = 1",
    ],
    "SH016": [
        "|class A:\n    seen = []\n    def f(self):\n        self.seen.append(1)",
        "|class A:\n    seen = {}\n    def f(self):\n        self.seen['x'] = 1",
        "|class A:\n    n = 0\n    @classmethod\n    def f(cls):\n        cls.n = 1",
        "|class A:\n    n = 0\n    def f(self):\n        A.n += 1",
        "|class A:\n    n = 0\n    def f(self):\n        type(self).n += 1",
        "|class A:\n    n = 0\n    def f(self):\n        self.__class__.n += 1",
        "|class A:\n    seen = []\ndef f():\n    A.seen.append(1)",
        "import itertools|class A:\n    ids = itertools.count()",
        "import simharness.api as sh|class S(sh.Scenario['P']):\n    def start(self):\n"
        "        self.x = 1",
        "from simharness.api import Scenario|class S(Scenario):\n    def start(self):\n"
        "        self.x.append(1)",
    ],
    "SH017": [
        "from functools import cache|class A:\n    @cache\n    def f(self):\n        return 1",
        "import functools|@functools.lru_cache(8)\ndef f():\n    yield 1",
        "from functools import cache; from simharness.api import World|@cache\n"
        "def f(world: World):\n    return 1",
    ],
    "SH018": [
        "|try: f()\nexcept KeyError as e: str(e)",
        "|try: f()\nexcept KeyError as e: f'{e}'",
        "|try: f()\nexcept KeyError as e: x = e.args",
        "|try: f()\nexcept (KeyError, ValueError) as e: '%s' % e",
        "|try: f()\nexcept Exception as e: '{}'.format(e)",
        "import traceback|traceback.format_exc()",
        "import sys|sys.exc_info()",
    ],
    "SH019": [
        "|repr(object())",
        "|def f(x):\n    return f'{x!r}'",
        "|def f(x):\n    return '%r' % (x,)",
        "|class A: pass\nf'{A()}'",
        "|class A: pass\nstr(A())",
        "|def f(): pass\nstr(f)",
        "|str(lambda: 1)",
        "|def f():\n    return repr(g())",
    ],
}
# Where the guilty line isn't the last.
EARLIER = {"SH003": ["from random import *|x = 1"], "SH001": ["from time import *|x = 1"]}
PAIRS = [(code, line) for code, lines in LINES.items() for line in lines]


@pytest.mark.parametrize(("code", "line"), PAIRS)
def test_a_rule_finds(code: str, line: str) -> None:
    imports, _, rest = line.partition("|")
    source = f"{imports}\n{rest}\n"
    findings = found(source)
    assert [finding.code for finding in findings] == [code], findings
    last = len(source.splitlines())
    if line in EARLIER.get(code, ()) or "* as" in line:
        assert findings[0].line == 1
    elif code == "SH017":
        assert "cache" in source.splitlines()[findings[0].line - 1]
    else:
        assert findings[0].line in (last, last - 1)
    assert findings[0].use == RULES[code].use


def test_every_rule_for_code_is_tried() -> None:
    assert set(LINES) | {"SH020", "SH021"} == set(RULES)


FINE = [
    "import datetime\ndatetime.datetime(2030, 1, 1)",
    "from datetime import timedelta, datetime\nx: datetime\ntimedelta(seconds=1)",
    "def f(time):\n    return time.time()",
    "def f(id: int, hash: str):\n    return id, hash",
    "class A:\n    id = 'x'\n    hash: str = ''\n    def f(self):\n        return self.id",
    "class time:\n    pass\ntime.time()",
    "from shop import random\nrandom.choice([1])",
    "from .time import now\nnow()",
    "import uuid\nuuid.UUID('x')\nuuid.uuid5(uuid.NAMESPACE_URL, 'x')",
    "import hashlib\nhashlib.sha256(b'').hexdigest()",
    "class A:\n    def __hash__(self):\n        return 1",
    "import os\nos.path.join('a', 'b')",
    "import os\nnames = sorted(os.listdir('x'))",
    "DATA = open('x')",
    "import json\njson.loads('{}')",
    "import weakref\nweakref.ref(1)",
    "import math\nmath.isqrt(4) + math.gcd(4, 6)",
    "sorted({2, 1})",
    "len({1}), 1 in {1}, min({1}), max({1}), sum({1}), any({1}), all({1})",
    "for x in sorted(set('ab')): pass",
    "[x for x in sorted({1, 2})]",
    "sum(x for x in {1, 2})",
    "sorted(x * 2 for x in {1, 2})",
    "sorted([x for x in {1, 2}])",
    "sorted(map(str, {1, 2}))",
    "len(list({1, 2}))",
    "{x for x in {1, 2}}",
    "set(x for x in {1, 2})",
    "{*{1}, 2}",
    "max(*{1, 2})",
    "{1} | {2} == {1, 2}",
    "a = {1}\na.add(2)\na.update({3})\na.discard(1)",
    "{1}.union({2}).isdisjoint({3})",
    "sorted({1, 2}, key=lambda x: (x % 2, x))",
    "class A:\n    rows: set\n    def f(self):\n"
    "        return sorted(self.rows, key=lambda row: row.id)",
    "def f(a):\n    a = set(a)\n    a = sorted(a)\n    return list(a)",
    "def f(names: set[str]):\n    names = sorted(names)\n    return [n for n in names]",
    "for k in {'a': 1}: pass",
    "for k in {'a': 1}.keys(): pass",
    "def f(d: dict[str, int]):\n    return list(d)",
    "def f(x: list[int]):\n    x.pop()\n    return list(x)",
    "def f(a: int | float) -> float: ...",
    "def f(x):\n    return isinstance(x, float) or isinstance(x, (int, float))",
    "def f(x):\n    return type(x) is float",
    "x: float",
    "x = '0.5'",
    "x = 7 // 2; y = 2 ** 3; z = round(7)",
    "from pathlib import Path\np = Path('a') / 'b'",
    "from pathlib import Path\ndef f(a: Path, name):\n    return a / name / name",
    "ROWS = []\nROWS.append(1)",
    "class A(dict):\n    def __missing__(self, k):\n        n = self[k] = 1\n        return n",
    "class A:\n    @property\n    def n(self) -> int: ...\n    def f(self):\n"
    "        return f'{self.n!r}'",
    "ROWS = {}\nfor x in 'ab':\n    ROWS[x] = 1",
    "ROWS = []\ndef f():\n    return ROWS[0], len(ROWS), [*ROWS]",
    "ROWS = []\ndef f():\n    ROWS = []\n    ROWS.append(1)",
    "ROWS = []\ndef f():\n    copy = list(ROWS)\n    copy.append(1)",
    "def f(x, seen=None):\n    seen = seen or []\n    seen.append(x)",
    "def f(x, seen=()):\n    return seen",
    "def f():\n    import itertools\n    return itertools.count()",
    "class A:\n    n = 0\n    def f(self):\n        self.n += 1",
    "class A:\n    def __init__(self):\n        self.x = []\n    def f(self):\n"
    "        self.x.append(1)",
    "class A:\n    x = []\n    def __init__(self):\n        self.x = []\n    def f(self):\n"
    "        self.x.append(1)",
    "class A:\n    profiles = {'bare': {}}\n    def f(self):\n        return self.profiles['bare']",
    "import numpy as np\ndef f(x):\n    return np.append(x, 1)",
    "from functools import cache\n@cache\ndef f(x: int) -> int:\n    return x * 2",
    "class Mine(Exception): ...\ntry: f()\nexcept Mine as e: str(e)",
    "import simharness.api as sh\ntry: f()\nexcept sh.Refused as e: x = f'{e}'",
    "try: f()\nexcept KeyError as e: raise ValueError('no key') from e",
    "def f(x: str, n: int):\n    return f'{x!r} {n!r}', repr('x')",
    "def f(xs: list[str]):\n    for x in xs:\n        print(f'{x!r}')",
    "from dataclasses import dataclass\n@dataclass\nclass A:\n    x: int\nf'{A(1)}'",
    "class A:\n    def __str__(self):\n        return 'a'\nf'{A()}'",
    "def f(row):\n    return f'{row.name!r}'",
    "if __name__ != 'shop': raise ImportError(f'{__name__!r}')",
]


@pytest.mark.parametrize("source", FINE)
def test_what_only_looks_like_it_is_left_alone(source: str) -> None:
    assert found(source) == []


# --- comments ------------------------------------------------------------------------------------


def test_a_comment_with_a_reason_allows_the_finding_on_its_line() -> None:
    source = "x = 0.5  # simharness: allow SH014 a constant of the page\ny = 0.5\n"
    assert told(source) == [("SH014", 2)]
    assert lint_source(source, "shop.py")[1] == 1


def test_a_comment_speaks_of_all_lines_of_a_statement_but_not_of_a_body() -> None:
    assert told("x = max(\n    0.5,  # simharness: allow SH014 only shown\n)\n") == []
    source = "for x in {1}:\n    print(x)  # simharness: allow SH013 wrong place\n"
    assert told(source) == [("SH013", 1), ("SH021", 2)]


def test_one_comment_allows_several_codes() -> None:
    source = "x = 0.5 * hash('x')  # simharness: allow SH012, SH014 only shown\n"
    assert told(source) == []


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("x = 0.5  # simharness: allow SH014", ["SH014", "SH020"]),
        ("x = 0.5  # simharness: allow", ["SH014", "SH020"]),
        ("x = 0.5  # simharness: allow floats", ["SH014", "SH020"]),
        ("x = 1  # simharness: allow SH014 it was one", ["SH021"]),
        ("x = 0.5  # simharness: allow SH001 the wrong code", ["SH014", "SH021"]),
        ("x = 1  # simharness: allow SH999 no such rule", ["SH021"]),
        ("x = 0.5  # noqa", ["SH014"]),
        ('x = "# simharness: allow SH014"', []),
    ],
)
def test_a_comment_needs_a_code_a_reason_and_a_finding(source: str, expected: list[str]) -> None:
    assert sorted(finding.code for finding in found(source)) == expected


@pytest.mark.parametrize(
    ("codes", "needless"),
    [("SH001, SH014", "SH001"), ("SH014,SH001,SH002", "SH001, SH002"), ("SH014,SH014", "")],
)
def test_a_code_that_isnt_needed_beside_one_that_is(codes: str, needless: str) -> None:
    findings = found(f"x = 0.5  # simharness: allow {codes} only shown\n")
    told = [f"the comment for {needless} allows what isn't found here"] if needless else []
    assert [(f.code, f.what) for f in findings] == [("SH021", what) for what in told]


# --- messages ------------------------------------------------------------------------------------


def test_a_finding_names_place_rule_and_replacement() -> None:
    (finding,) = found("import time\n\n\nx = (1, time.time())\n")
    assert str(finding) == (
        "shop.py:4:9: SH001 clock: `time.time` reads the machine's clock; use world.ticks for "
        "durations, world.instant and format_instant for dates"
    )


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("def f(:\n", r"shop\.py:1: no Python: "),
        ("x = 1\n  y = 2\n", r"shop\.py:2: no Python: unexpected indent"),
        ("x = " + "(" * 5000 + ")" * 5000, r"shop\.py"),
        ("x = " + "-" * 50_000 + "1", r"shop\.py"),
    ],
)
def test_what_is_no_python_is_a_usage_error(source: str, reason: str) -> None:
    with pytest.raises(UsageError, match=reason):
        lint_source(source, "shop.py")
