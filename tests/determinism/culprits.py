"""Small products, each with one thing that no model may do, and one product without any.

`CULPRITS` maps a name to the source of a product file. The guilty line ends in `# <- here`. The
scenario of each is `PATH:Tiny/scene`; its `expert` calls the one tool, which runs that line.
"""

from __future__ import annotations

MARK = "# <- here"

PRODUCT = '''"""A product with one tool, which writes what `label` and `size` say."""

from __future__ import annotations

IMPORTS
from collections.abc import Generator
from dataclasses import dataclass
from typing import Any

from simharness.api import (
    Answer,
    Call,
    Criterion,
    Drawing,
    Ending,
    Instance,
    Operation,
    Product,
    Row,
    Scenario,
    Task,
    store,
    tool,
)

HELPERS


@dataclass(frozen=True, slots=True, kw_only=True)
class Thing(Row):
    label: str = ""
    size: int = 0


def expert(task: Task) -> Generator[Any, Any, None]:
    yield Call("mark", {"thing_id": task.brief["thing_id"]})
    yield Call("finish", {"message": "marked"})


class Scene(Scenario["Tiny"]):
    id = "tiny/scene"
    profile = "bare"
    policies = {"expert": expert}

    def base_rows(self) -> dict[str, list[Any]]:
        return {"things": [Thing(id=i) for i in range(1, 4)]}

    def draw(self, drawing: Drawing) -> None:
        drawing.between("thing", 1, 3)

    def start(self, product: Tiny, instance: Instance) -> int:
        return 0

    def prompt(self, instance: Instance) -> str:
        return "Mark it."

    def brief(self, instance: Instance) -> dict[str, Any]:
        return {"thing_id": instance["thing"]}

    def goal(self, product: Tiny, instance: Instance, ending: Ending) -> tuple[Criterion, ...]:
        return (Criterion("marked", bool(product.things.true(instance["thing"]).label), "seen"),)


class Tiny(Product):
    name = "tiny"
    scenarios = (Scene(),)
    things = store(Thing)

    @tool
    def mark(self, op: Operation, thing_id: int) -> Answer[Thing]:
        """Mark a thing."""
        changes = {"label": label(), "size": size()}
        return (yield from self.things.update(op, thing_id, changes))
'''

LABEL = """

def label() -> str:
    return "marked"
"""
SIZE = """

def size() -> int:
    return 1
"""


def product(helpers: str, imports: str = "") -> str:
    """Write a product; `helpers` defines `label` or `size` or both."""
    if "def label(" not in helpers:
        helpers += LABEL
    if "def size(" not in helpers:
        helpers += SIZE
    return PRODUCT.replace("IMPORTS\n", f"{imports}\n" if imports else "").replace(
        "HELPERS", helpers.strip("\n")
    )


def sizing(expression: str, imports: str = "") -> str:
    """Write a product whose size is a guilty expression."""
    return product(f"\ndef size() -> int:\n    return {expression}  {MARK}\n", imports)


def labelling(expression: str, imports: str = "") -> str:
    """Write a product whose label is a guilty expression."""
    return product(f"\ndef label() -> str:\n    return {expression}  {MARK}\n", imports)


CLEAN = product("")

