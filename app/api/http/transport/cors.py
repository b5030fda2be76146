"""Cross-origin access (the CORS protocol of the Fetch standard) for paths that pages of any origin may ask.

The reconciliation API requires it of all its paths, errors included. Answers never depend on cookies.
"""

from collections.abc import Sequence
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

_DAY = 86_400


class AnyOrigin:
    """Lets pages of any origin ask what lies at or below a path."""

    def __init__(self, app: ASGIApp, path: str) -> None:
        self._app = app
        self._path = path

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a preflight request; pass any other on, and let its answer be read."""
        if scope["type"] != "http" or not f"{scope['path']}/".startswith(f"{self._path}/"):
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        if scope["method"] == "OPTIONS" and "access-control-request-method" in headers:
            await _preflight(headers)(scope, receive, send)
            return

        async def readable(message: Message) -> None:
            if message["type"] == "http.response.start":
                answered = MutableHeaders(scope=message)
                answered["Access-Control-Allow-Origin"] = "*"
                answered["Cross-Origin-Resource-Policy"] = "cross-origin"
            await send(message)

        await self._app(scope, receive, readable)


def cors_options(origins: Sequence[str]) -> dict[str, Any]:
    """The options of Starlette's CORSMiddleware that let pages of these origins use the whole API."""
    return {
        "allow_origins": list(origins),
        "allow_methods": ["GET", "POST", "PUT", "PATCH", "DELETE"],
        "allow_headers": ["Authorization", "X-API-Key", "Content-Type", "If-Match"],
        "expose_headers": ["ETag", "Location", "Retry-After"],
        "max_age": _DAY,
    }


def _preflight(headers: Headers) -> Response:
    return Response(
        status_code=204,
        headers={
            "Access-Control-Allow-Origin": "*",
            "Access-Control-Allow-Methods": "GET, POST",
            "Access-Control-Allow-Headers": headers.get("access-control-request-headers", "*"),
            "Access-Control-Max-Age": str(_DAY),
            "Vary": "Access-Control-Request-Headers",
        },
    )
