"""`simharness serve`."""

from __future__ import annotations

import functools
import importlib
import os
import shlex
import signal
import threading
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from simharness.adapters.gate import Bounds, Gate, require_token
from simharness.adapters.log import Log
from simharness.adapters.offer import Offer, all_scenarios
from simharness.adapters.sessions import CLIENT, Limits, Sessions
from simharness.cli.durations import seconds
from simharness.errors import UsageError
from simharness.extras import to_install
from simharness.rollout.intake import Intake
from simharness.rollout.request import parse_config
from simharness.rollout.store import next_folder

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable
    from types import FrameType, ModuleType

    from simharness.adapters.gate import App

PORT = 8765


WORLD = (
    click.argument("scenarios", nargs=-1, metavar="[SCENARIO...]"),
    click.option(
        "--load", default="1", show_default=True, help="Background load, unless a client asks."
    ),
    click.option(
        "--max-load", default="16", show_default=True, help="Largest load that clients may ask for."
    ),
    click.option(
        "--fault", "faults", multiple=True, metavar="F", help="Fault, unless a client asks."
    ),
    click.option("--profile", default="", help="Knob profile; default: the scenario's own."),
    click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help="Set a knob."),
    click.option("--schedule", default="fifo", show_default=True, help="fifo, or random:SEED."),
    click.option(
        "--max-sessions", type=click.IntRange(1, 10_000), default=64, show_default=True, metavar="N"
    ),
    click.option(
        "--idle-timeout",
        callback=seconds,
        metavar="D",
        default="10min",
        show_default=True,
        help="After which a session that nobody uses is over.",
    ),
    click.option(
        "--call-timeout",
        callback=seconds,
        metavar="D",
        default="60s",
        show_default=True,
        help="Real time of one call, after which the harness is taken for stuck.",
    ),
    click.option(
        "--breaker/--no-breaker",
        default=True,
        help="Whether to let no episode begin once the harness has turned out to be broken.",
    ),
    click.option(
        "-o",
        "--out",
        type=click.Path(path_type=Path),
        metavar="RUN",
        help="Run directory for the recordings; must be new.",
    ),
)
"""What is served, to how many, and where it is recorded."""
NETWORK = (
    click.option("--host", default="127.0.0.1", show_default=True, help="Address to serve on."),
    click.option(
        "--port",
        type=click.IntRange(0, 65535),
        default=PORT,
        show_default=True,
        help="0: any that is free.",
    ),
    click.option(
        "--token",
        default="",
        envvar="SIMHARNESS_TOKEN",
        metavar="TOKEN",
        help="What callers have to show; needed where other machines can ask.",
    ),
    click.option(
        "--rate",
        type=click.FloatRange(min=0),
        default=500.0,
        show_default=True,
        help="Requests a second of one address; 0: any.",
    ),
    click.option(
        "--max-body",
        type=click.IntRange(min=1024),
        default=4 * 1024 * 1024,
        show_default=True,
        metavar="BYTES",
        help="Of a request, and of a message over a WebSocket.",
    ),
)


def options(*groups: tuple[Any, ...]) -> Callable[[Callable[..., int]], Callable[..., int]]:
    """Give a command some groups of options."""

    def add(function: Callable[..., int]) -> Callable[..., int]:
        for decorate in reversed([one for group in groups for one in group]):
            function = decorate(function)
        return function

    return add


@click.group("serve")
def command() -> None:
    """Serve scenarios to clients; what they play is recorded as a run."""


@command.command("http")
@options(WORLD, NETWORK)
def http(**given: Any) -> int:
    """Serve JSON over HTTP, with an OpenAPI document and a page that shows it at /docs."""
    adapter = adapter_of("http")
    return serve_web("http", given, lambda served: adapter.app_for(served.sessions, served.log))


@command.command("openenv")
@options(WORLD, NETWORK)
def openenv(**given: Any) -> int:
    """Serve OpenEnv; the first SCENARIO is what a reset without one begins."""
    if not given["scenarios"]:
        raise UsageError("serve openenv needs a scenario", "e.g. serve openenv crm/negotiation")
    adapter = adapter_of("openenv")

    def app_for(served: Served) -> App:
        return cast("App", adapter.app_for(served.sessions, served.log))

    return serve_web("openenv", given, app_for, websockets=True)


