"""Serves an ASGI app on one address until it is told to stop.

Connections send at once what is written to them: with Nagle's algorithm each answer of a protocol
that writes head and body apart waits for an acknowledgement, which takes 40 ms.
"""

from __future__ import annotations

import contextlib
import os
import socket
from typing import TYPE_CHECKING, Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from simharness.adapters.gate import BODY_BYTES
from simharness.errors import UsageError

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Generator

    from simharness.adapters.gate import App

PATIENCE = 60
"""Seconds after which a connection is closed that sends nothing."""
BACKLOG = 1024
"""Connections that may wait to be accepted."""
GRACE = 5
"""Seconds that open connections have when the server stops."""


class Patient(H11Protocol):
    """HTTP that waits for a first request no longer than for the next one."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait."""
        super().connection_made(transport)
        self.timeout_keep_alive_task = self.loop.call_later(
            self.timeout_keep_alive, self.timeout_keep_alive_handler
        )


class Server(uvicorn.Server):
    """A server whose process handles the signals itself."""

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None]:
        """Leave signals alone."""
        yield


def listen(host: str, port: int) -> socket.socket:
    """Bind an address; port 0 takes a free one. Raises UsageError where that can't be done."""
    try:
        family, kind, number, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        bound = socket.socket(family, kind, number)
    except OSError as error:
        raise UsageError(f"{host!r} is no address: {error.strerror}", "give --host") from None
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        # Accepted connections inherit these two; the latter finds peers that are gone.
        bound.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        bound.bind(address)
        # So that who reads the address may connect at once.
        bound.listen(BACKLOG)
    except OSError as error:
        bound.close()
        why = os.strerror(error.errno) if error.errno else str(error)
        raise UsageError(
            f"can't serve on {host}:{port}: {why}", "give another --host or --port"
        ) from None
    return bound


def url_of(bound: socket.socket) -> str:
    """Give the address that is bound."""
    host, port = bound.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def server_for(
    app: App,
    *,
    websockets: bool = False,
    message: int = BODY_BYTES,
    patience: float = PATIENCE,
) -> Server:
    """Make the server of an app.

    A `message` over a WebSocket has at most so many bytes. Who doesn't answer a ping of it within
    `patience` is gone.
    """
    config: Any = uvicorn.Config(
        app,
        http=Patient,
        ws="auto" if websockets else "none",
        ws_max_size=message,
        # Two parts of it, so that both together are shorter than that.
        ws_ping_interval=patience / 3,
        ws_ping_timeout=patience / 3,
        loop="asyncio",
        log_config=None,
        log_level="critical",
        access_log=False,
        server_header=False,
        timeout_keep_alive=patience,  # type: ignore[arg-type]  # a float of seconds does
        timeout_graceful_shutdown=GRACE,
    )
    return Server(config)


def serve(server: Server, bound: socket.socket, ended: Callable[[], None]) -> None:
    """Serve until the server is told to exit; `ended` is called when nobody is served any more."""
    try:
        server.run(sockets=[bound])
    finally:
        bound.close()
        ended()
