"""The provider of a model: one client a process, which asks again where a failure may pass."""

from __future__ import annotations

import os
import re
import time
from functools import lru_cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from simharness.chat.answer import Answer, read_answer
from simharness.chat.options import check_address, read_options
from simharness.chat.problem import FAILED, Problem, problem_of
from simharness.errors import ProviderFailed, ProviderRefused, UsageError
from simharness.extras import to_install

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from simharness.chat.options import Options
    from simharness.chat.usage import Usage

KEY, ADDRESS = "OPENAI_API_KEY", "OPENAI_BASE_URL"
"""Variables of the environment."""
EXTRA = "simharness[openai]"
NO_KEY = "none"
"""What is sent to servers of one's own, which ask for no key."""
FIRST_WAIT, LONGEST_WAIT = 0.5, 30.0
"""Seconds before the first retry, doubled for each further one, and the most that it comes to."""
ASKED_WAIT_MAX = 120.0
"""Seconds that a provider may ask to wait for; who asks for more has failed."""
ANSWER_BYTES_MAX = 8 * 1024 * 1024
SECRET = re.compile(r"(?i)\bbearer\s+\S+|\b(?:sk|pk|key|gsk|xai|hf)[-_][\w*.-]{6,}")


def check_ready(policy: str, base_url: str) -> None:
    """Check, without asking anybody, that a model's policy can be played.

    Raises UsageError, also where the package that asks isn't installed.
    """
    read_options(policy)
    try:
        import_module("openai")
    except ImportError as error:
        # Also where only something that it needs is missing.
        raise UsageError(
            f"policy {policy!r} needs the package openai, which can't be imported: {error}",
            f"run: {to_install(EXTRA)}",
        ) from None
    if address := address_of(base_url):
        check_address(address)
    key = key_of()
    if not key and not address:
        raise UsageError(
            f"policy {policy!r} has neither a key nor an address",
            f"set {KEY}, or give --base-url URL for a server of your own",
        )
    if not key.isascii() or not key.isprintable() or " " in key:
        raise UsageError(f"{KEY} holds characters that no key has", "set it to the key alone")


def address_of(base_url: str) -> str:
    """Give the address that is asked; empty for that of OpenAI itself."""
    return base_url or os.environ.get(ADDRESS, "").strip()


def key_of() -> str:
    """Give the key, or an empty text. It is never told, logged or recorded."""
    return os.environ.get(KEY, "").strip()


@lru_cache(maxsize=64)
def provider_of(policy: str, base_url: str) -> Provider:
    """Give this process's provider for a policy."""
    return Provider(read_options(policy), base_url)


