"""Forms as application/x-www-form-urlencoded: bounded, and with no wanted field twice."""

import asyncio
from collections.abc import Mapping
from urllib.parse import parse_qsl

from fastapi import Request

from app.api.http.bodies import (
    HeldRequest,
    UnsupportedMediaType,
    media_type,
    require_uncompressed,
)
from app.core.errors import InvalidInput

MEDIA_TYPE = "application/x-www-form-urlencoded"

_MOST_FIELDS = 20


async def form_fields(request: Request, *names: str) -> Mapping[str, str]:
    """Those of the named fields that the request's form has; others are passed over.

    Raises UnsupportedMediaType and InvalidInput.
    """
    require_uncompressed(request.headers)
    if (declared := media_type(request.headers)) not in {"", MEDIA_TYPE}:
        raise UnsupportedMediaType(
            f"The body is declared as {declared[:80]}.", remedy=f"Send a form as {MEDIA_TYPE}."
        )
    body = await HeldRequest(request.scope, request.receive).body()
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
    return parse_qsl(
        body.decode("utf-8"), keep_blank_values=True, errors="strict", max_num_fields=_MOST_FIELDS
    )
