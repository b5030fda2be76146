"""Forms as application/x-www-form-urlencoded: bounded, and with no wanted field twice."""

import asyncio
from collections.abc import Iterator, Mapping
from urllib.parse import unquote_to_bytes

from fastapi import Request

from app.api.http.bodies import BodyRequest, UnsupportedMediaType, media_type, require_uncompressed
from app.core.errors import InvalidInput

MEDIA_TYPE = "application/x-www-form-urlencoded"

_MOST_FIELDS = 20

_PART = 1 << 16
"""Bytes that are decoded at once: no other thread runs meanwhile."""


async def form_fields(request: Request, *names: str) -> Mapping[str, str]:
    """Those of the named fields that the request's form has; others are passed over.

    Raises UnsupportedMediaType and InvalidInput.
    """
    require_uncompressed(request.headers)
    if (declared := media_type(request.headers)) not in {"", MEDIA_TYPE}:
        raise UnsupportedMediaType(
            f"The body is declared as {declared[:80]}.", remedy=f"Send a form as {MEDIA_TYPE}."
        )
    body = await BodyRequest(request).body()
    try:
        fields = await asyncio.to_thread(_fields, body)
    except ValueError:
        raise InvalidInput("The form cannot be read. Percent-encode its fields as UTF-8.", "body") from None
    sent = [name for name, _ in fields]
    for name in names:
        if sent.count(name) > 1:
            raise InvalidInput("This field comes more than once. Send it once.", name)
    return {name: value for name, value in fields if name in names}


def _fields(body: bytes) -> list[tuple[str, str]]:
    """The names and values of a form; raises ValueError."""
    fields = body.split(b"&", _MOST_FIELDS)
    if len(fields) > _MOST_FIELDS:
        raise ValueError("too many fields")
    named = (field.partition(b"=") for field in fields if field)
    return [
        (b"".join(_decoded(name)).decode(), b"".join(_decoded(value)).decode()) for name, _, value in named
    ]


def _decoded(text: bytes) -> Iterator[bytes]:
    start = 0
    while start < len(text):
        end = start + _PART
        if (escape := text.rfind(b"%", end - 2, end)) >= 0:
            end = escape  # which ends in the next part
        yield unquote_to_bytes(text[start:end].replace(b"+", b" "))
        start = end