class Provider:
    """Asks one model; see `Options` for how."""

    def __init__(self, options: Options, base_url: str = "") -> None:
        # An optional extra, which takes a second to import.
        import openai

        self.options = options
        self._address = address_of(base_url)
        self._key = key_of() or NO_KEY
        self._client = openai.OpenAI(
            api_key=self._key, base_url=self._address or None, max_retries=0
        )
        self._has_answered = False

    def ask(
        self,
        messages: Sequence[dict[str, Any]],
        tools: Sequence[dict[str, Any]],
        usage: Usage,
        until: float,
        jitter: Callable[[int], float],
    ) -> Answer:
        """Ask for the next answer of a chat, at most until then (of the monotonic clock).

        `jitter` gives a number from 0 to 1 for each retry, from 0 on. Raises ProviderFailed, or
        ProviderRefused where the first request of this process fails as all others would.
        """
        began = time.monotonic()
        attempt = 0
        try:
            while True:
                found = self._try(messages, tools, usage, until)
                if isinstance(found, Answer):
                    self._has_answered = True
                    usage.prompt_tokens += found.prompt_tokens
                    usage.completion_tokens += found.completion_tokens
                    return found
                self._refuse(found)
                wait = self._wait(found, attempt, until, jitter)
                time.sleep(wait)
                attempt += 1
                usage.retries += 1
        finally:
            usage.ms += round((time.monotonic() - began) * 1000)

    def close(self) -> None:
        """Let the connections go."""
        self._client.close()

    def _try(
        self,
        messages: Sequence[dict[str, Any]],
        tools: Sequence[dict[str, Any]],
        usage: Usage,
        until: float,
    ) -> Answer | Problem:
        left = until - time.monotonic()
        if left <= 0:
            limit = self.options.limit
            cause = f"the requests of one episode have taken the {limit} s that they may take"
            return Problem(cause=cause, may_pass=False)
        timeout = min(left, self.options.timeout)
        usage.requests += 1
        try:
            return read_answer(self._body(messages, tools, timeout))
        except TooLong as error:
            return Problem(cause=str(error), may_pass=False)
        except Exception as error:
            problem = problem_of(error, timeout)
            if problem is None:
                raise
            return problem

    def _body(
        self, messages: Sequence[dict[str, Any]], tools: Sequence[dict[str, Any]], timeout: float
    ) -> bytes:
        """Send one request and read the response to its end."""
        options = self.options
        more: dict[str, Any] = dict(options.asks)
        if options.stream:
            more |= {"stream": True, "stream_options": {"include_usage": True}}
        create: Any = self._client.chat.completions.with_streaming_response.create
        until = time.monotonic() + timeout
        body = bytearray()
        with create(
            model=options.model, messages=messages, tools=tools, timeout=timeout, **more
        ) as response:
            # The library's own limit is for each piece, and a server may send them for ever.
            for piece in response.iter_bytes():
                body += piece
                if len(body) > ANSWER_BYTES_MAX:
                    raise TooLong(f"the answer is longer than {ANSWER_BYTES_MAX} bytes")
                if time.monotonic() > until:
                    raise TimeoutError
        return bytes(body)

    def _refuse(self, problem: Problem) -> None:
        """Raise ProviderRefused for what the first request fails of, if all others would too."""
        if self._has_answered or not problem.is_refusal:
            return
        raise ProviderRefused(
            self._told(problem), f"check --base-url or {ADDRESS}, the model's name, and {KEY}"
        )

    def _wait(
        self, problem: Problem, attempt: int, until: float, jitter: Callable[[int], float]
    ) -> float:
        """Give the seconds to wait before another try. Raises ProviderFailed where there is none.

        The waits double, and half of each is drawn, so that many who were refused together don't
        come again together.
        """
        if not problem.may_pass or attempt >= self.options.retries:
            raise self._failure(problem, attempt)
        doubled: float = FIRST_WAIT * 2**attempt
        wait = min(LONGEST_WAIT, doubled) * (0.5 + 0.5 * jitter(attempt))
        if problem.wait is not None:
            if problem.wait > ASKED_WAIT_MAX:
                raise self._failure(problem, attempt, f"; it asks to wait for {problem.wait:.0f} s")
            wait = max(wait, problem.wait)
        if time.monotonic() + wait > until:
            raise self._failure(problem, attempt, "; the episode has no time left to ask again")
        return wait

    def _failure(self, problem: Problem, attempt: int, more: str = "") -> ProviderFailed:
        tries = f" ({attempt + 1} tries)" if attempt else ""
        return ProviderFailed(
            f"{self._told(problem)}{more}{tries}", "run it again later", problem.code or FAILED
        )

    def _told(self, problem: Problem) -> str:
        where = self._address or "OpenAI"
        return self._without_secrets(
            f"model {self.options.model!r} at {where} gave no answer: {problem.cause}"
        )

    def _without_secrets(self, text: str) -> str:
        """Take the key out of a text, and whatever else looks like one: servers repeat them."""
        if len(self._key) > len(NO_KEY):
            text = text.replace(self._key, "[key]")
        return SECRET.sub("[key]", text)


class TooLong(Exception):  # noqa: N818  (about an answer, no failure of this package)
    """An answer is longer than anybody reads."""
