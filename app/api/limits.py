"""What a request may weigh: bytes before they are read, and JSON values before they are built.

A parsed JSON value takes up to 100 times the bytes that it was sent in, so a body of empty lists within the
byte limit could still take gigabytes. No honest body comes near the limits on values.
"""

import re

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.api.errors import BodyTooLarge
from app.api.problems import problem_response
from app.core.errors import InvalidInput

MAX_TITLE = 10_000
MAX_AUTHORS = 1_000
MAX_AUTHOR = 1_000
MAX_PAGES = 100_000
MAX_LANGUAGE = 35
MAX_VOLUME = 1_000
MAX_EXTERNAL_ID = 500
MAX_IDENTIFIERS = 1_000
MAX_IDENTIFIER = 300
MAX_CURSOR = 200
MAX_D = 128
MAX_K = 1_000
MAX_WAIT = 60
MAX_LIMIT = 1_000
DEFAULT_LIMIT = 100
MIN_YEAR, MAX_YEAR = -(1 << 31), (1 << 31) - 1

_MAX_CONTAINERS = 200_000
_MAX_NAMES = 200_000
_MAX_VALUES = 1_200_000

# An unterminated string runs to the end, so the scan is linear whatever the body.
_STRING = re.compile(rb'"(?:[^"\\]++|\\.)*+"?', re.DOTALL)


class BodyLimit:
    """Refuses bodies over `max_bytes` bytes: by their Content-Length, else when so much has arrived."""

    def __init__(self, app: ASGIApp, max_bytes: int) -> None:
        self._app = app
        self._max_bytes = max_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        for name, value in scope["headers"]:
            if name == b"content-length" and value.isdigit() and _exceeds(value, self._max_bytes):
                await problem_response(BodyTooLarge(self._max_bytes))(scope, receive, send)
                return
        received = 0

        async def counted() -> Message:
            nonlocal received
            message = await receive()
            if message["type"] == "http.request":
                received += len(message.get("body", b""))
                if received > self._max_bytes:
                    raise BodyTooLarge(self._max_bytes)
            return message

        await self._app(scope, counted, send)


def _exceeds(digits: bytes, limit: int) -> bool:
    digits = digits.lstrip(b"0")
    return len(digits) > 18 or int(digits or b"0") > limit


def refuse_swarms(body: bytes) -> None:
    """Raise InvalidInput where the JSON text has more lists, objects, names or values than any book needs."""
    if not _swarms(body):
        return
    # What stands inside strings does not count; only bodies that look suspicious pay for telling it apart.
    if _swarms(_STRING.sub(b"", body, count=_MAX_VALUES + _MAX_NAMES)):
        raise InvalidInput(
            f"The body has over {_MAX_VALUES:,} values, or over {_MAX_CONTAINERS:,} lists, objects or names. "
            f"Send one book at a time, with at most {MAX_PAGES:,} pages, each of them one string.",
            field="body",
        )


def _swarms(body: bytes) -> bool:
    return (
        body.count(b"[") + body.count(b"{") > _MAX_CONTAINERS
        or body.count(b":") > _MAX_NAMES
        or (len(body) > _MAX_VALUES and body.count(b",") > _MAX_VALUES)
    )
