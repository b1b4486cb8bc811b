"""The gate in front of every server: who may ask, how often, and how much at a time.

An ASGI middleware that needs no library. Without a token only this machine may ask, and no page of
another site may have a browser ask for it.
"""

from __future__ import annotations

import asyncio
import hmac
import json
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, MutableMapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from simharness.errors import UsageError

Message = MutableMapping[str, Any]
Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

LOOPBACK = ("127.0.0.1", "localhost", "::1")
OPEN = ("/healthz", "/health")
"""What a supervisor may ask without a token."""
BODY_BYTES = 4 * 1024 * 1024
CLIENTS_MAX = 10_000
"""Addresses whose rate is known at a time."""
DRAINED_BYTES = 16 * 1024 * 1024
DRAINED_SECONDS = 2.0
"""How much is read, and for how long, of the body of a request that was answered before it ended.

Many clients send all of it before they read, and lose an answer that comes with a reset.
"""
REASON_MAX = 200
"""Characters of the reason of a refusal that are told."""
FORBIDDEN, TOO_LARGE, TOO_SLOW, TOO_OFTEN, UNKNOWN_CALLER = 403, 413, 408, 429, 401


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """What the gate lets through."""

    token: str = ""
    """What a caller has to show; empty on this machine alone."""
    body: int = BODY_BYTES
    """Bytes of a request."""
    rate: float = 500.0
    """Requests a second of one address, in the long run; twice as many at once. 0 for any."""
    slow: float = 30.0
    """Seconds within which a request has to be there."""


def require_token(host: str, token: str) -> None:
    """Refuse to be reached from other machines by whoever likes. Raises UsageError."""
    if host not in LOOPBACK and not token:
        raise UsageError(
            f"serving on {host!r} can be reached from other machines, and there is no token",
            "give --token, or SIMHARNESS_TOKEN in the environment; or serve on 127.0.0.1",
        )
    if token and (len(token) < 16 or not token.isascii() or not token.isprintable()):
        raise UsageError("the token can be guessed", "give 16 printable characters or more")


class Gate:
    """Lets requests through to an app, or answers them itself."""

    def __init__(
        self,
        app: App,
        bounds: Bounds,
        refused: Callable[[int, str], None] = lambda status, why: None,
    ) -> None:
        """Stand before an app; `refused` hears of every request that is answered with an error."""
        self._app = app
        self._bounds = bounds
        self._refused = refused
        self._seen: OrderedDict[str, tuple[float, float]] = OrderedDict()
        """Address to what is left of its allowance, and when that was."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request."""
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        problem = self._problem(scope)
        if scope["type"] == "websocket":
            if problem is None:
                await self._app(scope, receive, send)
            else:
                self._refused(*problem)
                await receive()
                await send({"type": "websocket.close", "code": 1008, "reason": problem[1]})
            return
        send = heard(send, self._refused)
        body = b""
        if problem is None:
            try:
                body = await asyncio.wait_for(self._read(receive), self._bounds.slow)
            except TimeoutError:
                problem = TOO_SLOW, f"a request has to be there within {self._bounds.slow:g} s"
            except ConnectionError:
                return
            except OverflowError:
                problem = TOO_LARGE, f"a request may have at most {self._bounds.body} bytes"
        if problem is not None:
            await answer(receive, send, *problem)
            return
        given = False

        async def again() -> Message:
            nonlocal given
            if given:
                return await receive()
            given = True
            return {"type": "http.request", "body": body, "more_body": False}

        await self._app(scope, again, send)

    def _problem(self, scope: Scope) -> tuple[int, str] | None:
        """Say why a request isn't let through."""
        headers: dict[bytes, bytes] = dict(scope["headers"])
        bounds = self._bounds
        if bounds.token:
            if scope["path"] not in OPEN and not self._knows(headers.get(b"authorization", b"")):
                return UNKNOWN_CALLER, "send the token: Authorization: Bearer TOKEN"
        else:
            # A page of another site can have a browser ask this machine, under a name of its own.
            origin = headers.get(b"origin")
            if name_of(f"//{text(headers.get(b'host', b''))}") not in LOOPBACK:
                return FORBIDDEN, "the Host is not this machine; serve with a token"
            if origin is not None and name_of(text(origin)) not in LOOPBACK:
                return FORBIDDEN, "a page of another origin"
        length = text(headers.get(b"content-length", b"0"))
        if length.isdecimal() and int(length) > bounds.body:
            return TOO_LARGE, f"a request may have at most {bounds.body} bytes"
        client = scope.get("client")
        if bounds.rate and not self._within_rate(str(client[0]) if client else ""):
            return TOO_OFTEN, f"at most {bounds.rate:g} requests a second"
        return None

    def _knows(self, given: bytes) -> bool:
        scheme, _, token = given.partition(b" ")
        same = hmac.compare_digest(token.strip(), self._bounds.token.encode())
        return same and scheme.lower() == b"bearer"

    def _within_rate(self, address: str) -> bool:
        now = time.monotonic()
        rate = self._bounds.rate
        left, since = self._seen.pop(address, (2 * rate, now))
        left = min(2 * rate, left + (now - since) * rate)
        self._seen[address] = (max(0.0, left - 1), now)
        while len(self._seen) > CLIENTS_MAX:
            self._seen.popitem(last=False)
        return left >= 1

    async def _read(self, receive: Receive) -> bytes:
        """Read a body whole. Raises OverflowError; ConnectionError where the caller has gone."""
        parts = bytearray()
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise ConnectionError
            parts += message.get("body", b"")
            if len(parts) > self._bounds.body:
                raise OverflowError
            if not message.get("more_body", False):
                return bytes(parts)


def heard(send: Send, refused: Callable[[int, str], None]) -> Send:
    """Let errors be heard on their way to the caller, each by its status and what it says."""
    status = 0

    async def sent(message: Message) -> None:
        nonlocal status
        if message["type"] == "http.response.start" and message["status"] >= 400:
            status = message["status"]
        elif status:
            refused(status, reason_of(message.get("body", b"")))
            status = 0
        await send(message)

    return sent


def reason_of(body: bytes) -> str:
    """Give what the body of an error says, which is a sentence in our own, and else its text."""
    try:
        reason = json.loads(body)["error"]["message"]
    except (ValueError, LookupError, TypeError):
        reason = body.decode("utf-8", "replace")
    return str(reason)[:REASON_MAX]


def text(header: bytes) -> str:
    """Decode a header."""
    return header.decode("latin-1")


def name_of(url: str) -> str:
    """Give the host of a URL, or an empty text where it can't be told."""
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""


async def answer(receive: Receive, send: Send, status: int, message: str) -> None:
    """Refuse a request, and end its connection once its body was sent, or enough of it."""
    body = json.dumps({"error": {"code": str(status), "message": message, "hint": ""}}).encode()
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
        (b"connection", b"close"),
    ]
    if status == UNKNOWN_CALLER:
        headers.append((b"www-authenticate", b"Bearer"))
    if status == TOO_OFTEN:
        headers.append((b"retry-after", b"1"))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body, "more_body": True})
    with suppress(TimeoutError):
        await asyncio.wait_for(drain(receive), DRAINED_SECONDS)
    await send({"type": "http.response.body", "body": b""})


async def drain(receive: Receive) -> None:
    """Read what is left of a body, up to a bound, and throw it away."""
    count = 0
    while count < DRAINED_BYTES:
        message = await receive()
        count += len(message.get("body", b""))
        if message["type"] == "http.disconnect" or not message.get("more_body", False):
            return
