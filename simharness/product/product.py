"""A product: stores, tools, knobs, faults and scenarios, declared in one class.

An instance lives in one world.
"""

from __future__ import annotations

from types import GeneratorType
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, cast

from simharness.errors import HarnessError, ProcessFailed, UnknownName, UsageError
from simharness.kernel import journal
from simharness.kernel.operation import IN_HANDLER, Actor, Operation
from simharness.kernel.process import place_of
from simharness.parts.clock import API, Clock
from simharness.parts.limit import RateLimit
from simharness.parts.node import UNKNOWN, Crashed, on_node
from simharness.parts.refusal import Refused
from simharness.parts.workers import WorkerPool
from simharness.product import knobs
from simharness.product.fault import Fault, parse_fault
from simharness.product.goal import Ending
from simharness.product.knobs import Knob, Settings
from simharness.product.operations import Operations, operations_of
from simharness.product.result import Form, form_of
from simharness.product.store import Shared, Store
from simharness.product.store_spec import QUERY_KINDS, StoreSpec
from simharness.product.tool import (
    Answer,
    BadArgument,
    Bounds,
    ToolSpec,
    local_tool,
    tool_spec,
)
from simharness.units import MINUTE

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Generator, Iterator, Mapping

    from simpy.events import Event

    from simharness.kernel.world import World
    from simharness.parts.cache import Cache
    from simharness.parts.table import Template
    from simharness.product.goal import Criterion
    from simharness.product.open_transaction import OpenTransaction
    from simharness.product.scenario import Scenario
    from simharness.product.showcase import Showcase

COMMON_KNOBS = (
    # A call that takes longer than the settling of an episode would leave it without a grade.
    knobs.span("api.latency", "0s", "wait between sending a call and its check", high=MINUTE),
    knobs.span("db.latency", "0s", "wait of a read or write at the primary", high=MINUTE),
    knobs.span("put.latency", "0s", "wait until an answer lands in a cache; nobody waits for it"),
    knobs.count("api.workers", 8, "calls that are served at a time", low=1),
    knobs.limit("api.rate_limit", "calls that are let through for each actor"),
    knobs.duration(
        "api.timeout", "30s", "time after which the agent's call is answered without its outcome"
    ),
    knobs.choice(
        "api.on_timeout",
        ("unknown_outcome", "error", "default"),
        "that answer: the honest one, `unavailable`, or an empty success (a defect)",
    ),
)


