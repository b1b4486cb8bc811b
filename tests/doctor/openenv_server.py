"""A server that speaks the wire protocol of OpenEnv, in the words of `clinic.Walk`.

It has a session a connection, as OpenEnv 0.10 has; `shared` makes one environment of all.
"""

from __future__ import annotations

import asyncio
import json
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, cast

from websockets.asyncio.server import serve
from websockets.datastructures import Headers
from websockets.http11 import Request, Response

from tests.doctor.clinic import Walk

if TYPE_CHECKING:
    from collections.abc import Generator

    from websockets.asyncio.server import ServerConnection

ACTION = {
    "type": "object",
    "additionalProperties": False,
    "properties": {"move": {"$ref": "#/$defs/Move"}},
    "required": ["move"],
    "$defs": {"Move": {"enum": list(Walk.actions), "type": "string"}},
}


def described(connection: ServerConnection, request: Request) -> Response | None:
    """Answer `GET /schema`; all else becomes a session."""
    if request.path != "/schema":
        return None
    body = json.dumps({"action": ACTION}).encode()
    return Response(200, "OK", Headers({"Content-Length": str(len(body))}), body)


def answer(walk: Walk, message: dict[str, Any]) -> dict[str, Any]:
    """Answer a message."""
    data: Any = message["data"]
    if message["type"] == "reset":
        seen, reward, done = walk.reset(data.get("seed"))[0], None, False
    elif type(data) is not dict or [*data] != ["move"]:
        return {"type": "error", "data": {"code": "VALIDATION_ERROR", "message": "Invalid message"}}
    else:
        seen, reward, ended, cut, _ = walk.step(cast("dict[str, str]", data)["move"])
        done = ended or cut
    observation = {"observation": {"seen": seen}, "reward": reward, "done": done}
    return {"type": "observation", "data": observation}


@contextmanager
def serving(shared: bool = False) -> Generator[str, None, None]:
    """Serve in a thread; gives the URL."""
    one = Walk()
    ready: list[Any] = []
    up = threading.Event()

    async def session(connection: ServerConnection) -> None:
        walk = one if shared else Walk()
        async for text in connection:
            message = json.loads(text)
            if message["type"] == "close":
                return
            await connection.send(json.dumps(answer(walk, message)))

    async def run() -> None:
        over = asyncio.Event()
        async with serve(session, "127.0.0.1", 0, process_request=described) as server:
            port = next(iter(server.sockets)).getsockname()[1]
            ready.extend((port, asyncio.get_running_loop(), over))
            up.set()
            await over.wait()

    thread = threading.Thread(target=asyncio.run, args=(run(),))
    thread.start()
    assert up.wait(30)
    port, loop, over = ready
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        loop.call_soon_threadsafe(over.set)
        thread.join(30)
