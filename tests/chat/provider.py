"""A chat API on loopback that plays a scenario as its reference would, or misbehaves as it is told.

`python -m tests.chat.provider crm/negotiation` serves one until it is stopped.
"""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from simharness.episode.play import policy_draws, raw_call
from simharness.episode.policies import scripted
from simharness.episode.step import default_id
from simharness.kernel.draws import Draws, Stream
from simharness.product.policy import Call, Observation, Task
from simharness.product.registry import load_scenario
from simharness.product.scenario import Drawing

if TYPE_CHECKING:
    from collections.abc import Generator

    from simharness.product.policy import Action

Body = dict[str, Any]
PIECE = 7
"""Characters of arguments, or of a text, to a piece of a stream."""


class Message(NamedTuple):
    """What the model answers."""

    text: str | None = None
    calls: tuple[tuple[str, str, str], ...] = ()
    """Id, tool and arguments of each."""

    def record(self) -> Body:
        message: Body = {"role": "assistant", "content": self.text}
        if self.calls:
            message["tool_calls"] = [
                {"id": id, "type": "function", "function": {"name": tool, "arguments": arguments}}
                for id, tool, arguments in self.calls
            ]
        return message

    def whole(self, prompt_tokens: int) -> Body:
        finish = "tool_calls" if self.calls else "stop"
        return {
            "id": "chatcmpl-1",
            "object": "chat.completion",
            "created": 0,
            "model": "scripted",
            "choices": [{"index": 0, "message": self.record(), "finish_reason": finish}],
            "usage": self.usage(prompt_tokens),
        }

    def usage(self, prompt_tokens: int) -> Body:
        tokens = len(json.dumps(self.record())) // 4
        total = prompt_tokens + tokens
        return {
            "prompt_tokens": prompt_tokens,
            "completion_tokens": tokens,
            "total_tokens": total,
        }

    def events(self, prompt_tokens: int) -> list[str]:
        """Give the same as the events of a stream."""
        deltas: list[Body] = [{"role": "assistant", "content": self.text and ""}]
        deltas += [{"content": piece} for piece in pieces(self.text or "")]
        for index, (id, tool, arguments) in enumerate(self.calls):
            head = {"name": tool, "arguments": ""}
            deltas.append(
                {"tool_calls": [{"index": index, "id": id, "type": "function", "function": head}]}
            )
            deltas += [
                {"tool_calls": [{"index": index, "function": {"arguments": piece}}]}
                for piece in pieces(arguments)
            ]
        finish = "tool_calls" if self.calls else "stop"
        chunks: list[Body] = [
            *({"choices": [{"index": 0, "delta": d, "finish_reason": None}]} for d in deltas),
            {"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]},
            {"choices": [], "usage": self.usage(prompt_tokens)},
        ]
        return [": keep-alive", *(f"data: {json.dumps(c)}" for c in chunks), "data: [DONE]"]


def pieces(text: str) -> list[str]:
    return [text[at : at + PIECE] for at in range(0, len(text), PIECE)]


Reply = Callable[["Handler", Body], None]
"""Answers one request, or leaves it unanswered."""


def says(text: str) -> Reply:
    return lambda handler, body: handler.answer(body, Message(text))


def calls(*made: tuple[str, str, str], text: str | None = None) -> Reply:
    return lambda handler, body: handler.answer(body, Message(text, made))


def status(number: int, message: str = "", code: str = "", **headers: str) -> Reply:
    """Refuse with a status; names of headers have _ for -."""
    error = {"error": {"message": message, "type": "error", "code": code}}
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return lambda handler, body: handler.send(number, json.dumps(error).encode(), named)


def raw(data: bytes) -> Reply:
    return lambda handler, body: handler.send(200, data)


def cut(handler: Handler, body: Body) -> None:
    """Break off amid the answer."""
    message = Message(None, (("call_1", "finish", '{"message":"Done.","outcome":"done"}'),))
    whole = handler.body_of(body, message)
    handler.send(200, whole[: len(whole) // 2], {"Content-Length": str(len(whole))})
    handler.close_connection = True


def hang(handler: Handler, body: Body) -> None:
    """Answer nothing for as long as the server lives."""
    handler.scripted.over.wait(60)
    handler.close_connection = True


def drip(handler: Handler, body: Body) -> None:
    """Send a space now and then, for ever."""
    handler.send(200, b" ", {"Content-Length": "1000000"})
    while not handler.scripted.over.wait(0.05):
        try:
            handler.wfile.write(b" ")
        except OSError:
            break
    handler.close_connection = True


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    @property
    def scripted(self) -> Scripted:
        assert isinstance(self.server, Server)
        return self.server.scripted

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def do_POST(self) -> None:
        length = int(self.headers["Content-Length"])
        body: Body = json.loads(self.rfile.read(length))
        scripted = self.scripted
        with scripted.lock:
            number = len(scripted.bodies)
            scripted.bodies.append(body)
            scripted.headers.append({k.lower(): v for k, v in self.headers.items()})
        reply = scripted.reply_to(number)
        if self.path != "/v1/chat/completions":
            reply = status(404, f"nothing at {self.path}")
        if reply is None:
            self.answer(body, scripted.play(body["messages"]))
        else:
            reply(self, body)

    def body_of(self, body: Body, message: Message) -> bytes:
        tokens = len(json.dumps(body["messages"])) // 4
        if not body.get("stream"):
            return json.dumps(message.whole(tokens)).encode()
        return "".join(f"{event}\n\n" for event in message.events(tokens)).encode()

    def answer(self, body: Body, message: Message) -> None:
        kind = "text/event-stream" if body.get("stream") else "application/json"
        self.send(200, self.body_of(body, message), {"Content-Type": kind})

    def send(self, number: int, data: bytes, headers: Mapping[str, str] | None = None) -> None:
        self.send_response(number)
        sent = {"Content-Type": "application/json", "Content-Length": str(len(data))}
        for name, value in {**sent, **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def __init__(self, scripted: Scripted, port: int) -> None:
        super().__init__(("127.0.0.1", port), Handler)
        self.scripted = scripted

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


class Scripted:
    """What the server knows: who plays, what to answer first, and what it was asked."""

    def __init__(
        self,
        scenario: str,
        seeds: Iterable[int],
        replies: Sequence[Reply | None] | Callable[[int], Reply | None] = (),
        policy: str = "expert",
    ) -> None:
        found = load_scenario(scenario)[1]
        player = scripted(policy, found)
        assert player is not None
        self._player = player
        self._tasks: dict[str, Task] = {}
        for seed in seeds:
            drawing = Drawing(Stream(Draws(seed), "instance", 0), {})
            found.draw(drawing)
            instance = drawing.finish()
            task = Task(found.prompt(instance), (), found.brief(instance), policy_draws(seed, 0))
            self._tasks.setdefault(task.prompt, task)
        self._replies = replies
        self.bodies: list[Body] = []
        self.headers: list[dict[str, str]] = []
        self.lock = threading.Lock()
        self.over = threading.Event()
        self.url = ""

    def reply_to(self, number: int) -> Reply | None:
        if callable(self._replies):
            return self._replies(number)
        return self._replies[number] if number < len(self._replies) else None

    def play(self, messages: Sequence[Body]) -> Message:
        """Let the policy play on from all that a chat has told so far."""
        play = self._player(self._tasks[messages[0]["content"]])
        try:
            action: Action = next(play)
            for results in told(messages):
                action = play.send(Observation("", "", tuple(results)))
        except StopIteration:
            return Message("There is no more to do.")
        finally:
            play.close()
        if isinstance(action, str):
            return Message(action)
        made = [action] if isinstance(action, Call) else action
        assert isinstance(made, Sequence)
        # Named as calls without an id would be, so that recordings are those of the policy itself.
        step = len(told(messages)) + 1
        sent = [raw_call(call) for call in made]
        return Message(
            None, tuple((default_id(step, n), c.tool, c.arguments) for n, c in enumerate(sent))
        )


def told(messages: Sequence[Body]) -> list[list[Body]]:
    """Give the results of each turn of a chat."""
    turns: list[list[Body]] = []
    tools: dict[str, str] = {}
    for message in messages:
        if message["role"] == "assistant":
            turns.append([])
            made = message.get("tool_calls", ())
            tools = {call["id"]: call["function"]["name"] for call in made}
        elif message["role"] == "tool":
            value: Any = json.loads(message["content"])
            is_error = isinstance(value, dict) and list(cast("Body", value)) == ["error"]
            told = cast("Body", value if is_error else {"value": value})
            id = message["tool_call_id"]
            turns[-1].append({"id": id, "tool": tools[id], **told})
    return turns


@contextmanager
def serving(scripted: Scripted, port: int = 0) -> Generator[Scripted]:
    """Serve on loopback while in here."""
    with Server(scripted, port) as server:
        scripted.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        try:
            yield scripted
        finally:
            scripted.over.set()
            server.shutdown()
            thread.join()


if __name__ == "__main__":
    with serving(Scripted(sys.argv[1], range(int((sys.argv[2:] or ["100"])[0])))) as served:
        sys.stdout.write(f"{served.url}\n")
        sys.stdout.flush()
        threading.Event().wait()
