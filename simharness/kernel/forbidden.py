"""What the code of a product may not touch: the rules, and the names that break them.

The one source for `simharness lint`, for the guard that watches products run, and for docs/lint.md.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One thing that makes a seed mean something else elsewhere."""

    code: str
    """`SH` and three digits; it never changes its meaning and is never used again."""
    slug: str
    what: str
    """What the code does, as the end of a sentence."""
    why: str
    use: str
    """What to write instead."""


RULES: dict[str, Rule] = {
    rule.code: rule
    for rule in (
        Rule(
            code="SH001",
            slug="clock",
            what="reads the machine's clock",
            why="The time of day and the speed of the machine would decide what happens.",
            use="world.ticks for durations, world.instant and format_instant for dates",
        ),
        Rule(
            code="SH002",
            slug="sleep",
            what="waits in wall time",
            why="It stops the whole process, and no simulated time passes.",
            use="`yield world.timer(ticks)`, or `op.latency(...)` for a service",
        ),
        Rule(
            code="SH003",
            slug="random",
            what="draws from a generator that the world doesn't know",
            why="Its position depends on everything drawn before; NumPy keeps no distribution "
            "stable.",
            use="the Stream that a habit gets, `op`'s draws, or Scenario.draw",
        ),
        Rule(
            code="SH004",
            slug="entropy",
            what="draws bits that nobody can draw again",
            why="They come from the machine, so no replay can repeat them.",
            use="the ids that a table gives, or a Stream's draws",
        ),
        Rule(
            code="SH005",
            slug="surroundings",
            what="asks about the process or the machine",
            why="The answer differs between machines, users and Python versions.",
            use="a knob of the product, which is recorded; zone(name) for time zones",
        ),
        Rule(
            code="SH006",
            slug="concurrency",
            what="leaves the order of things to threads, processes or an event loop",
            why="The operating system decides who goes first, and no seed can say it again.",
            use="`world.spawn(name, generator)`",
        ),
        Rule(
            code="SH007",
            slug="outside",
            what="reads or writes files, the network or a terminal",
            why="What lies there changes between two runs and isn't recorded.",
            use="rows of the start state; data that ship with the product, read at import",
        ),
        Rule(
            code="SH008",
            slug="file-order",
            what="takes files in the order of the folder",
            why="The file system decides that order.",
            use="sorted(...) around it, at import",
        ),
        Rule(
            code="SH009",
            slug="locale",
            what="depends on the locale",
            why="Sorting, month names and number formats differ between machines.",
            use="plain comparison and format_instant",
        ),
        Rule(
            code="SH010",
            slug="collector",
            what="acts when the garbage collector does",
            why="The collector runs by allocation counts of the whole process.",
            use="try/finally, or a process that waits for the end",
        ),
        Rule(
            code="SH011",
            slug="identity",
            what="gives addresses, which differ between processes",
            why="Addresses differ between runs, and are given again to other objects.",
            use="the id of the row, or a number that is counted in the world",
        ),
        Rule(
            code="SH012",
            slug="hash",
            what="gives numbers that differ between processes",
            why="Hashes of texts differ with PYTHONHASHSEED, those of objects with their address.",
            use="the value itself, or hashlib over its bytes",
        ),
        Rule(
            code="SH013",
            slug="set-order",
            what="depends on the order of a set",
            why="It follows hashes, so it differs between processes.",
            use="sorted(...), or dict.fromkeys(...) in place of the set",
        ),
        Rule(
            code="SH014",
            slug="float",
            what="makes a float",
            why="Floats round, are refused in rows, and math functions differ between machines.",
            use="ints: ticks, minor units, millionths, and `//`",
        ),
        Rule(
            code="SH015",
            slug="module-state",
            what="changes state of the module",
            why="It outlives the episode, so the next one depends on what was played before.",
            use="an attribute of the product, which each world makes anew",
        ),
        Rule(
            code="SH016",
            slug="class-state",
            what="changes state of a class",
            why="All objects of the class share it, also those of other episodes.",
            use="an attribute set in the product's __init__",
        ),
        Rule(
            code="SH017",
            slug="memo",
            what="remembers results across episodes that depend on more than their arguments",
            why="A cached result of one world would be served in another.",
            use="a dict on the product; functools caches are for pure functions of plain values",
        ),
        Rule(
            code="SH018",
            slug="exception-text",
            what="is text that Python makes of an exception",
            why="Python changes these texts between versions, and some show addresses.",
            use="the type of the exception and a text of your own",
        ),
        Rule(
            code="SH019",
            slug="repr",
            what="is text that Python makes of an object",
            why="Without a __repr__ or __str__ of its own that is its address.",
            use="the fields to be shown, by name",
        ),
        Rule(
            code="SH020",
            slug="allowed-without-reason",
            what="allows a finding and doesn't say why",
            why="The next reader can't tell a decision from an oversight.",
            use="`# simharness: allow SH0nn reason`",
        ),
        Rule(
            code="SH021",
            slug="allowed-without-need",
            what="allows what isn't found here",
            why="It would hide a finding that comes later.",
            use="nothing: take the comment away",
        ),
    )
}