CULPRITS: dict[str, str] = {
    "time": sizing("time.time_ns()", "import time"),
    "time-bound": sizing("now()", "from time import time_ns as now"),
    "time-getattr": sizing('getattr(time, "time_ns")()', "import time"),
    "sleep": product(
        f"\ndef size() -> int:\n    time.sleep(0)  {MARK}\n    return 1\n", "import time"
    ),
    "datetime": labelling("datetime.now().isoformat()", "from datetime import datetime"),
    "date": labelling("datetime.date.today().isoformat()", "import datetime"),
    "random": sizing("random.randrange(10**9)", "import random"),
    "numpy-random": sizing("int(np.random.default_rng().integers(10**9))", "import numpy as np"),
    "uuid": labelling("uuid.uuid4().hex", "import uuid"),
    "secrets": labelling("secrets.token_hex(4)", "import secrets"),
    "urandom": labelling("os.urandom(4).hex()", "import os"),
    "process": sizing("os.getpid()", "import os"),
    "environment": sizing('len(os.getenv("HOME", ""))', "import os"),
    "threads": sizing("threading.get_ident() % 10**9", "import threading"),
    "asyncio": product(
        f"\ndef size() -> int:\n    asyncio.new_event_loop().close()  {MARK}\n    return 1\n",
        "import asyncio",
    ),
    "multiprocessing": sizing("multiprocessing.cpu_count()", "import multiprocessing"),
    "subprocess": sizing('subprocess.run(["true"]).returncode', "import subprocess"),
    "network": labelling("socket.gethostname()", "import socket"),
    "weakref": product(
        f'''
class Cell:
    def __init__(self) -> None:
        self.me = self


def size() -> int:
    """Count what the collector has found so far, which depends on when it runs."""
    freed: list[int] = []
    for _ in range(50):
        weakref.finalize(Cell(), freed.append, 1)  {MARK}
    return len(freed)
''',
        "import weakref",
    ),
    "del": product(
        f'''
class Cell:
    def __init__(self, freed: list[int]) -> None:
        self.me = self
        self.freed = freed

    def __del__(self) -> None:  {MARK}
        self.freed.append(1)


def size() -> int:
    """Count what the collector has found so far, which depends on when it runs."""
    freed: list[int] = []
    for _ in range(50):
        Cell(freed)
    return len(freed)
'''
    ),
    "id": sizing("id(Thing(id=1)) % 10**9"),
    "id-order": product(
        f'''
def label() -> str:
    """Order new texts by address: they lie where a set's texts lay, freed in the set's order."""
    spare = {{f"spare text {{i:02}}" for i in range(40)}}
    del spare
    texts = [f"other text {{i:02}}" for i in range(40)]
    texts.sort(key=id)  {MARK}
    return ",".join(text[-2:] for text in texts)
'''
    ),
    "hash": sizing('hash("text") % 10**9'),
    "set-order": labelling('",".join({"ada", "bob", "cleo", "dan", "eve", "fay"})'),
    "set-loop": product(
        f"""
def label() -> str:
    names = frozenset(f"name {{i}}" for i in range(12))
    text = ""
    for name in names:  {MARK}
        text += name[-2:]
    return text
"""
    ),
    "set-pop": labelling('{f"name {i}" for i in range(40)}.pop()'),
    "float": sizing("int(7 * 0.1)"),
    "module-state": product(
        f"""
SEEN: list[int] = []


def size() -> int:
    SEEN.append(1)  {MARK}
    return len(SEEN)
"""
    ),
    "module-global": product(
        f"""
count = 0


def size() -> int:
    global count
    count += 1  {MARK}
    return count
"""
    ),
    "module-counter": product(
        f"""
COUNTER = itertools.count(1)  {MARK}


def size() -> int:
    return next(COUNTER)
""",
        "import itertools",
    ),
    "class-state": product(
        f"""
class Ids:
    given: list[int] = []

    def next(self) -> int:
        self.given.append(1)  {MARK}
        return len(self.given)


def size() -> int:
    return Ids().next()
"""
    ),
    "locale": labelling('locale.setlocale(locale.LC_ALL) or "none"', "import locale"),
    "file-order": labelling('",".join(os.listdir(os.path.dirname(__file__)))', "import os"),
    "file": product(
        f"""
def size() -> int:
    with open(__file__) as source:  {MARK}
        return len(source.read())
"""
    ),
    "exception-text": product(
        f"""
def label() -> str:
    try:
        return str({{}}[object()])
    except KeyError as error:
        return str(error)  {MARK}
"""
    ),
    "repr": labelling("repr(object())"),
}
"""Name to the source of a product."""

ACROSS: dict[str, str] = {
    "hash": "hash seed",
    "id-order": "hash seed",
    "set-order": "hash seed",
    "set-loop": "hash seed",
    "set-pop": "hash seed",
    "weakref": "collector",
    "del": "collector",
    "module-state": "order",
    "module-global": "order",
    "module-counter": "order",
    "class-state": "order",
}
"""Culprits that one process can't see, and what has to differ between two that can: the hash seed,
the collector (off against a threshold of 1), or the episodes that the process has played before."""


def marked_line(source: str) -> int:
    """Give the number of the guilty line."""
    (line,) = (n for n, text in enumerate(source.splitlines(), 1) if MARK in text)
    return line
