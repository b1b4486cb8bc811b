"""The sessions as JSON over HTTP, with an OpenAPI document.

Every answer is JSON; an error is `{"error": {"code", "message", "hint"}}` and its status. What the
harness got wrong in a step is no status: it is an answer whose reward is null, with an `error`.
"""

from __future__ import annotations

import json
import sys
from contextlib import asynccontextmanager
from html import escape
from typing import TYPE_CHECKING, Annotated, Any, Literal

import anyio.to_thread
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response
from pydantic import BaseModel, ConfigDict, Field, model_validator
from starlette.exceptions import HTTPException

from simharness import __version__
from simharness.adapters.status import health, metrics
from simharness.errors import (
    AtCapacity,
    CallOverdue,
    HarnessError,
    HarnessUnhealthy,
    NoEpisode,
    NoSession,
    OutOfStep,
    RecordingError,
    SimharnessError,
    UsageError,
)
from simharness.product.policy import Call
from simharness.product.registry import load_scenario
from simharness.rollout.broken import cause_of

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Coroutine

    from simharness.adapters.sessions import Sessions
    from simharness.product.policy import Action

    Handler = Callable[[Request, Exception], Coroutine[Any, Any, Response]]

STATUSES: tuple[tuple[type[SimharnessError], int], ...] = (
    (NoSession, 404),
    (NoEpisode, 409),
    (OutOfStep, 409),
    (AtCapacity, 503),
    (UsageError, 422),
    (CallOverdue, 504),
    (HarnessUnhealthy, 503),
    (HarnessError, 503),
    (RecordingError, 503),
)
"""Status of each error, by the first class that fits."""
SPARE_THREADS = 8
"""Threads for requests that have no session of their own."""


class Strict(BaseModel):
    """A body of exactly these fields and types: nothing is guessed or ignored."""

    model_config = ConfigDict(extra="forbid", strict=True)


class Wanted(Strict):
    """An episode that is asked for."""

    scenario: str
    seed: Annotated[int, Field(ge=0, lt=2**64)] | str = Field(
        description="A number, or train:N or eval:N for the N-th seed of that split."
    )
    load: int | float | str | None = Field(
        default=None, description="Background load; 1 is one team. Default: the server's."
    )
    faults: list[str] | None = Field(
        default=None, max_length=32, description="Faults to switch on. Default: the server's."
    )


class ToolCall(Strict):
    """A tool call, as a model makes it."""

    tool: str
    args: dict[str, Any] | str = Field(
        default_factory=dict, description="An object, or the text that a model sent for one."
    )
    id: str | None = Field(default=None, description="Repeated in the result.")


class Act(Strict):
    """One step: calls that run at once, or text, or leaving off."""

    calls: list[ToolCall] | None = Field(default=None, min_length=1, max_length=256)
    text: str | None = Field(default=None, description="A message to the person who asked.")
    leave: Literal[True] | None = Field(
        default=None, description="The agent goes away; the episode ends and is graded."
    )
    step: int | None = Field(
        default=None,
        ge=1,
        description="The number of this step, from 1: a repeated request is then refused (409).",
    )

    @model_validator(mode="after")
    def one_thing(self) -> Act:
        """Require exactly one of calls, text and leave."""
        if sum(one is not None for one in (self.calls, self.text, self.leave)) != 1:
            raise ValueError("give exactly one of calls, text and leave")
        return self

    def action(self) -> Action:
        """Give it as an environment takes it."""
        if self.calls is not None:
            return [Call(one.tool, one.args, one.id) for one in self.calls]
        return self.text


class Episode(BaseModel):
    """An episode as it began."""

    episode_id: str
    scenario: str
    seed: int
    t: str = Field(description="Simulated time.")
    prompt: str
    tools: list[dict[str, Any]] = Field(description="Name, description, JSON Schema of each tool.")


class Begun(Episode):
    """An episode that has begun, and its session."""

    session_id: str = Field(description="The handle of the session; who knows it may use it.")


class Failure(BaseModel):
    """Why there is no reward."""

    code: str
    message: str


class Told(BaseModel):
    """What came of a step."""

    episode_id: str
    step: int
    t: str
    results: list[dict[str, Any]] = Field(description="{id, tool, value} or {id, tool, error}.")
    reward: float | None = Field(
        description="0 before the end, then the score; null where the harness can't tell."
    )
    terminated: bool
    truncated: bool
    info: dict[str, Any] = Field(description="At the end: valid, and verdict.")
    error: Failure | None = Field(description="Of the harness. The agent's own are results.")


class State(BaseModel):
    """How far a session is."""

    scenario: str
    episode_id: str | None
    seed: int | None
    step: int
    going_on: bool
    begun: Episode | None = Field(description="What was told at the beginning, but for the handle.")
    last: Told | None = Field(description="The last answer, as after a connection was lost.")


class Offered(BaseModel):
    """A scenario that may be played."""

    id: str
    about: str
    train: list[int] = Field(description="First seed of the split, and the one after its last.")
    eval: list[int]