PACKAGES: dict[str, str] = {
    "_thread": "SH006",
    "aiohttp": "SH007",
    "anyio": "SH006",
    "asyncio": "SH006",
    "concurrent": "SH006",
    "ctypes": "SH005",
    "dbm": "SH007",
    "faulthandler": "SH005",
    "fileinput": "SH007",
    "ftplib": "SH007",
    "gc": "SH010",
    "getpass": "SH005",
    "glob": "SH008",
    "http": "SH007",
    "httpx": "SH007",
    "imaplib": "SH007",
    "locale": "SH009",
    "mmap": "SH007",
    "multiprocessing": "SH006",
    "numpy.random": "SH003",
    "platform": "SH005",
    "poplib": "SH007",
    "pty": "SH006",
    "random": "SH003",
    "requests": "SH007",
    "resource": "SH005",
    "sched": "SH006",
    "secrets": "SH004",
    "select": "SH007",
    "selectors": "SH007",
    "shelve": "SH007",
    "shutil": "SH007",
    "signal": "SH006",
    "smtplib": "SH007",
    "socket": "SH007",
    "socketserver": "SH007",
    "sqlite3": "SH007",
    "ssl": "SH007",
    "subprocess": "SH006",
    "tempfile": "SH007",
    "threading": "SH006",
    "time": "SH001",
    "timeit": "SH001",
    "traceback": "SH018",
    "tracemalloc": "SH005",
    "trio": "SH006",
    "urllib.request": "SH007",
    "urllib3": "SH007",
    "webbrowser": "SH007",
    "zoneinfo": "SH005",
}
"""Modules of which nothing may be used, with all that is below them."""