class Product(Operations):
    """Base class of all mock products.

    Subclasses declare stores as class attributes with `store(...)`, tools as generator methods
    marked `@tool`, and the tables below. See docs/design.md for a complete small product.
    """

    name: ClassVar[str] = ""
    semantics: ClassVar[int] = 1
    """Raised whenever a change alters what a seed means, unless it is one of `patches`."""
    patches: ClassVar[tuple[str, ...]] = ()
    """Names of changes whose old branch is kept for the recordings made before; see `patched`."""
    profiles: ClassVar[Mapping[str, Mapping[str, object]]] = {"bare": {}}
    """Named sets of knob values."""
    faults: ClassVar[tuple[Fault, ...]] = ()
    own_knobs: ClassVar[tuple[Knob, ...]] = ()
    scenarios: ClassVar[tuple[Scenario[Any], ...]] = ()
    nodes: ClassVar[tuple[str, ...]] = (API,)
    """Machines that it runs on, each with a clock and the knob `node.NAME.clock`; that of `api`
    stamps the rows."""
    waits: ClassVar[tuple[str, ...]] = ("api", "db", "put", "replicate", "index")
    """Names of the elastic waits, which callers may pin."""
    showcases: ClassVar[tuple[Showcase, ...]] = ()
    """Episodes that `simharness demo` shows."""
    identities: ClassVar[Mapping[str, tuple[str, int]]] = {}
    """Whom an actor may be signed in as: the name of an id to its table, and 1, or -1 where the id
    is told apart from another table's by its sign."""
    materials: ClassVar[tuple[str, ...]] = ()
    """What a report may hold for it besides rows, such as files and tests."""
    pointers: ClassVar[Mapping[str, str]] = {}
    """Columns that name a row of a table, to that table, where the name doesn't say it as that of
    `deal_id` does."""
    keepers: ClassVar[Mapping[str, str]] = {}
    """What the text of a broken invariant says, to the mechanism that should have kept it."""
    shows_code: ClassVar[bool] = False
    """Whether Python files are part of its world, so that to show their names leaks nothing."""
    reward_modes: ClassVar[Mapping[str, Callable[[Any, Ending], int]]] = {}
    """Ways to pay other than by the goal: name to a function that gives millionths."""

    _specs: ClassVar[dict[str, StoreSpec[Any]]] = {}
    tools: ClassVar[dict[str, ToolSpec]] = {}
    """All tools by name; made from the class."""
    forms: ClassVar[dict[str, Form]] = {}
    """What each tool declares to answer, by name; made from the class."""
    operations: ClassVar[dict[str, ToolSpec]] = {}
    """What background actors can do besides, by name; made from the class."""
    knobs: ClassVar[dict[str, Knob]] = {}
    """All knobs by key; made from the class."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        specs = dict(cls._specs)
        for attribute, value in list(vars(cls).items()):
            if isinstance(value, StoreSpec):
                value.name = value.name or attribute
                value.attribute = attribute
                specs[value.name] = value
        cls._specs = specs
        cls.tools = {
            name: tool_spec(getattr(cls, name))
            for name in sorted(dir(cls))
            if "__tool__" in getattr(getattr(cls, name, None), "__dict__", {})
        }
        cls.forms = {name: form_of(spec, specs) for name, spec in cls.tools.items()}
        cls.operations = operations_of(cls)
        modes = ("goal", *sorted(cls.reward_modes))
        every = [
            *COMMON_KNOBS,
            knobs.choice(
                "reward.mode", modes, "what the harness pays for; anything but goal is a defect"
            ),
            knobs.choice(
                "reward.at",
                ("settled", "finish"),
                "when it judges: once what is under way has ended, or at once (a defect)",
            ),
            *(knobs.clock(f"node.{node}.clock", f"clock of node {node}") for node in cls.nodes),
            *(knob for spec in specs.values() for knob in spec.knobs()),
            *cls.own_knobs,
        ]
        cls.knobs = {knob.key: knob for knob in every}
        check_patches(cls)

    def __init__(
        self,
        world: World,
        templates: Mapping[str, Template[Any]],
        settings: Settings,
        load: int,
    ) -> None:
        self.world = world
        self.settings = settings
        self.load = load
        """Thousandths of the load that a single team makes."""
        self.clocks = {node: Clock(world, node) for node in self.nodes}
        """The clocks of its nodes."""
        self.shared = Shared(self.clocks.get(API))
        self.pool = WorkerPool(world, "api")
        self.limit = RateLimit(world, "api")
        self.api_latency = (0, 0)
        self.repairable: list[str] = []
        """Mechanisms of its own parts: they look into `world.repair`, or stand in `sound`."""
        self.sound: dict[str, Mapping[str, Any]] = {}
        """Knob values that make such a mechanism sound, by its name."""
        self.ending: Ending | None = None
        """How the agent ended the episode, once it has."""
        self.stores: dict[str, Store[Any]] = {}
        for node, clock in self.clocks.items():
            settings.bind(f"node.{node}.clock", clock, "skew")
        self.transactions: dict[tuple[str, str], OpenTransaction] = {}
        settings.bind("api.latency", self, "api_latency")
        settings.bind("api.workers", self.pool, "capacity")
        settings.bind("api.rate_limit", self.limit, "rate")
        settings.bind("db.latency", self.shared.waits, "db")
        settings.bind("put.latency", self.shared.waits, "put")
        for name, spec in self._specs.items():
            store: Store[Any] = Store(spec, world, templates[name], settings, self.shared)
            self.stores[name] = store
            setattr(self, spec.attribute, store)

    # --- for products to override -----------------------------------------------------------------

    def authorize(self, op: Operation) -> Generator[Event, Any, None]:
        """Check that the caller may call at all; raises Refused. By default everybody may."""
        yield from ()  # a generator, like its overrides

    def invariants(self) -> list[str]:
        """Name the declared invariants that the committed state breaks, each with its rows."""
        return []

    def books(self) -> Mapping[str, int] | None:
        """Say what is left of each charge by the product's own rows: taken, less what went back.

        By the charge's row, as `charges:1`, in minor units; they are held against the gateway's
        ledger once everything has settled. None: it keeps no books.
        """
        return None

    def dues(self) -> Mapping[str, int]:
        """Say how much of each charge has to be back by the product's own doing, in minor units.

        Such as the price of a booking that it has cancelled itself; nothing that somebody has
        still to decide. Needs `books`.
        """
        return {}

    def ledger(self) -> Mapping[str, int]:
        """Say what is left of each charge by the gateway's ledger."""
        return {}

    @classmethod
    def missing(cls) -> str:
        """Name what pip has to install before its scenarios can be played; empty for nothing.

        A replay may need nothing of it.
        """
        return ""

    # --- what is paid -----------------------------------------------------------------------------

    def graded(self, mode: str, criteria: tuple[Criterion, ...]) -> tuple[Criterion, ...]:
        """Give the criteria as the grader that pays sees them; asked once, at the end.

        A product whose own grader may go astray puts on record here what that looks at. `mode` is
        that of `reward.mode`.
        """
        return criteria

    # --- what reports hold besides rows -----------------------------------------------------------

    @classmethod
    def misplaced(cls, name: str, keys: Collection[str]) -> Iterator[tuple[str, str]]:
        """Name what a report can't hold under one of `materials`: keys, each with the reason.

        `name` is `files` for whatever is texts by path.
        """
        yield from ()

    def stage(self, material: Mapping[str, Any]) -> None:
        """Put what a report holds besides rows into the start, by its names in `materials`."""

    def judged(self, material: Mapping[str, Any]) -> tuple[Criterion, ...]:
        """Judge what is there by what a report holds besides rows; empty where it says nothing."""
        return ()

    def is_ref(self, ref: str) -> bool:
        """Tell whether a text may stand in the refs of `finish`: the name of a row."""
        table, _, key = ref.partition(":")
        return table in self.stores and bool(key)

    # --- changes that old recordings don't know ---------------------------------------------------

    def patched(self, name: str) -> bool:
        """Tell whether a change of this product is in force.

        False only in a replay (or re-run) of a recording that was made before the change: its
        header doesn't list the name. Raises UsageError for a name that isn't among `patches`.
        """
        if name not in self.patches:
            raise UsageError(
                f"{self.name} asks for patch {name!r}, which it doesn't declare",
                f"add it to the class attribute `patches` ({', '.join(self.patches) or 'empty'})",
            )
        return self.world.patched(name)

    # --- calls ------------------------------------------------------------------------------------

    def call(
        self, op: Operation, tool: ToolSpec, arguments: dict[str, Any]
    ) -> Generator[Event, Any, Any]:
        """Serve one call of any actor, its arguments checked.

        Raises Refused for an honest refusal.
        """
        world = self.world
        emit = world.emit
        if world.heard is not None:
            world.heard(op, tool.name, arguments)
        emit(
            (
                journal.CALL,
                world.ticks,
                op.owner_number,
                op.n,
                world.numbers[tool.name],
                int(tool.writes),
            )
        )
        status = "ok"
        holding = False
        try:
            if not tool.local:
                yield op.latency(self.api_latency, "api")
                if self.limit.rate is not None:
                    self.limit.take(op)
                pool = self.pool
                if pool.busy < pool.capacity:
                    pool.busy += 1
                else:
                    yield from pool.acquire(op)
                holding = True
                yield from self.authorize(op)
            if op.crash == IN_HANDLER:
                raise RuntimeError(f"tool {tool.name!r} was told to fail")
            answer = yield from tool.function(self, op, **arguments)
            if type(answer) is GeneratorType:
                raise HarnessError(
                    f"tool {tool.name!r} answers a generator, {answer.__qualname__}",
                    "write `yield from` in front of what it returns",
                )
            return answer
        except Refused as refusal:
            status = refusal.code
            raise
        except Crashed:
            status = UNKNOWN
            raise Refused(UNKNOWN, "the worker of this call has died") from None
        except (Exception, SystemExit, GeneratorExit) as error:
            if was_closed(error):
                raise
            status = "raised"
            emit(
                (
                    journal.RAISED,
                    world.ticks,
                    op.owner_number,
                    op.n,
                    world.intern(type(error).__name__),
                )
            )
            if not isinstance(error, Exception):
                # What ends programs and generators ends no episode unsaid.
                text = f"tool {tool.name!r} raised {type(error).__name__} ({place_of(error)})"
                raise ProcessFailed(text) from error
            raise
        finally:
            if holding:
                self.pool.release()
            if op.locks:
                world.alarms += 1  # nobody will give them back
            emit((journal.RETURN, world.ticks, op.owner_number, op.n, world.numbers[status]))

    def request(self, actor: Actor, tool: str, **arguments: Any) -> Generator[Event, Any, Any]:
        """Make the next call of a background actor. Raises Refused like `call`."""
        spec = self.tools.get(tool)
        if spec is None:
            raise HarnessError(
                f"actor {actor.name!r} calls tool {tool!r}, which {self.name} doesn't have"
            )
        n = actor.next_n
        actor.next_n = n + 1
        op = Operation(self.world, actor, n)
        return (yield from on_node(op, self.call(op, spec, arguments)))

    def perform(
        self,
        actor: Actor,
        operation: str,
        arguments: Mapping[str, object],
        pins: Mapping[str, int] | None = None,
    ) -> Generator[Event, Any, Any]:
        """Let a background actor do one of `operations`, its arguments as a file gives them.

        `pins` fixes waits, by name. Raises Refused for an honest refusal or arguments that don't
        fit, UnknownName for an operation that the product doesn't have.
        """
        if actor.audited:
            raise HarnessError(f"{actor.name!r} performs {operation!r}, which no agent may")
        spec = self.operations.get(operation)
        if spec is None:
            raise UnknownName.among(f"operation of {self.name}", operation, self.operations)
        try:
            checked = spec.check(dict(arguments))
        except BadArgument as error:
            raise Refused("invalid_arguments", str(error)) from None
        n = actor.next_n
        actor.next_n = n + 1
        op = Operation(self.world, actor, n, pins)
        steps = self.call(op, spec, checked)
        # These happen to the node, whether it is paused or not.
        at_once = operation.startswith(("node.", "clock."))
        return (yield from on_node(op, steps, at_once=at_once))

    @property
    def instant(self) -> int:
        """The instant by the clock of the node `api`: what tools take for now."""
        clock = self.shared.clock
        return self.world.instant if clock is None else clock.instant

    def database(self, op: Operation) -> Event:
        """Give the wait of one access to the database, for tools that touch tables themselves."""
        return op.latency(self.shared.waits.db, "db", op.next_access())

    # --- what faults and audits need --------------------------------------------------------------

    @classmethod
    def row_name(cls, name: str) -> str:
        """Give a row's name as the journal has it, `tickets:7`.

        That of `tickets:TK-7` or `TK-7`; whatever else is given comes back as it is.
        """
        table, _, shown = name.rpartition(":")
        for known, spec in cls._specs.items():
            prefix = spec.row_type.by_name["id"].prefix
            key = prefix.read(shown) if prefix is not None and table in ("", known) else None
            if key is not None:
                return f"{known}:{key}"
        return name

    @classmethod
    def specs(cls) -> Mapping[str, StoreSpec[Any]]:
        """The declared stores by name."""
        return cls._specs

    @classmethod
    def references(cls, table: str) -> dict[str, str]:
        """Name the columns of a table that name rows by their id, each to the table of those."""
        out: dict[str, str] = {}
        for column in cls._specs[table].row_type.columns:
            stem = column.name.removesuffix("_id")
            if column.name in cls.pointers:
                out[column.name] = cls.pointers[column.name]
            elif stem != column.name:
                plurals = (f"{stem}s", f"{stem}es", f"{stem[:-1]}ies")
                table_of = next((name for name in plurals if name in cls._specs), "")
                if table_of:
                    out[column.name] = table_of
        return out

    def caches(self) -> dict[str, Cache]:
        """All caches by the name of their view."""
        stores = self.stores.values()
        return {view.name: view.cache for store in stores for view in store.cached_views()}

    def mechanisms(self) -> list[str]:
        """Name what can be made to tell the truth in this product, faults apart."""
        out = [f"cache:{name}" for name in self.caches()]
        for name, spec in self._specs.items():
            if "detail" in spec.views:
                out += [f"lock:{name}", f"lease:{name}"]
            if spec.views:
                out.append(f"replica:{name}")
            out += [f"index:{name}.{kind}" for kind in spec.views if kind in QUERY_KINDS]
            out += [f"{kind}:{name}" for kind in ("feed", "export") if kind in spec.views]
        return [*out, *self.repairable, "timeout", "background", "reward"]

    def repair(self, mechanisms: Collection[str]) -> None:
        """Make locks, leases, gateways and reward sound where they are named.

        Views look into `world.repair` themselves, and so tell the truth by value.
        """
        held: dict[str, Any] = {}
        for name, store in self.stores.items():
            if f"lock:{name}" in mechanisms:
                held.update(store.sound_writes())
            if f"lease:{name}" in mechanisms:
                held.update(store.sound_leases())
        for mechanism, values in self.sound.items():
            if mechanism in mechanisms:
                held.update(values)
        if "reward" in mechanisms:
            held["reward.mode"] = "goal"
            held["reward.at"] = "settled"
        if "timeout" in mechanisms:
            held["api.on_timeout"] = "unknown_outcome"
        if held:
            self.settings.hold(held)

    def digests(self) -> dict[str, str]:
        """Digest of each table's committed rows, by table."""
        return {name: store.table.digest() for name, store in self.stores.items()}

    # --- tools of every product -------------------------------------------------------------------

    @local_tool
    def wait(
        self, op: Operation, seconds: Annotated[int, Bounds(1, 86_400)]
    ) -> Answer[dict[str, Any]]:
        """Let simulated time pass before the next call."""
        yield self.world.timer(seconds * 1_000_000)
        return {"waited": seconds}

    @local_tool
    def say(self, op: Operation, text: str) -> Answer[dict[str, Any]]:
        """Send a message to the person who asked for help."""
        yield from ()  # a generator, like all tools
        return {"said": True}

    @local_tool
    def finish(
        self,
        op: Operation,
        message: str,
        outcome: Literal["done", "refused", "handed_over", "impossible"] = "done",
        refs: list[str] | None = None,
    ) -> Answer[dict[str, Any]]:
        """End the episode. refs names the rows that the outcome rests on, as table:id."""
        yield from ()  # a generator, like all tools
        named = tuple(self.row_name(ref) for ref in refs or ())
        for ref in named:
            if not self.is_ref(ref):
                raise Refused("invalid_arguments", f"ref {ref!a} is not of the form table:id")
        at = self.world.instant
        self.ending = Ending(message=message, outcome=outcome, refs=named, at=at)
        return {"finished": True}


