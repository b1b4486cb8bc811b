"""The page on the loopback interface, with a way back for reviews.

Only this machine can ask, and only with the token of the address: the names that a request gives
for its host and its origin are checked, so that no other site can have a browser ask for it.
"""

from __future__ import annotations

import hmac
import json
import secrets
import sys
import threading
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

from simharness.blame.quarantine import REVIEWS, append_review, parse_review
from simharness.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path

HOST = "127.0.0.1"
BODY_MAX = 64 * 1024
"""Bytes of one review."""


class ReviewServer(ThreadingHTTPServer):
    """Serves one page to this machine, and appends reviews to a run's `reviews.jsonl`."""

    daemon_threads = True

    def __init__(self, page: str, folder: Path | None, port: int = 0) -> None:
        super().__init__((HOST, port), Handler)
        self.page = page.encode()
        self.folder = folder
        self.token = secrets.token_urlsafe(16)
        self.writing = threading.Lock()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Tell of a failure, unless it is a reader who has hung up."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)

    @property
    def origin(self) -> str:
        """Where the page comes from."""
        return f"http://{HOST}:{self.server_address[1]}"

    @property
    def url(self) -> str:
        """The address to open, token included."""
        return f"{self.origin}/?token={self.token}"


class Handler(BaseHTTPRequestHandler):
    """Answers GET / with the page and POST /reviews with what became of a review."""

    server: ReviewServer  # pyright: ignore[reportIncompatibleVariableOverride]
    server_version = "simharness"
    sys_version = ""
    protocol_version = "HTTP/1.1"
    timeout = 30

    def do_GET(self) -> None:
        """Give the page."""
        if self.refused():
            return
        if urlsplit(self.path).path != "/":
            self.answer(HTTPStatus.NOT_FOUND, b"not found", "text/plain")
            return
        self.answer(HTTPStatus.OK, self.server.page, "text/html; charset=utf-8")

    def do_POST(self) -> None:
        """Append a review."""
        if self.refused(posting=True):
            return
        length = self.headers.get("Content-Length", "")
        if not length.isdigit() or int(length) > BODY_MAX:
            self.close_connection = True
            self.tell(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"at most {BODY_MAX} bytes")
            return
        body = self.rfile.read(int(length))
        if urlsplit(self.path).path != "/reviews" or self.server.folder is None:
            self.tell(HTTPStatus.NOT_FOUND, "reviews are not taken here")
            return
        try:
            line = review_line(body)
        except UsageError as error:
            self.tell(HTTPStatus.BAD_REQUEST, f"{error.message}: {error.hint}")
            return
        try:
            with self.server.writing:
                append_review(self.server.folder, line)
        except OSError as error:
            self.tell(HTTPStatus.INTERNAL_SERVER_ERROR, f"can't write {REVIEWS}: {error.strerror}")
            return
        self.tell(HTTPStatus.OK, "")

    def refused(self, *, posting: bool = False) -> bool:
        """Answer, and say so, a request that isn't from the page or its reader."""
        port = self.server.server_address[1]
        host = self.headers.get("Host", "")
        origin = self.headers.get("Origin")
        if host not in (f"{HOST}:{port}", f"localhost:{port}"):
            why = "a host that isn't this machine"
        elif origin is not None and origin not in (f"http://{host}",):
            why = "a page of another origin"
        elif posting and origin is None:
            why = "no origin"
        elif not hmac.compare_digest(self.token().encode(), self.server.token.encode()):
            why = "a token that is missing or wrong"
        else:
            return False
        self.close_connection = True
        self.answer(HTTPStatus.FORBIDDEN, f"refused: {why}".encode(), "text/plain")
        return True

    def token(self) -> str:
        """Give the token that a request names."""
        return parse_qs(urlsplit(self.path).query).get("token", [""])[0]

    def tell(self, status: HTTPStatus, error: str) -> None:
        """Answer a script."""
        self.answer(status, json.dumps({"error": error}).encode(), "application/json")

    def answer(self, status: HTTPStatus, body: bytes, kind: str) -> None:
        """Send an answer that nobody may keep, frame, or take for something else."""
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-store")
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("X-Frame-Options", "DENY")
        self.send_header("Referrer-Policy", "no-referrer")
        self.send_header("Cross-Origin-Resource-Policy", "same-origin")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Keep quiet: what is printed is the address."""


def review_line(body: bytes) -> str:
    """Check a review and give its line. Raises UsageError."""
    try:
        text = body.decode()
    except UnicodeDecodeError:
        raise UsageError("a review is not UTF-8", "send JSON") from None
    parse_review(text, "as sent")
    return json.dumps(json.loads(text), separators=(",", ":"), sort_keys=True) + "\n"
