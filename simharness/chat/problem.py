"""What went wrong with a request, whether it may pass, and what the provider asks for."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any, cast

from simharness.chat.answer import Unusable

if TYPE_CHECKING:
    from collections.abc import Mapping

FAILED, TOO_LONG = "X810", "X811"
"""Codes: the provider failed, the conversation outgrew what it takes."""
PASSING = (408, 409, 425, 429)
"""Status codes that may be others next time, beside those from 500 on."""
SPENT = "insufficient_quota"
"""What a 429 says that will not pass."""
OUTGROWN = re.compile(
    r"context.?(length|window|size)|maximum.?context|too many tokens|(prompt|input) is too long"
    r"|max_model_len|reduce the length",
    re.IGNORECASE,
)
TRANSPORTS = ("httpx", "httpx2", "httpcore", "httpcore2")
"""Packages under `openai`, whose errors may come through as they are."""
WORDS_MAX = 300
"""Characters of a provider's own words that are told."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """Why a request has no answer."""

    cause: str
    may_pass: bool
    is_refusal: bool = False
    """Whether every request would fail so: wrong address, key or model, nobody there."""
    code: str = FAILED
    wait: float | None = None
    """Seconds after which the provider wants to be asked again."""


def problem_of(error: Exception, timeout: float) -> Problem | None:
    """Say what an error of a request means, or give None for one that is none of the provider's."""
    import openai

    if isinstance(error, Unusable):
        return Problem(cause=str(error), may_pass=True)
    if isinstance(error, openai.APITimeoutError | TimeoutError):
        return Problem(cause=f"no answer in {timeout:.0f} s", may_pass=True)
    if isinstance(error, openai.APIConnectionError):
        under = error.__cause__ or error
        is_absent = type(under).__name__ == "ConnectError"
        cause = f"it can't be reached ({clipped(str(under))})"
        if not is_absent:
            cause = f"the connection broke ({type(under).__name__}: {clipped(str(under))})"
        return Problem(cause=cause, may_pass=True, is_refusal=is_absent)
    if isinstance(error, openai.APIStatusError):
        return refusal(error.status_code, error.body, error.response.headers)
    if isinstance(error, openai.OpenAIError):
        return Problem(cause=clipped(str(error)), may_pass=True)
    if type(error).__module__.partition(".")[0] in TRANSPORTS:
        return Problem(
            cause=f"the connection broke ({type(error).__name__}: {clipped(str(error))})",
            may_pass=True,
        )
    return None


def refusal(status: int, body: object, headers: Mapping[str, str]) -> Problem:
    """Say what a status code means, with the provider's own words."""
    words, kind = said_of(body)
    cause = f"status {status}" + (f": {clipped(words)}" if words else "")
    if 400 <= status < 500 and status not in PASSING and OUTGROWN.search(f"{kind} {words}"):
        return Problem(cause=cause, may_pass=False, code=TOO_LONG)
    may_pass = (status in PASSING or status >= 500) and kind != SPENT
    return Problem(
        cause=cause, may_pass=may_pass, is_refusal=not may_pass, wait=asked_wait(headers)
    )


def said_of(body: object) -> tuple[str, str]:
    """Give the message of an error's body, and what kind of error it names."""
    if not isinstance(body, dict):
        return (body if isinstance(body, str) else ""), ""
    fields = cast("dict[str, Any]", body)
    inner = fields.get("error", fields)
    if isinstance(inner, str):
        return inner, ""
    fields = cast("dict[str, Any]", inner) if isinstance(inner, dict) else fields
    words = fields.get("message") or fields.get("detail") or ""
    return str(words), str(fields.get("code") or fields.get("type") or "")


def asked_wait(headers: Mapping[str, str]) -> float | None:
    """Read after how many seconds the provider wants to be asked again."""
    for name, scale in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        text = headers.get(name)
        if text is None:
            continue
        if re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,9})?", text.strip()):
            return float(text) * scale
        try:
            return max(0.0, parsedate_to_datetime(text).timestamp() - time.time())
        except ValueError:
            continue
    return None


def clipped(text: str) -> str:
    """Give a provider's words in one line of a bounded length."""
    line = " ".join(text.split())
    return line if len(line) <= WORDS_MAX else line[:WORDS_MAX] + "..."
