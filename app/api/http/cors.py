"""Cross-origin access (the CORS protocol of the Fetch standard) for paths that pages of any origin may ask.

The reconciliation API requires it of all its paths, errors included. Answers never depend on cookies.
"""

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
                MutableHeaders(scope=message)["Access-Control-Allow-Origin"] = "*"
            await send(message)

        await self._app(scope, receive, readable)


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