NAMES: dict[str, str] = {
    "builtins.hash": "SH012",
    "builtins.id": "SH011",
    "builtins.input": "SH007",
    "builtins.open": "SH007",
    "calendar.day_abbr": "SH009",
    "calendar.day_name": "SH009",
    "calendar.month_abbr": "SH009",
    "calendar.month_name": "SH009",
    "datetime.date.fromtimestamp": "SH001",
    "datetime.date.today": "SH001",
    "datetime.datetime.fromtimestamp": "SH001",
    "datetime.datetime.now": "SH001",
    "datetime.datetime.today": "SH001",
    "datetime.datetime.utcnow": "SH001",
    "io.FileIO": "SH007",
    "io.open": "SH007",
    "os._exit": "SH006",
    "os.abort": "SH006",
    "os.access": "SH007",
    "os.chdir": "SH005",
    "os.chmod": "SH007",
    "os.cpu_count": "SH005",
    "os.environ": "SH005",
    "os.environb": "SH005",
    "os.execl": "SH006",
    "os.execle": "SH006",
    "os.execlp": "SH006",
    "os.execlpe": "SH006",
    "os.execv": "SH006",
    "os.execve": "SH006",
    "os.execvp": "SH006",
    "os.execvpe": "SH006",
    "os.fork": "SH006",
    "os.forkpty": "SH006",
    "os.fwalk": "SH008",
    "os.getcwd": "SH005",
    "os.getcwdb": "SH005",
    "os.getenv": "SH005",
    "os.getenvb": "SH005",
    "os.getgid": "SH005",
    "os.getloadavg": "SH005",
    "os.getlogin": "SH005",
    "os.getpgid": "SH005",
    "os.getpgrp": "SH005",
    "os.getpid": "SH005",
    "os.getppid": "SH005",
    "os.getrandom": "SH004",
    "os.getuid": "SH005",
    "os.kill": "SH006",
    "os.killpg": "SH006",
    "os.link": "SH007",
    "os.listdir": "SH008",
    "os.lstat": "SH007",
    "os.makedirs": "SH007",
    "os.mkdir": "SH007",
    "os.open": "SH007",
    "os.pipe": "SH007",
    "os.popen": "SH006",
    "os.posix_spawn": "SH006",
    "os.posix_spawnp": "SH006",
    "os.putenv": "SH005",
    "os.read": "SH007",
    "os.remove": "SH007",
    "os.removedirs": "SH007",
    "os.rename": "SH007",
    "os.renames": "SH007",
    "os.replace": "SH007",
    "os.rmdir": "SH007",
    "os.scandir": "SH008",
    "os.spawnl": "SH006",
    "os.spawnle": "SH006",
    "os.spawnlp": "SH006",
    "os.spawnlpe": "SH006",
    "os.spawnv": "SH006",
    "os.spawnve": "SH006",
    "os.spawnvp": "SH006",
    "os.spawnvpe": "SH006",
    "os.stat": "SH007",
    "os.symlink": "SH007",
    "os.system": "SH006",
    "os.times": "SH001",
    "os.truncate": "SH007",
    "os.umask": "SH005",
    "os.uname": "SH005",
    "os.unlink": "SH007",
    "os.unsetenv": "SH005",
    "os.urandom": "SH004",
    "os.wait": "SH006",
    "os.wait3": "SH006",
    "os.wait4": "SH006",
    "os.waitpid": "SH006",
    "os.walk": "SH008",
    "os.write": "SH007",
    "os.path.exists": "SH007",
    "os.path.expanduser": "SH005",
    "os.path.expandvars": "SH005",
    "os.path.getatime": "SH007",
    "os.path.getctime": "SH007",
    "os.path.getmtime": "SH007",
    "os.path.getsize": "SH007",
    "os.path.isdir": "SH007",
    "os.path.isfile": "SH007",
    "pathlib.Path.cwd": "SH005",
    "pathlib.Path.home": "SH005",
    "pathlib.Path.glob": "SH008",
    "pathlib.Path.iterdir": "SH008",
    "pathlib.Path.open": "SH007",
    "pathlib.Path.read_bytes": "SH007",
    "pathlib.Path.read_text": "SH007",
    "pathlib.Path.rglob": "SH008",
    "pathlib.Path.write_bytes": "SH007",
    "pathlib.Path.write_text": "SH007",
    "sys.argv": "SH005",
    "sys.exc_info": "SH018",
    "sys.exception": "SH018",
    "sys.executable": "SH005",
    "sys.flags": "SH005",
    "sys.getrefcount": "SH010",
    "sys.getsizeof": "SH005",
    "sys.hash_info": "SH005",
    "sys.implementation": "SH005",
    "sys.modules": "SH005",
    "sys.path": "SH005",
    "sys.platform": "SH005",
    "sys.stderr": "SH007",
    "sys.stdin": "SH007",
    "sys.stdout": "SH007",
    "sys.version": "SH005",
    "sys.version_info": "SH005",
    "time.sleep": "SH002",
    "uuid.getnode": "SH004",
    "uuid.uuid1": "SH004",
    "uuid.uuid4": "SH004",
    "uuid.uuid6": "SH004",
    "uuid.uuid7": "SH004",
    "weakref.WeakKeyDictionary": "SH010",
    "weakref.WeakMethod": "SH010",
    "weakref.WeakSet": "SH010",
    "weakref.WeakValueDictionary": "SH010",
    "weakref.finalize": "SH010",
}
"""Single names of modules that are otherwise fine; they win over `PACKAGES`."""

FINE = frozenset({"time.struct_time", "signal.Signals"})
"""Plain data in modules of which nothing else may be used."""

SAME_AS = {
    "_ctypes": "ctypes",
    "_io": "io",
    "_locale": "locale",
    "_random": "random",
    "_signal": "signal",
    "_socket": "socket",
    "_sqlite3": "sqlite3",
    "_ssl": "ssl",
    "_weakrefset": "weakref",
    "genericpath": "os.path",
    "nt": "os",
    "ntpath": "os.path",
    "posix": "os",
    "posixpath": "os.path",
}
"""Modules by the name that their functions say they come from."""


def code_of(dotted: str) -> str | None:
    """Give the code of the rule that a full dotted name breaks; None where it breaks none."""
    if dotted in FINE:
        return None
    found = NAMES.get(dotted)
    while found is None and dotted:
        # A name below a forbidden one, such as `os.environ.get`, is as bad.
        found = PACKAGES.get(dotted) or NAMES.get(dotted)
        dotted = dotted.rpartition(".")[0]
    return found


def may_at_import(dotted: str) -> bool:
    """Whether a product may use a name while it is imported: it reads data that ship with it."""
    return code_of(dotted) in ("SH007", "SH008") and dotted.startswith(
        ("builtins.open", "io.", "os.", "glob.", "pathlib.")
    )


def public_name(dotted: str) -> str:
    """Give the name that people import, for one that a function says of itself."""
    # Python 3.13 has made a package of pathlib.
    dotted = dotted.replace("pathlib._local.", "pathlib.").replace(
        "pathlib._abc.PathBase.", "pathlib.Path."
    )
    head, _, rest = dotted.partition(".")
    name = f"{SAME_AS.get(head, head)}.{rest}" if rest else head
    return "builtins.open" if name == "io.open" else name