@command.command("mcp")
@click.option("--http", "by_http", is_flag=True, help="Serve streamable HTTP at /mcp, not stdio.")
@options(WORLD, NETWORK)
def mcp(by_http: bool, **given: Any) -> int:
    """Serve the tools of one product over MCP: on standard input and output, or by HTTP."""
    if not given["scenarios"]:
        raise UsageError("serve mcp needs a scenario", "e.g. serve mcp crm/negotiation")
    adapter = adapter_of("mcp")
    if by_http:
        return serve_web("mcp", given, lambda served: adapter.app_for(served.sessions, served.log))
    served = serve_for("mcp", given)

    def end(number: int) -> None:
        served.stopped = number
        served.stop()
        # The thread that reads standard input can't be woken.
        os._exit(told(served))

    def handle(number: int, frame: FrameType | None) -> None:
        threading.Thread(target=end, args=(number,)).start()

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, handle)
    try:
        adapter.serve_stdio(served.sessions, served.log)
    finally:
        served.stop()
    return told(served)


@dataclass(slots=True)
class Served:
    """A server that is about to begin."""

    sessions: Sessions
    log: Log
    stopped: int = 0
    """Number of the signal that stopped it."""

    def stop(self) -> None:
        """End all sessions, and seal the recordings."""
        why = "Ctrl-C" if self.stopped == signal.SIGINT else "a signal" if self.stopped else "done"
        self.sessions.stop(f"the server stopped ({why})")


def adapter_of(name: str) -> ModuleType:
    """Import an adapter. Raises UsageError where its extra isn't installed."""
    try:
        return importlib.import_module(f"simharness.adapters.{name}")
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("simharness"):
            raise
        extra = "serve" if name in ("http", "web") else name
        raise UsageError(
            f"serve {name} needs {error.name}, which isn't installed",
            f"run: {to_install(f'simharness[{extra}]')}",
        ) from None


def serve_for(protocol: str, given: dict[str, Any]) -> Served:
    """Check what is asked for, and begin the run directory."""
    offer = Offer(
        scenarios=given["scenarios"] or all_scenarios(),
        load=given["load"],
        load_max=given["max_load"],
        faults=given["faults"],
        profile=given["profile"],
        config=parse_config(given["settings"]),
        schedule=given["schedule"],
    )
    offer.check()
    limits = Limits(
        sessions=given["max_sessions"], idle=given["idle_timeout"], call=given["call_timeout"]
    )
    folder = given["out"] or next_folder(Path("runs"), "served")
    about = {"protocol": protocol, **offer.record(), "limits": asdict(limits)}
    log = Log()
    intake = Intake(folder, CLIENT, {"served": about, "episodes": None})
    return Served(Sessions(offer, intake, limits, breaker=given["breaker"], tell=log), log)


def serve_web(
    protocol: str,
    given: dict[str, Any],
    app_for: Callable[[Served], App],
    *,
    websockets: bool = False,
) -> int:
    """Serve an app until a signal comes, and seal what was recorded."""
    web = adapter_of("web")
    bounds = Bounds(token=given["token"], body=given["max_body"], rate=given["rate"])
    require_token(given["host"], bounds.token)
    bound: socket.socket = web.listen(given["host"], given["port"])
    with bound:
        served = serve_for(protocol, given)
        gate = Gate(app_for(served), bounds, served.sessions.refuse)
        server = web.server_for(gate, websockets=websockets, message=bounds.body)

        def handle(number: int, frame: FrameType | None) -> None:
            server.force_exit = bool(served.stopped)
            served.stopped = number
            server.should_exit = True

        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, handle)
        folder = served.sessions.intake.folder
        click.echo(f"serving {web.url_of(bound)}; recordings go to {folder}")
        served.log("listening", {"url": web.url_of(bound), "run": str(folder)})
        web.serve(server, bound, served.stop)
    return told(served)


def told(served: Served) -> int:
    """Say what there is now; gives the exit code."""
    intake = served.sessions.intake
    look = shlex.join(["simharness", "audit", str(intake.folder)])
    say = functools.partial(click.echo, err=True)
    episodes = "1 episode" if intake.count == 1 else f"{intake.count} episodes"
    say(f"{episodes} in {intake.folder}" + (f": {look}" if intake.count else ""))
    return 130 if served.stopped == signal.SIGINT else 0
