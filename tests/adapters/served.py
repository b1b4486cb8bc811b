"""Servers on the loopback interface, in a thread of the test, and a plain client of theirs."""

from __future__ import annotations

import http.client
import json
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from simharness.adapters.gate import Bounds, Gate
from simharness.adapters.web import listen, serve, server_for, url_of

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from simharness.adapters.sessions import Sessions


@contextmanager
def served(
    sessions: Sessions,
    app: Any,
    bounds: Bounds | None = None,
    *,
    websockets: bool = False,
    patience: float = 60,
) -> Generator[str]:
    """Serve an app; gives its address."""
    bound = listen("127.0.0.1", 0)
    url = url_of(bound)
    bounds = bounds or Bounds(rate=0)
    gate = Gate(app, bounds, sessions.refuse)
    server = server_for(gate, websockets=websockets, message=bounds.body, patience=patience)
    thread = threading.Thread(target=serve, args=(server, bound, sessions.stop))
    thread.start()
    try:
        wait_for(lambda: server.started)
        yield url
    finally:
        server.should_exit = True
        thread.join(30)
        assert not thread.is_alive()


def wait_for(holds: Callable[[], bool], seconds: float = 20) -> None:
    until = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < until, "it never happened"
        time.sleep(0.01)


class Client:
    """One connection."""

    def __init__(self, url: str, **headers: str) -> None:
        self.connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=30)
        self.headers = headers

    def ask(self, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, Any]:
        """Send a request; gives status and answer."""
        data = body if isinstance(body, bytes | None) else json.dumps(body).encode()
        kind = {} if data is None else {"Content-Type": "application/json"}
        self.connection.request(method, path, data, {**kind, **self.headers, **headers})
        response = self.connection.getresponse()
        text = response.read().decode()
        is_json = response.headers.get("Content-Type", "").startswith("application/json")
        return response.status, json.loads(text) if is_json else text

    def close(self) -> None:
        """Hang up."""
        self.connection.close()
