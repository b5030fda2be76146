"""Headers that tell browsers what they may do with an answer.

Answers are data: no page may be built from them, framed, guessed at or embedded elsewhere. Pages of our own
carry a policy of their own, which stands. No cache keeps what a key was sent for.
"""

from starlette.types import ASGIApp, Message, Receive, Scope, Send

_YEAR = 365 * 86_400

HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
    (b"cross-origin-resource-policy", b"same-origin"),
)
HEADERS_OVER_TLS = (*HEADERS, (b"strict-transport-security", b"max-age=%d" % _YEAR))
_FOR_KEYS = (b"cache-control", b"private, no-store")
_WITH_KEY = frozenset({b"authorization", b"x-api-key"})


class SecurityHeaders:
    """Adds the headers to every answer, as far as it has none of their names."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        added = HEADERS_OVER_TLS if scope.get("scheme") == "https" else HEADERS
        if any(name in _WITH_KEY for name, _ in scope["headers"]):
            added = (*added, _FOR_KEYS)

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = list(message.get("headers", ()))
                present = {name for name, _ in headers}
                message["headers"] = headers + [header for header in added if header[0] not in present]
            await send(message)

        await self._app(scope, receive, guarded)