class Health(BaseModel):
    """How the server is."""

    status: Literal["ok", "failing"]
    reason: str
    sessions: int
    sessions_max: int


class Wrong(BaseModel):
    """An error's code, what happened, and what to do."""

    code: str
    message: str
    hint: str


class Problem(BaseModel):
    """Why a request was refused."""

    error: Wrong


class Reply(JSONResponse):
    """JSON in ASCII: a lone surrogate that a model sent has no UTF-8."""

    def render(self, content: Any) -> bytes:
        """Write the body."""
        return json.dumps(content, allow_nan=False, separators=(",", ":")).encode("ascii")


def app_for(sessions: Sessions, tell: Callable[[str, dict[str, Any]], None]) -> FastAPI:
    """Make the app that serves sessions; `tell` hears of requests that failed unexpectedly."""

    @asynccontextmanager
    async def ready(app: FastAPI) -> AsyncGenerator[None]:
        # A request waits in a thread; as many as there are sessions may wait at once.
        limiter = anyio.to_thread.current_default_thread_limiter()
        limiter.total_tokens = sessions.limits.sessions + SPARE_THREADS
        yield

    routes = Routes(sessions)
    refused: dict[int | str, dict[str, Any]] = {
        "default": {"model": Problem},
        422: {"model": Problem},
    }
    app = FastAPI(
        title="simharness",
        version=__version__,
        description=__doc__ or "",
        docs_url=None,
        redoc_url=None,
        lifespan=ready,
        default_response_class=Reply,
        responses=refused,
    )
    add_handlers(app, tell)
    for method, path, function, model, status in routes.table():
        app.add_api_route(
            path,
            function,
            methods=[method],
            status_code=status,
            response_model=None,
            responses={status: {"model": model}} if model is not None else {},
        )
    app.add_api_route("/metrics", routes.metrics, response_class=PlainTextResponse)
    app.add_api_route("/docs", docs_of(app), include_in_schema=False)
    # The document is made once, and what is on offer is known only now.
    wanted = app.openapi()["components"]["schemas"][Wanted.__name__]
    wanted["properties"]["scenario"]["enum"] = list(sessions.offer.scenarios)
    return app


class Routes:
    """What can be asked of the sessions."""

    def __init__(self, sessions: Sessions) -> None:
        self._sessions = sessions

    def table(self) -> list[tuple[str, str, Any, type[BaseModel] | None, int]]:
        """Give method, path, function, what it answers, and the status."""
        one = "/v1/sessions/{session_id}"
        return [
            ("GET", "/healthz", self.health, Health, 200),
            ("GET", "/v1/scenarios", self.scenarios, None, 200),
            ("POST", "/v1/sessions", self.open, Begun, 201),
            ("GET", one, self.look, State, 200),
            ("POST", f"{one}/reset", self.reset, Begun, 200),
            ("POST", f"{one}/step", self.step, Told, 200),
            ("DELETE", one, self.close, None, 204),
        ]

    async def health(self) -> Response:
        """Tell whether episodes can begin; 503 where they can't."""
        status, content = health(self._sessions)
        return Reply(content, status)

    async def metrics(self) -> Response:
        """Give counts in the text format of Prometheus."""
        return metrics(self._sessions)

    def scenarios(self) -> Response:
        """List the scenarios on offer."""
        offer = self._sessions.offer
        splits = ("train", "eval")
        return Reply(
            [
                {
                    "id": name,
                    "about": load_scenario(name)[1].doc,
                    **{split: ends(offer.seeds_of(name, split)) for split in splits},
                }
                for name in offer.scenarios
            ]
        )

    def open(self, body: Wanted) -> Response:
        """Open a session and begin an episode in it."""
        handle, begun = self._sessions.start(body.scenario, body.seed, body.load, body.faults)
        return Reply({"session_id": handle, **begun}, 201)

    def reset(self, session_id: str, body: Wanted) -> Response:
        """Begin another episode; one that goes on is recorded as left."""
        given = body.scenario, body.seed, body.load, body.faults
        return Reply({"session_id": session_id, **self._sessions.begin(session_id, *given)})

    def step(self, session_id: str, body: Act) -> Response:
        """Do one step."""
        return Reply(self._sessions.step(session_id, body.action(), number=body.step))

    def look(self, session_id: str) -> Response:
        """Tell how far a session is, with its last answer."""
        return Reply(self._sessions.look(session_id))

    def close(self, session_id: str) -> Response:
        """End a session; an episode that goes on is recorded as left."""
        self._sessions.close(session_id)
        return Response(status_code=204)


def ends(seeds: range) -> list[int]:
    """Give the first of some seeds, and the one after the last."""
    return [seeds.start, seeds.stop]


# --- errors ---------------------------------------------------------------------------------------


def problem(status: int, code: str, message: str, hint: str = "") -> Response:
    """Answer an error."""
    headers = {"Retry-After": "1"} if status == 503 else None
    content = {"error": {"code": code, "message": message, "hint": hint}}
    return Reply(content, status, headers=headers)