def was_closed(error: BaseException) -> bool:
    """Tell a generator's own end, when nobody runs it any longer, from an exception of its code.

    `close` raises in the outermost frame of all that still run, so there is none below it.
    """
    trace = error.__traceback__
    return isinstance(error, GeneratorExit) and (trace is None or trace.tb_next is None)


def resolve_settings(
    product: type[Product], profile: str, config: Mapping[str, object]
) -> Settings:
    """Give the knob values of a world: defaults, then the profile, then the config.

    Raises UnknownName for a profile or key that isn't known, UsageError for a value that can't be
    read.
    """
    chosen = product.profiles.get(profile)
    if chosen is None:
        raise UnknownName.among(f"profile of {product.name}", profile, product.profiles)
    key = (product, profile)
    base = _BASES.get(key)
    if base is None:
        values = {k: knob.read(knob.default) for k, knob in product.knobs.items()}
        values.update(knobs.read_config(product.knobs, chosen, f"profile {profile!r}"))
        base = _BASES[key] = values
    if config:
        base = {**base, **knobs.read_config(product.knobs, config, "the config")}
    return Settings(product.knobs, base)


_BASES: dict[tuple[type[Product], str], dict[str, Any]] = {}


def check_patches(product: type[Product]) -> None:
    """Raise UsageError unless the declared patches are names, each once."""
    # Callers may be untyped; a text would be taken for a tuple of its letters.
    names = cast("object", product.patches)
    every = list(cast("tuple[object, ...]", names)) if isinstance(names, tuple) else [None]
    if not all(isinstance(name, str) and name for name in every) or len({*every}) < len(every):
        raise UsageError(
            f"patches of {product.__name__} are {names!r:.80}", "give a tuple of names, each once"
        )


def find_fault(product: type[Product], text: str) -> Fault:
    """Find a fault of a product by its id, with its trigger. Raises UnknownName."""
    return parse_fault(text, {fault.id: fault for fault in product.faults})


def require_tables(product: type[Product], rows: Mapping[str, object]) -> None:
    """Raise UsageError when start rows name a table that the product doesn't have."""
    for name in rows:
        if name not in product.specs():
            error = UnknownName.among("table", name, product.specs())
            raise UsageError(error.message, error.hint)
