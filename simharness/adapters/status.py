"""What a supervisor asks of a server, the same whatever protocol it speaks: health and counts."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from starlette.responses import Response
from starlette.routing import Route

from simharness.adapters.metrics import exposition

if TYPE_CHECKING:
    from starlette.requests import Request

    from simharness.adapters.sessions import Sessions


def health(sessions: Sessions) -> tuple[int, dict[str, Any]]:
    """Tell whether episodes can begin, with the status of that: 503 where they can't."""
    trouble = sessions.trouble
    content = {
        "status": "failing" if trouble else "ok",
        "reason": trouble,
        "sessions": len(sessions),
        "sessions_max": sessions.limits.sessions,
    }
    return 503 if trouble else 200, content


def metrics(sessions: Sessions) -> Response:
    """Give counts in the text format of Prometheus."""
    body, kind = exposition(sessions)
    return Response(body, media_type=kind)


def routes_of(sessions: Sessions) -> list[Route]:
    """Give the routes of both, for an app that has no others like them."""

    async def healthz(request: Request) -> Response:
        status, content = health(sessions)
        return Response(json.dumps(content), status, media_type="application/json")

    async def counts(request: Request) -> Response:
        return metrics(sessions)

    return [Route("/healthz", healthz), Route("/metrics", counts)]