async def on_error(request: Request, error: Exception) -> Response:
    """Answer what was raised on purpose."""
    assert isinstance(error, SimharnessError)
    status = next((status for kind, status in STATUSES if isinstance(error, kind)), 503)
    return problem(status, error.code, error.message, error.hint)


async def on_bad_body(request: Request, error: Exception) -> Response:
    """Answer a body that isn't as the document says; what was sent is not repeated."""
    assert isinstance(error, RequestValidationError)
    for one in error.errors():
        if one["type"] == "json_invalid":
            where = f"at character {one['loc'][-1]}: {one['ctx']['error']}"
            return problem(400, "400", f"the body is no JSON, {where}", "see /docs")
    wrong = [
        f"{'.'.join(str(part)[:40] for part in one['loc'])}: {one['msg']}" for one in error.errors()
    ]
    more = f" and {len(wrong) - 5} more" if len(wrong) > 5 else ""
    return problem(422, "422", "; ".join(wrong[:5]) + more, "see /docs")


async def on_status(request: Request, error: Exception) -> Response:
    """Answer a path, a method or a body that can't be."""
    assert isinstance(error, HTTPException)
    said = str(error.detail)
    if error.status_code == 400 and error.__cause__ is not None:
        said = f"the body can't be read: {unreadable(error.__cause__)}"
    answer = problem(error.status_code, str(error.status_code), said, "see /docs")
    for name, value in (error.headers or {}).items():
        answer.headers[name] = value
    return answer


def unreadable(error: BaseException) -> str:
    """Say why a body can't be read as JSON, without what was sent."""
    match error:
        case UnicodeDecodeError():
            return f"it is not {error.encoding.upper()}, at byte {error.start}"
        case RecursionError():
            return "it is nested too deeply"
        case ValueError():  # all others of these are errors of JSON, which FastAPI tells itself
            return f"a number has more than {sys.get_int_max_str_digits()} digits"
        case _:
            return type(error).__name__


def add_handlers(app: FastAPI, tell: Callable[[str, dict[str, Any]], None]) -> None:
    """Let an app answer errors in words; `tell` hears of those that nobody raises on purpose."""
    handlers: dict[int | type[Exception], Handler] = {
        SimharnessError: on_error,
        RequestValidationError: on_bad_body,
        HTTPException: on_status,
        Exception: unexpected(tell),
    }
    for kind, handler in handlers.items():
        app.add_exception_handler(kind, handler)


def unexpected(
    tell: Callable[[str, dict[str, Any]], None],
) -> Handler:
    """Give the handler of what nobody raises on purpose: told to the log, not to the caller."""

    async def handle(request: Request, error: Exception) -> Response:
        tell("failed", {"path": request.url.path, "why": cause_of(error)})
        return problem(500, "SH-ERR-000", "the server failed; its log says more")

    return handle


# --- documents ------------------------------------------------------------------------------------


def docs_of(app: FastAPI) -> Callable[[], Coroutine[Any, Any, Response]]:
    """Give the route of the page that shows the OpenAPI document, which loads nothing."""

    async def docs() -> Response:
        headers = {"Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'"}
        return HTMLResponse(page(app.openapi()), headers=headers)

    return docs


def page(document: dict[str, Any]) -> str:
    """Write an OpenAPI document as a page."""
    info = document["info"]
    parts = [
        f"<!doctype html><html lang=en><meta charset=utf-8><title>{escape(info['title'])}</title>",
        "<style>body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;"
        "padding:0 1rem}pre{background:#f4f4f4;padding:.6rem;overflow:auto}h2{margin-top:2rem}"
        "@media(prefers-color-scheme:dark){body{background:#111;color:#eee}pre{background:#222}}"
        "</style>",
        f"<h1>{escape(info['title'])} {escape(info['version'])}</h1>",
        f"<p>{escape(info['description'])}</p><p><a href=openapi.json>openapi.json</a></p>",
    ]
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            parts.append(f"<h2><code>{method.upper()} {escape(path)}</code></h2>")
            parts.append(f"<p>{escape(operation.get('description', ''))}</p>")
            names = [told_type(operation.get("requestBody", {}))]
            names += [told_type(found) for found in operation["responses"].values()]
            statuses = ["sends", *(f"answers {status}" for status in operation["responses"])]
            parts.append("<ul>")
            parts += [
                f"<li>{status}: <a href='#{name}'>{name}</a>"
                for status, name in zip(statuses, names, strict=True)
                if name
            ]
            parts.append("</ul>")
    for name, schema in document["components"]["schemas"].items():
        parts.append(f"<h2 id='{escape(name)}'>{escape(name)}</h2>")
        parts.append(f"<pre>{escape(json.dumps(schema, indent=2))}</pre>")
    return "\n".join(parts)


def told_type(part: dict[str, Any]) -> str:
    """Name the schema of a body, if it has one of its own."""
    content = part.get("content", {}).get("application/json", {})
    return escape(str(content.get("schema", {}).get("$ref", "")).rpartition("/")[2])
